//! One direction of a link and its stages: queue, transmitter, channel, flight.
//!
//! A GEO link by hand, without engine, TCP or scenario:
//!
//! ```
//! use bentpipe_cc::{Span, Time};
//! use bentpipe_sim::link::{Class, Direction, Fate, Packet, Push, Refusal};
//! use bentpipe_sim::plan::{DirectionPlan, LossPlan, LossTracePlan, QueueLimit};
//!
//! let plan = DirectionPlan {
//!     loss: vec![LossPlan::LossTrace(LossTracePlan { lost: [1].into() })],
//!     ..DirectionPlan::plain(12_000_000, Span::from_millis(250), QueueLimit::Packets(2))
//! };
//! let mut direction = Direction::new(&plan, 1, "geo/forward");
//!
//! // Four packets of 1500 bytes at once, each with a number under which we keep its bytes. One is sent at once, two wait.
//! let pushed = [10, 11, 12, 13].map(|handle| direction.push(Time(0), Packet::new(1500, handle), Class::default()));
//! assert_eq!(pushed, [Push::Taken, Push::Lost, Push::Taken, Push::Dropped(Refusal::Full)]);
//!
//! // Each takes 1 ms to send and 250 ms to arrive. The second of them is in error.
//! let mut out = Vec::new();
//! while let Some(at) = direction.next() {
//!     let (packet, fate) = direction.pop(at).expect("something comes out when the direction says so");
//!     out.push((at.0 / 1_000_000, packet.handle(), fate));
//! }
//! assert_eq!(out, [(251, 10, Fate::Delivered), (252, 11, Fate::Lost), (253, 12, Fate::Delivered)]);
//!
//! // What a short cut may rely on: nothing comes out earlier or closer; with losses there is no constant time in transit.
//! let promises = direction.promises(1500);
//! assert!(promises.in_order && promises.constant.is_none());
//! assert_eq!((promises.least_delay, promises.least_gap), (Span::from_millis(250), Span::from_millis(1)));
//! ```

pub(crate) mod air;
pub(crate) mod arq;
mod arrival_queue;
mod backlog;
mod channel;
mod contract;
mod counted_queue;
mod counts;
pub(crate) mod departure_log;
mod departures;
pub(crate) mod direction;
mod equal_packets;
mod flight;
pub(crate) mod flushes;
mod foreseen;
pub(crate) mod headers;
pub(crate) mod ledger;
pub(crate) mod packet;
pub(crate) mod random;
mod slots;
mod stages;
pub(crate) mod time_line;
mod transmitter;
pub(crate) mod under_way;
mod varying_rate;

pub use crate::queue::Class;
pub(crate) use direction::Transit;
pub use direction::{Direction, Fate, Promises, Push, Refusal};
pub use packet::{Ecn, Packet};
