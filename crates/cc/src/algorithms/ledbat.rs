//! LEDBAT: S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind: Low Extra Delay Background Transport
//! (LEDBAT), RFC 6817, 2012. A window that steers its own queueing delay to a target and so gives way to
//! flows that fill the buffer.
//!
//! Unit: segments; delays in seconds. Valid for 1 <= cwnd < 2^40 and RTT above 1 us.
//! Rules (section 2.4.2):
//!  * Queueing delay = FILTER(current delays) - MIN(base delays) -> [`DelayHistory::queueing`].
//!  * off_target = (TARGET - queueing delay) / TARGET and cwnd += GAIN off_target acked / cwnd -> `avoid`.
//!  * at most half of the window goes at a loss, not below MIN_CWND -> `backoff`.
//!  * one segment after a timeout, which the next ACK lifts to MIN_CWND -> `avoid`.
//!
//! Parameters of section 2.5: TARGET 100 ms, GAIN 1, BASE_HISTORY 10 minutes, CURRENT_FILTER the
//! smallest of 4, MIN_CWND 2.
//! The text of the RFC was not at hand: the rules are from knowledge of it, hence grade B. Apple's
//! tcp_ledbat.c, which was read, implements an older draft with a fixed cut of one eighth, and was
//! of use for LEDBAT++ only.
//! Decisions and deviations:
//!  * the RFC measures one-way delay by the receiver's clock. A sender here knows RTTs alone, as LEDBAT++
//!    does on purpose. So a queue on the way back counts like one on the way out, and LEDBAT gives way to
//!    traffic on the return path too.
//!    FILTER has to take out noise: what delayed ACKs wait, and what a modem makes ACKs wait for air time.
//!    Clock drift, for which the RFC warns, is no matter then.
//!  * the limit to the data in flight plus ALLOWED_INCREASE is the host's rule: a window that did not limit
//!    the sender does not grow.
//!  * the RFC's rule has no slow start. `ramp = "slow"` has one, which ends where half of TARGET is queued,
//!    as in libutp: over a path with a BDP of hundreds of segments the default needs hundreds of round trips.
//!  * INIT_CWND is the sender's initial window (`initial_window` of a flow), not 2.
//!  * an ECN echo counts as a loss, as the RFC asks.
//!  * an idle restart drops the current delays, which are old, and keeps the base delays.
//!
//! Known, and the reason for LEDBAT++: base delays that were measured while the queue of another LEDBAT flow
//! stood are too high, so that latecomers take more. Where the buffer holds less than TARGET, LEDBAT is
//! about as aggressive as Reno.

mod delays;

use crate::algorithms::prelude::*;
pub(crate) use delays::DelayHistory;

pub(crate) const ENTRY: Entry = Entry {
    id: "ledbat",
    label: "LEDBAT",
    about: "Background transfers: steers its own queueing delay to a target, and gives way to flows that queue more.",
    source: "S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind: Low Extra Delay Background Transport (LEDBAT), 2012",
    reference: "RFC 6817",
    grade: Grade::B,
    params: Ledbat::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#222255",
    marker: "o",
    build: |args, start| Windowed::hosted(Ledbat::new(args), start),
};

/// MIN_CWND.
pub(crate) const LEAST: f64 = 2.0;

/// Half of the window, but not below MIN_CWND unless it was there already.
pub(crate) fn halved(cwnd: f64) -> f64 {
    cwnd.min((cwnd / 2.0).max(LEAST))
}

algorithm! {
    #[derive(Debug)]
    struct Ledbat {
        /// TARGET: queueing delay to keep; at most 0.1 by the RFC
        target: f64 = 0.1, 0.001..=10.0, "s";
        /// GAIN: segments per round trip on an empty path
        gain: f64 = 1.0, 0.001..=1.0;
        use Param::number("base_history", 10.0, 1.0..=1000.0).unit("min")
            .about("BASE_HISTORY: minutes over which the minimum RTT is taken");
        use Param::number("current_filter", 4.0, 1.0..=1000.0)
            .about("CURRENT_FILTER: samples over which the minimum is taken");
        use Param::choice("ramp", &["linear", "slow"])
            .about("how the connection begins: by the rule of the RFC, or by a slow start that ends at half the target");
    }
    state(args) {
        ramps: bool = args.is("ramp", "slow"),
        delays: DelayHistory = DelayHistory::new(args.number("base_history"), args.number("current_filter")),
    }
}

