//! The report of a run, with the names that everything else builds on.

use std::borrow::Cow;

use bentpipe_cc::Time;
use serde::{Serialize, Serializer};

use crate::link::Direction;
use crate::record::trace::{FlowRow, LinkRow, PortRow, ProbeRow, SegmentRow, TransferRow};
pub use crate::workload::player::Playback;

/// Version of the JSON form.
pub const SCHEMA: u32 = 1;

/// What [`FlowReport::half`] says of a subflow.
pub(crate) const SUBFLOW: &str = "subflow";

/// The report of one run: one JSON object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Seconds of real time that the run took: the only value that differs between two runs of the same seed.
    /// The simulator has no clock, so the caller fills it in.
    pub wall_s: f64,
    /// Data packets delivered to receivers.
    pub packets: u64,
    /// One entry a flow.
    pub flows: Vec<FlowReport>,
    /// One entry a link and direction, and one a port of the constellation to which a packet has come.
    pub links: Vec<LinkReport>,
    /// One entry a flow between stations of the constellation, but for those that a source opens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network_flows: Vec<NetworkFlowReport>,
    /// What the user ought to check before trusting the results.
    pub warnings: Vec<String>,
}

/// A row of each table of a run with a value in every key: what the columns are called, and which of them are
/// texts, counts and real numbers.
#[derive(Clone, Debug, Serialize)]
pub struct RowsOfTables {
    flows: FlowReport,
    links: LinkReport,
    trace: FlowRow,
    link_trace: LinkRow,
    port_trace: PortRow,
    network_flows: NetworkFlowReport,
    probes: ProbeRow,
    segments: SegmentRow,
    transfers: TransferRow,
}

impl Default for RowsOfTables {
    fn default() -> Self {
        let application = ApplicationReport {
            transfer: Some(""),
            transfers: Some(0),
            completed: Some(0),
            completion_mean_s: Some(0.0),
            completion_p50_s: Some(0.0),
            completion_p95_s: Some(0.0),
            completion_p99_s: Some(0.0),
            video: Some(Playback { bitrate_bps: Some(0.0), startup_s: Some(0.0), ..Playback::default() }),
        };
        Self {
            flows: FlowReport {
                half: Some(""),
                rtt: Some(RttReport::default()),
                completion_s: Some(0.0),
                application: Some(Box::new(application)),
                ..FlowReport::default()
            },
            links: LinkReport::default(),
            trace: FlowRow::default(),
            link_trace: LinkRow::default(),
            port_trace: PortRow::default(),
            network_flows: NetworkFlowReport { base_rtt_s: Some(0.0), ..NetworkFlowReport::default() },
            probes: ProbeRow::default(),
            segments: SegmentRow::default(),
            transfers: TransferRow::default(),
        }
    }
}

/// What one flow achieved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// Name in the scenario. The halves of a relayed flow are called NAME/first, to the relay, and
    /// NAME/second, from the relay; the directions of a dialogue NAME/requests and NAME/responses, with a
    /// relay NAME/requests/first and so on. A connection with several subflows is a row, and they are rows
    /// of their own behind it, NAME/1, NAME/2 and so on. All connections of a source of short flows, and
    /// of a browser, are one row.
    pub name: String,
    /// `first` or `second` half of a relayed flow. What the second delivers is what the whole flow does. Of a
    /// dialogue, the requests are `first` and the responses `second`, with a relay only those that reach the
    /// client. A `subflow` delivers a part of what its connection does.
    pub half: Option<&'static str>,
    /// Congestion controller, or `cbr`.
    pub cc: Cow<'static, str>,
    /// When the flow started, seconds.
    pub start_s: f64,
    /// In-order payload bits that the receiver has for its application, read or not, per second of the flow's
    /// life. It begins with the flow, and ends when the last byte is acknowledged, at the latest with the
    /// run. The life of a constant-rate flow that stops ends with the stop, or with the arrival of its last
    /// packet if that is later. So no goodput is above the rate of a link of its path.
    pub goodput_bps: f64,
    /// In-order payload bytes that the receiver has for its application, read or not.
    pub delivered_bytes: u64,
    /// Data packets sent, retransmissions and probes included.
    pub sent_packets: u64,
    /// Retransmissions.
    pub retransmitted_packets: u64,
    /// Data packets of this flow that the network dropped.
    pub dropped_packets: u64,
    /// Data packets of this flow that wait or are under way when the run ends.
    pub inside_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts found to be spurious.
    pub spurious_timeouts: u64,
    /// Its samples of the round-trip time: `rtt_min_s` and so on, null if there are none.
    #[serde(flatten, serialize_with = "rtt")]
    pub rtt: Option<RttReport>,
    /// Time-average of the congestion window, segments.
    pub cwnd_mean_segments: f64,
    /// When the last byte of a finite transfer was acknowledged, in seconds since the flow's start.
    pub completion_s: Option<f64>,
    /// What its application did, if it transfers or plays something. The keys are null if not.
    #[serde(flatten, serialize_with = "application")]
    pub application: Option<Box<ApplicationReport>>,
    /// Shares of the flow's life, by its limit.
    pub limited: LimitShares,
}

/// How the constellation has treated one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkFlowReport {
    /// Its name.
    pub flow: String,
    /// The sender's station.
    pub from: String,
    /// The receiver's station.
    pub to: String,
    /// Propagation there and back over the paths at the start of the run, seconds; null if there is none.
    pub base_rtt_s: Option<f64>,
    /// How often its path, there or back, changes in the run.
    pub path_changes: u64,
    /// Packets of the flow, acknowledgements included, that were at a node without a next hop.
    pub unrouted_packets: u64,
    /// Payload bytes that its sender knows to be delivered.
    pub acked_bytes: u64,
    /// The same per second of the flow's life, bits.
    pub acked_goodput_bps: f64,
}

