//! Bulk data: a transfer that always has data to send.

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::Size;
use crate::workload::context::TrafficContext;
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};

keys! {
    /// A transfer that always has data to send: without end, or `size` of it.
    #[derive(Default)]
    pub struct Bulk {
        /// Payload to transfer; without it, there is no end.
        pub size?: Size,
    }
}

impl TrafficKeys for Bulk {
    const CARRIAGE: Carriage = Carriage::Connection;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        if self.size == Some(Size(0)) {
            let message = "there is nothing to send; write e.g. \"10 MB\", or leave size out for no end";
            return Err(context.error("size", message));
        }
        Ok(TrafficPlan::Bulk(self.size.map(|size| size.0)))
    }
}
