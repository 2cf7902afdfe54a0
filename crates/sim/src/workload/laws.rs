//! The laws of sizes and of lengths of time, with their draws from a random stream and their means.
//!
//! Draws invert the distribution function, and normal numbers are those of Box and Muller (1958). Functions come from `libm`, so that every
//! platform draws the same.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::Arc;

use bentpipe_cc::Span;

use crate::link::random::Stream;

/// Largest transfer that is drawn, bytes.
const LARGEST: f64 = 1e12;
/// How often a size outside its bounds is drawn again.
const REDRAWS: u32 = 1_000;

/// Sizes of transfers in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All alike.
    Fixed(u64),
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Pareto, bounded if `most` is finite: the density falls as the size to the power of -(shape + 1) between `least` and `most`.
    Pareto {
        /// Smallest.
        least: f64,
        /// Tail index.
        shape: f64,
        /// Largest; infinite for none.
        most: f64,
    },
    /// Log-normal: the logarithm is normal. Truncated if a bound is given: what is drawn outside is drawn again.
    LogNormal {
        /// Median without bounds.
        median: f64,
        /// Standard deviation of the natural logarithm without bounds.
        sigma: f64,
        /// Smallest; 0 for none.
        least: f64,
        /// Largest; infinite for none.
        most: f64,
    },
    /// One of a list.
    List {
        /// Sizes.
        sizes: Arc<[u64]>,
        /// For each, the share of it and of those before it; the last is 1.
        shares: Arc<[f64]>,
    },
}

/// ObjectNumbers of things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObjectNumbers {
    /// Always so many.
    Fixed(u64),
    /// Pareto, cut off at `most` (all that is larger counts as `most`), less `least`: so it begins with 0.
    Pareto {
        /// Scale.
        least: f64,
        /// Tail index.
        shape: f64,
        /// Bound.
        most: f64,
    },
}

/// Lengths of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All alike.
    Fixed(Span),
    /// Exponential with this mean.
    Exponential(Span),
}

impl Sizes {
    /// The next size, at least one byte.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        let size = match *self {
            Sizes::Fixed(size) => return size.max(1),
            Sizes::Exponential { mean } => mean * unit_exponential(stream),
            Sizes::Pareto { least, shape, most } => {
                // The share of sizes above x is (least / x)^shape; a bound cuts off those above it.
                let above = libm::pow(least / most, shape);
                let share = above + stream.uniform() * (1.0 - above);
                least * libm::pow(share, -1.0 / shape)
            }
            Sizes::LogNormal { median, sigma, least, most } => {
                let mut draw = || median * libm::exp(sigma * unit_normal(stream));
                let inside = (0..REDRAWS).map(|_| draw()).find(|size| (least..=most).contains(size));
                inside.unwrap_or(median).clamp(least, most)
            }
            Sizes::List { ref sizes, ref shares } => {
                let share = stream.uniform();
                let i = shares.partition_point(|&upto| upto < share).min(sizes.len() - 1);
                return sizes[i].max(1);
            }
        };
        libm::round(size.clamp(1.0, LARGEST)) as u64
    }

    /// The mean in bytes; infinite for a heavy tail without bound.
    pub(crate) fn mean(&self) -> f64 {
        match *self {
            Sizes::Fixed(size) => size as f64,
            Sizes::Exponential { mean } => mean,
            Sizes::Pareto { shape, most, .. } if shape <= 1.0 && most.is_infinite() => f64::INFINITY,
            Sizes::Pareto { least, shape: 1.0, most } => {
                least * libm::log(most / least) / (1.0 - least / most)
            }
            Sizes::Pareto { least, shape, most } => {
                let ratio = least / most;
                let cut = (1.0 - libm::pow(ratio, shape - 1.0)) / (1.0 - libm::pow(ratio, shape));
                least * shape / (shape - 1.0) * cut
            }
            Sizes::LogNormal { median, sigma, least, most } => {
                // Of the log-normal law, the share of sizes up to x, and the share of all bytes that they hold.
                let normal = |z: f64| libm::erfc(-z * FRAC_1_SQRT_2) / 2.0;
                let share = |x: f64, more: f64| match libm::log(x / median) {
                    log if sigma > 0.0 => normal(log / sigma - more),
                    log => f64::from(log >= 0.0),
                };
                let [sizes, bytes] = [0.0, sigma].map(|more| share(most, more) - share(least, more));
                median * libm::exp(sigma * sigma / 2.0) * if sizes > 0.0 { bytes / sizes } else { 1.0 }
            }
            Sizes::List { ref sizes, ref shares } => {
                let before = std::iter::once(&0.0).chain(shares.iter());
                let parts = sizes.iter().zip(shares.iter()).zip(before);
                parts.map(|((&size, upto), before)| size as f64 * (upto - before)).sum()
            }
        }
    }
}

