//! Percentiles of round-trip times without keeping every sample: 64 bins an octave, kept where samples fall.

/// Bins per octave; a bin is 1.6 % wide at most.
const BINS: usize = 64;

/// Counts of durations in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// [`BINS`] bins for each octave from the `first` that a sample fell into to the last.
    bins: Vec<u32>,
    first: u32,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        let ns = ns.max(BINS as u64);
        let octave = ns.ilog2();
        // The leading bit gives the octave, the six bits behind it the bin.
        let bin = (ns >> (octave - BINS.ilog2())) as usize & (BINS - 1);
        let place = octave.wrapping_sub(self.first) as usize * BINS + bin;
        match self.bins.get_mut(place) {
            Some(n) => *n += 1,
            None => *self.widen(octave, bin) += 1,
        }
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum += u128::from(ns);
    }

    /// The bin of an octave that has had no sample and lies outside those that are kept.
    #[cold]
    fn widen(&mut self, octave: u32, bin: usize) -> &mut u32 {
        if self.bins.is_empty() {
            self.first = octave;
        }
        if octave < self.first {
            let more = (self.first - octave) as usize * BINS;
            self.bins.splice(0..0, std::iter::repeat_n(0, more));
            self.first = octave;
        }
        let place = (octave - self.first) as usize * BINS + bin;
        let len = self.bins.len().max((place / BINS + 1) * BINS);
        self.bins.reserve_exact(len - self.bins.len());
        self.bins.resize(len, 0);
        &mut self.bins[place]
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
        for (octave, bins) in (self.first..).zip(self.bins.chunks(BINS)) {
            for (bin, &n) in bins.iter().enumerate() {
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
        // Shorter and longer ones by several octaves find their places beside them.
        histogram.add(1_000_000);
        histogram.add(100_000_000_000);
        for (share, exact) in [(0.00005, 0.001), (0.5, samples[5000] as f64 * 1e-9), (1.0, 100.0)] {
            let found = histogram.quantile_s(share).unwrap();
            assert!((found / exact - 1.0).abs() < 0.016, "{share}: {found} against {exact}");
        }
        assert!(Histogram::default().quantile_s(0.5).is_none());
    }
}
