//! A series of the simulator's directions, and the packets in them. It knows neither the wall clock nor
//! devices: its driver says what time it is.

use std::collections::VecDeque;

use bentpipe_cc::Time;
use bentpipe_sim::link::{Class, Direction, Ecn, Fate, Packet, Push};
use bentpipe_sim::plan::Discipline;
use bentpipe_sim::record::LinkReport;

use crate::ip;
use crate::packet_store::PacketStore;
use crate::route::{Hop, Packets};

/// What one hop has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounts {
    /// Packets that came.
    pub offered_packets: u64,
    /// Packets that have left its far end.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets that its queue dropped.
    pub dropped_queue: u64,
    /// Packets lost on the channel.
    pub dropped_error: u64,
    /// Packets that it marked "congestion experienced".
    pub marked: u64,
}

/// A packet that has crossed all hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When it was due to arrive.
    pub due: Time,
    number: u32,
}

#[derive(Debug)]
struct HopState {
    direction: Direction,
    /// Which packets cross it.
    packets: Packets,
    counts: HopCounts,
    /// Does its queue sort packets by flow?
    sorts: bool,
    /// Bands of its queue.
    bands: u8,
    /// Does it thin acknowledgements?
    thins: bool,
}

impl HopState {
    fn begin(hop: &Hop) -> Self {
        let mut direction = hop.begin();
        direction.count_bytes();
        let plan = match hop {
            Hop::Access { .. } | Hop::Jitter { .. } => None,
            Hop::Direction { plan, .. } => Some(plan),
        };
        Self {
            direction,
            packets: hop.packets(),
            counts: HopCounts::default(),
            sorts: plan.is_some_and(|plan| plan.discipline.sorts_by_flow()),
            bands: plan.map_or(1, |plan| match plan.discipline {
                Discipline::Priority(priority) => priority.bands,
                _ => 1,
            }),
            thins: plan.is_some_and(|plan| plan.link_layer.ack_thinning.is_some()),
        }
    }
}

/// A series of directions in use.
#[derive(Debug)]
pub struct Chain {
    hops: Vec<HopState>,
    store: PacketStore,
    seed: u64,
    /// Packets that have crossed all hops, in order of time.
    arrived: VecDeque<Delivery>,
    /// The hop at whose entry copies are taken.
    tap: Option<usize>,
    tapped: Vec<(Time, Vec<u8>)>,
}

impl Chain {
    /// The hops in their initial state. Flows are hashed with `seed`, for queues that sort by flow.
    pub fn new(hops: &[Hop], seed: u64) -> Self {
        Self {
            hops: hops.iter().map(HopState::begin).collect(),
            store: PacketStore::default(),
            seed,
            arrived: VecDeque::new(),
            tap: None,
            tapped: Vec::new(),
        }
    }

    /// A whole packet of IPv4 or IPv6 comes at `now`, which is not before the last call.
    pub fn push(&mut self, now: Time, bytes: &[u8]) {
        self.advance(now);
        let number = self.store.put(bytes);
        let packet = Packet::new(bytes.len() as u16, number).with_ecn(ip::ecn(bytes));
        self.enter(0, now, packet);
    }

