//! TCP-NV: L. Brakmo: TCP NV: TCP with Congestion Avoidance, Linux's module tcp_nv.c (since Linux 4.8, 2016;
//! that of 6.1 was compared).
//! Vegas for data centres: predicts from the greatest rate of a round which window would do without a queue,
//! and decides only where enough was measured.
//!
//! Unit: segments, seconds. Valid for 1 <= cwnd < 2^40 and RTT above 1 us. Its author recommends
//! it only within a data centre where all flows are NV's: beside flows that fill the buffer it
//! gets less than its share.
//! Rules, from the module, which was read:
//!  * rate = bytes in flight when the acknowledged segment was sent / averaged RTT, its greatest of a round,
//!    least RTT (`tcpnv_acked`, first half) -> `observe`.
//!  * the window that this rate needs is rate x least RTT, and 10 segments more. Above that the window
//!    loses 30 % of what is too much and growth stops. 2 segments below it growth goes on (`tcpnv_acked`,
//!    second half) -> `decide`.
//!  * growth as Reno's or slower by powers of two after timeouts (`tcpnv_cong_avoid`) -> `avoid`.
//!  * 80 % stay after a loss (`tcpnv_recalc_ssthresh`) -> `backoff`.
//!  * after any congestion the measures begin anew (`tcpnv_state`, `tcpnv_reset`).
//!
//! Decisions and deviations:
//!  * the module spreads the period after which the least RTT is forgotten at random between 3/4 and 5/4 of
//!    5 s. Here a multiplicative hash of the nanosecond at which one ends gives the length of the next. The
//!    first ends 2 s after the first sample (in the module: after the connection's start).
//!  * a base RTT given by a BPF program is left out, and so is `nv_catchup`, which nothing ever sets.
//!  * decisions take effect on the next ACK that may change the window (outside recovery,
//!    while it limits the sender).
//!  * least RTT and rates are not rounded to 100 bit/s.
//!  * as in the module the least RTT after a loss is that of the first sample since, until the period ends. A
//!    queue that persists then counts as path.
//!  * the same at each end of a period: alone on a path with a large buffer the queue grows by up to ten
//!    segments in five seconds.
//!  * an ECN echo keeps 80 % too. An idle restart changes nothing, as in the module.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "nv",
    label: "TCP-NV",
    about: "Vegas for data centres: keeps at most ten segments queued by the greatest rate that a round has shown.",
    source: "L. Brakmo: TCP NV: TCP with Congestion Avoidance, Linux tcp_nv.c, 2016",
    reference: "https://github.com/torvalds/linux/blob/master/net/ipv4/tcp_nv.c",
    grade: Grade::A,
    params: Nv::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#eedd88",
    marker: "s",
    build: |args, start| Windowed::hosted(Nv::new(args), start),
};

/// The smallest window that a decision leaves.
const LEAST: f64 = 2.0;
/// Samples that a decision needs: to stop slow start, to decrease, to grow.
const SAMPLES_SLOW: u32 = 30;
const SAMPLES_DOWN: u32 = 60;
const SAMPLES_UP: u32 = 20;
/// Rounds before a decision to decrease, and rounds without a decision after which growth stops.
const ROUNDS_DOWN: u32 = 2;
const ROUNDS_STOP: u32 = 10;
/// Decisions to grow in a row after which growth doubles again.
const CALM: u32 = 8;
const SLOWEST: i32 = -8;
/// A round of one sample means that segments come bundled: it needs a larger window before it says anything.
const BUNDLE: f64 = 4.0;
const BUNDLE_STEP: f64 = 2.0;
const BUNDLE_MOST: f64 = 81.0;
const FIRST_RESET: Span = Span::from_millis(2000);

