//! Event loops that give the same result. `reference.rs` defines what a run means: an event for each packet at
//! each direction. `fast_path` takes every short cut that the promises of the directions allow. `routed.rs` is
//! the fast path of constellations, where a packet finds its way from node to node.

mod access_delays;
pub(crate) mod audit;
mod calendar;
mod classes;
mod connections;
mod error;
mod event_queue;
mod fast_path;
mod hints;
mod hosts;
mod mail;
pub(crate) mod many;
mod memory_bound;
mod multipath;
pub(crate) mod network;
pub(crate) mod played;
mod ports;
mod reference;
mod relations;
mod routed;
pub(crate) mod stepped;
mod threads;

use bentpipe_cc::{Controller, Span, Start};

use crate::capture::pcap::{Capture, Place};
use crate::capture::tap::Tap;
use crate::record::Outcome;
use crate::resolve::plan::Plan;
pub use error::RunError;
use fast_path::{BatchSizes, FastPath};
use network::Network;
pub use network::{EVENTS_PER_LOOK, LOOKS_PER_COUNT, Supply, Watch};
use reference::Reference;
use routed::Routed;

/// Runs `plan` to its end.
///
/// # Errors
/// A controller that cannot be built, `watch` returning false, or a law broken by a bug.
pub fn run(plan: &Plan, supply: &mut Supply<'_>, watch: &mut Watch<'_>) -> Result<Outcome, RunError> {
    run_captured(plan, None, supply, watch)
}

/// As [`run`], on up to `threads` threads, 0: one per core, with the same bits. A run uses one thread if its plan has no constellation,
/// if its parts share more than packets (flows of one connection, controllers from outside, rows at every change), or
/// if several threads would be no faster.
///
/// # Errors
/// As for [`run`].
pub fn run_on_threads(
    plan: &Plan,
    threads: usize,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, RunError> {
    if let Some(cut) = threads::Cut::find(plan, threads)
        && let Some(network) = threads::run(plan, &cut, watch)?
    {
        return network.finish(plan);
    }
    run(plan, supply, watch)
}

/// As [`run`], and writes the packets to a file if `capture` names one.
///
/// # Errors
/// As for [`run`], and a capture that is not possible. A run that fails leaves no file.
pub fn run_captured(
    plan: &Plan,
    capture: Option<&Capture>,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, RunError> {
    let tap = Tap::new(plan, capture)?;
    run_under_tap(plan, tap, BatchSizes::default(), supply, watch).map(|(outcome, _)| outcome)
}

/// Runs `plan`, and returns the headers of its packets as a capture in memory, with `most` bytes at the most.
/// They are the bytes that [`run_captured`] writes.
///
/// # Errors
/// As for [`run_captured`].
pub fn capture_in_memory(
    plan: &Plan,
    at: &Place,
    most: usize,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Vec<u8>, RunError> {
    let tap = Tap::in_memory(plan, at, most)?;
    run_under_tap(plan, Some(tap), BatchSizes::default(), supply, watch).map(|(_, bytes)| bytes)
}

/// Runs `plan` under the eyes of a tap. Returns the bytes that it has captured in memory, too.
fn run_under_tap(
    plan: &Plan,
    tap: Option<Box<Tap>>,
    sizes: BatchSizes,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<(Outcome, Vec<u8>), RunError> {
    let network = Network::new(plan, tap, supply, watch)?;
    let mut network = match fast_path::eligibility(plan, &network) {
        Some(eligible) => FastPath::new(plan, network, eligible, sizes).run(watch)?,
        None if plan.network.is_some() => Routed::new(plan, network).run(watch)?,
        None => Reference::new(plan, network).run(watch)?,
    };
    if network.tap.as_ref().is_some_and(|tap| tap.captures()) && !watch(1.0) {
        return Err(RunError::Interrupted); // a controller may have failed since the last look
    }
    let bytes = network.tap.as_mut().map_or_else(Vec::new, |tap| tap.bytes());
    Ok((network.finish(plan)?, bytes))
}

/// As [`run`], with batches of at most `most` packets on every route where `least` packets are expected to
/// meet.
///
/// # Errors
/// As for [`run`].
#[doc(hidden)]
pub fn run_in_batches(
    plan: &Plan,
    (least, most): (f64, usize),
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, RunError> {
    let sizes = BatchSizes { least, most };
    run_under_tap(plan, Tap::new(plan, None)?, sizes, supply, watch).map(|(outcome, _)| outcome)
}

/// As [`run`], on `parts` threads to which nodes are dealt in turn, in windows of this length. `None` if the plan is
/// for one thread, or if the windows are too long for it.
///
/// # Errors
/// As for [`run`].
#[doc(hidden)]
pub fn run_in_parts(plan: &Plan, parts: usize, window: Span) -> Result<Option<Outcome>, RunError> {
    let Some(cut) = threads::Cut::in_turn(plan, parts, window) else { return Ok(None) };
    threads::run(plan, &cut, &mut |_| true)?.map(|network| network.finish(plan)).transpose()
}

/// As [`run`], by the reference loop: an event for each packet at each direction.
///
/// # Errors
/// As for [`run`].
#[doc(hidden)]
pub fn run_by_reference(
    plan: &Plan,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, RunError> {
    Reference::new(plan, Network::new(plan, Tap::new(plan, None)?, supply, watch)?).run(watch)?.finish(plan)
}

/// A [`Supply`] for plans that use only registered controllers.
pub fn no_supply(key: &str, _flow: &str, _start: Start) -> Result<Box<dyn Controller>, String> {
    Err(format!("no controller was supplied under the name {key:?}"))
}
