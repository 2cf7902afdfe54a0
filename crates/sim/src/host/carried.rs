//! What packets carry behind their headers. Few packets carry anything, so a packet has only a handle.

use bentpipe_cc::Header;
use bentpipe_tcp::{BareAck, Block, Sack, SackOption, Snack};

use crate::link::headers::Headers;
use crate::link::packet::{HEADER, Packet};

/// What a packet carries besides SACK blocks and a congestion header. Fields that its connection does not use
/// have the value of [`Carried::NOTHING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// The receive window that an acknowledgement advertises, in segments, if windows change.
    pub(crate) window: u32,
    /// The DATA_ACK on the acknowledgement of a subflow: the low bits of the next segment that the connection
    /// expects.
    pub(crate) data_ack: u32,
    /// The acknowledgement that rides on data, if both ends of the connection write. Its SACK blocks
    /// are those of the packet.
    pub(crate) ride: BareAck,
    /// What an acknowledgement reports about marks, if it does.
    pub(crate) marks: MarkReport,
    /// The SNACK of an acknowledgement.
    pub(crate) snack: Option<Snack>,
}

/// What an acknowledgement reports about marks (AccECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarkReport {
    /// The ACE field.
    pub(crate) ace: u8,
    /// The counters of bytes on the wire, with ECT and with CE, if the option has room.
    pub(crate) fields: Option<[u32; 2]>,
}

/// What one packet carries, apart from its congestion header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    sack: SackOption,
    rest: Carried,
}

/// What packets in flight carry.
#[derive(Debug, Default)]
pub(crate) struct CarriedStore {
    /// The SACK blocks of each handle.
    sacks: Vec<SackOption>,
    /// Everything else, if any packet has carried more than SACK blocks.
    rest: Vec<Carried>,
    /// The congestion headers of packets, shared with queues that compute.
    pub(crate) headers: Headers,
    free: Vec<u32>,
}

impl Carried {
    /// A packet that carries nothing.
    pub(crate) const NOTHING: Self = Self {
        window: 0,
        data_ack: 0,
        ride: BareAck { ack: 0, tsecr: 0, ece: false },
        marks: MarkReport { ace: 0, fields: None },
        snack: None,
    };
}

impl CarriedStore {
    /// Stores the SACK blocks of an acknowledgement of all before `ack`. Returns their
    /// handle and their number.
    #[inline]
    pub(crate) fn put(&mut self, ack: u64, blocks: impl IntoIterator<Item = Block>) -> (u32, u32) {
        let handle = self.free.pop().unwrap_or_else(|| self.widen());
        let slot = handle as usize - 1;
        if let Some(rest) = self.rest.get_mut(slot) {
            *rest = Carried::NOTHING; // and not what a packet of before has left
        }
        let count = self.sacks[slot].fill(ack, blocks);
        (handle, count)
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self) -> u32 {
        self.sacks.push(SackOption::default());
        self.sacks.len() as u32
    }

    /// What a packet carries, to be filled in. The packet is given a handle if it has none.
    pub(crate) fn on(&mut self, packet: &mut Packet) -> &mut Carried {
        if packet.handle == 0 {
            packet.handle = self.put(0, []).0;
        }
        self.rest.resize(self.sacks.len(), Carried::NOTHING);
        &mut self.rest[packet.handle as usize - 1]
    }

    /// What the packet with this handle carries. It stays until another packet gets the handle.
    pub(crate) fn of(&self, handle: u32) -> &Carried {
        self.rest.get((handle as usize).wrapping_sub(1)).unwrap_or(&Carried::NOTHING)
    }

    /// Gives a packet a congestion header.
    pub(crate) fn put_header(&mut self, packet: &mut Packet, header: Header) {
        if packet.handle == 0 {
            packet.handle = self.put(0, []).0;
        }
        packet.flags |= HEADER;
        self.headers.put(packet.handle, header);
    }

    /// The SACK blocks of a packet.
    pub(crate) fn blocks(&self, handle: u32) -> Sack {
        let mut sack = Sack::default();
        if let Some(option) = self.option(handle) {
            option.unpack(&mut sack);
        }
        sack
    }

    /// The SACK option of a packet.
    #[inline]
    pub(crate) fn option(&self, handle: u32) -> Option<&SackOption> {
        self.sacks.get((handle as usize).wrapping_sub(1))
    }

    /// Moves the SACK blocks into an option that has none, and frees the handle.
    #[inline]
    pub(crate) fn take(&mut self, handle: u32, sack: &mut Sack) {
        if handle > 0 {
            self.unpack(handle, sack);
        }
    }

    #[inline(never)]
    fn unpack(&mut self, handle: u32, sack: &mut Sack) {
        self.free.push(handle);
        self.sacks[handle as usize - 1].unpack(sack);
    }

    /// Frees the handle of a packet that is gone.
    #[inline]
    pub(crate) fn free(&mut self, handle: u32) {
        if handle > 0 {
            self.free.push(handle);
        }
    }

    /// Takes what the packet with this handle carries, and frees the handle.
    #[inline(never)]
    pub(crate) fn unload(&mut self, handle: u32) -> Load {
        self.free(handle);
        Load { sack: self.sacks[handle as usize - 1], rest: *self.of(handle) }
    }

    /// Stores what a packet carries, under the handle that is returned.
    #[inline(never)]
    pub(crate) fn load(&mut self, load: Load) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| self.widen());
        self.sacks[handle as usize - 1] = load.sack;
        if load.rest != Carried::NOTHING || !self.rest.is_empty() {
            self.rest.resize(self.sacks.len(), Carried::NOTHING);
            self.rest[handle as usize - 1] = load.rest;
        }
        handle
    }

    /// Handles in use.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.sacks.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks above the acknowledgement, and a duplicate below it.
    #[test]
    fn blocks_come_out_as_they_were_put_in() {
        let mut store = CarriedStore::default();
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

    #[test]
    fn a_packet_carries_nothing_of_one_that_had_its_handle() {
        let mut store = CarriedStore::default();
        let mut first = Packet::default();
        *store.on(&mut first) = Carried { window: 9, data_ack: 7, ..Carried::NOTHING };
        assert_eq!((store.of(first.handle).window, store.of(first.handle).data_ack), (9, 7));
        store.free(first.handle);
        let (handle, _) = store.put(3, []);
        assert_eq!(
            (handle, store.of(handle), store.of(0)),
            (first.handle, &Carried::NOTHING, &Carried::NOTHING)
        );
    }
}
