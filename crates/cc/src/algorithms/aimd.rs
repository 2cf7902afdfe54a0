//! AIMD(a, b), additive increase and multiplicative decrease with any coefficients: S. Jin, L. Guo, I. Matta,
//! A. Bestavros: A Spectrum of TCP-friendly Window-based Congestion Control Algorithms, IEEE/ACM Transactions
//! on Networking, 2003 (sections 2 and 3). AIMD(1, 1/2) is Reno's window.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40; as friendly as Reno for a = 3b / (2 - b).
//! Equations: W + a per round trip -> `avoid`; W - b W at a loss -> `backoff`; eq. (4) with k = 0, l = 1
//! gives a = 3b / (2 - b) -> [`friendly`].
//! Decisions:
//!  * `a` is the friendly one, 3b / (2 - b), unless given. The paper's runs round it: AIMD(1/5,
//!    1/8) and AIMD(1/10, 1/16).
//!  * a loss in slow start halves (`ss_beta`): a cut by b = 1/16 leaves the queue full, and the next
//!    round loses again. ns-2 halves there, too (`TcpAgent::slowdown` in ns-2.35's tcp.cc). With
//!    `ss_beta = 0` the cut is b.
//!  * a timeout sets ssthresh to half of the window (RFC 5681 section 3.1, eq. 4; `slowdown` halves
//!    likewise). The paper has "the same timeout mechanism as standard TCP" (section 6.1.1). FlightSize is
//!    the window here, as in Reno.
//!  * `slowdown` has two more rules. The first cut of a connection halves (`first_decrease_`):
//!    `halve_first`. Without `precisionReduce_`, the default until 2006, the window is cut to int(d int(W)):
//!    `whole_cuts`. Both are off.
//!  * ECN is answered as a loss.
//!  * a report of many segments is applied at once, as Reno's.

use core::mem;

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "aimd",
    label: "AIMD",
    about: "Reno's rules with any increase a and decrease b; as friendly as Reno, but smoother, for a small b.",
    source: "S. Jin, L. Guo, I. Matta, A. Bestavros: A Spectrum of TCP-friendly Window-based Congestion Control Algorithms, IEEE/ACM Trans. Networking, 2003",
    reference: "BUCS-TR-2002-027",
    grade: Grade::A,
    params: &[
        Param::number("a", 0.2, 0.0..=1000.0)
            .unit("segments")
            .about("growth per round trip; 3b/(2-b) unless given (eq. 4), which is 0.2 for b = 1/8"),
        Param::number("b", 0.125, 1e-3..=0.99)
            .unit("1")
            .about("share of the window that is given up at a loss"),
        SS_BETA,
        HALVE_FIRST,
        WHOLE_CUTS,
    ],
    sender: SenderOptions::NONE,
    colour: "#882255",
    marker: "<",
    build: |args, start| Windowed::hosted(Aimd::new(args), start),
};

/// How a loss in slow start is answered, the same parameter for every algorithm of the paper.
pub(crate) const SS_BETA: Param = Param::number("ss_beta", 0.5, 0.0..=0.99)
    .unit("1")
    .about("share of the window that is given up at a loss in slow start; 0: as in congestion avoidance");

/// See the head of this file; the same parameter for every algorithm of the paper.
pub(crate) const HALVE_FIRST: Param = Param::flag("halve_first", false).about(
    "the first cut of the connection halves, whatever the rule (first_decrease_ of ns-2's TcpAgent::slowdown)",
);

/// See the head of this file; the same parameter for every algorithm of the paper.
pub(crate) const WHOLE_CUTS: Param = Param::flag("whole_cuts", false).about(
    "a cut takes the whole part of the window and leaves a whole number (ns-2 without precisionReduce_)",
);

/// What the algorithms of the paper share of their answer to congestion, as their parameters say.
#[derive(Debug)]
pub(crate) struct Cuts {
    ss_beta: f64,
    whole: bool,
    /// The next congestion is the first, and halves.
    halves: bool,
    /// The last congestion was the first.
    was_first: bool,
}

