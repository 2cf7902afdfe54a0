//! Packets on disk: a tap that sees them, their bytes on a wire, and the format pcapng.

mod frame;
mod numbers;
pub mod pcap;
mod raw_options;
pub(crate) mod tap;
