//! Places: parts of the network that learn of each other only after a delay.
//!
//! What arrives over a link set out at least the link's delay before. So from the next event of all on, and for as long as the
//! least delay between two places, what happens at one place can be worked out before anything at the others: nothing of
//! theirs reaches it by then. Parallel simulators call this lookahead. Here it makes the next event one of a few, and the hosts and
//! links of a place stay in the nearest cache meanwhile. The result is the same, as places share nothing but the links
//! between them, and what has been put into those is taken out in its order.

use bentpipe_cc::Span;

use super::folding::{END, Hop, Role, Ways};

/// Where events happen.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) count: usize,
    /// The place of each event, by its number: arrivals of links, senders, receivers. Empty if there is one place.
    of: Vec<u32>,
    /// No packet gets from one place to another in less time.
    pub(super) apart: Span,
}

impl Places {
    /// All is one place.
    pub(super) fn one() -> Self {
        Self { count: 1, of: Vec::new(), apart: Span::MAX }
    }

    /// Finds the places, the roles of all links being known. `delays`: of the links; `ways`: of the flows.
    ///
    /// Places that are so near to each other that fewer than one packet each is expected meanwhile, of `rate` a second in all,
    /// are taken together, the nearest first.
    pub(super) fn find(routes: &[Hop], delays: &[Span], ways: &[Ways], rate: f64) -> Self {
        let mut parts = Parts::new(delays.len(), ways.len());
        let mut held = vec![false; delays.len()];
        for (f, way) in ways.iter().enumerate() {
            let there = parts.follow(routes, way.data, parts.sender(f), &mut held);
            parts.join(there, parts.receiver(f));
            if let Some(acks) = way.acks {
                let back = parts.follow(routes, acks, parts.receiver(f), &mut held);
                parts.join(back, parts.sender(f));
            }
        }
        let of_events = |part: &usize| *part >= delays.len() || held[*part];
        let mut roots: Vec<u32> =
            (0..parts.entry(0)).filter(of_events).map(|part| parts.root(part)).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut count = roots.len();
        let mut between: Vec<(Span, usize)> =
            delays.iter().copied().zip(0..).filter(|&(_, i)| held[i]).collect();
        between.sort_unstable();
        let mut apart = Span::MAX;
        for (delay, link) in between {
            if parts.root(parts.entry(link)) == parts.root(link) {
                continue;
            }
            if count as f64 <= delay.secs() * rate {
                apart = delay;
                break;
            }
            parts.join(parts.entry(link), link);
            count -= 1;
        }
        if count == 1 {
            return Self::one();
        }
        let mut numbers = vec![None; parts.of.len()];
        let mut free = 0..;
        let mut number =
            |part| *numbers[parts.root(part) as usize].get_or_insert_with(|| free.next().unwrap_or(0));
        let of =
            (0..delays.len() + 2 * ways.len()).map(|part| if of_events(&part) { number(part) } else { 0 });
        Self { count, of: of.collect(), apart }
    }

    /// Where the event with this number happens.
    pub(super) fn of(&self, number: usize) -> usize {
        self.of.get(number).map_or(0, |&place| place as usize)
    }
}

/// What belongs to some place: the far ends of links, the two ends of flows (numbered as their events), the near ends of links.
struct Parts {
    links: usize,
    flows: usize,
    /// Of each part another of the same place, or itself.
    of: Vec<u32>,
}

impl Parts {
    fn new(links: usize, flows: usize) -> Self {
        Self { links, flows, of: (0..2 * (links + flows) as u32).collect() }
    }

    fn sender(&self, flow: usize) -> usize {
        self.links + flow
    }

    fn receiver(&self, flow: usize) -> usize {
        self.links + self.flows + flow
    }

    fn entry(&self, link: usize) -> usize {
        self.links + 2 * self.flows + link
    }

    fn root(&mut self, part: usize) -> u32 {
        let mut part = part as u32;
        while self.of[part as usize] != part {
            let next = self.of[part as usize];
            self.of[part as usize] = self.of[next as usize];
            part = next;
        }
        part
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.of[one as usize] = other;
    }

    /// Follows the packets of `source` on the route that begins at `first`: who works at a link is where its near end is, up to the
    /// next that holds packets. Returns who works at the end, and notes the links that hold.
    fn follow(&mut self, routes: &[Hop], first: u32, source: usize, held: &mut [bool]) -> usize {
        let mut by = source;
        for hop in routes[first as usize..].iter().take_while(|hop| hop.link != END) {
            let link = hop.link as usize;
            self.join(by, self.entry(link));
            if !hop.role.holds() {
                continue;
            }
            if hop.role == Role::Decides {
                self.join(by, link); // when a packet arrives, the next is chosen
            }
            held[link] = true;
            by = link;
        }
        by
    }
}
