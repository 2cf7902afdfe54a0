//! A whole constellation: the next hop from every satellite and station to every station, over time.
//!
//! Paths are the shortest ones from a station over satellites to a station (`trees.rs`); stations relay
//! nothing. This is the routing of Hypatia (IMC 2020; satgenpy, `algorithm_free_one_only_over_isls`). Tables
//! hold at steps and are kept as changes. Steps are worked out in parts of equal length, one a thread, with
//! the same result for any number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::earth::{distance, light_ns};
use crate::error::{OrbitError, within, wrong};
use crate::ground::Point;
use crate::horizon::{Horizon, Look};
use crate::knots::Knots;
use crate::lasers::is_clear;
use crate::request::{Rule, Satellites, check_sky, check_steps, nanoseconds, read};
use crate::setting::Sky;
use crate::shell::Shell;
use crate::trees::{DOWN, Grid, NOWHERE, Scratch, Tree};

/// The tables of a constellation: what is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkRequest {
    /// Where the satellites come from.
    pub satellites: Satellites,
    /// Pairs of satellites with a laser between them, by index. By default the +grid of the shell.
    pub lasers: Option<Vec<(u32, u32)>>,
    /// The stations: sources and destinations.
    pub stations: Vec<Point>,
    /// Length of the run, s.
    pub duration_s: f64,
    /// Between two tables, s.
    pub step_s: f64,
    /// The instant of the start, UTC. By default that of the shell, or of the newest elements.
    pub epoch: Option<String>,
    /// Least elevation, degrees. By default the shell's; 25 for a TLE or OMM.
    pub min_elevation_deg: Option<f64>,
    /// The rule that says when a satellite is in reach.
    #[serde(default)]
    pub reach: Rule,
    /// For the rule `length`, km. By default the shell's, or altitude / sin(least elevation).
    pub greatest_length_km: Option<f64>,
    /// UT1 - UTC, s (IERS Bulletin A).
    #[serde(default)]
    pub ut1_minus_utc_s: f64,
    /// How many threads work.
    #[serde(default = "one")]
    pub threads: usize,
    /// Are [`Network::knots`] wanted?
    #[serde(default)]
    pub knots: bool,
}

fn one() -> usize {
    1
}

/// Most entries of one table: 4,408 satellites and 3,000 stations have 22 million.
const MOST_ENTRIES: usize = 1 << 25;

impl NetworkRequest {
    /// Reads a request and checks its numbers.
    ///
    /// # Errors
    /// The key that is wrong, and what would be right.
    pub fn from_json(json: &str) -> Result<Self, OrbitError> {
        let request: Self = read(json)?;
        check_steps(request.duration_s, request.step_s)?;
        check_sky(request.ut1_minus_utc_s, request.greatest_length_km)?;
        within("threads", request.threads as f64, 1.0, 1_024.0)?;
        if request.stations.len() < 2 {
            return wrong(format!("stations: {} of them; a network needs two", request.stations.len()));
        }
        Ok(request)
    }
}

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
    /// The satellites of all paths in a row.
    pub satellites: Vec<u32>,
    /// Where the satellites of each path end in that row; those of a pair without a path are none.
    pub ends: Vec<u64>,
}

/// What a request yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The tables.
    pub tables: TableChanges,
    /// The paths.
    pub paths: PathChanges,
    /// Numbers of the satellites.
    pub satellites: Vec<i64>,
    /// Pairs of satellites with a laser between them, by index.
    pub lasers: Vec<(u32, u32)>,
    /// Where all nodes are over time, if the request asks for it.
    pub knots: Option<Knots>,
    /// The shell as TLEs, if the satellites are one.
    pub tles: Option<String>,
    /// The instant of the start, UTC.
    pub epoch: String,
    /// The shell's name, if it has one.
    pub shell: Option<&'static str>,
    /// Least elevation where a station says nothing else, degrees.
    pub min_elevation_deg: f64,
    /// What must be looked at before the numbers are trusted.
    pub warnings: Vec<String>,
}

