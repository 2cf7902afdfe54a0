//! TFRC: S. Floyd, M. Handley, J. Padhye, J. Widmer: TCP Friendly Rate Control (TFRC): Protocol
//! Specification, RFC 5348, 2008; the equation from J. Padhye, V. Firoiu, D. Towsley, J. Kurose: Modeling TCP
//! Throughput, ACM SIGCOMM, 1998.
//!
//! Unit: bytes, bytes per second, packets of one MSS, seconds. Valid for RTT from 1 ms to 10^3 s, loss event
//! rates from 1e-9 to 1, and reports of less than a round trip.
//! This is TFRC over TCP's acknowledgements. The RFC's receiver measures the loss event rate and its receive
//! rate and reports them once per round trip. Here the sender does so (a sender-based variant, as the RFC
//! foresees): SACK reports to it all that the receiver would know. What is lost is sent again, within the
//! rate, and counts as a packet.
//! Equations: section 3.1 -> [`equation`], `tcp_equation.rs`; 4.3 -> `feedback`, 4.4 -> `on_deadline`, 4.5 -> `rate`; 5.4 and
//! 5.5 -> `history.rs`; 5.2 -> `lose`; 6.3.1 -> [`interval_for`]. Self-clocking: D. Bansal, H. Balakrishnan,
//! S. Floyd, S. Shenker: Dynamic Behavior of Slowly-Responsive Congestion Control Algorithms, ACM SIGCOMM,
//! 2001, section 4.1.1 -> `limit`.
//!
//! X <= min(X_calc(R, p), 2 X_recv), at least one packet in 64 s. Before the first loss X doubles each RTT,
//! at most to 2 X_recv. X_recv is a round trip late, so X doubles once in two.
//! Decisions and deviations:
//!  * a round trip is one "feedback": it ends with the first ACK that comes R after the last one did, or that
//!    begins a loss event. X_recv is what was delivered since the last feedback, or the one before if that
//!    was less than R ago, over at least R.
//!  * the position of a loss is its detection: how many packets were delivered or lost by then. Losses are
//!    detected in the order and at the distance in which they would have arrived, so intervals and "within
//!    one RTT" come out the same.
//!  * an ECN echo and a timeout begin a loss event as a loss does. TFRC has no timeout: X is not cut below
//!    the equation's rate, and the nofeedback timer, which halves it, is usually faster. After a timeout the
//!    open interval begins with the next delivery, because all that was outstanding was declared lost.
//!  * a spurious congestion takes back the loss event that it began.
//!  * the connection begins as TCP's does: with the sender's initial window, at once, since no handshake has
//!    measured R yet. X starts at that window per R. (The RFC's initial window is that of RFC 3390.)
//!  * data-limited intervals are those whose rate samples were all application-limited.
//!  * cwnd is a guard, not a control ([`guard`](crate::algorithms::model::guard)). It binds only when ACKs
//!    fail to come, where the nofeedback timer needs four R to act.
//!  * `conservative` is the paper's option, off by default: X is at most X_recv of the last round trip in
//!    the round trip after a loss event begins, and 1.1 X_recv otherwise, once there was a loss. The
//!    nofeedback timer is as without it.
//!  * t_RTO = 4 R unless `t_rto_min` is longer. Oscillation prevention (section 4.5) is off by default.
//!
//! The RFC was not available; the rules are from general knowledge of it and were compared with open
//! implementations that cite its sections. Hence grade B.

mod history;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use crate::algorithms::model::{LARGEST, times};
use crate::algorithms::prelude::*;
use crate::algorithms::rate_based::{RateBased, RatePolicy};
use crate::algorithms::tcp_equation::tfrc as equation;
use history::LossHistory;

