//! Rapid Start: K. Oku: Rapid Startup of Congestion Control, draft-kazuho-ccwg-rapid-start, 2025 and 2026.
//!
//! Grade A for what it does: read in the draft's repository, in a state between versions 00 and 01. Unit: segments; bytes in recovery.
//!
//! | state       | rule                                                                                                         |
//! |-------------|--------------------------------------------------------------------------------------------------------------|
//! | no queue    | the smallest RTT of the last round trip <= min(min_rtt + 4 ms, 1.1 min_rtt): growth by 2 bytes a byte, x3 a round |
//! | queue       | above that: growth by 1 byte a byte, x2 a round                                                               |
//! | congestion  | W = silence_factor W; then W -= ack_factor acknowledged + loss_factor lost, until all in flight is accounted for |
//! | then        | T = W: congestion avoidance                                                                                   |
//!
//! With K = 11/18 and the algorithm's own factor beta: silence_factor = loss_factor = beta + K (1 - beta), ack_factor = K (1 - beta). W is
//! kept above W0 (silence_factor - ack_factor / 3 - 2/3 loss_factor), where W0 was the window at the congestion.
//!
//! Decisions:
//!  * beta is the cut that the algorithm itself would make at this congestion, over W.
//!  * "the last round trip" is a window of the first RTT, exact to half of it.
//!  * the recovery period is over when as much as was in flight has been acknowledged or declared lost, or when loss recovery ends. The
//!    window holds in it at once, without proportional rate reduction.
//!  * the algorithm's answer to a timeout stays, and so do later slow starts.
//!  * pacing of the first flight, and the jump to two initial windows that it allows, are left out: pacing is the sender's (`pacing`), and
//!    `resume_cwnd` is the draft's way to that jump.

use super::SlowStartRule;
use crate::controller::{Congestion, Life, Recovery};
use crate::filter::WindowedMin;
use crate::report::{Ack, Flow};
use crate::time::Span;
use crate::windowed::{Cut, Window};

/// What the smallest RTT of the last round trip may exceed that of all by.
const TOLERANCE: Span = Span::from_millis(4);
/// The same as a factor.
const TOLERANCE_FACTOR: f64 = 1.10;
/// Growth in bytes for each byte acknowledged while there is no queue.
const RAPID_GROWTH: f64 = 2.0;
/// K of the reduction factors.
const K: f64 = 11.0 / 18.0;

/// The factors of the recovery period.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factors {
    silence: f64,
    ack: f64,
    loss: f64,
}

impl Factors {
    fn of(beta: f64) -> Self {
        let silence = beta + K * (1.0 - beta);
        Self { silence, ack: K * (1.0 - beta), loss: silence }
    }

    /// The least window as a share of that at the congestion.
    fn least(&self) -> f64 {
        self.silence - self.ack / 3.0 - self.loss * 2.0 / 3.0
    }
}

/// The recovery period.
#[derive(Clone, Copy, Debug)]
struct Descent {
    factors: Factors,
    /// In segments.
    least: f64,
    /// Bytes in flight at its start that are not accounted for yet.
    open: u64,
}

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rapid {
    /// The smallest RTT of the last round trip.
    floor: Option<WindowedMin>,
    /// The first congestion has come.
    over: bool,
    descent: Option<Descent>,
}

impl Rapid {
    fn sees_queue(&self, flow: &Flow) -> bool {
        let (Some(floor), Some(rtt)) = (self.floor.and_then(|floor| floor.get()), flow.rtt) else {
            return false;
        };
        let most = (rtt.min + TOLERANCE).min(Span::from_secs(rtt.min.secs() * TOLERANCE_FACTOR));
        floor > most
    }

    /// The factors, if congestion at window `w` begins a recovery period.
    fn factors(&self, why: Congestion, w: &Window, own: &Cut) -> Option<Factors> {
        let begins = !self.over && why != Congestion::Timeout && w.cwnd < w.ssthresh;
        begins.then(|| Factors::of((own.cwnd / w.cwnd).clamp(0.0, 1.0)))
    }
}

