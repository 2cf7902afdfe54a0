//! Walker shells: circular orbits in planes that are spread evenly.
//!
//! Satellite `plane x per_plane + slot` has right ascension `plane x raan_span / planes` and mean anomaly
//! `slot x 360 / per_plane` plus the phase of its plane; both are rounded to 0.0001 degrees as in a TLE.
//! Eccentricity is 1e-7, argument of perigee and drag are zero. These are the conventions of Hypatia
//! (satgenpy, `generate_tles_from_scratch_manual`).
//!
//! +grid: each satellite has a laser to the next in its plane and to one in the next plane, and so from the
//! previous ones. In the next plane it is the satellite nearest in phase; with the phase `half-slot` it is
//! the one of the same slot, as in satgenpy's `generate_plus_grid_isls`. Planes that do not span the whole
//! circle (a Walker star) have no lasers between the last plane and the first.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sgp4::chrono::{Datelike, NaiveDateTime, Timelike};
use sgp4::{Constants, Orbit, WGS72};

use crate::elements::checksum;
use crate::error::{OrbitError, within, wrong};
use crate::satellites::Satellite;

/// How the satellites of one plane stand against those of the plane before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Odd planes are ahead by half a slot (Hypatia).
    #[default]
    HalfSlot,
    /// Walker's F: each plane is ahead by F x 360 / (planes x per_plane) degrees (J.
    /// G. Walker, JBIS 24, 369).
    Walker(u32),
}

/// A shell by its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// Orbital planes.
    pub planes: u32,
    /// Satellites per plane.
    pub per_plane: u32,
    /// Inclination, degrees.
    pub inclination_deg: f64,
    /// Height of the mean orbit over the equatorial radius of WGS 72, km. Either this or the mean motion.
    pub altitude_km: Option<f64>,
    /// Mean motion of a TLE (Kozai's), revolutions a day. Hypatia gives this one.
    pub mean_motion_rev_per_day: Option<f64>,
    /// The arc of the equator over which the ascending nodes are spread, degrees: 360,
    /// or about 180 for a star.
    #[serde(default = "whole_circle")]
    pub raan_span_deg: f64,
    /// How planes stand against each other.
    #[serde(default)]
    pub phase: Phase,
    /// Least elevation, degrees.
    #[serde(default = "default_elevation")]
    pub min_elevation_deg: f64,
    /// The greatest length of a link to the ground by Hypatia's rule, km; without it
    /// altitude / sin(least elevation).
    pub greatest_length_km: Option<f64>,
    /// Do the satellites have lasers?
    #[serde(default = "yes")]
    pub lasers: bool,
    /// The instant at which the elements hold, UTC.
    #[serde(default = "default_epoch")]
    pub epoch: Cow<'static, str>,
}

/// Radius of the Earth in WGS 72, km.
const RADIUS72_KM: f64 = 6_378.135;
/// GM in WGS 72, km^3/s^2.
const GM72: f64 = 398_600.8;

fn whole_circle() -> f64 {
    360.0
}

/// Degrees above the horizon that a satellite needs where nothing else is said.
pub(crate) fn default_elevation() -> f64 {
    25.0
}

fn yes() -> bool {
    true
}

pub(crate) const fn default_epoch() -> Cow<'static, str> {
    Cow::Borrowed("2000-01-01T00:00:00Z")
}

impl Shell {
    /// Satellites in all.
    pub fn size(&self) -> usize {
        self.planes as usize * self.per_plane as usize
    }

    /// Checks every number; `key` is the shell's place in the request.
    ///
    /// # Errors
    /// The first number that is out of its range.
    pub fn check(&self, key: &str) -> Result<(), OrbitError> {
        if self.planes == 0 || self.per_plane == 0 || self.size() > 100_000 {
            let (planes, per_plane) = (self.planes, self.per_plane);
            return wrong(format!(
                "{key}: {planes} planes of {per_plane} satellites; 1 to 100000 satellites are possible"
            ));
        }
        let within = |name, value, low, high| within(&format!("{key}.{name}"), value, low, high);
        within("inclination_deg", self.inclination_deg, 0.0, 180.0)?;
        within("raan_span_deg", self.raan_span_deg, 0.0, 360.0)?;
        within("min_elevation_deg", self.min_elevation_deg, 0.0, 90.0)?;
        if let Some(length) = self.greatest_length_km {
            within("greatest_length_km", length, 1.0, 100_000.0)?;
        }
        match (self.altitude_km, self.mean_motion_rev_per_day) {
            (Some(altitude), None) => within("altitude_km", altitude, 150.0, 100_000.0),
            (None, Some(motion)) => within("mean_motion_rev_per_day", motion, 0.2, 16.4),
            (None, None) => wrong(format!("{key}: give altitude_km or mean_motion_rev_per_day")),
            (Some(_), Some(_)) => {
                wrong(format!("{key}: give altitude_km or mean_motion_rev_per_day, not both"))
            }
        }
    }

