//! The Earth: its ellipsoid, its rotation, and vectors in kilometres.
//!
//! Two frames are used. *Earth-fixed* turns with the Earth: x to longitude 0 on the equator, z to the north
//! pole. *TEME* (true equator, mean equinox) does not turn; SGP4 answers in it. Between the two lies a turn
//! about z by Greenwich mean sidereal time (Vallado, Crawford, Hujsak, Kelso: Revisiting Spacetrack Report
//! #3, AIAA 2006-6753, appendix C). Polar motion, below 15 m, is left out.

use std::f64::consts::{PI, TAU};

use sgp4::chrono::NaiveDateTime;

/// Speed of light in vacuum, km/s (exact by definition of the metre).
pub const LIGHT_KM_PER_S: f64 = 299_792.458;

/// The time that light takes for `km`, rounded to whole ns; infinite for an infinite way.
pub(crate) fn light_ns(km: f64) -> f64 {
    libm::round(km / LIGHT_KM_PER_S * 1e9)
}

/// Equatorial radius, km (WGS 84, NGA.STND.0036).
pub const RADIUS_KM: f64 = 6_378.137;
/// How fast the Earth turns against the stars, rad/s (Vallado, equation 3-40).
pub const TURN_RAD_PER_S: f64 = 7.292_115_146_706_98e-5;

/// First eccentricity squared: f (2 - f), f = 1/298.257223563 (WGS 84).
const E2: f64 = (2.0 - 1.0 / 298.257_223_563) / 298.257_223_563;

/// Three coordinates, km.
pub type Vector = [f64; 3];

