//! Packets that wait for a first-in-first-out transmitter, the one in transmission not counted.
//!
//! The departure of each packet is known when it arrives. The list therefore keeps the instant at which its
//! transmission will begin, which is the departure of the packet before it. An idle transmitter never reads
//! the list. The length of the ring is a power of two, because each hop must find its end quickly.

use std::collections::VecDeque;

/// The waiting packets of one direction, in order.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// A ring of the instants at which transmissions begin. Past ones stay until the next call of `drain`.
    begins: Vec<u64>,
    /// Packets from `head` up to `tail` wait; both only grow.
    head: u64,
    tail: u64,
    /// The bytes of these packets, if the queue's limit or rule needs them.
    bytes: Option<Box<Bytes>>,
}

#[derive(Debug, Default)]
struct Bytes {
    sizes: VecDeque<u16>,
    sum: u64,
}

impl Backlog {
    /// An empty backlog that counts packets; with `bytes` it also counts bytes.
    pub(crate) fn new(bytes: bool) -> Self {
        Self { bytes: bytes.then(Box::default), ..Self::default() }
    }

    /// From now on bytes are counted, too. The backlog is empty.
    pub(crate) fn count_bytes(&mut self) {
        self.bytes.get_or_insert_default();
    }

    #[inline(always)]
    fn slot(&self, number: u64) -> usize {
        number as usize & self.begins.len().wrapping_sub(1)
    }

    /// Adds a packet of `size` bytes, whose transmission begins at `begin`.
    #[inline(always)]
    pub(crate) fn join(&mut self, begin: u64, size: u16) {
        if self.packets() == self.begins.len() as u64 {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.begins[slot] = begin;
        self.tail += 1;
        if let Some(bytes) = &mut self.bytes {
            bytes.sizes.push_back(size);
            bytes.sum += u64::from(size);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut begins = vec![0; (2 * self.begins.len()).max(4)];
        let mask = begins.len() - 1;
        for number in self.head..self.tail {
            begins[number as usize & mask] = self.begins[self.slot(number)];
        }
        self.begins = begins;
    }

    /// Forgets packets whose transmission has begun by `now`.
    #[inline(always)]
    pub(crate) fn drain(&mut self, now: u64) {
        while self.head < self.tail && self.begins[self.slot(self.head)] <= now {
            self.head += 1;
            if let Some(bytes) = &mut self.bytes {
                bytes.sum -= u64::from(bytes.sizes.pop_front().unwrap_or(0));
            }
        }
    }

    /// Packets that waited when the backlog was last drained, and packets that have come since.
    #[inline(always)]
    pub(crate) fn packets(&self) -> u64 {
        self.tail - self.head
    }

    /// Their bytes, if they are counted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.as_ref().map_or(0, |bytes| bytes.sum)
    }

    /// The same number, summed packet by packet.
    pub(crate) fn bytes_added_up(&self) -> u64 {
        self.bytes.iter().flat_map(|bytes| &bytes.sizes).map(|&size| u64::from(size)).sum()
    }

    /// When the transmission of each begins.
    pub(crate) fn begins(&self) -> impl Iterator<Item = u64> {
        (self.head..self.tail).map(|number| self.begins[self.slot(number)])
    }
}
