//! A transmitter sends packets bit by bit: when it is free, and how long a packet takes.

use crate::link::slots::Slots;
use crate::link::time_line::LATEST;
use crate::link::varying_rate::VaryingRate;

/// The transmitter of one direction.
#[derive(Debug)]
pub(super) struct Transmitter {
    /// The instant at which every packet that it has taken will have been sent.
    pub(super) free_at: u64,
    /// Time spent transmitting, transmissions beyond the present included.
    pub(super) busy: u64,
    rate: SendingRate,
}

/// How fast a transmitter sends.
#[derive(Debug)]
pub(super) enum SendingRate {
    Fixed(FixedRate),
    /// A packet takes no time.
    Instant,
    Varying(Box<VaryingRate>),
    /// It sends only at opportunities, which `departures.rs` uses.
    Slots(Box<Slots>),
}

impl Transmitter {
    pub(super) fn new(rate: SendingRate) -> Self {
        Self { free_at: 0, busy: 0, rate }
    }

    /// Sends `size` bytes from `begin` on, or until the handover at `cut`. Returns the end of their
    /// transmission. Bytes of an opportunity have been sent by `begin`.
    #[inline(always)]
    pub(super) fn send(&mut self, begin: u64, size: u16, cut: Option<u64>) -> u64 {
        let sent = match &mut self.rate {
            SendingRate::Fixed(rate) => rate.send(begin, size),
            SendingRate::Varying(rate) => rate.send(begin, size, cut),
            SendingRate::Instant | SendingRate::Slots(_) => return begin,
        };
        self.occupy(begin, sent - begin)
    }

    /// The same, if it is free at `begin`, has a fixed rate, and has sent `size` bytes before.
    #[inline(always)]
    pub(super) fn send_alike(&mut self, begin: u64, size: u16) -> Option<u64> {
        let SendingRate::Fixed(rate) = &mut self.rate else { return None };
        if self.free_at > begin || rate.size != size {
            return None;
        }
        let sent = rate.send(begin, size);
        Some(self.occupy(begin, sent - begin))
    }

    /// How long the last packet takes alone at the rate of its last bit, ns; `None` if a handover cut it
    /// short.
    pub(super) fn last_alone(&self) -> Option<u64> {
        match &self.rate {
            SendingRate::Fixed(rate) => Some(rate.whole),
            SendingRate::Varying(rate) => rate.last_alone,
            SendingRate::Instant | SendingRate::Slots(_) => Some(0),
        }
    }

    /// Sends a packet that takes `time` from `begin` on. Returns the end of its transmission.
    #[inline(always)]
    pub(super) fn occupy(&mut self, begin: u64, time: u64) -> u64 {
        self.free_at = begin + time;
        self.busy += time;
        self.free_at
    }

    /// The mean rate in bits per second since it became free, if its rate changes and that was before `now`.
    pub(super) fn mean_rate(&self, now: u64) -> Option<u64> {
        match &self.rate {
            SendingRate::Varying(rate) if self.free_at < now => Some(rate.mean_rate(self.free_at, now)),
            _ => None,
        }
    }

    /// The opportunities, if it sends only then.
    pub(super) fn opportunities(&mut self) -> Option<&mut Slots> {
        if let SendingRate::Slots(slots) = &mut self.rate { Some(slots) } else { None }
    }

    /// The same, read only.
    pub(super) fn peek_opportunities(&self) -> Option<&Slots> {
        if let SendingRate::Slots(slots) = &self.rate { Some(slots) } else { None }
    }

    /// The time that every packet of `size` bytes takes, ns; `None` if it is not the same for all.
    pub(super) fn exact_time(&self, size: u16) -> Option<u64> {
        match &self.rate {
            SendingRate::Instant => Some(0),
            SendingRate::Fixed(rate) => {
                Some(rate.alone(size)).filter(|&(_, rest)| rest == 0).map(|(whole, _)| whole)
            }
            SendingRate::Varying(_) | SendingRate::Slots(_) => None,
        }
    }

