//! Constant bit rate: packets without TCP that answer to nothing.

use bentpipe_cc::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::error::Error;
use crate::scenario::units::{BitRate, Duration, Size};
use crate::workload::kind::{Carriage, Context, TrafficKeys, TrafficPlan};
use crate::workload::laws::{Length, Lengths};

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
    pub on: Option<Length>,
    /// Length of the pause after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Length>,
}

/// Packets at a constant rate that does not react to the network: on for `on`, then off for `off`, and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct CbrPlan {
    /// Bytes on the wire of each packet.
    pub packet: u32,
    /// How often a packet is sent while on.
    pub pace: Pace,
    /// Lengths of on-periods; `Span::MAX` for always.
    pub on: Lengths,
    /// Lengths of off-periods.
    pub off: Lengths,
    /// Payload bytes of each packet if each is a transfer, of which the report tells how long it took. `None` if none is.
    pub transfer: Option<u32>,
}

/// How often a source sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At so many bits per second on the wire.
    Rate(u64),
    /// At this interval.
    Interval(Span),
}

impl Pace {
    /// The time between two packets of so many bytes: nanoseconds, to be divided by the second number.
    pub(crate) fn interval(self, packet: u32) -> (u64, u64) {
        match self {
            Pace::Rate(bps) => (u64::from(packet) * 8 * 1_000_000_000, bps.max(1)),
            Pace::Interval(interval) => (interval.0, 1),
        }
    }
}

impl CbrPlan {
    /// Refuses on-periods, of key `name`, whose random lengths are mostly too short for a packet.
    pub(super) fn check(self, name: &str, context: &Context<'_>) -> Result<TrafficPlan, Error> {
        let (work, rate) = self.pace.interval(self.packet);
        let drawn = !matches!((&self.on, &self.off), (Lengths::Fixed(_), Lengths::Fixed(_)));
        if drawn && self.on.mean() < Span(work / rate) {
            let (mean, interval) = (Duration(self.on.mean()), Duration(Span(work / rate)));
            let message = format!("{mean} is shorter than the time between two packets, {interval}");
            return Err(context.error(name, message));
        }
        Ok(TrafficPlan::Datagrams(self))
    }
}

impl TrafficKeys for Cbr {
    const CARRIAGE: Carriage = Carriage::Datagrams;

    fn resolve(&self, context: &Context<'_>) -> Result<TrafficPlan, Error> {
        let rate_bps = context.work.rate(self.rate, &context.key.with("rate"))?;
        let (on, off) = match (&self.on, &self.off) {
            (None, None) => (Lengths::Fixed(Span::MAX), Lengths::Fixed(Span::ZERO)),
            (Some(on), Some(off)) => (context.lengths(on, "on")?, context.lengths(off, "off")?),
            (Some(_), None) => {
                let message = "is missing; on and off go together: add e.g. off = \"30 s\"";
                return Err(context.error("off", message));
            }
            (None, Some(_)) => {
                let message = "is missing; on and off go together: add e.g. on = \"30 s\"";
                return Err(context.error("on", message));
            }
        };
        if on.is_zero() {
            return Err(context.error("on", "must be longer than zero; write e.g. \"30 s\""));
        }
        let packet = context.packet_size(self.packet.unwrap_or(PACKET), "packet")?;
        CbrPlan { packet, pace: Pace::Rate(rate_bps), on, off, transfer: None }.check("on", context)
    }

    fn write_out(&mut self) {
        self.packet.get_or_insert(PACKET);
    }
}
