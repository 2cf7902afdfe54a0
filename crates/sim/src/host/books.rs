//! The laws that hold at the two ends of a flow. Packets are counted as they pass; windows and
//! acknowledgements are checked with each ACK.

use bentpipe_tcp::Sender;

use crate::link::ledger::Breach;

/// Packets of one kind of one flow: data or acknowledgements. Segments of handshake and teardown are not
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
}

/// Counted packets that have not arrived and never will.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Dropped by queues and lost to errors.
    pub(crate) dropped: u64,
    /// Handed on ahead of time by a direction, to arrive after the end of the run.
    pub(crate) beyond: u64,
}

impl Books {
    /// Adds the packets of a part of the run.
    pub(super) fn join(&mut self, part: Self) {
        self.sent += part.sent;
        self.arrived += part.arrived;
    }
}

impl Missing {
    /// Adds the packets of a part of the run.
    pub(super) fn join(&mut self, part: Self) {
        self.dropped += part.dropped;
        self.beyond += part.beyond;
    }
}

/// Checks one sender with each acknowledgement.
#[derive(Debug, Default)]
pub(crate) struct WindowCheck {
    pub(crate) breach: Option<Box<Breach>>,
}

impl WindowCheck {
    /// Checks an acknowledgement of all before `ack`, at a sender that has sent all before `next`.
    #[inline]
    pub(crate) fn ack(&mut self, ack: u64, next: u64) {
        if ack > next {
            self.note("no acknowledgement reaches a sender for what it has not sent", [ack, next]);
        }
    }

    /// Checks the sender after the acknowledgement.
    #[inline]
    pub(crate) fn sender(&mut self, sender: &Sender) {
        self.window(sender);
        let flow = sender.flow();
        let mss = u64::from(flow.mss);
        let outstanding = sender.next() - sender.una();
        // A segment counts twice while its copy is under way beside it.
        if flow.in_flight > 2 * outstanding * mss {
            self.note(
                "in flight is what is outstanding, or a copy of it",
                [flow.in_flight, outstanding * mss],
            );
        }
    }

    /// Checks the sender's window.
    #[inline]
    pub(crate) fn window(&mut self, sender: &Sender) {
        let (mss, cwnd) = (u64::from(sender.flow().mss), sender.decision().cwnd);
        if cwnd < mss || cwnd == u64::MAX {
            self.note("a congestion window is finite and at least one segment", [cwnd, mss]);
        }
    }

    #[cold]
    fn note(&mut self, law: &'static str, [found, bound]: [u64; 2]) {
        let breach = || Box::new(Breach { law, numbers: format!("{found} against {bound}") });
        self.breach.get_or_insert_with(breach);
    }
}
