//! The ends of the ranges: each gives the number worked out by hand, or one clear error.

use bentpipe_sim::{Scenario, no_supply, run};

use crate::outcome::{plan, report};

fn refusal(text: &str) -> String {
    let plan = Scenario::from_toml(text, "extreme.toml", &[]).and_then(|s| s.resolve());
    plan.expect_err("out of range").to_string()
}

fn one(duration: &str, rate: &str, delay: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[link.l]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{link}\n[[flow]]\npath = [\"l\"]\n{flow}\n"
    )
}

#[test]
fn one_bit_per_second_carries_one_packet_in_its_time() {
    // 1000 bytes take 8000 s: by 30 d = 2,592,000 s, 324 have been sent, and all of
    // the first 323 have arrived.
    let cbr = "traffic = { kind = \"cbr\", rate = \"1 bit/s\", packet = \"1000 bytes\" }";
    let r = report(&one("30 d", "1 bit/s", "1 us", "", cbr));
    assert_eq!((r.packets, r.links[0].utilisation), (323, 1.0));
}

#[test]
fn a_round_trip_may_take_a_hundred_seconds_or_a_microsecond() {
    for (rate, delay, seconds) in [("100 Tbit/s", "500 ns", 1e-6), ("100 Tbit/s", "50 s", 100.0)] {
        let flow = "cc = \"reno\"\nreceive_window = \"1 segments\"\ndelayed_ack = false\ntraffic = { kind = \"bulk\", size = \"3 kB\" }";
        let r = report(&one("1000 s", rate, delay, "", flow));
        // Transmission at 100 Tbit/s takes 0.12 ns.
        assert!((r.flows[0].rtt.unwrap().min_s - seconds).abs() <= 2e-9, "{:?}", r.flows[0]);
        assert_eq!(r.flows[0].delivered_bytes, 3000);
    }
}

#[test]
fn where_nothing_arrives_the_timer_backs_off_for_a_month() {
    let link = "loss = { kind = \"packet-error\", rate = 1.0 }";
    let r = report(&one("30 d", "10 Mbit/s", "250 ms", link, "cc = \"cubic\"\nhandshake = false"));
    // Attempts are 60 s or 120 s apart; the first few minutes of doubling do not matter.
    let f = &r.flows[0];
    assert_eq!((f.delivered_bytes, f.goodput_bps, f.rtt), (0, 0.0, None));
    assert!((21_590..43_250).contains(&f.timeouts), "{}", f.timeouts);
    assert_eq!(f.dropped_packets, f.sent_packets);
}

#[test]
fn probes_count_as_sent() {
    let link = "loss = { kind = \"packet-error\", rate = 1.0 }";
    let r = report(&one("600 s", "10 Mbit/s", "250 ms", link, "cc = \"star\"\nprofile = \"paper\""));
    let f = &r.flows[0];
    // Each timeout is followed by AEN's probe, which is no retransmission.
    assert!(f.timeouts > 5 && f.retransmitted_packets < f.sent_packets, "{f:?}");
    assert_eq!((f.dropped_packets, f.delivered_bytes), (f.sent_packets, 0));
}

#[test]
fn the_goodput_of_a_flow_that_stops_is_that_of_the_link() {
    let link = "queue = { kind = \"drop-tail\", limit = \"100000 packets\" }";
    let cbr = |rate, stop| {
        let flow = format!(
            "{stop}\ntraffic = {{ kind = \"cbr\", rate = \"{rate} Mbit/s\", packet = \"1000 bytes\" }}"
        );
        let r = report(&one("20 s", "1 Mbit/s", "20 ms", link, &flow));
        (r.flows[0].delivered_bytes, r.flows[0].goodput_bps)
    };
    // 1250 packets of 8 ms: the last comes after 10.02 s.
    assert_eq!(cbr(10, "stop = \"1 s\""), (1_250_000, 1e7 / 10.02));
    // A source as fast as the link: its last packet is sent at 0.992 s and arrives 28 ms later.
    assert_eq!(cbr(1, "stop = \"1 s\""), (125_000, 1e6 / 1.02));
    // Without a stop the life is the run: 2497 packets by 20 s.
    assert_eq!(cbr(10, ""), (2_497_000, 2_497_000.0 * 8.0 / 20.0));
    // The run ends before the last has come: its life is the run.
    let flow = "stop = \"1 s\"\ntraffic = { kind = \"cbr\", rate = \"10 Mbit/s\", packet = \"1000 bytes\" }";
    let r = report(&one("5 s", "1 Mbit/s", "20 ms", link, flow));
    assert_eq!(r.flows[0].goodput_bps, 622_000.0 * 8.0 / 5.0);
}

