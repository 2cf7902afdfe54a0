//! LeoCC: Z. Lai, Z. Li, Q. Wu, H. Li, J. Li, X. Xie, Y. Li, J. Liu, J. Wu: LeoCC: Making Internet Congestion
//! Control Robust to LEO Satellite Dynamics, SIGCOMM 2025. The rules are those of the authors' kernel module
//! (repository SpaceNetLab/LeoCC at 867e673, `leocc.c`, both variants); the paper itself was not available.
//!
//! Unit: bytes, bytes per second. Valid as BBR is, which it extends (`bbr.rs`), on paths whose RTT without
//! queues varies by less than `fluctuation` between reconfigurations. On others it takes that variation for a
//! queue: it paces at a rate that its own pacing limits, and falls far below BBR (docs/leo.md, "Why LeoCC is
//! below BBR here"). What follows is the difference from BBR.
//!
//! | rule | function there | here |
//! |---|---|---|
//! | A reconfiguration of the connection lets PROBE_RTT begin, else 20 s without a smaller RTT; only PROBE_BW (there DYNAMIC_CRUISE) gives way to it | `leocc_update_min_rtt` | `begins_probe_rtt` |
//! | PROBE_RTT holds half a BDP in flight, at least four segments | `leocc_probe_rtt_cwnd` | `PROBE_RTT_GAIN` |
//! | The RTT at the end of PROBE_RTT is the new RTprop, though it may be longer | `leocc_update_min_rtt` | `REMEASURES` |
//! | After a reconfiguration STARTUP follows, and BtlBw begins at 0. If an RTT in PROBE_RTT was shorter than the filtered one by 45 ms, BtlBw begins at the rate before it | `leocc_check_probe_rtt_done`, `leocc_update_bw` | `restarts_with`, `on_rate` |
//! | In PROBE_BW a Kalman filter follows the best rate of each round, another one each RTT | `leocc_main` | `Kalman` |
//! | While the filtered RTT is longer than RTprop by `fluctuation`, pacing and window follow the filtered rate in place of BtlBw, and the gain that probes is 1.05 | `leocc_main` | `on_model`, `bw`, `probe_gain` |
//!
//! Decisions and deviations:
//!  * the module finds a reconfiguration by pings to the first router behind the satellite, 10 ms apart: a
//!    gap of 45 ms. Here the hint that the path changes replaces it, as if the pings saw each one: it counts
//!    from the instant at which the path passes packets again. `period` and `offset` replace hints by a
//!    clock, as the variant for trace replay does: 100 ms before `offset` in each period.
//!  * `fluctuation` is a constant, as in that variant. The other takes the range of 90 %
//!    of the pings of a second.
//!  * until the rate's filter has had a value, BtlBw is followed. The module's filter says 0 then, which lets
//!    the pipe run empty once.
//!  * filters are real-valued. The module's are in 1/256, with variances of 5 bits: its gain
//!    settles at 0.60, ours at 0.62.
//!  * the module changes the gain that probes one ACK after it begins to follow the filtered rate, and for
//!    all its connections at once. If a pause ends PROBE_RTT, it leaves the age of RTprop as it was.
//!  * all deviations of `bbr.rs`.

use alloc::boxed::Box;

use crate::algorithms::bbr::{
    BW_WINDOW, Bbr, CWND_GAIN, Extension, Mode, PHASE, PROBE_GAIN, PROBE_RTT_TIME, RTPROP_WINDOW,
    STARTUP_GAIN,
};
use crate::algorithms::prelude::*;
use crate::time::{real, whole};

pub(crate) const ENTRY: Entry = Entry {
    id: "leocc",
    label: "LeoCC",
    about: "BBR that measures the path anew when it changes satellites, and follows a filtered rate while the RTT is long.",
    source: "Z. Lai, Z. Li, Q. Wu, H. Li, J. Li, X. Xie, Y. Li, J. Liu, J. Wu: LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics, SIGCOMM, 2025",
    reference: "repository SpaceNetLab/LeoCC, leocc.c",
    grade: Grade::A,
    params: Leo::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#ee6677",
    marker: "o",
    build: |args, start| Box::new(Bbr::new(args, start, Leo::new(args))),
};

