//! The kernel's window, in the kernel's whole numbers: what remains between our real-valued windows and the
//! kernel's, written down so that it can be checked. Each model gives the recorded windows exactly.
//!
//! These are models of Linux 6.1, written for this test. Where they differ from the algorithm that we have, a
//! comment says so; docs/oracle.md has the list.

use crate::oracle::trace::{Acked, State};

/// The kernel's part of a window, whatever the algorithm (`struct tcp_sock`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Socket {
    pub(crate) cwnd: u32,
    /// Segments acknowledged since the window last grew.
    pub(crate) count: u32,
    pub(crate) ssthresh: u32,
    /// Highest byte acknowledged, and sent.
    pub(crate) una: u64,
    pub(crate) sent: u64,
    pub(crate) ticks: u32,
    /// SRTT, eighths of a microsecond; 0 where the trace has none.
    pub(crate) smoothed: u32,
}

pub(crate) const INFINITE: u32 = 0x7fff_ffff;

impl Socket {
    fn slow(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start; returns the segments that are left over (tcp_cong.c, `tcp_slow_start`).
    pub(crate) fn start(&mut self, acked: u32) -> u32 {
        let grown = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// One segment more for every `per` acknowledged (tcp_cong.c, `tcp_cong_avoid_ai`).
    pub(crate) fn creep(&mut self, per: u32, acked: u32) {
        if self.count >= per {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        if self.count >= per {
            self.cwnd += self.count / per;
            self.count %= per;
        }
    }

    /// Reno (tcp_cong.c, `tcp_reno_cong_avoid`).
    fn reno(&mut self, acked: u32) {
        let left = if self.slow() { self.start(acked) } else { acked };
        if left > 0 {
            self.creep(self.cwnd, left);
        }
    }
}

/// A module of the kernel's.
pub(crate) trait Module: std::fmt::Debug {
    /// `pkts_acked`: `segments` were acknowledged in order; the state is that before the ACK.
    fn sample(&mut self, _s: &Socket, _segments: u32, _rtt: Option<u32>, _state: State) {}
    /// `in_ack_event`, which 6.1.192 calls after `pkts_acked` (older ones before it).
    fn arrived(&mut self, _s: &Socket, _acked: &Acked) {}
    /// `set_state`.
    fn enter(&mut self, _s: &mut Socket, _to: State) {}
    /// `cong_avoid`, for an ACK that advances; the window limits the sender if `limited`.
    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool);
    /// `ssthresh`.
    fn ssthresh(&mut self, s: &Socket) -> u32 {
        (s.cwnd / 2).max(2)
    }
    /// The end of a recovery, with the window at the threshold already (CA_EVENT_COMPLETE_CWR).
    fn recovered(&mut self, _s: &mut Socket) {}
    /// Something is sent while nothing is in flight (CA_EVENT_TX_START).
    fn sends(&mut self, _s: &mut Socket) {}
    /// The beginning of a timeout (CA_EVENT_LOSS).
    fn collapsed(&mut self, _s: &mut Socket) {}
}

/// Reno.
#[derive(Debug)]
pub(crate) struct Reno;

impl Module for Reno {
    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if limited {
            s.reno(acked);
        }
    }
}

/// The round-trip times of tcp_vegas.c and tcp_veno.c, one microsecond too long.
#[derive(Debug)]
struct Rtts {
    base: u32,
    least: u32,
    samples: u32,
}

impl Rtts {
    const NONE: Self = Self { base: INFINITE, least: INFINITE, samples: 0 };

    fn take(&mut self, rtt: Option<u32>) {
        if let Some(rtt) = rtt {
            self.base = self.base.min(rtt + 1);
            self.least = self.least.min(rtt + 1);
            self.samples += 1;
        }
    }
}

/// tcp_vegas.c.
#[derive(Debug)]
pub(crate) struct Vegas {
    on: bool,
    rtts: Rtts,
    end: u64,
}

impl Vegas {
    pub(crate) fn new() -> Self {
        Self { on: true, rtts: Rtts::NONE, end: 0 }
    }
}

impl Module for Vegas {
    fn sample(&mut self, _s: &Socket, _segments: u32, rtt: Option<u32>, _state: State) {
        self.rtts.take(rtt);
    }

    /// Unlike ours, a retransmission after a timeout makes it forget the base and go on in
    /// the middle of the repair.
    fn sends(&mut self, s: &mut Socket) {
        self.rtts.base = INFINITE;
        self.enter(s, State::Open);
    }

