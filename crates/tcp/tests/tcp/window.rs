//! Which window limits the sender, and the ends of a transfer.

use bentpipe_cc::{Hint, Life, PathChange, RecoveryWindow, Span, Time};
use bentpipe_tcp::{IdleRestart, Limit, LossRecovery, Options, RtoRule, ShortSegmentSent};

use crate::script::{Fixed, MSS, Script, bytes_per_second, ms, plain, reno};

/// RFC 9293 section 3.8.6: no more than the receive window beyond what is acknowledged.
#[test]
fn receive_window_limits() {
    let options = Options { receive_window: Some(4), ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, Fixed::new(10).boxed(), None);
    t.sends("0-3").at(100).ack(1).sends("4").sack(1, &[(2, 3)]).sends("").ack(5).sends("5-8");
    assert_eq!(t.sender.flow().rwnd, 4 * u64::from(MSS));
    assert_eq!(t.sender.limits(bentpipe_cc::Time(250_000_000)).spent(Limit::Rwnd), ms(250));
}

/// RFC 7661, RFC 9438 section 5.8: a window that does not limit the sender does not grow.
#[test]
fn unused_window_does_not_grow() {
    let options = Options { receive_window: Some(4), ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, reno(10.0, f64::INFINITY), None);
    t.sends("0-3").at(100).ack(1).ack(2).ack(3).ack(4).window(10.0, f64::INFINITY);
}

/// RFC 6928 section 2: an initial window of ten segments.
#[test]
fn initial_window() {
    let options = Options { mss: MSS, ..Options::modern() };
    let mut t = Script::new(options, reno(options.initial_window, options.initial_ssthresh), None);
    t.sends("0-9").flight(10);
}

/// A fraction of a segment is not sent: 2.9 segments allow two.
#[test]
fn fractions_are_not_sent() {
    Script::new(plain(LossRecovery::Sack), reno(2.9, 2.0), None).sends("0-1");
}

/// A controller that drives recovery itself keeps its window, whatever PRR would say.
#[test]
fn controller_drives_recovery() {
    let options = Options { prr: true, ..plain(LossRecovery::Sack) };
    let cc = Fixed::new(10).with(|c| (c.recovery, c.after_loss) = (RecoveryWindow::Controller, 8));
    let mut t = Script::new(options, cc.boxed(), None);
    t.sends("0-9").at(100).sack(0, &[(1, 4)]).flight(6).sends("r0 10").at(200).ack(4).flight(7).sends("11");
    t.ack(10).sends("12-17");
    assert_eq!(cc.told().life, [Life::Recovered]);
}

/// The last segment of a transfer carries what is left, and all bytes are accounted for.
#[test]
fn last_segment_is_short() {
    let bytes = 2 * u64::from(MSS) + 300;
    for sack in [&[(2, 3)][..], &[]] {
        let mut sender = bentpipe_tcp::Sender::new(plain(LossRecovery::Sack), reno(10.0, 10.0), Some(bytes));
        let now = bentpipe_cc::Time(0);
        sender.start(now);
        let sent: Vec<u32> = core::iter::from_fn(|| sender.poll(now)).map(|d| d.len).collect();
        assert_eq!(sent, [1000, 1000, 300]);
        for (ack, sack) in [(0, sack), (3, &[][..])] {
            let seg =
                bentpipe_tcp::AckSegment { ack, sack: crate::script::sack_of(sack), ..Default::default() };
            sender.on_ack(bentpipe_cc::Time(1_000_000), &seg);
        }
        assert!(sender.is_done());
        assert_eq!(sender.flow().delivered, bytes);
    }
}

/// After `stop` nothing new is sent, but what is lost is; full segments stay full.
#[test]
fn stop() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(4.0, 4.0), Some(100));
    t.sends("0-3").at(100).ack(1);
    t.sender.stop();
    t.sends("").sack(1, &[]).due(1100).sends("r1").at(1200).ack(4).sends("").idle();
    assert!(t.sender.is_done());
    let mut sender = bentpipe_tcp::Sender::new(plain(LossRecovery::Sack), reno(1.0, 4.0), Some(1300));
    sender.start(bentpipe_cc::Time(0));
    assert_eq!(sender.poll(bentpipe_cc::Time(0)).map(|d| d.len), Some(1000));
    sender.stop();
    let due = sender.deadline().expect("one segment is outstanding");
    sender.on_deadline(due);
    assert_eq!(sender.poll(due).map(|d| (d.len, d.retransmission)), Some((1000, true)));
}

