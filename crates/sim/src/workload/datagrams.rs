//! A source of datagrams: how often it sends one, and when it is silent. The running source is in
//! `host/cbr.rs`.

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::units::Duration;
use crate::workload::context::TrafficContext;
use crate::workload::laws::Lengths;

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
    /// Payload bytes of each packet, if each is a transfer whose time the report gives. `None` if none is.
    pub transfer: Option<u32>,
    /// Does the receiver send each packet back? A transfer is then complete when its echo arrives.
    pub is_echoed: bool,
}

/// How often a source sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At this number of bits per second on the wire.
    Rate(u64),
    /// At this interval.
    Interval(Span),
}

impl Pace {
    /// The time between two packets of `packet` bytes: nanoseconds, to be divided by the second number.
    pub(crate) fn interval(self, packet: u32) -> (u64, u64) {
        match self {
            Pace::Rate(bps) => (u64::from(packet) * 8 * 1_000_000_000, bps.max(1)),
            Pace::Interval(interval) => (interval.0, 1),
        }
    }
}

impl CbrPlan {
    /// The plan, if its on-periods, of key `name`, are long enough.
    ///
    /// # Errors
    /// Random lengths that are mostly too short for a packet.
    pub(super) fn checked(self, name: &str, context: &TrafficContext<'_>) -> Result<Self, Error> {
        let (work, rate) = self.pace.interval(self.packet);
        let drawn = !matches!((&self.on, &self.off), (Lengths::Fixed(_), Lengths::Fixed(_)));
        if drawn && self.on.mean() < Span(work / rate) {
            let (mean, interval) = (Duration(self.on.mean()), Duration(Span(work / rate)));
            let message = format!("{mean} is shorter than the time between two packets, {interval}");
            return Err(context.error(name, message));
        }
        Ok(self)
    }
}
