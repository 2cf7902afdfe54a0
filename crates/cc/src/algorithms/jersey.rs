//! TCP Jersey: K. Xu, Y. Tian, N. Ansari: TCP-Jersey for Wireless IP Communications, IEEE Journal on
//! Selected Areas in Communications 22(4), 2004. Not TCP-J. Routers that mark say what is congestion;
//! every other loss is an error.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us, where congested routers mark (flow option
//! `ecn`, a queue that marks from a threshold on). On other paths, losses of a full queue are taken for
//! errors and no loss reduces the window.
//! Rules: available bandwidth R_n = (RTT R_(n-1) + L_n) / (t_n - t_(n-1) + K RTT) with
//! K = 1 -> [`Jersey::add`]. The window that it allows is ownd = RTT R_n, at least 2. Rate control:
//! T = W = ownd at a mark or a loss with one, nothing but a retransmission at a loss without, T = ownd and
//! W = 1 at a timeout -> `backoff`. Growth is Reno's.
//! Decisions:
//!  * the congestion warning is RFC 3168's mark; a loss comes with it if the round under way or the
//!    last one brought a mark.
//!  * one rate control per round: a loss in a round whose mark was answered changes nothing.
//!  * rate control is taken literally: an estimate above the window raises it, unless `raise` is off.
//!  * ownd takes the smoothed RTT. The clock is the sender's; TCP New Jersey
//!    (`new_jersey.rs`) takes the receiver's.
//!  * ACKs at the same instant are added up, and the first only starts the clock, as in TCP-J's estimate.
//!    After an idle time the clock starts anew.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "jersey",
    label: "TCP Jersey",
    about: "Goes to the measured bandwidth when routers mark; takes every loss without a mark for an error.",
    source: "K. Xu, Y. Tian, N. Ansari: TCP-Jersey for Wireless IP Communications, IEEE J. Sel. Areas Commun. 22(4), 2004",
    reference: "doi:10.1109/JSAC.2004.825989",
    grade: Grade::B,
    params: Jersey::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#aa3377",
    marker: "2",
    build: |args, start| Windowed::hosted(Jersey::new(args), start),
};

algorithm! {
    /// The parameters of Jersey and New Jersey.
    /// The rules, by whatever clock.
    #[derive(Debug)]
    pub(super) struct Jersey {
        /// K: the estimator looks back K round trips
        k: f64 = 1.0, 0.01..=100.0, "1";
        /// rate control goes to the estimate even if that lies above the window
        raise: bool = true;
    }
    state {
        sliding: SlidingRate,
        /// Marks came in the round under way, and in the last one.
        marked: (bool, bool),
        /// Rounds completed when rate control was last exercised.
        controlled: Option<u64>,
        before: Option<Option<u64>>,
    }
}

/// Jersey's estimate of the rate of ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlidingRate {
    /// R_n, segments per second.
    pub(crate) rate: f64,
    at: Option<Time>,
    pending: f64,
}

impl SlidingRate {
    /// Takes `segments` acknowledged at `now`; the estimator looks `window` seconds back.
    pub(crate) fn add(&mut self, segments: f64, now: Time, window: f64) {
        let Some(at) = self.at else {
            self.at = Some(now);
            return;
        };
        self.pending += segments;
        if now <= at {
            return; // at the same instant, or overtaken by a later one
        }
        self.rate = (window * self.rate + self.pending) / (now.since(at).secs() + window);
        (self.at, self.pending) = (Some(now), 0.0);
    }

    /// The next ACK only starts the clock.
    pub(crate) fn pause(&mut self) {
        (self.at, self.pending) = (None, 0.0);
    }
}

impl Jersey {
    /// ownd, at least two segments.
    fn ownd(&self, flow: &Flow) -> f64 {
        flow.rtt.map_or(0.0, |rtt| rtt.smoothed.secs() * self.sliding.rate).max(2.0)
    }

    /// Does a loss now come with a warning that was not answered in this round?
    fn warned(&self, flow: &Flow) -> bool {
        (self.marked.0 || self.marked.1) && self.controlled != Some(flow.round)
    }

    /// An ACK of data that came at `when`.
    pub(super) fn on_data_acked(&mut self, when: Time, flow: &Flow, ack: &Ack) {
        if let Some(rtt) = flow.rtt.filter(|_| ack.acked > 0) {
            self.sliding.add(ack.segments(flow), when, self.k * rtt.smoothed.secs());
        }
        self.marked.0 |= ack.ce > 0;
        if ack.round_end {
            self.marked = (false, self.marked.0);
        }
    }
}

impl Policy for Jersey {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.on_data_acked(flow.now, flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        if why == Congestion::Loss && !self.warned(flow) {
            return Cut { cwnd: w.cwnd, ssthresh: w.ssthresh, repeat: false };
        }
        let ownd = self.ownd(flow);
        match why {
            Congestion::Timeout => Cut::standard(ownd, why),
            _ if self.raise => Cut::standard(ownd, why),
            _ => Cut::standard(ownd.min(w.cwnd), why),
        }
    }

