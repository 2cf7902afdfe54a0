//! How late packets were: a histogram with 16 bins an octave, 6.25 % wide at most.

const BITS: u32 = 4;
const PER_OCTAVE: usize = 1 << BITS;
/// The largest octave: 2^40 ns are 18 minutes.
const OCTAVES: usize = 40;

/// Time of writing minus due time of packets, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    bins: Box<[u64; OCTAVES * PER_OCTAVE]>,
    count: u64,
    max: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { bins: Box::new([0; OCTAVES * PER_OCTAVE]), count: 0, max: 0 }
    }
}

/// The bin of a duration. Below 16 ns each nanosecond has its own.
fn bin_of(ns: u64) -> usize {
    if ns < PER_OCTAVE as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2();
    let within = (ns >> (octave - BITS)) as usize & (PER_OCTAVE - 1);
    (((octave - BITS + 1) as usize) * PER_OCTAVE + within).min(OCTAVES * PER_OCTAVE - 1)
}

/// The first duration beyond a bin, ns.
fn end_of(bin: usize) -> u64 {
    let next = bin + 1;
    let (octave, within) = (next / PER_OCTAVE, (next % PER_OCTAVE) as u64);
    if octave == 0 { within } else { (PER_OCTAVE as u64 + within) << (octave - 1) }
}

impl Lateness {
    /// A packet was so many nanoseconds late.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.bins[bin_of(ns)] += 1;
        self.count += 1;
        self.max = self.max.max(ns);
    }

    /// How many packets it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The latest, ns.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The lateness that a share `q` of the packets did not exceed, ns: the upper end of its bin, and at most the latest. 0 if there was
    /// none.
    pub fn quantile(&self, q: f64) -> u64 {
        let wanted = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (i, n) in self.bins.iter().enumerate() {
            seen += n;
            if seen >= wanted {
                return (end_of(i) - 1).min(self.max);
            }
        }
        self.max
    }

    /// The bins that hold packets: the first duration beyond the bin in ns, and how many.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        self.bins.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (end_of(i), *n))
    }

    /// Adds what another one holds.
    pub fn merge(&mut self, other: &Self) {
        for (own, more) in self.bins.iter_mut().zip(other.bins.iter()) {
            *own += more;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_touch_and_none_is_wider_than_a_sixteenth() {
        for ns in (0..5_000).chain((10..40).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + (1 << (e - 1))])) {
            let bin = bin_of(ns);
            assert!(ns < end_of(bin), "{ns}");
            let begin = if bin == 0 { 0 } else { end_of(bin - 1) };
            assert!(
                begin <= ns && (end_of(bin) - begin) * 16 <= begin.max(16),
                "{ns}: {begin} {}",
                end_of(bin)
            );
        }
    }

    #[test]
    fn quantiles_are_those_of_the_samples() {
        let mut all = Lateness::default();
        assert_eq!((all.quantile(0.5), all.max()), (0, 0));
        (1..=10_000).for_each(|us| all.add(us * 1_000));
        for (q, exact) in [(0.5, 5_000_000.0), (0.9, 9_000_000.0), (0.99, 9_900_000.0), (0.999, 9_990_000.0)]
        {
            let found = all.quantile(q) as f64;
            assert!(found >= exact && found <= exact * 1.0625, "{q}: {found}");
        }
        assert_eq!((all.quantile(1.0), all.max(), all.count()), (10_000_000, 10_000_000, 10_000));
        let mut twice = all.clone();
        twice.merge(&all);
        assert_eq!((twice.count(), twice.quantile(0.5)), (20_000, all.quantile(0.5)));
        assert_eq!(twice.bins().map(|(_, n)| n).sum::<u64>(), 20_000);
        all.add(u64::MAX);
        assert_eq!(all.quantile(1.0), end_of(OCTAVES * PER_OCTAVE - 1) - 1);
    }
}
