//! Many runs on the cores of one machine.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::engine::RunError;
use crate::record::outcome::Outcome;

/// Calls `one` with 0 to `count` - 1 on `threads` threads (0: one a core). Results come in the order of the calls, whatever the number of
/// threads. Once `stop` is true no further run is begun.
///
/// # Errors
/// The first error in the order of the calls.
pub fn run_many(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    one: &(dyn Fn(usize) -> Result<Outcome, RunError> + Sync),
) -> Result<Vec<Outcome>, RunError> {
    let guarded = |i| if stop.load(Ordering::Relaxed) { Err(RunError::Interrupted) } else { one(i) };
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| (0..count).into_par_iter().with_max_len(1).map(guarded).collect()),
        // No further threads to be had: this one does all the work.
        Err(_) => (0..count).map(guarded).collect(),
    }
}
