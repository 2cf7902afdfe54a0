//! A whole constellation: the next hop from every satellite and station to every station, over time.
//!
//! Paths are the shortest ones from a station over satellites to a station (`trees.rs`). Without further rules
//! this is the routing of Hypatia (IMC 2020; satgenpy, `algorithm_free_one_only_over_isls`). Stations may relay
//! (`algorithm_free_gs_relays`), paths may have the fewest links, a rule may choose the satellite of each
//! station (`serving.rs`), and parts may fail (`failures.rs`). Tables hold at steps and are kept as changes.
//! Steps are worked out in parts of equal length, one a thread, with the same result for any number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::earth::distance;
use crate::error::{OrbitError, within, wrong};
use crate::failures::{Avoided, Failed, Failure, Failures};
use crate::ground::Point;
use crate::horizon::{Horizon, Look};
use crate::knots::Knots;
use crate::lasers::is_clear;
use crate::request::{Choose, Rule, Satellites, When, check_sky, check_steps, nanoseconds, read, sources};
use crate::serving::{Serving, Turns, best};
use crate::setting::Sky;
use crate::shell::Shell;
use crate::tables::{Merged, Part, PathChanges, TableChanges, Tables};
use crate::trees::{Grid, Links, Scratch, Tree};

/// The tables of a constellation: what is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkRequest {
    /// Where the satellites come from: one source, or a list.
    #[serde(deserialize_with = "sources")]
    pub satellites: Vec<Satellites>,
    /// Pairs of satellites with a laser between them, by index. By default the +grid of each shell.
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
    /// Give the changes of paths, too.
    #[serde(default = "yes")]
    pub paths: bool,
    /// Which of all paths a packet takes.
    #[serde(default)]
    pub route: Route,
    /// Which satellite serves a station, for what it sends and what is sent to it.
    #[serde(default)]
    pub choose: Choose,
    /// When it is chosen; at every step, unless `choose` is a rule other than the shortest path.
    #[serde(default)]
    pub when: When,
    /// Do stations pass on what is for others?
    #[serde(default)]
    pub relays: bool,
    /// What fails, and when.
    #[serde(default)]
    pub failures: Vec<Failure>,
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

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

/// Which of all paths a packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// The shortest.
    #[default]
    Length,
    /// Of those with the fewest links the shortest; lengths differ if they do so by a millimetre.
    Hops,
}

impl Route {
    /// What a link counts more than its length, km. 2^24 km is more than the paths of any orbit; beside a hundred
    /// times as much a length is still a multiple of 0.24 mm.
    fn more_km(self) -> f64 {
        match self {
            Self::Length => 0.0,
            Self::Hops => 16_777_216.0,
        }
    }
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
        request.when.check()?;
        if request.choose == Choose::ShortestPath && request.when != When::default() {
            return wrong(
                "when goes with a rule that chooses the satellite: choose is \"shortest-path\", but must be \
                 \"highest-elevation\" or \"longest-visible\"",
            );
        }
        if request.stations.len() < 2 {
            return wrong(format!("stations: {} of them; a network needs two", request.stations.len()));
        }
        Ok(request)
    }
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
    /// What fails, and when: packets that are sent over it then are lost.
    pub failed: Vec<Failed>,
    /// Where all nodes are over time, if the request asks for it.
    pub knots: Option<Knots>,
    /// The shell as TLEs, if the satellites are just one.
    pub tles: Option<String>,
    /// The instant of the start, UTC.
    pub epoch: String,
    /// The names of the shells, if all satellites are of shells that have one.
    pub shell: Option<String>,
    /// Least elevation where a station says nothing else, degrees; of several shells the least one.
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
    let (grid, stations) = (Grid::new(count, &pairs), horizons.len());
    let counts = (count as u32, stations as u32);
    let failures = Failures::new(&request.failures, counts, &pairs, &grid, sky.duration_ns)?;
    let step_ns = nanoseconds(request.step_s);
    let steps = (sky.duration_ns as u64).div_ceil(step_ns as u64);
    let job = Job {
        steps,
        to_do: if request.choose == Choose::ShortestPath { steps } else { 2 * steps },
        request,
        grid,
        step_ns,
        sky,
        horizons,
        failures,
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let serving = match request.choose {
        Choose::ShortestPath => None,
        _ => Some(Serving { turns: job.split(stations as u64, go_on, |a, b| job.serving(a, b))?.concat() }),
    };
    let parts = job.split(steps, go_on, |a, b| job.part(a, b, serving.as_ref()))?;
    let mut merged = Merged::new(entries, request.stations.len(), request.paths);
    for part in parts {
        merged.add(part, step_ns, count as u32);
    }
    let Job { sky, failures, .. } = job;
    let shell = sky.shell_names();
    let tles = |of: &Shell| of.tles(shell.as_deref().unwrap_or("satellite"), sky.start);
    Ok(Network {
        tles: sky.shell().map(tles).transpose()?,
        tables: merged.tables,
        paths: merged.paths,
        failed: failures.failed,
        knots,
        satellites: sky.ephemeris.satellites().iter().map(|s| s.id).collect(),
        lasers: pairs,
        epoch: format!("{:?}Z", sky.start),
        shell,
        min_elevation_deg: sky.elevation(None, request.min_elevation_deg),
        warnings: sky.warnings,
    })
}

