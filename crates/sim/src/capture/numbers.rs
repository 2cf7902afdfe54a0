//! The header fields that follow from what the two ends of a connection have sent and heard: the numbers of
//! its bytes, the window, the timestamps. Only a capture shows them, and only with a capture are they kept.
//!
//! A [`Conversation`] is what the plan and the packets say of a flow; [`HeaderNumbers`] adds what each end
//! has sent and heard. The fields are found when a packet leaves its host, because a packet that is seen
//! later, at a link or at its destination, still shows what its host knew then.

use bentpipe_cc::Time;
use bentpipe_tcp::{BareAck, Options, Reading, Signal, unwrap};

use crate::host::carried::Carried;
use crate::host::control;
use crate::link::packet::{ACK, PROBE, Packet};
use crate::link::random::Stream;
use crate::resolve::plan::{CbrPlan, Duplex, FlowPlan, Source};

/// The first port of the dynamic range (RFC 6335 section 6).
const PORTS: u16 = 49_152;
/// The port on which the receiving end of every flow listens.
const SERVICE: u16 = 65_000;

pub(super) const IPV4: u16 = 20;
pub(super) const UDP: u16 = 8;

/// The state of a connection that its headers need.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) options: Options,
    /// Bytes to transfer.
    total: u64,
    /// The receive window as a header field, and its scale.
    window: u16,
    pub(super) scale: u8,
    /// Highest acknowledgement that has arrived, in segments.
    acked: u64,
}

/// The two ends of one flow, as far as their packets show them.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    /// `None` for traffic without TCP.
    pub(super) tcp: Option<Connection>,
    /// The other direction, if both ends write.
    pub(super) back: Option<Back>,
}

/// The other direction of a connection whose both ends write.
#[derive(Clone, Debug)]
pub(super) struct Back {
    /// Which of the two flows this is.
    duplex: Duplex,
    /// How the segments of the other direction count bytes.
    pub(super) other: Connection,
}

impl Connection {
    fn new(options: Options, bytes: Option<u64>) -> Self {
        let mss = u64::from(options.mss);
        // A window that never binds is the largest possible (RFC 7323 section 2.3); without scaling, 64 kB.
        let bytes_of_window = options.receive_window.map_or(u64::MAX, |w| w.saturating_mul(mss));
        let most = if options.handshake { 14 } else { 0 };
        let scale = (0..most).find(|s| bytes_of_window >> s <= 0xFFFF).unwrap_or(most);
        let window = (bytes_of_window >> scale).min(0xFFFF) as u16;
        Self { options, total: bytes.unwrap_or(u64::MAX), window, scale, acked: 0 }
    }

    /// Does the receive window change?
    fn changes(&self) -> bool {
        matches!(self.options.reading, Reading::Paced(_) | Reading::OnDemand)
    }

    pub(super) fn bytes(&self, segments: u64) -> u64 {
        segments.saturating_mul(u64::from(self.options.mss)).min(self.total)
    }
}

