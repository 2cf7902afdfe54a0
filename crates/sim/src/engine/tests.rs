//! The engine's stores after a run, and what it says of a law that is broken.

use super::*;
use crate::Scenario;
use crate::host::flow::Kind;

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
        let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
        let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
        engine.run(&mut |_| true).unwrap();
        let back = engine.links[1].counts;
        assert!(back.dropped_queue > 20 && back.dropped_error > 20, "{queue}: {back:?}");
        // What is still taken belongs to ACKs under way or waiting, of which there are few.
        let taken = engine.sacks.taken();
        assert!(taken <= 20 + 10, "{queue}: {taken}");
    }
}

/// The times of the passages of a scenario, all of which are taken.
fn passages(text: &str) -> Vec<u64> {
    let plan = Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
    let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
    engine.run(&mut |_| true).unwrap();
    assert!(engine.passages.iter().all(|passage| passage.count > 1_000), "{:?}", engine.passages);
    engine.passages.iter().map(|passage| passage.time).collect()
}

/// Selective acknowledgements of 52 to 80 bytes take 41.6 to 64 us at 10 Mbit/s, so some of them are closer behind that link than
/// the 640 us between two segments at 18.75 Mbit/s, which is just what 80 bytes take at 1 Mbit/s.
#[test]
fn packets_of_several_sizes_come_closer_behind_a_constant() {
    let text = |acks: &str| {
        format!(
            "duration = \"5 s\"\n[link.core]\nrate = \"18.75 Mbit/s\"\ndelay = \"20 ms\"\nreverse = {{ rate = \"1 Mbit/s\" }}\n\
             [link.out]\nrate = \"100 Mbit/s\"\ndelay = \"2 ms\"\nreverse = {{ rate = \"10 Mbit/s\" }}\n[[flow]]\n\
             cc = \"reno\"\nprofile = \"modern\"\nhandshake = false\ndelayed_ack = false\n{acks}path = [\"core\", \"out\"]\n"
        )
    };
    assert_eq!(passages(&text("")), [2_120_000, 2_041_600]);
    // Without blocks all are of one size.
    assert_eq!(passages(&text("ack_size = \"80 bytes\"\nrecovery = \"newreno\"\n")), [2_120_000, 22_704_000]);
}

#[test]
fn links_behind_slower_ones_are_constants() {
    // One 1500-byte packet takes 12 us at 1 Gbit/s, an acknowledgement of 40 bytes 0.32 us, and 3.2 us at 100 Mbit/s.
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
        // Too slow for acknowledgements that come every 120 us: those behind it come every 320 us and wait nowhere.
        ("rate = \"1 Mbit/s\"", "", &[2_012_000, 2_000_320, 1_000_320]),
        // 40 bytes take no whole number of nanoseconds.
        ("rate = \"300 Mbit/s\"", "", &[2_012_000, 2_000_320, 1_000_320]),
        ("loss = { kind = \"packet-error\", rate = 0.01 }", "", &[2_012_000, 2_000_320, 1_000_320]),
        // Receivers that answer later decide themselves how far apart answers are.
        ("", "delayed_ack = true\n", &[2_012_000, 1_000_320]),
        (
            "",
            "extra_delay = \"7 ms\"\n",
            &[7_000_000, 2_012_000, 2_000_320 + 20_003_200 + 1_000_320 + 7_000_000],
        ),
    ] {
        assert_eq!(passages(&text(reverse, back)), times, "{reverse}{back}");
    }
}

/// A segment of 1500 bytes takes 10 ms at 1.2 Mbit/s and 2 ms at 6 Mbit/s, AEN's probe of 41 bytes 273,333 ns and 54,667 ns. It goes
/// out 0.2 s after the initial window, while segments of that wait still, and catches up with the last of them behind the first link.
/// Its acknowledgement comes as long after the one before as the probe takes, which is less than the 640 us of 48 bytes at
/// 600 kbit/s. Nothing else waits at these two links.
#[test]
fn a_probe_waits_behind_the_segment_that_it_catches_up_with() {
    let text = "duration = \"5 s\"\n[link.core]\nrate = \"1.2 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = { kind = \"drop-tail\", limit = \"50 packets\" }\n[link.out]\nrate = \"6 Mbit/s\"\ndelay = \"2 ms\"\n\
         reverse = { rate = \"600 kbit/s\" }\n[[flow]]\ncc = \"star\"\nprofile = \"paper\"\nheader = \"40 bytes\"\n\
         ack_size = \"48 bytes\"\ninitial_window = 40\ninitial_rto = \"200 ms\"\npath = [\"core\", \"out\"]\n";
    let plan = Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
    let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
    engine.run(&mut |_| true).unwrap();
    let taken: Vec<(u64, u64)> = engine.passages.iter().map(|p| (p.time, p.count)).collect();
    // All but the probe and what arrives after the end.
    let arrived = engine.links[2].counts.offered + taken[0].1;
    assert!(
        matches!(taken[..], [(4_000_000, n), (_, m)] if arrived - n == 1 && n - m < 4),
        "{taken:?} of {arrived}"
    );
    let report = engine.finish(&plan).unwrap().report;
    let waited = [2, 3].map(|i| (report.links[i].queue_mean_packets * 5e9).round());
    assert_eq!(waited, [2e6 - 273_333.0, 640e3 - 54_666.0]);
    assert_eq!(report, run_plainly(&plan, &mut no_supply, &mut |_| true).unwrap().report);
}

