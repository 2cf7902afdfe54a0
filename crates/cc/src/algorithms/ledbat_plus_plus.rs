//! LEDBAT++: P. Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo: LEDBAT++: Congestion Control for
//! Background Traffic, IRTF, draft-irtf-iccrg-ledbat-plus-plus. LEDBAT with a slower increase, a
//! multiplicative decrease, and slowdowns in which the queue drains and the base delay shows.
//!
//! Unit: segments; delays in seconds. Valid for 1 <= cwnd < 2^40 and RTT above 1 us.
//! Rules:
//!  * TARGET is 60 ms (section 4.5). Delays are RTTs.
//!  * GAIN = 1 / min(16, ceil(2 TARGET / base)) (section 4.2) -> `gain`.
//!  * Per round trip W += GAIN up to the target, and W += max(GAIN - constant W (delay / TARGET - 1), -W/2)
//!    above it (section 4.3) -> `avoid`.
//!  * slow start grows by GAIN per acknowledged segment. The first one ends where the delay exceeds 3/4
//!    TARGET (section 4.1) -> `slow_start`.
//!  * Slowdowns (section 4.4): ssthresh = cwnd, two segments for two round trips, slow start back to
//!    ssthresh. The first one begins two round trips after the first slow start, the next after nine times
//!    what the last one took -> `slow_down`.
//!  * the window is at least two segments. Each ACK outside recovery lifts a smaller one, and a loss leaves
//!    two (Apple, `bg_ss_fltsz` in `update_cwnd` and `tcp_ledbat_pre_fr`) -> `avoid`, `backoff`. Only a
//!    timeout leaves one, until the next ACK.
//!
//! The draft could not be read as a whole. Its abstract was, and the rules were taken from Apple's
//! tcp_ledbat.c (xnu at 5c2921b0), which implements revision 01, and from descriptions of revision 01 by
//! other implementations that quote its sections. Hence grade B.
//! Decisions and deviations:
//!  * the rule per round trip is applied to each acknowledged segment: 1/W of it, and -1/2 segment at most.
//!  * below the target Apple's code grows by a segment per round trip; the draft's GAIN is used. With Apple's
//!    growth at 10 Mbit/s and 40 ms a flow alone has 7.8 Mbit/s instead of 8.8, and beside Reno 3.9 instead
//!    of 2.1. Over GEO GAIN is 1, and nothing differs.
//!  * base delay and delay as in LEDBAT: the least of ten minutes, and of four samples.
//!  * the first window is the sender's initial window (`initial_window` of a flow), not 2.
//!  * a slow start after a slowdown ends early only where the delay exceeds TARGET itself (Apple).
//!    The slowdown then counts twice for the wait until the next (Apple). A loss ends it as well, and
//!    the slowdown counts once.
//!  * the floor of two segments matters beyond its size. One segment at a time waits for the receiver's
//!    delayed ACK, up to 200 ms that look like a queue above TARGET, and a window without a floor would stay
//!    at one segment for ever.
//!  * a loss halves the window, an ECN echo too. A timeout begins anew, with the first slow start's rules
//!    (Apple, `tcp_ledbat_after_timeout`).
//!  * Apple's delay of 30 s for a slowdown after a decrease is not in the draft and left out.
//!  * an idle restart drops the current delays and begins anew (Apple, `tcp_ledbat_after_idle`):
//!    the pause was a slowdown.

use crate::algorithms::ledbat::{DelayHistory, LEAST, halved};
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "ledbat-plus-plus",
    label: "LEDBAT++",
    about: "Background transfers: LEDBAT with a slower increase, a multiplicative decrease and slowdowns that show the base delay.",
    source: "P. Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo: LEDBAT++: Congestion Control for Background Traffic, IRTF, draft-irtf-iccrg-ledbat-plus-plus; compared with Apple's tcp_ledbat.c",
    reference: "draft-irtf-iccrg-ledbat-plus-plus",
    grade: Grade::B,
    params: PlusPlus::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#222255",
    marker: "s",
    build: |args, start| Windowed::hosted(PlusPlus::new(args), start),
};

/// BASE_HISTORY in minutes and CURRENT_FILTER in samples.
const HISTORY: f64 = 10.0;
const FILTER: f64 = 4.0;
/// The smallest GAIN is one by this.
const MOST_DIVISOR: f64 = 16.0;
/// The first slow start ends at this share of the target.
const EXIT: f64 = 0.75;
/// Round trips from the end of slow start to the first slowdown, and with two segments during each.
const ROUNDS: f64 = 2.0;

