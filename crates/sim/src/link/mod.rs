//! One direction of a link and what it is made of.

mod backlog;
mod departures;
pub(crate) mod direction;
mod loss;
pub(crate) mod packet;
pub(crate) mod random;
mod transmitter;
