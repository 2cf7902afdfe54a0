//! What a run yields, in the names that everything else builds on.

use serde::Serialize;

pub use super::samples::{FlowSamples, LinkSamples};

/// Version of the JSON form.
pub const SCHEMA: u32 = 1;

/// The answer of one run: one JSON object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Seconds of real time that the run took; the only value that differs between two runs of the same seed. The
    /// simulator has no clock, so the caller fills it in.
    pub wall_s: f64,
    /// Data packets delivered to receivers.
    pub packets: u64,
    /// One entry a flow.
    pub flows: Vec<FlowReport>,
    /// One entry a link and direction.
    pub links: Vec<LinkReport>,
    /// What the user ought to check before trusting the results.
    pub warnings: Vec<String>,
}

/// What one flow achieved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Name in the scenario.
    pub name: String,
    /// Congestion controller, or `cbr`.
    pub cc: String,
    /// When the flow started, seconds.
    pub start_s: f64,
    /// In-order payload bits handed to the receiving application per second of the flow's life.
    pub goodput_bps: f64,
    /// In-order payload bytes handed to the receiving application.
    pub delivered_bytes: u64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmissions.
    pub retransmitted_packets: u64,
    /// Data packets of this flow that the network dropped.
    pub dropped_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts found to be spurious.
    pub spurious_timeouts: u64,
    /// Smallest RTT sample, seconds.
    pub rtt_min_s: Option<f64>,
    /// Mean RTT sample, seconds.
    pub rtt_mean_s: Option<f64>,
    /// Median RTT sample, seconds, within 1.6 %.
    pub rtt_p50_s: Option<f64>,
    /// 95th percentile of the RTT samples, seconds, within 1.6 %.
    pub rtt_p95_s: Option<f64>,
    /// Time-average of the congestion window, segments.
    pub cwnd_mean_segments: f64,
    /// When the last byte of a finite transfer was acknowledged, in seconds since the flow's start.
    pub completion_s: Option<f64>,
    /// Shares of the flow's life, by what held it back.
    pub limited: LimitShares,
}

/// Shares of a flow's life that sum to 1 (or are all 0 if it never started).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LimitShares {
    /// Limited by the congestion window, outside recovery.
    pub cwnd: f64,
    /// By the receive window.
    pub rwnd: f64,
    /// By the application: nothing to send.
    pub app: f64,
    /// By the pacing rate.
    pub pacing: f64,
    /// In loss recovery.
    pub recovery: f64,
    /// Waiting for the retransmission timer.
    pub timeout: f64,
}

/// What one direction of a link did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkReport {
    /// Name in the scenario.
    pub name: String,
    /// `forward` (data) or `reverse` (acknowledgements).
    pub direction: &'static str,
    /// Rate, bits per second.
    pub rate_bps: u64,
    /// Share of the time in which the transmitter was busy.
    pub utilisation: f64,
    /// Packets that reached the far end.
    pub delivered_packets: u64,
    /// Packets that found the queue full, or that it dropped early.
    pub dropped_queue: u64,
    /// Packets lost to errors.
    pub dropped_error: u64,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Time-average of the packets waiting.
    pub queue_mean_packets: f64,
    /// Most packets that ever waited.
    pub queue_max_packets: u64,
}

/// Samples of the flows, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTrace {
    /// Seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Index of the flow in [`Report::flows`].
    pub flow: Vec<u32>,
    /// Congestion window, segments.
    pub cwnd: Vec<f64>,
    /// Slow-start threshold, segments; infinite before the first congestion.
    pub ssthresh: Vec<f64>,
    /// Segments in flight.
    pub in_flight: Vec<f64>,
    /// Smoothed RTT, seconds; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Latest RTT sample, seconds; NaN before the first.
    pub rtt_s: Vec<f64>,
    /// In-order payload bytes delivered so far.
    pub delivered_bytes: Vec<u64>,
}

impl FlowTrace {
    /// Empty columns with room for so many rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            t_s: Vec::with_capacity(rows),
            flow: Vec::with_capacity(rows),
            cwnd: Vec::with_capacity(rows),
            ssthresh: Vec::with_capacity(rows),
            in_flight: Vec::with_capacity(rows),
            srtt_s: Vec::with_capacity(rows),
            rtt_s: Vec::with_capacity(rows),
            delivered_bytes: Vec::with_capacity(rows),
        }
    }
}

/// Samples of the links, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTrace {
    /// Seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Index of the link and direction in [`Report::links`].
    pub link: Vec<u32>,
    /// Packets waiting.
    pub queue_packets: Vec<f64>,
    /// Packets delivered so far.
    pub delivered_packets: Vec<u64>,
    /// Packets dropped so far, by a full queue or by errors.
    pub dropped_packets: Vec<u64>,
}

impl LinkTrace {
    /// Empty columns with room for so many rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            t_s: Vec::with_capacity(rows),
            link: Vec::with_capacity(rows),
            queue_packets: Vec::with_capacity(rows),
            delivered_packets: Vec::with_capacity(rows),
            dropped_packets: Vec::with_capacity(rows),
        }
    }
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentEvent {
    /// Sent for the first time.
    Sent,
    /// Sent again.
    Resent,
    /// Dropped by a queue, or lost on the link that it entered at this time.
    Lost,
    /// Acknowledged: what arrived at the sender.
    Ack,
    /// A SACK block of that acknowledgement.
    Sack,
}

impl SegmentEvent {
    /// The names of the events, in the order of their numbers.
    pub const NAMES: [&str; 5] = ["sent", "resent", "lost", "ack", "sack"];
}

/// Segments as the sender sees them, as columns of equal length, in the order in which it happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentTrace {
    /// Seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Index of the flow in [`Report::flows`].
    pub flow: Vec<u32>,
    /// A [`SegmentEvent`].
    pub event: Vec<u8>,
    /// First byte of the segment or block; for an acknowledgement, the byte that is expected next.
    pub from_bytes: Vec<u64>,
    /// The byte behind it; for an acknowledgement the right edge of the receive window (the same byte if none binds).
    pub to_bytes: Vec<u64>,
}

impl SegmentTrace {
    pub(crate) fn push(&mut self, at: bentpipe_cc::Time, flow: u32, event: SegmentEvent, from: u64, to: u64) {
        self.t_s.push(at.secs());
        self.flow.push(flow);
        self.event.push(event as u8);
        self.from_bytes.push(from);
        self.to_bytes.push(to);
    }
}

/// Everything that one run yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The summary.
    pub report: Report,
    /// Samples of the flows, if the plan asked for them.
    pub flows: FlowSamples,
    /// Samples of the links, if the plan asked for them.
    pub links: LinkSamples,
    /// Segments, if the plan asked for them.
    pub segments: SegmentTrace,
}
