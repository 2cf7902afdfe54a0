//! A relay within a flow: a split connection (RFC 3135 section 2.4). The receiver of the first half and the sender of the second are one
//! host, with one buffer.
//!
//! A segment enters the buffer when the receiver of the first half takes it, and leaves it when the second half has it acknowledged. The
//! receive window of the first half is the room that is left. So the second half holds back the first.

use bentpipe_cc::Time;
use bentpipe_tcp::AckSegment;

use crate::host::ends::{Fed, Purpose};
use crate::host::flow::{NEVER, Tcp};
use crate::resolve::plan::Half;
use crate::workload::application::Application;

impl Tcp {
    /// Which half of a relayed flow it is, if it is one.
    pub(crate) fn half(&self) -> Option<Half> {
        match self.ends.as_ref()?.duty.purpose.as_ref()? {
            Purpose::First => Some(Half::First),
            Purpose::Second(_) => Some(Half::Second),
            Purpose::Subflow(_) => None,
        }
    }

    /// Segments that the second half has taken from the first; `None` if this is no second half.
    pub(crate) fn taken(&self) -> Option<u64> {
        self.fed().map(|fed| fed.taken)
    }

    /// The first half has delivered all before segment `upto` at `now`, which the second half may send on. False if there is nothing new.
    pub(crate) fn feed(&mut self, now: Time, upto: u64) -> bool {
        let (mss, bytes) = (u64::from(self.sender.options().mss), self.bytes.unwrap_or(u64::MAX));
        self.begin(now);
        let Some(fed) = self.fed_mut().filter(|fed| fed.taken < upto) else { return false };
        let from = core::mem::replace(&mut fed.taken, upto);
        let more = (upto * mss).min(bytes) - (from * mss).min(bytes);
        self.done_at = NEVER;
        let taken = self.sender.write(more);
        debug_assert!(taken.is_ok(), "only the last segment is short");
        true
    }

    /// The second half has had all before segment `una` acknowledged, which makes room here. Gives the acknowledgement that says so, if one
    /// is due.
    pub(crate) fn passed_on(&mut self, now: Time, una: u64) -> Option<AckSegment> {
        self.tell_passed_on(now, una);
        self.receiver.read(una)
    }

    /// The connection of the first half has been asked for: the second opens at once, and waits for no answer of the first.
    pub(crate) fn open_with(&mut self, now: Time) {
        self.begin(now);
        let Some(ends) = &mut self.ends else { return };
        if let (Some((active, _)), Some(Purpose::Second(fed))) = (&mut ends.opening, &mut ends.duty.purpose)
            && !core::mem::replace(&mut fed.opened, true)
        {
            active.open();
            ends.handshake[0] = now;
            ends.note_due();
        }
    }

    /// The first half is closed, all its data delivered. The second closes when all is acknowledged.
    pub(crate) fn close_with(&mut self, now: Time) {
        if let Some(fed) = self.fed_mut() {
            fed.closed = true;
        }
        self.settle(now);
    }

    /// The application behind the first half sends nothing more.
    pub(super) fn stop_with(&mut self, now: Time) {
        if let Some(fed) = self.fed_mut() {
            fed.stopped = true;
        }
        self.settle(now);
    }

    /// The sender begins when the flow does, or when the first data comes, if that is earlier in the order of events.
    pub(super) fn begin(&mut self, now: Time) {
        if self.fed_mut().is_some_and(|fed| !core::mem::replace(&mut fed.started, true)) {
            self.sender.start(now);
        }
    }

    /// Is all sent that this end will ever have to send, and acknowledged?
    pub(crate) fn is_complete(&self) -> bool {
        let mss = u64::from(self.sender.options().mss);
        let all = self.fed().is_none_or(|fed| {
            fed.stopped || fed.closed || self.bytes.is_some_and(|bytes| fed.taken * mss >= bytes)
        });
        all && self.subflow_is_over()
            && self.sender.is_done()
            && self.application().is_none_or(Application::is_stopped)
    }

    /// May the connection be closed when it is complete? A second half waits for the end of the first.
    pub(super) fn may_close(&self) -> bool {
        !self.is_twin() && self.fed().is_none_or(|fed| fed.closed)
    }

    fn fed(&self) -> Option<&Fed> {
        match self.ends.as_ref()?.duty.purpose.as_ref()? {
            Purpose::Second(fed) => Some(fed),
            Purpose::First | Purpose::Subflow(_) => None,
        }
    }

    fn fed_mut(&mut self) -> Option<&mut Fed> {
        match self.ends.as_mut()?.duty.purpose.as_mut()? {
            Purpose::Second(fed) => Some(fed),
            Purpose::First | Purpose::Subflow(_) => None,
        }
    }
}
