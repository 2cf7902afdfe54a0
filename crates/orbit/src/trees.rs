//! The shortest paths from all nodes to one station, from instant to instant.
//!
//! A tree begins as that of the instant before, with the lengths of its own. Each distance is then that of a
//! real path, so only the satellites with a shorter one have to be found: those at lasers over which a path
//! shortens, and what follows from them, in the order of distance (Dijkstra, Numerische Mathematik 1, 269).
//! The first tree begins without paths, so that all follow from the satellites in reach of the station. Both
//! ways give the same tree, bit for bit: distances are the least sums along any path, and of several next hops
//! at that distance the station itself comes first, then the lowest number.
//!
//! In most steps no next hop changes. To see that is one pass over all lasers, which counts at how many ends
//! the satellite is not nearer to the station than over the laser. Each satellite that sends over a laser
//! counts once, at that laser; if there are no more, then no path is shorter, and none is as short.

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
    /// Both ends of each laser, by index, the lower first. Lasers are sorted into rows.
    pub(crate) lasers: Vec<(u32, u32)>,
    rows: Vec<Row>,
    /// Where the neighbours of each satellite begin.
    first: Vec<usize>,
    /// A neighbour, and the number of the laser to it.
    neighbours: Vec<(u32, u32)>,
}

/// A run of lasers: each joins the satellites that follow those of the laser before it. Their data lies side by
/// side in memory.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its first laser, and the lower and the higher end of that.
    laser: usize,
    low: usize,
    high: usize,
    /// How many lasers.
    count: usize,
}

/// Most lasers of a row: where one shortens a path, the others of its row are looked at one by one.
const LONGEST_ROW: usize = 64;

impl Grid {
    /// For this number of satellites.
    pub(crate) fn new(satellites: usize, pairs: &[(u32, u32)]) -> Self {
        let mut lasers: Vec<(u32, u32)> = pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
        lasers.sort_unstable_by_key(|&(low, high)| (high - low, low));
        let mut rows: Vec<Row> = Vec::new();
        for (laser, &(low, high)) in lasers.iter().enumerate() {
            let (low, high) = (low as usize, high as usize);
            match rows.last_mut() {
                Some(row)
                    if (row.low + row.count, row.high + row.count) == (low, high)
                        && row.count < LONGEST_ROW =>
                {
                    row.count += 1;
                }
                _ => rows.push(Row { laser, low, high, count: 1 }),
            }
        }
        let mut of: Vec<Vec<(u32, u32)>> = vec![Vec::new(); satellites];
        for (laser, &(a, b)) in (0..).zip(&lasers) {
            of[a as usize].push((b, laser));
            of[b as usize].push((a, laser));
        }
        let mut first = vec![0];
        first.extend(of.iter().scan(0, |sum, more| {
            *sum += more.len();
            Some(*sum)
        }));
        Self { lasers, rows, first, neighbours: of.concat() }
    }

    /// How many satellites there are.
    pub(crate) fn satellites(&self) -> usize {
        self.first.len() - 1
    }

    /// The number of the laser between two satellites; there must be one.
    pub(crate) fn number(&self, (a, b): (u32, u32)) -> u32 {
        let (low, high) = (a.min(b), a.max(b));
        let key = |&(low, high): &(u32, u32)| (high - low, low);
        self.lasers.partition_point(|laser| key(laser) < key(&(low, high))) as u32
    }

    fn of(&self, satellite: u32) -> &[(u32, u32)] {
        &self.neighbours[self.first[satellite as usize]..self.first[satellite as usize + 1]]
    }
}

/// What joins the nodes at an instant: lasers, and where stations relay, also the links to the ground.
#[derive(Debug)]
pub(crate) struct Links<'a> {
    grid: &'a Grid,
    /// Of the lasers, km; not a number where one is off. Those of the links to the ground follow: of each
    /// station to each satellite, not a number out of reach.
    lengths: Vec<f64>,
    /// For each node of a network whose stations relay: the nodes at the other ends of its links to the ground,
    /// and the numbers of the links. Otherwise empty.
    relayed: Vec<Vec<(u32, u32)>>,
}

