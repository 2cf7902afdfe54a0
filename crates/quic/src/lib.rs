//! Controllers of `bentpipe-cc` under QUIC: each algorithm of the registry is one of quinn's.
//!
//! [`Algorithm`] is a `ControllerFactory` of [quinn](https://docs.rs/quinn): give it to a `TransportConfig`.
//! [`carried`] lists what the trait cannot carry, algorithm by algorithm; `docs/quic.md` shows it as a table.

mod algorithm;
pub mod carried;
#[cfg(any(test, feature = "tools"))]
mod certificate;
#[cfg(test)]
mod cubics;
mod datapath;
mod delivery;
#[cfg(any(test, feature = "tools"))]
mod pattern;
#[cfg(feature = "tools")]
pub mod program;
mod quinn_controller;
mod round_trip;
#[cfg(any(test, feature = "tools"))]
pub mod simulation;
#[cfg(any(test, feature = "tools"))]
mod transport;

pub use algorithm::Algorithm;
pub use quinn_controller::QuinnController;
