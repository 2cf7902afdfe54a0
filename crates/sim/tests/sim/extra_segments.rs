//! Extra segments of low priority on whole paths: TCP-Peach and its kin over a geostationary link,
//! with and without priorities.

use bentpipe_sim::{no_supply, run, run_by_reference};

use crate::outcome::{close, geo, outcome, plan, report};

const PRIORITY: &str = "queue = { kind = \"priority\" }";

/// 10 Mbit/s, 500 ms there and back, packets of 1500 bytes: 416 of them are the bandwidth-delay product,
/// which rwnd takes. Sudden Start begins with the first acknowledgement, 0.5 s after the first segment, and W
/// is rwnd two round trips later. Reno then has 16 or so.
#[test]
fn sudden_start_reaches_rwnd_within_two_round_trips() {
    let text = geo("1.6 s", PRIORITY, "cc = \"peach\"");
    let outcome = outcome(&format!("record = {{ interval = \"10 ms\" }}\n{text}"));
    let trace = outcome.flows.trace();
    let at = |t: f64| trace.cwnd[trace.t_s.iter().position(|s| *s >= t).expect("a sample")];
    assert!(at(0.9) < 3.0 && at(1.25) > 100.0 && at(1.25) < 300.0, "{} {}", at(0.9), at(1.25));
    close(at(1.52), 416.0, 0.02);
    assert_eq!(outcome.report.flows[0].dropped_packets, 0);
}

/// The paper's point: a random loss does not cost half of the window. The link has a packet error rate
/// of 1e-3, by which Reno has sqrt(1.5 / 1e-3) = 38.7 segments a round trip (RFC 5348's simple
/// formula), 9 % of the path.
#[test]
fn errors_on_a_geostationary_link_cost_peach_less_than_reno() {
    let goodput = |cc: &str| {
        let link = format!("{PRIORITY}\nloss = {{ kind = \"packet-error\", rate = 1e-3 }}");
        let report = report(&geo("200 s", &link, &format!("cc = \"{cc}\"\ninitial_ssthresh = 40")));
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        report.flows[0].goodput_bps
    };
    let reno = goodput("reno");
    close(reno, 38.7 / 0.5 * 1460.0 * 8.0, 0.2);
    for cc in ["peach", "peach-plus", "cherry"] {
        let its = goodput(cc);
        assert!(its > 4.0 * reno, "{cc}: {its:.0} against {reno:.0} bit/s");
    }
}

/// A full band of low priority: between the data and the last band, a flow takes all capacity that the data
/// leaves. No dummy segment arrives, therefore, and what is left is Reno, segment by segment.
#[test]
fn without_room_for_low_priority_it_is_reno() {
    let delivered = |cc: &str| {
        let link =
            "queue = { kind = \"priority\", bands = 3 }\nloss = { kind = \"packet-error\", rate = 1e-3 }";
        let flow = format!("cc = \"{cc}\"\ninitial_ssthresh = 40\nstart = \"1 s\"");
        let filler = "[[flow]]\nname = \"filler\"\npath = [\"sat\"]\npriority = 1\n\
                      traffic = { kind = \"cbr\", rate = \"20 Mbit/s\", packet = \"1500 bytes\" }\n";
        let report = report(&(geo("100 s", link, &flow) + filler));
        let flow = &report.flows[0];
        (flow.delivered_bytes, flow.retransmitted_packets, flow.timeouts)
    };
    let reno = delivered("reno");
    assert!(reno.1 > 0);
    assert_eq!(delivered("peach"), reno);
}

/// A path without priorities serves dummy segments like data, and a warning says so.
#[test]
fn a_path_without_priorities_is_warned_of() {
    for (queue, warns) in
        [(PRIORITY, false), ("queue = { kind = \"priority\", bands = 1 }", true), ("", true)]
    {
        let plan = plan(&geo("1 s", queue, "cc = \"peach\""));
        let said = plan.warnings.iter().any(|text| text.contains("no queue on its path has priorities"));
        assert_eq!(said, warns, "{queue}: {:?}", plan.warnings);
    }
    assert!(plan(&geo("1 s", "", "cc = \"reno\"")).warnings.is_empty());
}

/// Each combination that concerns extra segments by both loops: what becomes of them, of their
/// acknowledgements, of the books. And the receiver's clock of TCP New Jersey.
#[test]
fn both_loops_agree() {
    let queues = [
        "{ kind = \"priority\", limit = \"30 packets\" }",
        "{ kind = \"priority\", limit = \"20 packets\", bands = 3 }",
        "{ kind = \"drop-tail\", limit = \"40 packets\" }",
        "{ kind = \"fq-codel\" }",
    ];
    let options = [
        "profile = \"paper\"\n",
        "profile = \"modern\"\ntraffic = { kind = \"bulk\", size = \"3 MB\" }\n",
        "profile = \"modern\"\nrecovery = \"newreno\"\nreceive_window = \"200 kB\"\nread_rate = \"4 Mbit/s\"\n",
        "profile = \"linux\"\nack_jitter = \"3 ms\"\nspurious = \"eifel\"\n",
    ];
    for (i, queue) in queues.iter().enumerate() {
        for (j, option) in options.iter().enumerate() {
            let cc = ["peach", "peach-plus", "cherry", "new-jersey"][(i + 3 * j) % 4];
            let text = format!(
                "duration = \"20 s\"\nrecord = {{ interval = \"change\" }}\n[link.sat]\nrate = \"8 Mbit/s\"\n\
                 delay = \"60 ms\"\nqueue = {queue}\nloss = {{ kind = \"packet-error\", rate = 2e-3 }}\n[link.lan]\nrate = \"100 Mbit/s\"\n\
                 delay = \"1 ms\"\n[[flow]]\npath = [\"lan\", \"sat\"]\ncc = \"{cc}\"\n{option}\n\
                 [[flow]]\npath = [\"sat\"]\ncc = \"cubic\"\nextra_delay = \"5 ms\"\n"
            );
            let plan = plan(&text);
            let [fast, slow] = [run, run_by_reference].map(|run| run(&plan, &mut no_supply, &mut |_| true));
            let (fast, slow) = (fast.expect("a run that ends"), slow.expect("a run that ends"));
            assert_eq!(format!("{:?}", fast.report), format!("{:?}", slow.report), "{text}");
            assert_eq!(format!("{:?}", fast.flows.trace()), format!("{:?}", slow.flows.trace()), "{text}");
            assert!(fast.report.flows[0].sent_packets > 100, "{text}");
        }
    }
}
