//! The fast path: the same result as the reference loop, with far fewer events.
//!
//! It takes these short cuts. Each rests on promises of directions (`Direction::promises`):
//! - A packet enters the next direction ahead of time, if no other direction feeds it. A receiver may answer
//!   ahead of time, too (`routes.rs`).
//! - A run of directions at which nothing ever waits is a delay line, which a packet passes in one step
//!   (`delay_line.rs`).
//! - Parts of the network that learn of each other only after a delay are processed one after the other
//!   (`partitions.rs`).
//! - Packets that enter one direction cross it, and those behind it, as a batch (`batches.rs`). A host works off many
//!   packets in a row (`host_batches.rs`).
//! - Flows with equal access delays share one direction for them (`engine/access_delays.rs`).
//!
//! `eligibility.rs` says which short cuts a plan may take. Events of one instant come in the order of the
//! reference loop.

mod batches;
mod delay_line;
mod eligibility;
mod host_batches;
mod partitions;
mod routes;
mod timers;

use bentpipe_cc::{Span, Time};

use crate::engine::access_delays::{AccessDelays, OF_FLOW, Routes};
use crate::engine::error::RunError;
use crate::engine::event_queue::{EventQueue, Seated};
use crate::engine::hosts::{EventLoop, Hosts, Timer};
use crate::engine::network::{EVENTS_PER_LOOK, Network, Watch};
use crate::link::direction::{Direction, Fate, Push, Transit};
use crate::link::packet::Packet;
use crate::resolve::plan::Plan;
pub(super) use batches::BatchSizes;
use batches::Doors;
use delay_line::DelayLine;
use eligibility::Eligibility;
pub(super) use eligibility::eligibility;
use partitions::Partitions;
use routes::{END, Hop, Role, Ways};

/// Events ahead of time that the recorder must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    Nothing,
    /// Deliveries to receivers.
    Receivers,
    /// Packets at directions, and deliveries to receivers.
    Directions,
    /// Every packet where it enters a direction: every direction is opaque.
    Packets,
}

/// A run in progress.
#[derive(Debug)]
pub(super) struct FastPath {
    events: EventQueue,
    partitions: Partitions,
    network: Network,
    /// The entity of each direction; for an access delay that flows share, the entity of flow 0.
    entities: Vec<u32>,
    hops: Vec<Hop>,
    delay_lines: Vec<DelayLine>,
    doors: Doors,
    /// The next sample, after all other events of its instant.
    tick: Time,
    /// Events ahead of time that the recorder must be given.
    recorded: Recorded,
}

