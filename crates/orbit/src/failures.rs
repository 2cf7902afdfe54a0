//! Satellites, lasers and stations that fail for a time.
//!
//! A part fails at one instant, and routes avoid it from another on, when the network has detected that. What
//! is sent over it between the two is lost; to lose it is the work of a simulator of packets, and this crate
//! lists the parts with their times. After the end of a failure routes avoid the part until that is detected,
//! too.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

use crate::error::{OrbitError, within, wrong};
use crate::request::nanoseconds;
use crate::trees::Grid;

/// A failure: what fails, exactly one of `satellite`, `laser`, `station` and `share`, and when.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// A satellite, by index.
    pub satellite: Option<u32>,
    /// A laser, by its two satellites.
    pub laser: Option<(u32, u32)>,
    /// A station, by its place in the request.
    pub station: Option<u32>,
    /// A share of all satellites or of all lasers, from 0 to 1, which are drawn.
    pub share: Option<f64>,
    /// What the share is drawn from.
    pub of: Option<Population>,
    /// The seed of the draw.
    #[serde(default)]
    pub seed: u64,
    /// The instant at which it fails, s.
    #[serde(default)]
    pub from_s: f64,
    /// The instant at which it works again, s. By default it never does.
    pub to_s: Option<f64>,
    /// For how long neither is known to the routes, s.
    #[serde(default)]
    pub detect_s: f64,
}

/// What a share is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Population {
    /// All satellites.
    Satellites,
    /// All lasers.
    Lasers,
}

/// A part of a network that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedPart {
    /// A satellite or a station, by its node.
    Node(u32),
    /// A laser, by its place among those of the network.
    Laser(u32),
}

/// A part that fails, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What fails.
    pub part: FailedPart,
    /// From which instant on, ns.
    pub from_ns: i64,
    /// Until when, ns; that of the end of the run, if it never works again.
    pub to_ns: i64,
}

/// All failures of a run.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// In the order of the request; those of a share by number.
    pub(crate) failed: Vec<Failed>,
    /// Nodes that routes avoid, from when and until when, ns.
    nodes: Vec<(u32, i64, i64)>,
    /// The same of lasers, by their number in the grid.
    lasers: Vec<(u32, i64, i64)>,
}

/// What routes avoid at an instant.
#[derive(Debug)]
pub(crate) struct Avoided {
    /// By node.
    pub(crate) nodes: Vec<bool>,
    /// By laser of the grid.
    pub(crate) lasers: Vec<bool>,
}

impl Failures {
    /// The failures of a request. `counts`: the numbers of satellites and stations; `pairs`: the lasers.
    ///
    /// # Errors
    /// A failure of nothing, of several things, or of what the network does not have; a time out of its range.
    pub(crate) fn new(
        asked: &[Failure],
        counts: (u32, u32),
        pairs: &[(u32, u32)],
        grid: &Grid,
        duration_ns: i64,
    ) -> Result<Self, OrbitError> {
        let mut all = Self::default();
        for (index, failure) in asked.iter().enumerate() {
            let key = format!("failures[{index}]");
            within(&format!("{key}.from_s"), failure.from_s, 0.0, LATEST_S)?;
            within(&format!("{key}.detect_s"), failure.detect_s, 0.0, LATEST_S)?;
            let (from_ns, detect_ns) = (nanoseconds(failure.from_s), nanoseconds(failure.detect_s));
            let mut to_ns = i64::MAX;
            if let Some(to_s) = failure.to_s {
                within(&format!("{key}.to_s"), to_s, 0.0, LATEST_S)?;
                to_ns = nanoseconds(to_s);
                if to_ns <= from_ns {
                    return wrong(format!(
                        "{key}.to_s is {to_s}, but must be after from_s, {}",
                        failure.from_s
                    ));
                }
            }
            let times = (from_ns + detect_ns, to_ns.saturating_add(detect_ns));
            for part in failure.parts(&key, counts, pairs)? {
                match part {
                    FailedPart::Node(node) => all.nodes.push((node, times.0, times.1)),
                    FailedPart::Laser(laser) => {
                        all.lasers.push((grid.number(pairs[laser as usize]), times.0, times.1));
                    }
                }
                if from_ns < duration_ns {
                    all.failed.push(Failed { part, from_ns, to_ns: to_ns.min(duration_ns) });
                }
            }
        }
        Ok(all)
    }

    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.lasers.is_empty()
    }

    /// Says what routes avoid at an instant.
    pub(crate) fn avoid(&self, t_ns: i64, avoided: &mut Avoided) {
        for (parts, flags) in [(&self.nodes, &mut avoided.nodes), (&self.lasers, &mut avoided.lasers)] {
            flags.fill(false);
            for &(part, from_ns, to_ns) in parts {
                flags[part as usize] |= (from_ns..to_ns).contains(&t_ns);
            }
        }
    }
}

