//! Where every satellite is at an instant, in TEME, by interpolation.
//!
//! SGP4 is asked at even instants, the knots. Between two of them a polynomial of the fifth degree runs
//! through the three before and the three after (Lagrange; Press et al., Numerical Recipes, 3.2). Velocities
//! are not used: those of SGP4 are not the derivatives of its positions. Knots are a tenth of a radian apart
//! at the fastest perigee. The error stays below half a metre for the most eccentric orbits and below ten
//! centimetres for round ones.

use crate::earth::Vector;
use crate::error::OrbitError;
use crate::satellites::Satellite;

/// Knots in a window.
const NODES: usize = 6;
/// Where in a window the interval with the wanted instant begins.
const LEFT: i64 = 2;
/// No knot, no instant.
const NONE: i64 = i64::MIN;

/// Positions over time of a set of satellites.
#[derive(Debug)]
pub struct Ephemeris {
    satellites: Vec<Satellite>,
    spacing_ns: i64,
    windows: Vec<Window>,
    /// The instant that `weights` are for, and the first knot of its window.
    now_ns: i64,
    first: i64,
    weights: [f64; NODES],
    positions: Vec<Vector>,
    /// The instant of each of `positions`.
    known: Vec<i64>,
}

#[derive(Clone, Debug)]
struct Window {
    first: i64,
    knots: [Vector; NODES],
}

impl Ephemeris {
    /// For these satellites; nothing is worked out yet.
    pub fn new(satellites: Vec<Satellite>) -> Self {
        let fastest = satellites.iter().map(|s| s.perigee_rate).fold(1e-5, f64::max);
        let spacing_s = libm::floor(0.1 / fastest).clamp(5.0, 900.0);
        let count = satellites.len();
        Self {
            satellites,
            spacing_ns: spacing_s as i64 * 1_000_000_000,
            windows: vec![Window { first: NONE, knots: [[0.0; 3]; NODES] }; count],
            now_ns: NONE,
            first: NONE,
            weights: [0.0; NODES],
            positions: vec![[0.0; 3]; count],
            known: vec![NONE; count],
        }
    }

    /// The same satellites, with nothing worked out yet: for another thread.
    #[must_use]
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.satellites.clone())
    }

    /// The satellites.
    pub fn satellites(&self) -> &[Satellite] {
        &self.satellites
    }

    /// Between two knots, ns.
    pub fn spacing_ns(&self) -> i64 {
        self.spacing_ns
    }

    /// Where a satellite is, by index, `t_ns` after the start.
    ///
    /// # Errors
    /// SGP4 fails near that instant.
    pub fn position(&mut self, index: usize, t_ns: i64) -> Result<Vector, OrbitError> {
        if self.known[index] == t_ns {
            return Ok(self.positions[index]);
        }
        self.turn_to(t_ns);
        self.interpolate(index)
    }

    /// As [`Self::position`]; but a satellite whose knots are not at hand is placed by SGP4 itself. Cheaper
    /// for one that is far away and will not be looked at again soon.
    ///
    /// # Errors
    /// SGP4 fails.
    pub fn glance(&mut self, index: usize, t_ns: i64) -> Result<Vector, OrbitError> {
        self.turn_to(t_ns);
        let ahead = self.first.wrapping_sub(self.windows[index].first);
        if self.windows[index].first != NONE && (0..=2).contains(&ahead) {
            return self.position(index, t_ns);
        }
        self.satellites[index].position(t_ns)
    }

    /// Where all are, in the order of their indices.
    ///
    /// # Errors
    /// SGP4 fails for one.
    pub fn all(&mut self, t_ns: i64) -> Result<&[Vector], OrbitError> {
        self.turn_to(t_ns);
        for index in 0..self.satellites.len() {
            if self.known[index] != t_ns {
                self.interpolate(index)?;
            }
        }
        Ok(&self.positions)
    }

    /// Works out the weights of an instant.
    fn turn_to(&mut self, t_ns: i64) {
        if self.now_ns == t_ns {
            return;
        }
        let knot = t_ns.div_euclid(self.spacing_ns);
        let x = LEFT as f64 + t_ns.rem_euclid(self.spacing_ns) as f64 / self.spacing_ns as f64;
        for (j, weight) in self.weights.iter_mut().enumerate() {
            let others = (0..NODES).filter(|k| *k != j);
            *weight = others.map(|k| (x - k as f64) / (j as f64 - k as f64)).product();
        }
        (self.now_ns, self.first) = (t_ns, knot - LEFT);
    }

    #[inline]
    fn interpolate(&mut self, index: usize) -> Result<Vector, OrbitError> {
        if self.windows[index].first != self.first {
            self.shift(index)?;
        }
        let mut at = [0.0; 3];
        for (knot, weight) in self.windows[index].knots.iter().zip(&self.weights) {
            at[0] += weight * knot[0];
            at[1] += weight * knot[1];
            at[2] += weight * knot[2];
        }
        self.positions[index] = at;
        self.known[index] = self.now_ns;
        Ok(at)
    }

    /// Moves the window of a satellite to the present one; knots in both are kept.
    #[cold]
    fn shift(&mut self, index: usize) -> Result<(), OrbitError> {
        let (window, satellite) = (&mut self.windows[index], &self.satellites[index]);
        let ahead = self.first.saturating_sub(window.first);
        let keep = if window.first != NONE && (1..NODES as i64).contains(&ahead) {
            NODES - ahead as usize
        } else {
            0
        };
        window.knots.copy_within(NODES - keep.., 0);
        window.first = NONE; // a failure below leaves no half of a window
        for (j, knot) in window.knots.iter_mut().enumerate().skip(keep) {
            *knot = satellite.position((self.first + j as i64) * self.spacing_ns)?;
        }
        window.first = self.first;
        Ok(())
    }
}
