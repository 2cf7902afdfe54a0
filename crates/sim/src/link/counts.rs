//! Counts of one direction of a link.

use crate::link::contract::{Refusal, Transit};

/// The packets of one direction. Losses that are known but still to come are counted already;
/// `Direction::dropped` counts those until an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets that came. A queue that decides at departure counts its packets itself.
    pub(crate) offered: u64,
    pub(crate) delivered: u64,
    pub(crate) dropped_queue: u64,
    pub(crate) dropped_error: u64,
    pub(crate) marked: u64,
    /// Most packets that waited; with [`EqualPackets`](super::equal_packets::EqualPackets), the longest wait
    /// in ns.
    pub(crate) most: u64,
    /// Packets handed on ahead of time that would arrive after the end of the run.
    pub(crate) beyond: u64,
    /// Sum of all waiting times, packet-nanoseconds.
    pub(super) waited: u128,
}

impl Counts {
    /// Counts a packet that is not taken.
    #[inline(always)]
    pub(super) fn refuse(&mut self, why: Refusal) -> Transit {
        self.dropped_queue += 1;
        Transit::Refused(why)
    }
}