pub(crate) const ENTRY: Entry = Entry {
    id: "tfrc",
    label: "TFRC",
    about: "Sends at the rate that an equation gives for TCP at the measured loss event rate and RTT: smooth, slow to react.",
    source: "S. Floyd, M. Handley, J. Padhye, J. Widmer: TCP Friendly Rate Control (TFRC): Protocol Specification, 2008",
    reference: "RFC 5348",
    grade: Grade::B,
    params: Tfrc::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#bb5566",
    marker: "o",
    build: |args, start| RateBased::hosted(Tfrc::new(args, start), start),
};

/// t_mbi of section 4.3: at least one packet in this time, seconds.
const LONGEST_GAP: f64 = 64.0;
/// q2 of section 4.5.
const SQRT_GAIN: f64 = 0.9;
/// C of self-clocking: by how much a rate may exceed what was received while nothing is lost.
const CLOCKED: f64 = 1.1;
/// The shortest nofeedback timer: so that a path without any delay does not run a timer without end.
const LEAST_TIMER: Span = Span::from_millis(1);

/// The loss interval at which the equation gives `target` bytes per second (section 6.3.1).
fn interval_for(target: f64, s: f64, r: f64, t_rto: f64) -> f64 {
    // The equation falls in p: halve the range of ln(1/p), 0 to 40.
    let (mut short, mut long) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = (short + long) / 2.0;
        if equation(s, r, libm::exp(-middle), t_rto) < target { short = middle } else { long = middle }
    }
    libm::exp(short)
}

algorithm! {
    #[derive(Debug)]
    struct Tfrc {
        use Param::flag("history_discounting", true).about(
            "section 5.5: old loss intervals count less once the open one is more than twice their mean",
        );
        /// self-clocking (Bansal et al. 2001): after a loss no more than was received, else 1.1 times that
        conservative: bool = false;
        /// section 4.5: send slower while the RTT is above its long-term mean
        oscillation_prevention: bool = false;
        /// least t_RTO in the equation; it is 4 R where that is longer
        t_rto_min: f64 = 0.0, 0.0..=60.0, "s";
        /// q of section 4.3: what stays of R when a round trip is measured
        rtt_gain: f64 = 0.9, 0.0..=0.999, "1";
    }
    state(args, start: Start) {
        /// Packet size, bytes.
        s: f64 = f64::from(start.mss.max(1)),
        initial: u64 = times(start.initial_window.max(1.0), u64::from(start.mss.max(1))),
        /// R of section 4.3, seconds; `None` before the first sample.
        r: Option<f64>,
        /// The latest sample, seconds.
        sample: Option<f64>,
        /// R_sqmean of section 4.5.
        sqrt_mean: f64,
        /// X, bytes per second.
        x: f64,
        /// X_recv_set of section 4.3: the instants, and bytes per second. Empty means infinity, its initial
        /// value.
        received: Vec<(Time, f64)>,
        /// The last two feedbacks: when, and `Flow::delivered`. The later one first.
        marks: [(Time, u64); 2] = [(Time(0), 0); 2],
        /// Has a sample since the last feedback shown that the application did not limit the sender?
        busy: bool,
        doubled_at: Time,
        history: LossHistory = LossHistory::new(args.flag("history_discounting")),
        /// p at the last feedback.
        p: f64,
        /// When the last loss event began.
        event_at: Option<Time>,
        /// A loss event began, and no feedback has reported it yet.
        news: bool,
        /// What an undo gives back.
        before: Option<(LossHistory, Option<Time>)>,
        /// A timeout was reported and nothing has been delivered since.
        collapsed: bool,
        timer: Option<Time>,
    }
}

impl Tfrc {
    /// s / t_mbi.
    fn floor(&self) -> f64 {
        self.s / LONGEST_GAP
    }

    fn t_rto(&self, r: f64) -> f64 {
        (4.0 * r).max(self.t_rto_min)
    }

    /// X_Bps at the present p; only with p > 0.
    fn allowed(&self, r: f64) -> f64 {
        equation(self.s, r, self.p, self.t_rto(r))
    }

    /// Packets sent whose fate is known.
    fn position(&self, flow: &Flow) -> f64 {
        flow.delivered.saturating_add(flow.lost) as f64 / self.s
    }

