//! RFC 6298: the retransmission timer.

use bentpipe_cc::{Start, registry};
use bentpipe_tcp::{LossRecovery, Options, RtoRule};

use crate::script::{Fixed, MSS, Script, ms, plain, reno};

fn one_at_a_time(change: impl FnOnce(&mut bentpipe_tcp::Options)) -> Script {
    let mut options = plain(LossRecovery::NewReno);
    change(&mut options);
    Script::new(options, Fixed::new(1).boxed(), None)
}

/// RFC 6298 section 2.1: without a sample the timeout is 1 second; section 5.1: it
/// runs from the first segment.
#[test]
fn initial_timeout_is_one_second() {
    one_at_a_time(|o| o.min_rto = ms(200)).sends("0").due(1000).sends("r0");
}

/// RFC 6298 section 2.2: after the first sample R, SRTT = R and RTTVAR = R / 2, so RTO = R + 4 R / 2 = 3 R.
#[test]
fn first_sample_triples() {
    let mut t = one_at_a_time(|o| o.min_rto = ms(0));
    t.sends("0").at(500).ack(1).sends("1").due(500 + 1500).sends("r1");
}

/// RFC 6298 section 2.3 with samples 500, 600 and 400 ms, by hand:
/// SRTT 500, RTTVAR 250; RTTVAR 3/4 250 + 1/4 100 = 212.5, SRTT 7/8 500 + 1/8 600 = 512.5, RTO 1362.5;
/// RTTVAR 3/4 212.5 + 1/4 112.5 = 187.5, SRTT 7/8 512.5 + 1/8 400 = 498.4375, RTO 1248.4375.
#[test]
fn later_samples_are_smoothed() {
    let mut t = one_at_a_time(|o| o.min_rto = ms(0));
    t.sends("0").at(500).ack(1).sends("1").at(1100).ack(2).sends("2");
    assert_eq!(t.sender.deadline().map(|d| d.0), Some(1_100_000_000 + 1_362_500_000));
    t.at(1500).ack(3).sends("3");
    assert_eq!(t.sender.deadline().map(|d| d.0), Some(1_500_000_000 + 1_248_437_500));
    let rtt = t.sender.flow().rtt.expect("three samples");
    assert_eq!(
        (rtt.smoothed.0, rtt.var.0, rtt.latest, rtt.min),
        (498_437_500, 187_500_000, ms(400), ms(400))
    );
}

/// Linux's `tcp_rtt_estimator` with samples 500, 600, 400 and 100 ms and a least timeout of 200 ms, by hand.
/// Deviations are times four. Each sample is a round trip, and the first is one more: it ends when more than
/// the first segment is acknowledged. 500: mdev, mdev_max and RTTVAR 1000. 600: mdev 1000 + 100 - 250 = 850;
/// mdev_max becomes 200; SRTT 512.5. 400: mdev 850 + 112.5 - 212.5 = 750 = mdev_max; RTTVAR
/// 1000 - 250 / 4 = 937.5; SRTT 498.4375. 100: mdev 750 + (398.4375 - 187.5) / 8 = 776.3671875 = mdev_max;
/// RTTVAR 937.5 - 161.1328125 / 4 = 897.216796875; SRTT 448.6328125.
#[test]
fn by_linux_the_variance_decays_once_per_round_trip_and_a_falling_round_trip_counts_an_eighth() {
    let mut t = one_at_a_time(|o| (o.rto, o.min_rto) = (RtoRule::Linux, ms(200)));
    let (mut now, mut due) = (0, Vec::new());
    t.sends("0");
    for (n, sample) in [(1, 500), (2, 600), (3, 400), (4, 100)] {
        now += sample;
        t.at(now).ack(n).sends(&n.to_string());
        due.push(t.sender.deadline().map(|at| (at.0 - now * 1_000_000) / 100));
    }
    assert_eq!(due, [15_000_000, 15_125_000, 14_359_375, 13_458_496].map(Some));
}

/// Linux: `min_rto` bounds the variance, not the timeout. With a constant RTT of 600 ms the timeout tends to
/// 800 ms, also if all samples fall on one tick of the clock.
#[test]
fn by_linux_the_least_timeout_is_beyond_the_round_trip() {
    let mut t = one_at_a_time(|o| (o.rto, o.min_rto) = (RtoRule::Linux, ms(200)));
    t.sends("0");
    for n in 1..=300 {
        t.at(600 * n).ack(n).sends(&n.to_string());
    }
    let left = t.sender.deadline().map(|at| at.0 - 300 * 600_000_000);
    assert!(left.is_some_and(|rto| (800_000_000..800_000_010).contains(&rto)), "{left:?}");
}

