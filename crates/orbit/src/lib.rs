//! Satellites in motion: where they are, which of them a point on the ground reaches, and how long light
//! takes from one point to another.
//!
//! Satellites come from TLE or OMM ([`elements`]) or from a Walker shell ([`shell`], named ones in
//! [`shells`]). SGP4 propagates them (crate `sgp4`, constants of WGS 72), and [`ephemeris`] interpolates by a
//! polynomial through six positions, within half a metre. The files `earth` and `ground` have ellipsoid,
//! sidereal time, and points that stay or move along great circles. [`horizon`] lists the satellites in
//! reach, and skips a distant one until it can be near. [`lasers`] finds the shortest way over +grid, by A*
//! with the straight line as bound. `request` has the keys of a request, `setting` their meaning. [`path()`]
//! makes a table over time, `snapshot` a map at one instant. [`network()`] makes the forwarding tables of a whole
//! constellation, by trees of shortest paths that follow the satellites (`trees`), and [`Knots`] for a simulator that
//! works out delays between them.
//!
//! All sines, cosines and roots here are those of `libm`. The crate `sgp4` takes its own by `num-traits`:
//! those of `libm` too, unless another crate of the build switches on `num-traits/std`. NumPy's bindings do,
//! so in the Python extension SGP4 uses the platform's. Positions may then differ between machines by some
//! nanometres; times are rounded to whole nanoseconds (30 cm), which hides that but for chance. With glibc
//! and with `libm`, 80,000 rows over four shells were the same to the last bit.

pub mod earth;
pub mod elements;
pub mod ephemeris;
mod error;
mod failures;
pub mod ground;
pub mod horizon;
mod knots;
pub mod lasers;
mod network;
mod path;
pub mod request;
pub mod satellites;
mod serving;
mod setting;
pub mod shell;
pub mod shells;
mod snapshot;
mod tables;
mod trees;

pub use error::OrbitError;
pub use failures::{Failed, FailedPart, Failure, Population};
pub use knots::Knots;
pub use network::{Network, NetworkRequest, Route, network};
pub use path::{Columns, Timetable, path};
pub use request::Request;
pub use snapshot::{Snapshot, snapshot};
pub use tables::{PathChanges, TableChanges};
