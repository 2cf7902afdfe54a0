use super::*;
use crate::link::time_line::{Leg, Step, TimeLine};
use crate::queue::QueueLimit;

fn link(rate_bps: u64, delay_ms: u64, queue: QueueLimit) -> Direction {
    Direction::new(&DirectionPlan::plain(rate_bps, Span::from_millis(delay_ms), queue), 1, "test")
}

/// Offers a packet of `size` bytes. Is it taken?
fn push(direction: &mut Direction, now: Time, size: u16) -> bool {
    direction.push(now, Packet { size, ..Packet::default() }, Class::default()) == Push::Taken
}

#[test]
fn a_packet_arrives_after_waiting_transmission_and_propagation() {
    // 1500 bytes at 12 Mbit/s take 1 ms.
    let mut l = link(12_000_000, 250, QueueLimit::Packets(10));
    assert!(push(&mut l, Time(0), 1500));
    assert!(push(&mut l, Time(0), 1500));
    assert_eq!(l.next(), Some(Time(251_000_000)));
    l.pop(Time(251_000_000));
    assert_eq!(l.next(), Some(Time(252_000_000)));
}

#[test]
fn a_full_queue_drops_and_the_packet_in_transmission_is_not_counted() {
    let mut l = link(12_000_000, 0, QueueLimit::Packets(2));
    let taken = (0..5).filter(|_| push(&mut l, Time(0), 1500)).count();
    assert_eq!((taken, l.counts.dropped_queue, l.queue_max()), (3, 2, 2));
    // After 1.5 ms one packet has left, so one more fits.
    assert_eq!(l.waiting(Time(1_500_000)), 1);
    assert!(push(&mut l, Time(1_500_000), 1500));
    assert!(!push(&mut l, Time(1_500_000), 1500));
}

#[test]
fn a_queue_in_bytes_counts_bytes() {
    let mut l = link(8_000, 0, QueueLimit::Bytes(1000));
    assert!(push(&mut l, Time(0), 1500)); // idle: goes straight to the transmitter
    assert!(push(&mut l, Time(0), 600));
    assert!(!push(&mut l, Time(0), 401));
    assert!(push(&mut l, Time(0), 400));
}

#[test]
fn bytes_are_counted_if_somebody_wants_them() {
    let mut counted = link(12_000_000, 0, QueueLimit::Packets(3));
    counted.count_bytes();
    let mut plain = link(12_000_000, 0, QueueLimit::Packets(3));
    for l in [&mut counted, &mut plain] {
        // The first packet is sent at once; there is no room for the last of the others.
        for size in [1500, 600, 700, 800, 900] {
            push(l, Time(0), size);
        }
    }
    assert_eq!((counted.waiting_bytes(Time(0)), plain.waiting_bytes(Time(0))), (2100, 0));
    // The second is in transmission after 1 ms, the third after another 0.4 ms.
    assert_eq!((counted.waiting(Time(1_100_000)), counted.waiting_bytes(Time(1_100_000))), (2, 1500));
    assert_eq!((counted.waiting_bytes(Time(1_500_000)), counted.waiting_bytes(Time(9_000_000))), (800, 0));
}

#[test]
fn rounding_does_not_add_up() {
    // 1500 bytes at 622.08 Mbit/s take 19290.123... ns; a million of them 19.290123456 s.
    let mut l = link(622_080_000, 0, QueueLimit::Packets(u64::MAX));
    for _ in 0..1_000_000 {
        push(&mut l, Time(0), 1500);
    }
    assert_eq!(l.stages.transmitter.free_at, 12_000 * 1_000_000 * 1_000_000_000 / 622_080_000);
}

