//! Explicit congestion notification at the sender: when a mark cuts the window (RFC 3168 section 6.1.2), and
//! what acknowledgements report about marks.
//!
//! One cut answers a series of marks and losses (RFC 3168 section 6.1.2; Linux, `tcp_enter_recovery`; ns-2,
//! `dupack_action`).

use bentpipe_cc::{Ack, Congestion, Event};

use super::Sender;
use crate::accurate_ecn::AccurateEcn;
use crate::options::{EcnEcho, Options};
use crate::segment::AckSegment;

/// The state of a connection that uses ECN.
#[derive(Debug)]
pub(super) struct Ecn {
    /// True if the next new segment carries CWR.
    cwr: bool,
    /// True if the window was last reduced for a mark.
    cut_for_mark: bool,
    /// Another mark cuts the window only when more than this is acknowledged.
    until: u64,
    /// The receiver's counters of marks, with AccECN.
    accurate: Option<AccurateEcn>,
}

impl Ecn {
    /// `None` without ECN.
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        let accurate = (options.echo == EcnEcho::AccEcn).then(AccurateEcn::default);
        options.ecn.then(|| Box::new(Self { cwr: false, cut_for_mark: false, until: 0, accurate }))
    }

    /// The window was reduced, for whatever reason, when `next` was the next new segment. No mark counts
    /// until that segment, which carries CWR, is acknowledged.
    fn on_reduction(&mut self, next: u64) {
        self.cut_for_mark = false;
        self.until = next;
        self.cwr = self.accurate.is_none(); // with AccECN the bit is part of a counter
    }
}

impl Sender {
    /// The acknowledgement that is about to arrive reports this about marks (AccECN, RFC 9768): its ACE
    /// field, and the byte counter of marked packets if it carries the option.
    pub fn on_mark_counts(&mut self, ace: u8, ce_bytes: Option<u32>) {
        if let Some(accurate) = self.ecn.as_mut().and_then(|ecn| ecn.accurate.as_mut()) {
            accurate.tell(ace, ce_bytes);
        }
    }

    /// Do acknowledgements bring counters of marks, which go to [`Sender::on_mark_counts`]?
    pub fn minds_marks(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.accurate.is_some())
    }

    /// An acknowledgement delivers `delivered` segments; `current`: no later one has overtaken it. Notes the
    /// bytes that it reports as marked. Returns true if it echoes a mark.
    pub(super) fn note_marks(
        &mut self,
        seg: &AckSegment,
        delivered: u64,
        current: bool,
        ack: &mut Ack,
    ) -> bool {
        let Some(ecn) = &mut self.ecn else { return false };
        ack.ce = match &mut ecn.accurate {
            Some(accurate) => accurate.take(delivered, ack.acked, u64::from(self.flow.mss), current),
            None if seg.ece => ack.acked,
            None => 0,
        };
        if ecn.accurate.is_some() { ack.ce > 0 } else { seg.ece }
    }

    /// Does the new segment that goes out now carry CWR?
    #[inline]
    pub(super) fn takes_cwr(&mut self) -> bool {
        self.ecn.as_mut().is_some_and(|ecn| core::mem::take(&mut ecn.cwr))
    }

    /// The window was reduced, for whatever reason.
    pub(super) fn window_reduced(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.on_reduction(self.board.next());
        }
    }

    /// Has a mark cut the window within the outstanding window of data, so that a loss in it does not cut the
    /// window again?
    pub(super) fn is_cut_for_mark(&self) -> bool {
        let cut = self.ecn.as_ref().is_some_and(|ecn| ecn.cut_for_mark && self.board.una() <= ecn.until);
        cut && !self.cc.needs().losses_after_marks
    }

    /// An acknowledgement of all before `ack` echoes a mark. Informs the controller, unless the window has
    /// been reduced in this window of data.
    pub(super) fn cut_for_mark(&mut self, ack: u64) {
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ack > ecn.until) else { return };
        ecn.on_reduction(self.board.next());
        ecn.cut_for_mark = true;
        self.recovery.repairs = None;
        self.cc.on(&self.flow, Event::Congestion(Congestion::Ecn));
    }

    /// A loss was found without a timeout. Informs the controller, unless a mark has cut the window already.
    /// A controller that drives its own window is informed of every loss. Returns true if the window is
    /// reduced now.
    pub(super) fn cut_for_loss(&mut self) -> bool {
        if self.is_cut_for_mark() && !self.self_driven {
            self.ecn.iter_mut().for_each(|ecn| ecn.cut_for_mark = false); // it has answered this loss, and no other
            return false;
        }
        self.window_reduced();
        self.cc.on(&self.flow, Event::Congestion(Congestion::Loss));
        true
    }
}
