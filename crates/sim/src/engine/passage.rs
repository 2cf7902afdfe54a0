//! Links that never make a packet wait, and so are a constant.
//!
//! Packets that come out of a transmitter are as far apart as it takes to send one. A link behind it that is faster finds its own
//! transmitter free each time, and so do the links behind that one, and those of the acknowledgements: all that they do to a packet
//! of a given size is to delay it by a time known beforehand. If that is a whole number of nanoseconds, so that no remainder is
//! carried to the next packet, a run of such links is passed in one step, and its packets are counted once.
//!
//! AEN's probe is of another size, so small that it might catch up with the segment before it. Connections that may send one send few:
//! each closes the passages, if it can be told then when the transmitters on them will be free, and when the next segment goes out
//! they are opened again if it will find all of those free.

use bentpipe_cc::{Span, Time};

use super::Engine;
use super::folding::{END, Feeder, Hop, Role};
use crate::host::flow::{Flow, Kind};
use crate::link::direction::Link;

/// A hop that begins no passage.
pub(super) const NONE: u32 = u32::MAX;

/// A run of constant links on a route.
#[derive(Debug)]
pub(super) struct Passage {
    /// How long it takes, ns.
    pub(super) time: u64,
    /// Packets that have taken it.
    pub(super) count: u64,
    /// The same when it was opened last.
    opened: u64,
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

    /// Its links, and the size of the packets that have taken it.
    pub(super) fn links(&self, routes: &[Hop]) -> impl Iterator<Item = (usize, u16)> {
        let hops = routes[self.first as usize..=self.last as usize].iter();
        hops.map(|hop| (hop.link as usize, self.size))
    }

    /// Do packets of its size go link by link?
    pub(super) fn is_closed(&self, routes: &[Hop]) -> bool {
        routes[self.first as usize].passage == NONE
    }

    /// From now on packets go link by link. Was it open, and has any taken it since?
    pub(super) fn close(&self, routes: &mut [Hop]) -> bool {
        let before = std::mem::replace(&mut routes[self.first as usize].passage, NONE);
        before != NONE && self.count > self.opened
    }

    /// From now on packets take it, of which this is the number.
    pub(super) fn open(&mut self, number: usize, routes: &mut [Hop]) {
        routes[self.first as usize].passage = number as u32;
        self.opened = self.count;
    }

    #[cfg(test)]
    pub(super) fn was_opened_again(&self) -> bool {
        self.opened > 0
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
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sizes(Vec<Vec<u16>>);

impl Sizes {
    pub(super) fn new(links: usize) -> Self {
        Self(vec![Vec::new(); links])
    }

    /// Those that come to link `i`.
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

    /// The size of all packets of each link for which `which` holds; `None` if any has several.
    pub(super) fn single(&self, which: &[bool]) -> Option<Vec<Option<u16>>> {
        let one = |(sizes, which): (&Vec<u16>, &bool)| match **sizes {
            [size] if *which => Some(Some(size)),
            [] => Some(None),
            _ if !which => Some(None),
            _ => None,
        };
        self.0.iter().zip(which).map(one).collect()
    }
}

/// What follows for a constant link from what has been sent before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) link: usize,
    /// When the last packet enters, and the next one at the earliest.
    pub(super) last: Time,
    pub(super) next: Time,
    /// How long it takes to send one.
    pub(super) sending: Span,
}

/// The constant links that have a transmitter; `None` if it cannot be told when packets enter them. These are the hops of data and,
/// behind them, of what answers each, and all packets take them; `sizes`: that of the packets of each link, if it is a constant.
pub(super) fn entries<'a>(
    hops: impl Iterator<Item = &'a Hop>,
    sizes: &[Option<u16>],
    links: &[Link],
) -> Option<Vec<Entry>> {
    let mut found = Vec::new();
    // The link that spaces the packets, when the last comes out of the link before this one, and how long after it the next.
    let (mut spacer, mut last, mut gap) = (None, None, Span::ZERO);
    // What a link holds comes later to those behind it than it is sent.
    let mut held = false;
    for hop in hops {
        let i = hop.link as usize;
        let link = &links[i];
        let behind_held = held;
        held |= hop.role.holds();
        let Some(size) = sizes[i] else {
            (spacer, last) = (Some(link), link.last_out());
            continue;
        };
        gap = spacer.take().map_or(gap, |spacer: &Link| Span(spacer.sending_time(size)));
        let sending = Span(link.sending_time(size));
        if sending > Span::ZERO {
            let last = last.filter(|_| !behind_held)?;
            found.push(Entry { link: i, last, next: last + gap, sending });
        }
        last = last.zip(link.constant(size)).map(|(last, time)| last + Span(time));
    }
    Some(found)
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
        passages.push(Passage {
            time,
            count: 0,
            opened: 0,
            first: begin as u32,
            last: at as u32 - 1,
            link,
            role,
            size,
        });
    }
}

impl Engine {
    /// The constant links, of which the packets have these sizes, if it can be told when those enter. It can if all flows are
    /// connections with the same links, and acknowledgements meet none that data has crossed: then what comes out of one link is what
    /// goes into the next.
    pub(super) fn entries(&self, sizes: &[Option<u16>]) -> Option<Vec<Entry>> {
        let hops = |first: u32| self.routes[first as usize..].iter().take_while(|hop| hop.link != END);
        let there_and_back = |flow: &Flow| hops(flow.data_route).chain(hops(flow.ack_route));
        let (first, others) = self.flows.split_first()?;
        let links = |flow: &Flow| there_and_back(flow).map(|hop| hop.link).collect::<Vec<_>>();
        let alike = others.iter().all(|flow| {
            hops(flow.data_route).count() == hops(first.data_route).count() && links(flow) == links(first)
        });
        let connections = self.flows.iter().all(|flow| matches!(flow.kind, Kind::Tcp(_)));
        let mut met = links(first);
        met.sort_unstable();
        let once = met.windows(2).all(|pair| pair[0] != pair[1]);
        if !(alike && connections && once) {
            return None;
        }
        entries(there_and_back(first), sizes, &self.links)
    }

    /// The same of the links on passages.
    fn passage_entries(&self) -> Vec<Entry> {
        let mut sizes = vec![None; self.links.len()];
        for passage in &self.passages {
            passage.links(&self.routes).for_each(|(link, size)| sizes[link] = Some(size));
        }
        self.entries(&sizes).unwrap_or_default()
    }

    /// A packet that may not take a passage is about to be sent. What has taken them is entered into the links that it meets.
    #[cold]
    #[inline(never)]
    pub(super) fn close_passages(&mut self) {
        let taken = self.passages.iter().fold(false, |taken, p| p.close(&mut self.routes) | taken);
        let entries = if taken { self.passage_entries() } else { Vec::new() };
        // What comes after the end has not taken a passage.
        for entry in entries.iter().filter(|entry| entry.last <= self.end) {
            self.links[entry.link].is_free_again(entry.last + entry.sending);
        }
    }

    /// A packet that takes passages is about to be sent: may it?
    #[inline]
    pub(super) fn reopen_passages(&mut self) {
        if self.passages.first().is_some_and(|passage| passage.is_closed(&self.routes)) {
            self.open_passages();
        }
    }

    #[cold]
    #[inline(never)]
    fn open_passages(&mut self) {
        let entries = self.passage_entries();
        if entries.iter().all(|entry| self.links[entry.link].free_at() <= entry.next) {
            for (number, passage) in self.passages.iter_mut().enumerate() {
                passage.open(number, &mut self.routes);
            }
        }
    }
}
