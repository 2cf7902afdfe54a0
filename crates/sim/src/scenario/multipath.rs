//! Keys of connections over several paths.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::controller::Cc;

/// A further subflow of a connection (Multipath TCP, RFC 8684).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubflowKeys {
    /// What its data crosses, in order and named as in the path of the flow.
    #[schemars(extend("examples" = [["leo"]]))]
    pub path: Vec<String>,
    /// What its acknowledgements cross, where they do not return over the opposite directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_path: Option<Vec<String>>,
    /// Its congestion controller. Default: that of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<Cc>,
}

/// Which subflow sends the next segment, of those whose windows have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The one with the smallest smoothed round-trip time (the default of Linux).
    #[default]
    MinRtt,
    /// Each in turn.
    RoundRobin,
}
