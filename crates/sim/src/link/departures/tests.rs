use bentpipe_cc::Span;
use proptest::prelude::*;

use super::*;
use crate::Scenario;
use crate::access::{AccessPlan, DamaPlan, OpportunitiesPlan};
use crate::link::arq::ArqPlan;
use crate::link::direction::{Direction, Fate};
use crate::link::packet::{ACK, Ecn};
use crate::queue::QueueLimit;
use crate::resolve::plan::{DirectionPlan, LinkLayerPlan, LossPlan, LossTracePlan, Plan};

const MS: u64 = 1_000_000;
const END: Time = Time(10_000 * MS);

/// A lossy link of 10 Mbit/s with a queue of this kind.
fn plan(queue: &str) -> Plan {
    let text = format!(
        "duration = \"1 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"3 ms\"\nqueue = {{ {queue} }}\n\
         loss = {{ kind = \"packet-error\", rate = 0.1 }}\n\
         [[flow]]\ncc = \"reno\"\npath = [\"x\"]\n"
    );
    Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a valid scenario")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// Every packet arrives, is dropped, is lost, is in flight, or waits. Each packet that will not arrive is
    /// reported once.
    #[test]
    fn nothing_is_lost_from_sight(
        queue in prop::sample::select(vec![
            "kind = \"codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\"",
            "kind = \"codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
            "kind = \"fq-codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\", queues = 4",
            "kind = \"fq-codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
            "kind = \"drop-front\", limit = \"10 packets\"",
            "kind = \"drop-front\", limit = \"7 ms\"",
            "kind = \"priority\", limit = \"10 packets\"",
            "kind = \"priority\", limit = \"9 kB\"",
            "kind = \"dualpi2\", limit = \"30 packets\", target = \"1 ms\", update = \"1 ms\"",
            "kind = \"xcp\", limit = \"20 packets\"",
            "kind = \"vcp\", limit = \"9 kB\", update = \"1 ms\"",
            "kind = \"rcp\", limit = \"20 kB\", update = \"1 ms\"",
            "kind = \"dualpi2\", limit = \"20 kB\", target = \"1 us\", update = \"100 us\", alpha = 1000, beta = 1000",
        ]),
        packets in prop::collection::vec((0_u64..2_000_000, 40_u16..1501, 0_u32..5, any::<bool>(), 0_u16..3), 1..400),
    ) {
        let plan = plan(queue);
        let mut link = Direction::new(&plan.links[0].forward, 1, "link/x/forward");
        let (mut now, mut doomed, mut taken_out, mut lost) = (Time(0), Vec::new(), 0, 0);
        for (i, (gap, size, flow, ack, look)) in packets.iter().enumerate() {
            now = Time(now.0 + gap);
            while let Some(at) = link.next().filter(|at| *at <= now) {
                match link.pop(at) {
                    Some((_, Fate::Lost)) => lost += 1,
                    _ => taken_out += 1,
                }
            }
            // Looking now and then must not matter, so the counts below hold either way.
            if *look == 0 {
                link.catch_up(now);
            }
            let packet = Packet { seq: i as u32, flow: *flow, size: *size, ..Packet::default() };
            let packet = match ack {
                true => Packet { flags: ACK, ..packet },
                false => packet.with_ecn(if flow % 2 == 0 { Ecn::Ect0 } else { Ecn::Ect1 }),
            };
            // Five flows, in two bands and four parts of the hash space.
            let class = Class { band: u8::from(*flow > 2), hash: u64::from(*flow % 4) << 51 };
            if let Push::Dropped(_) = link.push(now, packet, class) {
                doomed.push(packet);
            }
            doomed.extend(std::iter::from_fn(|| link.take_doomed()).map(|(packet, _)| packet));
        }
        let counts = link.counts;
        prop_assert_eq!(counts.delivered, taken_out);
        let mut under_way = 0;
        let waiting = link.scheduled().unwrap().waiting();
        for packet in link.on_the_way() {
            if packet.has(LOST) { lost += 1 } else { under_way += 1 }
        }
        let all = packets.len() as u64;
        prop_assert_eq!(all, taken_out + counts.dropped_queue + lost + under_way + waiting);
        prop_assert_eq!(counts.dropped_error, lost);
        prop_assert_eq!(doomed.len() as u64, counts.dropped_queue + counts.dropped_error);
        let mut numbers: Vec<u32> = doomed.iter().map(|p| p.seq).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), doomed.len());
        // Finally the queue runs empty.
        link.catch_up(Time::MAX);
        while let Some(at) = link.next() {
            link.pop(at);
        }
        prop_assert_eq!((link.scheduled().unwrap().waiting(), link.counts.delivered + link.counts.dropped_queue + link.counts.dropped_error), (0, all));
    }
}

