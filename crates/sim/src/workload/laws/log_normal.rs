//! The log-normal law of sizes. Normal numbers are those of Box and Muller (1958).

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::keys::table::keys;
use crate::keys::units::Size;
use crate::link::random::Stream;
use crate::workload::laws::kind::{Law, MeanLaw, WrongKey};
use crate::workload::laws::{not_empty, whole};

/// How often a size outside its bounds is drawn again.
const REDRAWS: u32 = 1_000;

keys! {
    /// Sizes whose natural logarithm is normal.
    pub struct LogNormalSizes {
        /// Median.
        #[schemars(extend("examples" = ["10 kB"]))]
        pub median: Size,
        /// Standard deviation of the natural logarithm.
        #[schemars(range(min = 0.0, max = 10.0), extend("examples" = [1.5]))]
        pub sigma: f64,
        /// The smallest size: what is drawn below is drawn again. Default: no bound.
        pub least?: Size,
        /// The largest size: what is drawn above is drawn again. Default: no bound.
        pub most?: Size,
    }
}

impl LogNormalSizes {
    /// The smallest size and the largest, in bytes; 0 and infinite without bounds.
    fn bounds(&self) -> [f64; 2] {
        let bytes = |bound: Option<Size>, none: f64| bound.map_or(none, |size| size.0 as f64);
        [bytes(self.least, 0.0), bytes(self.most, f64::INFINITY)]
    }
}

impl Law<u64> for LogNormalSizes {
    fn check(&self) -> Result<(), WrongKey> {
        not_empty("median", self.median)?;
        let (median, [least, most]) = (self.median.0 as f64, self.bounds());
        if (least..=most).contains(&median) {
            return Ok(());
        }
        let wrong = if least > median { "least" } else { "most" };
        Err((wrong, format!("median = {} must lie between least and most", self.median)))
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        let (median, [least, most]) = (self.median.0 as f64, self.bounds());
        let mut draw = || median * libm::exp(self.sigma * unit_normal(stream));
        let inside = (0..REDRAWS).map(|_| draw()).find(|size| (least..=most).contains(size));
        whole(inside.unwrap_or(median).clamp(least, most))
    }
}

impl MeanLaw<u64> for LogNormalSizes {
    fn mean(&self) -> f64 {
        let (median, sigma, [least, most]) = (self.median.0 as f64, self.sigma, self.bounds());
        // The shares, in the law without bounds, of sizes up to x and of the bytes that they hold.
        let normal = |z: f64| libm::erfc(-z * FRAC_1_SQRT_2) / 2.0;
        let share = |x: f64, more: f64| match libm::log(x / median) {
            log if sigma > 0.0 => normal(log / sigma - more),
            log => f64::from(log >= 0.0),
        };
        let [sizes, bytes] = [0.0, sigma].map(|more| share(most, more) - share(least, more));
        median * libm::exp(sigma * sigma / 2.0) * if sizes > 0.0 { bytes / sizes } else { 1.0 }
    }
}

fn unit_normal(stream: &mut Stream) -> f64 {
    let (one, other) = (stream.uniform(), stream.uniform());
    libm::sqrt(-2.0 * libm::log(one)) * libm::cos(2.0 * PI * other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::laws::tests::{at, drawn, mean};

    fn sizes(sigma: f64, bounds: Option<[u64; 2]>) -> LogNormalSizes {
        let [least, most] = bounds.map_or([None; 2], |bounds| bounds.map(|bytes| Some(Size(bytes))));
        LogNormalSizes { median: Size(10_000), sigma, least, most }
    }

    /// One standard deviation above the median of 10 kB with sigma 1.5 is
    /// 10 kB * e^1.5 = 44.817 kB; 84.134 % are below it.
    #[test]
    fn log_normal_sizes_have_their_quantiles() {
        let found = drawn(&sizes(1.5, None));
        for (share, exact) in [(0.5, 1e4), (0.841_34, 44_817.0), (0.158_66, 2_231.3)] {
            assert!((at(&found, share) / exact - 1.0).abs() < 0.03, "{share}: {}", at(&found, share));
        }
        // 10 kB * e^1.125
        assert!((sizes(1.5, None).mean() / 30_802.0 - 1.0).abs() < 1e-4);
    }

    /// Between half the median and twice the median lie normal numbers of up to ln 2 / 1.5 = 0.46210 either
    /// way: 35.599 % of all sizes. They hold as much of all bytes as lies between -0.46210 - 1.5 and
    /// 0.46210 - 1.5: 14.966 % - 2.488 % = 12.478 %. So the mean is
    /// 30.802 kB * 0.12478 / 0.35599 = 10.797 kB.
    #[test]
    fn log_normal_sizes_may_have_bounds() {
        let within = sizes(1.5, Some([5_000, 20_000]));
        let found = drawn(&within);
        assert!(found[0] >= 5e3 && found[found.len() - 1] <= 2e4);
        assert!((at(&found, 0.5) / 1e4 - 1.0).abs() < 0.01, "{}", at(&found, 0.5));
        assert!((within.mean() / 10_797.0 - 1.0).abs() < 1e-3, "{}", within.mean());
        assert!((mean(&found) / within.mean() - 1.0).abs() < 0.01, "{}", mean(&found));
        let all_alike = sizes(0.0, Some([5_000, 20_000]));
        assert_eq!((all_alike.mean(), drawn(&all_alike)[7]), (1e4, 1e4));
    }
}
