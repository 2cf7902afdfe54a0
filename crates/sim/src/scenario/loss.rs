//! The keys of a loss model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::units::Duration;

/// A loss model of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Each packet is lost with this probability.
    PacketError {
        /// Packet error rate.
        #[schemars(range(min = 0.0, max = 1.0))]
        rate: f64,
    },
    /// Each bit is in error with this probability, and a packet with an error is lost.
    BitError {
        /// Bit error rate.
        #[schemars(range(min = 0.0, max = 1.0))]
        rate: f64,
    },
    /// Bursts: a chain of two states, stepped once per packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of going from good to bad.
        #[schemars(range(min = 0.0, max = 1.0))]
        p: f64,
        /// Probability of going from bad to good.
        #[schemars(range(min = 0.0, max = 1.0))]
        r: f64,
        /// Loss probability in the good state.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        good_loss: f64,
        /// Loss probability in the bad state.
        #[serde(default = "certain")]
        #[schemars(range(min = 0.0, max = 1.0))]
        bad_loss: f64,
    },
    /// All packets sent in an interval are lost: once (`from`, `to`), or again and again (`every`, `length`).
    Outage {
        /// Start of a single outage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Duration>,
        /// End of a single outage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Duration>,
        /// Time from the start of one outage to the start of the next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Duration>,
        /// Length of each repeated outage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<Duration>,
        /// Start of the first repeated outage; by default one period after the start of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<Duration>,
    },
    /// The packets whose numbers stand in a file are lost.
    Trace {
        /// Text file with one number per line, counted from 0 in this direction; empty lines and what follows
        /// `#` are skipped. A relative name starts from the directory of the scenario file.
        file: String,
    },
}

fn certain() -> f64 {
    1.0
}
