//! Prague: K. De Schepper, O. Tilmans, B. Briscoe, V. Goel: Prague Congestion Control,
//! draft-briscoe-iccrg-prague-congestion-control-04, 2024; the rules are those of the reference
//! implementation, tcp_prague.c version 0.6 (net/ipv4 of the L4S team's Linux), which was read.
//!
//! Unit: segments. Valid for 2 <= cwnd < 2^40.
//!
//! From the reference to functions:
//!  * `prague_update_alpha` -> [`Prague::end_window`]: alpha as DCTCP's, with g = 1/16;
//!    not before the first mark.
//!  * `prague_enter_cwr` -> `backoff`: W - alpha W / 2, at most once per virtual round trip.
//!  * `prague_update_cwnd` -> `grow`: per unmarked segment a / W, a = 1 above the target RTT.
//!  * `prague_rate_scaled_ai_ack_increase` -> [`Prague::increase`]: a = (RTT / target)^2 below it.
//!  * `prague_update_pacing_rate` -> `decision`: W / SRTT; twice that below half of ssthresh.
//!  * `prague_enter_loss` -> `backoff`: W / 2.
//!
//! RTT independence: a flow whose RTT is below the target grows by a segment per target RTT in terms of rate,
//! updates alpha at most once per target RTT, and reduces at most as often. It begins after `transition`
//! rounds outside slow start (500 in the reference). A later slow start does not end it (`prague_new_round`).
//! The connection's part is an option, `ecn = "accecn"` with `ect1`, for which the entry asks.
//! Decisions and deviations:
//!  * growth goes on during a reduction, by what is not marked, as in the reference (its point 4). The host's
//!    gate for marked ACKs does not hold: it sees the unmarked part of an acknowledgement alone.
//!  * a loss ends growth until recovery is over, as for every algorithm of the host. After a timeout the
//!    window is one segment (RFC 5681), where the reference halves it.
//!  * the window is real-valued; the reference carries a remainder to the same effect. But it takes a
//!    reduction down by one segment per ACK (`--tp->snd_cwnd`), where it is at once here: until W alpha / 2
//!    ACKs have come its window is the larger one.
//!  * the rate is of W or of what is in flight, whichever is more (version 0.6); later states of the team's
//!    tree count fractions of W.
//!  * no fallback to a classic response where the queue marks as RFC 3168 says: it is off in the reference.
//!  * no bound on bursts: segments here are single, so that nothing of the reference's choice
//!    of offload sizes is left.
//!  * idle restart: nothing changes, as in the reference.

use crate::algorithms::dctcp::MarkedShare;
use crate::algorithms::prelude::*;
use crate::registry::Marks;

pub(crate) const ENTRY: Entry = Entry {
    id: "prague",
    label: "Prague",
    about: "DCTCP for the Internet: ECT(1), an increase that does not favour short paths, paced; for DualPI2 queues.",
    source: "K. De Schepper, O. Tilmans, B. Briscoe, V. Goel: Prague Congestion Control, 2024; Linux tcp_prague.c",
    reference: "draft-briscoe-iccrg-prague-congestion-control-04",
    grade: Grade::B,
    params: Prague::PARAMS,
    sender: SenderOptions { marks: Marks::L4s, ..SenderOptions::NONE },
    colour: "#99ddff",
    marker: "s",
    build: |args, start| Windowed::hosted(Prague::new(args, start), start),
};

/// The least window that marks may leave, in segments (MIN_CWND).
const LEAST: f64 = 2.0;
/// A flow with a longer RTT grows by one segment a round whatever its target (MAX_SCALED_RTT).
const LONGEST_SCALED: Span = Span::from_millis(100);

