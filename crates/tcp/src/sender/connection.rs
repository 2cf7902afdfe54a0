//! The life of the connection at the sender: it opens, the application hands over data in pieces, it pauses,
//! and it closes.

use std::collections::VecDeque;

use bentpipe_cc::Time;

use super::{Path, Sender};
use crate::handshake::{Active, Opened};
use crate::options::{AckRule, AppLimited, Options};
use crate::rto;

/// [`Sender::write`] was refused: the last segment is shorter than a full one and was already sent, so
/// nothing can follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortSegmentSent;

/// The segments after the ends of writes, ascending. Those that are acknowledged are dropped when the
/// application writes again.
#[derive(Debug)]
pub(super) struct Pushed {
    ends: VecDeque<u64>,
}

impl Pushed {
    /// `None` unless receivers go by the ends of writes. `first` is that of data given at the beginning.
    pub(super) fn new(options: &Options, first: Option<u64>) -> Option<Box<Self>> {
        (options.acks == AckRule::Linux).then(|| Box::new(Self { ends: first.into_iter().collect() }))
    }
}

impl Sender {
    /// The handshake is done. `opened` has the first RTT sample (RFC 6298 section 2.2).
    pub fn on_opened(&mut self, now: Time, opened: &Opened) {
        self.path = Path::Slow;
        self.flow.now = now;
        if let Some(rtt) = opened.rtt {
            self.rto.sample(rtt, 0, 0);
            rto::follow(&mut self.flow.rtt, rtt, rtt);
        }
        if opened.repeats > 0 {
            self.rto.begin_data();
        }
        if opened.repeats > 1 {
            // RFC 5681 section 3.1: an initial window of one segment, but not after a single repeated SYN
            // (RFC 6928 section 2).
            self.recovery.clamp = Some(1);
        }
    }

    /// The application hands over `bytes` more bytes, to be sent after the earlier data; [`Sender::poll`]
    /// then yields what may go out. Nothing changes for a sender without end. All segments except the last
    /// are full, so the bytes first complete a short last segment.
    ///
    /// # Errors
    ///
    /// If the last segment so far is short and has been sent already; then nothing is taken.
    pub fn write(&mut self, bytes: u64) -> Result<(), ShortSegmentSent> {
        if self.rate.is_some() && self.options.app_limited == AppLimited::Linux && self.has_run_dry() {
            self.mark_app_limit(self.in_flight());
        }
        self.append(bytes)
    }

    /// As [`Sender::write`], by a connection of several subflows, which is no application.
    pub(super) fn append(&mut self, bytes: u64) -> Result<(), ShortSegmentSent> {
        self.path = Path::Slow; // more segments may be sent now
        let mss = u64::from(self.options.mss.max(1));
        if bytes == 0 || self.limit == u64::MAX {
            return Ok(());
        }
        let room = if self.limit == 0 { 0 } else { mss - u64::from(self.last_len) };
        if room > 0 && self.board.next() >= self.limit {
            return Err(ShortSegmentSent);
        }
        self.was_idle |= self.is_done() && self.board.next() > 0;
        let rest = bytes.saturating_sub(room);
        self.last_len += bytes.min(room) as u32;
        if rest > 0 {
            self.limit = self.limit.saturating_add(rest.div_ceil(mss)).min(u64::MAX - 1);
            self.last_len = ((rest - 1) % mss + 1) as u32;
        }
        Ok(())
    }

    /// The application has data without end from now on, until [`Sender::stop`]; [`Sender::poll`]
    /// then yields what may go out.
    ///
    /// # Errors
    ///
    /// As for [`Sender::write`].
    pub fn write_on(&mut self) -> Result<(), ShortSegmentSent> {
        self.write(u64::from(self.options.mss.max(1)))?;
        self.limit = u64::MAX;
        self.last_len = self.options.mss;
        Ok(())
    }

    /// What the application has written so far is the end of a write: its last segment carries PSH (RFC 9293
    /// section 3.9.1.2; Linux, `tcp_push`).
    pub fn push(&mut self) {
        let una = self.board.una();
        if let Some(Pushed { ends }) = self.pushed.as_deref_mut() {
            while ends.front().is_some_and(|end| *end <= una) {
                ends.pop_front();
            }
            ends.push_back(self.limit);
        }
    }

    /// Does segment `seq` carry PSH? Only known of segments that are not acknowledged, where
    /// [`AckRule::Linux`] holds, since no other rule goes by it.
    pub fn is_pushed(&self, seq: u64) -> bool {
        self.pushed.as_ref().is_some_and(|pushed| pushed.ends.binary_search(&(seq + 1)).is_ok())
    }

    /// Is nothing left to send, although the window has room? (`tcp_rate_check_app_limited`)
    fn has_run_dry(&mut self) -> bool {
        self.board.next() >= self.limit
            && self.in_flight() < self.decision.segments()
            && !(self.board.lost() > 0 && self.board.next_lost().is_some())
    }

    /// Nothing is left to send, and the window has room beside `in_flight` segments.
    #[inline]
    pub(super) fn note_app_limit(&mut self, in_flight: u64) {
        if self.rate.is_some() && self.options.app_limited == AppLimited::Draft {
            self.mark_app_limit(in_flight);
        }
    }

    /// What is sent next counts as limited by the application.
    fn mark_app_limit(&mut self, in_flight: u64) {
        if let Some(rate) = &mut self.rate {
            rate.on_app_limit(self.flow.delivered, in_flight * u64::from(self.flow.mss));
        }
    }

    /// The application closes the connection: `end` sends a FIN, repeated by this sender's timeout.
    pub fn close(&self, end: &mut Active) {
        end.close(&self.rto);
    }
}
