//! Whole runs against closed forms.

use crate::outcome::{close, geo, outcome, report};

#[test]
fn a_saturated_link_carries_payload_over_wire_size() {
    // 1460 of 1500 bytes are payload: 9.733 Mbit/s once the pipe is full. The threshold keeps slow
    // start from overshooting.
    let r =
        report(&geo("400 s", "", "cc = \"reno\"\ninitial_ssthresh = 420\nreceive_window = \"600 segments\""));
    let bits_per_s = 10e6 * 1460.0 / 1500.0;
    // Slow start from 1 to 417 segments takes nine round trips, during which about
    // 511 segments cross instead of 3750.
    let lost_at_start = (3750.0 - 511.0) * 1460.0 * 8.0;
    close(r.flows[0].goodput_bps, bits_per_s - lost_at_start / 400.0, 2e-3);
    assert_eq!(r.flows[0].retransmitted_packets, 0);
}

#[test]
fn the_round_trip_is_propagation_plus_transmission() {
    // A window of one segment: 500 ms + 1500 bytes (1.2 ms) + 40 bytes (0.032 ms) each round, nothing waits.
    let r = report(&geo("60 s", "", "cc = \"reno\"\nreceive_window = \"1 segments\""));
    close(r.flows[0].rtt.unwrap().min_s, 0.501_232, 1e-12);
    close(r.flows[0].rtt.unwrap().mean_s, 0.501_232, 1e-12);
    assert_eq!(r.packets, (60.0_f64 / 0.501_232).floor() as u64 + u64::from(60.0 % 0.501_232 > 0.2512));
    assert!(r.flows[0].limited.rwnd > 0.99, "{:?}", r.flows[0].limited);
}

#[test]
fn slow_start_doubles_every_round_and_a_transfer_takes_the_rounds_that_it_needs() {
    // 1 + 2 + 4 + ... + 64 = 127 segments take seven rounds; the last round also waits for its
    // 64 segments' transmission.
    let bytes = 127 * 1460;
    let r = report(&geo(
        "60 s",
        "",
        &format!("cc = \"reno\"\ntraffic = {{ kind = \"bulk\", size = \"{bytes} bytes\" }}"),
    ));
    let expected = 7.0 * 0.501_232 + 63.0 * 0.0012;
    close(r.flows[0].completion_s.unwrap(), expected, 1e-3);
    assert_eq!(r.flows[0].delivered_bytes, bytes);
    assert_eq!(r.flows[0].sent_packets, 127);
    close(r.flows[0].goodput_bps, bytes as f64 * 8.0 / r.flows[0].completion_s.unwrap(), 1e-9);
}

#[test]
fn a_short_last_segment_is_neither_padded_nor_lost() {
    let r = report(&geo("60 s", "", "cc = \"reno\"\ntraffic = { kind = \"bulk\", size = \"100001 bytes\" }"));
    assert_eq!(r.flows[0].delivered_bytes, 100_001);
    assert_eq!(r.flows[0].sent_packets, 69);
}

/// CUBIC on 10 Mbit/s, 100 ms and a buffer of twelve bandwidth-delay products, until `duration`: packets
/// dropped, largest window, first finite ssthresh.
fn first_slow_start(slow_start: &str, duration: &str) -> (u64, f64, Option<f64>) {
    let outcome = outcome(&format!(
        r#"
        duration = "{duration}"
        record = {{ interval = "10 ms" }}
        [link.l]
        rate = "10 Mbit/s"
        delay = "50 ms"
        queue = {{ kind = "drop-tail", limit = "12 bdp" }}
        [[flow]]
        path = ["l"]
        cc = {{ name = "cubic", slow_start = "{slow_start}" }}
        "#
    ));
    let trace = outcome.flows.trace();
    let most = trace.cwnd.iter().fold(0.0_f64, |most, cwnd| most.max(*cwnd));
    let first = trace.ssthresh.iter().copied().find(|t| t.is_finite());
    (outcome.report.links[0].dropped_queue, most, first)
}

