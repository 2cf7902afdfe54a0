//! Effects of each kind of queue on the flows that cross it.

use bentpipe_sim::Scenario;
use bentpipe_sim::plan::QueueLimit;
use bentpipe_sim::record::{Report, SegmentEvent};

use crate::outcome::{outcome, plan, report};

/// Eight SACK flows over 15 Mbit/s and 100 ms, through RED with the papers' parameters.
fn red_dumbbell(red: &str, flow: &str) -> Report {
    report(&format!(
        r#"
        duration = "100 s"
        [link.sat]
        rate = "15 Mbit/s"
        delay = "50 ms"
        queue = {{ kind = "red", limit = "2.5 bdp", min = 0.15, max = 0.5, mean_packet = "1040 bytes"{red} }}
        [link.sat.reverse]
        queue = {{ kind = "drop-tail", limit = "10000 packets" }}
        [[flow]]
        cc = "reno"
        path = ["sat"]
        profile = "paper"
        mss = "1000 bytes"
        receive_window = "128 segments"
        initial_ssthresh = 16
        count = 8
        start_jitter = "1 s"
        {flow}
        "#
    ))
}

#[test]
fn red_marks_where_it_would_drop_and_marked_flows_lose_nothing() {
    let r = red_dumbbell(", ecn = true", "ecn = true");
    let link = &r.links[0];
    assert!(r.warnings.is_empty(), "{:?}", r.warnings);
    assert!(link.marked > 50, "{}", link.marked);
    assert_eq!((link.dropped_queue, r.flows.iter().map(|f| f.retransmitted_packets).sum::<u64>()), (0, 0));
    assert!(link.utilisation > 0.9, "{}", link.utilisation);

    // Without ECN at either end the same decisions drop the packet.
    for dropping in [red_dumbbell("", "ecn = false"), red_dumbbell(", ecn = true", "ecn = false")] {
        let link = &dropping.links[0];
        assert_eq!(link.marked, 0);
        assert!(link.dropped_queue > 50, "{}", link.dropped_queue);
        let lost: u64 = dropping.flows.iter().map(|f| f.dropped_packets).sum();
        assert_eq!(link.dropped_queue, lost);
        // Early drops keep the queue well below its limit of 451 packets.
        assert!(link.queue_mean_packets < 225.0 && link.queue_max_packets < 451, "{link:?}");
    }
    // Either codepoint of an ECN-capable packet gives the same result here.
    assert_eq!(red_dumbbell(", ecn = true", "ecn = true\nect1 = true").flows, r.flows);
    // RED without marks makes no draw for packets that could be marked.
    assert_eq!(red_dumbbell("", "ecn = true").links[0].marked, 0);
}

#[test]
fn marks_cut_the_window_once_in_a_window() {
    // Nearly every packet that finds 7 packets or more is marked, so each congestion has many marks. Yet the
    // window is halved once, and nothing is lost.
    let text = r#"
        duration = "60 s"
        record = { interval = "change" }
        [link.sat]
        rate = "10 Mbit/s"
        delay = "50 ms"
        queue = { kind = "red", limit = "100 packets", min = "4 packets", max = "7 packets", weight = 1.0, max_p = 0.8, wait = false, ecn = true }
        [[flow]]
        cc = "reno"
        path = ["sat"]
        profile = "paper"
        initial_ssthresh = 60
        ecn = true
    "#;
    let out = outcome(text);
    let (flow, link) = (&out.report.flows[0], &out.report.links[0]);
    assert_eq!((link.dropped_queue, flow.retransmitted_packets, flow.timeouts), (0, 0, 0));
    let trace = out.flows.trace();
    let cuts: Vec<f64> = (1..trace.cwnd.len())
        .filter(|i| trace.cwnd[*i] < trace.cwnd[i - 1] - 0.5)
        .map(|i| trace.t_s[i])
        .collect();
    assert!(
        cuts.len() > 3 && link.marked > 10 * cuts.len() as u64,
        "{} cuts, {} marks",
        cuts.len(),
        link.marked
    );
    let base = 0.1 + (1500.0 + 40.0) * 8.0 / 10e6;
    let closest = cuts.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    assert!(closest > base, "two cuts {closest} s apart, within one round trip of {base} s");
}

/// `busy`, without the errors. A drop-tail link counts them when it takes a packet, a link that decides at
/// departure when it sends it. So packets that still wait at the end make a difference.
fn without_errors(queue: &str) -> Report {
    let mut report = busy(queue);
    report.links.iter_mut().for_each(|link| link.dropped_error = 0);
    report.flows.iter_mut().for_each(|flow| flow.dropped_packets = 0);
    report
}

