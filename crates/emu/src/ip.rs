//! What the emulator reads from a packet's headers, and the only thing that it writes there: the mark
//! "congestion experienced".

use std::net::Ipv4Addr;

use bentpipe_sim::link::Ecn;

/// IPv4 without options (RFC 791 section 3.1), and TCP without options (RFC 9293 section 3.1).
const HEADER: usize = 20;
/// IPv6 (RFC 8200 section 3).
const HEADER_6: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Why a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is neither IPv4 nor IPv6, or its header is not whole.
    NotIp,
    /// It is longer than the links' largest packet.
    TooLong,
}

/// Checks whether `packet` may be forwarded by links whose largest packet has `mtu` bytes.
pub(crate) fn check(packet: &[u8], mtu: usize) -> Result<(), Refused> {
    let whole = match packet.first().map(|byte| byte >> 4) {
        Some(4) => packet[0] & 15 >= 5 && packet.len() >= usize::from(packet[0] & 15) * 4,
        Some(6) => packet.len() >= HEADER_6,
        _ => false,
    };
    match whole {
        false => Err(Refused::NotIp),
        true if packet.len() > mtu => Err(Refused::TooLong),
        true => Ok(()),
    }
}

fn is_ipv6(packet: &[u8]) -> bool {
    packet[0] >> 4 == 6
}

/// Is this packet of IPv4 from or to this address?
pub(crate) fn has_address(packet: &[u8], address: Ipv4Addr) -> bool {
    let address = address.octets();
    !is_ipv6(packet) && (packet[12..16] == address || packet[16..HEADER] == address)
}

/// The byte that holds DSCP and codepoint: type of service, or traffic class (RFC 2474 section 3).
fn traffic_class(packet: &[u8]) -> u8 {
    if is_ipv6(packet) { packet[0] << 4 | packet[1] >> 4 } else { packet[1] }
}

/// The codepoint of a packet (RFC 3168 section 5).
#[inline]
pub(crate) fn ecn(packet: &[u8]) -> Ecn {
    Ecn::of(traffic_class(packet))
}

/// Writes the mark "congestion experienced" into a packet. IPv4 has a header checksum, which is corrected
/// (RFC 1624, equation 3).
pub(crate) fn mark(packet: &mut [u8]) {
    if is_ipv6(packet) {
        packet[1] |= 3 << 4;
        return;
    }
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= 3;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The precedence of a packet, 0 to 7: the class of its DSCP (RFC 2474 section 4.2.2).
pub(crate) fn precedence(packet: &[u8]) -> u8 {
    traffic_class(packet) >> 5
}

/// The part of its datagram that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    /// The first fragment, which has the header of the protocol above IP.
    First,
    /// A later fragment, which has none.
    Later,
}

/// What a packet carries: the protocol above IP, and the offset at which that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Payload {
    protocol: u8,
    offset: usize,
    part: Part,
}

fn payload(packet: &[u8]) -> Payload {
    if is_ipv6(packet) {
        return payload_6(packet);
    }
    let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff;
    let part = match fragment {
        0 => Part::Whole,
        _ if fragment & 0x1fff == 0 => Part::First,
        _ => Part::Later,
    };
    Payload { protocol: packet[9], offset: usize::from(packet[0] & 15) * 4, part }
}

/// The payload after the extension headers (RFC 8200 section 4, RFC 4302 section 2.2).
fn payload_6(packet: &[u8]) -> Payload {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    let mut found = Payload { protocol: packet[6], offset: HEADER_6, part: Part::Whole };
    while let Some(header) = packet.get(found.offset..found.offset + 8) {
        let length = match found.protocol {
            // Hop-by-hop options, destination options, and routing.
            0 | 60 | 43 => (usize::from(header[1]) + 1) * 8,
            AUTHENTICATION => (usize::from(header[1]) + 2) * 4,
            FRAGMENT => {
                let fragment = u16::from_be_bytes([header[2], header[3]]);
                found.part = match (fragment >> 3, fragment & 1) {
                    (0, 0) => Part::Whole,
                    (0, _) => Part::First,
                    _ => Part::Later,
                };
                8
            }
            _ => break,
        };
        found.protocol = header[0];
        found.offset += length;
        if found.part == Part::Later {
            break;
        }
    }
    found
}