algorithm! {
    #[derive(Debug)]
    struct Nv {
        /// queued segments that are allowed
        pad: f64 = 10.0, 0.0..=1e4, "segments";
        /// growth stops this far below
        pad_buffer: f64 = 2.0, 0.0..=1e4, "segments";
        /// the least RTT is measured anew after this time, more or less a quarter
        reset_period: f64 = 5.0, 0.1..=1e4, "s";
        /// share of what is too much that goes at once
        decrease: f64 = 0.3, 0.0..=1.0;
        /// share of the window that stays after a loss
        keep: f64 = 0.8, 0.1..=1.0;
    }
    state {
        grows: bool = true,
        /// The power of two by which growth differs from Reno's.
        growth: i32,
        /// Averaged RTT, least RTT, and the least for the next period, seconds.
        average: Option<f64>,
        least: f64 = f64::INFINITY,
        least_next: f64 = f64::INFINITY,
        /// `None` before the first ACK.
        reset_at: Option<Time>,
        /// The greatest rate of the round, segments per second, samples in it, and rounds without a decision.
        rate: f64,
        samples: u32,
        rounds: u32,
        calm: u32,
        bundle: f64 = BUNDLE,
        /// What the last ACK acknowledged, segments.
        acked: f64,
        /// A round has ended and is not yet answered.
        due: bool,
    }
}

impl Nv {
    /// Measures begin anew (`tcpnv_reset`).
    fn reset(&mut self) {
        self.average = None;
        (self.rate, self.samples, self.rounds, self.calm, self.due) = (0.0, 0, 0, 0, false);
    }

    /// The least RTT of the period that ends now.
    fn reset_least(&mut self, now: Time) {
        (self.least, self.least_next) = (self.least_next, f64::INFINITY);
        let hash = now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let uniform = (hash >> 11) as f64 / (1_u64 << 53) as f64;
        self.reset_at = Some(now + Span::from_secs(self.reset_period * (0.75 + 0.5 * uniform)));
        self.bundle = (self.bundle / 2.0).max(BUNDLE);
    }

    /// Once a round: is the window larger than the rate needs?
    fn decide(&mut self, w: &mut Window) {
        self.rounds = self.rounds.saturating_add(1);
        if self.samples == 1 && self.acked >= self.bundle - 1.0 && self.bundle < BUNDLE_MOST {
            self.bundle = (self.bundle + BUNDLE_STEP).min(BUNDLE_MOST);
            (self.samples, self.grows) = (0, true);
            return;
        }
        if !(self.least.is_finite() && self.rate.is_finite()) {
            return;
        }
        let most = self.rate * self.least + self.pad;
        if w.cwnd > most {
            if self.rounds < ROUNDS_DOWN {
                return;
            }
            let needed = if w.ssthresh.is_infinite() { SAMPLES_SLOW } else { SAMPLES_DOWN };
            if self.samples < needed {
                self.grows &= w.ssthresh.is_infinite() || self.rounds <= ROUNDS_STOP;
                return;
            }
            self.grows = false;
            w.ssthresh = most;
            let excess = w.cwnd - most;
            w.cwnd -= if excess > 2.0 { (self.decrease * excess).max(2.0) } else { excess };
            w.cwnd = w.cwnd.max(LEAST);
            (self.growth, self.calm) = (self.growth.min(0), 0);
        } else if w.cwnd <= most - self.pad_buffer {
            if self.samples < SAMPLES_UP {
                return;
            }
            self.grows = true;
            self.calm = self.calm.saturating_add(1);
            if self.growth < 0 && self.calm > CALM {
                (self.growth, self.calm) = (self.growth + 1, 0);
            }
        } else {
            return;
        }
        (self.samples, self.rounds, self.rate) = (0, 0, 0.0);
    }
}

