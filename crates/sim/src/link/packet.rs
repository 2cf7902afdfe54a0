//! Packets on links: 24 bytes each, so that a slot of a link's ring is 32.

// The two lowest bits of the flags are the ECN codepoint, a value of [`Ecn`]. Two bits are free.

/// An acknowledgement rather than data.
pub(crate) const ACK: u16 = 1 << 2;
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
/// No packet, but an instant at which a direction makes a choice: a lost packet with a number in [`CONTROL`]
/// that no segment has.
const WAKE: u16 = LOST | CONTROL;
/// Data that was sent before.
pub(crate) const RESENT: u16 = 1 << 10;
/// An acknowledgement with SACK blocks or a SNACK.
pub(crate) const SACK: u16 = 1 << 11;
/// Low priority: an extra segment, or the acknowledgement of one.
pub(crate) const LOW: u16 = 1 << 12;
/// Its handle holds a congestion header (`headers.rs`).
pub(crate) const HEADER: u16 = 1 << 13;

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

/// What the IP header says of congestion. The numbers are those of the header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: marks mean nothing to its transport.
    NotCapable = 0b00,
    /// ECT(1), which says that the transport is L4S (RFC 9331).
    Ect1 = 0b01,
    /// ECT(0).
    Ect0 = 0b10,
    /// CE: congestion experienced.
    Congested = 0b11,
}

impl Ecn {
    /// The codepoint in the two lowest bits of a number, such as the second byte of an IPv4 header.
    pub fn of(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Congested,
        }
    }

    /// The codepoint of new data: does its transport understand marks, and is it L4S?
    pub(crate) fn of_data(capable: bool, l4s: bool) -> Self {
        match (capable, l4s) {
            (false, _) => Self::NotCapable,
            (true, false) => Self::Ect0,
            (true, true) => Self::Ect1,
        }
    }
}

impl Packet {
    /// A packet of `size` bytes on the wire; its owner keeps what it carries under `handle`.
    pub fn new(size: u16, handle: u32) -> Self {
        Self { size, handle, ..Self::default() }
    }

    /// The same for a transport that understands marks: codepoint ECT(0).
    #[must_use]
    pub fn with_ect(self) -> Self {
        self.with_ecn(Ecn::Ect0)
    }

    /// The same with this codepoint. A direction that marks it changes the codepoint to [`Ecn::Congested`].
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Self {
        Self { flags: self.flags & !(Ecn::Congested as u16) | ecn as u16, ..self }
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
        Ecn::of(self.flags as u8)
    }

    /// The number under which the owner keeps what the packet carries.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Bytes on the wire.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// No packet: an instant at which a direction makes a choice.
    pub(crate) fn wake() -> Self {
        Self { flags: WAKE, ..Self::default() }
    }

    pub(crate) fn is_wake(&self) -> bool {
        self.flags & WAKE == WAKE
    }

    /// Its codepoint becomes CE.
    #[inline(always)]
    pub(crate) fn mark(&mut self) {
        self.flags |= Ecn::Congested as u16;
    }

    /// Is its codepoint CE?
    #[inline(always)]
    pub(crate) fn is_marked(&self) -> bool {
        self.ecn() == Ecn::Congested
    }

    /// Has it one of these flags?
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
