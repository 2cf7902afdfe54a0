//! A transmitter whose rate changes at known instants.
//!
//! It does work in units of 10^-9 bit; a rate of 1 bit/s does one unit a nanosecond. When the rate changes,
//! the rest of a packet is sent at the new rate. A packet is sent in whole nanoseconds; the work left over
//! from the last one is added to the next packet. Rounding errors therefore do not accumulate. The instants
//! only go forward, so steps are found by a cursor.

use crate::link::time_line::{LATEST, PARTS, TimeLine};

/// The state of such a transmitter.
#[derive(Debug)]
pub(super) struct VaryingRate {
    line: TimeLine,
    /// The step in which it becomes free, and its end.
    step: usize,
    end: u64,
    /// Work left of the last packet, less than a nanosecond's.
    carry: u64,
    /// Work done, that beyond the present included.
    done: u128,
    /// A size and a rate, the time of a packet, and the remainder of its work. A division costs more than the
    /// rest.
    usual: (u16, u64),
    whole: u64,
    rest: u64,
    /// How long the last packet takes alone at the rate of its last bit; `None` if a handover cut it short.
    pub(super) last_alone: Option<u64>,
}

impl VaryingRate {
    pub(super) fn new(line: TimeLine) -> Self {
        let end = line.end_of_step(0);
        Self { line, step: 0, end, carry: 0, done: 0, usual: (0, 0), whole: 0, rest: 0, last_alone: Some(0) }
    }

    /// The transmission time of `size` bytes at the highest rate, ns.
    pub(super) fn least_time(&self, size: u16) -> u64 {
        (u64::from(size) * 8 * PARTS).checked_div(self.line.highest_rate()).unwrap_or(0)
    }

    /// The mean rate in bits per second from `from`, when the transmitter became free, to `to`.
    pub(super) fn mean_rate(&self, from: u64, to: u64) -> u64 {
        let work = self.line.work(self.step, from, to);
        work.checked_div(u128::from(to.saturating_sub(from))).unwrap_or(0) as u64
    }

    /// The share done by `end` of the work that could be done until then. It becomes free at `free_at`;
    /// until then it is busy without a break if that is later.
    pub(super) fn used(&self, free_at: u64, end: u64) -> f64 {
        let offered = self.line.work_between(0, end);
        let done = self.done - self.line.work_between(end, free_at);
        // In lowest terms, so that a rate that never changes gives the bits of a constant one.
        let (mut most, mut rest) = (offered, done);
        while rest > 0 {
            (most, rest) = (rest, most % rest);
        }
        if offered == 0 { 0.0 } else { (done / most) as f64 / (offered / most) as f64 }
    }

    /// How much of the time until `end` the rate is above 0, ns.
    pub(super) fn up(&self, end: u64) -> u64 {
        let steps = self.line.steps().iter().enumerate().filter(|(_, step)| step.rate_bps > 0);
        steps.map(|(i, step)| self.line.end_of_step(i).min(end).saturating_sub(step.at.0)).sum()
    }

    /// How long a packet of `size` takes alone at a rate above zero, ns, and the remainder of its work.
    fn alone(&mut self, size: u16, rate: u64) -> (u64, u64) {
        if self.usual != (size, rate) {
            let work = u64::from(size) * 8 * PARTS;
            (self.usual, self.whole, self.rest) = ((size, rate), work / rate, work % rate);
        }
        (self.whole, self.rest)
    }

    /// Sends `size` bytes from `begin` on, or until the handover at `cut`. Returns the end of their
    /// transmission.
    #[inline(always)]
    pub(super) fn send(&mut self, begin: u64, size: u16, cut: Option<u64>) -> u64 {
        match self.send_alike(begin, size, cut) {
            Some(sent) => sent,
            None => self.send_any(begin, size, cut),
        }
    }

    /// The same, if the packet is as large as the last one and is sent within the present step. `None` if not,
    /// and nothing has happened.
    #[inline(always)]
    fn send_alike(&mut self, begin: u64, size: u16, cut: Option<u64>) -> Option<u64> {
        let rate = self.line.steps()[self.step].rate_bps;
        if self.usual != (size, rate) || self.carry >= rate {
            return None;
        }
        let (before, sum) = (self.carry, self.rest + self.carry);
        let over = sum >= rate;
        let sent = begin + self.whole + u64::from(over);
        if sent >= self.end.min(cut.unwrap_or(u64::MAX)) {
            return None;
        }
        self.carry = if over { sum - rate } else { sum };
        self.done += u128::from(u64::from(size) * 8 * PARTS + before - self.carry);
        self.last_alone = Some(self.whole);
        Some(sent)
    }

    #[inline(never)]
    fn send_any(&mut self, begin: u64, size: u16, cut: Option<u64>) -> u64 {
        let given = u64::from(size) * 8 * PARTS + self.carry;
        let (sent, alone, left) = self.work_off(begin, size, cut);
        self.done += u128::from(given - left);
        self.last_alone = alone;
        self.line.go_to(&mut self.step, sent);
        self.end = self.line.end_of_step(self.step);
        sent
    }

    /// The end of this transmission, the new value of `last_alone`, and the work that was not done.
    fn work_off(&mut self, begin: u64, size: u16, cut: Option<u64>) -> (u64, Option<u64>, u64) {
        self.line.go_to(&mut self.step, begin);
        let (mut from, cut) = (begin, cut.unwrap_or(u64::MAX));
        let carry = std::mem::take(&mut self.carry);
        let mut work = u64::from(size) * 8 * PARTS + carry;
        while from < LATEST {
            if from == cut {
                return (from, None, work);
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
                    return (from + time, Some(whole), rest);
                }
                work -= room * rate;
            }
            from = end;
            self.line.go_to(&mut self.step, end);
        }
        (LATEST, Some(0), work) // it is held for ever
    }
}
