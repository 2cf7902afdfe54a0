//! Links that never make a packet wait, and so are a constant.
//!
//! Packets that come out of a transmitter are as far apart as it takes to send one. A link behind it that is faster finds its own
//! transmitter free each time, and so do the links behind that one, and those of the acknowledgements: all that they do to a packet
//! of a given size is to delay it by a time known beforehand. If that is a whole number of nanoseconds, so that no remainder is
//! carried to the next packet, a run of such links is passed in one step, and its packets are counted once.

use bentpipe_cc::Span;

use super::folding::{END, Feeder, Hop, Role};
use crate::link::Link;

/// A hop that begins no passage.
pub(super) const NONE: u32 = u32::MAX;

/// A run of constant links on a route.
#[derive(Debug)]
pub(super) struct Passage {
    /// How long it takes, ns.
    pub(super) time: u64,
    /// Packets that have taken it.
    pub(super) count: u64,
    /// Its first and its last hop.
    first: u32,
    pub(super) last: u32,
    /// The link at the last hop, and its role.
    pub(super) link: u32,
    pub(super) role: Role,
    /// Packets of this size take it.
    pub(super) size: u16,
}

impl Passage {
    /// The links that deliver what passes ahead of time, and how long after the entry each does.
    pub(super) fn delivers(&self, routes: &[Hop], links: &[Link]) -> impl Iterator<Item = (usize, Span)> {
        let hops = routes[self.first as usize..=self.last as usize].iter();
        let mut time = 0;
        let ahead = hops.take_while(|hop| hop.role != Role::Holds);
        ahead.map(move |hop| {
            let link = hop.link as usize;
            time += links[link].constant(self.size).unwrap_or(0);
            (link, Span(time))
        })
    }

    /// Enters into the links' books what has passed.
    pub(super) fn settle(&mut self, routes: &[Hop], links: &mut [Link]) {
        let count = std::mem::take(&mut self.count);
        for hop in &routes[self.first as usize..=self.last as usize] {
            // What the last link holds is delivered when it arrives.
            links[hop.link as usize].passed(self.size, count, hop.role != Role::Holds);
        }
    }
}

/// The sizes of packets that each link may be offered.
#[derive(Debug)]
pub(super) struct Sizes(Vec<Vec<u16>>);

impl Sizes {
    pub(super) fn new(links: usize) -> Self {
        Self(vec![Vec::new(); links])
    }

    /// Those of link `i`.
    pub(super) fn of(&self, i: usize) -> &[u16] {
        &self.0[i]
    }

    /// Packets of these sizes take the route.
    pub(super) fn add(&mut self, route: &[Hop], sizes: &[u16]) {
        for hop in route.iter().take_while(|hop| hop.link != END) {
            let known = &mut self.0[hop.link as usize];
            for size in sizes {
                if !known.contains(size) {
                    known.push(*size);
                }
            }
        }
    }
}

/// Which links are constants.
pub(super) fn constants(links: &[Link], feeders: &[Option<Feeder>], sizes: &Sizes) -> Vec<bool> {
    let mut known = vec![None; links.len()];
    (0..links.len()).map(|i| flow_through(i, links, feeders, sizes, &mut known).constant).collect()
}

/// What can be said of the packets that come out of a link.
#[derive(Clone, Copy)]
struct Through {
    constant: bool,
    /// The least time between two of them, ns.
    gap: u64,
}

fn flow_through(
    i: usize,
    links: &[Link],
    feeders: &[Option<Feeder>],
    sizes: &Sizes,
    known: &mut [Option<Through>],
) -> Through {
    if let Some(through) = known[i] {
        return through;
    }
    let gap = match feeders[i] {
        Some(Feeder::Link(from) | Feeder::ReceiversOf(from)) => {
            flow_through(from as usize, links, feeders, sizes, known).gap
        }
        Some(Feeder::Many) | None => 0,
    };
    let link = &links[i];
    let sizes = sizes.of(i);
    let times = || sizes.iter().map(|&size| link.sending_time(size));
    let (least, most) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let constant = sizes.iter().all(|&size| link.constant(size).is_some()) && (most == 0 || most <= gap);
    let behind = if constant { (gap - (most - least)).max(least) } else { least };
    let through = Through { constant, gap: behind };
    known[i] = Some(through);
    through
}

/// Finds the passages on the route that begins at `first` for packets of `size`.
pub(super) fn find(
    routes: &mut [Hop],
    first: u32,
    size: u16,
    links: &[Link],
    constants: &[bool],
    passages: &mut Vec<Passage>,
) {
    let mut at = first as usize;
    while routes[at].link != END {
        let (begin, mut time) = (at, 0);
        while routes[at].link != END
            && constants[routes[at].link as usize]
            && let Some(more) = links[routes[at].link as usize].constant(size)
        {
            time += more;
            at += 1;
            if routes[at - 1].role != Role::HandsOn {
                break;
            }
        }
        if at == begin {
            at += 1;
            continue;
        }
        routes[begin].passage = passages.len() as u32;
        let Hop { link, role, .. } = routes[at - 1];
        passages.push(Passage { time, count: 0, first: begin as u32, last: at as u32 - 1, link, role, size });
    }
}
