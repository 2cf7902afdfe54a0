//! The rules of a constellation for packets that wait when tables change, each over two satellites and by hand.
//!
//! Satellites 0 and 1 are 600 km above stations "west" and "east", 3,000 km apart, with a laser between them. Light takes
//! 2.001 ms for 600 km, 10.007 ms for 3,000 km, and 10.205 ms from a station to the satellite of the other one. A packet
//! has 250 bytes, which take 1 ms at 2 Mbit/s.

use bentpipe_cc::{Hint, PathChange, Span};
use bentpipe_sim::record::Outcome;

use crate::networks::{by_both_loops, over_two, plan};

/// A run of 4 s of a flow, with these keys of the network. At 1 s station "west" changes over from satellite 0 to
/// satellite 1, there and back; the laser is not used from then on.
fn leaving(keys: &str, flow: &str) -> Outcome {
    let text = format!(
        "duration = \"4 s\"\nrecord = {{ transfers = true }}\n[network]\nshell = \"leaving\"\n{keys}\n[[flow]]\n{flow}\n"
    );
    by_both_loops(&text).expect("a run")
}

/// Of a port: packets that came, that it sent, and that it dropped.
fn port(of: &Outcome, name: &str) -> [u64; 3] {
    let found = of.report.links.iter().find(|link| link.name == name);
    found.map_or([0; 3], |link| [link.offered_packets, link.delivered_packets, link.dropped_queue])
}

/// Station "west" sends 20 packets, one each half millisecond from 990 ms on, and each takes 1 ms in its port. So 10 wait
/// there at 1 s. Those that were sent take the laser.
#[test]
fn packets_wait_at_the_station_that_leaves() {
    let cbr = "from = \"west\"\nto = \"east\"\nstart = \"990 ms\"\nstop = \"1 s\"\n\
               traffic = { kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"250 bytes\" }";
    let ports = "isl = { rate = \"8 Mbit/s\" }\ngsl = { rate = \"2 Mbit/s\" }";
    for (rule, [laser, dropped]) in [
        ("", [20, 0]),
        ("handover = { queue = \"kept\" }", [20, 0]),
        ("handover = { queue = \"flushed\" }", [10, 10]),
        ("handover = { queue = \"requeued\" }", [10, 0]),
        ("decide = \"departure\"", [10, 0]),
    ] {
        let of = leaving(&format!("{rule}\n{ports}"), cbr);
        assert_eq!(port(&of, "west>ground"), [20, 20 - dropped, dropped], "{rule}");
        assert_eq!(port(&of, "0>1"), [laser, laser, 0], "{rule}");
        assert_eq!(of.report.flows[0].dropped_packets, dropped, "{rule}");
        assert_eq!(of.report.network_flows[0].unrouted_packets, 0, "{rule}");
    }
}

/// Station "east" sends 20 packets, one each half millisecond from 980 ms on. Packet k comes to satellite 0 k / 2 ms after
/// 993.008 ms, so 14 of them come before 1 s, and the other 6 go back over the laser. The port to the ground takes 1 ms
/// for each, so it has begun 7 by 1 s, and 7 wait.
#[test]
fn packets_wait_at_the_satellite_that_is_left() {
    let cbr = "from = \"east\"\nto = \"west\"\nstart = \"980 ms\"\nstop = \"990 ms\"\n\
               traffic = { kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"250 bytes\" }";
    let ports =
        "isl = { rate = \"4 Mbit/s\" }\ngsl = { rate = \"4 Mbit/s\" }\ndown = { rate = \"2 Mbit/s\" }";
    for (rule, [sent, dropped]) in [
        ("handover = { queue = \"kept\" }", [14, 0]),
        ("handover = { queue = \"flushed\" }", [7, 7]),
        ("handover = { queue = \"requeued\" }", [7, 0]),
        ("decide = \"departure\"", [7, 0]),
    ] {
        let of = leaving(&format!("{rule}\n{ports}"), cbr);
        assert_eq!(port(&of, "1>0"), [20, 20, 0], "{rule}");
        assert_eq!(port(&of, "0>ground"), [sent + dropped, sent, dropped], "{rule}");
        let back = 20 - sent - dropped;
        assert_eq!((port(&of, "0>1"), port(&of, "1>ground")), ([back, back, 0], [back, back, 0]), "{rule}");
    }
}

