//! Link layers from a scenario's text to its results: demand assignment, ARQ, thinning of
//! acknowledgements, opportunities.

use bentpipe_sim::record::Report;
use bentpipe_sim::{Scenario, no_supply, run_by_reference};

use crate::outcome::{close, plan, report};

/// Bulk data over 10 Mbit/s and 250 ms each way, with these keys of the two directions.
fn bulk(duration: &str, forward: &str, reverse: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n{forward}\n[link.x.reverse]\n{reverse}\n\
         [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\nprofile = \"paper\"\n"
    )
}

#[test]
fn a_round_trip_over_demand_assignment_has_its_closed_form() {
    let rtt_ms = |access: &str| {
        let reverse = format!(
            "rate = \"2 Mbit/s\"\naccess = {{ kind = \"dama\", frame = \"20 ms\", slots = 10{access} }}"
        );
        let r = report(&format!("{}receive_window = \"1 segments\"\n", bulk("1.5 s", "", &reverse)));
        r.flows[0].rtt.expect("one round trip").min_s * 1e3
    };
    // Data takes 251.2 ms. The acknowledgement is asked for at 260 ms; the grant takes 500 ms and a frame,
    // its slot 2 ms, the way 250 ms.
    close(rtt_ms(""), 260.0 + 520.0 + 2.0 + 250.0, 1e-9);
    // 600 ms after 260 ms a frame begins; 601 ms after, the next one is 19 ms away.
    close(rtt_ms(", grant_delay = \"600 ms\""), 260.0 + 600.0 + 2.0 + 250.0, 1e-9);
    close(rtt_ms(", grant_delay = \"601 ms\""), 260.0 + 620.0 + 2.0 + 250.0, 1e-9);
    // With slots of its own it waits for the first of a frame, or if all are its own for the next one.
    close(rtt_ms(", cra = 1"), 260.0 + 2.0 + 250.0, 1e-9);
    close(rtt_ms(", cra = 10"), 252.0 + 2.0 + 250.0, 1e-9);
    close(rtt_ms(", vbdc = 0, free = 1"), 260.0 + 2.0 + 250.0, 1e-9);
}

#[test]
fn thinned_acknowledgements_do_not_wait_for_each_other() {
    // One acknowledgement of 40 bytes for each packet of 1500: 10 Mbit/s of data need 267 kbit/s, and there
    // are 64. A thousand take 5 s.
    let reverse = "rate = \"64 kbit/s\"\nqueue = { kind = \"drop-tail\", limit = \"1000 packets\" }";
    let run = |more: &str| report(&bulk("200 s", "", &format!("{reverse}\n{more}")));
    let (all, thinned) = (run(""), run("ack_thinning = {}"));
    let p50 = |r: &Report| r.flows[0].rtt.expect("round trips").p50_s;
    assert!(p50(&all) > 5.0 && p50(&thinned) < 0.8, "{} s, {} s", p50(&all), p50(&thinned));
    assert_eq!((all.links[1].thinned_acks, thinned.links[0].thinned_acks), (0, 0));
    let back = &thinned.links[1];
    assert!(back.thinned_acks > 2 * back.delivered_packets && back.dropped_queue == 0, "{back:?}");
    // More data than one packet for each acknowledgement that passes.
    assert!(thinned.packets > 3 * back.delivered_packets, "{thinned:?}");
}

#[test]
fn arq_trades_loss_for_delay() {
    let loss = "loss = { kind = \"packet-error\", rate = 0.2 }";
    let run = |arq: &str| report(&bulk("300 s", &format!("{loss}\n{arq}"), ""));
    let (bare, repeated) = (run(""), run("arq = { tries = 5 }"));
    let link = &repeated.links[0];
    let packets = (link.delivered_packets + link.dropped_error) as f64;
    assert_eq!(bare.links[0].repeated, 0);
    close(link.repeated as f64 / packets, 0.2 + 0.04 + 0.008 + 0.0016, 0.02);
    let left = 0.2_f64.powi(5);
    let error = (packets * left).sqrt();
    assert!((link.dropped_error as f64 - packets * left).abs() < 4.0 * error + 1.0, "{link:?}");
    assert!(repeated.flows[0].goodput_bps > 20.0 * bare.flows[0].goodput_bps, "{:?}", repeated.flows[0]);
    let p95 = |r: &Report| r.flows[0].rtt.expect("round trips").p95_s;
    assert!(p95(&repeated) > p95(&bare), "{:?}", repeated.flows[0]);
}

