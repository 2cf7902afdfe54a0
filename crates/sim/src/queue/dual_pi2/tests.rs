use proptest::prelude::*;

use super::*;
use crate::link::packet::Ecn::{Congested, Ect0, Ect1, NotCapable};
use crate::record::report::Report;
use crate::{Scenario, no_supply, run};

const PLAN: DualPi2 = DualPi2 {
    limit: QueueSize::Bdp(1.0),
    target: Duration(Span::from_millis(15)),
    update: Duration(Span::from_millis(16)),
    alpha: 0.16,
    beta: 3.2,
    coupling: 2.0,
    step: Duration(Span::from_millis(1)),
    ramp: Duration(Span::ZERO),
    classic_share: 0.1,
};

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Both queues, and what waits in them.
struct Bench {
    state: DualPi2State,
    store: Store,
}

impl Bench {
    fn new(plan: DualPi2) -> Self {
        let state = DualPi2State::new(plan, QueueLimit::Packets(1_000_000));
        Self { state, store: Store::default() }
    }

    /// One whose p' stays where it is.
    fn held(plan: DualPi2, base: f64) -> Self {
        let mut bench = Self::new(plan);
        (bench.state.base, bench.state.next_update) = (base, Time::MAX);
        bench
    }

    /// A packet comes at `now`.
    fn push(&mut self, now: Time, ecn: Ecn, size: u16) {
        let packet = Packet { size, ..Packet::default() }.with_ecn(ecn);
        self.state.enqueue(now, packet, Class::default(), false, &mut self.store);
    }

    /// Pushes `packets` packets with this codepoint and takes them, a millisecond each. Returns how many are
    /// marked and dropped.
    fn judged(&mut self, ecn: Ecn, packets: u64) -> (u64, u64) {
        (0..packets).for_each(|_| self.push(Time(0), ecn, 1000));
        while self.state.dequeue(Time(0), &mut self.store).is_some() {}
        (self.store.verdicts.marked, self.store.verdicts.dropped)
    }
}

