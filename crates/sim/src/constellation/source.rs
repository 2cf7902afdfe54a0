//! What orbits give of a constellation. Bentpipe's orbits are in a crate of their own, on which the simulator does
//! not depend: whoever has them supplies them ([`make_constellations_by`]); the Python package does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bentpipe_cc::{Span, Time};

use crate::constellation::knots::Knots;

/// Delays are straight lines for so long at the most, ns: positions are needed until then after the end of a run.
pub(super) const LONGEST_STRAIGHT_NS: u64 = 1_000_000_000;
/// The most nodes, and the most stations: a hop of a packet names one of each (`forwarding.rs`).
pub(super) const MOST_NODES: u32 = 1 << 15;

/// The nodes of a constellation over time. Satellites have the numbers from 0, and stations follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Constellation {
    /// Number of satellites.
    pub satellites: u32,
    /// Names of the stations.
    pub stations: Vec<String>,
    /// Inhabitants of each station's city; empty if they are not known.
    pub inhabitants: Vec<f64>,
    /// Pairs of satellites with a laser between them.
    pub lasers: Vec<(u32, u32)>,
    /// Where the nodes are.
    pub knots: Knots,
    /// The next hops.
    pub changes: Changes,
    /// What fails: packets that are sent over it meanwhile are lost.
    pub failed: Vec<Failed>,
    /// What the user ought to check.
    pub warnings: Vec<String>,
}

/// A part of a constellation that fails for some time. What is sent before and arrives later is lost, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Both ends of a link; a node twice.
    pub ends: (u32, u32),
    /// From when on, ns.
    pub from_ns: u64,
    /// Until when, ns.
    pub to_ns: u64,
}

/// A station leaves a satellite: from now on no table of the station leads there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handoff {
    /// The first instant after it.
    pub(crate) at: Time,
    /// The station, as a node.
    pub(crate) station: u32,
    /// The satellite.
    pub(crate) satellite: u32,
}

/// Changes of the tables of next hops, in order of time. Columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// From which instant on, ns.
    pub at_ns: Vec<u64>,
    /// Where a packet is.
    pub node: Vec<u32>,
    /// The station to which it goes, as a node.
    pub destination: Vec<u32>,
    /// The next node, a neighbour; -1 for none.
    pub next: Vec<i64>,
}

impl Constellation {
    /// The number of nodes.
    pub(crate) fn nodes(&self) -> u32 {
        self.satellites + self.stations.len() as u32
    }

    /// When the paths from one station to another change after the start, for each of these pairs of stations by
    /// their numbers.
    pub(crate) fn path_changes(
        &self,
        pairs: impl IntoIterator<Item = [u32; 2]>,
    ) -> BTreeMap<[u32; 2], Vec<Time>> {
        let mut known: BTreeMap<[u32; 2], Vec<Time>> = BTreeMap::new();
        let mut to: Vec<Vec<(u32, Vec<u32>)>> = vec![Vec::new(); self.stations.len()];
        for pair in pairs {
            if known.insert(pair, Vec::new()).is_none() {
                to[pair[1] as usize].push((pair[0], Vec::new()));
            }
        }
        let mut table = NextHops::new(self);
        let mut touched = BTreeSet::new();
        for (i, &at) in self.changes.at_ns.iter().enumerate() {
            touched.insert(table.change(i));
            if self.changes.at_ns.get(i + 1) == Some(&at) {
                continue; // more changes at this instant
            }
            for station in core::mem::take(&mut touched) {
                for (from, path) in &mut to[station as usize] {
                    let now: Vec<u32> = table.path([*from, station]).collect();
                    if now != *path {
                        *path = now;
                        let changes = known.entry([*from, station]).or_default();
                        changes.extend((at > 0).then_some(Time(at)));
                    }
                }
            }
        }
        known
    }

    /// When stations leave satellites, in order of time.
    pub(super) fn departures(&self) -> Vec<Handoff> {
        let Changes { at_ns, node, destination, next } = &self.changes;
        // For each station how many of its destinations lead to each satellite, and where each leads.
        let mut used: Vec<BTreeMap<i64, usize>> = vec![BTreeMap::new(); self.stations.len()];
        let mut leads: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        let mut left = BTreeSet::new();
        let mut departures = Vec::new();
        for i in 0..at_ns.len() {
            if let Some(station) = node[i].checked_sub(self.satellites) {
                let used = &mut used[station as usize];
                if let Some(before) = leads.insert((node[i], destination[i]), next[i])
                    && let Some(count) = used.get_mut(&before)
                {
                    *count -= 1;
                    left.insert((station, before));
                }
                *used.entry(next[i]).or_insert(0) += 1;
            }
            if at_ns.get(i + 1) == Some(&at_ns[i]) {
                continue; // more changes at this instant
            }
            for (station, satellite) in core::mem::take(&mut left) {
                let is_left = used[station as usize].get(&satellite) == Some(&0);
                let satellite = u32::try_from(satellite).ok().filter(|_| is_left);
                let (at, station) = (Time(at_ns[i]), self.satellites + station);
                departures.extend(satellite.map(|satellite| Handoff { at, station, satellite }));
            }
        }
        departures
    }

