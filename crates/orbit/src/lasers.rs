//! The shortest path over lasers, by A* of `petgraph` with the straight line to the goal as bound.
//!
//! The straight line never exceeds what is left of a path, so the path is the shortest (Hart, Nilsson,
//! Raphael, IEEE Trans. SSC 4, 100). A laser that would pass less than 80 km above the ground is off: Hypatia
//! has the same limit, for weather.

use petgraph::algo::astar;
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;

use crate::earth::{Vector, distance, dot, minus};
use crate::horizon::Look;

/// Radius below which no laser passes, km: that of WGS 72, as in Hypatia's scripts, and 80 km.
const LOWEST_KM: f64 = 6_378.135 + 80.0;

/// Satellites, the lasers between them, and two nodes for the ends of a path.
#[derive(Debug)]
pub struct Lasers {
    graph: UnGraph<(), ()>,
    satellites: usize,
    /// Places of all nodes.
    places: Vec<Vector>,
}

/// One end of a path: a place on the ground with the satellites in reach, or a satellite.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// On the ground.
    Ground(&'a Vector, &'a [Look]),
    /// A satellite, by index.
    Satellite(usize),
}

impl Lasers {
    /// For this number of satellites, and these pairs.
    pub fn new(satellites: usize, pairs: &[(u32, u32)]) -> Self {
        let mut graph = UnGraph::with_capacity(satellites + 2, pairs.len() + 64);
        for _ in 0..satellites + 2 {
            graph.add_node(());
        }
        for (a, b) in pairs {
            graph.add_edge(NodeIndex::new(*a as usize), NodeIndex::new(*b as usize), ());
        }
        Self { graph, satellites, places: vec![[0.0; 3]; satellites + 2] }
    }

    /// The shortest path: its length in km and its satellites in order. `places` are those of the satellites.
    pub fn shortest(&mut self, places: &[Vector], from: End<'_>, to: End<'_>) -> Option<(f64, Vec<u32>)> {
        self.places[..self.satellites].copy_from_slice(places);
        let before = self.graph.edge_count();
        let (start, goal) = (self.join(from, self.satellites), self.join(to, self.satellites + 1));
        let (places, satellites) = (&self.places, self.satellites);
        let length = |a: NodeIndex, b: NodeIndex| {
            let (p, q) = (&places[a.index()], &places[b.index()]);
            let free = a.index() >= satellites || b.index() >= satellites || is_clear(p, q);
            if free { distance(p, q) } else { f64::INFINITY }
        };
        let bound = |n: NodeIndex| distance(&places[n.index()], &places[goal.index()]);
        let found = astar(&self.graph, start, |n| n == goal, |e| length(e.source(), e.target()), bound);
        while self.graph.edge_count() > before {
            self.graph.remove_edge(petgraph::graph::EdgeIndex::new(self.graph.edge_count() - 1));
        }
        let (length_km, nodes) = found.filter(|(length, _)| length.is_finite())?;
        let on_way = nodes.iter().map(|n| n.index()).filter(|n| *n < self.satellites);
        Some((length_km, on_way.map(|n| n as u32).collect()))
    }

    /// The node of an end, joined to the satellites in its reach.
    fn join(&mut self, end: End<'_>, node: usize) -> NodeIndex {
        match end {
            End::Satellite(index) => NodeIndex::new(index),
            End::Ground(place, looks) => {
                self.places[node] = *place;
                for look in looks {
                    self.graph.add_edge(NodeIndex::new(node), NodeIndex::new(look.index), ());
                }
                NodeIndex::new(node)
            }
        }
    }
}

/// Does the straight line between two satellites stay above the air?
pub(crate) fn is_clear(p: &Vector, q: &Vector) -> bool {
    let way = minus(q, p);
    let length2 = dot(&way, &way);
    let along = -dot(p, &way) / length2;
    // The point next to the centre of the Earth, or an end if it lies beyond.
    let part = along.clamp(0.0, 1.0);
    let low = [0, 1, 2].map(|i| p[i] + part * way[i]);
    dot(&low, &low) >= LOWEST_KM * LOWEST_KM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_laser_does_not_pass_through_the_air() {
        // Two satellites at 7000 km, 2 x acos(6458.135 / 7000) = 45.39 degrees apart, just touch the limit.
        let at = |degrees: f64| {
            [7_000.0 * libm::cos(degrees.to_radians()), 7_000.0 * libm::sin(degrees.to_radians()), 0.0]
        };
        assert!(is_clear(&at(0.0), &at(45.3)));
        assert!(!is_clear(&at(0.0), &at(45.5)));
    }

    #[test]
    fn a_ground_point_is_no_relay() {
        // Two satellites without a laser, both over both ends: the path has one satellite; without one
        // in common there is none.
        let places = [[7_000.0, 0.0, 0.0], [6_990.0, 300.0, 0.0]];
        let mut lasers = Lasers::new(2, &[]);
        let look = |index| [Look { index, range_km: 1.0, sin_elevation: 1.0 }];
        let (a, b) = ([6_378.0, 0.0, 0.0], [6_370.0, 200.0, 0.0]);
        assert_eq!(lasers.shortest(&places, End::Ground(&a, &look(0)), End::Ground(&b, &look(1))), None);
        let (length, way) =
            lasers.shortest(&places, End::Ground(&a, &look(0)), End::Ground(&b, &look(0))).expect("a path");
        assert_eq!(way, [0]);
        assert!((length - (622.0 + libm::hypot(630.0, 200.0))).abs() < 1e-9);
    }
}
