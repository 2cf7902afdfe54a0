//! Which satellites are in reach of a ground point.
//!
//! A satellite that is far away cannot be in reach before it has come nearer. Its distance, the
//! greatest distance of a satellite in reach and the fastest approach say for how long; until
//! then it is not looked at.

use std::f64::consts::PI;

use crate::earth::{TURN_RAD_PER_S, Turn, Vector, dot, minus};
use crate::ephemeris::Ephemeris;
use crate::error::OrbitError;
use crate::ground::Ground;

/// When a satellite is in reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// From n degrees above the horizontal plane on.
    Elevation(f64),
    /// Up to n km away, whatever lies between: Hypatia's rule (satgenpy, `generate_dynamic_state`).
    Length(f64),
}

/// A satellite as a ground point sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Its index.
    pub index: usize,
    /// Distance, km.
    pub range_km: f64,
    /// Sine of the elevation.
    pub sin_elevation: f64,
}

impl Look {
    /// Degrees above the horizontal plane.
    pub fn elevation_deg(&self) -> f64 {
        libm::asin(self.sin_elevation.clamp(-1.0, 1.0)) * (180.0 / PI)
    }
}

/// A place in TEME and the vertical there.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// The place, km.
    pub place: Vector,
    /// The vertical.
    pub up: Vector,
}

/// A ground point, its rules, and what it need not look at for a while.
#[derive(Clone, Debug)]
pub struct Horizon {
    ground: Ground,
    /// Of each satellite.
    bounds: Vec<Bound>,
    /// The instant from which on each is to be looked at again.
    wake: Vec<i64>,
    /// For each, an instant until which it is known to stay in reach.
    stays: Vec<i64>,
}

/// When a satellite is in reach, and from where it never is.
#[derive(Clone, Copy, Debug)]
struct Bound {
    /// Sine of the least elevation; below -1 where a length decides.
    least_sin: f64,
    /// Greatest length, km; infinite where an elevation decides.
    longest_km: f64,
    /// Distance beyond which it is not in reach, km.
    farthest_km: f64,
    /// Its fastest approach, km/s.
    approach_km_s: f64,
}

impl Horizon {
    /// The horizon of a point among these satellites. `reach`: the rule for each, by index.
    pub fn new(ground: Ground, reach: impl Fn(usize) -> Reach, ephemeris: &Ephemeris) -> Self {
        let speed = 6_430.0 * TURN_RAD_PER_S + ground.top_speed();
        let bounds = ephemeris.satellites().iter().enumerate().map(|(index, s)| {
            // Osculating orbits differ from the mean one by some ten kilometres (J2);
            // deep-space ones by more.
            let apogee = 1.01 * s.apogee_km + 30.0;
            let (least_sin, longest_km, farthest_km) = match reach(index) {
                Reach::Elevation(degrees) => {
                    // The vertical of the ellipsoid is up to 0.2 degrees from that of a sphere; the pole is
                    // the nearest to the centre.
                    let (sin, cos) = libm::sincos((degrees - 0.2) * (PI / 180.0));
                    let radius = 6_356.0;
                    let farthest = libm::sqrt(apogee * apogee - radius * radius * cos * cos) - radius * sin;
                    (libm::sin(degrees * (PI / 180.0)), f64::INFINITY, farthest)
                }
                Reach::Length(km) => (f64::NEG_INFINITY, km, km),
            };
            Bound { least_sin, longest_km, farthest_km, approach_km_s: 1.02 * s.perigee_speed + speed }
        });
        let (bounds, count) = (bounds.collect(), ephemeris.satellites().len());
        Self { ground, bounds, wake: vec![i64::MIN; count], stays: vec![i64::MIN; count] }
    }

    /// The point.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Where it is in TEME.
    pub fn observer(&self, t_ns: i64, turn: &Turn) -> Observer {
        let (place, up) = self.ground.place(t_ns);
        Observer { place: turn.to_teme(&place), up: turn.to_teme(&up) }
    }

    /// How a satellite at `position` looks from here, if it is in reach.
    fn look(&self, index: usize, observer: &Observer, position: &Vector) -> Option<Look> {
        let ray = minus(position, &observer.place);
        let range_km = libm::sqrt(dot(&ray, &ray));
        let sin_elevation = dot(&ray, &observer.up) / range_km;
        let bound = &self.bounds[index];
        let in_reach = sin_elevation >= bound.least_sin && range_km <= bound.longest_km;
        in_reach.then_some(Look { index, range_km, sin_elevation })
    }

    /// One satellite, if it is in reach.
    ///
    /// # Errors
    /// It has no position.
    pub fn one(
        &self,
        index: usize,
        ephemeris: &mut Ephemeris,
        t_ns: i64,
        observer: &Observer,
    ) -> Result<Option<Look>, OrbitError> {
        let position = ephemeris.position(index, t_ns)?;
        Ok(self.look(index, observer, &position))
    }

    /// Every satellite in reach, in the order of indices. Instants must not go back.
    ///
    /// # Errors
    /// A satellite has no position.
    pub fn all(
        &mut self,
        ephemeris: &mut Ephemeris,
        t_ns: i64,
        observer: &Observer,
        into: &mut Vec<Look>,
    ) -> Result<(), OrbitError> {
        into.clear();
        for index in 0..self.wake.len() {
            if self.wake[index] > t_ns {
                continue;
            }
            let Bound { farthest_km: farthest, approach_km_s: approach, .. } = self.bounds[index];
            let mut position = ephemeris.glance(index, t_ns)?;
            let ray = minus(&position, &observer.place);
            let square = dot(&ray, &ray);
            // A hundred metres more than an interpolated place may differ from SGP4's.
            if square > (farthest + 0.1) * (farthest + 0.1) {
                let sleep = (libm::sqrt(square) - farthest - 0.1) / approach;
                self.wake[index] = t_ns.saturating_add((sleep * 1e9) as i64);
                continue;
            }
            position = ephemeris.position(index, t_ns)?;
            if let Some(look) = self.look(index, observer, &position) {
                into.push(look);
            }
        }
        Ok(())
    }

    /// Until when a satellite that is in reach now stays so, ns, to a millisecond; at most `limit_ns`. It is
    /// asked at steps of a ninth of the ephemeris' spacing, so a shorter loss is not seen.
    ///
    /// # Errors
    /// It has no position.
    pub fn stays_until(
        &mut self,
        index: usize,
        ephemeris: &Ephemeris,
        t_ns: i64,
        limit_ns: i64,
        turn_at: &dyn Fn(i64) -> Turn,
    ) -> Result<i64, OrbitError> {
        if self.stays[index] >= t_ns {
            return Ok(self.stays[index]);
        }
        let seen = |t: i64| -> Result<bool, OrbitError> {
            let position = ephemeris.satellites()[index].position(t)?;
            Ok(self.look(index, &self.observer(t, &turn_at(t)), &position).is_some())
        };
        let step = ephemeris.spacing_ns() / 9;
        let (mut in_reach, mut lost) = (t_ns, t_ns);
        while lost < limit_ns {
            lost = (lost + step).min(limit_ns);
            if !seen(lost)? {
                break;
            }
            in_reach = lost;
        }
        while lost - in_reach > 1_000_000 {
            let middle = in_reach + (lost - in_reach) / 2;
            if seen(middle)? {
                in_reach = middle;
            } else {
                lost = middle;
            }
        }
        self.stays[index] = lost;
        Ok(lost)
    }
}
