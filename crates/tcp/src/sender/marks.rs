//! What acknowledgements tell of marks.

use bentpipe_cc::Ack;

use super::Sender;
use crate::segment::AckSegment;

impl Sender {
    /// The acknowledgement that is about to arrive tells this of marks (AccECN, RFC 9768): its ACE field, and the byte counter of marked
    /// packets if it has the option.
    pub fn on_mark_counts(&mut self, ace: u8, ce_bytes: Option<u32>) {
        if let Some(accurate) = &mut self.accurate {
            accurate.tell(ace, ce_bytes);
        }
    }

    /// Do acknowledgements bring counters of marks, which go to [`Sender::on_mark_counts`]?
    pub fn minds_marks(&self) -> bool {
        self.accurate.is_some()
    }

    /// Packets that the receiver has reported as marked, with AccECN.
    pub fn marked_packets(&self) -> Option<u64> {
        self.accurate.as_ref().map(|accurate| accurate.packets())
    }

    /// An acknowledgement delivers so many segments; `current`: no later one has overtaken it. Notes the bytes that it reports as marked.
    /// True if it echoes a mark.
    pub(super) fn note_marks(
        &mut self,
        seg: &AckSegment,
        delivered: u64,
        current: bool,
        ack: &mut Ack,
    ) -> bool {
        let echoed = seg.ece && self.options.ecn;
        match &mut self.accurate {
            Some(accurate) => {
                ack.ce = accurate.take(delivered, ack.acked, u64::from(self.flow.mss), current);
                ack.ce > 0
            }
            None => {
                ack.ce = if echoed { ack.acked } else { 0 };
                echoed
            }
        }
    }
}