/// RFC 9406: HyStart++ ends slow start while the queue still has room. Without it, slow start
/// ends by filling the queue.
#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let (dropped, most, ssthresh) = first_slow_start("hystart++", "4.5 s");
    let ssthresh = ssthresh.expect("slow start is over");
    assert_eq!(dropped, 0);
    assert!(ssthresh <= most && ssthresh > 0.9 * most, "{ssthresh} of {most}");
    let (dropped, most, ssthresh) = first_slow_start("standard", "4.5 s");
    assert!(dropped > 0);
    close(ssthresh.expect("slow start is over"), 0.7 * most, 0.01); // CUBIC's cut, RFC 9438 section 4.6
}

#[test]
fn vegas_keeps_between_alpha_and_beta_segments_in_the_queue() {
    let r = report(&geo("1000 s", "", "cc = \"vegas\""));
    // Equilibrium backlog 1 to 3 segments (Brakmo and Peterson); the mean includes the
    // time before equilibrium.
    assert!((0.0..3.5).contains(&r.links[0].queue_mean_packets), "{}", r.links[0].queue_mean_packets);
    assert!(r.links[0].queue_max_packets < 250);
    assert_eq!(r.links[0].dropped_queue, 0);
}

#[test]
fn reno_under_random_loss_follows_the_square_root_law() {
    // Mathis et al. 1997: W = sqrt(3/2) / sqrt(p) for periodic loss. Random loss gives
    // 1.31 / sqrt(p), the mean over time (Ott, Kemperman and Mathis, The Stationary Behavior of Ideal
    // TCP Congestion Avoidance, 1996).
    let per = 1e-3_f64;
    let mean: f64 = (0..6)
        .map(|seed| {
            let loss = format!("loss = {{ kind = \"packet-error\", rate = {per} }}");
            let text = geo("2000 s", &loss, "cc = \"reno\"\ninitial_ssthresh = 20");
            report(&format!("seed = {seed}\n{text}")).flows[0].goodput_bps / 6.0
        })
        .sum();
    let window = mean * 0.5012 / (1460.0 * 8.0);
    close(window, 1.31 / per.sqrt(), 0.10);
}

#[test]
fn constant_rate_traffic_has_its_rate_and_its_pauses() {
    let cbr = "path = [\"sat\"]\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1000 bytes\", on = \"2 s\", off = \"3 s\" }";
    let text =
        format!("duration = \"9 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"0 ms\"\n[[flow]]\n{cbr}\n");
    let r = report(&text);
    // Two on-periods of 2 s at 125 packets a second.
    assert_eq!(r.flows[0].sent_packets, 500);
    close(r.flows[0].goodput_bps, 1e6 * 4.0 / 9.0, 0.01);
}

#[test]
fn constant_rate_traffic_may_be_on_and_off_for_random_times() {
    let cbr = "path = [\"sat\"]\ntraffic = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1000 bytes\", \
               on = { kind = \"exponential\", mean = \"2 s\" }, off = { kind = \"exponential\", mean = \"3 s\" } }";
    let text = format!(
        "duration = \"20000 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"0 ms\"\n[[flow]]\n{cbr}\n"
    );
    // On for 2 of 5 s at 125 packets a second, and one packet begins each of the 4,000 periods. The standard
    // error of the share of the time is 2/5 * 3/5 * sqrt(2 / 4000) = 0.0054, 1.3 % of it.
    let sent = report(&text).flows[0].sent_packets as f64;
    close(sent, 20_000.0 / 5.0 / (1.0 - (-0.008_f64 / 2.0).exp()), 0.05);
}