    /// Height of the mean orbit, km: given, or by Kepler's third law.
    pub fn altitude(&self) -> f64 {
        self.altitude_km.unwrap_or_else(|| {
            let n = self.mean_motion_rev_per_day.unwrap_or(1.0) * (std::f64::consts::TAU / 86_400.0);
            libm::cbrt(GM72 / (n * n)) - RADIUS72_KM
        })
    }

    /// Right ascension and mean anomaly of a satellite at the epoch, degrees.
    pub fn angles(&self, plane: u32, slot: u32) -> (f64, f64) {
        let per_plane = f64::from(self.per_plane);
        let ahead = match self.phase {
            Phase::HalfSlot => f64::from(plane % 2) * 180.0 / per_plane,
            Phase::Walker(f) => f64::from(plane) * f64::from(f) * 360.0 / self.size() as f64,
        };
        let anomaly = libm::fmod(ahead + f64::from(slot) * 360.0 / per_plane, 360.0);
        (as_in_a_tle(f64::from(plane) * self.raan_span_deg / f64::from(self.planes)), as_in_a_tle(anomaly))
    }

    /// Every satellite, in the order of its number.
    ///
    /// # Errors
    /// Elements that SGP4 refuses.
    pub fn satellites(&self, epoch: NaiveDateTime) -> Result<Vec<Satellite>, OrbitError> {
        const TO_RADIANS: f64 = std::f64::consts::PI / 180.0;
        let years = sgp4::julian_years_since_j2000(&epoch);
        let mut all = Vec::with_capacity(self.size());
        for plane in 0..self.planes {
            for slot in 0..self.per_plane {
                let (raan, anomaly) = self.angles(plane, slot);
                let orbit = self.orbit(raan * TO_RADIANS, anomaly * TO_RADIANS)?;
                let (motion, eccentricity) = (orbit.mean_motion, orbit.eccentricity);
                let constants = Constants::new(WGS72, sgp4::iau_epoch_to_sidereal_time, years, 0.0, orbit)
                    .map_err(|e| OrbitError::Request(format!("satellites: {e}")))?;
                let id = i64::from(plane * self.per_plane + slot);
                all.push(Satellite::new(id, epoch, motion, eccentricity, constants));
            }
        }
        Ok(all)
    }

    fn orbit(&self, right_ascension: f64, mean_anomaly: f64) -> Result<Orbit, OrbitError> {
        let inclination = as_in_a_tle(self.inclination_deg) * (std::f64::consts::PI / 180.0);
        let eccentricity = 1e-7;
        if let Some(altitude) = self.altitude_km {
            // SGP4's own mean semi-major axis is R + h, so no conversion from Kozai's mean motion.
            let ratio = RADIUS72_KM / (RADIUS72_KM + altitude);
            let mean_motion = WGS72.ke * ratio * libm::sqrt(ratio);
            return Ok(Orbit {
                inclination,
                right_ascension,
                eccentricity,
                argument_of_perigee: 0.0,
                mean_anomaly,
                mean_motion,
            });
        }
        let motion = self.mean_motion_rev_per_day.unwrap_or_default() * (std::f64::consts::PI / 720.0);
        Orbit::from_kozai_elements(
            &WGS72,
            inclination,
            right_ascension,
            eccentricity,
            0.0,
            mean_anomaly,
            motion,
        )
        .map_err(|e| OrbitError::Request(format!("satellites: {e}")))
    }

