//! Arrivals of a Poisson process: independent, and exponential times between them.

use bentpipe_cc::Time;

use crate::link::random::Stream;
use crate::workload::laws::exponential;

/// The instants of arrivals from `from` to `until`, with so many a second on average; at most `most`, and one more if there are more.
pub(crate) fn poisson(
    per_second: f64,
    from: Time,
    until: Time,
    most: usize,
    stream: &mut Stream,
) -> Vec<Time> {
    let mean_ns = 1e9 / per_second;
    let mut arrivals = Vec::new();
    let mut at = from;
    while arrivals.len() <= most {
        at = Time(at.0.saturating_add(exponential(mean_ns, stream).0));
        if at >= until {
            break;
        }
        arrivals.push(at);
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: u64 = 40_000;

    fn arrivals(per_second: f64) -> Vec<f64> {
        let until = Time(SECONDS * 1_000_000_000);
        let mut stream = Stream::new(3, "flow/web/arrivals");
        poisson(per_second, Time(0), until, usize::MAX, &mut stream).iter().map(|at| at.secs()).collect()
    }

    /// Mean and variance of the counts of a second are both the rate. Their standard errors over n seconds are sqrt(5/n) for the mean, and
    /// for the ratio of variance to mean sqrt(2/n) and a little more.
    #[test]
    fn counts_are_those_of_a_poisson_process() {
        let mut counts = vec![0.0; SECONDS as usize];
        arrivals(5.0).iter().for_each(|at| counts[*at as usize] += 1.0);
        let n = SECONDS as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / (n - 1.0);
        assert!((mean - 5.0).abs() < 4.0 * (5.0 / n).sqrt(), "{mean}");
        assert!((variance / mean - 1.0).abs() < 4.0 * (2.2 / n).sqrt(), "{variance} against {mean}");
    }

    /// Kolmogorov and Smirnov against the exponential distribution; 1.63 / sqrt(n) is the 1 % point.
    #[test]
    fn gaps_are_exponential() {
        let at = arrivals(0.5);
        let mut gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = |(i, gap): (usize, &f64)| {
            let share = 1.0 - (-0.5 * gap).exp();
            (share - i as f64 / n).abs().max((share - (i + 1) as f64 / n).abs())
        };
        let farthest = gaps.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(n > 15_000.0 && farthest < 1.63 / n.sqrt(), "{farthest} of {n}");
    }

    #[test]
    fn too_many_arrivals_are_told_by_one_more() {
        let mut stream = Stream::new(3, "x");
        assert_eq!(poisson(1e9, Time(0), Time(u64::MAX), 10, &mut stream).len(), 11);
    }
}
