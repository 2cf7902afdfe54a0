//! HighSpeed TCP: S. Floyd: HighSpeed TCP for Large Congestion Windows, RFC 3649, 2003.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40; the response function is defined up to High_Window = 83000.
//! Equations: section 5, b(w) and a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 / w^1.2, and Reno up
//! to Low_Window = 38 -> [`coefficients`]; appendix B, the table of whole a and two-digit b -> [`table`].
//! Decisions:
//!  * `form = "formula"` evaluates a and b at every window; `table` is appendix B: a row holds from its
//!    window on. `linux` takes the row above the window (`hstcp_cong_avoid` in tcp_highspeed.c, 6.1, which is
//!    ns-2's TCP/Linux, too). So it adds 2 segments and keeps 0.56 of them from 39 segments on, not from 118.
//!    Linux has b in 256ths, here it is in hundredths.
//!  * a is never below 1, Reno's (the formula gives 0.955 at 38 segments). Above High_Window b stays 0.1,
//!    where the formula would go on to fall below zero.
//!  * ECN is answered as a loss; a timeout sets ssthresh by the same rule.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "highspeed",
    label: "HighSpeed",
    about: "Reno up to 38 segments; from there growth rises and the cut shrinks with the window.",
    source: "S. Floyd: HighSpeed TCP for Large Congestion Windows, 2003",
    reference: "RFC 3649",
    grade: Grade::B,
    params: &[Param::choice("form", &["formula", "table", "linux"]).about(
        "a(w) and b(w) as continuous functions (section 5), the table of appendix B, or its row above the window (Linux)",
    )],
    sender: SenderOptions::NONE,
    colour: "#dd44bb",
    marker: "2",
    build: |args, start| {
        let coefficients = match args.choice("form") {
            "table" => table,
            "linux" => row_above,
            _ => coefficients,
        };
        Windowed::hosted(HighSpeed { coefficients }, start)
    },
};

/// Low_Window and High_Window, segments.
const LOW: f64 = 38.0;
const HIGH: f64 = 83_000.0;

/// b(w), the share of the window that is given up at a loss (section 5).
fn decrease(w: f64) -> f64 {
    let place = libm::log(w / LOW) / libm::log(HIGH / LOW);
    0.5 + (0.1 - 0.5) * place.clamp(0.0, 1.0)
}

/// a(w) in segments per round trip, and b(w).
fn coefficients(w: f64) -> (f64, f64) {
    if w <= LOW {
        return (1.0, 0.5);
    }
    let b = decrease(w);
    let p = 0.078 / libm::pow(w, 1.2);
    let a = w * w * p * 2.0 * b / (2.0 - b);
    (a.max(1.0), b)
}

/// Appendix B: the windows at which a(w) becomes 2, 3, 4, ...
#[rustfmt::skip]
const STEPS: [u32; 72] = [
    118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036, 5497,
    5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137, 17042, 17981,
    18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808,
    42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035, 89053, 94717,
];

/// a(w) and b(w) from the table of appendix B; b is that of the row's window, in hundredths.
fn table(w: f64) -> (f64, f64) {
    row(STEPS.partition_point(|step| f64::from(*step) <= w))
}

/// Linux's reading of the table: the first row whose window is not below `w`.
fn row_above(w: f64) -> (f64, f64) {
    let below = STEPS.partition_point(|step| f64::from(*step) < w);
    row(if w <= LOW { 0 } else { (below + 1).min(STEPS.len()) })
}

/// a and b of a row of appendix B; row 0 is that of [`LOW`].
fn row(row: usize) -> (f64, f64) {
    let b = row.checked_sub(1).map_or(0.5, |i| decrease(f64::from(STEPS[i])));
    (row as f64 + 1.0, libm::round(b * 100.0) / 100.0)
}

#[derive(Debug)]
struct HighSpeed {
    coefficients: fn(f64) -> (f64, f64),
}

impl Policy for HighSpeed {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let (a, _) = (self.coefficients)(w.cwnd);
        additive(w, flow, ack, a);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        let (_, b) = (self.coefficients)(w.cwnd);
        Cut::standard(w.cwnd * (1.0 - b), why)
    }
}

#[cfg(test)]
mod tests {
    use super::{STEPS, coefficients, decrease, row_above, table};
    use crate::event::Congestion;
    use crate::rig::{Rig, near, text};