impl ObjectNumbers {
    /// The next number.
    pub(crate) fn draw(self, stream: &mut Stream) -> u64 {
        match self {
            ObjectNumbers::Fixed(count) => count,
            ObjectNumbers::Pareto { least, shape, most } => {
                let drawn = least * libm::pow(stream.uniform(), -1.0 / shape);
                libm::round(drawn.min(most) - least).clamp(0.0, LARGEST) as u64
            }
        }
    }
}

impl Lengths {
    /// The next length.
    pub(crate) fn draw(self, stream: &mut Stream) -> Span {
        match self {
            Lengths::Fixed(span) => span,
            Lengths::Exponential(mean) => exponential(mean.0 as f64, stream),
        }
    }

    /// Is it always zero?
    pub(crate) fn is_zero(self) -> bool {
        matches!(self, Lengths::Fixed(Span(0)) | Lengths::Exponential(Span(0)))
    }
}

/// An exponential length of time with so many nanoseconds as its mean.
pub(crate) fn exponential(mean_ns: f64, stream: &mut Stream) -> Span {
    Span(libm::round((mean_ns * unit_exponential(stream)).min(9e18)) as u64)
}

fn unit_exponential(stream: &mut Stream) -> f64 {
    -libm::log(stream.uniform())
}

fn unit_normal(stream: &mut Stream) -> f64 {
    let (one, other) = (stream.uniform(), stream.uniform());
    libm::sqrt(-2.0 * libm::log(one)) * libm::cos(2.0 * PI * other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    fn drawn(sizes: &Sizes) -> Vec<f64> {
        let mut stream = Stream::new(7, "sizes");
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| sizes.draw(&mut stream) as f64).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    /// Sorted draws at a share of all.
    fn at(drawn: &[f64], share: f64) -> f64 {
        drawn[(share * f64::from(DRAWS)) as usize]
    }

    fn mean(drawn: &[f64]) -> f64 {
        drawn.iter().sum::<f64>() / f64::from(DRAWS)
    }

    /// Quantiles worked out by hand: -ln(1/2) and -ln(1/10) of the mean.
    #[test]
    fn exponential_sizes_have_their_quantiles() {
        let sizes = Sizes::Exponential { mean: 1e6 };
        let found = drawn(&sizes);
        for (share, exact) in [(0.5, 0.693_147e6), (0.9, 2.302_585e6)] {
            assert!((at(&found, share) / exact - 1.0).abs() < 0.02, "{share}: {}", at(&found, share));
        }
        assert!((mean(&found) / 1e6 - 1.0).abs() < 0.01, "{}", mean(&found));
    }

    /// Shape 1.2 from 10 kB: half of all are below 10 kB * 2^(1/1.2) = 17.818 kB, 99 % below 10 kB * 100^(1/1.2) = 464.16 kB.
    /// Bounded at 1 MB the mean is 60 kB * (1 - 0.01^0.2) / (1 - 0.01^1.2) = 36.255 kB.
    #[test]
    fn pareto_sizes_have_their_quantiles_and_their_bound() {
        let found = drawn(&Sizes::Pareto { least: 1e4, shape: 1.2, most: f64::INFINITY });
        for (share, exact) in [(0.5, 17_818.0), (0.99, 464_159.0)] {
            assert!((at(&found, share) / exact - 1.0).abs() < 0.03, "{share}: {}", at(&found, share));
        }
        assert_eq!(at(&found, 0.0).min(1e4), 1e4);
        let bounded = Sizes::Pareto { least: 1e4, shape: 1.2, most: 1e6 };
        let found = drawn(&bounded);
        assert!(found[0] >= 1e4 && found[found.len() - 1] <= 1e6);
        assert!((bounded.mean() / 36_255.0 - 1.0).abs() < 1e-4, "{}", bounded.mean());
        assert!((mean(&found) / 36_255.0 - 1.0).abs() < 0.01, "{}", mean(&found));
        // Shape 1: 10 kB * ln(100) / 0.99 = 46.517 kB.
        let flat = Sizes::Pareto { least: 1e4, shape: 1.0, most: 1e6 };
        assert!((flat.mean() / 46_517.0 - 1.0).abs() < 1e-4, "{}", flat.mean());
        assert_eq!(Sizes::Pareto { least: 1e4, shape: 0.9, most: f64::INFINITY }.mean(), f64::INFINITY);
    }

    /// One standard deviation above the median of 10 kB with sigma 1.5 is 10 kB * e^1.5 = 44.817 kB; 84.134 % are below it.
    #[test]
    fn log_normal_sizes_have_their_quantiles() {
        let sizes = Sizes::LogNormal { median: 1e4, sigma: 1.5, least: 0.0, most: f64::INFINITY };
        let found = drawn(&sizes);
        for (share, exact) in [(0.5, 1e4), (0.841_34, 44_817.0), (0.158_66, 2_231.3)] {
            assert!((at(&found, share) / exact - 1.0).abs() < 0.03, "{share}: {}", at(&found, share));
        }
        // 10 kB * e^1.125
        assert!((sizes.mean() / 30_802.0 - 1.0).abs() < 1e-4, "{}", sizes.mean());
    }

    /// Between half the median and twice the median lie normal numbers of up to ln 2 / 1.5 = 0.46210 either way: 35.599 % of all sizes. They
    /// hold as much of all bytes as lies between -0.46210 - 1.5 and 0.46210 - 1.5: 14.966 % - 2.488 % = 12.478 %. So the mean is
    /// 30.802 kB * 0.12478 / 0.35599 = 10.797 kB.
    #[test]
    fn log_normal_sizes_may_have_bounds() {
        let sizes = Sizes::LogNormal { median: 1e4, sigma: 1.5, least: 5e3, most: 2e4 };
        let found = drawn(&sizes);
        assert!(found[0] >= 5e3 && found[found.len() - 1] <= 2e4);
        assert!((at(&found, 0.5) / 1e4 - 1.0).abs() < 0.01, "{}", at(&found, 0.5));
        assert!((sizes.mean() / 10_797.0 - 1.0).abs() < 1e-3, "{}", sizes.mean());
        assert!((mean(&found) / sizes.mean() - 1.0).abs() < 0.01, "{}", mean(&found));
        let all_alike = Sizes::LogNormal { median: 1e4, sigma: 0.0, least: 5e3, most: 2e4 };
        assert_eq!((all_alike.mean(), drawn(&all_alike)[7]), (1e4, 1e4));
    }

    /// The number of objects of the 3GPP2 web page: Pareto from 2 with shape 1.1, cut off at 55, less 2. By hand the mean is
    /// 2 * 1.1/0.1 * (1 - (2/55)^0.1) + 55 * (2/55)^1.1 - 2 = 5.64, the one that its tables give.
    #[test]
    fn numbers_of_objects_have_the_mean_of_their_source() {
        let counts = ObjectNumbers::Pareto { least: 2.0, shape: 1.1, most: 55.0 };
        let mut stream = Stream::new(7, "counts");
        let drawn: Vec<u64> = (0..DRAWS).map(|_| counts.draw(&mut stream)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / f64::from(DRAWS);
        assert!((mean - 5.64).abs() < 0.1, "{mean}");
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&0), Some(&53)));
        assert_eq!(ObjectNumbers::Fixed(7).draw(&mut stream), 7);
    }

    #[test]
    fn a_list_is_drawn_by_its_shares() {
        let sizes = Sizes::List { sizes: [100, 1_000, 7].into(), shares: [0.25, 0.75, 1.0].into() };
        let found = drawn(&sizes);
        for (size, share) in [(100.0, 0.25), (1_000.0, 0.5), (7.0, 0.25)] {
            let part = found.iter().filter(|s| **s == size).count() as f64 / f64::from(DRAWS);
            assert!((part - share).abs() < 0.005, "{size}: {part}");
        }
        assert_eq!(sizes.mean(), 526.75);
    }
}
