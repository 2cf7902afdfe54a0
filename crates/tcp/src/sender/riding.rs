//! Acknowledgements that ride on data of the other direction: RFC 9293 section 3.8.6.3, RFC 5681 section 2.

use bentpipe_cc::{Span, Time};

use super::{Probe, Sender};
use crate::segment::AckSegment;

impl Sender {
    /// As [`Sender::on_ack`], for an acknowledgement that rides on a data segment. It is no duplicate, since a duplicate ACK carries no
    /// data (RFC 5681 section 2, condition b). With SACK its blocks tell what has arrived (RFC 6675 section 2).
    pub fn on_riding_ack(&mut self, now: Time, seg: &AckSegment) -> Option<Span> {
        let told = seg.ack > self.board.una() || !seg.sack.is_empty() || self.probe != Probe::No;
        if told { self.on_ack(now, seg) } else { None }
    }

    /// Has every segment that the application has to send gone out?
    pub fn has_sent_all(&self) -> bool {
        self.board.next() >= self.limit
    }
}
