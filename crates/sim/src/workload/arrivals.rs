//! Connections that open one after the other, at the instants of a Poisson process: the times between them
//! are independent and exponential.

use bentpipe_cc::Time;

use crate::keys::error::Error;
use crate::link::random::Stream;
use crate::workload::context::TrafficContext;
use crate::workload::laws::{Sizes, exponential};

/// Most connections of a run.
pub(crate) const MAX_FLOWS: u64 = 100_000;

/// A source that opens several connections and has one row in the report: a source of short flows, or a
/// browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    /// Unique name.
    pub name: String,
    /// When it begins to open connections.
    pub start: Time,
    /// When it opens no more.
    pub stop: Time,
}

/// The part of a source of short flows that is the same for all its copies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShortFlowsPlan {
    pub(super) often: Often,
    pub(super) sizes: Sizes,
}

/// How often a connection opens on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Often {
    /// This many a second.
    PerSecond(f64),
    /// So that the payload is this part of the rate of the slowest link.
    Load(f64),
}

impl ShortFlowsPlan {
    /// Connections per second on a path whose slowest link has `slowest_bps` bits per second at the start.
    pub(crate) fn per_second(&self, slowest_bps: u64, context: &TrafficContext<'_>) -> Result<f64, Error> {
        let load = match self.often {
            Often::PerSecond(rate) => return Ok(rate),
            Often::Load(load) => load,
        };
        let rate = load * slowest_bps as f64 / (8.0 * self.sizes.mean());
        if rate > 0.0 && rate.is_finite() {
            return Ok(rate);
        }
        let message = if self.sizes.mean().is_infinite() {
            "the mean size has no bound, so that no rate makes this load; write per_second instead, \
             or add most to the size"
        } else {
            "the slowest link of the path has no rate at the start; write per_second instead"
        };
        Err(context.error("load", message))
    }

    /// The connections that a source opens, `per_second` on average: their starts, and their sizes in bytes.
    /// The run has this seed, and this end.
    pub(crate) fn connections(
        &self,
        source: &Opener,
        (seed, end): (u64, Time),
        per_second: f64,
        context: &TrafficContext<'_>,
    ) -> Result<Vec<(Time, u64)>, Error> {
        let stream = |what: &str| Stream::new(seed, &format!("flow/{}/{what}", source.name));
        let (start, until) = (source.start, source.stop.min(end));
        let expected = per_second * until.since(start).secs();
        let arrivals = match expected > 2.0 * MAX_FLOWS as f64 {
            true => Vec::new(),
            false => poisson(per_second, start, until, MAX_FLOWS as usize, &mut stream("arrivals")),
        };
        if expected > 2.0 * MAX_FLOWS as f64 || arrivals.len() > MAX_FLOWS as usize {
            let message = format!(
                "this opens about {expected:.0} connections; a run has at most {MAX_FLOWS} flows; choose fewer a second"
            );
            let given = if matches!(self.often, Often::Load(_)) { "load" } else { "per_second" };
            return Err(context.error(given, message));
        }
        let mut draws = stream("size");
        Ok(arrivals.into_iter().map(|at| (at, self.sizes.draw(&mut draws))).collect())
    }
}

/// The instants of arrivals from `from` to `until`, on average `per_second` a second; at most `most`, and one
/// more if there are more.
fn poisson(per_second: f64, from: Time, until: Time, most: usize, stream: &mut Stream) -> Vec<Time> {
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

    /// Mean and variance of the counts of a second are both the rate. Their standard errors over n seconds
    /// are sqrt(5/n) for the mean, and for the ratio of variance to mean sqrt(2/n) and a little more.
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
