//! Where everything is at one instant: for a map.

use crate::earth::geodetic;
use crate::error::{OrbitError, wrong};
use crate::horizon::Horizon;
use crate::request::{Request, nanoseconds};
use crate::setting::Setting;

/// Where satellites and ground points are at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Numbers of the satellites.
    pub sat: Vec<i64>,
    /// Geodetic latitudes, degrees.
    pub lat: Vec<f64>,
    /// Longitudes, degrees.
    pub lon: Vec<f64>,
    /// Heights, km.
    pub alt_km: Vec<f64>,
    /// Name, latitude, longitude, height in m of the ground points: `a`, `b`, gateways.
    pub points: Vec<(String, f64, f64, f64)>,
    /// Satellites with a laser between them, each pair once.
    pub lasers: Vec<(i64, i64)>,
}

/// Where the satellites and ground points of a request are `t_s` after its start.
///
/// # Errors
/// A request that is wrong, an instant that is not in the run, or a satellite without a position.
pub fn snapshot(request: &Request, t_s: f64) -> Result<Snapshot, OrbitError> {
    if !(0.0..=request.duration_s).contains(&t_s) {
        return wrong(format!("t_s is {t_s}, but must be from 0 to duration_s, {}", request.duration_s));
    }
    let (setting, t_ns) = (Setting::new(request)?, nanoseconds(t_s));
    let turn = setting.sky.turn(t_ns);
    let satellites = setting.sky.ephemeris.satellites();
    let id = |index: u32| satellites[index as usize].id;
    let mut shot = Snapshot {
        sat: satellites.iter().map(|s| s.id).collect(),
        lat: Vec::with_capacity(satellites.len()),
        lon: Vec::with_capacity(satellites.len()),
        alt_km: Vec::with_capacity(satellites.len()),
        points: Vec::new(),
        lasers: setting.sky.pairs.iter().map(|(a, b)| (id(*a), id(*b))).collect(),
    };
    for satellite in satellites {
        let (lat, lon, alt_km) = geodetic(&turn.to_earth(&satellite.position(t_ns)?));
        shot.lat.push(lat);
        shot.lon.push(lon);
        shot.alt_km.push(alt_km);
    }
    let ends = setting.ends.iter().map(Horizon::ground);
    for ground in [setting.a.ground()].into_iter().chain(&setting.beyond).chain(ends) {
        let (lat, lon, alt_m) = ground.coordinates(t_ns);
        shot.points.push((ground.name().to_owned(), lat, lon, alt_m));
    }
    Ok(shot)
}