impl Conversation {
    /// The flow of `plan`.
    pub(crate) fn new(plan: &FlowPlan) -> Self {
        let tcp = match &*plan.source {
            Source::Tcp { options, bytes, .. } => {
                // The window is scaled as the first direction's SYN has agreed.
                let handshake = plan.duplex().map_or(options.handshake, |duplex| duplex.handshake);
                Some(Connection::new(Options { handshake, ..**options }, *bytes))
            }
            Source::Cbr(_) => None,
        };
        Self { tcp, back: None }
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

    /// A packet arrives at the other host.
    pub(crate) fn arrive(&mut self, packet: &Packet) {
        if let (Some(tcp), true) = (&mut self.tcp, packet.has(ACK))
            && control::signal(packet).is_none()
        {
            tcp.acked = unwrap(packet.seq, tcp.acked).max(tcp.acked);
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

    /// The bytes of the first segments, if all but the last are full.
    pub(crate) fn bytes(&self, segments: u64) -> u64 {
        self.tcp.as_ref().map_or(0, |tcp| tcp.bytes(segments))
    }

    /// Bytes of a full segment, and the highest acknowledgement that has arrived, in segments; `None` without
    /// TCP.
    pub(crate) fn counts(&self) -> Option<(u64, u64)> {
        self.tcp.as_ref().map(|tcp| (tcp.options.mss.into(), tcp.acked))
    }

    /// The receive window as a header field, and its scale.
    pub(crate) fn window(&self) -> (u16, u8) {
        self.tcp.as_ref().map_or((0, 0), |tcp| (tcp.window, tcp.scale))
    }

    /// Does the receive window change?
    pub(crate) fn changes(&self) -> bool {
        self.tcp.as_ref().is_some_and(Connection::changes)
    }

    /// The byte that the acknowledgement on a segment of data expects next; `None` if none rides on it.
    pub(crate) fn riding(&self, carried: &Carried) -> Option<u64> {
        self.back.as_ref().map(|back| back.other.bytes(carried.ride.ack))
    }

    /// Is this the end of all data, as the byte after it?
    pub(crate) fn ends_at(&self, byte: u64) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.total == byte)
    }

    /// Bytes behind the headers of a segment without a number among the data.
    pub(crate) fn payload(&self, packet: &Packet) -> u64 {
        let header = self.tcp.as_ref().map_or(0, |tcp| tcp.options.header);
        u32::from(packet.size).saturating_sub(header).into()
    }

    /// The bytes that a SACK block covers.
    pub(crate) fn covered(&self, block: &bentpipe_tcp::Block) -> (u64, u64) {
        self.tcp.as_ref().map_or((0, 0), |tcp| (tcp.bytes(block.start), tcp.bytes(block.end)))
    }
}

/// Header fields of a packet in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// The Identification field of IPv4.
    pub(crate) id: u16,
    /// The sequence number and the acknowledgement number.
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// The window, scaled.
    pub(crate) window: u16,
    /// Bytes of data.
    pub(crate) payload: u16,
    /// Is it the last data of the connection?
    pub(crate) last: bool,
    /// TSval and TSecr.
    pub(crate) tsval: u32,
    pub(crate) tsecr: u32,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) address: [u8; 4],
    pub(crate) port: u16,
    /// Initial sequence number.
    isn: u32,
    /// Number of packets sent: the next Identification of IPv4.
    packets: u16,
    /// Bytes of data sent so far.
    sent: u64,
    /// Bytes of the other end's data that it has acknowledged.
    acknowledged: u64,
    /// The right edge of the window that it has shown, as a byte of the other end's data.
    edge: u64,
    /// TS.Recent (RFC 7323 section 4.3).
    recent: u32,
    /// Has it sent a FIN, and has one arrived?
    closed: bool,
    other_closed: bool,
}

/// What is kept of each flow.
#[derive(Clone, Debug)]
struct OfFlow {
    /// The end that sends data, and the end that receives it.
    ends: [usize; 2],
    /// Segments that are short though they are not the last of the flow, in their order, and how many bytes
    /// each lacks. A subflow that brings the end of its connection has one.
    short: Vec<(u64, u64)>,
}

/// The ends of all connections of a run, and the fields of all packets in flight.
#[derive(Debug)]
pub(crate) struct HeaderNumbers {
    ends: Vec<End>,
    flows: Vec<OfFlow>,
    /// By the handles of the packets.
    fields: Vec<Fields>,
}

impl End {
    /// The number of a byte of its data.
    pub(crate) fn number(&self, byte: u64) -> u32 {
        self.isn.wrapping_add(1).wrapping_add(byte as u32)
    }

    /// The next number that it sends (SND.NXT of RFC 9293).
    fn next(&self) -> u32 {
        self.number(self.sent + u64::from(self.closed))
    }

    /// All that it has acknowledged, with a FIN. A FIN is sent when the data before it has arrived.
    fn taken(&self) -> u64 {
        self.acknowledged + u64::from(self.other_closed)
    }

