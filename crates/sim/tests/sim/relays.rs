//! Applications that read slowly, and relays, against closed forms.

use bentpipe_sim::plan::QueueLimit;
use bentpipe_sim::record::{FlowReport, Report};
use bentpipe_sim::{Scenario, no_supply, run_by_reference};

use crate::outcome::{close, geo, outcome, plan, report};

/// A flow from a server over 10 ms to a gateway, and from there over 250 ms to a client, each way;
/// segments of 1460 bytes in 1500.
fn path(core: &str, sat: &str, flow: &str) -> String {
    format!(
        "duration = \"60 s\"\n[link.core]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n{core}\n[link.sat]\nrate = \"10 Mbit/s\"\n\
         delay = \"250 ms\"\n{sat}\n[[flow]]\nname = \"x\"\ncc = \"reno\"\nprofile = \"paper\"\npath = [\"core\", \"sat\"]\n{flow}\n"
    )
}

fn halves(text: &str) -> [FlowReport; 2] {
    let by_reference = run_by_reference(&plan(text), &mut no_supply, &mut |_| true).expect("a run that ends");
    let fast: Report = report(text);
    assert_eq!(fast, by_reference.report, "{text}");
    fast.flows.try_into().expect("two halves")
}

/// A segment of 1460 bytes is read in 5.84 ms. The path could carry five times as much.
#[test]
fn a_slow_application_gets_what_it_reads() {
    let flow =
        "cc = \"reno\"\ninitial_window = 300\nreceive_window = \"600 segments\"\nread_rate = \"2 Mbit/s\"";
    for delayed in ["", "\ndelayed_ack = true"] {
        let r = report(&geo("100 s", "", &format!("{flow}{delayed}")));
        // At the end it has read for all but the first 251.2 ms, and the buffer is full or what
        // is missing is under way.
        let read = 2e6 / 8.0 * (100.0 - 0.2512);
        let got = r.flows[0].delivered_bytes as f64;
        assert!(got > read && got - read < 600.0 * 1460.0, "{got} against {read}");
        assert!(r.flows[0].limited.rwnd > 0.9 && r.flows[0].retransmitted_packets == 0, "{:?}", r.flows[0]);
    }
    // A path that carries less than the application reads is used in full, as with no such application.
    let fast = "cc = \"reno\"\ninitial_ssthresh = 420\nreceive_window = \"600 segments\"";
    let (slow, plain) = (
        report(&geo("60 s", "", &format!("{fast}\nread_rate = \"12 Mbit/s\""))),
        report(&geo("60 s", "", fast)),
    );
    assert_eq!(slow.flows[0].delivered_bytes, plain.flows[0].delivered_bytes);
}

/// The window of the second half allows 50 segments in 501.2 ms, and the 400 segments of the buffer fill long
/// before. From then on the first half goes as fast as the second.
#[test]
fn the_first_half_fills_the_buffer_and_then_follows_the_second() {
    let relay = "initial_ssthresh = 60\nreceive_window = \"50 segments\"\nrelay = { at = \"core\", buffer = \"584 kB\" }";
    let text = path("queue = { kind = \"drop-tail\", limit = \"500 packets\" }", "", relay);
    let [first, second] = halves(&text);
    assert_eq!(
        (&*first.name, first.half, &*second.name, second.half),
        ("x/first", Some("first"), "x/second", Some("second"))
    );
    // 32 segments a round trip after five rounds of slow start that take 31 instead of 250.
    let round = 0.501_232;
    close(
        second.goodput_bps,
        50.0 * 1460.0 * 8.0 / round * (60.0 - 0.5 * round - 219.0 / 50.0 * round) / 60.0,
        0.02,
    );
    assert!(second.limited.rwnd > 0.9, "{second:?}");
    // Of the 400 segments in the buffer the client has up to 50, whose acknowledgements are under way.
    let kept = (first.delivered_bytes - second.delivered_bytes) / 1460;
    assert!((350..=400).contains(&kept), "{kept}");
    assert!(first.limited.rwnd > 0.98 && first.rtt.unwrap().min_s < 0.021, "{first:?}");
    // The buffer is full after some rounds of 20 ms.
    let trace = outcome(&format!("record = {{ interval = \"10 ms\" }}\n{text}")).flows.trace();
    let full = (0..trace.t_s.len()).find(|&i| trace.flow[i] == 0 && trace.delivered_bytes[i] >= 400 * 1460);
    assert!(full.is_some_and(|i| trace.t_s[i] < 0.3), "{full:?}");
}

