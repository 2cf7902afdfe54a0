//! What travels on links: 24 bytes a packet, so that a slot of a link's ring is 32.

use bentpipe_tcp::Sack;

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

impl Packet {
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// The number nearest `near` whose low 32 bits are `low`.
pub(crate) fn unwrap(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
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
    slots: Vec<Sack>,
    free: Vec<u32>,
    /// Of the slots, if packets are captured.
    marks: Vec<Mark>,
}

impl SackStore {
    pub(crate) fn put(&mut self, sack: Sack) -> u32 {
        if sack.is_empty() { 0 } else { self.keep(sack) }
    }

    fn keep(&mut self, sack: Sack) -> u32 {
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize - 1] = sack;
                handle
            }
            None => {
                self.slots.push(sack);
                self.slots.len() as u32
            }
        }
    }

    /// Gives the packet with this handle, or none yet, a mark. Returns its handle.
    pub(crate) fn mark(&mut self, handle: u32, mark: Mark) -> u32 {
        let handle = if handle == 0 { self.keep(Sack::default()) } else { handle };
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
        let slot = (handle as usize).wrapping_sub(1);
        self.slots.get(slot).copied().unwrap_or_default()
    }

    /// Takes the blocks out; the handle is free again.
    pub(crate) fn take(&mut self, handle: u32) -> Sack {
        if handle == 0 {
            return Sack::default();
        }
        self.free.push(handle);
        self.slots[handle as usize - 1]
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

    #[test]
    fn numbers_unwrap_around_four_thousand_million() {
        for near in [0_u64, 5, u64::from(u32::MAX) - 2, 1 << 32, (7 << 32) + 100] {
            for offset in [-3_i64, 0, 1, 70_000] {
                let Some(n) = near.checked_add_signed(offset) else { continue };
                assert_eq!(unwrap(n as u32, near), n);
            }
        }
    }
}
