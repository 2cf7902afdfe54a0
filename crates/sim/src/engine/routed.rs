//! The fast path of constellations: the same result as the reference loop, with one event a hop.
//!
//! A port whose queue decides on arrival knows at once when it will have sent a packet. So the packet takes to the
//! air when it enters the port, and the end of its transmission is no event (`Direction::transit`). A port whose
//! queue decides at departure has an event for each packet, as in the reference loop, and so have the links of flows
//! that do not cross the constellation. Nothing is handed on further: the next hop of a packet is that of the
//! instant at which it arrives at a node. Packets in the air wait in a calendar; all other events are in the event
//! queue.

use bentpipe_cc::Time;

use crate::constellation::{Propagation, ROUTED, node_of};
use crate::engine::access_delays::{AccessDelays, END, Routes, air_entity};
use crate::engine::calendar::{Calendar, Landing, arrivals_per_second};
use crate::engine::error::RunError;
use crate::engine::event_queue::{EventQueue, Seated};
use crate::engine::hosts::{EventLoop, Hosts, Timer};
use crate::engine::mail::Outbox;
use crate::engine::network::{EVENTS_PER_LOOK, Network, Watch};
use crate::host::carried::Load;
use crate::link::direction::{Direction, Fate, Push, Transit};
use crate::link::packet::Packet;
use crate::resolve::plan::Plan;

/// A run in progress.
#[derive(Debug)]
pub(super) struct Routed {
    network: Network,
    events: EventQueue,
    /// The packets in the air.
    air: Calendar,
    /// The entity of the first air.
    first_entity: u32,
    /// The directions of the routes over links, one route after the other.
    route: Vec<u32>,
    /// Where packets to nodes of other threads go, if there are other threads.
    outbox: Option<Box<Outbox>>,
}

impl Routed {
    /// The run of `plan` before anything has happened.
    pub(super) fn new(plan: &Plan, network: Network) -> Self {
        Self::start(plan, network, None)
    }

    /// The part of the run of `plan` that happens at the nodes of `outbox`.
    pub(super) fn of_part(plan: &Plan, network: Network, outbox: Outbox) -> Self {
        Self::start(plan, network, Some(Box::new(outbox)))
    }

    fn start(plan: &Plan, mut network: Network, outbox: Option<Box<Outbox>>) -> Self {
        let Routes { entities, directions: route } = AccessDelays::add(plan, &mut network);
        let ports = 2 * plan.links.len()..2 * plan.links.len() + plan.ports().count();
        let is_event =
            |i: usize, direction: &Direction| !ports.contains(&i) || direction.decides_at_departure();
        let seated = entities.iter().zip(&network.directions).enumerate();
        let seated = seated.map(|(i, (&entity, direction))| Seated {
            entity,
            holds: is_event(i, direction),
            partition: 0,
        });
        let events = EventQueue::new(1, &seated.collect::<Vec<_>>());
        let air = Calendar::new(network.end, arrivals_per_second(plan));
        let mut run = Self { network, events, air, first_entity: air_entity(plan, 0), route, outbox };
        run.begin();
        run
    }

    /// Processes all events until the end.
    ///
    /// # Errors
    /// The run was stopped, or exceeds a bound.
    pub(super) fn run(mut self, watch: &mut Watch<'_>) -> Result<Network, RunError> {
        self.advance(self.network.end, watch)?;
        Ok(self.into_network())
    }

    /// The instant of the next event; [`Time::MAX`] if there is none.
    pub(super) fn next(&self) -> Time {
        let landing = self.air.first().map_or(Time::MAX, |landing| landing.at);
        self.events.earliest().min(landing)
    }

