//! The setting of a request: satellites, horizons, lasers, the start.

use sgp4::chrono::NaiveDateTime;

use crate::earth::Turn;
use crate::ephemeris::Ephemeris;
use crate::error::{OrbitError, wrong};
use crate::ground::{Ground, Point, great_circle_km};
use crate::horizon::{Horizon, Reach};
use crate::lasers::Lasers;
use crate::request::{Fleet, Mode, Request, Rule, nanoseconds, read_epoch};
use crate::satellites::{OLDEST_DAYS, usable};

/// Everything that a run needs.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) start: NaiveDateTime,
    ut1_ns: i64,
    pub(crate) duration_ns: i64,
    pub(crate) ephemeris: Ephemeris,
    pub(crate) lasers: Lasers,
    /// Satellites with a laser between them, by index.
    pub(crate) pairs: Vec<(u32, u32)>,
    pub(crate) mode: Mode,
    pub(crate) a: Horizon,
    /// `b`, or the gateways.
    pub(crate) ends: Vec<Horizon>,
    /// `b` behind the gateways.
    pub(crate) beyond: Option<Ground>,
    pub(crate) min_elevation_deg: f64,
    pub(crate) shell_name: Option<&'static str>,
    pub(crate) warnings: Vec<String>,
}

impl Setting {
    /// Reads elements and checks what fits together.
    pub(crate) fn new(request: &Request) -> Result<Self, OrbitError> {
        let Fleet { satellites, shell, name, epoch } = request.satellites.fleet()?;
        let start = request.epoch.as_deref().map_or(Ok(epoch), |text| read_epoch(text, "epoch"))?;
        let duration_ns = nanoseconds(request.duration_s);
        let mut warnings = Vec::new();
        // The elements of a shell are made, not measured: they do not age.
        let oldest = if shell.is_some() { f64::INFINITY } else { OLDEST_DAYS };
        let satellites = usable(satellites, start, duration_ns, oldest, &mut warnings)?;
        let pairs = shell.as_ref().map(|s| s.plus_grid()).unwrap_or_default();
        if shell.as_ref().is_some_and(|s| s.size() != satellites.len()) {
            return wrong(warnings.pop().unwrap_or_default()); // numbers of the grid would be wrong
        }
        let mode = mode(request, !pairs.is_empty())?;
        let ephemeris = Ephemeris::new(satellites);
        let horizon = |point: &Point, key: &str| {
            let ground = Ground::new(point, key)?;
            let elevation = request.elevation(Some(point), shell.as_ref());
            let reach = match request.reach {
                Rule::Elevation => Reach::Elevation(elevation),
                Rule::Length => {
                    let by_shell = shell.as_ref().and_then(|s| s.greatest_length_km);
                    let by_angle = shell
                        .as_ref()
                        .filter(|_| elevation > 0.0)
                        .map(|s| s.altitude() / libm::sin(elevation * (std::f64::consts::PI / 180.0)));
                    let length = request.greatest_length_km.or(by_shell).or(by_angle);
                    Reach::Length(
                        length.map_or_else(|| wrong("reach is \"length\": give greatest_length_km"), Ok)?,
                    )
                }
            };
            Ok(Horizon::new(ground, reach, &ephemeris))
        };
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
            start,
            ut1_ns: nanoseconds(request.ut1_minus_utc_s),
            duration_ns,
            lasers: Lasers::new(ephemeris.satellites().len(), &pairs),
            pairs,
            ephemeris,
            mode,
            a,
            ends,
            beyond: beyond.filter(|_| !request.gateways.is_empty()),
            min_elevation_deg: request.elevation(Some(&request.a), shell.as_ref()),
            shell_name: name,
            warnings,
        })
    }

    /// The orientation of the Earth at an instant.
    pub(crate) fn turn(&self, t_ns: i64) -> Turn {
        Turn::at(self.start, t_ns + self.ut1_ns)
    }

    /// From an end of the bent pipe to `b` on the ground, km.
    pub(crate) fn ground_leg_km(&self, end: usize, t_ns: i64) -> f64 {
        self.beyond
            .as_ref()
            .map_or(0.0, |b| great_circle_km(&self.ends[end].ground().place(t_ns).1, &b.place(t_ns).1))
    }

    /// Until when a satellite stays in reach of a point, ns; point 0 is `a`, 1 the first of the ends.
    pub(crate) fn stays(&mut self, point: usize, index: usize, t_ns: i64) -> Result<f64, OrbitError> {
        const LONGEST_NS: i64 = 6 * 3_600 * 1_000_000_000;
        let (start, ut1_ns) = (self.start, self.ut1_ns);
        let turn_at = move |t: i64| Turn::at(start, t + ut1_ns);
        let horizon = if point == 0 { &mut self.a } else { &mut self.ends[point - 1] };
        let until = horizon.stays_until(index, &self.ephemeris, t_ns, t_ns + LONGEST_NS, &turn_at)?;
        Ok(until as f64)
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
