//! Packets that will come out of a direction, in order.

use std::collections::VecDeque;
use std::ops::BitOr;

use bentpipe_cc::Time;

use crate::link::packet::Packet;

/// The packets of one direction. Packets handed on ahead of time are not among them.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    packets: VecDeque<InFlight>,
    /// Several flows share the direction. Packets of one instant come out in the order of their flows.
    is_shared: bool,
}

/// A packet, and the instant at which it arrives somewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) at: Time,
    pub(crate) packet: Packet,
}

/// Keeps the packets of a batch for which `keeps` returns true, in their order.
#[inline(always)]
pub(crate) fn keep_if(batch: &mut Vec<InFlight>, keeps: impl FnMut(&mut InFlight) -> bool) {
    keep_after(0, batch, keeps);
}

/// The same for all but the first `rest` packets, which it keeps.
#[inline(always)]
pub(crate) fn keep_after(
    rest: usize,
    batch: &mut Vec<InFlight>,
    mut keeps: impl FnMut(&mut InFlight) -> bool,
) {
    let mut kept = rest;
    for i in rest..batch.len() {
        if keeps(&mut batch[i]) {
            if kept < i {
                batch[kept] = batch[i];
            }
            kept += 1;
        }
    }
    batch.truncate(kept);
}

impl UnderWay {
    /// From now on packets of one instant come out in the order of their flows.
    pub(super) fn share(&mut self) {
        self.is_shared = true;
    }

    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// When the next packet comes out.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.packets.front().map(|slot| slot.at)
    }

    /// The next packets, and the instant at which the first one after these comes out, if there are more.
    #[inline]
    pub(super) fn front(&self) -> (&[InFlight], Option<Time>) {
        let (front, rest) = self.packets.as_slices();
        (front, rest.first().map(|of| of.at))
    }

    /// Takes the next `count` packets.
    #[inline]
    pub(super) fn take(&mut self, count: usize) {
        self.packets.drain(..count);
    }

    /// That packet.
    pub(super) fn first(&self) -> Option<&Packet> {
        self.packets.front().map(|slot| &slot.packet)
    }

    /// Takes that packet.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.packets.pop_front().map(|slot| slot.packet)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().map(|slot| &slot.packet)
    }

    /// The packets, and when each comes out. Wakes are among them.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (Time, &Packet)> {
        self.packets.iter().map(|slot| (slot.at, &slot.packet))
    }

    /// Keeps a packet at hop `hop` until it comes out at `at`, not before those that are kept. Returns
    /// whether it is the first of all.
    #[inline(always)]
    pub(super) fn keep(&mut self, at: Time, hop: u32, packet: &Packet) -> bool {
        if self.packets.len() == self.packets.capacity() {
            self.grow(2);
        }
        let tied = self.is_shared && self.packets.back().is_some_and(|last| last.at == at);
        self.packets.push_back(InFlight { at, packet: Packet { hop, ..*packet } });
        self.packets.len() == 1 || tied && self.order_last()
    }

    /// [`UnderWay::keep`] for a batch of packets in order of time, at least one; at hop `hop`, or each at its
    /// own.
    pub(super) fn keep_all(&mut self, hop: Option<u32>, batch: &[InFlight]) -> bool {
        if self.is_shared {
            let keep = |of: &InFlight| self.keep(of.at, hop.unwrap_or(of.packet.hop), &of.packet);
            return batch.iter().map(keep).fold(false, BitOr::bitor);
        }
        if self.packets.capacity() - self.packets.len() < batch.len() {
            self.grow(batch.len());
        }
        let is_first = self.packets.is_empty();
        match hop {
            Some(hop) => {
                let at_hop = |of: &InFlight| InFlight { packet: Packet { hop, ..of.packet }, ..*of };
                self.packets.extend(batch.iter().map(at_hop));
            }
            None => self.packets.extend(batch),
        }
        is_first
    }

    /// [`UnderWay::keep`] for a packet that may overtake others.
    pub(super) fn keep_in_place(&mut self, at: Time, packet: &Packet) {
        if self.packets.back().is_none_or(|last| last.at <= at) {
            self.keep(at, packet.hop, packet);
            return;
        }
        if self.packets.len() == self.packets.capacity() {
            self.grow(2);
        }
        // The deque moves its shorter side: what is before a wake, or behind a packet that overtakes.
        self.packets.insert(self.next_after(at), InFlight { at, packet: *packet });
    }

    /// The place of the first packet that comes out after `at`.
    fn next_after(&self, at: Time) -> usize {
        self.packets.partition_point(|slot| slot.at <= at)
    }

    /// Moves the last packet before packets of later flows that arrive at the same instant. Returns whether
    /// it is now the first of all.
    #[cold]
    #[inline(never)]
    fn order_last(&mut self) -> bool {
        let mut place = self.packets.len() - 1;
        let key = |slot: &InFlight| (slot.at, slot.packet.flow);
        while place > 0 && key(&self.packets[place - 1]) > key(&self.packets[place]) {
            self.packets.swap(place - 1, place);
            place -= 1;
        }
        place == 0
    }

    /// Makes room for at least `by` packets more. Grows by a quarter instead of doubling: with many packets in
    /// flight they take most of a run's memory.
    #[cold]
    fn grow(&mut self, by: usize) {
        self.packets.reserve_exact((self.packets.len() / 4).max(by));
    }

    /// Adds a wake at `at`: an instant at which the direction decides and no packet comes out.
    pub(super) fn wake(&mut self, at: Time) {
        let mut there = self.packets.range(..self.next_after(at)).rev().take_while(|slot| slot.at == at);
        if !there.any(|slot| slot.packet.is_wake()) {
            self.keep_in_place(at, &Packet::wake());
        }
    }

    /// Forgets a wake if it is the next of all.
    pub(super) fn cancel_wake(&mut self) {
        if self.packets.front().is_some_and(|slot| slot.packet.is_wake()) {
            self.packets.pop_front();
        }
    }
}
