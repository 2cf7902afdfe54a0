//! The tables and delays of a constellation while it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Time;

use crate::constellation::handovers::Handovers;
use crate::constellation::plan::{NetworkPlan, Port};
use crate::constellation::source::{Failed, LONGEST_STRAIGHT_NS, MOST_NODES};
use crate::link::packet::Packet;
use crate::scenario::{Decide, LeftBehind};

/// A hop with this bit is a node, in the next 15 bits, and a station by its number, to which the packet goes.
/// Without it a hop is a place on a route.
pub(crate) const ROUTED: u32 = 1 << 31;
const NODE: u32 = 16;

/// The node of a hop with [`ROUTED`].
#[inline(always)]
pub(crate) fn node_of(hop: u32) -> u32 {
    (hop & !ROUTED) >> NODE
}

/// The station to which a packet with this hop goes, by its number.
#[inline(always)]
fn destination_of(hop: u32) -> u32 {
    hop & ((1 << NODE) - 1)
}

const _: () = assert!(MOST_NODES == 1 << (31 - NODE));

/// No next hop.
const NOWHERE: u32 = u32::MAX;
/// The delay of a laser is straight for this long: its length curves by 0.1 m/s^2 or less, which is 0.3 ns after
/// half of that time. A link to the ground curves ten times as much.
const STRAIGHT_NS: [u64; 2] = [LONGEST_STRAIGHT_NS, LONGEST_STRAIGHT_NS / 10];

/// The state of a constellation in a run.
#[derive(Debug)]
pub(crate) struct Forwarding {
    plan: Arc<NetworkPlan>,
    /// The direction of port 0. Those of the other ports follow.
    first: u32,
    stations: u32,
    /// The next hop by node and station.
    next: Vec<NextHop>,
    /// The first change that does not hold yet, and its instant.
    change: usize,
    due: u64,
    ports: Vec<PortDelays>,
    handovers: Handovers,
    /// From when and until when parts fail, ns, by their ends in order; a node twice.
    failed: BTreeMap<(u32, u32), Vec<(u64, u64)>>,
    /// For each flow the packets that could go nowhere.
    unrouted: Vec<u64>,
}

/// A port, and the node at the far end; [`NOWHERE`] if there is none.
#[derive(Clone, Copy, Debug)]
struct NextHop {
    port: u32,
    node: u32,
}

/// What the delays behind a port follow from. It is one line of the cache: a packet needs no other, if it goes where
/// the packet before it went.
#[derive(Debug)]
#[repr(align(64))]
struct PortDelays {
    /// The delay to the neighbour that the last packet went to.
    last: StraightDelay,
    /// How long a packet of `size` bytes takes to send, ns: a division costs more than the rest.
    alone: u64,
    size: u16,
    /// For how long a delay is straight, ns.
    length: u32,
    /// The delays to further neighbours; a laser has none.
    #[expect(clippy::box_collection, reason = "a vector has three words, for which the line has no room")]
    others: Option<Box<Vec<StraightDelay>>>,
}

/// What becomes of a packet on its way to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// It arrives then.
    Until(Time),
    /// It is lost: a part that it needs fails meanwhile.
    Lost,
}

/// What becomes of a packet whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onward {
    /// It is sent.
    Now,
    /// The station at the far end receives nothing until then.
    Later(Time),
    /// Its next hop is behind another port, or nowhere. It is at its node.
    Elsewhere,
}

/// The delay to a neighbour for some time.
#[derive(Clone, Copy, Debug)]
struct StraightDelay {
    to: u32,
    /// When it begins, ns.
    from: u64,
    /// The delay then, ns, and by how much it grows in a nanosecond.
    delay: f64,
    slope: f64,
}

impl Forwarding {
    /// Before anything has happened. `first`: the direction of port 0.
    pub(crate) fn new(plan: &Arc<NetworkPlan>, first: usize, flows: usize) -> Self {
        let of = &plan.constellation;
        let stations = of.stations.len() as u32;
        let mut failed: BTreeMap<(u32, u32), Vec<(u64, u64)>> = BTreeMap::new();
        for &Failed { ends: (a, b), from_ns, to_ns } in &*plan.failed {
            failed.entry((a.min(b), a.max(b))).or_default().push((from_ns, to_ns));
        }
        let due = of.changes.at_ns.first().copied().unwrap_or(u64::MAX);
        Self {
            plan: plan.clone(),
            first: first as u32,
            stations,
            next: vec![NextHop { port: NOWHERE, node: NOWHERE }; (of.nodes() * stations) as usize],
            change: 0,
            due,
            ports: plan.ports.iter().map(|port| PortDelays::new(*port)).collect(),
            handovers: Handovers::new(plan),
            failed,
            unrouted: vec![0; flows],
        }
    }

