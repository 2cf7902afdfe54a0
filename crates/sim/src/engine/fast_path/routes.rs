//! Routes, and the packets on them that need no event.
//!
//! Two things follow, in order, from the events at one direction alone, and can happen ahead of time. If only
//! one direction feeds another, each packet that it takes is offered to the next at once. A receiver that
//! answers each packet on arrival takes its data ahead of time, if nothing else feeds the first direction of
//! its answers.

use std::collections::BTreeMap;

pub(super) use crate::engine::access_delays::END;
use crate::host::flow::FlowState;
use crate::resolve::plan::{EndHosts, FlowPlan};

/// A hop that begins no delay line.
const NO_DELAY_LINE: u32 = u32::MAX;
/// A hop without a door.
pub(super) const NO_DOOR: u32 = u32::MAX;

/// A direction on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hop {
    /// Its index, or [`END`].
    pub(super) direction: u32,
    pub(super) role: Role,
    /// The delay line that begins here, or [`NO_DELAY_LINE`].
    pub(super) delay_line: u32,
    /// The door at which packets wait that enter it as events, or [`NO_DOOR`].
    pub(super) door: u32,
}

/// The fate of a packet that is offered to a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Its arrival at the far end is known, and is an event.
    Holds,
    /// The packet is offered to the next direction of its route ahead of time.
    HandsOn,
    /// The packet reaches its receiver ahead of time, and the answer is offered to the first
    /// direction of its own route.
    Delivers,
    /// Its arrival is not known: the direction says when a packet leaves it.
    Opaque,
}

impl Role {
    /// Is the arrival of a packet an event?
    pub(super) fn is_event(self) -> bool {
        matches!(self, Self::Holds | Self::Opaque)
    }
}

impl Hop {
    /// The end of a route.
    pub(super) const LAST: Self =
        Self { direction: END, role: Role::Holds, delay_line: NO_DELAY_LINE, door: NO_DOOR };

    /// Direction `i` on a route, before its role is found, or its end.
    pub(super) fn new(i: u32) -> Self {
        Self { direction: i, ..Self::LAST }
    }
}

/// The directions of the route that begins at `first`.
pub(super) fn directions(hops: &[Hop], first: u32) -> impl Iterator<Item = usize> + '_ {
    hops_from(hops, first).map(|hop| hop.direction as usize)
}

/// The hops of the route that begins at `first`.
pub(super) fn hops_from(hops: &[Hop], first: u32) -> impl Iterator<Item = &Hop> {
    hops[first as usize..].iter().take_while(|hop| hop.direction != END)
}

/// The first hops of one flow, and its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// First hop of its data.
    pub(super) data: u32,
    /// First hop of its acknowledgements, if it has any.
    pub(super) acks: Option<u32>,
    /// May its receiver answer ahead of time?
    pub(super) prompt: bool,
    /// The hosts at its ends, if other flows end there, too.
    pub(super) hosts: Option<EndHosts>,
}

impl Ways {
    /// The first hops of `flow`, whose plan is `plan`.
    pub(super) fn new(flow: &FlowState, plan: &FlowPlan, prompt: bool) -> Self {
        let acks = flow.is_answered().then_some(flow.ack_route);
        Self { data: flow.data_route, acks, prompt, hosts: plan.ties.as_ref().map(|ties| ties.hosts) }
    }
}

/// Finds the roles of all directions on all routes. `in_order`: does each direction promise order?
pub(super) fn assign(hops: &mut [Hop], in_order: &[bool], ways: &[Ways], feeders: &[Option<Feeder>]) {
    let is_fed_by = |next: u32, feeder: Feeder| feeders[next as usize] == Some(feeder);
    for way in ways {
        for first in std::iter::once(way.data).chain(way.acks) {
            let mut at = first as usize;
            while hops[at].direction != END {
                let (this, next) = (hops[at].direction, hops[at + 1].direction);
                hops[at].role = if !in_order[this as usize] {
                    Role::Opaque
                } else if next != END && is_fed_by(next, Feeder::Direction(this)) {
                    Role::HandsOn
                } else if next == END
                    && first == way.data
                    && way.prompt
                    && way
                        .acks
                        .is_none_or(|a| is_fed_by(hops[a as usize].direction, Feeder::ReceiversOf(this)))
                {
                    Role::Delivers
                } else {
                    Role::Holds
                };
                at += 1;
            }
        }
    }
}

/// Lets flows share equal routes with packets of the same size, so that the routes of ten thousand flows stay
/// in the nearest cache. `firsts`: the first hop and the packet size of each route; the first hop is updated
/// in place. Returns the hops that remain, and the first hop and size of each shared route.
pub(super) fn share<'a>(
    hops: &[Hop],
    firsts: impl Iterator<Item = (&'a mut u32, u16)>,
) -> (Vec<Hop>, Vec<(u32, u16)>) {
    let (mut shared, mut remain, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (first, size) in firsts {
        let from = &hops[*first as usize..];
        let count = from.iter().position(|hop| hop.direction == END).map_or(0, |last| last + 1);
        *first = *known.entry((size, &from[..count])).or_insert_with(|| {
            let at = shared.len() as u32;
            shared.extend_from_slice(&from[..count]);
            remain.push((at, size));
            at
        });
    }
    (shared, remain)
}

/// Who offers packets to a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feeder {
    /// One other direction.
    Direction(u32),
    /// Receivers of the data that this direction delivers; all of them answer at once.
    ReceiversOf(u32),
    /// Several, or hosts that send at any time.
    Many,
}

/// Who offers packets to each direction; `None`: nobody. A direction marked in `is_shared` represents
/// several.
pub(super) fn feeders(hops: &[Hop], is_shared: &[bool], ways: &[Ways]) -> Vec<Option<Feeder>> {
    let mut feeders = vec![None; is_shared.len()];
    let mut meet = |direction: u32, feeder: Feeder| {
        // A direction that flows share represents one access delay of each.
        let several = matches!(feeder, Feeder::Direction(from) if is_shared[from as usize]);
        let feeder = if several { Feeder::Many } else { feeder };
        let known = &mut feeders[direction as usize];
        *known = Some(if known.is_none_or(|known| known == feeder) { feeder } else { Feeder::Many });
    };
    for way in ways {
        let last = follow(hops, way.data, Feeder::Many, &mut meet);
        if let Some(acks) = way.acks {
            let receivers = if way.prompt { Feeder::ReceiversOf(last) } else { Feeder::Many };
            follow(hops, acks, receivers, &mut meet);
        }
    }
    feeders
}

/// Calls `meet` with the feeder of each direction of the route that begins at `first`.
/// Returns the last direction.
fn follow(hops: &[Hop], first: u32, source: Feeder, meet: &mut impl FnMut(u32, Feeder)) -> u32 {
    let mut last = END;
    for Hop { direction, .. } in hops_from(hops, first) {
        meet(*direction, if last == END { source } else { Feeder::Direction(last) });
        last = *direction;
    }
    last
}
