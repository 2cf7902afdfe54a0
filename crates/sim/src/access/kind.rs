//! What the file of each kind of access to the channel defines.

use std::fmt;

use bentpipe_cc::Span;

use crate::access::context::AccessContext;
use crate::keys::error::Error;

/// The keys of one kind of access.
pub(super) trait AccessKeys {
    /// The plan into which they resolve.
    type Plan: PlannedAccess;

    /// The plan, on a link of `rate_bps` with this propagation there and back.
    fn resolve(
        &self,
        rate_bps: u64,
        round_trip: Span,
        context: &mut AccessContext<'_>,
    ) -> Result<Self::Plan, Error>;

    /// The mean rate in bits per second, if it does not follow from the link's rate.
    fn own_rate(&self, _context: &mut AccessContext<'_>) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}

/// What a run needs to know of one kind of access.
pub(super) trait PlannedAccess {
    /// The mean rate in bits per second, if it does not follow from the link's rate.
    fn own_rate(&self) -> Option<u64> {
        None
    }

    /// The rule before the first opportunity.
    fn start(&self) -> Box<dyn AccessRule>;
}

/// The opportunities of one transmitter, in order.
pub(crate) trait AccessRule: fmt::Debug + Send {
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
