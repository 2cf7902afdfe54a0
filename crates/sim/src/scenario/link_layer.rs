//! The keys of a direction's link layer besides its access to the channel: repeats of what is lost there,
//! thinning of acknowledgements.

use crate::keys::order::in_order;
use crate::keys::table::keys;
use crate::keys::units::Duration;

keys! {
    /// Automatic repeat request of a link layer: selective repeat (RFC 3366). A packet that a loss
    /// model strikes is sent again.
    #[derive(Copy, Eq)]
    #[schemars(transform = in_order::<Arq>)]
    pub struct Arq {
        /// Most transmissions of a packet, the first one included.
        #[schemars(range(min = 1, max = 1_000))]
        pub tries: u32,
        /// From the end of a transmission to when its sender knows that it failed. Default: the propagation
        /// delay of both directions.
        pub round_trip?: Duration,
        /// Does the far end hand packets on in order, and hold those behind a missing one?
        #[serde(default = "yes")]
        pub in_order: bool,
    }

    /// Thinning of acknowledgements that wait (ACK filtering, RFC 3449 section 5.2.1).
    #[derive(Copy, Eq)]
    #[schemars(transform = in_order::<AckThinning>)]
    pub struct AckThinning {
        /// Plain acknowledgements of a flow that may wait; a newer one takes the place of the newest, and the
        /// oldest is dropped. Duplicates and those with SACK blocks or echoes of marks are kept.
        #[schemars(range(min = 1, max = 1_000_000))]
        pub keep: u32 = 1,
    }
}

fn yes() -> bool {
    true
}
