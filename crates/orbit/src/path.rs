//! The path between two ground points, row by row.

use std::collections::BTreeMap;

use crate::earth::{Turn, light_ns};
use crate::error::OrbitError;
use crate::horizon::{Look, Observer};
use crate::lasers::End;
use crate::request::{Choose, Mode, Request, nanoseconds};
use crate::serving::best;
use crate::setting::Setting;

/// The path at every step, a column a name. See the fields for units; a row where nothing is
/// reachable has NaN, -1 or 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// Instant, s from the start.
    pub t_s: Vec<f64>,
    /// Twice the time one way, ms; that is rounded to whole nanoseconds.
    pub rtt_ms: Vec<f64>,
    /// Number of the satellite over `a`, or -1.
    pub first_sat: Vec<i64>,
    /// Number of the satellite over the other end, or -1.
    pub last_sat: Vec<i64>,
    /// Index of the gateway, or -1.
    pub gateway: Vec<i32>,
    /// Radio links and lasers on the path; a leg on the ground does not count.
    pub hops: Vec<i32>,
    /// Is there a path?
    pub reachable: Vec<bool>,
    /// Is there one, and no break of a handover?
    pub up: Vec<bool>,
    /// Is the path another than that of the last row with a path?
    pub handover: Vec<bool>,
    /// Has the first satellite, the last one or the gateway changed since then?
    pub access: Vec<bool>,
    /// Degrees of the first satellite above the horizon of `a`.
    pub first_elevation_deg: Vec<f64>,
    /// Degrees of the last satellite above the horizon of the other end.
    pub last_elevation_deg: Vec<f64>,
    /// Satellites in reach of `a`.
    pub a_in_reach: Vec<i32>,
    /// With lasers, satellites in reach of `b`; of a bent pipe, those in reach of `a` that
    /// reach the other end too.
    pub b_in_reach: Vec<i32>,
    /// Index of the route, or -1.
    pub route: Vec<i32>,
}

/// What a request yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    /// A row a step.
    pub columns: Columns,
    /// The satellites of each route, from `a` to the other end.
    pub routes: Vec<Vec<i64>>,
    /// The instant of the start, UTC.
    pub epoch: String,
    /// How many satellites there are.
    pub satellites: usize,
    /// How the path goes.
    pub mode: Mode,
    /// Least elevation at `a`, degrees.
    pub min_elevation_deg: f64,
    /// The names of the shells, if all satellites are of shells that have one.
    pub shell: Option<String>,
    /// What must be looked at before the numbers are trusted.
    pub warnings: Vec<String>,
}

/// What is held between two choices: indices of the first and the last satellite and of the gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Access {
    first: usize,
    last: usize,
    gateway: usize,
}

/// A path at one instant.
#[derive(Clone, Debug)]
struct Way {
    access: Access,
    satellites: Vec<u32>,
    one_way_ns: f64,
    first_deg: f64,
    last_deg: f64,
}

/// Works out a request. Before each row `go_on` receives the share that is done. It returns false to stop.
///
/// # Errors
/// A request that is wrong, a satellite without a position, or an interruption.
pub fn path(request: &Request, go_on: &mut dyn FnMut(f64) -> bool) -> Result<Timetable, OrbitError> {
    let mut walk = Walk::new(request)?;
    let (duration, step) = (walk.setting.sky.duration_ns, nanoseconds(request.step_s));
    let pause = nanoseconds(request.handover_break_s);
    let mut next_step = 0;
    let mut break_end = None;
    while let Some(t_ns) = [Some(next_step), break_end].into_iter().flatten().min().filter(|t| *t < duration)
    {
        if !go_on(t_ns as f64 / duration as f64) {
            return Err(OrbitError::Interrupted);
        }
        let is_step = t_ns == next_step;
        next_step += if is_step { step } else { 0 };
        let way = walk.way(t_ns, is_step)?;
        let fresh = walk.tell(t_ns, way, break_end.is_some_and(|end| t_ns < end));
        if fresh && pause > 0 {
            break_end = Some(t_ns + pause);
            if let Some(up) = walk.columns.up.last_mut() {
                *up = false;
            }
        } else if break_end.is_some_and(|end| end <= t_ns) {
            break_end = None;
        }
    }
    Ok(walk.finish())
}

/// The work under way.
#[derive(Debug)]
struct Walk<'a> {
    request: &'a Request,
    setting: Setting,
    columns: Columns,
    routes: BTreeMap<Vec<u32>, i32>,
    seen_a: Vec<Look>,
    seen_b: Vec<Look>,
    in_reach: (usize, usize),
    held: Option<Access>,
    /// The number of the interval of the last choice.
    interval: Option<i64>,
    /// Access and route of the last row with a path.
    last: Option<(Access, i32)>,
}

impl<'a> Walk<'a> {
    fn new(request: &'a Request) -> Result<Self, OrbitError> {
        let setting = Setting::new(request)?;
        Ok(Self {
            request,
            setting,
            columns: Columns::default(),
            routes: BTreeMap::new(),
            seen_a: Vec::new(),
            seen_b: Vec::new(),
            in_reach: (0, 0),
            held: None,
            interval: None,
            last: None,
        })
    }

