//! The keys of a constellation and of the pairs of stations between which flows run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::keys::table::keys;
use crate::keys::units::{BitRate, Duration};
use crate::loss::Loss;
use crate::queue::Queue;
use crate::scenario::moving::OnAir;
use crate::scenario::one_or_many::{OneOrMany, one_or_many};

keys! {
    /// A constellation: satellites and ground stations, each with queues. Flows run from station to station over
    /// tables of next hops that follow the satellites.
    pub struct NetworkKeys {
        /// The satellites: the name of a shell (`bentpipe orbit shells`), or a list. They are numbered one shell
        /// after the other; lasers join those of one shell, and stations reach all.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        #[schemars(with = "OneOrMany<String>", extend("examples" = ["hypatia-kuiper-k1"]))]
        pub shell: Vec<String>,
        /// The satellites: a file of TLEs or OMMs, or a list.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        #[schemars(with = "OneOrMany<String>")]
        pub tle: Vec<String>,
        /// A folder of Hypatia: its satellites, lasers, stations, and its forwarding state if it has one.
        pub hypatia?: String,
        /// The ground stations: names of cities and of own stations ([station.NAME]), coordinates, files of name,
        /// lat, lon, alt. One that moves is a voyage, "Liner = Yokohama to Los Angeles at 20 knots", or a file of t_s,
        /// lat, lon, alt. Default: the hundred cities of Hypatia, or those of its folder.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("examples" = [["Tokyo", "Paris", "Lagos"]]))]
        pub stations: Vec<String>,
        /// UTC at the start. Default: that of the shells, or of the newest TLE.
        pub epoch?: String,
        /// Time between two tables of next hops. Default "1 s", or that of Hypatia's state.
        pub update?: Duration,
        /// Which satellites a station reaches: those above its least elevation, or those within a length, as in
        /// Hypatia. Default "elevation", with Hypatia's folder "length".
        pub reach?: ReachRule,
        /// Least elevation in degrees. Default: that of each shell.
        #[schemars(range(min = 0.0, max = 90.0))]
        pub min_elevation?: f64,
        /// What paths have least of: length, or links ("hops"), and of those with the fewest links the least length.
        /// Default "length".
        pub route?: RouteKey,
        /// Which satellite serves a station, for what it sends and what is sent to it. Default "shortest-path": that of
        /// the path.
        pub select?: Select,
        /// With another `select`, when the satellite is chosen: a time such as "15 s", or "lost" for when one is lost.
        /// Default: at each update.
        pub every?: String,
        /// Do stations pass on what is for others? Default no.
        pub relays?: bool,
        /// When the next hop of a packet is looked up. Default "arrival".
        pub decide?: Decide,
        /// What becomes of packets when a station leaves a satellite: no table of the station leads there any more.
        pub handover?: NetworkHandoverKeys,
        /// What fails, and when: "satellite 17", "laser 17-18", "station Tokyo" or "5 % of lasers, seed 3", each with
        /// ", from 20 s to 60 s" and ", detected after 5 s" if need be. Until it is detected packets are sent over it
        /// and lost.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(extend("examples" = [["satellite 17, from 20 s, detected after 5 s"]]))]
        pub failures: Vec<String>,
        /// The lasers: each has a port at both ends. Without this there are none.
        pub isl?: PortKeys,
        /// The ground links: each station has one port, and each satellite has one for all stations.
        pub gsl: PortKeys,
        /// What differs in the ports of the satellites to the ground.
        pub down?: PortKeys,
    }

    /// What becomes of packets when a station leaves a satellite.
    #[derive(Copy, Default)]
    pub struct NetworkHandoverKeys {
        /// The fate of packets between the two that are partly sent or on their way. Default "delivered".
        #[serde(default)]
        pub in_flight: OnAir,
        /// The fate of packets that wait in the satellite for the station, or in the station for the satellite. Default
        /// "kept".
        #[serde(default)]
        pub queue: LeftBehind,
        /// For how long the station then sends nothing, and nothing is sent to it. Default "0 s".
        pub outage?: Duration,
    }

    /// A port: a queue and a transmitter.
    pub struct PortKeys {
        /// Bits per second on the wire.
        pub rate: BitRate,
        /// Queue in front of the transmitter. Default: drop-tail with a limit of 100 packets.
        pub queue?: Queue,
        /// Loss behind the transmitter: one model or a list; a packet is lost if any of them says so.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
        #[schemars(with = "OneOrMany<Loss>")]
        pub loss: Vec<Loss>,
    }
}

/// The rule that says which satellites a station reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReachRule {
    /// Those above its least elevation.
    Elevation,
    /// Those within the length of a link at the least elevation over a flat Earth (Hypatia).
    Length,
}

/// What paths have least of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RouteKey {
    /// Length.
    Length,
    /// Links.
    Hops,
}

/// The satellite that serves a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// That of the shortest path.
    ShortestPath,
    /// The one highest above the horizon.
    HighestElevation,
    /// The one that stays in reach for longest.
    LongestVisible,
}

/// When the next hop of a packet is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decide {
    /// When it arrives at a node.
    #[default]
    Arrival,
    /// When it arrives, and again when its transmission begins. If another port leads there, it joins the queue of that.
    Departure,
}

/// What becomes of packets that wait for a link when a station leaves its satellite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeftBehind {
    /// They are sent over it.
    #[default]
    Kept,
    /// They are dropped.
    Flushed,
    /// They look up their next hop again.
    Requeued,
}

/// The pairs of stations of a flow that stands for many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Pairs {
    /// By a rule.
    Rule(PairRule),
    /// Drawn by inhabitants.
    Gravity(Gravity),
    /// From a file.
    File(PairFile),
}

/// A rule that gives pairs of stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairRule {
    /// Each station sends to one other, and receives from one other: a permutation drawn for each seed.
    Permutation,
    /// Each station sends to each other.
    All,
}

keys! {
    /// Pairs of stations drawn with a probability proportional to the product of their inhabitants (the gravity
    /// model; Zipf, American Sociological Review 11, 1946).
    pub struct Gravity {
        /// How many pairs are drawn, with repeats.
        #[schemars(range(min = 1, max = 100_000))]
        pub gravity: u64,
    }

    /// Pairs of stations from a file.
    pub struct PairFile {
        /// A CSV file with the columns from and to, names or numbers of stations, and if need be start_s and
        /// bytes.
        pub file: String,
    }
}