    /// The window field that shows room for `bytes` beyond all that it has acknowledged. What has been shown
    /// is not taken back (RFC 9293 section 3.8.6), so the field is rounded up, as in Linux
    /// (`__tcp_select_window`).
    fn shows(&mut self, bytes: u64, scale: u8) -> u16 {
        let room = self.edge.saturating_sub(self.taken()).max(bytes);
        let field = room.div_ceil(1 << scale).min(0xFFFF);
        self.edge = self.taken() + (field << scale);
        field as u16
    }
}

impl OfFlow {
    /// The bytes before a segment of the flow.
    fn before(&self, conversation: &Conversation, segment: u64) -> u64 {
        let short = self.short.iter().take_while(|(number, _)| *number < segment);
        conversation.bytes(segment) - short.map(|(_, lacks)| lacks).sum::<u64>()
    }

    /// Notes a segment of the flow that has `len` bytes; a full one has `mss`.
    fn note(&mut self, segment: u64, len: u64, mss: u64) {
        if len < mss
            && let Err(at) = self.short.binary_search_by_key(&segment, |(number, _)| *number)
        {
            self.short.insert(at, (segment, mss - len));
        }
    }
}

impl HeaderNumbers {
    /// Before the run of these flows.
    pub(crate) fn new(flows: &[FlowPlan], seed: u64) -> Self {
        let mut numbers = Self { ends: Vec::new(), flows: Vec::new(), fields: Vec::new() };
        for (index, flow) in flows.iter().enumerate() {
            // Both directions of one connection have the same ends.
            let opener = flow.duplex().filter(|duplex| !duplex.opens).map(|duplex| duplex.other);
            let ends = match opener.and_then(|opener| numbers.flows.get(opener)) {
                Some(OfFlow { ends: [near, far], .. }) => [*far, *near],
                None => numbers.begin(index, &flow.name, seed),
            };
            numbers.flows.push(OfFlow { ends, short: Vec::new() });
        }
        numbers
    }

    /// New ends for the flow with this index.
    fn begin(&mut self, index: usize, name: &str, seed: u64) -> [usize; 2] {
        let mut stream = Stream::new(seed, &format!("flow/{name}/isn"));
        let mut end = |network: u32, port| End {
            address: (network + 1 + index as u32).to_be_bytes(),
            port,
            isn: (stream.uniform() * f64::from(u32::MAX)) as u32,
            packets: 0,
            sent: 0,
            acknowledged: 0,
            edge: 0,
            recent: 0,
            closed: false,
            other_closed: false,
        };
        let at = self.ends.len();
        self.ends.push(end(0x0A00_0000, PORTS + (index % 10_000) as u16)); // 10.0.0.1 and so on
        self.ends.push(end(0x0A80_0000, SERVICE)); // 10.128.0.1
        [at, at + 1]
    }

    /// The fields of a packet in flight.
    pub(crate) fn of(&self, packet: &Packet) -> Fields {
        let slot = (packet.handle as usize).checked_sub(1);
        slot.and_then(|slot| self.fields.get(slot)).copied().unwrap_or_default()
    }

    /// The end from which a packet comes, and the end to which it goes.
    pub(crate) fn ends(&self, packet: &Packet) -> [&End; 2] {
        self.places(packet).map(|at| &self.ends[at])
    }

    fn places(&self, packet: &Packet) -> [usize; 2] {
        let [near, far] = self.flows[packet.flow as usize].ends;
        if packet.has(ACK) { [far, near] } else { [near, far] }
    }

    /// The bytes before a segment of the flow.
    pub(crate) fn before(&self, flow: u32, conversation: &Conversation, segment: u64) -> u64 {
        self.flows[flow as usize].before(conversation, segment)
    }

    /// A packet leaves its host at `now`; it has a handle. `carried`: what it carries.
    pub(crate) fn depart(
        &mut self,
        now: Time,
        packet: &Packet,
        conversation: &Conversation,
        carried: &Carried,
    ) {
        let slot = packet.handle as usize - 1;
        if self.fields.len() <= slot {
            self.fields.resize(slot + 1, Fields::default());
        }
        self.fields[slot] = self.found(now, packet, conversation, carried);
    }

