//! The shortest paths from all satellites to one station, from instant to instant.
//!
//! The first tree is by Dijkstra (Numerische Mathematik 1, 269). A later one begins as the tree before, with
//! the lengths of its instant. Each distance is then that of a real path, so only the satellites with a shorter
//! one have to be found: those at lasers over which a path shortens, and what follows from them. Few change
//! from step to step. Both ways give the same tree, bit for bit: distances are the least sums along any path,
//! and of several next hops at that distance the station itself comes first, then the lowest number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::horizon::Look;

/// The next hop is the station itself.
pub(crate) const DOWN: u32 = u32::MAX - 1;
/// There is no path.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The lasers between satellites.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// Both ends of each laser, by index.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Where the neighbours of each satellite begin.
    first: Vec<usize>,
    /// A neighbour, and the number of the laser to it.
    neighbours: Vec<(u32, u32)>,
}

impl Grid {
    /// For this number of satellites.
    pub(crate) fn new(satellites: usize, pairs: Vec<(u32, u32)>) -> Self {
        let mut of: Vec<Vec<(u32, u32)>> = vec![Vec::new(); satellites];
        for (laser, &(a, b)) in (0..).zip(&pairs) {
            of[a as usize].push((b, laser));
            of[b as usize].push((a, laser));
        }
        let mut first = vec![0];
        first.extend(of.iter().scan(0, |sum, more| {
            *sum += more.len();
            Some(*sum)
        }));
        Self { pairs, first, neighbours: of.concat() }
    }

    fn satellites(&self) -> usize {
        self.first.len() - 1
    }

    fn of(&self, satellite: u32) -> &[(u32, u32)] {
        &self.neighbours[self.first[satellite as usize]..self.first[satellite as usize + 1]]
    }
}

/// The shortest paths to one station.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    /// From each satellite, km; infinite without a path.
    pub(crate) distance: Vec<f64>,
    /// The next hop of each satellite: a neighbour, [`DOWN`] or [`NOWHERE`].
    pub(crate) next: Vec<u32>,
    /// The satellites with a path, each behind its next hop.
    order: Vec<u32>,
}

/// What the work on a tree needs, kept for the next one.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Satellites whose neighbours may get a shorter path, by distance. Bits of positive numbers rise as they do.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// From each satellite down to the station, km; infinite out of reach.
    slant: Vec<f64>,
}

impl Scratch {
    pub(crate) fn new(satellites: usize) -> Self {
        Self { heap: BinaryHeap::new(), slant: vec![f64::INFINITY; satellites] }
    }
}

impl Tree {
    /// No path at all.
    pub(crate) fn new(satellites: usize) -> Self {
        Self { distance: vec![f64::INFINITY; satellites], next: vec![NOWHERE; satellites], order: Vec::new() }
    }

    /// The tree of an instant. `lengths`: of the lasers, km, infinite where one is off; `looks`: the satellites
    /// in reach of the station.
    pub(crate) fn grow(&mut self, grid: &Grid, lengths: &[f64], looks: &[Look], scratch: &mut Scratch) {
        self.distance.fill(f64::INFINITY);
        self.next.fill(NOWHERE);
        self.order.clear();
        for look in looks {
            self.come_down(look, scratch);
        }
        while let Some(Reverse((bits, at))) = scratch.heap.pop() {
            if f64::from_bits(bits) == self.distance[at as usize] {
                self.order.push(at);
                self.shorten_from(at, grid, lengths, scratch);
            }
        }
    }

    /// [`Tree::grow`] from the tree of another instant.
    pub(crate) fn follow(&mut self, grid: &Grid, lengths: &[f64], looks: &[Look], scratch: &mut Scratch) {
        if self.order.len() != grid.satellites() {
            return self.grow(grid, lengths, looks, scratch);
        }
        for look in looks {
            scratch.slant[look.index] = look.range_km;
        }
        for &at in &self.order {
            self.distance[at as usize] = match self.next[at as usize] {
                DOWN => scratch.slant[at as usize],
                next => {
                    let laser = grid.of(at).iter().find(|(neighbour, _)| *neighbour == next);
                    self.distance[next as usize]
                        + laser.map_or(f64::INFINITY, |(_, laser)| lengths[*laser as usize])
                }
            };
        }
        for look in looks {
            scratch.slant[look.index] = f64::INFINITY;
            if look.range_km <= self.distance[look.index] && self.next[look.index] != DOWN {
                self.come_down(look, scratch);
            }
        }
        for (&(a, b), &length) in grid.pairs.iter().zip(lengths) {
            let (at_a, at_b) = (self.distance[a as usize], self.distance[b as usize]);
            if at_a + length > at_b && at_b + length > at_a {
                continue; // neither is on a shortest path of the other
            }
            for (from, to, known, other) in [(a, b, at_a, at_b), (b, a, at_b, at_a)] {
                if known + length < other {
                    scratch.heap.push(Reverse((known.to_bits(), from)));
                } else if self.next[to as usize] != from {
                    self.prefer(from, to, length);
                }
            }
        }
        let changes = !scratch.heap.is_empty();
        while let Some(Reverse((bits, at))) = scratch.heap.pop() {
            if f64::from_bits(bits) == self.distance[at as usize] {
                self.shorten_from(at, grid, lengths, scratch);
                for &(neighbour, laser) in grid.of(at) {
                    self.prefer(neighbour, at, lengths[laser as usize]);
                }
            }
        }
        if self.distance.iter().any(|km| km.is_infinite()) {
            return self.grow(grid, lengths, looks, scratch);
        }
        if changes {
            // Nearly sorted: a sort that finds runs is linear.
            let distance = &self.distance;
            self.order.sort_by(|&a, &b| distance[a as usize].total_cmp(&distance[b as usize]));
        }
    }