    /// Unlike ours, off in Disorder too, and then the round begins anew.
    fn enter(&mut self, s: &mut Socket, to: State) {
        self.on = to == State::Open;
        if self.on {
            (self.rtts.least, self.rtts.samples, self.end) = (INFINITE, 0, s.sent);
        }
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if !self.on {
            return Reno.avoid(s, acked, limited);
        }
        if s.una <= self.end {
            if s.slow() {
                s.start(acked);
            }
            return;
        }
        self.end = s.sent;
        if self.rtts.samples <= 2 {
            Reno.avoid(s, acked, limited);
        } else {
            let (cwnd, base, rtt) =
                (u64::from(s.cwnd), u64::from(self.rtts.base), u64::from(self.rtts.least));
            let (fits, queued) = (cwnd * base / rtt, cwnd * (rtt - base) / base);
            if queued > 1 && s.slow() {
                s.cwnd = s.cwnd.min(fits as u32 + 1);
                s.ssthresh = s.ssthresh.min(s.cwnd);
            } else if s.slow() {
                s.start(acked);
            } else if queued > 4 {
                s.cwnd -= 1;
                s.ssthresh = s.ssthresh.min(s.cwnd);
            } else if queued < 2 {
                s.cwnd += 1;
            }
            s.cwnd = s.cwnd.max(2);
            // Unlike ours, T is never below 3/4 of the window (`tcp_current_ssthresh`).
            s.ssthresh = s.ssthresh.max(s.cwnd / 2 + s.cwnd / 4);
        }
        (self.rtts.samples, self.rtts.least) = (0, INFINITE);
    }
}

/// tcp_veno.c.
#[derive(Debug)]
pub(crate) struct Veno {
    on: bool,
    rtts: Rtts,
    /// Halves of a segment.
    queued: u32,
    due: bool,
}

impl Veno {
    pub(crate) fn new() -> Self {
        Self { on: true, rtts: Rtts::NONE, queued: 0, due: true }
    }
}

impl Module for Veno {
    fn sample(&mut self, _s: &Socket, _segments: u32, rtt: Option<u32>, _state: State) {
        self.rtts.take(rtt);
    }

    /// As with Vegas.
    fn sends(&mut self, s: &mut Socket) {
        (self.rtts.base, self.due) = (INFINITE, true);
        self.enter(s, State::Open);
    }

    fn enter(&mut self, _s: &mut Socket, to: State) {
        self.on = to == State::Open;
        if self.on {
            self.rtts.least = INFINITE;
        }
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if !self.on {
            return Reno.avoid(s, acked, limited);
        }
        if !limited {
            return;
        }
        if self.rtts.samples <= 2 {
            s.reno(acked);
        } else {
            let target =
                (u64::from(s.cwnd) * u64::from(self.rtts.base) * 2 / u64::from(self.rtts.least)) as u32;
            self.queued = 2 * s.cwnd - target;
            let left = if s.slow() { s.start(acked) } else { acked };
            if left > 0 && self.queued < 6 {
                s.creep(s.cwnd, left);
            } else if left > 0 && s.count >= s.cwnd {
                // Unlike ours: every other round, and the ACK at the end of a round is not counted.
                s.cwnd += u32::from(self.due);
                self.due = !self.due;
                s.count = 0;
            } else if left > 0 {
                s.count += left;
            }
            s.cwnd = s.cwnd.max(2);
        }
        self.rtts.least = INFINITE;
    }

    fn ssthresh(&mut self, s: &Socket) -> u32 {
        (if self.queued < 6 { s.cwnd * 4 / 5 } else { s.cwnd / 2 }).max(2)
    }
}

/// tcp_hybla.c.
#[derive(Debug)]
pub(crate) struct Hybla {
    on: bool,
    /// rho in eighths, rounded down.
    eighths: u32,
    least: u32,
    /// Parts of a segment in 128ths.
    parts: u32,
}

impl Hybla {
    /// RTT0 is 25 ms. Unlike ours, the handshake's RTT counts.
    pub(crate) fn new(handshake: u32) -> Self {
        Self { on: true, eighths: (handshake / 25_000).max(8), least: handshake, parts: 0 }
    }
}

impl Module for Hybla {
    fn enter(&mut self, _s: &mut Socket, to: State) {
        self.on = to == State::Open;
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if s.smoothed < self.least {
            self.least = s.smoothed;
            self.eighths = (s.smoothed / 25_000).max(8);
        }
        if !limited {
            return;
        }
        if !self.on {
            return s.reno(acked); // unlike ours, in Disorder too
        }
        let slow = s.slow();
        let grown = if slow {
            let power = 128.0 * f64::from(self.eighths % 8).mul_add(0.125, 0.0).exp2();
            (1_u32 << (self.eighths / 8).min(16)) * power as u32 - 128
        } else {
            let grown = 2 * self.eighths * self.eighths / s.cwnd; // rounded down to a 128th
            s.count += u32::from(grown < 128);
            grown
        };
        s.cwnd += grown / 128;
        self.parts += grown % 128;
        if self.parts >= 128 {
            s.cwnd += 1;
            self.parts -= 128;
            s.count = 0;
        }
        if slow {
            s.cwnd = s.cwnd.min(s.ssthresh);
        }
        s.cwnd = s.cwnd.min(65_535); // unlike ours
    }
}

/// tcp_illinois.c: alpha in 128ths, beta in 64ths, delays in microseconds.
#[derive(Debug)]
pub(crate) struct Illinois {
    alpha: u32,
    beta: u32,
    sum: u64,
    samples: u32,
    base: u32,
    longest: u32,
    end: u64,
    acked: u32,
    above: bool,
    low: u32,
}

impl Illinois {
    pub(crate) fn new() -> Self {
        let (alpha, beta) = (1280, 32);
        Self {
            alpha,
            beta,
            sum: 0,
            samples: 0,
            base: INFINITE,
            longest: 0,
            end: 0,
            acked: 0,
            above: false,
            low: 0,
        }
    }