    /// A packet of this flow could go nowhere.
    pub(crate) fn turn_away(&mut self, flow: u32) {
        self.unrouted[flow as usize] += 1;
    }

    /// Adds the packets that could go nowhere in a part of the run.
    pub(crate) fn join(&mut self, part: &Self) {
        self.unrouted.iter_mut().zip(&part.unrouted).for_each(|(sum, more)| *sum += more);
    }

    /// The packets of a flow that could go nowhere.
    pub(crate) fn unrouted(&self, flow: usize) -> u64 {
        self.unrouted[flow]
    }

    /// The hop of a packet at station `from` that goes to station `to`, by their numbers among the stations.
    pub(crate) fn hop(&self, from: u32, to: u32) -> u32 {
        ROUTED | (self.plan.constellation.satellites + from) << NODE | to
    }

    /// Lets the tables of `now` hold.
    #[inline(always)]
    pub(crate) fn go_to(&mut self, now: Time) {
        if now.0 >= self.due {
            self.change_tables(now);
        }
    }

    #[inline(never)]
    fn change_tables(&mut self, now: Time) {
        let of = &self.plan.constellation.changes;
        while of.at_ns.get(self.change).is_some_and(|at| *at <= now.0) {
            let i = self.change;
            let to = of.destination[i] - self.plan.constellation.satellites;
            let (at_node, next) = (of.node[i], u32::try_from(of.next[i]).ok());
            let port = next.and_then(|next| self.plan.port_to(at_node, next));
            let hop = NextHop { port: port.unwrap_or(NOWHERE), node: next.unwrap_or(NOWHERE) };
            self.next[(at_node * self.stations + to) as usize] = hop;
            self.change = i + 1;
        }
        self.due = of.at_ns.get(self.change).copied().unwrap_or(u64::MAX);
        self.handovers.go_to(&self.plan, now);
    }

    /// The port of a direction.
    pub(crate) fn port(&self, direction: usize) -> usize {
        direction - self.first as usize
    }

    /// The direction of port `port`.
    #[inline(always)]
    pub(crate) fn direction(&self, port: usize) -> usize {
        self.first as usize + port
    }

    /// The port that a packet enters at its node, by the tables that hold. Its hop becomes the node at the far
    /// end. `None` if it can go nowhere.
    #[inline]
    pub(crate) fn enter(&self, hop: &mut u32) -> Option<usize> {
        let (node, to) = (node_of(*hop), destination_of(*hop));
        let next = self.next[(node * self.stations + to) as usize];
        if next.port == NOWHERE {
            return None;
        }
        *hop = ROUTED | next.node << NODE | to;
        Some(next.port as usize)
    }

    /// Looks up the next hop of a packet that waits at the port of a direction. Returns false if that is elsewhere: the
    /// packet is then at the node of the port.
    pub(crate) fn look_up_again(&self, direction: usize, packet: &mut Packet) -> bool {
        let port = self.port(direction);
        packet.hop = ROUTED | self.plan.ports[port].node << NODE | destination_of(packet.hop);
        let mut hop = packet.hop;
        let stays = self.enter(&mut hop) == Some(port);
        if stays {
            packet.hop = hop;
        }
        stays
    }

    /// What becomes of a packet that is next at the port of a direction.
    pub(crate) fn onward(&self, direction: usize, packet: &mut Packet, now: Time) -> Onward {
        if self.plan.rules.decide == Decide::Departure && !self.look_up_again(direction, packet) {
            return Onward::Elsewhere;
        }
        match node_of(packet.hop).checked_sub(self.plan.constellation.satellites) {
            Some(station) if self.handovers.silent_until(station) > now => {
                Onward::Later(self.handovers.silent_until(station))
            }
            _ => Onward::Now,
        }
    }

