//! The keys of a scenario, as a user writes them in TOML, JSON or Rust.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::loss::Loss;
use crate::orbit::geostationary::Station;
pub use crate::queue::{Queue, Threshold};
use crate::scenario::controller::Cc;
use crate::scenario::error::Origin;
use crate::scenario::link_layer::{Access, AckThinning, Arq};
pub use crate::scenario::moving::{
    Between, HandoverKeys, Nominal, OnAir, TimelineFile, TimelineTable, Varying, Waiting,
};
use crate::scenario::multipath::{Scheduler, SubflowKeys};
use crate::scenario::units::{BitRate, Duration, Interval, Longitude, Size, WindowSize};
use crate::scenario::workload::Traffic;

/// Links, flows, duration, seed, and what to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What this scenario shows, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Simulated time.
    #[schemars(extend("examples" = ["120 s"]))]
    pub duration: Duration,
    /// Root of all randomness: the same seed gives the same bits.
    #[serde(default = "one")]
    pub seed: u64,
    /// What to record over time; nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// Ground stations besides the built-in ones, by name; they take precedence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub station: BTreeMap<String, Station>,
    /// Links, by name. A name has no "/".
    #[schemars(extend("propertyNames" = { "pattern": "^[^/]+$" }))]
    #[schemars(extend("x-hint" = "write a table [link.NAME] with e.g. rate = \"1 Mbit/s\", delay = \"9 ms\""))]
    pub link: BTreeMap<String, Link>,
    /// Flows.
    #[schemars(extend("x-hint" = "write a table [[flow]] with e.g. cc = \"reno\" and path = [\"sat\"]"))]
    pub flow: Vec<Flow>,
    /// Where the keys were written.
    #[serde(skip)]
    pub(crate) origin: Origin,
}

/// What a traced run records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Time between two rows, or "change" (the default) for a row whenever cwnd or ssthresh of a flow
    /// changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Record the flows.
    #[serde(default = "yes")]
    pub flows: bool,
    /// Record the links; needs an interval of time.
    #[serde(default)]
    pub links: bool,
    /// Record every segment sent, lost and acknowledged.
    #[serde(default)]
    pub segments: bool,
    /// Record every transfer: each short flow, burst and response, with its size and how long it took.
    #[serde(default)]
    pub transfers: bool,
    /// Record the probes of the controllers: the quantities inside each that it names, as Vegas-A's alpha_segments.
    #[serde(default)]
    pub probes: bool,
}

/// A link: two directions, which are alike unless `reverse` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bits per second on the wire: one rate, or a list such as [["0 s", "100 Mbit/s"], ["15 s", "60 Mbit/s"]]. Rate 0 in a list holds
    /// packets in the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Varying<BitRate>>,
    /// Propagation delay, one way, or a list as for `rate`. Either this, or `satellite` with `from`, `to` or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Varying<Duration>>,
    /// A file with rate, delay, losses and handovers over time: its name, or a table with options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelineFile>,
    /// Is the path there? A list such as [["0 s", true], ["14.5 s", false], ["15 s", true]]; while it is not, nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Vec<(Duration, bool)>>,
    /// Rate and delay of which `1 bdp` in a queue is, where they change. Default: a plain `rate` or `delay` beside a file that sets it;
    /// without one the values at 0 s, with a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Nominal>,
    /// May a packet overtake another when the delay shrinks? Default no: a packet that would do so arrives its own transmission time after
    /// the packet ahead (ns-2's `avoidReordering_`). So after a step down a link that is always busy keeps the delay of before until a
    /// pause or an outage; with yes it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<bool>,
    /// What happens when the path changes hands, and when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverKeys>,
    /// Ground station that sends up to the satellite; without `to` the link is the up hop alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Ground station that receives from the satellite; without `from` the link is the down hop alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The satellite between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub satellite: Option<Satellite>,
    /// Queue in front of each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Loss of the forward direction: one model or a list; a packet is lost if any of them says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany<Loss>")]
    pub loss: Vec<Loss>,
    /// Instants at which the forward direction may send, as mahimahi records them: a text file with one number of milliseconds a line. At each, 1504 bytes may
    /// be sent; what finds nothing waiting is lost, and after the last line all begin again. `rate` is then only that of `1 bdp` in
    /// a queue's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<String>,
    /// How the forward direction gets the right to send. Default: it may always send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Repeats of what the forward direction loses. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<Arq>,
    /// Thinning of acknowledgements in the queue of the forward direction. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<AckThinning>,
    /// What differs in the return direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<Reverse>,
}