/// Four flows over a bottleneck with losses in both directions and a queue of this
/// kind, ACKs crossing one, too.
fn busy(queue: &str) -> Report {
    report(&format!(
        r#"
        duration = "60 s"
        [link.lan]
        rate = "100 Mbit/s"
        delay = "1 ms"
        queue = {{ kind = "drop-tail", limit = "1000 packets" }}
        [link.sat]
        rate = "4 Mbit/s"
        delay = "30 ms"
        queue = {{ {queue} }}
        loss = {{ kind = "packet-error", rate = 1e-3 }}
        [link.sat.reverse]
        rate = "50 kbit/s"
        loss = {{ kind = "packet-error", rate = 1e-2 }}
        [[flow]]
        cc = "cubic"
        path = ["lan", "sat"]
        count = 2
        start_jitter = "1 s"
        [[flow]]
        cc = "reno"
        path = ["sat"]
        [[flow]]
        path = ["sat"]
        traffic = {{ kind = "cbr", rate = "1 Mbit/s", on = "2 s", off = "3 s" }}
        "#
    ))
}

#[test]
fn a_link_that_decides_at_departure_but_has_nothing_to_decide_is_drop_tail() {
    // One band, or a target never reached: first in, first out, and a packet that finds no room is dropped.
    // The path through the engine is different, and the result the same to the last bit.
    for limit in ["0 packets", "1 packets", "37 packets", "20 kB"] {
        let plain = busy(&format!("kind = \"drop-tail\", limit = \"{limit}\""));
        let sat: Vec<_> = plain.links.iter().filter(|l| l.name == "sat").collect();
        assert!(
            sat.iter().any(|l| l.dropped_queue > 50) && sat.iter().any(|l| l.dropped_error > 1),
            "{sat:?}"
        );
        let plain = without_errors(&format!("kind = \"drop-tail\", limit = \"{limit}\""));
        assert_eq!(
            without_errors(&format!("kind = \"priority\", bands = 1, limit = \"{limit}\"")),
            plain,
            "{limit}"
        );
        if limit != "0 packets" {
            let lax = format!("kind = \"codel\", target = \"1 h\", interval = \"2 h\", limit = \"{limit}\"");
            assert_eq!(without_errors(&lax), plain, "{limit}");
            let lax = format!("kind = \"pie\", target = \"1 h\", limit = \"{limit}\"");
            assert_eq!(without_errors(&lax), plain, "{limit}");
        }
    }
    // With room for all, one queue of FQ-CoDel is a first-in-first-out queue for all flows. (Without losses:
    // drop-tail counts those of packets that wait when the run ends, which here are many.)
    let flows = "receive_window = \"400 segments\"\n[[flow]]\ncc = \"cubic\"\npath = [\"sat\"]\nreceive_window = \"400 segments\"";
    let plain = bloated("kind = \"drop-tail\"", flows);
    assert!(plain.links[0].queue_max_packets > 500, "{:?}", plain.links[0]);
    let one = "kind = \"fq-codel\", queues = 1, target = \"1 h\", interval = \"2 h\"";
    assert_eq!(bloated(one, flows), plain);
}

/// Packets of constant-rate flows that a link of 1 Mbit/s has delivered (8 ms each), and dropped.
fn cbr_shares(queue: &str, flows: &[(&str, u32, &str)]) -> Vec<(u64, u64)> {
    let mut text = format!(
        "duration = \"80 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"0 ms\"\nqueue = {{ {queue} }}\n"
    );
    for (name, priority, rate) in flows {
        text += &format!(
            "[[flow]]\nname = \"{name}\"\npath = [\"sat\"]\npriority = {priority}\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\" }}\n"
        );
    }
    let r = report(&text);
    let link = &r.links[0];
    let sent: u64 = r.flows.iter().map(|f| f.sent_packets).sum();
    // The rest waits, or is being sent.
    let inside = sent - link.delivered_packets - link.dropped_queue;
    assert!(inside <= 2 * 50 + 1, "{inside} of {sent}");
    r.flows.iter().map(|f| (f.delivered_bytes / 1000, f.dropped_packets)).collect()
}

