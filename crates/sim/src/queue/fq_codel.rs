//! FQ-CoDel (Hoeiland-Joergensen, McKenney, Taht, Gettys and Dumazet, RFC 8290).
//!
//! Flows are hashed into queues, which deficit round robin serves byte by byte, each governed by a CoDel of its own. A queue
//! that begins to hold packets is new and goes before the old ones until it has sent its quantum or is found empty. What does
//! not fit is paid for by the queue with most bytes: half of them, at most 64 packets, from its head.

use bentpipe_cc::Time;

use crate::link::packet::{ACK, Packet};
use crate::link::random::Stream;
use crate::queue::codel::Codel;
use crate::queue::packet_store::{Fifo, Store, Verdicts};
use crate::resolve::plan::{FlowPlan, FqCodelPlan, QueueLimit};

/// No queue.
const NONE: u32 = u32::MAX;
/// Most packets that are dropped at once when there is no room (RFC 8290 section 4.1).
const BATCH: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Queue {
    fifo: Fifo,
    codel: Codel,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// On one of the lists.
    active: bool,
    /// The one behind it on its list.
    next: u32,
}

/// Queues in the order in which they are served.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

/// The queues of one link.
#[derive(Debug)]
pub(crate) struct FqCodel {
    plan: FqCodelPlan,
    limit: QueueLimit,
    queues: Vec<Queue>,
    /// The queue of each flow's data and of its acknowledgements, in turn.
    queue_of: Vec<u32>,
    new: List,
    old: List,
    packets: u64,
    bytes: u64,
}

impl FqCodel {
    /// Queues for `flows`; a flow's hash is a draw from a stream named after the link and the flow, so it depends on no
    /// other flow.
    pub(crate) fn new(
        plan: FqCodelPlan,
        limit: QueueLimit,
        seed: u64,
        name: &str,
        flows: &[FlowPlan],
    ) -> Self {
        let queue =
            Queue { fifo: Fifo::default(), codel: Codel::default(), deficit: 0, active: false, next: NONE };
        let hash = |flow: &FlowPlan, what: &str| {
            let mut stream = Stream::new(seed, &format!("{name}/fq-codel/{}/{what}", flow.name));
            let part = (1.0 - stream.uniform()) * f64::from(plan.queues);
            part as u32
        };
        let empty = List { head: NONE, tail: NONE };
        Self {
            plan,
            limit,
            queues: vec![queue; plan.queues as usize],
            queue_of: flows.iter().flat_map(|f| [hash(f, "data"), hash(f, "ack")]).collect(),
            new: empty,
            old: empty,
            packets: 0,
            bytes: 0,
        }
    }

    /// Takes a packet; `idle`: it goes straight to the transmitter and needs no room. Returns the bytes in all queues.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        packet: Packet,
        idle: bool,
        store: &mut Store,
        verdicts: &mut Verdicts,
    ) -> u64 {
        let i = self.queue_of[2 * packet.flow as usize + usize::from(packet.has(ACK))];
        let queue = &mut self.queues[i as usize];
        store.push(&mut queue.fifo, now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if !queue.active {
            queue.active = true;
            queue.deficit = i64::from(self.plan.quantum);
            self.new.append(&mut self.queues, i);
        }
        // Half of a queue may be fewer bytes than have come.
        while !idle && self.is_over() {
            self.shed(store, verdicts);
        }
        self.bytes
    }

    /// Does more wait than there is room for?
    fn is_over(&self) -> bool {
        match self.limit {
            QueueLimit::Packets(most) => self.packets > most,
            QueueLimit::Bytes(most) => self.bytes > most,
        }
    }

    /// Bytes in all queues.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Drops from the queue with most bytes.
    #[cold]
    fn shed(&mut self, store: &mut Store, verdicts: &mut Verdicts) {
        let mut fattest = 0;
        for (i, queue) in self.queues.iter().enumerate() {
            // The first of equals, so that the order of queues decides.
            if queue.fifo.bytes > self.queues[fattest].fifo.bytes {
                fattest = i;
            }
        }
        let fifo = &mut self.queues[fattest].fifo;
        let half = fifo.bytes / 2;
        for _ in 0..BATCH {
            let Some((_, packet)) = store.pop(fifo) else { break };
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            verdicts.drop(packet);
            if fifo.bytes <= half {
                break;
            }
        }
    }

    /// The packet to send at `now`.
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        store: &mut Store,
        verdicts: &mut Verdicts,
    ) -> Option<Packet> {
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
            let packet = queue.codel.next(&self.plan.codel, now, &mut queue.fifo, store, verdicts);
            self.packets -= packets - queue.fifo.packets;
            self.bytes -= bytes - queue.fifo.bytes;
            if let Some(packet) = packet {
                queue.deficit -= i64::from(packet.size);
                return Some(packet);
            }
            self.front(is_new);
            if is_new && self.old.head != NONE {
                // Once round the old ones, so that a flow cannot stay new by sending one packet at a time.
                self.old.append(&mut self.queues, i);
            } else {
                self.queues[i as usize].active = false;
            }
        }
    }

    /// Takes the first queue off its list.
    fn front(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.head = self.queues[list.head as usize].next;
    }
}

