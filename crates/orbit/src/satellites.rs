//! Satellites as SGP4 sees them: constants of the theory, and how fast and how high they may get.

use sgp4::chrono::NaiveDateTime;
use sgp4::{Constants, MinutesSinceEpoch, WGS72};

use crate::earth::{RADIUS_KM, Vector, dot};
use crate::error::OrbitError;

/// One satellite.
#[derive(Clone, Debug)]
pub struct Satellite {
    /// Its number: plane x satellites per plane + slot in a shell, otherwise the NORAD number.
    pub id: i64,
    /// The instant of its elements, UTC.
    pub epoch: NaiveDateTime,
    /// Angular rate at perigee, rad/s.
    pub perigee_rate: f64,
    /// Speed at perigee, km/s.
    pub perigee_speed: f64,
    /// Distance of the apogee from the centre of the Earth, km.
    pub apogee_km: f64,
    constants: Constants,
    /// From the epoch to the start of the run, minutes.
    minutes: f64,
}

impl Satellite {
    /// A satellite of these constants; `mean_motion` is in rad/min.
    pub fn new(
        id: i64,
        epoch: NaiveDateTime,
        mean_motion: f64,
        eccentricity: f64,
        constants: Constants,
    ) -> Self {
        let a = WGS72.ae * libm::cbrt((WGS72.ke / mean_motion) * (WGS72.ke / mean_motion));
        let n = mean_motion / 60.0;
        let (near, far) = (1.0 - eccentricity, 1.0 + eccentricity);
        let perigee_rate = n * libm::sqrt(far / (near * near * near));
        Self {
            id,
            epoch,
            perigee_rate,
            perigee_speed: perigee_rate * a * near,
            apogee_km: a * far,
            constants,
            minutes: 0.0,
        }
    }

    /// Counts time from this instant on.
    pub(crate) fn start_at(&mut self, start: NaiveDateTime) {
        self.minutes = minutes_between(self.epoch, start);
    }

    /// Where it is `t_ns` nanoseconds after the start, TEME, by SGP4.
    ///
    /// Constants of WGS 72, to which TLEs are fitted, and the improved mode, which is that of the
    /// verification set's positions (Vallado et al., AIAA 2006-6753). AFSPC's mode differs for deep-space
    /// orbits of low inclination: by 0.95 km for satellite 23599 of the set.
    ///
    /// # Errors
    /// SGP4 has no answer, or one below the ground.
    pub fn position(&self, t_ns: i64) -> Result<Vector, OrbitError> {
        let failed = |what: String| OrbitError::Position { satellite: self.id, t_s: t_ns as f64 / 1e9, what };
        let time = MinutesSinceEpoch(self.minutes + t_ns as f64 / 6e10);
        let at = self.constants.propagate(time).map_err(|e| failed(e.to_string()))?;
        if dot(&at.position, &at.position) < (RADIUS_KM - 25.0) * (RADIUS_KM - 25.0) {
            return Err(failed("it has decayed".to_owned()));
        }
        Ok(at.position)
    }
}

/// Minutes from one instant to another.
fn minutes_between(from: NaiveDateTime, to: NaiveDateTime) -> f64 {
    let gap = to - from;
    let whole = gap.num_seconds();
    whole as f64 / 60.0 + f64::from(gap.subsec_nanos()) / 6e10
}

/// Days from one instant to another.
fn days_between(from: NaiveDateTime, to: NaiveDateTime) -> f64 {
    minutes_between(from, to) / 1_440.0
}

/// How old elements may be. SGP4 is off by kilometres a day for low orbits (Vallado et al., AIAA
/// 2006-6753, section VII).
pub const OLDEST_DAYS: f64 = 14.0;

/// Sets the start of the run; leaves out the satellites whose elements are older than `oldest_days` or that
/// SGP4 cannot follow, with a warning for each kind.
///
/// # Errors
/// No satellite is left.
pub(crate) fn usable(
    satellites: Vec<Satellite>,
    start: NaiveDateTime,
    duration_ns: i64,
    oldest_days: f64,
    warnings: &mut Vec<String>,
) -> Result<Vec<Satellite>, OrbitError> {
    let (mut kept, mut old, mut lost) = (Vec::with_capacity(satellites.len()), Vec::new(), Vec::new());
    for mut satellite in satellites {
        satellite.start_at(start);
        let age = days_between(satellite.epoch, start);
        let age_at_end = age + duration_ns as f64 / 8.64e13;
        let worst = if age.abs() > age_at_end.abs() { age } else { age_at_end };
        if worst.abs() > oldest_days {
            old.push((satellite.id, worst));
        } else if let Err(e) = satellite.position(0).and_then(|_| satellite.position(duration_ns)) {
            lost.push(e);
        } else {
            kept.push(satellite);
        }
    }
    if let Some((id, worst)) = old.first() {
        let side = if *worst > 0.0 { "before" } else { "after" };
        let (count, days) = (old.len(), worst.abs());
        let text = format!(
            "{count} satellites are left out: their elements are more than {oldest_days} days from the run \
             (the first is {id}, {days:.1} days {side} it); choose an epoch near that of the elements"
        );
        if kept.is_empty() {
            return Err(OrbitError::Request(text));
        }
        warnings.push(text);
    }
    if let Some(first) = lost.first() {
        if kept.is_empty() {
            return Err(first.clone());
        }
        warnings.push(format!("{} satellites are left out; the first: {first}", lost.len()));
    }
    Ok(kept)
}