/// What differs in the return direction of a link. All but losses and what the link layer does (opportunities, access, arq, ack_thinning)
/// are by default those of the forward one; these are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Bits per second on the wire: one rate, or a list. It goes before the forward direction's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Varying<BitRate>>,
    /// Propagation delay, one way, or a list. It goes before the forward direction's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Varying<Duration>>,
    /// A file of this direction's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelineFile>,
    /// Is the path there?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Vec<(Duration, bool)>>,
    /// Rate and delay of which `1 bdp` in a queue is, where they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Nominal>,
    /// May a packet overtake another when the delay shrinks?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<bool>,
    /// What happens when the path changes hands, and when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverKeys>,
    /// Queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Loss: one model or a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany<Loss>")]
    pub loss: Vec<Loss>,
    /// Instants at which the return direction may send, as mahimahi records them: a text file with one number of milliseconds a line. At each, 1504 bytes may
    /// be sent; what finds nothing waiting is lost, and after the last line all begin again. `rate` is then only that of `1 bdp` in
    /// a queue's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<String>,
    /// How the return direction gets the right to send. Default: it may always send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Repeats of what the return direction loses. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arq: Option<Arq>,
    /// Thinning of acknowledgements in the queue of the return direction. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<AckThinning>,
}

/// A satellite, as far as the delay of a link depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Satellite {
    /// Longitude of a geostationary satellite: "100E", "74W", or degrees east.
    pub geo: Longitude,
    /// Lowest elevation in degrees at which a station may see it; below 0 the run goes ahead with a warning.
    /// Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -90.0, max = 90.0))]
    pub min_elevation: Option<f64>,
}