algorithm! {
    #[derive(Debug)]
    struct PlusPlus {
        /// TARGET: queueing delay to keep (section 4.5)
        target: f64 = 0.06, 0.001..=10.0, "s";
        /// weight of the multiplicative decrease (section 4.3)
        constant: f64 = 1.0, 0.0..=100.0;
        /// first and periodic slowdowns (section 4.4)
        slowdowns: bool = true;
        /// time between slowdowns, in lengths of the last one
        slowdown_wait: f64 = 9.0, 0.0..=1000.0;
    }
    state {
        delays: DelayHistory = DelayHistory::new(HISTORY, FILTER),
        /// No slow start has ended yet since the beginning, a timeout or a pause.
        first: bool = true,
        /// When the slowdown began that is under way, slow start included.
        began: Option<Time>,
        /// With two segments until then.
        frozen: Time,
        /// The next slowdown.
        due: Option<Time>,
        /// The delay ended the slow start of the slowdown under way, before the window was back.
        cut_short: bool,
    }
}

impl PlusPlus {
    /// GAIN of section 4.2.
    fn gain(&self) -> f64 {
        let divisor = self.delays.base().map_or(MOST_DIVISOR, |base| libm::ceil(2.0 * self.target / base));
        1.0 / divisor.clamp(1.0, MOST_DIVISOR)
    }

    fn rounds(flow: &Flow) -> Span {
        Span::from_secs(ROUNDS * flow.rtt.map_or(0.0, |rtt| rtt.smoothed.secs()))
    }

    /// Slow start is over: when is the next slowdown?
    fn schedule(&mut self, flow: &Flow) {
        let wait = match self.began.take() {
            Some(began) => {
                let took = flow.now.since(began).secs();
                Span::from_secs(self.slowdown_wait * if self.cut_short { 2.0 * took } else { took })
            }
            None => Self::rounds(flow),
        };
        (self.first, self.cut_short) = (false, false);
        self.due = self.slowdowns.then(|| flow.now + wait);
    }

    /// Section 4.4: two segments for two round trips, and slow start back to where it was.
    fn slow_down(&mut self, w: &mut Window, flow: &Flow) {
        (w.ssthresh, w.cwnd) = (w.cwnd, LEAST);
        self.frozen = flow.now + Self::rounds(flow);
        (self.began, self.due) = (Some(flow.now), None);
    }

    fn begin_anew(&mut self) {
        (self.first, self.began, self.due, self.frozen) = (true, None, None, Time(0));
        self.cut_short = false;
    }
}

impl Policy for PlusPlus {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.delays.observe(flow, ack);
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if flow.now < self.frozen {
            return 0.0;
        }
        let exit = if self.first { EXIT * self.target } else { self.target };
        if self.delays.queueing().is_some_and(|queueing| queueing > exit) {
            w.ssthresh = w.cwnd;
            self.cut_short = self.began.is_some();
            return ack.segments(flow);
        }
        let gain = self.gain();
        exponential(w, gain * ack.segments(flow)) / gain
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        match self.due {
            None if self.first || self.began.is_some() => self.schedule(flow),
            Some(due) if flow.now >= due && w.cwnd > LEAST => return self.slow_down(w, flow),
            _ => {}
        }
        let over = self.delays.queueing().map_or(0.0, |queueing| (queueing / self.target - 1.0).max(0.0));
        let per_round = (self.gain() - self.constant * w.cwnd * over).max(-w.cwnd / 2.0); // section 4.3
        w.cwnd = (w.cwnd + per_round * ack.segments(flow) / w.cwnd).max(LEAST);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(halved(w.cwnd), why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(Congestion::Timeout) => self.begin_anew(),
            Event::Life(Life::IdleRestart) => {
                self.delays.forget_current();
                self.begin_anew();
            }
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.delays.probe(emit);
        emit("gain", self.gain());
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its slow start has a gain and an exit of its own")
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe};

    /// Section 4.2 by hand, TARGET 60 ms: ceil(120 / base in ms), at most 16.
    #[test]
    fn the_gain_falls_on_short_paths() {
        for (base, gain) in [
            (0.001, 1.0 / 16.0),
            (0.008, 1.0 / 15.0),
            (0.02, 1.0 / 6.0),
            (0.06, 0.5),
            (0.12, 1.0),
            (0.6, 1.0),
        ] {
            let mut rig = Rig::new("ledbat-plus-plus", &[], 2.0, 2.0);
            rig.ack(0.001, 0.1, base, false);
            near(probe(&*rig.cc, "gain"), gain, 1e-9);
        }
    }

    fn without_slowdowns(base: f64, w: f64, queueing: f64) -> Rig {
        let mut rig =
            Rig::new("ledbat-plus-plus", &[("slowdowns", crate::registry::Value::Flag(false))], 2.0, w);
        rig.ack(0.001, base, base, false);
        while rig.w() < w {
            rig.ack(1.0, 0.01, base, false);
        }
        for _ in 0..4 {
            rig.ack(1e-6, 0.01, base + queueing, false);
        }
        rig
    }

