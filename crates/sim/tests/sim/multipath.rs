//! Connections of several subflows (Multipath TCP), against closed forms and the goals of RFC 6356.

use bentpipe_sim::record::{FlowReport, Report};
use bentpipe_sim::{Scenario, no_supply, run_by_reference};

use crate::outcome::{close, outcome, plan, report};

/// The report, which both loops agree on.
fn agreed(text: &str) -> Report {
    let by_reference = run_by_reference(&plan(text), &mut no_supply, &mut |_| true).expect("a run that ends");
    let fast = report(text);
    assert_eq!(fast, by_reference.report, "{text}");
    fast
}

fn flow<'a>(report: &'a Report, name: &str) -> &'a FlowReport {
    report.flows.iter().find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"))
}

fn link(name: &str, rate: &str, delay: &str, more: &str) -> String {
    format!("[link.{name}]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{more}\n")
}

/// A flow `m` over `a` and `b`, as ns-2 would send on each, in segments of 1460 bytes in 1500.
fn over_both(keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"m\"\nprofile = \"paper\"\nheader = \"40 bytes\"\nmss = \"1460 bytes\"\npath = [\"a\"]\n\
         subflow = [{{ path = [\"b\"] }}]\n{keys}\n"
    )
}

/// Both paths are used in full, and the rows say what each has carried.
#[test]
fn a_connection_is_a_row_and_each_subflow_another() {
    let links = link("a", "8 Mbit/s", "50 ms", "") + &link("b", "4 Mbit/s", "20 ms", "");
    let flow = over_both("cc = \"reno\"\ninitial_ssthresh = 60");
    let r = agreed(&format!("duration = \"60 s\"\n{links}{flow}"));
    let rows: Vec<_> = r.flows.iter().map(|flow| (&*flow.name, flow.half, &*flow.cc)).collect();
    assert_eq!(
        rows,
        [("m", None, "reno"), ("m/1", Some("subflow"), "reno"), ("m/2", Some("subflow"), "reno")]
    );
    let [whole, one, two] = &r.flows[..] else { panic!("{r:?}") };
    assert_eq!(whole.sent_packets, one.sent_packets + two.sent_packets);
    assert!(whole.delivered_bytes <= one.delivered_bytes + two.delivered_bytes);
    close(whole.goodput_bps, 12e6 * 1460.0 / 1500.0, 0.03);
    close(two.goodput_bps, 4e6 * 1460.0 / 1500.0, 0.03);
}

/// A file whose last segment is short, over paths that lose and reorder at the level of the data: all of it
/// arrives, once.
#[test]
fn a_file_arrives_whole_over_lossy_paths() {
    for cc in ["lia", "olia", "balia", "cubic", "bbr"] {
        let loss = "loss = { kind = \"packet-error\", rate = 0.01 }";
        let links = link("a", "8 Mbit/s", "250 ms", loss) + &link("b", "4 Mbit/s", "20 ms", loss);
        let flow = over_both(&format!(
            "cc = \"{cc}\"\nreceive_window = \"300 segments\"\ntraffic = {{ kind = \"bulk\", size = \"2000001 bytes\" }}"
        ));
        for modern in ["paper", "modern", "linux"] {
            let flow = flow.replace("paper", modern);
            let r = agreed(&format!("duration = \"200 s\"\n{links}{flow}"));
            assert_eq!(r.flows[0].delivered_bytes, 2_000_001, "{cc}");
            assert!(r.flows[0].completion_s.is_some_and(|done| done < 60.0), "{cc} {:?}", r.flows[0]);
        }
    }
}

/// RFC 6356, goal 1: over two disjoint paths at least as much as a TCP on the best of them. Goal 3 follows:
/// more where it does no harm.
#[test]
fn over_disjoint_paths_it_takes_at_least_the_best() {
    let beside = |cc: &str| {
        let links = link("a", "8 Mbit/s", "30 ms", "") + &link("b", "4 Mbit/s", "20 ms", "");
        let tcp = |name: &str| {
            format!("[[flow]]\nname = \"{name}\"\nprofile = \"paper\"\ncc = \"reno\"\npath = [\"{name}\"]\n")
        };
        let text = format!(
            "duration = \"200 s\"\n{links}{}{}{}",
            over_both(&format!("cc = \"{cc}\"")),
            tcp("a"),
            tcp("b")
        );
        agreed(&text)
    };
    for cc in ["lia", "olia", "balia"] {
        let r = beside(cc);
        let (m, best) = (flow(&r, "m").goodput_bps, flow(&r, "a").goodput_bps.min(8e6 / 2.0));
        assert!(m > 0.9 * best, "{cc}: {m} beside {best}");
    }
}

/// A queue that treats all packets alike. In a drop-tail queue, which of a few flows
/// loses is a matter of phases.
const RED: &str =
    "queue = { kind = \"red\", limit = \"300 packets\", min = \"30 packets\", max = \"150 packets\" }";

