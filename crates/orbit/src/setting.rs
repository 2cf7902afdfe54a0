//! The setting of a request: satellites, horizons, lasers, the start.

use sgp4::chrono::NaiveDateTime;

use crate::earth::Turn;
use crate::ephemeris::Ephemeris;
use crate::error::{OrbitError, within, wrong};
use crate::ground::{Ground, Point, great_circle_km};
use crate::horizon::{Horizon, Reach};
use crate::lasers::Lasers;
use crate::request::{Fleet, Mode, Request, Rule, Satellites, nanoseconds, read_epoch};
use crate::satellites::{OLDEST_DAYS, usable};
use crate::shell::{Shell, default_elevation};

/// Satellites over a turning Earth.
#[derive(Debug)]
pub(crate) struct Sky {
    pub(crate) start: NaiveDateTime,
    ut1_ns: i64,
    pub(crate) duration_ns: i64,
    pub(crate) ephemeris: Ephemeris,
    /// Satellites with a laser between them, by index.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// The sources of the satellites, which are numbered one source after the other.
    groups: Vec<Group>,
    pub(crate) warnings: Vec<String>,
}

/// The satellites of one source.
#[derive(Debug)]
struct Group {
    /// The index behind that of its last satellite.
    end: usize,
    shell: Option<Shell>,
    name: Option<&'static str>,
}

impl Sky {
    /// Reads the elements, for a run from `epoch` on; by default from the instant of the elements.
    pub(crate) fn new(
        satellites: &[Satellites],
        epoch: Option<&str>,
        (duration_s, ut1_minus_utc_s): (f64, f64),
    ) -> Result<Self, OrbitError> {
        let fleets = Satellites::fleets(satellites)?;
        let newest = fleets.iter().map(|fleet| fleet.epoch).max().unwrap_or_default();
        let start = epoch.map_or(Ok(newest), |text| read_epoch(text, "epoch"))?;
        let duration_ns = nanoseconds(duration_s);
        let (mut all, mut pairs, mut groups, mut warnings) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for Fleet { satellites, shell, name, .. } in fleets {
            // The elements of a shell are made, not measured: they do not age.
            let oldest = if shell.is_some() { f64::INFINITY } else { OLDEST_DAYS };
            let mut usable = usable(satellites, start, duration_ns, oldest, &mut warnings)?;
            let first = all.len();
            if let Some(shell) = &shell {
                if shell.size() != usable.len() {
                    return wrong(warnings.pop().unwrap_or_default()); // numbers of the grid would be wrong
                }
                usable.iter_mut().for_each(|satellite| satellite.id += first as i64);
                pairs.extend(shell.plus_grid().iter().map(|(a, b)| (a + first as u32, b + first as u32)));
            }
            all.append(&mut usable);
            groups.push(Group { end: all.len(), shell, name });
        }
        Ok(Self {
            start,
            ut1_ns: nanoseconds(ut1_minus_utc_s),
            duration_ns,
            ephemeris: Ephemeris::new(all),
            pairs,
            groups,
            warnings,
        })
    }

    /// The shell, if there is just one source of satellites and that is a shell.
    pub(crate) fn shell(&self) -> Option<&Shell> {
        self.groups.first().filter(|_| self.groups.len() == 1).and_then(|group| group.shell.as_ref())
    }

    /// The names of all sources, if they are shells with a name.
    pub(crate) fn shell_names(&self) -> Option<String> {
        let names: Option<Vec<&str>> = self.groups.iter().map(|group| group.name).collect();
        names.map(|names| names.join(", "))
    }

    /// The orientation of the Earth at an instant.
    pub(crate) fn turn(&self, t_ns: i64) -> Turn {
        Turn::at(self.start, t_ns + self.ut1_ns)
    }

    /// Least elevation of a point, degrees: its own, or else `general`, or else the least one of any shell.
    pub(crate) fn elevation(&self, point: Option<&Point>, general: Option<f64>) -> f64 {
        let of = |group: &Group| group.elevation(point, general);
        self.groups.iter().map(of).fold(f64::INFINITY, f64::min)
    }

