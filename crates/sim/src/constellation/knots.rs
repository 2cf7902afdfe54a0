//! Where the nodes of a constellation are, and how long light takes between two of them.

/// Metres of light in a nanosecond (SI), in kilometres.
pub(crate) const LIGHT_KM_PER_NS: f64 = 299_792.458 / 1e9;
/// The polynomial runs through this many knots before an instant, and as many after it.
pub const MARGIN: usize = 3;

/// Positions of all nodes at even instants, the knots. Between two of them a polynomial of the fifth degree runs
/// through the three before and the three after (Lagrange; Press et al., Numerical Recipes, 3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Knots {
    /// The instant of the first knot, ns, relative to the start of the run; three knots are not after 0.
    pub first_ns: i64,
    /// Between two knots, ns, above 0.
    pub spacing_ns: i64,
    /// Number of nodes.
    pub nodes: usize,
    /// Positions in kilometres, in a frame that turns with the Earth: all nodes of the first knot, then those of the
    /// second one.
    pub xyz_km: Vec<[f64; 3]>,
}

impl Knots {
    /// Do the knots cover the instants from 0 to `until_ns`, with as many positions as they say?
    pub(super) fn cover(&self, until_ns: i64) -> bool {
        let count = self.xyz_km.len() / self.nodes.max(1);
        let margin = MARGIN as i64 * self.spacing_ns;
        self.spacing_ns > 0
            && self.nodes * count == self.xyz_km.len()
            && self.first_ns + margin <= self.spacing_ns
            && self.first_ns + count as i64 * self.spacing_ns > until_ns + margin
    }

    /// The time that light takes between two nodes at an instant in the run, ns.
    pub(crate) fn delay_ns(&self, a: u32, b: u32, t_ns: u64) -> f64 {
        let since = t_ns as i64 - self.first_ns;
        let knot = since.div_euclid(self.spacing_ns);
        let x = (MARGIN - 1) as f64 + since.rem_euclid(self.spacing_ns) as f64 / self.spacing_ns as f64;
        let first = (knot as usize + 1).saturating_sub(MARGIN) * self.nodes;
        let mut apart = [0.0; 3];
        for j in 0..2 * MARGIN {
            let others = (0..2 * MARGIN).filter(|k| *k != j);
            let weight: f64 = others.map(|k| (x - k as f64) / (j as f64 - k as f64)).product();
            let row = &self.xyz_km[first + j * self.nodes..];
            let (from, to) = (row[a as usize], row[b as usize]);
            for (sum, (to, from)) in apart.iter_mut().zip(to.into_iter().zip(from)) {
                *sum += weight * (to - from);
            }
        }
        libm::sqrt(apart.iter().map(|km| km * km).sum()) / LIGHT_KM_PER_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A satellite on a circle of 7,000 km, a turn in 5,800 s, and a point at the centre of it displaced by 7 km.
    #[test]
    fn a_circle_between_knots_is_within_a_centimetre() {
        let spacing_ns = 30_000_000_000;
        let at = |t_s: f64| {
            let angle = t_s * core::f64::consts::TAU / 5_800.0;
            [7_000.0 * libm::cos(angle), 7_000.0 * libm::sin(angle), 0.0]
        };
        let instants = (-3..10).map(|k| f64::from(k) * 30.0);
        let xyz_km = instants.flat_map(|t_s| [at(t_s), [7.0, 0.0, 0.0]]).collect();
        let knots = Knots { first_ns: -3 * spacing_ns, spacing_ns, nodes: 2, xyz_km };
        assert!(knots.cover(200_000_000_000) && !knots.cover(220_000_000_000));
        for t_ns in (0..200_000_000_000_u64).step_by(1_234_567_890) {
            let [x, y, _] = at(t_ns as f64 / 1e9);
            let metres = libm::hypot(x - 7.0, y) * 1_000.0;
            let found = knots.delay_ns(0, 1, t_ns) * 0.299_792_458;
            assert!((found - metres).abs() < 0.01, "{found} m, not {metres} m, at {t_ns} ns");
        }
    }
}
