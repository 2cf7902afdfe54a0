//! The two ends of a flow.

pub(crate) mod accurate_ecn;
pub(crate) mod application;
pub(crate) mod books;
pub(crate) mod carried;
pub(crate) mod cbr;
pub(crate) mod control;
pub(crate) mod endpoint;
pub(crate) mod ends;
pub(crate) mod flow;
mod headers;
pub(crate) mod multipath;
pub(crate) mod relay;
mod report;
pub(crate) mod sizes;
pub(crate) mod subflow;
