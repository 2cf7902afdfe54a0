//! Packet simulation of satellite links.
pub mod plan;
