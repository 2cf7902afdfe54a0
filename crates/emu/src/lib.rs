//! A simulated link against the wall clock, under real programs.
//!
//! A [`Network`] has *ends* and *links between ends*. An end is a network namespace without a name, kept by a
//! file descriptor: when the process is gone, so is the namespace, however the process ended. A [`Link`]
//! joins two ends by a TUN device in each. What the kernel sends into the device of one end is read here,
//! crosses the simulator's own directions ([`bentpipe_sim::link::Direction`]: same queues, losses and time
//! lines) with the wall clock in the place of simulated time, and is written to the device of the other end.
//!
//! Link `i` has the networks 10.77.`i`.0/24 and fd77:0:0:`i`::/64; `.1` and `::1` are its near end,
//! `.2` and `::2` its far end. So the usual emulation is two ends and one link, and a relay is an end
//! of its own between two links:
//!
//! ```text
//! near 10.77.0.1 == link 0 == 10.77.0.2 far
//! near 10.77.0.1 == link 0 == 10.77.0.2 relay 10.77.1.1 == link 1 == 10.77.1.2 far
//! ```
//!
//! Further flows of a scenario have further addresses at the far end ([`Network::flow_addresses`]), because
//! each has its own access delay.
//!
//! The parts, from the inside out: [`Chain`] is a series of directions and the packets in them, without clock
//! and device, so that it can be driven by a test; `route` says which directions a packet crosses.
//! `forwarder` is the thread that does it by the clock (`clock`), and measures its lateness. `ip`,
//! `packet_store` and `capture` have the properties of a real packet that a direction may use: its size, its
//! ECN field, its flow. `device` and `namespace` speak to the kernel, and `relay` splits connections in a
//! third namespace between two links. [`Network`] holds all together and is what a caller uses. Time is
//! `CLOCK_MONOTONIC` since [`Network::start`].
//!
//! Needs CAP_NET_ADMIN, CAP_SYS_ADMIN (for namespaces) and /dev/net/tun.

#![cfg(target_os = "linux")]

mod capture;
mod chain;
mod clock;
mod counters;
mod device;
mod error;
mod forwarder;
mod ip;
mod namespace;
mod netlink;
mod network;
mod outside;
mod packet_store;
pub mod relay;
mod route;
mod routing;
mod status;
mod system_call;

pub use chain::{Chain, Delivery, HopCounts};
pub use error::EmulationError;
pub use network::{Link, Network, Record};
pub use route::{Hop, Packets, Route, route_of};
pub use status::{HopStatus, Lateness, LinkStatus, WayStatus};
