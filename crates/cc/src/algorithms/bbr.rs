//! BBR, version 1: N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson: BBR: Congestion-Based
//! Congestion Control, ACM Queue 14(5), 2016; as in tcp_bbr.c of Linux 6.1, which is what runs on the
//! Internet under that name.
//!
//! Unit: bytes, bytes per second. Valid for RTT from 1 us to 10^3 s and random loss p with (1 - p)
//! probe_gain > 1 (20 %). Reports must cover much less than a round trip, as their rate samples
//! show the end of a round.
//! Model: BtlBw = max of the delivery-rate samples of `bw_window` rounds. RTprop = min RTT of
//! `rtprop_window`; BDP = BtlBw RTprop. pacing = gain 0.99 BtlBw; cwnd -> gain BDP + 3 quanta (+ 2 segments
//! in the phase of 1.25) + ACK aggregation.
//!
//! | mode      | pacing gain           | cwnd gain     | ends when                                                    |
//! |-----------|-----------------------|---------------|--------------------------------------------------------------|
//! | STARTUP   | 2.885 = 2/ln 2        | 2.885         | BtlBw rose by less than 1/4 in three rounds in a row         |
//! | DRAIN     | 1 / 2.885             | 2.885         | in flight <= BDP                                             |
//! | PROBE_BW  | 1.25, 0.75, six times 1 | 2           | a phase lasts RTprop; 1.25 also until a loss or 1.25 BDP in flight; 0.75 at most until in flight <= BDP |
//! | PROBE_RTT | 1                     | 4 segments    | after 200 ms and one round with 4 segments; entered when no smaller RTT was seen for 10 s |
//!
//! Loss does not touch the model. Fast recovery: one round of packet conservation, cwnd = in flight + acked;
//! the window from before comes back when recovery ends. If the ACK that ends a recovery begins the next, or
//! a retransmission is lost, the old one continues: Linux's BBR does not see the state between. Timeout: one
//! segment, and the window comes back likewise.
//! Decisions and deviations:
//!  * the phase in which PROBE_BW begins is random in Linux, and never the one of 0.75. Here it is the
//!    parameter `phase`, or follows from the instant (its microseconds modulo seven), which sets flows apart
//!    that do not run in step.
//!  * an RTT equal to RTprop does not renew it (Linux since 2018; the paper's <= would never probe
//!    on a path without jitter).
//!  * a controller cannot mark its sender as short of data, as Linux does during PROBE_RTT. Samples of
//!    segments sent then are recognised by `prior_delivered` and taken only if they raise BtlBw.
//!  * the smallest RTT of a report counts when RTprop has expired; which RTTs were measured on a
//!    delayed ACK is not known.
//!  * a timeout does not reset the search for the plateau of STARTUP (Linux does; draft-cardwell-iccrg-bbr-00
//!    does not). A sender without RACK repairs lost retransmissions by timeouts, and STARTUP, which loses
//!    most, would go on for long.
//!  * gains are real numbers (Linux: multiples of 1/256). The cwnd is not rounded up to an
//!    even number of segments.
//!  * Linux's policer detector (lt_bw; above a loss rate of 50/256) is left out. It would take a random loss
//!    above 20 % for a policer, where the algorithm is out of its range anyway.
//!  * ECN is ignored, as in Linux.

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::algorithms::model::{Aggregation, KeptWindow, LARGEST, Pacer, RoundMax, product, quantum, times};
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "bbr",
    label: "BBR",
    about: "Models the path by its largest delivery rate and smallest RTT, and paces at that rate; losses do not slow it down.",
    source: "N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue, 2016; Linux tcp_bbr.c",
    reference: "doi:10.1145/3012426.3022184",
    grade: Grade::A,
    params: Bbr::<Plain>::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#0072b2",
    marker: "o",
    build: |args, start| Box::new(Bbr::new(args, start, Plain)),
};

/// The parameters that algorithms built on this one share. [`RTPROP_WINDOW`] is the name of
/// one whose default differs.
pub(crate) const STARTUP_GAIN: Param = Param::number("startup_gain", 2.885, 1.0..=10.0)
    .about("pacing and cwnd gain of STARTUP, 2 / ln 2; DRAIN paces at 1 / that");
pub(crate) const PROBE_GAIN: Param = Param::number("probe_gain", 1.25, 1.0..=2.0)
    .about("pacing gain of the first phase of PROBE_BW; the second has 2 - probe_gain");
pub(crate) const CWND_GAIN: Param = Param::number("cwnd_gain", 2.0, 1.0..=10.0)
    .about("cwnd in BDPs in PROBE_BW: room for delayed and aggregated ACKs");
