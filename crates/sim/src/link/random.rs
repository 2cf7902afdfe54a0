//! Random streams. Each source of randomness has its own stream, derived from the run's seed and the source's
//! name. A new flow or link therefore does not disturb the draws of the others.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// One stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream of the source called `name` in the run with this seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, then two rounds of the SplitMix64 finaliser, to fill
        // the generator's 128 bits.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ mix(seed), |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let (high, low) = (mix(hash), mix(hash ^ 0x9e37_79b9_7f4a_7c15));
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// Uniform in (0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// The number of successes before the first failure, if each trial fails with probability `p`. It takes
    /// one draw per failure instead of one per trial.
    pub(crate) fn run_length(&mut self, p: f64) -> u64 {
        if p <= 0.0 {
            return u64::MAX;
        }
        if p >= 1.0 {
            return 0;
        }
        // The logarithm comes from libm, so that every platform draws the same run.
        (libm::log(self.uniform()) / libm::log1p(-p)) as u64
    }
}

fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lengths_have_the_geometric_mean() {
        for p in [1e-4, 1e-2, 0.3, 0.9] {
            let mut stream = Stream::new(7, "test");
            let n = 200_000;
            let mean = (0..n).map(|_| stream.run_length(p) as f64).sum::<f64>() / f64::from(n);
            let expected = (1.0 - p) / p;
            // Standard error of the mean of n geometric draws: sqrt(1-p)/p/sqrt(n).
            let error = (1.0 - p).sqrt() / p / f64::from(n).sqrt();
            assert!((mean - expected).abs() < 4.0 * error, "p {p}: {mean} against {expected}");
        }
        assert_eq!(Stream::new(1, "x").run_length(0.0), u64::MAX);
        assert_eq!(Stream::new(1, "x").run_length(1.0), 0);
    }

    #[test]
    fn streams_differ_by_name_and_seed() {
        let first = |seed, name| Stream::new(seed, name).uniform().to_bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }
}