#[test]
fn without_a_buffer_only_the_packet_in_transmission_passes() {
    let link = "queue = { kind = \"drop-tail\", limit = \"0 packets\" }";
    let flow = "cc = \"reno\"\ninitial_window = 10000\nprofile = \"paper\"";
    let r = report(&one("0.15 s", "10 Mbit/s", "100 ms", link, flow));
    // All 10,000 come at once.
    let l = &r.links[0];
    assert_eq!((l.delivered_packets, l.dropped_queue, l.queue_max_packets), (1, 9_999, 0));
}

#[test]
fn more_than_four_gibibytes_cross_in_one_flow() {
    let flow =
        "cc = \"cubic\"\nmss = \"60000 bytes\"\ntraffic = { kind = \"bulk\", size = \"6000000001 bytes\" }";
    let r = report(&one("100 s", "100 Gbit/s", "1 ms", "", flow));
    assert_eq!(r.flows[0].delivered_bytes, 6_000_000_001);
    assert!(r.flows[0].completion_s.is_some());
}

#[test]
fn ten_years_pass() {
    // One packet of 12500 bytes every 100,000 s at 1 bit/s: 3652 x 86,400 s / 100,000 s = 3155.3.
    let cbr = "traffic = { kind = \"cbr\", rate = \"1 bit/s\", packet = \"12500 bytes\" }";
    let r = report(&one("3652 d", "100 Tbit/s", "1 d", "", cbr));
    // The first leaves at 0. The last day's are under way; the others were sent by 3651 d, 3154.4
    // periods after the first.
    assert_eq!((r.flows[0].sent_packets, r.packets), (3_156, 3_155));
}

#[test]
fn a_queue_that_would_last_for_centuries_stays_in_order() {
    // 520,000 bits at 1 bit/s take 520,000 s; the clock ends after 35,474 packets, and 115,385 come.
    // 3650 d have room for 606.5.
    let text = "duration = \"3650 d\"\n[link.a]\nrate = \"1 bit/s\"\ndelay = \"1 ms\"\n\
        queue = { kind = \"@\", limit = \"1000000 packets\" }\n[link.b]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n\
        [[flow]]\npath = [\"a\", \"b\"]\nstop = \"3 s\"\n\
        traffic = { kind = \"cbr\", rate = \"20 Gbit/s\", packet = \"65000 bytes\" }\n";
    for kind in ["drop-tail", "priority"] {
        let r = report(&text.replace('@', kind));
        let (first, second) = (&r.links[0], &r.links[2]);
        assert_eq!((r.packets, second.delivered_packets, second.queue_max_packets), (606, 606, 0), "{kind}");
        assert_eq!((first.delivered_packets, first.utilisation), (606, 1.0), "{kind}");
        assert_eq!(first.queue_max_packets, r.flows[0].sent_packets - 1, "{kind}");
    }
}

/// Acknowledgements held together come a nanosecond apart: TCP-STAR estimates 10^9 segments a second. A
/// twentieth of that times the round-trip time is a window of 25 million segments at once.
#[test]
fn a_window_that_would_fill_the_memory_ends_the_run() {
    let text = "duration = \"20 s\"\n[link.sat]\nrate = \"100 Mbit/s\"\ndelay = \"250 ms\"\nreverse = { rate = \"1 Tbit/s\" }\n\
        queue = { kind = \"drop-tail\", limit = \"200 packets\" }\n\
        [[flow]]\nname = \"leaps\"\ncc = \"star\"\npath = [\"sat\"]\nack_jitter = \"7 ms\"\n";
    let outcome = |text: &str| run(&plan(text), &mut no_supply, &mut |_| true);
    let said = outcome(text).expect_err("all of it at once").to_string();
    assert!(
        said.contains("of them of flow leaps;") && said.contains("give flows a receive_window"),
        "{said}"
    );
    assert!(outcome(&format!("{text}receive_window = \"10000 segments\"\n")).is_ok());
}

#[test]
fn the_ends_of_the_clock_and_of_the_counters_are_refused() {
    for (duration, flow, key) in [
        ("3653 d", "cc = \"reno\"", "duration"),
        ("18446744073709551615 ns", "cc = \"reno\"", "duration"),
        ("18446744073709551616 ns", "cc = \"reno\"", "duration"),
        ("1 s", "cc = \"reno\"\nextra_delay = \"25 h\"", "extra_delay"),
        ("1 s", "cc = \"reno\"\ncount = 100001", "count"),
    ] {
        let said = refusal(&one(duration, "1 Mbit/s", "1 ms", "", flow));
        assert!(said.starts_with("extreme.toml:") && said.contains(key), "{said}");
    }
    let often = "queue = { kind = \"pie\", update = \"100 us\" }";
    let said = refusal(&one("3652 d", "1 Mbit/s", "1 ms", often, "cc = \"reno\""));
    // 3652 x 86,400 s / 3e10.
    assert!(
        said.contains("link.l.queue.update: 100 us is too short") && said.contains("10517760 ns or longer"),
        "{said}"
    );
    assert!(refusal(&one("1 s", "101 Tbit/s", "1 ms", "", "cc = \"reno\"")).contains("100 Tbit/s"));
}