#[test]
fn a_path_of_several_links_adds_their_delays_and_the_slowest_decides() {
    let text = r#"
        duration = "100 s"
        [link.a]
        rate = "100 Mbit/s"
        delay = "10 ms"
        [link.b]
        rate = "2 Mbit/s"
        delay = "200 ms"
        [link.c]
        rate = "50 Mbit/s"
        delay = "40 ms"
        [[flow]]
        cc = "reno"
        path = ["a", "b", "c"]
        profile = "paper"
        extra_delay = "5 ms"
        receive_window = "100 segments"
    "#;
    let r = report(text);
    let wire = 8.0 * (1500.0 + 40.0) * (1.0 / 100e6 + 1.0 / 2e6 + 1.0 / 50e6);
    close(r.flows[0].rtt.unwrap().min_s, 2.0 * 0.255 + wire, 1e-9);
    close(r.flows[0].goodput_bps, 2e6 * 1460.0 / 1500.0, 0.05);
}

#[test]
fn an_outage_of_the_return_path_loses_no_data_for_good() {
    let text = r#"
        duration = "60 s"
        [link.sat]
        rate = "10 Mbit/s"
        delay = "250 ms"
        queue = { kind = "drop-tail", limit = "432 packets" }
        [link.sat.reverse]
        loss = { kind = "outage", from = "10 s", to = "11 s" }
        [[flow]]
        cc = "star"
        path = ["sat"]
        profile = "paper"
        receive_window = "432 segments"
        min_rto = "1.2 s"
    "#;
    // The last ACK arrives at 10.25 s, the timer expires at 11.45 s, the probe is answered at 11.95 s.
    let r = report(text);
    assert_eq!(r.flows[0].retransmitted_packets, 0, "AEN finds that only ACKs were lost");
    assert!(r.flows[0].spurious_timeouts >= 1);
    let reno = report(&text.replace("star", "reno"));
    assert!(reno.flows[0].retransmitted_packets > 0 && reno.flows[0].timeouts >= 1);
    assert!(reno.flows[0].goodput_bps < r.flows[0].goodput_bps);
}

#[test]
fn a_trace_has_a_row_for_every_interval_and_follows_the_window() {
    let out = outcome(&format!(
        "record = {{ interval = \"500 ms\", links = true }}\n{}",
        geo("10 s", "", "cc = \"reno\"")
    ));
    let (flows, links) = (out.flows.trace(), out.links.trace());
    assert_eq!(flows.t_s.len(), 21);
    assert_eq!(links.t_s.len(), 42);
    // After n rounds of slow start the window is 2^n (each round 501.232 ms, sampled just before it ends).
    assert_eq!(flows.cwnd[2], 2.0);
    assert_eq!(flows.cwnd[4], 8.0);
    assert!(flows.delivered_bytes.is_sorted());
}

/// docs/engine.md, the order of events: at one instant access delays come in the order of the flows, in
/// whatever order their packets went in.
#[test]
fn delays_of_their_own_that_are_alike_do_not_make_flows_depend_on_each_other() {
    // Flow b: access delay 5 ms, 1500 bytes at 12 Mbit/s 1 ms, 10 ms. Back: 40 bytes at 320 Mbit/s 1 us,
    // 10 ms, 5 ms. When its first ACK arrives after 31.001 ms it sends two segments. At that instant, a
    // nanosecond before, or after it, flow a sends one.
    let first_rtt_of_a = |start: u64, extra_of_b: u32| {
        let flow = |name, start: u64, extra, size| {
            format!(
                "[[flow]]\nname = \"{name}\"\ncc = \"reno\"\npath = [\"x\"]\nprofile = \"paper\"\nstart = \"{start} ns\"\n\
                 extra_delay = \"{extra} ms\"\ntraffic = {{ kind = \"bulk\", size = \"{size} bytes\" }}\n"
            )
        };
        let link = "[link.x]\nrate = \"12 Mbit/s\"\ndelay = \"10 ms\"\nreverse = { rate = \"320 Mbit/s\" }\n";
        let flows = [flow("a", start, 5, 1460), flow("b", 0, extra_of_b, 10 * 1460)];
        let r = report(&format!("duration = \"1 s\"\n{link}{}{}", flows[0], flows[1]));
        (r.flows[0].rtt.unwrap().min_s * 1e9).round() as u64
    };
    assert_eq!(first_rtt_of_a(31_000_999, 5), 31_001_000);
    assert_eq!(first_rtt_of_a(31_001_000, 5), 31_001_000);
    assert_eq!(first_rtt_of_a(31_001_001, 5), 33_000_999, "behind both of b");
    // With 1 ms of access delay b sends two after 23.001 ms, and two more after 46.002 ms, which reach
    // the link after 47.002 ms.
    assert_eq!(first_rtt_of_a(46_001_999 - 4_000_000, 1), 31_001_000);
    assert_eq!(first_rtt_of_a(46_002_000 - 4_000_000, 1), 31_001_000);
}

