//! Headers that travel with segments and come back with acknowledgements ([`bentpipe_cc::Header`]).
//!
//! A sender with headers never takes the fast paths: each segment gets a header of its own, and each acknowledgement may bring one.

use bentpipe_cc::{Event, Header, Time};

use super::Sender;

impl Sender {
    /// Do data segments carry [`Sender::header`]?
    #[inline]
    pub fn has_headers(&self) -> bool {
        self.headers
    }

    /// Do acknowledgements tell more than what has arrived, so that none may go to [`Sender::on_ack`] alone? They also bring a window
    /// ([`Sender::on_windowed_ack`]) or a header ([`Sender::on_header`]).
    #[inline]
    pub fn is_told_more(&self) -> bool {
        self.told_more
    }

    /// The header of the segment that [`Sender::poll`] has just given.
    pub fn header(&mut self) -> Option<Header> {
        let mut header = None;
        self.cc.on(&self.flow, Event::Departure(&mut header));
        header
    }

    /// An acknowledgement that arrives at `now` has brought this; call it before the acknowledgement itself is reported.
    pub fn on_header(&mut self, now: Time, header: &Header) {
        if self.is_done() {
            return; // nobody counts the time after that
        }
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        self.cc.on(&self.flow, Event::Header(header));
        self.ask();
    }
}
