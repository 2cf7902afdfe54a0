//! A transmitter sends packets bit by bit: when it is free, and how long a packet takes.

/// The latest end of a transmission, 292 years. No run lasts that long, and all sums of times fit.
const LATEST: u64 = u64::MAX >> 1;

/// A transmitter.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Bits per second; 0 for none.
    pub(crate) rate: u64,
    /// The instant at which every packet that it has taken will have been sent.
    pub(crate) free_at: u64,
    /// Time spent transmitting, transmissions beyond the present included.
    pub(crate) busy: u64,
    /// Remainder of the last transmission time, in units of 1/rate nanoseconds, so that rounding errors do
    /// not accumulate.
    carry: u64,
    /// The size of the last packet, its transmission time, and the remainder in units of 1/rate nanoseconds.
    /// Most packets have the size of the one before, and a 64-bit division costs more than all else at a hop.
    size: u16,
    whole: u64,
    rest: u64,
}

impl Transmitter {
    /// A transmitter of `rate` bits per second.
    pub(crate) fn new(rate: u64) -> Self {
        Self { rate, free_at: 0, busy: 0, carry: 0, size: 0, whole: 0, rest: 0 }
    }

    /// Sends `size` bytes from `begin` on. Returns the end of their transmission.
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

    /// From now on all packets are of this size. Returns the time of each, if it is a whole number of nanoseconds above 0.
    pub(crate) fn repeat(&mut self, size: u16) -> Option<u64> {
        self.learn(size);
        (self.rest == 0 && self.whole > 0).then_some(self.whole)
    }

    /// The time that [`Transmitter::repeat`] returned.
    pub(crate) fn time_alike(&self) -> u64 {
        self.whole.max(1)
    }

    /// The size for which [`Transmitter::repeat`] was called.
    pub(crate) fn size_alike(&self) -> u16 {
        self.size
    }

    /// Sends one more packet of that size from `begin` on. Returns the end of its transmission, which is
    /// before the end of the clock.
    #[inline(always)]
    pub(crate) fn send_alike(&mut self, begin: u64) -> u64 {
        self.free_at = begin + self.whole;
        self.busy += self.whole;
        self.free_at
    }

    /// How many packets of equal size wait at `now`: those that begin later, one after the other until the
    /// transmitter is free.
    pub(crate) fn waiting(&self, now: u64) -> u64 {
        self.free_at.saturating_sub(now).saturating_sub(1).checked_div(self.whole).unwrap_or(0)
    }

    /// Sum of the times that these packets will wait.
    pub(crate) fn to_wait(&self, now: u64) -> u128 {
        let many = u128::from(self.waiting(now));
        // The last packet waits for all before it, each other one for one packet less.
        many * u128::from(self.free_at.saturating_sub(now)) - u128::from(self.whole) * (many * (many + 1) / 2)
    }

    #[inline(never)]
    fn learn(&mut self, size: u16) {
        self.size = size;
        (self.whole, self.rest) = self.time(size);
    }

    /// How long `size` bytes take, ns, and the remainder in 1/rate nanoseconds.
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

        #[test]
        fn what_waits_follows_from_when_it_is_free(
            gaps in prop::collection::vec(0_u64..3_000_000, 1..40),
            later in 0_u64..30_000_000,
        ) {
            // 1500 bytes at 12 Mbit/s take 1 ms.
            let (mut transmitter, mut now, mut begins) = (Transmitter::new(12_000_000), 0, Vec::new());
            prop_assert_eq!(transmitter.repeat(1500), Some(1_000_000));
            for gap in gaps {
                now += gap;
                let begin = transmitter.free_at.max(now);
                begins.push(begin);
                prop_assert_eq!(transmitter.send_alike(begin), begin + 1_000_000);
                for now in [now, now + later] {
                    let waits = || begins.iter().filter(|&&begin| begin > now);
                    prop_assert_eq!(transmitter.waiting(now), waits().count() as u64);
                    prop_assert_eq!(transmitter.to_wait(now), waits().map(|begin| u128::from(begin - now)).sum());
                }
            }
        }
    }

    #[test]
    fn parts_of_nanoseconds_are_not_repeated() {
        assert_eq!(Transmitter::new(622_080_000).repeat(1500), None);
        assert_eq!(Transmitter::new(0).repeat(1500), None);
    }
}
