use bentpipe_cc::Span;
use bentpipe_sim::Scenario;
use bentpipe_sim::plan::Plan;
use proptest::prelude::*;

use super::*;
use crate::ip::tests::{checksum, packet, segment};
use crate::route::{Route, route_of};

const MS: u64 = 1_000_000;

fn plan(text: &str) -> Plan {
    Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a valid scenario")
}

fn route(text: &str) -> Route {
    route_of(&plan(text), 0).expect("the scenario has a flow")
}

/// What is crossed, by name.
fn names(hops: &[Hop]) -> Vec<String> {
    let name = |hop: &Hop| match hop {
        Hop::Access { .. } => "access".to_owned(),
        Hop::Jitter { .. } => "jitter".to_owned(),
        Hop::Direction { name, .. } => name.clone(),
    };
    hops.iter().map(name).collect()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A scenario of 20 s with one flow of a packet of 1000 bytes each millisecond over
/// links that have these keys.
fn cbr(seed: u64, links: &[&str]) -> String {
    let links: Vec<String> =
        links.iter().enumerate().map(|(i, keys)| format!("[link.l{i}]\n{keys}\n")).collect();
    let path: Vec<String> = (0..links.len()).map(|i| format!("\"l{i}\"")).collect();
    format!(
        "duration = \"20 s\"\nseed = {seed}\n{}[[flow]]\npath = [{}]\n\
         traffic = {{ kind = \"cbr\", rate = \"8 Mbit/s\", packet = \"1000 bytes\" }}\n",
        links.concat(),
        path.join(", ")
    )
}

/// Everything that arrives until `end`, as (due, first bytes).
fn arrivals(chain: &mut Chain, end: Time) -> Vec<(Time, Vec<u8>)> {
    chain.advance(end);
    let mut out = Vec::new();
    while let Some(delivery) = chain.take() {
        out.push((delivery.due, chain.bytes(&delivery).to_vec()));
        chain.free(delivery);
    }
    out
}

/// The simulator's report on the same packets equals the chain's counts: delivered, dropped and lost, hop by
/// hop.
#[test]
fn counts_are_those_of_the_simulation() {
    let seldom = "rate = \"9 Mbit/s\"\ndelay = \"250 ms\"\nloss = { kind = \"packet-error\", rate = 0.01 }";
    let bits = "rate = \"20 Mbit/s\"\ndelay = \"3 ms\"\nloss = { kind = \"bit-error\", rate = 1e-5 }";
    let bursts = "rate = \"8.1 Mbit/s\"\ndelay = \"20 ms\"\n\
                  loss = { kind = \"gilbert-elliott\", p = 0.01, r = 0.2, bad_loss = 0.5 }";
    let moving = "rate = [[\"0 s\", \"9 Mbit/s\"], [\"5 s\", \"6 Mbit/s\"], [\"9 s\", \"10 Mbit/s\"]]\n\
                  delay = [[\"0 s\", \"20 ms\"], [\"3 s\", \"9 ms\"]]\nnominal = { rate = \"9 Mbit/s\", delay = \"20 ms\" }\n\
                  queue = { kind = \"drop-tail\", limit = \"40 packets\" }\n\
                  loss = { kind = \"packet-error\", rate = 0.02 }";
    let late = "rate = \"7 Mbit/s\"\ndelay = \"30 ms\"\n\
                queue = { kind = \"codel\", limit = \"99 packets\", target = \"5 ms\", interval = \"100 ms\" }\n\
                loss = { kind = \"packet-error\", rate = 0.02 }";
    for links in [&[seldom][..], &[bits, bursts], &[moving], &[late], &[seldom, late, moving]] {
        let mut losses = Vec::new();
        for seed in [1, 7] {
            let plan = plan(&cbr(seed, links));
            let outcome =
                bentpipe_sim::run(&plan, &mut bentpipe_sim::no_supply, &mut |_| true).expect("a run");
            let mut chain = Chain::new(&route_of(&plan, 0).unwrap().forward, seed);
            let end = Time(20_000 * MS);
            for k in 0..20_000 {
                chain.push(Time(k * MS), &packet(1_000, 0, 5));
            }
            let out = arrivals(&mut chain, end).len() as u64;
            for (i, _) in links.iter().enumerate() {
                let simulated = &outcome.report.links[2 * i];
                let (counts, _) = chain.look(i, end);
                assert_eq!(
                    (counts.delivered_packets, counts.dropped_queue, counts.marked),
                    (simulated.delivered_packets, simulated.dropped_queue, simulated.marked),
                    "hop {i} of {links:?}"
                );
                // The simulator counts a lost packet when it is sent, the chain when it would have arrived.
                let known = simulated.dropped_error;
                assert!(
                    counts.dropped_error <= known && counts.dropped_error + 300 > known,
                    "{known} {counts:?}"
                );
                losses.push(known);
            }
            assert_eq!(out, outcome.report.links[2 * (links.len() - 1)].delivered_packets);
        }
        assert!(losses.iter().any(|lost| *lost > 0), "{links:?} loses nothing, so the test shows nothing");
    }
}

/// The results of an instant do not depend on how late somebody looks.
#[test]
fn nothing_hangs_on_when_somebody_looks() {
    let codel = "queue = { kind = \"codel\", limit = \"50 packets\", target = \"5 ms\", interval = \"30 ms\", ecn = true }";
    let route = route(&cbr(
        3,
        &[
            "rate = \"9 Mbit/s\"\ndelay = \"20 ms\"",
            &format!("rate = \"7 Mbit/s\"\ndelay = \"5 ms\"\n{codel}"),
        ],
    ));
    let drive = |look: u64| {
        let mut chain = Chain::new(&route.forward, 3);
        for k in 0..3_000 {
            if k % look == 0 {
                chain.advance(Time(k * MS));
            }
            let mut bytes = packet(1_000, 2, 5);
            bytes[40..48].copy_from_slice(&u64::to_be_bytes(k));
            chain.push(Time(k * MS), &bytes);
        }
        arrivals(&mut chain, Time(9_000 * MS))
    };
    let often = drive(1);
    assert_eq!(often, drive(1_000));
    assert!(often.is_sorted_by_key(|(due, _)| *due));
    let marked = often.iter().filter(|(_, bytes)| bytes[1] == 3).count();
    assert!(marked > 20, "{marked} packets were marked");
    assert!(often.iter().all(|(_, bytes)| checksum(&bytes[..20]) == 0));
}

#[test]
fn a_marked_packet_is_marked_once_and_an_unmarked_one_is_not_touched() {
    // Each of them marks, and does not drop, packets that may be marked.
    let l4s =
        "rate = \"7 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { kind = \"dualpi2\", limit = \"200 packets\" }";
    let codel = "rate = \"6 Mbit/s\"\ndelay = \"5 ms\"\n\
                 queue = { kind = \"codel\", limit = \"2000 packets\", target = \"5 ms\", interval = \"30 ms\", ecn = true }";
    let route = route(&cbr(1, &[l4s, codel]));
    let mut chain = Chain::new(&route.forward, 1);
    for k in 0..4_000 {
        chain.push(Time(k * MS), &packet(1_000, [0xb9, 0xba, 0xb8][k as usize % 3], 5));
    }
    let out = arrivals(&mut chain, Time(20_000 * MS));
    let marks: u64 = (0..2).map(|i| chain.look(i, Time(20_000 * MS)).0.marked).sum();
    let seen = out.iter().filter(|(_, bytes)| bytes[1] == 0xbb).count() as u64;
    assert!(marks > 100 && marks == seen, "{marks} {seen}");
    let plain = out.iter().filter(|(_, bytes)| bytes[1] & 3 == 0);
    assert!(plain.clone().count() > 100 && plain.clone().all(|(_, bytes)| *bytes == packet(1_000, 0xb8, 5)));
}

#[test]
fn queues_that_sort_by_flow_are_told_of_flows() {
    let queue = "queue = { kind = \"fq-codel\", limit = \"300 packets\" }";
    let route = route(&cbr(1, &[&format!("rate = \"4 Mbit/s\"\ndelay = \"5 ms\"\n{queue}")]));
    let mut chain = Chain::new(&route.forward, 1);
    // One flow sends ten times as much as the other. Each gets half.
    for k in 0..3_000_u64 {
        let port = if k % 10 == 0 { 6 } else { 5 };
        chain.push(Time(k * MS / 2), &packet(1_000, 0, port));
    }
    let out = arrivals(&mut chain, Time(1_500 * MS));
    let of = |port: u8| out.iter().filter(|(_, bytes)| bytes[21] == port).count();
    assert!(of(6) > 280, "{} of 300 of the small flow, {} of the large one", of(6), of(5));
}

#[test]
fn priorities_are_those_of_the_packets() {
    let queue = "queue = { kind = \"priority\", limit = \"100 packets\", bands = 3 }";
    let route = route(&cbr(1, &[&format!("rate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n{queue}")]));
    let mut chain = Chain::new(&route.forward, 1);
    // The first is sent at once; the others wait for one another.
    for tos in [0, 0, 0x20, 0xb8, 0, 0x28] {
        chain.push(Time(0), &packet(1_000, tos, 5));
    }
    let out: Vec<u8> = arrivals(&mut chain, Time(100 * MS)).iter().map(|(_, bytes)| bytes[1]).collect();
    assert_eq!(out, [0, 0xb8, 0x20, 0x28, 0, 0]);
}

#[test]
fn acknowledgements_are_thinned_and_those_that_say_more_are_not() {
    let route = route(&cbr(1, &["rate = \"64 kbit/s\"\ndelay = \"5 ms\"\nack_thinning = { keep = 2 }"]));
    let mut chain = Chain::new(&route.forward, 1);
    let ack = |number| segment(number, 0x10, &[], 0);
    for bytes in [ack(10), ack(20), ack(30), ack(40), ack(50), segment(60, 0x11, &[], 0), ack(70)] {
        chain.push(Time(0), &bytes);
    }
    let number = |bytes: &[u8]| bytes[31];
    let out: Vec<u8> =
        arrivals(&mut chain, Time(1_000 * MS)).iter().map(|(_, bytes)| number(bytes)).collect();
    assert_eq!(out, [10, 40, 50, 60, 70]);
    assert_eq!((chain.look(0, Time(1_000 * MS)).0.dropped_queue, chain.inside()), (2, 0));
}

#[test]
fn access_delays_stand_where_the_flow_has_them() {
    let text = "duration = \"1 s\"\n[link.a]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n[link.b]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
                [[flow]]\ncc = \"reno\"\npath = [\"a\"]\nack_path = [\"b/reverse\"]\nextra_delay = \"7 ms\"\n";
    let Route { forward, reverse, .. } = route(text);
    let arrival = |hops: &[Hop]| {
        let mut chain = Chain::new(hops, 1);
        chain.push(Time(0), &packet(1_000, 0, 5));
        arrivals(&mut chain, Time(100 * MS))[0].0
    };
    assert_eq!((arrival(&forward), arrival(&reverse)), (Time(18 * MS), Time(28 * MS)));
    assert_eq!(
        (names(&forward), names(&reverse)),
        (strings(&["access", "a/forward"]), strings(&["b/reverse", "access"]))
    );
}

#[test]
fn acknowledgements_of_a_flow_with_jitter_are_held_in_order_on_the_way_back() {
    let text = "duration = \"20 s\"\n[link.a]\nrate = \"800 Mbit/s\"\ndelay = \"10 ms\"\n\
                [[flow]]\ncc = \"reno\"\npath = [\"a\"]\nack_jitter = \"40 ms\"\n";
    let Route { forward, reverse, .. } = route(text);
    assert_eq!((forward.len(), reverse.len()), (1, 2));
    let mut chain = Chain::new(&reverse, 1);
    for number in 0..100 {
        chain.push(Time(number * 10 * MS), &packet(100, 0, 5));
    }
    let out = arrivals(&mut chain, Time(2_000 * MS));
    let late = out.iter().zip(0..).map(|((at, _), number)| at.since(Time(number * 10 * MS)).0 / MS);
    let late: Vec<u64> = late.collect();
    assert!(out.is_sorted_by_key(|(at, _)| *at) && late.len() == 100);
    assert!(late.iter().all(|ms| (10..=50).contains(ms)) && late.iter().any(|ms| *ms < 20), "{late:?}");
    assert!(late.iter().any(|ms| *ms > 40), "{late:?}");
}

#[test]
fn the_route_of_a_relayed_flow_is_that_of_both_halves() {
    let text = "duration = \"1 s\"\n[link.a]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n[link.b]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
                [[flow]]\ncc = \"reno\"\npath = [\"a\", \"b\"]\nrelay = { at = \"a\", cc = \"hybla\", buffer = \"1 MB\" }\n";
    let Route { forward, reverse, .. } = route(text);
    assert_eq!(
        (names(&forward), names(&reverse)),
        (strings(&["a/forward", "b/forward"]), strings(&["b/reverse", "a/reverse"]))
    );
}

/// A packet of 1000 bytes from 10.77.0.1 to 10.77.0.`last`.
fn to(last: u8) -> Vec<u8> {
    let mut bytes = packet(1_000, 0, 5);
    bytes[19] = last;
    bytes
}

/// A packet of 1000 bytes from 10.77.0.`last` to 10.77.0.1.
fn from(last: u8) -> Vec<u8> {
    let mut bytes = packet(1_000, 0, 5);
    (bytes[15], bytes[19]) = (last, 1);
    bytes
}

/// A link of 8 Mbit/s and 10 ms, over which a packet of 1000 bytes takes 11 ms, and flows with these keys.
fn over_one_link(flows: &[&str]) -> String {
    let flows = flows.iter().map(|keys| format!("[[flow]]\ncc = \"reno\"\npath = [\"a\"]\n{keys}\n"));
    format!(
        "duration = \"20 s\"\n[link.a]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n{}",
        flows.collect::<String>()
    )
}

#[test]
fn each_flow_has_its_own_access_delay() {
    let text = over_one_link(&["extra_delay = \"7 ms\"", "extra_delay = \"30 ms\"", ""]);
    let Route { forward, reverse, further } = route(&text);
    assert_eq!(further, [(1, [10, 77, 0, 3].into()), (2, [10, 77, 0, 4].into())]);
    let arrival = |hops: &[Hop], bytes: &[u8]| {
        let mut chain = Chain::new(hops, 1);
        chain.tap(0);
        chain.push(Time(0), bytes);
        let out = arrivals(&mut chain, Time(100 * MS));
        assert_eq!(chain.tapped().count(), 1, "whoever captures at the end sees every packet");
        out[0].0.0 / MS
    };
    // By 7 and 30 ms later than 11 ms. Whatever is of no other flow is of the first: 10.77.0.9 is nobody's.
    assert_eq!([2, 3, 4, 9].map(|last| arrival(&forward, &to(last))), [18, 41, 11, 18]);
    assert_eq!([2, 3, 4, 9].map(|last| arrival(&reverse, &from(last))), [18, 41, 11, 18]);
    let mut ipv6 = vec![0; 1_000];
    (ipv6[0], ipv6[39]) = (0x60, 3);
    assert_eq!(arrival(&forward, &ipv6), 18);
}

#[test]
fn flows_with_different_delays_meet_at_the_link() {
    let Route { forward, .. } = route(&over_one_link(&["", "extra_delay = \"5 ms\""]));
    let mut chain = Chain::new(&forward, 1);
    for (at, last) in [(0, 3), (1, 3), (4, 2), (5, 2)] {
        chain.push(Time(at * MS), &to(last));
    }
    // The first flow is at the link at 4 and 5 ms, and the second at 5 and 6 ms. Each packet takes it for
    // 1 ms. At 5 ms that of the second flow is first, because it was due there when the other was read.
    let out: Vec<_> =
        arrivals(&mut chain, Time(100 * MS)).iter().map(|(at, bytes)| (at.0 / MS, bytes[19])).collect();
    assert_eq!(out, [(15, 2), (16, 3), (17, 2), (18, 3)]);
    let counts: Vec<u64> = (0..2).map(|i| chain.look(i, Time(100 * MS)).0.offered_packets).collect();
    assert_eq!((counts, names(&forward)), (vec![2, 4], strings(&["access", "a/forward"])));
}

#[test]
fn a_flow_whose_acknowledgements_are_held_does_not_hold_those_of_another() {
    let first = "name = \"first\"\nack_jitter = \"40 ms\"";
    let held = |flows: &[&str], last: u8| {
        let mut chain = Chain::new(&route(&over_one_link(flows)).reverse, 1);
        for number in 0..100 {
            chain.push(Time(number * 10 * MS), &from(2));
            chain.push(Time(number * 10 * MS + MS), &from(last));
        }
        arrivals(&mut chain, Time(2_000 * MS))
    };
    let of = |out: &[(Time, Vec<u8>)], last: u8| {
        let its = out.iter().filter(|(_, bytes)| bytes[15] == last).map(|(at, _)| *at);
        its.collect::<Vec<_>>()
    };
    let late = |times: &[Time]| {
        let late = times.iter().zip(0..).map(|(at, number)| at.0 / MS - number * 10);
        late.collect::<Vec<_>>()
    };
    let plain = held(&[first, ""], 3);
    // 11 ms, and at most one packet of 1 ms before it at the link; it was sent at 1 ms.
    assert!(late(&of(&plain, 3)).iter().all(|ms| (12..=13).contains(ms)), "{plain:?}");
    assert!(late(&of(&plain, 2)).iter().any(|ms| *ms > 40));
    // With jitter of its own the second flow draws other delays than the first.
    let both = held(&[first, first.replace("first", "second").as_str()], 3);
    assert!(late(&of(&both, 3)).iter().any(|ms| *ms > 40));
    let near = of(&both, 2).iter().zip(of(&both, 3)).filter(|(a, b)| a.0.abs_diff(b.0) < 5 * MS).count();
    assert!(near < 60, "{near} of 100 are held alike");
}

#[test]
fn what_other_flows_have_changes_nothing_for_the_first() {
    let first = "name = \"first\"\nextra_delay = \"3 ms\"\nack_jitter = \"40 ms\"";
    let run = |flows: &[&str]| {
        let Route { forward, reverse, .. } = route(&over_one_link(flows));
        [(forward, to(2)), (reverse, from(2))].map(|(hops, bytes)| {
            let mut chain = Chain::new(&hops, 1);
            (0..100).for_each(|number| chain.push(Time(number * 5 * MS), &bytes));
            arrivals(&mut chain, Time(1_000 * MS))
        })
    };
    assert_eq!(run(&[first]), run(&[first, "extra_delay = \"9 ms\"\nack_jitter = \"70 ms\""]));
}

#[test]
fn equal_access_delays_are_crossed_once() {
    let Route { forward, reverse, further } = route(&over_one_link(&["extra_delay = \"5 ms\""; 3]));
    assert_eq!(
        (names(&forward), names(&reverse)),
        (strings(&["access", "a/forward"]), strings(&["a/reverse", "access"]))
    );
    assert_eq!(further.len(), 2);
}

#[test]
fn flows_with_other_paths_or_beside_a_relay_have_no_address() {
    let text = "duration = \"1 s\"\n[link.a]\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n\
                [link.b]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n";
    let flow = |path: &str, keys: &str| {
        format!("[[flow]]\ncc = \"reno\"\nextra_delay = \"5 ms\"\npath = [{path}]\n{keys}\n")
    };
    let further = |flows: &[String]| route(&(text.to_owned() + &flows.concat())).further;
    let ab = "\"a\", \"b\"";
    let found = further(&[
        flow(ab, "count = 3"),
        flow("\"a\"", ""),
        flow(ab, "ack_path = [\"a/reverse\"]"),
        flow(ab, "count = 2"),
    ]);
    assert_eq!(found, [(3, [10, 77, 0, 5].into())]);
    let relay = "relay = { at = \"a\", cc = \"hybla\", buffer = \"1 MB\" }";
    assert_eq!(further(&[flow(ab, relay), flow(ab, "")]), []);
    assert_eq!(further(&[flow(ab, ""), flow(ab, relay)]), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    /// Every packet arrives, is dropped or is lost. None stays, and no two packets use one number.
    #[test]
    fn nothing_stays_inside(
        queue in prop::sample::select(vec![
            "kind = \"drop-tail\", limit = \"9 packets\"",
            "kind = \"drop-tail\", limit = \"9 kB\"",
            "kind = \"red\", limit = \"30 packets\", min = \"5 packets\", max = \"15 packets\"",
            "kind = \"codel\", limit = \"30 packets\", target = \"1 ms\", interval = \"4 ms\", ecn = true",
            "kind = \"fq-codel\", limit = \"20 kB\", target = \"1 ms\", interval = \"4 ms\"",
            "kind = \"pie\", limit = \"30 packets\"",
            "kind = \"priority\", limit = \"9 packets\"",
            "kind = \"dualpi2\", limit = \"30 packets\"",
        ]),
        keys in prop::sample::select(vec![
            "delay = \"3 ms\"",
            "delay = \"3 ms\"\nup = [[\"0 s\", true], [\"40 ms\", false], [\"55 ms\", true]]\n\
             handover = { queue = \"flushed\", in_flight = \"lost\" }",
            "delay = \"3 ms\"\narq = { tries = 2, round_trip = \"20 ms\" }",
        ]),
        packets in prop::collection::vec((0_u64..2 * MS, 40_usize..1_501, 0_u8..4, 0_u16..5), 1..300),
    ) {
        let loss = "loss = { kind = \"packet-error\", rate = 0.1 }";
        let route = route(&cbr(1, &[
            &format!("rate = \"9 Mbit/s\"\n{keys}\nqueue = {{ {queue} }}\n{loss}"),
            &format!("rate = \"8 Mbit/s\"\n{keys}\nqueue = {{ {queue} }}\n{loss}"),
        ]));
        let mut chain = Chain::new(&route.forward, 1);
        let mut now = Time(0);
        for (gap, size, tos, port) in &packets {
            now = now + Span(*gap);
            chain.push(now, &packet(*size, *tos, *port));
        }
        let mut arrived = 0;
        let end = Time(1 << 50);
        for (_, bytes) in arrivals(&mut chain, end) {
            arrived += 1;
            prop_assert_eq!(checksum(&bytes[..20]), 0);
        }
        let counts: Vec<HopCounts> = (0..2).map(|i| chain.look(i, end).0).collect();
        prop_assert_eq!(counts[0].offered_packets, packets.len() as u64);
        for (hop, out) in counts.iter().zip([counts[1].offered_packets, arrived]) {
            prop_assert_eq!(hop.offered_packets, hop.delivered_packets + hop.dropped_queue + hop.dropped_error);
            prop_assert_eq!(hop.delivered_packets, out);
        }
        prop_assert_eq!((chain.inside(), chain.next()), (0, None));
    }
}
