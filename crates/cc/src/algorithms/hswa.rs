//! HSWA-TCP (also printed HSPA-TCP): X. Ge, F. Y. Li, F. Reichert: An Enhanced TCP Congestion Avoidance
//! Scheme and its Performance Evaluation in High Speed Satellite Networks. A window rule that takes the
//! channel's bit error rate as a parameter.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, any RTT above 1 us.
//! Equations: (2) BaseTD = min(TD_(i-9) .. TD_i); (3) TD_i = AvgRTT_i - Unit_TD_i with
//! Unit_TD_i = minRTT_(i-1) / 2; (4) the increment per round -> [`Hswa::close`], `avoid`;
//! (5) S = -A lg(p_ber) -> [`Hswa::new`].
//! Decisions where the paper is silent or contradicts itself:
//!  * an observation period is one round, and AvgRTT its mean: the paper's running mean over all that was
//!    ever sent would soon stop reacting. `average = "connection"` takes that mean, section II's "until
//!    currently transmitted segments", as AvgRTT of eq. 3.
//!  * the test TD = BaseTD is the limit of the second branch of eq. 4, and `cwnd_lim` always caps it.
//!  * cwnd_lim is the receive window; p_ber is clamped to [1e-12, 0.1], so S lies between 10 and 120.
//!  * lg is the logarithm to base 10. No printed value of S decides this; `lg = "ln"` takes the
//!    natural one, 2.3 times as much.
//!  * a TD that is not positive (the RTT fell below half of the last round's: another path)
//!    starts the history anew.
//!  * eq. 4 is a growth per round trip, spread over the round's ACKs in proportion to the data that they
//!    acknowledge. Algorithm 1 can be read as one update for each ACK, too: `eq4 = "ack"` adds the increment
//!    of the last round for each acknowledged segment. The window then reaches cwnd_lim within a round trip,
//!    so the flow needs a receive window.
//!  * "p is a variable": a hint of the link layer (`LinkQuality`) sets S anew from the next round on. Algorithm 1
//!    computes S from "link condition p" and does not say when.
//!  * slow start, loss and timeout are standard (RFC 5681): the paper changes congestion avoidance only.
//!
//! A queue that persists for more than ten rounds enters BaseTD and is no longer seen; the
//! paper's rule does the same.

use crate::algorithms::avg_rtt::{AVERAGE, AvgRtt};
use crate::algorithms::prelude::*;
use crate::round::Round;

pub(crate) const ENTRY: Entry = Entry {
    id: "hswa",
    label: "HSWA-TCP",
    about: "Grows by -A lg(BER) segments a round trip and less as queueing delay builds up; halves at a loss.",
    source: "X. Ge, F. Y. Li, F. Reichert: An Enhanced TCP Congestion Avoidance Scheme and its Performance Evaluation in High Speed Satellite Networks",
    reference: "doi not printed in the paper",
    grade: Grade::A,
    params: Hswa::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#e69f00",
    marker: "D",
    build: |args, start| Windowed::hosted(Hswa::new(args), start),
};

/// Rounds that BaseTD looks back (eq. 3).
const HISTORY: usize = 10;

/// Eq. 5.
#[derive(Clone, Copy, Debug)]
struct Law {
    a: f64,
    lg: fn(f64) -> f64,
}

impl Law {
    fn new(args: &Args) -> Self {
        Self { a: args.number("a"), lg: if args.is("lg", "ln") { libm::log } else { libm::log10 } }
    }

    /// S at this bit error rate, segments per round.
    fn s(self, ber: f64) -> f64 {
        -self.a * (self.lg)(ber.clamp(1e-12, 0.1))
    }
}

algorithm! {
    #[derive(Debug)]
    struct Hswa {
        use Param::number("ber", 1e-8, 0.0..=1.0)
            .unit("1")
            .about("p_ber of eq. 5: bit error rate that the link layer reports; clamped to [1e-12, 0.1]")
            .filled_from(PathFact::BitErrorRate);
        use Param::number("a", 10.0, 0.0..=1000.0).unit("segments").about("A of eq. 5");
        use Param::choice("lg", &["log10", "ln"]).about("lg of eq. 5: logarithm to base 10, or natural");
        use AVERAGE;
        use Param::choice("eq4", &["round", "ack"])
            .about("the increment of eq. 4 is the growth of a round trip, or of each acknowledged segment (Algorithm 1)");
    }
    state(args) {
        /// S of eq. 5, segments per round.
        s: f64 = Law::new(args).s(args.number("ber")),
        law: Law = Law::new(args),
        /// The increment is added for each acknowledged segment.
        per_ack: bool = args.is("eq4", "ack"),
        round: Round,
        average: AvgRtt = AvgRtt::new(args),
        /// AvgRTT of the last round, seconds.
        avg_rtt: f64 = f64::NAN,
        /// TD of the last rounds, seconds.
        td: [f64; HISTORY] = [f64::INFINITY; HISTORY],
        rounds: usize,
        /// minRTT of the last round, seconds.
        min_rtt: Option<f64>,
        /// The increment for the round under way, segments.
        increment: f64 = s,
        /// The increment for the next round, once the last ACK of the one under way has come.
        next: Option<f64>,
        /// Window at the start of the round under way, segments; 0 before it is known.
        at_round_start: f64,
    }
}