impl<'a> Links<'a> {
    /// None is on yet. `relays`: how many stations relay.
    pub(crate) fn new(grid: &'a Grid, relays: usize) -> Self {
        let satellites = grid.satellites();
        let nodes = if relays == 0 { 0 } else { satellites + relays };
        let links = grid.lasers.len() + satellites * relays;
        Self { grid, lengths: vec![f64::NAN; links], relayed: vec![Vec::new(); nodes] }
    }

    /// How many nodes a tree over them has.
    pub(crate) fn nodes(&self) -> usize {
        self.grid.satellites().max(self.relayed.len())
    }

    /// The lasers with their lengths, km.
    pub(crate) fn lasers(&mut self) -> impl Iterator<Item = (usize, (u32, u32), &mut f64)> {
        let lasers = self.grid.lasers.iter().zip(&mut self.lengths).enumerate();
        lasers.map(|(number, (ends, length))| (number, *ends, length))
    }

    /// Stations relay over what is in reach of them.
    pub(crate) fn relay(&mut self, looks: &[Vec<Look>]) {
        let (lasers, satellites) = (self.grid.lasers.len(), self.grid.satellites());
        self.lengths[lasers..].fill(f64::NAN);
        self.relayed.iter_mut().for_each(Vec::clear);
        for (station, seen) in looks.iter().enumerate() {
            for look in seen {
                let number = lasers + station * satellites + look.index;
                self.lengths[number] = look.range_km;
                self.relayed[look.index].push(((satellites + station) as u32, number as u32));
                self.relayed[satellites + station].push((look.index as u32, number as u32));
            }
        }
    }

    /// The neighbours of a node, and the numbers of the links to them.
    fn of(&self, node: u32) -> impl Iterator<Item = (u32, u32)> {
        let by_laser = if (node as usize) < self.grid.satellites() { self.grid.of(node) } else { &[] };
        let relayed = self.relayed.get(node as usize).map_or(&[][..], Vec::as_slice);
        by_laser.iter().chain(relayed).copied()
    }

    /// The links to the ground: a station, a satellite, the number.
    fn to_ground(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let stations = self.relayed.iter().enumerate().skip(self.grid.satellites());
        stations.flat_map(|(station, links)| {
            links.iter().map(move |&(satellite, number)| (station as u32, satellite, number))
        })
    }

    /// At how many ends of all links the distance over the link is no more than that of the node there.
    fn not_farther(&self, distance: &[f64]) -> u64 {
        let rows = self.grid.rows.iter();
        let by_laser: u64 = rows.map(|row| row.ends(distance, &self.lengths, |over, own| over <= own)).sum();
        let relayed = self.to_ground().map(|(a, b, number)| {
            let (km, a, b) = (self.lengths[number as usize], distance[a as usize], distance[b as usize]);
            u64::from(a + km <= b) + u64::from(b + km <= a)
        });
        by_laser + relayed.sum::<u64>()
    }
}

impl Row {
    /// At how many ends of its lasers the distance over the laser and that of the satellite satisfy `holds`.
    #[inline]
    fn ends(&self, distance: &[f64], lengths: &[f64], holds: impl Fn(f64, f64) -> bool) -> u64 {
        let low = &distance[self.low..][..self.count];
        let high = &distance[self.high..][..self.count];
        let lengths = &lengths[self.laser..][..self.count];
        let mut sum = 0;
        for ((&low, &high), &length) in low.iter().zip(high).zip(lengths) {
            sum += u64::from(holds(low + length, high)) + u64::from(holds(high + length, low));
        }
        sum
    }
}

/// The shortest paths to one station.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// From each node, km; infinite without a path.
    pub(crate) distance: Vec<f64>,
    /// The next hop of each node: a neighbour, [`DOWN`] or [`NOWHERE`].
    pub(crate) next: Vec<u32>,
    /// The number of the link to it.
    link: Vec<u32>,
    /// All nodes, as they were sorted by distance when a next hop last changed.
    order: Vec<u32>,
    /// Those that send straight down.
    down: Vec<u32>,
    /// Those that send to another node, each behind its next hop.
    hops: Vec<Hop>,
}

