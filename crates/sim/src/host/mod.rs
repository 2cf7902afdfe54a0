//! The two ends of a flow.

pub(crate) mod books;
pub(crate) mod control;
pub(crate) mod flow;
pub(crate) mod sack_store;
