//! What applications do: how much they send, when they begin, and for how long they are silent.

pub(crate) mod application;
pub(crate) mod arrivals;
pub(crate) mod browser;
pub(crate) mod client;
pub(crate) mod laws;
pub(crate) mod player;
pub(crate) mod transfers;
