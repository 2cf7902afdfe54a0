//! A packet that is still inside a link when the run ends is neither dropped nor lost,
//! whatever is known of its fate.

use bentpipe_sim::record::{LinkReport, Report, SegmentEvent};

use crate::outcome::{outcome, report};

/// Constant-rate traffic of 1000-byte packets over one link.
fn text(duration: &str, link: &str, rate: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[record]\ninterval = \"1 s\"\nflows = false\nlinks = true\n\
         [link.x]\ndelay = \"10 ms\"\n{link}\n\
         [[flow]]\nname = \"cbr\"\npath = [\"x\"]\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\", packet = \"1000 bytes\" }}\n"
    )
}

/// Does each packet that came have one fate, and one alone?
fn balances(link: &LinkReport) -> bool {
    let fates = [
        link.delivered_packets,
        link.dropped_queue,
        link.dropped_error,
        link.thinned_acks,
        link.inside_packets,
    ];
    link.offered_packets == fates.iter().sum::<u64>()
}

fn check(report: &Report) {
    assert!(report.links.iter().all(balances), "{:?}", report.links);
    let flow = &report.flows[0];
    assert_eq!(flow.sent_packets, report.packets + flow.dropped_packets + flow.inside_packets, "{flow:?}");
}

/// A packet takes 8 s at 1 kbit/s. So in 10 s one transmission ends, and at most one packet can be lost to
/// errors; all others wait or are being sent, whichever queue the link has.
#[test]
fn packets_that_wait_are_not_lost_to_errors() {
    for queue in [
        "kind = \"drop-tail\", limit = \"100000 packets\"",
        "kind = \"red\", limit = \"100000 packets\", min = \"50000 packets\", max = \"90000 packets\"",
        "kind = \"priority\", limit = \"100000 packets\"",
    ] {
        for rate in [
            "rate = \"1 kbit/s\"",
            "rate = [[\"0 s\", \"1 kbit/s\"], [\"5 s\", \"1 kbit/s\"]]\nnominal = { rate = \"1 kbit/s\" }",
        ] {
            let link =
                format!("{rate}\nqueue = {{ {queue} }}\nloss = {{ kind = \"packet-error\", rate = 0.5 }}");
            let report = report(&text("10 s", &link, "1 Mbit/s"));
            check(&report);
            let link = &report.links[0];
            let sent = report.flows[0].sent_packets;
            assert!((1250..=1251).contains(&sent), "{sent}");
            assert_eq!(link.delivered_packets + link.dropped_error, 1, "{queue}, {rate}: {link:?}");
            assert_eq!((link.dropped_queue, link.inside_packets), (0, sent - 1), "{queue}, {rate}");
        }
    }
}

/// All packets are lost, each when its transmission ends: at 1 Mbit/s every 8 ms, while 2 Mbit/s come. So
/// after t s there are 125 t of them.
#[test]
fn losses_are_counted_when_the_transmission_ends() {
    for kind in ["drop-tail", "priority"] {
        let link = format!(
            "rate = \"1 Mbit/s\"\nqueue = {{ kind = \"{kind}\", limit = \"100000 packets\" }}\nloss = {{ kind = \"packet-error\", rate = 1.0 }}"
        );
        let outcome = outcome(&text("10 s", &link, "2 Mbit/s"));
        check(&outcome.report);
        let trace = outcome.links.trace();
        let rows = trace
            .t_s
            .iter()
            .zip(&trace.link)
            .zip(&trace.dropped_packets)
            .filter(|((_, link), _)| **link == 0);
        let rows: Vec<(f64, u64)> = rows.map(|((t, _), dropped)| (*t, *dropped)).collect();
        assert!(rows.len() >= 10, "{rows:?}");
        for (t, dropped) in rows {
            assert!((dropped as f64 - 125.0 * t).abs() <= 1.0, "{kind}: {dropped} at {t} s");
        }
    }
}

/// A handover at 15 s flushes the queue. Twice the rate comes, so that each packet from 7.5 s on will wait
/// beyond it. At 14 s all of these still wait; at 16 s as many are dropped as have not been sent by 15 s.
#[test]
fn a_handover_drops_the_queue_when_it_comes() {
    for kind in ["drop-tail", "priority"] {
        let link = format!(
            "rate = \"1 Mbit/s\"\nqueue = {{ kind = \"{kind}\", limit = \"100000 packets\" }}\nhandover = {{ at = [\"15 s\"], queue = \"flushed\" }}"
        );
        for (duration, dropped) in [("14 s", 0..1), ("16 s", 1_870..1_880)] {
            let outcome = outcome(&text(duration, &link, "2 Mbit/s"));
            check(&outcome.report);
            let link = &outcome.report.links[0];
            assert!(dropped.contains(&link.dropped_queue), "{kind}, {duration}: {link:?}");
            let trace = outcome.links.trace();
            let early = trace.t_s.iter().zip(&trace.dropped_packets).filter(|(t, _)| **t < 15.0);
            assert!(
                early.clone().count() > 20 && early.map(|(_, n)| n).all(|&n| n == 0),
                "{kind}, {duration}"
            );
        }
    }
}

/// The same for what is on the air: a handover at 5 s loses packets that have not arrived then. On a path of
/// 2 s these were sent from 3 s on.
#[test]
fn a_handover_loses_what_is_in_flight_when_it_comes() {
    let link = "rate = \"1 Mbit/s\"\nhandover = { at = [\"5 s\"], in_flight = \"lost\" }";
    for (duration, lost) in [("4 s", 0..1), ("6 s", 120..260)] {
        let text = text(duration, link, "500 kbit/s").replace("10 ms", "2 s");
        let report = report(&text);
        check(&report);
        assert!(lost.contains(&report.links[0].dropped_error), "{duration}: {:?}", report.links[0]);
    }
}

/// The segments of a trace are an account of their own: at each sample as many were sent again
/// as the trace has by then.
#[test]
fn a_sample_has_the_retransmissions_so_far() {
    let outcome = outcome(
        r#"
        duration = "20 s"
        record = { interval = "50 ms", segments = true }
        [link.x]
        rate = "4 Mbit/s"
        delay = "30 ms"
        queue = { kind = "drop-tail", limit = "20 packets" }
        loss = [{ kind = "packet-error", rate = 0.01 }, { kind = "outage", from = "8 s", to = "10 s" }]
        [[flow]]
        name = "one"
        cc = "cubic"
        path = ["x"]
        [[flow]]
        name = "two"
        cc = "reno"
        path = ["x"]
        "#,
    );
    let (trace, segments) = (outcome.flows.trace(), &outcome.segments);
    let again = |flow: u32, until: f64| {
        let before = segments.t_s.partition_point(|t| *t <= until);
        let of_flow =
            |i: &usize| segments.flow[*i] == flow && segments.event[*i] == SegmentEvent::Resent as u8;
        (0..before).filter(of_flow).count() as u64
    };
    for (i, found) in trace.retransmitted_packets.iter().enumerate().step_by(7) {
        assert_eq!(*found, again(trace.flow[i], trace.t_s[i]), "{} s", trace.t_s[i]);
    }
    for (flow, report) in (0..).zip(&outcome.report.flows) {
        assert!(report.retransmitted_packets > 20 && report.timeouts > 0, "{report:?}");
        let last = trace.flow.iter().rposition(|f| *f == flow).expect("samples");
        let missing = report.retransmitted_packets - trace.retransmitted_packets[last];
        assert!(missing <= 3, "{missing} in the last 50 ms");
    }
}
