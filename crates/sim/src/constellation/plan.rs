//! The ports of a constellation.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};

use crate::constellation::source::{Constellation, Failed, Handoff};
use crate::resolve::direction_plan::DirectionPlan;
use crate::scenario::{Decide, LeftBehind, OnAir};

/// A constellation prepared for a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPlan {
    /// Its nodes over time.
    pub constellation: Arc<Constellation>,
    /// The port of a laser.
    pub laser: DirectionPlan,
    /// The port of a station.
    pub up: DirectionPlan,
    /// The port of a satellite for its ground links.
    pub down: DirectionPlan,
    /// All ports, by node: the lasers of a satellite in the order of the nodes at their other ends, then its port to
    /// the ground; the one port of a station.
    pub ports: Arc<[Port]>,
    /// What fails, in the order of the constellation; then the links that stations leave, each for an instant, if what is
    /// in flight there is lost.
    pub failed: Arc<[Failed]>,
    /// What becomes of packets where tables change.
    pub rules: Rules,
    /// When stations leave satellites, in order of time; empty if that has no effect on packets that wait or come.
    pub(super) departures: Arc<[Handoff]>,
    /// The first port of each node, and the number of all.
    pub(super) first: Arc<[u32]>,
}

/// What becomes of packets where tables change. The default is Hypatia's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Packets between a station and a satellite that it leaves.
    pub in_flight: OnAir,
    /// Packets that wait for a link which a station leaves.
    pub queue: LeftBehind,
    /// For how long a station then neither sends nor receives.
    pub outage: Span,
    /// When the next hop of a packet is looked up.
    pub decide: Decide,
}

/// A queue and a transmitter at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Where it is.
    pub node: u32,
    /// The satellite at the other end of a laser; `None` for the port of all ground links of the node.
    pub to: Option<u32>,
}

impl NetworkPlan {
    /// The ports of this constellation, with their plans.
    pub(crate) fn new(
        constellation: Arc<Constellation>,
        [laser, up, down]: [DirectionPlan; 3],
        rules: Rules,
    ) -> Self {
        let (satellites, nodes) = (constellation.satellites, constellation.nodes());
        let mut lasers: Vec<(u32, u32)> =
            constellation.lasers.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        lasers.sort_unstable();
        lasers.dedup();
        let mut lasers = lasers.into_iter().peekable();
        let (mut first, mut ports) = (Vec::with_capacity(nodes as usize + 1), Vec::new());
        for node in 0..nodes {
            first.push(ports.len() as u32);
            while node < satellites
                && let Some((_, to)) = lasers.next_if(|(from, _)| *from == node)
            {
                ports.push(Port { node, to: Some(to) });
            }
            ports.push(Port { node, to: None });
        }
        first.push(ports.len() as u32);
        let asks = rules.decide == Decide::Departure;
        let ground_asks = asks || rules.queue != LeftBehind::Kept || rules.outage > Span::ZERO;
        let loses = rules.in_flight == OnAir::Lost;
        let mut departures = if loses || ground_asks { constellation.departures() } else { Vec::new() };
        let mut failed = constellation.failed.clone();
        if loses {
            let fails =
                |of: &Handoff| Failed { ends: (of.station, of.satellite), from_ns: of.at.0, to_ns: of.at.0 };
            failed.extend(departures.iter().map(fails));
        }
        if !ground_asks {
            departures.clear();
        }
        Self {
            constellation,
            laser: DirectionPlan { on_request: asks, ..laser },
            up: DirectionPlan { on_request: ground_asks, ..up },
            down: DirectionPlan { on_request: ground_asks, ..down },
            ports: ports.into(),
            failed: failed.into(),
            rules,
            departures: departures.into(),
            first: first.into(),
        }
    }

    /// When both stations of a pair, by their numbers, send and receive again after an instant at which their path
    /// changes.
    pub(crate) fn heard_again(&self, pair: [u32; 2], at: Time) -> Time {
        let first = self.departures.partition_point(|of| of.at < at);
        let mut then = self.departures[first..].iter().take_while(|of| of.at == at);
        let is_silent = then.any(|of| pair.contains(&(of.station - self.constellation.satellites)));
        if is_silent { at + self.rules.outage } else { at }
    }

    /// What a port is like.
    pub(crate) fn of(&self, port: Port) -> &DirectionPlan {
        match port.to {
            Some(_) => &self.laser,
            None if port.node < self.constellation.satellites => &self.down,
            None => &self.up,
        }
    }

    /// The name of a port: "12>13", "12>ground", "Tokyo>ground".
    pub(crate) fn name_of(&self, port: Port) -> String {
        let to = port.to.map_or_else(|| "ground".to_owned(), |to| to.to_string());
        format!("{}>{to}", self.node_name(port.node))
    }

    /// The name of a node: the number of a satellite, the name of a station.
    pub(crate) fn node_name(&self, node: u32) -> String {
        let Constellation { satellites, stations, .. } = &*self.constellation;
        match node.checked_sub(*satellites) {
            Some(station) => stations[station as usize].clone(),
            None => node.to_string(),
        }
    }

    /// The number of the port at `node` to a neighbour; `None` if it has none to there.
    pub(crate) fn port_to(&self, node: u32, next: u32) -> Option<u32> {
        let satellites = self.constellation.satellites;
        let (begin, end) = (self.first[node as usize], self.first[node as usize + 1]);
        if node >= satellites || next >= satellites {
            return (node != next && (node < satellites || next < satellites)).then_some(end - 1);
        }
        (begin..end).find(|&port| self.ports[port as usize].to == Some(next))
    }
}