/// RFC 6298 section 2.3: the variance term is at least the clock granularity G. With a constant RTT of 100 ms
/// the variance tends to 0, and the timeout to 100 ms + G.
#[test]
fn granularity_bounds_the_variance_term() {
    let mut t = one_at_a_time(|o| {
        o.min_rto = ms(0);
        o.granularity = ms(50);
    });
    t.sends("0");
    for n in 1..=60 {
        t.at(100 * n).ack(n).sends(&n.to_string());
    }
    t.due(6000 + 150).sends("r60");
}

/// A clock of 50 ms sees 110 ms as 150 ms (the timer counts ticks), so that the first timeout is 450 ms.
#[test]
fn samples_are_measured_in_clock_ticks() {
    let mut t = one_at_a_time(|o| {
        o.min_rto = ms(0);
        o.granularity = ms(50);
    });
    t.sends("0").at(110).ack(1).sends("1").due(110 + 450).sends("r1");
}

/// RFC 6298 section 2.4: a smaller timeout is rounded up to 1 second, or to the configured minimum.
#[test]
fn minimum() {
    one_at_a_time(|_| ()).sends("0").at(100).ack(1).sends("1").due(1100).sends("r1");
    one_at_a_time(|o| o.min_rto = ms(400)).sends("0").at(100).ack(1).sends("1").due(500).sends("r1");
}

/// RFC 6298 section 2.5 and 5.5: the timeout doubles at every expiry, up to the maximum of 60 seconds.
#[test]
fn doubles_up_to_the_maximum() {
    let mut t = one_at_a_time(|_| ());
    t.sends("0");
    let mut due = 0;
    for rto in [1, 2, 4, 8, 16, 32, 60, 60] {
        due += rto * 1000;
        t.due(due).sends("r0");
    }
}

/// RFC 6298 section 5.1: a segment sent while the timer runs does not restart it; section 5.3: an ACK of new
/// data does; section 5.2: with everything acknowledged it is off.
#[test]
fn start_restart_and_stop() {
    let mut t = Script::new(plain(LossRecovery::NewReno), reno(2.0, 2.0), Some(3));
    t.sends("0-1").at(400).ack(1).sends("2");
    // 400 + 3 * 400: the restart is counted from the ACK.
    assert_eq!(t.sender.deadline(), Some(bentpipe_cc::Time(1_600_000_000)));
    t.at(500).ack(1).sends("");
    assert_eq!(t.sender.deadline(), Some(bentpipe_cc::Time(1_600_000_000)));
    t.at(800).ack(3).sends("").idle();
    assert!(t.sender.is_done());
}

/// RFC 6298 section 5.4: the earliest segment not acknowledged goes out again, and nothing else (RFC 5681
/// section 3.1: the loss window is one segment).
#[test]
fn only_the_earliest_segment_goes_out_again() {
    let mut t = Script::new(plain(LossRecovery::NewReno), reno(4.0, 4.0), None);
    t.sends("0-3").due(1000).sends("r0").window(1.0, 2.0);
}

/// RFC 5681 section 3.1: after the timeout slow start sends the rest again, as the window grows.
#[test]
fn go_back_n_in_slow_start() {
    let mut t = Script::new(plain(LossRecovery::NewReno), reno(8.0, 8.0), None);
    t.sends("0-7").due(1000).sends("r0").window(1.0, 4.0);
    t.at(1100).ack(1).sends("r1 r2").window(2.0, 4.0);
    t.at(1200).ack(2).sends("r3 r4").at(1201).ack(3).sends("r5 r6").window(4.0, 4.0);
}

/// RFC 5681 section 3.1: when the retransmission is lost too, the threshold stays.
#[test]
fn second_timeout_keeps_the_threshold() {
    let mut t = Script::new(plain(LossRecovery::Sack), reno(20.0, 20.0), None);
    t.sends("0-19").due(1000).sends("r0").window(1.0, 10.0).due(3000).sends("r0").window(1.0, 10.0);
    assert_eq!(t.sender.counters().timeouts, 2);
}

