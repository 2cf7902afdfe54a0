//! RFC 7323: timestamps.

use bentpipe_cc::Time;
use bentpipe_tcp::{AckSegment, LossRecovery, Options};

use crate::script::{Fixed, Listener, Script, ms, plain};

fn options() -> Options {
    Options { timestamps: true, ..plain(LossRecovery::Sack) }
}

fn one() -> Script {
    Script::new(options(), Fixed::new(1).boxed(), None)
}

/// RFC 7323 section 4.1: the echoed timestamp tells the round trip of a
/// retransmission, whichever copy arrived.
#[test]
fn retransmissions_give_samples() {
    let mut t = one();
    t.sends("0").due(1000).sends("r0").at(1300).echo(1, 1000);
    assert_eq!(t.rtt, Some(ms(300)));
    let mut t = one();
    t.sends("0").due(1000).sends("r0").at(1300).echo(1, 0);
    assert_eq!(t.rtt, Some(ms(1300)));
}

/// RFC 7323 section 4.1: only an ACK that advances the left edge gives a sample.
#[test]
fn duplicates_give_no_sample() {
    let mut t = Script::new(options(), Fixed::new(4).boxed(), None);
    t.sends("0-3").at(300).echo(0, 0);
    assert_eq!(t.rtt, None);
}

/// RFC 6298 section 5: the sample also ends the doubling: SRTT 300, RTTVAR 150, RTO
/// 900 ms, not less than 1 s.
#[test]
fn sample_of_a_retransmission_ends_the_doubling() {
    let mut t = one();
    t.sends("0").due(1000).sends("r0").at(1300).echo(1, 1000).sends("1").due(2300).sends("r1");
}

/// RFC 7323 section 4.3: with delayed ACKs the oldest segment not acknowledged is echoed, so that the
/// sender's timeout allows for the delay.
#[test]
fn delayed_ack_echoes_the_first_segment() {
    let mut l = Listener::new(&Options { delayed_ack: Some(ms(200)), ..options() });
    l.at(1).sent_at(0, 1).answers("-").at(2).sent_at(1, 2).answers("2");
    assert_eq!(l.answer.map(|a| a.tsecr), Some(1000));
}

/// RFC 7323 section 4.3, the example with segments A to E: values sent 1, 3, 2, 5,
/// 4 are echoed 1, 1, 2, 2, 4.
#[test]
fn example_of_the_rfc() {
    let mut l = Listener::new(&options());
    let mut echoed = Vec::new();
    for (seq, sent) in [(0, 1), (2, 3), (1, 2), (4, 5), (3, 4)] {
        l.sent_at(seq, sent);
        echoed.push(l.answer.map_or(0, |a| a.tsecr / 1000));
    }
    assert_eq!(echoed, [1, 1, 2, 2, 4]);
}

/// RFC 7323 section 4.3 step 2: an old duplicate does not take the echo back.
#[test]
fn old_duplicates_are_not_echoed() {
    let mut l = Listener::new(&options());
    l.sent_at(0, 10).sent_at(1, 20).sent_at(0, 5).answers("2");
    assert_eq!(l.answer.map(|a| a.tsecr), Some(20_000));
    l.sent_at(1, 30);
    assert_eq!(l.answer.map(|a| a.tsecr), Some(30_000));
}

/// RFC 7323 section 5.4 and 5.5: the clock wraps (after 4295 s in microseconds), and a long
/// silence does not stop the echo.
#[test]
fn clock_wraps() {
    let mut l = Listener::new(&options());
    for (seq, t) in [(0, 3_000_000), (1, 4_200_000), (2, 4_300_000), (3, 9_000_000)] {
        l.at(t).data(seq);
        assert_eq!(l.answer.map(|a| a.tsecr), Some((t * 1000) as u32), "at {t} ms");
    }
    let mut t = one();
    t.sends("0").due(1000).sends("r0");
    let wrapped = AckSegment { ack: 1, tsecr: u32::MAX - 999, ..AckSegment::default() };
    // Echo of a clock 1 ms before its wrap, at 1300 ms after it.
    t.at(1300).segment(wrapped);
    assert_eq!(t.rtt, Some(ms(1301)));
}

/// The sender's clock runs in microseconds.
#[test]
fn clock_of_the_sender() {
    let mut t = one();
    let sent = t.sender.poll(Time(2_500_000)).map(|d| d.tsval);
    assert_eq!(sent, Some(2500));
}