#[test]
fn what_would_be_sent_beyond_the_end_of_the_clock_waits() {
    // 62,500 bytes at 1 bit/s take 500,000 s. 2^64 ns have time for 36,893 packets, ten
    // years of 3.15e8 s for 630.
    let mut l = link(1, 1_000, QueueLimit::Packets(50_000));
    for _ in 0..50_000 {
        assert!(push(&mut l, Time(0), 62_500));
    }
    let end = Time(315_000_000_000_000_000);
    assert_eq!((l.waiting(end), l.utilisation(end)), (49_369, 1.0));
    // 49,999 packets wait at first, 49,370 when the 630th begins, each number for as long.
    let mean = l.queue_mean(end);
    assert!((mean - (49_999.0 + 49_370.0) / 2.0).abs() < 1e-6, "{mean}");
    let mut last = Time(0);
    while let Some(next) = l.next() {
        assert!(next >= last);
        last = next;
        l.pop(next);
    }
}

#[test]
fn utilisation_and_mean_queue_are_time_averages() {
    // Four packets of 1 ms each at time 0, observed until 3 ms: busy all the time;
    // waiting 3, 2, 1 for 1 ms each.
    let mut l = link(12_000_000, 0, QueueLimit::Packets(10));
    for _ in 0..4 {
        assert!(push(&mut l, Time(0), 1500));
    }
    assert_eq!(l.utilisation(Time(3_000_000)), 1.0);
    assert_eq!(l.utilisation(Time(8_000_000)), 0.5);
    assert!((l.queue_mean(Time(3_000_000)) - 2.0).abs() < 1e-12);
}

#[test]
fn utilisation_counts_bits_where_the_rate_changes() {
    // 12 Mbit/s for 2 ms, nothing for 3 ms, 3 Mbit/s from then on. Of three packets of 12,000 bits two are
    // sent; the third waits for the link to come back and takes 4 ms.
    let step = |ms: u64, rate_bps| Step { at: Time(ms * 1_000_000), rate_bps, loss_rate: 0.0 };
    let steps = [step(0, 12_000_000), step(2, 0), step(5, 3_000_000)];
    let leg = Leg { at: Time(0), delay: Span::ZERO, towards: Span::ZERO };
    let line = TimeLine::new(steps.into(), [leg].into(), [].into());
    let plan = DirectionPlan { line, ..DirectionPlan::plain(12_000_000, Span::ZERO, QueueLimit::Packets(9)) };
    let mut l = Direction::new(&plan, 1, "test");
    for _ in 0..3 {
        assert!(push(&mut l, Time(0), 1500));
    }
    // Packets sent of those that it could send: in 1 ms one of one; in 5 ms two of two, though it holds the
    // third meanwhile; in 7 ms half of the third, too; in 17 ms three of five.
    let used = |ms: u64| l.utilisation(Time(ms * 1_000_000));
    assert_eq!([1, 5, 7, 17].map(used), [1.0, 1.0, 1.0, 0.6]);
    assert_eq!([1, 5, 7, 17].map(|ms| l.up(Time(ms * 1_000_000)).0 / 1_000_000), [1, 2, 4, 14]);
}

#[test]
fn random_delays_are_uniform_unless_that_would_change_the_order() {
    let most = Span::from_millis(10);
    // Far apart, each packet has its own delay: mean 5 ms, standard error 2.89 ms / 100.
    let mut l = Direction::jitter(most, Stream::new(1, "jitter"));
    let mut sum = 0;
    for i in 0..10_000 {
        let now = Time(i * 20_000_000);
        push(&mut l, now, 40);
        let held = l.next().unwrap() - now;
        assert!(held < most);
        sum += held.0;
        l.pop(now + held);
    }
    assert!((sum as f64 / 10_000.0 - 5e6).abs() < 4.0 * 28_900.0, "{sum}");
    // Packets close to each other would overtake. They come out in order and in time, and some come out at
    // one instant.
    let (mut last, mut together) = (Time(0), 0);
    for i in 0..10_000 {
        let now = Time(1_000_000_000_000 + i * 1_000_000);
        push(&mut l, now, 40);
        let out = l.next().unwrap();
        assert!(out >= last && out >= now && out < now.max(last) + most, "{out:?} after {last:?}");
        together += u32::from(out == last);
        last = out;
        l.pop(out);
    }
    assert!(together > 1_000, "{together}");
}

/// Each private link of an idle flow has two of them.
#[test]
fn a_direction_is_small() {
    assert_eq!(size_of::<Direction>(), 288);
}
