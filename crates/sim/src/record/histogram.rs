//! Percentiles of round-trip times without a list of samples: 64 bins per octave, stored where samples fall.

use crate::record::report::RttReport;

/// Bins per octave; a bin is 1.6 % wide at most.
const BINS: usize = 64;

/// Bins are allocated in runs of a quarter of an octave. Most flows need one run, and ten thousand flows need
/// the memory.
const RUN: usize = 16;

/// Counts of durations in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// The bins from the first run that holds a sample to the last.
    bins: Box<[u32]>,
    /// The number of the first of these bins, counted from the bin of 1 ns.
    first: usize,
    count: u64,
    min: u64,
    max: u64,
    /// The sum of all samples modulo 2^64, and how often it has wrapped.
    sum: u64,
    turns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: Box::default(), first: 0, count: 0, min: u64::MAX, max: 0, sum: 0, turns: 0 }
    }
}

impl Histogram {
    /// Adds a sample.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        self.add_many(ns, 1);
    }

    /// Adds `count` equal samples.
    #[inline(always)]
    pub(crate) fn add_many(&mut self, ns: u64, count: u32) {
        let ns = ns.max(BINS as u64);
        let octave = ns.ilog2();
        // The leading bit gives the octave, the six bits after it the bin.
        let bin = octave as usize * BINS + ((ns >> (octave - BINS.ilog2())) as usize & (BINS - 1));
        match self.bins.get_mut(bin.wrapping_sub(self.first)) {
            Some(n) => *n += count,
            None => *self.widen(bin) += count,
        }
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.count += u64::from(count);
        let sum = u128::from(ns) * u128::from(count) + u128::from(self.sum);
        self.sum = sum as u64;
        self.turns += (sum >> 64) as u64;
    }

    /// Adds a bin outside the stored ones.
    #[cold]
    fn widen(&mut self, bin: usize) -> &mut u32 {
        let run = bin / RUN * RUN;
        let (mut from, mut to) = (run, run + RUN);
        if !self.bins.is_empty() {
            from = from.min(self.first);
            to = to.max(self.first + self.bins.len());
        }
        let mut wider = vec![0; to - from];
        let before = self.first.saturating_sub(from);
        wider[before..before + self.bins.len()].copy_from_slice(&self.bins);
        self.bins = wider.into();
        self.first = from;
        &mut self.bins[bin - from]
    }

    /// Adds the samples of another histogram.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (bin, &n) in (other.first..).zip(&other.bins) {
            if n > 0 {
                match self.bins.get_mut(bin.wrapping_sub(self.first)) {
                    Some(sum) => *sum += n,
                    None => *self.widen(bin) += n,
                }
            }
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        let (sum, turned) = self.sum.overflowing_add(other.sum);
        self.sum = sum;
        self.turns += other.turns + u64::from(turned);
    }

    /// The samples as a report gives them, if there are any.
    pub(crate) fn report(&self) -> Option<RttReport> {
        Some(RttReport {
            min_s: self.min_s()?,
            mean_s: self.mean_s()?,
            p50_s: self.quantile_s(0.5)?,
            p95_s: self.quantile_s(0.95)?,
        })
    }

    /// Smallest sample in seconds.
    pub(crate) fn min_s(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min as f64 / 1e9)
    }

    /// Mean of the samples in seconds, exact.
    pub(crate) fn mean_s(&self) -> Option<f64> {
        let sum = u128::from(self.turns) << 64 | u128::from(self.sum);
        (self.count > 0).then(|| sum as f64 / self.count as f64 / 1e9)
    }

    /// The value in seconds that a `share` of all samples does not exceed, interpolated within its bin.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count as f64;
        let mut below = 0.0;
        for (number, &n) in (self.first..).zip(&self.bins) {
            if n > 0 && below + f64::from(n) >= wanted {
                let (octave, bin) = (number / BINS, number % BINS);
                let width = (1_u64 << octave) as f64 / BINS as f64;
                let low = (1_u64 << octave) as f64 + bin as f64 * width;
                let inside = low + width * (wanted - below) / f64::from(n);
                return Some(inside.clamp(self.min as f64, self.max as f64) / 1e9);
            }
            below += f64::from(n);
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
        // Samples shorter and longer by several octaves get runs of their own.
        histogram.add(1_000_000);
        histogram.add(100_000_000_000);
        for (share, exact) in [(0.00005, 0.001), (0.5, samples[5000] as f64 * 1e-9), (1.0, 100.0)] {
            let found = histogram.quantile_s(share).unwrap();
            assert!((found / exact - 1.0).abs() < 0.016, "{share}: {found} against {exact}");
        }
        assert!(Histogram::default().quantile_s(0.5).is_none());
    }

    /// Two merged histograms equal the histogram of all samples, however far apart these are.
    #[test]
    fn merged_histograms_are_one_of_all_samples() {
        let (mut both, mut one, mut other) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for ns in (0..500_u64).map(|i| 100_000 + (i * i * i) * 977) {
            both.add(ns);
            (if ns % 3 == 0 { &mut one } else { &mut other }).add(ns);
        }
        one.merge(&Histogram::default());
        other.merge(&one);
        for share in [0.0, 0.1, 0.5, 0.99, 1.0] {
            assert_eq!(other.quantile_s(share), both.quantile_s(share));
        }
        assert_eq!((other.min_s(), other.mean_s()), (both.min_s(), both.mean_s()));
    }

    /// Three times half of 2^64 overflows a word; the mean is exact all the same.
    #[test]
    fn a_sum_beyond_a_word_is_kept() {
        let mut histogram = Histogram::default();
        (0..3).for_each(|_| histogram.add(1 << 63));
        assert_eq!(histogram.mean_s(), Some((1_u64 << 63) as f64 / 1e9));
    }

    /// An octave has 64 bins of four bytes. A flow whose round trips vary by a tenth
    /// needs one or two quarters.
    #[test]
    fn memory_is_for_the_bins_that_samples_fall_into() {
        let mut histogram = Histogram::default();
        (0..100).for_each(|i| histogram.add(550_000_000 + i * 550_000));
        assert_eq!(size_of_val(&*histogram.bins), 64);
    }
}
