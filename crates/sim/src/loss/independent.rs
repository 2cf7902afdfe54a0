//! Independent errors at one rate, of packets or of bits. The gap to the next error is drawn, which is exact
//! for packets of any size and costs one draw per error.

use bentpipe_cc::Time;

use crate::keys::table::keys;
use crate::link::random::Stream;
use crate::loss::kind::{LossRule, Per, PlannedLoss};

/// Makes the keys of independent errors. A line: their name, what they strike, and what users read
/// of them and of their rate.
macro_rules! independent_errors {
    ($($name:ident per $per:ident: $about:literal, $rate:literal;)*) => {$(
        keys! {
            #[doc = $about]
            #[derive(Copy)]
            pub struct $name {
                #[doc = $rate]
                #[schemars(range(min = 0.0, max = 1.0))]
                pub rate: f64,
            }
        }

        impl PlannedLoss for $name {
            fn independent(&self) -> Option<(Per, f64)> {
                Some((Per::$per, self.rate))
            }

            fn rate_mut(&mut self) -> Option<&mut f64> {
                Some(&mut self.rate)
            }

            fn start(&self, random: &mut Stream) -> Box<dyn LossRule> {
                Box::new(Errors { per: Per::$per, rate: self.rate, left: random.run_length(self.rate) })
            }
        }
    )*};
}

independent_errors! {
    PacketError per Packet: "Each packet is lost with probability `rate`, independently of the others.", "Packet error rate.";
    BitError per Bit:
        "Each bit is in error with probability `rate`. A packet with an error is lost: one of n bits with probability 1 - (1 - `rate`)^n.",
        "Bit error rate.";
}

#[derive(Debug)]
struct Errors {
    per: Per,
    rate: f64,
    /// Packets or bits that pass before the next error.
    left: u64,
}

impl LossRule for Errors {
    fn strikes(&mut self, _: Time, size: u16, random: &mut Stream) -> bool {
        let trials = match self.per {
            Per::Packet => 1,
            Per::Bit => u64::from(size) * 8,
        };
        if self.left >= trials {
            self.left -= trials;
            return false;
        }
        self.left = random.run_length(self.rate);
        true
    }

    /// If the rate changes, the next gap is drawn anew, because gaps have no memory.
    fn set_rate(&mut self, rate: f64, random: &mut Stream) {
        if self.rate != rate {
            self.rate = rate;
            self.left = random.run_length(rate);
        }
    }
}
