//! The flight of a packet from the transmitter to the far end: a constant delay, one that changes at known
//! instants, or a random one.

use bentpipe_cc::Span;

use crate::link::random::Stream;
use crate::link::time_line::{Leg, TimeLine};

/// The delay behind one transmitter.
#[derive(Debug)]
pub(super) enum Flight {
    /// The same for all packets, ns.
    Constant(u64),
    Varying(Box<VaryingDelay>),
    Jitter(Box<Jitter>),
}

impl Flight {
    /// The delays and the handovers of a time line.
    pub(super) fn varying(line: TimeLine) -> Self {
        let (leg, end) = (line.legs()[0], line.end_of_leg(0));
        Self::Varying(Box::new(VaryingDelay { line, number: 0, leg, end, air: 0, ahead: 0, there: 0 }))
    }

    /// A random part of `most` for each packet, drawn from `stream`. Packets keep their order.
    pub(super) fn jitter(most: Span, stream: Stream) -> Self {
        Self::Jitter(Box::new(Jitter { most, stream, last: 0 }))
    }

    /// The first handover after a transmission begins at `begin`, if packets on the air are lost at
    /// handovers.
    #[inline(always)]
    pub(super) fn cut(&mut self, begin: u64) -> Option<u64> {
        if let Self::Varying(delay) = self { delay.cut(begin) } else { None }
    }

    /// When a packet whose transmission ends at `sent` reaches the far end.
    ///
    /// # Errors
    /// The handover at `cut`, if the packet is lost then.
    #[inline(always)]
    pub(super) fn land(
        &mut self,
        sent: u64,
        cut: Option<u64>,
        alone: impl FnOnce() -> Option<u64>,
    ) -> Result<u64, u64> {
        match self {
            Self::Constant(delay) => Ok(sent.saturating_add(*delay)),
            Self::Varying(delay) => delay.land(sent, cut, alone()),
            Self::Jitter(jitter) => Ok(jitter.land(sent)),
        }
    }

    /// Do packets arrive in the order in which they are sent?
    pub(super) fn is_in_order(&self) -> bool {
        !matches!(self, Self::Varying(delay) if delay.line.reorder)
    }

    /// May two packets arrive closer together than they are sent?
    pub(super) fn brings_together(&self) -> bool {
        matches!(self, Self::Varying(delay) if delay.line.shrinks())
    }

    /// No packet has a smaller delay.
    pub(super) fn least(&self) -> Span {
        match self {
            Self::Constant(delay) => Span(*delay),
            Self::Varying(delay) => delay.line.least_delay(),
            Self::Jitter(_) => Span::ZERO,
        }
    }

    /// The delay, ns, if it is the same for all packets.
    pub(super) fn constant(&self) -> Option<u64> {
        if let Self::Constant(delay) = self { Some(*delay) } else { None }
    }
}

/// A delay that changes at known instants, over a path that may have handovers. The instants only go forward,
/// so legs and handovers are found by cursors.
#[derive(Debug)]
pub(super) struct VaryingDelay {
    line: TimeLine,
    /// The leg in which the last transmission ended, its number and its end.
    leg: Leg,
    number: usize,
    end: u64,
    /// The first handover after the beginning of the last transmission.
    air: usize,
    /// When the packet ahead reaches the far end, or would if it were not lost at a handover to come.
    ahead: u64,
    /// When the last packet that was not lost at a handover reaches the far end.
    there: u64,
}

impl VaryingDelay {
    #[inline(always)]
    fn cut(&mut self, begin: u64) -> Option<u64> {
        if self.line.handover.loses { self.next_handover(begin) } else { None }
    }

    #[inline(never)]
    fn next_handover(&mut self, begin: u64) -> Option<u64> {
        let handovers = self.line.handovers();
        while handovers.get(self.air).is_some_and(|at| at.0 <= begin) {
            self.air += 1;
            // Those ahead are there or lost.
            self.ahead = self.there;
        }
        handovers.get(self.air).map(|at| at.0)
    }

    /// [`Flight::land`]. A packet that would overtake arrives its own transmission time after the packet
    /// ahead.
    #[inline(always)]
    fn land(&mut self, sent: u64, cut: Option<u64>, alone: Option<u64>) -> Result<u64, u64> {
        if sent >= self.end {
            self.go_to(sent);
        }
        let mut arrival = sent.saturating_add(self.leg.delay_at(sent, self.end));
        if !self.line.reorder && arrival < self.ahead {
            arrival = self.ahead.saturating_add(alone.unwrap_or(0));
        }
        if alone.is_some() {
            self.ahead = arrival;
        }
        match cut.filter(|&at| at < arrival || alone.is_none()) {
            Some(at) => Err(at),
            None => {
                self.there = arrival;
                Ok(arrival)
            }
        }
    }

    /// Moves on to the leg of `sent`.
    #[inline(never)]
    fn go_to(&mut self, sent: u64) {
        while self.end <= sent && self.number + 1 < self.line.legs().len() {
            self.number += 1;
            self.end = self.line.end_of_leg(self.number);
        }
        self.leg = self.line.legs()[self.number];
    }
}

/// A random delay, uniform from 0 up to but excluding `most`.
#[derive(Debug)]
pub(super) struct Jitter {
    most: Span,
    stream: Stream,
    /// When the last packet arrives.
    last: u64,
}

impl Jitter {
    #[inline(never)]
    fn land(&mut self, sent: u64) -> u64 {
        // A draw is in (0, 1], so this is less than `most`.
        let part = (1.0 - self.stream.uniform()) * self.most.0 as f64;
        self.last = self.last.max(sent.saturating_add(part as u64));
        self.last
    }
}
