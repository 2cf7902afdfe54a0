//! Property: whatever is lost, late or overtaken, a finite transfer arrives in full and the books balance.

use std::collections::BTreeMap;

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{Controller, Pacing, Rate, Span, Start, Time};
use bentpipe_tcp::{AckSegment, Data, Options, Receiver, Sender, Snack};
use proptest::prelude::*;

use crate::script::{Fixed, MSS, ms};

/// A channel of 50 ms each way.
#[derive(Clone, Debug)]
struct Channel {
    seed: u64,
    data_loss: f64,
    ack_loss: f64,
    /// Largest extra delay of a data segment and of an ACK, ms: more than 0 reorders.
    data_jitter: u64,
    ack_jitter: u64,
    /// Share of the data marked "congestion experienced".
    marks: f64,
}

impl Channel {
    /// SplitMix64, as a number in [0, 1).
    fn draw(&mut self) -> f64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn delay(&mut self, jitter: u64) -> Span {
        ms(50 + (self.draw() * (jitter + 1) as f64) as u64)
    }
}

#[derive(Debug)]
enum Event {
    Data(Data),
    Ack(AckSegment, Option<Snack>),
    Sender,
    Receiver,
}

#[derive(Debug)]
struct Net {
    channel: Channel,
    queue: BTreeMap<(Time, u64), Event>,
    serial: u64,
}

impl Net {
    fn push(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.queue.insert((at, self.serial), event);
    }

    fn answer(&mut self, now: Time, ack: Option<AckSegment>, snack: Option<Snack>) {
        if let Some(ack) = ack
            && self.channel.draw() >= self.channel.ack_loss
        {
            let delay = self.channel.delay(self.channel.ack_jitter);
            self.push(now + delay, Event::Ack(ack, snack));
        }
    }
}

/// Runs a transfer of `bytes`; returns the sender and the number of segments that the receiver delivered.
fn run(options: Options, cc: Box<dyn Controller>, bytes: u64, channel: Channel) -> (Sender, u64) {
    let mut sender = Sender::new(options, cc, Some(bytes));
    let mut receiver = Receiver::new(&options);
    let mut net = Net { channel, queue: BTreeMap::new(), serial: 0 };
    sender.start(Time(0));
    net.push(Time(0), Event::Sender);
    let mut steps = 0;
    let mut armed = Time::MAX;
    while let Some(((now, _), event)) = net.queue.pop_first() {
        steps += 1;
        assert!(steps < 400_000, "no end in sight: {:?} {:?}", sender.counters(), sender.flow());
        match event {
            Event::Data(data) => {
                let ack = receiver.on_data(now, &data);
                net.answer(now, ack, receiver.snack());
                if let Some(t) = receiver.deadline() {
                    net.push(t, Event::Receiver);
                }
                continue;
            }
            Event::Receiver => {
                let ack = receiver.on_deadline(now);
                net.answer(now, ack, receiver.snack());
                continue;
            }
            Event::Ack(ack, None) => {
                sender.on_ack(now, &ack);
            }
            Event::Ack(ack, Some(snack)) => {
                sender.on_snack(now, &ack, &snack);
            }
            Event::Sender => {
                if armed <= now {
                    armed = Time::MAX;
                }
                sender.on_deadline(now);
            }
        }
        while let Some(mut data) = sender.poll(now) {
            assert!(data.probe || data.seq < sender.next(), "{data:?}");
            if net.channel.draw() >= net.channel.data_loss {
                data.ce = options.ecn && net.channel.draw() < net.channel.marks;
                let delay = net.channel.delay(net.channel.data_jitter);
                net.push(now + delay, Event::Data(data));
            }
        }
        let outstanding = sender.next() - sender.una();
        assert!(sender.in_flight() <= 2 * outstanding, "{} in flight of {outstanding}", sender.in_flight());
        assert!(sender.una() <= receiver.delivered());
        if sender.is_done() {
            use bentpipe_tcp::Limit::{App, Cwnd, Pacing, Recovery, Rwnd, Timeout};
            let limits = sender.limits(now);
            let spent: u64 =
                [App, Cwnd, Pacing, Recovery, Rwnd, Timeout].map(|l| limits.spent(l).0).iter().sum();
            assert_eq!(spent, now.0, "the limits' times add up to the life of the flow");
            break;
        }
        let deadline = sender.deadline();
        assert!(deadline.is_some() || outstanding == 0, "nothing would wake the sender");
        if let Some(t) = deadline.map(|t| t.max(now))
            && t < armed
        {
            armed = t;
            net.push(t, Event::Sender);
        }
    }
    (sender, receiver.delivered())
}

fn controllers(which: usize) -> Box<dyn Controller> {
    let start = Start { mss: MSS, initial_window: 4.0, initial_ssthresh: f64::INFINITY };
    let given: &[(String, Value)] = &[];
    match which {
        0 => registry::build("reno", given, start).expect("reno is registered"),
        1 => registry::build("star", given, start).expect("star is registered"),
        2 => Fixed::new(12).with(|c| (c.after_loss, c.after_timeout, c.repeat) = (6, 1, true)).boxed(),
        _ => Fixed::new(12).with(|c| c.pacing = Pacing::Rate(Rate(200_000))).boxed(),
    }
}

prop_compose! {
    pub(crate) fn any_options()(
        draws in prop::collection::vec(0_u64..60, Options::NAMES.len()),
        delayed_ack in prop::option::of(1_u64..500),
        receive_window in prop::option::of(1_u64..40),
        ecn in any::<bool>(),
        min_rto in 200_u64..1500,
        snack in prop::option::of(0_u8..=16),
    ) -> Options {
        let mut draws = draws.into_iter();
        Options {
            mss: MSS, ecn, snack, delayed_ack: delayed_ack.map(ms), receive_window, min_rto: ms(min_rto), max_rto: ms(8000),
            ..Options::paper().drawn(&mut |n| draws.next().unwrap_or(0) % n)
        }
    }
}

prop_compose! {
    fn any_channel()(
        seed in any::<u64>(),
        data_loss in prop_oneof![Just(0.0), 0.0..0.3],
        ack_loss in prop_oneof![Just(0.0), 0.0..0.3],
        data_jitter in prop_oneof![Just(0_u64), 1_u64..200],
        ack_jitter in prop_oneof![Just(0_u64), 1_u64..200],
        marks in prop_oneof![Just(0.0), 0.0..0.2],
    ) -> Channel {
        Channel { seed, data_loss, ack_loss, data_jitter, ack_jitter, marks }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once(
        options in any_options(),
        channel in any_channel(),
        bytes in 1_u64..150_000,
        which in 0_usize..4,
    ) {
        let (sender, delivered) = run(options, controllers(which), bytes, channel.clone());
        let segments = bytes.div_ceil(u64::from(MSS));
        let counters = sender.counters();
        prop_assert!(sender.is_done());
        prop_assert_eq!(delivered, segments);
        prop_assert_eq!(sender.next(), segments);
        prop_assert_eq!(counters.sent - counters.retransmitted, segments);
        prop_assert_eq!(sender.flow().delivered, bytes);
        prop_assert_eq!(sender.in_flight(), 0);
        let clean = channel.data_loss + channel.ack_loss == 0.0 && channel.data_jitter + channel.ack_jitter == 0;
        if clean && options.min_rto > ms(600) {
            prop_assert_eq!(counters.retransmitted, 0);
        }
    }
}