/// Timeouts that come early, so that connections send many probes, often one behind the other: passages are closed and opened again.
#[test]
fn passages_that_are_closed_and_opened_change_nothing() {
    let mut probed = 0;
    for seed in 0..288 {
        let out = ["4 Mbit/s", "8 Mbit/s", "40 Mbit/s"][seed % 3];
        let limit = [0, 2, 1000][seed / 3 % 3];
        let more = [
            "",
            "extra_delay = \"13 ms\"\n",
            "delayed_ack = true\n",
            "start_jitter = \"30 ms\"\nextra_delay = \"13 ms\"\n",
        ][seed / 9 % 4];
        let back = ["40 Mbit/s", "160 kbit/s"][seed / 36 % 2]; // 2 ms for an acknowledgement, of the 3 ms for a segment
        let flow = |more: &str| {
            format!(
                "[[flow]]\ncc = \"reno\"\nprofile = \"paper\"\nrecovery = \"sack\"\naen = true\nheader = \"40 bytes\"\n\
                 ack_size = \"40 bytes\"\ninitial_window = 9\ninitial_rto = \"200 ms\"\nmin_rto = \"20 ms\"\n\
                 granularity = \"1 ms\"\npath = [\"core\", \"out\"]\n{more}"
            )
        };
        let text = format!(
            "duration = \"9 s\"\nseed = {seed}\n[link.core]\nrate = \"4 Mbit/s\"\ndelay = \"90 ms\"\n\
             queue = {{ kind = \"drop-tail\", limit = \"8 packets\" }}\n\
             [link.out]\nrate = \"{out}\"\ndelay = \"1 ms\"\nreverse = {{ rate = \"{back}\" }}\nqueue = {{ kind = \"drop-tail\", limit = \"{limit} packets\" }}\n{}{}",
            flow(&format!("count = 3\n{more}")),
            flow(more)
        );
        let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
        let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
        engine.run(&mut |_| true).unwrap();
        probed += usize::from(engine.passages.iter().any(Passage::was_opened_again));
        let plain = run_plainly(&plan, &mut no_supply, &mut |_| true).unwrap();
        assert_eq!(engine.finish(&plan).unwrap().report, plain.report, "{text}");
    }
    assert!(probed > 80, "{probed}");
}

type Spoil = fn(&mut Engine, &mut Plan);

/// A run to its end over a link with this queue, with something put wrong: what is said of it?
fn spoilt(queue: &str, spoil: Spoil) -> Result<Outcome, RunError> {
    let text = format!(
        "duration = \"5 s\"\nseed = 77\n[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ {queue} }}\n\
         [[flow]]\ncc = \"reno\"\npath = [\"x\"]\ntraffic = {{ kind = \"bulk\", size = \"90 kB\" }}\n\
         [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\n"
    );
    let mut plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
    let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
    engine.run(&mut |_| true).unwrap();
    spoil(&mut engine, &mut plan);
    engine.finish(&plan)
}

fn tcp(engine: &mut Engine) -> &mut crate::host::flow::Tcp {
    match &mut engine.flows[0].kind {
        Kind::Tcp(tcp) => tcp,
        Kind::Cbr(_) => panic!("a TCP flow"),
    }
}

