//! The tables and delays of a constellation while it runs.

use std::sync::Arc;

use bentpipe_cc::Time;

use crate::constellation::plan::NetworkPlan;
use crate::link::packet::Packet;

/// A hop with this bit is a node, in the next 15 bits, and a station by its number, to which the packet goes.
/// Without it a hop is a place on a route.
pub(crate) const ROUTED: u32 = 1 << 31;
const NODE: u32 = 16;
/// The most nodes that a hop can name, and the most stations.
pub(super) const MOST_NODES: u32 = 1 << (31 - NODE);

/// No next hop.
const NOWHERE: u32 = u32::MAX;
/// The delay of a laser is straight for this long: its length curves by 0.1 m/s^2 or less, which is 0.3 ns after
/// half of that time. A link to the ground curves ten times as much.
const LEG_NS: [u64; 2] = [LONGEST_LEG_NS, LONGEST_LEG_NS / 10];
/// So long after the end of a run positions are needed.
pub(super) const LONGEST_LEG_NS: u64 = 1_000_000_000;

/// The state of a constellation in a run.
#[derive(Debug)]
pub(crate) struct Forwarding {
    plan: Arc<NetworkPlan>,
    /// The direction of port 0. Those of the other ports follow.
    first: u32,
    stations: u32,
    /// The next node by node and station.
    next: Vec<u32>,
    /// The first change that does not hold yet, and its instant.
    change: usize,
    due: u64,
    /// For each port the legs of its neighbours.
    legs: Vec<Vec<Leg>>,
    /// For each flow the packets that could go nowhere.
    unrouted: Vec<u64>,
}

/// The delay to a neighbour for some time.
#[derive(Clone, Copy, Debug)]
struct Leg {
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
        let due = of.changes.at_ns.first().copied().unwrap_or(u64::MAX);
        Self {
            plan: plan.clone(),
            first: first as u32,
            stations,
            next: vec![NOWHERE; (of.nodes() * stations) as usize],
            change: 0,
            due,
            legs: vec![Vec::new(); plan.ports.len()],
            unrouted: vec![0; flows],
        }
    }

    /// A packet of this flow could go nowhere.
    pub(crate) fn turn_away(&mut self, flow: u32) {
        self.unrouted[flow as usize] += 1;
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
        while let Some(&at) = of.at_ns.get(self.change).filter(|at| **at <= now.0) {
            let i = self.change;
            let to = of.destination[i] - self.plan.constellation.satellites;
            self.next[(of.node[i] * self.stations + to) as usize] =
                u32::try_from(of.next[i]).unwrap_or(NOWHERE);
            (self.change, self.due) = (i + 1, at);
        }
        self.due = of.at_ns.get(self.change).copied().unwrap_or(u64::MAX);
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
        let (node, to) = ((*hop & !ROUTED) >> NODE, *hop & ((1 << NODE) - 1));
        let next = self.next[(node * self.stations + to) as usize];
        if next == NOWHERE {
            return None;
        }
        *hop = ROUTED | next << NODE | to;
        self.plan.port_to(node, next).map(|port| port as usize)
    }

    /// Is a packet that has arrived at a node where it should be?
    #[inline(always)]
    pub(crate) fn is_there(&self, packet: &Packet) -> bool {
        let (node, to) = ((packet.hop & !ROUTED) >> NODE, packet.hop & ((1 << NODE) - 1));
        node == self.plan.constellation.satellites + to
    }

    /// When a packet that a port has sent by `sent` arrives at the far end.
    #[inline]
    pub(crate) fn land(&mut self, number: usize, packet: &Packet, sent: Time) -> Time {
        let port = self.plan.ports[number];
        let to = (packet.hop & !ROUTED) >> NODE;
        let length = LEG_NS[usize::from(port.to.is_none())];
        let alone = u64::from(packet.size) * 8_000_000_000 / self.plan.of(port).rate_bps;
        let begin = sent.0.saturating_sub(alone);
        let known = self.legs[number].iter().find(|of| of.to == to && begin.wrapping_sub(of.from) < length);
        let leg = match known {
            Some(leg) => *leg,
            None => self.learn(number, to, begin - begin % length, length),
        };
        let delay = leg.delay + leg.slope * (begin - leg.from) as f64;
        Time(sent.0.saturating_add((delay + 0.5) as u64))
    }

    /// Works out the delay of a port to a neighbour.
    #[inline(never)]
    fn learn(&mut self, port: usize, to: u32, from: u64, length: u64) -> Leg {
        let (node, knots) = (self.plan.ports[port].node, &self.plan.constellation.knots);
        let delay = knots.delay_ns(node, to, from);
        let slope = (knots.delay_ns(node, to, from + length) - delay) / length as f64;
        let made = Leg { to, from, delay, slope };
        let legs = &mut self.legs[port];
        match legs.iter_mut().find(|of| of.to == to) {
            Some(of) => *of = made,
            None => legs.push(made),
        }
        made
    }
}
