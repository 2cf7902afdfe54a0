//! Positions of ground stations and a geostationary satellite, and the time that light takes between them.
//!
//! Earth is the WGS 84 ellipsoid (NGA.STND.0036: a = 6378.137 km, 1/f = 298.257223563), with stations on its
//! surface. The satellite circles the equator at radius 42164.17 km, that of one sidereal day (Maral,
//! Bousquet, Sun: Satellite Communications Systems, section 2.2). A sphere of mean radius would put the point
//! under the satellite 7 km too far away; the ellipsoid costs only a square root. Refraction and the
//! atmosphere's delay (below 0.1 us) are left out. A bent-pipe satellite repeats what it receives, so a hop
//! costs its length divided by c and nothing else.

use std::f64::consts::PI;

use bentpipe_cc::Span;

use crate::keys::table::keys;
use crate::keys::units::Longitude;

/// Speed of light in vacuum, km/s (exact by definition of the metre).
pub const LIGHT_KM_PER_S: f64 = 299_792.458;
/// Radius of the geostationary orbit, km.
pub const GEO_RADIUS_KM: f64 = 42_164.17;
/// Equatorial radius of the Earth, km (WGS 84).
pub const EARTH_RADIUS_KM: f64 = 6_378.137;
/// Flattening of the Earth (WGS 84).
pub const EARTH_FLATTENING: f64 = 1.0 / 298.257_223_563;

keys! {
    /// A ground station on the ellipsoid.
    #[derive(Copy)]
    pub struct Station {
        /// Geodetic latitude in degrees, north positive.
        #[schemars(range(min = -90.0, max = 90.0), extend("examples" = [39.4]))]
        pub lat: f64,
        /// Longitude in degrees, east positive.
        #[schemars(range(min = -180.0, max = 360.0), extend("examples" = [116.4]))]
        pub lon: f64,
    }
}

/// A satellite as a station sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Distance in km.
    pub range_km: f64,
    /// Angle above the horizontal plane in degrees; negative below the horizon.
    pub elevation_deg: f64,
}

impl Look {
    /// Time that light takes for the distance.
    pub fn delay(&self) -> Span {
        Span::from_secs(self.range_km / LIGHT_KM_PER_S)
    }
}

/// Sine and cosine of an angle in degrees.
fn sin_cos(degrees: f64) -> (f64, f64) {
    libm::sincos(degrees * (PI / 180.0))
}

/// The geostationary satellite above `longitude` as `station` sees it.
///
/// Both are placed in Earth-centred coordinates, x to longitude 0, z to the north pole. With
/// e^2 = 2 f - f^2 and N = a / sqrt(1 - e^2 sin^2 lat), the station is at N (cos lat cos lon, cos lat
/// sin lon, (1 - e^2) sin lat). Its vertical is (cos lat cos lon, cos lat sin lon, sin lat). The
/// elevation is the angle between the ray and the plane across the vertical. (Hofmann-Wellenhof,
/// Lichtenegger, Wasle: GNSS, 8.2.)
pub fn geo_look(station: &Station, longitude: Longitude) -> Look {
    let (sin_lat, cos_lat) = sin_cos(station.lat);
    let (sin_lon, cos_lon) = sin_cos(station.lon);
    let (sin_sat, cos_sat) = sin_cos(longitude.0);
    let e2 = 2.0 * EARTH_FLATTENING - EARTH_FLATTENING * EARTH_FLATTENING;
    let n = EARTH_RADIUS_KM / libm::sqrt(1.0 - e2 * sin_lat * sin_lat);
    let up = [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat];
    let ray =
        [GEO_RADIUS_KM * cos_sat - n * up[0], GEO_RADIUS_KM * sin_sat - n * up[1], -n * (1.0 - e2) * up[2]];
    let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let range_km = libm::sqrt(dot(&ray, &ray));
    let sin_elevation = (dot(&ray, &up) / range_km).clamp(-1.0, 1.0);
    Look { range_km, elevation_deg: libm::asin(sin_elevation) * (180.0 / PI) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(lat: f64, lon: f64, sat: f64) -> Look {
        geo_look(&Station { lat, lon }, Longitude(sat))
    }

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not within {tolerance} of {b}");
    }

    #[test]
    fn straight_below_the_satellite() {
        // Height of the geostationary orbit in every textbook: 35786 km, and 119.4 ms.
        let below = look(0.0, 75.0, 75.0);
        close(below.range_km, 35_786.0, 0.5);
        close(below.elevation_deg, 90.0, 1e-5);
        close(below.delay().secs(), 0.1194, 0.00005);
    }

    #[test]
    fn at_the_edge_of_coverage() {
        // On the equator the horizon is at arccos(6378.137 / 42164.17) = 81.2994 deg, sqrt(42164.17^2 -
        // 6378.137^2) = 41679 km away.
        let edge = look(0.0, 81.2994, 0.0);
        close(edge.range_km, 41_679.0, 1.0);
        close(edge.elevation_deg, 0.0, 0.001);
        assert!(look(0.0, 82.0, 0.0).elevation_deg < 0.0);
        assert!(look(90.0, 0.0, 0.0).elevation_deg < 0.0);
    }

    #[test]
    fn at_forty_degrees_north() {
        // Sphere of 6378 km: range sqrt(R^2 + r^2 - 2 R r cos 40) = 37503 km. Elevation atan((cos
        // 40 - R/r) / sin 40) = 43.72 deg.
        let station = look(40.0, -74.0, -74.0);
        close(station.range_km, 37_503.0, 12.0);
        close(station.elevation_deg, 43.72, 0.1);
        // Ellipsoid: geocentric radius 6369.345 km and latitude 39.8106 deg, put into the law of cosines.
        close(station.range_km, 37_493.89, 0.01);
    }

    #[test]
    fn from_beijing_a_satellite_at_100_degrees_east() {
        // Angle at the centre acos(cos 39.4 cos 16.4) = 42.158 deg on a sphere: 37680.1 km, 41.32 deg. From
        // New York it is 54.03 deg below the horizon.
        let beijing = look(39.4, 116.4, 100.0);
        close(beijing.range_km, 37_680.1, 12.0);
        close(beijing.elevation_deg, 41.32, 0.1);
        close(look(40.7, -74.0, 100.0).elevation_deg, -54.03, 0.25);
    }

    #[test]
    fn longitudes_count_both_ways() {
        // 286 degrees east is 74 degrees west.
        close(look(40.7, -74.0, 286.0).range_km, look(40.7, -74.0, -74.0).range_km, 1e-6);
    }
}
