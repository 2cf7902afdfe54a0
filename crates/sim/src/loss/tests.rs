use bentpipe_cc::Span;

use super::*;

fn count(plan: &LossPlan, n: u32, size: u16) -> f64 {
    let mut loss = LossModel::new(plan, Stream::new(3, "loss"));
    f64::from((0..n).map(|i| u32::from(loss.strikes(Time(u64::from(i)), size))).sum::<u32>())
}

#[test]
fn bit_errors_give_the_packet_error_rate_of_the_closed_form() {
    // PER = 1 - (1 - BER)^bits: 1500 bytes at 1e-6 give 1.1928e-2.
    let n = 1_000_000;
    let lost = count(&LossPlan::BitError(BitError { rate: 1e-6 }), n, 1500);
    let expected = 1.1928e-2 * f64::from(n);
    assert!((lost - expected).abs() < 4.0 * expected.sqrt(), "{lost} against {expected}");
}

#[test]
fn packet_errors_come_at_their_rate_whatever_the_size() {
    for size in [40, 1500] {
        let lost = count(&LossPlan::PacketError(PacketError { rate: 0.05 }), 200_000, size);
        assert!((lost - 10_000.0).abs() < 4.0 * 100.0, "{lost}");
    }
    assert_eq!(count(&LossPlan::PacketError(PacketError { rate: 1.0 }), 100, 40), 100.0);
    assert_eq!(count(&LossPlan::PacketError(PacketError { rate: 0.0 }), 100, 40), 0.0);
}

#[test]
fn a_rate_that_changes_holds_from_then_on() {
    let mut loss = LossModel::new(&LossPlan::PacketError(PacketError { rate: 0.0 }), Stream::new(3, "loss"));
    let mut lost = |rate: f64| {
        let struck = |i| {
            loss.set_rate(rate);
            u32::from(loss.strikes(Time(i), 1500))
        };
        f64::from((0..100_000).map(struck).sum::<u32>())
    };
    // Four standard errors: 4 sqrt(n p (1 - p)).
    assert_eq!(lost(0.0), 0.0);
    assert!((lost(0.2) - 20_000.0).abs() < 506.0);
    assert!((lost(0.01) - 1_000.0).abs() < 126.0);
    assert_eq!((lost(1.0), lost(0.0)), (100_000.0, 0.0));
}

#[test]
fn gilbert_elliott_has_its_stationary_rate_and_mean_burst() {
    let plan = LossPlan::GilbertElliott(GilbertElliott { p: 0.01, r: 0.25, good_loss: 0.0, bad_loss: 1.0 });
    let mut loss = LossModel::new(&plan, Stream::new(3, "loss"));
    let struck: Vec<bool> = (0..400_000).map(|i| loss.strikes(Time(i), 1500)).collect();
    let lost = struck.iter().filter(|&&s| s).count() as f64;
    let bursts = struck.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
    // Stationary loss p / (p + r) = 0.03846; mean burst 1 / r = 4.
    assert!((lost / 400_000.0 - 0.03846).abs() < 0.002, "{}", lost / 400_000.0);
    assert!((lost / bursts - 4.0).abs() < 0.15, "{}", lost / bursts);
}

#[test]
fn outages_and_traces_strike_where_they_say() {
    let outage = LossPlan::Outage(OutagePlan { first: Time(10), length: Span(5), every: Some(Span(20)) });
    let mut loss = LossModel::new(&outage, Stream::new(1, "x"));
    let struck: Vec<u64> = (0..60).filter(|&t| loss.strikes(Time(t), 40)).collect();
    assert_eq!(struck, [10, 11, 12, 13, 14, 30, 31, 32, 33, 34, 50, 51, 52, 53, 54]);
    let trace = LossPlan::LossTrace(LossTracePlan { lost: [2, 3, 7].into() });
    let mut loss = LossModel::new(&trace, Stream::new(1, "x"));
    let struck: Vec<u64> = (0..10).filter(|&t| loss.strikes(Time(t), 40)).collect();
    assert_eq!(struck, [2, 3, 7]);
}
