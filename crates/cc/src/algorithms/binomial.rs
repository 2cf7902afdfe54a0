//! Binomial controls: D. Bansal, H. Balakrishnan: Binomial Congestion Control Algorithms, IEEE INFOCOM, 2001,
//! as summed up in S. Jin, L. Guo, I. Matta, A. Bestavros: A Spectrum of TCP-friendly Window-based Congestion
//! Control Algorithms, IEEE/ACM Transactions on Networking, 2003. Members with a name of their own: IIAD
//! (k = 1, l = 0) and SQRT (k = l = 1/2).
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40; as friendly as Reno for k + l = 1, alpha = 3
//! beta / 2 and small cuts.
//! Rules: W + alpha / W^k per round trip -> `avoid`; W - beta W^l at a loss -> `backoff`.
//! Decisions:
//!  * `alpha` is the friendly one, 3 beta / 2, unless given. The papers give no beta for
//!    SQRT: it is IIAD's, 2/3.
//!  * the window stays at one segment or more, ssthresh at two or more.
//!  * a loss in slow start halves (`ss_beta`; 0: by the rule), and so does ssthresh at a timeout;
//!    `halve_first` and `whole_cuts` are ns-2's other rules of a cut (its windowOption_ 6). All as in AIMD.
//!    ECN is answered as a loss.
//!  * a report of many segments is applied at once, as Reno's.

use alloc::boxed::Box;

use crate::algorithms::aimd::{Cuts, HALVE_FIRST, SS_BETA, WHOLE_CUTS};
use crate::algorithms::prelude::*;

const SOURCE: &str = "D. Bansal, H. Balakrishnan: Binomial Congestion Control Algorithms, IEEE INFOCOM, 2001";
const REFERENCE: &str = "doi:10.1109/INFCOM.2001.916251";

const ALPHA: Param = Param::number("alpha", 1.0, 0.0..=1000.0).unit("segments^(1+k)").about(
    "growth per round trip at a window of one segment; 3 beta / 2 unless given, which is 1 for beta = 2/3",
);

const BETA: Param = Param::number("beta", 2.0 / 3.0, 1e-3..=10.0)
    .unit("segments^(1-l)")
    .about("cut at a loss at a window of one segment");

/// Any k and l.
pub(crate) const ENTRY: Entry = Entry {
    id: "binomial",
    label: "binomial",
    about: "Grows by alpha/W^k a round trip and shrinks by beta W^l at a loss.",
    source: SOURCE,
    reference: REFERENCE,
    grade: Grade::A,
    params: &[
        Param::number("k", 0.5, -1.0..=5.0)
            .unit("1")
            .about("exponent of the increase; 0 is additive, -1 exponential"),
        Param::number("l", 0.5, -1.0..=1.0)
            .unit("1")
            .about("exponent of the decrease; 1 is multiplicative, 0 subtractive"),
        ALPHA,
        BETA,
        SS_BETA,
        HALVE_FIRST,
        WHOLE_CUTS,
    ],
    sender: SenderOptions::NONE,
    colour: "#aa4499",
    marker: "p",
    build: |args, start| hosted(args.number("k"), args.number("l"), args, start),
};

/// Inverse increase, additive decrease.
pub(crate) const IIAD: Entry = Entry {
    id: "iiad",
    label: "IIAD",
    about: "Binomial with k = 1, l = 0: grows by alpha/W a round trip, gives up beta segments at a loss.",
    source: SOURCE,
    reference: REFERENCE,
    grade: Grade::A,
    params: &[ALPHA, BETA, SS_BETA, HALVE_FIRST, WHOLE_CUTS],
    sender: SenderOptions::NONE,
    colour: "#cc6677",
    marker: "D",
    build: |args, start| hosted(1.0, 0.0, args, start),
};

/// Square roots on both sides.
pub(crate) const SQRT: Entry = Entry {
    id: "sqrt",
    label: "SQRT",
    about: "Binomial with k = l = 1/2: grows by alpha/sqrt(W) a round trip, gives up beta sqrt(W) at a loss.",
    source: SOURCE,
    reference: REFERENCE,
    grade: Grade::A,
    params: &[ALPHA, BETA, SS_BETA, HALVE_FIRST, WHOLE_CUTS],
    sender: SenderOptions::NONE,
    colour: "#ddcc77",
    marker: "H",
    build: |args, start| hosted(0.5, 0.5, args, start),
};

fn hosted(k: f64, l: f64, args: &Args, start: Start) -> Box<dyn Controller> {
    let beta = args.number(BETA.name);
    let alpha = if args.given(ALPHA.name) { args.number(ALPHA.name) } else { 1.5 * beta };
    Windowed::hosted(Binomial { k, l, alpha, beta, cuts: Cuts::new(args) }, start)
}

/// The binomial window rules.
#[derive(Debug)]
struct Binomial {
    k: f64,
    l: f64,
    alpha: f64,
    beta: f64,
    cuts: Cuts,
}

