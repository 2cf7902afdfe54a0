//! SEARCH, Slow start Exit At Right CHokepoint: J. Chung, M. A. Kachooei, F. Li, M. Claypool: SEARCH, a
//! New Slow Start Algorithm for TCP and QUIC, draft-chung-ccwg-search, 2024 to 2026; M. A. Kachooei, J.
//! Chung, F. Li, B. Peters, M. Claypool: SEARCH: Robust TCP Slow Start Performance over Satellite
//! Networks, IEEE LCN 2023.
//!
//! Grade A: the rules are those of the authors' module for Linux (`tcp_cubic_search.c`, version 3.1) and for
//! FreeBSD, both read. Unit: bytes; times in nanoseconds.
//!
//! While the queue is empty, slow start delivers twice as much as one round trip ago. From the bottleneck's
//! rate on it does not. Deliveries are counted up in bins. A window of measurement is 3.5 times the first
//! RTT, in 10 bins. Whenever a bin is over, with the RTT of this ACK:
//!
//! | quantity | value                                                                                                          |
//! |----------|----------------------------------------------------------------------------------------------------------------|
//! | curr     | what was delivered in the window that ends now                                                                 |
//! | expected | twice what was delivered in the window that ended one RTT ago; or what was sent in it (`search_compared`)      |
//! | leave    | (expected - curr) / expected >= THRESH: T = W                                                                  |
//!
//! The window of one RTT ago begins and ends within bins, so counts are interpolated. It needs 10 bins before
//! the shift, and a shift of less than EXTRA_BINS - 1 bins. Comparing with what was sent is the rule of draft
//! 09 (THRESH 0.26). The older rule is the default, since the module, the published measurements and the
//! THRESH of 0.35 are of it.
//!
//! On leaving, the window is kept (default of the module), or rolled back by what was delivered in
//! the last two initial RTTs, to 10 segments at least (its option `cwnd_rollback`), or set to what
//! was delivered in the last initial RTT, 10 segments at least, so that the queue drains. The last is
//! the target of the module's version 4; that version lets the window grow by a segment for 16
//! meanwhile, which is left out here.
//!
//! Decisions:
//!  * the module counts what is acknowledged cumulatively, this file what is delivered, selectively or not.
//!  * an ACK is looked at before its window grows. It is looked at in every slow start, as in the module.
//!  * bytes sent so far are bytes delivered and in flight. That is exact until the first
//!    loss, which ends slow start.
//!  * counting begins anew where the window does not limit the sender (the module: `app_limited`), with
//!    the same bins; and after a timeout, a restart after a pause, or more than 10 bins without an ACK,
//!    with bins of the next RTT.

use alloc::vec;
use alloc::vec::Vec;

use super::SlowStartRule;
use crate::event::{Congestion, Life};
use crate::registry::Args;
use crate::report::{Ack, Flow};
use crate::time::{Span, Time};
use crate::window::{Cut, Window};

pub(super) const COMPARED: &str = "search_compared";
pub(super) const THRESH: &str = "search_thresh";
pub(super) const EXIT: &str = "search_exit";
/// `search_thresh` of the module, in hundredths there.
pub(super) const THRESH_DELIVERED: f64 = 0.35;
/// THRESH of draft 09.
const THRESH_SENT: f64 = 0.26;
/// The window is not taken below this on leaving, in segments (`TCP_INIT_CWND`).
const LEAST: f64 = 10.0;

/// What today's deliveries are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Twice the deliveries of one RTT ago.
    Delivered,
    /// What was sent one RTT ago.
    Sent,
}

/// The window on leaving slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// As it is.
    Keep,
    /// Less what was delivered in the last two initial RTTs.
    Rollback,
    /// What was delivered in the last initial RTT.
    Drain,
}

/// The constants of SEARCH.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchConstants {
    /// The window of measurement in initial RTTs.
    pub window_factor: f64,
    /// Bins of the window of measurement.
    pub bins: u32,
    /// Bins kept besides.
    pub extra_bins: u32,
    /// The share that must be missing.
    pub thresh: f64,
    /// The rule of comparison.
    pub compared: Compared,
    /// The window on leaving.
    pub exit: Exit,
}

impl SearchConstants {
    /// From checked parameters.
    pub(super) fn new(args: &Args) -> Self {
        let compared = if args.is(COMPARED, "sent") { Compared::Sent } else { Compared::Delivered };
        let exit = match args.choice(EXIT) {
            "rollback" => Exit::Rollback,
            "drain" => Exit::Drain,
            _ => Exit::Keep,
        };
        let draft_09 = compared == Compared::Sent && !args.given(THRESH);
        Self {
            window_factor: args.number("search_window_factor"),
            bins: args.number("search_bins") as u32,
            extra_bins: args.number("search_extra_bins") as u32,
            thresh: if draft_09 { THRESH_SENT } else { args.number(THRESH) },
            compared,
            exit,
        }
    }

    /// Bins in an initial RTT, a fraction counted in part.
    fn bins_per_rtt(&self) -> f64 {
        f64::from(self.bins) / self.window_factor
    }
}

