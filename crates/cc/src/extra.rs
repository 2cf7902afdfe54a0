//! Extra segments: sent beside the data, with low priority, to find out whether the path has room for more.
//!
//! A controller orders them and learns of the acknowledgement of each. They serve as the dummy segments of
//! TCP-Peach, the NIL segments of TCP-Peach+ and the supplement segments of TCP-Cherry. They count in no
//! window, and nothing waits for a lost one.

use crate::time::Span;

/// What the extra segments of an order carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExtraPayload {
    /// The data segment that was sent last, again: nothing new to the receiver, unless that segment was lost
    /// (dummy segments).
    #[default]
    Repeated,
    /// Outstanding segments that are not selectively acknowledged, the oldest first and each once before any
    /// is taken again. They may therefore repair a loss (NIL segments).
    Unacknowledged,
    /// Data that has not been sent, from a number of segments behind the next one on (supplement segments).
    /// Data that the receiver then has is not sent again when its turn comes. Near the end of the data, or of
    /// the receive window, as [`ExtraPayload::Unacknowledged`].
    Unsent {
        /// The data that will be sent while the answer is on its way need not be carried.
        ahead: u64,
    },
}

/// An order of extra segments. It replaces what is left of the previous order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraOrder {
    /// How many; 0 ends the previous order.
    pub count: u64,
    /// The time from the order to the first segment, and from each segment to the next. Zero: all at once.
    pub gap: Span,
    /// What they carry.
    pub payload: ExtraPayload,
}