proptest! {
    #[test]
    fn updates_that_are_left_out_would_change_nothing(
        (alpha, beta) in prop::sample::select(vec![(0.16, 3.2), (0.0, 3.2), (20.0, 0.0), (0.0, 0.0)]),
        steps in prop::collection::vec((0..3, prop_oneof![0_u64..100, 0_u64..40_000]), 1..30),
    ) {
        let plan = DualPi2 { alpha, beta, ..PLAN };
        let [mut quick, mut plain] = [plan, plan].map(Bench::new);
        let mut now = ms(0);
        for (packets, gap) in steps {
            now = now + Span::from_millis(gap);
            while plain.state.next_update <= now {
                plain.state.update(plain.state.waited(plain.state.next_update, &plain.store));
                plain.state.next_update = plain.state.next_update + plan.update.0;
            }
            for Bench { state, store } in [&mut quick, &mut plain] {
                state.dequeue(now, store);
                (0..packets).for_each(|_| state.enqueue(now, Packet::default(), Class::default(), false, store));
            }
            prop_assert_eq!(format!("{:?}", quick.state), format!("{:?}", plain.state));
        }
    }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn the_base_probability_follows_the_control_law() {
    let mut bench = Bench::new(PLAN);
    bench.push(ms(0), NotCapable, 1000);
    // The head has waited 16 ms: 0.16 x 1 ms + 3.2 x 16 ms = 0.05136; then 0.16 x 17 ms + 3.2 x 16 ms more.
    bench.state.catch_up(ms(16), &bench.store);
    close(bench.state.base, 0.05136);
    bench.state.catch_up(ms(47), &bench.store);
    close(bench.state.base, 0.10528);
    // An L4S packet counts as well, but the longer delay decides: 48 ms.
    bench.push(ms(47), Ect1, 1000);
    bench.state.catch_up(ms(48), &bench.store);
    close(bench.state.base, 0.10528 + 0.00528 + 0.0512);
    // Nothing waits at 64 ms: 0.16 x -15 ms + 3.2 x -48 ms, then -0.0024 each 16 ms, and never below 0.
    while bench.state.dequeue(ms(48), &mut bench.store).is_some() {}
    bench.state.catch_up(ms(64), &bench.store);
    close(bench.state.base, 0.16176 - 0.0024 - 0.1536);
    bench.state.catch_up(ms(96), &bench.store);
    close(bench.state.base, 0.00096);
    bench.state.catch_up(ms(112), &bench.store);
    assert_eq!(bench.state.base, 0.0);
}

#[test]
fn updates_at_rest_are_left_out_and_fall_on_the_same_instants() {
    let (mut lazy, mut eager) = (Bench::held(PLAN, 0.3), Bench::held(PLAN, 0.3));
    (lazy.state.next_update, eager.state.next_update) = (ms(16), ms(16));
    (0..100_000).for_each(|now| eager.state.catch_up(ms(now), &eager.store));
    lazy.state.catch_up(ms(99_999), &lazy.store);
    assert_eq!((lazy.state.base, lazy.state.next_update), (0.0, ms(100_000)));
    assert_eq!((eager.state.base, eager.state.next_update), (0.0, ms(100_000)));
}

#[test]
fn classic_packets_meet_the_square_and_l4s_packets_the_multiple() {
    // p' = 0.2: p_C = 0.04 and, k being 2, p_CL = 0.4; one packet may be owed.
    let judged = |ecn, plan| Bench::held(plan, 0.2).judged(ecn, 10_001);
    assert_eq!(judged(NotCapable, PLAN), (0, 400), "drops");
    assert_eq!(judged(Ect0, PLAN), (400, 0), "marks");
    let slow = DualPi2 { step: Duration(Span::MAX), ..PLAN };
    assert_eq!(judged(Ect1, slow), (4_000, 0));
    assert_eq!(judged(Ect1, DualPi2 { coupling: 3.0, ..slow }), (6_000, 0));
}

#[test]
fn drops_are_spaced_evenly() {
    let mut bench = Bench::held(PLAN, 0.2);
    let mut gaps = Vec::new();
    for i in 0..1_000 {
        if bench.state.judge_classic(Ecn::NotCapable) == Verdict::Drop {
            gaps.push(i);
        }
    }
    assert!(gaps.windows(2).all(|pair| pair[1] - pair[0] == 25), "{gaps:?}");
}

#[test]
fn l4s_marks_climb_from_the_step_to_the_end_of_the_ramp() {
    let us = |us: u64| Span(us * 1_000);
    assert_eq!([999, 1_000, 5_000].map(|waited| PLAN.ramp(us(waited))), [0.0, 1.0, 1.0]);
    // RFC 9332: from 800 us to 1.2 ms.
    let plan = DualPi2 { step: Duration(us(800)), ramp: Duration(us(400)), ..PLAN };
    assert_eq!([799, 800, 900, 1_000, 1_200].map(|waited| plan.ramp(us(waited))), [0.0, 0.0, 0.25, 0.5, 1.0]);
    // It is not added to the coupled probability: the greater of both counts.
    let mut bench = Bench::held(plan, 0.1);
    bench.push(Time(0), Ect1, 1000);
    let marks = (0..1_001).filter(|_| bench.state.judge_l4s(us(1_000)) == Verdict::Mark).count();
    assert_eq!(marks, 500);
}

#[test]
fn a_queue_of_one_l4s_packet_is_not_marked_for_its_delay() {
    let mut bench = Bench::held(PLAN, 0.0);
    for now in 0..100 {
        bench.push(ms(now), Ect1, 1000);
        bench.state.dequeue(ms(now + 10), &mut bench.store);
    }
    assert_eq!(bench.store.verdicts.marked, 0);
    // With another behind it, it is: all but the last, and the first, for which one is owed.
    (0..100).for_each(|_| bench.push(ms(200), Ect1, 1000));
    while bench.state.dequeue(ms(210), &mut bench.store).is_some() {}
    assert_eq!(bench.store.verdicts.marked, 98);
}

#[test]
fn in_overload_all_are_dropped_alike_and_the_rest_of_l4s_is_marked() {
    // p' = 0.5 is the least for which k p' = 1 and p_C = p_Cmax = 1/4.
    assert_eq!(Bench::held(PLAN, 0.5).judged(Ect0, 10_001), (0, 2_500));
    assert_eq!(Bench::held(PLAN, 0.5).judged(Ect1, 10_001), (7_501, 2_500));
    let (marked, dropped) = Bench::held(PLAN, 0.499).judged(Ect0, 10_001);
    assert_eq!((marked, dropped), (2_490, 0));
    assert_eq!(Bench::held(PLAN, 0.499).judged(Ect1, 10_001).1, 0);
}

#[test]
fn classic_packets_get_their_share_while_both_wait_and_all_of_it_otherwise() {
    let mut bench = Bench::held(PLAN, 0.0);
    (0..4_000).for_each(|_| bench.push(Time(0), Ect1, 1000));
    (0..1_000).for_each(|_| bench.push(Time(0), NotCapable, 1500));
    let mut sent = [0_u64; 2];
    while sent[0] < 3_600_000 {
        let packet = bench.state.dequeue(Time(0), &mut bench.store).expect("both wait");
        sent[usize::from(packet.size == 1500)] += u64::from(packet.size);
    }
    assert!(sent[1].abs_diff(400_000) <= 1_500, "{sent:?}");
    // What either sends alone is not held against it.
    while bench.state.dequeue(Time(0), &mut bench.store).is_some() {}
    (0..100).for_each(|_| bench.push(Time(0), NotCapable, 1500));
    (0..50).for_each(|_| _ = bench.state.dequeue(Time(0), &mut bench.store));
    bench.push(Time(0), Ect1, 1000);
    assert_eq!(bench.state.dequeue(Time(0), &mut bench.store).map(|p| p.size), Some(1000));
}

#[test]
fn the_codepoint_chooses_the_queue_and_both_share_the_room() {
    let mut bench = Bench::held(PLAN, 0.0);
    bench.state.limit = QueueLimit::Packets(4);
    for ecn in [NotCapable, Ect0, Ect1, Congested, NotCapable, Ect1] {
        bench.push(Time(0), ecn, 1000);
    }
    let waiting = |bench: &Bench| (bench.state.l4s.fifo.packets, bench.state.classic.fifo.packets);
    assert_eq!((waiting(&bench), bench.store.verdicts.dropped), ((2, 2), 2));
    bench.state.limit = QueueLimit::Bytes(5_000);
    [1_001, 1_000, 1].into_iter().for_each(|size| bench.push(Time(0), NotCapable, size));
    assert_eq!((waiting(&bench), bench.state.bytes(), bench.store.verdicts.dropped), ((2, 3), 5_000, 4));
}

fn load(queue: &str) -> Result<crate::plan::Plan, crate::Error> {
    let link =
        format!("[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\nqueue = {{ kind = \"dualpi2\"{queue} }}\n");
    let text = format!("duration = \"1 s\"\n{link}[[flow]]\ncc = \"reno\"\npath = [\"x\"]\n");
    Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve())
}

