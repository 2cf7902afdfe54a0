//! Constant bit rate: packets without TCP that answer to nothing.

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{BitRate, Size};
use crate::workload::context::TrafficContext;
use crate::workload::datagrams::{CbrPlan, Pace};
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::{Length, Lengths};

const PACKET: Size = Size(1_000);

keys! {
    /// Unresponsive traffic at a constant bit rate, without TCP.
    pub struct Cbr {
        /// Bits per second on the wire while on.
        #[schemars(extend("examples" = ["1 Mbit/s"]))]
        pub rate: BitRate,
        /// Size of each packet on the wire. Default "1000 bytes".
        pub packet?: Size,
        /// Length of a period of sending; without it, there is no pause.
        pub on?: Length,
        /// Length of the pause after it.
        pub off?: Length,
    }
}

impl TrafficKeys for Cbr {
    const CARRIAGE: Carriage = Carriage::Datagrams;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        let rate_bps = self.rate.of_link().map_err(|message| context.error("rate", message))?;
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
        CbrPlan { packet, pace: Pace::Rate(rate_bps), on, off, transfer: None, is_echoed: false }
            .checked("on", context)
            .map(TrafficPlan::Datagrams)
    }

    fn write_out(&mut self) {
        self.packet.get_or_insert(PACKET);
    }
}
