//! The SACK store after a run, the message about a broken law, and the short cuts found.

use super::*;
use crate::Scenario;
use crate::capture::tap::Tap;
use crate::engine::no_supply;
use crate::host::flow::Kind;
use crate::record::Outcome;
use crate::resolve::plan::{Leg, QueueLimit, Source, Step, TimeLine};

fn plan(text: &str, set: &[(&str, &str)]) -> Plan {
    let set: Vec<_> = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::from_toml(text, "x.toml", &set).and_then(|s| s.resolve()).unwrap()
}

/// The run of an eligible plan, before anything has happened.
fn fast_path(plan: &Plan) -> FastPath {
    let network = Network::new(plan, Tap::new(plan, None).unwrap(), &mut no_supply, &mut |_| true).unwrap();
    let eligible = eligibility(plan, &network).unwrap();
    FastPath::new(plan, network, eligible, BatchSizes::default())
}

fn network(plan: &Plan) -> Network {
    fast_path(plan).run(&mut |_| true).unwrap()
}

#[test]
fn sack_blocks_of_dropped_acknowledgements_are_freed() {
    // Lossy data, and ACKs that queue at 30 kbit/s and are dropped there.
    for queue in [
        "kind = \"codel\", limit = \"20 packets\", target = \"5 ms\"",
        "kind = \"fq-codel\", limit = \"20 packets\"",
        "kind = \"pie\", limit = \"20 packets\", burst = \"0 s\"",
        "kind = \"priority\", limit = \"20 packets\"",
        "kind = \"drop-tail\", limit = \"20 packets\"",
    ] {
        let text = format!(
            "duration = \"60 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ {queue} }}\n\
             loss = {{ kind = \"packet-error\", rate = 0.02 }}\n\
             [link.x.reverse]\nrate = \"30 kbit/s\"\nloss = {{ kind = \"packet-error\", rate = 0.05 }}\n\
             [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\ncount = 4\ninitial_window = 50\n"
        );
        let network = network(&plan(&text, &[]));
        let back = network.directions[1].counts;
        assert!(back.dropped_queue > 20 && back.dropped_error > 20, "{queue}: {back:?}");
        // The blocks still stored belong to the few ACKs that are in flight or waiting.
        let taken = network.carried.taken();
        assert!(taken <= 20 + 10, "{queue}: {taken}");
    }
}

/// The times of the delay lines of a scenario. All lines are in use.
fn delay_lines(text: &str) -> Vec<u64> {
    let mut run = fast_path(&plan(text, &[]));
    run.advance(run.network.end, &mut |_| true).unwrap();
    assert!(run.delay_lines.iter().all(|line| line.count > 1_000), "{:?}", run.delay_lines);
    run.delay_lines.iter().map(|line| line.time).collect()
}

/// Selective acknowledgements of 52 to 80 bytes take 41.6 to 64 us at 10 Mbit/s. Behind that link some of
/// them are therefore closer than 640 us, the gap of two segments at 18.75 Mbit/s. The longest, of 80 bytes,
/// take exactly 640 us at 1 Mbit/s.
#[test]
fn packets_of_several_sizes_come_closer_behind_a_constant() {
    let text = |acks: &str| {
        format!(
            "duration = \"5 s\"\n[link.core]\nrate = \"18.75 Mbit/s\"\ndelay = \"20 ms\"\nreverse = {{ rate = \"1 Mbit/s\" }}\n\
             [link.out]\nrate = \"100 Mbit/s\"\ndelay = \"2 ms\"\nreverse = {{ rate = \"10 Mbit/s\" }}\n[[flow]]\n\
             cc = \"reno\"\nprofile = \"modern\"\nhandshake = false\ndelayed_ack = false\n{acks}path = [\"core\", \"out\"]\n"
        )
    };
    assert_eq!(delay_lines(&text("")), [2_120_000, 2_041_600]);
    // Without blocks all acknowledgements have one size.
    assert_eq!(
        delay_lines(&text("ack_size = \"80 bytes\"\nrecovery = \"newreno\"\n")),
        [2_120_000, 22_704_000]
    );
}

