//! Queues that compute, and the controllers that they tell: what the papers claim.

use bentpipe_sim::{no_supply, run, run_by_reference};

use crate::outcome::{outcome, plan, report};

/// Five flows with base RTTs of 200 to 600 ms over 10 Mbit/s, for 100 s; they start one after the other.
fn five(cc: &str, more: &str) -> String {
    let flows: String = (0..5)
        .map(|i| {
            let (extra, start) = (50 * i, 2 * i);
            format!("[[flow]]\ncc = \"{cc}\"\npath = [\"sat\"]\nextra_delay = \"{extra} ms\"\nstart = \"{start} s\"\n{more}\n")
        })
        .collect();
    format!(
        "duration = \"100 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"100 ms\"\nqueue = {{ kind = \"{cc}\" }}\n{flows}"
    )
}

/// Jain's index of the bytes delivered.
fn fairness(bytes: &[f64]) -> f64 {
    let sum: f64 = bytes.iter().sum();
    sum * sum / (bytes.len() as f64 * bytes.iter().map(|b| b * b).sum::<f64>())
}

/// Katabi et al., section 5: no drops, utilisation near 1, a small queue, and equal shares whatever the RTT.
#[test]
fn xcp_shares_a_geo_link_equally_among_flows_of_all_rtts_without_a_drop() {
    let r = report(&five("xcp", "profile = \"paper\""));
    let link = &r.links[0];
    assert!(r.warnings.is_empty(), "{:?}", r.warnings);
    assert_eq!((link.dropped_queue, r.flows.iter().map(|f| f.timeouts).sum::<u64>()), (0, 0));
    assert!(link.utilisation > 0.93, "{}", link.utilisation);
    // The bandwidth-delay product of the longest RTT is 500 packets.
    assert!(link.queue_mean_packets < 25.0 && link.queue_max_packets < 250, "{link:?}");
    let goodput: Vec<f64> = r.flows.iter().map(|f| f.goodput_bps).collect();
    assert!(fairness(&goodput) > 0.97, "{goodput:?}");
}

/// Xia et al., section 4: high utilisation, no drop, a small queue, and about equal shares, here on a third
/// of their link of 150 Mbit/s with their RTT of 80 ms. Half a minute goes by until the windows have grown
/// from one segment by 6.25 % in 200 ms.
#[test]
fn vcp_fills_the_link_with_a_small_queue() {
    let after = |seconds: f64| {
        report(&format!(
            "duration = \"{seconds} s\"\n[link.wire]\nrate = \"50 Mbit/s\"\ndelay = \"40 ms\"\nqueue = {{ kind = \"vcp\" }}\n[[flow]]\ncc = \"vcp\"\npath = [\"wire\"]\nprofile = \"paper\"\ncount = 10\nstart_jitter = \"5 s\"\n"
        ))
    };
    let (early, late) = (after(40.0), after(80.0));
    let link = &late.links[0];
    assert!(late.warnings.is_empty(), "{:?}", late.warnings);
    assert_eq!(link.dropped_queue, 0, "{link:?}");
    let utilisation = (80.0 * link.utilisation - 40.0 * early.links[0].utilisation) / 40.0;
    assert!(utilisation > 0.93, "{utilisation}");
    // The buffer is 333 packets.
    assert!(link.queue_mean_packets < 10.0, "{link:?}");
    let goodput: Vec<f64> = late.flows.iter().map(|f| f.goodput_bps).collect();
    assert!(fairness(&goodput) > 0.95, "{goodput:?}");
}

/// Dukkipati and McKeown: one rate for all, whatever the RTT.
#[test]
fn rcp_offers_all_flows_the_same_rate() {
    let r = report(&five("rcp", "profile = \"paper\""));
    let link = &r.links[0];
    assert!(r.warnings.is_empty(), "{:?}", r.warnings);
    assert!(link.utilisation > 0.9, "{}", link.utilisation);
    let goodput: Vec<f64> = r.flows.iter().map(|f| f.goodput_bps).collect();
    assert!(fairness(&goodput) > 0.97, "{goodput:?}");
}

/// Delayed acknowledgements bring the sum of what XCP's queue gives, and the newest of the others.
#[test]
fn delayed_acknowledgements_make_no_great_difference() {
    for cc in ["xcp", "vcp", "rcp"] {
        let r = report(&five(cc, "profile = \"modern\"\nhandshake = false"));
        assert!(r.links[0].utilisation > 0.85, "{cc}: {}", r.links[0].utilisation);
    }
}

