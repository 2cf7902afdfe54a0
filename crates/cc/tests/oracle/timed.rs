//! As `arithmetic`, for the modules that count the kernel's clock ticks, of 4 ms here (`CONFIG_HZ=250`).

use crate::oracle::arithmetic::{Module, Reno, Socket};
use crate::oracle::trace::{Acked, MSS, State};

/// Ticks in a second.
const HZ: u32 = 250;

/// Microseconds in ticks, rounded up (`usecs_to_jiffies`).
fn ticks(us: u32) -> u32 {
    us.div_ceil(1_000_000 / HZ)
}

/// tcp_bic.c.
#[derive(Debug)]
pub(crate) struct Bic {
    per: u32,
    last_max: u32,
    last: u32,
    looked: u32,
    /// Sixteenths of a segment for each ACK.
    ratio: u32,
}

impl Bic {
    pub(crate) fn new() -> Self {
        Self { per: 0, last_max: 0, last: 0, looked: 0, ratio: 32 }
    }

    fn update(&mut self, s: &Socket) {
        let w = s.cwnd;
        // Unlike ours, it checks a constant window again only after 28 ms.
        if self.last == w && s.ticks.wrapping_sub(self.looked) as i32 <= (HZ / 32) as i32 {
            return;
        }
        (self.last, self.looked) = (w, s.ticks);
        if w <= 14 {
            self.per = w;
            return; // and the ratio is left out
        }
        let per = if w < self.last_max {
            match (self.last_max - w) / 4 {
                0 | 1 => w * 20 / 4,
                distance if distance > 16 => w / 16,
                distance => w / distance,
            }
        } else {
            match w - self.last_max {
                0..4 => w * 20 / 4,
                above if above < 48 => w * 3 / above,
                _ => w / 16,
            }
        };
        let per = if self.last_max == 0 { per.min(20) } else { per };
        self.per = (16 * per / self.ratio).max(1);
    }
}

impl Module for Bic {
    fn sample(&mut self, _s: &Socket, segments: u32, _rtt: Option<u32>, state: State) {
        if state == State::Open {
            self.ratio = self.ratio.wrapping_add(segments).wrapping_sub(self.ratio / 16);
        }
    }

    fn enter(&mut self, _s: &mut Socket, to: State) {
        if to == State::Loss {
            *self = Bic::new();
        }
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if !limited {
            return;
        }
        let left = if s.cwnd < s.ssthresh { s.start(acked) } else { acked };
        if left > 0 {
            self.update(s);
            s.creep(self.per, left);
        }
    }

    fn ssthresh(&mut self, s: &Socket) -> u32 {
        let w = s.cwnd;
        self.last_max = if w < self.last_max { w * (1024 + 819) / 2048 } else { w };
        (if w <= 14 { w / 2 } else { w * 819 / 1024 }).max(2)
    }
}

/// tcp_htcp.c: alpha and beta in 128ths, times in ticks, rates in segments a second.
#[derive(Debug)]
pub(crate) struct Htcp {
    alpha: u32,
    beta: u32,
    adapts: bool,
    acked: u32,
    segments: u32,
    rtt_min: u32,
    rtt_max: u32,
    since: u32,
    /// A congestion has begun, and the state was not open since.
    congested: bool,
    max: u32,
    old_max: u32,
    mean: u32,
    /// Nothing at first: then the time since the machine started counts, and the first sample is 0.
    began: Option<u32>,
}

impl Htcp {
    pub(crate) fn new(now: u32) -> Self {
        Self {
            alpha: 128,
            beta: 64,
            adapts: false,
            acked: 1,
            segments: 0,
            rtt_min: 0,
            rtt_max: 0,
            since: now,
            congested: false,
            max: 0,
            old_max: 0,
            mean: 0,
            began: None,
        }
    }

    fn raise(&mut self, now: u32) {
        let mut factor = 1;
        let past = now - self.since;
        if past > HZ {
            let past = past - HZ;
            factor = 1 + (10 * past + (past / 2) * (past / 2) / HZ) / HZ;
        }
        if self.rtt_min > 0 {
            let scale = (HZ * 8 / (10 * self.rtt_min)).clamp(4, 80);
            factor = (factor * 8 / scale).max(1);
        }
        self.alpha = 2 * factor * (128 - self.beta);
    }

    fn adapt(&mut self) {
        let (max, old) = (self.max, self.old_max);
        self.old_max = max;
        if !(4 * old..=6 * old).contains(&(5 * max)) {
            (self.beta, self.adapts) = (64, false);
        } else if self.adapts && self.rtt_min > ticks(10_000) && self.rtt_max > 0 {
            self.beta = (self.rtt_min * 128 / self.rtt_max).clamp(64, 102);
        } else {
            (self.beta, self.adapts) = (64, true);
        }
    }
}