impl Cuts {
    /// As [`SS_BETA`], [`HALVE_FIRST`] and [`WHOLE_CUTS`] in `args` say.
    pub(crate) fn new(args: &Args) -> Self {
        Self {
            ss_beta: args.number(SS_BETA.name),
            whole: args.flag(WHOLE_CUTS.name),
            halves: args.flag(HALVE_FIRST.name),
            was_first: false,
        }
    }

    /// The answer to `why`; `rule` gives the window after a loss in congestion avoidance.
    pub(crate) fn answer(&self, w: &Window, why: Congestion, rule: impl FnOnce(f64) -> f64) -> Cut {
        let whole = |w| if self.whole { libm::floor(w) } else { w };
        let from = whole(w.cwnd);
        let target = if self.halves || why == Congestion::Timeout {
            from / 2.0 // RFC 5681 eq. 4
        } else if w.cwnd < w.ssthresh && self.ss_beta > 0.0 {
            from * (1.0 - self.ss_beta)
        } else {
            rule(from)
        };
        Cut::standard(whole(target).max(1.0), why)
    }

    /// As [`Policy::on`]. A spurious congestion was not the first.
    pub(crate) fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Congestion(_) => self.was_first = mem::take(&mut self.halves),
            Event::Undo(_) => self.halves |= mem::take(&mut self.was_first),
            _ => {}
        }
    }
}

/// The increase that makes AIMD(a, b) as friendly as Reno: eq. 4 with k = 0 and l = 1.
fn friendly(b: f64) -> f64 {
    3.0 * b / (2.0 - b)
}

/// AIMD's window rules.
#[derive(Debug)]
struct Aimd {
    a: f64,
    b: f64,
    cuts: Cuts,
}

impl Aimd {
    fn new(args: &Args) -> Self {
        let b = args.number("b");
        let a = if args.given("a") { args.number("a") } else { friendly(b) };
        Self { a, b, cuts: Cuts::new(args) }
    }
}

impl Policy for Aimd {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, self.a);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        self.cuts.answer(w, why, |cwnd| cwnd * (1.0 - self.b))
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        self.cuts.on(&event);
    }
}

#[cfg(test)]
mod tests {
    use super::friendly;
    use crate::event::{Congestion, Event};
    use crate::registry::Value;
    use crate::rig::{Rig, near};

    fn of(b: f64, w: f64, t: f64) -> Rig {
        Rig::new("aimd", &[("b", Value::Number(b))], w, t)
    }

    /// Eq. 4 with k = 0, l = 1: Reno's a = 1 for b = 1/2, and the exact partners of the paper's 1/8 and 1/16.
    #[test]
    fn the_friendly_increase() {
        for (b, a) in [(0.5, 1.0), (0.125, 0.2), (0.0625, 0.09677)] {
            near(friendly(b), a, 1e-4);
        }
    }

    /// Table 3 for b = 1/16: from 11 to 22 segments in (m - 1) W / a = 113.7 round trips (117.3
    /// with a = 3b/2), and log(1/2) / log(1 - b) = 10.74 losses to go down by half. AIMD(1,
    /// 1/2) takes 11 round trips.
    #[test]
    fn aggressiveness_and_responsiveness() {
        for (given, rounds) in [
            (&[("b", Value::Number(0.0625))][..], 113.7),
            (&[("b", Value::Number(0.0625)), ("a", Value::Number(1.5 / 16.0))][..], 117.3),
            (&[("b", Value::Number(0.5))][..], 11.0),
        ] {
            let mut rig = Rig::new("aimd", given, 11.0, 2.0);
            let mut acked = 0.0; // of the round trips, counted as the sum of 1/W
            while rig.w() < 22.0 {
                acked += 1.0 / rig.w();
                rig.ack(1.0, 0.001, 0.5, false);
            }
            near(acked, rounds, 0.01);
        }
        let mut rig = of(0.0625, 22.0, 2.0);
        let mut losses = 0;
        while rig.w() > 11.0 {
            rig.congestion(Congestion::Loss);
            losses += 1;
        }
        assert_eq!(losses, 11);
    }