impl Avoided {
    /// Routes avoid nothing; the network has `nodes` nodes and `lasers` lasers.
    pub(crate) fn nothing(nodes: usize, lasers: usize) -> Self {
        Self { nodes: vec![false; nodes], lasers: vec![false; lasers] }
    }
}

/// Thirty years: no time of a failure is later.
const LATEST_S: f64 = 1e9;

impl Failure {
    /// What fails.
    fn parts(
        &self,
        key: &str,
        (satellites, stations): (u32, u32),
        pairs: &[(u32, u32)],
    ) -> Result<Vec<FailedPart>, OrbitError> {
        if self.of.is_some() && self.share.is_none() {
            return wrong(format!("{key}.of goes with share"));
        }
        let one_of = |name: &str, number: u32, count: u32| match number < count {
            true => Ok(number),
            false => wrong(format!("{key}.{name} is {number}, but must be from 0 to {}", count - 1)),
        };
        match (self.satellite, self.laser, self.station, self.share) {
            (Some(number), None, None, None) => {
                Ok(vec![FailedPart::Node(one_of("satellite", number, satellites)?)])
            }
            (None, Some((a, b)), None, None) => {
                let laser = pairs.iter().position(|pair| *pair == (a, b) || *pair == (b, a));
                laser.map(|laser| vec![FailedPart::Laser(laser as u32)]).ok_or_else(|| {
                    let ends = pairs.iter().filter_map(|&(from, to)| match a {
                        _ if a == from => Some(to),
                        _ if a == to => Some(from),
                        _ => None,
                    });
                    let known: Vec<String> = ends.map(|end| end.to_string()).collect();
                    let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    OrbitError::Request(format!(
                        "{key}.laser: no laser from {a} to {b}; {a} has lasers to {has}"
                    ))
                })
            }
            (None, None, Some(number), None) => {
                Ok(vec![FailedPart::Node(satellites + one_of("station", number, stations)?)])
            }
            (None, None, None, Some(share)) => {
                within(&format!("{key}.share"), share, 0.0, 1.0)?;
                Ok(match self.of {
                    Some(Population::Satellites) => {
                        drawn(share, satellites, self.seed).into_iter().map(FailedPart::Node).collect()
                    }
                    Some(Population::Lasers) => {
                        let lasers = drawn(share, pairs.len() as u32, self.seed);
                        lasers.into_iter().map(FailedPart::Laser).collect()
                    }
                    None => return wrong(format!("{key}.of: share of what? \"satellites\" or \"lasers\"")),
                })
            }
            _ => wrong(format!("{key}: give one of satellite, laser, station, share")),
        }
    }
}