#[test]
fn links_behind_slower_ones_are_constants() {
    // One 1500-byte packet takes 12 us at 1 Gbit/s, an acknowledgement of 40 bytes 0.32 us,
    // and 3.2 us at 100 Mbit/s.
    let text = |reverse: &str, back: &str| {
        format!(
            "duration = \"5 s\"\n[link.in]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[link.core]\nrate = \"100 Mbit/s\"\n\
             delay = \"20 ms\"\nqueue = {{ kind = \"drop-tail\", limit = \"50 packets\" }}\nreverse = {{ {reverse} }}\n\
             [link.out]\nrate = \"1 Gbit/s\"\ndelay = \"2 ms\"\n[[flow]]\ncc = \"reno\"\nprofile = \"paper\"\n\
             path = [\"in\", \"core\", \"out\"]\n{back}"
        )
    };
    for (reverse, back, times) in [
        ("", "", &[2_012_000, 2_000_320 + 20_003_200 + 1_000_320][..]),
        // This link is too slow for acknowledgements 120 us apart. Behind it they are 320 us apart and wait
        // nowhere.
        ("rate = \"1 Mbit/s\"", "", &[2_012_000, 2_000_320, 1_000_320]),
        // 40 bytes take no whole number of nanoseconds.
        ("rate = \"300 Mbit/s\"", "", &[2_012_000, 2_000_320, 1_000_320]),
        ("loss = { kind = \"packet-error\", rate = 0.01 }", "", &[2_012_000, 2_000_320, 1_000_320]),
        // Receivers with delayed acknowledgements set the spacing of their answers themselves.
        ("", "delayed_ack = true\n", &[2_012_000, 1_000_320]),
        (
            "",
            "extra_delay = \"7 ms\"\n",
            &[7_000_000, 2_012_000, 2_000_320 + 20_003_200 + 1_000_320 + 7_000_000],
        ),
    ] {
        assert_eq!(delay_lines(&text(reverse, back)), times, "{reverse}{back}");
    }
}

/// A time line on which nothing changes, but with which packets may overtake.
fn promises_no_order(rate_bps: u64, delay: Span) -> TimeLine {
    let step = Step { at: Time(0), rate_bps, loss_rate: 0.0 };
    let leg = Leg { at: Time(0), delay, towards: delay };
    let mut line = TimeLine::new([step].into(), [leg].into(), [].into()).expect("in order");
    line.reorder = true;
    line
}

/// A chain with access delays, two paths of acknowledgements, losses and a probe. Any of its directions may
/// promise less than it could.
#[test]
fn directions_that_promise_little_give_the_same_result() {
    let text = "duration = \"20 s\"\n[link.a]\nrate = \"20 Mbit/s\"\ndelay = \"3 ms\"\n\
         [link.b]\nrate = \"8 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { kind = \"drop-tail\", limit = \"30 packets\" }\n\
         loss = { kind = \"packet-error\", rate = 0.002 }\n[link.c]\nrate = \"20 Mbit/s\"\ndelay = \"1 ms\"\n\
         [[flow]]\ncc = \"cubic\"\npath = [\"a\", \"b\", \"c\"]\nextra_delay = \"2 ms\"\ncount = 2\n\
         [[flow]]\ncc = \"star\"\nprofile = \"paper\"\npath = [\"b\", \"c\"]\n\
         [[flow]]\nname = \"back\"\ncc = \"reno\"\npath = [\"c/reverse\", \"b/reverse\"]\n";
    let plan = plan(text, &[]);
    let expected = crate::engine::run_by_reference(&plan, &mut no_supply, &mut |_| true).unwrap().report;
    assert!(expected.flows.iter().all(|flow| flow.delivered_bytes > 200_000), "{expected:?}");
    for opaque in 0..1 << 6 {
        let mut plan = plan.clone();
        let directions = plan.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]);
        for (_, direction) in directions.enumerate().filter(|(i, _)| opaque >> i & 1 == 1) {
            direction.line = Some(promises_no_order(direction.rate_bps, direction.delay));
        }
        let network =
            Network::new(&plan, Tap::new(&plan, None).unwrap(), &mut no_supply, &mut |_| true).unwrap();
        let eligible = eligibility(&plan, &network).unwrap();
        let network =
            FastPath::new(&plan, network, eligible, BatchSizes::default()).run(&mut |_| true).unwrap();
        assert_eq!(network.finish(&plan).unwrap().report, expected, "{opaque:b}");
    }
}