impl FastPath {
    /// The run of `plan` before anything has happened.
    pub(super) fn new(plan: &Plan, mut network: Network, eligible: Eligibility, sizes: BatchSizes) -> Self {
        let Routes { entities, directions } = AccessDelays::add_shared(plan, &mut network);
        let mut hops: Vec<Hop> = directions.into_iter().map(Hop::new).collect();
        let ways = network.flows.iter().zip(&plan.flows).zip(&eligible.prompt);
        let ways: Vec<Ways> = ways.map(|((flow, plan), &prompt)| Ways::new(flow, plan, prompt)).collect();
        let routes = |f: usize| {
            let flow = &network.flows[f];
            [flow.data_route, flow.ack_route].map(|first| routes::directions(&hops, first).collect())
        };
        let packet_sizes = eligibility::sizes(&network.directions, &network.flows, routes);
        let all = 0..packet_sizes.len();
        let promises = |i| eligibility::promises(i, &packet_sizes, &network);
        let in_order: Vec<bool> =
            all.clone().map(|i| eligible.unseen && promises(i).all(|p| p.in_order)).collect();
        let delay = |i| promises(i).map(|p| p.least_delay).min().unwrap_or(Span::ZERO);
        let delays: Vec<Span> = all.map(delay).collect();
        let is_shared: Vec<bool> = network.directions.iter().map(Direction::is_shared).collect();
        let feeders = routes::feeders(&hops, &is_shared, &ways);
        routes::assign(&mut hops, &in_order, &ways, &feeders);
        let mut constants = delay_line::constants(&network.directions, &feeders, &packet_sizes);
        constants.iter_mut().for_each(|constant| *constant &= eligible.unseen);
        for (direction, of) in network.directions.iter_mut().zip(&packet_sizes) {
            if let [size] = **of {
                direction.expect_equal_packets(size);
            }
        }
        let mut partitions = Partitions::one();
        if eligible.partitions {
            let rate = eligibility::capacity(plan, &network.flows);
            partitions = Partitions::find(&hops, &delays, &ways, rate);
        }
        let events = event_queue(&hops, &entities, &partitions);
        let recorded = announce(&hops, &mut network);
        let (mut hops, delay_lines) = share_routes(&hops, &packet_sizes, &constants, &mut network);
        let mut doors = Doors::none();
        if eligible.batches {
            let (flows, most) = (&network.flows, partitions.lookahead);
            let changes = network.recorder.has_changes();
            doors = Doors::new(plan, &mut hops, flows, &delays, most, changes, sizes);
        }
        let mut run = Self {
            events,
            partitions,
            network,
            entities,
            hops,
            delay_lines,
            doors,
            tick: Time::MAX,
            recorded,
        };
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

    /// The state of the run, with the packets on its delay lines counted.
    pub(super) fn into_network(mut self) -> Network {
        let Network { directions, .. } = &mut self.network;
        self.delay_lines.iter_mut().for_each(|line| line.book(&self.hops, directions));
        self.network
    }

    /// The instant of the next event; [`Time::MAX`] if there is none.
    pub(super) fn next(&self) -> Time {
        self.events.earliest().min(self.tick)
    }

    /// Processes all events up to `until`, and those of that instant. Returns false if the run must end
    /// because it keeps too much.
    ///
    /// # Errors
    /// As for [`FastPath::run`].
    pub(super) fn advance(&mut self, until: Time, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        let (end, count) = (self.network.end, self.partitions.count);
        let mut until_look = EVENTS_PER_LOOK;
        loop {
            let first = self.next();
            if first > until {
                return Ok(true);
            }
            let last =
                Time(first.0.saturating_add(self.partitions.lookahead.0 - 1)).min(until).min(self.tick);
            for partition in 0..count {
                // Until then the partitions are processed one after the other.
                let spent = |now: Time| {
                    (last.since(first).secs() * partition as f64 + now.since(first).secs()) / count as f64
                };
                let mut share = |now| (first.secs() + spent(now)) / end.secs();
                self.network.now = self.events.go_to(partition, self.network.now);
                if !self.work_until(last, &mut until_look, &mut share, watch)? {
                    return Ok(false);
                }
            }
            if last == self.tick {
                self.network.now = last;
                self.tick = Time::MAX;
                self.on_timer(Timer::Tick);
            }
        }
    }

    /// Processes all events of the current partition until `last`. `share` gives the part of the run that is
    /// over at an instant. Returns false if the run must end because it keeps too much.
    fn work_until(
        &mut self,
        last: Time,
        until_look: &mut u64,
        share: &mut dyn FnMut(Time) -> f64,
        watch: &mut Watch<'_>,
    ) -> Result<bool, RunError> {
        let has_doors = !self.doors.doors.is_empty();
        loop {
            let ((at, direction), timer) = (self.events.arrival(), self.events.timer());
            let next = at.min(timer);
            if next > last || has_doors && next >= self.doors.due {
                if has_doors && self.move_all_on() {
                    continue;
                }
                return Ok(true);
            }
            if next < self.network.now {
                return Err(self.back_in_time(next));
            }
            self.network.now = next;
            let mut events = 0;
            if self.doors.hosts {
                let arrival = (timer >= at).then_some(direction);
                events = self.take(arrival, last, *until_look);
            }
            if events == 0 {
                events = 1;
                if timer < at {
                    self.expire();
                } else {
                    self.on_arrival(direction);
                }
            }
            *until_look -= events;
            if *until_look == 0 {
                *until_look = EVENTS_PER_LOOK;
                if self.network.is_about_to_count() {
                    self.move_all_on();
                }
                if !self.network.look(share(next), watch)? {
                    return Ok(false);
                }
            }
        }
    }

    /// The first packet in flight on direction `i` arrives at the far end.
    fn on_arrival(&mut self, i: usize) {
        // The direction's next arrival replaces this one among the events; without a next one, the entry is
        // removed.
        let direction = &mut self.network.directions[i];
        let Some((mut packet, fate)) = direction.pop(self.network.now) else { return self.on_wake(i) };
        let next = direction.next();
        self.expect_here(i, next);
        if fate != Fate::Delivered {
            return self.network.carried.free(packet.handle);
        }
        packet.hop += 1;
        if self.hops[packet.hop as usize].direction != END {
            if !self.doors.doors.is_empty() {
                return self.enter_by_door(&mut packet);
            }
            return self.go_further(&mut packet);
        }
        if self.network.tap.is_some() {
            let entity = self.entity_of(i, packet.flow);
            let Network { tap, carried, now, .. } = &mut self.network;
            tap.iter_mut().for_each(|tap| tap.arrives(*now, entity, &packet, carried));
        }
        self.on_packet(&mut packet);
    }

    /// Direction `i` has decided, and no packet leaves it.
    #[cold]
    #[inline(never)]
    fn on_wake(&mut self, i: usize) {
        let next = self.network.directions[i].next();
        self.expect_here(i, next);
    }

    /// [`EventLoop::depart`] under the eyes of the tap.
    #[inline(never)]
    fn depart_seen(&mut self, packet: &mut Packet) {
        if let Some(tap) = &mut self.network.tap {
            tap.departs(self.network.now, packet, &mut self.network.carried);
        }
        self.forward_recorded(packet);
    }

    #[inline]
    fn go_further(&mut self, packet: &mut Packet) {
        if self.recorded == Recorded::Nothing {
            return self.forward::<false, false>(self.network.now, packet);
        }
        self.forward_recorded(packet);
    }

    #[inline(never)]
    fn forward_recorded(&mut self, packet: &mut Packet) {
        match self.recorded {
            Recorded::Nothing | Recorded::Receivers => self.forward::<true, false>(self.network.now, packet),
            Recorded::Directions => self.forward::<true, true>(self.network.now, packet),
            Recorded::Packets => self.enter(packet),
        }
    }

    /// A packet enters the direction of its current hop, and is captured there.
    #[inline(never)]
    fn enter(&mut self, packet: &Packet) {
        let i = self.hops[packet.hop as usize].direction as usize;
        if let Some(tap) = &mut self.network.tap {
            tap.enters(self.network.now, i, packet, &self.network.carried);
        }
        self.push(i, self.network.now, packet);
    }

    /// Offers a packet to the direction of its current hop at `at`, and moves it on for as long as it needs no
    /// event. On the way it may become its own acknowledgement. It stays in place, because a copy costs a
    /// store-to-load forwarding stall. The recorder's needs are known at compile time, which saves 2 % of
    /// the instructions where only receivers are recorded. It is not inlined: two variants in one function
    /// share too few registers.
    #[inline(never)]
    fn forward<const RECEIVERS: bool, const DIRECTIONS: bool>(&mut self, mut at: Time, packet: &mut Packet) {
        let mut at_hop = packet.hop;
        loop {
            let Hop { direction, mut role, delay_line, .. } = self.hops[at_hop as usize];
            let mut i = direction as usize;
            let mut passes = false;
            if let Some(line) = self.delay_lines.get_mut(delay_line as usize) {
                let then = Time(at.0.saturating_add(line.time));
                // A packet of another size, or one that arrives after the end, goes direction by direction.
                passes = packet.size == line.size && then <= self.network.end;
                if passes {
                    if DIRECTIONS {
                        self.network.recorder.passes(at, delay_line as usize);
                    }
                    line.count += 1;
                    (at, at_hop, i, role) = (then, line.last, line.direction as usize, line.role);
                }
            }
            if passes {
                if role == Role::Holds {
                    if self.network.directions[i].keep(at, at_hop, packet) {
                        self.expect_first(i, at);
                    }
                    return;
                }
            } else if role == Role::Opaque {
                packet.hop = at_hop;
                return self.push(i, at, packet);
            } else {
                let direction = &mut self.network.directions[i];
                if DIRECTIONS {
                    self.network.recorder.offered(at, i, direction);
                }
                let Transit::Arrives(arrival) = direction.transit(at, packet) else {
                    packet.hop = at_hop;
                    return self.drop(at, packet);
                };
                at = arrival;
                if role == Role::Holds {
                    if direction.keep(at, at_hop, packet) {
                        self.expect_first(i, at);
                    }
                    return;
                }
                if at > self.network.end {
                    return self.beyond(i, packet);
                }
                if DIRECTIONS {
                    self.network.recorder.handed_on(at, i);
                }
                direction.counts.delivered += 1;
            }
            if role == Role::HandsOn {
                at_hop += 1;
                continue;
            }
            if !self.network.receive::<RECEIVERS>(at, packet) {
                return;
            }
            at_hop = packet.hop;
        }
    }

    /// Pushes a packet into a direction that does not promise order.
    #[inline(never)]
    fn push(&mut self, i: usize, at: Time, packet: &Packet) {
        let class = self.network.class(i, packet);
        let direction = &mut self.network.directions[i];
        // The recorder may look at the direction, and a link layer decides when it is looked at.
        let before = direction.next();
        if self.recorded == Recorded::Directions {
            self.network.recorder.offered(at, i, direction);
        }
        let pushed = direction.push(at, *packet, class);
        let next = direction.next();
        // The next packet may belong to another flow, at the same instant.
        if next != before || direction.is_shared() {
            self.expect_of_flow(i, next);
        }
        let brought = self.brought(packet);
        match pushed {
            Push::Taken => {}
            Push::Lost => self.network.lose(at, brought, packet),
            Push::Dropped(_) => self.drop(at, packet),
        }
        self.network.lose_doomed(i, at, brought);
    }

    /// The entity of the arrival of a packet of this flow by direction `i`.
    fn entity_of(&self, i: usize, flow: u32) -> u32 {
        let shared = self.network.directions[i].is_shared();
        self.entities[i] + if shared { OF_FLOW * flow } else { 0 }
    }

    /// The entity that has brought a packet to its current hop; `None` if the packet starts there.
    fn brought(&self, packet: &Packet) -> Option<u32> {
        let flow = &self.network.flows[packet.flow as usize];
        let sets_out = packet.hop == flow.data_route || packet.hop == flow.ack_route;
        let before = || self.hops[packet.hop as usize - 1].direction as usize;
        (!sets_out).then(|| self.entity_of(before(), packet.flow))
    }

    /// A packet is lost at a direction at `at`. Frees its SACK blocks.
    fn drop(&mut self, at: Time, packet: &Packet) {
        let brought = self.brought(packet);
        self.network.lose(at, brought, packet);
        self.network.carried.free(packet.handle);
    }

    /// The packet that direction `i` has handed on would arrive after the end of the run.
    #[cold]
    fn beyond(&mut self, i: usize, packet: &Packet) {
        self.network.directions[i].counts.beyond += 1;
        if let Some(missing) = self.network.flows[packet.flow as usize].missing(packet) {
            missing.beyond += 1;
        }
    }

    #[cold]
    fn back_in_time(&self, at: Time) -> RunError {
        let numbers = format!("{} ns after {} ns", at.0, self.network.now.0);
        RunError::Law { law: "time never goes back", numbers, seed: self.network.seed }
    }
}

impl EventLoop for FastPath {
    #[inline(always)]
    fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    #[inline]
    fn depart(&mut self, packet: &mut Packet) {
        if !self.doors.doors.is_empty() {
            return self.enter_by_door(packet);
        }
        if self.network.tap.is_some() {
            return self.depart_seen(packet);
        }
        self.go_further(packet);
    }