    /// Section 4.3 by hand at W = 40 and a base of 600 ms (GAIN 1): +1 a round trip up to the target; at
    /// 66 ms 1 - 40 x 0.1 = -3; at 600 ms no more than -W/2, a half for each segment.
    #[test]
    fn the_decrease_is_multiplicative_and_at_most_half_a_round() {
        for (queueing, change) in [(0.0, 1.0 / 40.0), (0.06, 1.0 / 40.0), (0.066, -3.0 / 40.0), (0.6, -0.5)] {
            let mut rig = without_slowdowns(0.6, 40.0, queueing);
            let before = rig.w();
            rig.ack(1.0, 0.01, 0.6 + queueing, false);
            near(rig.w() - before, change, 0.01);
        }
    }

    /// The first slow start ends at 3/4 of 60 ms; two round trips later two segments for two round trips,
    /// then slow start to the window from before, and nine times as long until the next.
    #[test]
    fn slowdowns_come_two_round_trips_after_slow_start_and_then_for_a_tenth_of_the_time() {
        let mut rig = Rig::new("ledbat-plus-plus", &[], 2.0, 1e9);
        (0..5).for_each(|_| rig.round(0.6));
        near(rig.w(), 64.0, 1e-6); // a gain of 1: it doubles
        rig.round(0.644);
        near(rig.w(), 128.0, 1e-3);
        (0..2).for_each(|_| rig.round(0.646));
        let (kept, left) = (rig.t(), rig.secs());
        assert!((128.0..140.0).contains(&kept), "{kept}");
        let mut slowed = alloc::vec::Vec::new();
        let mut last = rig.w();
        while rig.secs() < 120.0 {
            let before = rig.secs();
            rig.round(0.6);
            if rig.w() < last / 4.0 {
                slowed.push(before);
            }
            last = rig.w();
        }
        assert!(slowed.len() >= 3, "{slowed:?}");
        assert!(slowed[0] - left < 2.0 * 0.6, "{slowed:?} after {left}");
        for pair in slowed.windows(2) {
            // Two round trips frozen, six to double from 2 to 128 and more: 5 s; nine times that in between.
            let apart = pair[1] - pair[0];
            assert!((38.0..70.0).contains(&apart), "{slowed:?}");
        }
    }

    /// Apple: `bg_ss_fltsz` lifts. A window of one segment waits 200 ms for the receiver's delayed ACK, which
    /// is above the target of 60 ms and would keep it there. And a loss of two segments leaves two.
    #[test]
    fn a_window_of_one_segment_is_lifted_to_two_whatever_the_delay() {
        let mut rig = without_slowdowns(0.04, 20.0, 0.0);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        for _ in 0..5 {
            rig.ack(1.0, 0.24, 0.24, true);
        }
        assert_eq!(rig.w(), 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 2.0);
    }

    /// Apple, `ledbat_pp_congestion_avd`: nine times what a slowdown took, and eighteen times if the delay
    /// kept the window from coming back.
    #[test]
    fn a_slowdown_that_the_delay_cuts_short_doubles_the_wait() {
        let between = |queueing: f64| {
            let mut rig = Rig::new("ledbat-plus-plus", &[], 2.0, 64.0);
            let mut starts = alloc::vec::Vec::new();
            let mut ended = None;
            while starts.len() < 2 {
                let (began, before) = (rig.secs(), rig.w());
                // The queue shows only in the slow start after the first slowdown, from 16 segments on.
                let shows = queueing > 0.0 && starts.len() == 1 && ended.is_none() && before >= 16.0;
                let rtt = if shows { 0.6 + queueing } else { 0.6 };
                rig.round(rtt);
                if rig.w() < before / 4.0 {
                    starts.push(began); // with its first ACK
                } else if shows {
                    ended = Some(began + 4.0 * rtt / before); // when the filter's four samples are of the queue
                } else if starts.len() == 1 && ended.is_none() && rig.w() >= 64.0 {
                    ended = Some(rig.secs());
                }
            }
            let ended = ended.expect("slow start ended");
            (starts[1] - ended) / (ended - starts[0])
        };
        near(between(0.0), 9.0, 0.15);
        near(between(0.07), 18.0, 0.15);
    }

    #[test]
    fn a_loss_halves_and_ends_no_wait() {
        let mut rig = without_slowdowns(0.6, 40.0, 0.0);
        let before = rig.w();
        rig.congestion(Congestion::Loss);
        near(rig.w(), before / 2.0, 1e-6);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
    }

    #[test]
    fn a_larger_constant_decreases_more() {
        let mut rig = Rig::new(
            "ledbat-plus-plus",
            &[("constant", Value::Number(2.0)), ("slowdowns", Value::Flag(false))],
            2.0,
            2.0,
        );
        rig.ack(0.001, 0.6, 0.6, false);
        (0..40).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
        (0..4).for_each(|_| rig.ack(1e-6, 0.01, 0.666, false));
        let before = rig.w();
        rig.ack(1.0, 0.01, 0.666, false);
        near(rig.w() - before, (1.0 - 2.0 * before * 0.1) / before, 0.01);
    }
}