#[test]
fn the_mean_queue_counts_waiting_and_not_transmission() {
    // Packets of 1250 bytes take 1 ms. Four come at 0; until 3 ms 3, 2 and 1 of them wait.
    let plan = plan("kind = \"priority\", limit = \"10 packets\"");
    let mut link = Direction::new(&plan.links[0].forward, 1, "link/x/forward");
    for _ in 0..4 {
        link.push(Time(0), Packet { size: 1250, ..Packet::default() }, Class::default());
    }
    assert_eq!(link.waiting(Time(2_500_000)), 1);
    link.catch_up(Time(3_000_000));
    assert!((link.queue_mean(Time(3_000_000)) - 2.0).abs() < 1e-12);
    assert_eq!((link.queue_max(), link.utilisation(Time(8_000_000))), (3, 0.5));
}

/// A link of 10 Mbit/s with these keys, on which 3 of 10 transmissions are struck.
fn direction(keys: &str) -> DirectionPlan {
    let text = format!(
        "duration = \"1 s\"\n[link.x]\nrate = \"10 Mbit/s\"\n{keys}\nloss = {{ kind = \"packet-error\", rate = 0.3 }}\n\
         [[flow]]\ncc = \"reno\"\npath = [\"x\"]\n"
    );
    let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve());
    plan.expect("a valid scenario").links.remove(0).forward
}

fn opportunities() -> impl Strategy<Value = AccessPlan> {
    prop::collection::vec(0_u64..20, 1..6).prop_map(|mut at_ms| {
        at_ms.sort_unstable();
        *at_ms.last_mut().unwrap() += 1;
        AccessPlan::Opportunities(OpportunitiesPlan { at_ms: at_ms.into() })
    })
}

fn demand_assignment() -> impl Strategy<Value = AccessPlan> {
    (0_u64..3, 0_u64..3, 0_u64..2, 0_u64..20 * MS).prop_map(|(cra, vbdc, free, grant_delay)| {
        let vbdc = if cra + free == 0 { vbdc.max(1) } else { vbdc };
        AccessPlan::Dama(DamaPlan { frame: 6 * MS, slots: 6, slot_bytes: 700, cra, vbdc, free, grant_delay })
    })
}

