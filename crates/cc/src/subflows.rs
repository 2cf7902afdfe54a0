//! What a coupled algorithm knows of the other paths of its connection (Multipath TCP, RFC 8684).

use crate::time::Span;

/// One subflow of a connection that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subflow {
    /// Its congestion window in bytes.
    pub cwnd: u64,
    /// Its smoothed round-trip time; `None` before the first sample. Such a subflow carries nothing yet.
    pub rtt: Option<Span>,
    /// Bytes delivered between its last two losses, or since the last one if these are more.
    pub between_losses: u64,
}
