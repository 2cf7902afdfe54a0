//! Short flows: a new connection for each transfer.

use std::sync::Arc;

use bentpipe_cc::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::random::Stream;
use crate::resolve::plan::{FlowPlan, Opener};
use crate::resolve::work::{MAX_FLOWS, Work};
use crate::scenario::error::{Error, Key};
use crate::workload::arrivals::poisson;
use crate::workload::kind::{Carriage, Context, TrafficKeys, TrafficPlan};
use crate::workload::laws::{Sizes, TransferSize};

/// A new connection for each transfer, at the instants of a Poisson process. The result has one row for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShortFlows {
    /// Connections a second on average. Either this or `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-6, max = 1e9), extend("examples" = [2.0]))]
    pub per_second: Option<f64>,
    /// Payload offered, as a part of the rate of the slowest link of the path (at the start, if it changes). Either this or
    /// `per_second`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-6, max = 100.0), extend("examples" = [0.3]))]
    pub load: Option<f64>,
    /// Payload of each connection.
    #[schemars(extend("x-hint" = "add e.g. size = \"100 kB\" or size = { kind = \"exponential\", mean = \"100 kB\" }"))]
    pub size: TransferSize,
}

/// A source of short flows, as far as it is the same for all its copies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShortFlowsPlan {
    often: Often,
    sizes: Sizes,
}

/// How often a connection opens on average.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Often {
    /// So many a second.
    PerSecond(f64),
    /// So that the payload is this part of the rate of the slowest link.
    Load(f64),
}

impl TrafficKeys for ShortFlows {
    const CARRIAGE: Carriage = Carriage::Connection;

    fn resolve(&self, context: &Context<'_>) -> Result<TrafficPlan, Error> {
        let sizes = context.sizes(&self.size, "size")?;
        let often = match (self.per_second, self.load) {
            (Some(rate), None) => Often::PerSecond(rate),
            (None, Some(load)) => Often::Load(load),
            (Some(_), Some(_)) => {
                let message = "load and per_second both say how often; leave one of them out";
                return Err(context.error("load", message));
            }
            (None, None) => {
                let message = "is missing; add e.g. per_second = 2.0, or load = 0.3";
                return Err(context.error("per_second", message));
            }
        };
        Ok(TrafficPlan::ShortFlows(ShortFlowsPlan { often, sizes }))
    }

    fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
        vec![&mut self.size]
    }
}

/// Start and size in bytes of each connection of a source.
type Connections = Vec<(Time, u64)>;

impl ShortFlowsPlan {
    /// Connections a second on a path whose slowest link has so many bits per second at the start.
    pub(crate) fn per_second(&self, slowest_bps: u64, context: &Context<'_>) -> Result<f64, Error> {
        let load = match self.often {
            Often::PerSecond(rate) => return Ok(rate),
            Often::Load(load) => load,
        };
        let rate = load * slowest_bps as f64 / (8.0 * self.sizes.mean());
        if rate > 0.0 && rate.is_finite() {
            return Ok(rate);
        }
        let message = if self.sizes.mean().is_infinite() {
            "the mean size has no bound, so that no rate makes this load; write per_second instead, \
             or add most to the size"
        } else {
            "the slowest link of the path has no rate at the start; write per_second instead"
        };
        Err(context.error("load", message))
    }

    /// The connections that `one`, a source called `name`, opens, so many a second on average: their starts and sizes.
    pub(crate) fn connections(
        &self,
        work: &mut Work<'_>,
        one: &FlowPlan,
        per_second: f64,
        key: &Key,
    ) -> Result<(Arc<Opener>, Connections), Error> {
        let (name, seed) = (&one.name, work.scenario.seed);
        let stream = |what: &str| Stream::new(seed, &format!("flow/{name}/{what}"));
        let late = (stream("start").uniform() * one.start_jitter.0 as f64) as u64;
        let start = Time(one.start.0.saturating_add(late));
        let end = Time(work.scenario.duration.0.0);
        let stop = one.stop;
        let until = stop.min(end);
        let expected = per_second * until.since(start).secs();
        let arrivals = match expected > 2.0 * MAX_FLOWS as f64 {
            true => Vec::new(),
            false => poisson(per_second, start, until, MAX_FLOWS as usize, &mut stream("arrivals")),
        };
        if expected > 2.0 * MAX_FLOWS as f64 || arrivals.len() > MAX_FLOWS as usize {
            let message = format!(
                "this opens about {expected:.0} connections; a run has at most {MAX_FLOWS} flows; choose fewer a second"
            );
            let given = if matches!(self.often, Often::Load(_)) { "load" } else { "per_second" };
            return Err(Context::new(work, key).error(given, message));
        }
        let mut draws = stream("size");
        let mut connections: Connections =
            arrivals.into_iter().map(|at| (at, self.sizes.draw(&mut draws))).collect();
        if connections.is_empty() {
            work.warnings.push(format!("flow {name}: it opens no connection in this run"));
            connections.push((Time(end.0.saturating_add(1)), 1)); // it never starts, and stands for the source
        }
        Ok((Arc::new(Opener { name: name.clone(), start, stop }), connections))
    }
}
