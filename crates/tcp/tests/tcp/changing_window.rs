//! Receive windows that shrink, close and open again (RFC 9293 section 3.8.6).

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::{AckRule, AckSegment, Limit, LossRecovery, Options, Reading, Receiver, Sender};
use proptest::prelude::*;

use crate::script::{Fixed, Listener, MSS, Script, ms, plain};

/// Options of a peer with a buffer of `buffer` segments, which reads only on demand.
fn options(buffer: u64) -> Options {
    Options { receive_window: Some(buffer), reading: Reading::OnDemand, ..plain(LossRecovery::Sack) }
}

fn sender(buffer: u64, cwnd: u64) -> (Script, Fixed) {
    let cc = Fixed::new(cwnd);
    (Script::new(options(buffer), cc.boxed(), None), cc)
}

/// Section 3.8.6: the right edge is the acknowledgement plus the window; an earlier
/// acknowledgement does not set it.
#[test]
fn the_sender_goes_no_further_than_the_last_window_allows() {
    let (mut t, _) = sender(4, 100);
    t.sends("0-3").at(100).told(2, 2).sends("").told(3, 3).sends("4-5");
    assert_eq!(t.sender.flow().rwnd, 3 * u64::from(MSS));
    t.told(2, 9).sends("");
    t.told(6, 0).sends("");
    assert_eq!(t.sender.flow().rwnd, 0);
    t.told(6, 2).sends("6-7");
}

/// RFC 5681 section 2: a duplicate acknowledgement advertises the same window as the last one.
#[test]
fn window_updates_are_no_duplicates() {
    let (mut t, cc) = sender(10, 10);
    t.sends("0-9").at(100).told(2, 0).told(2, 2).told(2, 4).told(2, 6).told(2, 10);
    t.sends("10-11");
    assert_eq!((cc.told().congestion.len(), cc.told().acks.len()), (0, 1));
    let without_sack = Options { recovery: LossRecovery::NewReno, ..options(10) };
    let cc = Fixed::new(10);
    let mut t = Script::new(without_sack, cc.boxed(), None);
    t.sends("0-9").at(100).told(2, 6).told(2, 7).told(2, 8).sends("");
    assert!(cc.told().congestion.is_empty());
    t.told(2, 8).told(2, 8).told(2, 8).sends("r2");
    assert_eq!(cc.told().congestion.len(), 1, "the same window three times");
}

/// Section 3.8.6.1: the first probe after the retransmission timeout, then at intervals that double, up
/// to the largest timeout. An answer that leaves the window closed starts the present interval anew
/// (Linux, `tcp_ack_probe`).
#[test]
fn a_closed_window_is_probed_at_intervals_that_double() {
    let (mut t, _) = sender(2, 100);
    t.sends("0-1").at(100).told(2, 0).sends("").due(1100).sends("p2").at(1200).told(2, 0).sends("");
    t.due(3200).sends("p2").due(7200).sends("p2").due(15_200).sends("p2").due(31_200).sends("p2");
    t.due(63_200).sends("p2").due(123_200).sends("p2").due(183_200).sends("p2");
    assert_eq!(t.sender.window_probes(), 8);
    t.at(183_300).told(2, 2).sends("2-3");
    assert_eq!(t.sender.limits(Time(183_300_000_000)).spent(Limit::Rwnd), ms(183_300));
    // The window closes once more: from the retransmission timeout again.
    t.at(183_400).told(4, 0).sends("").due(184_400).sends("p4");
}

/// While data is outstanding its retransmission timer asks for an acknowledgement, which tells the window.
#[test]
fn no_probe_while_data_is_outstanding() {
    let (mut t, _) = sender(4, 100);
    t.sends("0-3").at(100).told(3, 1).sends("").due(1100).sends("r3");
    assert_eq!(t.sender.window_probes(), 0);
}

/// There is nothing to probe for without data to send, nor once the application has stopped.
#[test]
fn no_probe_without_data() {
    let mut t = Script::new(options(2), Fixed::new(9).boxed(), Some(2));
    t.sends("0-1").at(100).told(2, 0).sends("").idle();
    let (mut t, _) = sender(2, 9);
    t.sends("0-1").at(100).told(2, 0).sends("");
    t.sender.stop();
    t.due(1100).sends("").idle();
}

/// What is written while the window is closed waits, and is probed for.
#[test]
fn data_written_behind_a_closed_window_is_probed_for() {
    let mut t = Script::new(options(2), Fixed::new(9).boxed(), Some(2));
    t.sends("0-1").at(100).told(2, 0).sends("").idle();
    t.at(500).write(MSS).sends("").due(1500).sends("p2").at(1600).told(2, 1).sends("2");
}

/// Section 3.8.6: the window is the rest of the buffer. It opens by an acknowledgement of its own when it has
/// doubled (Linux, `tcp_cleanup_rbuf`).
#[test]
fn the_receiver_tells_what_room_is_left() {
    let mut l = Listener::new(&options(8));
    l.data(0).answers("1").window(7).data(1).data(2).data(3).data(4).data(5).answers("6").window(2);
    l.read(1).answers("-").read(2).answers("6").window(4).read(5).answers("-").read(6).answers("6").window(8);
    assert_eq!(l.receiver.unread(), 0);
    for seq in 6..14 {
        l.data(seq);
    }
    l.answers("14").window(0).data(14).answers("14").window(0);
    assert_eq!((l.receiver.delivered(), l.receiver.unread()), (14, 8), "what finds no room is not kept");
    l.read(7).answers("14").window(1).data(14).answers("15").window(0);
}

