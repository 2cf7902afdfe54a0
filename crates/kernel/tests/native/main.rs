//! The native programs against the Rust controllers: fed the same, their windows stay within a segment at every step.

mod simulated;
mod twin;