/// Bytes so far at the end of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct SoFar {
    delivered: u64,
    sent: u64,
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub(super) struct Search {
    constants: SearchConstants,
    /// The length of a bin, once there has been an RTT.
    bin: Option<Span>,
    /// The present bin, counted from the first one; `None` before that.
    index: Option<u64>,
    /// When the present bin is over.
    ends: Time,
    /// The last bins, each at its number modulo their count.
    ring: Vec<SoFar>,
}

impl Search {
    pub(super) fn new(constants: SearchConstants) -> Self {
        let kept = (constants.bins + constants.extra_bins).max(4) as usize;
        Self { constants, bin: None, index: None, ends: Time(0), ring: vec![SoFar::default(); kept] }
    }

    /// Counting begins anew with this ACK.
    fn begin(&mut self, flow: &Flow, rtt: Span) {
        let bins = f64::from(self.constants.bins);
        let fresh = || Span((rtt.0 as f64 * self.constants.window_factor / bins) as u64).max(Span(1));
        let bin = self.bin.unwrap_or_else(fresh);
        self.bin = Some(bin);
        self.ends = flow.now + bin;
        self.index = Some(0);
        self.ring[0] = so_far(flow);
    }

    /// A bin is over, and perhaps more since the last ACK. False if that was too long ago
    /// and counting began anew.
    fn close(&mut self, flow: &Flow, index: u64, bin: Span, rtt: Span) -> bool {
        let passed = flow.now.since(self.ends).0 / bin.0 + 1;
        if passed > u64::from(self.constants.bins) {
            self.bin = None;
            self.begin(flow, rtt);
            return false;
        }
        let kept = self.ring.len() as u64;
        let last = self.ring[(index % kept) as usize];
        for missed in index + 1..index + passed {
            self.ring[(missed % kept) as usize] = last;
        }
        self.ring[((index + passed) % kept) as usize] = so_far(flow);
        self.index = Some(index + passed);
        self.ends = self.ends + Span(passed.saturating_mul(bin.0));
        true
    }

    /// Bytes so far `back` bins ago, a fraction counted in part; nothing before the first bin.
    fn at(&self, index: u64, back: f64, count: impl Fn(&SoFar) -> u64) -> f64 {
        let whole = libm::floor(back);
        let value = |back: f64| {
            let bin = index as f64 - back;
            if bin < 0.0 {
                return 0.0;
            }
            count(&self.ring[(bin as u64 % self.ring.len() as u64) as usize]) as f64
        };
        value(whole) + (back - whole) * (value(whole + 1.0) - value(whole))
    }

    /// (expected - curr) / expected; `None` if there are not enough bins.
    fn missing(&self, index: u64, bin: Span, rtt: Span) -> Option<f64> {
        let bins = f64::from(self.constants.bins);
        let back = rtt.0 as f64 / bin.0 as f64;
        let whole = libm::floor(back);
        if index as f64 - whole < bins || whole + 1.0 >= f64::from(self.constants.extra_bins) {
            return None;
        }
        let in_window = |back: f64, count: fn(&SoFar) -> u64| {
            self.at(index, back, count) - self.at(index, back + bins, count)
        };
        let curr = in_window(0.0, |so_far| so_far.delivered);
        let expected = match self.constants.compared {
            Compared::Delivered => 2.0 * in_window(back, |so_far| so_far.delivered),
            Compared::Sent => in_window(back, |so_far| so_far.sent),
        };
        (expected > 0.0).then(|| (expected - curr) / expected)
    }

    fn leave(&self, flow: &Flow, index: u64, w: &mut Window) {
        let mss = f64::from(flow.mss.max(1));
        let lately = |rtts: f64| {
            let back = (rtts * self.constants.bins_per_rtt()).min(index as f64);
            let then = self.at(index, back, |so_far| so_far.delivered);
            (self.at(index, 0.0, |so_far| so_far.delivered) - then) / mss
        };
        let target = match self.constants.exit {
            Exit::Keep => w.cwnd,
            Exit::Rollback => w.cwnd - lately(2.0),
            Exit::Drain => lately(1.0),
        };
        w.cwnd = target.max(LEAST).min(w.cwnd);
        w.ssthresh = w.cwnd;
    }
}

fn so_far(flow: &Flow) -> SoFar {
    SoFar { delivered: flow.delivered, sent: flow.delivered.saturating_add(flow.in_flight) }
}

impl SlowStartRule for Search {
    fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.latest) else { return };
        if w.cwnd >= w.ssthresh {
            return;
        }
        let (Some(index), Some(bin)) = (self.index, self.bin) else { return self.begin(flow, rtt) };
        if flow.now < self.ends {
            return;
        }
        if !flow.cwnd_limited {
            return self.begin(flow, rtt);
        }
        if !self.close(flow, index, bin, rtt) {
            return;
        }
        let index = self.index.unwrap_or(index);
        if self.missing(index, bin, rtt).is_some_and(|share| share >= self.constants.thresh) {
            self.leave(flow, index, w);
        }
    }

    fn on_congestion(&mut self, _flow: &Flow, why: Congestion, _w: &Window, _own: &Cut) {
        if why == Congestion::Timeout {
            (self.bin, self.index) = (None, None);
        }
    }

    fn on_life(&mut self, what: Life) {
        if what == Life::IdleRestart {
            (self.bin, self.index) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests;
