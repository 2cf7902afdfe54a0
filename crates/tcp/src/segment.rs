//! Segments between a sender and a receiver. Sequence numbers count full segments from 0.

/// A run of segments received out of order: [`start`, `end`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment of the run.
    pub start: u64,
    /// First segment after the run.
    pub end: u64,
}

/// The most SACK blocks that fit beside timestamps (RFC 2018 section 3).
pub const MAX_BLOCKS: usize = 3;

/// The SACK blocks of an acknowledgement, most recent first (RFC 2018 section 4), with full segment numbers.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub struct Sack {
    blocks: [Block; MAX_BLOCKS],
    /// Eight bytes wide like the blocks: this avoids a store-to-load forwarding stall
    /// when the blocks are copied.
    len: u64,
}

impl Sack {
    /// Adds a block; a fourth is left out.
    pub fn push(&mut self, block: Block) {
        if let Some(slot) = self.blocks.get_mut(self.len as usize) {
            *slot = block;
            self.len += 1;
        }
    }

    /// Replaces its blocks by these, as many as fit.
    pub fn fill(&mut self, blocks: impl IntoIterator<Item = Block>) {
        let mut len = 0;
        for block in blocks {
            let Some(slot) = self.blocks.get_mut(len as usize) else { break };
            *slot = block;
            len += 1;
        }
        self.len = len;
    }

    /// Makes the first block longer by one segment.
    #[inline]
    pub(crate) fn lengthen(&mut self) {
        self.blocks[0].end += 1;
    }

    /// Becomes equal to `other`, writing only the edges that differ. Few edges change from one
    /// acknowledgement to the next.
    pub(crate) fn update(&mut self, other: &Sack) {
        for (known, block) in self.blocks.iter_mut().zip(other.blocks()) {
            if known.start != block.start {
                known.start = block.start;
            }
            if known.end != block.end {
                known.end = block.end;
            }
        }
        if self.len != other.len {
            self.len = other.len;
        }
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.len as usize]
    }

    /// The duplicate that the first block reports, where `next` is the first segment never sent. The block
    /// then lies below the cumulative acknowledgement `ack` or within the second block (RFC 2883 section 4).
    pub fn duplicate(&self, ack: u64, next: u64) -> Option<Block> {
        let (first, rest) = self.blocks().split_first()?;
        let within = rest.first().is_some_and(|b| b.start <= first.start && first.end <= b.end);
        let whole = first.start < first.end && first.end <= next;
        (whole && (first.end <= ack || within)).then_some(*first)
    }

    /// No blocks?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Compares the first `len` blocks only.
impl PartialEq for Sack {
    fn eq(&self, other: &Sack) -> bool {
        self.blocks() == other.blocks()
    }
}

/// A data segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Segment number.
    pub seq: u64,
    /// Payload bytes: the MSS, or less for the last segment of a transfer.
    pub len: u32,
    /// The sender's clock in microseconds, modulo 2^32 (RFC 7323).
    pub tsval: u32,
    /// True if the segment was sent before.
    pub retransmission: bool,
    /// Congestion window reduced (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// AEN's probe: carries nothing new and requests only an acknowledgement.
    pub probe: bool,
    /// An extra segment, of low priority: a copy that is acknowledged at once and separately
    /// ([`AckSegment::extra`]).
    pub extra: bool,
    /// Marked "congestion experienced" on its way.
    pub ce: bool,
    /// The last segment of a write (PSH, RFC 9293 section 3.9.1.2). Senders leave it out, as few receivers go
    /// by it: [`Sender::is_pushed`](crate::Sender::is_pushed) says it.
    pub push: bool,
}

impl Data {
    /// A segment that is sent for the first time, is not marked, and says nothing else.
    #[inline]
    pub fn new(seq: u64, len: u32, tsval: u32) -> Self {
        Self {
            seq,
            len,
            tsval,
            retransmission: false,
            cwr: false,
            probe: false,
            extra: false,
            ce: false,
            push: false,
        }
    }
}

/// What has arrived since the connection began, by codepoint: the counters of an AccECN receiver (RFC 9768
/// section 3.2). Each is the whole count; [`MarkCounts::ace`] and [`MarkCounts::fields`] give the part that
/// is on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkCounts {
    /// Packets marked "congestion experienced" (r.cep less its initial value).
    pub ce_packets: u64,
    /// Payload bytes of these packets (r.ceb).
    pub ce_bytes: u64,
    /// Payload bytes of the other packets (r.e0b or r.e1b less its initial value: a sender uses only one of
    /// the codepoints).
    pub ect_bytes: u64,
}

/// The initial value of the packet counters (RFC 9768 section 3.2.2).
const FIRST_CEP: u64 = 5;

impl MarkCounts {
    /// The ACE field: the three least bits of the packet counter (RFC 9768 section 3.2.2.1).
    pub fn ace(&self) -> u8 {
        ((self.ce_packets + FIRST_CEP) & 7) as u8
    }

    /// The fields of the option that may change, of 24 bits each: the bytes with ECT(0) or ECT(1), then those
    /// with CE (section 3.2.3).
    pub fn fields(&self) -> [u32; 2] {
        [self.ect_bytes + 1, self.ce_bytes].map(|bytes| (bytes & 0xFF_FFFF) as u32)
    }

    /// Counts a data segment.
    pub(crate) fn add(&mut self, data: &Data) {
        self.ce_packets += u64::from(data.ce);
        let bytes = if data.ce { &mut self.ce_bytes } else { &mut self.ect_bytes };
        *bytes += u64::from(data.len);
    }
}

/// An acknowledgement without SACK blocks; the fields are those of [`AckSegment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareAck {
    /// The next segment that the receiver expects.
    pub ack: u64,
    /// The timestamp echoed.
    pub tsecr: u32,
    /// ECN echo.
    pub ece: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSegment {
    /// The next segment that the receiver expects.
    pub ack: u64,
    /// Runs received out of order.
    pub sack: Sack,
    /// The timestamp echoed, if the connection uses timestamps (RFC 7323 section 4.3).
    pub tsecr: u32,
    /// ECN echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// True if it acknowledges an extra segment; it then has low priority, too.
    pub extra: bool,
}