/// A node that sends to another one.
#[derive(Clone, Copy, Debug)]
struct Hop {
    at: u32,
    next: u32,
    link: u32,
}

/// What the work on a tree needs, kept for the next one.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Nodes whose neighbours may get a shorter path, by distance. Bits of positive numbers rise as they do.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// From each satellite down to the station, km; not a number out of reach.
    slant: Vec<f64>,
}

impl Scratch {
    pub(crate) fn new(satellites: usize) -> Self {
        Self { heap: BinaryHeap::new(), slant: vec![f64::NAN; satellites] }
    }
}

impl Tree {
    /// No path at all.
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; nodes],
            next: vec![NOWHERE; nodes],
            link: vec![0; nodes],
            order: (0..nodes as u32).collect(),
            down: Vec::new(),
            hops: Vec::new(),
        }
    }

    /// Makes it the tree of another instant. `looks`: the satellites in reach of the station.
    pub(crate) fn follow(&mut self, links: &Links<'_>, looks: &[Look], scratch: &mut Scratch) {
        if self.down.is_empty() && looks.is_empty() {
            return; // no path before, and none now
        }
        for look in looks {
            scratch.slant[look.index] = look.range_km;
        }
        // What is not a number is lost, with all that sends over it.
        let mut lost = false;
        for &at in &self.down {
            let km = scratch.slant[at as usize];
            lost |= km.is_nan();
            self.distance[at as usize] = km;
        }
        for &Hop { at, next, link } in &self.hops {
            let km = self.distance[next as usize] + links.lengths[link as usize];
            lost |= km.is_nan();
            self.distance[at as usize] = km;
        }
        if lost {
            for (km, next) in self.distance.iter_mut().zip(&mut self.next).filter(|(km, _)| km.is_nan()) {
                (*km, *next) = (f64::INFINITY, NOWHERE);
            }
        }
        let mut rise = false;
        for look in looks {
            scratch.slant[look.index] = f64::NAN;
            if look.range_km <= self.distance[look.index] && self.next[look.index] != DOWN {
                rise = true;
                self.distance[look.index] = look.range_km;
                self.next[look.index] = DOWN;
                scratch.heap.push(Reverse((look.range_km.to_bits(), look.index as u32)));
            }
        }
        if lost || rise || links.not_farther(&self.distance) != self.hops.len() as u64 {
            self.mend(links, scratch);
        }
    }

    /// Finds the shorter paths, and the lower numbers among those of equal length.
    fn mend(&mut self, links: &Links<'_>, scratch: &mut Scratch) {
        for row in &links.grid.rows {
            if row.ends(&self.distance, &links.lengths, |over, own| over < own) == 0 {
                continue;
            }
            for laser in row.laser..row.laser + row.count {
                let (low, high) = links.grid.lasers[laser];
                self.shorten(low, high, links.lengths[laser], scratch);
            }
        }
        for (station, satellite, number) in links.to_ground() {
            self.shorten(station, satellite, links.lengths[number as usize], scratch);
        }
        while let Some(Reverse((bits, at))) = scratch.heap.pop() {
            if bits != self.distance[at as usize].to_bits() {
                continue; // it has a shorter one by now
            }
            for (neighbour, link) in links.of(at) {
                let km = self.distance[at as usize] + links.lengths[link as usize];
                if km < self.distance[neighbour as usize] {
                    self.distance[neighbour as usize] = km;
                    self.next[neighbour as usize] = at;
                    self.link[neighbour as usize] = link;
                    scratch.heap.push(Reverse((km.to_bits(), neighbour)));
                }
            }
        }
        // Nearly sorted: a sort that finds runs is linear.
        let distance = &self.distance;
        self.order.sort_by(|&a, &b| distance[a as usize].total_cmp(&distance[b as usize]));
        self.list();
        if links.not_farther(&self.distance) != self.hops.len() as u64 {
            for (number, &(low, high)) in (0..).zip(&links.grid.lasers) {
                self.prefer(low, high, number, links);
            }
            for (station, satellite, number) in links.to_ground() {
                self.prefer(station, satellite, number, links);
            }
            self.list();
        }
    }

    /// Notes the end of a link from which the path of the other one shortens.
    fn shorten(&self, a: u32, b: u32, km: f64, scratch: &mut Scratch) {
        for (from, to) in [(a, b), (b, a)] {
            let known = self.distance[from as usize];
            if known + km < self.distance[to as usize] {
                scratch.heap.push(Reverse((known.to_bits(), from)));
            }
        }
    }

    /// Of two next hops at the same distance each end of a link takes the one of the lower number.
    fn prefer(&mut self, a: u32, b: u32, link: u32, links: &Links<'_>) {
        for (from, to) in [(a, b), (b, a)] {
            let (km, next) = (self.distance[to as usize], self.next[to as usize]);
            let over = self.distance[from as usize] + links.lengths[link as usize];
            if over == km && km.is_finite() && next != DOWN && from < next {
                self.next[to as usize] = from;
                self.link[to as usize] = link;
            }
        }
    }

    /// Lists the nodes by their kind of next hop.
    fn list(&mut self) {
        self.down.clear();
        self.hops.clear();
        for &at in &self.order {
            match self.next[at as usize] {
                NOWHERE => break, // infinitely far, and so are all behind it
                DOWN => self.down.push(at),
                next => self.hops.push(Hop { at, next, link: self.link[at as usize] }),
            }
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

    fn over(grid: &Grid, lengths: impl IntoIterator<Item = f64>) -> Links<'_> {
        let mut links = Links::new(grid, 0);
        links.lasers().zip(lengths).for_each(|((.., km), length)| *km = length);
        links
    }

    /// Six satellites in a ring, lasers of 1,000 km, a station under satellites 0 and 1. Satellites 3 and 4 are
    /// at equal distance either way round; 4 is nearer to 0 over 5, and 3 nearer to 1 over 2.
    #[test]
    fn a_ring_sends_both_ways_round_to_the_station() {
        let grid = Grid::new(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]);
        let (mut tree, mut scratch) = (Tree::new(6), Scratch::new(6));
        let ring = over(&grid, [1_000.0; 6]);
        tree.follow(&ring, &looks(&[(0, 700.0), (1, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, DOWN, 1, 2, 5, 0]);
        assert_eq!(tree.distance, [700.0, 700.0, 1_700.0, 2_700.0, 2_700.0, 1_700.0]);
        // Satellite 1 sinks below the horizon: 3 has two paths of 3,700 km, over 2 and over 4.
        tree.follow(&ring, &looks(&[(0, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, 0, 1, 2, 5, 0]);
        // A laser that is off parts the ring there.
        let parted =
            over(&grid, grid.lasers.iter().map(|&pair| if pair == (2, 3) { f64::NAN } else { 1_000.0 }));
        tree.follow(&parted, &looks(&[(0, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, 0, 1, 4, 5, 0]);
        // Nothing in reach, and then again.
        tree.follow(&parted, &[], &mut scratch);
        assert_eq!(tree.next, [NOWHERE; 6]);
        tree.follow(&parted, &looks(&[(0, 700.0)]), &mut scratch);
        assert_eq!(tree.next, [DOWN, 0, 1, 4, 5, 0]);
    }

    /// Satellites 0 and 1 without a laser, and stations 2, 3 and 4: 2 sees only 0, 4 only 1, and 3 both.
    #[test]
    fn a_station_relays_between_satellites_that_no_laser_joins() {
        let grid = Grid::new(2, &[]);
        let mut links = Links::new(&grid, 3);
        let (mut tree, mut scratch) = (Tree::new(links.nodes()), Scratch::new(2));
        let mut seen = [looks(&[(0, 700.0)]), looks(&[(0, 900.0), (1, 800.0)]), looks(&[(1, 600.0)])];
        links.relay(&seen);
        tree.follow(&links, &seen[2], &mut scratch);
        assert_eq!(tree.next[..4], [3, DOWN, 0, 1]);
        assert_eq!(tree.distance[..4], [2_300.0, 600.0, 3_000.0, 1_400.0]);
        // Satellite 0 comes into the reach of station 4, which is as near over 3 as straight: straight it is.
        seen[2] = looks(&[(0, 2_300.0), (1, 600.0)]);
        links.relay(&seen);
        tree.follow(&links, &seen[2], &mut scratch);
        assert_eq!(tree.next[..4], [DOWN, DOWN, 0, 1]);
        // Station 3 loses satellite 1.
        seen[1] = looks(&[(0, 900.0)]);
        links.relay(&seen);
        tree.follow(&links, &seen[2], &mut scratch);
        assert_eq!(tree.next[..4], [DOWN, DOWN, 0, 0]);
        assert_eq!(tree.distance[3], 3_200.0);
    }

    /// Distances and next hops by Bellman's equation, repeated until nothing changes.
    fn settled(links: &Links<'_>, seen: &[(usize, f64)]) -> (Vec<f64>, Vec<u32>) {
        let count = links.nodes();
        let (mut distance, mut next) = (vec![f64::INFINITY; count], vec![NOWHERE; count]);
        for _ in 0..count {
            for at in 0..count {
                let down = seen.iter().filter(|(index, _)| *index == at).map(|(_, km)| (*km, 0, DOWN));
                let over = links.of(at as u32).map(|(neighbour, link)| {
                    (distance[neighbour as usize] + links.lengths[link as usize], 1 + neighbour, neighbour)
                });
                let ways = down.chain(over).filter(|(km, ..)| km.is_finite());
                if let Some((km, _, hop)) =
                    ways.min_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).expect("numbers"))
                {
                    (distance[at], next[at]) = (km, hop);
                }
            }
        }
        (distance, next)
    }

    proptest! {
        /// A grid on a torus whose lengths are small whole numbers, so that ties are frequent; three stations,
        /// which relay or do not.
        #[test]
        fn a_tree_that_follows_is_the_tree_that_begins_anew(
            (planes, slots) in (2_u32..5, 3_u32..6),
            relays in prop_oneof![Just(0_usize), Just(3)],
            steps in prop::collection::vec(
                (
                    prop::collection::vec(prop_oneof![9 => 1_u32..5, 1 => Just(0_u32)], 60),
                    prop::collection::vec(prop::collection::btree_map(0_usize..30, 1_u32..6, 0..4), 3),
                ),
                1..12,
            ),
        ) {
            let count = (planes * slots) as usize;
            let of = |plane: u32, slot: u32| (plane % planes) * slots + slot % slots;
            let mut pairs: Vec<(u32, u32)> = (0..planes)
                .flat_map(|p| (0..slots).flat_map(move |s| [(of(p, s), of(p, s + 1)), (of(p, s), of(p + 1, s))]))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            let grid = Grid::new(count, &pairs);
            let mut links = Links::new(&grid, relays);
            let nodes = links.nodes();
            let (mut scratch, mut followed) = (Scratch::new(count), Tree::new(nodes));
            for (lengths, seen) in steps {
                let lengths = lengths.iter().cycle().map(|&km| if km == 0 { f64::NAN } else { f64::from(km) });
                links.lasers().zip(lengths).for_each(|((.., km), length)| *km = length);
                let seen: Vec<Vec<(usize, f64)>> = seen
                    .into_iter()
                    .map(|of| of.into_iter().filter(|(i, _)| *i < count).map(|(i, km)| (i, f64::from(km))).collect())
                    .collect();
                if relays > 0 {
                    links.relay(&seen.iter().map(|of| looks(of)).collect::<Vec<_>>());
                }
                let mut fresh = Tree::new(nodes);
                fresh.follow(&links, &looks(&seen[0]), &mut scratch);
                followed.follow(&links, &looks(&seen[0]), &mut scratch);
                prop_assert_eq!(&fresh.distance, &followed.distance);
                prop_assert_eq!(&fresh.next, &followed.next);
                let (distance, next) = settled(&links, &seen[0]);
                prop_assert_eq!(&distance, &followed.distance);
                prop_assert_eq!(&next, &followed.next);
            }
        }
    }
}