impl Policy for Nv {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let (Some(rtt), Some(sample)) = (ack.rtt, ack.rate) else { return };
        if flow.phase != Phase::Open {
            return;
        }
        self.acked = ack.segments(flow);
        let rtt = rtt.latest.secs().max(1e-9);
        let average = match self.average {
            Some(old) => f64::midpoint(old, rtt),
            None => {
                self.least = 2.0 * rtt;
                rtt
            }
        };
        self.average = Some(average);
        let flight = sample.prior_in_flight as f64 / f64::from(flow.mss.max(1)) + 1.0;
        self.rate = self.rate.max(flight / average);
        self.samples = (self.samples + 1).min(255);
        self.least = self.least.min(average);
        self.least_next = self.least_next.min(average);
        if flow.now >= *self.reset_at.get_or_insert(flow.now + FIRST_RESET) {
            self.reset_least(flow.now);
        }
        self.due |= ack.round_end;
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if core::mem::take(&mut self.due) {
            self.decide(w);
        }
        if self.grows && w.cwnd < w.ssthresh { exponential(w, ack.segments(flow)) } else { 0.0 }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if core::mem::take(&mut self.due) {
            self.decide(w);
        }
        if self.grows {
            let per_segment = if self.growth < 0 {
                libm::exp2(f64::from(self.growth)) / w.cwnd
            } else {
                1.0 / w.cwnd.max(4.0)
            };
            w.cwnd += per_segment * ack.segments(flow);
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(w.cwnd * self.keep, why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => {
                self.reset();
                self.grows = false;
                if why == Congestion::Timeout {
                    self.growth = (self.growth.min(0) - 1).max(SLOWEST);
                }
            }
            Event::Life(Life::Recovered) => self.reset(),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("least_rtt_s", self.least);
        emit("rate_segments_per_s", self.rate);
        emit("grows", f64::from(u8::from(self.grows)));
    }

    fn needs(&self) -> Needs {
        Needs { rate: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event};
    use crate::registry::Value;
    use crate::report::{Ack, RateSample, RttSample};
    use crate::rig::pipe::Pipe;
    use crate::rig::{Rig, near, probe};
    use crate::time::{Rate, Span, Time};

    /// (share of the link, mean queue) of 60 s after the first 30.
    fn alone(given: &[(&str, Value)]) -> (f64, f64) {
        let mut pipe = Pipe::new("nv", given, 0.1, 0.0);
        pipe.run(30.0, |_| {});
        let (mut sum, mut n) = (0.0, 0.0);
        let share = pipe.run(90.0, |p| (sum, n) = (sum + p.queue(), n + 1.0));
        (share, sum / n)
    }

    /// Alone on a path with a BDP of 101 segments: rate x least RTT is that, and 10 more are allowed. But the
    /// module forgets the least RTT every five seconds or so, takes the least of that time, in which the
    /// queue never was empty, and allows 10 more.
    #[test]
    fn ten_segments_stay_in_the_queue_while_the_path_is_remembered() {
        let (share, queue) = alone(&[("reset_period", Value::Number(1e4))]);
        assert!(share > 0.97, "{share}");
        assert!((4.0..12.0).contains(&queue), "{queue}");
        let (_, creeping) = alone(&[]);
        assert!(creeping > 2.0 * queue, "{creeping} and {queue}");
    }

    /// 80 % stay at a loss, one segment at a timeout; then no growth until a round has
    /// shown that there is room.
    #[test]
    fn a_loss_keeps_four_fifths() {
        let mut pipe = Pipe::new("nv", &[], 0.1, 0.0);
        pipe.run(30.0, |_| {});
        let before = pipe.w();
        pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Loss));
        near(pipe.w(), 0.8 * before, 1e-3);
        pipe.cc.on(&pipe.flow, Event::Congestion(Congestion::Timeout));
        assert_eq!(pipe.w(), 1.0);
    }

    /// `tcpnv_init`: the first period lasts 2 s from the start of the connection, whenever that is. On a path
    /// whose RTT rises from 0.1 s to 0.3 s after 1.9 s the next period, of 3 to 5 s, knows nothing but 0.3 s,
    /// so that the least RTT is that after 7 s.
    #[test]
    fn the_first_period_counts_from_the_start_of_the_connection() {
        for start in [0, 100, 101, 102, 103] {
            let mut rig = Rig::new("nv", &[("reset_period", Value::Number(4.0))], 10.0, 2.0);
            rig.flow.now = Time(start * 1_000_000_000);
            for i in 0..704 {
                let mut ack = Ack { acks: 1, acked: 1, ..Ack::default() };
                ack.rtt = Some(RttSample::one(Span::from_millis(if i < 190 { 100 } else { 300 })));
                ack.rate = Some(RateSample {
                    rate: Rate(0),
                    app_limited: false,
                    prior_delivered: 0,
                    prior_in_flight: 0,
                });
                rig.cc.on_ack(&rig.flow, &ack);
                rig.flow.now = rig.flow.now + Span::from_millis(10);
            }
            near(probe(&*rig.cc, "least_rtt_s"), 0.3, 1e-3);
        }
    }

    /// Slow start ends by the measure, not by a loss: an endless queue never overflows.
    #[test]
    fn slow_start_ends_when_more_than_ten_segments_queue() {
        let mut pipe = Pipe::new("nv", &[], 0.1, 0.0);
        let mut most = 0.0_f64;
        pipe.run(10.0, |p| most = most.max(p.w()));
        assert!(most < 450.0, "{most}");
        assert!(pipe.w() < 130.0, "{}", pipe.w());
    }
}
