//! The module of TCP-STAR that estimates the available bandwidth.
//!
//! H. Obata et al.: TCP-STAR, section 3: "if there is a bandwidth estimation method which accuracy is better than
//! ABE, TCP-STAR can use it instead of ABE". These are the estimates of the protocols that the paper names, each by
//! the rules of its own paper, and the rate sample of a sender.

use crate::algorithms::abe::Abe;
use crate::algorithms::jersey::SlidingRate;
use crate::algorithms::prelude::*;
use crate::algorithms::westwood::Bandwidth;
use crate::algorithms::westwood_plus::RoundRate;

/// The parameter that chooses.
pub(crate) const ESTIMATOR: Param =
    Param::choice("estimator", &["abe", "westwood", "westwood-plus", "jersey", "delivery-rate"]).about(
        "the estimate of the available bandwidth: ABE of TCP-J (paper), Westwood's, Westwood+'s or Jersey's rate of ACKs, or the largest delivery rate of ten round trips",
    );

/// Round trips over which the delivery rate is the largest, as in BBR.
const ROUNDS: usize = 10;

/// An estimate of the available bandwidth, segments per second.
#[derive(Clone, Debug)]
pub(crate) enum Estimator {
    /// TCP-J's (eq. 2 and 3).
    Abe(Abe),
    /// Westwood's b^.
    Westwood(Bandwidth),
    /// Westwood+'s bw.
    WestwoodPlus(RoundRate),
    /// Jersey's R_n, which looks one round trip back.
    Jersey(SlidingRate),
    /// The largest delivery rate of each of the last round trips, in a ring; samples that the application limits
    /// count only where they are larger.
    DeliveryRate([f64; ROUNDS]),
}

impl Estimator {
    /// The estimate that [`ESTIMATOR`] in `args` chooses, 0 at first.
    pub(crate) fn new(args: &Args) -> Self {
        match args.choice(ESTIMATOR.name) {
            "westwood" => Self::Westwood(Bandwidth::published()),
            "westwood-plus" => Self::WestwoodPlus(RoundRate::published()),
            "jersey" => Self::Jersey(SlidingRate::default()),
            "delivery-rate" => Self::DeliveryRate([0.0; ROUNDS]),
            _ => Self::Abe(Abe::new(args)),
        }
    }

    /// Does it use the rate samples of the sender?
    pub(crate) fn needs_rate(&self) -> bool {
        matches!(self, Self::DeliveryRate(_))
    }

    /// Takes an ACK.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) {
        match self {
            Self::Abe(abe) => abe.observe(flow, ack),
            Self::Westwood(bandwidth) => bandwidth.observe(flow, ack),
            Self::WestwoodPlus(rate) => rate.observe(flow, ack),
            Self::Jersey(sliding) => {
                if let Some(rtt) = flow.rtt.filter(|_| ack.acked > 0) {
                    sliding.add(ack.segments(flow), flow.now, rtt.smoothed.secs());
                }
            }
            Self::DeliveryRate(rounds) => {
                let slot = flow.round as usize % ROUNDS;
                if ack.round_end {
                    rounds[slot] = 0.0; // the round that begins takes the place of the oldest
                }
                if let Some(sample) = ack.rate {
                    let rate = sample.rate.0 as f64 / f64::from(flow.mss.max(1));
                    let largest = rounds.iter().copied().fold(0.0, f64::max);
                    if !sample.app_limited || rate > largest {
                        rounds[slot] = rounds[slot].max(rate);
                    }
                }
            }
        }
    }

    /// The next ACK only starts the clock.
    pub(crate) fn pause(&mut self) {
        match self {
            Self::Abe(abe) => abe.pause(),
            Self::Jersey(sliding) => sliding.pause(),
            Self::Westwood(_) | Self::WestwoodPlus(_) | Self::DeliveryRate(_) => {}
        }
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::Abe(abe) => abe.reset(),
            Self::Westwood(bandwidth) => *bandwidth = Bandwidth::published(),
            Self::WestwoodPlus(rate) => *rate = RoundRate::published(),
            Self::Jersey(sliding) => *sliding = SlidingRate::default(),
            Self::DeliveryRate(rounds) => *rounds = [0.0; ROUNDS],
        }
    }

    /// Takes back a reset: the rate of `before`. ABE's clock goes on.
    pub(crate) fn restore(&mut self, before: Self) {
        match (self, before) {
            (Self::Abe(abe), Self::Abe(before)) => abe.restore(&before),
            (this, before) => *this = before,
        }
    }

    /// The rate, segments per second.
    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Abe(abe) => abe.rate(),
            Self::Westwood(bandwidth) => bandwidth.rate(),
            Self::WestwoodPlus(rate) => rate.rate(),
            Self::Jersey(sliding) => sliding.rate,
            Self::DeliveryRate(rounds) => rounds.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The rate times Rmin: the window that it allows, in segments (eq. 5); 0 before the first RTT sample.
    pub(crate) fn window(&self, flow: &Flow) -> f64 {
        flow.rtt.map_or(0.0, |rtt| self.rate() * rtt.min.secs())
    }
}

#[cfg(test)]
mod tests {
    use crate::rig::{Rig, near, probe, text};

    /// ACKs of one segment at a constant rate, one round trip of 0.5 s after the other: every estimate comes to it.
    #[test]
    fn each_estimate_comes_to_the_rate_of_the_acks() {
        for choice in ["abe", "westwood", "westwood-plus", "jersey"] {
            let mut rig = Rig::new("star", &[("estimator", text(choice))], 10.0, 2.0);
            for ack in 0..1000 {
                rig.ack(1.0, 0.01, 0.5, ack % 50 == 49);
            }
            near(probe(&*rig.cc, "bw_segments_per_s") / 100.0, 1.0, 0.03);
        }
        assert!(Rig::new("star", &[("estimator", text("delivery-rate"))], 10.0, 2.0).cc.needs().rate);
        assert!(!Rig::new("star", &[], 10.0, 2.0).cc.needs().rate);
    }
}