    /// When something next happens inside; `None` if nothing is inside. Packets that have arrived do not
    /// count.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.hops.iter().filter_map(|hop| hop.direction.next()).min()
    }

    /// Processes everything that was due by `now`. Each event is computed for the instant at which it was
    /// due, however late that is.
    pub fn advance(&mut self, now: Time) {
        while let Some((at, i)) = self.first().filter(|(at, _)| *at <= now) {
            self.step(at, i);
        }
    }

    /// The next packet that has arrived.
    pub fn take(&mut self) -> Option<Delivery> {
        self.arrived.pop_front()
    }

    /// The bytes of a packet that has arrived.
    pub fn bytes(&mut self, delivery: &Delivery) -> &[u8] {
        self.store.bytes(delivery.number)
    }

    /// The packet has been handed over.
    pub fn free(&mut self, delivery: Delivery) {
        self.store.free(delivery.number);
    }

    /// From now on a copy is taken of each packet that enters hop `i`, before its queue.
    pub fn tap(&mut self, i: usize) {
        self.tap = Some(i);
    }

    /// The copies since the last call, each with the time at which the packet entered.
    pub fn tapped(&mut self) -> impl Iterator<Item = (Time, Vec<u8>)> {
        self.tapped.drain(..)
    }

    /// What hop `i` has done until `now`, in the form of a run's report; `None` for an access delay.
    pub fn report(&mut self, i: usize, hop: &Hop, now: Time) -> Option<LinkReport> {
        self.look(i, now);
        let (Hop::Direction { plan, id, .. }, Some(link)) = (hop, hop.link()) else { return None };
        Some(LinkReport::of(&mut self.hops[i].direction, link, id.way(), plan.rate_bps, now))
    }

    /// How many packets are inside or have arrived.
    pub fn inside(&self) -> usize {
        self.store.len()
    }

    /// What hop `i` has done, and the number and bytes of the packets that wait in its queue at `now`, which
    /// is not before the last call.
    pub fn look(&mut self, i: usize, now: Time) -> (HopCounts, (u64, u64)) {
        self.advance(now);
        let waiting = self.hops[i].direction.waiting(now);
        let bytes = self.hops[i].direction.waiting_bytes(now);
        self.bury(i);
        (self.hops[i].counts, (waiting, bytes))
    }

    /// The hop at which something happens first, and the instant.
    #[inline]
    fn first(&self) -> Option<(Time, usize)> {
        let nexts = self.hops.iter().enumerate().filter_map(|(i, hop)| Some((hop.direction.next()?, i)));
        nexts.min()
    }

    /// Something comes out of hop `i` at `at`.
    fn step(&mut self, at: Time, i: usize) {
        let out = self.hops[i].direction.pop(at);
        if let Some((packet, fate)) = out {
            let counts = &mut self.hops[i].counts;
            match fate {
                Fate::Lost => {
                    counts.dropped_error += 1;
                    self.store.free(packet.handle());
                }
                Fate::Dropped => {
                    counts.dropped_queue += 1;
                    self.store.free(packet.handle());
                }
                Fate::Delivered => {
                    counts.delivered_packets += 1;
                    counts.delivered_bytes += u64::from(packet.size());
                    if packet.ecn() == Ecn::Congested {
                        let bytes = self.store.bytes(packet.handle());
                        if ip::ecn(bytes) != Ecn::Congested {
                            ip::mark(bytes);
                            counts.marked += 1;
                        }
                    }
                    self.pass(i + 1, at, packet);
                }
            }
        }
        self.bury(i);
    }

    /// A packet leaves hop `i - 1`.
    fn pass(&mut self, i: usize, at: Time, packet: Packet) {
        if i == self.hops.len() {
            self.arrived.push_back(Delivery { due: at, number: packet.handle() });
        } else {
            self.enter(i, at, packet);
        }
    }

    /// A packet comes to hop `i`.
    fn enter(&mut self, i: usize, at: Time, mut packet: Packet) {
        let Some(hop) = self.hops.get_mut(i) else { return self.pass(i, at, packet) };
        if self.tap == Some(i) {
            self.tapped.push((at, self.store.bytes(packet.handle()).to_vec()));
        }
        if hop.packets != Packets::All && !hop.packets.include(self.store.bytes(packet.handle())) {
            return self.pass(i + 1, at, packet);
        }
        hop.counts.offered_packets += 1;
        let mut class = Class::default();
        if hop.sorts || hop.thins {
            let bytes = self.store.bytes(packet.handle());
            let hash = ip::flow_hash(bytes, self.seed);
            // The band of a packet without priority is the last.
            let band = (hop.bands - 1).saturating_sub(ip::precedence(bytes));
            class = Class::of_hash(band, hash);
            if let Some(ack) = ip::acknowledgement(bytes).filter(|_| hop.thins) {
                packet = packet.acknowledging((hash >> 32) as u32, ack.number, ack.plain);
            }
        }
        if let Push::Dropped(_) = hop.direction.push(at, packet, class) {
            hop.counts.dropped_queue += 1;
            self.store.free(packet.handle());
        }
        self.bury(i);
    }

    /// Forgets packets that the queue of hop `i` has dropped since it took them. Lost ones come out later.
    fn bury(&mut self, i: usize) {
        let hop = &mut self.hops[i];
        while let Some((packet, fate)) = hop.direction.take_doomed() {
            if fate == Fate::Dropped {
                hop.counts.dropped_queue += 1;
                self.store.free(packet.handle());
            }
        }
    }
}

#[cfg(test)]
mod tests;
