//! The keys of a direction's link layer: access to the channel, repeats of what is lost there, thinning of acknowledgements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::order::in_order;
use crate::scenario::units::Duration;

/// How a terminal gets the right to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = in_order::<Access>)]
pub enum Access {
    /// Demand assignment in frames of slots: the return channel of a VSAT. The rules are those of DVB-RCS2 (ETSI EN 301 545-2 section 9).
    /// At the start of each frame the terminal asks for what waits (VBDC); a slot carries the bytes that the link's rate sends in it, rounded down.
    Dama {
        /// Length of a frame.
        #[schemars(extend("examples" = ["26.5 ms"]))]
        frame: Duration,
        /// Slots of a frame, all of equal length, of which this terminal may be assigned some or all.
        #[schemars(range(min = 1, max = 10_000))]
        slots: u64,
        /// Slots of each frame that the terminal always has (CRA). Default 0.
        #[serde(default)]
        #[schemars(range(min = 0, max = 10_000))]
        cra: u64,
        /// Most slots of a frame that are assigned on request (VBDC). Default: all that `cra` leaves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0, max = 10_000))]
        vbdc: Option<u64>,
        /// Most slots of a frame that are assigned without request (FCA), of those that are left. Default 0.
        #[serde(default)]
        #[schemars(range(min = 0, max = 10_000))]
        free: u64,
        /// From the start of the frame in which the terminal asks, to the first frame that may carry what it asks for. Default: the
        /// propagation delay of both directions and one frame, in which the hub decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant_delay: Option<Duration>,
    },
}

/// Automatic repeat request of a link layer: selective repeat (RFC 3366). A packet that a loss model strikes is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = in_order::<Arq>)]
pub struct Arq {
    /// Most transmissions of a packet, the first one included.
    #[schemars(range(min = 1, max = 1_000))]
    pub tries: u32,
    /// From the end of a transmission to when its sender knows that it failed. Default: the propagation delay of both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// Does the far end hand packets on in order, and hold those behind a missing one?
    #[serde(default = "yes")]
    pub in_order: bool,
}

/// Thinning of acknowledgements that wait (ACK filtering, RFC 3449 section 5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = in_order::<AckThinning>)]
pub struct AckThinning {
    /// Plain acknowledgements of a flow that may wait; a newer one takes the place of the newest, and the oldest is dropped. Duplicates
    /// and those with SACK blocks or echoes of marks are kept.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub keep: u32,
}

impl Default for AckThinning {
    fn default() -> Self {
        Self { keep: 1 }
    }
}

fn yes() -> bool {
    true
}
