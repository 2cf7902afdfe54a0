//! Hints: what the host of a sender may learn about its path.
//!
//! An end learns that its path changes hands in several ways. In SaTCP (INFOCOM 2023) the terminal foresees it and
//! informs the operating system; in LeoCC (SIGCOMM 2025) an end finds it by probes to the first hop behind the
//! satellite. The Internet draft draft-lai-ccwg-lsncc-01 (2026) calls the event a path phase boundary and leaves
//! open how an end learns of it.
//!
//! A modem that changes its modulation with the weather (DVB-S2X, ETSI EN 302 307-2) knows its rate before
//! and after. It may report the rate to the host beside it, as a radio does by DLEP (RFC 8175, Current Data
//! Rate). A sender without this report finds a lower rate by the loss of what its window holds too much, and
//! a higher one by growth.
//!
//! The same modem knows how many bits it gets wrong. HSWA-TCP (Ge, Li and Reichert, section III) takes the link
//! condition p from its link layer and calls it a variable.

use alloc::vec;
use alloc::vec::Vec;

use crate::time::{Rate, Span, Time};

/// What the host of a sender learns about the path. A controller may use a hint or, as by default, continue
/// as if there had been none. Unless set otherwise, a sender gives hints only to controllers that
/// [need](crate::Needs::hint) them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hint {
    /// The path changes hands.
    PathChange(PathChange),
    /// The rate of the path changes. Only given if the scenario says so.
    RateChange(RateChange),
    /// The errors of the path of the data change.
    LinkQuality(LinkQuality),
}

impl Hint {
    /// The methods of a controller outside Rust that take hints, in the order of the kinds.
    pub const METHODS: [&str; 3] = ["on_path_change", "on_rate_change", "on_link_quality"];

    /// The place of its method in [`Hint::METHODS`], and its values with their names, as a controller outside Rust
    /// receives them: seconds, bytes per second, shares.
    pub fn call(&self) -> (usize, Vec<(&'static str, f64)>) {
        match self {
            Hint::PathChange(change) => {
                (0, vec![("ahead_s", change.ahead.secs()), ("dark_s", change.dark.secs())])
            }
            Hint::RateChange(change) => {
                let (before, after) = (change.from.0 as f64, change.to.0 as f64);
                (1, vec![("ahead_s", change.ahead.secs()), ("before", before), ("after", after)])
            }
            Hint::LinkQuality(quality) => {
                (2, vec![("ahead_s", quality.ahead.secs()), ("bit_error_rate", quality.bit_error_rate)])
            }
        }
    }
}

/// What is known about a path that changes hands: another satellite, gateway or route. Segments sent before
/// cross the old path.
///
/// The host next to the satellite terminal can know it: the terminal follows the schedule of its satellites
/// and may inform the operating system. A host at the other end learns of it later or not at all. How the new
/// path differs is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathChange {
    /// How long it is until the change; zero if it has just happened, or has happened before.
    pub ahead: Span,
    /// How long nothing passes from the change on, or still from now on if the change is past; zero also if
    /// that is not known.
    pub dark: Span,
}

impl PathChange {
    /// When the new path begins to carry packets, as far as is known at `now`.
    pub fn passes_at(&self, now: Time) -> Time {
        now + self.ahead + self.dark
    }
}

/// What is known about a path whose rate changes: the rate of its slowest link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// How long it is until the change; zero if it has just happened, or has happened before.
    pub ahead: Span,
    /// The rate until then.
    pub from: Rate,
    /// The rate from then on.
    pub to: Rate,
}

/// What is known about a path whose errors change: their rate, as the link layer measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkQuality {
    /// How long it is until the change; zero if it has just happened, or has happened before.
    pub ahead: Span,
    /// The share of bits in error from then on, from 0 to 1. A packet error rate counts as the bit error rate with
    /// the same effect.
    pub bit_error_rate: f64,
}

impl RateChange {
    /// The share of a window that fits the path after the change: less than 1 if the rate falls, and 1
    /// otherwise, since nobody has promised the new room to this flow.
    pub fn share(&self) -> f64 {
        (self.to.0 as f64 / self.from.0.max(1) as f64).min(1.0)
    }
}
