//! Reports to a controller: the state of its flow and of the other subflows, and the
//! news of an acknowledgement.

use crate::time::{Rate, Span, Time};

/// The sender's RTT estimate (RFC 6298), plus the lifetime minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// The latest sample.
    pub latest: Span,
    /// The smallest sample of the flow's life.
    pub min: Span,
    /// SRTT of RFC 6298.
    pub smoothed: Span,
    /// RTTVAR of RFC 6298.
    pub var: Span,
}

/// The state of the sender's loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// No recovery under way.
    #[default]
    Open,
    /// Fast recovery: from the detection of a loss until all data sent before it is acknowledged.
    Recovery,
    /// After a retransmission timeout, until all data sent before it is acknowledged.
    Loss,
}

/// The state of a flow. Everything here is up to date before any method of a controller is called.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Flow {
    /// The present instant.
    pub now: Time,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes sent and believed to be in the network (RFC 6675's pipe).
    pub in_flight: u64,
    /// Bytes delivered to the receiver so far, in order or not.
    pub delivered: u64,
    /// Bytes declared lost so far, less those of a timeout or a fast recovery that proved spurious.
    pub lost: u64,
    /// RTT estimate; `None` before the first sample.
    pub rtt: Option<Rtt>,
    /// Rounds completed (RFC 9406: a round ends when the first segment sent after its start is acknowledged).
    pub round: u64,
    /// Loss recovery.
    pub phase: Phase,
    /// Did the congestion window, and nothing else, hold the sender back in the last round? A window may only
    /// grow then (RFC 7661, RFC 9438 section 5.8). It holds for every ACK, also one that does not advance
    /// (Linux's `is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// The peer's receive window in bytes; `u64::MAX` when it does not bind.
    pub rwnd: u64,
    /// At a timeout: has congestion cut the window already in the window of data that is outstanding? A
    /// window algorithm then keeps its slow-start threshold (RFC 3168 section 6.1.2, Linux's
    /// `tcp_enter_loss`). No other report sets it.
    pub reduced: bool,
}

/// What a coupled algorithm knows of one subflow of its connection, which has several
/// (Multipath TCP, RFC 8684).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subflow {
    /// Its congestion window in bytes.
    pub cwnd: u64,
    /// Its smoothed round-trip time; `None` before the first sample. Such a subflow carries nothing yet.
    pub rtt: Option<Span>,
    /// Bytes delivered between its last two losses, or since the last one if these are more.
    pub between_losses: u64,
}

/// RTT samples of one acknowledgement, or of several merged into one report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// Smallest sample.
    pub min: Span,
    /// Largest sample.
    pub max: Span,
    /// Most recent sample.
    pub latest: Span,
    /// Sum of the samples.
    pub sum: Span,
    /// How many samples.
    pub count: u32,
}

impl RttSample {
    /// A single sample.
    pub fn one(rtt: Span) -> Self {
        Self { min: rtt, max: rtt, latest: rtt, sum: rtt, count: 1 }
    }

    /// Mean of the samples in seconds.
    pub fn mean_secs(&self) -> f64 {
        self.sum.secs() / f64::from(self.count.max(1))
    }

    /// Adds later samples; associative.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            min: self.min.min(later.min),
            max: self.max.max(later.max),
            latest: later.latest,
            sum: self.sum + later.sum,
            count: self.count.saturating_add(later.count),
        }
    }
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered bytes per second over the sample's interval.
    pub rate: Rate,
    /// Was the sender short of data when the sampled segment was sent?
    pub app_limited: bool,
    /// `Flow::delivered` when the sampled segment was sent.
    pub prior_delivered: u64,
    /// `Flow::in_flight` when the sampled segment was sent.
    pub prior_in_flight: u64,
}

/// The news of an acknowledgement, or of several merged by [`Ack::merge`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ack {
    /// Acknowledgements merged into this report.
    pub acks: u32,
    /// Bytes newly delivered, cumulatively or selectively; without SACK a duplicate ACK counts one segment
    /// and the cumulative ACK that follows counts that much less.
    pub acked: u64,
    /// Of `acked`, the bytes that must not make a window grow. Counting ACKs, bytes above one segment an ACK
    /// (RFC 5681 section 3.1). Counting bytes, bytes above two segments in slow start, one after a timeout
    /// (RFC 3465). All of them, if no ACK advanced (RFC 5681 section 3.2 step 1). A controller that drives
    /// itself in recovery need not heed this.
    pub uncounted: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// Bytes newly acknowledged as marked "congestion experienced".
    pub ce: u64,
    /// Set on the last acknowledgement of a round; its samples belong to the round that it closes.
    pub round_end: bool,
    /// RTT samples, if any.
    pub rtt: Option<RttSample>,
    /// The best delivery-rate sample, if the controller reads them (`Needs::rate`).
    pub rate: Option<RateSample>,
}

impl Ack {
    /// Merges a later report into this one. Associative, so a datapath may report per ACK or per round trip.
    pub fn merge(&mut self, later: &Ack) {
        self.acks = self.acks.saturating_add(later.acks);
        self.acked = self.acked.saturating_add(later.acked);
        self.uncounted = self.uncounted.saturating_add(later.uncounted);
        self.lost = self.lost.saturating_add(later.lost);
        self.ce = self.ce.saturating_add(later.ce);
        self.round_end |= later.round_end;
        self.rtt = match (self.rtt, later.rtt) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => b.or(a),
        };
        // The highest rate that was not limited by the application; ties go to the sample sent last.
        self.rate = [self.rate, later.rate]
            .into_iter()
            .flatten()
            .max_by_key(|s| (!s.app_limited, s.rate, s.prior_delivered, s.prior_in_flight));
    }

    /// Newly delivered data in segments of the flow's MSS.
    pub fn segments(&self, flow: &Flow) -> f64 {
        let mss = flow.mss.max(1);
        if self.acked == u64::from(mss) {
            return 1.0; // most ACKs, without a division
        }
        self.acked as f64 / f64::from(mss)
    }
}
