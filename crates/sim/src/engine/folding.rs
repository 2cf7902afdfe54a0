//! Routes, and what on them needs no event.
//!
//! Two things follow, in order, from what happens at one link alone, and are worked out at once: what happens at the next
//! link, if no other feeds that one; and what receivers answer, if they answer each packet when it comes and nothing else
//! is offered to the link that their answers enter first. Nobody may look at what lies between.

use std::collections::BTreeMap;

use super::passage;

/// Ends a route.
pub(super) const END: u32 = u32::MAX;

/// A link on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hop {
    /// Its index, or [`END`].
    pub(super) link: u32,
    pub(super) role: Role,
    /// The passage that begins here, or [`passage::NONE`].
    pub(super) passage: u32,
}

/// What becomes of a packet that is offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Its arrival at the far end is known, and an event.
    Holds,
    /// It is offered to the next link of its route ahead of time.
    HandsOn,
    /// It is given to its receiver ahead of time, and the answer offered to the first link of its route.
    Delivers,
    /// It waits until the transmitter chooses it.
    Decides,
    /// As [`Role::Holds`], and packets are seen when they enter.
    Shows,
}

impl Role {
    /// Does what is offered there wait for an event, instead of being worked out ahead of time?
    pub(super) fn holds(self) -> bool {
        !matches!(self, Self::HandsOn | Self::Delivers)
    }
}

impl Hop {
    /// The end of a route.
    pub(super) const LAST: Self = Self { link: END, role: Role::Holds, passage: passage::NONE };

    /// Link `link` on a route, whose role is to be found.
    pub(super) fn new(link: usize) -> Self {
        Self { link: link as u32, ..Self::LAST }
    }
}

/// The ways of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// First hop of its data.
    pub(super) data: u32,
    /// First hop of its acknowledgements, if it has any.
    pub(super) acks: Option<u32>,
    /// Its receiver does nothing but answer some packets when they come, and nobody looks at it.
    pub(super) prompt: bool,
}

/// Finds the roles of all links on all routes; `decides`: links that decide at departure.
pub(super) fn assign(routes: &mut [Hop], decides: &[bool], ways: &[Ways], feeders: &[Option<Feeder>]) {
    let is_fed_by = |next: u32, feeder: Feeder| feeders[next as usize] == Some(feeder);
    for way in ways {
        for first in std::iter::once(way.data).chain(way.acks) {
            let mut at = first as usize;
            while routes[at].link != END {
                let (link, next) = (routes[at].link, routes[at + 1].link);
                routes[at].role = if decides[link as usize] {
                    Role::Decides
                } else if next != END && is_fed_by(next, Feeder::Link(link)) {
                    Role::HandsOn
                } else if next == END
                    && first == way.data
                    && way.prompt
                    && way.acks.is_none_or(|a| is_fed_by(routes[a as usize].link, Feeder::ReceiversOf(link)))
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

/// Lets flows share routes that are alike and carry packets of the same size, so that the routes of ten thousand flows stay in the
/// nearest cache. `firsts`: the first hop of each route and its size. Gives the routes that remain and the same of those, and
/// puts the new first hops into `firsts`.
pub(super) fn share<'a>(
    routes: &[Hop],
    firsts: impl Iterator<Item = (&'a mut u32, u16)>,
) -> (Vec<Hop>, Vec<(u32, u16)>) {
    let (mut shared, mut remain, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (first, size) in firsts {
        let from = &routes[*first as usize..];
        let hops = from.iter().position(|hop| hop.link == END).map_or(0, |last| last + 1);
        *first = *known.entry((size, &from[..hops])).or_insert_with(|| {
            let at = shared.len() as u32;
            shared.extend_from_slice(&from[..hops]);
            remain.push((at, size));
            at
        });
    }
    (shared, remain)
}

/// Who offers packets to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feeder {
    /// One other link.
    Link(u32),
    /// Receivers of what this link delivers, all prompt.
    ReceiversOf(u32),
    /// Several, or hosts that send when they like.
    Many,
}

/// Who offers packets to each link, of which these stand for several; `None`: nobody.
pub(super) fn feeders(routes: &[Hop], shared: &[bool], ways: &[Ways]) -> Vec<Option<Feeder>> {
    let mut feeders = vec![None; shared.len()];
    let mut meet = |link: u32, feeder: Feeder| {
        // A delay that flows share is one for each of them.
        let several = matches!(feeder, Feeder::Link(from) if shared[from as usize]);
        let feeder = if several { Feeder::Many } else { feeder };
        let known = &mut feeders[link as usize];
        *known = Some(if known.is_none_or(|known| known == feeder) { feeder } else { Feeder::Many });
    };
    for way in ways {
        let last = follow(routes, way.data, Feeder::Many, &mut meet);
        if let Some(acks) = way.acks {
            let receivers = if way.prompt { Feeder::ReceiversOf(last) } else { Feeder::Many };
            follow(routes, acks, receivers, &mut meet);
        }
    }
    feeders
}

/// Tells `meet` who feeds each link of the route that begins at `first`. Returns its last link.
fn follow(routes: &[Hop], first: u32, source: Feeder, meet: &mut impl FnMut(u32, Feeder)) -> u32 {
    let mut last = END;
    for link in routes[first as usize..].iter().map(|hop| hop.link).take_while(|&link| link != END) {
        meet(link, if last == END { source } else { Feeder::Link(last) });
        last = link;
    }
    last
}

/// The roles where each packet is to be an event at every link, and `seen` when it enters.
pub(super) fn assign_plainly(routes: &mut [Hop], decides: &[bool], seen: bool) {
    for hop in routes.iter_mut().filter(|hop| hop.link != END) {
        hop.role = match (decides[hop.link as usize], seen) {
            (true, _) => Role::Decides,
            (false, true) => Role::Shows,
            (false, false) => Role::Holds,
        };
    }
}