#[test]
fn where_no_queue_computes_a_warning_says_so_and_the_flow_is_reno() {
    let text = |cc: &str, header: &str| {
        format!(
            "duration = \"60 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n[[flow]]\ncc = \"{cc}\"\npath = [\"sat\"]\nprofile = \"paper\"\n{header}"
        )
    };
    // VCP's header has no bytes of its own, so that the packets of both are the same.
    let (vcp, reno) = (report(&text("vcp", "")), report(&text("reno", "")));
    assert_eq!(vcp.flows[0].goodput_bps, reno.flows[0].goodput_bps);
    for (cc, label) in [("xcp", "XCP"), ("vcp", "VCP"), ("rcp", "RCP")] {
        let r = report(&text(cc, ""));
        assert_eq!(r.warnings.len(), 1, "{:?}", r.warnings);
        assert!(
            r.warnings[0].contains(&format!("no queue on its path computes for {label}")),
            "{:?}",
            r.warnings
        );
        assert!(r.flows[0].goodput_bps > 8e6, "{cc}: {}", r.flows[0].goodput_bps);
    }
}

/// The header is taken from the segment, unless the segment's size is given: 20 bytes for XCP, none for VCP.
#[test]
fn the_header_counts_on_the_wire() {
    let sizes = |cc: &str, mss: &str| {
        let text = format!(
            "duration = \"1 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = {{ kind = \"{cc}\" }}\n[[flow]]\ncc = \"{cc}\"\npath = [\"sat\"]\nprofile = \"paper\"\n{mss}"
        );
        let plan = plan(&text);
        let bentpipe_sim::plan::Source::Tcp { options, .. } = &*plan.flows[0].source else { panic!() };
        (options.mss, options.header, options.ack_size)
    };
    assert_eq!(sizes("xcp", ""), (1440, 60, 60));
    assert_eq!(sizes("xcp", "mss = \"1460 bytes\""), (1460, 60, 60));
    assert_eq!(sizes("vcp", ""), (1460, 40, 40));
    assert_eq!(sizes("rcp", ""), (1448, 52, 52));
}

/// The paper's point: short flows finish about as fast as with processor sharing, and much faster than with
/// slow start. On 10 Mbit/s and 500 ms a transfer of 250 kB needs 1 s for its 172 segments in Reno's seven
/// windows of 1, 2, 4, ... segments, 3.5 s; with RCP it is paced at the whole rate from the second round trip
/// on: 0.5 s, 0.2 s to send it, 0.5 s.
#[test]
fn a_short_rcp_flow_needs_two_round_trips_and_its_time_of_transmission() {
    let time = |cc: &str, queue: &str| {
        let text = format!(
            "duration = \"60 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\nqueue = {{ kind = \"{queue}\" }}\n[[flow]]\ncc = \"{cc}\"\npath = [\"sat\"]\nprofile = \"paper\"\nstart = \"20 s\"\ntraffic = {{ kind = \"bulk\", size = \"250 kB\" }}\n"
        );
        let out = outcome(&text);
        out.report.flows[0].completion_s.expect("it is done")
    };
    let (reno, rcp) = (time("reno", "drop-tail"), time("rcp", "rcp"));
    assert!(reno > 3.5, "{reno}");
    assert!(rcp > 1.2 && rcp < 1.4, "{rcp}");
}

/// Two queues that compute, losses, delayed acknowledgements with jitter, a captured handshake, short flows
/// and others: the fast path and the reference loop give the same bits.
#[test]
fn headers_travel_alike_in_both_loops() {
    for cc in ["xcp", "vcp", "rcp"] {
        let text = format!(
            r#"
            duration = "20 s"
            seed = 7
            record = {{ interval = "100 ms" }}
            [link.up]
            rate = "8 Mbit/s"
            delay = "40 ms"
            queue = {{ kind = "{cc}", limit = "40 packets" }}
            loss = {{ kind = "packet-error", rate = 0.002 }}
            [link.down]
            rate = "6 Mbit/s"
            delay = "60 ms"
            queue = {{ kind = "{cc}", limit = "30 packets" }}
            [[flow]]
            cc = "{cc}"
            path = ["up", "down"]
            count = 3
            start_jitter = "2 s"
            ack_jitter = "3 ms"
            [[flow]]
            cc = "{cc}"
            path = ["down"]
            profile = "linux"
            traffic = {{ kind = "on-off", on = "2 s", off = "1 s" }}
            [[flow]]
            cc = "{cc}"
            path = ["up/reverse"]
            receive_window = "30 kB"
            read_rate = "1 Mbit/s"
            [[flow]]
            cc = "reno"
            path = ["up", "down"]
            "#
        );
        let plan = plan(&text);
        let [fast, reference] = [run, run_by_reference].map(|run| run(&plan, &mut no_supply, &mut |_| true));
        let (fast, reference) = (fast.expect("a run"), reference.expect("a run"));
        assert_eq!(format!("{fast:?}"), format!("{reference:?}"), "{cc}");
        assert!(fast.report.flows.iter().all(|flow| flow.goodput_bps > 1e4), "{:?}", fast.report.flows);
    }
}