    /// The shell as TLEs of three lines, as Hypatia's programs read them. Satellite n is called `name` n, and
    /// has the catalogue number n + 1.
    ///
    /// # Errors
    /// More satellites than a TLE has numbers, or elements that SGP4 refuses.
    pub fn tles(&self, name: &str, epoch: NaiveDateTime) -> Result<String, OrbitError> {
        if self.size() > 99_999 {
            return wrong(format!("{} satellites; a TLE has numbers up to 99999", self.size()));
        }
        let day = f64::from(epoch.ordinal()) + f64::from(epoch.num_seconds_from_midnight()) / 86_400.0;
        let motion = self.kozai_motion()?;
        let mut text = String::new();
        for number in 0..self.planes * self.per_plane {
            let (raan, anomaly) = self.angles(number / self.per_plane, number % self.per_plane);
            let (catalogue, year) = (number + 1, epoch.year().rem_euclid(100));
            let lines = [
                format!(
                    "1 {catalogue:05}U 00000ABC {year:02}{day:012.8}  .00000000  00000-0  00000+0 0    0"
                ),
                format!(
                    "2 {catalogue:05} {:8.4} {raan:8.4} 0000001   0.0000 {anomaly:8.4} {motion:11.8}    0",
                    self.inclination_deg
                ),
            ];
            text.push_str(&format!("{name} {number}\n"));
            for line in lines {
                text.push_str(&format!("{line}{}\n", checksum(line.as_bytes())));
            }
        }
        Ok(text)
    }

    /// The mean motion of a TLE (Kozai's), revolutions a day: that for which SGP4 finds the altitude.
    fn kozai_motion(&self) -> Result<f64, OrbitError> {
        if let Some(motion) = self.mean_motion_rev_per_day {
            return Ok(motion);
        }
        let wanted = self.orbit(0.0, 0.0)?.mean_motion;
        let mut motion = wanted;
        for _ in 0..10 {
            let shell = Self {
                altitude_km: None,
                mean_motion_rev_per_day: Some(motion * (720.0 / std::f64::consts::PI)),
                ..self.clone()
            };
            motion *= wanted / shell.orbit(0.0, 0.0)?.mean_motion;
        }
        Ok(motion * (720.0 / std::f64::consts::PI))
    }

