//! Batches: packets that enter one direction are moved on together.
//!
//! A packet that leaves a host, or arrives as an event and goes on, waits at the door of the direction that it
//! enters. All packets at a door are moved on, direction by direction, before the first of them can have an
//! effect: the instant at which it enters plus the reach of the door, which is the least time until a packet
//! arrives as an event or enters an opaque direction. Until then nothing else enters the directions behind the
//! door. Each of them therefore sees its packets in the same order as if they were moved one by one, and its
//! state is fetched once for the whole batch.

use bentpipe_cc::{Span, Time};

use super::routes::{END, Hop, Role};
use super::{FastPath, Recorded, eligibility, routes};
use crate::host::flow::FlowState;
use crate::link::direction::Transit;
use crate::link::packet::Packet;
use crate::link::under_way::{InFlight, keep_if};
use crate::resolve::plan::Plan;

/// The sizes of batches.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct BatchSizes {
    /// The least number of packets that are expected to meet at a door.
    pub(in crate::engine) least: f64,
    /// Most packets of a batch.
    pub(in crate::engine) most: usize,
}

impl Default for BatchSizes {
    /// Batches that are worth their cost and fit in the nearest cache.
    fn default() -> Self {
        Self { least: 16.0, most: 256 }
    }
}

/// The doors of all directions that packets enter as events.
#[derive(Debug)]
pub(super) struct Doors {
    pub(super) doors: Vec<Door>,
    /// Most packets of a batch.
    pub(super) most: usize,
    /// Before this instant all batches must be moved on; [`Time::MAX`] if no packet waits.
    pub(super) due: Time,
    /// May hosts work off many packets in a row? It pays where they send over a route that has a door for
    /// itself.
    pub(super) hosts: bool,
    /// Packets that a direction has just lost.
    lost: Vec<InFlight>,
}

/// Packets that wait to be moved on together.
#[derive(Debug)]
pub(super) struct Door {
    reach: Span,
    /// Each with the instant at which it enters, in order.
    waiting: Vec<InFlight>,
    /// The direction whose arrivals answer its packets, or [`END`].
    pub(super) back: u32,
    /// Do packets of several routes enter here?
    mixed: bool,
}

/// A hop at which packets enter a direction as events.
struct Entrance {
    hop: u32,
    reach: Span,
    /// The direction up to which that is.
    until: u32,
    /// Packets per second of one flow that has its path for itself.
    rate: f64,
    /// The direction whose arrivals answer its packets, or [`END`], if the packets come from their host.
    back: Option<u32>,
}

impl Doors {
    /// No doors.
    pub(super) fn none() -> Self {
        Self { doors: Vec::new(), most: 0, due: Time::MAX, hosts: false, lost: Vec::new() }
    }

    /// A door for each direction that packets enter as events, if packets meet there. Packets of several routes
    /// must go on together, because batches that part cost more than they save. `hops`: the routes, which
    /// flows share; `delays`: the least delay of each direction; `most`: no packet waits longer. With
    /// `changes`, a packet waits no longer than until it may reach its receiver.
    pub(super) fn new(
        plan: &Plan,
        hops: &mut [Hop],
        flows: &[FlowState],
        delays: &[Span],
        most: Span,
        changes: bool,
        sizes: BatchSizes,
    ) -> Self {
        let entrances = entrances(plan, hops, flows, delays, changes);
        let mut bounds = vec![(most, 0.0); delays.len()];
        let (mut ways, mut parts) = (vec![None; delays.len()], vec![false; delays.len()]);
        for &Entrance { hop, reach, until, rate, .. } in &entrances {
            let i = hops[hop as usize].direction as usize;
            let (least, highest) = &mut bounds[i];
            (*least, *highest) = ((*least).min(reach), f64::max(*highest, rate));
            let (first, end) = *ways[i].get_or_insert((hop, until));
            parts[i] |= first != hop && end != until;
        }
        let mut doors = Self { most: sizes.most, ..Self::none() };
        let mut firsts = vec![None; delays.len()];
        for Entrance { hop, back, .. } in entrances {
            let i = hops[hop as usize].direction as usize;
            let (reach, rate) = bounds[i];
            if reach.secs() * rate < sizes.least || parts[i] {
                continue;
            }
            let (first, number) = *firsts[i].get_or_insert_with(|| {
                let back = back.unwrap_or(END);
                doors.doors.push(Door { reach, waiting: Vec::new(), back, mixed: false });
                (hop, doors.doors.len() as u32 - 1)
            });
            hops[hop as usize].door = number;
            let door = &mut doors.doors[number as usize];
            door.mixed |= first != hop;
            if back != Some(door.back) {
                door.back = END;
            }
        }
        let starts = flows.iter().flat_map(|flow| [flow.data_route, flow.ack_route]);
        let mut starts = starts.filter_map(|hop| doors.doors.get(hops[hop as usize].door as usize));
        doors.hosts = !changes && starts.any(|door| !door.mixed);
        doors
    }
}

