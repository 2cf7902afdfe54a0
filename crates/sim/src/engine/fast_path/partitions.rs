//! Partitions: parts of the network that learn of each other only after a delay.
//!
//! A packet that leaves a direction entered it at least the direction's least delay before. That delay is the
//! lookahead of parallel simulators (Chandy and Misra 1979). The loop takes the earliest event of all
//! partitions, and processes each partition for as long as the least delay between two of them. Until then no
//! packet of another partition can reach it. The next event is then one of a few, and the hosts and
//! directions of a partition stay in the nearest cache. The result is the same: partitions share only the
//! directions between them, and packets leave those in order.

use std::collections::BTreeMap;

use bentpipe_cc::Span;

use super::routes::{END, Hop, Role, Ways};

/// The partitions of a network.
#[derive(Debug)]
pub(super) struct Partitions {
    pub(super) count: usize,
    /// The partition of each event: arrivals of directions, senders, receivers. Empty
    /// if there is one partition.
    of: Vec<u32>,
    /// The least time a packet takes from one partition to another.
    pub(super) lookahead: Span,
}

impl Partitions {
    /// The whole network as one partition.
    pub(super) fn one() -> Self {
        Self { count: 1, of: Vec::new(), lookahead: Span::MAX }
    }

    /// Finds the partitions. `hops`: with their roles; `delays`: the least delay of each direction; `ways`:
    /// one per flow.
    ///
    /// `rate` is the packet rate of the whole network, per second. Partitions are merged, nearest first,
    /// while fewer than one packet per partition is expected within the lookahead.
    pub(super) fn find(hops: &[Hop], delays: &[Span], ways: &[Ways], rate: f64) -> Self {
        let mut parts = Parts::new(delays.len(), ways.len());
        let mut held = vec![false; delays.len()];
        for (f, way) in ways.iter().enumerate() {
            let there = parts.follow(hops, way.data, parts.sender(f), &mut held);
            parts.join(there, parts.receiver(f));
            if let Some(acks) = way.acks {
                let back = parts.follow(hops, acks, parts.receiver(f), &mut held);
                parts.join(back, parts.sender(f));
            }
        }
        parts.join_hosts(ways);
        let of_events = |part: &usize| *part >= delays.len() || held[*part];
        let mut roots: Vec<u32> =
            (0..parts.entry(0)).filter(of_events).map(|part| parts.root(part)).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut count = roots.len();
        let mut between: Vec<(Span, usize)> =
            delays.iter().copied().zip(0..).filter(|&(_, i)| held[i]).collect();
        between.sort_unstable();
        let mut lookahead = Span::MAX;
        for (delay, direction) in between {
            if parts.root(parts.entry(direction)) == parts.root(direction) {
                continue;
            }
            if count as f64 <= delay.secs() * rate {
                lookahead = delay;
                break;
            }
            parts.join(parts.entry(direction), direction);
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
        Self { count, of: of.collect(), lookahead }
    }

    /// The partition of the arrivals of direction `i`.
    pub(super) fn of_arrivals(&self, i: usize) -> usize {
        self.of.get(i).map_or(0, |&partition| partition as usize)
    }

    /// The partition of the sender of flow `f`, one of `flows`; with `receiver`, of its receiver.
    pub(super) fn of_host(&self, f: usize, flows: usize, receiver: bool) -> usize {
        // Hosts are numbered after the directions, whose number follows.
        let Some(directions) = self.of.len().checked_sub(2 * flows) else { return 0 };
        self.of_arrivals(directions + f + if receiver { flows } else { 0 })
    }
}

/// The parts that partitions are made of: far ends of directions, senders and receivers of flows, near ends
/// of directions.
struct Parts {
    directions: usize,
    flows: usize,
    /// For each part, another part of the same partition, or itself.
    of: Vec<u32>,
}

impl Parts {
    fn new(directions: usize, flows: usize) -> Self {
        Self { directions, flows, of: (0..2 * (directions + flows) as u32).collect() }
    }

    fn sender(&self, flow: usize) -> usize {
        self.directions + flow
    }

    fn receiver(&self, flow: usize) -> usize {
        self.directions + self.flows + flow
    }

    fn entry(&self, direction: usize) -> usize {
        self.directions + 2 * self.flows + direction
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

    /// All that happens at one host is in one partition, whichever flows end there.
    fn join_hosts(&mut self, ways: &[Ways]) {
        let mut known = BTreeMap::new();
        for (f, way) in ways.iter().enumerate() {
            let Some(hosts) = way.hosts else { continue };
            for (host, end) in [(hosts.sender, self.sender(f)), (hosts.receiver, self.receiver(f))] {
                let one = *known.entry(host).or_insert(end);
                self.join(end, one);
            }
        }
    }

    /// Follows the packets of `source` on the route that begins at `first`. The near end of a direction joins
    /// the part that acts on it, up to the next direction whose arrivals are events. Notes those in `held`,
    /// and returns the last part.
    fn follow(&mut self, hops: &[Hop], first: u32, source: usize, held: &mut [bool]) -> usize {
        let mut by = source;
        for hop in hops[first as usize..].iter().take_while(|hop| hop.direction != END) {
            let direction = hop.direction as usize;
            self.join(by, self.entry(direction));
            if !hop.role.is_event() {
                continue;
            }
            if hop.role == Role::Opaque {
                self.join(by, direction); // what comes out may depend on all packets that have gone in
            }
            held[direction] = true;
            by = direction;
        }
        by
    }
}
