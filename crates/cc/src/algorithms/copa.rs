//! Copa: V. Arun, H. Balakrishnan: Copa: Practical Delay-Based Congestion Control for the
//! Internet, USENIX NSDI, 2018.
//!
//! Unit: segments, seconds. Valid for 1 <= cwnd < 2^40 and RTT from 1 us to 10^4 s. On a GEO path the 10 s of
//! RTTmin are only some 16 round trips: a longer standing queue is taken for propagation delay.
//! Equations (section 2.1): RTTstanding = min RTT of the last SRTT/2; dq = RTTstanding - RTTmin; target rate
//! 1 / (delta dq); rate = W / RTTstanding. Per ACK of N segments W += v N / (delta W) if rate <= target, else
//! W -= v N / (delta W). Pacing at 2 W / RTTstanding. Slow start (W += N) until rate > target.
//! v doubles once per round if W moved the same way for three rounds, and is 1 after a change of direction.
//! Competitive mode (section 2.2): if the queue was never nearly empty, dq < 0.1 (RTTmax - RTTmin), in five
//! RTTs, others fill it. Then 1/delta grows by one per round and halves at a loss; an empty queue restores
//! delta = 0.5. The paper could not be read as a whole. The rule of v is quoted word for word in several
//! implementations. The rules were compared with two codes: the authors' (genericCC at 18299d6,
//! markoviancc.cc) and mvfst's Copa.cpp (at 00e67c1). The latter doubles v from the fourth comparison on that
//! finds the same direction, with RTTstanding as here, and lets v fall to 1 at once as here.
//! Decisions where the paper is silent or its code differs:
//!  * competitive mode is off unless `mode = "auto"`. With exact RTTs several Copa flows keep a small queue
//!    so steady that it is never "nearly empty" against its own range. They take each other for
//!    buffer-fillers, and fill the queue.
//!  * RTTmax is that of the last four SRTT; RTTmin that of the last 10 s.
//!  * v stays below delta W, so that a window at most doubles or vanishes per round. It falls to 1 at once
//!    when the step goes against the direction of v.
//!  * the code's cut to 0.7 W at a sustained loss is left out: in default mode losses do
//!    not matter (section 2.2).
//!  * a timeout leads to one segment and slow start (RFC 5681 section 3.1); ECN is ignored.
//!  * growth, not shrinking, needs a round in which the window limited the sender.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::algorithms::prelude::*;
use crate::filter::WindowedMin;

pub(crate) const ENTRY: Entry = Entry {
    id: "copa",
    label: "Copa",
    about: "Steers its rate to 1 / (delta x queueing delay): about two segments of its own in the queue; losses do not matter.",
    source: "V. Arun, H. Balakrishnan: Copa: Practical Delay-Based Congestion Control for the Internet, USENIX NSDI, 2018; compared with genericCC and mvfst",
    reference: "https://www.usenix.org/conference/nsdi18/presentation/arun",
    grade: Grade::B,
    params: Copa::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#117755",
    marker: "P",
    build: |args, start| Box::new(Copa::new(args, start)),
};

/// The largest window in segments.
const LARGEST: f64 = (1_u64 << 40) as f64;
/// Rounds in one direction before v doubles.
const SAME_ROUNDS: u32 = 3;
/// The queue is nearly empty below this share of the range of the RTT.
const NEARLY_EMPTY: f64 = 0.1;
/// After this many RTTs without a nearly empty queue others must be filling it.
const PATIENCE: f64 = 5.0;
/// RTTmax is taken over this many SRTT.
const MAX_SPAN: u64 = 4;

/// The smallest key of a window whose length may change with every sample, exact; a maximum
/// is that of negated keys.
#[derive(Debug, Default)]
struct Sliding {
    /// (instant, key), keys rising.
    kept: VecDeque<(Time, i128)>,
}

impl Sliding {
    fn add(&mut self, now: Time, key: i128, window: Span) -> i128 {
        while self.kept.back().is_some_and(|&(_, old)| old >= key) {
            self.kept.pop_back();
        }
        self.kept.push_back((now, key));
        while self.kept.front().is_some_and(|&(at, _)| now.since(at) > window) {
            self.kept.pop_front();
        }
        self.kept.front().map_or(key, |&(_, least)| least)
    }
}