/// The hops at which packets enter a direction as events, those of opaque directions excepted.
fn entrances(
    plan: &Plan,
    hops: &[Hop],
    flows: &[FlowState],
    delays: &[Span],
    changes: bool,
) -> Vec<Entrance> {
    let mut entrances = Vec::new();
    for (flow, of) in flows.iter().zip(&plan.flows) {
        let last = |first: u32| routes::hops_from(hops, first).last().copied().unwrap_or(Hop::LAST);
        let (there, back) = (last(flow.data_route), last(flow.ack_route));
        let holds = |last: Hop| if last.role == Role::Holds { last.direction } else { END };
        let rate = eligibility::rate(plan, of, flow);
        let mut follow = |first: u32, mut as_event: bool, answers: u32| {
            for (hop, of) in (first..).zip(routes::hops_from(hops, first)) {
                if as_event && of.role != Role::Opaque {
                    let back = (hop == first).then_some(answers);
                    let (all, until) = reach(hops, hop, Some(flow.ack_route), delays);
                    let reach = if changes { reach(hops, hop, None, delays).0 } else { all };
                    entrances.push(Entrance { hop, reach, until, rate, back });
                }
                as_event = of.role.is_event();
            }
        };
        follow(flow.data_route, true, holds(back));
        if flow.is_answered() {
            follow(flow.ack_route, there.role != Role::Delivers, holds(there));
        }
    }
    entrances
}

impl Door {
    /// Before which instant all batches must be moved on, if a packet enters at `now`.
    #[inline(always)]
    pub(super) fn due_with(&self, now: Time, due: Time) -> Time {
        if self.waiting.is_empty() { due.min(Time(now.0.saturating_add(self.reach.0))) } else { due }
    }

    /// A packet enters at `now`. `due` is the instant before which all batches must be moved on.
    #[inline(always)]
    pub(super) fn wait(&mut self, now: Time, packet: &Packet, due: &mut Time) {
        *due = self.due_with(now, *due);
        self.waiting.push(InFlight { at: now, packet: *packet });
    }

    /// How many packets may still wait, if a batch has at most `most`?
    #[inline(always)]
    pub(super) fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.waiting.len())
    }
}

/// The least time until a packet that enters hop `at` arrives as an event or enters an opaque direction, and
/// the last direction that it has entered by then. A receiver that answers ahead of time sends its answer on
/// the route that begins at `acks`; without `acks` the way ends there.
fn reach(hops: &[Hop], at: u32, acks: Option<u32>, delays: &[Span]) -> (Span, u32) {
    let (mut at, mut reach, mut until) = (at as usize, Span::ZERO, END);
    while hops[at].direction != END && hops[at].role != Role::Opaque {
        let Hop { direction, role, .. } = hops[at];
        (reach, until) = (Span(reach.0.saturating_add(delays[direction as usize].0)), direction);
        at = match (role, acks) {
            (Role::HandsOn, _) => at + 1,
            (Role::Delivers, Some(acks)) => acks as usize,
            (Role::Holds | Role::Opaque, _) | (Role::Delivers, None) => break,
        };
    }
    (reach, until)
}

