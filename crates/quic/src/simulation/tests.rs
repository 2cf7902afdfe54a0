//! QUIC over a simulated GEO link: 10 Mbit/s, RTT 500 ms, a queue of one BDP.

use std::sync::Arc;

use bentpipe_cc::{Span, registry};
use bentpipe_sim::plan::{CodelPlan, DirectionPlan, Discipline, LossPlan, PacketError, QueueLimit};
use bentpipe_sim::{Scenario, no_supply};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};

use super::{Report, Transfer, run};
use crate::Algorithm;

const RATE: u64 = 10_000_000;
/// 10 Mbit/s for 500 ms, in packets of 1500 bytes.
const BDP: u64 = 416;
/// The most that an application can get. Datagrams are of 1452 bytes once quinn has found the MTU, and cost
/// 28 bytes of IPv4 and UDP. At least 26 of them are QUIC's (RFC 9000 section 17.3: first byte, connection ID
/// of 8, packet number of 1; tag of 16).
const MOST: f64 = RATE as f64 * (1452.0 - 26.0) / (1452.0 + 28.0);

fn direction(one_way: u64, loss: &[LossPlan]) -> DirectionPlan {
    DirectionPlan {
        loss: loss.to_vec(),
        ..DirectionPlan::plain(RATE, Span::from_millis(one_way), QueueLimit::Packets(BDP))
    }
}

type Factory = Arc<dyn ControllerFactory + Send + Sync>;

fn send(controller: Factory, forward: &DirectionPlan, bytes: Option<u64>, seconds: u64) -> Report {
    let reverse = DirectionPlan { loss: Vec::new(), ..forward.clone() };
    let transfer = Transfer {
        forward: (forward, "link/sat/forward"),
        reverse: (&reverse, "link/sat/reverse"),
        controller,
        bytes,
        duration: Span::from_millis(1000 * seconds),
        interval: Span::from_millis(100),
        seed: 1,
    };
    run(&transfer).expect("the connection holds")
}

fn ours(id: &str) -> Factory {
    Arc::new(Algorithm::new(id, &[]).expect("registered"))
}

/// Our Reno and quinn's NewReno are one algorithm (RFC 9002 section 7), as are our CUBIC and quinn's
/// (RFC 8312 and 9438); they differ in rounding and in CUBIC's constants for the Reno-friendly region.
#[test]
fn reno_and_cubic_do_as_quinns_own() {
    let per = [LossPlan::PacketError(PacketError { rate: 1e-3 })];
    let pairs: [(&str, Factory, &[LossPlan]); 3] = [
        ("reno", Arc::new(NewRenoConfig::default()), &[]),
        ("reno", Arc::new(NewRenoConfig::default()), &per),
        ("cubic", Arc::new(CubicConfig::default()), &per),
    ];
    for (id, theirs, loss) in pairs {
        let link = direction(250, loss);
        let (ours, theirs) = (send(ours(id), &link, None, 60), send(theirs, &link, None, 60));
        let ratio = ours.goodput_bps() / theirs.goodput_bps();
        assert!((0.97..1.03).contains(&ratio), "{id} {loss:?}: {ratio}");
        // The overshoot of slow start is that of a doubled window, for both.
        assert!(ours.lost_packets.abs_diff(theirs.lost_packets) * 20 < theirs.lost_packets, "{ours:?}");
        for got in [&ours, &theirs] {
            assert!(got.goodput_bps() < MOST);
            assert!(got.samples.iter().all(|sample| sample.cwnd >= 2400), "RFC 9002 section 7.2");
        }
        if loss.is_empty() {
            assert!(ours.goodput_bps() > 0.8 * MOST, "{}", ours.goodput_bps());
            assert_eq!(ours.dropped, (ours.lost_packets, 0), "every drop is detected, and nothing else");
        } else {
            assert!(ours.dropped.1 > 0);
        }
    }
}

/// BBR paces by a rate that is less than window / RTT, which quinn does not know; as a window the rate
/// does what it does under TCP.
#[test]
fn a_rate_kept_as_a_window_does_as_under_tcp() {
    let scenario = r#"
        duration = "60 s"
        seed = 1
        [link.sat]
        rate = "10 Mbit/s"
        delay = "250 ms"
        queue = { kind = "drop-tail", limit = "416 packets" }
        [[flow]]
        cc = "bbr"
        path = ["sat"]
    "#;
    let plan = Scenario::from_toml(scenario, "geo", &[]).and_then(|scenario| scenario.resolve());
    let tcp = bentpipe_sim::run(&plan.expect("a scenario"), &mut no_supply, &mut |_| true).expect("runs");
    let quic = send(ours("bbr"), &direction(250, &[]), None, 60);
    let ratio = quic.received as f64 / tcp.report.flows[0].delivered_bytes as f64;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    let rtt = quic.rtt_mean_s();
    assert!(rtt < 0.75, "window alone, two BDP, would fill the queue: {rtt}");
}

/// TCP-STAR was made for this link (PER 1e-3), and keeps most of it where Reno cannot:
/// sqrt(3/2 / PER) = 39 segments of 416 + 416.
#[test]
fn star_beats_reno_on_a_lossy_geo_link() {
    let link = direction(250, &[LossPlan::PacketError(PacketError { rate: 1e-3 })]);
    let (star, reno) = (send(ours("star"), &link, None, 30), send(ours("reno"), &link, None, 30));
    assert!(
        star.goodput_bps() > 2.0 * reno.goodput_bps(),
        "{} and {}",
        star.goodput_bps(),
        reno.goodput_bps()
    );
}

#[test]
fn the_same_request_gives_the_same_report() {
    let link = direction(250, &[LossPlan::PacketError(PacketError { rate: 1e-2 })]);
    let [a, b] = [1, 2].map(|_| send(ours("cubic"), &link, Some(1_000_000), 60));
    assert!(a.complete && a.lost_packets > 0);
    assert_eq!(a, b);
}

/// Every algorithm brings a file over a link with losses, whole (the receiver checks each byte), and
/// no faster than the link. The time is that of a window of two datagrams per round trip at the least:
/// 344 round trips of 42 ms.
#[test]
fn every_algorithm_brings_a_file() {
    let link = direction(20, &[LossPlan::PacketError(PacketError { rate: 5e-3 })]);
    for entry in registry::all() {
        let got = send(ours(entry.id), &link, Some(1_000_000), 60);
        assert!(got.complete && got.received == 1_000_000, "{}: {got:?}", entry.id);
        assert!(got.goodput_bps() < MOST, "{}", entry.id);
        assert!(got.took < Span::from_millis(344 * 42), "{}: {}", entry.id, got.took.secs());
    }
}

/// A queue that marks instead of dropping: quinn tells of the mark, and Reno halves
/// its window without a loss.
#[test]
fn marks_are_told() {
    let marking = Discipline::Codel(CodelPlan {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: true,
        mtu: 1500,
    });
    let link = DirectionPlan { discipline: marking, ..direction(20, &[]) };
    let got = send(ours("reno"), &link, Some(3_000_000), 60);
    assert!(got.complete);
    assert!(got.congestion_events > 0 && got.lost_packets == 0, "{got:?}");
}