    /// X_recv at this moment; `None` before a measurement.
    fn measured(&self, flow: &Flow, r: f64) -> Option<f64> {
        let [last, before] = self.marks;
        let (at, delivered) = if flow.now.since(last.0).secs() >= r { last } else { before };
        // Within the first round trip both are younger than R. X_recv is what came within R (section 6.2),
        // and the ACKs of a first window may come within an instant.
        let took = flow.now.since(at).secs().max(r);
        (took > 0.0).then(|| flow.delivered.saturating_sub(delivered) as f64 / took)
    }

    /// The largest of X_recv_set.
    fn most_received(&self) -> f64 {
        if self.received.is_empty() {
            return LARGEST as f64;
        }
        self.received.iter().fold(0.0, |most, (_, x)| f64::max(most, *x))
    }

    /// A packet was lost, or marked. Within R of the first loss of an event it belongs to that (section 5.2).
    fn lose(&mut self, flow: &Flow) {
        let r = self.r.unwrap_or(0.0);
        if self.event_at.is_some_and(|at| flow.now.since(at).secs() <= r) {
            return;
        }
        self.event_at = Some(flow.now);
        self.news = true;
        let position = self.position(flow);
        if !self.history.is_empty() {
            self.history.close(position);
            return;
        }
        // Section 6.3.1: half of the receive rate, as slow start has doubled the rate beyond what
        // the path takes. Before anything was measured: half a packet per round trip, which is
        // the same interval at any R.
        let interval = match self.r {
            Some(r) => {
                let got = self.measured(flow, r).filter(|got| *got > 0.0).unwrap_or(self.s / r);
                interval_for(got / 2.0, self.s, r, self.t_rto(r))
            }
            None => interval_for(self.s / 2.0, self.s, 1.0, 4.0),
        };
        self.history.begin(interval, position);
    }

    /// Section 4.3, once per round trip and at each loss event.
    fn feedback(&mut self, flow: &Flow) -> Option<f64> {
        let sample = self.sample?;
        let first = self.r.is_none();
        let r = self.r.map_or(sample, |r| self.rtt_gain * r + (1.0 - self.rtt_gain) * sample);
        self.r = Some(r);
        let root = libm::sqrt(sample);
        self.sqrt_mean = if first { root } else { SQRT_GAIN * self.sqrt_mean + (1.0 - SQRT_GAIN) * root };
        let fastest = self.initial as f64 / r;
        if first {
            (self.x, self.doubled_at) = (fastest, flow.now);
            self.marks = [(flow.now, flow.delivered); 2];
        }
        let p = self.history.rate(self.position(flow));
        let worse = self.news || p > self.p;
        if !first && let Some(received) = self.measured(flow, r) {
            self.note_received(flow.now, received, r, worse);
            self.marks = [(flow.now, flow.delivered), self.marks[0]];
        }
        let limit = self.limit(p, worse);
        self.p = p;
        if p > 0.0 {
            self.x = self.allowed(r).min(limit).max(self.floor());
        } else if !first && flow.now.since(self.doubled_at).secs() >= r {
            self.x = (2.0 * self.x).min(limit).max(fastest);
            self.doubled_at = flow.now;
        }
        (self.busy, self.news) = (false, false);
        self.timer = Some(flow.now + self.patience(r));
        Some(self.clamp_rate(r))
    }

    /// How fast X may be by what was received (section 4.3, recv_limit); the last value of X_recv_set
    /// is that of this feedback.
    fn limit(&self, p: f64, worse: bool) -> f64 {
        match self.received.last() {
            Some((_, last)) if self.conservative && p > 0.0 => last * if self.news { 1.0 } else { CLOCKED },
            _ => self.most_received() * if !self.busy && worse { 1.0 } else { 2.0 },
        }
    }