/// The headers of a packet: IP, and TCP or UDP or eight bytes of another protocol. A later fragment has only
/// the IP header.
pub(crate) fn headers(packet: &[u8]) -> &[u8] {
    let Payload { protocol, offset, part } = payload(packet);
    let above = match (part, protocol) {
        (Part::Later, _) => 0,
        (_, TCP) => packet.get(offset + 12).map_or(0, |byte| usize::from(byte >> 4) * 4),
        _ => 8,
    };
    &packet[..packet.len().min(offset + above)]
}

/// What a TCP segment acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) number: u32,
    /// Does it say nothing else: no data, no SACK blocks, no echo of a mark, no end of the connection?
    pub(crate) plain: bool,
}

/// The acknowledgement in a packet, if it has one (RFC 9293 section 3.1, RFC 2018 section 3).
pub(crate) fn acknowledgement(packet: &[u8]) -> Option<Acknowledgement> {
    const ACK: u8 = 1 << 4;
    const SACK: u8 = 5;
    let Payload { protocol, offset, part } = payload(packet);
    let segment = packet.get(offset..).filter(|segment| segment.len() >= HEADER)?;
    if protocol != TCP || part != Part::Whole || segment[13] & ACK == 0 {
        return None;
    }
    let data = usize::from(segment[12] >> 4) * 4;
    let mut options = segment.get(HEADER..data).unwrap_or_default();
    let mut plain = segment[13] == ACK && segment.len() == data;
    while let Some((kind, rest)) = options.split_first() {
        plain &= *kind != SACK;
        let length = match kind {
            0 => break,
            1 => 1,
            _ => usize::from(rest.first().copied().unwrap_or(0)).max(2),
        };
        options = options.get(length..).unwrap_or_default();
    }
    Some(Acknowledgement {
        number: u32::from_be_bytes([segment[8], segment[9], segment[10], segment[11]]),
        plain,
    })
}

