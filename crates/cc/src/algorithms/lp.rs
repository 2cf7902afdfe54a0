//! TCP-LP: A. Kuzmanovic, E. W. Knightly: TCP-LP: A Distributed Algorithm for Low Priority Data Transfer,
//! IEEE INFOCOM, 2003; Linux's module, tcp_lp.c (since Linux 2.6.18, 2006; that of 6.1 was compared). Reno
//! that backs off as soon as a queue shows, and so uses only what others leave.
//!
//! Unit: segments, seconds. Valid for 1 <= cwnd < 2^40 and RTT above 1 us.
//! Rules, from the module, which was read:
//!  * Smoothed delay sd = 7/8 sd + 1/8 d, least and greatest delay (`tcp_lp_rtt_sample`) -> `observe`.
//!  * Early congestion where sd > d_min + 15 % (d_max - d_min), inference for three RTTs after a drop
//!    (`tcp_lp_pkts_acked`) -> `observe`.
//!  * no growth within the inference (`tcp_lp_cong_avoid`) -> `avoid` and `slow_start`.
//!  * Early congestion halves the window, and within the inference takes it to one segment
//!    (`tcp_lp_pkts_acked`) -> `drop_early`.
//!  * losses as Reno's.
//!
//! Decisions and deviations:
//!  * the delay is one way by the peer's timestamps in the module (`tcp_lp_remote_hz_estimator`,
//!    `tcp_lp_owd_calculator`). A sender here has RTTs alone, so a queue on the way back counts as well.
//!  * `extremes`: the paper's least and greatest delay are the connection's; slow start, which fills the
//!    buffer, measures them, and they are used from the first loss on. The module uses them at once, and sets
//!    them to sd and 2 sd at each early congestion; its comment calls that a thing to fix. A flow whose range
//!    is that of a few packets of its own takes these for congestion and hardly sends: alone on a link it has
//!    a few per cent. The default is the paper's; `extremes = "linux"` is the module's (profile `linux` takes
//!    it). The paper's rule is from knowledge of it (hence grade B), all else was read in the module.
//!  * an ACK that leaves nothing in flight is not measured: at a window of one segment it has waited for the
//!    receiver's delayed-ACK timer, and that wait would keep the window at one segment for ever.
//!  * with the paper's extremes delays within one RTT of a drop are not smoothed, and smoothing begins anew
//!    after it. They are of the queue from before the drop. Each drop would be one to a single segment, and
//!    then to one that lasts. (The module's new extremes have that effect.)
//!  * in both the greatest delay is the second greatest that was met, as in the module, so that a
//!    single outlier does not count.
//!  * the window follows at the next ACK that may change it: outside recovery, while the
//!    window limits the sender.
//!  * like in the module ssthresh stays at an early congestion, so that slow start
//!    goes on after the inference.
//!  * ECN halves. An idle restart changes nothing, as in the module.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "lp",
    label: "TCP-LP",
    about: "Low priority: Reno that halves as soon as the delay shows a queue, and falls to one segment if it stays.",
    source: "A. Kuzmanovic, E. W. Knightly: TCP-LP: A Distributed Algorithm for Low Priority Data Transfer, IEEE INFOCOM, 2003; Linux tcp_lp.c",
    reference: "doi:10.1109/INFCOM.2003.1209192",
    grade: Grade::B,
    params: Lp::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#222255",
    marker: "^",
    build: |args, start| Windowed::hosted(Lp::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Lp {
        /// early congestion from this share of the range between least and greatest delay on
        threshold: f64 = 0.15, 0.0..=1.0;
        /// time after a drop in which the window does not grow
        inference: f64 = 3.0, 0.0..=100.0, "RTT";
        /// weight of a new sample in the smoothed delay
        smoothing: f64 = 0.125, 0.001..=1.0;
        use Param::choice("extremes", &["paper", "linux"]).about(
            "least and greatest delay: of the connection, or set anew at each early congestion as in Linux",
        );
    }
    state(args) {
        forgets: bool = args.is("extremes", "linux"),
        /// Smoothed, least, greatest and second greatest delay, seconds.
        smoothed: Option<f64>,
        least: f64 = f64::INFINITY,
        greatest: f64,
        reserve: f64,
        /// Are the extremes known?
        ready: bool = args.is("extremes", "linux"),
        dropped_at: Option<Time>,
        /// The latest ACK came within the inference.
        infers: bool,
        /// Early congestion that the window has not answered yet, and whether it came within the inference.
        early: Option<bool>,
    }
}

impl Lp {
    /// Least and greatest delay (`tcp_lp_rtt_sample`).
    fn range(&mut self, delay: f64) {
        self.least = self.least.min(delay);
        if delay > self.reserve {
            self.greatest = if self.reserve == 0.0 { delay } else { self.reserve };
            self.reserve = delay;
        } else {
            self.greatest = self.greatest.max(delay);
        }
    }

    /// The smoothed delay.
    fn smooth(&mut self, delay: f64) -> f64 {
        let smoothed = self.smoothed.map_or(delay, |old| old + self.smoothing * (delay - old));
        self.smoothed = Some(smoothed);
        smoothed
    }

    /// The answer to early congestion, if there is one to give.
    fn drop_early(&mut self, w: &mut Window) -> bool {
        let Some(again) = self.early.take() else { return false };
        w.cwnd = if again { 1.0 } else { (w.cwnd / 2.0).max(1.0) };
        true
    }
}