/// Linux, `__tcp_select_window`: less than a sixteenth of the buffer is not advertised, so a closed window
/// opens by that much. The right edge advertised before still holds.
#[test]
fn by_linux_s_rules_a_closed_window_opens_by_a_sixteenth_of_the_buffer() {
    let mut l = Listener::new(&Options { acks: AckRule::Linux, ..options(64) });
    for seq in 0..64 {
        l.data(seq);
    }
    l.answers("64").window(0).read(3).answers("-").read(4).answers("64").window(4);
    l.data(64).answers("65").window(3).read(5).answers("-").data(65).answers("66").window(2);
    l.read(10).answers("66").window(8);
}

/// A probe is answered at once, and what the answer tells is the present window.
#[test]
fn a_probe_of_a_closed_window_is_answered() {
    let mut l = Listener::new(&Options { delayed_ack: Some(ms(200)), ..options(1) });
    l.data(0).answers("-").due(200).answers("1").window(0).probe(1).answers("1").window(0);
}

/// At 80 kbit/s a segment of 1000 bytes is read in 100 ms. The window opens by one, then by as much as it is.
#[test]
fn an_application_reads_at_its_pace() {
    let mut l = Listener::new(&Options { reading: Reading::Paced(80_000), ..options(3) });
    l.data(0).answers("1").window(2).data(1).data(2).answers("3").window(0);
    l.due(100).answers("3").window(1).due(200).answers("3").window(2).due(300).answers("-");
    assert_eq!((l.receiver.window(), l.receiver.deadline()), (Some(3), None));
    l.at(350).data(3).answers("4").window(2).due(450).answers("-");
}

/// A sender and a receiver over a path of 10 ms each way that loses what `lost` says. Returns
/// when all is acknowledged.
fn transfer(options: Options, segments: u64, mut lost: impl FnMut(bool, u64) -> bool) -> (u64, Sender) {
    const ONE_WAY: Span = Span::from_millis(10);
    enum Under {
        Data(bentpipe_tcp::Data),
        Ack(AckSegment, u64),
    }
    let mut sender = Sender::new(options, Fixed::new(50).boxed(), Some(segments * u64::from(options.mss)));
    let mut receiver = Receiver::new(&options);
    let mut way: std::collections::VecDeque<(Time, Under)> = std::collections::VecDeque::new();
    let (mut now, mut sent, mut acks) = (Time(0), 0, 0);
    sender.start(now);
    for _ in 0..1_000_000 {
        while let Some(data) = sender.poll(now) {
            sent += 1;
            if !lost(true, sent) {
                way.push_back((now + ONE_WAY, Under::Data(data)));
            }
        }
        if sender.is_done() {
            return (now.0 / 1_000_000, sender);
        }
        let next = way.front().map(|(at, _)| *at);
        now = [next, sender.deadline(), receiver.deadline()].into_iter().flatten().min().expect("a dead end");
        let answer = if next == Some(now) {
            match way.pop_front() {
                Some((_, Under::Data(data))) => receiver.on_data(now, &data),
                Some((_, Under::Ack(ack, window))) => {
                    sender.on_windowed_ack(now, &ack, window, None);
                    None
                }
                None => None,
            }
        } else {
            sender.on_deadline(now);
            receiver.on_deadline(now)
        };
        assert!(receiver.unread() <= options.receive_window.expect("a bound"));
        if let Some(ack) = answer {
            acks += 1;
            let window = receiver.window().expect("it may change");
            if !lost(false, acks) {
                way.push_back((now + ONE_WAY, Under::Ack(ack, window)));
            }
        }
    }
    panic!("no end: {sender:?}");
}

/// The acknowledgement that opens the window is lost, and only a probe finds out. Without the loss the
/// transfer waits for the application, which takes 100 ms a segment.
#[test]
fn a_lost_window_update_is_recovered_by_a_probe() {
    let options = Options { reading: Reading::Paced(80_000), ..options(1) };
    let (whole, sender) = transfer(options, 3, |_, _| false);
    // 10 ms there; read after 100 ms; 10 ms back and 10 ms there: 120 ms a segment, and the last is
    // acknowledged after 20 ms.
    assert_eq!((whole, sender.window_probes()), (2 * 120 + 20, 0));
    // The second acknowledgement is the first update. The probe goes out a timeout after the
    // window was found closed.
    let (late, sender) = transfer(options, 3, |data, n| !data && n == 2);
    assert_eq!((late, sender.window_probes()), (20 + 1000 + 20 + 120 + 20, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is lost, each transfer ends, no buffer overflows, and nothing that the
    /// sender sends finds no room.
    #[test]
    fn transfers_to_a_slow_application_end(
        buffer in 1_u64..40,
        rate in 50_000_u64..20_000_000,
        segments in 1_u64..150,
        losses in prop::collection::btree_set((prop::bool::ANY, 1_u64..200), 0..30),
        modern in prop::bool::ANY,
        without_sack in prop::bool::ANY,
    ) {
        let profile = if modern { Options::modern() } else { Options::paper() };
        let recovery = if without_sack { LossRecovery::NewReno } else { LossRecovery::Sack };
        let options = Options {
            mss: MSS, recovery, receive_window: Some(buffer), reading: Reading::Paced(rate), ..profile
        };
        let (ms, sender) = transfer(options, segments, |data, n| losses.contains(&(data, n)));
        let reading = (segments.saturating_sub(buffer)) * u64::from(MSS) * 8 * 1000 / rate;
        prop_assert!(ms >= reading, "{ms} ms, but the application reads for {reading} ms");
        prop_assert_eq!(sender.una(), segments);
    }
}