/// The clock tells of a reconfiguration within this time before it.
const EARLY: Span = Span::from_millis(100);
/// The gain that probes while the filtered rate is followed.
const GENTLE: f64 = 1.05;

/// A Kalman filter of one quantity: with the constants below, about 0.62 of a new value and
/// 0.38 of the old estimate.
#[derive(Clone, Copy, Debug)]
struct Kalman {
    estimate: f64,
    /// Its variance.
    p: f64,
}

impl Kalman {
    /// Variance of a step of the quantity, and of a measurement.
    const Q: f64 = 4.0;
    const R: f64 = 4.0;

    const fn new() -> Self {
        Self { estimate: 0.0, p: 25.0 }
    }

    fn add(&mut self, value: f64) {
        let predicted = self.p + Self::Q;
        let gain = predicted / (predicted + Self::R);
        self.estimate += gain * (value - self.estimate);
        self.p = (1.0 - gain) * predicted;
    }
}

algorithm! {
    #[derive(Debug)]
    struct Leo {
        use STARTUP_GAIN, PROBE_GAIN, CWND_GAIN, BW_WINDOW;
        use Param::number(RTPROP_WINDOW, 20.0, 0.1..=1e6)
            .unit("s")
            .about("PROBE_RTT after this time without a smaller RTT");
        use PROBE_RTT_TIME, PHASE;
        /// an RTT longer than RTprop by this is taken for a queue; the authors recommend 5 to 20 ms
        fluctuation: f64 = 0.01, 0.0..=10.0, "s";
        /// an RTT shorter than the filtered one by this, in PROBE_RTT, keeps the rate before it
        spike: f64 = 0.045, 0.0..=10.0, "s";
        /// time between reconfigurations by the clock, 15 with Starlink; 0: hints tell of them
        period: Span = 0.0, 0.0..=1e6, "s";
        /// the first reconfiguration by the clock, from the start of the run
        offset: Span = 12.0, 0.0..=1e6, "s";
    }
    state {
        /// When a hint becomes a reconfiguration.
        due: Option<Time>,
        /// A reconfiguration waits for PROBE_RTT, or for the STARTUP after it to end.
        reconfigured: bool,
        rate: Kalman = Kalman::new(),
        /// Seconds.
        rtt: Kalman = Kalman::new(),
        /// The best rate of the round under way, and the last one.
        best: u64,
        last: u64,
        /// The rate before an RTT in PROBE_RTT that was shorter by `spike`.
        kept: u64,
        /// Is the filtered rate followed?
        follows: bool,
    }
}

impl Leo {
    /// Does the clock tell of a reconfiguration at `now`?
    fn strikes(&self, now: Time) -> bool {
        self.period > Span::ZERO && {
            let into =
                (now.0 % self.period.0 + self.period.0 - self.offset.0 % self.period.0) % self.period.0;
            into == 0 || into >= self.period.0.saturating_sub(EARLY.0)
        }
    }
}

impl Extension for Leo {
    const PROBE_RTT_GAIN: f64 = 0.5;
    const REMEASURES: bool = true;