impl Policy for Lp {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.latest.secs()) else { return };
        let waits = |at: Time| flow.now.since(at) < Span::from_secs(self.inference * rtt);
        self.infers = self.dropped_at.is_some_and(waits);
        if flow.in_flight == 0 {
            return;
        }
        self.range(rtt);
        let stale = |at: Time| flow.now.since(at) < Span::from_secs(rtt);
        if !self.forgets && self.dropped_at.is_some_and(stale) {
            return; // the queue from before the drop
        }
        let smoothed = self.smooth(rtt);
        if !self.ready || smoothed <= self.least + self.threshold * (self.greatest - self.least) {
            return;
        }
        if self.forgets {
            (self.least, self.greatest, self.reserve) = (smoothed, 2.0 * smoothed, 2.0 * smoothed);
        } else {
            self.smoothed = None;
        }
        self.early = Some(self.infers);
        self.dropped_at = Some(flow.now);
        self.infers = true;
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if self.drop_early(w) || self.infers { 0.0 } else { exponential(w, ack.segments(flow)) }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if !self.drop_early(w) && !self.infers {
            additive(w, flow, ack, 1.0);
        }
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Congestion(_) = event {
            self.ready = true;
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("smoothed_delay_s", self.smoothed.unwrap_or(f64::NAN));
        emit("least_delay_s", self.least);
        emit("greatest_delay_s", self.greatest);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe, text};

    /// After a first loss, with delays from 500 to 700 ms: the threshold is 530 ms.
    fn known(extremes: &str) -> Rig {
        let mut rig =
            Rig::new("lp", &[("extremes", text(extremes)), ("smoothing", Value::Number(1.0))], 128.0, 2.0);
        rig.flow.in_flight = 1;
        rig.flow.cwnd_limited = false;
        for rtt in [0.5, 0.7, 0.7, 0.5] {
            rig.ack(0.001, 10.0, rtt, false);
        }
        rig.congestion(Congestion::Loss);
        rig.flow.cwnd_limited = true;
        rig
    }

    /// The paper measures until the first loss. The module answers the first rise, when
    /// its range is a millisecond.
    #[test]
    fn nothing_is_early_before_the_first_loss() {
        for (extremes, grows) in [("paper", true), ("linux", false)] {
            let mut rig = Rig::new("lp", &[("extremes", text(extremes))], 10.0, 1000.0);
            rig.flow.in_flight = 1;
            rig.ack(1.0, 0.5, 0.5, false);
            (0..5).for_each(|_| rig.ack(1.0, 0.01, 0.501, false));
            let w = rig.w();
            rig.ack(1.0, 0.01, 0.501, false);
            assert_eq!(rig.w() > w, grows, "{extremes}");
        }
    }

    /// The only segment's ACK may have waited 200 ms for a second one.
    #[test]
    fn an_ack_that_leaves_nothing_in_flight_is_not_measured() {
        let mut rig = known("paper");
        (0..2).for_each(|_| rig.ack(1e-6, 10.0, 0.5, false));
        let w = rig.w();
        rig.flow.in_flight = 0;
        rig.ack(1e-6, 10.0, 0.9, false);
        near(rig.w(), w, 1e-4);
    }

    /// 15 % of the range by hand: at 529 ms the window grows, at 531 ms it halves.
    #[test]
    fn early_congestion_is_15_percent_of_the_range() {
        for (rtt, change) in [(0.529, 1.0), (0.531, 0.5)] {
            let mut rig = known("paper");
            rig.ack(1e-6, 10.0, 0.5, false);
            let w = rig.w();
            rig.ack(1e-6, 10.0, rtt, false);
            near(rig.w(), w * change, 1e-4);
        }
    }

    /// Three RTTs without growth after the drop; a queue that shows within them takes
    /// the window to one segment.
    #[test]
    fn a_queue_that_stays_takes_the_window_to_one_segment() {
        let mut rig = known("paper");
        (0..2).for_each(|_| rig.ack(1e-6, 10.0, 0.5, false));
        rig.ack(1e-6, 10.0, 0.6, false);
        let halved = rig.w();
        rig.ack(1.0, 1.0, 0.5, false);
        near(rig.w(), halved, 1e-6);
        rig.ack(1.0, 0.4, 0.6, false);
        assert_eq!(rig.w(), 1.0);
        rig.ack(1.0, 1.0, 0.5, false);
        assert_eq!(rig.w(), 1.0);
        rig.ack(1.0, 1.0, 0.5, false);
        near(rig.w(), 2.0, 1e-6);
    }

    /// The module forgets the empty path: after early congestion at 600 ms the least delay is
    /// 600 ms and the greatest 1200.
    #[test]
    fn linux_sets_the_extremes_anew() {
        for (extremes, least, greatest) in [("paper", 0.5, 0.7), ("linux", 0.6, 1.2)] {
            let mut rig = known(extremes);
            (0..3).for_each(|_| rig.ack(1e-6, 10.0, 0.5, false));
            rig.ack(1e-6, 10.0, 0.6, false);
            if extremes == "paper" {
                near(probe(&*rig.cc, "least_delay_s"), least, 1e-6);
                near(probe(&*rig.cc, "greatest_delay_s"), greatest, 1e-6);
            } else {
                assert!(probe(&*rig.cc, "least_delay_s") <= least + 1e-6);
                assert!(probe(&*rig.cc, "greatest_delay_s") >= greatest - 1e-6);
            }
        }
    }
}
