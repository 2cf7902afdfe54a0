//! On and off: an application that sends, is silent, and so on.

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::workload::application::{ApplicationPlan, Burst};
use crate::workload::context::TrafficContext;
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::{Length, TransferSize};

keys! {
    /// One connection on which an application sends, is silent, and so on.
    pub struct OnOff {
        /// For how long it sends as much as TCP carries. Either this or `size`.
        pub on?: Length,
        /// How much it sends at once, rounded up to whole segments. It is silent from the
        /// last acknowledgement on.
        pub size?: TransferSize,
        /// For how long it is silent.
        #[schemars(extend("x-hint" = "add e.g. off = \"5 s\" or off = { kind = \"exponential\", mean = \"5 s\" }"))]
        pub off: Length,
    }
}

impl TrafficKeys for OnOff {
    const CARRIAGE: Carriage = Carriage::Application;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        let on = match (&self.on, &self.size) {
            (Some(on), None) => {
                let length = context.lengths(on, "on")?;
                if length.is_zero() {
                    return Err(context.error("on", "must be longer than zero; write e.g. \"2 s\""));
                }
                Burst::For(length)
            }
            (None, Some(size)) => Burst::Of(context.sizes(size, "size")?),
            (Some(_), Some(_)) => {
                let message = "on says for how long it sends, size how much; leave one of them out";
                return Err(context.error("size", message));
            }
            (None, None) => {
                let message = "is missing; add e.g. on = \"2 s\", or size = \"500 kB\"";
                return Err(context.error("on", message));
            }
        };
        let off = context.lengths(&self.off, "off")?;
        Ok(TrafficPlan::Application(ApplicationPlan::OnOff { on, off }))
    }

    fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
        self.size.iter_mut().collect()
    }
}
