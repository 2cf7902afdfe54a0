//! Mean windows under random loss, against a reference that knows only the rules.
//!
//! The model: congestion avoidance alone; every packet takes 1/W of a round trip and is acknowledged at once;
//! each is lost with probability p; a loss cuts the window once, and further losses among the next W packets
//! are the same episode; no timeouts. Throughput is packets per round trip.

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{Ack, Congestion, Controller, Event, Flow, Rtt, RttSample, Span, Start, Time};

const MSS: u32 = 1000;

/// Marsaglia's xorshift64*: enough for a coin, and the same on every machine.
pub(crate) struct Coin(pub(crate) u64);

impl Coin {
    /// At least 0 and below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        (bits as f64) * (1.0 / (1_u64 << 53) as f64)
    }

    fn comes_up(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

fn controller(id: &str, given: &[(&str, Value)]) -> Box<dyn Controller> {
    controller_at(40.0, id, given)
}

pub(crate) fn controller_at(initial_window: f64, id: &str, given: &[(&str, Value)]) -> Box<dyn Controller> {
    let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    let start = Start { mss: MSS, initial_window, initial_ssthresh: 2.0 };
    registry::build(id, &given, start).expect("a registered algorithm")
}

fn segments(cc: &dyn Controller) -> f64 {
    cc.decision().cwnd as f64 / f64::from(MSS)
}

/// A flow on a path whose RTT is always `rtt`.
fn flow(rtt: Span) -> Flow {
    let mut flow = Flow::default();
    (flow.mss, flow.rwnd, flow.cwnd_limited) = (MSS, u64::MAX, true);
    flow.rtt = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span::ZERO });
    flow
}

fn report(segments: u32, rtt: Span, round_end: bool) -> Ack {
    let mut ack = Ack::default();
    (ack.acks, ack.acked, ack.round_end) = (segments, u64::from(segments) * u64::from(MSS), round_end);
    ack.rtt =
        Some(RttSample { count: segments, sum: Span(rtt.0 * u64::from(segments)), ..RttSample::one(rtt) });
    ack
}

/// Packets per round trip over `packets` packets; `loss` says which of them are lost. Up to a twentieth of a
/// window is acknowledged in one report, which changes nothing that can be seen here and saves time at large
/// windows.
pub(crate) fn throughput(
    cc: &mut dyn Controller,
    mut loss: impl FnMut() -> bool,
    rtt_s: f64,
    packets: u32,
) -> f64 {
    let rtt = Span::from_secs(rtt_s);
    let mut flow = flow(rtt);
    let (mut rounds, mut round_ends, mut same_episode) = (0.0, 1.0, 0.0);
    let mut sent = 0;
    while sent < packets {
        let w = segments(cc);
        let batch = ((w / 20.0) as u32).max(1);
        let mut lost = false;
        let mut acked = 0;
        while acked < batch && !lost {
            same_episode -= 1.0;
            lost = loss() && same_episode <= 0.0;
            acked += u32::from(!lost);
        }
        let tried = acked + u32::from(lost);
        sent += tried;
        rounds += f64::from(tried) / w;
        flow.now = Time(Span::from_secs(rounds * rtt_s).0);
        if acked > 0 {
            let round_end = rounds >= round_ends;
            if round_end {
                round_ends = rounds + 1.0;
            }
            cc.on_ack(&flow, &report(acked, rtt, round_end));
        }
        if lost {
            same_episode = segments(cc);
            cc.on(&flow, Event::Congestion(Congestion::Loss));
        }
    }
    f64::from(sent) / rounds
}

#[track_caller]
fn agrees(id: &str, given: &[(&str, Value)], p: f64, rtt_s: f64, expected: f64) {
    // Thousands of losses each, so that the mean is sharper than the tolerance.
    let (packets, tolerance) = match p {
        p if p < 5e-4 => (30_000_000, 0.03),
        p if p < 5e-3 => (12_000_000, 0.02),
        _ => (2_000_000, 0.02),
    };
    let mut coin = Coin(0x9E37_79B9_7F4A_7C15);
    let got = throughput(&mut *controller(id, given), || coin.comes_up(p), rtt_s, packets);
    let off = got / expected - 1.0;
    assert!(
        off.abs() <= tolerance,
        "{id} at p = {p}, R = {rtt_s} s: {got:.2}, expected {expected}: {:+.2} %",
        off * 100.0
    );
}

