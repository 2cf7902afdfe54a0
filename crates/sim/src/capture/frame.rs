//! Packets as the bytes that would be on the wire: IPv4 with TCP or UDP.
//!
//! Sequence numbers count bytes from an initial number of the flow and wrap at 2^32. The connection's options
//! determine the headers, whatever size the scenario gave them. The payload has the simulated size, and
//! consists of zeros.

use bentpipe_tcp::{EcnEcho, LossRecovery, MarkCounts, Sack, Signal};
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
    WindowScale,
};
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TcpOptions, UdpHeader};

use crate::capture::numbers::{Connection, Conversation, End, Fields, HeaderNumbers, IPV4, UDP};
use crate::capture::raw_options;
use crate::host::carried::{Carried, MarkReport};
use crate::host::control;
use crate::link::packet::{ACK, CWR, ECE, Ecn, LOW, Packet, SACK};

static ZEROS: [u8; 65_535] = [0; 65_535];
const TTL: u8 = 64;

impl Conversation {
    /// Writes the headers of a packet, with what it carries and its SACK blocks, to `out`; returns its
    /// length with the payload.
    pub(crate) fn write(
        &self,
        packet: &Packet,
        carried: (&Carried, &Sack),
        numbers: &HeaderNumbers,
        out: &mut Vec<u8>,
    ) -> u32 {
        out.clear();
        let ([from, to], fields) = (numbers.ends(packet), numbers.of(packet));
        let ip = |protocol, length: u16| {
            let mut ip = Ipv4Header {
                dscp: if packet.has(LOW) { IpDscp::LOWER_EFFORT } else { IpDscp::ZERO },
                ecn: match packet.ecn() {
                    Ecn::Congested => IpEcn::CongestionExperienced,
                    Ecn::Ect0 => IpEcn::Ect0,
                    Ecn::Ect1 => IpEcn::Ect1,
                    Ecn::NotCapable => IpEcn::NotEct,
                },
                total_len: IPV4 + length,
                identification: fields.id,
                dont_fragment: true,
                time_to_live: TTL,
                protocol,
                source: from.address,
                destination: to.address,
                ..Ipv4Header::default()
            };
            ip.header_checksum = ip.calc_header_checksum();
            ip
        };
        let Some(tcp) = &self.tcp else {
            let payload = packet.size - IPV4 - UDP;
            let ip = ip(IpNumber::UDP, UDP + payload);
            let data = &ZEROS[..usize::from(payload)];
            let udp = UdpHeader::with_ipv4_checksum(from.port, to.port, &ip, data).unwrap_or_default();
            out.extend(ip.to_bytes());
            out.extend(udp.to_bytes());
            return u32::from(ip.total_len);
        };
        let mut header = self.header(tcp, packet, carried, (numbers, fields));
        (header.source_port, header.destination_port) = (from.port, to.port);
        let payload = fields.payload;
        let ip = ip(IpNumber::TCP, header.header_len_u16() + payload);
        let data = &ZEROS[..usize::from(payload)];
        // The length has been checked before the run.
        header.checksum = header.calc_checksum_ipv4(&ip, data).unwrap_or_default();
        out.extend(ip.to_bytes());
        out.extend(header.to_bytes());
        u32::from(ip.total_len)
    }