/// W - beta W^l, the decrease of every control in the two papers.
pub(crate) fn decreased(w: f64, beta: f64, l: f64) -> f64 {
    w - beta * libm::pow(w, l)
}

impl Policy for Binomial {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        w.cwnd += self.alpha * ack.segments(flow) / libm::pow(w.cwnd, self.k + 1.0);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        self.cuts.answer(w, why, |cwnd| decreased(cwnd, self.beta, self.l))
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        self.cuts.on(&event);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near};

    fn numbers<'a>(given: &[(&'a str, f64)]) -> alloc::vec::Vec<(&'a str, Value)> {
        given.iter().map(|(name, x)| (*name, Value::Number(*x))).collect()
    }

    /// Round trips until `rig` reaches `w` segments, counted as the sum of 1/W over its ACKs.
    fn rounds_to(rig: &mut Rig, w: f64) -> f64 {
        let mut rounds = 0.0;
        while rig.w() < w {
            rounds += 1.0 / rig.w();
            rig.ack(1.0, 0.001, 0.5, false);
        }
        rounds
    }

    /// The windows between losses: IIAD sqrt(W0^2 + 2 alpha t), SQRT (W0^1.5 + 1.5 alpha t)^(2/3).
    #[test]
    fn the_growth_curves() {
        let mut iiad = Rig::new("iiad", &[], 11.0, 2.0);
        near(rounds_to(&mut iiad, 22.0), (22.0 * 22.0 - 121.0) / 2.0, 0.01); // 181.5, table 3
        let mut sqrt = Rig::new("sqrt", &numbers(&[("alpha", 0.3)]), 100.0, 2.0);
        near(rounds_to(&mut sqrt, 144.0), (1728.0 - 1000.0) / (1.5 * 0.3), 0.01);
    }

    /// Table 3 for beta = 2/3: IIAD needs (W - W/m) / beta = 16.5 losses from 22 to 11 segments.
    #[test]
    fn iiad_gives_up_two_thirds_of_a_segment_at_each_loss() {
        let mut rig = Rig::new("iiad", &[], 22.0, 2.0);
        let mut losses = 0;
        while rig.w() > 11.0 + 1e-9 {
            rig.congestion(Congestion::Loss);
            losses += 1;
        }
        assert_eq!(losses, 17);
        near(rig.w(), 22.0 - 17.0 * 2.0 / 3.0, 1e-5);
    }

    /// Table 2 for IIAD(1, 2/3), windows of 11.8 and 31.2 segments: 1241.5 round trips until they add up to
    /// 110, and they are then 7.58 segments apart.
    #[test]
    fn two_iiad_flows_fill_the_path_in_1242_round_trips() {
        let mut flows = [11.8, 31.2].map(|w| Rig::new("iiad", &[], w, 2.0));
        let mut rounds = 0;
        while flows[0].w() + flows[1].w() < 110.0 {
            for rig in &mut flows {
                rig.ack(rig.w(), 0.1, 0.1, true);
            }
            rounds += 1;
        }
        near(f64::from(rounds), 1241.5, 0.005);
        near(flows[1].w() - flows[0].w(), 7.58, 0.01);
    }

    /// The general rule: k = 0, l = 1 is AIMD, k = -1, l = 1 multiplies by 1 + alpha per
    /// window; SQRT is k = l = 1/2.
    #[test]
    fn members_of_the_family() {
        for (general, id, given) in [
            (&[("k", 0.0), ("l", 1.0), ("alpha", 0.2), ("beta", 0.125)][..], "aimd", &[][..]),
            (&[("k", 0.5), ("l", 0.5)][..], "sqrt", &[][..]),
            (&[("k", 1.0), ("l", 0.0), ("beta", 0.5)][..], "iiad", &[("beta", 0.5)][..]),
        ] {
            let mut a = Rig::new("binomial", &numbers(general), 50.0, 2.0);
            let mut b = Rig::new(id, &numbers(given), 50.0, 2.0);
            for _ in 0..3 {
                a.round(0.5);
                b.round(0.5);
                near(a.w(), b.w(), 1e-6);
                a.congestion(Congestion::Loss);
                b.congestion(Congestion::Loss);
                near(a.w(), b.w(), 1e-6);
            }
        }
        let given = numbers(&[("k", -1.0), ("l", 1.0), ("alpha", 0.01)]);
        let mut rig = Rig::new("binomial", &given, 100.0, 2.0);
        rig.ack(100.0, 0.1, 0.1, true);
        assert_eq!(rig.w(), 101.0);
    }

    /// A window of one segment cannot shrink; a loss in slow start halves unless `ss_beta` is 0.
    #[test]
    fn floors_and_slow_start() {
        let mut rig = Rig::new("iiad", &[], 1.2, 1.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (1.0, 2.0));
        for (given, left) in [(&[][..], 50.0), (&[("ss_beta", 0.0)][..], 100.0 - 20.0 / 3.0)] {
            let mut rig = Rig::new("sqrt", &numbers(given), 100.0, f64::INFINITY);
            rig.congestion(Congestion::Loss);
            near(rig.w(), left, 1e-6);
        }
    }
}