#[test]
fn reno() {
    agrees("reno", &[], 1e-2, 0.1, 13.80);
    agrees("reno", &[], 1e-3, 0.1, 42.15);
    agrees("reno", &[], 1e-4, 0.1, 131.3);
}

#[test]
fn veno_without_a_queue() {
    agrees("veno", &[], 1e-2, 0.1, 24.05);
    agrees("veno", &[], 1e-3, 0.1, 71.13);
    agrees("veno", &[], 1e-4, 0.1, 219.3);
}

#[test]
fn cubic_without_fast_convergence() {
    cubic(false, &[(0.05, [14.8, 46.1, 158.5]), (0.1, [15.0, 50.4, 234.5]), (0.5, [29.0, 152.9, 817.6])]);
}

#[test]
fn cubic_with_fast_convergence() {
    cubic(true, &[(0.05, [14.8, 45.8, 150.9]), (0.1, [14.9, 48.1, 214.9]), (0.5, [25.6, 136.8, 741.8])]);
}

fn cubic(fast_convergence: bool, table: &[(f64, [f64; 3])]) {
    for &(rtt_s, row) in table {
        for (p, expected) in [1e-2, 1e-3, 1e-4].into_iter().zip(row) {
            agrees("cubic", &[("fast_convergence", Value::Flag(fast_convergence))], p, rtt_s, expected);
        }
    }
}

/// alpha = 2 and a constant decrease of 0.46: the mean window goes as p^-0.69, and eq. 5 per round trip
/// lies above eq. 6. A window that fell far comes back slowly, so the mean is one of several streams of
/// losses, each begun at the mean.
#[test]
fn liad_with_a_constant_decrease() {
    let text = |choice: &str| Value::Text(choice.to_string());
    // Eq. 5 at 1e-4 depends on when in a round the loss comes: this model begins a new round with it.
    for (mode, row) in [
        ("eq6", [(1e-2, 21.9, 0.02), (1e-3, 104.8, 0.02), (1e-4, 521.0, 0.03)]),
        ("round", [(1e-2, 27.5, 0.02), (1e-3, 132.9, 0.02), (1e-4, 655.0, 0.06)]),
    ] {
        let given = [("ack_mode", text(mode)), ("decrease", text("fixed")), ("beta", Value::Number(0.46))];
        for (p, expected, tolerance) in row {
            let packets = if p < 5e-4 { 10_000_000 } else { 1_500_000 };
            let mean = |seed: u64| {
                let mut coin = Coin(0x9E37_79B9_7F4A_7C15 ^ seed << 40);
                let mut cc = controller_at(expected, "liad", &given);
                throughput(&mut *cc, || coin.comes_up(p), 0.1, packets)
            };
            let got = (1..=4).map(mean).sum::<f64>() / 4.0;
            let off = got / expected - 1.0;
            assert!(off.abs() <= tolerance, "{mode} at p = {p}: {got:.2}, expected {expected}");
        }
    }
}

