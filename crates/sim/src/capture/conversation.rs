//! A flow as far as its packets show it: what of its options and of its data the headers need.

use bentpipe_tcp::{BareAck, Options, Reading, unwrap};

use crate::host::carried::Carried;
use crate::host::control;
use crate::link::packet::{ACK, PROBE, Packet};
use crate::resolve::plan::{CbrPlan, Duplex, FlowPlan, Source};

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