/// Works out the tables. `go_on` receives the share that is done, now and then. It returns false to stop.
///
/// # Errors
/// A request that is wrong, a satellite without a position, or an interruption.
pub fn network(request: &NetworkRequest, go_on: &mut dyn FnMut(f64) -> bool) -> Result<Network, OrbitError> {
    let times = (request.duration_s, request.ut1_minus_utc_s);
    let sky = Sky::new(&request.satellites, request.epoch.as_deref(), times)?;
    let count = sky.ephemeris.satellites().len();
    let pairs = request.lasers.clone().unwrap_or_else(|| sky.pairs.clone());
    if let Some((a, b)) = pairs.iter().find(|(a, b)| *a.max(b) as usize >= count || a == b) {
        return wrong(format!("lasers: {a} to {b}, but satellites have the numbers 0 to {}", count - 1));
    }
    let entries = (count + request.stations.len()) * request.stations.len();
    if entries > MOST_ENTRIES {
        return wrong(format!("stations: a table of {entries} entries; at most {MOST_ENTRIES} are possible"));
    }
    let horizons = horizons(request, &sky)?;
    let knots = request.knots.then(|| Knots::new(&sky, &horizons, go_on)).transpose()?;
    let job = Job {
        grid: Grid::new(count, &pairs),
        step_ns: nanoseconds(request.step_s),
        sky,
        horizons,
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let steps = (job.sky.duration_ns as u64).div_ceil(job.step_ns as u64);
    let parts = steps.min(request.threads as u64).max(1);
    let bounds: Vec<u64> = (0..=parts).map(|part| steps * part / parts).collect();
    let found: Vec<Result<Part, OrbitError>> = thread::scope(|scope| {
        let job = &job;
        let workers: Vec<_> = bounds
            .windows(2)
            .map(|b| (b[0], b[1]))
            .map(|(a, b)| scope.spawn(move || job.part(a, b)))
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            if !go_on(job.done.load(Ordering::Relaxed) as f64 / steps as f64) {
                job.stop.store(true, Ordering::Relaxed);
            }
            thread::park_timeout(Duration::from_millis(10));
        }
        workers.into_iter().map(|worker| worker.join().unwrap_or(Err(OrbitError::Interrupted))).collect()
    });
    let mut merged = Merged::new(entries, request.stations.len());
    for part in found {
        merged.add(part?, job.step_ns, count as u32);
    }
    let sky = job.sky;
    let tles = |shell: &Shell| shell.tles(sky.shell_name.unwrap_or("satellite"), sky.start);
    Ok(Network {
        tles: sky.shell.as_ref().map(tles).transpose()?,
        tables: merged.tables,
        paths: merged.paths,
        knots,
        satellites: sky.ephemeris.satellites().iter().map(|s| s.id).collect(),
        lasers: pairs,
        epoch: format!("{:?}Z", sky.start),
        shell: sky.shell_name,
        min_elevation_deg: sky.elevation(None, request.min_elevation_deg),
        warnings: sky.warnings,
    })
}

fn horizons(request: &NetworkRequest, sky: &Sky) -> Result<Vec<Horizon>, OrbitError> {
    let rule = (request.reach, request.greatest_length_km);
    let keyed = request.stations.iter().enumerate();
    let of = |(i, station): (usize, &Point)| {
        let key = format!("stations[{i}]");
        let elevation = sky.elevation(Some(station), request.min_elevation_deg);
        within(&format!("{key}.min_elevation_deg"), elevation, 0.0, 90.0)?;
        sky.horizon(station, &key, elevation, rule)
    };
    keyed.map(of).collect()
}

/// What all threads share.
struct Job {
    grid: Grid,
    step_ns: i64,
    sky: Sky,
    horizons: Vec<Horizon>,
    /// Steps that are done.
    done: AtomicU64,
    stop: AtomicBool,
}

/// A change of a table entry, or of a path, at a step.
#[derive(Clone, Copy, Debug)]
struct Change {
    step: u64,
    /// The place of the entry in the table, or of the pair.
    place: u32,
    /// The next hop; of a path the number of its satellites.
    value: u32,
    /// Of a path.
    length_km: f64,
}

/// The changes of some steps. The first step has all entries and pairs.
#[derive(Debug, Default)]
struct Part {
    tables: Vec<Change>,
    paths: Vec<Change>,
    satellites: Vec<u32>,
}

