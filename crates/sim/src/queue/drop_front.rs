//! Drop from front: drop-tail with the drops at the head (Lakshman, Neidhardt and Ott 1996).
//!
//! In place of a packet that finds no room, the packets that have waited longest are dropped, until there is
//! room for it. The packet in transmission stays. The receiver notices a loss earlier than with drop-tail, by
//! the time in which the queue empties. A packet that is larger than the whole room is dropped itself. With a
//! limit in packets these are the rules of ns-2's `drop_front_` and of Linux's `pfifo_head_drop`.
//!
//! A measurement of one-way delays and losses reports that Starlink's access network drops from the front
//! (arXiv:2605.27717).

use bentpipe_cc::{Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{QueueRoom, QueueSize};
use crate::link::packet::Packet;
use crate::link::random::Stream;
use crate::link::time_line::TimeLine;
use crate::queue::at_departure::{AtDeparture, Class};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::packet_store::{Fifo, Sifting, Store};
use crate::queue::room::{ChangingRoom, Room};

keys! {
    /// First in, first out: packets at the head are dropped until there is room for the packet that enters.
    /// Measurements of delay and loss report that Starlink's access network does so (arXiv:2605.27717).
    pub struct DropFront {
        /// Room, the packet in transmission not counted. As a time, the bytes that the link sends in it at
        /// the rate of the instant; in an outage, at the last rate before it.
        pub limit: QueueRoom = QueueRoom::Size(QueueSize::Bdp(1.0)),
    }
}

/// Drop from front has nothing but its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DropFrontPlan {
    /// The limit as a time, if it is one.
    pub time: Option<Span>,
}

impl QueueKeys for DropFront {
    type Plan = DropFrontPlan;
    const LABEL: &'static str = "Drop-front";
    const SOURCE: &'static str = "T. V. Lakshman, A. Neidhardt, T. J. Ott: The Drop from Front Strategy in TCP and in TCP over ATM, 1996";
    const REFERENCE: &'static str = "IEEE INFOCOM 1996";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, DropFrontPlan), Error> {
        let (limit, time) = context.room(self.limit);
        Ok((limit, DropFrontPlan { time }))
    }
}

impl QueuePlan for DropFrontPlan {
    fn start(&self, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        DropFrontState::rule(Room::Constant(limit))
    }

    fn start_along(&self, line: &TimeLine, limit: QueueLimit, _: u64, _: Stream) -> Rule {
        let changing = self.time.and_then(|time| ChangingRoom::new(time, line));
        DropFrontState::rule(changing.map_or(Room::Constant(limit), Room::Changing))
    }
}

/// The queue of one direction.
#[derive(Debug)]
struct DropFrontState {
    room: Room,
    fifo: Fifo,
}

impl DropFrontState {
    fn rule(room: Room) -> Rule {
        Rule::AtDeparture(Box::new(Self { room, fifo: Fifo::default() }))
    }
}

impl AtDeparture for DropFrontState {
    fn enqueue(&mut self, now: Time, packet: Packet, _: Class, idle: bool, store: &mut Store) {
        let limit = self.room.at(now);
        if !idle && !limit.has_room(0, 0, packet.size) {
            return store.verdicts.drop(packet);
        }
        while !idle && !limit.has_room(self.fifo.packets, self.fifo.bytes, packet.size) {
            let Some((_, head)) = store.pop(&mut self.fifo) else { break };
            store.verdicts.drop(head);
        }
        store.push(&mut self.fifo, now, packet);
    }

    fn dequeue(&mut self, _: Time, store: &mut Store) -> Option<Packet> {
        store.pop(&mut self.fifo).map(|(_, packet)| packet)
    }

    fn sift(&mut self, _: Time, store: &mut Store, verdict: &mut Sifting<'_>) {
        store.sift(&mut self.fifo, verdict);
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::direction::{Direction, Fate};
    use crate::queue::{Discipline, DropTailPlan};
    use crate::resolve::plan::DirectionPlan;

    /// Packets of these sizes come at 0 to a link of 12 Mbit/s, on which 1500 bytes take 1 ms. The
    /// numbers of those that are dropped, in the order of the drops, and the numbers of those that
    /// arrive, with the instants in us.
    fn pass(discipline: Discipline, queue: QueueLimit, sizes: &[u16]) -> (Vec<u32>, Vec<(u32, u64)>) {
        let plan = DirectionPlan { discipline, ..DirectionPlan::plain(12_000_000, Span::ZERO, queue) };
        let mut link = Direction::new(&plan, 1, "x/forward");
        let (mut dropped, mut arrived) = (Vec::new(), Vec::new());
        for (seq, &size) in (0..).zip(sizes) {
            let packet = Packet { seq, size, ..Packet::default() };
            if let crate::link::direction::Push::Dropped(_) = link.push(Time(0), packet, Class::default()) {
                dropped.push(seq);
            }
            let mut gone: Vec<u32> =
                std::iter::from_fn(|| link.take_doomed()).map(|(packet, _)| packet.seq).collect();
            gone.sort_unstable();
            dropped.append(&mut gone);
        }
        while let Some(at) = link.next() {
            if let Some((packet, Fate::Delivered)) = link.pop(at) {
                arrived.push((packet.seq, at.0 / 1_000));
            }
        }
        (dropped, arrived)
    }

    fn front(queue: QueueLimit, sizes: &[u16]) -> (Vec<u32>, Vec<(u32, u64)>) {
        pass(Discipline::DropFront(DropFrontPlan::default()), queue, sizes)
    }

    #[test]
    fn the_oldest_packet_that_waits_makes_room() {
        // 0 is in transmission. 1 and 2 fill the room; 3 drops 1, 4 drops 2, 5 drops 3.
        let limit = QueueLimit::Packets(2);
        assert_eq!(front(limit, &[1_500; 6]), (vec![1, 2, 3], vec![(0, 1_000), (4, 2_000), (5, 3_000)]));
        // Drop-tail drops the packets that come last.
        let tail = pass(Discipline::DropTail(DropTailPlan::default()), limit, &[1_500; 6]);
        assert_eq!(tail, (vec![3, 4, 5], vec![(0, 1_000), (1, 2_000), (2, 3_000)]));
    }

    #[test]
    fn as_many_packets_go_as_the_bytes_of_the_arriving_one_need() {
        // Of 3000 bytes, 1, 2 and 3 take all. 4 needs 1500, so 1 and 2 go: 1000 + 1500 remain. 5 needs 500:
        // it fits. 6 is larger than the room and drops nothing else. 7 needs 3000: 3, 4 and 5 go.
        let sizes = [1_500, 1_000, 1_000, 1_000, 1_500, 500, 3_001, 3_000];
        let (dropped, arrived) = front(QueueLimit::Bytes(3_000), &sizes);
        assert_eq!(dropped, [1, 2, 6, 3, 4, 5]);
        assert_eq!(arrived, [(0, 1_000), (7, 3_000)]);
    }

    #[test]
    fn a_queue_without_room_sends_what_finds_the_transmitter_free() {
        assert_eq!(front(QueueLimit::Packets(0), &[1_500; 3]), (vec![1, 2], vec![(0, 1_000)]));
    }
}