    /// The path at an instant.
    fn way(&mut self, t_ns: i64, is_step: bool) -> Result<Option<Way>, OrbitError> {
        let choose = is_step && self.request.when.is_due(t_ns, &mut self.interval);
        let turn = self.setting.sky.turn(t_ns);
        let setting = &mut self.setting;
        let observer = setting.a.observer(t_ns, &turn);
        if setting.mode == Mode::Lasers {
            setting.sky.ephemeris.all(t_ns)?; // one pass over all is faster than one by one
        }
        setting.a.all(&mut setting.sky.ephemeris, t_ns, &observer, &mut self.seen_a)?;
        let way = match setting.mode {
            Mode::Lasers => self.by_lasers(t_ns, &turn, &observer, choose)?,
            Mode::BentPipe => self.by_bent_pipe(t_ns, &turn, choose)?,
        };
        self.held = way.as_ref().map(|w| w.access);
        Ok(way)
    }

    fn by_lasers(
        &mut self,
        t_ns: i64,
        turn: &Turn,
        at_a: &Observer,
        choose: bool,
    ) -> Result<Option<Way>, OrbitError> {
        let at_b = self.setting.ends[0].observer(t_ns, turn);
        self.setting.ends[0].all(&mut self.setting.sky.ephemeris, t_ns, &at_b, &mut self.seen_b)?;
        self.in_reach = (self.seen_a.len(), self.seen_b.len());
        if let Some(held) = self.held.filter(|_| !choose)
            && let (Some(a), Some(b)) = (find(&self.seen_a, held.first), find(&self.seen_b, held.last))
            && let Some(way) = self.between(t_ns, a, b)?
        {
            return Ok(Some(way));
        }
        if self.request.choose != Choose::ShortestPath {
            let (a, b) = (self.best(t_ns, true)?, self.best(t_ns, false)?);
            return match (a, b) {
                (Some(a), Some(b)) => self.between(t_ns, a, b),
                _ => Ok(None),
            };
        }
        let places = self.setting.sky.ephemeris.all(t_ns)?;
        let (a, b) = (End::Ground(&at_a.place, &self.seen_a), End::Ground(&at_b.place, &self.seen_b));
        let Some((km, satellites)) = self.setting.lasers.shortest(places, a, b) else {
            return Ok(None);
        };
        let (Some(first), Some(last)) = (satellites.first(), satellites.last()) else {
            return Ok(None);
        };
        let (first, last) = (*first as usize, *last as usize);
        let degrees = |looks: &[Look], index| find(looks, index).map_or(f64::NAN, |l| l.elevation_deg());
        Ok(Some(Way {
            access: Access { first, last, gateway: 0 },
            one_way_ns: self.one_way_ns(km, 0.0),
            first_deg: degrees(&self.seen_a, first),
            last_deg: degrees(&self.seen_b, last),
            satellites,
        }))
    }

    /// The shortest way from one chosen satellite to another.
    fn between(&mut self, t_ns: i64, a: Look, b: Look) -> Result<Option<Way>, OrbitError> {
        let places = self.setting.sky.ephemeris.all(t_ns)?;
        let found = self.setting.lasers.shortest(places, End::Satellite(a.index), End::Satellite(b.index));
        Ok(found.map(|(km, satellites)| Way {
            access: Access { first: a.index, last: b.index, gateway: 0 },
            satellites,
            one_way_ns: self.one_way_ns(a.range_km + km + b.range_km, 0.0),
            first_deg: a.elevation_deg(),
            last_deg: b.elevation_deg(),
        }))
    }

    /// The chosen satellite over one end of a path over lasers.
    fn best(&mut self, t_ns: i64, over_a: bool) -> Result<Option<Look>, OrbitError> {
        let looks = if over_a { &self.seen_a } else { &self.seen_b };
        let setting = &mut self.setting;
        best(looks, self.request.choose, |index| setting.stays(usize::from(!over_a), index, t_ns))
    }

    fn by_bent_pipe(&mut self, t_ns: i64, turn: &Turn, choose: bool) -> Result<Option<Way>, OrbitError> {
        let ends: Vec<Observer> = self.setting.ends.iter().map(|e| e.observer(t_ns, turn)).collect();
        let beyond: Vec<f64> = (0..ends.len()).map(|end| self.setting.ground_leg_km(end, t_ns)).collect();
        let held = self.held.filter(|_| !choose);
        let mut best: Option<(f64, Way)> = None;
        let mut through = 0;
        for look in self.seen_a.clone() {
            let mut reaches = false;
            for (gateway, observer) in ends.iter().enumerate() {
                let setting = &mut self.setting;
                let Some(down) =
                    setting.ends[gateway].one(look.index, &mut setting.sky.ephemeris, t_ns, observer)?
                else {
                    continue;
                };
                reaches = true;
                let way = Way {
                    access: Access { first: look.index, last: look.index, gateway },
                    satellites: vec![look.index as u32],
                    one_way_ns: self.one_way_ns(look.range_km + down.range_km, beyond[gateway]),
                    first_deg: look.elevation_deg(),
                    last_deg: down.elevation_deg(),
                };
                let merit = if held == Some(way.access) {
                    f64::INFINITY
                } else {
                    self.merit(&look, gateway, way.one_way_ns, t_ns)?
                };
                let better = best.as_ref().is_none_or(|(known, shortest)| {
                    merit > *known || (merit == *known && way.one_way_ns < shortest.one_way_ns)
                });
                if better {
                    best = Some((merit, way));
                }
            }
            through += usize::from(reaches);
        }
        self.in_reach = (self.seen_a.len(), through);
        Ok(best.map(|(_, way)| way))
    }