algorithm! {
    #[derive(Debug)]
    struct Copa {
        use Param::number("delta", 0.5, 0.001..=100.0)
            .unit("1/segments")
            .about("1 / delta segments of each flow stand in the queue on average");
        use Param::choice("mode", &["default", "auto"])
            .about("default: delta stays as given; auto: AIMD on 1/delta while others keep the queue full (section 2.2)");
        use Param::number("min_window", 10.0, 0.1..=1e6)
            .unit("s")
            .about("RTTmin is the smallest RTT of this time");
    }
    state(args, start: Start) {
        delta_default: f64 = args.number("delta"),
        auto: bool = args.is("mode", "auto"),
        delta: f64 = delta_default,
        mss: u32 = start.mss.max(1),
        cwnd: f64 = start.initial_window.clamp(1.0, LARGEST),
        slow_start: bool = true,
        v: f64 = 1.0,
        up: bool = true,
        same: u32,
        /// Window at the start of the round.
        round_cwnd: f64 = cwnd,
        min: WindowedMin = WindowedMin::new(Span::from_secs(args.number("min_window"))),
        standing: Sliding,
        highest: Sliding,
        rtt_standing: Span,
        dq: f64,
        /// When the queue was last nearly empty.
        empty_at: Option<Time>,
        /// A loss in the round under way, for competitive mode.
        lost: bool,
        collapsed: bool,
    }
}

impl Copa {
    /// Takes the RTTs of an ACK; false before the first.
    fn measure(&mut self, flow: &Flow, ack: &Ack) -> bool {
        let (Some(sample), Some(rtt)) = (ack.rtt, flow.rtt) else { return self.empty_at.is_some() };
        self.min.add(flow.now, sample.min);
        let srtt = rtt.smoothed;
        let least = self.standing.add(flow.now, i128::from(sample.min.0), Span(srtt.0 / 2));
        let most =
            -self.highest.add(flow.now, -i128::from(sample.max.0), Span(srtt.0.saturating_mul(MAX_SPAN)));
        let min = self.min.get().unwrap_or(sample.min);
        self.rtt_standing = Span(least as u64);
        self.dq = Span(self.rtt_standing.0.saturating_sub(min.0)).secs();
        let range = Span((most as u64).saturating_sub(min.0)).secs();
        if self.dq <= NEARLY_EMPTY * range {
            self.empty_at = Some(flow.now);
        }
        self.empty_at.get_or_insert(flow.now);
        if !self.is_competitive(flow) {
            self.delta = self.delta_default;
        }
        true
    }

    fn is_competitive(&self, flow: &Flow) -> bool {
        let srtt = flow.rtt.map_or(0.0, |rtt| rtt.smoothed.secs());
        self.auto && self.empty_at.is_some_and(|at| flow.now.since(at).secs() > PATIENCE * srtt)
    }

    /// Once per round: the direction, the velocity, and competitive mode's delta.
    fn end_round(&mut self, flow: &Flow) {
        let up = self.cwnd > self.round_cwnd;
        self.same = if up == self.up { self.same.saturating_add(1) } else { 0 };
        self.v = match self.same {
            0 => 1.0,
            n if n > SAME_ROUNDS => 2.0 * self.v,
            _ => self.v,
        };
        (self.up, self.round_cwnd) = (up, self.cwnd);
        if self.is_competitive(flow) {
            let inverse = if self.lost { 0.5 / self.delta } else { 1.0 / self.delta + 1.0 };
            self.delta = (1.0 / inverse).min(self.delta_default);
        }
        self.lost = false;
    }

    fn step(&mut self, flow: &Flow, n: f64) {
        let wanted = if self.dq > 0.0 { 1.0 / (self.delta * self.dq) } else { f64::INFINITY };
        let below = self.cwnd / self.rtt_standing.secs().max(1e-9) <= wanted;
        if self.slow_start {
            if below {
                self.cwnd += if flow.cwnd_limited { n } else { 0.0 };
                return;
            }
            self.slow_start = false;
            (self.v, self.same, self.up, self.round_cwnd) = (1.0, 0, false, self.cwnd);
        }
        if below != self.up && self.v > 1.0 {
            (self.v, self.same) = (1.0, 0);
        }
        self.v = self.v.min(self.delta * self.cwnd).max(1.0);
        let step = (self.v * n / (self.delta * self.cwnd)).min(n);
        if !below {
            self.cwnd -= step;
        } else if flow.cwnd_limited {
            self.cwnd += step;
        }
    }

    fn clamp_window(&mut self) {
        self.cwnd = self.cwnd.clamp(1.0, LARGEST);
    }

    fn bytes(&self, segments: f64) -> u64 {
        (segments * f64::from(self.mss)) as u64
    }

    fn answer(&self, why: Congestion) -> f64 {
        if why == Congestion::Timeout { 1.0 } else { self.cwnd }
    }