#[test]
fn keys_resolve_to_their_defaults_and_impossible_ones_are_named() {
    let discipline = load("").expect("a scenario").links[0].forward.discipline;
    assert_eq!(discipline, crate::queue::Discipline::DualPi2(PLAN));
    for (queue, key, words) in [
        (", limit = \"0 packets\"", "limit", "a DualPI2 queue drops by its delay and cannot be without room"),
        (", target = \"0 s\"", "target", "must be longer than zero"),
        (", update = \"99 us\"", "update", "99 us is out of range; it must be 100 us or longer"),
        (", coupling = 0", "coupling", "0 is out of range"),
        (", classic_share = 1.1", "classic_share", "1.1 is out of range"),
    ] {
        let said = load(queue).expect_err(queue).to_string();
        assert!(said.starts_with(&format!("x.toml:5: link.x.queue.{key}: {words}")), "{said}");
    }
}

/// Ten Reno flows over 20 Mbit/s and 50 ms, and one more, of few packets, that sets ECT(1).
fn ten_and_one() -> Report {
    let text = r#"
        duration = "120 s"
        [link.x]
        rate = "20 Mbit/s"
        delay = "25 ms"
        queue = { kind = "dualpi2", limit = "1000 packets" }
        [[flow]]
        cc = "reno"
        path = ["x"]
        profile = "paper"
        count = 10
        start_jitter = "1 s"
        [[flow]]
        cc = "reno"
        path = ["x"]
        profile = "paper"
        receive_window = "3 segments"
        ecn = true
        ect1 = true
    "#;
    let plan = Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a scenario");
    run(&plan, &mut no_supply, &mut |_| true).expect("a run").report
}

#[test]
fn classic_flows_have_the_window_of_the_square_and_l4s_marks_are_the_multiple_of_its_root() {
    let report = ten_and_one();
    let (link, classic, l4s) = (&report.links[0], &report.flows[..10], &report.flows[10]);
    // 15 ms at 20 Mbit/s are 25 packets of 1500 bytes.
    assert!((link.queue_mean_packets - 25.0).abs() < 2.5, "{} packets", link.queue_mean_packets);
    assert!(link.utilisation > 0.99);
    let sent: u64 = classic.iter().map(|flow| flow.sent_packets).sum();
    let p_c = link.dropped_queue as f64 / sent as f64;
    // W sqrt(p) of Reno is 1.22 where losses are evenly spaced and 1.31 where they are random (Mathis, Semke,
    // Mahdavi and Ott 1997, table 1).
    let window = classic.iter().map(|flow| flow.cwnd_mean_segments).sum::<f64>() / 10.0;
    let constant = window * p_c.sqrt();
    assert!((1.1..1.4).contains(&constant), "{constant}: {window} at {p_c}");
    // Nothing of the ECT(1) flow is dropped, and it is marked with 2 p' = 2 sqrt(p_C).
    assert_eq!(
        (l4s.dropped_packets, classic.iter().map(|flow| flow.dropped_packets).sum()),
        (0, link.dropped_queue)
    );
    let p_l = link.marked as f64 / l4s.sent_packets as f64;
    let expected = 2.0 * p_c.sqrt();
    assert!((p_l / expected - 1.0).abs() < 0.1, "{p_l} is not {expected}");
}
