//! Batches: packets that leave hosts over one route are moved on together.
//!
//! A packet that departs waits at the door of its route. All packets at a door are moved on, direction by
//! direction, before the first of them can have an effect: the instant of its departure plus the reach of the
//! route, which is the least time until a packet arrives as an event or enters an opaque direction. Until then
//! nothing else enters the directions of the route. Each of them therefore sees its packets in the same order
//! as if they were moved one by one, and its state is fetched once for the whole batch.

use bentpipe_cc::{Span, Time};

use super::routes::{END, Hop, NO_DOOR, Role};
use super::{FastPath, Recorded, eligibility, routes};
use crate::host::flow::FlowState;
use crate::link::direction::Transit;
use crate::link::packet::Packet;
use crate::link::under_way::{InFlight, keep_if};
use crate::resolve::plan::Plan;

/// The sizes of batches.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct BatchSizes {
    /// The least number of packets that are expected to meet on a route with a door.
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

/// The doors of all routes.
#[derive(Debug)]
pub(super) struct Doors {
    pub(super) doors: Vec<Door>,
    /// Most packets of a batch.
    pub(super) most: usize,
    /// Before this instant all batches must be moved on; [`Time::MAX`] if no packet waits.
    pub(super) due: Time,
    /// Packets that a direction has just lost.
    lost: Vec<InFlight>,
}

/// Packets that wait to be moved on together.
#[derive(Debug)]
pub(super) struct Door {
    reach: Span,
    /// Each with the instant of its departure, in order.
    waiting: Vec<InFlight>,
    /// The direction whose arrivals answer its packets, or [`END`].
    pub(super) back: u32,
}

impl Doors {
    /// No doors.
    pub(super) fn none() -> Self {
        Self { doors: Vec::new(), most: 0, due: Time::MAX, lost: Vec::new() }
    }

    /// A door for each route whose first direction belongs to that route alone, if packets meet there. `hops`:
    /// the routes, which flows share; `delays`: the least delay of each direction; `most`: no packet waits
    /// longer.
    pub(super) fn new(
        plan: &Plan,
        hops: &mut [Hop],
        flows: &[FlowState],
        delays: &[Span],
        most: Span,
        sizes: BatchSizes,
    ) -> Self {
        let mut used = vec![0; delays.len()];
        hops.iter().filter(|hop| hop.direction != END).for_each(|hop| used[hop.direction as usize] += 1);
        let mut doors = Self { most: sizes.most, ..Self::none() };
        for (flow, of) in flows.iter().zip(&plan.flows) {
            let last = |first: u32| {
                let last = routes::hops_from(hops, first).last().filter(|hop| hop.role == Role::Holds);
                last.map_or(END, |hop| hop.direction)
            };
            let (there, back) = (last(flow.data_route), last(flow.ack_route));
            for (first, last) in [(flow.data_route, back), (flow.ack_route, there)] {
                let reach = reach(hops, first, flow.ack_route, delays);
                let meet = reach.min(most).secs() * eligibility::rate(plan, of, flow);
                let hop = &mut hops[first as usize];
                if hop.direction == END || used[hop.direction as usize] > 1 || meet < sizes.least {
                    continue;
                }
                if hop.door == NO_DOOR {
                    hop.door = doors.doors.len() as u32;
                    doors.doors.push(Door { reach, waiting: Vec::new(), back: last });
                }
                let door = &mut doors.doors[hop.door as usize];
                door.reach = door.reach.min(reach);
            }
        }
        doors
    }
}

impl Door {
    /// Before which instant all batches must be moved on, if a packet departs at `now`.
    #[inline(always)]
    pub(super) fn due_with(&self, now: Time, due: Time) -> Time {
        if self.waiting.is_empty() { due.min(Time(now.0.saturating_add(self.reach.0))) } else { due }
    }

    /// A packet departs at `now`. `due` is the instant before which all batches must be moved on.
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

/// The least time until a packet on the route that begins at `first` arrives as an event or enters an opaque
/// direction. A receiver that answers ahead of time sends its answer on the route that begins at `back`.
fn reach(hops: &[Hop], first: u32, back: u32, delays: &[Span]) -> Span {
    let (mut at, mut reach) = (first as usize, Span::ZERO);
    while hops[at].direction != END && hops[at].role != Role::Opaque {
        let Hop { direction, role, .. } = hops[at];
        reach = Span(reach.0.saturating_add(delays[direction as usize].0));
        at = match role {
            Role::Holds | Role::Opaque => break,
            Role::HandsOn => at + 1,
            Role::Delivers => back as usize,
        };
    }
    reach
}

impl FastPath {
    /// [`EventLoop::depart`] if there are doors. Moves all on if enough packets wait.
    #[inline(never)]
    pub(super) fn depart_by_door(&mut self, packet: &mut Packet) {
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
            let mut batch = std::mem::take(&mut self.doors.doors[door].waiting);
            if let Some(first) = batch.first() {
                let hop = first.packet.hop;
                match self.recorded {
                    Recorded::Nothing => self.move_on::<false, false>(hop, &mut batch),
                    Recorded::Receivers => self.move_on::<true, false>(hop, &mut batch),
                    Recorded::Directions | Recorded::Packets => self.move_on::<true, true>(hop, &mut batch),
                }
                batch.clear();
            }
            self.doors.doors[door].waiting = batch;
        }
        any
    }

    /// Offers a batch of packets to the direction of hop `at`, and moves it on for as long as it needs no
    /// event, as [`FastPath::forward`] does with a packet.
    fn move_on<const RECEIVERS: bool, const DIRECTIONS: bool>(
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
                self.cross::<DIRECTIONS>(i, at, batch);
            }
            if role == Role::Holds {
                if !batch.is_empty() && self.network.directions[i].keep_all(at, batch) {
                    let first = self.network.directions[i].next().unwrap_or(Time::MAX);
                    self.expect_first(i, first);
                }
                return;
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
                return self.part::<RECEIVERS, DIRECTIONS>(batch);
            }
        }
    }

    /// Passes a delay line with all packets, unless one of them has another size or arrives after the end.
    #[inline(always)]
    fn pass_delay_line<const DIRECTIONS: bool>(&mut self, line: u32, batch: &mut [InFlight]) -> bool {
        let number = line as usize;
        let (Some(line), Some(last)) = (self.delay_lines.get_mut(number), batch.last()) else { return false };
        let last = last.at.0.saturating_add(line.time);
        if last > self.network.end.0 || batch.iter().any(|of| of.packet.size != line.size) {
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

    /// Offers all packets to direction `i` at hop `at`. Those that it loses leave the batch.
    #[inline(always)]
    fn cross<const DIRECTIONS: bool>(&mut self, i: usize, at: u32, batch: &mut Vec<InFlight>) {
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
            of.packet.hop = at;
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

    /// Moves on a batch whose packets are on several routes.
    #[cold]
    fn part<const RECEIVERS: bool, const DIRECTIONS: bool>(&mut self, batch: &[InFlight]) {
        for run in batch.chunk_by(|one, next| one.packet.hop == next.packet.hop) {
            self.move_on::<RECEIVERS, DIRECTIONS>(run[0].packet.hop, &mut run.to_vec());
        }
    }
}
