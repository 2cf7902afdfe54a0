//! Bursts of losses by a chain of two states (E. N. Gilbert: Capacity of a burst-noise channel, Bell System
//! Technical Journal 39, 1960; E. O. Elliott: Estimates of error rates for codes on burst-noise channels,
//! Bell System Technical Journal 42, 1963). In these papers a step of the chain is a bit; here it is a
//! packet.

use bentpipe_cc::Time;

use crate::keys::table::keys;
use crate::link::random::Stream;
use crate::loss::kind::{LossRule, PlannedLoss};

keys! {
    /// A channel with a good and a bad state, which may change with each packet (Gilbert 1960, Elliott 1963).
    #[derive(Copy)]
    pub struct GilbertElliott {
        /// Probability of going from good to bad.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub p: f64,
        /// Probability of going from bad to good.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub r: f64,
        /// Loss probability in the good state.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        pub good_loss: f64,
        /// Loss probability in the bad state.
        #[serde(default = "certain")]
        #[schemars(range(min = 0.0, max = 1.0))]
        pub bad_loss: f64,
    }
}

fn certain() -> f64 {
    1.0
}

impl PlannedLoss for GilbertElliott {
    /// The chain starts in its stationary state: bad with probability p / (p + r).
    fn start(&self, random: &mut Stream) -> Box<dyn LossRule> {
        let GilbertElliott { p, r, .. } = *self;
        let bad = p > 0.0 && random.uniform() <= p / (p + r);
        Box::new(Chain { of: *self, bad })
    }
}

#[derive(Debug)]
struct Chain {
    of: GilbertElliott,
    bad: bool,
}

impl LossRule for Chain {
    fn strikes(&mut self, _: Time, _: u16, random: &mut Stream) -> bool {
        let GilbertElliott { p, r, good_loss, bad_loss } = self.of;
        let (rate, leave) = if self.bad { (bad_loss, r) } else { (good_loss, p) };
        let mut happens = |probability: f64| probability > 0.0 && random.uniform() <= probability;
        let struck = happens(rate);
        self.bad ^= happens(leave);
        struck
    }
}
