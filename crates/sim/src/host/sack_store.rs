//! SACK blocks and SNACKs of acknowledgements under way, receive windows that change, congestion headers, and header fields that only a
//! capture shows.

use bentpipe_cc::Header;
use bentpipe_tcp::{Block, Sack, SackOption, Snack};

use crate::link::headers::Headers;
use crate::link::packet::{HEADER, Packet};

/// Header fields that the simulation does not need, but a capture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Identification of IPv4.
    pub(crate) id: u16,
    /// The other timestamp: TSval of an acknowledgement, TSecr of data.
    pub(crate) ts: u32,
    /// The receive window that an acknowledgement tells, in segments, if it changes.
    pub(crate) window: u32,
    /// Bytes that the other end had sent in the other direction, if both write.
    pub(crate) back: u32,
}

/// An acknowledgement that rides on a data packet of the other direction, without its SACK blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ride {
    /// Cumulative acknowledgement, modulo 2^32.
    pub(crate) ack: u32,
    /// Timestamp echo.
    pub(crate) tsecr: u32,
    /// ECN echo.
    pub(crate) ece: bool,
}

/// What an acknowledgement tells of marks (AccECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarkReport {
    /// The ACE field.
    pub(crate) ace: u8,
    /// The counters of bytes on the wire, with ECT and with CE, if the option has room.
    pub(crate) fields: Option<[u32; 2]>,
}

/// What a capture shows of a packet beside its fields and its SACK blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) mark: Mark,
    pub(crate) ride: Ride,
    pub(crate) report: MarkReport,
}

/// SACK blocks of acknowledgements under way. Few ACKs carry any, so packets keep only a handle.
#[derive(Debug, Default)]
pub(crate) struct SackStore {
    slots: Vec<SackOption>,
    free: Vec<u32>,
    /// The marks of the slots, if packets are captured.
    marks: Vec<Mark>,
    /// The receive windows that acknowledgements tell, in segments, if any changes.
    windows: Vec<u32>,
    /// What the acknowledgements of subflows tell of their connection: the low bits of the next segment expected.
    data_acks: Vec<u32>,
    /// The acknowledgements that ride on data, if both ends of a connection write.
    rides: Vec<Ride>,
    /// What acknowledgements tell of marks, if they do.
    reports: Vec<MarkReport>,
    /// The congestion headers of packets, which queues that compute share.
    pub(crate) headers: Headers,
    /// The SNACKs that acknowledgements carry, if any does.
    snacks: Vec<Option<Snack>>,
}

impl SackStore {
    /// Stores the blocks of an acknowledgement of all before `ack`. Returns their handle and their number.
    #[inline]
    pub(crate) fn put(&mut self, ack: u64, blocks: impl IntoIterator<Item = Block>) -> (u32, u32) {
        let handle = self.free.pop().unwrap_or_else(|| self.widen());
        let count = self.slots[handle as usize - 1].fill(ack, blocks);
        (handle, count)
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self) -> u32 {
        self.slots.push(SackOption::default());
        self.slots.len() as u32
    }

    /// Gives a packet a mark; `handle` may be none yet. Returns the handle.
    pub(crate) fn mark(&mut self, handle: u32, mark: Mark) -> u32 {
        let handle = if handle == 0 { self.put_without_window() } else { handle };
        self.marks.resize(self.slots.len(), Mark::default());
        self.marks[handle as usize - 1] = mark;
        handle
    }

    /// A handle for a packet that tells nothing, not even the window of a packet that had the handle before.
    fn put_without_window(&mut self) -> u32 {
        let handle = self.put(0, []).0;
        if let Some(window) = self.windows.get_mut(handle as usize - 1) {
            *window = 0;
        }
        handle
    }

    /// The mark of a packet that has one.
    pub(crate) fn mark_of(&self, handle: u32) -> Mark {
        let slot = (handle as usize).wrapping_sub(1);
        let mark = self.marks.get(slot).copied().unwrap_or_default();
        Mark { window: self.windows.get(slot).copied().unwrap_or(0), ..mark }
    }