/// A buffer that is smaller than both windows holds each segment for a round trip of the second half, and
/// learns of the room a round trip of the first half later. So the relay gains nothing: B segments in
/// r1 + r2. An update may wait for the next data, another r1.
#[test]
fn a_small_buffer_couples_the_two_loops() {
    for segments in [8.0, 32.0, 64.0] {
        let relay = format!(
            "relay = {{ at = \"gateway\", buffer = \"{} bytes\", initial_window = 100 }}",
            segments * 1460.0
        );
        let [_, second] = halves(&path("", "", &relay));
        let bits = segments * 1460.0 * 8.0;
        let (r1, r2) = (0.020_123, 0.501_232 + (segments - 1.0) * 0.0012);
        assert!(second.goodput_bps < bits / (r1 + 0.501_232), "{segments}: {second:?}");
        assert!(second.goodput_bps > 0.97 * bits / (2.0 * r1 + r2), "{segments}: {second:?}");
    }
}

/// The second half sends its SYN when the first one's reaches the relay. One segment: the relay has it after
/// three halves of r1, may send it r2 after its SYN, and has it acknowledged another r2 later.
#[test]
fn the_second_half_opens_at_once() {
    let flow = "handshake = true\ntraffic = { kind = \"bulk\", size = \"1460 bytes\" }\nrelay = { at = \"core\", buffer = \"1 MB\" }";
    let [first, second] = halves(
        &path("rate = \"10 Gbit/s\"", "", flow)
            .replacen("rate = \"100 Mbit/s\"\n", "", 1)
            .replace("\"10 Mbit/s\"", "\"10 Gbit/s\""),
    );
    close(first.completion_s.unwrap(), 2.0 * 0.020, 1e-3);
    close(second.completion_s.unwrap(), 0.5 * 0.020 + 2.0 * 0.500, 1e-3);
    assert_eq!((first.delivered_bytes, second.delivered_bytes), (1460, 1460));
}

/// Losses on both sides are repaired each by its own half, and each byte comes once. What
/// comes is all that was sent.
#[test]
fn a_transfer_through_a_relay_is_complete() {
    let lossy = "loss = { kind = \"packet-error\", rate = 0.02 }";
    for more in ["", "handshake = true\n", "recovery = \"newreno\"\n", "delayed_ack = true\n"] {
        let flow = format!(
            "{more}traffic = {{ kind = \"bulk\", size = \"300001 bytes\" }}\nrelay = {{ at = \"core\", cc = \"hybla\", buffer = \"20 kB\" }}"
        );
        let [first, second] = halves(&path(lossy, lossy, &flow));
        assert_eq!((first.delivered_bytes, second.delivered_bytes), (300_001, 300_001));
        assert_eq!((&*first.cc, &*second.cc), ("reno", "hybla"));
        assert!(first.retransmitted_packets > 0 && second.retransmitted_packets > 0);
        assert!(first.completion_s < second.completion_s);
        let all = 300_001.0 * 8.0 / second.completion_s.unwrap();
        close(second.goodput_bps, all, 1e-9);
    }
}

