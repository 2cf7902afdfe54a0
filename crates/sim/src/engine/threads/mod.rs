//! One run over a constellation on several threads, with the bits of one thread.
//!
//! Each thread has a copy of the whole state and owns some nodes ([`Cut`]). It processes what happens at them; the
//! rest of its copy stays as it was at the start. A packet that flies to a node of another thread goes there by mail
//! (`engine/mail.rs`, `post.rs`). It needs at least the lookahead for that, so all threads process the events of a
//! window of that length without news of each other, exchange their mail, and go on with the next window
//! (conservative synchronisation; Fujimoto, CACM 33(10), 1990, section 3).
//!
//! Every state belongs to one node, and events of one instant are ordered by entity. So nothing depends on the
//! order in which threads come, and the bits are those of one thread. When the run is over, the copies become one
//! (`join.rs`).

mod barrier;
mod cut;
mod join;
mod post;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use bentpipe_cc::Time;

use crate::engine::error::RunError;
use crate::engine::mail::Outbox;
use crate::engine::network::{Network, Watch};
use crate::engine::no_supply;
use crate::engine::routed::Routed;
use crate::resolve::plan::Plan;
pub(super) use cut::Cut;
use post::Post;

/// Runs `plan` on as many threads as `cut` has parts. `None`: a window was too long, or the system has no threads to
/// spare; the caller then runs it on one thread.
///
/// # Errors
/// The run was stopped, or exceeds a bound.
pub(super) fn run(plan: &Plan, cut: &Cut, watch: &mut Watch<'_>) -> Result<Option<Network>, RunError> {
    let post = Post::new(cut.parts);
    let results = thread::scope(|scope| {
        let spawn = |part| {
            let post = &post;
            let quiet = move || PartOfRun { plan, cut, post, part }.run(&mut |_| !post.is_stopped());
            thread::Builder::new().name(format!("part {part}")).spawn_scoped(scope, quiet)
        };
        let mut others = Vec::new();
        for part in 1..cut.parts {
            match spawn(part) {
                Ok(thread) => others.push(thread),
                Err(_) => post.stop(),
            }
        }
        if others.len() + 1 < cut.parts {
            others.into_iter().for_each(|thread| drop(thread.join()));
            return None;
        }
        let mine = PartOfRun { plan, cut, post: &post, part: 0 }.run(watch);
        let joined =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Some(std::iter::once(mine).chain(joined).collect::<Vec<_>>())
    });
    let Some(results) = results.filter(|_| !post.has_overrun()) else { return Ok(None) };
    // A part that was stopped because of another one has no error of its own.
    if let Some(error) = results.iter().position(|of| !matches!(of, Ok(_) | Err(RunError::Interrupted))) {
        return results.into_iter().nth(error).unwrap_or(Err(RunError::Interrupted)).map(Some);
    }
    let copies: Vec<Network> = results.into_iter().collect::<Result<_, _>>()?;
    Ok(join::join(plan, cut, copies))
}

/// A part of a run, on a thread of its own.
#[derive(Clone, Copy, Debug)]
struct PartOfRun<'a> {
    plan: &'a Plan,
    cut: &'a Cut,
    post: &'a Post,
    /// Its number, from 0.
    part: usize,
}

impl PartOfRun<'_> {
    /// Runs it. A panic or an error stops the others.
    fn run(self, watch: &mut Watch<'_>) -> Result<Network, RunError> {
        let result = catch_unwind(AssertUnwindSafe(|| self.windows(watch)));
        if !matches!(result, Ok(Ok(_))) {
            self.post.stop();
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Processes one window after the other.
    fn windows(self, watch: &mut Watch<'_>) -> Result<Network, RunError> {
        let Self { plan, cut, post, part } = self;
        let network = Network::new(plan, None, &mut no_supply, watch)?;
        let end = Time(plan.duration.0);
        let mut run = Routed::of_part(plan, network, Outbox::new(&cut.owner, cut.parts, part));
        for turn in 0_u64.. {
            let begin = post.exchange(turn, part, &mut run).ok_or(RunError::Interrupted)?;
            if begin > end {
                break;
            }
            let last = Time(begin.0.saturating_add(cut.lookahead.0 - 1)).min(end);
            if !run.advance_window(last, watch)? {
                let keeps_too_much = run.into_network().finish(plan).err();
                return Err(keeps_too_much.unwrap_or(RunError::Interrupted));
            }
        }
        Ok(run.into_network())
    }
}