algorithm! {
    #[derive(Debug)]
    struct Prague {
        use Param::number("g", 0.0625, 1e-4..=1.0).unit("1").about("weight of the last round in alpha");
        use Param::number("alpha", 1.0, 0.0..=1.0)
            .unit("1")
            .about("share of marked bytes assumed at the first mark");
        /// a flow with a shorter RTT behaves as if it had this one; 0 switches it off
        target_rtt: Span = 0.025, 0.0..=1.0, "s";
        /// rounds after slow start before it does so
        transition: f64 = 500.0, 0.0..=1e6, "rounds";
    }
    state(args, start: Start) {
        share: MarkedShare = MarkedShare::new(args),
        /// Rounds in congestion avoidance so far, and whether the flow is in slow start.
        rounds: f64,
        slow: bool = start.initial_window < start.initial_ssthresh,
        /// A round is over, and alpha has not been updated since.
        over: bool,
        /// A mark has been seen: there is a queue that marks.
        marks: bool,
        alpha_at: Time,
        cut_at: Time,
        /// Segments a round, in avoidance.
        per_round: f64 = 1.0,
        srtt: Span,
        mss: u32 = 1,
        in_flight: u64,
    }
}

impl Prague {
    /// Does it behave as if it had the target RTT?
    fn is_independent(&self) -> bool {
        self.target_rtt > Span::ZERO && self.rounds >= self.transition
    }

    /// The increase a round: (RTT / target)^2 where the flow is independent of its RTT, which is a segment
    /// per target RTT, less by the ratio of the rates that a segment of window makes.
    fn increase(&self) -> f64 {
        if !self.is_independent() || self.srtt >= self.target_rtt || self.srtt > LONGEST_SCALED {
            return 1.0;
        }
        let ratio = self.srtt.secs() / self.target_rtt.secs();
        ratio * ratio
    }

    /// A round is over, and if the flow is independent of its RTT a target RTT since the last update, too.
    fn end_window(&mut self, now: Time) {
        self.over = false;
        self.rounds += if self.slow { 0.0 } else { 1.0 };
        self.per_round = self.increase();
        if self.marks {
            self.share.end_window();
            self.alpha_at = now;
        } else {
            self.share.forget();
        }
    }

    fn may_cut(&self, now: Time) -> bool {
        !self.is_independent() || now.since(self.cut_at) >= self.target_rtt
    }
}

impl Policy for Prague {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.srtt = flow.rtt.map_or(Span::ZERO, |rtt| rtt.smoothed);
        (self.mss, self.in_flight) = (flow.mss, flow.in_flight);
        self.marks |= ack.ce > 0;
        self.share.count(ack);
        self.over |= ack.round_end;
        if self.over && (!self.is_independent() || flow.now.since(self.alpha_at) >= self.target_rtt) {
            self.end_window(flow.now);
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        self.slow = true;
        exponential(w, ack.segments(flow))
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        self.slow = false;
        additive(w, flow, ack, self.per_round);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        match why {
            Congestion::Ecn if !self.may_cut(flow.now) => {
                Cut { cwnd: w.cwnd, ssthresh: w.ssthresh, repeat: false }
            }
            Congestion::Ecn => {
                Cut::standard((w.cwnd * (1.0 - self.share.alpha / 2.0)).max(LEAST.min(w.cwnd)), why)
            }
            Congestion::Loss | Congestion::Timeout => Cut::standard(w.cwnd / 2.0, why),
        }
    }

    fn on(&mut self, _w: &mut Window, flow: &Flow, event: Event<'_>) {
        if let Event::Congestion(why) = event {
            self.slow = why == Congestion::Timeout;
            if why == Congestion::Ecn && self.may_cut(flow.now) {
                self.cut_at = flow.now;
            }
        }
    }

    fn needs(&self) -> Needs {
        Needs { losses_after_marks: true, ..Needs::default() }
    }

    fn grows_beside_marks(&self) -> bool {
        true
    }

    fn pacing(&self, w: &Window) -> Pacing {
        if self.srtt == Span::ZERO {
            return Pacing::Window;
        }
        let window = (w.cwnd * f64::from(self.mss)).max(self.in_flight as f64);
        let gain = if w.cwnd < w.ssthresh / 2.0 { 2.0 } else { 1.0 };
        Pacing::Rate(Rate(((gain * window / self.srtt.secs()) as u64).max(1)))
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("alpha", self.share.alpha);
        emit("per_round_segments", self.per_round);
    }
}

