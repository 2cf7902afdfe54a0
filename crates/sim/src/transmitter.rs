//! What sends packets bit by bit: when it is free, and how long a packet takes.

/// What would be sent later than this, 292 years, is taken to be sent then: no run lasts as long, and all sums of times fit.
const LATEST: u64 = u64::MAX >> 1;

/// A transmitter.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Bits per second; 0 for none.
    pub(crate) rate: u64,
    /// When all that it has taken will have been sent.
    pub(crate) free_at: u64,
    /// Time spent transmitting, including what has been promised beyond the present.
    pub(crate) busy: u64,
    /// Remainder of the last transmission time, in 1/rate nanoseconds, so that rounding does not add up.
    carry: u64,
    /// The size of the last packet, its transmission time, and what that leaves in 1/rate nanoseconds. Most packets are as large
    /// as the one before, and a 64-bit division is dearer than all else at a hop.
    size: u16,
    whole: u64,
    rest: u64,
}

impl Transmitter {
    /// One of `rate` bits per second.
    pub(crate) fn new(rate: u64) -> Self {
        Self { rate, free_at: 0, busy: 0, carry: 0, size: 0, whole: 0, rest: 0 }
    }

    /// Sends `size` bytes from `begin` on. Returns when that is done.
    #[inline(always)]
    pub(crate) fn send(&mut self, begin: u64, size: u16) -> u64 {
        if size != self.size {
            self.learn(size);
        }
        let carry = self.carry + self.rest;
        let over = carry >= self.rate;
        self.carry = if over { carry - self.rate } else { carry };
        let time = self.whole + u64::from(over);
        self.free_at = (begin + time).min(LATEST);
        self.busy += self.free_at - begin;
        self.free_at
    }

    #[inline(never)]
    fn learn(&mut self, size: u16) {
        self.size = size;
        (self.whole, self.rest) = self.time(size);
    }

    /// How long `size` bytes take, ns, and what that leaves in 1/rate nanoseconds.
    pub(crate) fn time(&self, size: u16) -> (u64, u64) {
        let work = u64::from(size) * 8 * 1_000_000_000;
        (work.checked_div(self.rate).unwrap_or(0), work.checked_rem(self.rate).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_last_bit_leaves_when_all_bits_have_had_their_time(
            rate in prop_oneof![1_u64..100, 1_000_u64..10_000_000_000, Just(622_080_000), Just(1_000_000_000_000)],
            sizes in prop::collection::vec(prop_oneof![Just(40_u16), Just(1500), 1_u16..u16::MAX], 1..300),
        ) {
            let mut transmitter = Transmitter::new(rate);
            let mut bits = 0;
            for size in sizes {
                bits += u128::from(size) * 8;
                transmitter.send(transmitter.free_at, size);
                prop_assert_eq!(u128::from(transmitter.free_at), bits * 1_000_000_000 / u128::from(rate));
            }
            prop_assert_eq!(transmitter.busy, transmitter.free_at);
        }
    }
}