    /// Gives an acknowledgement a receive window in segments; `handle` may be none yet. Returns the handle.
    pub(crate) fn tell(&mut self, handle: u32, window: u64) -> u32 {
        let handle = if handle == 0 { self.put(0, []).0 } else { handle };
        self.windows.resize(self.slots.len(), 0);
        self.windows[handle as usize - 1] = u32::try_from(window).unwrap_or(u32::MAX);
        handle
    }

    /// Gives an acknowledgement a SNACK, or notes that it has none; `handle` may be none yet. Returns the handle.
    pub(crate) fn snack(&mut self, handle: u32, snack: Option<Snack>) -> u32 {
        if handle == 0 && snack.is_none() {
            return 0;
        }
        let handle = if handle == 0 { self.put(0, []).0 } else { handle };
        self.snacks.resize(self.slots.len(), None);
        self.snacks[handle as usize - 1] = snack;
        handle
    }

    /// The SNACK of an acknowledgement whose flow has that option.
    pub(crate) fn snack_of(&self, handle: u32) -> Option<Snack> {
        self.snacks.get((handle as usize).wrapping_sub(1)).copied().flatten()
    }

    /// Gives an acknowledgement a report of marks; `handle` may be none yet. Returns the handle.
    pub(crate) fn report(&mut self, handle: u32, report: MarkReport) -> u32 {
        let handle = if handle == 0 { self.put(0, []).0 } else { handle };
        self.reports.resize(self.slots.len(), MarkReport::default());
        self.reports[handle as usize - 1] = report;
        handle
    }

    /// What an acknowledgement that has a report tells of marks.
    pub(crate) fn reported(&self, handle: u32) -> MarkReport {
        self.reports.get((handle as usize).wrapping_sub(1)).copied().unwrap_or_default()
    }

    /// All that a packet carries but its SACK blocks.
    pub(crate) fn carried(&self, handle: u32) -> Carried {
        Carried { mark: self.mark_of(handle), ride: self.ride(handle), report: self.reported(handle) }
    }

    /// Lets an acknowledgement ride on the packet with this handle, under which its SACK blocks are.
    pub(crate) fn load(&mut self, handle: u32, ride: Ride) {
        self.rides.resize(self.slots.len(), Ride::default());
        self.rides[handle as usize - 1] = ride;
    }

    /// The acknowledgement that rides on a data packet of a connection whose both ends write.
    pub(crate) fn ride(&self, handle: u32) -> Ride {
        self.rides.get((handle as usize).wrapping_sub(1)).copied().unwrap_or_default()
    }

    /// The receive window of an acknowledgement that has been given one.
    pub(crate) fn window(&self, handle: u32) -> u64 {
        self.mark_of(handle).window.into()
    }

    /// Gives an acknowledgement of a subflow the DATA_ACK of its connection; `handle` may be none yet. Returns the handle.
    pub(crate) fn tell_data_ack(&mut self, handle: u32, upto: u64) -> u32 {
        let handle = if handle == 0 { self.put(0, []).0 } else { handle };
        self.data_acks.resize(self.slots.len(), 0);
        self.data_acks[handle as usize - 1] = upto as u32;
        handle
    }

    /// The low bits of the DATA_ACK of an acknowledgement that has been given one. They stay until another packet gets the handle.
    pub(crate) fn data_ack(&self, handle: u32) -> u32 {
        self.data_acks.get((handle as usize).wrapping_sub(1)).copied().unwrap_or(0)
    }

    /// Gives a packet a congestion header.
    pub(crate) fn carry(&mut self, packet: &mut Packet, header: Header) {
        if packet.handle == 0 {
            packet.handle = self.put(0, []).0;
        }
        packet.flags |= HEADER;
        self.headers.put(packet.handle, header);
    }

    /// The blocks of a packet.
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
        self.slots.get((handle as usize).wrapping_sub(1))
    }

    /// Moves the blocks into an option that has none, and frees the handle.
    #[inline]
    pub(crate) fn take(&mut self, handle: u32, sack: &mut Sack) {
        if handle > 0 {
            self.unpack(handle, sack);
        }
    }

    #[inline(never)]
    fn unpack(&mut self, handle: u32, sack: &mut Sack) {
        self.free.push(handle);
        self.slots[handle as usize - 1].unpack(sack);
    }

    /// Frees the handle of a packet that is gone.
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
