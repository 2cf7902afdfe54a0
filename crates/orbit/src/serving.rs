//! The satellite that serves a station, where a rule other than the shortest path chooses it.
//!
//! A chosen satellite is kept from one choice to the next. One that leaves the reach of the station is replaced
//! at once, by the same rule.

use crate::error::OrbitError;
use crate::horizon::Look;
use crate::request::Choose;

/// The best of the satellites in reach: the first of the highest, or of those that stay longest. `stays` says
/// until when one stays in reach, ns.
///
/// # Errors
/// A satellite without a position.
pub(crate) fn best(
    looks: &[Look],
    choose: Choose,
    mut stays: impl FnMut(usize) -> Result<f64, OrbitError>,
) -> Result<Option<Look>, OrbitError> {
    let mut best: Option<(f64, Look)> = None;
    for look in looks {
        let merit = match choose {
            Choose::LongestVisible => stays(look.index)?,
            Choose::HighestElevation | Choose::ShortestPath => look.sin_elevation,
        };
        if best.is_none_or(|(known, _)| merit > known) {
            best = Some((merit, *look));
        }
    }
    Ok(best.map(|(_, look)| look))
}

/// Steps, and the satellite that serves a station from each of them on, by index.
pub(crate) type Turns = Vec<(u64, Option<usize>)>;

/// Which satellite serves each station over time.
#[derive(Debug)]
pub(crate) struct Serving {
    /// By station.
    pub(crate) turns: Vec<Turns>,
}

impl Serving {
    /// The satellite that serves a station at a step.
    pub(crate) fn at(&self, station: usize, step: u64) -> Option<usize> {
        let turns = &self.turns[station];
        let behind = turns.partition_point(|(from, _)| *from <= step);
        behind.checked_sub(1).and_then(|last| turns[last].1)
    }
}
