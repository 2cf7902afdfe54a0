//! What applications do: how much they send, when they begin, and for how long they are silent.

pub(crate) mod application;
pub(crate) mod arrivals;
pub(crate) mod laws;
pub(crate) mod transfers;