/// One flow, or `count` of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name, which has no "/". Copies get -1, -2 and so on. Default: that of the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^[^/]+$"))]
    pub name: Option<String>,
    /// Congestion controller; every flow has one unless its traffic is "cbr".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<Cc>,
    /// What the data crosses, in order: the name of a link for its forward direction, "NAME/reverse" for the other one.
    /// Acknowledgements return over the opposite directions.
    #[schemars(extend("examples" = [["sat"]]))]
    pub path: Vec<String>,
    /// What the acknowledgements cross, in order and named as in `path`, where they do not return over the opposite directions: a
    /// satellite's one transmitter sends data and acknowledgements alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_path: Option<Vec<String>>,
    /// When it starts. Default "0 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Duration>,
    /// When its source stops producing data. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// A uniform random part of this is added to the start. Default "0 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_jitter: Option<Duration>,
    /// How many such flows there are.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u64,
    /// What it sends, and when. Default: bulk data without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// Defaults of all the options below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Private propagation delay in front of the path, one way, both directions. Default "0 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_delay: Option<Duration>,
    /// Each acknowledgement is held for a random time, uniform from 0 to this, and none overtakes another. Default "0 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_jitter: Option<Duration>,
    /// Band of its packets in queues of kind "priority", data and acknowledgements alike; 0 goes first. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub priority: Option<u8>,
    /// Payload of a full segment. Paper 1460 bytes, else 1448 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,
    /// Bytes on the wire added to each data segment; the header of XCP, RCP or TEAR comes on top. Paper 40 bytes, else 52 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Size>,
    /// Bytes on the wire of an acknowledgement. Paper 40 bytes; else 52 bytes, and the SACK option where
    /// there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_size: Option<Size>,
    /// Initial window in segments. Paper 1, else 10 (RFC 6928).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 1e6))]
    pub initial_window: Option<f64>,
    /// Initial slow-start threshold in segments. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2.0, max = 1e12))]
    pub initial_ssthresh: Option<f64>,
    /// Receive window. With `acks = "linux"` it grows as the kernel's unless it is given. Default: it never binds, but a run in which a flow has more than 2^22 segments outstanding ends in an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<WindowSize>,
    /// The receiving application reads no faster than this, in payload. `receive_window` is then its buffer, and the window shrinks by what
    /// waits in it (RFC 9293 section 3.8.6). Default: it reads at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate: Option<BitRate>,
    /// Ends the connection on its way and opens another (a split connection, RFC 3135). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{ "at": "terrestrial", "cc": "hybla", "buffer": "4 MB" }]))]
    pub relay: Option<Relay>,
    /// Further subflows: the connection begins on `path`, and its data is spread over all of them (Multipath TCP, RFC 8684).
    /// `receive_window` is then shared. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [[{ "path": ["leo"] }]]))]
    pub subflow: Vec<SubflowKeys>,
    /// With `subflow`, which of them sends the next segment. Default "min-rtt".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// With `subflow`: where the shared receive window holds a subflow back, it sends the oldest segment that another one still has under
    /// way, and the window of that one is halved, at most once per round trip. Default no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunistic: Option<bool>,
    /// Both ends write over one connection: data in the other direction, too, which carries the acknowledgements of this one, as this one
    /// carries its own (RFC 9293 section 3.8.6.3). Yes for the same there and back, or a table of what differs. Default no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [true, { "size": "1 MB", "cc": "reno" }]))]
    pub both_ways: Option<BothWays>,
    /// Loss recovery. Default "sack".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Loss detection by the times of sending (RACK, RFC 8985); needs SACK. Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<bool>,
    /// Tail loss probe (RFC 8985); needs SACK. Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlp: Option<bool>,
    /// Duplicates are reported (RFC 2883), and a fast recovery that they show to be needless is undone; needs
    /// SACK. Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// A SACK restarts the retransmission timer, too, if its data was sent before the oldest segment was sent last; needs RACK. Linux yes,
    /// else no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack_restarts_rto: Option<bool>,
    /// The receiver tells which segments it misses (SNACK, CCSDS 714.0-B-2), and the sender sends them again at once, without three duplicates;
    /// needs recovery = "newreno", which is then the default. Default: scps yes, else no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snack: Option<bool>,
    /// Most octets of the bit vector in a SNACK, which shows further holes, a bit for each segment. Default 0: one hole per acknowledgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 16))]
    pub snack_vector: Option<u8>,
    /// Window at the end of a recovery without SACK (RFC 6582). Paper "ssthresh", else "flight-size".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newreno_exit: Option<FullAck>,
    /// Proportional rate reduction (RFC 9937). Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prr: Option<bool>,
    /// Growth counts bytes (RFC 3465) rather than ACKs (RFC 5681). Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_counting: Option<bool>,
    /// With byte counting, in slow start an ACK counts for two segments at most (RFC 3465 section 2.2). Default: linux no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_start_limit: Option<bool>,
    /// Limited transmit (RFC 3042). Default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// Acknowledge every second segment. Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<bool>,
    /// Longest delay of an acknowledgement. Default: linux "40 ms", else "200 ms".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack_timeout: Option<Duration>,
    /// Which acknowledgements are delayed, with `delayed_ack`. Default: linux "linux", else "rfc5681".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks: Option<Acks>,
    /// Timestamps (RFC 7323). Paper no, else yes. The header does not follow: set it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Explicit congestion notification, and how the receiver tells of marks: no, yes (which means "rfc3168"), or a name. Default: what the
    /// controller asks for, else no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [true, "dctcp"]))]
    pub ecn: Option<EcnKey>,
    /// Data carries ECT(1), by which queues know L4S traffic (RFC 9331), instead of ECT(0); needs `ecn`. The response to
    /// marks stays that of RFC 3168. Default no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ect1: Option<bool>,
    /// Open the connection with three segments before data is sent, and close it when all is acknowledged (RFC 9293).
    /// Paper no, else yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<bool>,
    /// Retransmission timeout before the first RTT sample. Paper "3 s", else "1 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Duration>,
    /// How the retransmission timeout follows from round-trip times, and whether one in a recovery sets ssthresh anew. Paper "rfc6298", else "linux".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto: Option<Rto>,
    /// Smallest retransmission timeout; with `rto = "linux"` what it adds to the smoothed round-trip time at least. Paper and linux
    /// "200 ms", modern "1 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// Largest retransmission timeout. Default: linux "120 s", else "60 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rto: Option<Duration>,
    /// Granularity of the retransmission timer's clock. Paper "10 ms", modern "1 ms", linux "1 us".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Duration>,
    /// Detection of spurious timeouts. Paper "none", else "f-rto".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spurious: Option<Spurious>,
    /// After a pause of more than a retransmission timeout, begin again with the initial window and return to the old one by slow start
    /// (RFC 5681 section 4.1). Default: yes with modern or linux and traffic "on-off", "requests", "web" or "video".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_restart: Option<bool>,
    /// Spread segments over the round trip when the controller leaves it to the sender. Default no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<bool>,
    /// Probe after a timeout to tell lost data from lost acknowledgements (TCP-STAR). Default: what the
    /// controller asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aen: Option<bool>,
    /// Retransmit everything outstanding when the controller says so. Default: what the controller asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk_repeat: Option<bool>,
    /// Do not double the timeout at consecutive timeouts. Default: what the controller asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_rto: Option<bool>,
    /// The host of the sender learns when a link of the path, there or back, changes hands, and tells the controller. The satellite
    /// terminal next to the host can know that. Default: yes, if the controller uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_hints: Option<bool>,
    /// The host learns so long after each handover: for a host that is not next to the terminal. Default "0 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_delay: Option<Duration>,
    /// The host learns so long ahead of each handover: the terminal foresees it. Default "0 s".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_lead: Option<Duration>,
}

