//! AvgRTT of SCPS-TP and HSWA-TCP (X. Ge, F. Y. Li, F. Reichert, section II): the mean of a round, or of all
//! segments "until currently transmitted".

use crate::algorithms::prelude::*;
use crate::report::RttSample;

/// The parameter.
pub(crate) const AVERAGE: Param = Param::choice("average", &["round", "connection"])
    .about("AvgRTT is the mean of the last round, or of the whole connection (section II: 'until currently transmitted segments')");

/// Over what the mean is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AvgRtt {
    /// The samples of a round.
    Round,
    /// All samples so far: their sum in seconds, and their number.
    Connection { sum: f64, count: f64 },
}

impl AvgRtt {
    /// From the parameter.
    pub(crate) fn new(args: &Args) -> Self {
        if args.is(AVERAGE.name, "connection") {
            Self::Connection { sum: 0.0, count: 0.0 }
        } else {
            Self::Round
        }
    }

    /// Adds what `ack` samples.
    pub(crate) fn observe(&mut self, ack: &Ack) {
        if let (Self::Connection { sum, count }, Some(rtt)) = (self, &ack.rtt) {
            *sum += rtt.sum.secs();
            *count += f64::from(rtt.count);
        }
    }

    /// AvgRTT in seconds, when a round with these samples has ended.
    pub(crate) fn after(&self, round: &RttSample) -> f64 {
        match self {
            Self::Round => round.mean_secs(),
            Self::Connection { sum, count } => sum / count.max(1.0),
        }
    }
}
