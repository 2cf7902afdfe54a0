//! Constant bit rate: packets without TCP that answer to nothing.

use bentpipe_cc::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::error::Error;
use crate::scenario::units::{BitRate, Duration, Size};
use crate::workload::kind::{Carriage, Context, TrafficKeys, TrafficPlan};

const PACKET: Size = Size(1_000);

/// Unresponsive traffic at a constant bit rate, without TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Bits per second on the wire while on.
    #[schemars(extend("examples" = ["1 Mbit/s"]))]
    pub rate: BitRate,
    /// Size of each packet on the wire. Default "1000 bytes".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Size>,
    /// Length of a period of sending; without it, there is no pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Duration>,
    /// Length of the pause after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Duration>,
}

/// Packets at a constant rate that does not react to the network: on for `on`, then off for `off`, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct CbrPlan {
    /// Bits per second on the wire while on.
    pub rate_bps: u64,
    /// Bytes on the wire of each packet.
    pub packet: u32,
    /// Length of an on-period; `Span::MAX` for always.
    pub on: Span,
    /// Length of an off-period.
    pub off: Span,
}

impl TrafficKeys for Cbr {
    const CARRIAGE: Carriage = Carriage::Datagrams;

    fn resolve(&self, context: &Context<'_>) -> Result<TrafficPlan, Error> {
        let rate_bps = context.work.rate(self.rate, &context.key.with("rate"))?;
        let (on, off) = match (self.on, self.off) {
            (None, None) => (Span::MAX, Span::ZERO),
            (Some(on), Some(off)) if on.0 > Span::ZERO => (on.0, off.0),
            (Some(_), Some(_)) => {
                return Err(context.error("on", "must be longer than zero; write e.g. \"30 s\""));
            }
            (Some(_), None) => {
                let message = "is missing; on and off go together: add e.g. off = \"30 s\"";
                return Err(context.error("off", message));
            }
            (None, Some(_)) => {
                let message = "is missing; on and off go together: add e.g. on = \"30 s\"";
                return Err(context.error("on", message));
            }
        };
        let packet = context.packet_size(self.packet.unwrap_or(PACKET), "packet")?;
        Ok(TrafficPlan::Datagrams(CbrPlan { rate_bps, packet, on, off }))
    }

    fn write_out(&mut self) {
        self.packet.get_or_insert(PACKET);
    }
}
