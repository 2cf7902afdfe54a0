//! Whole runs against closed forms, and the promises that every run keeps.

use bentpipe_sim::record::{Outcome, Report};
use bentpipe_sim::{Scenario, no_supply, run};
use proptest::prelude::*;

fn outcome(text: &str) -> Outcome {
    let plan =
        Scenario::from_toml(text, "test.toml", &[]).and_then(|s| s.resolve()).expect("a valid scenario");
    run(&plan, &mut no_supply, &mut |_| true).expect("a run that ends")
}

fn report(text: &str) -> Report {
    outcome(text).report
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found} is not within {relative} of {expected}");
}

/// One flow over one link of 10 Mbit/s and 250 ms each way.
fn geo(duration: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n{link}\n[[flow]]\npath = [\"sat\"]\nprofile = \"paper\"\n{flow}\n"
    )
}

#[test]
fn a_saturated_link_carries_payload_over_wire_size() {
    // 1460 of 1500 bytes are payload: 9.733 Mbit/s once the pipe is full. The threshold keeps slow start from overshooting.
    let r =
        report(&geo("400 s", "", "cc = \"reno\"\ninitial_ssthresh = 420\nreceive_window = \"600 segments\""));
    let bits_per_s = 10e6 * 1460.0 / 1500.0;
    // Slow start from 1 to 417 segments takes nine round trips, during which about 511 segments cross instead of 3750.
    let lost_at_start = (3750.0 - 511.0) * 1460.0 * 8.0;
    close(r.flows[0].goodput_bps, bits_per_s - lost_at_start / 400.0, 2e-3);
    assert_eq!(r.flows[0].retransmitted_packets, 0);
}

#[test]
fn the_round_trip_is_propagation_plus_transmission() {
    // A window of one segment: 500 ms + 1500 bytes (1.2 ms) + 40 bytes (0.032 ms) each round, nothing waits.
    let r = report(&geo("60 s", "", "cc = \"reno\"\nreceive_window = \"1 segments\""));
    close(r.flows[0].rtt_min_s.unwrap(), 0.501_232, 1e-12);
    close(r.flows[0].rtt_mean_s.unwrap(), 0.501_232, 1e-12);
    assert_eq!(r.packets, (60.0_f64 / 0.501_232).floor() as u64 + u64::from(60.0 % 0.501_232 > 0.2512));
    assert!(r.flows[0].limited.rwnd > 0.99, "{:?}", r.flows[0].limited);
}

#[test]
fn slow_start_doubles_every_round_and_a_transfer_takes_the_rounds_that_it_needs() {
    // 1 + 2 + 4 + ... + 64 = 127 segments take seven rounds; the last round also waits for its 64 segments' transmission.
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

/// CUBIC on 10 Mbit/s, 100 ms and a buffer of twelve bandwidth-delay products: what was dropped by `duration`, and the largest
/// window and the first finite ssthresh until then.
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

/// RFC 9406: HyStart++ ends slow start while the queue still has room. Without it, slow start ends by filling the queue.
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
    // Equilibrium backlog 1 to 3 segments (Brakmo and Peterson); the mean includes the way there.
    assert!((0.0..3.5).contains(&r.links[0].queue_mean_packets), "{}", r.links[0].queue_mean_packets);
    assert!(r.links[0].queue_max_packets < 250);
    assert_eq!(r.links[0].dropped_queue, 0);
}

#[test]
fn reno_under_random_loss_follows_the_square_root_law() {
    // Mathis et al. 1997: W = sqrt(3/2) / sqrt(p) for periodic loss; random loss gives 1.31 / sqrt(p) (algorithms.md 0.6).
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
    close(r.flows[0].rtt_min_s.unwrap(), 2.0 * 0.255 + wire, 1e-9);
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
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let text = geo(
        "60 s",
        "loss = { kind = \"packet-error\", rate = 1e-3 }",
        "cc = \"cubic\"\nstart_jitter = \"1 s\"",
    );
    let traced = |seed| outcome(&format!("seed = {seed}\nrecord = {{ interval = \"change\" }}\n{text}"));
    // Compared as text, because a trace holds NaN before the first RTT sample.
    let text_of = |seed| format!("{:?}", traced(seed));
    assert!(text_of(1) == text_of(1), "two runs of one seed differ");
    assert_ne!(traced(1).report.flows[0].delivered_bytes, traced(2).report.flows[0].delivered_bytes);
}