    /// Until when the station at the port of a direction sends nothing; in the past if it sends.
    pub(crate) fn silent_until(&self, direction: usize) -> Time {
        let node = self.plan.ports[self.port(direction)].node;
        let station = node.checked_sub(self.plan.constellation.satellites);
        station.map_or(Time(0), |station| self.handovers.silent_until(station))
    }

    /// When packets that wait at the port of a direction may next not stay there.
    pub(crate) fn next_departure(&self, direction: usize) -> Option<Time> {
        self.handovers.next(self.port(direction))
    }

    /// The far ends of the links of a port that have been left by `now`; each is given once.
    pub(crate) fn take_departed(&mut self, direction: usize, now: Time) -> Vec<u32> {
        self.handovers.take(self.port(direction), now)
    }

    /// What becomes of packets that wait for a link which is left.
    pub(crate) fn left_behind(&self) -> LeftBehind {
        self.plan.rules.queue
    }

    /// Is a packet that has arrived at a node where it should be?
    #[inline(always)]
    pub(crate) fn is_there(&self, packet: &Packet) -> bool {
        node_of(packet.hop) == self.plan.constellation.satellites + destination_of(packet.hop)
    }

    /// What becomes of a packet that a port has sent by `sent`.
    #[inline(always)]
    pub(crate) fn fly(&mut self, port: usize, packet: &Packet, sent: Time) -> Propagation {
        let to = node_of(packet.hop);
        let of = &mut self.ports[port];
        if packet.size != of.size {
            of.size = packet.size;
            let rate_bps = self.plan.of(self.plan.ports[port]).rate_bps;
            of.alone = u64::from(packet.size) * 8_000_000_000 / rate_bps;
        }
        let begin = sent.0.saturating_sub(of.alone);
        let line = if of.last.holds(to, begin, of.length) { of.last } else { self.look_up(port, to, begin) };
        let delay = line.delay + line.slope * (begin - line.from) as f64;
        let at = Time(sent.0.saturating_add((delay + 0.5) as u64));
        let lost = !self.failed.is_empty() && self.fails(port, to, begin, at.0);
        if lost { Propagation::Lost } else { Propagation::Until(at) }
    }

    /// Does a part that a packet needs fail between the begin of its transmission and its arrival?
    #[inline(never)]
    fn fails(&self, port: usize, to: u32, begin: u64, end: u64) -> bool {
        let from = self.plan.ports[port].node;
        let hit = |ends: (u32, u32)| {
            let times = self.failed.get(&ends).into_iter().flatten();
            times.into_iter().any(|&(from_ns, to_ns)| from_ns <= end && begin < to_ns)
        };
        hit((from, from)) || hit((to, to)) || hit((from.min(to), from.max(to)))
    }

    /// The delay from a port to a neighbour around an instant, which becomes the last one; worked out if it is not known.
    #[inline(never)]
    fn look_up(&mut self, port: usize, to: u32, at: u64) -> StraightDelay {
        let (node, knots) = (self.plan.ports[port].node, &self.plan.constellation.knots);
        let PortDelays { last, length, others, .. } = &mut self.ports[port];
        if last.to != to && last.to != NOWHERE {
            let others = others.get_or_insert_default();
            match others.iter_mut().find(|of| of.to == to) {
                Some(of) => std::mem::swap(of, last),
                None => others.push(*last),
            }
        }
        if !last.holds(to, at, *length) {
            let length = u64::from(*length);
            let from = at - at % length;
            let delay = knots.delay_ns(node, to, from);
            let slope = (knots.delay_ns(node, to, from + length) - delay) / length as f64;
            *last = StraightDelay { to, from, delay, slope };
        }
        *last
    }
}

impl StraightDelay {
    /// Is it the delay to node `to` at this instant, if it is straight for this long?
    #[inline(always)]
    fn holds(&self, to: u32, at: u64, length: u32) -> bool {
        self.to == to && at.wrapping_sub(self.from) < u64::from(length)
    }
}

impl PortDelays {
    fn new(port: Port) -> Self {
        let last = StraightDelay { to: NOWHERE, from: 0, delay: 0.0, slope: 0.0 };
        let length = STRAIGHT_NS[usize::from(port.to.is_none())] as u32;
        Self { last, alone: 0, size: 0, length, others: None }
    }
}
