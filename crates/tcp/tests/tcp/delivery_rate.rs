//! draft-ietf-ccwg-bbr: what a rate sample is.

use bentpipe_cc::RateSample;
use bentpipe_tcp::{AppLimited, LossRecovery, Options};

use crate::script::{Fixed, MSS, Script, plain};

fn samples(cc: &Fixed) -> Vec<Option<RateSample>> {
    cc.told().acks.iter().map(|a| a.rate).collect()
}

/// Section 3.3: a window of ten, an ACK every 10 ms, 100 ms round trip. The first flight left as a burst at
/// 0: the ACK at 100 + 10 k ms has delivered k + 1 segments in that time. The second flight's samples are ten
/// segments in the time from the burst to their sending, 10 k ms; from the third flight on in 100 ms.
#[test]
fn steady_stream() {
    let cc = Fixed::new(10);
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0-9");
    for k in 0..30 {
        t.at(100 + 10 * k).ack(k + 1).sends(&(10 + k).to_string());
    }
    for (k, sample) in (0..).zip(samples(&cc)) {
        let sample = sample.expect("every ACK delivers");
        let expected = match k {
            0..10 => (k + 1) * 1_000_000 / (100 + 10 * k),
            10..20 => 1_000_000 / k,
            _ => 100_000,
        };
        // The first flight follows the application's first write into an empty pipe.
        assert_eq!((sample.rate.0, sample.app_limited), (expected, k < 10), "ACK {k}");
        assert_eq!(sample.prior_delivered, if k < 10 { 0 } else { (k - 9) * 1000 });
    }
}

/// Section 3.3: ACKs that come compressed do not raise the rate above that at which the data was sent: the
/// interval is the longer of the two.
#[test]
fn compressed_acks() {
    let cc = Fixed::new(10);
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0-9");
    for k in 0..20 {
        t.at(100 + 10 * k).ack(k + 1).sends(&(10 + k).to_string());
    }
    // The third flight was sent from 200 to 290 ms; its ACKs arrive together.
    t.at(390);
    for k in 20..30 {
        t.ack(k + 1);
    }
    // Segment 20 + j: ten segments delivered since it was sent, 190 - 10 j ms ago; sent
    // 100 ms after segment 10 + j.
    let rates: Vec<u64> = samples(&cc)[20..].iter().map(|s| s.map_or(0, |s| s.rate.0)).collect();
    let expected: Vec<u64> = (0..10).map(|j| 10_000_000 / (190 - 10 * j)).collect();
    assert_eq!(rates, expected);
}

/// Section 3.4 and 3.5: samples of segments sent after the application ran out of data carry the flag. By
/// Linux's rule those of repairs carry none, as the application writes nothing (`tcp_sendmsg`).
#[test]
fn application_limited() {
    for (rule, of_repairs) in [(AppLimited::Draft, true), (AppLimited::Linux, false)] {
        let cc = Fixed::new(10);
        let options = Options { app_limited: rule, ..plain(LossRecovery::Sack) };
        let mut t = Script::new(options, cc.boxed(), Some(12));
        t.sends("0-9").at(100).ack(1).sends("10").at(110).ack(2).sends("11").at(120).ack(3).sends("");
        t.at(130).sack(3, &[(4, 7)]).sends("r3").at(230).ack(7).sends("r11").at(240).ack(12).idle();
        let flags: Vec<Option<bool>> = samples(&cc).iter().map(|s| s.map(|s| s.app_limited)).collect();
        assert_eq!(flags, [true, true, true, true, of_repairs, of_repairs].map(Some));
    }
}

/// `tcp_rate_check_app_limited`: a write marks what follows if nothing was left to send, no loss waits to be
/// repaired, and the window has room; else it does not.
#[test]
fn as_linux_a_write_into_a_pipe_with_room_is_application_limited() {
    let options = Options { app_limited: AppLimited::Linux, ..plain(LossRecovery::Sack) };
    let cc = Fixed::new(10);
    let mut t = Script::new(options, cc.boxed(), Some(0));
    t.write(10 * MSS).sends("0-9"); // the window is full
    t.at(50).write(10 * MSS).at(100).ack(10).sends("10-19").at(200).ack(20).sends("");
    t.at(205)
        .write(5 * MSS)
        .sends("20-24")
        .at(206)
        .write(10 * MSS)
        .sends("25-29")
        .at(306)
        .ack(25)
        .sends("30-34");
    t.at(406).ack(35).idle();
    let flags: Vec<Option<bool>> = samples(&cc).iter().map(|s| s.map(|s| s.app_limited)).collect();
    assert_eq!(flags, [true, false, true, true].map(Some));
}

/// CheckIfApplicationLimited and GenerateRateSample: a burst that begins after everything was acknowledged is
/// marked, whatever the pause, until more than its beginning has been delivered. So of a burst that takes two
/// flights the second is not.
#[test]
fn a_burst_after_silence_is_application_limited() {
    let cc = Fixed::new(10);
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), Some(0));
    t.write(10 * MSS).sends("0-9").at(100).ack(10).sends("").idle();
    t.at(105).write(10 * MSS).sends("10-19").at(205).ack(20).sends("").idle();
    t.at(5000).write(20 * MSS).sends("20-29").at(5100).ack(25).sends("30-34").ack(30).sends("35-39");
    t.at(5200).ack(35).ack(40).sends("").idle();
    let flags: Vec<Option<bool>> = samples(&cc).iter().map(|s| s.map(|s| s.app_limited)).collect();
    assert_eq!(flags, [true, true, true, true, false, false].map(Some));
}

/// Section 3.1: the first segment after everything was acknowledged starts a new interval.
#[test]
fn idle_time_is_left_out() {
    let cc = Fixed::new(1);
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0").at(100).ack(1).at(5000).sends("1").at(5100).ack(2);
    let rates: Vec<Option<u64>> = samples(&cc).iter().map(|s| s.map(|s| s.rate.0)).collect();
    assert_eq!(rates, [Some(10_000); 2]);
}

/// Section 3.3: among the segments that one ACK delivers, the sample is that of the one sent last. Here it is
/// the retransmission, though newer segment numbers were sent earlier. One segment delivered since, in 100
/// ms.
#[test]
fn sample_of_the_segment_sent_last() {
    let cc = Fixed::new(4).with(|c| c.after_loss = 1);
    let mut t = Script::new(plain(LossRecovery::NewReno), cc.boxed(), None);
    t.sends("0-3").at(100).ack(0).ack(0).ack(0).sends("r0").at(200).ack(4);
    let last = samples(&cc).pop().flatten().expect("a sample");
    assert_eq!((last.prior_delivered, last.rate.0), (3000, 10_000));
}