    /// The fields of a packet that leaves its host.
    fn found(
        &mut self,
        now: Time,
        packet: &Packet,
        conversation: &Conversation,
        carried: &Carried,
    ) -> Fields {
        let [here, there] = self.places(packet);
        let Ok([end, other]) = self.ends.get_disjoint_mut([here, there]) else { return Fields::default() };
        let id = end.packets;
        end.packets = id.wrapping_add(1);
        let Some((mss, acked)) = conversation.counts() else { return Fields { id, ..Fields::default() } };
        let flow = &mut self.flows[packet.flow as usize];
        let signal = control::signal(packet);
        let (window, scale) = conversation.window();
        let changes = packet.has(ACK) && conversation.changes();
        let (mut payload, mut last, mut advertised) = (0, false, 0);
        let mut tsecr = end.recent;
        let seq = match signal {
            Some(Signal::Syn | Signal::SynAck) => end.isn,
            Some(Signal::Ack | Signal::LastAck) => end.next(),
            Some(Signal::Fin | Signal::FinAck) => {
                end.closed = true;
                end.acknowledged = other.sent; // all of it has arrived, or nobody would close
                end.number(end.sent)
            }
            None if packet.has(ACK) => {
                let ack = flow.before(conversation, unwrap(packet.seq, acked));
                // Before the first data, TS.Recent is of the handshake.
                tsecr = if ack > 0 { packet.ts } else { tsecr };
                end.acknowledged = end.acknowledged.max(ack);
                advertised = u64::from(carried.window).saturating_mul(mss);
                end.next()
            }
            None => {
                if let Some(ack) = conversation.riding(carried) {
                    tsecr = if ack > 0 { carried.ride.tsecr } else { tsecr };
                    end.acknowledged = end.acknowledged.max(ack);
                }
                let segment = unwrap(packet.seq, acked);
                match conversation.data(packet) {
                    Some((first, beyond)) => {
                        payload = beyond.saturating_sub(first);
                        last = conversation.ends_at(beyond);
                        let from = flow.before(conversation, segment);
                        if !last {
                            flow.note(segment, payload, mss);
                        }
                        end.sent = end.sent.max(from + payload);
                        end.number(from)
                    }
                    // AEN's probe has the first byte not acknowledged. The probe of a closed window has no
                    // payload, and the number before that byte.
                    None => {
                        payload = conversation.payload(packet);
                        let byte = flow.before(conversation, segment);
                        end.number(byte).wrapping_sub(u32::from(payload == 0))
                    }
                }
            }
        };
        let opens = matches!(signal, Some(Signal::Syn | Signal::SynAck));
        Fields {
            id,
            seq,
            ack: match signal {
                Some(Signal::Syn) => 0,
                Some(Signal::SynAck) => other.number(0),
                _ => other.number(end.taken()),
            },
            // A window in a segment with SYN is not scaled (RFC 7323 section 2.2).
            window: match (opens, changes) {
                (true, true) => end.shows((u64::from(window) << scale).min(0xFFFF), 0),
                (true, false) => (u64::from(window) << scale).min(0xFFFF) as u16,
                (false, true) => end.shows(advertised, scale),
                (false, false) => window,
            },
            payload: payload as u16,
            last,
            tsval: if packet.has(ACK) { (now.0 / 1000) as u32 } else { packet.ts },
            tsecr: match signal {
                Some(Signal::Syn) => 0,
                Some(Signal::SynAck | Signal::FinAck) => packet.ts,
                _ => tsecr,
            },
        }
    }

    /// A packet arrives at the other host.
    pub(crate) fn arrive(&mut self, packet: &Packet) {
        let (fields, [_, there]) = (self.of(packet), self.places(packet));
        let [from, _] = self.ends(packet);
        let expected = from.number(self.ends[there].taken());
        let end = &mut self.ends[there];
        // RFC 7323 section 4.3: only what is not beyond the last acknowledgement updates TS.Recent.
        if fields.seq.wrapping_sub(expected) as i32 <= 0 && fields.tsval.wrapping_sub(end.recent) as i32 >= 0
        {
            end.recent = fields.tsval;
        }
        end.other_closed |= matches!(control::signal(packet), Some(Signal::Fin | Signal::FinAck));
    }
}