#[test]
fn acknowledgements_may_take_a_path_of_their_own() {
    // Data over a, ACKs over b: the round trip is both, and the ACKs meet b's queue and rate.
    let text = r#"
        duration = "60 s"
        [link.a]
        rate = "10 Mbit/s"
        delay = "100 ms"
        [link.b]
        rate = "64 kbit/s"
        delay = "30 ms"
        [[flow]]
        cc = "reno"
        path = ["a"]
        ack_path = ["b"]
        profile = "paper"
        receive_window = "1 segments"
    "#;
    let r = report(text);
    close(r.flows[0].rtt.unwrap().min_s, 0.130 + 1500.0 * 8.0 / 10e6 + 40.0 * 8.0 / 64e3, 1e-9);
    let forward = |name: &str| r.links.iter().find(|l| l.name == name && l.direction == "forward").unwrap();
    assert_eq!(forward("a").delivered_packets, r.packets);
    assert!(forward("b").delivered_packets + 1 >= r.packets);
    assert!(r.links.iter().filter(|l| l.direction == "reverse").all(|l| l.delivered_packets == 0));
}

#[test]
fn acknowledgements_are_held_for_a_random_time_and_in_order() {
    let flow = |more: &str| geo("2000 s", "", &format!("cc = \"reno\"\nack_jitter = \"100 ms\"\n{more}"));
    // One segment at a time: the round trip is 501.232 ms and the jitter, uniform from 0 to 100 ms. Some 3600
    // round trips: four standard errors of their mean are 4 x 28.9 ms / 60.
    let r = report(&flow("receive_window = \"1 segments\""));
    let f = &r.flows[0];
    assert!((f.rtt.unwrap().mean_s - 0.551_232).abs() < 0.002, "{:?}", f.rtt);
    let least = f.rtt.unwrap().min_s - 0.501_232;
    assert!((0.0..0.001).contains(&least), "{least}");
    assert!((f.rtt.unwrap().p95_s - 0.596_232).abs() < 0.01, "{:?}", f.rtt);
    // Out of order, acknowledgements would be duplicates and cause retransmissions.
    let r = report(&flow("receive_window = \"300 segments\""));
    assert_eq!((r.flows[0].retransmitted_packets, r.flows[0].timeouts), (0, 0));
    // Each flow draws from a stream of its own; a flow without jitter draws nothing.
    let (one, two) = (report(&flow("")), report(&flow("name = \"other\"")));
    assert_ne!(one.flows[0].rtt, two.flows[0].rtt);
    let plain = geo("60 s", "", "cc = \"reno\"");
    assert_eq!(report(&plain), report(&format!("{plain}ack_jitter = \"0 s\"\n")));
}