/// The scalar product.
#[inline]
pub fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector from `b` to `a`.
#[inline]
pub fn minus(a: &Vector, b: &Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The distance between two places.
#[inline]
pub fn distance(a: &Vector, b: &Vector) -> f64 {
    let d = minus(a, b);
    libm::sqrt(dot(&d, &d))
}

/// The unit vector that points straight up at a geodetic latitude and a longitude, degrees.
pub fn vertical(lat: f64, lon: f64) -> Vector {
    let (sin_lat, cos_lat) = libm::sincos(lat * (PI / 180.0));
    let (sin_lon, cos_lon) = libm::sincos(lon * (PI / 180.0));
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// The place on the vertical `up`, `alt_km` above the ellipsoid, Earth-fixed. (Hofmann-Wellenhof,
/// Lichtenegger, Wasle: GNSS, 8.2.)
pub fn on_vertical(up: &Vector, alt_km: f64) -> Vector {
    let n = RADIUS_KM / libm::sqrt(1.0 - E2 * up[2] * up[2]);
    [(n + alt_km) * up[0], (n + alt_km) * up[1], (n * (1.0 - E2) + alt_km) * up[2]]
}

/// Geodetic latitude and longitude in degrees and height in km of an Earth-fixed place (WGS 84).
///
/// The latitude is repeated until it is settled (Vallado, algorithm 12); ten rounds give better than a
/// millimetre at any height.
pub fn geodetic(place: &Vector) -> (f64, f64, f64) {
    let across = libm::hypot(place[0], place[1]);
    let mut lat = libm::atan2(place[2], across);
    let mut n = RADIUS_KM;
    for _ in 0..10 {
        let sin_lat = libm::sin(lat);
        n = RADIUS_KM / libm::sqrt(1.0 - E2 * sin_lat * sin_lat);
        lat = libm::atan2(place[2] + n * E2 * sin_lat, across);
    }
    let (sin_lat, cos_lat) = libm::sincos(lat);
    let alt = if cos_lat > 0.1 { across / cos_lat - n } else { place[2] / sin_lat - n * (1.0 - E2) };
    (lat * (180.0 / PI), libm::atan2(place[1], place[0]) * (180.0 / PI), alt)
}

/// Years of instants: from the first satellite on, and within the 292 years of nanoseconds around 2000.
pub(crate) const YEARS: std::ops::Range<i32> = 1957..2200;

/// The angle between the Earth-fixed frame and TEME at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    sin: f64,
    cos: f64,
}

impl Turn {
    /// The turn at an instant of UT1, `ns` nanoseconds after `from`: Greenwich mean sidereal time of 1982
    /// (Aoki et al., A&A 105, 359; Vallado, equation 3-47).
    pub fn at(from: NaiveDateTime, ns: i64) -> Self {
        const DAY_NS: i64 = 86_400_000_000_000;
        let j2000 =
            sgp4::chrono::DateTime::from_timestamp(946_728_000, 0).expect("a valid instant").naive_utc();
        let since = (from - j2000).num_nanoseconds().expect("instants are checked when they are read") + ns;
        let (days, rest) = (since.div_euclid(DAY_NS), since.rem_euclid(DAY_NS));
        let fraction = rest as f64 / DAY_NS as f64;
        let t = (days as f64 + fraction) / 36_525.0;
        let seconds = 67_310.548_41 + (8_640_184.812_866 + (0.093_104 - 6.2e-6 * t) * t) * t;
        let turns = fraction + seconds / 86_400.0;
        let (sin, cos) = libm::sincos(TAU * (turns - libm::floor(turns)));
        Self { sin, cos }
    }

    /// From Earth-fixed to TEME.
    #[inline]
    pub fn to_teme(&self, v: &Vector) -> Vector {
        [v[0] * self.cos - v[1] * self.sin, v[0] * self.sin + v[1] * self.cos, v[2]]
    }

    /// From TEME to Earth-fixed.
    #[inline]
    pub fn to_earth(&self, v: &Vector) -> Vector {
        [v[0] * self.cos + v[1] * self.sin, v[1] * self.cos - v[0] * self.sin, v[2]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> NaiveDateTime {
        text.parse().expect("an instant")
    }

    #[test]
    fn sidereal_time_is_that_of_vallado_s_example() {
        // Vallado, Fundamentals of Astrodynamics, example 3-5: 20 August 1992, 12:14
        // UT1 is 152.578787810 degrees.
        let turn = Turn::at(instant("1992-08-20T12:14:00"), 0);
        let degrees = libm::atan2(turn.sin, turn.cos) * (180.0 / PI);
        assert!((degrees - 152.578_787_810).abs() < 1e-7, "{degrees}");
    }

    #[test]
    fn nanoseconds_count_from_the_instant() {
        let later = Turn::at(instant("2000-01-01T00:00:00"), 3_600_000_000_000);
        let there = Turn::at(instant("2000-01-01T01:00:00"), 0);
        assert!((later.sin - there.sin).abs() < 1e-12 && (later.cos - there.cos).abs() < 1e-12);
    }

    #[test]
    fn geodetic_coordinates_come_back() {
        for (lat, lon, alt) in
            [(0.0, 0.0, 0.0), (51.9, -170.0, 630.0), (-89.9, 12.0, 35_786.0), (90.0, 0.0, 1.0)]
        {
            let (a, o, h) = geodetic(&on_vertical(&vertical(lat, lon), alt));
            assert!((a - lat).abs() < 1e-9 && (h - alt).abs() < 1e-6, "{a} {h}");
            assert!((o - lon).abs() < 1e-9 || lat == 90.0, "{o}");
        }
    }

    #[test]
    fn a_place_at_34_degrees_north_is_that_of_vallado_s_example() {
        // Vallado, example 3-3: (6524.834, 6862.875, 6448.296) km is 34.352496 N, 46.4464 E, 5085.22 km high.
        let (lat, lon, alt) = geodetic(&[6_524.834, 6_862.875, 6_448.296]);
        assert!((lat - 34.352_496).abs() < 1e-5 && (lon - 46.446_4).abs() < 1e-4, "{lat} {lon}");
        assert!((alt - 5_085.22).abs() < 0.01, "{alt}");
    }
}