impl Job {
    /// Works out the steps from `first` up to but excluding `end`.
    fn part(&self, first: u64, end: u64) -> Result<Part, OrbitError> {
        let (satellites, stations) = (self.sky.ephemeris.satellites().len(), self.horizons.len());
        let mut ephemeris = self.sky.ephemeris.anew();
        let mut horizons = self.horizons.clone();
        let mut looks: Vec<Vec<Look>> = vec![Vec::new(); stations];
        let mut trees = vec![Tree::new(satellites); stations];
        let mut scratch = Scratch::new(satellites);
        let mut lengths = vec![0.0; self.grid.lasers.len()];
        let mut tables = Tables::new(satellites, stations);
        let mut part = Part::default();
        for step in first..end {
            if self.stop.load(Ordering::Relaxed) {
                return Err(OrbitError::Interrupted);
            }
            let t_ns = step as i64 * self.step_ns;
            let turn = self.sky.turn(t_ns);
            let places = ephemeris.all(t_ns)?;
            for (length, (a, b)) in lengths.iter_mut().zip(&self.grid.lasers) {
                let (a, b) = (&places[*a as usize], &places[*b as usize]);
                *length = if is_clear(a, b) { distance(a, b) } else { f64::NAN };
            }
            for (horizon, seen) in horizons.iter_mut().zip(&mut looks) {
                let observer = horizon.observer(t_ns, &turn);
                horizon.all(&mut ephemeris, t_ns, &observer, seen)?;
            }
            for (tree, seen) in trees.iter_mut().zip(&looks) {
                tree.follow(&self.grid, &lengths, seen, &mut scratch);
            }
            tables.compare(step, &trees, &looks, &mut part);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(part)
    }
}

/// No entry of a table, no path of a pair: everything differs from it.
const UNKNOWN: u32 = u32::MAX - 2;

/// The tables of the step before.
struct Tables {
    satellites: usize,
    /// The next hops of the satellites, by destination.
    next: Vec<Vec<u32>>,
    /// The first satellite, by source and destination.
    up: Vec<Vec<u32>>,
    /// The path of each pair, in the order of `up`.
    paths: Vec<Vec<Vec<u32>>>,
    /// Has `next` changed in this step?
    moved: Vec<bool>,
}

impl Tables {
    fn new(satellites: usize, stations: usize) -> Self {
        Self {
            satellites,
            next: vec![vec![UNKNOWN; satellites]; stations],
            up: vec![vec![UNKNOWN; stations]; stations],
            paths: vec![vec![vec![UNKNOWN]; stations]; stations],
            moved: vec![false; stations],
        }
    }

    /// Notes what is not as it was a step before: entries by node and destination, paths by source and
    /// destination.
    fn compare(&mut self, step: u64, trees: &[Tree], looks: &[Vec<Look>], part: &mut Part) {
        let begin = part.tables.len();
        let place = |node: usize, to: usize| (node * trees.len() + to) as u32;
        for (to, (tree, known)) in trees.iter().zip(&mut self.next).enumerate() {
            self.moved[to] = tree.next != *known;
            if !self.moved[to] {
                continue;
            }
            for (node, (&next, known)) in tree.next.iter().zip(known).enumerate() {
                if *known != next {
                    let value = if next == DOWN { (self.satellites + to) as u32 } else { next };
                    part.tables.push(Change { step, place: place(node, to), value, length_km: 0.0 });
                    *known = next;
                }
            }
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
                    part.tables.push(Change { step, place, value: up, length_km: 0.0 });
                } else if !self.moved[to] {
                    continue;
                }
                let path: Vec<u32> =
                    std::iter::successors(Some(up), |at| tree.next.get(*at as usize).copied())
                        .take_while(|at| (*at as usize) < self.satellites)
                        .collect();
                let known = &mut self.paths[from][to];
                if *known != path {
                    part.satellites.extend_from_slice(&path);
                    let value = path.len() as u32;
                    part.paths.push(Change { step, place: place(from, to), value, length_km });
                    *known = path;
                }
            }
        }
        part.tables[begin..].sort_unstable_by_key(|change| change.place);
    }
}

/// The parts, one behind the other.
struct Merged {
    stations: u32,
    tables: TableChanges,
    paths: PathChanges,
    /// What holds at the end of the parts so far.
    entries: Vec<u32>,
    known: Vec<Vec<u32>>,
}

impl Merged {
    fn new(entries: usize, stations: usize) -> Self {
        Self {
            stations: stations as u32,
            tables: TableChanges::default(),
            paths: PathChanges::default(),
            entries: vec![UNKNOWN; entries],
            known: vec![vec![UNKNOWN]; stations * stations],
        }
    }

