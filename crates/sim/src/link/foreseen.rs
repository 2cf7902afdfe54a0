//! Packets that are still inside a direction and known to be lost or dropped there later.
//!
//! With a first-in-first-out queue the fate of a packet is known when it comes, a whole queue before it is
//! sent. The fate must not be counted before it happens. An error strikes when the last bit has been sent, or
//! at the handover that cuts the packet off. A handover flushes the queue when it comes. Until then the
//! packet waits or is in flight like any other.

use std::collections::VecDeque;

use bentpipe_cc::Time;

use crate::link::packet::Packet;

/// What will happen to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doom {
    /// It is lost to errors.
    Error,
    /// A handover flushes it out of the queue.
    Flush,
}

/// The losses that are known and still to come, in order of time.
#[derive(Debug, Default)]
pub(super) struct Foreseen(Option<Box<Losses>>);

#[derive(Debug, Default)]
struct Losses {
    to_come: VecDeque<(Time, Doom, Packet)>,
    /// How many of them are errors.
    errors: u64,
}

impl Foreseen {
    /// Notes at `now` what happens to `packet` at `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, now: Time, at: Time, doom: Doom, packet: &Packet) {
        self.pass(now);
        let losses = self.0.get_or_insert_default();
        let place = losses.to_come.partition_point(|(other, ..)| *other <= at);
        losses.to_come.insert(place, (at, doom, *packet));
        losses.errors += u64::from(doom == Doom::Error);
    }

    /// Forgets what has happened until `now`.
    pub(super) fn pass(&mut self, now: Time) {
        let Some(losses) = &mut self.0 else { return };
        while let Some((_, doom, _)) = losses.to_come.front().filter(|(at, ..)| *at <= now) {
            losses.errors -= u64::from(*doom == Doom::Error);
            losses.to_come.pop_front();
        }
    }

    /// When the packet with this handle is lost or flushed, if that is still to come.
    pub(super) fn end_of(&self, handle: u32) -> Option<Time> {
        let mut known = self.0.iter().flat_map(|losses| losses.to_come.iter().rev());
        known.find(|(.., packet)| packet.handle == handle).map(|(at, ..)| *at)
    }

    /// How many flushes and how many errors are still to come.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.0.as_ref().map_or((0, 0), |losses| (losses.to_come.len() as u64 - losses.errors, losses.errors))
    }

    /// The packets that are still to be lost.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.0.iter().flat_map(|losses| &losses.to_come).map(|(.., packet)| packet)
    }
}
