//! The keys of explicit congestion notification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
