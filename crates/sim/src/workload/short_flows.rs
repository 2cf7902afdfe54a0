//! Short flows: a new connection for each transfer.

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::workload::arrivals::{Often, ShortFlowsPlan};
use crate::workload::context::TrafficContext;
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::TransferSize;

keys! {
    /// A new connection for each transfer, at the instants of a Poisson process. The
    /// result has one row for all.
    pub struct ShortFlows {
        /// Connections a second on average. Either this or `load`.
        #[schemars(range(min = 1e-6, max = 1e9), extend("examples" = [2.0]))]
        pub per_second?: f64,
        /// Payload offered, as a part of the rate of the slowest link of the path (at the start, if it
        /// changes). Either this or `per_second`.
        #[schemars(range(min = 1e-6, max = 100.0), extend("examples" = [0.3]))]
        pub load?: f64,
        /// Payload of each connection.
        #[schemars(extend("x-hint" = "add e.g. size = \"100 kB\" or size = { kind = \"exponential\", mean = \"100 kB\" }"))]
        pub size: TransferSize,
    }
}

impl TrafficKeys for ShortFlows {
    const CARRIAGE: Carriage = Carriage::Connection;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
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