/// What is flushed makes room: the queue of the station has room for 10 packets, which wait at 1 s. Of the 20 packets that
/// follow in the next 10 ms it has room for 10 more beside those that it sends then.
#[test]
fn what_is_flushed_leaves_room() {
    let cbr = "from = \"west\"\nto = \"east\"\nstart = \"980 ms\"\nstop = \"1010 ms\"\n\
               traffic = { kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"250 bytes\" }";
    let gsl = "{ rate = \"2 Mbit/s\", queue = { kind = \"drop-tail\", limit = \"10 packets\" } }";
    let of = |rule| leaving(&format!("{rule}\nisl = {{ rate = \"8 Mbit/s\" }}\ngsl = {gsl}"), cbr);
    // 60 packets come in 30 ms; 30 are sent by then, and 10 wait.
    assert_eq!(port(&of("handover = { queue = \"requeued\" }"), "west>ground"), [60, 40, 20]);
    // 20 sent, 10 dropped before 1 s and 10 at 1 s; then 20 come, and all are sent.
    assert_eq!(port(&of("handover = { queue = \"flushed\" }"), "west>ground"), [60, 40, 20]);
}

/// A ping takes 1 ms and 10.205 ms up, 1 ms and 2.001 ms down, and as long back: 28.413 ms. That of 1 s waits for 100 ms,
/// and that of 1.1 s waits behind it for 1 ms.
#[test]
fn a_station_sends_nothing_in_its_outage() {
    let ping = "from = \"west\"\nto = \"east\"\n\
                traffic = { kind = \"ping\", interval = \"100 ms\", packet = \"250 bytes\" }";
    let ports = "isl = { rate = \"1 Mbit/s\" }\ngsl = { rate = \"2 Mbit/s\" }";
    let of = leaving(&format!("handover = {{ outage = \"100 ms\" }}\n{ports}"), ping);
    let times = &of.transfers.completion_s;
    for (number, wanted_ms) in [(9, 36.019_384), (10, 128.412_968), (11, 29.412_968), (12, 28.412_968)] {
        assert!((1e3 * times[number] - wanted_ms).abs() < 3e-6, "{number}: {}", times[number]);
    }
}

/// Station "east" sends a ping each 100 ms. That of 1 s is at satellite 1 after 3.001 ms, which sends it from 1.1 s on: it
/// is there after 11.205 ms more, and back after 14.206 ms. A packet that west has sent at 990 ms over the laser passes it:
/// it is at satellite 1 by 1,005 ms and is sent to the ground, and its echo waits for 1.1 s, too.
#[test]
fn what_is_for_a_station_in_its_outage_waits_beside_the_queue() {
    let pings = "from = \"east\"\nto = \"west\"\n\
                 traffic = { kind = \"ping\", interval = \"100 ms\", packet = \"250 bytes\" }\n\
                 [[flow]]\nfrom = \"west\"\nto = \"east\"\nstart = \"990 ms\"\nstop = \"991 ms\"\n\
                 traffic = { kind = \"ping\", interval = \"100 ms\", packet = \"250 bytes\" }";
    let ports = "isl = { rate = \"1 Mbit/s\" }\ngsl = { rate = \"2 Mbit/s\" }";
    let of = leaving(&format!("handover = {{ outage = \"100 ms\" }}\n{ports}"), pings);
    let east: Vec<f64> = (0..of.transfers.completion_s.len())
        .filter(|&i| of.transfers.flow[i] == 0)
        .map(|i| 1e3 * of.transfers.completion_s[i])
        .collect();
    assert!((east[10] - 125.411_583).abs() < 3e-6, "{}", east[10]);
    // The echo of west's ping goes down behind the ping of 1 s, at 1,101 ms.
    let west = (0..of.transfers.completion_s.len()).find(|&i| of.transfers.flow[i] == 1).expect("a ping");
    assert!((1e3 * of.transfers.completion_s[west] - (111.0 + 1.0 + 10.205_099)).abs() < 3e-6);
}

