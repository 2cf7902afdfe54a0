//! FQ-CoDel (Hoeiland-Joergensen, McKenney, Taht, Gettys and Dumazet, RFC 8290).
//!
//! Flows are hashed into queues, which deficit round robin serves byte by byte, each governed by its own
//! CoDel. A queue that begins to hold packets is new. It goes before the old ones until it has sent its
//! quantum or is found empty. When there is no room, the queue with most bytes loses half of them, at most 64
//! packets, from its head.

use bentpipe_cc::{Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, QueueSize, Size};
use crate::link::packet::Packet;
use crate::link::random::Stream;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::codel::{CodelPlan, CodelState};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::largest_backlog::LargestBacklog;
use crate::queue::packet_store::{Fifo, Sifting, Store};

/// No queue.
const NONE: u32 = u32::MAX;
/// Most packets that are dropped at once when there is no room (RFC 8290 section 4.1).
const BATCH: usize = 64;

keys! {
    /// Queues by flow, served byte by byte in turn, each governed by CoDel (RFC 8290).
    pub struct FqCodel {
        /// Room of all queues together, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Packets(10_240),
        /// Waiting time that is accepted.
        pub target: Duration = Duration(Span::from_millis(5)),
        /// Time for which a longer wait counts as a burst; about the longest round-trip time of the flows.
        pub interval: Duration = Duration(Span::from_millis(100)),
        /// Number of queues that flows are hashed into.
        #[schemars(range(min = 1, max = 65_536))]
        pub queues: u32 = 1_024,
        /// What a queue may send in a round.
        pub quantum: Size = Size(1_514),
        /// Marks packets of flows with `ecn` where CoDel would drop them; a lack of room still drops. Off
        /// unless given, as for every queue here (RFC 8290 section 5.2: on).
        pub ecn: bool = false,
    }
}

/// FQ-CoDel (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCodelPlan {
    /// The CoDel that governs each queue.
    pub codel: CodelPlan,
    /// Number of queues that flows are hashed into.
    pub queues: u32,
    /// Bytes that a queue may send in a round.
    pub quantum: u32,
}

impl QueueKeys for FqCodel {
    type Plan = FqCodelPlan;
    const LABEL: &'static str = "FQ-CoDel";
    const SOURCE: &'static str = "T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys, E. Dumazet: The Flow Queue CoDel \
        Packet Scheduler and Active Queue Management Algorithm, 2018";
    const REFERENCE: &'static str = "RFC 8290";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, FqCodelPlan), Error> {
        let limit = context.limit(self.limit);
        context.check_room(limit, "FQ-CoDel queue drops by its delay")?;
        let codel = CodelPlan::new(self.target, self.interval, self.ecn, context)?;
        let quantum = context.packet_size(self.quantum, "quantum")?;
        Ok((limit, FqCodelPlan { codel, queues: self.queues, quantum }))
    }
}

impl QueuePlan for FqCodelPlan {
    fn marks(&self) -> bool {
        self.codel.ecn
    }

    fn sorts_by_flow(&self) -> bool {
        true
    }

    fn start(&self, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        Rule::AtDeparture(Box::new(FqCodelState::new(*self, limit)))
    }
}

/// The queue of some flows.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    fifo: Fifo,
    codel: CodelState,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// True if it is on one of the lists.
    active: bool,
    /// True if it is among those that have grown.
    grown: bool,
    /// The next queue on its list.
    next: u32,
}

/// Queues in the order in which they are served.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// A round of the queues in debt, during the search for the next packet.
#[derive(Clone, Copy, Debug)]
enum Round {
    /// No queue has been found in debt since the round began.
    Open,
    /// Every queue since this one has been left in debt.
    From(u32),
    /// A queue has paid its debt. It sends before another round is over.
    Pays,
}

impl Round {
    /// Old queue `i` has had its quantum and is still in debt. Returns whether a round is over in which every
    /// queue was in debt.
    fn is_over(&mut self, i: u32) -> bool {
        match *self {
            Round::Open => {
                *self = Round::From(i);
                false
            }
            Round::From(first) => first == i,
            Round::Pays => false,
        }
    }
}