/// A transfer of nothing is done before it starts.
#[test]
fn empty_transfer() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(4.0, 4.0), Some(0));
    t.sends("").idle();
    assert!(t.sender.is_done());
}

/// RFC 9293 section 3.9.1.2 (SEND): an application gives its data in pieces. What it gives goes out as far as
/// the window allows, and after a pause the window that was not used has not grown.
#[test]
fn an_application_that_writes_in_pieces() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(4.0, f64::INFINITY), Some(0));
    t.sends("").idle();
    t.write(2 * MSS).sends("0-1").at(100).ack(2).window(4.0, f64::INFINITY).idle();
    assert!(t.sender.is_done());
    t.at(5000).write(10 * MSS).sends("2-5").at(5100).ack(4).window(5.0, f64::INFINITY).sends("6-8");
    assert!(!t.sender.is_done());
}

/// An application has data without end for a while, then none, then again.
#[test]
fn an_application_that_is_on_for_a_while() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(4.0, f64::INFINITY), Some(0));
    t.sender.write_on().unwrap();
    t.sends("0-3");
    t.sender.stop();
    t.at(100).ack(4).sends("").idle();
    assert!(t.sender.is_done());
    t.at(5000).sender.write_on().unwrap();
    t.sends("4-8");
    assert!(!t.sender.is_done());
}

/// Behind a short segment that has been sent nothing can follow.
#[test]
fn no_data_without_end_follows_a_short_segment() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(4.0, f64::INFINITY), Some(0));
    t.write(MSS / 2).sends("0");
    assert!(t.sender.write_on().is_err());
}

/// RFC 5681 section 4.1: after a pause of more than a retransmission timeout the window is the initial one,
/// here two segments. By slow start it returns to what it was, 9 segments, and grows on from there.
#[test]
fn after_a_long_pause_the_window_begins_anew() {
    let options =
        Options { idle_restart: IdleRestart::Rfc5681, initial_window: 2.0, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, reno(8.0, f64::INFINITY), Some(0));
    t.write(8 * MSS).sends("0-7").at(100).ack(8).window(9.0, f64::INFINITY).idle();
    t.at(5000).write(40 * MSS).sends("8-9");
    t.at(5100).ack(10).sends("10-13");
    t.at(5200).ack(14).sends("14-21");
    t.at(5300).ack(22).window(12.0, f64::INFINITY).sends("22-33");
}

/// A pause shorter than the timeout changes nothing: the initial one is a second.
#[test]
fn after_a_short_pause_the_window_is_what_it_was() {
    let options =
        Options { idle_restart: IdleRestart::Rfc5681, initial_window: 2.0, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, reno(8.0, f64::INFINITY), Some(0));
    t.write(8 * MSS).sends("0-7").at(100).ack(8).idle();
    t.at(110).write(40 * MSS).sends("8-16");
}

/// A sender with Linux's rule for a window that was not used, and with Linux's timeout, which is 300 ms once
/// an RTT of 100 ms has been measured: the variation counts for 200 ms at least.
fn as_linux() -> Options {
    Options {
        idle_restart: IdleRestart::Linux,
        initial_window: 2.0,
        rto: RtoRule::Linux,
        granularity: Span(1000),
        min_rto: ms(200),
        ..plain(LossRecovery::Sack)
    }
}

/// Linux, `tcp_cwnd_restart`: the window is halved for each timeout of the pause that is over, not below the
/// initial window, and three quarters of it are the threshold. The pause counts from the last segment sent.
#[test]
fn as_linux_the_window_is_halved_once_per_timeout_of_a_pause() {
    for (pause, window) in [(300, 17.0), (301, 8.0), (600, 8.0), (601, 4.0), (901, 2.0), (90_000, 2.0)] {
        let mut t = Script::new(as_linux(), reno(16.0, f64::INFINITY), Some(0));
        t.write(16 * MSS).sends("0-15").at(100).ack(16).window(17.0, f64::INFINITY).idle();
        t.at(pause).write(40 * MSS);
        t.sends(&format!("16-{}", 15 + window as u64)).window(window, f64::INFINITY);
    }
}

