//! Points on the ground, at sea, or in the air; fixed or moving.

use serde::Deserialize;

use crate::earth::{Vector, dot, geodetic, minus, on_vertical, vertical};
use crate::error::{OrbitError, within, wrong};

/// A ground point of a request: fixed (`lat`, `lon`, `alt_m`) or moving (`waypoints`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// What messages call it.
    pub name: Option<String>,
    /// Geodetic latitude, degrees, north positive (WGS 84).
    pub lat: Option<f64>,
    /// Longitude, degrees, east positive.
    pub lon: Option<f64>,
    /// Height above the ellipsoid, m.
    pub alt_m: Option<f64>,
    /// `[t_s, lat, lon, alt_m]`, times rising.
    pub waypoints: Option<Vec<[f64; 4]>>,
    /// Least elevation here, degrees, instead of that of the request.
    pub min_elevation_deg: Option<f64>,
}

/// A point whose place at any instant is known.
#[derive(Clone, Debug)]
pub struct Ground {
    name: String,
    stops: Vec<Stop>,
}

/// Where it is at one instant of its journey.
#[derive(Clone, Copy, Debug)]
struct Stop {
    t_ns: i64,
    up: Vector,
    alt_km: f64,
}

impl Ground {
    /// Checks a point; `key` is its place in the request.
    ///
    /// # Errors
    /// A coordinate that is missing or out of its range, or times that do not rise.
    pub fn new(point: &Point, key: &str) -> Result<Self, OrbitError> {
        let rows = match (&point.waypoints, point.lat, point.lon) {
            (None, Some(lat), Some(lon)) => vec![[0.0, lat, lon, point.alt_m.unwrap_or(0.0)]],
            (Some(rows), None, None) if point.alt_m.is_none() && !rows.is_empty() => rows.clone(),
            (Some(_), None, None) => {
                return wrong(format!(
                    "{key}.waypoints needs rows of [t_s, lat, lon, alt_m], and no alt_m beside it"
                ));
            }
            _ => return wrong(format!("{key}: give lat and lon, or waypoints")),
        };
        let mut stops: Vec<Stop> = Vec::with_capacity(rows.len());
        for (index, [t_s, lat, lon, alt_m]) in rows.into_iter().enumerate() {
            let at =
                if point.waypoints.is_some() { format!("{key}.waypoints[{index}]") } else { key.to_owned() };
            let within = |name, value, low, high| within(&format!("{at}: {name}"), value, low, high);
            within("time in seconds", t_s, -1e9, 1e9)?;
            within("latitude", lat, -90.0, 90.0)?;
            within("longitude", lon, -180.0, 360.0)?;
            within("height in metres", alt_m, -500.0, 50_000.0)?;
            let stop =
                Stop { t_ns: libm::round(t_s * 1e9) as i64, up: vertical(lat, lon), alt_km: alt_m / 1e3 };
            if let Some(last) = stops.last() {
                if stop.t_ns <= last.t_ns {
                    return wrong(format!("{at}: time {t_s} s is not after that of the row before"));
                }
                if dot(&stop.up, &last.up) < -0.999_999 {
                    return wrong(format!(
                        "{at}: opposite to the row before, so no great circle is the shortest; add a waypoint"
                    ));
                }
            }
            stops.push(stop);
        }
        Ok(Self { name: point.name.clone().unwrap_or_else(|| key.to_owned()), stops })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The vertical and the height in km at an instant, on the leg that it is on at another one: along great circles
    /// at constant speed; held before the first stop and after the last.
    fn on_leg(&self, leg_ns: i64, t_ns: i64) -> (Vector, f64) {
        let next = self.stops.partition_point(|s| s.t_ns <= leg_ns);
        let (Some(from), Some(to)) = (next.checked_sub(1).map(|i| self.stops[i]), self.stops.get(next))
        else {
            let held = self.stops[next.saturating_sub(1)];
            return (held.up, held.alt_km);
        };
        let part = (t_ns - from.t_ns) as f64 / (to.t_ns - from.t_ns) as f64;
        let alt = from.alt_km + part * (to.alt_km - from.alt_km);
        let angle = arc(&from.up, &to.up);
        if angle < 1e-12 {
            return (from.up, alt);
        }
        let (a, b) = (libm::sin((1.0 - part) * angle), libm::sin(part * angle));
        let sum = [0, 1, 2].map(|i| a * from.up[i] + b * to.up[i]);
        let length = libm::sqrt(dot(&sum, &sum));
        (sum.map(|x| x / length), alt)
    }

    /// Its place in km and the vertical there, Earth-fixed.
    pub fn place(&self, t_ns: i64) -> (Vector, Vector) {
        let (up, alt_km) = self.on_leg(t_ns, t_ns);
        (on_vertical(&up, alt_km), up)
    }

    /// Its place in km where it goes on before the start of a run, and from `end_ns` on, as it does then.
    pub(crate) fn going_on(&self, t_ns: i64, end_ns: i64) -> Vector {
        let (up, alt_km) = self.on_leg(t_ns.clamp(0, end_ns - 1), t_ns);
        on_vertical(&up, alt_km)
    }

    /// Latitude and longitude in degrees, height in m.
    pub fn coordinates(&self, t_ns: i64) -> (f64, f64, f64) {
        let (lat, lon, alt) = geodetic(&self.place(t_ns).0);
        (lat, lon, alt * 1e3)
    }

    /// A speed over ground in km/s that it never exceeds.
    pub(crate) fn top_speed(&self) -> f64 {
        let legs = self.stops.windows(2).map(|w| {
            let way = 6_430.0 * arc(&w[0].up, &w[1].up) + (w[1].alt_km - w[0].alt_km).abs();
            way / ((w[1].t_ns - w[0].t_ns) as f64 / 1e9)
        });
        legs.fold(0.0, f64::max)
    }
}

/// The angle between two unit vectors, well behaved when it is small.
fn arc(a: &Vector, b: &Vector) -> f64 {
    let d = minus(a, b);
    2.0 * libm::asin((libm::sqrt(dot(&d, &d)) / 2.0).min(1.0))
}

/// Length of the great circle between two Earth-fixed verticals, km, on a sphere of the Earth's mean
/// radius (6371.009 km, IUGG).
pub(crate) fn great_circle_km(a: &Vector, b: &Vector) -> f64 {
    6_371.008_8 * arc(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(lat: f64, lon: f64) -> Point {
        Point { lat: Some(lat), lon: Some(lon), ..Point::default() }
    }

    fn moving(rows: &[[f64; 4]]) -> Result<Ground, OrbitError> {
        Ground::new(&Point { waypoints: Some(rows.to_vec()), ..Point::default() }, "a")
    }

    fn message(result: Result<Ground, OrbitError>) -> String {
        result.expect_err("an error").to_string()
    }

    #[test]
    fn a_moving_point_is_half_way_at_half_time_and_held_at_the_ends() {
        // From 0 N 0 E to 0 N 90 E in 100 s: at 50 s it is at 45 E, halfway up.
        let ship = moving(&[[0.0, 0.0, 0.0, 0.0], [100.0, 0.0, 90.0, 10_000.0]]).expect("a point");
        let close = |t_s: i64, lat: f64, lon: f64, alt: f64| {
            let (a, o, h) = ship.coordinates(t_s * 1_000_000_000);
            assert!(
                (a - lat).abs() < 1e-9 && (o - lon).abs() < 1e-9 && (h - alt).abs() < 1e-3,
                "{a} {o} {h}"
            );
        };
        close(-5, 0.0, 0.0, 0.0);
        close(50, 0.0, 45.0, 5_000.0);
        close(25, 0.0, 22.5, 2_500.0);
        close(100, 0.0, 90.0, 10_000.0);
        close(1_000, 0.0, 90.0, 10_000.0);
    }

    #[test]
    fn a_flight_between_equal_latitudes_goes_nearer_to_the_pole() {
        // Great circle from 45 N 0 E to 45 N 90 E: the middle is at atan(sqrt(2)) = 54.7356 N, 45 E.
        let plane = moving(&[[0.0, 45.0, 0.0, 0.0], [3_600.0, 45.0, 90.0, 0.0]]).expect("a point");
        let (lat, lon, _) = plane.coordinates(1_800_000_000_000);
        assert!((lat - 54.735_6).abs() < 1e-4 && (lon - 45.0).abs() < 1e-9, "{lat} {lon}");
    }

    #[test]
    fn great_circles_have_the_length_of_the_books() {
        let a = vertical(0.0, 0.0);
        assert!((great_circle_km(&a, &vertical(0.0, 90.0)) - 10_007.557).abs() < 0.01);
        assert!((great_circle_km(&a, &vertical(0.0, 1.0)) - 111.195).abs() < 0.001);
    }

    #[test]
    fn wrong_points_get_one_line() {
        let new = |p: &Point| message(Ground::new(p, "a"));
        assert_eq!(new(&fixed(91.0, 0.0)), "a: latitude is 91, but must be from -90 to 90");
        assert_eq!(new(&fixed(1.0, 400.0)), "a: longitude is 400, but must be from -180 to 360");
        assert_eq!(new(&Point::default()), "a: give lat and lon, or waypoints");
        let back = message(moving(&[[5.0, 0.0, 0.0, 0.0], [5.0, 1.0, 0.0, 0.0]]));
        assert_eq!(back, "a.waypoints[1]: time 5 s is not after that of the row before");
        let opposite = message(moving(&[[0.0, 0.0, 0.0, 0.0], [5.0, 0.0, 180.0, 0.0]]));
        assert!(opposite.starts_with("a.waypoints[1]: opposite"), "{opposite}");
    }
}