#[test]
fn another_flow_elsewhere_does_not_disturb_the_losses() {
    let alone = geo(
        "60 s",
        "loss = { kind = \"packet-error\", rate = 1e-3 }",
        "cc = \"reno\"\nstart_jitter = \"1 s\"",
    );
    let other = "[link.other]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nloss = { kind = \"packet-error\", rate = 1e-2 }\n[[flow]]\nname = \"second\"\ncc = \"cubic\"\npath = [\"other\"]\nstart_jitter = \"1 s\"\n";
    let both = report(&format!("{alone}{other}"));
    assert_eq!(report(&alone).flows[0], both.flows[0]);
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

#[test]
fn a_run_stops_when_told_to() {
    let plan =
        Scenario::from_toml(&geo("10000 s", "", "cc = \"reno\""), "t", &[]).unwrap().resolve().unwrap();
    let mut looks = 0;
    let result = run(&plan, &mut no_supply, &mut |_| {
        looks += 1;
        looks < 3
    });
    assert!(result.is_err());
    assert_eq!(looks, 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn every_run_conserves_packets_and_is_repeatable(
        seed in 0_u64..1000,
        rate_kbps in 100_u64..20_000,
        delay_ms in 0_u64..600,
        queue in 0_u64..200,
        per in 0.0_f64..0.2,
        ack_per in 0.0_f64..0.2,
        cc in 0_usize..64,
        recovery in prop::sample::select(vec!["sack", "newreno", "reno"]),
        profile in prop::sample::select(vec!["paper", "modern"]),
        size in 1_u64..2_000_000,
        count in 1_u32..4,
        spurious in prop::sample::select(vec!["none", "f-rto", "eifel"]),
    ) {
        let all = bentpipe_cc::registry::all();
        let cc = all[cc % all.len()].id;
        let text = format!(r#"
            seed = {seed}
            duration = "300 s"
            [link.sat]
            rate = "{rate_kbps} kbit/s"
            delay = "{delay_ms} ms"
            queue = {{ kind = "drop-tail", limit = "{queue} packets" }}
            loss = {{ kind = "packet-error", rate = {per} }}
            [link.sat.reverse]
            loss = {{ kind = "packet-error", rate = {ack_per} }}
            [[flow]]
            cc = "{cc}"
            path = ["sat"]
            profile = "{profile}"
            recovery = "{recovery}"
            spurious = "{spurious}"
            timestamps = true
            count = {count}
            start_jitter = "1 s"
            traffic = {{ kind = "bulk", size = "{size} bytes" }}
        "#);
        let r = report(&text);
        let link = &r.links[0];
        let sent: u64 = r.flows.iter().map(|f| f.sent_packets).sum();
        let probes_at_most: u64 = r.flows.iter().map(|f| f.timeouts + f.spurious_timeouts + 1).sum();
        let seen = link.delivered_packets + link.dropped_queue + link.dropped_error;
        // Timeouts of at least 1 s that double up to 60 s fit nine times in 300 s (1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60),
        // so each end sends at most ten SYNs or FINs, and as many acknowledgements of the other's twenty.
        let control_at_most = if profile == "modern" { 40 * u64::from(count) } else { 0 };
        let most = sent + probes_at_most + control_at_most;
        prop_assert!(seen <= most, "{seen} seen of {sent} sent");
        prop_assert!(link.utilisation <= 1.0 + 1e-9);
        for f in &r.flows {
            prop_assert!(f.delivered_bytes <= size);
            prop_assert!(f.goodput_bps <= link.rate_bps as f64 * 1.001);
            let l = f.limited;
            let sum = l.cwnd + l.rwnd + l.app + l.pacing + l.recovery + l.timeout;
            prop_assert!((sum - 1.0).abs() < 1e-6, "shares sum to {sum}");
            if f.completion_s.is_some() {
                prop_assert_eq!(f.delivered_bytes, size);
            }
        }
        prop_assert_eq!(&r, &report(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    /// Recording links makes every hop an event of its own; the result must not change by a bit.
    #[test]
    fn links_that_hand_on_by_themselves_change_nothing(
        seed in 0_u64..1000,
        rates in prop::collection::vec(200_u64..20_000, 5),
        delays in prop::collection::vec(0_u64..120, 5),
        queue in 0_u64..60,
        ber in 0.0_f64..3e-6,
        count in 1_u32..4,
        extra in 0_u64..30,
        second_path in prop::sample::select(vec!["\"b\"", "\"a\", \"b\"", "\"c\", \"d\", \"e\"", "\"d\"", "\"e\", \"a\""]),
        duration in 3_u64..40,
        kinds in prop::collection::vec(0_usize..6, 5),
        ecn in any::<bool>(),
        ack_jitter in 0_u64..20,
        back in prop::sample::select(vec!["", "ack_path = [\"d\", \"e\"]\n"]),
    ) {
        let mut text = format!("seed = {seed}\nduration = \"{duration} s\"\n");
        for (i, name) in ["a", "b", "c", "d", "e"].iter().enumerate() {
            let some = queue + 5;
            let kind = match kinds[i] {
                0 => format!("\"drop-tail\", limit = \"{queue} packets\""),
                1 => format!("\"red\", limit = \"{some} packets\", min = 0.1, weight = 0.05, ecn = {ecn}"),
                2 => format!("\"pie\", limit = \"{some} packets\", burst = \"20 ms\", ecn = {ecn}"),
                3 => format!("\"codel\", limit = \"{some} packets\", interval = \"20 ms\", ecn = {ecn}"),
                4 => format!("\"fq-codel\", limit = \"{some} packets\", queues = 8, ecn = {ecn}"),
                _ => format!("\"priority\", limit = \"{queue} packets\""),
            };
            text += &format!(
                "[link.{name}]\nrate = \"{} kbit/s\"\ndelay = \"{} ms\"\nqueue = {{ kind = {kind} }}\nloss = {{ kind = \"bit-error\", rate = {ber} }}\n",
                rates[i], delays[i]
            );
        }
        text += &format!(
            "[[flow]]\ncc = \"cubic\"\npath = [\"a\", \"b\", \"c\"]\ncount = {count}\necn = true\nstart_jitter = \"500 ms\"\nextra_delay = \"{extra} ms\"\nack_jitter = \"{ack_jitter} ms\"\n{back}[[flow]]\nname = \"second\"\ncc = \"reno\"\npath = [{second_path}]\nprofile = \"paper\"\npriority = 1\n"
        );
        let every_hop = format!("record = {{ interval = \"1 s\", links = true }}\n{text}");
        prop_assert_eq!(report(&text), report(&every_hop));
    }
}

/// docs/architecture.md, the order of events: at one instant private delays come in the order of the flows, however their packets
/// came in.
#[test]
fn delays_of_their_own_that_are_alike_do_not_make_flows_depend_on_each_other() {
    // Flow b: 5 ms alone, 1500 bytes at 12 Mbit/s 1 ms, 10 ms, and back 40 bytes at 320 Mbit/s 1 us, 10 ms, 5 ms alone. When its
    // first ACK arrives after 31.001 ms it sends two segments. At that instant, a nanosecond before, or after it, flow a sends one.
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
        (r.flows[0].rtt_min_s.unwrap() * 1e9).round() as u64
    };
    assert_eq!(first_rtt_of_a(31_000_999, 5), 31_001_000);
    assert_eq!(first_rtt_of_a(31_001_000, 5), 31_001_000);
    assert_eq!(first_rtt_of_a(31_001_001, 5), 33_000_999, "behind both of b");
    // With 1 ms alone b sends two after 23.001 ms, and two more after 46.002 ms, which reach the link after 47.002 ms.
    assert_eq!(first_rtt_of_a(46_001_999 - 4_000_000, 1), 31_001_000);
    assert_eq!(first_rtt_of_a(46_002_000 - 4_000_000, 1), 31_001_000);
}

#[test]
fn acknowledgements_may_take_a_path_of_their_own() {
    // Data over a, ACKs over b: the round trip is both, and b's queue and rate are those that the ACKs meet.
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
    close(r.flows[0].rtt_min_s.unwrap(), 0.130 + 1500.0 * 8.0 / 10e6 + 40.0 * 8.0 / 64e3, 1e-9);
    let forward = |name: &str| r.links.iter().find(|l| l.name == name && l.direction == "forward").unwrap();
    assert_eq!(forward("a").delivered_packets, r.packets);
    assert!(forward("b").delivered_packets + 1 >= r.packets);
    assert!(r.links.iter().filter(|l| l.direction == "reverse").all(|l| l.delivered_packets == 0));
}

/// Eight SACK flows over 15 Mbit/s and 100 ms, through RED as the papers set it up.
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

    // Without ECN at either end the same decisions drop.
    for dropping in [red_dumbbell("", "ecn = false"), red_dumbbell(", ecn = true", "ecn = false")] {
        let link = &dropping.links[0];
        assert_eq!(link.marked, 0);
        assert!(link.dropped_queue > 50, "{}", link.dropped_queue);
        let lost: u64 = dropping.flows.iter().map(|f| f.dropped_packets).sum();
        assert_eq!(link.dropped_queue, lost);
        // Early drops keep the queue well below its limit of 451 packets.
        assert!(link.queue_mean_packets < 225.0 && link.queue_max_packets < 451, "{link:?}");
    }
    // RED without marks draws nothing from who could be marked.
    assert_eq!(red_dumbbell("", "ecn = true").links[0].marked, 0);
}

#[test]
fn marks_cut_the_window_once_in_a_window() {
    // Nearly everything that finds 7 packets or more is marked, so each congestion has many marks; yet the window is halved
    // once, and nothing is lost.
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

/// `busy`, without the errors: a drop-tail link counts them when it takes a packet, one that decides at departure when it sends it,
/// so packets that still wait at the end make a difference.
fn without_errors(queue: &str) -> Report {
    let mut report = busy(queue);
    report.links.iter_mut().for_each(|link| link.dropped_error = 0);
    report.flows.iter_mut().for_each(|flow| flow.dropped_packets = 0);
    report
}

/// Four flows over a bottleneck with losses in both directions and a queue of this kind, ACKs crossing one, too.
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
    // One band, or a target that nothing reaches: first in, first out, and what finds no room is lost. The path through the
    // engine is another, the result the same to the last bit.
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
    // With room for all, flows that share one queue of FQ-CoDel share a first-in-first-out queue. (Without losses: drop-tail
    // counts those of packets that wait when the run ends, which here are many.)
    let flows = "receive_window = \"400 segments\"\n[[flow]]\ncc = \"cubic\"\npath = [\"sat\"]\nreceive_window = \"400 segments\"";
    let plain = bloated("kind = \"drop-tail\"", flows);
    assert!(plain.links[0].queue_max_packets > 500, "{:?}", plain.links[0]);
    let one = "kind = \"fq-codel\", queues = 1, target = \"1 h\", interval = \"2 h\"";
    assert_eq!(bloated(one, flows), plain);
}

/// Packets of constant-rate flows that one link of 1 Mbit/s has delivered (8 ms each), and dropped.
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
    // What is neither delivered nor dropped waits, or is being sent.
    let inside = sent - link.delivered_packets - link.dropped_queue;
    assert!(inside <= 2 * 50 + 1, "{inside} of {sent}");
    r.flows.iter().map(|f| (f.delivered_bytes / 1000, f.dropped_packets)).collect()
}

#[test]
fn a_band_sends_only_while_those_before_it_are_empty() {
    let queue = "kind = \"priority\", limit = \"50 packets\"";
    // 10 000 packets fit into 80 s. The first band asks for twice that and gets all; of the second not one passes: of the
    // 10 001 that come from 0 s to 80 s, 50 wait in the end.
    let shares = cbr_shares(queue, &[("high", 0, "2 Mbit/s"), ("low", 1, "1 Mbit/s")]);
    assert_eq!((shares[0].0, shares[1]), (10_000, (0, 9_951)));
    // The first asks for 0.75 Mbit/s and loses nothing; the second gets the other quarter, 2500 packets, and 50 wait.
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
        // Reno needs a buffer of one bandwidth-delay product; with none it would have three quarters of the rate.
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
    // Constant-rate traffic at twice the rate of the link. Where all share one queue it gets nearly everything.
    let flood = "[[flow]]\npath = [\"sat\"]\ntraffic = { kind = \"cbr\", rate = \"20 Mbit/s\", packet = \"1500 bytes\" }";
    let reno = |kind: &str| bloated(&format!("kind = \"{kind}\""), flood).flows[0].goodput_bps;
    for kind in ["drop-tail", "codel", "pie"] {
        assert!(reno(kind) < 0.1e6, "{kind}: {}", reno(kind));
    }
    // Half the link is 5 Mbit/s, of which 1448 in 1500 bytes are payload; alone under CoDel, Reno uses nine tenths of it.
    let half = 5e6 * 1448.0 / 1500.0;
    assert!((0.85 * half..half).contains(&reno("fq-codel")), "{}", reno("fq-codel"));
}

#[test]
fn acknowledgements_are_held_for_a_random_time_and_in_order() {
    let flow = |more: &str| geo("2000 s", "", &format!("cc = \"reno\"\nack_jitter = \"100 ms\"\n{more}"));
    // One segment at a time: the round trip is 501.232 ms and what is added, uniform from 0 to 100 ms. Some 3600 round trips:
    // four standard errors of their mean are 4 x 28.9 ms / 60.
    let r = report(&flow("receive_window = \"1 segments\""));
    let f = &r.flows[0];
    assert!((f.rtt_mean_s.unwrap() - 0.551_232).abs() < 0.002, "{:?}", f.rtt_mean_s);
    let least = f.rtt_min_s.unwrap() - 0.501_232;
    assert!((0.0..0.001).contains(&least), "{least}");
    assert!((f.rtt_p95_s.unwrap() - 0.596_232).abs() < 0.01, "{:?}", f.rtt_p95_s);
    // Out of order, acknowledgements would be duplicates and make it retransmit.
    let r = report(&flow("receive_window = \"300 segments\""));
    assert_eq!((r.flows[0].retransmitted_packets, r.flows[0].timeouts), (0, 0));
    // Each flow draws from a stream of its own; without it nothing is drawn.
    let (one, two) = (report(&flow("")), report(&flow("name = \"other\"")));
    assert_ne!(one.flows[0].rtt_mean_s, two.flows[0].rtt_mean_s);
    let plain = geo("60 s", "", "cc = \"reno\"");
    assert_eq!(report(&plain), report(&format!("{plain}ack_jitter = \"0 s\"\n")));
}