pub(crate) const BW_WINDOW: Param = Param::number("bw_window", 10.0, 1.0..=1000.0)
    .unit("rounds")
    .about("BtlBw is the largest rate of this many rounds");
pub(crate) const RTPROP_WINDOW: &str = "rtprop_window";
pub(crate) const PROBE_RTT_TIME: Param = Param::number("probe_rtt_time", 0.2, 0.0..=1e3)
    .unit("s")
    .about("shortest time with the small window of PROBE_RTT");
pub(crate) const PHASE: Param = Param::number("phase", -1.0, -1.0..=7.0)
    .about("phase of the first PROBE_BW cycle, 0 to 7 (1 is taken as 2); -1: from the clock");

/// Phases of PROBE_BW.
const PHASES: u64 = 8;
/// STARTUP goes on while BtlBw rises by this factor within [`FULL_ROUNDS`] rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// cwnd of PROBE_RTT and the smallest of all: enough for delayed ACKs on both ends, segments.
const FLOOR: u64 = 4;
/// ACK aggregation is remembered for this many rounds (Linux: five to ten).
const AGGREGATION_ROUNDS: f64 = 10.0;

/// The mode of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Startup,
    Drain,
    /// With the phase of the cycle.
    ProbeBw(u64),
    ProbeRtt,
}

/// What an algorithm on the model of BBR does otherwise. The defaults are BBR's own rules, and cost nothing.
pub(crate) trait Extension: Debug + Send {
    /// The window of PROBE_RTT in BDPs; four segments are the least.
    const PROBE_RTT_GAIN: f64 = 0.0;
    /// Is the last RTT of PROBE_RTT the new RTprop, though it may be longer?
    const REMEASURES: bool = false;

