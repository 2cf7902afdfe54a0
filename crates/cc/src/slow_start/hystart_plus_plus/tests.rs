use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::super::{HYSTART_PLUS_PLUS as HYSTART, SLOW_START};
use crate::event::{Congestion, Event};
use crate::registry::{self, Value};
use crate::rig::{Rig, near, text};
use crate::window::Start;

const START: Start = Start { mss: 1448, initial_window: 10.0, initial_ssthresh: f64::INFINITY };

/// Algorithm `id` with HyStart++ and these constants, 16 segments, T unknown.
fn rig(id: &str, constants: &[(&str, f64)]) -> Rig {
    let mut given: Vec<(&str, Value)> =
        constants.iter().map(|(name, x)| (*name, Value::Number(*x))).collect();
    given.push((SLOW_START, text(HYSTART)));
    Rig::new(id, &given, 16.0, f64::INFINITY)
}

fn reno() -> Rig {
    rig("reno", &[])
}

/// Growth over a round at this RTT.
fn growth(rig: &mut Rig, rtt: f64) -> f64 {
    let before = rig.w();
    rig.round(rtt);
    rig.w() / before
}

/// After a round at `last`, the next at `rtt`: does the one after that double, or is it conservative?
fn leaves(last: f64, rtt: f64) -> bool {
    let mut rig = reno();
    rig.round(last);
    rig.round(rtt);
    let grown = growth(&mut rig, rtt);
    assert!((grown - 2.0).abs() < 1e-6 || (grown - 1.25).abs() < 0.01, "{grown}");
    grown < 1.5
}

/// Section 4.2: 20 ms / 8 is less than 4 ms, 80 ms / 8 lies between, 600 ms / 8 is more than 16 ms.
#[test]
fn a_rise_counts_from_an_eighth_of_the_rtt_within_4_and_16_ms() {
    for (last, rise) in [(0.020, 0.004), (0.080, 0.010), (0.600, 0.016)] {
        assert!(leaves(last, last + rise), "{last}");
        assert!(!leaves(last, last + rise - 1e-6), "{last}");
    }
}

/// Rises of 9 % a round are each below an eighth, whatever they add up to.
#[test]
fn the_threshold_is_that_of_the_last_round_not_of_the_smallest_rtt_ever() {
    let mut rig = reno();
    let mut rtt = 0.060;
    for _ in 0..8 {
        near(growth(&mut rig, rtt), 2.0, 1e-9);
        rtt *= 1.09;
    }
    assert!(rtt > 0.119);
}

/// By hand, from 16 segments. A round at 100 ms: 32. At 115 ms: 8 ACKs of full growth show the rise,
/// 24 of a quarter: 46. Then 46, 57, 71 and 89 ACKs of a quarter. The round of the entry and those four
/// are the five rounds of CSS.
#[test]
fn conservative_slow_start_grows_by_a_quarter_and_ends_after_five_rounds() {
    let mut rig = reno();
    rig.round(0.100);
    assert_eq!(rig.w(), 32.0);
    for w in [46.0, 57.5, 71.75, 89.5] {
        rig.round(0.115);
        assert_eq!(rig.w(), w);
        assert!(rig.t() > 1e9);
    }
    rig.round(0.115);
    assert_eq!((rig.w(), rig.t()), (111.75, 111.75));
    rig.round(0.115);
    near(rig.w(), 112.75, 0.001); // congestion avoidance: a segment per round trip
}

/// 1.25 a round, 1.25^5 = 3.05 in all: from when the eighth ACK shows the rise, at 40 segments, to 111.75.
#[test]
fn conservative_slow_start_multiplies_by_three_at_most() {
    let mut rig = reno();
    rig.round(0.100);
    (0..8).for_each(|_| rig.ack(1.0, 0.001, 0.115, false));
    assert_eq!(rig.w(), 40.0);
    (0..24).for_each(|i| rig.ack(1.0, 0.001, 0.115, i == 23));
    for _ in 0..4 {
        assert!(growth(&mut rig, 0.115) <= 1.25);
    }
    assert!(rig.w() / 40.0 < 3.06);
}

#[test]
fn an_rtt_below_that_of_the_entry_returns_to_slow_start() {
    let mut rig = reno();
    rig.round(0.100);
    rig.round(0.115);
    let before = rig.w();
    (0..7).for_each(|_| rig.ack(1.0, 0.001, 0.1149, false));
    near(rig.w(), before + 1.75, 1e-9); // seven samples say nothing
    rig.ack(1.0, 0.001, 0.115, false);
    near(rig.w(), before + 2.0, 1e-9); // the eighth shows it, and has grown already
    rig.ack(1.0, 0.001, 0.115, true);
    near(rig.w(), before + 3.0, 1e-9);
    near(growth(&mut rig, 0.115), 2.0, 1e-6);
    // And from there CSS begins anew, with five rounds: 0.1149 + 0.0144 = 0.1293.
    rig.round(0.130);
    for _ in 0..3 {
        assert!(growth(&mut rig, 0.130) < 1.26 && rig.t() > 1e9);
    }
    rig.round(0.130);
    assert_eq!(rig.t(), rig.w());
}

