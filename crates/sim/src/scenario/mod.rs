//! What a user writes: the keys of a scenario, their units, how they are read, and messages about mistakes.

mod build;
mod controller;
mod document;
mod flow;
mod link_layer;
pub(crate) mod mender;
pub(crate) mod mistakes;
mod moving;
pub(crate) mod names;
mod network;
mod one_or_many;
pub(crate) mod random;
pub(crate) mod read;
pub(crate) mod schema;
mod synonyms;
mod syntax;
pub(crate) mod text;

pub use controller::*;
pub use document::*;
pub use flow::*;
pub use link_layer::*;
pub use network::*;
pub use read::{SWEEP_KEYS, ScenarioText};
pub use schema::schema;
pub use text::key_parts;
