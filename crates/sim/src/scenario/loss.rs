//! The keys of a loss model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::order::in_order;
use crate::scenario::units::Duration;

/// A loss model of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = in_order::<Loss>)]
pub enum Loss {
    /// Each packet is lost with probability `rate`, independently of the others.
    PacketError {
        /// Packet error rate.
        #[schemars(range(min = 0.0, max = 1.0))]
        rate: f64,
    },
    /// Each bit is in error with probability `rate`. A packet with an error is lost: one of n bits with probability 1 - (1 - `rate`)^n.
    BitError {
        /// Bit error rate.
        #[schemars(range(min = 0.0, max = 1.0))]
        rate: f64,
    },
    /// A channel with a good and a bad state, which may change with each packet (Gilbert 1960, Elliott 1963).
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
    /// The packets whose numbers a file lists are lost.
    Trace {
        /// Text file with one number per line, counted from 0 in this direction; empty lines and what follows
        /// `#` are skipped. A relative name starts from the directory of the scenario file.
        file: String,
    },
}

fn certain() -> f64 {
    1.0
}
