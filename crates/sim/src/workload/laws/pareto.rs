//! The Pareto law, of sizes and of numbers.

use crate::keys::table::keys;
use crate::keys::units::Size;
use crate::link::random::Stream;
use crate::workload::laws::kind::{Law, MeanLaw, WrongKey};
use crate::workload::laws::{LARGEST, not_empty, whole};

keys! {
    /// Sizes of a Pareto law: many small ones, and few that hold most of the bytes.
    pub struct ParetoSizes {
        /// The smallest size.
        #[schemars(extend("examples" = ["10 kB"]))]
        pub least: Size,
        /// Tail index. Below 2 the variance has no bound, and up to 1 nor has the mean, which is
        /// `least` * `shape` / (`shape` - 1) above.
        #[schemars(range(min = 0.1, max = 100.0), extend("examples" = [1.2]))]
        pub shape: f64,
        /// The largest size: a bounded Pareto law. Default: no bound.
        pub most?: Size,
    }

    /// A Pareto law less its smallest value, so the smallest number is 0. All above the
    /// bound counts as the bound.
    pub struct ParetoCounts {
        /// The smallest value of the law.
        #[schemars(range(min = 0.001, max = 1e6), extend("examples" = [2.0]))]
        pub least: f64,
        /// Tail index.
        #[schemars(range(min = 0.1, max = 100.0), extend("examples" = [1.1]))]
        pub shape: f64,
        /// The bound.
        #[schemars(range(min = 0.001, max = 1e6), extend("examples" = [55.0]))]
        pub most: f64,
    }
}

impl ParetoSizes {
    /// The smallest size and the largest, in bytes; infinite without a bound.
    fn bounds(&self) -> [f64; 2] {
        [self.least.0 as f64, self.most.map_or(f64::INFINITY, |most| most.0 as f64)]
    }
}

impl Law<u64> for ParetoSizes {
    fn check(&self) -> Result<(), WrongKey> {
        not_empty("least", self.least)?;
        let [least, most] = self.bounds();
        if most <= least { Err(("most", not_above(self.least))) } else { Ok(()) }
    }

    /// The density falls as the size to the power of -(shape + 1) between the bounds.
    fn draw(&self, stream: &mut Stream) -> u64 {
        let [least, most] = self.bounds();
        // The share of sizes above x is (least / x)^shape; a bound cuts off those above it.
        let above = libm::pow(least / most, self.shape);
        let share = above + stream.uniform() * (1.0 - above);
        whole(least * libm::pow(share, -1.0 / self.shape))
    }
}

impl MeanLaw<u64> for ParetoSizes {
    fn mean(&self) -> f64 {
        let ([least, most], shape) = (self.bounds(), self.shape);
        let ratio = least / most;
        if shape <= 1.0 && most.is_infinite() {
            f64::INFINITY
        } else if shape == 1.0 {
            least * libm::log(most / least) / (1.0 - ratio)
        } else {
            let cut = (1.0 - libm::pow(ratio, shape - 1.0)) / (1.0 - libm::pow(ratio, shape));
            least * shape / (shape - 1.0) * cut
        }
    }
}

impl Law<u64> for ParetoCounts {
    fn check(&self) -> Result<(), WrongKey> {
        if self.most <= self.least { Err(("most", not_above(self.least))) } else { Ok(()) }
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        let drawn = self.least * libm::pow(stream.uniform(), -1.0 / self.shape);
        libm::round(drawn.min(self.most) - self.least).clamp(0.0, LARGEST) as u64
    }
}

fn not_above(least: impl std::fmt::Display) -> String {
    format!("must be larger than least = {least}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::laws::tests::{DRAWS, at, drawn, mean};

    fn sizes(shape: f64, most: Option<u64>) -> ParetoSizes {
        ParetoSizes { least: Size(10_000), shape, most: most.map(Size) }
    }

    /// Shape 1.2 from 10 kB: half of all are below 10 kB * 2^(1/1.2) = 17.818 kB, 99 % below
    /// 10 kB * 100^(1/1.2) = 464.16 kB. Bounded at 1 MB the mean is
    /// 60 kB * (1 - 0.01^0.2) / (1 - 0.01^1.2) = 36.255 kB.
    #[test]
    fn pareto_sizes_have_their_quantiles_and_their_bound() {
        let found = drawn(&sizes(1.2, None));
        for (share, exact) in [(0.5, 17_818.0), (0.99, 464_159.0)] {
            assert!((at(&found, share) / exact - 1.0).abs() < 0.03, "{share}: {}", at(&found, share));
        }
        assert_eq!(at(&found, 0.0).min(1e4), 1e4);
        let bounded = sizes(1.2, Some(1_000_000));
        let found = drawn(&bounded);
        assert!(found[0] >= 1e4 && found[found.len() - 1] <= 1e6);
        assert!((bounded.mean() / 36_255.0 - 1.0).abs() < 1e-4, "{}", bounded.mean());
        assert!((mean(&found) / 36_255.0 - 1.0).abs() < 0.01, "{}", mean(&found));
        // Shape 1: 10 kB * ln(100) / 0.99 = 46.517 kB.
        let flat = sizes(1.0, Some(1_000_000));
        assert!((flat.mean() / 46_517.0 - 1.0).abs() < 1e-4, "{}", flat.mean());
        assert_eq!(sizes(0.9, None).mean(), f64::INFINITY);
    }

    /// The number of objects of the 3GPP2 web page: Pareto from 2 with shape 1.1, cut off at 55,
    /// less 2. By hand the mean is 2 * 1.1/0.1 * (1 - (2/55)^0.1) + 55 * (2/55)^1.1 - 2 = 5.64, the
    /// one that its tables give.
    #[test]
    fn numbers_of_objects_have_the_mean_of_their_source() {
        let counts = ParetoCounts { least: 2.0, shape: 1.1, most: 55.0 };
        let mut stream = Stream::new(7, "counts");
        let drawn: Vec<u64> = (0..DRAWS).map(|_| counts.draw(&mut stream)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / f64::from(DRAWS);
        assert!((mean - 5.64).abs() < 0.1, "{mean}");
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&0), Some(&53)));
    }
}