    /// A satellite in reach of the station sends straight down.
    fn come_down(&mut self, look: &Look, scratch: &mut Scratch) {
        self.distance[look.index] = look.range_km;
        self.next[look.index] = DOWN;
        scratch.heap.push(Reverse((look.range_km.to_bits(), look.index as u32)));
    }

    /// Gives the neighbours of `at` the path over it, where that is shorter.
    fn shorten_from(&mut self, at: u32, grid: &Grid, lengths: &[f64], scratch: &mut Scratch) {
        for &(neighbour, laser) in grid.of(at) {
            let km = self.distance[at as usize] + lengths[laser as usize];
            if km < self.distance[neighbour as usize] {
                self.distance[neighbour as usize] = km;
                self.next[neighbour as usize] = at;
                scratch.heap.push(Reverse((km.to_bits(), neighbour)));
            } else {
                self.prefer(at, neighbour, lengths[laser as usize]);
            }
        }
    }

    /// Of two next hops at the same distance `to` takes the one of the lower number.
    fn prefer(&mut self, from: u32, to: u32, length: f64) {
        let (km, next) = (self.distance[to as usize], self.next[to as usize]);
        if self.distance[from as usize] + length == km && km.is_finite() && next != DOWN && from < next {
            self.next[to as usize] = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn looks(of: &[(usize, f64)]) -> Vec<Look> {
        of.iter().map(|&(index, range_km)| Look { index, range_km, sin_elevation: 1.0 }).collect()
    }

    /// Six satellites in a ring, lasers of 1,000 km, a station under satellites 0 and 1. Satellites 3 and 4 are
    /// at equal distance either way round; 4 is nearer to 0 over 5, and 3 nearer to 1 over 2.
    #[test]
    fn a_ring_sends_both_ways_round_to_the_station() {
        let grid = Grid::new(6, vec![(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]);
        let (mut tree, mut scratch) = (Tree::new(6), Scratch::new(6));
        tree.grow(&grid, &[1_000.0; 6], &looks(&[(0, 700.0), (1, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, DOWN, 1, 2, 5, 0]);
        assert_eq!(tree.distance, [700.0, 700.0, 1_700.0, 2_700.0, 2_700.0, 1_700.0]);
        // Satellite 1 sinks below the horizon: 3 has two paths of 3,700 km, over 2 and over 4.
        tree.follow(&grid, &[1_000.0; 6], &looks(&[(0, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, 0, 1, 2, 5, 0]);
        // A laser that is off parts the ring there.
        let mut lengths = [1_000.0; 6];
        lengths[2] = f64::INFINITY;
        tree.follow(&grid, &lengths, &looks(&[(0, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, 0, 1, 4, 5, 0]);
        // Nothing in reach, and then again.
        tree.follow(&grid, &lengths, &[], &mut scratch);
        assert_eq!(tree.next, [NOWHERE; 6]);
        tree.follow(&grid, &lengths, &looks(&[(0, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, 0, 1, 4, 5, 0]);
    }

    proptest! {
        /// A grid on a torus whose lengths are small whole numbers, so that ties are frequent.
        #[test]
        fn a_tree_that_follows_is_the_tree_that_grows(
            (planes, slots) in (2_u32..5, 3_u32..6),
            steps in prop::collection::vec(
                (
                    prop::collection::vec(prop_oneof![9 => 1_u32..5, 1 => Just(0_u32)], 60),
                    prop::collection::btree_map(0_usize..30, 1_u32..6, 0..4),
                ),
                1..12,
            ),
        ) {
            let count = planes * slots;
            let of = |plane: u32, slot: u32| (plane % planes) * slots + slot % slots;
            let mut pairs: Vec<(u32, u32)> = (0..planes)
                .flat_map(|p| (0..slots).flat_map(move |s| [(of(p, s), of(p, s + 1)), (of(p, s), of(p + 1, s))]))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            let grid = Grid::new(count as usize, pairs);
            let (mut scratch, mut followed) = (Scratch::new(count as usize), Tree::new(count as usize));
            for (lengths, seen) in steps {
                let lengths: Vec<f64> = lengths
                    .iter()
                    .cycle()
                    .take(grid.pairs.len())
                    .map(|&km| if km == 0 { f64::INFINITY } else { f64::from(km) })
                    .collect();
                let seen: Vec<(usize, f64)> = seen
                    .into_iter()
                    .filter(|(index, _)| *index < count as usize)
                    .map(|(index, km)| (index, f64::from(km)))
                    .collect();
                let mut grown = Tree::new(count as usize);
                grown.grow(&grid, &lengths, &looks(&seen), &mut scratch);
                followed.follow(&grid, &lengths, &looks(&seen), &mut scratch);
                prop_assert_eq!(&grown.distance, &followed.distance);
                prop_assert_eq!(&grown.next, &followed.next);
            }
        }
    }
}