    /// How good a satellite with a gateway is; more is better.
    fn merit(&mut self, look: &Look, gateway: usize, one_way_ns: f64, t_ns: i64) -> Result<f64, OrbitError> {
        Ok(match self.request.choose {
            Choose::ShortestPath => -one_way_ns,
            Choose::HighestElevation => look.sin_elevation,
            Choose::LongestVisible => {
                let over_a = self.setting.stays(0, look.index, t_ns)?;
                over_a.min(self.setting.stays(1 + gateway, look.index, t_ns)?)
            }
        })
    }

    fn one_way_ns(&self, space_km: f64, ground_km: f64) -> f64 {
        light_ns(space_km + ground_km / self.request.ground_speed)
    }

    /// Adds a row. Has the access changed since the last row with a path?
    fn tell(&mut self, t_ns: i64, way: Option<Way>, in_break: bool) -> bool {
        let count = self.routes.len() as i32;
        let route = way.as_ref().map(|w| *self.routes.entry(w.satellites.clone()).or_insert(count));
        let now = way.as_ref().map(|w| w.access).zip(route);
        let access = now.zip(self.last).is_some_and(|(new, old)| new.0 != old.0);
        let handover = now.zip(self.last).is_some_and(|(new, old)| new != old);
        self.last = now.or(self.last);
        let id = |index: usize| self.setting.sky.ephemeris.satellites()[index].id;
        let gateway = |w: &Way| if self.request.gateways.is_empty() { -1 } else { w.access.gateway as i32 };
        let rows = &mut self.columns;
        rows.t_s.push(t_ns as f64 / 1e9);
        rows.rtt_ms.push(way.as_ref().map_or(f64::NAN, |w| 2.0 * w.one_way_ns / 1e6));
        rows.first_sat.push(way.as_ref().map_or(-1, |w| id(w.access.first)));
        rows.last_sat.push(way.as_ref().map_or(-1, |w| id(w.access.last)));
        rows.gateway.push(way.as_ref().map_or(-1, gateway));
        rows.hops.push(way.as_ref().map_or(0, |w| w.satellites.len() as i32 + 1));
        rows.reachable.push(way.is_some());
        rows.up.push(way.is_some() && !in_break);
        rows.handover.push(handover);
        rows.access.push(access);
        rows.first_elevation_deg.push(way.as_ref().map_or(f64::NAN, |w| w.first_deg));
        rows.last_elevation_deg.push(way.as_ref().map_or(f64::NAN, |w| w.last_deg));
        rows.a_in_reach.push(self.in_reach.0 as i32);
        rows.b_in_reach.push(self.in_reach.1 as i32);
        rows.route.push(route.unwrap_or(-1));
        access
    }

    fn finish(self) -> Timetable {
        let Self { setting, columns, routes, .. } = self;
        let satellites = setting.sky.ephemeris.satellites();
        let shell = setting.sky.shell_names();
        let mut warnings = setting.sky.warnings;
        if !columns.reachable.iter().any(|r| *r) {
            warnings.push(why_unreachable(&columns, setting.mode, setting.a.ground().name()));
        }
        let mut by_number = vec![Vec::new(); routes.len()];
        for (route, number) in routes {
            by_number[number as usize] = route.iter().map(|i| satellites[*i as usize].id).collect();
        }
        Timetable {
            columns,
            routes: by_number,
            epoch: format!("{:?}Z", setting.sky.start),
            satellites: satellites.len(),
            mode: setting.mode,
            min_elevation_deg: setting.min_elevation_deg,
            shell,
            warnings,
        }
    }
}

fn find(looks: &[Look], index: usize) -> Option<Look> {
    looks.binary_search_by_key(&index, |l| l.index).ok().map(|at| looks[at])
}

/// Why no row has a path.
fn why_unreachable(columns: &Columns, mode: Mode, a: &str) -> String {
    let never = |counts: &[i32]| counts.iter().all(|c| *c == 0);
    match mode {
        _ if never(&columns.a_in_reach) => {
            format!("no path at any time: no satellite ever comes in reach of {a}")
        }
        Mode::BentPipe => {
            format!("no path at any time: no satellite in reach of {a} is in reach of the other end")
        }
        Mode::Lasers if never(&columns.b_in_reach) => {
            "no path at any time: no satellite ever comes in reach of the other end".to_owned()
        }
        Mode::Lasers => "no path at any time: the lasers do not join the two ends".to_owned(),
    }
}