    /// Processes all events up to `until`, and those of that instant. Returns false if the run must end
    /// because it keeps too much.
    ///
    /// # Errors
    /// As for [`Routed::run`].
    pub(super) fn advance(&mut self, until: Time, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        let mut until_look = EVENTS_PER_LOOK;
        loop {
            let (arrival, timer) = (self.events.arrival_key(), self.events.timer());
            let landing = self.air.first().map_or((Time::MAX, 0), |of| (of.at, self.first_entity + of.air));
            let lands = landing < arrival;
            let now = landing.0.min(arrival.0).min(timer);
            if now > until {
                return Ok(true);
            }
            self.network.now = now;
            if let Some(forwarding) = &mut self.network.forwarding {
                forwarding.go_to(now);
            }
            if lands && landing.0 <= timer {
                self.on_landing();
            } else if timer < arrival.0 {
                if let Some(number) = self.events.pop() {
                    self.network.tap.iter_mut().for_each(|tap| tap.expires());
                    self.on_timer(Timer::of_number(number, self.network.flows.len()));
                }
            } else {
                self.on_arrival(self.events.arrival().1);
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = EVENTS_PER_LOOK;
                self.network.flying = self.air.len() as u64;
                if !self.network.look(now.secs() / self.network.end.secs(), watch)? {
                    return Ok(false);
                }
            }
        }
    }

    /// [`Routed::advance`] for a window that ends at `last`. Looks at least once.
    pub(super) fn advance_window(&mut self, last: Time, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        self.outbox.iter_mut().for_each(|outbox| outbox.last = last);
        let share = last.secs() / self.network.end.secs();
        Ok(self.advance(last, watch)? && self.network.look(share, watch)?)
    }

    /// The mail that this part of the run has written.
    pub(super) fn outbox(&mut self) -> Option<&mut Outbox> {
        self.outbox.as_deref_mut()
    }

    /// A packet comes from another thread; `loads`: what such packets carry.
    pub(super) fn receive(&mut self, mail: Landing, loads: &[Load]) {
        let mut landing = mail;
        if landing.packet.handle > 0 {
            landing.packet.handle = self.network.carried.load(loads[landing.packet.handle as usize - 1]);
        }
        self.air.add(landing);
    }

    /// The state of the run.
    pub(super) fn into_network(self) -> Network {
        let Self { mut network, air, .. } = self;
        network.flying = 0;
        air.into_packets().for_each(|of| _ = network.airs[of.air as usize].fly(of.at, &of.packet));
        network
    }

    /// A packet leaves direction `i`.
    fn on_arrival(&mut self, i: usize) {
        let direction = &mut self.network.directions[i];
        let out = direction.pop(self.network.now);
        if direction.is_on_request() {
            return self.on_request(i, out);
        }
        let next = direction.next();
        self.events.expect_here(i, next);
        self.come_out(i, out);
    }

    /// The same for a port on request.
    #[inline(never)]
    fn on_request(&mut self, i: usize, out: Option<(Packet, Fate)>) {
        self.network.let_send(i);
        let next = self.network.directions[i].next();
        self.events.expect_here(i, next);
        self.come_out(i, out);
        self.enter_moved();
    }

    /// Offers what ports have given up to the ports of the next hops.
    fn enter_moved(&mut self) {
        for mut packet in std::mem::take(&mut self.network.moved) {
            self.route(&mut packet);
        }
    }

    /// A packet has come out of direction `i`, or none.
    #[inline(always)]
    fn come_out(&mut self, i: usize, out: Option<(Packet, Fate)>) {
        let Some((mut packet, fate)) = out else { return };
        if fate != Fate::Delivered {
            return self.network.carried.free(packet.handle);
        }
        if packet.hop & ROUTED != 0 {
            return self.leave_port(i, &packet);
        }
        packet.hop += 1;
        match self.route[packet.hop as usize] {
            END => {
                self.arrive_seen(i, &packet);
                self.on_packet(&mut packet);
            }
            next => self.push(next as usize, &packet),
        }
    }

    /// The next packet in the air arrives at a node.
    #[inline(always)]
    fn on_landing(&mut self) {
        let (Some(landing), Some(forwarding)) = (self.air.first(), &self.network.forwarding) else { return };
        let (mut packet, air) = (landing.packet, landing.air);
        self.air.take_first();
        if !forwarding.is_there(&packet) {
            return self.route(&mut packet);
        }
        if self.network.tap.is_some() {
            self.arrive_seen(self.network.directions.len() + air as usize, &packet); // airs come behind directions
        }
        self.on_packet(&mut packet);
    }

