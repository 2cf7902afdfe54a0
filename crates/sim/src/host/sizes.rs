//! Bytes on the wire: of segments, of acknowledgements, and of the SNACK option that few acknowledgements
//! carry.

use bentpipe_tcp::{MAX_BLOCKS, Snack, snack_size};

use crate::host::carried::CarriedStore;
use crate::host::control;
use crate::host::flow::{FlowState, Kind, Tcp};
use crate::link::packet::{Packet, SACK};

impl Tcp {
    /// Bytes on the wire of a segment with `len` bytes of payload.
    #[inline]
    pub(super) fn data_size(&self, len: u32) -> u16 {
        (len + self.sender.options().header).min(u32::from(u16::MAX)) as u16
    }

    /// Bytes on the wire of an acknowledgement with `blocks` SACK blocks.
    #[inline]
    pub(super) fn ack_size(&self, blocks: u32) -> u16 {
        let option = self.sack_option_size(blocks);
        (self.sender.options().ack_size + option).min(u32::from(u16::MAX)) as u16
    }

    /// Bytes on the wire of a SACK option with `blocks` blocks.
    #[inline]
    pub(super) fn sack_option_size(&self, blocks: u32) -> u32 {
        // RFC 2018 section 3: kind, length and two bytes of padding, then eight bytes per block.
        if self.sender.options().ack_grows && blocks > 0 { 4 + 8 * blocks } else { 0 }
    }

    /// Bytes on the wire of an acknowledgement with an option of `option` bytes.
    #[inline]
    pub(super) fn ack_size_with(&self, option: u32) -> u16 {
        let options = self.sender.options();
        let option = if options.ack_grows { option } else { 0 };
        (options.ack_size + option).min(u32::from(u16::MAX)) as u16
    }

    /// The SNACK of an acknowledgement.
    #[inline]
    pub(super) fn snack(&self, packet: &Packet, carried: &CarriedStore) -> Option<Snack> {
        if packet.has(SACK) && self.sender.options().snack.is_some() {
            carried.of(packet.handle).snack
        } else {
            None
        }
    }

    /// Gives an acknowledgement its SNACK, if it has one.
    pub(super) fn tell_holes(&self, packet: &mut Packet, carried: &mut CarriedStore) {
        if let Some(snack) = self.receiver.snack() {
            carried.on(packet).snack = Some(snack);
            packet.flags |= SACK;
            packet.size = self.ack_size_with(snack.size());
        }
    }
}

impl FlowState {
    /// The usual sizes on the wire of its data packets and acknowledgements.
    pub(crate) fn usual_sizes(&self) -> [u16; 2] {
        match &self.kind {
            Kind::Tcp(tcp) => [tcp.data_size(tcp.sender.options().mss), tcp.ack_size(0)],
            Kind::Cbr(cbr) => [cbr.size, if cbr.is_echoed { cbr.size } else { 0 }],
        }
    }

    /// All sizes that its data packets and acknowledgements may have.
    pub(crate) fn sizes(&self) -> [Vec<u16>; 2] {
        let [mut there, back] = self.sizes_but_probes();
        if let Kind::Tcp(tcp) = &self.kind {
            there.extend(tcp.sender.options().aen.then(|| tcp.data_size(1)));
            there.extend(tcp.sender.minds_windows().then(|| tcp.data_size(0)));
        }
        [there, back]
    }

    /// The same without probes, which few connections ever send.
    pub(crate) fn sizes_but_probes(&self) -> [Vec<u16>; 2] {
        let [data, ack] = self.usual_sizes();
        let Kind::Tcp(tcp) = &self.kind else {
            return [vec![data], self.is_answered().then_some(ack).into_iter().collect()];
        };
        let options = tcp.sender.options();
        let (mut there, mut back) = (vec![data], vec![ack]);
        if let Some(bytes) = tcp.bytes {
            // The last segment may be short.
            let last = (bytes % u64::from(options.mss)) as u32;
            there.extend((last > 0).then(|| tcp.data_size(last)));
        }
        there.extend(tcp.subflow().and_then(|subflow| subflow.short).map(|last| tcp.data_size(last)));
        if tcp.duplex().is_some() {
            let alone = there.clone();
            let riding = (1..=MAX_BLOCKS as u32).map(|blocks| tcp.sack_option_size(blocks) as u16);
            there.extend(riding.flat_map(|option| alone.iter().map(move |size| size.saturating_add(option))));
        }
        match options.snack {
            _ if !options.ack_grows => {}
            None => back.extend((1..=MAX_BLOCKS as u32).map(|blocks| tcp.ack_size(blocks))),
            Some(octets) => {
                back.extend((0..=u32::from(octets)).map(|octets| tcp.ack_size_with(snack_size(octets))));
            }
        }
        let more = tcp.mark_option_size();
        if more > 0 {
            let add = |sizes: &mut Vec<u16>| {
                let with: Vec<u16> = sizes.iter().map(|size| size.saturating_add(more)).collect();
                sizes.extend(with);
            };
            add(&mut back);
            if tcp.duplex().is_some() {
                add(&mut there);
            }
        }
        if options.handshake {
            let control = control::sizes(options);
            there.extend(control);
            back.extend(control);
        }
        [there, back]
    }
}
