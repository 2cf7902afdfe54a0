//! Traces over time, as columns.

use crate::workload::transfers::Transfer;

/// Samples of the flows, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowTrace {
    /// Seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
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
    /// Retransmissions so far.
    pub retransmitted_packets: Vec<u64>,
}

impl FlowTrace {
    /// Empty columns with room for `rows` rows.
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
            retransmitted_packets: Vec::with_capacity(rows),
        }
    }
}

/// Samples of the links, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTrace {
    /// Seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Index of the link and direction in [`Report::links`](crate::record::Report::links).
    pub link: Vec<u32>,
    /// Packets waiting.
    pub queue_packets: Vec<f64>,
    /// Packets delivered so far.
    pub delivered_packets: Vec<u64>,
    /// Packets dropped so far, by a full queue or by errors.
    pub dropped_packets: Vec<u64>,
    /// Of these, dropped at the queue: it was full, or dropped early.
    pub dropped_queue: Vec<u64>,
    /// Rate at the instant, bits per second; 0 in an outage.
    pub rate_bps: Vec<f64>,
    /// Propagation delay at the instant, one way, seconds.
    pub delay_s: Vec<f64>,
    /// Handovers so far.
    pub handovers: Vec<u32>,
}

impl LinkTrace {
    /// Empty columns with room for `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            t_s: Vec::with_capacity(rows),
            link: Vec::with_capacity(rows),
            queue_packets: Vec::with_capacity(rows),
            delivered_packets: Vec::with_capacity(rows),
            dropped_packets: Vec::with_capacity(rows),
            dropped_queue: Vec::with_capacity(rows),
            rate_bps: Vec::with_capacity(rows),
            delay_s: Vec::with_capacity(rows),
            handovers: Vec::with_capacity(rows),
        }
    }
}

/// Samples of the probes of controllers, as columns of equal length, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeTrace {
    /// Seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
    pub flow: Vec<u32>,
    /// Index of the probe in [`ProbeSamples::names`](crate::record::ProbeSamples::names), whose ends say units.
    pub probe: Vec<u32>,
    /// Its value; NaN while it is not known.
    pub value: Vec<f64>,
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentEvent {
    /// Sent for the first time.
    Sent,
    /// Sent again.
    Resent,
    /// Dropped by a queue, or lost on the direction that it entered at this time.
    Lost,
    /// Acknowledged: an acknowledgement arrived at the sender.
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
    /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
    pub flow: Vec<u32>,
    /// A [`SegmentEvent`].
    pub event: Vec<u8>,
    /// First byte of the segment or block; for an acknowledgement, the next byte expected.
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

/// Transfers of applications as columns of equal length, flow by flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransferTrace {
    /// Index of the flow in [`Report::flows`](crate::record::Report::flows).
    pub flow: Vec<u32>,
    /// When it was asked for, in seconds since the start of the run.
    pub start_s: Vec<f64>,
    /// Payload bytes; 0 for a request that has not come to its server.
    pub bytes: Vec<u64>,
    /// Seconds until it was complete; NaN if it was not.
    pub completion_s: Vec<f64>,
}

impl TransferTrace {
    pub(crate) fn push(&mut self, flow: u32, transfer: &Transfer) {
        self.flow.push(flow);
        self.start_s.push(transfer.start.secs());
        self.bytes.push(transfer.bytes);
        self.completion_s.push(transfer.completion_s().unwrap_or(f64::NAN));
    }
}