    /// A packet arrives at its host by direction `i`, under the eyes of the tap.
    #[cold]
    fn arrive_seen(&mut self, i: usize, packet: &Packet) {
        let Network { tap, carried, now, .. } = &mut self.network;
        tap.iter_mut().for_each(|tap| tap.arrives(*now, i as u32, packet, carried));
    }

    /// A packet has been sent by the port of direction `i`, which decides at departure.
    fn leave_port(&mut self, i: usize, packet: &Packet) {
        let Network { forwarding, now, .. } = &mut self.network;
        let Some(forwarding) = forwarding else { return };
        let port = forwarding.port(i);
        let flight = forwarding.fly(port, packet, *now);
        self.fly(port, flight, packet);
    }

    /// A packet at a node enters the port to its next hop.
    #[inline]
    fn route(&mut self, packet: &mut Packet) {
        let Network { forwarding, directions, now, end, .. } = &mut self.network;
        let Some(forwarding) = forwarding else { return };
        let Some(port) = forwarding.enter(&mut packet.hop) else { return self.network.turn_away(packet) };
        let i = forwarding.direction(port);
        let direction = &mut directions[i];
        if direction.decides_at_departure() {
            return self.push(i, packet);
        }
        let Transit::Arrives(sent) = direction.transit(*now, packet) else { return self.drop(packet) };
        if sent > *end {
            return self.beyond(i, packet);
        }
        direction.counts.delivered += 1;
        let flight = forwarding.fly(port, packet, sent);
        self.fly(port, flight, packet);
    }

    /// A packet is lost at a direction. Frees its SACK blocks.
    fn drop(&mut self, packet: &Packet) {
        self.network.lose(self.network.now, None, packet);
        self.network.carried.free(packet.handle);
    }

    /// A packet takes to the air behind a port, or is lost.
    #[inline(always)]
    fn fly(&mut self, air: usize, flight: Propagation, packet: &Packet) {
        let Propagation::Until(at) = flight else {
            self.network.airs[air].lost += 1;
            return self.drop(packet);
        };
        let landing = Landing { at, air: air as u32, packet: *packet };
        match &mut self.outbox {
            Some(outbox) if !outbox.owns(node_of(packet.hop)) => {
                outbox.post(landing, &mut self.network.carried)
            }
            _ => self.air.add(landing),
        }
    }

    /// A packet will have been sent by port `i` only when the run is over.
    #[cold]
    fn beyond(&mut self, i: usize, packet: &Packet) {
        self.network.directions[i].counts.beyond += 1;
        if let Some(missing) = self.network.flows[packet.flow as usize].missing(packet) {
            missing.beyond += 1;
        }
    }

    /// Offers a packet to a direction that has an event for each of its packets.
    fn push(&mut self, i: usize, packet: &Packet) {
        let now = self.network.now;
        if let Some(tap) = &mut self.network.tap {
            tap.enters(now, i, packet, &self.network.carried);
        }
        let pushed = self.network.offer(i, packet);
        let next = self.network.directions[i].next();
        self.events.expect_here(i, next);
        match pushed {
            Push::Taken => {}
            Push::Lost => self.network.lose(now, None, packet),
            Push::Dropped(_) => self.drop(packet),
        }
        self.network.lose_doomed(i, now, None);
        if !self.network.moved.is_empty() {
            self.enter_moved();
        }
    }
}

impl EventLoop for Routed {
    #[inline(always)]
    fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    #[inline]
    fn depart(&mut self, packet: &mut Packet) {
        if let Some(tap) = &mut self.network.tap {
            tap.departs(self.network.now, packet, &mut self.network.carried);
        }
        if packet.hop & ROUTED != 0 {
            return self.route(packet);
        }
        self.push(self.route[packet.hop as usize] as usize, packet);
    }

    fn has_sender(&mut self, f: usize) -> bool {
        let (flow, outbox) = (&self.network.flows[f], &self.outbox);
        outbox.as_ref().is_none_or(|outbox| outbox.owns(node_of(flow.data_route)))
    }

    #[inline(always)]
    fn schedule(&mut self, at: Time, timer: Timer) {
        self.events.push(0, at, timer.number(self.network.flows.len()));
    }
}
