//! The deliveries that an acknowledgement reports, and its samples.

use bentpipe_cc::{Phase, Rate, RateSample, Span, Time};

use super::{Probe, Sender};
use crate::options::LossRecovery;
use crate::rto;
use crate::scoreboard::{DUP_THRESH, Delivered, Stamp};
use crate::segment::AckSegment;

impl Sender {
    /// May this ACK from below `una`, which later ones have overtaken, bring news by its SACK blocks? RFC 6675 section 2 counts it
    /// as a duplicate acknowledgement only then. It was sent before the ACKs that AEN and F-RTO wait for.
    #[cold]
    pub(super) fn has_news(&self, seg: &AckSegment) -> bool {
        self.options.recovery == LossRecovery::Sack
            && !seg.sack.is_empty()
            && self.probe == Probe::No
            && !self.suspicion.is_open()
    }

    /// Payload of `segments` delivered; the last of the transfer is among them if `ack` covers it.
    pub(super) fn bytes(&self, segments: u64, ack: u64) -> u64 {
        let full = segments * u64::from(self.flow.mss);
        if segments > 0 && ack == self.limit {
            let short = u64::from(self.flow.mss - self.last_len.min(self.flow.mss));
            return full.saturating_sub(short);
        }
        full
    }

    /// The most bytes of one ACK that may make the window grow. `timed_out`: it arrived before all that had been outstanding
    /// at a timeout was acknowledged.
    pub(super) fn growth_limit(&self, timed_out: bool) -> u64 {
        let slow_start = self.decision.cwnd < self.decision.ssthresh;
        let segments = match (self.options.byte_counting, slow_start) {
            (false, _) => 1, // RFC 5681 section 3.1, eq. 2 and 3
            // RFC 3465 section 2.3: L = 1 after a timeout, since an ACK may then cover data that left the network long before.
            (true, true) if self.options.slow_start_limit => 2 - u64::from(timed_out),
            (true, _) => return u64::MAX,
        };
        segments * u64::from(self.flow.mss)
    }

    /// Newly delivered segments. Without SACK a duplicate ACK counts as one, and the ACK that follows as that much less.
    pub(super) fn count_deliveries(&mut self, seg: &AckSegment, advanced: u64, by_board: u64) -> u64 {
        if advanced > 0 {
            if self.options.recovery == LossRecovery::Sack {
                return by_board;
            }
            self.unsacked_deliveries -= self.unsacked_deliveries.min(advanced - 1);
            let most = self.board.outstanding().saturating_sub(1);
            let credited = self.credited.saturating_sub(advanced - 1).min(most);
            let before = core::mem::replace(&mut self.credited, credited);
            return advanced + credited - before;
        }
        // RFC 5681 section 2: a duplicate ACK, with data outstanding. With SACK it must bring news (RFC 6675 section 2).
        let duplicate = seg.ack == self.board.una() && self.board.outstanding() > 0;
        if self.options.recovery == LossRecovery::Sack {
            self.dupacks += u32::from(duplicate && by_board > 0);
            by_board
        } else if duplicate {
            self.dupacks += 1;
            // Before fast recovery the first duplicates count (RFC 3042 section 2), and the one that begins it.
            let due = match self.flow.phase {
                Phase::Loss => false,
                Phase::Recovery => true,
                Phase::Open => {
                    let most = DUP_THRESH as u32 - u32::from(!self.recovery.may_enter(seg.ack));
                    self.dupacks <= most
                }
            };
            let room = due && self.board.pipe() > self.unsacked_deliveries + 1;
            self.unsacked_deliveries += u64::from(room);
            let credit = u64::from(room && self.credited + 1 < self.board.outstanding());
            self.credited += credit;
            credit
        } else {
            0
        }
    }

    pub(super) fn sample_rtt(&mut self, seg: &AckSegment, advanced: u64, got: &Delivered) -> Option<Span> {
        let now = self.flow.now;
        let (rtt, for_timer) = match got.sent_once {
            Some((first, last)) => (now.since(last), now.since(first)),
            None if self.options.timestamps && advanced > 0 => {
                // RFC 7323 section 4.1: an echoed timestamp tells the round trip of a retransmission too.
                let echoed = Span(u64::from(((now.0 / 1000) as u32).wrapping_sub(seg.tsecr)) * 1000);
                (echoed, echoed)
            }
            None => return None,
        };
        self.take_rtt(rtt, for_timer);
        Some(rtt)
    }

    /// Takes a round-trip time; with delayed ACKs the one for the timer is longer.
    #[inline]
    pub(super) fn take_rtt(&mut self, rtt: Span, for_timer: Span) {
        self.rto.sample(for_timer, self.board.una(), self.board.next());
        rto::follow(&mut self.flow.rtt, rtt, if self.srtt_of_oldest { for_timer } else { rtt });
    }

    /// draft-cheng-iccrg-delivery-rate-estimation section 3.3.
    #[inline]
    pub(super) fn rate(&mut self, sent: Time, stamp: &Stamp) -> Option<RateSample> {
        let interval = sent.since(stamp.first_sent).max(self.delivered_at.since(stamp.delivered_at));
        if interval.0 == 0 || self.flow.rtt.is_some_and(|r| interval < r.min) {
            return None;
        }
        let bytes = self.flow.delivered - stamp.delivered;
        if self.sampled.0 != (bytes, interval) {
            self.sampled = ((bytes, interval), Rate((bytes as f64 / interval.secs()) as u64));
        }
        Some(RateSample {
            rate: self.sampled.1,
            app_limited: stamp.app_limited(),
            prior_delivered: stamp.delivered,
            prior_in_flight: stamp.in_flight(),
        })
    }
}
