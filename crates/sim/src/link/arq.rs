//! Automatic repeat request (ARQ) of a link layer: selective repeat with a bounded number of tries, as on
//! links with persistence (RFC 3366).
//!
//! A packet that the loss models strike is sent again when the link's sender learns of the loss, `round_trip`
//! after the end of its transmission. Each transmission takes its share of the rate, goes before packets that
//! wait in the queue, and may be struck again. After `tries` transmissions the packet is given up. The window
//! of the link layer has no bound, and its feedback is never lost.
//!
//! With `in_order`, the far end hands packets on in the order of their first transmissions. A packet behind a
//! missing one waits until the missing packet has come, or until its last try would have come.

use std::collections::VecDeque;

use bentpipe_cc::Time;

use crate::link::packet::Packet;

/// The ARQ of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqPlan {
    /// Most transmissions of a packet, the first one included.
    pub tries: u32,
    /// From the end of a transmission until its sender knows that it failed, ns.
    pub round_trip: u64,
    /// Does the far end keep packets in order?
    pub in_order: bool,
}

/// A packet at the link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) packet: Packet,
    /// Its place in the order of first transmissions.
    number: u64,
    /// Transmissions so far, the present one included.
    tried: u32,
}

impl Frame {
    /// A packet that is not sent again.
    pub(crate) fn once(packet: Packet) -> Self {
        Self { packet, number: 0, tried: 1 }
    }
}

/// Packets to be sent again, and packets that wait for them at the far end.
#[derive(Debug)]
pub(crate) struct ArqSender {
    plan: ArqPlan,
    /// The number of the next new packet.
    number: u64,
    /// Packets to be sent again, each with the instant from which it may be.
    again: VecDeque<(u64, Frame)>,
    /// With `in_order`: the number of the packet to be handed on next, and what is known of it and of the
    /// packets behind it.
    next: u64,
    behind: VecDeque<Option<Packet>>,
    /// The latest instant at which one of these packets has come.
    latest: Time,
    /// Transmissions besides the first ones.
    pub(crate) repeats: u64,
}

impl ArqSender {
    pub(crate) fn new(plan: &ArqPlan) -> Self {
        Self {
            plan: *plan,
            number: 0,
            again: VecDeque::new(),
            next: 0,
            behind: VecDeque::new(),
            latest: Time(0),
            repeats: 0,
        }
    }

    /// A packet is sent for the first time.
    pub(crate) fn first(&mut self, packet: Packet) -> Frame {
        self.number += 1;
        Frame { packet, number: self.number - 1, tried: 1 }
    }

    /// The instant from which the next packet may be sent again; `None` if there is none.
    pub(crate) fn due(&self) -> Option<u64> {
        self.again.front().map(|(due, _)| *due)
    }

    /// The packet to be sent again, if it is due by `now`.
    pub(crate) fn repeat(&mut self, now: u64) -> Option<Frame> {
        self.due().filter(|due| *due <= now)?;
        let (_, mut frame) = self.again.pop_front()?;
        frame.tried += 1;
        self.repeats += 1;
        Some(frame)
    }

    /// Bytes of repeats that are due by `now`.
    pub(crate) fn bytes_due(&self, now: u64) -> u64 {
        let due = self.again.iter().take_while(|(due, _)| *due <= now);
        due.map(|(_, frame)| u64::from(frame.packet.size)).sum()
    }

    /// A transmission that ended at `sent` was struck. Will the packet be sent again?
    pub(crate) fn retry(&mut self, sent: u64, frame: &Frame) -> bool {
        let more = frame.tried < self.plan.tries;
        if more {
            self.again.push_back((sent.saturating_add(self.plan.round_trip), *frame));
        }
        more
    }

    /// Does the far end keep packets in order?
    pub(crate) fn is_in_order(&self) -> bool {
        self.plan.in_order
    }

    /// The end of a packet is known, and the far end keeps packets in order. The packet arrives at `at`, or
    /// is given up then. Returns when the packets that waited for it are handed on.
    pub(crate) fn resequence(&mut self, frame: &Frame, at: Time) -> Time {
        let place = (frame.number - self.next) as usize;
        if self.behind.len() <= place {
            self.behind.resize(place + 1, None);
        }
        self.behind[place] = Some(frame.packet);
        self.latest = self.latest.max(at);
        self.latest
    }

    /// The next packet that need not wait for others at the far end.
    pub(crate) fn release(&mut self) -> Option<Packet> {
        let first = (*self.behind.front()?)?;
        self.behind.pop_front();
        self.next += 1;
        Some(first)
    }

    /// The packets that the link layer holds, those given up included.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.again.iter().map(|(_, frame)| &frame.packet).chain(self.behind.iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::Span;

    use super::*;
    use crate::link::direction::{Direction, Fate};
    use crate::queue::{Class, QueueLimit};
    use crate::resolve::plan::{DirectionPlan, LinkLayerPlan, LossPlan, LossTracePlan, PacketError};

    const MS: u64 = 1_000_000;

