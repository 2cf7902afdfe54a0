//! The deliveries that an acknowledgement reports, and its samples.

use bentpipe_cc::{Phase, Span};

use super::{Probe, Sender};
use crate::options::LossRecovery;
use crate::rto;
use crate::scoreboard::{DUP_THRESH, Delivered};
use crate::segment::AckSegment;

/// Duplicate acknowledgements (RFC 5681 section 2) and, without SACK, the deliveries that they indicate.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    /// Duplicate ACKs since the last new one.
    pub(super) count: u32,
    /// Segments that left the network without a SACK: the inflation of RFC 5681 section 3.2. The end of a
    /// recovery forgets them.
    pub(super) left: u64,
    /// Segments beyond `una` already counted as delivered.
    pub(super) credited: u64,
}

impl Duplicates {
    /// A cumulative acknowledgement of `advanced` segments leaves `outstanding`. Returns how many of them
    /// were not counted as delivered before.
    fn on_advance(&mut self, advanced: u64, outstanding: u64) -> u64 {
        self.left -= self.left.min(advanced - 1);
        let credited = self.credited.saturating_sub(advanced - 1).min(outstanding.saturating_sub(1));
        advanced + credited - core::mem::replace(&mut self.credited, credited)
    }

    /// A duplicate ACK says that one segment of `pipe` has left the network. Returns how many of
    /// `outstanding` count as delivered: 0 or 1.
    fn on_departure(&mut self, pipe: u64, outstanding: u64) -> u64 {
        let room = pipe > self.left + 1;
        let credit = room && self.credited + 1 < outstanding;
        self.left += u64::from(room);
        self.credited += u64::from(credit);
        u64::from(credit)
    }
}

impl Sender {
    /// May the SACK blocks of this ACK bring news, although it is below `una` and later ACKs have overtaken
    /// it? Only then does RFC 6675 section 2 count it as a duplicate acknowledgement. It was sent before the
    /// ACKs for which AEN and F-RTO wait.
    #[cold]
    pub(super) fn has_news(&self, seg: &AckSegment) -> bool {
        self.options.recovery == LossRecovery::Sack
            && !seg.sack.is_empty()
            && self.probe == Probe::No
            && !self.suspicion.is_open()
    }

    /// The payload of `segments` delivered segments; the last segment of the transfer is among them if `ack`
    /// covers it.
    pub(super) fn bytes(&self, segments: u64, ack: u64) -> u64 {
        let full = segments * u64::from(self.flow.mss);
        if segments > 0 && ack == self.limit {
            let short = u64::from(self.flow.mss - self.last_len.min(self.flow.mss));
            return full.saturating_sub(short);
        }
        full
    }

    /// The most bytes of one ACK that may make the window grow. `timed_out`: the ACK arrived before
    /// everything outstanding at a timeout was acknowledged.
    pub(super) fn growth_limit(&self, timed_out: bool) -> u64 {
        let slow_start = self.decision.cwnd < self.decision.ssthresh;
        let segments = match (self.options.byte_counting, slow_start) {
            (false, _) => 1, // RFC 5681 section 3.1, eq. 2 and 3
            // RFC 3465 section 2.3: L = 1 after a timeout, since an ACK may then cover data that left the
            // network long before.
            (true, true) if self.options.slow_start_limit => 2 - u64::from(timed_out),
            (true, _) => return u64::MAX,
        };
        segments * u64::from(self.flow.mss)
    }

    /// The number of newly delivered segments. Without SACK a duplicate ACK counts as one, and the ACK that
    /// follows counts as that many fewer.
    pub(super) fn count_deliveries(&mut self, seg: &AckSegment, advanced: u64, by_board: u64) -> u64 {
        if advanced > 0 {
            if self.options.recovery == LossRecovery::Sack {
                return by_board;
            }
            return self.duplicates.on_advance(advanced, self.board.outstanding());
        }
        // RFC 5681 section 2: a duplicate ACK, with data outstanding. With SACK it must bring
        // news (RFC 6675 section 2).
        let duplicate = seg.ack == self.board.una() && self.board.outstanding() > 0;
        if self.options.recovery == LossRecovery::Sack {
            self.duplicates.count += u32::from(duplicate && by_board > 0);
            by_board
        } else if duplicate {
            self.duplicates.count += 1;
            // The first duplicates before fast recovery count (RFC 3042 section 2), and so does the one that
            // begins it.
            let due = match self.flow.phase {
                Phase::Loss => false,
                Phase::Recovery => true,
                Phase::Open => {
                    let most = DUP_THRESH as u32 - u32::from(!self.recovery.may_enter(seg.ack));
                    self.duplicates.count <= most
                }
            };
            if due { self.duplicates.on_departure(self.board.pipe(), self.board.outstanding()) } else { 0 }
        } else {
            0
        }
    }

    pub(super) fn sample_rtt(&mut self, seg: &AckSegment, advanced: u64, got: &Delivered) -> Option<Span> {
        let now = self.flow.now;
        let (rtt, for_timer) = match got.sent_once {
            Some((first, last)) => (now.since(last), now.since(first)),
            None if self.options.timestamps && advanced > 0 => {
                // RFC 7323 section 4.1: an echoed timestamp gives the round trip of a retransmission, too.
                let echoed = Span(u64::from(((now.0 / 1000) as u32).wrapping_sub(seg.tsecr)) * 1000);
                (echoed, echoed)
            }
            None => return None,
        };
        self.take_rtt(rtt, for_timer);
        Some(rtt)
    }

    /// Takes an RTT sample; with delayed ACKs the timer's sample is longer.
    #[inline]
    pub(super) fn take_rtt(&mut self, rtt: Span, for_timer: Span) {
        self.rto.sample(for_timer, self.board.una(), self.board.next());
        rto::follow(&mut self.flow.rtt, rtt, if self.srtt_of_oldest { for_timer } else { rtt });
    }
}