impl Hswa {
    /// Eq. 2 to 4 for a round whose RTT had this mean and minimum, in seconds: the
    /// increment for the next round.
    fn close(&mut self, mean: f64, min: f64) -> f64 {
        let unit_td = self.min_rtt.replace(min).unwrap_or(min) / 2.0;
        let mut td = mean - unit_td; // eq. 3
        if td <= 0.0 {
            self.td = [f64::INFINITY; HISTORY];
            td = mean - min / 2.0;
        }
        self.td[self.rounds % HISTORY] = td;
        self.rounds += 1;
        let base = self.td.iter().copied().fold(f64::INFINITY, f64::min); // eq. 2
        if td <= base {
            self.s // eq. 4, first branch
        } else if td < 2.0 * base {
            self.s * (1.0 - (td - base) / base) // second branch
        } else {
            0.0 // third branch
        }
    }
}

impl Policy for Hswa {
    fn observe(&mut self, _flow: &Flow, ack: &Ack) {
        if let Some(increment) = self.next.take() {
            self.increment = increment;
            self.at_round_start = 0.0;
        }
        self.average.observe(ack);
        if let Some(round) = self.round.add(ack) {
            self.avg_rtt = self.average.after(&round.rtt);
            self.next = Some(self.close(self.avg_rtt, round.rtt.min.secs()));
        }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if self.at_round_start == 0.0 {
            self.at_round_start = w.cwnd;
        }
        let limit = flow.rwnd as f64 / f64::from(flow.mss.max(1)); // cwnd_lim of eq. 4
        let updates = if self.per_ack { 1.0 } else { self.at_round_start };
        let grown = w.cwnd + self.increment * ack.segments(flow) / updates;
        w.cwnd = grown.min(limit.max(w.cwnd)); // eq. 4: min(S, cwnd_lim - cwnd)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(_) | Event::Undo(_) => self.at_round_start = 0.0,
            // Algorithm 1: S follows the link condition p.
            Event::Hint(Hint::LinkQuality(quality)) => self.s = self.law.s(quality.bit_error_rate),
            _ => {}
        }
    }

    fn needs(&self) -> Needs {
        Needs { link_quality: true, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("increment_segments", self.increment);
        emit("s_segments", self.s);
        emit("avg_rtt_s", self.avg_rtt);
        emit("td_s", self.rounds.checked_sub(1).map_or(f64::NAN, |last| self.td[last % HISTORY]));
    }
}

#[cfg(test)]
mod tests {
    use super::Hswa;
    use crate::event::{Congestion, Event};
    use crate::hint::{Hint, LinkQuality};
    use crate::registry::Value;
    use crate::rig::{Rig, args, near, probe, text};
    use crate::time::Span;

    fn with_ber(ber: f64) -> Hswa {
        Hswa::new(&args("hswa", &[("ber", Value::Number(ber))]))
    }

    /// Eq. 5 with A = 10; p_ber is clamped to [1e-12, 0.1].
    #[test]
    fn eq_5() {
        for (ber, s) in
            [(1e-8, 80.0), (1e-7, 70.0), (1e-6, 60.0), (1e-5, 50.0), (1e-4, 40.0), (0.0, 120.0), (0.5, 10.0)]
        {
            near(with_ber(ber).s, s, 1e-12);
        }
    }

    /// Eq. 5 with the natural logarithm: ln 10 times as much.
    #[test]
    fn eq_5_by_the_natural_logarithm() {
        let given = [("ber", Value::Number(1e-8)), ("lg", text("ln"))];
        near(Hswa::new(&args("hswa", &given)).s, 184.2068, 1e-6);
    }

    /// The link condition p is a variable: 1e-7, 1e-2, 1e-7.
    #[test]
    fn s_follows_the_link() {
        let mut rig = Rig::new("hswa", &[], 100.0, 2.0);
        assert!(rig.cc.needs().link_quality);
        for (bit_error_rate, s) in [(1e-7, 70.0), (1e-2, 20.0), (1e-7, 70.0)] {
            let quality = LinkQuality { ahead: Span::ZERO, bit_error_rate };
            rig.cc.on(&rig.flow, Event::Hint(Hint::LinkQuality(quality)));
            near(probe(&*rig.cc, "s_segments"), s, 1e-12);
        }
    }

