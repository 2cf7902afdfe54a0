//! Automatic repeat request (ARQ) of a link layer: selective repeat with a bounded number of tries, as links with persistence have it
//! (RFC 3366 section 2).
//!
//! A packet that the loss models strike is sent again when the sender of the link learns of it, `round_trip` after the end of its
//! transmission. It takes its share of the rate each time, goes before packets that wait in the queue, and may be struck again. After
//! `tries` transmissions it is given up. The window of the link layer has no bound, and its feedback is never lost.
//!
//! With `in_order`, the far end hands packets on in the order of their first transmissions. A packet behind one that is missing waits until
//! that one has come, or until its last try would have come.

use std::collections::VecDeque;

use crate::link::packet::Packet;

/// The ARQ of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqPlan {
    /// Most transmissions of a packet, the first one included.
    pub tries: u32,
    /// From the end of a transmission to when its sender knows that it failed, ns.
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

/// Packets to be sent again, and packets that wait for those at the far end.
#[derive(Debug)]
pub(crate) struct Arq {
    plan: ArqPlan,
    /// The number of the next new packet.
    number: u64,
    /// Packets to be sent again, and from when on.
    again: VecDeque<(u64, Frame)>,
    /// With `in_order`: the number of the packet to be handed on next, and what is known of it and of those behind it.
    next: u64,
    behind: VecDeque<Option<Packet>>,
    /// Transmissions besides the first ones.
    pub(crate) repeats: u64,
}

impl Arq {
    pub(crate) fn new(plan: &ArqPlan) -> Self {
        Self {
            plan: *plan,
            number: 0,
            again: VecDeque::new(),
            next: 0,
            behind: VecDeque::new(),
            repeats: 0,
        }
    }

    /// A packet is sent for the first time.
    pub(crate) fn first(&mut self, packet: Packet) -> Frame {
        self.number += 1;
        Frame { packet, number: self.number - 1, tried: 1 }
    }

    /// From when on the next packet may be sent again; `None` if there is none.
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

    /// Bytes to be sent again that are due by `now`.
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

    /// The end of a packet is known, and the far end keeps packets in order: it arrives, or it is given up.
    pub(crate) fn settle(&mut self, frame: &Frame) {
        let place = (frame.number - self.next) as usize;
        if self.behind.len() <= place {
            self.behind.resize(place + 1, None);
        }
        self.behind[place] = Some(frame.packet);
    }

    /// The next packet that need not wait for others at the far end.
    pub(crate) fn release(&mut self) -> Option<Packet> {
        let first = (*self.behind.front()?)?;
        self.behind.pop_front();
        self.next += 1;
        Some(first)
    }

    /// The packets that it holds, those given up included.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.again.iter().map(|(_, frame)| &frame.packet).chain(self.behind.iter().flatten())
    }
}