    fn on(&mut self, _w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => {
                self.before = Some(self.controlled);
                if why != Congestion::Loss || self.warned(flow) {
                    self.controlled = Some(flow.round);
                }
            }
            Event::Undo(_) => self.controlled = self.before.take().unwrap_or(self.controlled),
            Event::Life(Life::IdleRestart) => self.sliding.pause(),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_segments_per_s", self.sliding.rate);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::report::{Ack, Rtt};
    use crate::rig::{Rig, near};
    use crate::time::Span;

    fn rate(rig: &Rig) -> f64 {
        let mut found = f64::NAN;
        rig.cc.probe(&mut |_, value| found = value);
        found
    }

    /// An ACK without data that brings a mark.
    fn mark(rig: &mut Rig, round_end: bool) {
        rig.flow.round += u64::from(round_end);
        rig.cc.on_ack(&rig.flow, &Ack { acks: 1, ce: 1448, round_end, ..Ack::default() });
    }

    /// R_n of a constant ACK rate C with gaps small against RTT: C (1 - e^(-t / K RTT)), so C in the
    /// end, and 63 % after K RTT.
    #[test]
    fn the_estimate_tends_to_the_ack_rate() {
        for (k, c) in [(1.0, 1000.0), (4.0, 1000.0), (1.0, 50.0)] {
            let mut rig = Rig::new("jersey", &[("k", Value::Number(k))], 10.0, 2.0);
            rig.ack(1.0, 1.0, 0.5, false);
            for i in 1..=(10.0 * k * 0.5 * c) as u32 {
                rig.ack(1.0, 1.0 / c, 0.5, false);
                if i == (k * 0.5 * c) as u32 {
                    near(rate(&rig), 0.632 * c, 0.02);
                }
            }
            near(rate(&rig), c, 1e-3);
        }
    }

    /// Losses without marks never reduce the window, in slow start neither.
    #[test]
    fn a_loss_without_a_mark_changes_nothing() {
        for t in [2.0, f64::INFINITY] {
            let mut rig = Rig::new("jersey", &[], 10.0, t);
            for _ in 0..5 {
                rig.round(0.5);
                let before = (rig.w(), rig.t());
                rig.congestion(Congestion::Loss);
                assert_eq!((rig.w(), rig.t()), before);
            }
        }
    }

    /// A path of 100 segments with 50 more in the queue, which drains at 200 segments a second.
    fn queued(given: &[(&str, Value)]) -> Rig {
        let mut rig = Rig::new("jersey", given, 150.0, 2.0);
        rig.ack(0.001, 0.5, 0.5, false);
        for _ in 0..8 {
            rig.path(100.0, 0.5);
        }
        rig
    }

    /// A mark is answered by ownd = RTT R_n: the RTT is still that of the queue, so the window hardly
    /// changes. A path that has become slower lowers it. Upwards too, unless that is off.
    #[test]
    fn a_mark_sets_the_window_to_the_estimate() {
        let mut rig = queued(&[]);
        let before = rig.w();
        rig.congestion(Congestion::Ecn);
        near(rig.w(), before, 0.02);
        assert_eq!(rig.w(), rig.t());

        for raise in [false, true] {
            for smoothed in [0.25, 2.0] {
                let mut rig = queued(&[("raise", Value::Flag(raise))]);
                let rtt = rig.flow.rtt.expect("measured");
                rig.flow.rtt = Some(Rtt { smoothed: Span::from_secs(smoothed), ..rtt });
                let before = rig.w();
                rig.congestion(Congestion::Ecn);
                let ownd = 200.0 * smoothed;
                near(rig.w(), if raise { ownd } else { ownd.min(before) }, 0.02);
            }
        }
    }

    /// A loss in the round of a mark, or in the next, is congestion; later it is an error again.
    /// One rate control per round.
    #[test]
    fn a_loss_with_a_mark_is_congestion_once_per_round() {
        let slower = |rig: &mut Rig| {
            let rtt = rig.flow.rtt.expect("measured");
            rig.flow.rtt = Some(Rtt { smoothed: Span::from_secs(0.25), ..rtt });
        };
        for (rounds, cut) in [(0, true), (1, true), (2, false)] {
            let mut rig = queued(&[]);
            slower(&mut rig);
            mark(&mut rig, false);
            for _ in 0..rounds {
                rig.flow.round += 1;
                rig.cc.on_ack(&rig.flow, &Ack { acks: 1, round_end: true, ..Ack::default() });
            }
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            assert_eq!(rig.w() < before, cut, "{rounds} rounds later");
        }
        let mut rig = queued(&[]);
        slower(&mut rig);
        mark(&mut rig, false);
        rig.congestion(Congestion::Ecn);
        let answered = rig.w();
        rig.ack(1.0, 0.3, 0.5, false);
        slower(&mut rig);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        assert!(rig.w() == before && before >= answered);
    }

    /// A timeout: one segment, T = ownd. The silence of an idle time is no sample. Without
    /// samples T is two segments.
    #[test]
    fn timeouts_and_idle_times() {
        let mut rig = queued(&[]);
        rig.flow.now = rig.flow.now + Span::from_millis(60_000);
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
        rig.ack(0.001, 0.0, 0.75, false);
        near(rate(&rig), 200.0, 0.02);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), 150.0, 0.02);
        let mut rig = Rig::new("jersey", &[], 10.0, 20.0);
        rig.congestion(Congestion::Timeout);
        assert_eq!((rig.w(), rig.t()), (1.0, 2.0));
    }
}