impl Policy for Ledbat {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.delays.observe(flow, ack);
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if !self.ramps {
            self.avoid(w, flow, ack);
            return 0.0;
        }
        if self.delays.queueing().is_some_and(|queueing| queueing > self.target / 2.0) {
            w.ssthresh = w.cwnd;
        }
        exponential(w, ack.segments(flow))
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let off_target =
            self.delays.queueing().map_or(0.0, |queueing| (self.target - queueing) / self.target);
        let change = self.gain * off_target * ack.segments(flow) / w.cwnd;
        w.cwnd = (w.cwnd + change).max(LEAST);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(halved(w.cwnd), why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Life(Life::IdleRestart) = event {
            self.delays.forget_current();
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.delays.probe(emit);
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its rule for the queueing delay takes the place of slow start")
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe, text};

    /// A flow of 50 segments that has seen an empty path of 0.5 s and then four RTTs with this queue.
    fn with_queue(queueing: f64) -> Rig {
        let mut rig = Rig::new("ledbat", &[], 2.0, 2.0);
        rig.ack(0.001, 0.5, 0.5, false);
        for _ in 0..4 {
            rig.ack(0.001, 0.01, 0.5 + queueing, false);
        }
        rig
    }

    /// Section 2.4.2 by hand, TARGET 100 ms, W = 2: one segment acknowledged brings (100 - q) / 100 / 2.
    #[test]
    fn the_window_moves_with_the_distance_from_the_target() {
        for (queueing, change) in [(0.0, 0.5), (0.02, 0.4), (0.1, 0.0)] {
            let mut rig = with_queue(queueing);
            let before = rig.w();
            rig.ack(1.0, 0.01, 0.5 + queueing, false);
            near(1.0 + rig.w() - before, 1.0 + change, 2e-3);
        }
        // 300 ms queued: off_target = -2, so W loses two segments a round trip.
        let mut rig = Rig::new("ledbat", &[("ramp", text("slow"))], 2.0, 40.0);
        (0..5).for_each(|_| rig.round(0.5));
        for _ in 0..4 {
            rig.ack(0.001, 0.01, 0.8, false);
        }
        let before = rig.w();
        assert!(before > 30.0, "{before}");
        rig.ack(1.0, 0.01, 0.8, false);
        near(before - rig.w(), 2.0 / before, 0.01);
    }

    /// It never falls below MIN_CWND of its own accord, halves at a loss, and goes to one
    /// segment after a timeout.
    #[test]
    fn two_segments_are_the_least_but_after_a_timeout() {
        let mut rig = with_queue(1.0);
        for _ in 0..100 {
            rig.ack(1.0, 0.01, 1.5, false);
        }
        assert_eq!(rig.w(), 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 2.0);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        // cwnd = max(cwnd, MIN_CWND) ends every ACK of section 2.4.2, however long the delay.
        rig.ack(1.0, 0.01, 1.5, false);
        assert_eq!(rig.w(), 2.0);
    }

    /// BASE_HISTORY: the least RTT of the last ten minutes counts, and what is older is forgotten.
    #[test]
    fn the_base_delay_is_that_of_the_last_ten_minutes() {
        let mut rig = Rig::new("ledbat", &[("current_filter", Value::Number(1.0))], 2.0, 2.0);
        rig.ack(0.001, 1.0, 0.5, false);
        let queueing = |rig: &Rig| probe(&*rig.cc, "queueing_s");
        for minute in 1..=9 {
            rig.ack(0.001, 60.0, 0.6, false);
            near(queueing(&rig), 0.1, 1e-6);
            assert!(minute < 10);
        }
        rig.ack(0.001, 60.0, 0.6, false);
        assert_eq!(queueing(&rig), 0.0);
    }

    #[test]
    fn an_idle_restart_drops_old_delays_and_keeps_the_base() {
        let mut rig = with_queue(0.3);
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
        assert!(probe(&*rig.cc, "queueing_s").is_nan());
        rig.ack(0.001, 5.0, 0.52, false);
        near(probe(&*rig.cc, "queueing_s"), 0.02, 1e-6);
    }
}