/// Karn's algorithm, RFC 6298 section 3: a segment sent twice gives no sample, and section 5: the doubled
/// timeout stays until there is one.
#[test]
fn retransmitted_segments_give_no_sample() {
    let mut t = one_at_a_time(|o| o.min_rto = ms(200));
    t.sends("0").at(100).ack(1).sends("1"); // RTO 300 ms
    t.due(400).sends("r1").at(450).ack(2);
    assert_eq!(t.rtt, None);
    t.sends("2").due(450 + 600).sends("r2"); // still doubled
    t.at(1100).ack(3).sends("3").at(1200).ack(4);
    assert_eq!(t.rtt, Some(ms(100)));
    // RTTVAR 3/4 50 = 37.5 ms, SRTT 100 ms: 250 ms.
    t.sends("4").due(1200 + 250).sends("r4");
}

/// RFC 6298 section 3: nor does an ACK that covers a retransmission and segments that
/// had arrived long before.
#[test]
fn ack_beyond_a_retransmission_gives_no_sample() {
    let mut t = Script::new(plain(LossRecovery::NewReno), reno(4.0, 4.0), None);
    t.sends("0-3").at(100).ack(0).ack(0).ack(0).sends("r0 4").at(900).ack(4);
    assert_eq!(t.rtt, None);
}

/// TCPW with Bulk Repeat (ICC 2003): the timeout is not doubled.
#[test]
fn fixed_rto() {
    let mut t = one_at_a_time(|o| o.fixed_rto = true);
    t.sends("0").due(1000).sends("r0").due(2000).sends("r0").due(3000).sends("r0");
}

/// Linux, `tcp_retransmit_timer`: the first six timeouts of a thin stream leave the timeout of 1 s, and the
/// seventh doubles it. New data acknowledged begins the count anew.
#[test]
fn a_thin_stream_backs_off_after_six_timeouts() {
    let mut t = one_at_a_time(|o| o.thin_linear_timeouts = true);
    t.sends("0");
    for due in [1, 2, 3, 4, 5, 6, 7, 9, 13] {
        t.due(1000 * due).sends("r0");
    }
    // Karn: the timeout stays at eight times 1 s until there is a sample, or a timeout of a thin stream.
    t.at(13_500).ack(1).sends("1");
    for due in [21_500, 22_500, 23_500] {
        t.due(due).sends("r1");
    }
}

/// Linux, `tcp_stream_is_thin`: four segments outstanding are no thin stream, three are. Nor is one with an
/// infinite threshold, which BBR keeps at a timeout.
#[test]
fn a_stream_is_thin_below_four_segments_and_after_the_first_slow_start() {
    let options = Options { thin_linear_timeouts: true, ..plain(LossRecovery::Sack) };
    for (cc, segments, all, second) in
        [("reno", 4, "0-3", 3000), ("reno", 3, "0-2", 2000), ("bbr", 1, "0", 3000)]
    {
        let start = Start { mss: MSS, initial_window: 4.0, initial_ssthresh: f64::INFINITY };
        let controller = registry::build(cc, &[], start).expect("it is registered");
        let mut t = Script::new(options, controller, Some(segments));
        t.sends(all);
        // BBR's pacing wakes the sender, too.
        let mut again = || loop {
            let now = t.sender.deadline().expect("the timer runs");
            t.sender.on_deadline(now);
            if t.sender.poll(now).is_some() {
                break now.0 / 1_000_000;
            }
        };
        assert_eq!([again(), again()], [1000, second], "{cc}, {segments}");
    }
}

/// Reno halves 16 segments at the loss. A timeout in that recovery leaves the threshold of 8 with the
/// kernel's timer (Linux, `tcp_enter_loss`: once in a window of data), and halves the window of 8 with
/// RFC 6298's, as ns-2 does. A second timeout of the same segment changes neither (RFC 5681 section 3.1). A
/// timeout of data sent after the recovery halves.
#[test]
fn a_timeout_in_a_fast_recovery_leaves_the_threshold_with_the_kernels_timer() {
    for (rto, threshold) in [(RtoRule::Linux, 8.0), (RtoRule::Rfc6298, 4.0)] {
        let mut t = Script::new(Options { rto, ..plain(LossRecovery::Sack) }, reno(16.0, 16.0), None);
        let expire = |t: &mut Script| {
            t.now = t.sender.deadline().expect("the timer runs");
            t.sender.on_deadline(t.now);
        };
        t.sends("0-15").at(100).sack(0, &[(1, 4)]).window(8.0, 8.0).sends("r0");
        expire(&mut t);
        t.window(1.0, threshold).sends("r0");
        expire(&mut t);
        t.window(1.0, threshold).sends("r0");
        t.now = t.now + ms(100);
        t.ack(16).window(2.0, threshold).sends("16-17");
        expire(&mut t);
        t.window(1.0, 2.0);
    }
}