/// A file in a directory of its own.
fn file(name: &str, text: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn opportunities_are_the_rate_of_a_direction() {
    // Two opportunities in each of 100 ms, none in the next 100.
    let lines: String = (1..=100).map(|ms| format!("{ms}\n{ms}\n")).chain(["200\n".to_owned()]).collect();
    let path = file("bursts.up", &lines);
    let text = |queue: &str| {
        bulk("60 s", &format!("opportunities = {path:?}\nqueue = {{ {queue} }}"), "rate = \"5 Mbit/s\"")
            .replace("rate = \"10 Mbit/s\"\n", "")
    };
    let mean = 201.0 * 1_504.0 * 8.0 / 0.2;
    for queue in [
        "kind = \"drop-tail\", limit = \"1 bdp\"",
        "kind = \"fq-codel\"",
        "kind = \"pie\", limit = \"2 bdp\"",
    ] {
        let r: Report = report(&text(queue));
        close(r.links[0].rate_bps as f64, mean, 1e-9);
        assert!(r.links[0].utilisation > 0.2 && r.links[0].utilisation <= 1.0, "{queue}: {:?}", r.links[0]);
        let carried = r.links[0].delivered_packets as f64 * 1_500.0 * 8.0 / 60.0;
        close(carried, mean * r.links[0].utilisation, 0.02);
    }
}

/// A repeat that is due at 14 ms goes at 16 ms, the next opportunity. Who looks at 13 ms sees that, who
/// does not finds out at 14 ms.
#[test]
fn who_watches_the_links_changes_nothing() {
    let path = file("each-4-ms.up", "4\n");
    for in_order in [false, true] {
        let text = |more: &str| {
            format!(
                "duration = \"5 s\"\n{more}\n[link.x]\nopportunities = {path:?}\ndelay = \"7 ms\"\n\
                 loss = {{ kind = \"packet-error\", rate = 0.4 }}\n\
                 arq = {{ tries = 3, round_trip = \"10 ms\", in_order = {in_order} }}\n\
                 [link.x.reverse]\nrate = \"1 Mbit/s\"\n[[flow]]\ncc = \"reno\"\npath = [\"x\"]\nprofile = \"paper\"\n\
                 receive_window = \"1 segments\"\n"
            )
        };
        let unseen = report(&text(""));
        assert!(unseen.links[0].repeated > 20 && unseen.links[0].dropped_error > 2, "{unseen:?}");
        let seen = text("record = { interval = \"1 ms\", links = true }");
        let reference =
            run_by_reference(&plan(&seen), &mut no_supply, &mut |_| true).expect("a run that ends");
        for seen in [report(&seen), reference.report] {
            assert_eq!(format!("{seen:?}"), format!("{unseen:?}"), "in order: {in_order}");
        }
    }
}

/// The message about these keys of a link.
fn message(keys: &str) -> String {
    let text = bulk("1 s", keys, "");
    let read = Scenario::from_toml(&text, "my.toml", &[]).and_then(|s| s.resolve());
    let said = read.map(|_| ()).expect_err(keys).to_string();
    assert!(said.starts_with("my.toml:") && said.lines().count() == 1, "{said}");
    said
}

#[test]
fn each_mistake_in_a_link_layer_is_named() {
    let dama =
        |more: &str| message(&format!("access = {{ kind = \"dama\", frame = \"20 ms\", slots = 10{more} }}"));
    for (said, parts) in [
        (
            message("access = { kind = \"aloha\", frame = \"20 ms\" }"),
            &[":5: link.x.access.kind: ", "aloha", "dama"][..],
        ),
        (message("access = { kind = \"dama\", slots = 10 }"), &[":5: link.x.access.frame: ", "missing"]),
        (
            message("access = { kind = \"dama\", frame = \"20 ms\", slots = 0 }"),
            &["link.x.access.slots: ", "from 1"],
        ),
        (
            message("access = { kind = \"dama\", frame = \"9 ns\", slots = 10 }"),
            &["link.x.access.frame: ", "too short"],
        ),
        (
            message("access = { kind = \"dama\", frame = \"1 us\", slots = 10 }"),
            &["link.x.access.slots: ", "no whole byte"],
        ),
        (dama(", cra = 11"), &["link.x.access.cra: ", "11", "10 slots"]),
        (dama(", cra = 8, vbdc = 3"), &["link.x.access.vbdc: ", "the 2 slots"]),
        (dama(", vbdc = 0"), &["link.x.access.cra: ", "nothing is ever sent"]),
        (dama(", grant_delay = \"2 d\""), &["link.x.access.grant_delay: ", "at most 1 d"]),
        (message("arq = { tries = 0 }"), &["link.x.arq.tries: ", "from 1"]),
        (message("arq = {}"), &["link.x.arq.tries: ", "missing"]),
        (message("arq = { tries = 3, in_order = 1 }"), &["link.x.arq.in_order: ", "true or false"]),
        (message("ack_thinning = true"), &["link.x.ack_thinning: ", "table"]),
        (message("ack_thinning = { keep = 0 }"), &["link.x.ack_thinning.keep: ", "from 1"]),
        (message("opportunities = \"none.up\""), &["link.x.opportunities: ", "none.up", "no such file"]),
        (
            message(
                "access = { kind = \"dama\", frame = \"20 ms\", slots = 10 }\nup = [[\"0 s\", true], [\"0.5 s\", false]]",
            ),
            &["link.x.access: ", "cannot be combined", "changes"],
        ),
        (
            message(
                "access = { kind = \"dama\", frame = \"20 ms\", slots = 10 }\nqueue = { kind = \"drop-tail\", limit = \"0 packets\" }",
            ),
            &["link.x.access: ", "no room", "50 packets"],
        ),
    ] {
        assert!(parts.iter().all(|part| said.contains(part)), "{said}: {parts:?}");
    }
    for (name, text, parts) in [
        ("letters", "1\n2\nthree\n", &["line 3", "whole number of milliseconds"][..]),
        ("negative", "-1\n", &["line 1", "from 0"]),
        ("gap", "1\n\n2\n", &["line 2", "whole number"]),
        ("back", "5\n4\n", &["line 2", "4 comes after 5"]),
        ("empty", "", &["no opportunity"]),
        ("zero", "0\n0\n", &["0 ms", "must be later"]),
    ] {
        let path = file(&format!("{name}.up"), text);
        let said = message(&format!("opportunities = {path:?}"));
        assert!(said.contains("my.toml:5: link.x.opportunities: "), "{said}");
        assert!(
            !said.contains("three") && !said.contains("-1"),
            "what is no such file is not quoted: {said}"
        );
        assert!(parts.iter().all(|part| said.contains(part)), "{said}: {parts:?}");
    }
}

#[test]
fn a_packet_of_no_bytes_is_no_wake() {
    // Without a header the segments that open and close a connection have no bytes. ARQ announces wakes,
    // which are no packets either.
    let text = "duration = \"2 s\"\n[link.x]\nrate = \"500 kbit/s\"\ndelay = \"1 ms\"\narq = { tries = 2 }\n\
                queue = { kind = \"drop-tail\", limit = \"99 packets\" }\n[[flow]]\ncc = \"reno\"\npath = [\"x\"]\ncount = 2\n\
                header = \"0 bytes\"\ntraffic = { kind = \"bulk\", size = \"20 kB\" }\n";
    let r = report(text);
    let sent: u64 = r.flows.iter().map(|flow| flow.sent_packets).sum();
    assert!(r.flows.iter().all(|flow| flow.delivered_bytes == 20_000), "{r:?}");
    // Each flow: SYN, the acknowledgement of the answer, FIN, and the last acknowledgement.
    let link = &r.links[0];
    assert_eq!((link.dropped_queue, link.dropped_error, link.delivered_packets), (0, 0, sent + 8));
}
