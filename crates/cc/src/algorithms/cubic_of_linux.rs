//! CUBIC as Linux 6.x has it: net/ipv4/tcp_cubic.c (`bictcp_update`, `cubictcp_recalc_ssthresh`,
//! `cubictcp_acked`, `cubictcp_state`) with `tcp_cong_avoid_ai` of tcp_cong.c. It is `rules = "linux"` of
//! [`super::cubic`], where the RFC's CUBIC is.
//!
//! Unit: whole segments and seconds. `cnt` is the number of acknowledged segments for one segment of growth;
//! what has been acknowledged towards the next one is in `credit`, so the window stays whole.
//! Where it differs from RFC 9438:
//!  * beta is 717/1024 and C 410/1024, unless given;
//!  * before the first loss and after a timeout the window grows by a twentieth per round trip at least;
//!  * W_est grows at (1024 - beta) 3 / (1024 + beta) per round, rounded to 8/15, also above the window of the
//!    last loss. It raises the window by `cnt`, and not at once;
//!  * growth is at most half a segment for each acknowledged one;
//!  * the target is that of the smallest RTT ahead, not of SRTT; RTTs within a second of the epoch's begin
//!    are left out of the smallest;
//!  * `cnt` is worked out anew when the window has changed, and else each 1/32 s;
//!  * time without data to send ages the epoch, but for pauses.
//!
//! Deviations: the kernel's clock here ticks in jiffies of 1 to 10 ms; this one does not tick, and
//! the cubic root is exact.

use crate::algorithms::prelude::*;
use crate::slow_start::after_descent;

const SCALE: f64 = 1024.0;
const BETA: f64 = 717.0 / SCALE;
const C: f64 = 410.0 / SCALE;
/// `cnt` at most, before the first loss.
const FIRST_GROWTH: f64 = 20.0;
/// `cnt` at least.
const FASTEST_GROWTH: f64 = 2.0;

/// See the head of this file. Names in the comments are those of `struct bictcp`.
#[derive(Debug, Default)]
pub(crate) struct CubicOfLinux {
    beta: f64,
    c: f64,
    fast_convergence: bool,
    /// Acknowledged segments for one of W_est.
    friendly: f64,
    /// `cnt`.
    cnt: f64,
    /// `snd_cwnd_cnt`.
    credit: f64,
    /// `last_max_cwnd`; 0 before the first loss.
    w_max: f64,
    /// `last_cwnd` and `last_time`: of the last computation.
    computed: (f64, Time),
    /// `bic_origin_point`.
    origin: f64,
    /// `bic_K`, seconds.
    k: f64,
    /// `delay_min`.
    rtt_min: Option<Span>,
    /// `epoch_start`.
    epoch: Option<Time>,
    /// `ack_cnt`.
    acked: f64,
    /// `tcp_cwnd`.
    w_est: f64,
    /// `lsndtime` once everything is acknowledged: when the newest acknowledged segment was sent.
    sent: Time,
}

impl CubicOfLinux {
    pub(crate) fn new(args: &Args) -> Self {
        let number = |name, linux| if args.given(name) { args.number(name) } else { linux };
        let beta = number("beta", BETA);
        // `beta_scale`, an eighth of it.
        let friendly = libm::floor(8.0 * (1.0 + beta) / 3.0 / (1.0 - beta)) / 8.0;
        Self {
            beta,
            c: number("c", C),
            fast_convergence: args.flag("fast_convergence"),
            friendly,
            computed: (0.0, Time::default()),
            ..Self::default()
        }
    }

    /// `bictcp_update`: `acked` segments were acknowledged at a window of `cwnd`.
    fn update(&mut self, cwnd: f64, acked: f64, now: Time) {
        const COMPUTED_EACH: Span = Span(1_000_000_000 / 32);
        self.acked += acked;
        if self.computed.0 == cwnd && now.since(self.computed.1) <= COMPUTED_EACH {
            return;
        }
        self.computed = (cwnd, now);
        let epoch = *self.epoch.get_or_insert_with(|| {
            (self.acked, self.w_est) = (acked, cwnd);
            (self.k, self.origin) = if self.w_max <= cwnd {
                (0.0, cwnd)
            } else {
                (libm::cbrt((self.w_max - cwnd) / self.c), self.w_max)
            };
            now
        });
        let ahead = now.since(epoch) + self.rtt_min.unwrap_or(Span::ZERO);
        let x = ahead.secs() - self.k;
        let delta = libm::floor(self.c * (x * x * x).abs());
        let target = if x < 0.0 { self.origin - delta } else { self.origin + delta };
        self.cnt = if target > cwnd { libm::floor(cwnd / (target - cwnd)) } else { 100.0 * cwnd };
        if self.w_max == 0.0 {
            self.cnt = self.cnt.min(FIRST_GROWTH);
        }
        self.befriend(cwnd);
        self.cnt = self.cnt.max(FASTEST_GROWTH);
    }

    /// The Reno-friendly region.
    fn befriend(&mut self, cwnd: f64) {
        let each = libm::floor(cwnd * self.friendly).max(1.0);
        if self.acked > each {
            let steps = libm::ceil(self.acked / each) - 1.0;
            self.acked -= steps * each;
            self.w_est += steps;
        }
        if self.w_est > cwnd {
            self.cnt = self.cnt.min(libm::floor(cwnd / (self.w_est - cwnd)));
        }
    }