#[test]
fn what_a_relay_loses_is_found_out() {
    let text = "duration = \"5 s\"\n[link.a]\nrate = \"9 Mbit/s\"\ndelay = \"1 ms\"\n[link.b]\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n\
         [[flow]]\ncc = \"reno\"\npath = [\"a\", \"b\"]\nrelay = { at = \"a\", buffer = \"50 kB\" }\n";
    let plan = plan(text, &[]);
    let mut network = network(&plan);
    let Kind::Tcp(second) = &mut network.flows[1].kind else { panic!("a connection") };
    let taken = second.relay().expect("a relay").taken;
    assert!(taken > 300, "{taken}");
    second.feed(Time(0), taken + 1);
    let law = network.finish(&plan).expect_err("a segment out of nothing").to_string();
    assert!(law.contains("what came to a relay has left it or is in its buffer"), "{law}");
}

type Spoil = fn(&mut Network, &mut Plan);

/// The result of a run over a link with this queue, after `spoil` has broken something.
fn spoilt(queue: &str, spoil: Spoil) -> Result<Outcome, RunError> {
    let text = format!(
        "duration = \"5 s\"\nseed = 77\n[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ {queue} }}\n\
         [[flow]]\ncc = \"reno\"\npath = [\"x\"]\ntraffic = {{ kind = \"bulk\", size = \"90 kB\" }}\n\
         [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\n"
    );
    let mut plan = plan(&text, &[]);
    let mut network = network(&plan);
    spoil(&mut network, &mut plan);
    network.finish(&plan)
}

fn tcp(network: &mut Network) -> &mut crate::host::flow::Tcp {
    match &mut network.flows[0].kind {
        Kind::Tcp(tcp) => tcp,
        Kind::Cbr(_) => panic!("a TCP flow"),
    }
}

#[test]
fn a_broken_law_is_named_with_numbers_and_seed_and_asks_for_a_report() {
    let fifo = "kind = \"drop-tail\", limit = \"20 packets\"";
    let spoils: &[(&str, &str, Spoil)] = &[
        ("each packet offered to a link", fifo, |e, _| e.directions[0].counts.delivered += 1),
        ("each packet offered to a link", fifo, |e, _| e.directions[1].counts.dropped_error += 1),
        ("each packet offered to a link", fifo, |e, _| e.directions[0].counts.dropped_queue -= 1),
        ("no more waits at a link", fifo, |e, _| e.directions[0].counts.most = u64::MAX),
        ("each packet that a flow sends", fifo, |e, _| e.flows[1].data.sent += 1),
        ("each packet that a flow sends", fifo, |e, _| e.flows[1].acks.arrived += 1),
        ("no acknowledgement reaches", fifo, |e, _| tcp(e).check.ack(10, 9)),
        ("what is acknowledged was delivered", fifo, |e, _| {
            (e.flows[0].data.arrived, e.flows[0].missing_data.beyond) = (0, e.flows[0].data.arrived);
        }),
        ("a transfer hands over all", fifo, |_, p| {
            if let Source::Tcp { bytes, .. } = std::sync::Arc::make_mut(&mut p.flows[0].source) {
                *bytes = Some(89_999);
            }
        }),
        ("no flow is faster than the slowest link", fifo, |_, p| p.links[0].forward.rate_bps = 100_000),
    ];
    let narrow: Spoil = |_, p| p.links[0].forward.queue = QueueLimit::Bytes(2_999);
    let bytes = [
        "kind = \"drop-tail\", limit = \"60 kB\"",
        "kind = \"pie\", limit = \"60 kB\"",
        "kind = \"codel\", limit = \"60 kB\"",
        "kind = \"fq-codel\", limit = \"60 kB\"",
        "kind = \"priority\", limit = \"60 kB\"",
    ];
    let narrow = bytes.map(|queue| ("no more waits at a link", queue, narrow));
    for (law, queue, spoil) in spoils.iter().copied().chain(narrow) {
        assert!(spoilt(queue, |_, _| {}).is_ok());
        let said = spoilt(queue, spoil).expect_err(law).to_string();
        assert!(said.starts_with(&format!("bug in bentpipe: {law}")), "{law}, {queue}: {said}");
        assert!(said.contains("(seed 77)") && said.ends_with("Please report it with the scenario"), "{said}");
    }
}

