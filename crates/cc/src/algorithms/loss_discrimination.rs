//! The Loss Discrimination Algorithm (LDA) of TCP-WestwoodBR, which TCP-STAR's authors consider for theirs: was a
//! loss an error of the channel, or congestion?
//!
//! H. Obata et al.: TCP-STAR, sections 4.3 and 5. A reconstruction, with unverified thresholds (westwood_br.rs): the
//! spike scheme (Tobe, Cen) is in its congested state from an RTT above RTTmin + `enter` (RTTmax - RTTmin) until one
//! below RTTmin + `leave` (RTTmax - RTTmin). A loss is an error unless that state is on and the rate estimate times
//! RTTmin is no more than `gap` W.

use crate::algorithms::prelude::*;

/// Where congestion begins.
pub(crate) const ENTER: Param = Param::number("enter", 0.4, 0.0..=1.0)
    .unit("1")
    .about("an RTT this far from RTTmin to RTTmax says congestion; unverified, 1/2 in Cen's scheme");
/// Where it ends.
pub(crate) const LEAVE: Param = Param::number("leave", 0.05, 0.0..=1.0)
    .unit("1")
    .about("an RTT below this point between RTTmin and RTTmax ends it; unverified, 1/3 in Cen's scheme");
/// What the rate says.
pub(crate) const GAP: Param = Param::number("gap", 0.8, 0.0..=10.0)
    .unit("1")
    .about("a rate estimate of more than this share of the window says error; unverified");

/// The state of the algorithm. The queue must have been full once: before that RTTmax is too small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossDiscrimination {
    enter: f64,
    leave: f64,
    gap: f64,
    /// Largest RTT so far, seconds.
    pub(crate) rtt_max: f64,
    /// The spike scheme's state.
    pub(crate) congested: bool,
}

impl LossDiscrimination {
    /// With the parameters [`ENTER`], [`LEAVE`] and [`GAP`] of `args`.
    pub(crate) fn new(args: &Args) -> Self {
        let [enter, leave, gap] = [ENTER, LEAVE, GAP].map(|param| args.number(param.name));
        Self { enter, leave, gap, rtt_max: 0.0, congested: false }
    }

    /// Takes the RTT of an ACK; RTTmin is `min` seconds.
    pub(crate) fn observe(&mut self, ack: &Ack, min: f64) {
        let Some(rtt) = ack.rtt else { return };
        self.rtt_max = self.rtt_max.max(rtt.max.secs());
        let place = rtt.latest.secs() - min;
        let range = (self.rtt_max - min).max(0.0);
        if place > self.enter * range {
            self.congested = true;
        } else if place < self.leave * range {
            self.congested = false;
        }
    }

    /// Is a loss at a window of `cwnd` segments an error? `estimate`: the window by the rate estimate, segments.
    pub(crate) fn error(&self, estimate: f64, cwnd: f64) -> bool {
        !self.congested || estimate > self.gap * cwnd
    }
}