    fn pass(&mut self, now: Time) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.reconfigured = true;
        }
        self.reconfigured |= self.strikes(now);
    }

    fn on_rate(&mut self, mode: Mode, begins_round: bool, rate: u64, rtt: Option<Span>) {
        if begins_round {
            if matches!(mode, Mode::ProbeBw(_)) {
                self.rate.add(real(self.best));
            }
            self.best = 0;
        }
        self.best = self.best.max(rate);
        if mode == Mode::ProbeRtt && rtt.is_some_and(|rtt| self.rtt.estimate > rtt.secs() + self.spike) {
            self.kept = self.last;
        }
        self.last = rate;
    }

    fn on_model(&mut self, mode: Mode, rtt: Option<Span>, rtprop: Option<Span>) {
        if let Some(rtt) = rtt {
            self.rtt.add(rtt.secs());
        }
        let long = rtprop.is_some_and(|least| self.rtt.estimate >= least.secs() + self.fluctuation);
        let knows = self.rate.estimate > 0.0;
        self.follows = long && knows && !self.reconfigured && matches!(mode, Mode::ProbeBw(_));
    }

    fn begins_probe_rtt(&self, mode: Mode, expired: bool) -> bool {
        matches!(mode, Mode::ProbeBw(_)) && (expired || self.reconfigured)
    }

    fn restarts_with(&self) -> Option<u64> {
        self.reconfigured.then_some(self.kept)
    }

    fn on_full(&mut self) {
        (self.reconfigured, self.kept) = (false, 0);
    }

    fn bw(&self, btlbw: u64) -> u64 {
        if self.follows { whole(self.rate.estimate) } else { btlbw }
    }

    fn probe_gain(&self, gain: f64) -> f64 {
        if self.follows { gain.min(GENTLE) } else { gain }
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        if let Event::Hint(Hint::PathChange(change)) = event
            && self.period == Span::ZERO
        {
            self.due = Some(change.passes_at(flow.now));
        }
    }

    fn needs_path_change(&self) -> bool {
        self.period == Span::ZERO
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("filtered_rate_bytes_per_s", self.rate.estimate);
        emit("filtered_rtt_s", self.rtt.estimate);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::hint::{Hint, PathChange};
    use alloc::vec::Vec;

    use super::Kalman;
    use crate::registry::Value;
    use crate::rig::near;
    use crate::rig::pipe::Pipe;
    use crate::time::Span;

    const NOW: PathChange = PathChange { ahead: Span::ZERO, dark: Span::ZERO };

    /// By hand: p = 25, then (25 + 4) 4 / (29 + 4) = 3.515, and the gain 29 / 33. In the end p = 2 sqrt
    /// 5 - 2, the gain (sqrt 5 - 1) / 2.
    #[test]
    fn the_filter_settles_at_the_golden_ratio() {
        let mut filter = Kalman::new();
        filter.add(33.0);
        near(filter.estimate, 29.0, 1e-12);
        near(filter.p, 3.51515, 1e-5);
        (0..50).for_each(|_| filter.add(0.0));
        filter.estimate = 0.0;
        filter.add(1.0);
        near(filter.estimate, 0.618_034, 1e-5);
    }

    /// A pipe that has run for 5 s at 100 ms.
    fn settled(given: &[(&str, Value)]) -> Pipe {
        let mut pipe = Pipe::new("leocc", given, 0.1, 0.0);
        pipe.run(5.0, |_| ());
        near(pipe.probe("rtprop_s"), 0.101, 1e-3);
        pipe
    }

    /// `leocc_update_min_rtt` and `leocc_check_probe_rtt_done`: PROBE_RTT, the RTT at its end, STARTUP.
    #[test]
    fn a_hint_brings_the_longer_path_into_the_model_within_a_second() {
        for (hint, rtprop) in [(true, 0.201), (false, 0.101)] {
            let mut pipe = settled(&[]);
            pipe.reroute(0.2);
            if hint {
                pipe.cc.on(&pipe.flow, Event::Hint(Hint::PathChange(NOW)));
            }
            let mut gains: Vec<f64> = Vec::new();
            let mut least = f64::INFINITY;
            pipe.run(6.0, |p| {
                gains.push(p.probe("pacing_gain"));
                least = least.min(p.w());
            });
            near(pipe.probe("rtprop_s"), rtprop, 0.02);
            assert_eq!(gains.iter().any(|&gain| gain > 2.0), hint, "STARTUP again");
            let before = if hint { 45.0..=56.0 } else { 100.0..=220.0 }; // half a BDP of 101 segments
            assert!(before.contains(&least), "{least}");
            let share = pipe.run(12.0, |_| ());
            assert!(share > 0.9, "{share}");
        }
    }

    /// `leocc_update_min_rtt` sets the mode before it calls `leocc_save_cwnd`, which then keeps the greater
    /// of this window and the one of the last recovery. STARTUP begins with that window.
    #[test]
    fn after_probe_rtt_the_window_is_the_greatest_that_was_kept() {
        let mut pipe = Pipe::new("leocc", &[], 0.4, 0.0);
        pipe.run(10.0, |_| ());
        let long = pipe.w(); // of 400 ms
        pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Loss));
        pipe.cc.on(&pipe.flow, Event::Life(Life::Recovered));
        pipe.reroute(0.1);
        pipe.run(15.0, |_| ());
        let short = pipe.w();
        assert!(short < 0.5 * long, "{short} of {long}");
        pipe.cc.on(&pipe.flow, Event::Hint(Hint::PathChange(NOW)));
        let (mut least, mut after) = (short, None);
        pipe.run(16.0, |p| {
            if p.w() > 2.0 * least && after.is_none() {
                after = Some(p.w());
            }
            least = least.min(p.w());
        });
        near(after.expect("PROBE_RTT ends"), long, 0.01);
    }

    #[test]
    fn a_hint_counts_when_the_path_passes_packets_again() {
        let mut pipe = settled(&[]);
        let ahead = Span::from_millis(300);
        pipe.cc.on(
            &pipe.flow,
            Event::Hint(Hint::PathChange(PathChange { ahead, dark: Span::from_millis(200) })),
        );
        let hinted = pipe.secs();
        let mut began = None;
        pipe.run(7.0, |p| {
            if p.w() < 60.0 && began.is_none() {
                began = Some(p.secs() - hinted);
            }
        });
        near(began.expect("PROBE_RTT"), 0.5, 0.01);
    }

    /// `leocc_main` of the variant for trace replay: within 100 ms before 3 s, 18 s, 33 s.
    #[test]
    fn by_the_clock_it_needs_no_hints() {
        let clock = [("period", Value::Number(15.0)), ("offset", Value::Number(3.0))];
        let mut pipe = Pipe::new("leocc", &clock, 0.1, 0.0);
        assert!(!pipe.cc.needs().path_change);
        let (mut entries, mut inside) = (Vec::new(), true);
        pipe.run(40.0, |p| {
            let now = p.w() < 60.0;
            if now && !inside && p.secs() > 1.0 {
                entries.push(p.secs());
            }
            inside = now;
        });
        assert_eq!(entries.len(), 3, "{entries:?}");
        for (entry, strike) in entries.iter().zip([3.0, 18.0, 33.0]) {
            assert!(*entry >= strike - 0.1 && *entry <= strike, "{entries:?}");
        }
    }

    /// `leocc_main`: a queue of more than `fluctuation` is answered by the filtered rate and a gain of 1.05.
    #[test]
    fn while_the_rtt_is_long_it_probes_gently() {
        let mut pipe = settled(&[]);
        pipe.reroute(0.15); // without a hint: the path is longer by five times the fluctuation
        let mut gains: Vec<f64> = Vec::new();
        pipe.run(9.0, |p| gains.push(p.probe("pacing_gain")));
        assert!(gains.contains(&1.05) && !gains[gains.len() / 2..].contains(&1.25));
        near(pipe.probe("filtered_rate_bytes_per_s"), 1e6, 0.05);
    }

    #[test]
    fn without_a_change_rtprop_is_measured_again_after_twenty_seconds() {
        let mut pipe = settled(&[]);
        let mut entered = None;
        pipe.run(60.0, |p| {
            if p.w() < 60.0 && entered.is_none() {
                entered = Some(p.secs());
            }
        });
        let entered = entered.expect("PROBE_RTT");
        assert!(entered > 20.0 && entered < 26.0, "{entered}");
    }
}
