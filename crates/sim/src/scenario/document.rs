//! The keys of a scenario, as a user writes them in TOML, JSON or Rust.

use std::collections::BTreeMap;

pub use crate::access::Access;
use crate::keys::error::Origin;
use crate::keys::order::in_order;
use crate::keys::table::keys;
use crate::keys::units::{BitRate, Duration, Interval, Longitude};
pub use crate::loss::Loss;
use crate::orbit::geostationary::Station;
pub use crate::queue::{Queue, Threshold};
use crate::scenario::flow::Flow;
use crate::scenario::link_layer::{AckThinning, Arq};
pub use crate::scenario::moving::{
    Between, HandoverKeys, Nominal, OnAir, Timeline, TimelineTable, Varying, Waiting,
};
use crate::scenario::network::NetworkKeys;
use crate::scenario::one_or_many::{OneOrMany, one_or_many};
pub use crate::workload::Traffic;

keys! {
    /// Links, flows, duration, seed, and what to record.
    pub struct Scenario {
        /// What this scenario shows, for people.
        pub title?: String,
        /// Simulated time.
        #[schemars(extend("examples" = ["120 s"]))]
        pub duration: Duration,
        /// Root of all randomness: the same seed gives the same bits.
        #[serde(default = "one")]
        pub seed: u64,
        /// What to record over time; nothing if absent.
        pub record?: Record,
        /// Ground stations besides the built-in ones, by name; they take precedence.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub station: BTreeMap<String, Station>,
        /// A constellation.
        pub network?: NetworkKeys,
        /// Links, by name. A name has no "/".
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        #[schemars(extend("propertyNames" = { "pattern": "^[^/]+$" }))]
        pub link: BTreeMap<String, Link>,
        /// Flows.
        #[schemars(extend("x-hint" = "write a table [[flow]] with e.g. cc = \"reno\" and path = [\"sat\"]"))]
        pub flow: Vec<Flow>,
        /// Where the keys were written.
        #[serde(skip)]
        pub(crate) origin: Origin,
    }

    /// What a traced run records.
    #[schemars(transform = in_order::<Record>)]
    pub struct Record {
        /// Time between two rows, or "change" (the default) for a row whenever cwnd or ssthresh of a flow
        /// changes.
        pub interval?: Interval,
        /// Record each flow (in Python `Result.trace`).
        #[serde(default = "yes")]
        pub flows: bool,
        /// Record each link (in Python `Result.link_trace`); needs an interval of time.
        #[serde(default)]
        pub links: bool,
        /// Record every segment sent, lost and acknowledged (in Python
        /// `Result.segments`), about 30 bytes each.
        #[serde(default)]
        pub segments: bool,
        /// Record every transfer (in Python `Result.transfers`): each short flow, burst, response, page and
        /// segment, with its size and how long it took.
        #[serde(default)]
        pub transfers: bool,
        /// Record the probes of the controllers (in Python `Result.probes`): the quantities inside
        /// each that it names, as Vegas-A's alpha_segments. With `interval = "change"`, each
        /// whenever its value changes.
        #[serde(default)]
        pub probes: bool,
    }

    /// A link: two directions, which are alike unless `reverse` says otherwise.
    #[schemars(transform = in_order::<Link>)]
    pub struct Link {
        /// Bits per second on the wire: one rate, or a list such as [["0 s", "100 Mbit/s"], ["15 s",
        /// "60 Mbit/s"]]. Rate 0 in a list holds packets in the transmitter.
        pub rate?: Varying<BitRate>,
        /// Propagation delay, one way, or a list as for `rate`. Either this, or `satellite`
        /// with `from`, `to` or both.
        pub delay?: Varying<Duration>,
        /// A file with rate, delay, losses and handovers over time: its name, or a table with options. Or a
        /// line that is drawn for each seed: { generator = "starlink" }.
        pub timeline?: Timeline,
        /// Is the path there? A list such as [["0 s", true], ["14.5 s", false], ["15 s", true]]; while it
        /// is not, nothing is sent.
        pub up?: Vec<(Duration, bool)>,
        /// Rate and delay by which `1 bdp` of a queue is computed. Nothing else follows them. Default:
        /// those of the link; where they change, a plain `rate` or `delay` beside a file that sets it,
        /// or else the values at 0 s, with a warning.
        pub nominal?: Nominal,
        /// May a packet overtake another when the delay shrinks? Default no: a packet that would do so
        /// arrives its own transmission time after the packet ahead (ns-2's `avoidReordering_`). So
        /// after a step down a link that is always busy keeps the delay of before until a pause or an
        /// outage; with yes it does not.
        pub reorder?: bool,
        /// What happens when the path changes hands, and when it does.
        pub handover?: HandoverKeys,
        /// Ground station that sends up to the satellite; without `to` the link is the up hop alone.
        pub from?: String,
        /// Ground station that receives from the satellite; without `from` the link is the down hop alone.
        pub to?: String,
        /// The satellite between them.
        pub satellite?: Satellite,
        /// Queue in front of each direction. Default: drop-tail with a limit of 1 bdp.
        pub queue?: Queue,
        /// Loss of the forward direction: one model or a list; a packet is lost if any of them says so.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        #[schemars(with = "OneOrMany<Loss>")]
        pub loss: Vec<Loss>,
        /// Instants at which the forward direction may send, as mahimahi records them: a text file with
        /// one number of milliseconds a line. At each, 1504 bytes may be sent; what finds nothing
        /// waiting is lost, and after the last line all begin again. `rate` is then only that of
        /// `1 bdp` in a queue's limit.
        pub opportunities?: String,
        /// How the forward direction gets the right to send. Default: it may always send.
        pub access?: Access,
        /// Repeats of what the forward direction loses. Default: none.
        pub arq?: Arq,
        /// Thinning of acknowledgements in the queue of the forward direction. Default: none.
        pub ack_thinning?: AckThinning,
        /// What differs in the return direction.
        pub reverse?: Reverse,
    }

    /// What differs in the return direction of a link. All but losses and what the link layer does
    /// (opportunities, access, arq, ack_thinning) are by default those of the forward one; these are none.
    #[derive(Default)]
    pub struct Reverse {
        /// Bits per second on the wire: one rate, or a list. It goes before the forward direction's file.
        pub rate?: Varying<BitRate>,
        /// Propagation delay, one way, or a list. It goes before the forward direction's file.
        pub delay?: Varying<Duration>,
        /// A file of this direction's own, or a line that is drawn for it.
        pub timeline?: Timeline,
        /// Is the path there?
        pub up?: Vec<(Duration, bool)>,
        /// Rate and delay by which `1 bdp` of a queue is computed. Default: those of the forward
        /// direction, each where this direction has that direction's rate or delay.
        pub nominal?: Nominal,
        /// May a packet overtake another when the delay shrinks?
        pub reorder?: bool,
        /// What happens when the path changes hands, and when it does.
        pub handover?: HandoverKeys,
        /// Queue.
        pub queue?: Queue,
        /// Loss: one model or a list.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        #[schemars(with = "OneOrMany<Loss>")]
        pub loss: Vec<Loss>,
        /// Instants at which the return direction may send, as mahimahi records them: a text file with
        /// one number of milliseconds a line. At each, 1504 bytes may be sent; what finds nothing
        /// waiting is lost, and after the last line all begin again. `rate` is then only that of
        /// `1 bdp` in a queue's limit.
        pub opportunities?: String,
        /// How the return direction gets the right to send. Default: it may always send.
        pub access?: Access,
        /// Repeats of what the return direction loses. Default: none.
        pub arq?: Arq,
        /// Thinning of acknowledgements in the queue of the return direction. Default: none.
        pub ack_thinning?: AckThinning,
    }

    /// A satellite, as far as the delay of a link depends on it.
    pub struct Satellite {
        /// Longitude of a geostationary satellite: "100E", "74W", or degrees east.
        pub geo: Longitude,
        /// Lowest elevation in degrees at which a station may see it; below 0 the run goes ahead
        /// with a warning. Default 0.
        #[schemars(range(min = -90.0, max = 90.0))]
        pub min_elevation?: f64,
    }
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}