#[test]
fn an_event_in_the_past_ends_the_run() {
    let text = "duration = \"5 s\"\n[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\n[[flow]]\ncc = \"reno\"\npath = [\"x\"]\n";
    let mut run = fast_path(&plan(text, &[]));
    run.network.now = Time(1);
    let said = run.run(&mut |_| true).expect_err("the flow starts at 0").to_string();
    assert!(said.contains("time never goes back; 0 ns after 1 ns (seed 1)"), "{said}");
}

#[test]
fn a_run_that_records_too_much_ends_in_an_error() {
    for record in [
        "interval = \"change\"",
        "interval = \"9 s\", segments = true",
        "interval = \"1 ms\", links = true",
        "interval = \"1 ms\", flows = false, probes = true",
        "flows = false, probes = true",
    ] {
        let text = format!(
            "duration = \"60 s\"\nrecord = {{ {record} }}\n[link.x]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\n"
        );
        let mut run = fast_path(&plan(&text, &[]));
        run.network.recorder.most = 10_000;
        let said = run.advance(run.network.end, &mut |_| true).expect_err(record).to_string();
        assert!(said.contains("more than 10000 rows; choose a longer interval"), "{record}: {said}");
        let tapped = run.network.tap.map_or(0, |tap| tap.rows());
        assert!(run.network.recorder.rows() + tapped < 10_000 + 200_000, "{record}");
    }
}

/// The number of partitions found in a chain of three links with flows through and across each, and the
/// lookahead, ms.
fn partitions(set: &[(&str, &str)]) -> (usize, u64) {
    let link = |name, delay| {
        format!(
            "[link.{name}]\nrate = \"100 Mbit/s\"\ndelay = \"{delay} ms\"\nqueue = {{ kind = \"drop-tail\", limit = \"9 packets\" }}\n"
        )
    };
    let flow = |path| {
        format!("[[flow]]\ncc = \"reno\"\nprofile = \"paper\"\ndelayed_ack = false\npath = [{path}]\n")
    };
    let paths = ["\"x\", \"y\", \"z\"", "\"x\"", "\"y\"", "\"z\""];
    let text = format!(
        "duration = \"5 s\"\n{}{}{}{}",
        link("x", 20),
        link("y", 30),
        link("z", 10),
        paths.map(flow).concat()
    );
    let run = fast_path(&plan(&text, set));
    let found = (run.partitions.count, run.partitions.lookahead.0 / 1_000_000);
    let of = |timer| run.partition(timer);
    if found.0 == 3 {
        // Behind the first link are its own flow's receiver, its answers, and the sender of the second link's
        // flow.
        assert_eq!(of(Timer::Receiver(1)), of(Timer::Sender(2)));
        assert_ne!(of(Timer::Receiver(1)), of(Timer::Sender(1)));
        assert_eq!(of(Timer::Stop(3)), of(Timer::Sender(3)));
    }
    found
}