    /// `tcp_cong_avoid_ai`.
    fn add(&mut self, w: &mut Window, acked: f64) {
        if self.credit >= self.cnt {
            self.credit = 0.0;
            w.cwnd += 1.0;
        }
        self.credit += acked;
        if self.credit >= self.cnt {
            let more = libm::floor(self.credit / self.cnt);
            self.credit -= more * self.cnt;
            w.cwnd += more;
        }
    }

    fn on_congestion(&mut self, w: &Window, why: Congestion) {
        let cwnd = libm::floor(w.cwnd);
        self.credit = 0.0;
        self.epoch = None;
        self.w_max = if cwnd < self.w_max && self.fast_convergence {
            libm::floor(cwnd * (1.0 + self.beta) / 2.0)
        } else {
            cwnd
        };
        if why == Congestion::Timeout {
            // `bictcp_reset`
            (self.cnt, self.w_max, self.origin, self.k) = (0.0, 0.0, 0.0, 0.0);
            (self.acked, self.w_est) = (0.0, 0.0);
            (self.computed, self.rtt_min) = ((0.0, Time::default()), None);
        }
    }
}

impl Policy for CubicOfLinux {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        const SETTLING: Span = Span::from_millis(1000);
        if let Some(rtt) = ack.rtt {
            self.sent = Time(flow.now.0.saturating_sub(rtt.latest.0));
        }
        let settling = self.epoch.is_some_and(|epoch| flow.now.since(epoch) < SETTLING);
        if let Some(rtt) = ack.rtt.filter(|_| !settling) {
            self.rtt_min = Some(self.rtt_min.map_or(rtt.min, |known| known.min(rtt.min)));
        }
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let acked = libm::round(ack.segments(flow));
        w.cwnd = libm::floor(w.cwnd);
        self.update(w.cwnd, acked, flow.now);
        self.add(w, acked);
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(libm::floor(libm::floor(w.cwnd) * self.beta).max(2.0), why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(w, why),
            Event::Life(Life::IdleRestart) => {
                // `cubictcp_cwnd_event`
                self.epoch = self.epoch.map(|epoch| (epoch + flow.now.since(self.sent)).min(flow.now));
            }
            _ => {}
        }
    }

    fn on_descent(&mut self, full_bdp: f64) {
        self.w_max = libm::floor(after_descent(full_bdp, self.fast_convergence));
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("k_s", self.k);
        emit("w_max_segments", self.w_max);
        emit("w_est_segments", self.w_est);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::rig::{Rig, near, probe, text};

    fn rig(w: f64, t: f64) -> Rig {
        Rig::new("cubic", &[("rules", text("linux"))], w, t)
    }

    /// `cubictcp_recalc_ssthresh` with beta = 717: 100 segments become 70 (70.02), and 75 after them 52
    /// (52.5). Fast convergence: the second loss is below the first one's window, so the plateau is 75
    /// (1024 + 717) / 2048 = 63 (63.76).
    #[test]
    fn a_loss_leaves_717_of_1024() {
        let mut rig = rig(100.0, 2.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), probe(&*rig.cc, "w_max_segments")), (70.0, 100.0));
        while rig.w() < 75.0 {
            rig.round(0.1);
        }
        assert_eq!(rig.w(), 75.0);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), probe(&*rig.cc, "w_max_segments")), (52.0, 63.0));
    }

    /// K = cbrt(30 * 1024 / 410) = 4.215 s for the 30 segments from 70 back to 100.
    #[test]
    fn k_is_that_of_the_kernel() {
        let mut rig = rig(100.0, 2.0);
        rig.congestion(Congestion::Loss);
        rig.ack(1.0, 0.0, 0.1, false);
        near(probe(&*rig.cc, "k_s"), 4.215, 1e-3);
    }

    /// Before the first loss `cnt` is 20: 100 segments grow by five in a round.
    #[test]
    fn the_first_growth_is_a_twentieth_per_round() {
        let mut rig = rig(100.0, 2.0);
        rig.round(0.001);
        assert_eq!(rig.w(), 105.0);
    }

    /// W_est gains one segment for floor(1.875 W) acknowledged ones: 133 at the 71 segments to which the
    /// cubic function, 0.4 * 4.2^3 = 29 below 100, takes the window at once.
    #[test]
    fn the_friendly_region_gains_a_segment_in_one_and_seven_eighths_of_a_round() {
        let mut rig = rig(100.0, 2.0);
        rig.congestion(Congestion::Loss);
        for _ in 0..132 {
            rig.ack(1.0, 0.000_01, 0.001, false);
        }
        rig.ack(1.0, 0.04, 0.001, false);
        assert_eq!((rig.w(), probe(&*rig.cc, "w_est_segments")), (71.0, 70.0));
        rig.ack(1.0, 0.04, 0.001, false);
        assert_eq!((rig.w(), probe(&*rig.cc, "w_est_segments")), (71.0, 71.0));
    }

    /// `bictcp_reset`: after a timeout the window grows as before the first loss, and not faster than
    /// by half a segment an ACK.
    #[test]
    fn a_timeout_forgets_the_plateau() {
        let mut rig = rig(100.0, 2.0);
        rig.congestion(Congestion::Loss);
        rig.ack(1.0, 0.0, 0.1, false);
        rig.congestion(Congestion::Timeout);
        assert_eq!(probe(&*rig.cc, "w_max_segments"), 0.0);
        rig.ack(rig.t(), 0.1, 0.1, true);
        let before = rig.w();
        rig.ack(2.0 * before, 100.0, 0.1, true);
        assert!(rig.w() <= 2.0 * before, "{before} to {}", rig.w());
    }
}