/// The same once a loss has set a threshold: it becomes three quarters of the window, 8 / 2 + 8 / 4 = 6
/// segments here, and the window returns there by slow start.
#[test]
fn as_linux_a_threshold_rises_to_three_quarters_of_the_window_before_the_pause() {
    let options =
        Options { idle_restart: IdleRestart::Linux, initial_window: 2.0, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, reno(8.0, 4.0), Some(0));
    t.write(8 * MSS).sends("0-7").at(100).ack(8).idle();
    t.at(20_000).write(40 * MSS).sends("8-9").window(2.0, 6.0);
    t.at(20_100).ack(10).window(3.0, 6.0).sends("10-12");
}

/// Linux, `tcp_cwnd_application_limited`: an open sender that does not fill its window, and that has had no
/// acknowledgement for a timeout, goes to the mean of window and use. Here a pause of 250 ms is shorter than
/// the timeout of 300 ms, counted from the last segment, and data in flight is not acknowledged at once.
#[test]
fn as_linux_an_open_sender_that_does_not_fill_its_window_goes_half_way_to_its_use() {
    let mut t = Script::new(as_linux(), reno(16.0, 2.0), Some(0));
    t.write(16 * MSS).sends("0-15").at(100).ack(16).sends("").idle();
    t.at(250).write(MSS).sends("16").window(16.06, 2.0);
    // The last acknowledgement came at 100 ms, and three segments are out. (16 + 3) / 2 is 9 whole
    // segments; the threshold is 8 + 4.
    t.at(420).write(2 * MSS).sends("17-18").window(9.0, 12.0);
    t.at(440).write(MSS).sends("19").window(9.0, 12.0);
}

/// Linux, `tcp_is_cwnd_limited`: in slow start the window grows to twice what is used, and no further.
#[test]
fn as_linux_slow_start_goes_on_to_twice_what_the_application_uses() {
    let options =
        Options { idle_restart: IdleRestart::Linux, initial_window: 4.0, ..plain(LossRecovery::Sack) };
    let mut t = Script::new(options, reno(6.0, f64::INFINITY), Some(0));
    let mut next = 0;
    for (i, window) in [7.0, 8.0, 8.0, 8.0].into_iter().enumerate() {
        t.at(500 * i as u64).write(4 * MSS).sends(&format!("{next}-{}", next + 3));
        next += 4;
        t.at(500 * i as u64 + 100).ack(next).window(window, f64::INFINITY).idle();
    }
}

/// A controller that sets its window in every phase keeps it (Linux, modules with `cong_control`).
#[test]
fn a_controller_with_a_model_of_the_path_keeps_its_window() {
    for idle_restart in [IdleRestart::Rfc5681, IdleRestart::Linux] {
        let options = Options { idle_restart, initial_window: 2.0, ..plain(LossRecovery::Sack) };
        let cc = Fixed::new(8).with(|c| c.recovery = RecoveryWindow::Controller);
        let mut t = Script::new(options, cc.boxed(), Some(0));
        t.write(8 * MSS).sends("0-7").at(100).ack(8).idle();
        t.at(50_000).write(40 * MSS).sends("8-15");
    }
}

/// The controller hears of a pause when the first segment after it is about to go out, and only if nothing
/// was in flight (Linux, `CA_EVENT_TX_START`).
#[test]
fn a_pause_of_the_application_is_reported() {
    let cc = Fixed::new(4);
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), Some(0));
    t.write(2 * MSS).sends("0-1").at(50).write(MSS).sends("2").at(100).ack(3);
    assert_eq!(cc.told().life, [], "at the start, and while data is in flight");
    t.at(5000).write(MSS).write(MSS);
    assert_eq!(cc.told().life, [], "nothing is sent yet");
    t.sends("3-4");
    assert_eq!(cc.told().life, [Life::IdleRestart]);
    t.at(5100).ack(5).sends("");
    assert_eq!(cc.told().life, [Life::IdleRestart]);
}

