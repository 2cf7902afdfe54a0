//! The interface of a kind of access to the channel.

use std::fmt;

/// The opportunities of one transmitter, in order.
pub(super) trait AccessRule: fmt::Debug + Send {
    /// The instant of the next opportunity, or the instant at which the next ones are assigned.
    fn due(&self) -> u64;

    /// The bytes of the opportunity at that instant, while `waiting` bytes wait; 0 if there is none. The next
    /// opportunity is then due.
    fn take(&mut self, waiting: u64) -> u64;

    /// Nothing has waited: all opportunities up to `now` have passed unused.
    fn pass(&mut self, now: u64);

    /// How long after its instant the bytes of an opportunity have all been sent, ns.
    fn length(&self) -> u64 {
        0
    }

    /// Bytes that could have been sent until `end`; all opportunities up to then have passed. `rate` is the
    /// mean rate in bits per second.
    fn offered(&self, end: u64, rate: u64) -> f64;
}