    fn begin(&mut self, sent: u64) {
        (self.end, self.samples, self.sum) = (sent, 0, 0);
    }

    fn adapt(&mut self, mean: u32, most: u32) {
        let low = most / 100;
        if mean > low {
            self.above = true;
            let (most, mean) = (most - low, mean - low);
            self.alpha = most * 1280 / (most + mean * (1280 - 38) / 38);
        } else if !self.above {
            self.alpha = 1280;
        } else {
            self.low += 1;
            if self.low >= 5 {
                (self.low, self.above, self.alpha) = (0, false, 1280);
            }
        }
        let (near, far) = (most / 10, 8 * most / 10);
        self.beta = if mean <= near {
            8
        } else if mean >= far || far <= near {
            32
        } else {
            (8 * far - 32 * near + 24 * mean) / (far - near)
        };
    }
}

impl Module for Illinois {
    fn sample(&mut self, _s: &Socket, segments: u32, rtt: Option<u32>, _state: State) {
        self.acked = segments;
        if let Some(rtt) = rtt {
            self.base = self.base.min(rtt);
            self.longest = self.longest.max(rtt);
            self.samples += 1;
            self.sum += u64::from(rtt);
        }
    }

    fn enter(&mut self, s: &mut Socket, to: State) {
        if to == State::Loss {
            (self.alpha, self.beta, self.low, self.above) = (128, 32, 0, false);
            self.begin(s.sent);
        }
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if s.una > self.end {
            // Unlike ours, the small window is looked at once a round, and a recovery's rounds end after it.
            if s.cwnd < 15 {
                (self.alpha, self.beta) = (128, 32);
            } else if self.samples > 0 {
                let mean = (self.sum / u64::from(self.samples)) as u32 - self.base;
                self.adapt(mean, self.longest - self.base);
            }
            self.begin(s.sent);
        }
        if !limited {
            return;
        }
        if s.slow() {
            s.start(acked);
            return;
        }
        s.count += self.acked;
        self.acked = 1;
        let grown = s.count * self.alpha / 128;
        if grown >= s.cwnd {
            s.cwnd += grown / s.cwnd;
            s.count = 0; // unlike ours, what is over is lost
        }
    }

    fn ssthresh(&mut self, s: &Socket) -> u32 {
        (s.cwnd - s.cwnd * self.beta / 64).max(2)
    }
}

/// tcp_scalable.c.
#[derive(Debug)]
pub(crate) struct Scalable;

impl Module for Scalable {
    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if !limited {
            return;
        }
        let left = if s.slow() { s.start(acked) } else { acked };
        if left > 0 {
            s.creep(s.cwnd.min(100), left);
        }
    }

    fn ssthresh(&mut self, s: &Socket) -> u32 {
        (s.cwnd - s.cwnd / 8).max(2)
    }
}

/// tcp_highspeed.c, for windows of up to 347 segments.
#[derive(Debug)]
pub(crate) struct HighSpeed {
    row: usize,
}

impl HighSpeed {
    pub(crate) fn new() -> Self {
        Self { row: 0 }
    }
}

/// RFC 3649, appendix B: a row's window, and its b in 256ths.
const ROWS: [(u32, u32); 4] = [(38, 128), (118, 112), (221, 104), (347, 98)];

impl Module for HighSpeed {
    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if !limited {
            return;
        }
        if s.slow() {
            s.start(acked);
            return;
        }
        assert!(s.cwnd <= 347, "the model's table ends at 347 segments");
        // Unlike ours, the row is looked up only here: a cut after slow start is by
        // the row of the time before.
        self.row = ROWS.iter().position(|(window, _)| s.cwnd <= *window).unwrap_or(ROWS.len() - 1);
        s.count += self.row as u32 + 1; // unlike ours, once for an ACK, however much it acknowledges
        if s.count >= s.cwnd {
            s.count -= s.cwnd;
            s.cwnd += 1;
        }
    }

    fn ssthresh(&mut self, s: &Socket) -> u32 {
        (s.cwnd - s.cwnd * ROWS[self.row].1 / 256).max(2)
    }
}