    /// The horizon of a point; `key` is its place in the request. `general`: the least elevation of points that
    /// have none, degrees. `greatest_length_km` goes with the rule `length`.
    pub(crate) fn horizon(
        &self,
        point: &Point,
        key: &str,
        general: Option<f64>,
        (rule, greatest_length_km): (Rule, Option<f64>),
    ) -> Result<Horizon, OrbitError> {
        let ground = Ground::new(point, key)?;
        let mut reaches = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let elevation = group.elevation(Some(point), general);
            within(&format!("{key}.min_elevation_deg"), elevation, 0.0, 90.0)?;
            let length_km = greatest_length_km.or_else(|| group.greatest_length_km(elevation));
            reaches.push(match (rule, length_km) {
                (Rule::Elevation, _) => Reach::Elevation(elevation),
                (Rule::Length, Some(km)) => Reach::Length(km),
                (Rule::Length, None) => return wrong("reach is \"length\": give greatest_length_km"),
            });
        }
        let reach = |index| reaches[self.groups.partition_point(|group| group.end <= index)];
        Ok(Horizon::new(ground, reach, &self.ephemeris))
    }

    /// Until when a satellite that is in reach of a point stays so, ns; six hours ahead at most.
    pub(crate) fn stays(&self, horizon: &mut Horizon, index: usize, t_ns: i64) -> Result<f64, OrbitError> {
        const LONGEST_NS: i64 = 6 * 3_600 * 1_000_000_000;
        let turn_at = |t: i64| self.turn(t);
        let until = horizon.stays_until(index, &self.ephemeris, t_ns, t_ns + LONGEST_NS, &turn_at)?;
        Ok(until as f64)
    }
}

impl Group {
    /// Least elevation of a point, degrees: its own, or else `general`, or else the shell's.
    fn elevation(&self, point: Option<&Point>, general: Option<f64>) -> f64 {
        let own = point.and_then(|p| p.min_elevation_deg).or(general);
        own.unwrap_or_else(|| self.shell.as_ref().map_or_else(default_elevation, |s| s.min_elevation_deg))
    }

    /// The greatest length of a link to the ground by Hypatia's rule, km; `None` without a shell.
    fn greatest_length_km(&self, elevation: f64) -> Option<f64> {
        let shell = self.shell.as_ref()?;
        let by_angle = (elevation > 0.0)
            .then(|| shell.altitude() / libm::sin(elevation * (std::f64::consts::PI / 180.0)));
        shell.greatest_length_km.or(by_angle)
    }
}

/// Everything that a run needs.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) sky: Sky,
    pub(crate) lasers: Lasers,
    pub(crate) mode: Mode,
    pub(crate) a: Horizon,
    /// `b`, or the gateways.
    pub(crate) ends: Vec<Horizon>,
    /// `b` behind the gateways.
    pub(crate) beyond: Option<Ground>,
    pub(crate) min_elevation_deg: f64,
}

impl Setting {
    /// Reads elements and checks what fits together.
    pub(crate) fn new(request: &Request) -> Result<Self, OrbitError> {
        let times = (request.duration_s, request.ut1_minus_utc_s);
        let sky = Sky::new(&request.satellites, request.epoch.as_deref(), times)?;
        let mode = mode(request, !sky.pairs.is_empty())?;
        let rule = (request.reach, request.greatest_length_km);
        let horizon = |point: &Point, key: &str| sky.horizon(point, key, request.min_elevation_deg, rule);
        let a = horizon(&request.a, "a")?;
        let beyond = request.b.as_ref().map(|b| Ground::new(b, "b")).transpose()?;
        let ends = match (&request.b, request.gateways.as_slice()) {
            (Some(b), []) => vec![horizon(b, "b")?],
            (_, gateways) => {
                let keyed = gateways.iter().enumerate();
                keyed.map(|(i, g)| horizon(g, &format!("gateways[{i}]"))).collect::<Result<_, _>>()?
            }
        };
        Ok(Self {
            lasers: Lasers::new(sky.ephemeris.satellites().len(), &sky.pairs),
            mode,
            a,
            ends,
            beyond: beyond.filter(|_| !request.gateways.is_empty()),
            min_elevation_deg: sky.elevation(Some(&request.a), request.min_elevation_deg),
            sky,
        })
    }

    /// From an end of the bent pipe to `b` on the ground, km.
    pub(crate) fn ground_leg_km(&self, end: usize, t_ns: i64) -> f64 {
        self.beyond
            .as_ref()
            .map_or(0.0, |b| great_circle_km(&self.ends[end].ground().place(t_ns).1, &b.place(t_ns).1))
    }

    /// Until when a satellite stays in reach of a point, ns; point 0 is `a`, 1 the first of the ends.
    pub(crate) fn stays(&mut self, point: usize, index: usize, t_ns: i64) -> Result<f64, OrbitError> {
        let horizon = if point == 0 { &mut self.a } else { &mut self.ends[point - 1] };
        self.sky.stays(horizon, index, t_ns)
    }
}

/// Lasers or a bent pipe, if the rest of the request fits.
fn mode(request: &Request, has_lasers: bool) -> Result<Mode, OrbitError> {
    let default = if has_lasers && request.gateways.is_empty() { Mode::Lasers } else { Mode::BentPipe };
    let mode = request.mode.unwrap_or(default);
    if mode == Mode::Lasers && !has_lasers {
        return wrong("mode is \"lasers\", but these satellites have none; only shells with lasers do");
    }
    if mode == Mode::Lasers && !request.gateways.is_empty() {
        return wrong("gateways go with the mode \"bent-pipe\"");
    }
    if request.b.is_none() && request.gateways.is_empty() {
        return wrong("give b, or gateways");
    }
    Ok(mode)
}
