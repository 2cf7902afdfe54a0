//! The options of SCPS-TP as bytes (CCSDS 714.0-B-2): its capabilities on a SYN, and SNACK.

use bentpipe_tcp::Snack;
use etherparse::TcpOptions;

use crate::link::packet::Packet;

const NOOP: u8 = 1;

/// Kind 20: the capabilities. Of the first octet the second bit is SNACK; the number of the connection is not used.
pub(super) const CAPABILITIES: [u8; 4] = [20, 4, 0x40, 0];

/// The options with these bytes behind them.
pub(super) fn with(options: &TcpOptions, more: &[u8]) -> TcpOptions {
    TcpOptions::try_from_slice(&[options.as_slice(), more].concat()).unwrap_or_default()
}

/// Kind 21: the offset of the hole, its size, the vector, first segment first, and padding.
pub(super) fn option(packet: &Packet, snack: &Snack) -> Vec<u8> {
    let octets = snack.octets();
    let offset = (snack.hole.start as u32).wrapping_sub(packet.seq) as u16;
    let mut bytes = vec![21, 6 + octets as u8];
    bytes.extend(offset.to_be_bytes());
    bytes.extend(((snack.hole.end - snack.hole.start) as u16).to_be_bytes());
    bytes.extend(snack.arrived.to_le_bytes()[..octets as usize].iter().map(|octet| octet.reverse_bits()));
    bytes.resize(snack.size() as usize, NOOP);
    bytes
}
