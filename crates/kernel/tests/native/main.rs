//! The native programs against the Rust controllers: fed the same, their windows stay within
//! a segment at every step.

mod kernel_view;
mod recorded;
mod simulated;
mod stream;
mod twin;