    /// The pairs of satellites with a laser between them, each once: the +grid. Empty if the shell has none.
    pub fn plus_grid(&self) -> Vec<(u32, u32)> {
        let (planes, per_plane) = (self.planes, self.per_plane);
        if !self.lasers {
            return Vec::new();
        }
        let closed = self.raan_span_deg >= 360.0;
        // By how many slots the nearest satellite of the next plane is behind.
        let (shift, seam) = match self.phase {
            Phase::HalfSlot => (0, 0),
            Phase::Walker(f) => {
                let back = libm::round(f64::from(f) / f64::from(planes)) as i64;
                (-back, i64::from(f))
            }
        };
        let of = |plane: u32, slot: i64| plane * per_plane + slot.rem_euclid(i64::from(per_plane)) as u32;
        let mut pairs = Vec::with_capacity(2 * self.size());
        for plane in 0..planes {
            for slot in 0..i64::from(per_plane) {
                let here = of(plane, slot);
                pairs.push((here, of(plane, slot + 1)));
                if plane + 1 < planes {
                    pairs.push((here, of(plane + 1, slot + shift)));
                } else if closed {
                    pairs.push((here, of(0, slot + shift + seam)));
                }
            }
        }
        for pair in &mut pairs {
            *pair = (pair.0.min(pair.1), pair.0.max(pair.1));
        }
        pairs.retain(|(a, b)| a != b);
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// Rounded to the four decimals that a TLE has for angles.
fn as_in_a_tle(degrees: f64) -> f64 {
    libm::round(degrees * 1e4) / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walker(planes: u32, per_plane: u32, phase: Phase) -> Shell {
        Shell {
            planes,
            per_plane,
            inclination_deg: 53.0,
            altitude_km: Some(550.0),
            mean_motion_rev_per_day: None,
            raan_span_deg: 360.0,
            phase,
            min_elevation_deg: 25.0,
            greatest_length_km: None,
            lasers: true,
            epoch: default_epoch(),
        }
    }

    #[test]
    fn hypatia_s_first_odd_plane_is_half_a_slot_ahead() {
        // Kuiper K1, 34 x 34: satellite 35 is slot 1 of plane 1: RAAN 360/34 = 10.5882, anomaly
        // 180/34 + 360/34 = 15.8824.
        let k1 = walker(34, 34, Phase::HalfSlot);
        assert_eq!(k1.angles(1, 1), (10.588_2, 15.882_4));
        assert_eq!(k1.angles(2, 0), (21.176_5, 0.0));
    }

    #[test]
    fn a_shell_as_tles_is_where_the_shell_is() {
        // Of the first one Hypatia writes the same lines; by an altitude the motion is Kozai's of that altitude.
        let epoch = sgp4::chrono::NaiveDate::from_ymd_opt(2000, 1, 1).and_then(|d| d.and_hms_opt(0, 0, 0));
        let epoch = epoch.expect("a date");
        let mut k1 = walker(34, 34, Phase::HalfSlot);
        (k1.inclination_deg, k1.altitude_km, k1.mean_motion_rev_per_day) = (51.9, None, Some(14.8));
        let text = k1.tles("Kuiper-630", epoch).expect("few satellites");
        let second = "Kuiper-630 1\n\
             1 00002U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    05\n\
             2 00002  51.9000   0.0000 0000001   0.0000  10.5882 14.80000000    07";
        assert_eq!(text.lines().skip(3).take(3).collect::<Vec<_>>().join("\n"), second);
        for shell in [k1, walker(3, 5, Phase::Walker(1))] {
            let text = shell.tles("shell", epoch).expect("few satellites");
            let read = crate::elements::read_tle(&text, "shell.tle").expect("its own text");
            for (read, made) in read.iter().zip(shell.satellites(epoch).expect("elements")) {
                let (read, made) = (read.position(6_000_000_000_000), made.position(6_000_000_000_000));
                let apart = crate::earth::distance(&read.expect("in orbit"), &made.expect("in orbit"));
                assert!(apart < 0.02, "{apart} km apart"); // eight decimals of the motion: 6 m in 100 minutes
            }
        }
    }

    #[test]
    fn walker_s_phase_grows_from_plane_to_plane() {
        // 12/3/1: each plane 360/12 = 30 degrees ahead of the one before.
        let shell = walker(3, 4, Phase::Walker(1));
        assert_eq!(shell.angles(2, 0), (240.0, 60.0));
        assert_eq!(shell.angles(2, 3), (240.0, 330.0));
    }

    #[test]
    fn every_satellite_of_a_closed_grid_has_four_lasers() {
        for phase in [Phase::HalfSlot, Phase::Walker(0), Phase::Walker(4), Phase::Walker(5)] {
            let shell = walker(6, 8, phase);
            let pairs = shell.plus_grid();
            assert_eq!(pairs.len(), 96, "{phase:?}");
            for sat in 0..48 {
                assert_eq!(
                    pairs.iter().filter(|(a, b)| *a == sat || *b == sat).count(),
                    4,
                    "{phase:?} {sat}"
                );
            }
        }
    }

    #[test]
    fn lasers_to_the_next_plane_join_neighbours_in_phase() {
        let shell = walker(6, 8, Phase::Walker(4)); // 30 degrees a plane, 45 a slot: one slot back is nearer
        for (a, b) in shell.plus_grid() {
            let (pa, pb) = (a / 8, b / 8);
            if pa != pb {
                let gap = shell.angles(pb, b % 8).1 - shell.angles(pa, a % 8).1;
                let gap = (gap + 540.0) % 360.0 - 180.0;
                assert!(gap.abs() <= 22.5, "{a} {b} {gap}");
            }
        }
    }

    #[test]
    fn a_star_has_no_lasers_over_its_seam() {
        let shell = Shell { raan_span_deg: 189.6, ..walker(6, 11, Phase::HalfSlot) };
        assert!(shell.plus_grid().iter().all(|(a, b)| !(*a < 11 && *b >= 55)));
    }

    #[test]
    fn hypatia_s_starlink_flies_lower_than_550_km() {
        // 15.19 revolutions a day: a = (GM / n^2)^(1/3) = 6887.0 km, so 508.9 km.
        let given = Shell { altitude_km: None, ..walker(72, 22, Phase::HalfSlot) };
        let shell = Shell { mean_motion_rev_per_day: Some(15.19), ..given };
        assert!((shell.altitude() - 508.9).abs() < 0.1, "{}", shell.altitude());
    }
}