/// Station "west" sends 40 packets, one each half millisecond from 980 ms on. Packet k comes to satellite 0 k / 2 ms after
/// 982.251 ms, so 36 of them before 1 s, when the satellite reaches "east" itself. The laser takes 1 ms for each and has
/// begun 18 by then. It asks for the next one at 1,000.251 ms.
#[test]
fn what_waits_looks_up_its_next_hop_when_its_turn_comes() {
    let cbr = "[[flow]]\nfrom = \"west\"\nto = \"east\"\nstart = \"980 ms\"\nstop = \"1 s\"\n\
               traffic = { kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"250 bytes\" }\n";
    for (rule, [laser, ground]) in [("arrival", [36, 4]), ("departure", [18, 22])] {
        let text = format!(
            "duration = \"4 s\"\n[network]\nshell = \"reaching\"\ndecide = \"{rule}\"\n\
             isl = {{ rate = \"2 Mbit/s\" }}\ngsl = {{ rate = \"8 Mbit/s\" }}\n{cbr}"
        );
        let of = by_both_loops(&text).expect("a run");
        assert_eq!(port(&of, "0>1"), [laser, laser, 0], "{rule}");
        assert_eq!(port(&of, "0>ground"), [ground, ground, 0], "{rule}");
        assert_eq!(port(&of, "1>ground"), [laser, laser, 0], "{rule}");
    }
    // From 2 s on nothing leads from satellite 0 to "east" for a second. Half of 1,000 packets a second overflow a laser
    // with room for 100, which all wait then and go nowhere, as do the 1,000 that come in that second.
    let cbr = cbr.replace("start = \"980 ms\"\nstop = \"1 s\"\n", "").replace("4 Mbit/s", "2 Mbit/s");
    let text = over_two(&cbr).replace("[network]", "[network]\ndecide = \"departure\"");
    let of = by_both_loops(&text).expect("a run");
    assert_eq!(of.report.network_flows[0].unrouted_packets, 1_100);
}

/// A host learns how long its station is out: its path changes at 1 s.
#[test]
fn hints_say_how_long_an_outage_is() {
    let dark = |handover: &str| {
        let keys = format!("{handover}\nshell = \"leaving\"");
        let flow = "[[flow]]\ncc = \"leocc\"\nfrom = \"west\"\nto = \"east\"\n";
        let plan = plan(&over_two(flow).replace("shell = \"two\"", &keys)).expect("a plan");
        plan.flows[0].hints.iter().map(|of| (of.at.0 / 1_000_000, of.hint)).collect::<Vec<_>>()
    };
    for (handover, ms) in [("", 0), ("handover = { outage = \"100 ms\" }", 100)] {
        let change = PathChange { ahead: Span::ZERO, dark: Span::from_millis(ms) };
        assert_eq!(dark(handover), [(1_000, Hint::PathChange(change))]);
    }
}

#[test]
fn words_of_handovers_are_checked() {
    let said = |keys: &str| {
        let text = over_two("[[flow]]\ncc = \"reno\"\npairs = \"all\"\n")
            .replace("[network]", &format!("[network]\n{keys}"));
        plan(&text).map(drop).expect_err(keys).to_string()
    };
    let message = said("handover = { queue = \"lost\" }");
    assert!(
        message.contains("network.handover.queue") && message.contains("kept, flushed, requeued"),
        "{message}"
    );
    let message = said("in_flight = \"lost\"");
    assert!(message.contains("network.in_flight"), "{message}");
}