    fn header(
        &self,
        tcp: &Connection,
        packet: &Packet,
        (carried, sack): (&Carried, &Sack),
        (numbers, fields): (&HeaderNumbers, Fields),
    ) -> TcpHeader {
        let ride = self.back.as_ref().filter(|_| is_data(packet)).map(|back| (back, carried.ride));
        let signal = control::signal(packet);
        let opens = matches!(signal, Some(Signal::Syn | Signal::SynAck));
        // RFC 3168 section 6.1.1: a SYN that offers ECN has ECE and CWR, the answer ECE.
        let offers = tcp.options.ecn && opens;
        let flags = match self.ace(tcp, packet, carried.marks) {
            Some(ace) => ace,
            None => {
                let echoes = packet.has(ECE) || ride.is_some_and(|(_, ride)| ride.ece);
                let reduced = packet.has(CWR) || (offers && signal == Some(Signal::Syn));
                u8::from(echoes || offers) | u8::from(reduced) << 1
            }
        };
        TcpHeader {
            sequence_number: fields.seq,
            acknowledgment_number: fields.ack,
            syn: opens,
            ack: signal != Some(Signal::Syn),
            fin: matches!(signal, Some(Signal::Fin | Signal::FinAck)),
            psh: fields.last,
            ns: flags & 4 > 0,
            cwr: flags & 2 > 0,
            ece: flags & 1 > 0,
            window_size: fields.window,
            options: self.options(tcp, packet, (carried, sack), (numbers, fields), opens),
            ..TcpHeader::default()
        }
    }

    fn options(
        &self,
        tcp: &Connection,
        packet: &Packet,
        (carried, sack): (&Carried, &Sack),
        (numbers, fields): (&HeaderNumbers, Fields),
        opens: bool,
    ) -> TcpOptions {
        let mut list: [TcpOptionElement; 8] = [const { Noop }; 8];
        let mut used = 0;
        let mut add = |element: TcpOptionElement| {
            list[used] = element;
            used += 1;
        };
        let timestamp = Timestamp(fields.tsval, fields.tsecr);
        if opens {
            // RFC 6691: options are not counted, so a full segment has less by those that it always carries.
            let options = if tcp.options.timestamps { 12 } else { 0 };
            add(MaximumSegmentSize((tcp.options.mss + options).min(0xFFFF) as u16));
            match (tcp.options.recovery == LossRecovery::Sack, tcp.options.timestamps) {
                (true, true) => {
                    add(SelectiveAcknowledgementPermitted);
                    add(timestamp);
                }
                (true, false) => {
                    add(Noop);
                    add(Noop);
                    add(SelectiveAcknowledgementPermitted);
                }
                (false, true) => {
                    add(Noop);
                    add(Noop);
                    add(timestamp);
                }
                (false, false) => {}
            }
            add(Noop);
            add(WindowScale(tcp.scale));
        } else {
            if tcp.options.timestamps {
                add(Noop);
                add(Noop);
                add(timestamp);
            }
            if let [block, more @ ..] = sack.blocks() {
                // Blocks use the numbers of the end that sends the data that they report.
                let [_, to]: [&End; 2] = numbers.ends(packet);
                let number = |segments| {
                    to.number(match self.back.as_ref().filter(|_| is_data(packet)) {
                        Some(back) => back.other.bytes(segments),
                        None => numbers.before(packet.flow, self, segments),
                    })
                };
                let edges = |b: &bentpipe_tcp::Block| (number(b.start), number(b.end));
                add(Noop);
                add(Noop);
                add(SelectiveAcknowledgement(edges(block), [0, 1, 2].map(|i| more.get(i).map(edges))));
            }
        }
        let options = TcpOptions::try_from_elements(&list[..used]).unwrap_or_default();
        let options = match (tcp.options.snack, carried.snack) {
            (Some(_), _) if opens => raw_options::with(&options, &raw_options::CAPABILITIES),
            (Some(_), Some(snack)) if packet.has(SACK) => {
                raw_options::with(&options, &raw_options::snack(packet, &snack))
            }
            _ => options,
        };
        match carried.marks.fields.filter(|_| self.ace(tcp, packet, carried.marks).is_some() && !opens) {
            Some(fields) => {
                raw_options::with(&options, &raw_options::mark_counters(tcp.options.ect1, fields))
            }
            None => options,
        }
    }

