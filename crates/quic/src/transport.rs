//! The options of quinn's transport that both the program and the simulation use.

use std::time::Duration;

use quinn_proto::{TransportConfig, VarInt};

/// Room for what is under way: 64 MiB, enough for 1 Gbit/s at 500 ms.
const ROOM: u32 = 1 << 26;
/// A connection lives through outages of this length.
const PATIENCE: Duration = Duration::from_secs(120);

/// quinn's defaults, but for windows that fit a satellite link and patience for its outages.
pub(crate) fn config() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(VarInt::from_u32(ROOM))
        .receive_window(VarInt::from_u32(ROOM))
        .send_window(u64::from(ROOM))
        .max_idle_timeout(Some(PATIENCE.try_into().expect("fits a variable-length integer")));
    config
}