fn horizons(request: &NetworkRequest, sky: &Sky) -> Result<Vec<Horizon>, OrbitError> {
    let rule = (request.reach, request.greatest_length_km);
    let keyed = request.stations.iter().enumerate();
    let of = |(i, station): (usize, &Point)| {
        let key = format!("stations[{i}]");
        sky.horizon(station, &key, request.min_elevation_deg, rule)
    };
    keyed.map(of).collect()
}

/// What all threads share.
struct Job<'a> {
    request: &'a NetworkRequest,
    grid: Grid,
    step_ns: i64,
    steps: u64,
    /// What `done` is at the end.
    to_do: u64,
    sky: Sky,
    horizons: Vec<Horizon>,
    failures: Failures,
    /// Steps that are done; the choice of satellites counts as much as the tables.
    done: AtomicU64,
    stop: AtomicBool,
}

impl Job<'_> {
    /// Splits the work on `things` things among the threads. `work(first, end)` does those from `first` up to but
    /// excluding `end`.
    fn split<T: Send>(
        &self,
        things: u64,
        go_on: &mut dyn FnMut(f64) -> bool,
        work: impl Fn(u64, u64) -> Result<T, OrbitError> + Sync,
    ) -> Result<Vec<T>, OrbitError> {
        let parts = things.min(self.request.threads as u64).max(1);
        let bounds: Vec<u64> = (0..=parts).map(|part| things * part / parts).collect();
        thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = bounds
                .windows(2)
                .map(|b| (b[0], b[1]))
                .map(|(a, b)| scope.spawn(move || work(a, b)))
                .collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                if !go_on(self.done.load(Ordering::Relaxed) as f64 / self.to_do as f64) {
                    self.stop.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(Duration::from_millis(10));
            }
            workers.into_iter().map(|worker| worker.join().unwrap_or(Err(OrbitError::Interrupted))).collect()
        })
    }

    /// What routes avoid at an instant; nothing where nothing fails.
    fn avoid(&self, t_ns: i64, avoided: &mut Avoided) {
        if !self.failures.is_empty() {
            self.failures.avoid(t_ns, avoided);
        }
    }

    fn nothing_avoided(&self) -> Avoided {
        Avoided::nothing(self.grid.satellites() + self.horizons.len(), self.grid.lasers.len())
    }

    /// Which satellite serves each of some stations, over all steps.
    fn serving(&self, first: u64, end: u64) -> Result<Vec<Turns>, OrbitError> {
        let NetworkRequest { choose, when, .. } = *self.request;
        let mut ephemeris = self.sky.ephemeris.anew();
        let mut horizons = self.horizons[first as usize..end as usize].to_vec();
        let mut turns = vec![Turns::new(); horizons.len()];
        let mut intervals = vec![None; horizons.len()];
        let (mut looks, mut avoided) = (Vec::new(), self.nothing_avoided());
        for step in 0..self.steps {
            if self.stop.load(Ordering::Relaxed) {
                return Err(OrbitError::Interrupted);
            }
            let t_ns = step as i64 * self.step_ns;
            let turn = self.sky.turn(t_ns);
            self.avoid(t_ns, &mut avoided);
            for (i, horizon) in horizons.iter_mut().enumerate() {
                let held: Option<usize> = turns[i].last().and_then(|(_, held)| *held);
                let observer = horizon.observer(t_ns, &turn);
                let due = when.is_due(t_ns, &mut intervals[i]);
                if let Some(held) = held.filter(|held| !due && !avoided.nodes[*held])
                    && horizon.one(held, &mut ephemeris, t_ns, &observer)?.is_some()
                {
                    continue;
                }
                horizon.all(&mut ephemeris, t_ns, &observer, &mut looks)?;
                looks.retain(|look| !avoided.nodes[look.index]);
                let chosen = best(&looks, choose, |index| self.sky.stays(horizon, index, t_ns))?;
                let chosen = chosen.map(|look| look.index);
                if step == 0 || chosen != held {
                    turns[i].push((step, chosen));
                }
            }
            if first == 0 {
                self.done.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(turns)
    }

    /// Works out the steps from `first` up to but excluding `end`.
    fn part(&self, first: u64, end: u64, serving: Option<&Serving>) -> Result<Part, OrbitError> {
        let (satellites, stations) = (self.grid.satellites(), self.horizons.len());
        let more_km = self.request.route.more_km();
        let mut ephemeris = self.sky.ephemeris.anew();
        let mut horizons = self.horizons.clone();
        let mut looks: Vec<Vec<Look>> = vec![Vec::new(); stations];
        let mut links = Links::new(&self.grid, if self.request.relays { stations } else { 0 });
        let mut trees = vec![Tree::new(links.nodes()); stations];
        let mut scratch = Scratch::new(satellites);
        let mut avoided = self.nothing_avoided();
        let mut tables = Tables::new(satellites, links.nodes(), stations, more_km, self.request.paths);
        let mut part = Part::default();
        for step in first..end {
            if self.stop.load(Ordering::Relaxed) {
                return Err(OrbitError::Interrupted);
            }
            let t_ns = step as i64 * self.step_ns;
            let turn = self.sky.turn(t_ns);
            self.avoid(t_ns, &mut avoided);
            let down = |node: u32| avoided.nodes[node as usize];
            let places = ephemeris.all(t_ns)?;
            for (number, (a, b), length) in links.lasers() {
                let off = avoided.lasers[number] || down(a) || down(b);
                let (a, b) = (&places[a as usize], &places[b as usize]);
                *length = if off || !is_clear(a, b) { f64::NAN } else { distance(a, b) + more_km };
            }
            for (station, (horizon, seen)) in horizons.iter_mut().zip(&mut looks).enumerate() {
                let observer = horizon.observer(t_ns, &turn);
                match serving.map(|of| of.at(station, step)) {
                    None => horizon.all(&mut ephemeris, t_ns, &observer, seen)?,
                    Some(satellite) => {
                        seen.clear();
                        if let Some(index) = satellite {
                            seen.extend(horizon.one(index, &mut ephemeris, t_ns, &observer)?);
                        }
                    }
                }
                if !self.failures.is_empty() {
                    let alone = down((satellites + station) as u32);
                    seen.retain(|look| !alone && !down(look.index as u32));
                }
                seen.iter_mut().for_each(|look| look.range_km += more_km);
            }
            if self.request.relays {
                links.relay(&looks);
            }
            for (tree, seen) in trees.iter_mut().zip(&looks) {
                tree.follow(&links, seen, &mut scratch);
            }
            tables.compare(step, &trees, &looks, &mut part);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(part)
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
            satellites: vec![Satellites {
                shell: Some("hypatia-kuiper-k1".to_owned()),
                ..Satellites::default()
            }],
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
            paths: true,
            route: Route::Length,
            choose: Choose::ShortestPath,
            when: When::default(),
            relays: false,
            failures: Vec::new(),
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
                    let path: Vec<i64> =
                        paths.via[begin..paths.ends[last] as usize].iter().map(|at| i64::from(*at)).collect();
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