#[test]
fn a_constant_window_fills_a_slower_link_with_what_no_longer_fits_the_pipe() {
    // With 600 segments outstanding a packet comes round when 600 have been sent: 1.2 ms each
    // until 60 s, then 2.4 ms.
    let link = "queue = { kind = \"drop-tail\", limit = \"999 packets\" }\nreverse = { rate = \"10 Mbit/s\" }\n[record]\ninterval = \"1 s\"\nlinks = true";
    let flow = "cc = \"reno\"\nreceive_window = \"600 segments\"\ninitial_window = 600";
    let rates = "rate = [[\"0 s\", \"10 Mbit/s\"], [\"60 s\", \"5 Mbit/s\"]]\ndelay";
    let text = geo("120 s", link, flow).replace("rate = \"10 Mbit/s\"\ndelay", rates);
    let outcome = outcome(&text);
    let trace = outcome.flows.trace();
    for (at, rtt) in trace.t_s.iter().zip(&trace.rtt_s) {
        if (10.0..60.0).contains(at) {
            close(*rtt, 600.0 * 0.0012, 1e-12);
        } else if *at > 70.0 {
            close(*rtt, 600.0 * 0.0024, 1e-12);
        }
    }
    // Of a round trip, 500 ms of propagation and the transmission of an acknowledgement (32 us) and of the
    // packet itself are no waiting.
    let waits = |rtt: f64, each: f64| (rtt - 0.500_032 - each) / each;
    let links = outcome.links.trace();
    let rows = links.t_s.iter().zip(&links.link).zip(&links.queue_packets);
    for ((at, _), waiting) in rows.filter(|((_, link), _)| **link == 0) {
        if (10.0..60.0).contains(at) {
            assert!((waiting - waits(0.72, 0.0012)).abs() <= 1.0, "{waiting} at {at}");
        } else if *at > 70.0 {
            assert!((waiting - waits(1.44, 0.0024)).abs() <= 1.0, "{waiting} at {at}");
        }
    }
}

#[test]
fn a_constant_window_over_a_delay_that_falls_linearly_goes_round_in_a_geometric_series() {
    // Both ways the delay falls from 270 ms by 2.5 ms a second. Of a packet it is that at the end of its
    // transmission (x = 1.2 ms; of an acknowledgement y = 32 us). Sent at t, a packet arrives at
    // a = t + x + d(t + x), its acknowledgement at b = a + y + d(a + y). So b = alpha t + beta: from a fixed
    // point on, the instants are a geometric series.
    let file = std::env::temp_dir().join(format!("bentpipe-falls-{}.csv", std::process::id()));
    std::fs::write(&file, "t_s,delay_s\n0,0.27\n100,0.02\n").expect("a file");
    let text = geo("90 s", "", "cc = \"reno\"\nreceive_window = \"1 segments\"");
    let delay = format!("timeline = {:?}\nnominal = {{ delay = \"270 ms\" }}", file.display().to_string());
    let report = report(&text.replace("delay = \"250 ms\"", &delay));
    drop(std::fs::remove_file(&file));
    let (x, y, d, slope) = (0.0012, 0.000_032, 0.27, 0.0025);
    let part = 1.0 - slope;
    let (alpha, beta) = (part * part, part * (part * x + d + y) + d);
    let fixed = beta / (1.0 - alpha);
    // t_n = fixed (1 - alpha^n). The packet of round n arrives at part (t_n + x) + d.
    let arrives = |n: i32| part * (fixed * (1.0 - f64::powi(alpha, n)) + x) + d;
    let rounds = (0..).take_while(|&n| arrives(n) <= 90.0).count() as u64;
    assert_eq!(report.packets, rounds);
    let flow = &report.flows[0];
    // The last round trip that is over.
    let sent = |n: i32| fixed * (1.0 - f64::powi(alpha, n));
    let last = (0..).map(sent).take_while(|t| alpha * t + beta <= 90.0).last().unwrap();
    close(flow.rtt.unwrap().min_s, alpha * last + beta - last, 1e-4);
    assert!(flow.rtt.unwrap().min_s < 0.1 && rounds > 200);
}