/// RFC 6356, goal 2: through a shared bottleneck two subflows take no more than one TCP. Uncoupled, they take
/// two shares. Reno counts the segments that are acknowledged; OLIA and BALIA, which count ACKs as their
/// authors' code does, take their share when they count as Reno.
#[test]
fn through_one_bottleneck_it_takes_the_share_of_one_flow() {
    let share = |cc: &str, per: &str| {
        let links = link("x", "12 Mbit/s", "40 ms", RED);
        let cc = if per.is_empty() {
            format!("\"{cc}\"")
        } else {
            format!("{{ name = \"{cc}\", per = \"{per}\" }}")
        };
        let flows = format!(
            "[[flow]]\nname = \"m\"\ncc = {cc}\npath = [\"x\"]\nsubflow = [{{ path = [\"x\"] }}]\n\
             [[flow]]\nname = \"t\"\ncc = \"reno\"\npath = [\"x\"]\n"
        );
        let r = agreed(&format!("duration = \"300 s\"\n{links}{flows}"));
        flow(&r, "m").goodput_bps / flow(&r, "t").goodput_bps
    };
    for cc in ["lia", "olia", "balia"] {
        let (acks, segments) = (share(cc, "ack"), share(cc, "segment"));
        assert!((0.75..1.3).contains(&segments), "{cc}: {segments} of a TCP");
        assert!(
            (0.6..1.0).contains(&acks) && acks < segments,
            "{cc}: {acks} of a TCP, {segments} by segments"
        );
    }
    let uncoupled = share("reno", "");
    assert!((1.8..2.2).contains(&uncoupled), "{uncoupled} of a TCP");
}

/// Khalili et al. 2012, section 3: on a path that others congest, OLIA leaves them more than LIA does. Here
/// four Renos share the second path, and the first is free. Uncoupled, the second subflow would take a fifth.
#[test]
fn olia_leaves_a_congested_path_to_others_more_than_lia_does() {
    let taken = |cc: &str| {
        let links = link("a", "10 Mbit/s", "40 ms", RED) + &link("b", "10 Mbit/s", "40 ms", RED);
        let tcp =
            "[[flow]]\nname = \"t\"\ncount = 4\ncc = \"reno\"\npath = [\"b\"]\nstart_jitter = \"1 s\"\n";
        let r =
            agreed(&format!("duration = \"300 s\"\n{links}{}{tcp}", over_both(&format!("cc = \"{cc}\""))));
        assert!(flow(&r, "m/1").goodput_bps > 0.85 * 10e6, "{cc}");
        flow(&r, "m/2").goodput_bps
    };
    let (lia, olia, reno) = (taken("lia"), taken("olia"), taken("reno"));
    assert!(olia < 0.8 * lia && lia < 0.5 * reno, "{olia}, {lia}, {reno}");
}

/// While the application has less than the fast path carries, nothing goes over the
/// slow one, except with turns.
#[test]
fn the_scheduler_prefers_the_path_with_the_shortest_round_trip() {
    let links = link("a", "8 Mbit/s", "250 ms", "") + &link("b", "8 Mbit/s", "20 ms", "");
    let sent = |keys: &str| {
        // Samples come with the handshake, and forty segments fit into the initial window of one path.
        let flow = over_both(&format!(
            "cc = \"reno\"\nhandshake = true\ninitial_window = 60\ntraffic = {{ kind = \"bulk\", size = \"58400 bytes\" }}\n{keys}"
        ));
        let r = agreed(&format!("duration = \"20 s\"\n{links}{flow}"));
        assert_eq!(r.flows[0].delivered_bytes, 58_400);
        [r.flows[1].sent_packets, r.flows[2].sent_packets]
    };
    // The first path opens first and is alone then, whatever its round trip; so the
    // fast one is the first here.
    let swapped = |keys: &str| {
        let links = link("a", "8 Mbit/s", "20 ms", "") + &link("b", "8 Mbit/s", "250 ms", "");
        let flow = over_both(&format!(
            "cc = \"reno\"\ninitial_window = 20\ntraffic = {{ kind = \"bulk\", size = \"1460 kB\" }}\n{keys}"
        ));
        let r = agreed(&format!("duration = \"20 s\"\n{links}{flow}"));
        [r.flows[1].sent_packets, r.flows[2].sent_packets]
    };
    assert_eq!(sent(""), [40, 0]);
    // 20, 40 and 80 in the rounds of the slow path that begin at 0, 0.5 and 1.0 s; the fast one carries
    // the rest, 860, by 1.3 s.
    let [fast, slow] = swapped("");
    assert!(fast >= 860 && slow == 140, "{fast} and {slow}");
    let turns = swapped("initial_ssthresh = 2\nscheduler = \"round-robin\"");
    assert!(turns[1] > 0, "{turns:?}");
}

