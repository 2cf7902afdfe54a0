//! The keys of a link whose rate, delay or losses change, or whose path changes hands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::drawn::DrawnTimeline;
use crate::keys::table::keys;
use crate::keys::units::{BitRate, Duration};

/// A quantity: one value, or a list of instants and the values from then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Varying<Q> {
    /// The same in the whole run.
    Constant(Q),
    /// Steps, the first at "0 s".
    Steps(Vec<(Duration, Q)>),
}

/// How a link changes over time: a file and how it is read, or a line that is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Timeline {
    /// The name of the file.
    Name(String),
    /// The name, and options.
    Table(TimelineTable),
    /// What is drawn.
    Drawn(DrawnTimeline),
}

keys! {
    /// A time line file with options.
    #[derive(Default)]
    pub struct TimelineTable {
        /// CSV or Parquet with the columns t_s, rate_bps, delay_s, loss_rate, up and handover. A relative
        /// name starts from the directory of the scenario file. `loss_rate` sets the rate of the direction's
        /// packet-error or bit-error if that is its only loss model. Otherwise it is that of packet errors
        /// beside all losses that the direction has.
        pub file: String,
        /// Start again after the last row, which is the end and whose values are not used. Otherwise the last
        /// values stay. Default no.
        #[serde(default)]
        pub repeat: bool,
        /// The delay between two rows. Default "lines".
        #[serde(default)]
        pub delay: Between,
        /// The instant of the file at which the run begins. Default "0 s".
        pub offset?: Duration,
    }
}

/// The delay between two rows of a time line file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// A straight line; a step where the path changes hands or is dark.
    #[default]
    Lines,
    /// The delay of the row before.
    Steps,
}

keys! {
    /// Rate and delay of a bandwidth-delay product.
    #[derive(Copy, Default)]
    pub struct Nominal {
        /// Bits per second.
        pub rate?: BitRate,
        /// Propagation delay, one way.
        pub delay?: Duration,
    }

    /// When a path changes hands, and what becomes of packets then. A time line file may have instants, too;
    /// without its column `handover`, each change of `up` from true to false is one.
    #[derive(Default)]
    pub struct HandoverKeys {
        /// The fate of packets that are partly sent or on their way at a handover. Default "delivered".
        #[serde(default)]
        pub in_flight: OnAir,
        /// The fate of packets that wait then. Default "kept".
        #[serde(default)]
        pub queue: Waiting,
        /// For how long nothing is sent after each handover. Default "0 s".
        pub outage?: Duration,
        /// Time from one handover to the next.
        pub every?: Duration,
        /// The first of these; by default one period after the start of the run.
        pub first?: Duration,
        /// Instants of single handovers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub at: Vec<Duration>,
    }
}

/// What becomes of packets on the air at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnAir {
    /// They arrive by the path on which they were sent.
    #[default]
    Delivered,
    /// They are lost.
    Lost,
}

/// What becomes of packets that wait at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// They are sent by the new path.
    #[default]
    Kept,
    /// They are dropped.
    Flushed,
}

impl Timeline {
    /// Name and options of a file. A line that is drawn has the options of a file without any.
    pub(crate) fn table(&self) -> TimelineTable {
        match self {
            Timeline::Name(file) => TimelineTable { file: file.clone(), ..TimelineTable::default() },
            Timeline::Table(table) => table.clone(),
            Timeline::Drawn(_) => TimelineTable::default(),
        }
    }

    /// The name of the file, to be changed.
    pub(crate) fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            Timeline::Name(file) | Timeline::Table(TimelineTable { file, .. }) => Some(file),
            Timeline::Drawn(_) => None,
        }
    }

    /// What is drawn, if it is.
    pub(crate) fn drawn(&self) -> Option<&DrawnTimeline> {
        match self {
            Timeline::Drawn(drawn) => Some(drawn),
            _ => None,
        }
    }
}

impl<Q: Copy> Varying<Q> {
    /// The value, if there is only one.
    pub(crate) fn constant(&self) -> Option<Q> {
        match self {
            Varying::Constant(one) => Some(*one),
            Varying::Steps(_) => None,
        }
    }
}
