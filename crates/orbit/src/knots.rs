//! Places of all nodes of a network at even instants, for a program that works out delays itself.

use crate::earth::TURN_RAD_PER_S;
use crate::error::{OrbitError, wrong};
use crate::horizon::Horizon;
use crate::setting::Sky;

/// Knots before the start, and after the end.
const MARGIN: i64 = 3;
/// The arc of the fastest satellite against the turning Earth from one knot to the next, rad.
const ARC: f64 = 0.05;
/// Most places: 1.6 GB.
const MOST_PLACES: f64 = (1 << 26) as f64;

/// Where every node is at even instants, Earth-fixed (turned by mean sidereal time, see [`crate::earth`]).
///
/// Three knots lie before the start of the run, and three after its end. A polynomial of the fifth degree
/// through the three knots before an instant and the three after it (Lagrange; Press et al., Numerical
/// Recipes, 3.2) gives the place of a satellite within a centimetre of SGP4's, turned at that instant. Measured
/// over a day: 0.3 mm for the first shells of Starlink and Kuiper, and 2.9 mm for an orbit of Molniya. A station
/// that stands is exact. One that moves goes on before the start and after the end as it does there. Its path is
/// rounded within three knots of a waypoint at which it turns or changes its speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Knots {
    /// Between two knots, ns.
    pub spacing_ns: i64,
    /// The instant of the first knot, ns from the start of the run.
    pub first_ns: i64,
    /// Nodes at each knot: satellites by index, then stations in the order of the request.
    pub nodes: usize,
    /// All places at the first knot, then all at the next; km.
    pub xyz_km: Vec<[f64; 3]>,
}

impl Knots {
    /// For a run under this sky. `go_on` is called at each knot. It returns false to stop.
    ///
    /// # Errors
    /// More places than memory is meant to hold, a satellite without a position, or an interruption.
    pub(crate) fn new(
        sky: &Sky,
        stations: &[Horizon],
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Self, OrbitError> {
        let satellites = sky.ephemeris.satellites();
        let fastest = satellites.iter().map(|s| s.perigee_rate).fold(1e-5, f64::max) + TURN_RAD_PER_S;
        let spacing_ns = libm::floor(ARC / fastest).clamp(5.0, 900.0) as i64 * 1_000_000_000;
        let (first, last) = (-MARGIN, sky.duration_ns / spacing_ns + 1 + MARGIN);
        let nodes = satellites.len() + stations.len();
        let places = (last - first + 1) as f64 * nodes as f64;
        if places > MOST_PLACES {
            return wrong(format!("knots: {places} places; at most {MOST_PLACES} are possible"));
        }
        let mut xyz_km = Vec::with_capacity(places as usize);
        for knot in first..=last {
            if !go_on(0.0) {
                return Err(OrbitError::Interrupted);
            }
            let t_ns = knot * spacing_ns;
            let turn = sky.turn(t_ns);
            for satellite in satellites {
                xyz_km.push(turn.to_earth(&satellite.position(t_ns)?));
            }
            xyz_km.extend(stations.iter().map(|of| of.ground().going_on(t_ns, sky.duration_ns)));
        }
        Ok(Self { spacing_ns, first_ns: first * spacing_ns, nodes, xyz_km })
    }
}
