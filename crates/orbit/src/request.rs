//! What is asked for, as it comes in: keys, defaults, checks.

use std::collections::BTreeSet;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use sgp4::chrono::{Datelike, NaiveDate, NaiveDateTime};

use crate::earth::YEARS;
use crate::elements::{self, Notation};
use crate::error::{OrbitError, within, wrong};
use crate::ground::Point;
use crate::satellites::Satellite;
use crate::shell::Shell;
use crate::shells;

/// A path over time between two ground points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Where the satellites come from: one source, or a list.
    #[serde(deserialize_with = "sources")]
    pub satellites: Vec<Satellites>,
    /// The first point.
    pub a: Point,
    /// The other one. `None` only with gateways: the path then ends at the gateway.
    pub b: Option<Point>,
    /// Gateways of a bent pipe. Without any, `b` is at the other end.
    #[serde(default)]
    pub gateways: Vec<Point>,
    /// Length of the run, s.
    pub duration_s: f64,
    /// Between two rows, s.
    pub step_s: f64,
    /// The instant of the start, UTC. By default that of the shell, or of the newest elements.
    pub epoch: Option<String>,
    /// By lasers or by a bent pipe. By default lasers if the shell has them.
    pub mode: Option<Mode>,
    /// Which satellite is chosen.
    #[serde(default)]
    pub choose: Choose,
    /// When it is chosen.
    #[serde(default)]
    pub when: When,
    /// Least elevation, degrees. By default the shell's; 25 for a TLE or OMM.
    pub min_elevation_deg: Option<f64>,
    /// The rule that says when a satellite is in reach.
    #[serde(default)]
    pub reach: Rule,
    /// For the rule `length`, km. By default the shell's, or altitude / sin(least elevation).
    pub greatest_length_km: Option<f64>,
    /// For how long the path is down after a change of the first satellite, the last one or the gateway, s.
    #[serde(default)]
    pub handover_break_s: f64,
    /// Speed on the ground between a gateway and `b`, as a share of that of light.
    /// 2/3 is that of light in fibre.
    #[serde(default = "in_fibre")]
    pub ground_speed: f64,
    /// UT1 - UTC, s (IERS Bulletin A); a tenth of a second turns the Earth by 46 m at the equator.
    #[serde(default)]
    pub ut1_minus_utc_s: f64,
}

fn in_fibre() -> f64 {
    2.0 / 3.0
}

/// Where satellites come from: exactly one of `shell`, `walker`, `tle`, `omm`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Satellites {
    /// The name of a shell.
    pub shell: Option<String>,
    /// A shell by its numbers.
    pub walker: Option<Shell>,
    /// The text of a TLE file.
    pub tle: Option<String>,
    /// The text of an OMM file.
    pub omm: Option<String>,
    /// The notation of `omm`.
    pub format: Option<Notation>,
    /// What messages call the text.
    pub file: Option<String>,
}

/// Reads one source of satellites, or a list of them.
pub(crate) fn sources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Satellites>, D::Error> {
    struct OneOrMany;

    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<Satellites>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("one of shell, walker, tle, omm, or a list of these")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Satellites::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(OneOrMany)
}

/// How the path goes between satellites.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// From satellite to satellite.
    Lasers,
    /// Up to one satellite and down from it.
    BentPipe,
}

impl Mode {
    /// As a request writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lasers => "lasers",
            Self::BentPipe => "bent-pipe",
        }
    }
}

/// Which satellite is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choose {
    /// The one, or the pair, with the shortest path; in a network, another one for each destination if need be.
    #[default]
    ShortestPath,
    /// The highest above the horizon; of a bent pipe that at `a`.
    HighestElevation,
    /// The one that stays in reach for the longest time; of a bent pipe, in reach of both its ends.
    LongestVisible,
}

/// When a satellite is chosen. One that is lost is replaced at once in any case.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"every-step\", \"when-lost\", or {\"every_s\": seconds, \"first_s\": seconds}"
)]
pub enum When {
    /// By a word.
    Named(Moment),
    /// At intervals.
    Every(Interval),
}

impl When {
    /// Checks its numbers.
    pub(crate) fn check(&self) -> Result<(), OrbitError> {
        if let Self::Every(Interval { every_s, first_s }) = *self {
            within("when.every_s", every_s, 1e-3, 86_400.0)?;
            within("when.first_s", first_s, 0.0, 86_400.0)?;
        }
        Ok(())
    }

