//! Delays of the flows' own: before the path, behind that of the acknowledgements, and random ones where those set out.
//!
//! Each is an entity of its own in the order of events. But flows whose data and acknowledgements go the same ways with the same
//! delay share a link and its ring for it: all that comes out has been in for as long, so it comes out in the order in which it went
//! in. What arrives in the same nanosecond is put in the order of the flows. A hundred thousand flows need no more than one.

use std::collections::BTreeMap;

use bentpipe_cc::Span;

use super::Effort;
use crate::link::direction::{Link, OF_FLOW};
use crate::link::random::Stream;
use crate::resolve::plan::FlowPlan;

/// What flows that share a delay have in common: the delay, the ways of data and of acknowledgements.
type Alike<'a> = (Span, &'a [usize], Option<&'a [usize]>);

/// Gives flows their delays.
pub(super) struct Private<'a> {
    seed: u64,
    effort: Effort,
    /// Entities before those of the first flow.
    before: u32,
    /// The first of the two links for all flows with this delay and these ways.
    known: BTreeMap<Alike<'a>, usize>,
}

/// The links of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) there: Option<usize>,
    pub(super) back: Option<usize>,
    pub(super) jitter: Option<usize>,
}

impl<'a> Private<'a> {
    /// For flows of a scenario with so many directions of links.
    pub(super) fn new(seed: u64, effort: Effort, before: u32) -> Self {
        Self { seed, effort, before, known: BTreeMap::new() }
    }

    /// The links of flow `f`, put behind `links` if they are new.
    pub(super) fn links(&mut self, f: usize, plan: &'a FlowPlan, links: &mut Vec<Link>) -> Own {
        let first = self.before + OF_FLOW * f as u32;
        let delay = plan.extra_delay;
        let there = (delay.0 > 0).then(|| {
            let alike: Alike<'_> = (delay, &*plan.path, plan.ack_path.as_deref());
            if self.effort == Effort::Least
                && let Some(&there) = self.known.get(&alike)
            {
                links[there].share(self.before);
                links[there + 1].share(self.before + 1);
                return there;
            }
            let there = links.len();
            links.extend([Link::private(delay, first), Link::private(delay, first + 1)]);
            self.known.insert(alike, there);
            there
        });
        let jitter = (plan.ack_jitter.0 > 0).then(|| {
            let stream = Stream::new(self.seed, &format!("flow/{}/ack-jitter", plan.name));
            links.push(Link::jitter(plan.ack_jitter, first + 2, stream));
            links.len() - 1
        });
        Own { there, back: there.map(|there| there + 1), jitter }
    }
}