    /// Adds a part. Its first step has all entries; those that hold already are no changes.
    fn add(&mut self, part: Part, step_ns: i64, satellites: u32) {
        for Change { step, place, value, .. } in part.tables {
            let (node, to) = (place / self.stations, place % self.stations);
            if std::mem::replace(&mut self.entries[place as usize], value) == value {
                continue;
            }
            self.tables.t_ns.push(step as i64 * step_ns);
            self.tables.node.push(node);
            self.tables.destination.push(satellites + to);
            self.tables.next.push(if value == NOWHERE { -1 } else { i64::from(value) });
        }
        let mut rest = part.satellites.as_slice();
        for Change { step, place, value, length_km } in part.paths {
            let (path, behind) = rest.split_at(value as usize);
            rest = behind;
            let known = &mut self.known[place as usize];
            if known == path {
                continue;
            }
            *known = path.to_vec();
            self.paths.t_ns.push(step as i64 * step_ns);
            self.paths.from.push(satellites + place / self.stations);
            self.paths.to.push(satellites + place % self.stations);
            self.paths.delay_ns.push(light_ns(length_km));
            self.paths.satellites.extend_from_slice(path);
            self.paths.ends.push(self.paths.satellites.len() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(step_s: f64, threads: usize) -> NetworkRequest {
        let station = |name: &str, lat: f64, lon: f64| Point {
            name: Some(name.to_owned()),
            lat: Some(lat),
            lon: Some(lon),
            ..Point::default()
        };
        NetworkRequest {
            satellites: Satellites { shell: Some("hypatia-kuiper-k1".to_owned()), ..Satellites::default() },
            lasers: None,
            stations: vec![
                station("Tokyo", 35.6895, 139.69171),
                station("Paris", 48.8566, 2.3522),
                station("Lagos", 6.4531, 3.3958),
                station("Longyearbyen", 78.2, 15.6),
            ],
            duration_s: 40.0,
            step_s,
            epoch: None,
            min_elevation_deg: None,
            reach: Rule::Length,
            greatest_length_km: None,
            ut1_minus_utc_s: 0.0,
            threads,
            knots: false,
        }
    }

    fn made(request: &NetworkRequest) -> Network {
        network(request, &mut |_| true).expect("a network")
    }

    #[test]
    fn threads_change_nothing() {
        let one = made(&request(0.5, 1));
        assert!(one == made(&request(0.5, 3)), "three threads"); // a text of both would fill the screen
        assert!(one == made(&request(0.5, 80)), "a thread a step");
    }

    /// Each path is that of A* at its instant (`lasers.rs`), and the tables lead along it.
    #[test]
    fn paths_are_the_shortest_at_every_step() {
        let of = request(4.0, 2);
        let Network { tables, paths, satellites, .. } = made(&of);
        let count = satellites.len() as u32;
        let mut pairs = 0;
        for (from, a) in of.stations.iter().enumerate() {
            for (to, b) in of.stations.iter().enumerate().filter(|(to, _)| *to != from) {
                let text = |key: &str, p: &Point| {
                    format!("\"{key}\": {{\"lat\": {}, \"lon\": {}}}", p.lat.unwrap(), p.lon.unwrap())
                };
                let one = format!(
                    "{{\"satellites\": {{\"shell\": \"hypatia-kuiper-k1\"}}, {}, {}, \"duration_s\": 40, \
                     \"step_s\": 4, \"reach\": \"length\"}}",
                    text("a", a),
                    text("b", b)
                );
                let one = crate::Request::from_json(&one).expect("a request");
                let one = crate::path(&one, &mut |_| true).expect("a path");
                for (row, t_s) in one.columns.t_s.iter().enumerate() {
                    let t_ns = (t_s * 1e9) as i64;
                    let route = one.columns.route[row];
                    let wanted: Vec<i64> = one.routes.get(route as usize).cloned().unwrap_or_default();
                    let (from, to) = (count + from as u32, count + to as u32);
                    let held = |at: &i64| *at <= t_ns;
                    let last = (0..paths.t_ns.len())
                        .rev()
                        .find(|&i| held(&paths.t_ns[i]) && (paths.from[i], paths.to[i]) == (from, to))
                        .expect("all pairs are known at the start");
                    let begin = if last == 0 { 0 } else { paths.ends[last - 1] } as usize;
                    let path: Vec<i64> = paths.satellites[begin..paths.ends[last] as usize]
                        .iter()
                        .map(|at| i64::from(*at))
                        .collect();
                    assert_eq!(path, wanted, "{from} to {to} at {t_s} s");
                    let mut at = from;
                    for next in path.iter().copied().chain([i64::from(to)]).filter(|_| !path.is_empty()) {
                        let entry = (0..tables.t_ns.len())
                            .rev()
                            .find(|&i| {
                                held(&tables.t_ns[i]) && (tables.node[i], tables.destination[i]) == (at, to)
                            })
                            .expect("all entries are known at the start");
                        assert_eq!(tables.next[entry], next);
                        at = next as u32;
                    }
                    pairs += usize::from(!path.is_empty());
                }
            }
        }
        assert!((1..=60).contains(&pairs), "Longyearbyen is out of reach, the others are not: {pairs}");
    }

    #[test]
    fn wrong_requests_are_named() {
        let mut one = request(1.0, 1);
        one.lasers = Some(vec![(3, 1_156)]);
        let error = network(&one, &mut |_| true).expect_err("a laser to nowhere");
        assert_eq!(error.to_string(), "lasers: 3 to 1156, but satellites have the numbers 0 to 1155");
        assert_eq!(network(&request(0.1, 2), &mut |_| false), Err(OrbitError::Interrupted));
    }
}
