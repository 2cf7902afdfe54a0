//! The answers of a direction about packets, and its promises.

use bentpipe_cc::{Span, Time};

/// Why a direction refuses a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The queue has no room.
    Full,
    /// The queue has room, but its rule drops the packet early.
    Early,
    /// The packet has room, but a handover will flush it out of the queue before it is sent.
    Flushed,
}

/// The answer to a pushed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// The packet is inside.
    Taken,
    /// The packet is inside, and known to be in error. It comes out when it would have reached the far end.
    Lost,
    /// The packet is not inside.
    Dropped(Refusal),
}

/// The fate of a packet that was inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet has reached the far end.
    Delivered,
    /// The packet was in error on its way.
    Lost,
    /// The queue has dropped the packet since it was taken.
    Dropped,
}

/// What a direction promises about packets of one size. Every short cut rests on these promises alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Packets come out in the order in which they went in, and the fate of each is known when it goes in.
    pub in_order: bool,
    /// No packet spends less time inside.
    pub least_delay: Span,
    /// Two packets come out at least this far apart.
    pub least_gap: Span,
    /// Packets that go in at least `least_gap` apart all arrive, and each spends exactly this time inside.
    pub constant: Option<Span>,
}

/// The fate of a packet that enters a direction that keeps packets in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transit {
    Refused(Refusal),
    /// The packet is taken but lost on the way. It would have reached the far end at this time, or is lost at
    /// a handover then.
    Lost(Time),
    /// The packet will reach the far end at this time.
    Arrives(Time),
}
