//! Partitions: parts of the network that learn of each other only after a delay.
//!
//! A packet that comes out of a direction went in at least the direction's least delay before. That is the lookahead of parallel
//! simulators (Chandy and Misra 1979). From the next event of all on, and for as long as the least delay between two partitions,
//! each of them is worked out before the next, because nothing of the others reaches it by then. The next event is one of a few, and
//! the hosts and directions of a partition stay in the nearest cache meanwhile. The result is the same: partitions share nothing but
//! the directions between them, and packets come out of those in their order.

use bentpipe_cc::Span;

use super::routes::{END, Hop, Role, Ways};

/// Where events happen.
#[derive(Debug)]
pub(super) struct Partitions {
    pub(super) count: usize,
    /// The partition of each event: arrivals of directions, senders, receivers. Empty if there is one partition.
    of: Vec<u32>,
    /// No packet gets from one partition to another in less time.
    pub(super) lookahead: Span,
}

impl Partitions {
    /// All is one partition.
    pub(super) fn one() -> Self {
        Self { count: 1, of: Vec::new(), lookahead: Span::MAX }
    }

    /// Finds the partitions. `hops`: with their roles; `delays`: the least of each direction; `ways`: of the flows.
    ///
    /// Partitions that are so near to each other that fewer than one packet each is expected meanwhile, of `rate` a second in all,
    /// are taken together, the nearest first.
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

    /// Where the arrivals of direction `i` happen.
    pub(super) fn of_arrivals(&self, i: usize) -> usize {
        self.of.get(i).map_or(0, |&partition| partition as usize)
    }

    /// Where the sender of flow `f` is, one of `flows`; `receiver`: its receiver.
    pub(super) fn of_host(&self, f: usize, flows: usize, receiver: bool) -> usize {
        // Behind the directions, whose number follows.
        let Some(directions) = self.of.len().checked_sub(2 * flows) else { return 0 };
        self.of_arrivals(directions + f + if receiver { flows } else { 0 })
    }
}

/// What belongs to some partition: the far ends of directions, the senders and receivers of flows, the near ends of directions.
struct Parts {
    directions: usize,
    flows: usize,
    /// Of each part another of the same partition, or itself.
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

    /// Follows the packets of `source` on the route that begins at `first`. Whoever works at a direction is where its near end is, up to
    /// the next at which arrivals are events. Returns who works at the end, and notes those directions.
    fn follow(&mut self, hops: &[Hop], first: u32, source: usize, held: &mut [bool]) -> usize {
        let mut by = source;
        for hop in hops[first as usize..].iter().take_while(|hop| hop.direction != END) {
            let direction = hop.direction as usize;
            self.join(by, self.entry(direction));
            if !hop.role.is_event() {
                continue;
            }
            if hop.role == Role::Opaque {
                self.join(by, direction); // what comes out may depend on all that has gone in
            }
            held[direction] = true;
            by = direction;
        }
        by
    }
}
