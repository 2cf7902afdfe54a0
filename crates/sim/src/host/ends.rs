//! What few connections have.

use bentpipe_tcp::{Active, Passive};

use crate::host::relay::RelayRole;

/// What a connection has at its ends beside a sender and a receiver.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The ends of a connection that is opened and closed.
    pub(super) opening: Option<(Active, Passive)>,
    /// What it is for a relay.
    pub(super) role: Option<RelayRole>,
}

impl Ends {
    /// The opening end.
    #[inline]
    pub(super) fn active(&self) -> Option<&Active> {
        self.opening.as_ref().map(|(active, _)| active)
    }
}