    /// Time has come to `now`; called first for each ACK.
    fn pass(&mut self, _now: Time) {}
    /// A rate sample in `mode`, with the RTT of its ACK; it may be the first of a round.
    fn on_rate(&mut self, _mode: Mode, _begins_round: bool, _rate: u64, _rtt: Option<Span>) {}
    /// The model is up to date with an ACK.
    fn on_model(&mut self, _mode: Mode, _rtt: Option<Span>, _rtprop: Option<Span>) {}
    /// Does PROBE_RTT begin? RTprop has `expired` or not.
    fn begins_probe_rtt(&self, mode: Mode, expired: bool) -> bool {
        expired && mode != Mode::ProbeRtt
    }
    /// PROBE_RTT is over. Begin with STARTUP again, with this BtlBw?
    fn restarts_with(&self) -> Option<u64> {
        None
    }
    /// STARTUP is over.
    fn on_full(&mut self) {}
    /// The rate for pacing and window, where the model says `btlbw`.
    fn bw(&self, btlbw: u64) -> u64 {
        btlbw
    }
    /// The pacing gain that probes.
    fn probe_gain(&self, gain: f64) -> f64 {
        gain
    }
    /// See [`Controller::on`], for what BBR itself has no answer to.
    fn on(&mut self, _flow: &Flow, _event: Event<'_>) {}
    /// See [`Needs::path_change`].
    fn needs_path_change(&self) -> bool {
        false
    }
    /// See [`Controller::probe`].
    fn probe(&self, _emit: &mut dyn FnMut(&str, f64)) {}
}

/// BBR's own rules.
#[derive(Debug)]
pub(crate) struct Plain;

impl Extension for Plain {}

algorithm! {
    #[derive(Debug)]
    pub(crate) struct Bbr<E: Extension> {
        use STARTUP_GAIN, PROBE_GAIN, CWND_GAIN, BW_WINDOW;
        use Param::number(RTPROP_WINDOW, 10.0, 0.1..=1e6)
            .unit("s")
            .about("PROBE_RTT after this time without a smaller RTT");
        use PROBE_RTT_TIME, PHASE;
    }
    state(args, start: Start, extension: E) {
        extension: E = extension,
        startup_gain: f64 = args.number(STARTUP_GAIN.name),
        probe_gain: f64 = args.number(PROBE_GAIN.name),
        cwnd_gain: f64 = args.number(CWND_GAIN.name),
        rtprop_window: Span = Span::from_secs(args.number(RTPROP_WINDOW)),
        probe_rtt_time: Span = Span::from_secs(args.number(PROBE_RTT_TIME.name)),
        first_phase: Option<u64> = Some(args.number(PHASE.name)).filter(|n| *n >= 0.0).map(|n| n as u64),
        mss: u32 = start.mss.max(1),
        initial: u64 = times(start.initial_window.max(1.0), u64::from(mss)),
        mode: Mode = Mode::Startup,
        bw: RoundMax = RoundMax::new(args.number(BW_WINDOW.name)),
        round: u64,
        /// The round ends when a segment is acknowledged that was sent after this much had been delivered.
        round_mark: u64,
        rtprop: Option<Span>,
        rtprop_at: Time,
        filled: bool,
        full_bw: u64,
        full_rounds: u32,
        cycle_at: Time,
        /// When PROBE_RTT has lasted long enough; set once the flight is down to four segments.
        probe_rtt_end: Option<Time>,
        probe_rtt_round: bool,
        /// Samples of segments sent before this much was delivered belong to a PROBE_RTT.
        small_until: u64,
        idle: bool,
        aggregation: Aggregation = Aggregation::new(AGGREGATION_ROUNDS),
        cwnd: u64 = initial,
        kept: KeptWindow,
        /// Fast recovery was reported, and its first ACK has yet to set the window.
        entering: bool,
        conserving: bool,
        /// When the last fast recovery ended.
        recovered_at: Option<Time>,
        /// A timeout was reported and nothing has been delivered since.
        collapsed: bool,
        pacer: Pacer = Pacer::new(startup_gain, initial),
        last_target: Option<(TargetInputs, u64)>,
    }
}

/// A [`Bbr::target`] follows from these: gain, BtlBw, RTprop, pacing rate, and whether the phase probes.
type TargetInputs = (f64, u64, Option<Span>, Rate, bool);

impl<E: Extension> Bbr<E> {
    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => self.startup_gain,
            Mode::Drain => 1.0 / self.startup_gain,
            Mode::ProbeBw(0) => self.extension.probe_gain(self.probe_gain),
            Mode::ProbeBw(1) => 2.0 - self.probe_gain,
            Mode::ProbeBw(_) | Mode::ProbeRtt => 1.0,
        }
    }

    fn segments(&self, n: u64) -> u64 {
        n.saturating_mul(u64::from(self.mss))
    }

    /// `gain` BDPs plus the bytes that the ends hold up, and two segments more in the phase that probes: a
    /// gain of 1.25 is no whole segment on the smallest paths (Linux, `bbr_quantization_budget`).
    fn inflight(&self, gain: f64) -> u64 {
        self.inflight_at(self.bw.get(), gain)
    }

    fn inflight_at(&self, bw: u64, gain: f64) -> u64 {
        let probe = if self.mode == Mode::ProbeBw(0) { self.segments(2) } else { 0 };
        match self.rtprop {
            None => self.initial,
            Some(rtt) => times(gain, product(bw, rtt)) + 3 * quantum(self.pacer.rate(), self.mss) + probe,
        }
    }

    /// The window that the mode aims at, without ACK aggregation, bytes.
    fn target(&mut self) -> u64 {
        let gain = match self.mode {
            Mode::ProbeRtt => 1.0,
            Mode::Startup | Mode::ProbeBw(_) if self.filled => self.cwnd_gain,
            _ => self.startup_gain,
        };
        // Most ACKs change none of these. Without this memo `inflight` takes 11 % of the CPU time of a
        // run with BBR, with it 1 %.
        let bw = self.extension.bw(self.bw.get());
        let of = (gain, bw, self.rtprop, self.pacer.rate(), self.mode == Mode::ProbeBw(0));
        match self.last_target {
            Some((last, target)) if last == of => target,
            _ => self.last_target.insert((of, self.inflight_at(bw, gain))).1,
        }
    }

    /// Rounds and BtlBw. True if the ACK begins a round.
    fn learn_rate(&mut self, flow: &Flow, ack: &Ack) -> bool {
        let Some(sample) = ack.rate else { return false };
        let round_start = sample.prior_delivered >= self.round_mark;
        if round_start {
            self.round_mark = flow.delivered;
            self.round += 1;
            self.conserving = false;
        }
        self.extension.on_rate(self.mode, round_start, sample.rate.0, ack.rtt.map(|rtt| rtt.latest));
        self.aggregation.add(flow, ack, self.round, self.bw.get(), self.cwnd);
        let short = sample.app_limited || sample.prior_delivered < self.small_until;
        if !short || sample.rate.0 >= self.bw.get() {
            self.bw.add(self.round, sample.rate.0);
        }
        if round_start && !self.filled && !short {
            if self.bw.get() as f64 >= FULL_GROWTH * self.full_bw as f64 {
                (self.full_bw, self.full_rounds) = (self.bw.get(), 0);
            } else {
                self.full_rounds += 1;
                self.filled = self.full_rounds >= FULL_ROUNDS;
            }
        }
        round_start
    }

    fn advance_cycle(&mut self, flow: &Flow, ack: &Ack) {
        let Mode::ProbeBw(phase) = self.mode else { return };
        let whole = flow.now.since(self.cycle_at) > self.rtprop.unwrap_or(Span::ZERO);
        let before = flow.in_flight.saturating_add(ack.acked).saturating_add(ack.lost);
        let next = match phase {
            0 => {
                whole && (ack.lost > 0 || before >= self.inflight(self.extension.probe_gain(self.probe_gain)))
            }
            1 => whole || before <= self.inflight(1.0),
            _ => whole,
        };
        if next {
            self.mode = Mode::ProbeBw((phase + 1) % PHASES);
            self.cycle_at = flow.now;
        }
    }

    fn probe_bandwidth(&mut self, flow: &Flow) {
        let phase = self.first_phase.unwrap_or((flow.now.0 / 1000 % (PHASES - 1) + 2) % PHASES);
        self.mode = Mode::ProbeBw(if phase == 1 { 2 } else { phase });
        self.cycle_at = flow.now;
    }

    fn leave_startup(&mut self, flow: &Flow) {
        if self.mode == Mode::Startup && self.filled {
            self.extension.on_full();
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && flow.in_flight <= self.inflight(1.0) {
            self.probe_bandwidth(flow);
        }
    }

    /// RTprop and PROBE_RTT.
    fn learn_rtt(&mut self, flow: &Flow, ack: &Ack, round_start: bool) {
        let expired = self.rtprop.is_some() && flow.now.since(self.rtprop_at) > self.rtprop_window;
        if let Some(rtt) = ack.rtt
            && (expired || self.rtprop.is_none_or(|known| rtt.min < known))
        {
            self.rtprop = Some(rtt.min);
            self.rtprop_at = flow.now;
        }
        if !self.idle && self.extension.begins_probe_rtt(self.mode, expired) {
            // The mode is set before the window is saved, so the window of the last save counts if it is
            // greater (Linux, `bbr_update_min_rtt` and `bbr_save_cwnd`; `leocc.c` as well).
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.small_until = flow.delivered.saturating_add(flow.in_flight);
            match self.probe_rtt_end {
                None if flow.in_flight <= self.probe_rtt_window() => {
                    self.probe_rtt_end = Some(flow.now + self.probe_rtt_time);
                    self.probe_rtt_round = false;
                    self.round_mark = flow.delivered;
                }
                None => {}
                Some(end) => {
                    self.probe_rtt_round |= round_start;
                    if self.probe_rtt_round && flow.now >= end {
                        if let Some(rtt) = ack.rtt.filter(|_| E::REMEASURES) {
                            self.rtprop = Some(rtt.latest);
                        }
                        self.leave_probe_rtt(flow);
                    }
                }
            }
        }
        self.idle &= ack.acked == 0;
    }

    fn leave_probe_rtt(&mut self, flow: &Flow) {
        self.rtprop_at = flow.now;
        self.cwnd = self.kept.back(self.cwnd);
        if let Some(bw) = self.extension.restarts_with() {
            self.bw.restart(self.round, bw);
            (self.filled, self.full_bw, self.full_rounds) = (false, 0, 0);
        }
        if self.filled {
            self.probe_bandwidth(flow);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// The window of PROBE_RTT.
    fn probe_rtt_window(&self) -> u64 {
        match self.rtprop {
            Some(rtt) if E::PROBE_RTT_GAIN > 0.0 => {
                times(E::PROBE_RTT_GAIN, product(self.bw.get(), rtt)).max(self.segments(FLOOR))
            }
            _ => self.segments(FLOOR),
        }
    }

    fn set_window(&mut self, flow: &Flow, ack: &Ack) {
        let conserved = flow.in_flight.saturating_add(ack.acked);
        self.cwnd = self.cwnd.saturating_sub(ack.lost).max(self.segments(1));
        if self.kept.repairing() && flow.phase == Phase::Open && !self.entering {
            self.restore(); // a timeout's repair is complete; the end of fast recovery is `Life::Recovered`
        }
        if core::mem::take(&mut self.entering) {
            self.conserving = true;
            self.round_mark = flow.delivered;
            self.cwnd = conserved;
        }
        if self.conserving {
            self.cwnd = self.cwnd.max(conserved);
        } else if ack.acked > 0 {
            let extra = if self.filled { self.aggregation.get(self.bw.get()) } else { 0 };
            let target = self.target() + extra;
            if self.filled {
                self.cwnd = self.cwnd.saturating_add(ack.acked).min(target);
            } else if self.cwnd < target || flow.delivered < self.initial {
                self.cwnd = self.cwnd.saturating_add(ack.acked);
            }
            self.cwnd = self.cwnd.max(self.segments(FLOOR));
        }
        self.clamp_window();
    }

    /// Remembers the window for the end of a recovery or of PROBE_RTT (Linux, `bbr_save_cwnd`).
    fn save_window(&mut self) {
        self.kept.save(self.cwnd, self.mode == Mode::ProbeRtt);
    }

    /// Recovery is over: the window from before it comes back.
    fn restore(&mut self) {
        self.cwnd = self.kept.restore(self.cwnd);
        (self.entering, self.conserving) = (false, false);
    }

    fn clamp_window(&mut self) {
        let most = if self.mode == Mode::ProbeRtt { self.probe_rtt_window() } else { LARGEST };
        self.cwnd = self.cwnd.clamp(self.segments(1), most);
    }

    /// Is `why` one more loss of a fast recovery that goes on? True if it follows in the ACK that ended one,
    /// since Linux's BBR does not see the state between, or if a retransmission was lost.
    fn continues(&self, flow: &Flow, why: Congestion) -> bool {
        let again = self.kept.repairing() && flow.phase == Phase::Recovery;
        why == Congestion::Loss && (again || self.recovered_at == Some(flow.now))
    }

    /// The window right after `why` is reported. Fast recovery's first ACK sets it again, by its deliveries.
    fn answer(&self, flow: &Flow, why: Congestion) -> u64 {
        match why {
            _ if self.collapsed || self.continues(flow, why) => self.cwnd,
            Congestion::Ecn => self.cwnd,
            Congestion::Loss => self.cwnd.min(flow.in_flight.max(self.segments(1))),
            Congestion::Timeout => self.segments(1),
        }
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        if self.collapsed || why == Congestion::Ecn {
            return;
        }
        let continues = self.continues(flow, why);
        self.save_window();
        self.cwnd = self.answer(flow, why);
        self.kept.repair();
        if !continues {
            self.entering = why == Congestion::Loss;
            self.conserving = false;
        }
        if why == Congestion::Timeout {
            self.collapsed = true;
        }
    }

    fn on_life(&mut self, flow: &Flow, what: Life) {
        match what {
            Life::Recovered => {
                self.restore();
                self.recovered_at = Some(flow.now);
            }
            Life::MssChanged => {
                self.mss = flow.mss.max(1);
                self.last_target = None;
            }
            Life::IdleRestart => {
                self.idle = true;
                self.aggregation.restart(flow.now);
                if matches!(self.mode, Mode::ProbeBw(_)) {
                    self.pacer.cruise(self.bw.get());
                } else if self.mode == Mode::ProbeRtt && self.probe_rtt_end.is_some_and(|end| flow.now > end)
                {
                    self.leave_probe_rtt(flow);
                }
            }
        }
        self.clamp_window();
    }
}

impl<E: Extension> Controller for Bbr<E> {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.collapsed &= ack.acked == 0;
        self.extension.pass(flow.now);
        let round_start = self.learn_rate(flow, ack);
        self.advance_cycle(flow, ack);
        self.leave_startup(flow);
        self.learn_rtt(flow, ack, round_start);
        self.extension.on_model(self.mode, ack.rtt.map(|rtt| rtt.latest), self.rtprop);
        let bw = self.extension.bw(self.bw.get());
        self.pacer.follow(flow, self.cwnd, self.pacing_gain(), bw, self.filled);
        self.set_window(flow, ack);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(flow, why),
            Event::Undo(before) => {
                self.restore();
                self.cwnd = self.cwnd.max(before.cwnd).clamp(self.segments(1), LARGEST);
                self.collapsed = false;
                (self.full_bw, self.full_rounds) = (0, 0); // a delay spike makes STARTUP look finished (Linux)
            }
            Event::Life(what) => self.on_life(flow, what),
            event => self.extension.on(flow, event),
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            path_change: self.extension.needs_path_change(),
            recovery: RecoveryWindow::Controller,
            rate: true,
            ..Needs::default()
        }
    }

    fn decision(&self) -> Decision {
        Decision::of_model(self.cwnd, Pacing::Rate(self.pacer.rate()))
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        Backoff::of_model(self.answer(flow, why))
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("btlbw_bytes_per_s", self.bw.get() as f64);
        emit("rtprop_s", self.rtprop.map_or(f64::NAN, Span::secs));
        emit("pacing_gain", self.pacing_gain());
        self.extension.probe(emit);
    }
}

#[cfg(test)]
mod tests;
