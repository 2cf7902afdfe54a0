//! What travels on links: 24 bytes a packet, so that a slot of a link's ring is 32.

pub(crate) use bentpipe_tcp::unwrap;
use bentpipe_tcp::{Block, PackedSack, Sack};

/// An acknowledgement rather than data.
pub(crate) const ACK: u16 = 1;
/// ECN-capable transport.
pub(crate) const ECT: u16 = 1 << 1;
/// Congestion experienced.
pub(crate) const CE: u16 = 1 << 2;
/// ECN echo.
pub(crate) const ECE: u16 = 1 << 3;
/// Congestion window reduced.
pub(crate) const CWR: u16 = 1 << 4;
/// AEN's probe.
pub(crate) const PROBE: u16 = 1 << 5;
/// Will not arrive: lost on the link that carries it.
pub(crate) const LOST: u16 = 1 << 6;
/// Opens or closes the connection: three bits that say how, see `control.rs`.
pub(crate) const CONTROL: u16 = 7 << 7;
/// Data that was sent before.
pub(crate) const RESENT: u16 = 1 << 10;

/// A packet under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Segment number (data) or cumulative acknowledgement, modulo 2^32; windows are far smaller.
    pub(crate) seq: u32,
    /// Index of the flow.
    pub(crate) flow: u32,
    /// Timestamp value or echo.
    pub(crate) ts: u32,
    /// Handle of the SACK blocks in [`SackStore`]; 0 for none.
    pub(crate) sack: u32,
    /// Where the packet is on its route: an index into the engine's list of hops.
    pub(crate) hop: u32,
    /// Bytes on the wire.
    pub(crate) size: u16,
    /// The flags above.
    pub(crate) flags: u16,
}

/// What the IP header says of congestion (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ecn {
    /// Not-ECT: marks mean nothing to its transport.
    NotCapable,
    /// ECT(0).
    Ect0,
    /// CE: congestion experienced.
    Congested,
}

impl Packet {
    pub(crate) fn ecn(&self) -> Ecn {
        match (self.has(CE), self.has(ECT)) {
            (true, _) => Ecn::Congested,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotCapable,
        }
    }

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// What a packet carries that the simulation does not need, but a capture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Identification of IPv4.
    pub(crate) id: u16,
    /// The other timestamp: the value of an acknowledgement, the echo of data.
    pub(crate) ts: u32,
}

/// SACK blocks of acknowledgements under way. Few ACKs carry any, so packets keep only a handle.
#[derive(Debug, Default)]
pub(crate) struct SackStore {
    slots: Vec<PackedSack>,
    free: Vec<u32>,
    /// Of the slots, if packets are captured.
    marks: Vec<Mark>,
}

impl SackStore {
    /// Keeps the blocks of an acknowledgement of all before `ack`. Returns their handle, and how many there are.
    #[inline]
    pub(crate) fn put(&mut self, ack: u64, blocks: impl IntoIterator<Item = Block>) -> (u32, u32) {
        let handle = self.free.pop().unwrap_or_else(|| self.widen());
        let count = self.slots[handle as usize - 1].fill(ack, blocks);
        (handle, count)
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self) -> u32 {
        self.slots.push(PackedSack::default());
        self.slots.len() as u32
    }

    /// Gives the packet with this handle, or none yet, a mark. Returns its handle.
    pub(crate) fn mark(&mut self, handle: u32, mark: Mark) -> u32 {
        let handle = if handle == 0 { self.put(0, []).0 } else { handle };
        self.marks.resize(self.slots.len(), Mark::default());
        self.marks[handle as usize - 1] = mark;
        handle
    }

    /// The mark of a packet that has one.
    pub(crate) fn mark_of(&self, handle: u32) -> Mark {
        let slot = (handle as usize).wrapping_sub(1);
        self.marks.get(slot).copied().unwrap_or_default()
    }

    /// The blocks of a packet.
    pub(crate) fn blocks(&self, handle: u32) -> Sack {
        let mut sack = Sack::default();
        if let Some(packed) = self.packed(handle) {
            packed.tell(&mut sack);
        }
        sack
    }

    /// The same as they are kept.
    #[inline]
    pub(crate) fn packed(&self, handle: u32) -> Option<&PackedSack> {
        self.slots.get((handle as usize).wrapping_sub(1))
    }

    /// Takes the blocks out, into an option that has none; the handle is free again.
    #[inline]
    pub(crate) fn take(&mut self, handle: u32, sack: &mut Sack) {
        if handle > 0 {
            self.unpack(handle, sack);
        }
    }

    #[inline(never)]
    fn unpack(&mut self, handle: u32, sack: &mut Sack) {
        self.free.push(handle);
        self.slots[handle as usize - 1].tell(sack);
    }

    /// The packet with this handle has gone.
    #[inline]
    pub(crate) fn free(&mut self, handle: u32) {
        if handle > 0 {
            self.free.push(handle);
        }
    }

    /// Handles in use.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_of_a_ring_is_32_bytes() {
        assert_eq!(size_of::<Packet>(), 24);
    }

    /// Blocks above the acknowledgement, and a duplicate below it.
    #[test]
    fn blocks_come_out_as_they_were_put_in() {
        let mut store = SackStore::default();
        for ack in [10_u64, (1 << 32) - 3, 1 << 32, (5 << 32) + 1, (9 << 32) - 80_000] {
            for above in
                [&[][..], &[(2, 3)], &[(70_000, 90_000), (1, 2)], &[(4, 9), (2, 3), (1 << 26, 1 << 27)]]
            {
                let mut sent = Sack::default();
                sent.push(Block { start: ack - 7, end: ack - 6 });
                for (start, end) in above {
                    sent.push(Block { start: ack + start, end: ack + end });
                }
                let (handle, count) = store.put(ack, sent.blocks().iter().copied());
                assert_eq!((store.blocks(handle), count as usize), (sent, sent.blocks().len()));
                let mut found = Sack::default();
                store.take(handle, &mut found);
                assert_eq!((found, store.taken()), (sent, 0));
            }
        }
    }
}