    /// `average = "connection"`: three rounds of 0.5 s and one of 0.7 s have a mean of 0.55 s, so TD rises
    /// from 0.25 s to 0.3 s and the increment falls from S = 80 to 80 (1 - 0.05 / 0.25) = 64. By the mean of
    /// the round TD is 0.45 s: 80 (1 - 0.2 / 0.25) = 16.
    #[test]
    fn avg_rtt_can_be_the_mean_of_the_connection() {
        for (choice, expected) in [("round", 16.0), ("connection", 64.0)] {
            let mut rig = Rig::new("hswa", &[("average", text(choice))], 100.0, 2.0);
            for rtt in [0.5, 0.5, 0.5, 0.7] {
                rig.ack(1.0, 0.01, rtt, true);
            }
            rig.ack(1.0, 0.01, 0.7, false); // the increment is that of the next round
            near(probe(&*rig.cc, "increment_segments"), expected, 1e-9);
        }
    }

    /// Eq. 4 for each ACK: a window of 100 segments adds S = 80 for each of them in a
    /// round trip, up to cwnd_lim.
    #[test]
    fn eq_4_can_be_applied_at_each_ack() {
        let mut rig = Rig::new("hswa", &[("eq4", text("ack"))], 100.0, 2.0);
        rig.flow.rwnd = 2_000_000_000; // 2000 segments of the rig
        rig.ack(1.0, 0.01, 0.5, false);
        assert_eq!(rig.w(), 180.0);
        rig.ack(2.0, 0.01, 0.5, false);
        assert_eq!(rig.w(), 340.0);
        for _ in 0..30 {
            rig.ack(1.0, 0.01, 0.5, false);
        }
        assert_eq!(rig.w(), 2000.0);
    }

    /// Eq. 2 to 4 at a propagation delay of 0.5 s: TD = 0.25 s at first, and the last minimum stays 0.5 s.
    #[test]
    fn eq_4_falls_linearly_to_zero_at_twice_the_base() {
        let mut policy = with_ber(1e-8);
        for (mean, share) in
            [(0.50, 1.0), (0.52, 0.92), (0.55, 0.8), (0.60, 0.6), (0.74, 0.04), (0.75, 0.0), (0.80, 0.0)]
        {
            let increment = policy.close(mean, 0.5);
            assert!((increment - 80.0 * share).abs() < 1e-9, "{mean}: {increment}");
        }
    }

    /// Eq. 2 looks back ten rounds: a queue that persists for longer is no longer seen.
    #[test]
    fn the_base_is_the_smallest_of_ten_rounds() {
        let mut policy = with_ber(1e-8);
        policy.close(0.50, 0.5);
        for i in 1..=9 {
            near(policy.close(0.60, 0.5), 48.0, 1e-9);
            assert!(i < 10);
        }
        assert_eq!(policy.close(0.60, 0.5), 80.0);
    }

    /// A path whose RTT falls to less than half makes eq. 3 negative: its history begins anew.
    #[test]
    fn a_new_path_starts_a_new_history() {
        let mut policy = with_ber(1e-8);
        policy.close(0.5, 0.5);
        assert_eq!(policy.close(0.05, 0.05), 80.0);
        near(policy.close(0.06, 0.05), 80.0 * (1.0 - 0.01 / 0.025), 1e-9);
        assert_eq!(with_ber(1e-8).close(0.0, 0.0), 80.0);
    }

    /// Eq. 4 per round trip: 4167 segments (100 Mbit/s, 0.5 s) take 52 rounds at S = 80 and 83 at S = 50.
    #[test]
    fn fills_a_hundred_megabit_geo_path_in_52_rounds() {
        for (ber, rounds) in [(1e-8, 52), (1e-5, 83)] {
            let mut rig = Rig::new("hswa", &[("ber", Value::Number(ber))], 2.0, 2.0);
            for _ in 0..rounds {
                rig.round(0.5);
            }
            near(rig.w(), 4167.0, 0.015);
        }
    }

    /// Eq. 4, first branch: cwnd_lim - cwnd caps the growth; and a loss halves.
    #[test]
    fn the_receive_window_is_the_limit() {
        let mut rig = Rig::new("hswa", &[], 400.0, 2.0);
        rig.flow.rwnd = 432_500_000; // 432.5 segments of the rig
        for _ in 0..5 {
            rig.round(0.5);
        }
        assert_eq!(rig.w(), 432.5);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (216.25, 216.25));
    }
}
