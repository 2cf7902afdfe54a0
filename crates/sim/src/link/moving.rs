//! A time line in use: what a transmitter sends under it, and when packets arrive.
//!
//! Its transmitter does work in units of 10^-9 bit; a rate of 1 bit/s does one unit a nanosecond. When the
//! rate changes, the rest of a packet is sent at the new rate. A packet is sent in whole nanoseconds; the
//! work left over from the last one is added to the next packet. Rounding errors therefore do not accumulate.
//!
//! The instants that packets ask for only go forward: steps, legs and handovers are found by cursors.

use bentpipe_cc::{Span, Time};

use crate::link::time_line::{LATEST, PARTS, TimeLine};
use crate::link::transmitter::Transmitter;

/// The state of a time line at work.
#[derive(Debug)]
pub(crate) struct Moving {
    pub(super) line: TimeLine,
    /// The step and the leg in which the transmitter becomes free.
    pub(super) step: usize,
    leg: usize,
    /// The first handover after the last packet came, or after the last choice of a queue that decides at departure.
    flush: usize,
    /// The first handover after the beginning of the last transmission.
    air: usize,
    /// Work left of the last packet, less than a nanosecond's.
    carry: u64,
    /// When the packet ahead reaches the far end, or would if it were not lost at a handover to come.
    pub(super) ahead: u64,
    /// When the last packet that was not lost at a handover reaches the far end.
    pub(super) there: u64,
    /// A size and a rate, the time of a packet, and the remainder of its work. A division costs more than the rest.
    usual: (u16, u64),
    whole: u64,
    rest: u64,
}

/// The end of a transmission.
pub(super) struct Sent {
    pub(super) at: u64,
    /// How long the packet takes alone at the rate with which its last bit was sent; `None` if a handover cut it short.
    pub(super) alone: Option<u64>,
}

impl Moving {
    /// The time line before the run begins.
    pub(super) fn new(line: TimeLine) -> Self {
        Self {
            line,
            step: 0,
            leg: 0,
            flush: 0,
            air: 0,
            carry: 0,
            ahead: 0,
            there: 0,
            usual: (0, 0),
            whole: 0,
            rest: 0,
        }
    }

    /// Packets of `size` bytes reach the far end at least so far apart: their transmission time at the highest rate. Where the delay shrinks
    /// packets may come together.
    pub(super) fn least_gap(&self, size: u16) -> Span {
        let alone = Transmitter::new(self.line.highest_rate()).time(size).0;
        if self.line.shrinks() { Span::ZERO } else { Span(alone) }
    }

    /// The handover at which packets that wait are dropped, the first after those that have been made; the end of time if there is none.
    pub(super) fn next_flush(&self) -> Time {
        let next = self.line.handovers().get(self.flush).filter(|_| self.line.handover.flushes);
        next.copied().unwrap_or(Time::MAX)
    }

    /// That handover has been made.
    pub(super) fn flushed(&mut self) {
        self.flush += 1;
    }

    /// The handover at which a packet that comes at `now`, and would be sent from `begin` on, is dropped.
    pub(super) fn drops(&mut self, now: Time, begin: u64) -> Option<u64> {
        while self.next_flush() <= now {
            self.flushed();
        }
        Some(self.next_flush().0).filter(|&at| at <= begin)
    }

    /// The first handover after `begin`, if packets on the air are lost then.
    pub(super) fn loses(&mut self, begin: u64) -> Option<u64> {
        if !self.line.handover.loses {
            return None;
        }
        let handovers = self.line.handovers();
        while handovers.get(self.air).is_some_and(|at| at.0 <= begin) {
            self.air += 1;
            // Those ahead are there or lost.
            self.ahead = self.there;
        }
        handovers.get(self.air).map(|at| at.0)
    }

    /// The mean rate in bits per second from `from`, when the transmitter became free, to `to`.
    pub(super) fn mean_rate(&self, from: u64, to: u64) -> u64 {
        let work = self.line.work(self.step, from, to);
        work.checked_div(u128::from(to.saturating_sub(from))).unwrap_or(0) as u64
    }

    /// Goes forward to the step of `at`.
    #[inline]
    pub(super) fn go_to(&mut self, at: u64) {
        while self.line.steps().get(self.step + 1).is_some_and(|next| next.at.0 <= at) {
            self.step += 1;
        }
    }

    /// The delay of a packet whose transmission ends at `at`, ns.
    #[inline]
    pub(super) fn delay(&mut self, at: u64) -> u64 {
        while self.line.legs().get(self.leg + 1).is_some_and(|next| next.at.0 <= at) {
            self.leg += 1;
        }
        self.line.delay(self.leg, at)
    }

    /// How long a packet of `size` takes alone at a rate above zero, ns, and the remainder of its work.
    fn alone(&mut self, size: u16, rate: u64) -> (u64, u64) {
        if self.usual != (size, rate) {
            let work = u64::from(size) * 8 * PARTS;
            (self.usual, self.whole, self.rest) = ((size, rate), work / rate, work % rate);
        }
        (self.whole, self.rest)
    }

    /// Sends `size` bytes from `begin` on, or until the handover at `cut`.
    pub(super) fn send(&mut self, begin: u64, size: u16, cut: Option<u64>) -> Sent {
        self.go_to(begin);
        let (mut from, cut) = (begin, cut.unwrap_or(u64::MAX));
        let carry = std::mem::take(&mut self.carry);
        let mut work = u64::from(size) * 8 * PARTS + carry;
        while from < LATEST {
            if from == cut {
                return Sent { at: from, alone: None };
            }
            let rate = self.line.steps()[self.step].rate_bps;
            let end = self.line.end_of_step(self.step).min(cut);
            if rate > 0 {
                let (whole, rest) = self.alone(size, rate);
                let room = end - from;
                let (time, rest) = match rest + carry {
                    _ if from > begin || carry >= rate => (work / rate, work % rate),
                    rest if rest >= rate => (whole + 1, rest - rate),
                    rest => (whole, rest),
                };
                if time < room || time == room && rest == 0 {
                    self.carry = rest;
                    return Sent { at: from + time, alone: Some(whole) };
                }
                work -= room * rate;
            }
            from = end;
            self.go_to(end);
        }
        Sent { at: LATEST, alone: Some(0) } // it is held for ever
    }
}