    fn on_congestion(&mut self, why: Congestion) {
        if self.collapsed {
            return;
        }
        self.lost |= why != Congestion::Ecn;
        self.cwnd = self.answer(why);
        if why == Congestion::Timeout {
            self.collapsed = true;
            (self.slow_start, self.v, self.same) = (true, 1.0, 0);
        }
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let measured = self.measure(flow, ack);
        if ack.acked > 0 {
            self.collapsed = false;
            if measured {
                self.step(flow, ack.segments(flow));
                self.clamp_window();
            }
        }
        if ack.round_end && measured {
            self.end_round(flow);
        }
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(why),
            Event::Undo(before) => {
                self.cwnd = self.cwnd.max(before.cwnd as f64 / f64::from(self.mss));
                self.slow_start = false;
                self.collapsed = false;
                self.clamp_window();
                self.round_cwnd = self.cwnd;
            }
            Event::Life(Life::MssChanged) => self.mss = flow.mss.max(1),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let pacing = if self.rtt_standing > Span::ZERO {
            let rate = 2.0 * self.cwnd * f64::from(self.mss) / self.rtt_standing.secs();
            Pacing::Rate(Rate((rate as u64).max(1)))
        } else {
            Pacing::Off
        };
        Decision::of_model(self.bytes(self.cwnd), pacing)
    }

    fn backoff(&self, _flow: &Flow, why: Congestion) -> Backoff {
        let cwnd = if self.collapsed { self.cwnd } else { self.answer(why) };
        Backoff::of_model(self.bytes(cwnd))
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("delta", self.delta);
        emit("velocity", self.v);
        emit("queueing_s", self.dq);
    }
}

#[cfg(test)]
mod tests {
    use super::Sliding;
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::pipe::Pipe;
    use crate::rig::{Rig, near};
    use crate::time::{Span, Time};

    #[test]
    fn a_sliding_minimum_forgets_what_is_older_than_its_window() {
        let mut least = Sliding::default();
        for (now, key, window, expected) in
            [(0, 5, 10, 5), (4, 7, 10, 5), (10, 9, 10, 5), (12, 8, 10, 7), (13, 9, 2, 8), (20, 11, 2, 11)]
        {
            assert_eq!(least.add(Time(now), key, Span(window)), expected, "at {now}");
        }
    }

    #[test]
    fn slow_start_doubles_until_the_queue_asks_for_less() {
        let mut rig = Rig::new("copa", &[], 10.0, f64::INFINITY);
        for w in [20.0, 40.0, 80.0] {
            rig.round(0.1);
            near(rig.w(), w, 1e-6);
        }
        // 0.1 s of queue allow a rate of 20 segments a second: W must fall, by
        // 1 / delta = 2 segments per round.
        rig.round(0.2); // RTTstanding still remembers 0.1 s for half an SRTT
        let before = rig.w();
        rig.round(0.2);
        assert!(rig.w() < before);
        near(before - rig.w(), 2.0, 0.05);
    }

    #[test]
    fn a_single_flow_keeps_a_few_segments_queued_and_the_link_busy() {
        let mut pipe = Pipe::new("copa", &[], 0.1, 0.0);
        pipe.run(20.0, |_| {}); // slow start's overshoot, and the swing that follows it, have died away
        let (mut sum, mut n, mut most) = (0.0, 0.0, 0.0_f64);
        let share = pipe.run(60.0, |p| {
            sum += p.queue();
            n += 1.0;
            most = most.max(p.queue());
        });
        assert!(share > 0.97, "{share}");
        // Equilibrium at 1 / delta = 2 segments; the paper's oscillation has its mean at 1.25 / delta
        // and peaks at 2.5 / delta.
        let mean: f64 = sum / n;
        assert!(mean > 0.5 && mean < 5.0, "mean queue {mean}");
        assert!(most < 15.0, "peak {most}");
    }

    #[test]
    fn random_loss_does_not_slow_it() {
        let mut pipe = Pipe::new("copa", &[("mode", crate::rig::text("default"))], 0.1, 0.02);
        pipe.run(10.0, |_| {});
        let share = pipe.run(40.0, |_| {});
        assert!(share > 0.93, "{share}");
    }

    #[test]
    fn a_larger_delta_keeps_a_smaller_queue() {
        let mean = |delta: f64| {
            let mut pipe = Pipe::new("copa", &[("delta", Value::Number(delta))], 0.1, 0.0);
            pipe.run(10.0, |_| {});
            let (mut sum, mut n) = (0.0, 0.0);
            pipe.run(40.0, |p| (sum, n) = (sum + p.queue(), n + 1.0));
            sum / n
        };
        assert!(mean(0.1) > 2.0 * mean(0.5), "{} and {}", mean(0.1), mean(0.5));
    }

    #[test]
    fn losses_leave_the_window_alone_and_a_timeout_restarts_slow_start() {
        let mut rig = Rig::new("copa", &[], 50.0, f64::INFINITY);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 50.0);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        rig.round(0.1);
        assert_eq!(rig.w(), 2.0);
    }
}
