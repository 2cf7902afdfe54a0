//! Vivace's step along the gradient: confidence amplifier and change boundary.

/// How the rate moves for a gradient. Mbit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ascent {
    theta0: f64,
    omega0: f64,
    delta: f64,
    /// tau, which grows by one and above 3 by a half.
    confidence: f64,
    /// Steps in a row in the direction of the one before.
    same: u32,
    /// Steps that have to agree before tau grows again: up to two after changes of direction.
    swings: u32,
    /// k: how often the bound has grown.
    exceeded: u32,
    /// The last step; 0 if there is none to compare with.
    last: f64,
}

/// After two changes of direction in a row two steps have to agree before tau grows (branch
/// NSDI-2018, `swing_buffer`).
const MOST_SWINGS: u32 = 2;

/// m(tau): slow at first, then faster and faster.
fn amplifier(tau: f64) -> f64 {
    if tau < 3.0 {
        tau + 1.0
    } else if tau < 6.0 {
        2.0 * tau - 2.0
    } else if tau < 9.0 {
        4.0 * tau - 14.0
    } else {
        8.0 * tau - 50.0
    }
}

impl Ascent {
    pub(super) fn new(theta0: f64, omega0: f64, delta: f64) -> Self {
        Self { theta0, omega0, delta, confidence: 0.0, same: 0, swings: 0, exceeded: 0, last: 0.0 }
    }

    /// Have the last two steps agreed?
    pub(super) fn has_trend(&self) -> bool {
        self.same > 0
    }

    /// omega as a share of the rate.
    pub(super) fn boundary(&self) -> f64 {
        self.omega0 + f64::from(self.exceeded) * self.delta
    }

    /// The change of a rate of `x` for this `gradient`.
    pub(super) fn step(&mut self, gradient: f64, x: f64) -> f64 {
        if gradient * self.last < 0.0 {
            (self.confidence, self.same, self.exceeded) = (0.0, 0, 0);
            self.swings = (self.swings + 1).min(MOST_SWINGS);
        }
        let wanted = amplifier(self.confidence) * self.theta0 * gradient;
        if gradient * self.last > 0.0 {
            self.same = (self.same + 1).min(1000);
            if self.swings > 0 {
                self.swings -= 1;
            } else {
                self.confidence += if self.confidence > 3.0 { 0.5 } else { 1.0 };
                self.confidence = self.confidence.min(1000.0);
            }
        }
        let most = self.boundary() * x;
        self.last = wanted.clamp(-most, most);
        if wanted.abs() > most {
            self.exceeded = (self.exceeded + 1).min(1000);
        } else {
            // The smallest bound that the step still keeps.
            while self.exceeded > 0 && wanted.abs() <= (self.boundary() - self.delta) * x {
                self.exceeded -= 1;
            }
        }
        self.last
    }

    /// The next step has none to agree with.
    pub(super) fn forget(&mut self) {
        (self.confidence, self.same, self.exceeded, self.last) = (0.0, 0, 0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Ascent, amplifier};
    use crate::rig::near;

    /// The numbers of branch NSDI-2018, `decide`: 1, 2, 3 and then pieces of slope 2, 4 and 8 that join.
    #[test]
    fn confidence_grows_slowly_and_then_fast() {
        let m: alloc::vec::Vec<f64> = (0..=10).map(|tau| amplifier(f64::from(tau))).collect();
        assert_eq!(m, [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 14.0, 18.0, 22.0, 30.0]);
    }

    /// omega0 = 0.05, delta = 0.1. At 10 Mbit/s a gradient of 0.7 asks for 0.7 and gets 0.5. Then it asks for
    /// 0.7 of 10.5, where 15 % are more; then, confident, for 2 x 0.7. A change of sign begins anew, and the
    /// next step only settles the direction.
    #[test]
    fn a_step_is_amplified_by_confidence_and_held_by_the_bound() {
        let mut ascent = Ascent::new(1.0, 0.05, 0.1);
        near(ascent.step(0.7, 10.0), 0.5, 1e-12);
        near(ascent.boundary(), 0.15, 1e-12);
        near(ascent.step(0.7, 10.5), 0.7, 1e-12);
        near(ascent.step(0.7, 11.2), 1.4, 1e-12);
        near(ascent.step(-900.0, 13.0), -0.65, 1e-12);
        assert!(!ascent.has_trend());
        near(ascent.step(-0.1, 12.0), -0.1, 1e-12);
        near(ascent.step(-0.1, 12.0), -0.1, 1e-12);
        near(ascent.step(-0.1, 12.0), -0.2, 1e-12);
    }

    /// A small step after large ones: 0.1 of 100 is within omega0, so k falls to 0 at once.
    #[test]
    fn the_bound_falls_to_the_smallest_that_holds() {
        let mut ascent = Ascent::new(1.0, 0.05, 0.1);
        for _ in 0..4 {
            ascent.step(1000.0, 100.0);
        }
        near(ascent.boundary(), 0.45, 1e-12);
        ascent.step(0.01, 100.0);
        near(ascent.boundary(), 0.05, 1e-12);
    }
}
