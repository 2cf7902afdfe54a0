//! A histogram of durations: fixed size, two per cent wide bins, so that an agent of any age takes the same memory.

/// Durations from 0 to 18 minutes, in bins of at most 1/32 of their value.
#[derive(Clone, Debug)]
pub struct Latency {
    bins: Vec<u64>,
    count: u64,
    max_ns: u64,
}

/// Bins an octave.
const STEPS: u32 = 32;
/// Octaves: up to 2^40 ns.
const OCTAVES: u32 = 36;

impl Default for Latency {
    fn default() -> Self {
        Self { bins: vec![0; (STEPS * OCTAVES) as usize], count: 0, max_ns: 0 }
    }
}

fn bin(ns: u64) -> usize {
    let octave = (ns / u64::from(STEPS)).checked_ilog2().map_or(0, |log| log + 1);
    let step = if octave == 0 { ns } else { (ns >> (octave - 1)) - u64::from(STEPS) };
    ((octave * STEPS) as usize + step as usize).min((STEPS * OCTAVES) as usize - 1)
}

/// The smallest duration of a bin.
fn least(bin: usize) -> u64 {
    let (octave, step) = (bin as u64 / u64::from(STEPS), bin as u64 % u64::from(STEPS));
    if octave == 0 { step } else { (u64::from(STEPS) + step) << (octave - 1) }
}

impl Latency {
    /// Counts one duration.
    pub fn add(&mut self, ns: u64) {
        self.bins[bin(ns)] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest, in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The duration in nanoseconds that a share `q` of all does not exceed, to 1/32; `None` without any.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        for (i, n) in self.bins.iter().enumerate() {
            below += n;
            if below >= rank {
                return Some((least(i + 1) - 1).min(self.max_ns));
            }
        }
        None
    }

    /// `p50_s`, `p90_s`, `p99_s`, `max_s` and `count`, as JSON; null without any.
    pub fn json(&self) -> serde_json::Value {
        let at = |q| self.quantile(q).map(|ns| ns as f64 / 1e9);
        let max = (self.count > 0).then_some(self.max_ns as f64 / 1e9);
        serde_json::json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": max, "count": self.count })
    }
}

#[cfg(test)]
mod tests {
    use super::{Latency, bin, least};

    #[test]
    fn bins_are_contiguous_and_narrow() {
        for b in 0..32 * 35 {
            assert_eq!(bin(least(b)), b);
            assert_eq!(bin(least(b + 1) - 1), b);
            assert!(least(b + 1) - least(b) <= 1 + least(b) / 32);
        }
        assert_eq!(bin(u64::MAX), 32 * 36 - 1);
    }

    #[test]
    fn quantiles_of_known_durations() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile(0.5), None);
        for us in 1..=1000 {
            latency.add(us * 1000);
        }
        for (q, us) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let got = latency.quantile(q).expect("counted") as f64 / 1000.0;
            assert!((us..us * 1.033).contains(&got), "{q}: {got}");
        }
        assert_eq!((latency.max_ns(), latency.count()), (1_000_000, 1000));
    }
}