#[test]
fn a_round_with_too_few_samples_says_nothing() {
    let mut rig = rig("reno", &[("hystart_n_rtt_sample", 33.0)]);
    rig.round(0.100);
    near(growth(&mut rig, 0.200), 2.0, 1e-9); // 32 samples
    near(growth(&mut rig, 0.400), 33.0 / 64.0 + 1.0 + 31.0 / 4.0 / 64.0, 1e-9); // 64 of them
}

/// Section 4.3: L = 8, or without a bound where the sender paces; the sender's own limit of two
/// segments is not added to it.
#[test]
fn an_ack_counts_for_l_segments() {
    for (given, grown) in
        [(&[][..], 8.0), (&[("hystart_l", 3.0)][..], 3.0), (&[("hystart_l", 1e6)][..], 50.0)]
    {
        let mut rig = rig("reno", given);
        rig.ack(50.0, 0.1, 0.1, true);
        assert_eq!(rig.w(), 16.0 + grown);
    }
    let mut unpaced = Rig::new(
        "hybla",
        &[(SLOW_START, text(HYSTART)), ("pacing", Value::Flag(false)), ("rtt0", Value::Number(1.0))],
        16.0,
        f64::INFINITY,
    );
    unpaced.ack(50.0, 0.1, 0.1, true);
    assert_eq!(unpaced.w(), 24.0);
    let mut paced = rig("hybla", &[("rtt0", 1.0)]); // rho = 1: slow start as Reno's
    paced.ack(50.0, 0.1, 0.1, true);
    assert_eq!(paced.w(), 66.0);
}

/// T is reached within conservative slow start: the rest of the ACK counts in full beyond it.
#[test]
fn what_is_left_at_ssthresh_goes_to_congestion_avoidance_in_full() {
    let mut rig = Rig::new("reno", &[(SLOW_START, text(HYSTART))], 16.0, 46.5);
    rig.round(0.100);
    rig.round(0.115);
    assert_eq!(rig.w(), 46.0);
    rig.ack(4.0, 0.001, 0.115, false); // two of the four segments lead to T, a quarter each
    near(rig.w(), 46.5 + 2.0 / 46.5, 1e-6);
}

/// Section 4.3: only the first slow start.
#[test]
fn later_slow_starts_are_standard_and_a_spurious_loss_is_no_end() {
    let mut rig = reno();
    rig.round(0.100);
    rig.congestion(Congestion::Timeout);
    for rtt in [0.100, 0.200, 0.300] {
        near(growth(&mut rig, rtt), 2.0, 1e-9);
    }
    let mut rig = reno();
    rig.round(0.100);
    let before = rig.congestion(Congestion::Loss);
    rig.cc.on(&rig.flow, Event::Undo(&before));
    rig.round(0.115);
    assert_eq!(rig.w(), 46.0);
}

/// HyStart++ scales Hybla's growth: rho = 2 makes 2^rho - 1 = 3 segments of one, 3/4 in CSS.
#[test]
fn it_scales_growth_that_is_faster_than_standard() {
    let given =
        [(SLOW_START, text(HYSTART)), ("rtt0", Value::Number(0.050)), ("ssthresh_est", Value::Flag(false))];
    let mut rig = Rig::new("hybla", &given, 16.0, f64::INFINITY);
    (0..2).for_each(|_| rig.round(0.100));
    let before = rig.w();
    (0..8).for_each(|_| rig.ack(1.0, 0.001, 0.115, false));
    assert_eq!(rig.w() - before, 24.0);
    rig.ack(1.0, 0.001, 0.115, false);
    assert_eq!(rig.w() - before, 24.75);
}

/// Every registered algorithm either says why it refuses, or is out of slow start six rounds
/// after the RTT has risen.
#[test]
fn every_algorithm_leaves_slow_start_by_hystart_or_says_why_not() {
    let chosen = (SLOW_START.to_string(), text(HYSTART));
    for entry in registry::all() {
        if let Some(why) = entry.refuses_slow_start() {
            let refused = registry::build(entry.id, core::slice::from_ref(&chosen), START).expect_err(why);
            let what = format!("cannot start with {HYSTART:?}");
            assert_eq!(refused, registry::Error::Refused { id: entry.id, name: SLOW_START, what, why });
            continue;
        }
        let mut rig = rig(entry.id, &[]);
        rig.round(0.100);
        (0..6).for_each(|_| rig.round(0.115));
        assert!(rig.w() >= rig.t(), "{}: {} below {}", entry.id, rig.w(), rig.t());
    }
}

#[test]
fn refusals_and_stray_constants_are_told_in_words() {
    let chosen = (SLOW_START.to_string(), text(HYSTART));
    let standard = ("start".to_string(), text("standard"));
    assert!(registry::build("a-liad", &[standard, chosen.clone()], START).is_ok());
    assert_eq!(
        registry::build("vegas", &[chosen], START).expect_err("refused").to_string(),
        "vegas cannot start with \"hystart++\": its slow start ends by a measure of the queue of its own, gamma"
    );
    let stray = ("hystart_css_rounds".to_string(), Value::Number(3.0));
    assert_eq!(
        registry::build("cubic", &[stray], START).expect_err("refused").to_string(),
        "hystart_css_rounds goes with slow_start = \"hystart++\" only; add that, or leave it out"
    );
}