/// Samples of the round-trip time, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttReport {
    /// The smallest.
    pub min_s: f64,
    /// The mean.
    pub mean_s: f64,
    /// The median, within 1.6 %.
    pub p50_s: f64,
    /// The 95th percentile, within 1.6 %.
    pub p95_s: f64,
}

/// What the application of a flow did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ApplicationReport {
    /// What a transfer of the flow is: "connection" (a short flow), "burst", "response", "page", "segment"
    /// (of a video) or "packet" (of a source that reports on each).
    pub transfer: Option<&'static str>,
    /// Transfers that an application has begun.
    pub transfers: Option<u64>,
    /// How many of them are complete: every byte acknowledged, or of what was asked for received.
    pub completed: Option<u64>,
    /// Mean time from the start of a transfer until it was complete, seconds. The start of a short flow is
    /// that of its connection, that of a response, a page or a segment the request. Transfers that are not
    /// complete do not count. Of pages this is the page load time.
    pub completion_mean_s: Option<f64>,
    /// Median of these times, seconds.
    pub completion_p50_s: Option<f64>,
    /// 95th percentile of these times, seconds.
    pub completion_p95_s: Option<f64>,
    /// 99th percentile of these times, seconds.
    pub completion_p99_s: Option<f64>,
    /// How a video was seen.
    pub video: Option<Playback>,
}

/// The keys of the round-trip times of a row, whether it has some or not.
fn rtt<S: Serializer>(of: &Option<RttReport>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Keys {
        rtt_min_s: Option<f64>,
        rtt_mean_s: Option<f64>,
        rtt_p50_s: Option<f64>,
        rtt_p95_s: Option<f64>,
    }
    let keys = Keys {
        rtt_min_s: of.map(|rtt| rtt.min_s),
        rtt_mean_s: of.map(|rtt| rtt.mean_s),
        rtt_p50_s: of.map(|rtt| rtt.p50_s),
        rtt_p95_s: of.map(|rtt| rtt.p95_s),
    };
    keys.serialize(serializer)
}

/// The keys of the application of a row, whether it has one or not.
fn application<S: Serializer>(of: &Option<Box<ApplicationReport>>, serializer: S) -> Result<S::Ok, S::Error> {
    of.as_deref().unwrap_or(&ApplicationReport::default()).serialize(serializer)
}

/// Shares of a flow's life that sum to 1 (or are all 0 if it never started).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LimitShares {
    /// Opening the connection, until the answer to its SYN has come.
    pub handshake: f64,
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

impl LimitShares {
    /// Adds `much` times the other shares.
    pub(crate) fn add(&mut self, much: f64, other: &LimitShares) {
        self.handshake += much * other.handshake;
        self.cwnd += much * other.cwnd;
        self.rwnd += much * other.rwnd;
        self.app += much * other.app;
        self.pacing += much * other.pacing;
        self.recovery += much * other.recovery;
        self.timeout += much * other.timeout;
    }

    /// `much` times these shares.
    pub(crate) fn scaled(&self, much: f64) -> LimitShares {
        let mut scaled = LimitShares::default();
        scaled.add(much, self);
        scaled
    }
}

/// What one direction of a link did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkReport {
    /// Name in the scenario.
    pub name: String,
    /// `forward` (data) or `reverse` (acknowledgements).
    pub direction: &'static str,
    /// Rate, bits per second.
    pub rate_bps: u64,
    /// Bits sent within the run, lost ones included, as a share of those that the rate allowed while the link
    /// was up. A packet that an outage holds in the transmitter sends nothing meanwhile.
    pub utilisation: f64,
    /// How long the link was up, seconds.
    pub up_s: f64,
    /// Flows whose data cross it. 0 in an emulation, where no flow is known.
    pub data_flows: u64,
    /// Packets that came. Each is delivered, dropped, lost, thinned, or still inside at the end.
    pub offered_packets: u64,
    /// Packets that reached the far end.
    pub delivered_packets: u64,
    /// Packets that found the queue full, or that it dropped early.
    pub dropped_queue: u64,
    /// Packets lost to errors; with ARQ, those that were given up.
    pub dropped_error: u64,
    /// Acknowledgements dropped from the queue because a newer one says the same.
    pub thinned_acks: u64,
    /// Packets that wait, are being sent or propagate when the run ends.
    pub inside_packets: u64,
    /// Transmissions by ARQ besides the first of each packet.
    pub repeated: u64,
    /// Packets marked "congestion experienced".
    pub marked: u64,
    /// Time-average of the packets waiting.
    pub queue_mean_packets: f64,
    /// Most packets that ever waited.
    pub queue_max_packets: u64,
}

impl LinkReport {
    /// What `direction` has done until `end`, which is not before its last call: the direction called `way`,
    /// "forward" or "reverse", of the link `name`, with this nominal rate. No flow is known to cross it.
    pub fn of(direction: &mut Direction, name: &str, way: &'static str, rate_bps: u64, end: Time) -> Self {
        let (offered_packets, inside_packets) = direction.inside(end);
        let (dropped_queue, dropped_error) = direction.dropped(end);
        Self {
            name: name.to_owned(),
            direction: way,
            rate_bps,
            utilisation: direction.utilisation(end),
            up_s: direction.up(end).secs(),
            data_flows: 0,
            offered_packets,
            delivered_packets: direction.counts.delivered,
            dropped_queue: dropped_queue - direction.thinned(),
            dropped_error,
            thinned_acks: direction.thinned(),
            inside_packets,
            repeated: direction.repeated(),
            marked: direction.counts.marked,
            queue_mean_packets: direction.queue_mean(end),
            queue_max_packets: direction.queue_max(),
        }
    }
}
