//! Forwarding tables and paths over time, as what changes from step to step.

use crate::earth::light_ns;
use crate::horizon::Look;
use crate::trees::{DOWN, NOWHERE, Tree};

/// Changes of the tables. Nodes are numbered: satellites by index, then stations in the order of the request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableChanges {
    /// From which instant on, ns; rising. All entries have one at 0.
    pub t_ns: Vec<i64>,
    /// Where a packet is.
    pub node: Vec<u32>,
    /// The station to which it goes.
    pub destination: Vec<u32>,
    /// The next node, or -1 without a path.
    pub next: Vec<i64>,
}

/// Changes of the paths between stations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathChanges {
    /// From which instant on, ns; rising. All pairs have one at 0.
    pub t_ns: Vec<i64>,
    /// The first station.
    pub from: Vec<u32>,
    /// The last one.
    pub to: Vec<u32>,
    /// The time one way at that instant, whole ns; infinite without a path.
    pub delay_ns: Vec<f64>,
    /// The nodes between the two ends, of all paths in a row: satellites, and stations that relay.
    pub via: Vec<u32>,
    /// Where the nodes of each path end in that row; those of a pair without a path are none.
    pub ends: Vec<u64>,
}

/// A change of a table entry at a step. The first step has millions of them.
#[derive(Clone, Copy, Debug)]
struct EntryChange {
    step: u32,
    /// The place of the entry in the table.
    place: u32,
    next: u32,
}

/// A change of a path at a step.
#[derive(Clone, Copy, Debug)]
struct PathChange {
    step: u32,
    /// The place of the pair.
    place: u32,
    /// The number of nodes between its ends.
    hops: u32,
    length_km: f64,
}

/// The changes of some steps. The first step has all entries and pairs.
#[derive(Debug, Default)]
pub(crate) struct Part {
    tables: Vec<EntryChange>,
    paths: Vec<PathChange>,
    via: Vec<u32>,
}

/// No entry of a table, no path of a pair: everything differs from it.
const UNKNOWN: u32 = u32::MAX - 2;

/// The tables of the step before.
pub(crate) struct Tables {
    satellites: usize,
    /// What a link counts more than its length, km.
    more_km: f64,
    /// The next hops of all nodes of a tree, by destination.
    next: Vec<Vec<u32>>,
    /// The first satellite, by source and destination.
    up: Vec<Vec<u32>>,
    /// The nodes on each path, in the order of `up`, if paths are asked for.
    paths: Option<Vec<Vec<Vec<u32>>>>,
    /// Has `next` changed in this step?
    moved: Vec<bool>,
}

impl Tables {
    /// `paths`: are changes of paths asked for?
    pub(crate) fn new(satellites: usize, nodes: usize, stations: usize, more_km: f64, paths: bool) -> Self {
        Self {
            satellites,
            more_km,
            next: vec![vec![UNKNOWN; nodes]; stations],
            up: vec![vec![UNKNOWN; stations]; stations],
            paths: paths.then(|| vec![vec![vec![UNKNOWN]; stations]; stations]),
            moved: vec![false; stations],
        }
    }

    /// Notes what is not as it was a step before: entries by node and destination, paths by source and
    /// destination.
    pub(crate) fn compare(&mut self, step: u64, trees: &[Tree], looks: &[Vec<Look>], part: &mut Part) {
        let begin = part.tables.len();
        let (step, place) = (step as u32, |node: usize, to: usize| (node * trees.len() + to) as u32);
        for (to, (tree, known)) in trees.iter().zip(&mut self.next).enumerate() {
            self.moved[to] = tree.next != *known;
            if !self.moved[to] {
                continue;
            }
            // The first satellites of the stations follow below, also where stations relay and are in the tree.
            for (node, (&next, &known)) in tree.next.iter().zip(&*known).enumerate().take(self.satellites) {
                if known != next {
                    let next = if next == DOWN { (self.satellites + to) as u32 } else { next };
                    part.tables.push(EntryChange { step, place: place(node, to), next });
                }
            }
            known.copy_from_slice(&tree.next);
        }
        for (from, seen) in looks.iter().enumerate() {
            for (to, tree) in trees.iter().enumerate().filter(|(to, _)| *to != from) {
                let (mut up, mut length_km) = (NOWHERE, f64::INFINITY);
                for look in seen {
                    let km = look.range_km + tree.distance[look.index];
                    if km < length_km {
                        (up, length_km) = (look.index as u32, km);
                    }
                }
                let known = &mut self.up[from][to];
                if *known != up {
                    *known = up;
                    let place = place(self.satellites + from, to);
                    part.tables.push(EntryChange { step, place, next: up });
                } else if !self.moved[to] {
                    continue;
                }
                let Some(paths) = &mut self.paths else { continue };
                let path: Vec<u32> =
                    std::iter::successors(Some(up), |at| tree.next.get(*at as usize).copied())
                        .take_while(|at| *at < UNKNOWN)
                        .collect();
                length_km -= self.more_km * (path.len() + 1) as f64;
                let known = &mut paths[from][to];
                if *known != path {
                    part.via.extend_from_slice(&path);
                    let hops = path.len() as u32;
                    part.paths.push(PathChange { step, place: place(from, to), hops, length_km });
                    *known = path;
                }
            }
        }
        part.tables[begin..].sort_unstable_by_key(|change| change.place);
    }
}

/// The parts, one behind the other.
pub(crate) struct Merged {
    stations: u32,
    pub(crate) tables: TableChanges,
    pub(crate) paths: PathChanges,
    /// What holds at the end of the parts so far.
    entries: Vec<u32>,
    known: Option<Vec<Vec<u32>>>,
}

impl Merged {
    pub(crate) fn new(entries: usize, stations: usize, paths: bool) -> Self {
        Self {
            stations: stations as u32,
            tables: TableChanges::default(),
            paths: PathChanges::default(),
            entries: vec![UNKNOWN; entries],
            known: paths.then(|| vec![vec![UNKNOWN]; stations * stations]),
        }
    }

    /// Adds a part. Its first step has all entries; those that hold already are no changes.
    pub(crate) fn add(&mut self, part: Part, step_ns: i64, satellites: u32) {
        for EntryChange { step, place, next } in part.tables {
            let (node, to) = (place / self.stations, place % self.stations);
            if std::mem::replace(&mut self.entries[place as usize], next) == next {
                continue;
            }
            self.tables.t_ns.push(i64::from(step) * step_ns);
            self.tables.node.push(node);
            self.tables.destination.push(satellites + to);
            self.tables.next.push(if next == NOWHERE { -1 } else { i64::from(next) });
        }
        let Some(all) = &mut self.known else { return };
        let mut rest = part.via.as_slice();
        for PathChange { step, place, hops, length_km } in part.paths {
            let (path, behind) = rest.split_at(hops as usize);
            rest = behind;
            let known = &mut all[place as usize];
            if known == path {
                continue;
            }
            *known = path.to_vec();
            self.paths.t_ns.push(i64::from(step) * step_ns);
            self.paths.from.push(satellites + place / self.stations);
            self.paths.to.push(satellites + place % self.stations);
            self.paths.delay_ns.push(light_ns(length_km));
            self.paths.via.extend_from_slice(path);
            self.paths.ends.push(self.paths.via.len() as u64);
        }
    }
}