/// Behind the last link there are only receivers. They answer ahead of time, in the partition of its senders.
#[test]
fn partitions_are_what_lies_between_links() {
    assert_eq!(partitions(&[]), (3, 20));
    assert_eq!(partitions(&[("link.y.delay", "\"0 s\"")]), (2, 20));
    // A direction that decides at departure is looked at again when its last packet arrives, so both its ends
    // are in one partition.
    assert_eq!(partitions(&[("link.y.queue", "{ kind = \"codel\", limit = \"9 packets\" }")]), (2, 20));
    // Three links with 100 packets a second each: six in 20 ms, one in 3 ms, nine in 30 ms.
    let slow = |rate, delay| {
        let rates = ["link.x.rate", "link.y.rate", "link.z.rate"].map(|key| (key, rate));
        partitions(&[&rates[..], &[("link.x.delay", delay)]].concat())
    };
    assert_eq!(slow("\"1.2 Mbit/s\"", "\"20 ms\""), (3, 20));
    assert_eq!(slow("\"1.2 Mbit/s\"", "\"3 ms\""), (2, 30));
    assert_eq!(slow("\"0.12 Mbit/s\"", "\"20 ms\"").0, 1);
    // Rows at a change and rows of links are recorded in order of time, so there is one partition; samples of
    // flows end a window.
    assert_eq!(partitions(&[("record", "{ interval = \"change\" }")]).0, 1);
    assert_eq!(partitions(&[("record", "{ interval = \"1 s\", links = true }")]).0, 1);
    assert_eq!(partitions(&[("record", "{ interval = \"1 s\", flows = true }")]), (3, 20));
}

/// The message about 120 s of this scenario, if a run may keep at most `most`.
fn kept(most: u64, link: &str, flow: &str) -> Option<String> {
    let text = format!(
        "duration = \"120 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n{link}\n[[flow]]\nname = \"fat\"\npath = [\"x\"]\n{flow}\n"
    );
    let plan = plan(&text, &[]);
    let mut run = fast_path(&plan);
    run.network.memory.most = most;
    let ends = run.run(&mut |_| true).and_then(|network| network.finish(&plan));
    ends.err().map(|e| e.to_string())
}

#[test]
fn a_run_that_keeps_too_much_at_once_ends_in_an_error_that_names_where_that_is() {
    // The link sends 833 of 2500 packets a second, so 30,000 wait by 18 s.
    let cbr = "traffic = { kind = \"cbr\", rate = \"30 Mbit/s\", packet = \"1500 bytes\" }";
    for queue in ["drop-tail\"", "codel\", target = \"99 s\", interval = \"100 s\"", "priority\""] {
        // A queue of packets that take whole nanoseconds keeps no list; a queue counted in bytes does.
        let unit = if queue.starts_with("drop") { "kB" } else { "packets" };
        let link = format!("queue = {{ kind = \"{queue}, limit = \"1000000 {unit}\" }}");
        let said = kept(30_000, &link, cbr).expect(queue);
        assert!(said.contains("on link x/forward; a run may keep 30000, and a flow have 4194304"), "{said}");
        assert_eq!(kept(30_000, &link.replace("1000000", "10000"), cbr), None);
    }
    // The window has 700 segments of 1500 bytes: 417 fill the path and 283 wait. Nothing more is kept of
    // those that wait. All 700 are in flight, there or back, and the sender has room for 1024, the next power
    // of two.
    let tcp = "cc = \"reno\"\nprofile = \"paper\"\nreceive_window = \"700 segments\"";
    let link = "queue = { kind = \"drop-tail\", limit = \"1000 packets\" }";
    assert_eq!(kept(1_024 + 700 + 3, link, tcp), None);
    let said = kept(1_024 + 700 - 3, link, tcp).expect("the window is full");
    assert!(said.contains(" 1024 of them of flow fat; a run may keep 1721, "), "{said}");
    assert!(
        said.ends_with("give flows a receive_window, such as \"100000 segments\", or links shorter queues"),
        "{said}"
    );
}
