//! Extra segments: what a sender sends beside its data, with low priority, to find out whether the path has room for more.
//!
//! A controller orders them and learns of each acknowledgement of one. So TCP-Peach has its dummy segments, TCP-Peach+ its NIL
//! segments and TCP-Cherry its supplement segments. They count in no window, and nothing waits for one that is lost.

use crate::time::Span;

/// What the extra segments of an order carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtraPayload {
    /// The data segment that was sent last, again: nothing new to the receiver, unless that was lost (dummy segments).
    #[default]
    Repeated,
    /// Outstanding segments that are not selectively acknowledged, the oldest first and each once before any is taken again. So they
    /// may repair a loss (NIL segments).
    Unacknowledged,
    /// Data that has not been sent, from a number of segments behind the next one on (supplement segments).
    /// Data that the receiver then has is not sent again when its turn comes. Near the end of the data, or of
    /// the receive window, as [`ExtraPayload::Unacknowledged`].
    Unsent {
        /// The data that will be sent while the answer is on its way need not be carried.
        ahead: u64,
    },
}

/// An order of extra segments. It takes the place of what is left of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraOrder {
    /// How many; 0 ends the order before.
    pub count: u64,
    /// The first leaves so long after the order, and each other so long after the one before. Zero: all at once.
    pub gap: Span,
    /// What they carry.
    pub payload: ExtraPayload,
}
