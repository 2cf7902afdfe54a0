//! The reference loop: it defines what a run means.
//!
//! Every packet is an event at every direction that it crosses. It is pushed where it enters, and an event is
//! due when the direction says that a packet leaves it. Every timer is an event. [`Event`] gives the order:
//! by time, and within one instant arrivals first, by entity. A fixed number therefore breaks a tie, and not
//! the order of scheduling.
//!
//! This loop takes no short cut and needs no promise. It runs the plans for which the fast path is not
//! eligible. It is the oracle with which the fast path is compared, bit for bit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

use crate::constellation::{Propagation, ROUTED};
use crate::engine::access_delays::{AccessDelays, END, Routes, air_entity};
use crate::engine::error::RunError;
use crate::engine::hosts::{EventLoop, Hosts, Timer};
use crate::engine::network::{EVENTS_PER_LOOK, Network, Watch};
use crate::link::direction::{Direction, Fate, Push};
use crate::link::packet::Packet;
use crate::resolve::plan::Plan;

/// The events of one instant, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet leaves a direction. Entities are the directions of the scenario, the ports of a constellation among
    /// them, then the air behind each port, then three per flow: its access delay there, the one back, and the
    /// random delay of its acknowledgements. The airs are numbered behind all directions.
    Arrival { entity: u32, direction: u32 },
    /// A timer expires.
    Timer(Timer),
}

/// A run in progress.
#[derive(Debug)]
pub(super) struct Reference {
    network: Network,
    /// The earliest event is on top. An event that was moved leaves its old entry behind.
    events: BinaryHeap<Reverse<(Time, Event)>>,
    /// The entity of each direction, and the instant at which its event is due.
    arrivals: Vec<(u32, Option<Time>)>,
    /// The directions of all routes, one route after the other. A packet's hop is an index into it.
    route: Vec<u32>,
}

impl Reference {
    /// The run of `plan` before anything has happened.
    pub(super) fn new(plan: &Plan, mut network: Network) -> Self {
        let Routes { entities, directions: route } = AccessDelays::add(plan, &mut network);
        let airs = (0..network.airs.len()).map(|air| air_entity(plan, air));
        let arrivals = entities.into_iter().chain(airs).map(|entity| (entity, None)).collect();
        let mut run = Self { network, events: BinaryHeap::new(), arrivals, route };
        run.begin();
        run
    }

    /// Processes all events until the end.
    ///
    /// # Errors
    /// The run was stopped, or exceeds a bound.
    #[inline(never)] // so that it takes no registers from the fast path
    pub(super) fn run(mut self, watch: &mut Watch<'_>) -> Result<Network, RunError> {
        self.advance(self.network.end, watch)?;
        Ok(self.network)
    }

    /// The instant of the next event, or an earlier one at which an event was moved; [`Time::MAX`] if there
    /// is none.
    pub(super) fn next(&self) -> Time {
        self.events.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }

    /// Processes all events up to `until`, and those of that instant. Returns false if the run must end
    /// because it keeps too much.
    ///
    /// # Errors
    /// As for [`Reference::run`].
    pub(super) fn advance(&mut self, until: Time, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        let mut until_look = EVENTS_PER_LOOK;
        while self.next() <= until
            && let Some(Reverse((at, event))) = self.events.pop()
        {
            self.network.now = at;
            if let Some(forwarding) = &mut self.network.forwarding {
                forwarding.go_to(at);
            }
            if let Some(tap) = &mut self.network.tap
                && matches!(event, Event::Timer(_))
            {
                tap.expires();
            }
            match event {
                Event::Arrival { entity, direction } if self.is_due(direction) => {
                    self.on_arrival(entity, direction as usize);
                }
                Event::Arrival { .. } => {} // it was moved
                Event::Timer(timer) => self.on_timer(timer),
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = EVENTS_PER_LOOK;
                if !self.network.look(at.secs() / self.network.end.secs(), watch)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The state of the run.
    pub(super) fn into_network(self) -> Network {
        self.network
    }

    /// A packet leaves a direction.
    fn on_arrival(&mut self, entity: u32, direction: usize) {
        self.arrivals[direction].1 = None;
        if let Some(air) = direction.checked_sub(self.network.directions.len()) {
            return self.on_landing(air);
        }
        let out = self.network.directions[direction].pop(self.network.now);
        if let Some(tap) = &mut self.network.tap {
            tap.popped(self.network.now, out.as_ref(), &mut self.network.directions[direction]);
        }
        self.network.let_send(direction);
        self.expect(direction);
        self.come_out(entity, direction, out);
        self.enter_moved();
    }

    /// A packet has come out of a direction, or none.
    fn come_out(&mut self, entity: u32, direction: usize, out: Option<(Packet, Fate)>) {
        let Some((mut packet, fate)) = out else { return };
        if fate != Fate::Delivered {
            return self.network.carried.free(packet.handle);
        }
        if packet.hop & ROUTED != 0 {
            return self.fly(direction, &packet);
        }
        packet.hop += 1;
        if self.route[packet.hop as usize] != END {
            return self.enter(packet, Some(entity));
        }
        if let Some(tap) = &mut self.network.tap {
            tap.arrives(self.network.now, entity, &packet, &mut self.network.carried);
        }
        self.on_packet(&mut packet);
    }

    /// A packet has been sent by the port of direction `i`, and takes to the air.
    fn fly(&mut self, i: usize, packet: &Packet) {
        let Network { forwarding, directions, airs, now, .. } = &mut self.network;
        let Some(forwarding) = forwarding else { return };
        let port = forwarding.port(i);
        let Propagation::Until(at) = forwarding.fly(port, packet, *now) else {
            airs[port].lost += 1;
            self.network.lose(self.network.now, None, packet);
            return self.network.carried.free(packet.handle);
        };
        airs[port].fly(at, packet);
        let entry = directions.len() + port;
        self.expect(entry);
    }

    /// A packet arrives at a node of the constellation.
    fn on_landing(&mut self, air: usize) {
        let out = self.network.airs[air].pop();
        self.expect(self.network.directions.len() + air);
        let (Some(mut packet), Some(forwarding)) = (out, &self.network.forwarding) else { return };
        if forwarding.is_there(&packet) { self.on_packet(&mut packet) } else { self.enter(packet, None) }
    }

    /// Offers what ports have given up to the ports of the next hops.
    fn enter_moved(&mut self) {
        for packet in std::mem::take(&mut self.network.moved) {
            self.enter(packet, None);
        }
    }

    /// Offers a packet to the direction of its current hop. `brought`: the entity that has brought it; `None`
    /// if it leaves its host.
    fn enter(&mut self, mut packet: Packet, brought: Option<u32>) {
        let i = match &self.network.forwarding {
            Some(forwarding) if packet.hop & ROUTED != 0 => {
                let Some(port) = forwarding.enter(&mut packet.hop) else {
                    return self.network.turn_away(&packet);
                };
                forwarding.direction(port)
            }
            _ => self.route[packet.hop as usize] as usize,
        };
        if let Some(tap) = &mut self.network.tap {
            tap.enters(self.network.now, i, &packet, &self.network.carried);
        }
        let push = self.network.offer(i, &packet);
        if let Some(tap) = &mut self.network.tap {
            let place = (i, self.arrivals[i].0);
            tap.pushed(self.network.now, place, (&packet, push), &mut self.network.directions[i]);
        }
        match push {
            Push::Taken => {}
            Push::Lost => self.network.lose(self.network.now, brought, &packet),
            Push::Dropped(_) => {
                self.network.lose(self.network.now, brought, &packet);
                self.network.carried.free(packet.handle);
            }
        }
        self.network.lose_doomed(i, self.network.now, brought);
        self.expect(i);
        self.enter_moved();
    }

    /// Schedules the event of direction `i` for the instant at which the direction says that a packet leaves
    /// it.
    fn expect(&mut self, i: usize) {
        let Network { directions, airs, .. } = &self.network;
        let next = directions.get(i).map_or_else(|| airs[i - directions.len()].next(), Direction::next);
        let (entity, due) = &mut self.arrivals[i];
        let event = Event::Arrival { entity: *entity, direction: i as u32 };
        if *due != next {
            self.events.extend(next.map(|at| Reverse((at, event))));
            *due = next;
        }
    }

    /// Is the event of a direction that is due now the one scheduled last?
    fn is_due(&self, direction: u32) -> bool {
        self.arrivals[direction as usize].1 == Some(self.network.now)
    }
}

impl EventLoop for Reference {
    fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    fn depart(&mut self, packet: &mut Packet) {
        if let Some(tap) = &mut self.network.tap {
            tap.departs(self.network.now, packet, &mut self.network.carried);
        }
        self.enter(*packet, None);
    }

    fn schedule(&mut self, at: Time, timer: Timer) {
        self.events.push(Reverse((at, Event::Timer(timer))));
    }
}