#[cfg(test)]
mod tests {
    use crate::decision::{Decision, Pacing};
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe};
    use crate::time::Rate;

    /// With a target of 25 ms a flow of 5 ms grows by (5 / 25)^2 = 0.04 segments a round, one
    /// of 25 ms or more by one.
    #[test]
    fn below_the_target_the_increase_is_the_square_of_the_ratio() {
        for (rtt, transition, growth) in
            [(0.005, 0.0, 0.04), (0.025, 0.0, 1.0), (0.2, 0.0, 1.0), (0.005, 500.0, 1.0)]
        {
            let given = [("transition", Value::Number(transition))];
            let mut rig = Rig::new("prague", &given, 100.0, 2.0);
            for _ in 0..60 {
                rig.ack(0.0, rtt, rtt, true);
            }
            let before = rig.w();
            rig.ack(1.0, rtt, rtt, false);
            near(rig.w() - before, growth / 100.0, 1e-3);
        }
    }

    /// An acknowledgement of two segments, one of them marked, makes the window grow by the other one.
    #[test]
    fn what_is_not_marked_makes_the_window_grow() {
        let mut rig = Rig::new("prague", &[], 100.0, 2.0);
        rig.marked(2.0, 1.0, 0.05, false);
        near(rig.w() - 100.0, 0.01, 1e-3);
        rig.marked(2.0, 2.0, 0.05, false);
        near(rig.w() - 100.0, 0.01, 1e-3);
    }

    /// `prague_new_round`: rounds of slow start do not count, and those in avoidance stay counted after a
    /// timeout. With a transition of three rounds at 5 ms growth falls from 1 / W to 0.04 / W.
    #[test]
    fn rounds_count_outside_slow_start_and_are_never_taken_back() {
        let given = [("transition", Value::Number(3.0))];
        let mut rig = Rig::new("prague", &given, 2.0, 64.0);
        let grows = |rig: &mut Rig| {
            let before = rig.w();
            rig.ack(1.0, 0.005, 0.005, false);
            (rig.w() - before) * before
        };
        (0..5).for_each(|_| rig.round(0.005));
        assert_eq!(rig.w(), 64.0);
        near(grows(&mut rig), 1.0, 0.05);
        (0..6).for_each(|_| rig.round(0.005));
        near(grows(&mut rig), 0.04, 0.05);
        rig.congestion(Congestion::Timeout);
        while rig.w() < rig.t() {
            rig.round(0.005);
        }
        near(grows(&mut rig), 0.04, 0.05);
    }

    /// Alpha stays at its first value until a mark comes, and then follows the share of marks as DCTCP's:
    /// from 1 with a quarter marked 15/16 + 1/64.
    #[test]
    fn alpha_waits_for_the_first_mark() {
        let mut rig = Rig::new("prague", &[], 8.0, 2.0);
        for _ in 0..10 {
            rig.marked(8.0, 0.0, 0.05, true);
        }
        near(probe(&*rig.cc, "alpha"), 1.0, 1e-12);
        rig.marked(8.0, 2.0, 0.05, true);
        near(probe(&*rig.cc, "alpha"), 15.0 / 16.0 + 1.0 / 64.0, 1e-12);
    }

    /// A short flow that behaves as one of 25 ms is cut once in 25 ms.
    #[test]
    fn marks_cut_once_in_a_target_rtt() {
        let given = [("transition", Value::Number(0.0)), ("alpha", Value::Number(0.5))];
        let mut rig = Rig::new("prague", &given, 100.0, 2.0);
        rig.ack(0.0, 0.1, 0.005, true);
        rig.congestion(Congestion::Ecn);
        near(rig.w(), 75.0, 1e-9);
        rig.ack(0.0, 0.01, 0.005, true);
        rig.congestion(Congestion::Ecn);
        near(rig.w(), 75.0, 1e-9);
        rig.ack(0.0, 0.015, 0.005, true);
        rig.congestion(Congestion::Ecn);
        assert!(rig.w() < 75.0);
    }

    /// W / SRTT: 100 segments of a megabyte in 50 ms; twice that far below ssthresh.
    #[test]
    fn it_is_paced_at_a_window_a_round_trip() {
        for (ssthresh, rate) in [(2.0, 2_000_000_000_u64), (1000.0, 4_000_000_000)] {
            let mut rig = Rig::new("prague", &[], 100.0, ssthresh);
            rig.ack(0.0, 0.05, 0.05, false);
            let Decision { pacing, .. } = rig.cc.decision();
            assert_eq!(pacing, Pacing::Rate(Rate(rate)));
        }
    }
}