#[test]
fn a_broken_law_is_named_with_numbers_and_seed_and_asks_for_a_report() {
    let fifo = "kind = \"drop-tail\", limit = \"20 packets\"";
    let spoils: &[(&str, &str, Spoil)] = &[
        ("each packet offered to a link", fifo, |e, _| e.links[0].counts.delivered += 1),
        ("each packet offered to a link", fifo, |e, _| e.links[1].counts.dropped_error += 1),
        ("each packet offered to a link", fifo, |e, _| e.links[0].counts.dropped_queue -= 1),
        ("no more waits at a link", fifo, |e, _| e.links[0].counts.most = u64::MAX),
        ("each packet that a flow sends", fifo, |e, _| e.flows[1].data.sent += 1),
        ("each packet that a flow sends", fifo, |e, _| e.flows[1].acks.arrived += 1),
        ("no acknowledgement reaches", fifo, |e, _| tcp(e).watch.ack(10, 9)),
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
    let narrow: Spoil = |_, p| p.links[0].forward.queue = crate::resolve::plan::QueueLimit::Bytes(2_999);
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
    let plan = Scenario::from_toml(text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
    let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
    engine.now = Time(1);
    let said = engine.run(&mut |_| true).expect_err("the flow starts at 0").to_string();
    assert!(said.contains("time never goes back; 0 ns after 1 ns (seed 1)"), "{said}");
}

#[test]
fn a_run_that_records_too_much_ends_in_an_error() {
    for record in
        ["interval = \"change\"", "interval = \"9 s\", segments = true", "interval = \"1 ms\", links = true"]
    {
        let text = format!(
            "duration = \"60 s\"\nrecord = {{ {record} }}\n[link.x]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\n"
        );
        let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
        let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
        engine.tap = Tap::new(&plan, None).unwrap();
        engine.recorder.most = 10_000;
        let said = engine.run(&mut |_| true).expect_err(record).to_string();
        assert!(said.contains("more than 10000 rows; choose a longer interval"), "{record}: {said}");
        assert!(
            engine.recorder.rows() + engine.tap.map_or(0, |tap| tap.rows()) < 10_000 + 200_000,
            "{record}"
        );
    }
}

/// How many places are found in a chain of three links with flows through and across each, and how far apart they are, ms.
fn places(set: &[(&str, &str)], effort: Effort) -> (usize, u64) {
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
    let set: Vec<_> = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let plan = Scenario::from_toml(&text, "x.toml", &set).and_then(|s| s.resolve()).unwrap();
    let engine = Engine::new(&plan, None, effort, &mut no_supply).unwrap();
    let places = (engine.places.count, engine.places.apart.0 / 1_000_000);
    let of = |event| engine.place(engine.number(&event));
    if places.0 == 3 {
        // Behind the first link are the receiver of its own flow, its answers, and the sender of the second's.
        assert_eq!(of(Event::Receiver(1)), of(Event::Sender(2)));
        assert_ne!(of(Event::Receiver(1)), of(Event::Sender(1)));
        assert_eq!(of(Event::Stop(3)), of(Event::Sender(3)));
    }
    places
}

/// Behind the last link there are only receivers, which answer ahead of time: they are where its senders are.
#[test]
fn places_are_what_lies_between_links() {
    assert_eq!(places(&[], Effort::Least), (3, 20));
    assert_eq!(places(&[("link.y.delay", "\"0 s\"")], Effort::Least), (2, 20));
    // What decides at departure is asked again when its last packet arrives: both its ends are one place.
    assert_eq!(
        places(&[("link.y.queue", "{ kind = \"codel\", limit = \"9 packets\" }")], Effort::Least),
        (2, 20)
    );
    // Three links with 100 packets a second each: six in 20 ms, one in 3 ms, nine in 30 ms.
    let slow = |rate, delay| {
        let rates = ["link.x.rate", "link.y.rate", "link.z.rate"].map(|key| (key, rate));
        places(&[&rates[..], &[("link.x.delay", delay)]].concat(), Effort::Least)
    };
    assert_eq!(slow("\"1.2 Mbit/s\"", "\"20 ms\""), (3, 20));
    assert_eq!(slow("\"1.2 Mbit/s\"", "\"3 ms\""), (2, 30));
    assert_eq!(slow("\"0.12 Mbit/s\"", "\"20 ms\"").0, 1);
    // Where somebody looks, all is one.
    assert_eq!(places(&[("record", "{ interval = \"change\" }")], Effort::Least).0, 1);
    assert_eq!(places(&[("record", "{ interval = \"1 s\", links = true }")], Effort::Least).0, 1);
    assert_eq!(places(&[], Effort::Plain).0, 1);
}

/// What is said of 120 s of this scenario, of which a run may keep so much at once.
fn kept(most: u64, link: &str, flow: &str) -> Option<String> {
    let text = format!(
        "duration = \"120 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n{link}\n[[flow]]\nname = \"fat\"\npath = [\"x\"]\n{flow}\n"
    );
    let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
    let mut engine = Engine::new(&plan, None, Effort::Least, &mut no_supply).unwrap();
    engine.kept.most = most;
    let ends = engine.run(&mut |_| true).and_then(|()| engine.check_kept(&plan));
    ends.err().map(|e| e.to_string())
}

#[test]
fn a_run_that_keeps_too_much_at_once_ends_in_an_error_that_names_where_that_is() {
    // Of 2500 packets a second the link sends 833, so by 18 s 30,000 wait.
    let cbr = "traffic = { kind = \"cbr\", rate = \"30 Mbit/s\", packet = \"1500 bytes\" }";
    for queue in ["drop-tail\"", "codel\", target = \"99 s\", interval = \"100 s\"", "priority\""] {
        // A queue of packets that take whole nanoseconds keeps nothing, one in bytes does.
        let unit = if queue.starts_with("drop") { "kB" } else { "packets" };
        let link = format!("queue = {{ kind = \"{queue}, limit = \"1000000 {unit}\" }}");
        let said = kept(30_000, &link, cbr).expect(queue);
        assert!(said.contains("on link x/forward; a run may keep 30000, and a flow have 4194304"), "{said}");
        assert_eq!(kept(30_000, &link.replace("1000000", "10000"), cbr), None);
    }
    // Of a window of 700 segments of 1500 bytes 417 fill the path and 283 wait, of which nothing more is kept. All 700 are under way, there
    // or back, and the sender has room for 1024, the next power of two.
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