impl Module for Htcp {
    fn sample(&mut self, s: &Socket, segments: u32, rtt: Option<u32>, state: State) {
        if state == State::Open {
            self.acked = segments;
        }
        if let Some(rtt) = rtt.map(ticks) {
            if self.rtt_min > rtt || self.rtt_min == 0 {
                self.rtt_min = rtt;
            }
            if state == State::Open {
                self.rtt_max = self.rtt_max.max(self.rtt_min);
                if rtt <= self.rtt_max + ticks(20_000) {
                    self.rtt_max = self.rtt_max.max(rtt);
                }
            }
        }
        if state > State::Disorder {
            (self.segments, self.began) = (0, Some(s.ticks));
            return;
        }
        self.segments += segments;
        let took = self.began.map_or(u32::MAX, |began| s.ticks - began);
        if self.segments >= s.cwnd - (self.alpha / 128).max(1) && took >= self.rtt_min && self.rtt_min > 0 {
            let sample = self.segments * HZ / took;
            if (s.ticks - self.since) / self.rtt_min <= 3 {
                (self.mean, self.max) = (sample, sample);
            } else {
                self.mean = (3 * self.mean + sample) / 4;
                self.max = self.max.max(self.mean);
            }
            (self.segments, self.began) = (0, Some(s.ticks));
        }
    }

    fn enter(&mut self, s: &mut Socket, to: State) {
        match to {
            State::Open if self.congested => (self.since, self.congested) = (s.ticks, false),
            State::Open | State::Disorder => {}
            _ => (self.congested, self.since) = (true, s.ticks),
        }
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        if !limited {
            return;
        }
        if s.cwnd < s.ssthresh {
            s.start(acked);
            return;
        }
        if s.count * self.alpha / 128 >= s.cwnd {
            // Unlike ours, alpha follows the time only where the window grows, and that ACK is not counted.
            s.cwnd += 1;
            s.count = 0;
            self.raise(s.ticks);
        } else {
            s.count += self.acked;
        }
        self.acked = 1;
    }

    fn ssthresh(&mut self, s: &Socket) -> u32 {
        self.adapt();
        self.raise(s.ticks);
        if self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min) * 95 / 100;
        }
        (s.cwnd * self.beta / 128).max(2)
    }
}

/// tcp_westwood.c, which is Westwood+: rates in bytes a tick.
#[derive(Debug)]
pub(crate) struct Westwood {
    inner: u32,
    rate: u32,
    began: u32,
    bytes: u32,
    una: Option<u64>,
    accounted: u32,
    rtt: u32,
    rtt_min: u32,
    fresh: bool,
}

impl Westwood {
    pub(crate) fn new(now: u32) -> Self {
        let rtt = 20 * HZ;
        Self {
            inner: 0,
            rate: 0,
            began: now,
            bytes: 0,
            una: None,
            accounted: 0,
            rtt,
            rtt_min: rtt,
            fresh: true,
        }
    }

    fn count(&mut self, una: u64) -> u32 {
        let advanced = (una - self.una.unwrap_or(una)) as u32;
        self.una = Some(una);
        if advanced == 0 {
            self.accounted += MSS;
            return MSS;
        }
        if advanced <= MSS {
            return advanced;
        }
        if self.accounted >= advanced {
            self.accounted -= advanced;
            return MSS;
        }
        advanced - std::mem::take(&mut self.accounted)
    }

    fn estimate(&self) -> u32 {
        (self.rate * self.rtt_min / MSS).max(2)
    }
}

impl Module for Westwood {
    fn arrived(&mut self, s: &Socket, acked: &Acked) {
        self.una.get_or_insert(s.una);
        let past = s.ticks - self.began;
        if past > self.rtt.max(HZ / 20) {
            let sample = self.bytes / past;
            if self.inner == 0 && self.rate == 0 {
                (self.inner, self.rate) = (sample, sample);
            } else {
                self.inner = (7 * self.inner + sample) / 8;
                self.rate = (7 * self.rate + self.inner) / 8;
            }
            (self.bytes, self.began) = (0, s.ticks);
        }
        // Unlike ours, bytes are counted where the ACK advances, and a segment for every one that does not.
        self.bytes += if acked.slow_path {
            self.count(s.una)
        } else {
            (s.una - self.una.replace(s.una).unwrap_or(s.una)) as u32
        };
        self.rtt_min = if self.fresh { self.rtt } else { self.rtt_min.min(self.rtt) };
        self.fresh = false;
    }

    fn sample(&mut self, _s: &Socket, _segments: u32, rtt: Option<u32>, _state: State) {
        if let Some(rtt) = rtt {
            self.rtt = ticks(rtt);
        }
    }

    fn avoid(&mut self, s: &mut Socket, acked: u32, limited: bool) {
        Reno.avoid(s, acked, limited);
    }

    fn recovered(&mut self, s: &mut Socket) {
        s.cwnd = self.estimate();
        s.ssthresh = s.cwnd;
    }

    fn collapsed(&mut self, s: &mut Socket) {
        s.ssthresh = self.estimate();
        self.fresh = true;
    }
}