    /// From 750 (1 - 1/16) to 750 segments: b W / a = 484 round trips, 291 s at 0.6 s.
    #[test]
    fn regains_a_sixteenth_of_750_segments_in_484_round_trips() {
        let mut rig = of(0.0625, 750.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (703.125, 703.125));
        let mut rounds = 0;
        while rig.w() < 750.0 {
            rig.ack(rig.w(), 0.6, 0.6, true);
            rounds += 1;
        }
        near(f64::from(rounds), 484.0, 0.003); // whole round trips
        near(rig.secs(), 291.0, 0.003);
    }

    /// Table 2, time to efficiency: windows of 12.7 and 31 segments add up to 110 after
    /// (W - W1 - W2) / 2a = 342.6 round trips.
    #[test]
    fn two_flows_fill_the_path_in_343_round_trips() {
        let mut flows = [of(0.0625, 12.7, 2.0), of(0.0625, 31.0, 2.0)];
        let mut rounds = 0;
        while flows[0].w() + flows[1].w() < 110.0 {
            for rig in &mut flows {
                rig.ack(rig.w(), 0.1, 0.1, true);
            }
            rounds += 1;
        }
        assert_eq!(rounds, 343);
    }

    /// A loss in slow start halves; with `ss_beta = 0` it is answered as any other.
    #[test]
    fn a_loss_in_slow_start() {
        for (given, keep) in [(&[][..], 0.5), (&[("ss_beta", Value::Number(0.0))][..], 0.875)] {
            let mut rig = Rig::new("aimd", given, 100.0, f64::INFINITY);
            rig.congestion(Congestion::Loss);
            assert_eq!((rig.w(), rig.t()), (100.0 * keep, 100.0 * keep));
        }
    }

    /// RFC 5681 eq. 4, in ns-2's `slowdown`, too: a timeout halves ssthresh, whatever the decrease at a loss.
    #[test]
    fn a_timeout_halves_the_threshold() {
        for id in ["aimd", "binomial", "iiad", "sqrt", "kl", "simd", "aiad"] {
            for (w, t) in [(100.0, 2.0), (100.0, f64::INFINITY)] {
                let mut rig = Rig::new(id, &[], w, t);
                rig.congestion(Congestion::Timeout);
                assert_eq!((rig.w(), rig.t()), (1.0, 50.0), "{id}");
            }
        }
    }

    /// ns-2's `first_decrease_`: the first cut halves, later ones do not; a spurious one was none.
    #[test]
    fn the_first_cut_can_halve() {
        for (id, kept) in [("aimd", 43.75), ("iiad", 50.0 - 2.0 / 3.0), ("simd", 46.875)] {
            let mut rig = Rig::new(id, &[("halve_first", Value::Flag(true))], 100.0, 2.0);
            for _ in 0..2 {
                let before = rig.congestion(Congestion::Loss);
                assert_eq!(rig.w(), 50.0, "{id}");
                rig.cc.on(&rig.flow, Event::Undo(&before));
            }
            rig.congestion(Congestion::Ecn);
            assert_eq!(rig.w(), 50.0, "{id}");
            rig.congestion(Congestion::Loss);
            near(rig.w(), kept, 1e-6);
        }
    }

    /// ns-2 without `precisionReduce_`: int(d int(W)). AIMD(1/16) goes from 5.9 to
    /// int(15/16 * 5) = 4 segments, IIAD to int(5 - 2/3) = 4; half of 5 is 2.
    #[test]
    fn cuts_can_be_whole_numbers() {
        let of = |id, more: &[(&'static str, Value)], t| {
            let mut given = alloc::vec![("whole_cuts", Value::Flag(true))];
            given.extend_from_slice(more);
            Rig::new(id, &given, 5.9, t)
        };
        let sixteenth = [("b", Value::Number(0.0625))];
        for (mut rig, why, t) in [
            (of("aimd", &sixteenth, 2.0), Congestion::Loss, 4.0),
            (of("aimd", &sixteenth, 9.0), Congestion::Loss, 2.0),
            (of("aimd", &sixteenth, 2.0), Congestion::Timeout, 2.0),
            (of("iiad", &[], 2.0), Congestion::Loss, 4.0),
            (of("simd", &[], 2.0), Congestion::Ecn, 4.0),
        ] {
            rig.congestion(why);
            assert_eq!(rig.t(), t);
        }
    }
}
