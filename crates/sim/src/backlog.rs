//! Packets that wait for a first-in-first-out transmitter, the one in transmission not counted.
//!
//! The departure of each packet is known when it arrives, so what is kept of it is the instant at which its transmission
//! will begin, which is the departure of the one before. An idle transmitter never looks here.

use std::collections::VecDeque;

/// The waiting packets of one link, in order.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// When the transmission of each begins. Those in the past have not been forgotten yet.
    begins: VecDeque<u64>,
    /// Their bytes, if anyone counts them.
    bytes: Option<Box<Bytes>>,
}

#[derive(Debug, Default)]
struct Bytes {
    sizes: VecDeque<u16>,
    sum: u64,
}

impl Backlog {
    /// An empty one that counts packets, and bytes if `bytes`.
    pub(crate) fn new(bytes: bool) -> Self {
        Self { begins: VecDeque::new(), bytes: bytes.then(Box::default) }
    }

    /// A packet of `size` bytes joins, whose transmission begins at `begin`.
    #[inline]
    pub(crate) fn join(&mut self, begin: u64, size: u16) {
        self.begins.push_back(begin);
        if let Some(bytes) = &mut self.bytes {
            bytes.sizes.push_back(size);
            bytes.sum += u64::from(size);
        }
    }

    /// Forgets packets whose transmission has begun by `now`.
    #[inline]
    pub(crate) fn drain(&mut self, now: u64) {
        while self.begins.front().is_some_and(|&begin| begin <= now) {
            self.begins.pop_front();
            if let Some(bytes) = &mut self.bytes {
                bytes.sum -= u64::from(bytes.sizes.pop_front().unwrap_or(0));
            }
        }
    }

    /// Packets that waited when it was drained last, and have come since.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        self.begins.len() as u64
    }

    /// Their bytes, if they are counted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.as_ref().map_or(0, |bytes| bytes.sum)
    }

    /// The same, added up.
    pub(crate) fn bytes_added_up(&self) -> u64 {
        self.bytes.iter().flat_map(|bytes| &bytes.sizes).map(|&size| u64::from(size)).sum()
    }

    /// When the transmission of each begins.
    pub(crate) fn begins(&self) -> impl Iterator<Item = u64> {
        self.begins.iter().copied()
    }
}