impl FastPath {
    /// A packet enters the direction of its current hop, if there are doors. Moves all on if enough packets wait.
    #[inline(never)]
    pub(super) fn enter_by_door(&mut self, packet: &mut Packet) {
        let now = self.network.now;
        let Doors { doors, due, most, .. } = &mut self.doors;
        let Some(door) = doors.get_mut(self.hops[packet.hop as usize].door as usize) else {
            return self.go_further(packet);
        };
        door.wait(now, packet, due);
        if door.room(*most) == 0 {
            self.move_all_on();
        }
    }

    /// Moves on all packets that wait at doors. Returns whether there were any.
    #[inline(never)]
    pub(super) fn move_all_on(&mut self) -> bool {
        let any = self.doors.due != Time::MAX;
        self.doors.due = Time::MAX;
        for door in 0..self.doors.doors.len() {
            let Door { waiting, mixed, .. } = &mut self.doors.doors[door];
            if waiting.is_empty() {
                continue;
            }
            let (mut batch, mixed) = (std::mem::take(waiting), *mixed);
            match self.recorded {
                Recorded::Nothing => self.move_on::<false, false>(mixed, &mut batch),
                Recorded::Receivers => self.move_on::<true, false>(mixed, &mut batch),
                Recorded::Directions | Recorded::Packets => self.move_on::<true, true>(mixed, &mut batch),
            }
            batch.clear();
            self.doors.doors[door].waiting = batch;
        }
        any
    }

    /// Offers a batch of packets to the direction that they enter, and moves it on for as long as it needs no
    /// event, as [`FastPath::forward`] does with a packet. `mixed`: they may be on several routes.
    fn move_on<const RECEIVERS: bool, const DIRECTIONS: bool>(
        &mut self,
        mixed: bool,
        batch: &mut Vec<InFlight>,
    ) {
        let Some(first) = batch.first() else { return };
        let at = first.packet.hop;
        if mixed && batch.iter().any(|of| of.packet.hop != at) {
            self.move_mixed_on::<RECEIVERS, DIRECTIONS>(batch);
        } else {
            self.move_on_by_route::<RECEIVERS, DIRECTIONS>(at, batch);
        }
    }

    /// The same for packets that are all at hop `at`.
    fn move_on_by_route<const RECEIVERS: bool, const DIRECTIONS: bool>(
        &mut self,
        mut at: u32,
        batch: &mut Vec<InFlight>,
    ) {
        while !batch.is_empty() {
            let Hop { direction, mut role, delay_line, .. } = self.hops[at as usize];
            let mut i = direction as usize;
            if role == Role::Opaque {
                for InFlight { at: now, packet } in batch.iter_mut() {
                    packet.hop = at;
                    self.push(i, *now, packet);
                }
                return;
            }
            let passes = self.pass_delay_line::<DIRECTIONS>(delay_line, batch);
            if passes {
                let line = &self.delay_lines[delay_line as usize];
                (at, i, role) = (line.last, line.direction as usize, line.role);
            } else {
                self.cross::<DIRECTIONS>(i, Some(at), batch);
            }
            if role == Role::Holds {
                return self.keep_all(i, Some(at), batch);
            }
            if !passes {
                self.hand_on::<DIRECTIONS>(i, batch);
            }
            if role == Role::HandsOn {
                at += 1;
                continue;
            }
            self.network.receive_all::<RECEIVERS>(batch);
            let Some(first) = batch.first() else { return };
            at = first.packet.hop;
            if batch.iter().any(|of| of.packet.hop != at) {
                return self.move_mixed_on::<RECEIVERS, DIRECTIONS>(batch);
            }
        }
    }

