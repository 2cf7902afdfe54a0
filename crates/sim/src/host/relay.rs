//! A relay within a flow: a split connection (RFC 3135 section 2.4). The receiver of the connection to it and
//! the sender of the connection from it are one host, with one buffer.
//!
//! A segment enters the buffer when the receiver takes it, and leaves it when it has been acknowledged behind
//! the relay. The receive window before the relay is the room that is left. In this way the connection behind
//! the relay holds back the connection before it.

use bentpipe_cc::Time;
use bentpipe_tcp::AckSegment;

use crate::host::ends::{RelayEnd, WriterEnd};
use crate::host::flow::{NEVER, Tcp};

impl Tcp {
    /// The relay's end, if a relay writes.
    pub(crate) fn relay(&self) -> Option<&RelayEnd> {
        match self.writer() {
            WriterEnd::Relay(relay) => Some(relay),
            _ => None,
        }
    }

    /// All segments before `upto` have reached the relay at `now`, which may send them on. Returns false if
    /// none of them is new.
    pub(crate) fn feed(&mut self, now: Time, upto: u64) -> bool {
        let (mss, bytes) = (u64::from(self.sender.options().mss), self.bytes.unwrap_or(u64::MAX));
        self.begin(now);
        let Some(relay) = self.relay_mut().filter(|relay| relay.taken < upto) else { return false };
        let from = core::mem::replace(&mut relay.taken, upto);
        let more = (upto * mss).min(bytes) - (from * mss).min(bytes);
        self.done_at = NEVER;
        let taken = self.sender.write(more);
        debug_assert!(taken.is_ok(), "only the last segment is short");
        true
    }

    /// All segments before `una` have been acknowledged to the relay behind this connection, which makes
    /// room. Returns the acknowledgement that says so, if one is due.
    pub(crate) fn passed_on(&mut self, now: Time, una: u64) -> Option<AckSegment> {
        self.tell_passed_on(now, una);
        self.receiver.read(una)
    }

    /// The connection to the relay has been asked for. This one opens at once, and does not wait for the
    /// other's answer.
    pub(crate) fn open_with(&mut self, now: Time) {
        self.begin(now);
        if self.relay_mut().is_some_and(|relay| !core::mem::replace(&mut relay.opened, true)) {
            self.open(now);
        }
    }

    /// The connection to the relay is closed and all its data delivered. This one closes when everything is
    /// acknowledged.
    pub(crate) fn close_with(&mut self, now: Time) {
        if let Some(relay) = self.relay_mut() {
            relay.closed = true;
        }
        self.note_completion(now);
    }

    /// The application before the relay sends nothing more. Returns false if no relay writes.
    pub(super) fn stop_relay(&mut self, now: Time) -> bool {
        let Some(relay) = self.relay_mut() else { return false };
        relay.stopped = true;
        self.note_completion(now);
        true
    }

    /// The sender begins when the flow does, or when the first data comes, if that is earlier in the order of
    /// events.
    pub(super) fn begin(&mut self, now: Time) {
        if self.relay_mut().is_some_and(|relay| !core::mem::replace(&mut relay.started, true)) {
            self.sender.start(now);
        }
    }

    /// Has this end sent everything that it will ever have to send, and is it all acknowledged?
    pub(crate) fn is_complete(&self) -> bool {
        let all = match self.writer() {
            WriterEnd::Source | WriterEnd::Duplex(_) => true,
            WriterEnd::Application(application) => application.is_stopped(),
            WriterEnd::Subflow(subflow) => subflow.is_done(),
            WriterEnd::Relay(relay) => {
                let mss = u64::from(self.sender.options().mss);
                let has_all = |bytes| relay.taken * mss >= bytes;
                relay.stopped || relay.closed || self.bytes.is_some_and(has_all)
            }
        };
        all && self.sender.is_done()
    }

    /// May the connection be closed when it is complete? Behind a relay it waits for the end of the
    /// connection before the relay. A connection whose both ends write waits for both.
    pub(super) fn may_close(&self) -> bool {
        match self.writer() {
            WriterEnd::Relay(relay) => relay.closed,
            WriterEnd::Duplex(_) => false,
            _ => true,
        }
    }

    fn relay_mut(&mut self) -> Option<&mut RelayEnd> {
        match self.writer_mut()? {
            WriterEnd::Relay(relay) => Some(relay),
            _ => None,
        }
    }
}
