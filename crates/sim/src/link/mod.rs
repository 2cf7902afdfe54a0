//! One direction of a link and what it is made of.

mod backlog;
pub(crate) mod direction;
pub(crate) mod ledger;
mod loss;
pub(crate) mod packet;
pub(crate) mod random;
mod transmitter;
