//! One subflow of a connection that has several (Multipath TCP, RFC 8684), as far as its own two ends are
//! concerned. `engine/multipath.rs` has what the subflows share.

use bentpipe_cc::Time;
use bentpipe_tcp::{Active, Data};

use crate::host::ends::{SubflowEnd, WriterEnd};
use crate::host::flow::Tcp;

impl Tcp {
    /// Its end as a subflow, if it is one.
    #[inline]
    pub(crate) fn subflow(&self) -> Option<&SubflowEnd> {
        match self.writer() {
            WriterEnd::Subflow(subflow) => Some(subflow),
            _ => None,
        }
    }

    /// Makes a data segment short that carries the last one of the connection, if it is a subflow and the
    /// connection ends with a short one.
    pub(crate) fn shorten(&mut self, last: &mut Data) {
        if let Some(subflow) = self.subflow_mut()
            && let Some(short) = subflow.short
        {
            last.len = short;
            subflow.short_sent = Some(last.seq);
        }
    }

    /// The bytes that a subflow has delivered less than its segments have room for.
    pub(crate) fn short_of(&self) -> u64 {
        let short = |subflow: &SubflowEnd| {
            let delivered = subflow.short_sent? < self.receiver.delivered();
            Some(u64::from(self.sender.options().mss - subflow.short.filter(|_| delivered)?))
        };
        self.subflow().and_then(short).unwrap_or(0)
    }

    /// Has the application that the subflow serves stopped?
    pub(crate) fn has_stopped(&self) -> bool {
        self.subflow().is_some_and(|subflow| subflow.stopped)
    }

    /// The subflow starts. The first one opens at once if there is a handshake; the others join when the
    /// handshake is done (RFC 8684 section 3.2).
    pub(super) fn start_subflow(&mut self, now: Time) {
        self.sender.start(now);
        let Some(subflow) = self.subflow_mut() else { return };
        subflow.started = true;
        if subflow.number == 0 {
            self.open_subflow(now);
        }
    }

    /// The connection is open: opens this subflow of it, unless it is open already.
    pub(crate) fn open_subflow(&mut self, now: Time) {
        let opens =
            |subflow: &mut SubflowEnd| subflow.started && !core::mem::replace(&mut subflow.opened, true);
        if self.subflow_mut().is_some_and(opens) {
            self.open(now);
        }
    }

    /// Is the handshake done, or is there none?
    pub(crate) fn is_open(&self) -> bool {
        self.ends.as_ref().and_then(|ends| ends.active()).is_none_or(Active::is_open)
    }

    /// Would a segment that the connection hands over now go out at once?
    pub(crate) fn has_room(&mut self, now: Time) -> bool {
        self.subflow().is_some_and(|subflow| subflow.started && !subflow.done)
            && self.is_open()
            && self.sender.has_room(now)
    }

    /// Time has passed until `now` under the old limit, whatever limits the subflow from now on.
    pub(crate) fn pass_time(&mut self, now: Time) {
        if self.subflow().is_some_and(|subflow| subflow.started) {
            self.sender.limits(now);
        }
    }

    /// Sends a segment of the connection; [`Tcp::has_room`] says whether it can.
    pub(crate) fn send_new(&mut self, now: Time) -> Option<Data> {
        self.sender.take_segment();
        self.sender.poll(now)
    }

    /// All data of the connection is acknowledged at `now`. Segments still in flight on this path are not
    /// repaired any more.
    pub(crate) fn end_subflow(&mut self, now: Time) {
        if let Some(subflow) = self.subflow_mut() {
            subflow.done = true;
        }
        self.ends.iter_mut().for_each(|ends| ends.muted = true);
        self.note_completion(now);
    }

    /// The application sends nothing more. Returns false if this is no subflow.
    pub(super) fn stop_subflow(&mut self) -> bool {
        self.subflow_mut().map(|subflow| subflow.stopped = true).is_some()
    }

    fn subflow_mut(&mut self) -> Option<&mut SubflowEnd> {
        match self.writer_mut()? {
            WriterEnd::Subflow(subflow) => Some(subflow),
            _ => None,
        }
    }
}