    #[inline(always)]
    fn schedule(&mut self, at: Time, timer: Timer) {
        if timer == Timer::Tick {
            self.tick = at;
            return;
        }
        let (partition, number) = (self.partition(timer), timer.number(self.network.flows.len()));
        self.events.push(partition, at, number);
    }
}

/// The empty event queue for the directions of these hops.
fn event_queue(hops: &[Hop], entities: &[u32], partitions: &Partitions) -> EventQueue {
    let mut holds = vec![false; entities.len()];
    for hop in hops.iter().filter(|hop| hop.direction != END) {
        holds[hop.direction as usize] |= hop.role.is_event();
    }
    let seated = |(i, &entity): (usize, &u32)| Seated {
        entity,
        holds: holds[i],
        partition: partitions.of_arrivals(i) as u32,
    };
    let seated: Vec<Seated> = entities.iter().enumerate().map(seated).collect();
    EventQueue::new(partitions.count, &seated)
}

/// Prepares the recorder for events ahead of time. Returns those that it must be given.
fn announce(hops: &[Hop], network: &mut Network) -> Recorded {
    let last = |first: u32| routes::hops_from(hops, first).last().copied().unwrap_or(Hop::LAST);
    let ends: Vec<_> =
        network.flows.iter().map(|flow| (last(flow.data_route), last(flow.ack_route))).collect();
    let recorder = &mut network.recorder;
    let ahead = recorder.has_flows() && ends.iter().any(|(data, _)| data.role == Role::Delivers);
    if ahead {
        let acks_first: Vec<bool> = ends.iter().map(|(data, acks)| acks.direction < data.direction).collect();
        recorder.expect_receivers(&acks_first);
    }
    let captured = network.tap.as_ref().is_some_and(|tap| tap.captures());
    match (captured, recorder.has_links(), ahead) {
        (true, ..) => Recorded::Packets,
        (false, true, _) => Recorded::Directions,
        (false, false, true) => Recorded::Receivers,
        (false, false, false) => Recorded::Nothing,
    }
}

/// Lets similar flows share their routes, and finds the delay lines on the routes.
fn share_routes(
    hops: &[Hop],
    sizes: &[Vec<u16>],
    constants: &[bool],
    network: &mut Network,
) -> (Vec<Hop>, Vec<DelayLine>) {
    let firsts = network.flows.iter_mut().flat_map(|flow| {
        let [data, acks] = flow.usual_sizes();
        [(&mut flow.data_route, data), (&mut flow.ack_route, acks)]
    });
    let (mut hops, firsts) = routes::share(hops, firsts);
    let mut lines = Vec::new();
    for first in firsts {
        delay_line::find(&mut hops, first, sizes, &network.directions, constants, &mut lines);
    }
    for line in &lines {
        network.recorder.expect_delay_line(&line.delivers(&hops, &network.directions));
    }
    (hops, lines)
}

#[cfg(test)]
mod tests;
