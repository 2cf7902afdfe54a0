//! The exponential law, of sizes and of lengths of time.

use bentpipe_cc::Span;

use crate::keys::table::keys;
use crate::keys::units::{Duration, Size};
use crate::link::random::Stream;
use crate::workload::laws::kind::{Law, MeanLaw, WrongKey};
use crate::workload::laws::{not_empty, whole};

keys! {
    /// Sizes of an exponential law.
    pub struct ExponentialSizes {
        /// Mean.
        #[schemars(extend("examples" = ["100 kB"]))]
        pub mean: Size,
    }

    /// Lengths of time of an exponential law.
    pub struct ExponentialLengths {
        /// Mean.
        #[schemars(extend("examples" = ["5 s"]))]
        pub mean: Duration,
    }
}

impl Law<u64> for ExponentialSizes {
    fn check(&self) -> Result<(), WrongKey> {
        not_empty("mean", self.mean)
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        whole(self.mean() * unit_exponential(stream))
    }
}

impl MeanLaw<u64> for ExponentialSizes {
    fn mean(&self) -> f64 {
        self.mean.0 as f64
    }
}

impl Law<Span> for ExponentialLengths {
    fn draw(&self, stream: &mut Stream) -> Span {
        exponential(self.mean(), stream)
    }
}

impl MeanLaw<Span> for ExponentialLengths {
    fn mean(&self) -> f64 {
        self.mean.0.0 as f64
    }
}

/// An exponential length of time with a mean of `mean_ns` nanoseconds.
pub(crate) fn exponential(mean_ns: f64, stream: &mut Stream) -> Span {
    Span(libm::round((mean_ns * unit_exponential(stream)).min(9e18)) as u64)
}

fn unit_exponential(stream: &mut Stream) -> f64 {
    -libm::log(stream.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::laws::tests::{at, drawn, mean};

    /// Quantiles computed by hand: -ln(1/2) and -ln(1/10) of the mean.
    #[test]
    fn exponential_sizes_have_their_quantiles() {
        let found = drawn(&ExponentialSizes { mean: Size(1_000_000) });
        for (share, exact) in [(0.5, 0.693_147e6), (0.9, 2.302_585e6)] {
            assert!((at(&found, share) / exact - 1.0).abs() < 0.02, "{share}: {}", at(&found, share));
        }
        assert!((mean(&found) / 1e6 - 1.0).abs() < 0.01, "{}", mean(&found));
    }
}
