//! TCP options as bytes: those of SCPS-TP (CCSDS 714.0-B-2), which are its capabilities on a SYN and SNACK,
//! and the option of AccECN.

use bentpipe_tcp::Snack;
use etherparse::TcpOptions;

use crate::link::packet::Packet;

const NOOP: u8 = 1;

/// Kind 20: the capabilities. Of the first octet the second bit is SNACK; the number of
/// the connection is not used.
pub(super) const CAPABILITIES: [u8; 4] = [20, 4, 0x40, 0];

/// The options followed by these bytes.
pub(super) fn with(options: &TcpOptions, more: &[u8]) -> TcpOptions {
    TcpOptions::try_from_slice(&[options.as_slice(), more].concat()).unwrap_or_default()
}

/// Kind 21: the offset of the hole, its size, the vector, first segment first, and padding.
pub(super) fn snack(packet: &Packet, snack: &Snack) -> Vec<u8> {
    let octets = snack.octets();
    let offset = (snack.hole.start as u32).wrapping_sub(packet.seq) as u16;
    let mut bytes = vec![21, 6 + octets as u8];
    bytes.extend(offset.to_be_bytes());
    bytes.extend(((snack.hole.end - snack.hole.start) as u16).to_be_bytes());
    bytes.extend(snack.arrived.to_le_bytes()[..octets as usize].iter().map(|octet| octet.reverse_bits()));
    bytes.resize(snack.size() as usize, NOOP);
    bytes
}

/// Kinds 172 and 174: two counters of AccECN, of bytes with ECT and with CE (RFC 9768 section 3.2.3).
pub(super) fn mark_counters(ect1: bool, fields: [u32; 2]) -> Vec<u8> {
    let counters = fields.iter().flat_map(|field| field.to_be_bytes().into_iter().skip(1));
    [if ect1 { 174 } else { 172 }, 8].into_iter().chain(counters).collect()
}
