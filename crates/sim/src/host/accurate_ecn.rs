//! Counters of marks on acknowledgements: AccECN (RFC 9768).
//!
//! The ACE field is three bits of the TCP header. The option takes eight bytes, two counters: the third
//! counter never changes where a sender uses one codepoint (section 3.2.3, order 0 or 1). Beside timestamps
//! and three SACK blocks the option has no room and is left out; the sender then has only the field.

use bentpipe_tcp::MarkCounts;

use crate::host::carried::{CarriedStore, MarkReport};
use crate::host::flow::Tcp;
use crate::link::packet::Packet;

/// Bytes for options in a TCP header.
const ROOM: u32 = 40;
/// Bytes of the AccECN option with two counters.
const OPTION: u32 = 8;

impl Tcp {
    /// Payload of a data packet.
    pub(super) fn payload(&self, packet: &Packet) -> u32 {
        let options = self.sender.options();
        u32::from(packet.size).saturating_sub(options.header).min(options.mss)
    }

    /// Puts the counters on an acknowledgement with `blocks` SACK blocks.
    pub(super) fn count_marks(
        &self,
        packet: &mut Packet,
        blocks: u32,
        counts: MarkCounts,
        carried: &mut CarriedStore,
    ) {
        let options = self.sender.options();
        let used = if options.timestamps { 12 } else { 0 } + if blocks > 0 { 4 + 8 * blocks } else { 0 };
        let fits = used + OPTION <= ROOM;
        carried.on(packet).marks = MarkReport { ace: counts.ace(), fields: fits.then(|| counts.fields()) };
        if fits && options.ack_grows {
            packet.size = packet.size.saturating_add(OPTION as u16);
        }
    }

    /// The sender learns what an acknowledgement that is about to arrive reports about marks.
    pub(super) fn learn_marks(&mut self, report: MarkReport) {
        self.sender.on_mark_counts(report.ace, report.fields.map(|[_, bytes]| bytes));
    }

    /// Bytes that the option adds to an acknowledgement; 0 if it never has one.
    pub(super) fn mark_option_size(&self) -> u16 {
        let grows = self.sender.minds_marks() && self.sender.options().ack_grows;
        if grows { OPTION as u16 } else { 0 }
    }
}