#[test]
fn a_band_sends_only_while_those_before_it_are_empty() {
    let queue = "kind = \"priority\", limit = \"50 packets\"";
    // 10 000 packets fit into 80 s. The first band needs twice that and gets all; of the second not one
    // passes. Of its 10 001 from 0 s to 80 s, 50 wait in the end.
    let shares = cbr_shares(queue, &[("high", 0, "2 Mbit/s"), ("low", 1, "1 Mbit/s")]);
    assert_eq!((shares[0].0, shares[1]), (10_000, (0, 9_951)));
    // The first needs 0.75 Mbit/s and loses nothing; the second gets the other quarter,
    // 2500 packets, and 50 wait.
    let shares = cbr_shares(queue, &[("low", 1, "2 Mbit/s"), ("high", 0, "750 kbit/s")]);
    assert_eq!(shares[1].1, 0);
    assert!(shares[1].0.abs_diff(7_500) <= 1 && shares[0].0.abs_diff(2_500) <= 1, "{shares:?}");
    assert!(shares[0].1.abs_diff(20_001 - 2_500 - 50) <= 1, "{shares:?}");
}

/// One Reno flow over 10 Mbit/s and 40 ms with a buffer of 1.2 s, thirty times the bandwidth-delay product.
fn bloated(queue: &str, flow: &str) -> Report {
    report(&format!(
        r#"
        duration = "120 s"
        [link.sat]
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = {{ limit = "1000 packets", {queue} }}
        [link.sat.reverse]
        queue = {{ kind = "drop-tail", limit = "1000 packets" }}
        [[flow]]
        cc = "reno"
        path = ["sat"]
        {flow}
        "#
    ))
}

#[test]
fn a_bloated_buffer_is_kept_near_the_target() {
    // A packet of 1500 bytes is 1.2 ms of waiting.
    let mean_ms = |r: &Report| 1.2 * r.links[0].queue_mean_packets;
    let full = bloated("kind = \"drop-tail\"", "");
    assert!(mean_ms(&full) > 500.0 && full.links[0].queue_max_packets == 1000, "{} ms", mean_ms(&full));
    for kind in ["codel", "fq-codel"] {
        let r = bloated(&format!("kind = \"{kind}\""), "");
        assert!(mean_ms(&r) < 2.0 * 5.0, "{kind}: {} ms", mean_ms(&r));
        // Reno needs a buffer of one bandwidth-delay product; with none it would have
        // three quarters of the rate.
        assert!(r.links[0].utilisation > 0.8, "{kind}: {}", r.links[0].utilisation);
        assert!(r.links[0].dropped_queue < 200 && r.links[0].marked == 0);
        let ecn = bloated(&format!("kind = \"{kind}\", ecn = true"), "ecn = true");
        assert_eq!((ecn.links[0].dropped_queue, ecn.flows[0].retransmitted_packets), (0, 0), "{kind}");
        assert!(ecn.links[0].marked > 50 && mean_ms(&ecn) < 2.0 * 5.0, "{kind}: {} ms", mean_ms(&ecn));
        assert!(ecn.warnings.is_empty(), "{:?}", ecn.warnings);
    }
    let pie = bloated("kind = \"pie\"", "");
    assert!((7.5..22.5).contains(&mean_ms(&pie)), "{} ms", mean_ms(&pie));
    assert!(pie.links[0].utilisation > 0.9, "{}", pie.links[0].utilisation);
    let ecn = bloated("kind = \"pie\", ecn = true, mark_p = 1.0", "ecn = true");
    assert!((7.5..22.5).contains(&mean_ms(&ecn)), "{} ms", mean_ms(&ecn));
    assert_eq!((ecn.links[0].dropped_queue, ecn.links[0].marked > 50), (0, true));
}

#[test]
fn a_queue_of_its_own_isolates_a_flow_from_one_that_answers_to_nothing() {
    // Constant-rate traffic at twice the rate of the link. In a queue that all share
    // it gets nearly everything.
    let flood = "[[flow]]\npath = [\"sat\"]\ntraffic = { kind = \"cbr\", rate = \"20 Mbit/s\", packet = \"1500 bytes\" }";
    let reno = |kind: &str| bloated(&format!("kind = \"{kind}\""), flood).flows[0].goodput_bps;
    for kind in ["drop-tail", "codel", "pie"] {
        assert!(reno(kind) < 0.1e6, "{kind}: {}", reno(kind));
    }
    // Half the link is 5 Mbit/s; of each 1500 bytes 1448 are payload. Alone under CoDel, Reno uses nine
    // tenths of it.
    let half = 5e6 * 1448.0 / 1500.0;
    assert!((0.85 * half..half).contains(&reno("fq-codel")), "{}", reno("fq-codel"));
}

