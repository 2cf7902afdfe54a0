//! Packets on disk: what is seen of them, as bytes on a wire, in the format pcapng.

mod frame;
pub mod pcap;
pub(crate) mod tap;
