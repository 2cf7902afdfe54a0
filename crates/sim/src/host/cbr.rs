//! A source of packets at a constant rate.

use bentpipe_cc::{Span, Time};

use crate::link::random::Stream;
use crate::resolve::plan::{CbrPlan, Lengths};
use crate::workload::transfers::Transfer;

/// A constant-rate source, which does not react to the network.
#[derive(Debug)]
pub(crate) struct CbrSource {
    pub(crate) size: u16,
    /// The time between two packets, in units of 1/rate nanoseconds.
    work: u64,
    rate: u64,
    /// When the next packet is due, and the remainder of that time in units of 1/rate nanoseconds.
    due: u64,
    carry: u64,
    periods: Periods,
    /// When the last packet that has arrived so far did so.
    pub(super) last_arrival: Time,
    /// Payload bytes of a packet, and all packets so far, if each packet is a transfer.
    transfers: Option<(u32, Vec<Transfer>)>,
    /// Does the receiver send each packet back?
    pub(crate) is_echoed: bool,
}

/// When a source is on.
#[derive(Debug)]
enum Periods {
    /// On and off for equally long each time, from `begin` on.
    Equal { on: u64, off: u64, begin: u64 },
    /// On and off for random times.
    Drawn(Box<DrawnPeriods>),
}

/// Periods of random lengths.
#[derive(Debug)]
struct DrawnPeriods {
    on: (Lengths, Stream),
    off: (Lengths, Stream),
    /// When the current on-period ends.
    until: u64,
}

impl CbrSource {
    /// The source of `plan` that starts at `start`. `stream` gives its random streams by purpose.
    pub(crate) fn new(plan: &CbrPlan, start: Time, stream: impl Fn(&str) -> Stream) -> Self {
        let (work, rate) = plan.pace.interval(plan.packet);
        let periods = match (&plan.on, &plan.off) {
            (Lengths::Fixed(on), Lengths::Fixed(off)) => {
                Periods::Equal { on: on.0, off: off.0, begin: start.0 }
            }
            (on, off) => {
                let (on, off) = ((on.clone(), stream("on")), (off.clone(), stream("off")));
                let mut periods = DrawnPeriods { on, off, until: 0 };
                periods.begin(start.0);
                Periods::Drawn(Box::new(periods))
            }
        };
        Self {
            size: plan.packet.min(u32::from(u16::MAX)) as u16,
            work,
            rate,
            due: start.0,
            carry: 0,
            periods,
            last_arrival: start,
            transfers: plan.transfer.map(|bytes| (bytes, Vec::new())),
            is_echoed: plan.is_echoed,
        }
    }

    /// When the next packet is due.
    pub(crate) fn due(&self) -> Time {
        Time(self.due)
    }

    /// Its packets, if each packet is a transfer.
    pub(super) fn transfers(&self) -> Option<&[Transfer]> {
        self.transfers.as_ref().map(|(_, packets)| packets.as_slice())
    }

    /// The packet with this number arrives at `at`. Returns whether it is sent back.
    pub(crate) fn on_data(&mut self, at: Time, number: u32) -> bool {
        if !self.is_echoed {
            self.complete(at, number);
        }
        self.is_echoed
    }

    /// The packet with this number is where it should be, or its echo is back.
    pub(crate) fn complete(&mut self, at: Time, number: u32) {
        self.last_arrival = self.last_arrival.max(at);
        if let Some(packet) =
            self.transfers.as_mut().and_then(|(_, packets)| packets.get_mut(number as usize))
        {
            packet.end = Some(at);
        }
    }

    /// One packet leaves now. The next is due one packet time later, or when the next on-period begins.
    /// Returns the packet's number if each packet is a transfer.
    pub(crate) fn send(&mut self) -> u32 {
        let number = self.transfers.as_mut().map_or(0, |(bytes, packets)| {
            packets.push(Transfer { start: Time(self.due), bytes: u64::from(*bytes), end: None });
            packets.len() as u32 - 1
        });
        let work = self.work + self.carry;
        self.due = self.due.saturating_add(work / self.rate);
        self.carry = work % self.rate;
        self.due = self.periods.next(self.due);
        number
    }
}

impl Periods {
    /// The first instant from `due` on at which the source is on.
    fn next(&mut self, due: u64) -> u64 {
        match self {
            Periods::Equal { on, off, begin } => {
                let period = on.saturating_add(*off);
                let into = (due - *begin) % period.max(1);
                if into >= *on { due.saturating_add(period - into) } else { due }
            }
            Periods::Drawn(periods) => periods.next(due),
        }
    }
}

impl DrawnPeriods {
    /// An on-period begins.
    fn begin(&mut self, at: u64) {
        let Span(length) = self.on.0.draw(&mut self.on.1);
        self.until = at.saturating_add(length.max(1));
    }

    fn next(&mut self, mut due: u64) -> u64 {
        while due >= self.until && self.until < u64::MAX {
            let Span(pause) = self.off.0.draw(&mut self.off.1);
            let begins = self.until.saturating_add(pause);
            self.begin(begins);
            due = due.max(begins);
        }
        due
    }
}