/// A buffer of one segment: the update that tells of its room sets out at 511.3 ms and is lost. The timer of
/// the closed window began at 20.1 ms with the least timeout, 200 ms; its first probe finds the window
/// closed, its second, 400 ms after that answer, finds it open.
#[test]
fn a_lost_window_update_costs_the_time_until_the_next_probe() {
    let flow = "traffic = { kind = \"bulk\", size = \"2920 bytes\" }\nrelay = { at = \"core\", buffer = \"1460 bytes\" }";
    let done = |core: &str| {
        let [first, second] = halves(&path(core, "", flow));
        (first.sent_packets, second.completion_s.unwrap())
    };
    let (r1, r2) = (0.020_123_2, 0.501_232);
    let (sent, whole) = done("");
    // Half of r1 there, r2, r1 for the update and the next segment, r2.
    close(whole, 0.5 * r1 + r2 + r1 + r2, 1e-3);
    assert_eq!(sent, 2 + 1, "one probe in vain");
    let (sent, late) = done("reverse = { loss = { kind = \"outage\", from = \"500 ms\", to = \"530 ms\" } }");
    let probes_answered = r1 + 0.2 + 0.020 + 0.4 + 0.020;
    close(late, probes_answered + 0.5 * r1 + r2, 1e-3);
    assert_eq!(sent, 2 + 2);
}

/// A flow that stops gives up no byte that it has sent, and its life ends with the last one.
#[test]
fn what_was_sent_before_the_stop_goes_through() {
    for handshake in ["", "handshake = true\n"] {
        let flow = format!("{handshake}stop = \"5 s\"\nrelay = {{ at = \"core\", buffer = \"300 kB\" }}");
        let [first, second] = halves(&path("", "", &flow));
        assert_eq!(first.delivered_bytes, second.delivered_bytes);
        let life = second.delivered_bytes as f64 * 8.0 / second.goodput_bps;
        assert!(life > 5.0 && life < 6.0, "{life} s");
    }
}

/// The same plan, and so the same run, with all defaults written out.
#[test]
fn defaults_written_out_make_the_same_halves() {
    let relays = [
        "relay = { at = \"core\", buffer = \"1 MB\" }",
        "relay = { at = \"core\", cc = { name = \"star\" }, buffer = \"1 MB\", initial_window = 30 }\nread_rate = \"3 Mbit/s\"\nreceive_window = \"1 MB\"\ncount = 3\nack_jitter = \"2 ms\"",
    ];
    for relay in relays {
        let text = path("", "", relay) + "[[flow]]\ncc = \"cubic\"\npath = [\"sat\"]\n";
        let scenario = Scenario::from_toml(&text, "test.toml", &[]).expect("a scenario");
        let full = scenario.with_defaults().expect("defaults");
        assert_eq!(scenario.resolve().expect("a plan"), full.resolve().expect("a plan"));
    }
}

/// A control loop is one half, and so is a bandwidth-delay product: 100 Mbit/s x 20 ms, 10 Mbit/s x 500 ms.
/// The access delay is the server's.
#[test]
fn a_bandwidth_delay_product_is_that_of_a_half() {
    let rooms = |flow: &str| {
        let plan = plan(&path("", "", flow));
        plan.links.iter().map(|link| link.forward.queue).collect::<Vec<_>>()
    };
    assert_eq!(rooms(""), [4333, 433].map(QueueLimit::Packets));
    let relay = "relay = { at = \"core\", buffer = \"1 MB\" }";
    assert_eq!(rooms(relay), [167, 417].map(QueueLimit::Packets));
    assert_eq!(rooms(&format!("{relay}\nextra_delay = \"5 ms\"")), [250, 417].map(QueueLimit::Packets));
}

/// Three links have two places, each called by the link before it.
#[test]
fn a_relay_stands_at_the_end_of_the_link_that_it_names() {
    let text = |at: &str| {
        let link = |name: &str| format!("[link.{name}]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n");
        format!(
            "duration = \"1 s\"\n{}{}{}[[flow]]\ncc = \"reno\"\npath = [\"a\", \"b/reverse\", \"c\"]\nrelay = {{ at = \"{at}\", buffer = \"1 MB\" }}\n",
            link("a"),
            link("b"),
            link("c")
        )
    };
    let hops = |at: &str| plan(&text(at)).flows.iter().map(|flow| flow.path.len()).collect::<Vec<_>>();
    assert_eq!((hops("a"), hops("b"), hops("b/reverse")), (vec![1, 2], vec![2, 1], vec![2, 1]));
}
