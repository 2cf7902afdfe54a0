//! TCP-STAR's ACK error notification (section 3.3 of the paper): a timeout probes before
//! it believes in lost data.

use bentpipe_cc::Congestion;
use bentpipe_tcp::{AenProbe, LossRecovery, Options};

use crate::script::{Fixed, Script, plain, reno};

fn options() -> Options {
    Options { aen: true, ..plain(LossRecovery::Sack) }
}

/// Ten segments sent, the timer has expired at 1 s and the probe is out.
fn probing() -> Script {
    let mut t = Script::new(options(), reno(10.0, 10.0), None);
    t.sends("0-9").due(1000).sends("p0").window(10.0, 10.0);
    t
}

/// The probe's answer covers new data: only ACKs were lost. Window and threshold stay as
/// they were, new data follows.
#[test]
fn lost_acks_keep_the_window() {
    let mut t = probing();
    t.at(1500).ack(4).window(10.0, 10.0).sends("10-13").ack(10).sends("14-19");
    let counters = t.sender.counters();
    assert_eq!((counters.timeouts, counters.spurious_timeouts, counters.retransmitted), (0, 1, 0));
    assert_eq!(counters.sent, 20, "the probe is no data segment");
}

/// The probe of the paper is the oldest segment itself (section 3.3: "retransmits a data segment which is sent at
/// time t0"). It repairs the loss that it asks about, so its answer covers new data though data was lost, and
/// case (I) is not found: here segment 0 was lost, later segment 4 as well.
#[test]
fn the_printed_probe_repairs_what_it_asks_about() {
    let segment = Options { aen_probe: AenProbe::Segment, ..options() };
    let mut t = Script::new(segment, reno(10.0, 10.0), None);
    t.sends("0-9").due(1000).sends("r0").window(10.0, 10.0);
    t.at(1500).ack(4).window(10.0, 10.0).sends("10-13");
    let counters = t.sender.counters();
    assert_eq!((counters.timeouts, counters.spurious_timeouts, counters.retransmitted), (0, 1, 1));
    // An answer that covers nothing, or none at all, is still a timeout.
    let mut t = Script::new(segment, reno(10.0, 10.0), None);
    t.sends("0-9").due(1000).sends("r0").due(2000).window(1.0, 5.0).sends("r0");
    assert_eq!((t.sender.counters().timeouts, t.sender.counters().spurious_timeouts), (1, 0));
}

/// The answer covers nothing new: data was lost; the window collapses and the first segment goes out again.
#[test]
fn lost_data_collapses_the_window() {
    let mut t = probing();
    t.at(1500).ack(0).window(1.0, 5.0).sends("r0").at(1600).ack(1).sends("r1 r2");
    assert_eq!((t.sender.counters().timeouts, t.sender.counters().spurious_timeouts), (1, 0));
}

/// No answer within an RTO that is not doubled for the probe: standard slow start, and the
/// RTO doubles from then on.
#[test]
fn probe_times_out() {
    let mut t = probing();
    t.due(2000).window(1.0, 5.0).sends("r0").due(4000).sends("r0").due(8000).sends("r0");
    assert_eq!(t.sender.counters().timeouts, 3);
}

/// While the probe is out nothing else is sent.
#[test]
fn silence_while_probing() {
    let mut t = Script::new(options(), Fixed::new(20).with(|c| c.after_timeout = 1).boxed(), Some(10));
    t.sends("0-9").due(1000).sends("p0").sends("").at(1500).sends("").ack(9).sends("");
    // One sample of 1500 ms: RTO 4500 ms.
    t.due(6000).sends("p9");
}

/// The next timeout after a spared one probes again.
#[test]
fn probes_again() {
    let cc = Fixed::new(4);
    let mut t = Script::new(options(), cc.boxed(), None);
    t.sends("0-3").due(1000).sends("p0").at(1100).ack(4).sends("4-7");
    assert!(t.sender.deadline().is_some());
    assert!(cc.told().congestion.is_empty());
    // One sample of 1100 ms: RTO 3300 ms.
    t.due(4400).sends("p4").at(4500).ack(4).sends("r4 r5 r6 r7");
    assert_eq!(cc.told().congestion, [Congestion::Timeout]);
}

/// Without the option a timeout retransmits at once.
#[test]
fn off() {
    let mut t = Script::new(Options { aen: false, ..options() }, reno(10.0, 10.0), None);
    t.sends("0-9").due(1000).sends("r0");
}