/// A share of the numbers below `count`, rounded to whole ones: drawn without repetition, all alike, and
/// sorted. The generator is PCG (O'Neill, Harvey Mudd College report HMC-CS-2014-0905), so that a seed draws
/// the same on every machine.
fn drawn(share: f64, count: u32, seed: u64) -> Vec<u32> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut numbers: Vec<u32> = (0..count).collect();
    let wanted = libm::round(share * f64::from(count)) as usize;
    for place in 0..wanted {
        // A whole number below what is left (Lemire, ACM TOMACS 29, 3): the high half of a product. It prefers
        // none by more than 2^-32.
        let left = u128::from(count) - place as u128;
        let ahead = ((u128::from(random.next_u64()) * left) >> 64) as usize;
        numbers.swap(place, place + ahead);
    }
    numbers.truncate(wanted);
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four satellites in a ring and two stations; lasers are in no order.
    fn failures(asked: &[Failure]) -> Result<Failures, OrbitError> {
        let pairs = [(3, 0), (1, 2), (0, 1), (2, 3)];
        Failures::new(asked, (4, 2), &pairs, &Grid::new(4, &pairs), 100_000_000_000)
    }

    #[test]
    fn routes_avoid_what_has_failed_once_they_know() {
        let satellite = Failure {
            satellite: Some(2),
            from_s: 10.0,
            to_s: Some(20.0),
            detect_s: 3.0,
            ..Failure::default()
        };
        let laser = Failure { laser: Some((0, 3)), from_s: 15.0, ..Failure::default() };
        let station = Failure { station: Some(1), from_s: 200.0, ..Failure::default() };
        let all = failures(&[satellite, laser, station]).expect("failures");
        let at = |part, from_s: i64, to_s: i64| Failed {
            part,
            from_ns: from_s * 1_000_000_000,
            to_ns: to_s * 1_000_000_000,
        };
        // Packets are lost from the failure on; the station fails after the end of the run.
        assert_eq!(all.failed, [at(FailedPart::Node(2), 10, 20), at(FailedPart::Laser(0), 15, 100)]);
        let mut avoided = Avoided::nothing(6, 4);
        let mut seen = Vec::new();
        for t_s in [12, 13, 15, 22, 23, 99] {
            all.avoid(t_s * 1_000_000_000, &mut avoided);
            assert_eq!(avoided.nodes.iter().filter(|down| **down).count(), usize::from(avoided.nodes[2]));
            seen.push((avoided.nodes[2], avoided.lasers.iter().any(|down| *down)));
        }
        assert_eq!(
            seen,
            [(false, false), (true, false), (true, true), (true, true), (false, true), (false, true)]
        );
    }

    #[test]
    fn a_share_is_drawn_alike() {
        // Each of 20 satellites is among a quarter of them in a quarter of 4,000 draws, within 4.5 standard
        // deviations, sqrt(4000 x 0.25 x 0.75) = 27.4.
        let mut often = [0_u32; 20];
        for seed in 0..4_000 {
            let numbers = drawn(0.25, 20, seed);
            assert_eq!(numbers.len(), 5);
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
            numbers.iter().for_each(|number| often[*number as usize] += 1);
        }
        assert!(often.iter().all(|count| count.abs_diff(1_000) < 123), "{often:?}");
        // As a program in Python draws with PCG XSL RR 128/64 (MCG), seeded as rand_core does.
        assert_eq!(drawn(0.25, 20, 7), [6, 8, 10, 13, 18]);
        assert_eq!((drawn(0.0, 20, 1).len(), drawn(1.0, 20, 1).len()), (0, 20));
    }

    #[test]
    fn wrong_failures_are_named() {
        let said = |one: Failure| failures(&[one]).expect_err("an error").to_string();
        let none = Failure::default;
        assert_eq!(said(none()), "failures[0]: give one of satellite, laser, station, share");
        assert_eq!(
            said(Failure { satellite: Some(4), ..none() }),
            "failures[0].satellite is 4, but must be from 0 to 3"
        );
        assert_eq!(
            said(Failure { laser: Some((1, 3)), ..none() }),
            "failures[0].laser: no laser from 1 to 3; 1 has lasers to 2, 0"
        );
        assert_eq!(
            said(Failure { station: Some(2), ..none() }),
            "failures[0].station is 2, but must be from 0 to 1"
        );
        assert_eq!(
            said(Failure { share: Some(0.1), ..none() }),
            "failures[0].of: share of what? \"satellites\" or \"lasers\""
        );
        assert_eq!(
            said(Failure { satellite: Some(1), from_s: 5.0, to_s: Some(5.0), ..none() }),
            "failures[0].to_s is 5, but must be after from_s, 5"
        );
    }
}
