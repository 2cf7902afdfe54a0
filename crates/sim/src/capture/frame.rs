//! Packets as the bytes that would be on the wire: IPv4 with TCP or UDP.
//!
//! Sequence numbers count bytes from an initial number of the flow and wrap at 2^32. The connection's options
//! determine the headers, whatever size the scenario gave them. The payload has the simulated size, and
//! consists of zeros.

use bentpipe_tcp::{BareAck, EcnEcho, LossRecovery, MarkCounts, Options, Reading, Sack, Signal};
use etherparse::TcpOptionElement::{
    MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
    WindowScale,
};
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, TcpOptions, UdpHeader};

use bentpipe_cc::Time;

use crate::capture::raw_options;
use crate::host::carried::{Carried, MarkReport, Shown};
use crate::host::control;
use crate::link::packet::{ACK, CWR, ECE, Ecn, LOW, PROBE, Packet, SACK};
use crate::link::random::Stream;
use crate::resolve::plan::{CbrPlan, Duplex, FlowPlan, Source};
use bentpipe_tcp::unwrap;

static ZEROS: [u8; 65_535] = [0; 65_535];
const IPV4: u16 = 20;
const UDP: u16 = 8;
const TTL: u8 = 64;
/// The first port of the dynamic range (RFC 6335 section 6).
const PORTS: u16 = 49_152;
/// The port on which the receiving end of every flow listens.
const SERVICE: u16 = 65_000;

/// One end of a flow.
#[derive(Clone, Debug)]
struct Host {
    address: [u8; 4],
    port: u16,
    /// Initial sequence number.
    isn: u32,
    /// Number of packets sent: the next Identification of IPv4.
    sent: u16,
}

/// The state of a connection that its headers need.
#[derive(Clone, Debug)]
struct Connection {
    options: Options,
    /// Bytes to transfer.
    total: u64,
    /// The receive window as a header field, and its scale.
    window: u16,
    scale: u8,
    /// Highest acknowledgement that has arrived, in segments.
    acked: u64,
    /// TS.Recent of the sending end.
    recent: u32,
    /// Bytes sent so far.
    sent: u64,
}

/// The two ends of one flow, as far as their packets show them.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    /// The host that sends data, and the host that receives it.
    hosts: [Host; 2],
    /// `None` for traffic without TCP.
    tcp: Option<Connection>,
    /// The other direction, if both ends write.
    back: Option<Back>,
}

/// The other direction of a connection whose both ends write.
#[derive(Clone, Debug)]
struct Back {
    /// Which of the two flows this is.
    duplex: Duplex,
    /// How the segments of the other direction count bytes.
    other: Connection,
}

impl Connection {
    fn new(options: Options, bytes: Option<u64>) -> Self {
        let mss = u64::from(options.mss);
        // A window that never binds is the largest possible (RFC 7323 section 2.3); without scaling, 64 kB.
        let bytes_of_window = options.receive_window.map_or(u64::MAX, |w| w.saturating_mul(mss));
        let most = if options.handshake { 14 } else { 0 };
        let scale = (0..most).find(|s| bytes_of_window >> s <= 0xFFFF).unwrap_or(most);
        let window = (bytes_of_window >> scale).min(0xFFFF) as u16;
        Self { options, total: bytes.unwrap_or(u64::MAX), window, scale, acked: 0, recent: 0, sent: 0 }
    }

    /// Does the receive window change?
    fn changes(&self) -> bool {
        matches!(self.options.reading, Reading::Paced(_) | Reading::OnDemand)
    }

    fn bytes(&self, segments: u64) -> u64 {
        segments.saturating_mul(u64::from(self.options.mss)).min(self.total)
    }
}

impl Conversation {
    /// The flow with this index.
    pub(crate) fn new(index: usize, plan: &FlowPlan, seed: u64) -> Self {
        // Both directions of one connection have the hosts and the numbers of the first.
        let opener = plan.duplex().filter(|duplex| !duplex.opens).map(|duplex| duplex.other);
        let (second, index) = (opener.is_some(), opener.unwrap_or(index));
        let name = plan.name.strip_suffix("/back").filter(|_| second).map(|name| format!("{name}/there"));
        let name = name.unwrap_or_else(|| plan.name.clone());
        let mut numbers = Stream::new(seed, &format!("flow/{name}/isn"));
        let mut host = |network: u32, port| Host {
            address: (network + 1 + index as u32).to_be_bytes(),
            port,
            isn: (numbers.uniform() * f64::from(u32::MAX)) as u32,
            sent: 0,
        };
        let mut hosts = [
            host(0x0A00_0000, PORTS + (index % 10_000) as u16), // 10.0.0.1 and so on
            host(0x0A80_0000, SERVICE),                         // 10.128.0.1
        ];
        if second {
            hosts.reverse();
            hosts.iter_mut().for_each(|host| host.sent = 0x8000); // its identifications are not those of the first
        }
        let tcp = match &*plan.source {
            Source::Tcp { options, bytes, .. } => {
                // The window is scaled as the first direction's SYN has agreed.
                let handshake = plan.duplex().map_or(options.handshake, |duplex| duplex.handshake);
                Some(Connection::new(Options { handshake, ..**options }, *bytes))
            }
            Source::Cbr(_) => None,
        };
        Self { hosts, tcp, back: None }
    }