/// A pause that ends while pacing holds the segment back is reported with that segment,
/// whatever arrives in between.
#[test]
fn a_pause_is_reported_though_an_old_acknowledgement_comes_before_the_first_segment() {
    let cc = Fixed::new(4).with(|c| c.pacing = bytes_per_second(1000));
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), Some(0));
    t.write(MSS).sends("0").at(100).ack(1).write(MSS).sends("").at(200).ack(1).sends("");
    assert_eq!(cc.told().life, []);
    t.due(1000).sends("1");
    assert_eq!(cc.told().life, [Life::IdleRestart]);
}

/// A controller may answer at once: what its window then allows goes out, and no
/// acknowledgement is needed for it.
#[test]
fn a_hint_about_the_path_reaches_the_controller_and_its_answer_counts_at_once() {
    let cc = Fixed::new(4).with(|c| c.after_hint = Some(6));
    let mut t = Script::new(plain(LossRecovery::Sack), cc.boxed(), None);
    t.sends("0-3").at(30);
    let hint = Hint::PathChange(PathChange { ahead: ms(0), dark: ms(500) });
    t.sender.on_hint(Time(0) + ms(30), hint);
    t.sends("4-5");
    assert_eq!(cc.told().hints, [(Time(0) + ms(30), hint)]);
    assert_eq!(t.sender.flow().in_flight, 6 * u64::from(MSS));
}

/// Every ACK says whether the window limits the sender (Linux, `is_cwnd_limited`), but one that does not
/// advance brings no growth (RFC 5681 section 3.2 step 1).
#[test]
fn a_duplicate_acknowledgement_says_whether_the_window_limits_the_sender() {
    for (segments, limited) in [(None, true), (Some(7), false)] {
        for options in [plain(LossRecovery::Sack), Options { prr: true, ..plain(LossRecovery::Sack) }] {
            let cc = Fixed::new(10);
            let mut t = Script::new(options, cc.boxed(), segments);
            t.sends(if limited { "0-9" } else { "0-6" }).at(100);
            for end in 2..=6 {
                t.sack(0, &[(1, end)]);
                assert_eq!(t.sender.flow().cwnd_limited, limited, "{segments:?}");
            }
            assert!(cc.told().acks.iter().all(|ack| ack.acked == 1000 && ack.uncounted == 1000));
        }
    }
}

/// What is written later completes a short segment, unless that is on its way already.
#[test]
fn a_short_segment_is_completed_or_stays() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(2.0, 2.0), Some(0));
    t.write(2 * MSS + 300).write(500).write(MSS).sends("0-1").at(100).ack(1);
    let sent: Vec<u32> =
        core::iter::from_fn(|| t.sender.poll(bentpipe_cc::Time(100_000_000))).map(|d| d.len).collect();
    assert_eq!(sent, [1000]);
    t.ack(3);
    let last = t.sender.poll(bentpipe_cc::Time(100_000_000)).map(|d| d.len);
    assert_eq!(last, Some(800));
    assert_eq!(t.sender.write(1), Err(ShortSegmentSent));
    t.at(200).ack(4);
    assert_eq!((t.sender.is_done(), t.sender.flow().delivered), (true, 3800));
}

/// Linux, `lsndtime` is that of any data segment: a pause begins with the last repair, not with the last new
/// segment. Segment 0 is sent again at 100 ms, and 390 ms are less than a timeout of 300 ms after that.
#[test]
fn as_linux_a_pause_begins_with_the_last_repair() {
    for (instant, sent) in [(390, "16-23"), (450, "16-19")] {
        let mut t = Script::new(as_linux(), reno(16.0, 2.0), Some(0));
        t.write(16 * MSS).sends("0-15").at(100).sack(0, &[(1, 16)]).sends("r0");
        t.at(150).ack(16).sends("").idle();
        t.at(instant).write(40 * MSS).sends(sent);
    }
}