    /// Is a choice due at a step? `interval` is the number of the interval of the last one.
    pub(crate) fn is_due(&self, t_ns: i64, interval: &mut Option<i64>) -> bool {
        match self {
            Self::Named(Moment::EveryStep) => true,
            Self::Named(Moment::WhenLost) => false,
            Self::Every(every) => {
                let number = (t_ns - nanoseconds(every.first_s)).div_euclid(nanoseconds(every.every_s));
                interval.replace(number) != Some(number)
            }
        }
    }
}

impl Default for When {
    fn default() -> Self {
        Self::Named(Moment::EveryStep)
    }
}

/// Choices at intervals.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Between two choices, s.
    pub every_s: f64,
    /// The first choice after the start, s.
    #[serde(default)]
    pub first_s: f64,
}

/// When a satellite is chosen, by a word.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// At every step.
    EveryStep,
    /// When the one before is lost.
    WhenLost,
}

/// The rule of reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// True elevation.
    #[default]
    Elevation,
    /// Hypatia's greatest length.
    Length,
}

/// Steps that one request may ask for.
const MOST_STEPS: f64 = 2e7;

/// A request of any kind from its JSON.
pub(crate) fn read<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, OrbitError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut reader).map_err(|e| {
        let (path, what) = (e.path().to_string(), e.into_inner().to_string());
        let what = what.split(" at line ").next().unwrap_or_default().to_owned();
        OrbitError::Request(if path == "." { what } else { format!("{path}: {what}") })
    })
}

/// Checks the length of a run and the time between two steps.
pub(crate) fn check_steps(duration_s: f64, step_s: f64) -> Result<(), OrbitError> {
    within("duration_s", duration_s, 1e-3, 366.0 * 86_400.0)?;
    within("step_s", step_s, 1e-6, 86_400.0)?;
    if duration_s / step_s > MOST_STEPS {
        return wrong(format!("{duration_s} s in steps of {step_s} s are more than {MOST_STEPS} rows"));
    }
    Ok(())
}

/// Checks what turns the Earth, and the length of a link to the ground.
pub(crate) fn check_sky(ut1_minus_utc_s: f64, greatest_length_km: Option<f64>) -> Result<(), OrbitError> {
    within("ut1_minus_utc_s", ut1_minus_utc_s, -1.0, 1.0)?;
    greatest_length_km.map_or(Ok(()), |km| within("greatest_length_km", km, 1.0, 100_000.0))
}

impl Request {
    /// Reads a request and checks its numbers.
    ///
    /// # Errors
    /// The key that is wrong, and what would be right.
    pub fn from_json(json: &str) -> Result<Self, OrbitError> {
        let request: Self = read(json)?;
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> Result<(), OrbitError> {
        check_steps(self.duration_s, self.step_s)?;
        check_sky(self.ut1_minus_utc_s, self.greatest_length_km)?;
        within("handover_break_s", self.handover_break_s, 0.0, 3_600.0)?;
        within("ground_speed", self.ground_speed, 0.01, 1.0)?;
        self.when.check()?;
        let points = [("a", Some(&self.a)), ("b", self.b.as_ref())];
        let gateways = self.gateways.iter().enumerate().map(|(i, g)| (format!("gateways[{i}]"), Some(g)));
        for (key, point) in points.map(|(k, p)| (k.to_owned(), p)).into_iter().chain(gateways) {
            if let Some(degrees) = point.and_then(|p| p.min_elevation_deg) {
                within(&format!("{key}.min_elevation_deg"), degrees, 0.0, 90.0)?;
            }
        }
        self.min_elevation_deg.map_or(Ok(()), |degrees| within("min_elevation_deg", degrees, 0.0, 90.0))
    }
}

/// Whole nanoseconds of a time in seconds.
pub(crate) fn nanoseconds(seconds: f64) -> i64 {
    libm::round(seconds * 1e9) as i64
}

/// The satellites of one source.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) satellites: Vec<Satellite>,
    pub(crate) shell: Option<Shell>,
    /// The shell's name.
    pub(crate) name: Option<&'static str>,
    /// The instant at which a run starts if nobody says otherwise.
    pub(crate) epoch: NaiveDateTime,
}