    /// The same, for a connection whose both ends write: `other` is the flow of the other direction.
    pub(crate) fn with_back(self, duplex: Duplex, other: &FlowPlan) -> Self {
        let back = match &*other.source {
            Source::Tcp { options, bytes, .. } => {
                Some(Back { duplex, other: Connection::new(**options, *bytes) })
            }
            Source::Cbr(_) => None,
        };
        Self { back, ..self }
    }

    /// Which direction of two it is, if both ends write.
    pub(crate) fn duplex(&self) -> Option<Duplex> {
        self.back.as_ref().map(|back| back.duplex)
    }

    /// Bytes of data sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.tcp.as_ref().map_or(0, |tcp| tcp.sent as u32)
    }

    /// An acknowledgement of this flow arrives on data of the other direction. Returns the byte that it
    /// expects next and the right edge of its window.
    pub(crate) fn rides(&mut self, ride: BareAck) -> (u64, u64) {
        let Some(tcp) = &mut self.tcp else { return (0, 0) };
        tcp.acked = ride.ack.max(tcp.acked);
        let ack = tcp.bytes(ride.ack);
        let window = tcp.options.receive_window.unwrap_or(0).saturating_mul(u64::from(tcp.options.mss));
        (ack, ack.saturating_add(window))
    }

    /// Why packets of this flow cannot be IPv4 packets.
    pub(crate) fn obstacle(plan: &FlowPlan) -> Option<String> {
        match &*plan.source {
            Source::Cbr(CbrPlan { packet, .. }) if *packet < u32::from(IPV4 + UDP) => Some(format!(
                "a packet of {packet} bytes has no room for the headers of IPv4 and UDP; write packet = \"28 bytes\" or more to capture it"
            )),
            Source::Tcp { options, .. } => {
                let headers = 40 + if options.timestamps { 12 } else { 0 };
                (options.mss + headers > 65_535).then(|| {
                    format!(
                        "a segment of {} bytes with {headers} bytes of headers is no packet of IPv4; write mss = \"{} bytes\" or less to capture it",
                        options.mss,
                        65_535 - headers
                    )
                })
            }
            Source::Cbr(_) => None,
        }
    }

    /// A packet leaves its host. Returns the header fields that the simulation does not need. `back`: bytes
    /// sent in the other direction.
    pub(crate) fn depart(&mut self, now: Time, packet: &Packet, back: u32) -> Shown {
        let data = self.data(packet);
        if let (Some(tcp), Some((_, end))) = (&mut self.tcp, data) {
            tcp.sent = tcp.sent.max(end);
        }
        let answers = packet.has(ACK);
        let host = &mut self.hosts[usize::from(answers)];
        let id = host.sent;
        host.sent = id.wrapping_add(1);
        let recent = self.tcp.as_ref().map_or(0, |tcp| tcp.recent);
        Shown { id, ts: if answers { (now.0 / 1000) as u32 } else { recent }, back }
    }

    /// A packet arrives at the other host.
    pub(crate) fn arrive(&mut self, packet: &Packet, shown: Shown) {
        if let (Some(tcp), true) = (&mut self.tcp, packet.has(ACK)) {
            tcp.recent = shown.ts;
            if control::signal(packet).is_none() {
                tcp.acked = unwrap(packet.seq, tcp.acked).max(tcp.acked);
            }
        }
    }

    /// First byte of a data segment and the byte after its last one; `None` for other packets.
    pub(crate) fn data(&self, packet: &Packet) -> Option<(u64, u64)> {
        let tcp = self.tcp.as_ref()?;
        if packet.has(ACK | PROBE) || control::signal(packet).is_some() {
            return None;
        }
        let from = unwrap(packet.seq, tcp.acked) * u64::from(tcp.options.mss);
        if self.back.is_some() {
            // The SACK option of an acknowledgement that rides takes bytes of the packet, too.
            return Some((from, (from + u64::from(tcp.options.mss)).min(tcp.total)));
        }
        Some((from, from + u64::from(packet.size).saturating_sub(u64::from(tcp.options.header))))
    }

    /// The byte that an acknowledgement expects next, and the right edge of its window; `None` for other
    /// packets. `advertised` is the advertised window in segments, if windows change.
    pub(crate) fn acknowledged(&self, packet: &Packet, advertised: u64) -> Option<(u64, u64)> {
        let tcp = self.tcp.as_ref()?;
        if !packet.has(ACK) || control::signal(packet).is_some() {
            return None;
        }
        let ack = tcp.bytes(unwrap(packet.seq, tcp.acked));
        let window = if tcp.changes() { advertised } else { tcp.options.receive_window.unwrap_or(0) };
        Some((ack, ack.saturating_add(window.saturating_mul(u64::from(tcp.options.mss)))))
    }

    /// The bytes that a SACK block covers.
    pub(crate) fn covered(&self, block: &bentpipe_tcp::Block) -> (u64, u64) {
        self.tcp.as_ref().map_or((0, 0), |tcp| (tcp.bytes(block.start), tcp.bytes(block.end)))
    }

    /// Writes the headers of a packet, with what it carries and its SACK blocks, to `out`; returns its
    /// length with the payload.
    pub(crate) fn write(&self, packet: &Packet, carried: (&Carried, &Sack), out: &mut Vec<u8>) -> u32 {
        out.clear();
        let [from, to] = if packet.has(ACK) { [1, 0] } else { [0, 1] };
        let (from, to) = (&self.hosts[from], &self.hosts[to]);
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
                identification: carried.0.shown.id,
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
        let mut header = self.header(tcp, packet, carried);
        (header.source_port, header.destination_port) = (from.port, to.port);
        let payload = match (control::signal(packet), packet.has(ACK)) {
            (None, false) => match self.data(packet) {
                Some((from, to)) => (to - from) as u16,
                None => u32::from(packet.size).saturating_sub(tcp.options.header) as u16,
            },
            _ => 0,
        };
        let ip = ip(IpNumber::TCP, header.header_len_u16() + payload);
        let data = &ZEROS[..usize::from(payload)];
        // The length has been checked before the run.
        header.checksum = header.calc_checksum_ipv4(&ip, data).unwrap_or_default();
        out.extend(ip.to_bytes());
        out.extend(header.to_bytes());
        u32::from(ip.total_len)
    }

    fn header(&self, tcp: &Connection, packet: &Packet, (carried, sack): (&Carried, &Sack)) -> TcpHeader {
        let shown = carried.shown;
        let ride = self.back.as_ref().filter(|_| is_data(packet)).map(|back| (back, carried.ride));
        // The sequence space of each end before its data, and all that it has
        // acknowledged once the data is done.
        let [opening, answering] = [self.hosts[0].isn, self.hosts[1].isn];
        let (first, first_back) = (opening.wrapping_add(1), answering.wrapping_add(1));
        let all = first.wrapping_add(tcp.bytes(tcp.acked) as u32);
        // The other end's next number, and what a data segment acknowledges.
        let next_back = first_back.wrapping_add(shown.back);
        let got = match ride {
            Some((back, ride)) => first_back.wrapping_add(back.other.bytes(ride.ack) as u32),
            None => next_back,
        };
        let (seq, ack) = match control::signal(packet) {
            Some(Signal::Syn) => (opening, 0),
            Some(Signal::SynAck) => (answering, first),
            Some(Signal::Ack) => (first, next_back),
            Some(Signal::Fin) => (all, next_back),
            Some(Signal::FinAck) => (next_back, all.wrapping_add(1)),
            Some(Signal::LastAck) => (all.wrapping_add(1), next_back.wrapping_add(1)),
            None => match (self.data(packet), self.acknowledged(packet, carried.window.into())) {
                (_, Some((ack, _))) => (next_back, first.wrapping_add(ack as u32)),
                (Some((from, _)), None) => (first.wrapping_add(from as u32), got),
                // AEN's probe has the first byte not acknowledged. The probe of a closed window has no
                // payload, and the number before that byte.
                (None, None) => {
                    let before = u32::from(u32::from(packet.size) <= tcp.options.header);
                    let byte = packet.seq.wrapping_mul(tcp.options.mss).wrapping_sub(before);
                    (first.wrapping_add(byte), got)
                }
            },
        };
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
        // A window in a segment with SYN is not scaled (RFC 7323 section 2.2).
        let window = match opens {
            true => (u64::from(tcp.window) << tcp.scale).min(0xFFFF) as u16,
            false if packet.has(ACK) && tcp.changes() => {
                let bytes = u64::from(carried.window).saturating_mul(u64::from(tcp.options.mss));
                (bytes >> tcp.scale).min(0xFFFF) as u16
            }
            false => tcp.window,
        };
        TcpHeader {
            sequence_number: seq,
            acknowledgment_number: ack,
            syn: opens,
            ack: signal != Some(Signal::Syn),
            fin: matches!(signal, Some(Signal::Fin | Signal::FinAck)),
            psh: self.data(packet).is_some_and(|(_, end)| end == tcp.total),
            ns: flags & 4 > 0,
            cwr: flags & 2 > 0,
            ece: flags & 1 > 0,
            window_size: window,
            options: self.options(tcp, packet, (carried, sack), ride, opens),
            ..TcpHeader::default()
        }
    }

    fn options(
        &self,
        tcp: &Connection,
        packet: &Packet,
        (carried, sack): (&Carried, &Sack),
        ride: Option<(&Back, BareAck)>,
        opens: bool,
    ) -> TcpOptions {
        let shown = carried.shown;
        let mut list: [TcpOptionElement; 8] = [const { Noop }; 8];
        let mut used = 0;
        let mut add = |element: TcpOptionElement| {
            list[used] = element;
            used += 1;
        };
        let timestamp = match (packet.has(ACK), ride) {
            (true, _) => Timestamp(shown.ts, packet.ts),
            (false, Some((_, ride))) => Timestamp(packet.ts, ride.tsecr),
            (false, None) => Timestamp(packet.ts, shown.ts),
        };
        if opens {
            add(MaximumSegmentSize(tcp.options.mss.min(0xFFFF) as u16));
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
                let (isn, counts) = match ride {
                    Some((back, _)) => (self.hosts[1].isn, &back.other),
                    None => (self.hosts[0].isn, tcp),
                };
                let number = |segments| isn.wrapping_add(1).wrapping_add(counts.bytes(segments) as u32);
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

    use bentpipe_tcp::{Block, Control, Snack};

    use super::*;
    use crate::resolve::plan::CcPlan;

    fn flow(options: Options) -> FlowPlan {
        let cc = CcPlan::Supplied { key: "none".into() };
        FlowPlan::plain(
            "f",
            Source::Tcp { cc, bytes: Some(100_000), options: Arc::new(options), application: None },
        )
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
            let conversation = Conversation::new(0, &flow(options), 1);
            let mut bytes = Vec::new();
            let mut written = |packet: &Packet, sack: &Sack| {
                let length = conversation.write(packet, (&Carried::NOTHING, sack), &mut bytes);
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
        let conversation = Conversation::new(0, &flow(options), 1);
        let mut bytes = Vec::new();
        let mut written = |packet: &Packet, snack: Option<Snack>| {
            let carried = Carried { snack, ..Carried::NOTHING };
            let length = conversation.write(packet, (&carried, &Sack::default()), &mut bytes);
            (length, bytes.clone())
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
        let options = Options::modern();
        let conversation = Conversation::new(258, &flow(options), 1);
        let isn = conversation.hosts[0].isn;
        let packet =
            Packet { seq: 69, size: 88 + 52, flags: CWR, ts: 0x0102_0304, ..Packet::default() }.with_ect();
        let mut bytes = Vec::new();
        let shown = Shown { id: 0xABCD, ts: 9, ..Shown::default() };
        let carried = Carried { shown, ..Carried::NOTHING };
        let length = conversation.write(&packet, (&carried, &Sack::default()), &mut bytes);
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
        let conversation = Conversation::new(0, &flow(Options::modern()), 1);
        let second_byte = |flags: u16, ecn: Ecn| {
            let packet = Packet { size: 1500, flags, ..Packet::default() }.with_ecn(ecn);
            let mut bytes = Vec::new();
            conversation.write(&packet, (&Carried::NOTHING, &Sack::default()), &mut bytes);
            bytes[1]
        };
        let all = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Congested];
        assert_eq!(all.map(|ecn| second_byte(0, ecn)), [0b00, 0b01, 0b10, 0b11]);
        // RFC 8622: the six bits before it are 000001, lower effort, of extra segments and
        // of their acknowledgements.
        assert_eq!([LOW, LOW | ACK].map(|flags| second_byte(flags, Ecn::Ect0)), [0b110, 0b110]);
    }
}