    /// Is it sound? `Err` says what is not.
    fn check(&self, until_ns: i64) -> Result<(), String> {
        let Changes { at_ns, node, destination, next } = &self.changes;
        let (count, nodes) = (at_ns.len(), self.nodes());
        let is_node = |of: &u32| *of < nodes;
        let columns = [node.len(), destination.len(), next.len()];
        let laws = [
            ("at most 32,768 nodes", nodes <= MOST_NODES),
            ("columns of one length", columns.iter().all(|of| *of == count)),
            ("changes in order of time", at_ns.is_sorted()),
            ("packets at nodes", node.iter().all(is_node)),
            (
                "destinations that are stations",
                destination.iter().all(|of| *of >= self.satellites && is_node(of)),
            ),
            ("next hops that are nodes", next.iter().all(|of| (-1..i64::from(nodes)).contains(of))),
            (
                "lasers between satellites",
                self.lasers.iter().all(|(a, b)| a.max(b) < &self.satellites && a != b),
            ),
            ("failures of nodes", self.failed.iter().all(|of| is_node(&of.ends.0) && is_node(&of.ends.1))),
            ("a position for every node", self.knots.nodes == nodes as usize),
            (
                "positions during the whole run",
                self.knots.cover(until_ns.saturating_add(LONGEST_STRAIGHT_NS as i64)),
            ),
        ];
        match laws.iter().find(|(_, holds)| !holds) {
            Some((law, _)) => Err(format!("its constellation has not {law}")),
            None => Ok(()),
        }
    }
}

/// The next hops at an instant, by node and station.
#[derive(Debug)]
pub(crate) struct NextHops<'a> {
    of: &'a Constellation,
    /// The next node; none if negative.
    next: Vec<i64>,
}

impl<'a> NextHops<'a> {
    /// Without any next hop.
    fn new(of: &'a Constellation) -> Self {
        Self { of, next: vec![-1; of.nodes() as usize * of.stations.len()] }
    }

    /// The tables at the start.
    pub(crate) fn first(of: &'a Constellation) -> Self {
        let mut table = Self::new(of);
        (0..of.changes.at_ns.partition_point(|at| *at == 0)).for_each(|i| _ = table.change(i));
        table
    }

    /// The change with this number is made. Returns the station that it is about.
    fn change(&mut self, i: usize) -> u32 {
        let Changes { node, destination, next, .. } = &self.of.changes;
        let station = destination[i] - self.of.satellites;
        self.next[node[i] as usize * self.of.stations.len() + station as usize] = next[i];
        station
    }

    /// The nodes from one station, which comes first, towards another, both by their numbers among the stations. It
    /// ends where no path leads on, and before it comes round in a circle.
    pub(crate) fn path(&self, [from, to]: [u32; 2]) -> impl Iterator<Item = u32> {
        let (first, stations) = (self.of.satellites, self.of.stations.len());
        let onward = move |node: &u32| {
            let next = self.next[*node as usize * stations + to as usize];
            (*node != first + to).then_some(next).and_then(|next| u32::try_from(next).ok())
        };
        std::iter::successors(Some(first + from), onward).take(self.of.nodes() as usize)
    }

    /// The time of light from one station to another and back, both by their numbers among the stations; `None`
    /// without a path.
    pub(crate) fn round_trip(&self, [from, to]: [u32; 2]) -> Option<Span> {
        let there = self.delay_ns([from, to])? + self.delay_ns([to, from])?;
        Some(Span(there as u64))
    }

    fn delay_ns(&self, [from, to]: [u32; 2]) -> Option<f64> {
        let nodes: Vec<u32> = self.path([from, to]).collect();
        let hops = nodes.windows(2).map(|hop| self.of.knots.delay_ns(hop[0], hop[1], 0));
        (nodes.last() == Some(&(self.of.satellites + to))).then(|| hops.sum())
    }
}

/// Makes the constellation of a request, which is JSON: the keys of the scenario's table `network`, where `isl` says
/// whether there are lasers and other ports are left out; `station` (its own stations by name); and `duration_s`. `Err` says in one line what is wrong.
pub type ConstellationSource = dyn Fn(&str) -> Result<Constellation, String> + Send + Sync;

static SOURCE: OnceLock<Box<ConstellationSource>> = OnceLock::new();
/// The newest constellations by their requests: runs that differ elsewhere share one.
static KNOWN: Mutex<Vec<(String, Arc<Constellation>)>> = Mutex::new(Vec::new());
/// How many are kept.
const MOST_KNOWN: usize = 4;

/// From now on constellations are made by `source`. Only the first call has an effect.
pub fn make_constellations_by(source: Box<ConstellationSource>) {
    _ = SOURCE.set(source);
}

/// The constellation of a request, for a run until `until_ns`.
pub(crate) fn constellation(request: &str, until_ns: u64) -> Result<Arc<Constellation>, String> {
    let known = |(of, made): &(String, Arc<Constellation>)| (of == request).then(|| made.clone());
    if let Some(made) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).iter().find_map(known) {
        return Ok(made);
    }
    let Some(source) = SOURCE.get() else {
        return Err("a constellation is worked out by the Python package; run this scenario there".to_owned());
    };
    let made = source(request)?;
    made.check(until_ns as i64)?;
    let made = Arc::new(made);
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.truncate(MOST_KNOWN - 1);
    all.insert(0, (request.to_owned(), made.clone()));
    Ok(made)
}
