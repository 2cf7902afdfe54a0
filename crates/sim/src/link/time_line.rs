//! The time line of a direction: its rate, delay and loss rate, as they change at known instants.
//!
//! A time line is known before the run begins. The fate of a packet in a first-in-first-out queue is
//! therefore known when the packet goes in, and no change is an event. Rate and loss rate change in steps.
//! The delay changes in legs, each a step or a straight line.
//!
//! A path may also change hands, to another satellite, gateway or route. [`Handover`] says what then becomes
//! of the packets.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};

/// The latest end of a transmission, 292 years. No run lasts that long, and all sums of times fit.
pub(super) const LATEST: u64 = u64::MAX >> 1;
/// Parts of a bit that a transmitter of 1 bit/s sends in a nanosecond: 10^-9.
pub(super) const PARTS: u64 = 1_000_000_000;

/// Rate and loss rate from one instant to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its first instant.
    pub at: Time,
    /// Bits per second; 0 holds packets in the transmitter.
    pub rate_bps: u64,
    /// Loss rate, if the time line sets it.
    pub loss_rate: f64,
}

/// The delay from one instant to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Its first instant.
    pub at: Time,
    /// Propagation delay then.
    pub delay: Span,
    /// The delay that it approaches in a straight line, reached when the next leg begins.
    pub towards: Span,
}

impl Leg {
    /// The delay at `at` in this leg, which ends at `end`, ns.
    #[inline(always)]
    pub(super) fn delay_at(&self, at: u64, end: u64) -> u64 {
        let Self { at: begin, delay: Span(from), towards: Span(to) } = *self;
        if from == to {
            return from;
        }
        // Rounded towards the delay at the beginning.
        let (way, passed, length) = (from.abs_diff(to), at - begin.0, end - begin.0);
        let part = match way.checked_mul(passed) {
            Some(product) => product / length,
            None => (u128::from(way) * u128::from(passed) / u128::from(length)) as u64,
        };
        if to > from { from + part } else { from - part }
    }
}

/// What becomes of packets at a handover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handover {
    /// Packets on the air are lost: those partly sent, and those that have not reached the far end.
    pub loses: bool,
    /// Packets that wait are dropped.
    pub flushes: bool,
}

/// The time line of one direction. Its parts may be shared with the other direction.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLine {
    steps: Arc<[Step]>,
    legs: Arc<[Leg]>,
    handovers: Arc<[Time]>,
    /// What becomes of packets at a handover.
    pub handover: Handover,
    /// May a packet overtake another when the delay shrinks?
    pub reorder: bool,
    /// Does it set the rate of the direction's last loss model, whose errors are independent?
    pub sets_loss: bool,
}

impl TimeLine {
    /// A time line of these parts, each in order of time. Packets keep their order, handovers
    /// leave them alone, and the loss rate is not set. `None` if the first step or leg does not
    /// begin at 0, or instants go back.
    pub fn new(steps: Arc<[Step]>, legs: Arc<[Leg]>, handovers: Arc<[Time]>) -> Option<Self> {
        let ordered = steps.windows(2).all(|s| s[0].at < s[1].at)
            && legs.windows(2).all(|l| l[0].at < l[1].at)
            && handovers.windows(2).all(|h| h[0] < h[1]);
        let begins = [steps.first().map(|s| s.at), legs.first().map(|l| l.at)];
        (ordered && begins == [Some(Time(0)); 2]).then_some(Self {
            steps,
            legs,
            handovers,
            handover: Handover::default(),
            reorder: false,
            sets_loss: false,
        })
    }

    /// Keeps only one copy of the parts that are equal in both.
    pub(crate) fn share(&mut self, other: &Self) {
        if self.steps == other.steps {
            self.steps = other.steps.clone();
        }
        if self.legs == other.legs {
            self.legs = other.legs.clone();
        }
        if self.handovers == other.handovers {
            self.handovers = other.handovers.clone();
        }
    }

    /// Its steps, the first at 0. The last one has no end.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The loss rate that it sets at an instant.
    pub(crate) fn loss_rate_at(&self, at: Time) -> f64 {
        self.steps[self.steps.partition_point(|step| step.at <= at) - 1].loss_rate
    }

    /// The legs of its delay, the first at 0. The last one has no end.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The instants at which the path changes hands, in order.
    pub fn handovers(&self) -> &[Time] {
        &self.handovers
    }

    /// The highest rate of all, bits per second.
    pub fn highest_rate(&self) -> u64 {
        self.steps.iter().map(|s| s.rate_bps).max().unwrap_or(0)
    }

    /// The least delay of all.
    pub fn least_delay(&self) -> Span {
        self.legs.iter().map(|l| l.delay.min(l.towards)).min().unwrap_or(Span::ZERO)
    }

    /// Does the delay shrink anywhere?
    pub fn shrinks(&self) -> bool {
        let drops = |pair: &[Leg]| pair[1].delay < pair[0].towards;
        self.legs.iter().any(|leg| leg.towards < leg.delay) || self.legs.windows(2).any(drops)
    }

    /// The rate in bits per second and the delay at an instant. It searches; a run moves forward with cursors
    /// instead.
    pub fn at(&self, at: Time) -> (u64, Span) {
        let leg = self.legs.partition_point(|l| l.at <= at).saturating_sub(1);
        (self.steps[self.step_at(at)].rate_bps, Span(self.delay(leg, at.0)))
    }