/// Number, instant and fate of all packets that leave, and what the caller learns of them. Each of `events`
/// comes a given number of ns after the one before: a packet of a given size in bytes, or `None` for a look.
/// The loops do not learn of looks.
fn all(
    plan: &DirectionPlan,
    events: &[(u64, Option<u16>)],
    looks: bool,
) -> (Vec<(u32, Time, Fate)>, Vec<u32>, String) {
    let mut link = Direction::new(plan, 1, "test");
    let (mut out, mut doomed, mut due) = (Vec::new(), Vec::new(), None);
    let mut drain = |link: &mut Direction, due: &mut Option<Time>, until: Time| {
        while let Some(at) = due.filter(|at| *at <= until) {
            out.extend(link.pop(at).map(|(packet, fate)| (packet.seq, at, fate)));
            *due = link.next();
        }
    };
    let mut now = Time(0);
    for (seq, &(gap, size)) in (0..).zip(events) {
        now = now + Span(gap);
        drain(&mut link, &mut due, now);
        if let Some(size) = size {
            let packet = Packet { seq, flow: seq % 3, size, ..Packet::default() };
            let class = Class { band: (seq % 2) as u8, hash: u64::from(seq % 3) << 51 };
            if let Push::Dropped(_) = link.push(now, packet, class) {
                doomed.push(seq);
            }
            due = link.next();
            assert!(due.is_none_or(|at| at >= now), "{due:?} is before {now:?}");
        } else if looks {
            link.waiting(now);
        }
    }
    drain(&mut link, &mut due, END);
    link.catch_up(END);
    doomed.extend(std::iter::from_fn(|| link.take_doomed()).map(|(packet, _)| packet.seq));
    doomed.sort_unstable();
    let (counts, mean) = (link.counts, link.queue_mean(END));
    (out, doomed, format!("{counts:?} {} {mean}", link.repeated()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]
    #[test]
    fn nothing_hangs_on_who_asks_when(
        queue in prop::sample::select(vec![
            "kind = \"drop-tail\", limit = \"9 packets\"",
            "kind = \"codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\"",
            "kind = \"fq-codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\", quantum = \"300 bytes\"",
            "kind = \"dualpi2\", limit = \"30 packets\", target = \"1 ms\", update = \"1 ms\"",
            "kind = \"red\", limit = \"30 packets\", min = \"5 packets\", max = \"15 packets\"",
        ]),
        way in prop::sample::select(vec![
            "delay = \"3 ms\"",
            "delay = \"0 ms\"",
            "delay = [[\"0 s\", \"9 ms\"], [\"40 ms\", \"2 ms\"]]\nnominal = { delay = \"3 ms\" }\nreorder = true",
            "delay = \"3 ms\"\nup = [[\"0 s\", true], [\"40 ms\", false], [\"55 ms\", true]]\n\
             handover = { queue = \"flushed\", in_flight = \"lost\" }",
        ]),
        access in prop_oneof![
            Just(None),
            opportunities().prop_map(Some),
            demand_assignment().prop_map(Some),
        ],
        arq in prop::option::of((1_u32..5, 0_u64..30 * MS, any::<bool>())),
        events in prop::collection::vec(
            (
                prop_oneof![0_u64..4 * MS, 0_u64..30 * MS],
                prop_oneof![1 => (40_u16..1_501).prop_map(Some), 3 => Just(None)],
            ),
            1..150,
        ),
    ) {
        let mut plan = direction(&format!("{way}\nqueue = {{ {queue} }}"));
        plan.link_layer.access = access.filter(|_| plan.line.is_none());
        plan.link_layer.arq = arq.map(|(tries, round_trip, in_order)| ArqPlan { tries, round_trip, in_order });
        let [looked, alone] = [true, false].map(|looks| all(&plan, &events, looks));
        prop_assert_eq!(looked, alone);
    }
}

/// The first of three packets is struck, so the link wakes at 10 ms to send it again. It is busy then with a
/// fourth one, but has an event. A look at 9 ms leaves the event to the wake: the third packet comes at 11 ms.
#[test]
fn a_look_brings_no_packet_forward() {
    let way = "delay = [[\"0 s\", \"3 ms\"], [\"2500 us\", \"8 ms\"]]\nnominal = { delay = \"3 ms\" }\nreorder = true";
    let mut plan = direction(&format!("{way}\nqueue = {{ kind = \"drop-tail\", limit = \"9 packets\" }}"));
    plan.loss = vec![LossPlan::LossTrace(LossTracePlan { lost: [0].into() })];
    plan.link_layer.arq = Some(ArqPlan { tries: 2, round_trip: 9 * MS, in_order: false });
    let packet = |after_ms, size| (after_ms * MS, Some(size));
    let events = [packet(0, 1_250), packet(0, 1_250), packet(0, 1_250), packet(3, 11_250), (6 * MS, None)];
    let [looked, alone] = [true, false].map(|looks| all(&plan, &events, looks));
    assert_eq!((looked.0[1].0, looked.0[1].1), (2, Time(11 * MS)));
    assert_eq!(looked, alone);
}

/// A look in between moves a wake. The event of the old wake finds nothing, and the new one is still to come.
#[test]
fn a_wake_that_has_moved_is_not_forgotten() {
    let opportunities = OpportunitiesPlan { at_ms: [4].into() };
    let rate = opportunities.mean_rate();
    let plan = DirectionPlan {
        loss: vec![LossPlan::LossTrace(LossTracePlan { lost: [0].into() })],
        link_layer: LinkLayerPlan {
            access: Some(AccessPlan::Opportunities(opportunities)),
            arq: Some(ArqPlan { tries: 2, round_trip: 10 * MS, in_order: true }),
            ack_thinning: None,
        },
        ..DirectionPlan::plain(rate, Span::from_millis(7), QueueLimit::Packets(9))
    };
    let mut link = Direction::new(&plan, 1, "test");
    link.push(Time(0), Packet { size: 1_500, ..Packet::default() }, Class::default());
    assert_eq!((link.next(), link.pop(Time(4 * MS))), (Some(Time(4 * MS)), None));
    // The packet was struck at 4 ms. It may be sent again from 14 ms on, and is sent at 16 ms.
    assert_eq!(link.next(), Some(Time(14 * MS)));
    link.catch_up(Time(13 * MS));
    assert_eq!(link.next(), Some(Time(16 * MS)));
    assert_eq!(link.pop(Time(14 * MS)), None);
    assert_eq!(link.next(), Some(Time(16 * MS)));
    assert_eq!(link.pop(Time(16 * MS)), None);
    assert_eq!(link.next(), Some(Time(23 * MS)));
    assert_eq!(link.pop(Time(23 * MS)).map(|(_, fate)| fate), Some(Fate::Delivered));
}