impl List {
    fn append(&mut self, queues: &mut [Queue], i: u32) {
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
    use super::*;
    use crate::resolve::plan::{CodelPlan, Source};
    use bentpipe_cc::Span;

    fn flow(name: &str) -> FlowPlan {
        let source = Source::Cbr { rate_bps: 1, packet: 1000, on: Span::MAX, off: Span::ZERO };
        FlowPlan::plain(name, source)
    }

    /// Queues of flows "a", "b" and "c" (numbers 0 to 2), all of whose packets come and go at the same instant.
    struct Bench {
        fq: FqCodel,
        store: Store,
        verdicts: Verdicts,
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
            let flows = [flow("a"), flow("b"), flow("c")];
            let fq = FqCodel::new(plan, QueueLimit::Packets(limit), 1, "link/x/forward", &flows);
            assert!(fq.queue_of[0] != fq.queue_of[2] && fq.queue_of[2] != fq.queue_of[4], "a collision");
            Self { fq, store: Store::default(), verdicts: Verdicts::default() }
        }

        fn push(&mut self, flow: u32, size: u16) {
            let packet = Packet { flow, size, ..Packet::default() };
            self.fq.enqueue(Time(0), packet, false, &mut self.store, &mut self.verdicts);
        }

        /// The flow of the next packet, and its size.
        fn next(&mut self) -> Option<(u32, u64)> {
            let packet = self.fq.dequeue(Time(0), &mut self.store, &mut self.verdicts);
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
        assert_eq!(bench.verdicts.dropped, 0);
    }

    #[test]
    fn a_sparse_flow_goes_first_for_a_quantum() {
        let mut bench = Bench::new(10_240);
        (0..100).for_each(|_| bench.push(0, 1000));
        assert_eq!(bench.flows(9), [0; 9]);
        // 1514 bytes are two packets of 1000 (514 are left after the first); for the third it waits its turn behind a, which
        // has 6 x 1514 - 9 x 1000 = 84 bytes left of its own.
        (0..3).for_each(|_| bench.push(1, 1000));
        assert_eq!(bench.flows(7), [1, 1, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_flow_does_not_stay_new_by_sending_one_packet_at_a_time() {
        let mut bench = Bench::new(10_240);
        (0..100).for_each(|_| bench.push(0, 500));
        assert_eq!(bench.flows(4), [0; 4]);
        // New, b goes first; found empty, it goes behind a, which has 2 x 1514 - 5 x 500 = 528 bytes left: two packets.
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
        assert_eq!(bench.verdicts.dropped, 0);
        bench.push(1, 1000);
        // Half of 90 packets, from the head.
        assert_eq!(bench.verdicts.dropped, 45);
        assert!(bench.verdicts.untold.iter().all(|p| p.flow == 0));
        assert_eq!((bench.fq.packets, bench.fq.bytes), (56, 56_000));
        // Many small packets are fewer bytes than some large ones; at most 64 go at once.
        let mut bench = Bench::new(500);
        (0..300).for_each(|_| bench.push(0, 100));
        (0..200).for_each(|_| bench.push(1, 1000));
        bench.push(2, 100);
        assert_eq!(bench.verdicts.dropped, 64);
        assert!(bench.verdicts.untold.iter().all(|p| p.flow == 1));
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
        assert_eq!((bench.verdicts.dropped, bench.fq.bytes), (0, 3000));
        // Half of the fattest queue, 760 bytes, is less than the 1490 for which there is no room; the new packet goes, too.
        bench.push(2, 1490);
        assert_eq!((bench.verdicts.dropped, bench.fq.bytes), (2, 2240));
        // So does one that is larger than all room.
        bench.push(2, 3001);
        assert_eq!((bench.verdicts.dropped, bench.fq.bytes), (3, 2240));
    }

    #[test]
    fn the_queue_of_a_flow_depends_on_link_seed_and_name_alone() {
        let codel = Bench::new(1).fq.plan.codel;
        let of = |queues, seed, link: &str, names: &[&str]| {
            let flows: Vec<FlowPlan> = names.iter().map(|n| flow(n)).collect();
            let plan = FqCodelPlan { codel, queues, quantum: 1514 };
            FqCodel::new(plan, QueueLimit::Packets(1), seed, link, &flows).queue_of
        };
        assert_eq!(of(1024, 1, "x", &["b"]), of(1024, 1, "x", &["a", "b"])[2..]);
        assert_ne!(of(1024, 1, "x", &["a", "b", "c"]), of(1024, 2, "x", &["a", "b", "c"]));
        assert_ne!(of(1024, 1, "x", &["a", "b", "c"]), of(1024, 1, "y", &["a", "b", "c"]));
        assert!(of(1, 1, "x", &["a", "b", "c"]).iter().all(|q| *q == 0));
        // Uniform: 2000 keys into 8 queues, chi-square with 7 degrees of freedom, 1 % point 18.5.
        let names: Vec<String> = (0..1000).map(|i| format!("f-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut seen = [0_f64; 8];
        of(8, 1, "x", &names).iter().for_each(|q| seen[*q as usize] += 1.0);
        let chi: f64 = seen.iter().map(|n| (n - 250.0) * (n - 250.0) / 250.0).sum();
        assert!(chi < 18.5, "{chi}: {seen:?}");
    }
}