/// A loss every 1/p packets: the square-root law sqrt(a(2 - b)/(2bp)) of AIMD(a, b), whose peak is the mean
/// over 1 - b/2; and tables 1 and 2 of RFC 9438 section 5.1 for CUBIC, whose mean is (3 + beta)/4 of its peak
/// outside the Reno-friendly region. The flow starts at the peak: CUBIC is only neutrally stable there and
/// would take thousands of losses to come back.
#[test]
fn regular_losses_give_the_closed_forms() {
    let aimd = |a: f64, b: f64, p: f64| ((a * (2.0 - b) / (2.0 * b * p)).sqrt(), 1.0 - b / 2.0);
    let cases = [
        ("reno", 1e-4, 0.1, aimd(1.0, 0.5, 1e-4)),
        ("reno", 1e-5, 0.1, aimd(1.0, 0.5, 1e-5)),
        ("veno", 1e-4, 0.1, aimd(1.0, 0.2, 1e-4)),
        ("hswa", 1e-5, 0.5, aimd(80.0, 0.5, 1e-5)),
        ("cubic", 1e-5, 0.1, (1054.0, 3.7 / 4.0)),
        ("cubic", 1e-6, 0.1, (5926.0, 3.7 / 4.0)),
        ("cubic", 1e-5, 0.01, ((1.5 / 1e-5_f64).sqrt(), 0.85)), // Reno-friendly
    ];
    for (id, p, rtt_s, (expected, of_peak)) in cases {
        let given: &[(&str, Value)] =
            if id == "cubic" { &[("fast_convergence", Value::Flag(false))] } else { &[] };
        let mut cc = controller_at(expected / of_peak, id, given);
        let rtt = Span::from_secs(rtt_s);
        cc.on_ack(&flow(rtt), &report(3, rtt, true)); // Veno wants a measured round
        cc.on(&flow(rtt), Event::Congestion(Congestion::Loss));
        let every = (1.0 / p) as u32;
        let mut left = every;
        let regular = || {
            left -= 1;
            let lost = left == 0;
            if lost {
                left = every;
            }
            lost
        };
        let got = throughput(&mut *cc, regular, rtt_s, every * 20);
        let off = got / expected - 1.0;
        assert!(off.abs() <= 0.01, "{id} at p = {p}, R = {rtt_s} s: {got:.1}, expected {expected:.1}");
    }
}

/// A datapath may report once per round trip: the windows of 60 rounds with a loss in every twentieth must
/// then agree with those of one report per ACK. CUBIC's and H-TCP's clocks then move once per round, BIC's
/// step is that of the round's start, and Vegas's, FAST's and Illinois's steps come a round earlier: theirs
/// agree within the growth of one round. (Left out: the Westwoods, TCP-J and TCP-STAR, whose filters hang on
/// the times of single ACKs, which come at twice the mean rate here, and Hybla, which grows by a multiple of
/// the window in a round trip.)
#[test]
fn one_report_per_round_agrees_with_one_per_ack() {
    let rtt = Span::from_millis(500);
    let exact = ["aimd", "iiad", "sqrt", "kl", "simd", "aiad", "scalable"].map(|id| (id, 0.01));
    let near = ["reno", "hswa", "veno", "highspeed", "yeah"].map(|id| (id, 0.03));
    let logarithmic = ["liad", "a-liad"].map(|id| (id, 0.01));
    let a_round_apart = [
        ("vegas", 0.06),
        ("scps", 0.1),
        ("cubic", 0.08),
        ("bic", 0.08),
        ("fast", 0.1),
        ("illinois", 0.2),
        ("htcp", 0.2),
    ];
    for (id, tolerance) in exact.into_iter().chain(near).chain(logarithmic).chain(a_round_apart) {
        let (mut each, mut merged) = (controller(id, &[]), controller(id, &[]));
        let mut flow = flow(rtt);
        for round in 1..=60_u64 {
            for (cc, fold) in [(&mut each, false), (&mut merged, true)] {
                let acks = segments(&**cc) as u32;
                let mut folded: Option<Ack> = None;
                for i in 0..acks {
                    // ACKs arrive in the second half of the round; a report comes with the last of them.
                    flow.now = Time(round * rtt.0 - (rtt.0 / 2) * u64::from(acks - 1 - i) / u64::from(acks));
                    let one = report(1, rtt, i + 1 == acks);
                    if !fold {
                        cc.on_ack(&flow, &one);
                    } else if let Some(sum) = &mut folded {
                        sum.merge(&one);
                    } else {
                        folded = Some(one);
                    }
                }
                if let Some(sum) = folded {
                    cc.on_ack(&flow, &sum);
                }
                if round % 20 == 0 {
                    cc.on(&flow, Event::Congestion(Congestion::Loss));
                }
            }
            let (a, b) = (segments(&*each), segments(&*merged));
            assert!((a / b - 1.0).abs() < tolerance, "{id}, round {round}: {a} against {b} segments");
        }
    }
}