/// The queues of one direction.
#[derive(Debug)]
struct FqCodelState {
    plan: FqCodelPlan,
    limit: QueueLimit,
    queues: Vec<FlowQueue>,
    new: List,
    old: List,
    packets: u64,
    bytes: u64,
    /// The largest backlogs: no queue has more bytes than here, unless it is among those that have grown. Not
    /// built before room runs out.
    largest: LargestBacklog,
    /// The queues to which packets have come since room ran out.
    grown: Vec<u32>,
}

impl AtDeparture for FqCodelState {
    fn enqueue(&mut self, now: Time, packet: Packet, class: Class, idle: bool, store: &mut Store) {
        let i = class.queue_of(self.plan.queues);
        let queue = &mut self.queues[i as usize];
        store.push(&mut queue.fifo, now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if !queue.active {
            queue.active = true;
            queue.deficit = i64::from(self.plan.quantum);
            self.new.append(&mut self.queues, i);
        }
        let queue = &mut self.queues[i as usize];
        if !queue.grown {
            queue.grown = true;
            self.grown.push(i);
        }
        // Half of a queue may be fewer bytes than have come.
        while !idle && self.is_over() {
            let fattest = self.fattest();
            self.shed(fattest, store);
        }
    }

    fn dequeue(&mut self, now: Time, store: &mut Store) -> Option<Packet> {
        let mut round = Round::Open;
        loop {
            let is_new = self.new.head != NONE;
            let i = if is_new { self.new.head } else { self.old.head };
            if i == NONE {
                return None;
            }
            let queue = &mut self.queues[i as usize];
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.plan.quantum);
                let in_debt = queue.deficit <= 0;
                self.front(is_new);
                self.old.append(&mut self.queues, i);
                if !in_debt {
                    round = Round::Pays;
                } else if !is_new && round.is_over(i) {
                    self.skip_rounds();
                    round = Round::Open;
                }
                continue;
            }
            let (packets, bytes) = (queue.fifo.packets, queue.fifo.bytes);
            let packet = queue.codel.next(&self.plan.codel, now, &mut queue.fifo, store);
            self.packets -= packets - queue.fifo.packets;
            self.bytes -= bytes - queue.fifo.bytes;
            if let Some(packet) = packet {
                queue.deficit -= i64::from(packet.size);
                return Some(packet);
            }
            round = Round::Open;
            self.front(is_new);
            if is_new && self.old.head != NONE {
                // It goes to the end of the old queues, so that a flow cannot stay new by sending one packet
                // at a time.
                self.old.append(&mut self.queues, i);
            } else {
                self.queues[i as usize].active = false;
            }
        }
    }

    fn sift(&mut self, _: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        // Lists stay as they are: a queue that is found empty leaves them.
        self.queues.iter_mut().for_each(|queue| store.sift(&mut queue.fifo, verdict));
        self.packets = self.queues.iter().map(|queue| queue.fifo.packets).sum();
        self.bytes = self.queues.iter().map(|queue| queue.fifo.bytes).sum();
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl FqCodelState {
    fn new(plan: FqCodelPlan, limit: QueueLimit) -> Self {
        let fifo = Fifo::default();
        let queue = FlowQueue {
            fifo,
            codel: CodelState::default(),
            deficit: 0,
            active: false,
            grown: false,
            next: NONE,
        };
        let empty = List { head: NONE, tail: NONE };
        let queues = vec![queue; plan.queues as usize];
        let (largest, grown) = (LargestBacklog::default(), Vec::new());
        Self { plan, limit, queues, new: empty, old: empty, packets: 0, bytes: 0, largest, grown }
    }

    /// Does more wait than fits?
    fn is_over(&self) -> bool {
        match self.limit {
            QueueLimit::Packets(most) => self.packets > most,
            QueueLimit::Bytes(most) => self.bytes > most,
        }
    }

    /// Drops from the queue with most bytes.
    #[cold]
    fn shed(&mut self, fattest: u32, store: &mut Store) {
        let fifo = &mut self.queues[fattest as usize].fifo;
        let half = fifo.bytes / 2;
        for _ in 0..BATCH {
            let Some((_, packet)) = store.pop(fifo) else { break };
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            store.verdicts.drop(packet);
            if fifo.bytes <= half {
                break;
            }
        }
    }

    /// The queue with most bytes; among equals the first, so that the order of queues decides.
    fn fattest(&mut self) -> u32 {
        if self.largest.is_empty() {
            self.largest = LargestBacklog::new(self.plan.queues);
        }
        for i in self.grown.drain(..) {
            let queue = &mut self.queues[i as usize];
            queue.grown = false;
            self.largest.set(i, queue.fifo.bytes);
        }
        loop {
            let (i, bytes) = self.largest.first();
            let left = self.queues[i as usize].fifo.bytes;
            if left == bytes {
                return i;
            }
            // It has sent since.
            self.largest.set(i, left);
        }
    }

    /// Every queue is old, and in debt after a whole round. Skips all rounds but the one that ends the first
    /// debt: a round gives each queue a quantum and keeps their order.
    #[cold]
    fn skip_rounds(&mut self) {
        let quantum = i64::from(self.plan.quantum);
        let mut most = i64::MIN;
        self.each_old(|queue| most = most.max(queue.deficit));
        let skipped = -most / quantum;
        if skipped > 0 {
            self.each_old(|queue| queue.deficit += skipped * quantum);
        }
    }

    fn each_old(&mut self, mut change: impl FnMut(&mut FlowQueue)) {
        let mut i = self.old.head;
        while i != NONE {
            change(&mut self.queues[i as usize]);
            i = self.queues[i as usize].next;
        }
    }

    /// Takes the first queue off its list.
    fn front(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.head = self.queues[list.head as usize].next;
    }
}

impl List {
    fn append(&mut self, queues: &mut [FlowQueue], i: u32) {
        queues[i as usize].next = NONE;
        match self.head {
            NONE => self.head = i,
            _ => queues[self.tail as usize].next = i,
        }
        self.tail = i;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Flows 0 to 2, each with a queue of its own. All their packets come and go at the same instant.
    struct Bench {
        fq: FqCodelState,
        store: Store,
    }

    impl Bench {
        fn new(limit: u64) -> Self {
            let codel = CodelPlan {
                target: Span::from_millis(5),
                interval: Span::from_millis(100),
                ecn: false,
                mtu: 1500,
            };
            let plan = FqCodelPlan { codel, queues: 1024, quantum: 1514 };
            Self { fq: FqCodelState::new(plan, QueueLimit::Packets(limit)), store: Store::default() }
        }

        fn push(&mut self, flow: u32, size: u16) {
            let packet = Packet { flow, size, ..Packet::default() };
            // A 1024th of all hashes.
            let class = Class { hash: u64::from(flow) << 43, ..Class::default() };
            self.fq.enqueue(Time(0), packet, class, false, &mut self.store);
        }

        /// The flow of the next packet, and its size.
        fn next(&mut self) -> Option<(u32, u64)> {
            let packet = self.fq.dequeue(Time(0), &mut self.store);
            packet.map(|p| (p.flow, u64::from(p.size)))
        }

        fn flows(&mut self, n: usize) -> Vec<u32> {
            (0..n).map(|_| self.next().expect("a packet").0).collect()
        }
    }

    #[test]
    fn flows_with_packets_of_different_sizes_share_the_bytes() {
        let mut bench = Bench::new(10_240);
        for _ in 0..1000 {
            bench.push(0, 1500);
        }
        for _ in 0..5000 {
            bench.push(1, 300);
        }
        let mut sent = [0_u64; 2];
        let mut turns = 0;
        let mut last = 1;
        while sent[0] < 1_400_000 {
            let (flow, size) = bench.next().unwrap();
            // When a's turn begins, b has had as many as a: each its quantum a turn, give or take one packet.
            if (last, flow) == (1, 0) {
                turns += 1;
                assert!(sent[0].abs_diff(sent[1]) <= 1514, "{sent:?} after {turns} turns");
            }
            sent[flow as usize] += size;
            last = flow;
        }
        assert!(turns > 900, "{turns} turns");
        assert_eq!(bench.store.verdicts.dropped, 0);
    }

    #[test]
    fn a_sparse_flow_goes_first_for_a_quantum() {
        let mut bench = Bench::new(10_240);
        (0..100).for_each(|_| bench.push(0, 1000));
        assert_eq!(bench.flows(9), [0; 9]);
        // 1514 bytes are two packets of 1000 (514 are left after the first); for the third it waits its turn
        // behind a, which has 6 x 1514 - 9 x 1000 = 84 bytes left of its own.
        (0..3).for_each(|_| bench.push(1, 1000));
        assert_eq!(bench.flows(7), [1, 1, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_flow_does_not_stay_new_by_sending_one_packet_at_a_time() {
        let mut bench = Bench::new(10_240);
        (0..100).for_each(|_| bench.push(0, 500));
        assert_eq!(bench.flows(4), [0; 4]);
        // New, b goes first; found empty, it goes behind a, which has
        // 2 x 1514 - 5 x 500 = 528 bytes left: two packets.
        bench.push(1, 300);
        assert_eq!(bench.flows(2), [1, 0]);
        bench.push(1, 300);
        assert_eq!(bench.flows(4), [0, 0, 1, 0]);
    }

    #[test]
    fn a_flow_that_was_away_is_new_again() {
        let mut bench = Bench::new(10_240);
        bench.push(1, 1000);
        assert_eq!((bench.next(), bench.next()), (Some((1, 1000)), None));
        (0..10).for_each(|_| bench.push(0, 1000));
        bench.flows(4);
        bench.push(1, 1000);
        assert_eq!(bench.flows(1), [1]);
    }

    #[test]
    fn what_does_not_fit_is_paid_for_by_the_fattest_queue() {
        let mut bench = Bench::new(100);
        (0..90).for_each(|_| bench.push(0, 1000));
        (0..10).for_each(|_| bench.push(1, 1000));
        assert_eq!(bench.store.verdicts.dropped, 0);
        bench.push(1, 1000);
        // Half of 90 packets, from the head.
        assert_eq!(bench.store.verdicts.dropped, 45);
        assert!(bench.store.verdicts.unreported.iter().all(|p| p.flow == 0));
        assert_eq!((bench.fq.packets, bench.fq.bytes), (56, 56_000));
        // Many small packets are fewer bytes than some large ones; at most 64 go at once.
        let mut bench = Bench::new(500);
        (0..300).for_each(|_| bench.push(0, 100));
        (0..200).for_each(|_| bench.push(1, 1000));
        bench.push(2, 100);
        assert_eq!(bench.store.verdicts.dropped, 64);
        assert!(bench.store.verdicts.unreported.iter().all(|p| p.flow == 1));
        assert_eq!(std::iter::from_fn(|| bench.next()).count(), 437);
        assert_eq!((bench.fq.packets, bench.fq.bytes), (0, 0));
    }

    #[test]
    fn a_limit_in_bytes_is_kept_where_half_a_queue_is_less_than_a_packet() {
        let mut bench = Bench::new(0);
        bench.fq.limit = QueueLimit::Bytes(3000);
        bench.push(0, 760);
        bench.push(0, 760);
        bench.push(1, 1480);
        assert_eq!((bench.store.verdicts.dropped, bench.fq.bytes), (0, 3000));
        // Half of the fattest queue, 760 bytes, is less than the 1490 for which there is no room;
        // the new packet goes, too.
        bench.push(2, 1490);
        assert_eq!((bench.store.verdicts.dropped, bench.fq.bytes), (2, 2240));
        // So does one that is larger than all room.
        bench.push(2, 3001);
        assert_eq!((bench.store.verdicts.dropped, bench.fq.bytes), (3, 2240));
    }

    /// The algorithms in the plain form of RFC 8290.
    impl FqCodelState {
        /// The fattest queue, found by a look at every queue (section 4.1).
        fn scan(&self) -> u32 {
            let bytes = |i: &u32| self.queues[*i as usize].fifo.bytes;
            (0..self.plan.queues).rev().max_by_key(bytes).expect("a queue")
        }

        fn enqueue_plainly(&mut self, packet: Packet, class: Class, store: &mut Store) {
            self.enqueue(Time(0), packet, class, true, store);
            while self.is_over() {
                let fattest = self.scan();
                self.shed(fattest, store);
            }
        }

        /// The next packet by rounds; every queue has a quantum in each round (section 4.2).
        fn dequeue_plainly(&mut self, now: Time, store: &mut Store) -> Option<Packet> {
            loop {
                let is_new = self.new.head != NONE;
                let i = if is_new { self.new.head } else { self.old.head };
                if i == NONE {
                    return None;
                }
                let queue = &mut self.queues[i as usize];
                if queue.deficit <= 0 {
                    queue.deficit += i64::from(self.plan.quantum);
                    self.front(is_new);
                    self.old.append(&mut self.queues, i);
                    continue;
                }
                let (packets, bytes) = (queue.fifo.packets, queue.fifo.bytes);
                let packet = queue.codel.next(&self.plan.codel, now, &mut queue.fifo, store);
                self.packets -= packets - queue.fifo.packets;
                self.bytes -= bytes - queue.fifo.bytes;
                if let Some(packet) = packet {
                    queue.deficit -= i64::from(packet.size);
                    return Some(packet);
                }
                self.front(is_new);
                if is_new && self.old.head != NONE {
                    self.old.append(&mut self.queues, i);
                } else {
                    self.queues[i as usize].active = false;
                }
            }
        }

        /// Deficits, lists and backlogs.
        fn shape(&self) -> Vec<(i64, bool, u32, u64)> {
            let shape = |queue: &FlowQueue| (queue.deficit, queue.active, queue.next, queue.fifo.bytes);
            self.queues.iter().map(shape).collect()
        }
    }

    proptest! {
        #[test]
        fn short_cuts_give_what_a_scan_and_single_rounds_give(
            queues in 1_u32..12,
            quantum in prop::sample::select(vec![1_u32, 7, 300, 1514, 65_535]),
            limit in prop::sample::select(vec![QueueLimit::Packets(12), QueueLimit::Bytes(9_000), QueueLimit::Packets(300)]),
            // A size of zero takes a packet out. Few sizes, so that queues often have as many bytes.
            steps in prop::collection::vec(
                (0_u32..12, prop::sample::select(vec![0_u16, 0, 40, 760, 1500, 3000]), 0_u64..20),
                1..300,
            ),
        ) {
            let mut benches = [Bench::new(1), Bench::new(1)];
            for bench in &mut benches {
                let plan = FqCodelPlan { queues, quantum, ..bench.fq.plan };
                bench.fq = FqCodelState::new(plan, limit);
            }
            let [quick, plain] = &mut benches;
            let mut now = Time(0);
            for (flow, size, ms) in steps {
                if size == 0 {
                    now = now + Span::from_millis(ms);
                    let packet = quick.fq.dequeue(now, &mut quick.store);
                    prop_assert_eq!(packet, plain.fq.dequeue_plainly(now, &mut plain.store));
                } else {
                    let packet = Packet { flow, size, ..Packet::default() };
                    let class = Class { hash: u64::from(flow) << 60, ..Class::default() };
                    quick.fq.enqueue(Time(0), packet, class, false, &mut quick.store);
                    plain.fq.enqueue_plainly(packet, class, &mut plain.store);
                }
                prop_assert_eq!(quick.fq.shape(), plain.fq.shape());
                let unreported = [&*quick, &*plain].map(|bench| &bench.store.verdicts.unreported);
                prop_assert_eq!(unreported[0], unreported[1]);
            }
        }
    }

    /// A scan of all queues for each drop, or a round for each byte of a quantum, would take minutes.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "how long it takes is the question")]
    fn many_queues_and_a_small_quantum_cost_little() {
        let begin = std::time::Instant::now();
        let mut bench = Bench::new(100);
        bench.fq =
            FqCodelState::new(FqCodelPlan { queues: 1 << 16, quantum: 1, ..bench.fq.plan }, bench.fq.limit);
        (0..1_000_000).for_each(|i| bench.push(i % 256, 1500));
        assert!(bench.store.verdicts.dropped > 900_000);
        for i in 0..1_000_000 {
            assert!(bench.next().is_some());
            bench.push(i % 20, 60_000);
        }
        let seconds = begin.elapsed().as_secs();
        assert!(seconds < 20, "{seconds} s");
    }
}