/// One receive buffer for both paths. A path of 20 ms and one of 300 ms, no losses, windows that never bind:
/// the buffer of 60 segments is full until the slow path brings its oldest segment. In each round trip of the
/// slow path one buffer of data passes, as much as a TCP with this window would have on the slow path alone,
/// though the fast one could carry far more. Opportunistic retransmission repairs that.
#[test]
fn a_slow_path_blocks_the_shared_receive_buffer() {
    let links = link("a", "50 Mbit/s", "10 ms", "") + &link("b", "50 Mbit/s", "300 ms", "");
    let got = |keys: &str| {
        let flow = over_both(&format!(
            "cc = \"reno\"\nscheduler = \"round-robin\"\ninitial_window = 60\nreceive_window = \"60 segments\"\n{keys}"
        ));
        agreed(&format!("duration = \"60 s\"\n{links}{flow}"))
    };
    let blocked = got("");
    let round = 0.6;
    let most = 60.0 * 1460.0 * 8.0 / round;
    let found = blocked.flows[0].goodput_bps;
    close(found, most, 0.05);
    assert!(blocked.flows[1].limited.rwnd > 0.8, "{:?}", blocked.flows[1]);
    let hurried = got("opportunistic = true");
    assert!(hurried.flows[0].goodput_bps > 2.0 * found, "{} after {found}", hurried.flows[0].goodput_bps);
    assert!(hurried.flows[0].retransmitted_packets > 0);
}

/// The second path goes down for good in the middle of a transfer: what was under way there is
/// sent again on the first.
#[test]
fn a_path_that_goes_down_does_not_hold_up_the_transfer() {
    for cc in ["lia", "cubic"] {
        let down = "up = [[\"0 s\", true], [\"2 s\", false]]";
        let links = link("a", "8 Mbit/s", "30 ms", "") + &link("b", "8 Mbit/s", "50 ms", down);
        let flow = over_both(&format!("cc = \"{cc}\"\ntraffic = {{ kind = \"bulk\", size = \"6 MB\" }}"));
        let r = agreed(&format!("duration = \"60 s\"\n{links}{flow}"));
        let [whole, _, dead] = &r.flows[..] else { panic!("{r:?}") };
        assert_eq!(whole.delivered_bytes, 6_000_000, "{cc}");
        assert!(dead.timeouts > 0 && whole.completion_s.is_some_and(|done| done < 12.0), "{cc} {whole:?}");
    }
}

/// Coupled controllers hear of each other in a deterministic order, also where a trace makes every
/// change of a window a row.
#[test]
fn traces_show_each_subflow() {
    let links = link("a", "8 Mbit/s", "50 ms", "") + &link("b", "4 Mbit/s", "20 ms", "");
    let text = format!(
        "duration = \"10 s\"\nrecord = {{ interval = \"100 ms\" }}\n{links}{}",
        over_both("cc = \"lia\"")
    );
    let out = outcome(&text);
    assert_eq!(out.names, ["m/1", "m/2"]);
    let trace = out.flows.trace();
    for number in [0, 1] {
        let last = (0..trace.t_s.len()).rev().find(|&i| trace.flow[i] == number).expect("rows");
        assert!(trace.delivered_bytes[last] > 0, "{number}");
    }
}

/// Keys that do not go together are refused with a message that says what would be right.
#[test]
fn what_makes_no_sense_is_refused() {
    let links = link("a", "8 Mbit/s", "50 ms", "") + &link("b", "4 Mbit/s", "20 ms", "");
    let told = |flow: &str| {
        let text = format!("duration = \"10 s\"\n{links}[[flow]]\nname = \"m\"\n{flow}\n");
        let error = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).expect_err(flow);
        error.to_string()
    };
    let two = "cc = \"lia\"\npath = [\"a\"]\nsubflow = [{ path = [\"b\"] }]\n";
    for (keys, at, says) in [
        ("cc = \"reno\"\npath = [\"a\"]\nscheduler = \"min-rtt\"", "scheduler", "there is one path"),
        ("cc = \"reno\"\npath = [\"a\"]\nopportunistic = true", "opportunistic", "there is one path"),
        (&format!("{two}opportunistic = true"), "opportunistic", "add e.g. receive_window"),
        (&format!("{two}receive_window = \"1 MB\"\nread_rate = \"1 Mbit/s\""), "read_rate", "reads at once"),
        (
            &format!("{two}traffic = {{ kind = \"requests\", response = \"10 kB\", think = \"1 s\" }}"),
            "subflow",
            "carry bulk data",
        ),
        (
            "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\npath = [\"a\"]\nsubflow = [{ path = [\"b\"] }]",
            "subflow",
            "bulk data",
        ),
        (
            "cc = \"lia\"\npath = [\"a\", \"b\"]\nrelay = { at = \"a\", buffer = \"1 MB\" }\nsubflow = [{ path = [\"b\"] }]",
            "subflow",
            "a relay ends one connection",
        ),
        ("cc = \"lia\"\npath = [\"a\"]\nsubflow = [{ path = [\"c\"] }]", "path", "no link is called"),
        ("cc = \"lia\"\npath = [\"a\"]\nsubflow = [{ path = [\"b\"], cc = \"lea\" }]", "cc", "did you mean"),
    ] {
        let error = told(keys);
        assert!(error.contains(at) && error.contains(says), "{keys}: {error}");
    }
}
