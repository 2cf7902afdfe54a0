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
pub(crate) enum Doom {
    /// It is lost to errors.
    Error,
    /// A handover flushes it out of the queue.
    Flush,
}

/// The losses that are known and still to come, in order of time.
#[derive(Debug, Default)]
pub(crate) struct Foreseen {
    losses: VecDeque<(Time, Doom, Packet)>,
    /// How many of them are errors.
    errors: u64,
    /// The position of the last loss noted.
    last: usize,
}

impl Foreseen {
    /// Notes what happens to `packet` at `at`.
    pub(super) fn note(&mut self, at: Time, doom: Doom, packet: &Packet) {
        self.last = self.losses.partition_point(|(other, ..)| *other <= at);
        self.losses.insert(self.last, (at, doom, *packet));
        self.errors += u64::from(doom == Doom::Error);
    }

    /// Forgets what has happened until `now`.
    pub(super) fn pass(&mut self, now: Time) {
        while let Some((_, doom, _)) = self.losses.front().filter(|(at, ..)| *at <= now) {
            self.errors -= u64::from(*doom == Doom::Error);
            self.losses.pop_front();
        }
    }

    /// Takes back the error noted last.
    pub(super) fn take_back(&mut self) {
        self.losses.remove(self.last);
        self.errors -= 1;
    }

    /// How many flushes and how many errors are still to come.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.losses.len() as u64 - self.errors, self.errors)
    }

    /// The packets that are still to be lost.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.losses.iter().map(|(.., packet)| packet)
    }
}
