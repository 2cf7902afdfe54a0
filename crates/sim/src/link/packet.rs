//! Packets on links: 24 bytes each, so that a slot of a link's ring is 32.

/// An acknowledgement rather than data.
pub(crate) const ACK: u16 = 1;
/// ECN-capable transport: ECT(0).
pub(crate) const ECT: u16 = 1 << 1;
/// Congestion experienced.
pub(crate) const CE: u16 = 1 << 2;
/// ECN echo.
pub(crate) const ECE: u16 = 1 << 3;
/// Congestion window reduced.
pub(crate) const CWR: u16 = 1 << 4;
/// AEN's probe.
pub(crate) const PROBE: u16 = 1 << 5;
/// The packet will not arrive: it is lost on the link that carries it.
pub(crate) const LOST: u16 = 1 << 6;
/// The packet opens or closes the connection: three bits that say how, see `control.rs`.
pub(crate) const CONTROL: u16 = 7 << 7;
/// Data that was sent before.
pub(crate) const RESENT: u16 = 1 << 10;
/// ECN-capable transport: ECT(1).
pub(crate) const ECT1: u16 = 1 << 11;
/// An acknowledgement with SACK blocks or a SNACK.
pub(crate) const SACK: u16 = 1 << 12;
/// No packet: an instant at which a direction makes a choice.
pub(crate) const WAKE: u16 = 1 << 13;
/// Low priority: an extra segment, or the acknowledgement of one.
pub(crate) const LOW: u16 = 1 << 14;
/// Its handle holds a congestion header (`headers.rs`).
pub(crate) const HEADER: u16 = 1 << 15;

/// A packet in flight. A direction reads its size and its ECN codepoint; all else concerns only its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Segment number (data) or cumulative acknowledgement, modulo 2^32; windows are far smaller.
    pub(crate) seq: u32,
    /// Index of the flow.
    pub(crate) flow: u32,
    /// Timestamp value or echo.
    pub(crate) ts: u32,
    /// The number under which the owner keeps what the packet carries behind its header; 0 for nothing. The
    /// hosts of the simulation keep SACK blocks.
    pub(crate) handle: u32,
    /// Where the packet is on its route.
    pub(crate) hop: u32,
    /// Bytes on the wire.
    pub(crate) size: u16,
    /// The flags above.
    pub(crate) flags: u16,
}

/// What the IP header says of congestion (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: marks mean nothing to its transport.
    NotCapable,
    /// ECT(0).
    Ect0,
    /// ECT(1), which says that the transport is L4S (RFC 9331).
    Ect1,
    /// CE: congestion experienced.
    Congested,
}

impl Packet {
    /// A packet of `size` bytes on the wire; its owner keeps what it carries under `handle`.
    pub fn new(size: u16, handle: u32) -> Self {
        Self { size, handle, ..Self::default() }
    }

    /// The same for a transport that understands marks: codepoint ECT(0).
    #[must_use]
    pub fn with_ect(self) -> Self {
        Self { flags: self.flags | ECT, ..self }
    }

    /// The same with this codepoint. A direction that marks it changes the codepoint to [`Ecn::Congested`].
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Self {
        let bits = match ecn {
            Ecn::NotCapable => 0,
            Ecn::Ect0 => ECT,
            Ecn::Ect1 => ECT1,
            Ecn::Congested => ECT | CE,
        };
        Self { flags: self.flags & !(CE | ECT | ECT1) | bits, ..self }
    }

    /// The same for an acknowledgement of everything before `number` (modulo 2^32) in the flow with this
    /// number. Where acknowledgements are thinned, a `plain` one, which says nothing else, may be dropped in
    /// favour of a later one.
    #[must_use]
    pub fn acknowledging(self, flow: u32, number: u32, plain: bool) -> Self {
        let flags = self.flags & !(ACK | SACK) | ACK | if plain { 0 } else { SACK };
        Self { flow, seq: number, flags, ..self }
    }

    /// What its IP header says of congestion.
    pub fn ecn(&self) -> Ecn {
        match self.flags & (CE | ECT | ECT1) {
            0 => Ecn::NotCapable,
            ECT => Ecn::Ect0,
            ECT1 => Ecn::Ect1,
            _ => Ecn::Congested,
        }
    }

    /// The number under which the owner keeps what the packet carries.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Bytes on the wire.
    pub fn size(&self) -> u16 {
        self.size
    }

    #[inline(always)]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_of_a_ring_is_32_bytes() {
        assert_eq!(size_of::<Packet>(), 24);
    }

    #[test]
    fn an_acknowledgement_keeps_its_size_handle_and_codepoint() {
        let packet = Packet::new(52, 9).with_ecn(Ecn::Ect0).acknowledging(3, 77, true);
        assert_eq!(
            (packet.size(), packet.handle(), packet.ecn(), packet.flow, packet.seq),
            (52, 9, Ecn::Ect0, 3, 77)
        );
        assert!(packet.has(ACK) && !packet.has(SACK) && packet.acknowledging(3, 77, false).has(ACK | SACK));
    }

    #[test]
    fn a_codepoint_that_is_set_is_read_again() {
        for ecn in [Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::Congested] {
            assert_eq!(Packet::new(1500, 7).with_ecn(Ecn::Ect1).with_ecn(ecn).ecn(), ecn);
        }
        assert_eq!(Packet::new(1500, 7).with_ecn(Ecn::Ect0), Packet::new(1500, 7).with_ect());
    }
}