impl Satellites {
    /// Reads or makes the satellites of these sources.
    pub(crate) fn fleets(sources: &[Self]) -> Result<Vec<Fleet>, OrbitError> {
        let mut fleets: Vec<Fleet> = Vec::with_capacity(sources.len());
        for source in sources {
            let fleet = source.fleet()?;
            if let Some(name) = fleet.name.filter(|_| fleets.iter().any(|known| known.name == fleet.name)) {
                return wrong(format!("satellites.shell: {name} is named twice; give each shell once"));
            }
            let numbers = |of: &Fleet| of.satellites.iter().map(|one| one.id).collect::<BTreeSet<_>>();
            let measured = fleets.iter().filter(|known| known.shell.is_none() && fleet.shell.is_none());
            if let Some(twice) = measured.flat_map(|known| &numbers(known) & &numbers(&fleet)).next() {
                return wrong(format!("satellites: {twice} is in two files; give each satellite once"));
            }
            fleets.push(fleet);
        }
        if fleets.is_empty() {
            return wrong("satellites: the list is empty; name a shell or a file");
        }
        Ok(fleets)
    }

    fn fleet(&self) -> Result<Fleet, OrbitError> {
        let given = [self.shell.is_some(), self.walker.is_some(), self.tle.is_some(), self.omm.is_some()];
        if given.iter().filter(|g| **g).count() != 1 {
            return wrong("satellites: give one of shell, walker, tle, omm");
        }
        if self.format.is_some() && self.omm.is_none() {
            return wrong("satellites.format goes with omm");
        }
        let (shell, name) = match (&self.shell, &self.walker) {
            (Some(name), _) => {
                let known = shells::find(name).ok_or_else(|| unknown_shell(name))?;
                (Some(known.shell.clone()), Some(known.name))
            }
            (None, walker) => (walker.clone(), None),
        };
        if let Some(shell) = shell {
            shell.check("satellites.walker")?;
            let epoch = read_epoch(&shell.epoch, "satellites.walker.epoch")?;
            return Ok(Fleet { satellites: shell.satellites(epoch)?, shell: Some(shell), name, epoch });
        }
        let file = self.file.as_deref();
        let satellites = match (&self.tle, &self.omm) {
            (Some(text), _) => elements::read_tle(text, file.unwrap_or("satellites.tle"))?,
            (None, text) => {
                let text = text.as_deref().unwrap_or_default();
                elements::read_omm(
                    text,
                    self.format.unwrap_or(Notation::Json),
                    file.unwrap_or("satellites.omm"),
                )?
            }
        };
        let Some(epoch) = elements::newest(&satellites) else {
            return wrong("satellites: no orbital elements");
        };
        Ok(Fleet { satellites, shell: None, name: None, epoch })
    }
}

fn unknown_shell(name: &str) -> OrbitError {
    let mut near: Vec<(f64, &str)> =
        shells::SHELLS.iter().map(|s| (strsim::jaro_winkler(name, s.name), s.name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let meant = near.first().filter(|(score, _)| *score > 0.8);
    let hint = match meant {
        Some((_, known)) => format!("did you mean {known:?}?"),
        None => format!("known are {}", shells::SHELLS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")),
    };
    OrbitError::Request(format!("satellites.shell: no shell is called {name:?}; {hint}"))
}

/// Reads an instant of UTC: `2000-01-01T00:00:00Z`, with a fraction or a space if need be, or a day alone.
pub(crate) fn read_epoch(text: &str, key: &str) -> Result<NaiveDateTime, OrbitError> {
    let bare = text.trim().trim_end_matches(['Z', 'z']).replacen(' ', "T", 1);
    let instant = NaiveDateTime::parse_from_str(&bare, "%Y-%m-%dT%H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(&bare, "%Y-%m-%dT%H:%M"))
        .or_else(|_| {
            NaiveDate::parse_from_str(&bare, "%Y-%m-%d")
                .map(|day| day.and_hms_opt(0, 0, 0).expect("midnight exists"))
        });
    match instant {
        Ok(at) if YEARS.contains(&at.year()) => Ok(at),
        _ => wrong(format!(
            "{key} is {text:?}, but must be an instant of UTC such as \"2026-05-01T12:00:00Z\""
        )),
    }
}
