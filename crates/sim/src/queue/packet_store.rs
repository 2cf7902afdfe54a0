//! Packets that wait at a link which decides at departure. Many first-in-first-out queues share one store, so
//! that a packet that moves from one to another costs no allocation.

use bentpipe_cc::Time;

use crate::link::packet::Packet;
use crate::queue::context::QueueLimit;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Stored {
    since: Time,
    packet: Packet,
    /// The slot behind it, in its queue or among the free slots.
    next: u32,
}

/// The packets that wait in all queues of one direction, and the queues' verdicts. It grows to the most that
/// ever waited.
#[derive(Debug)]
pub(crate) struct Store {
    slots: Vec<Stored>,
    free: u32,
    /// Where the last packet was put.
    last: u32,
    pub(crate) verdicts: Verdicts,
}

/// One queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
    /// What waits in it.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, last: NONE, verdicts: Verdicts::default() }
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl Store {
    /// Puts a packet that comes at `now` at the end of `fifo`.
    pub(crate) fn push(&mut self, fifo: &mut Fifo, now: Time, packet: Packet) {
        let slot = Stored { since: now, packet, next: NONE };
        let i = if self.free == NONE {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        } else {
            let i = self.free;
            self.free = self.slots[i as usize].next;
            self.slots[i as usize] = slot;
            i
        };
        match fifo.tail {
            NONE => fifo.head = i,
            tail => self.slots[tail as usize].next = i,
        }
        fifo.tail = i;
        self.last = i;
        fifo.packets += 1;
        fifo.bytes += u64::from(packet.size);
    }

    /// As [`Store::push`] if there is room, or if none is needed because the packet goes straight to an
    /// `idle` transmitter; otherwise the packet is dropped.
    pub(crate) fn push_if_room(
        &mut self,
        fifo: &mut Fifo,
        limit: QueueLimit,
        now: Time,
        packet: Packet,
        idle: bool,
    ) {
        if idle || limit.has_room(fifo.packets, fifo.bytes, packet.size) {
            self.push(fifo, now, packet);
        } else {
            self.verdicts.drop(packet);
        }
    }

    /// The place of the packet that was put last.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// Puts a packet in place of a waiting one of the same size. Returns the packet that waited.
    pub(crate) fn swap(&mut self, place: u32, packet: Packet) -> Packet {
        debug_assert_eq!(self.slots[place as usize].packet.size, packet.size);
        std::mem::replace(&mut self.slots[place as usize].packet, packet)
    }

    /// The packets that wait in any queue, in no particular order.
    pub(crate) fn packets(&self) -> Vec<Packet> {
        let mut taken = vec![true; self.slots.len()];
        let mut free = self.free;
        while free != NONE {
            taken[free as usize] = false;
            free = self.slots[free as usize].next;
        }
        self.slots.iter().zip(taken).filter(|(_, taken)| *taken).map(|(slot, _)| slot.packet).collect()
    }

    /// Since when the packet at the head of `fifo` has waited.
    pub(crate) fn head(&self, fifo: &Fifo) -> Option<Time> {
        self.slots.get(fifo.head as usize).map(|stored| stored.since)
    }

    /// Takes the packet at the head of `fifo`, and returns since when it has waited.
    pub(crate) fn pop(&mut self, fifo: &mut Fifo) -> Option<(Time, Packet)> {
        if fifo.head == NONE {
            return None;
        }
        let i = fifo.head;
        let Stored { since, packet, next } = self.slots[i as usize];
        self.slots[i as usize].next = self.free;
        self.free = i;
        fifo.head = next;
        if next == NONE {
            fifo.tail = NONE;
        }
        fifo.packets -= 1;
        fifo.bytes -= u64::from(packet.size);
        Some((since, packet))
    }

    /// Asks `verdict` what becomes of each packet of `fifo`, in its order. Those that stay keep their order, and the
    /// slots that they have.
    pub(crate) fn sift(&mut self, fifo: &mut Fifo, verdict: &mut Sifting<'_>) {
        for _ in 0..fifo.packets {
            let Some((since, mut packet)) = self.pop(fifo) else { break };
            match verdict(&mut packet) {
                Sifted::Stays => self.push(fifo, since, packet),
                Sifted::Dropped => self.verdicts.drop(packet),
                Sifted::Returned => {}
            }
        }
    }
}

/// What becomes of a packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sifted {
    /// It waits on.
    Stays,
    /// It is dropped.
    Dropped,
    /// The owner of the direction takes it back.
    Returned,
}

/// Says what becomes of a packet that waits. It may change where the packet goes, but not its size.
pub(crate) type Sifting<'a> = dyn FnMut(&mut Packet) -> Sifted + 'a;

/// The verdicts of queues against packets.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    /// Packets that will not arrive and that have not been reported to their flows yet.
    pub(crate) unreported: Vec<Packet>,
    /// How many were dropped.
    pub(crate) dropped: u64,
    /// How many were marked.
    pub(crate) marked: u64,
}

impl Verdicts {
    /// A packet will not be sent.
    pub(crate) fn drop(&mut self, packet: Packet) {
        self.unreported.push(packet);
        self.dropped += 1;
    }

    /// A packet is sent with the mark "congestion experienced".
    pub(crate) fn mark(&mut self, packet: &mut Packet) {
        packet.mark();
        self.marked += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_share_a_store_that_grows_only_to_the_most_that_wait() {
        let (mut store, mut a, mut b) = (Store::default(), Fifo::default(), Fifo::default());
        let packet = |seq: u32| Packet { seq, size: 100 + seq as u16, ..Packet::default() };
        for round in 0..50_u32 {
            for i in 0..3 {
                store.push(&mut a, Time(u64::from(round)), packet(2 * i));
                store.push(&mut b, Time(u64::from(round)), packet(2 * i + 1));
            }
            assert_eq!((a.packets, a.bytes, b.packets, b.bytes), (3, 306, 3, 309));
            for i in 0..3 {
                assert_eq!(store.pop(&mut b), Some((Time(u64::from(round)), packet(2 * i + 1))));
                assert_eq!(store.pop(&mut a), Some((Time(u64::from(round)), packet(2 * i))));
            }
            assert_eq!((store.pop(&mut a), store.pop(&mut b)), (None, None));
        }
        assert_eq!((store.slots.len(), a.bytes, b.packets), (6, 0, 0));
    }
}