    /// The least time between the ends of two transmissions of `size` bytes, ns.
    pub(super) fn least_time(&self, size: u16) -> u64 {
        match &self.rate {
            SendingRate::Fixed(rate) => rate.alone(size).0,
            SendingRate::Varying(rate) => rate.least_time(size),
            SendingRate::Instant | SendingRate::Slots(_) => 0,
        }
    }

    /// The bits sent until `end`, which is above 0, as a share of those that its rate, or its opportunities,
    /// allowed. With a constant rate that is the share of the time in which it was busy.
    pub(super) fn utilisation(&self, end: u64) -> f64 {
        match &self.rate {
            SendingRate::Slots(slots) => slots.used(end),
            SendingRate::Varying(rate) => rate.used(self.free_at, end),
            SendingRate::Fixed(_) | SendingRate::Instant => {
                // The time beyond the end is one unbroken busy period.
                let beyond = self.free_at.saturating_sub(end).min(self.busy);
                (self.busy - beyond) as f64 / end as f64
            }
        }
    }

    /// How much of the time until `end` its rate is above 0, ns.
    pub(super) fn up(&self, end: u64) -> u64 {
        if let SendingRate::Varying(rate) = &self.rate { rate.up(end) } else { end }
    }
}

/// A constant rate.
#[derive(Debug)]
pub(super) struct FixedRate {
    /// Bits per second, above 0.
    rate: u64,
    /// Remainder of the last transmission time, in units of 1/rate nanoseconds, so that rounding errors do
    /// not accumulate.
    carry: u64,
    /// The size of the last packet, its transmission time, and the remainder in units of 1/rate nanoseconds.
    /// Most packets have the size of the one before, and a 64-bit division costs more than all else at a hop.
    size: u16,
    whole: u64,
    rest: u64,
}

impl FixedRate {
    pub(super) fn new(rate: u64) -> Self {
        Self { rate, carry: 0, size: 0, whole: 0, rest: 0 }
    }

    #[inline(always)]
    fn send(&mut self, begin: u64, size: u16) -> u64 {
        if size != self.size {
            self.learn(size);
        }
        let carry = self.carry + self.rest;
        let over = carry >= self.rate;
        self.carry = if over { carry - self.rate } else { carry };
        let time = self.whole + u64::from(over);
        (begin + time).min(LATEST)
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, size: u16) {
        self.size = size;
        (self.whole, self.rest) = self.alone(size);
    }

    /// How long `size` bytes take, ns, and the remainder in units of 1/rate nanoseconds.
    fn alone(&self, size: u16) -> (u64, u64) {
        let work = u64::from(size) * 8 * 1_000_000_000;
        (work / self.rate, work % self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(rate: u64) -> Transmitter {
        Transmitter::new(SendingRate::Fixed(FixedRate::new(rate)))
    }

    proptest! {
        #[test]
        fn the_last_bit_leaves_when_all_bits_have_had_their_time(
            rate in prop_oneof![1_u64..100, 1_000_u64..10_000_000_000, Just(622_080_000), Just(1_000_000_000_000)],
            sizes in prop::collection::vec(prop_oneof![Just(40_u16), Just(1500), 1_u16..u16::MAX], 1..300),
        ) {
            let mut transmitter = fixed(rate);
            let mut bits = 0;
            for size in sizes {
                bits += u128::from(size) * 8;
                transmitter.send(transmitter.free_at, size, None);
                prop_assert_eq!(u128::from(transmitter.free_at), bits * 1_000_000_000 / u128::from(rate));
            }
            prop_assert_eq!(transmitter.busy, transmitter.free_at);
        }
    }

    #[test]
    fn parts_of_nanoseconds_are_no_exact_time() {
        assert_eq!(fixed(622_080_000).exact_time(1500), None);
        assert_eq!(fixed(12_000_000).exact_time(1500), Some(1_000_000));
        assert_eq!(Transmitter::new(SendingRate::Instant).exact_time(1500), Some(0));
    }
}