    /// Bits that can be sent in an interval.
    pub fn bits(&self, from: Time, to: Time) -> u128 {
        self.work_between(from.0, to.0) / u128::from(PARTS)
    }

    /// Is the rate above zero at any time of an interval? True for an empty interval.
    pub(crate) fn is_up(&self, from: Time, to: Time) -> bool {
        to <= from || self.work_between(from.0, to.0) > 0
    }

    /// The number of the step at an instant.
    fn step_at(&self, at: Time) -> usize {
        self.steps.partition_point(|s| s.at <= at).saturating_sub(1)
    }

    /// Moves a cursor forward to the step of `at`.
    #[inline]
    pub(super) fn go_to(&self, step: &mut usize, at: u64) {
        while self.steps.get(*step + 1).is_some_and(|next| next.at.0 <= at) {
            *step += 1;
        }
    }

    /// The end of step `i`.
    #[inline]
    pub(super) fn end_of_step(&self, i: usize) -> u64 {
        self.steps.get(i + 1).map_or(LATEST, |next| next.at.0)
    }

    /// The end of leg `i`.
    #[inline]
    pub(super) fn end_of_leg(&self, i: usize) -> u64 {
        self.legs.get(i + 1).map_or(LATEST, |next| next.at.0)
    }

    /// The delay at `at` in leg `i`, ns.
    fn delay(&self, i: usize, at: u64) -> u64 {
        self.legs[i].delay_at(at, self.end_of_leg(i))
    }

    /// Work that can be done from `from` until `to`, in [`PARTS`] of a bit. It searches for the step.
    pub(super) fn work_between(&self, from: u64, to: u64) -> u128 {
        self.work(self.step_at(Time(from)), from, to)
    }

    /// Work that can be done from `from`, in step `i`, until `to`, in [`PARTS`] of a bit.
    pub(super) fn work(&self, mut i: usize, mut from: u64, to: u64) -> u128 {
        let (mut work, to) = (0, to.min(LATEST));
        while from < to {
            let end = self.end_of_step(i).min(to);
            work += u128::from(self.steps[i].rate_bps) * u128::from(end - from);
            (i, from) = (i + 1, end);
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(steps: &[(u64, u64)], legs: &[(u64, u64, u64)], handovers: &[u64]) -> Option<TimeLine> {
        let step = |&(at, rate_bps): &(u64, u64)| Step { at: Time(at), rate_bps, loss_rate: 0.0 };
        let leg =
            |&(at, from, to): &(u64, u64, u64)| Leg { at: Time(at), delay: Span(from), towards: Span(to) };
        let handovers: Vec<Time> = handovers.iter().copied().map(Time).collect();
        TimeLine::new(steps.iter().map(step).collect(), legs.iter().map(leg).collect(), handovers.into())
    }

    #[test]
    fn rate_and_delay_at_an_instant_are_those_of_its_step_and_leg() {
        let far = (20, u64::MAX >> 2, u64::MAX >> 3);
        let line = line(&[(0, 100), (10, 0), (20, 8)], &[(0, 50, 35), (10, 70, 70), far], &[10]);
        let line = line.expect("in order");
        // The delay falls by 1.5 ns in each; a fraction of a nanosecond is rounded towards the beginning.
        assert_eq!([0, 1, 9, 10, 19].map(|at| line.at(Time(at)).1.0), [50, 49, 37, 70, 70]);
        assert_eq!([0, 9, 10, 25].map(|at| line.at(Time(at)).0), [100, 100, 0, 8]);
        assert_eq!((line.highest_rate(), line.least_delay()), (100, Span(35)));
        // 100 bit/s for 5 ns, nothing for 10 ns, 8 bit/s for 2 ns.
        assert_eq!(line.work(0, 5, 22), 516);
        assert_eq!(line.bits(Time(20), Time(1_000_000_020)), 8);
        // A change of delay multiplied by a length does not fit in 64 bits: half of the change after half of
        // the time.
        let half = line.at(Time((LATEST - 20) / 2 + 20)).1.0;
        assert!(half.abs_diff((u64::MAX >> 3) + (u64::MAX >> 4)) <= 2, "{half}");
    }

    #[test]
    fn instants_that_go_back_make_no_time_line() {
        let of = |steps: &[u64], legs: &[u64], handovers: &[u64]| {
            let steps: Vec<_> = steps.iter().map(|&at| (at, 1)).collect();
            let legs: Vec<_> = legs.iter().map(|&at| (at, 1, 1)).collect();
            line(&steps, &legs, handovers)
        };
        assert!(of(&[0, 5], &[0, 3], &[0, 7]).is_some());
        for (steps, legs, handovers) in [
            (&[][..], &[0][..], &[][..]),
            (&[1], &[0], &[]),
            (&[0], &[1], &[]),
            (&[0, 5, 5], &[0], &[]),
            (&[0], &[0, 2, 1], &[]),
            (&[0], &[0], &[7, 3]),
        ] {
            assert_eq!(of(steps, legs, handovers), None, "{steps:?}, {legs:?}, {handovers:?}");
        }
    }
}