    /// Section 5: a and b at some windows.
    #[test]
    fn a_and_b() {
        for (w, a, b) in [
            (38.0, 1.0, 0.5),
            (118.0, 2.006, 0.441),
            (347.0, 4.005, 0.385),
            (1058.0, 8.01, 0.327),
            (5036.0, 20.0, 0.246),
            (83_000.0, 70.7, 0.1),
            (1e9, 0.156 * 1e9_f64.powf(0.8) * 0.1 / 1.9, 0.1),
        ] {
            near(coefficients(w).0, a, 1e-3);
            near(coefficients(w).1, b, 2e-3);
        }
    }

    /// Appendix B: the table's steps, which its program finds with p(w) = 1 / (12.8 w^1.2) by counting up
    /// from 38 until a(w) has grown by one.
    #[test]
    fn the_table_of_appendix_b() {
        for (w, a, b) in [
            (10.0, 1.0, 0.5),
            (117.0, 1.0, 0.5),
            (118.0, 2.0, 0.44),
            (346.9, 3.0, 0.41),
            (1529.0, 10.0, 0.31),
            (5036.0, 20.0, 0.25),
            (10_661.0, 30.0, 0.21),
            (84_035.0, 71.0, 0.1),
            (1e9, 73.0, 0.1),
        ] {
            assert_eq!(table(w), (a, b), "{w}");
        }
        let (mut steps, mut known) = (STEPS.iter(), 1.0);
        for w in 38..100_000 {
            let place = (f64::from(w) / 38.0).ln() / (83_000.0_f64 / 38.0).ln();
            let b = 0.5 - 0.4 * place;
            let a = f64::from(w).powf(0.8) * 2.0 * b / ((2.0 - b) * 12.8);
            if a > known + 1.0 {
                known = a;
                assert_eq!(steps.next(), Some(&w));
            }
        }
        assert_eq!(steps.next(), None);
        near(decrease(38.0), 0.5, 1e-12);
    }

    /// tcp_highspeed.c: its rows are (38, 0.50), (118, 0.44), (221, 0.41), ...; it goes on to the next one
    /// while the window is larger.
    #[test]
    fn linux_takes_the_row_above_the_window() {
        for (w, a, b) in [
            (38.0, 1.0, 0.5),
            (38.5, 2.0, 0.44),
            (118.0, 2.0, 0.44),
            (119.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (1e9, 73.0, 0.1),
        ] {
            assert_eq!(row_above(w), (a, b), "{w}");
        }
        let mut rig = Rig::new("highspeed", &[("form", text("linux"))], 100.0, 2.0);
        rig.ack(100.0, 0.6, 0.6, true);
        assert_eq!(rig.w(), 102.0);
        rig.congestion(Congestion::Loss);
        near(rig.w(), 0.56 * 102.0, 1e-6);
    }

    /// Section 5, w(p) = 0.12 / p^0.835: with losses at regular intervals a and b give that window, within
    /// the rounding of the RFC's coefficients.
    #[test]
    fn the_response_function() {
        for (p, w) in [(1e-3, 38.4), (1e-4, 262.5), (1e-5, 1795.0), (1e-6, 12_280.0), (1e-7, 83_000.0)] {
            let (a, b) = coefficients(w);
            near((a * (2.0 - b) / (2.0 * b * p)).sqrt(), w, 0.03);
        }
    }

    /// From 750 (1 - 0.345) to 750 segments: 46 round trips, 27.6 s at 0.6 s. With the table, which has 4,
    /// 5 and 6 segments a round trip in between, (495 - 487.5)/4 + (663 - 495)/5 + (750 - 663)/6 = 50. Reno's
    /// rules up to 38 segments.
    #[test]
    fn regains_750_segments_in_46_round_trips() {
        for (form, seconds) in [("formula", 27.6), ("table", 30.0)] {
            let mut rig = Rig::new("highspeed", &[("form", text(form))], 750.0, 2.0);
            rig.congestion(Congestion::Loss);
            near(rig.w(), 750.0 * 0.655, 0.01);
            let begin = rig.secs();
            while rig.w() < 750.0 {
                rig.ack(rig.w(), 0.6, 0.6, true);
            }
            near(rig.secs() - begin, seconds, 0.021); // within one round trip
        }
        let mut rig = Rig::new("highspeed", &[], 30.0, 2.0);
        rig.ack(30.0, 0.6, 0.6, true);
        assert_eq!(rig.w(), 31.0);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 15.5);
    }
}
