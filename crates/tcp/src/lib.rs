//! TCP sender and receiver as state machines without input or output.
//!
//! Inputs are segments and the current time; outputs are segments to send and the next deadline. Sequence
//! numbers count full segments from 0, so that a window of 50,000 packets costs as much as a window of 50.

mod accurate_ecn;
mod bits;
mod handshake;
mod limits;
mod options;
mod prr;
mod rack;
mod receiver;
mod recovery;
mod rto;
mod sack_option;
mod scoreboard;
mod segment;
mod sender;
mod snack;
mod spurious;
mod tlp;

pub use handshake::{Active, Control, Opened, Passive, Signal};
pub use limits::{Limit, Limits};
pub use options::choices::*;
pub use options::{Need, OptionValue, Options, Reading, choices};
pub use receiver::Receiver;
pub use sack_option::{SackOption, unwrap};
pub use segment::{AckSegment, BareAck, Block, Data, MAX_BLOCKS, MarkCounts, Sack};
pub use sender::{Counters, MAX_OUTSTANDING, Sender, ShortSegmentSent};
pub use snack::{MAX_VECTOR, Snack, size as snack_size};
