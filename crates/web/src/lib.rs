//! The simulator for a page in a browser: a scenario as text goes in, JSON and columns of numbers come out.
//!
//! [`exports`] has the functions that a page calls. They pass bytes through one buffer each way, so that no
//! generated glue is needed. The others are ordinary Rust, and tests call them on any machine: [`answer`]
//! runs a scenario, [`edit`] changes and removes values in its text and keeps the rest, [`files`] holds the
//! files that scenarios name, [`own`] calls the controllers that the page has, [`play`] plays a run packet by
//! packet, [`save`] makes files of a run, and [`bits`] turns a run into text that is equal for equal runs.
//!
//! `make web` compiles it for `wasm32-unknown-unknown` and puts it into one HTML file
//! (`python/bentpipe/web`).

pub mod answer;
pub mod bits;
pub mod edit;
pub mod exports;
pub mod files;
pub mod given;
mod outline;
pub mod own;
pub mod play;
mod removal;
pub mod save;