    /// The three flags of the ACE field, AE first, if the connection uses AccECN. In the handshake they are
    /// what RFC 9768 section 3.1 says of packets without ECT, otherwise the counter. The end that gets no
    /// data sends its initial value.
    fn ace(&self, tcp: &Connection, packet: &Packet, report: MarkReport) -> Option<u8> {
        if !tcp.options.ecn || tcp.options.echo != EcnEcho::AccEcn {
            return None;
        }
        Some(match control::signal(packet) {
            Some(Signal::Syn) => 0b111,
            Some(Signal::SynAck | Signal::Ack) => 0b010,
            None if packet.has(ACK) || self.back.is_some() => report.ace,
            _ => MarkCounts::default().ace(),
        })
    }
}

/// Is it a segment of data or a probe?
fn is_data(packet: &Packet) -> bool {
    !packet.has(ACK) && control::signal(packet).is_none()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bentpipe_cc::Time;
    use bentpipe_tcp::{Block, Control, Options, Snack};

    use super::*;
    use crate::resolve::plan::{CcPlan, FlowPlan, Source};

    fn flow(options: Options) -> FlowPlan {
        let cc = CcPlan::Supplied { key: "none".into() };
        FlowPlan::plain(
            "f",
            Source::Tcp { cc, bytes: Some(100_000), options: Arc::new(options), application: None },
        )
    }

    /// The headers of the first packet that a flow with these options shows, and its length.
    fn first(options: Options, packet: &Packet, carried: &Carried, sack: &Sack) -> (u32, Vec<u8>) {
        let (flow, packet) = (flow(options), Packet { handle: 1, ..*packet });
        let (conversation, mut bytes) = (Conversation::new(&flow), Vec::new());
        let mut numbers = HeaderNumbers::new(&[flow], 1);
        numbers.depart(Time(0), &packet, &conversation, carried);
        (conversation.write(&packet, (carried, sack), &numbers, &mut bytes), bytes)
    }

    /// A capture shows the packets that the links carry, for every combination of options
    /// and every kind of segment.
    #[test]
    fn the_simulated_sizes_are_those_of_the_bytes() {
        for (timestamps, recovery) in [
            (true, LossRecovery::Sack),
            (false, LossRecovery::Sack),
            (true, LossRecovery::Reno),
            (false, LossRecovery::Reno),
        ] {
            let header = if timestamps { 52 } else { 40 };
            let options = Options {
                timestamps,
                recovery,
                header,
                ack_size: header,
                ack_grows: true,
                ..Options::modern()
            };
            let written = |packet: &Packet, sack: &Sack| {
                let (length, bytes) = first(options, packet, &Carried::NOTHING, sack);
                (length, bytes.len() as u32)
            };
            for signal in
                [Signal::Syn, Signal::SynAck, Signal::Ack, Signal::Fin, Signal::FinAck, Signal::LastAck]
            {
                let packet = control::packet(Control { signal, ts: 0 }, &options, 0, 0);
                assert_eq!(written(&packet, &Sack::default()), (packet.size.into(), packet.size.into()));
            }
            let data = Packet { size: 1448 + header as u16, ..Packet::default() };
            assert_eq!(written(&data, &Sack::default()), (1448 + header, header));
            let mut sack = Sack::default();
            for n in 0..=3 {
                // RFC 2018 section 3: 8 n + 2 bytes, and two of padding.
                let more = if n > 0 { 4 + 8 * n } else { 0 };
                let ack = Packet { flags: ACK, ..Packet::default() };
                assert_eq!(written(&ack, &sack), (header + more, header + more), "{n} blocks");
                sack.push(Block { start: 10 * u64::from(n) + 5, end: 10 * u64::from(n) + 6 });
            }
        }
    }

    /// A SNACK behind the timestamps: two missing from segment 7 on at an acknowledgement of
    /// all before 5; then 1 1 0 1.
    #[test]
    fn a_snack_stands_behind_the_other_options() {
        let options = Options::scps();
        let written = |packet: &Packet, snack: Option<Snack>| {
            first(options, packet, &Carried { snack, ..Carried::NOTHING }, &Sack::default())
        };
        let snack = Snack { hole: Block { start: 7, end: 9 }, arrived: 0b1011, bits: 4 };
        let ack = Packet { flags: ACK | SACK, seq: 5, ..Packet::default() };
        let (length, bytes_of_ack) = written(&ack, Some(snack));
        assert_eq!(length, 52 + snack.size());
        assert_eq!(bytes_of_ack[52..], [21, 7, 0, 2, 0, 2, 0b1101_0000, 1]);
        let syn = control::packet(Control { signal: Signal::Syn, ts: 0 }, &options, 0, 0);
        let (length, bytes_of_syn) = written(&syn, None);
        assert_eq!((length, &bytes_of_syn[60..]), (u32::from(syn.size), &[20, 4, 0x40, 0][..]));
    }

    /// RFC 9293 section 3.1 and RFC 791 section 3.1, read by hand. The last segment of 100 000 bytes, segment
    /// 69 of 1448, has 88 bytes from 99 912 on.
    #[test]
    fn numbers_stand_where_the_rfcs_put_them() {
        let flows = vec![flow(Options::modern()); 259];
        let (conversation, mut numbers) = (Conversation::new(&flows[258]), HeaderNumbers::new(&flows, 1));
        let segment = Packet { flow: 258, handle: 1, size: 1500, ..Packet::default() };
        let ack = Packet { flags: ACK, handle: 2, ..segment };
        let packet =
            Packet { seq: 69, size: 88 + 52, flags: CWR, ts: 0x0102_0304, handle: 3, ..segment }.with_ect();
        let carried = Carried::NOTHING;
        numbers.depart(Time(9000), &ack, &conversation, &carried);
        numbers.arrive(&ack);
        (0..0xABCD).for_each(|_| numbers.depart(Time(0), &segment, &conversation, &carried));
        numbers.depart(Time(0), &packet, &conversation, &carried);
        let mut bytes = Vec::new();
        let length = conversation.write(&packet, (&carried, &Sack::default()), &numbers, &mut bytes);
        let isn = numbers.ends(&packet)[0].number(0).wrapping_sub(1);
        assert_eq!((length, bytes.len()), (140, 52));
        assert_eq!(bytes[..2], [0x45, 0b10]); // version 4, five words; ECT(0)
        assert_eq!(bytes[2..8], [0, 140, 0xAB, 0xCD, 0x40, 0]); // length, identification, do not fragment
        assert_eq!(bytes[9], 6); // TCP
        assert_eq!(bytes[12..20], [10, 0, 1, 3, 10, 128, 1, 3]);
        assert_eq!(bytes[24..28], isn.wrapping_add(1 + 99_912).to_be_bytes());
        assert_eq!(bytes[32..34], [8 << 4, 0b1001_1000]); // eight words; CWR, ACK, PSH
        assert_eq!(bytes[34..36], [0xFF, 0xFF]); // a window that never binds
        assert_eq!(bytes[40..52], [1, 1, 8, 10, 1, 2, 3, 4, 0, 0, 0, 9]);
    }

    /// RFC 3168 section 5: ECT(1) is 01, ECT(0) is 10, CE is 11.
    #[test]
    fn the_codepoint_is_that_of_the_packet() {
        let second_byte = |flags: u16, ecn: Ecn| {
            let packet = Packet { size: 1500, flags, ..Packet::default() }.with_ecn(ecn);
            first(Options::modern(), &packet, &Carried::NOTHING, &Sack::default()).1[1]
        };
        let all = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Congested];
        assert_eq!(all.map(|ecn| second_byte(0, ecn)), [0b00, 0b01, 0b10, 0b11]);
        // RFC 8622: the six bits before it are 000001, lower effort, of extra segments and
        // of their acknowledgements.
        assert_eq!([LOW, LOW | ACK].map(|flags| second_byte(flags, Ecn::Ect0)), [0b110, 0b110]);
    }
}