/// A hash of the packet's flow: addresses, protocol, and ports if the packet has them and is no later
/// fragment. FNV-1a, then the SplitMix64 finaliser, so that all its bits are good.
pub(crate) fn flow_hash(packet: &[u8], seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    let Payload { protocol, offset, part } = payload(packet);
    take(&[protocol]);
    take(if is_ipv6(packet) { &packet[8..HEADER_6] } else { &packet[12..HEADER] });
    if let Some(ports) = packet.get(offset..offset + 4)
        && part != Part::Later
        && matches!(protocol, TCP | UDP)
    {
        take(ports);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An IPv4 packet of `length` bytes with the checksum of its header, UDP from `port` to 9.
    pub(crate) fn packet(length: usize, tos: u8, port: u16) -> Vec<u8> {
        let mut bytes = vec![0; length];
        bytes[0] = 0x45;
        bytes[1] = tos;
        bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        bytes[8] = 64;
        bytes[9] = UDP;
        bytes[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        let checksum = checksum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        if length >= 28 {
            bytes[20..22].copy_from_slice(&port.to_be_bytes());
            bytes[23] = 9;
        }
        bytes
    }

    /// RFC 1071, over a header whose checksum is zero; over a whole header it gives zero.
    pub(crate) fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for tos in 0..=255 {
            for port in [1, 2, 60_000] {
                for id in [0_u16, 1, 0x7fff, 0xffff] {
                    let mut bytes = packet(100, tos, port);
                    bytes[4..6].copy_from_slice(&id.to_be_bytes());
                    bytes[10..12].fill(0);
                    let sum = checksum(&bytes[..20]);
                    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
                    mark(&mut bytes);
                    assert_eq!((ecn(&bytes), checksum(&bytes[..20])), (Ecn::Congested, 0), "{tos} {id}");
                    assert_eq!(bytes[1] | 3, tos | 3, "only the codepoint changes");
                }
            }
        }
    }

    #[test]
    fn codepoints_are_those_of_rfc_3168() {
        let read: Vec<Ecn> = (0..4).map(|tos| ecn(&packet(40, 0xb8 | tos, 5))).collect();
        assert_eq!(read, [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Congested]);
    }

    /// A TCP segment that acknowledges `number`, with these flags and options, and `data` bytes of data.
    pub(crate) fn segment(number: u32, flags: u8, options: &[u8], data: usize) -> Vec<u8> {
        let mut bytes = packet(40 + options.len() + data, 0, 5);
        bytes[9] = TCP;
        bytes[28..32].copy_from_slice(&number.to_be_bytes());
        bytes[32] = ((20 + options.len()) as u8 / 4) << 4;
        bytes[33] = flags;
        bytes[40..40 + options.len()].copy_from_slice(options);
        bytes
    }

    #[test]
    fn plain_acknowledgements_are_told_from_those_that_say_more() {
        let timestamp = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let sack = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let plain = |bytes: &[u8]| acknowledgement(bytes).map(|ack| (ack.number, ack.plain));
        assert_eq!(plain(&segment(77, 0x10, &timestamp, 0)), Some((77, true)));
        assert_eq!(plain(&segment(u32::MAX, 0x10, &[], 0)), Some((u32::MAX, true)));
        assert_eq!(plain(&segment(77, 0x10, &sack, 0)), Some((77, false)));
        assert_eq!(plain(&segment(77, 0x10, &timestamp, 3)), Some((77, false)));
        for flags in [0x11, 0x12, 0x14, 0x50, 0x90] {
            assert_eq!(plain(&segment(77, flags, &timestamp, 0)), Some((77, false)), "{flags:x}");
        }
        assert_eq!(plain(&segment(77, 2, &timestamp, 0)), None);
        assert_eq!(plain(&packet(60, 0, 5)), None);
        // A wrong length ends only the search.
        assert_eq!(plain(&segment(77, 0x10, &[8, 0, 8, 0], 0)), Some((77, true)));
        assert_eq!(plain(&segment(77, 0x10, &[1, 1, 1, 5], 0)), Some((77, false)));
    }

    #[test]
    fn flows_are_told_apart_and_fragments_are_not_read_as_ports() {
        let hash = |packet: &[u8]| flow_hash(packet, 1);
        assert_eq!(hash(&packet(100, 0, 5)), hash(&packet(1400, 2, 5)));
        assert_ne!(hash(&packet(100, 0, 5)), hash(&packet(100, 0, 6)));
        let fragment = |port| {
            let mut bytes = packet(100, 0, port);
            bytes[7] = 9;
            bytes
        };
        assert_eq!(hash(&fragment(5)), hash(&fragment(6)));
        // Uniform: 4000 flows into 8 queues, chi-square with 7 degrees of freedom, 1 % point 18.5.
        let mut seen = [0_f64; 8];
        (0..4000_u16).for_each(|port| seen[(hash(&packet(60, 0, port)) >> 61) as usize] += 1.0);
        let chi: f64 = seen.iter().map(|n| (n - 500.0) * (n - 500.0) / 500.0).sum();
        assert!(chi < 18.5, "{chi}: {seen:?}");
    }

    #[test]
    fn what_is_no_packet_of_ip_or_too_long_is_refused() {
        assert_eq!(check(&packet(1500, 0, 5), 1500), Ok(()));
        assert_eq!(check(&packet(1501, 0, 5), 1500), Err(Refused::TooLong));
        assert_eq!(check(&packet(20, 0, 5)[..19], 1500), Err(Refused::NotIp));
        for first in [0x50, 0x44, 0x4f] {
            let mut bytes = packet(40, 0, 5);
            bytes[0] = first;
            assert_eq!(check(&bytes, 1500), Err(Refused::NotIp), "{first:x}");
        }
        assert_eq!(check(&[], 1500), Err(Refused::NotIp));
        assert_eq!(check(&packet_6(0, UDP, &[0; 8]), 1500), Ok(()));
        assert_eq!(check(&packet_6(0, UDP, &[])[..39], 1500), Err(Refused::NotIp));
        assert_eq!(check(&packet_6(0, UDP, &[0; 1461]), 1500), Err(Refused::TooLong));
        assert_eq!(check(&packet_6(0, UDP, &[0; 1461]), 1501), Ok(()));
    }

    /// An IPv6 packet with this traffic class, whose next header is `next` and which has
    /// `payload` behind the header.
    fn packet_6(class: u8, next: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_6];
        bytes[0] = 0x60 | class >> 4;
        bytes[1] = class << 4 | 0x0a; // the upper bits of the flow label
        bytes[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        bytes[6] = next;
        bytes[8..10].copy_from_slice(&[0xfd, 0x77]);
        bytes[24..26].copy_from_slice(&[0xfd, 0x77]);
        (bytes[23], bytes[39]) = (1, 2);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn the_traffic_class_of_ipv6_has_codepoint_and_precedence() {
        let read: Vec<Ecn> = (0..4).map(|tos| ecn(&packet_6(0xb8 | tos, UDP, &[]))).collect();
        assert_eq!(read, [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Congested]);
        // Expedited forwarding is 46, class 5.
        assert_eq!((precedence(&packet_6(46 << 2, UDP, &[])), precedence(&packet(40, 46 << 2, 5))), (5, 5));
        let mut marked = packet_6(0xba, UDP, &[1, 2, 3]);
        mark(&mut marked);
        assert_eq!(marked, packet_6(0xbb, UDP, &[1, 2, 3]), "only the codepoint changes");
    }

    #[test]
    fn extension_headers_of_ipv6_are_stepped_over() {
        let udp = [0x12, 0x34, 0, 9, 0, 8, 0, 0];
        let options = |next| [vec![next, 1], vec![0; 14]].concat();
        let fragment = |next, offset: u16, more: u16| {
            [vec![next, 0], (offset << 3 | more).to_be_bytes().to_vec(), vec![0, 0, 0, 7]].concat()
        };
        let plain = packet_6(0, UDP, &udp);
        let long = packet_6(0, 0, &[options(60), options(UDP), udp.to_vec()].concat());
        assert_eq!(flow_hash(&plain, 1), flow_hash(&long, 1), "the same flow");
        assert_ne!(flow_hash(&plain, 1), flow_hash(&packet_6(0, UDP, &[9; 8]), 1), "other ports");
        let mut other = plain.clone();
        other[39] = 3;
        assert_ne!(flow_hash(&plain, 1), flow_hash(&other, 1), "another address");
        let first = packet_6(0, 44, &[fragment(UDP, 0, 1), udp.to_vec()].concat());
        assert_eq!(flow_hash(&plain, 1), flow_hash(&first, 1));
        let later = |data: u8| packet_6(0, 44, &[fragment(UDP, 100, 0), vec![data; 8]].concat());
        assert_eq!(flow_hash(&later(1), 1), flow_hash(&later(2), 1), "data are not read as ports");
        assert_eq!((headers(&long).len(), headers(&later(1)).len(), headers(&plain).len()), (80, 48, 48));
        // A wrong length ends the search, and so does a truncated header.
        let lying = packet_6(0, 0, &[vec![UDP, 255], vec![0; 6]].concat());
        assert_eq!((flow_hash(&lying, 1), headers(&lying)), (flow_hash(&lying, 1), &lying[..]));
        assert_eq!(headers(&packet_6(0, 0, &[0; 3])).len(), 43);
    }

    #[test]
    fn acknowledgements_in_ipv6_are_read() {
        let four = segment(77, 0x10, &[], 0);
        let six = |next, before: &[u8]| packet_6(0, next, &[before, &four[HEADER..]].concat());
        let read = |bytes: &[u8]| acknowledgement(bytes).map(|ack| (ack.number, ack.plain));
        assert_eq!(read(&six(TCP, &[])), Some((77, true)));
        assert_eq!(read(&six(60, &[TCP, 0, 0, 0, 0, 0, 0, 0])), Some((77, true)));
        assert_eq!(read(&six(44, &[TCP, 0, 0, 1, 0, 0, 0, 7])), None, "a fragment");
        assert_eq!(headers(&six(TCP, &[])).len(), 60);
    }
}
