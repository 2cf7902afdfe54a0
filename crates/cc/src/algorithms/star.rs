//! TCP-STAR: H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for Satellite
//! Internet, IEICE Transactions on Communications, 2006.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, any RTT above 1 us.
//! Equations: (2), (3) available-bandwidth estimate (ABE, from TCP-J) -> [`Abe::add`]; LWC (window = Reno's plus ABE's)
//! -> `grow`; CWS (setting at a loss) -> `backoff`. AEN (probe after a timeout) is the sender option `aen`.
//! Decisions where the paper is silent:
//!  * CWS governs during recovery; when it ends W_reno is halved as Reno's would be, then LWC goes on.
//!  * the window compared with ssthresh in CWS is W, not W_reno.
//!  * ABE counts a duplicate ACK as one segment and the cumulative ACK that follows as that much less (Westwood's
//!    correction); ACKs at the same instant are added up; ECN is answered as a loss.

use alloc::boxed::Box;

use crate::controller::{Congestion, Life};
use crate::registry::{Entry, Grade, SenderOptions};
use crate::report::{Ack, Flow};
use crate::time::Time;
use crate::windowed::{Cut, Policy, Start, Window, Windowed};

pub(crate) const ENTRY: Entry = Entry {
    id: "star",
    label: "TCP-STAR",
    about: "Reno's window plus an estimate of the available bandwidth; probes after a timeout to spare lost ACKs.",
    source: "H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for Satellite Internet, IEICE Trans. Commun., 2006",
    reference: "doi:10.1093/ietcom/e89-b.6.1766",
    grade: Grade::A,
    params: &[],
    sender: SenderOptions { aen: true, bulk_repeat: false, fixed_rto: false },
    colour: "#d62728",
    marker: "*",
    build: |_, start| Box::new(Windowed::new(Star::new(start), start)),
};

/// The available-bandwidth estimate of TCP-J, per ACK and not per time (eq. 2 and 3).
#[derive(Debug, Default)]
pub(crate) struct Abe {
    /// BW, segments per second.
    bw: f64,
    /// s_(k-1), segments per second.
    last: f64,
    at: Option<Time>,
    pending: f64,
}

impl Abe {
    /// Takes `segments` acknowledged at `now`.
    pub(crate) fn add(&mut self, segments: f64, now: Time) {
        let Some(at) = self.at.replace(now) else { return };
        self.pending += segments;
        if now == at {
            return;
        }
        let s = self.pending / now.since(at).secs(); // eq. 3: s_k = d_k / (t_k - t_(k-1))
        self.bw = 0.9 * self.bw + 0.1 * (s + self.last) / 2.0; // eq. 2
        self.last = s;
        self.pending = 0.0;
    }

    /// BW * Rmin: the window that the estimate allows, in segments; 0 before the first RTT sample.
    pub(crate) fn window(&self, flow: &Flow) -> f64 {
        flow.rtt.map_or(0.0, |r| self.bw * r.min.secs())
    }
}

#[derive(Debug)]
struct Star {
    w_reno: f64,
    abe: Abe,
}

impl Star {
    fn new(start: Start) -> Self {
        Self { w_reno: start.initial_window.max(1.0), abe: Abe::default() }
    }

    /// LWC: W_reno grows as Reno's window does against T, and W = W_reno + BW * Rmin.
    fn grow(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let n = ack.segments(flow);
        self.w_reno += if self.w_reno < w.ssthresh { n } else { n / self.w_reno };
        w.cwnd = self.w_reno + self.abe.window(flow);
    }
}

impl Policy for Star {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if ack.acked > 0 {
            self.abe.add(ack.segments(flow), flow.now);
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        self.grow(w, flow, ack);
        0.0
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        self.grow(w, flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        let estimate = self.abe.window(flow).max(2.0);
        match why {
            Congestion::Timeout => Cut::standard(estimate, why),
            // CWS: in slow start keep W and set T; otherwise set both.
            _ if w.cwnd < w.ssthresh => Cut { cwnd: w.cwnd, ssthresh: estimate, repeat: false },
            _ => Cut::standard(estimate, why),
        }
    }

    fn on_congestion(&mut self, _w: &Window, _flow: &Flow, why: Congestion) {
        match why {
            Congestion::Timeout => self.w_reno = 1.0,
            Congestion::Ecn => self.w_reno = (self.w_reno / 2.0).max(1.0),
            Congestion::Loss => {}
        }
    }

    fn on_undo(&mut self, w: &mut Window, flow: &Flow) {
        self.w_reno = (w.cwnd - self.abe.window(flow)).max(self.w_reno);
    }

    fn on_life(&mut self, w: &mut Window, flow: &Flow, what: Life) {
        if what == Life::Recovered && self.w_reno > 1.0 {
            self.w_reno = (self.w_reno / 2.0).max(1.0);
            w.cwnd = self.w_reno + self.abe.window(flow);
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("w_reno_segments", self.w_reno);
        emit("bw_segments_per_s", self.abe.bw);
    }
}