    /// X_recv_set: the values of two round trips, or only the largest if the application limits the sender.
    /// Then, if losses are `worse`, old values are halved first and the new one counts for 0.85 of it.
    fn note_received(&mut self, now: Time, received: f64, r: f64, worse: bool) {
        if self.busy {
            self.received.retain(|(at, _)| now.since(*at).secs() <= 2.0 * r);
            self.received.push((now, received));
        } else {
            let (old, new) = if worse { (0.5, 0.85) } else { (1.0, 1.0) };
            let most = self.received.iter().fold(new * received, |most, (_, x)| most.max(old * *x));
            self.received.clear();
            self.received.push((now, most));
        }
    }

    /// How long the nofeedback timer waits.
    fn patience(&self, r: f64) -> Span {
        Span::from_secs((4.0 * r).max(2.0 * self.s / self.x)).max(LEAST_TIMER)
    }

    /// Keeps the rate in its range. Returns what is in flight at it, bytes.
    fn clamp_rate(&mut self, r: f64) -> f64 {
        self.x = self.x.clamp(self.floor(), LARGEST as f64);
        self.x * self.sample.map_or(r, |sample| sample.max(r))
    }

    fn on_undo(&mut self, flow: &Flow) {
        if let Some((history, event_at)) = self.before.take() {
            (self.history, self.event_at) = (history, event_at);
        }
        self.collapsed = false;
        self.news = false;
        self.p = self.history.rate(self.position(flow));
    }

    fn on_deadline(&mut self, flow: &Flow) -> Option<f64> {
        let r = self.r.filter(|_| self.deadline() <= flow.now)?;
        let idle = flow.in_flight == 0;
        let recovered = self.initial as f64 / r;
        // Section 4.4: the rate at which an idle sender restarts is not taken away.
        let spared =
            idle && if self.p > 0.0 { self.most_received() < recovered } else { self.x < 2.0 * recovered };
        if spared {
            self.timer = None;
            return None;
        }
        if self.p > 0.0 {
            let (allowed, received) = (self.allowed(r), self.most_received());
            let limit = if allowed > 2.0 * received { received } else { allowed / 2.0 }.max(self.floor());
            self.received.clear();
            self.received.push((flow.now, limit / 2.0));
            self.x = allowed.min(limit);
        } else {
            self.x /= 2.0;
        }
        let in_flight = self.clamp_rate(r);
        self.timer = Some(flow.now + self.patience(r));
        Some(in_flight)
    }
}

impl RatePolicy for Tfrc {
    /// X, or X_inst of section 4.5.
    fn rate(&self, _mss: u32) -> Option<f64> {
        self.r?;
        Some(match self.sample.map(libm::sqrt) {
            Some(root) if self.oscillation_prevention && root > 0.0 => {
                (self.x * self.sqrt_mean / root).max(self.floor())
            }
            _ => self.x,
        })
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) -> Option<f64> {
        self.s = f64::from(flow.mss.max(1));
        if ack.acked > 0 && self.collapsed {
            self.collapsed = false;
            self.history.reopen(self.position(flow) - ack.segments(flow));
        }
        self.sample = ack.rtt.map(|rtt| rtt.latest.secs()).filter(|rtt| *rtt > 0.0).or(self.sample);
        self.busy |= ack.rate.is_none_or(|sample| !sample.app_limited);
        if ack.lost > 0 {
            self.lose(flow);
        }
        let due = self.r.is_none_or(|r| flow.now.since(self.marks[0].0).secs() >= r);
        if self.news || (due && ack.acked > 0) { self.feedback(flow) } else { None }
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) -> Option<f64> {
        match event {
            Event::Congestion(why) => {
                self.before = Some((self.history, self.event_at));
                self.lose(flow);
                self.collapsed = why == Congestion::Timeout;
            }
            Event::Undo(_) => self.on_undo(flow),
            Event::Deadline => return self.on_deadline(flow),
            _ => {}
        }
        None
    }

    fn deadline(&self) -> Time {
        self.timer.unwrap_or(Time::MAX)
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("x_bytes_per_s", self.x);
        emit("loss_event_rate", self.p);
        emit("r_s", self.r.unwrap_or(f64::NAN));
    }
}
