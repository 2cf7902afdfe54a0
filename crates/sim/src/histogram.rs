//! Percentiles of round-trip times without keeping every sample: 64 bins an octave, allocated where samples fall.

/// Bins per octave; a bin is 1.6 % wide at most.
const BINS: usize = 64;

/// Counts of durations in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    octaves: Vec<Option<Box<[u32; BINS]>>>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn add(&mut self, ns: u64) {
        let ns = ns.max(BINS as u64);
        let octave = ns.ilog2() as usize;
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        let bin = (ns >> (octave - BINS.ilog2() as usize)) as usize - BINS;
        self.octaves[octave].get_or_insert_with(|| Box::new([0; BINS]))[bin] += 1;
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum += u128::from(ns);
    }

    /// Smallest sample in seconds.
    pub(crate) fn min_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min as f64 / 1e9)
    }

    /// Mean of the samples in seconds, exact.
    pub(crate) fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }

    /// The sample that `share` of all samples do not exceed, in seconds, interpolated within its bin.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count as f64;
        let mut below = 0.0;
        for (octave, bins) in self.octaves.iter().enumerate() {
            for (bin, &n) in bins.iter().flat_map(|b| b.iter()).enumerate() {
                if n > 0 && below + f64::from(n) >= wanted {
                    let width = (1_u64 << octave) as f64 / BINS as f64;
                    let low = (1_u64 << octave) as f64 + bin as f64 * width;
                    let inside = low + width * (wanted - below) / f64::from(n);
                    return Some(inside.clamp(self.min as f64, self.max as f64) / 1e9);
                }
                below += f64::from(n);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_within_a_bin_of_the_sorted_samples() {
        let mut histogram = Histogram::default();
        let mut samples: Vec<u64> =
            (0..10_000_u64).map(|i| 500_000_000 + (i * 7919 % 10_000) * 20_000).collect();
        samples.iter().for_each(|&s| histogram.add(s));
        samples.sort_unstable();
        for share in [0.01, 0.5, 0.95, 0.999] {
            let exact = samples[(share * 10_000.0) as usize] as f64 * 1e-9;
            let found = histogram.quantile_s(share).unwrap();
            assert!((found / exact - 1.0).abs() < 0.016, "{share}: {found} against {exact}");
        }
        assert_eq!(histogram.min_s(), Some(0.5));
        assert!(Histogram::default().quantile_s(0.5).is_none());
    }
}
