//! A series of the simulator's directions, and the packets in them. It knows neither the wall clock nor devices: whoever drives it says what
//! time it is.

use std::collections::VecDeque;

use bentpipe_cc::Time;
use bentpipe_sim::link::{Class, Direction, Ecn, Fate, Packet, Push};

use crate::ip;
use crate::packet_store::PacketStore;
use crate::route::Hop;

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
    /// When it was to arrive.
    pub due: Time,
    number: u32,
}

#[derive(Debug)]
struct HopState {
    direction: Direction,
    counts: HopCounts,
}

/// A series of directions at work.
#[derive(Debug)]
pub struct Chain {
    hops: Vec<HopState>,
    store: PacketStore,
    seed: u64,
    /// Packets that have crossed all hops, in order of time.
    arrived: VecDeque<Delivery>,
}

impl Chain {
    /// The hops at their beginning. Flows are hashed with `seed`, for queues that sort by flow.
    pub fn new(hops: &[Hop], seed: u64) -> Self {
        let state = |hop: &Hop| {
            let mut direction = hop.begin();
            direction.count_bytes();
            HopState { direction, counts: HopCounts::default() }
        };
        Self {
            hops: hops.iter().map(state).collect(),
            store: PacketStore::default(),
            seed,
            arrived: VecDeque::new(),
        }
    }

    /// A whole IPv4 packet comes at `now`, which is not before the last call.
    pub fn push(&mut self, now: Time, bytes: &[u8]) {
        self.advance(now);
        let number = self.store.put(bytes);
        let packet = Packet::new(bytes.len() as u16, number).with_ecn(ip::ecn(bytes));
        self.enter(0, now, packet);
    }

    /// When something happens next inside; `None` if nothing is inside. Packets that have arrived are not counted.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.hops.iter().filter_map(|hop| hop.direction.next()).min()
    }

    /// Lets everything happen that was due by `now`. What was due is worked out at the instant at which it was due, however late that is.
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

    /// How many packets are inside or have arrived.
    pub fn inside(&self) -> usize {
        self.store.len()
    }

    /// What hop `i` has done, and the packets that wait in its queue at `now`, which is not before the last call, and their bytes.
    pub fn look(&mut self, i: usize, now: Time) -> (HopCounts, (u64, u64)) {
        self.advance(now);
        let waiting = self.hops[i].direction.waiting(now);
        let bytes = self.hops[i].direction.waiting_bytes(now);
        self.bury(i);
        (self.hops[i].counts, (waiting, bytes))
    }

    /// The hop at which something happens first, and when.
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
    fn enter(&mut self, i: usize, at: Time, packet: Packet) {
        let Some(hop) = self.hops.get_mut(i) else { return self.pass(i, at, packet) };
        hop.counts.offered_packets += 1;
        let class = Class::of_hash(0, ip::flow_hash(self.store.bytes(packet.handle()), self.seed));
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