/// Which defaults the options of a flow have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// What current RFCs recommend.
    #[default]
    Modern,
    /// As ns-2 ran in the papers.
    Paper,
    /// What the kernel of Linux does.
    Linux,
    /// As SCPS-TP in its reference implementation, with SNACK instead of SACK.
    Scps,
}

/// Which acknowledgements are delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Acks {
    /// Those of every other segment in order (RFC 5681).
    Rfc5681,
    /// Linux's rules: none at first and while the window grows; behind a gap they wait a millisecond.
    Linux,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum EcnKey {
    /// None, or that of RFC 3168.
    Flag(bool),
    /// By this rule.
    By(MarkEcho),
}

/// Does the other end of the connection write, too?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum BothWays {
    /// Yes: the same as this end. Or no.
    Flag(bool),
    /// Yes, with these differences.
    Back(WayBack),
}

/// What the other end of a connection writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WayBack {
    /// Payload to transfer. Default: as much as this end, without end if that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Its congestion controller. Default: that of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<Cc>,
    /// Its initial window in segments. Default: that of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 1e6))]
    pub initial_window: Option<f64>,
}

/// How a receiver tells of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkEcho {
    /// Each acknowledgement echoes a mark until the sender answers (RFC 3168).
    Rfc3168,
    /// Each acknowledgement says whether what it covers was marked (RFC 8257).
    Dctcp,
    /// Each acknowledgement carries counters of what was marked (RFC 9768).
    AccEcn,
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Selective acknowledgements (RFC 6675).
    Sack,
    /// NewReno (RFC 6582).
    NewReno,
    /// Reno (RFC 5681).
    Reno,
    /// Tahoe (Jacobson 1988): fast retransmit, then slow start from one segment.
    Tahoe,
}

/// A relay, which ends a connection and opens another: two control loops with a bounded buffer between (a performance-enhancing
/// proxy, RFC 3135).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// The link of `path` at whose end the relay stands, as the data goes. On a path of two links, "gateway" means the place
    /// between them.
    #[schemars(extend("examples" = ["terrestrial", "gateway"]))]
    pub at: String,
    /// Congestion controller of the second half, with which the relay sends on. Default: that of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<Cc>,
    /// Room for data that came in and that the second half has not yet had acknowledged. It is the receive window of the first
    /// half. Requests and responses have such room each.
    pub buffer: Size,
    /// Initial window of the second half in segments. Default: that of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 1e6))]
    pub initial_window: Option<f64>,
}

/// The window when a recovery without SACK has acknowledged everything (RFC 6582 section 3.2 step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FullAck {
    /// Option 1: ssthresh, or FlightSize and one segment if that is less.
    FlightSize,
    /// Option 2: ssthresh, as ns-2.
    Ssthresh,
}

/// How the retransmission timeout follows from round-trip times, and whether one in a recovery sets ssthresh anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rto {
    /// SRTT + 4 RTTVAR, at least `min_rto` (RFC 6298).
    #[serde(rename = "rfc6298")]
    Rfc6298,
    /// SRTT + RTTVAR, which is at least `min_rto`, grows at once and decays once per round trip (Linux).
    #[serde(rename = "linux")]
    Linux,
}

/// How a sender detects a timeout that was not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Spurious {
    /// Not at all.
    #[serde(rename = "none")]
    Off,
    /// F-RTO (RFC 5682).
    #[serde(rename = "f-rto")]
    FRto,
    /// Eifel (RFC 3522); needs timestamps.
    #[serde(rename = "eifel")]
    Eifel,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

fn one_or_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => Ok(vec![one]),
        OneOrMany::Many(many) => Ok(many),
    }
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}