    /// The same for packets on several routes, each at its own hop. They go on together while all of them meet
    /// one direction and one role there.
    #[inline(never)]
    fn move_mixed_on<const RECEIVERS: bool, const DIRECTIONS: bool>(&mut self, batch: &mut Vec<InFlight>) {
        while let Some(first) = batch.first() {
            let Hop { direction, role, .. } = self.hops[first.packet.hop as usize];
            let meets = |of: &InFlight| {
                let hop = self.hops[of.packet.hop as usize];
                (hop.direction, hop.role) == (direction, role)
            };
            if role == Role::Opaque || !batch.iter().all(meets) {
                return self.move_each_on::<RECEIVERS, DIRECTIONS>(batch);
            }
            let i = direction as usize;
            self.cross::<DIRECTIONS>(i, None, batch);
            if role == Role::Holds {
                return self.keep_all(i, None, batch);
            }
            self.hand_on::<DIRECTIONS>(i, batch);
            if role == Role::HandsOn {
                batch.iter_mut().for_each(|of| of.packet.hop += 1);
            } else {
                self.network.receive_all::<RECEIVERS>(batch);
            }
        }
    }

    /// Moves packets on one by one.
    #[inline(never)]
    fn move_each_on<const RECEIVERS: bool, const DIRECTIONS: bool>(&mut self, batch: &mut [InFlight]) {
        for InFlight { at, packet } in batch {
            self.forward::<RECEIVERS, DIRECTIONS>(*at, packet);
        }
    }

    /// Keeps all packets of a batch in direction `i`, at hop `at` or each at its own.
    #[inline(always)]
    fn keep_all(&mut self, i: usize, at: Option<u32>, batch: &[InFlight]) {
        if !batch.is_empty() && self.network.directions[i].keep_all(at, batch) {
            let first = self.network.directions[i].next().unwrap_or(Time::MAX);
            self.expect_first(i, first);
        }
    }

    /// Passes a delay line with all packets, unless one of them has another size or arrives after the end.
    #[inline(always)]
    fn pass_delay_line<const DIRECTIONS: bool>(&mut self, line: u32, batch: &mut [InFlight]) -> bool {
        let number = line as usize;
        let (Some(line), Some(last)) = (self.delay_lines.get_mut(number), batch.last()) else { return false };
        let last = last.at.0.saturating_add(line.time);
        let fits = || line.one_size || batch.iter().all(|of| of.packet.size == line.size);
        if last > self.network.end.0 || !fits() {
            return false;
        }
        line.count += batch.len() as u64;
        for of in batch {
            if DIRECTIONS {
                self.network.recorder.passes(of.at, number);
            }
            of.at.0 += line.time;
        }
        true
    }

    /// Offers all packets to direction `i`, at hop `at` or each at its own. Those that it loses leave the
    /// batch.
    #[inline(always)]
    fn cross<const DIRECTIONS: bool>(&mut self, i: usize, at: Option<u32>, batch: &mut Vec<InFlight>) {
        let mut lost = std::mem::take(&mut self.doors.lost);
        let direction = &mut self.network.directions[i];
        if DIRECTIONS {
            let recorder = &mut self.network.recorder;
            keep_if(batch, |of| {
                recorder.offered(of.at, i, direction);
                match direction.transit(of.at, &mut of.packet) {
                    Transit::Arrives(at) => of.at = at,
                    Transit::Lost(_) | Transit::Refused(_) => {
                        lost.push(*of);
                        return false;
                    }
                }
                true
            });
        } else {
            direction.transit_all(batch, &mut lost);
        }
        for mut of in lost.drain(..) {
            of.packet.hop = at.unwrap_or(of.packet.hop);
            self.drop(of.at, &of.packet);
        }
        self.doors.lost = lost;
    }

    /// Direction `i` has handed all packets on, those excepted that would arrive after the end.
    #[inline(always)]
    fn hand_on<const DIRECTIONS: bool>(&mut self, i: usize, batch: &mut Vec<InFlight>) {
        while let Some(of) = batch.pop_if(|of| of.at > self.network.end) {
            self.beyond(i, &of.packet);
        }
        if DIRECTIONS {
            batch.iter().for_each(|of| self.network.recorder.handed_on(of.at, i));
        }
        self.network.directions[i].counts.delivered += batch.len() as u64;
    }
}
