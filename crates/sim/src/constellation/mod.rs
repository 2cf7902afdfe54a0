//! A whole constellation: satellites and ground stations as nodes, and packets that find their way from node to
//! node by tables that change.
//!
//! [`Constellation`] is what orbits give: where every node is, and the tables of next hops over time.
//! [`NetworkPlan`] adds what a scenario gives: the rates and queues of the ports. `Forwarding` is its state in a
//! run. The rules are those of Hypatia (Kassing et al., IMC 2020), as its programs have them:
//!
//! - Every laser has a port of its own at each end. A satellite has one port for all of its ground links, and a
//!   station has one for all of its satellites. A port is a queue and a transmitter; receiving is unlimited.
//! - The next hop of a packet is looked up once at each node, when the packet arrives there. Later changes of
//!   the table do not move it.
//! - The propagation delay is the distance of both nodes, at the instant at which the transmission begins, over
//!   the speed of light.
//! - A packet without a next hop is dropped.
//!
//! The second of these changes with the rules of a scenario (`plan.rs`, `handovers.rs`): packets may look up their next
//! hop again when their transmission begins, or when a station leaves a satellite, and stations may be silent then.
//!
//! What Hypatia does not have: satellites, lasers and stations may fail. A packet is lost if one of them that it needs
//! fails between the begin of its transmission and its arrival.

mod forwarding;
mod handovers;
mod knots;
mod plan;
mod source;

pub(crate) use forwarding::{Forwarding, Onward, Propagation, ROUTED, node_of};
pub(crate) use knots::LIGHT_KM_PER_NS;
pub use knots::{Knots, MARGIN};
pub use plan::{NetworkPlan, Port, Rules};
pub use source::{Changes, Constellation, ConstellationSource, Failed, make_constellations_by};
pub(crate) use source::{NextHops, constellation};