/// Packets that wait, each 100 ms, while 12 Mbit/s of packets of 1000 bytes come. The link sends 8 Mbit/s,
/// and from 2 s on 2 Mbit/s.
fn waiting_with(kind: &str, limit: &str) -> (Vec<f64>, Report) {
    let text = format!(
        r#"
        duration = "3 s"
        record = {{ interval = "100 ms", flows = false, links = true }}
        [link.x]
        rate = [["0 s", "8 Mbit/s"], ["2 s", "2 Mbit/s"]]
        delay = "10 ms"
        queue = {{ kind = "{kind}", limit = "{limit}" }}
        [[flow]]
        path = ["x"]
        traffic = {{ kind = "cbr", rate = "12 Mbit/s", packet = "1000 bytes" }}
        "#
    );
    let out = outcome(&text);
    let trace = out.links.trace();
    let forward = (0..trace.t_s.len()).filter(|&i| trace.link[i] == 0);
    (forward.map(|i| trace.queue_packets[i]).collect(), out.report)
}

#[test]
fn a_limit_in_time_is_of_the_rate_at_the_instant() {
    // 50 ms are 50 packets at 8 Mbit/s, and 12 at 2 Mbit/s.
    for kind in ["drop-tail", "drop-front"] {
        let (waiting, report) = waiting_with(kind, "50 ms");
        assert!(waiting[5..20].iter().all(|&n| (49.0..=50.0).contains(&n)), "{kind}: {waiting:?}");
        assert!(waiting[25..30].iter().all(|&n| (11.0..=12.0).contains(&n)), "{kind}: {waiting:?}");
        assert_eq!(report.links[0].queue_max_packets, 50);
        // Of 12 Mbit/s as much arrives as the link sends: 250 packets in the last second, and
        // 10 ms of them are under way.
        let sent = report.links[0].delivered_packets as f64;
        assert!((sent - (2_000.0 + 250.0)).abs() < 6.0, "{kind}: {sent}");
        // 2.1 s: of 50 packets drop-tail has sent 25 in 100 ms; drop-front has dropped down to 12 at once.
        let expected = if kind == "drop-tail" { 24.0..=26.0 } else { 11.0..=12.0 };
        assert!(expected.contains(&waiting[21]), "{kind}: {}", waiting[21]);
    }
}

#[test]
fn a_limit_in_time_is_one_in_bytes_where_the_rate_is_constant() {
    let with = |kind: &str, limit: &str| {
        let queue = format!("queue = {{ kind = \"{kind}\", limit = \"{limit}\" }}");
        let flow = "[[flow]]\ncc = \"cubic\"\npath = [\"x\"]\n";
        format!("duration = \"5 s\"\n[link.x]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n{queue}\n{flow}")
    };
    for kind in ["drop-tail", "drop-front"] {
        assert_eq!(plan(&with(kind, "30 ms")).links[0].forward.queue, QueueLimit::Bytes(30_000));
        assert_eq!(report(&with(kind, "30 ms")), report(&with(kind, "30 kB")), "{kind}");
        let small = plan(&with(kind, "1 ms"));
        assert!(
            small.warnings[0].contains("1 ms, which is 1000 bytes at the lowest rate"),
            "{:?}",
            small.warnings
        );
    }
    let refused = Scenario::from_toml(&with("red", "30 ms"), "x.toml", &[]).and_then(|s| s.resolve());
    let said = refused.expect_err("no limit in time").to_string();
    assert!(said.contains("link.x.queue.limit") && said.contains("only drop-tail and drop-front"), "{said}");
}

#[test]
fn drops_at_the_front_are_known_a_queue_earlier() {
    // A burst of 60 segments meets a queue of 40 packets of 1 ms. Drop-tail drops 41 to 59. Segment 60 goes
    // out with the first acknowledgement, at 41 ms, and arrives behind 40. Drop-front drops 1 to 19, and 20
    // follows 0 at once. So the receiver notices 40 ms earlier: one whole queue, as Lakshman et al. say.
    let with = |kind: &str| {
        outcome(&format!(
            r#"
            duration = "2 s"
            record = {{ interval = "change", segments = true }}
            [link.x]
            rate = "8 Mbit/s"
            delay = "20 ms"
            queue = {{ kind = "{kind}", limit = "40 packets" }}
            [[flow]]
            cc = "reno"
            path = ["x"]
            profile = "paper"
            mss = "960 bytes"
            header = "40 bytes"
            initial_window = 60
            receive_window = "1000 segments"
            "#
        ))
    };
    let first_repeat = |kind: &str| {
        let found = with(kind).segments;
        let resent = (0..found.t_s.len()).find(|&i| found.event[i] == SegmentEvent::Resent as u8);
        found.t_s[resent.expect("a repeat")]
    };
    let [tail, front] = ["drop-tail", "drop-front"].map(first_repeat);
    assert!((tail - front - 0.040).abs() < 0.003, "{front} and {tail}");
}
