//! What few connections have.

use bentpipe_tcp::{Active, Passive};

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

/// What a connection is for a relay.
#[derive(Debug)]
pub(crate) enum RelayRole {
    /// It ends at the relay.
    First,
    /// It begins at the relay.
    Second(Fed),
}

/// Where the data of a second half comes from.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    /// Segments taken from the first half.
    pub(super) taken: u64,
    /// The sender has begun.
    pub(super) started: bool,
    /// The handshake has begun.
    pub(super) opened: bool,
    /// The application behind the first half has stopped; what is under way may still come.
    pub(super) stopped: bool,
    /// The first half is closed: nothing more comes.
    pub(super) closed: bool,
}