    /// A link on which 1500 bytes take 1 ms, 100 ms long.
    fn link(loss: LossPlan, tries: u32, in_order: bool) -> Direction {
        let arq = Some(ArqPlan { tries, round_trip: 200 * MS, in_order });
        let plan = DirectionPlan {
            loss: vec![loss],
            link_layer: LinkLayerPlan { arq, ..LinkLayerPlan::default() },
            ..DirectionPlan::plain(12_000_000, Span::from_millis(100), QueueLimit::Packets(1_000_000))
        };
        Direction::new(&plan, 1, "test")
    }

    /// Number, instant in ms and fate of the packets that leave `link`; packets enter at the given instants.
    fn out(link: &mut Direction, packets: impl Iterator<Item = u64>) -> Vec<(u32, u64, Fate)> {
        let mut out = Vec::new();
        let mut drain = |link: &mut Direction, until: u64| {
            while let Some(at) = link.next().filter(|at| at.0 <= until) {
                out.extend(link.pop(at).map(|(packet, fate)| (packet.seq, at.0 / MS, fate)));
            }
        };
        for (seq, at) in (0..).zip(packets) {
            drain(link, at);
            link.push(Time(at), Packet { seq, size: 1_500, ..Packet::default() }, Class::default());
        }
        drain(link, u64::MAX);
        out
    }

    #[test]
    fn a_lost_packet_comes_a_round_trip_later_and_holds_those_behind_it() {
        // The second transmission of all is struck, and the fifth, which is the repeat of the second packet.
        let loss = || LossPlan::LossTrace(LossTracePlan { lost: [1, 4].into() });
        let packets = || [0, 0, 0, 150, 1_000].map(|at| at * MS).into_iter();
        use Fate::{Delivered, Lost};
        let mut free = link(loss(), 3, false);
        let expected = [(0, 101), (2, 103), (3, 251), (1, 100 + 2 + 200 + 1 + 200 + 1), (4, 1_101)];
        assert_eq!(out(&mut free, packets()), expected.map(|(seq, at)| (seq, at, Delivered)));
        let mut in_order = link(loss(), 3, true);
        let expected = [(0, 101), (1, 504), (2, 504), (3, 504), (4, 1_101)];
        assert_eq!(out(&mut in_order, packets()), expected.map(|(seq, at)| (seq, at, Delivered)));
        // With two tries the second packet is given up when the last one would have come.
        let mut two = link(loss(), 2, true);
        let expected = [
            (0, 101, Delivered),
            (1, 303, Lost),
            (2, 303, Delivered),
            (3, 303, Delivered),
            (4, 1_101, Delivered),
        ];
        assert_eq!(out(&mut two, packets()), expected);
        assert_eq!((two.counts.dropped_error, two.counts.delivered, two.counts.dropped_queue), (1, 4, 0));
    }

    #[test]
    fn a_repeat_goes_before_what_waits() {
        // 400 packets come at once, and the first transmission is struck. The loss is known at 201 ms, and
        // the repeat goes out in the next millisecond.
        let mut link = link(LossPlan::LossTrace(LossTracePlan { lost: [0].into() }), 2, false);
        let out = out(&mut link, std::iter::repeat_n(0, 400));
        assert_eq!(
            out[199..202].iter().map(|(seq, at, _)| (*seq, *at)).collect::<Vec<_>>(),
            [(200, 301), (0, 302), (201, 303)]
        );
    }

    /// For independent losses with probability p: p^tries of the losses remain, each repeat costs a round
    /// trip, and a share of 1 - p of all transmissions carries new packets.
    #[test]
    fn residual_loss_delay_and_throughput_are_those_of_independent_tries() {
        let (p, tries, n) = (0.3_f64, 4, 200_000_u32);
        let mut spread = link(LossPlan::PacketError(PacketError { rate: p }), tries, false);
        // Every 4 ms, so that repeats hardly wait: the link is used for 0.25 x 1.417.
        let came = out(&mut spread, (0..u64::from(n)).map(|i| i * 4 * MS));
        let lost = came.iter().filter(|(_, _, fate)| *fate == Fate::Lost).count() as f64;
        let residual = p.powi(4);
        let error = (f64::from(n) * residual * (1.0 - residual)).sqrt();
        assert!((lost - f64::from(n) * residual).abs() < 4.0 * error, "{lost}");
        let delays = came.iter().filter(|(_, _, fate)| *fate == Fate::Delivered);
        let delays: Vec<f64> = delays.map(|(seq, at, _)| (at - u64::from(*seq) * 4) as f64).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        // The mean number of repeats of a delivered packet; each takes a round trip and a transmission.
        let repeats = (1..4).map(|k| f64::from(k) * p.powi(k) * (1.0 - p)).sum::<f64>() / (1.0 - residual);
        let expected = 101.0 + 201.0 * repeats;
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean}, not {expected}");
        // All packets come at once: the transmitter never rests, so they leave at (1 - p) of its rate.
        let mut full = link(LossPlan::PacketError(PacketError { rate: p }), 100, true);
        let came = out(&mut full, std::iter::repeat_n(0, n as usize));
        assert!(came.iter().map(|(seq, ..)| *seq).eq(0..n));
        let rate = f64::from(n) / came[n as usize - 1].1 as f64;
        assert!((rate / (1.0 - p) - 1.0).abs() < 0.01, "{rate} packets a millisecond");
    }
}