impl SlowStartRule for Rapid {
    fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.floor.get_or_insert_with(|| WindowedMin::new(rtt.min)).add(flow.now, rtt.min);
        }
        let Some(descent) = &mut self.descent else { return };
        let mss = f64::from(flow.mss.max(1));
        let off = descent.factors.ack * ack.acked as f64 + descent.factors.loss * ack.lost as f64;
        w.cwnd = (w.cwnd - off / mss).max(descent.least).min(w.cwnd);
        w.ssthresh = w.cwnd;
        descent.open = descent.open.saturating_sub(ack.acked.saturating_add(ack.lost));
        if descent.open == 0 {
            self.descent = None;
        }
    }

    fn counted(&self, flow: &Flow, _ack: &Ack, counted: &Ack, _w: &Window) -> Option<(Ack, f64)> {
        if self.over || self.sees_queue(flow) {
            return None;
        }
        let acked = (counted.acked as f64 * RAPID_GROWTH) as u64;
        Some((Ack { acked, ..*counted }, 1.0 / RAPID_GROWTH))
    }

    fn holds(&self) -> bool {
        self.descent.is_some()
    }

    fn cut(&self, why: Congestion, w: &Window, own: Cut) -> Cut {
        self.factors(why, w, &own).map_or(own, |factors| {
            let cwnd = factors.silence * w.cwnd;
            Cut { cwnd, ssthresh: cwnd, ..own }
        })
    }

    fn on_congestion(&mut self, flow: &Flow, why: Congestion, w: &Window, own: &Cut) {
        self.descent = self.factors(why, w, own).map(|factors| Descent {
            factors,
            least: factors.least() * w.cwnd,
            open: flow.in_flight.max(1),
        });
        self.over = true;
    }

    fn on_undo(&mut self) {
        self.descent = None;
    }

    fn on_life(&mut self, what: Life) {
        if what == Life::Recovered {
            self.descent = None;
        }
    }

    fn recovery(&self) -> Recovery {
        if self.descent.is_some() { Recovery::Controller } else { Recovery::Sender }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RAPID, SLOW_START};
    use super::Factors;
    use crate::controller::{Congestion, Recovery};
    use crate::report::Phase;
    use crate::rig::{Rig, near, text};

    fn rig(id: &str) -> Rig {
        Rig::new(id, &[(SLOW_START, text(RAPID))], 10.0, f64::INFINITY)
    }

    /// The numbers that the draft works out for beta 0.5 and for CUBIC's 0.7.
    #[test]
    fn the_factors_are_those_of_the_draft() {
        for (beta, silence, ack) in [(0.5, 29.0 / 36.0, 11.0 / 36.0), (0.7, 53.0 / 60.0, 11.0 / 60.0)] {
            let factors = Factors::of(beta);
            near(factors.silence, silence, 1e-12);
            near(factors.ack, ack, 1e-12);
            near(factors.loss, silence, 1e-12);
            // Two thirds lost: W0 (silence - ack / 3 - 2/3 loss) is beta of the third that the path took.
            near(factors.least(), beta / 3.0, 1e-12);
        }
    }

    /// Three times a round while the RTT stays within 4 ms or a tenth of the smallest, whichever is less, then twice.
    #[test]
    fn it_triples_until_the_rtt_rises() {
        for (base, within, above) in [(0.600, 0.604, 0.6041), (0.020, 0.022, 0.0221)] {
            let mut rig = rig("reno");
            rig.round(base);
            assert_eq!(rig.w(), 30.0);
            rig.round(within);
            assert_eq!(rig.w(), 90.0);
            // Half a round trip still shows the smaller RTT.
            rig.round(above);
            rig.round(above);
            let before = rig.w();
            rig.round(above);
            near(rig.w(), 2.0 * before, 1e-9);
        }
    }

    /// By hand for beta 0.5, 90 segments in flight of which 30 are lost: 90 x 29/36 = 72.5 at once, less 60 x 11/36 for those acknowledged
    /// and 30 x 29/36 for the lost: 30, which is half of the 60 that passed. Then congestion avoidance.
    #[test]
    fn the_window_ends_at_beta_of_what_passed() {
        let mut rig = rig("reno");
        rig.round(0.6);
        rig.round(0.6);
        rig.flow.in_flight = 90_000_000;
        let said = rig.cc.backoff(&rig.flow, Congestion::Loss);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), said.cwnd), (72.5, 72_500_000));
        assert_eq!(rig.cc.recovery(), Recovery::Controller);
        rig.flow.phase = Phase::Recovery;
        let lost = crate::report::Ack { acks: 1, lost: 30_000_000, ..Default::default() };
        rig.cc.on_ack(&rig.flow, &lost);
        (0..60).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
        near(rig.w(), 30.0, 1e-6);
        assert_eq!(rig.cc.recovery(), Recovery::Sender);
        rig.flow.phase = Phase::Open;
        rig.ack(1.0, 0.01, 0.6, false);
        near(rig.w(), 30.0 + 1.0 / 30.0, 1e-6);
        // Later congestion is the algorithm's own business.
        rig.congestion(Congestion::Loss);
        near(rig.w(), 15.0, 0.01);
    }
}
