//! Rapid Start: K. Oku, M. Welzl: Rapid Startup of Congestion Control,
//! draft-kazuho-ccwg-rapid-start, 2025 and 2026.
//!
//! Grade A for what it does: read in the draft's repository at commit 00e5ea1, after version 02 (March 2026).
//! Unit: segments; bytes in recovery.
//!
//! | state       | rule                                                                                                         |
//! |-------------|--------------------------------------------------------------------------------------------------------------|
//! | no queue    | the smallest RTT of the last round trip <= min(min_rtt + 4 ms, 1.1 min_rtt): growth by 2 bytes a byte, x3 a round |
//! | queue       | above that: growth by 1 byte a byte, x2 a round                                                               |
//! | congestion  | W = silence_factor W; then W -= ack_factor acknowledged + loss_factor lost, until all in flight is accounted for |
//! | then        | T = W: congestion avoidance. The full BDP, as it is estimated, is W / beta. CUBIC takes twice that for W_max  |
//!
//! With K = 2/3 and the algorithm's own factor beta: silence_factor = loss_factor = beta + K (1 - beta),
//! ack_factor = K (1 - beta). W is kept above W0 beta / 3, where W0 was the window at the congestion. (In the
//! text of 2025 K was 11/18.)
//!
//! Decisions:
//!  * beta is the cut that the algorithm itself would make at this congestion, over W.
//!  * W_max is set where CUBIC's own rules would set it to W0, which may be three times the BDP: in `cubic`
//!    and `satcp`, by all their rules. With fast convergence off it is the estimate itself.
//!  * "the last round trip" is a window of the first RTT, exact to half of it.
//!  * the recovery period is over when as much as was in flight has been acknowledged or declared lost, or
//!    when loss recovery ends. The window holds in it at once, without proportional rate reduction.
//!  * the algorithm's answer to a timeout stays, and so do later slow starts.
//!  * pacing of the initial window over a full RTT, and the initial window of twice the size that it allows,
//!    are left out: pacing is the sender's (`pacing`), and `resume_cwnd` is the draft's way to that jump.
//!  * the bound of an initial window times beta, at which a sender may stop the descent, is left out.

use super::SlowStartRule;
use crate::decision::RecoveryWindow;
use crate::event::{Congestion, Life};
use crate::filter::WindowedMin;
use crate::report::{Ack, Flow};
use crate::time::Span;
use crate::window::{Cut, Window};

/// What the smallest RTT of the last round trip may exceed that of all by.
const TOLERANCE: Span = Span::from_millis(4);
/// The same as a factor.
const TOLERANCE_FACTOR: f64 = 1.10;
/// Growth in bytes for each byte acknowledged while there is no queue.
const RAPID_GROWTH: f64 = 2.0;
/// K of the reduction factors.
const K: f64 = 2.0 / 3.0;

/// The factors of the recovery period.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factors {
    beta: f64,
    silence: f64,
    ack: f64,
    loss: f64,
}

impl Factors {
    fn of(beta: f64) -> Self {
        let silence = beta + K * (1.0 - beta);
        Self { beta, silence, ack: K * (1.0 - beta), loss: silence }
    }

    /// The least window as a share of that at the congestion.
    fn least(&self) -> f64 {
        self.beta / 3.0
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
    /// The window so far, in segments.
    cwnd: f64,
}

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rapid {
    /// The smallest RTT of the last round trip.
    floor: Option<WindowedMin>,
    /// The first congestion has come.
    over: bool,
    descent: Option<Descent>,
    /// The full BDP that a descent has found, in segments, until it is asked for.
    found: Option<f64>,
}

impl Rapid {
    fn sees_queue(&self, flow: &Flow) -> bool {
        let (Some(floor), Some(rtt)) = (self.floor.and_then(|floor| floor.get()), flow.rtt) else {
            return false;
        };
        let most = (rtt.min + TOLERANCE).min(Span::from_secs(rtt.min.secs() * TOLERANCE_FACTOR));
        floor > most
    }

    /// The recovery period is over.
    fn land(&mut self) {
        if let Some(Descent { factors, cwnd, .. }) = self.descent.take()
            && factors.beta > 0.0
        {
            self.found = Some(cwnd / factors.beta);
        }
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
        (w.ssthresh, descent.cwnd) = (w.cwnd, w.cwnd);
        descent.open = descent.open.saturating_sub(ack.acked.saturating_add(ack.lost));
        if descent.open == 0 {
            self.land();
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
            cwnd: factors.silence * w.cwnd,
        });
        self.over = true;
    }

    fn on_undo(&mut self) {
        self.descent = None;
    }

    fn on_life(&mut self, what: Life) {
        if what == Life::Recovered {
            self.land();
        }
    }

    fn full_bdp(&mut self) -> Option<f64> {
        self.found.take()
    }

    fn recovery(&self) -> RecoveryWindow {
        if self.descent.is_some() { RecoveryWindow::Controller } else { RecoveryWindow::Sender }
    }
}

/// CUBIC's W_max after this start ("Handing Over to CUBIC"): where flows compete,
/// what slow start would have reached.
pub(crate) fn after_descent(full_bdp: f64, fast_convergence: bool) -> f64 {
    if fast_convergence { 2.0 * full_bdp } else { full_bdp }
}

#[cfg(test)]
mod tests {
    use super::super::{RAPID, SLOW_START};
    use super::Factors;
    use alloc::vec;

    use crate::decision::RecoveryWindow;
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::report::Phase;
    use crate::rig::{Rig, near, probe, text};

    fn rig(id: &str) -> Rig {
        Rig::new(id, &[(SLOW_START, text(RAPID))], 10.0, f64::INFINITY)
    }

    /// The numbers that the draft works out for beta 0.5, for CUBIC's 0.7 and for 0.8 (ABE).
    #[test]
    fn the_factors_are_those_of_the_draft() {
        for (beta, silence, ack) in
            [(0.5, 5.0 / 6.0, 1.0 / 3.0), (0.7, 0.9, 0.2), (0.8, 14.0 / 15.0, 2.0 / 15.0)]
        {
            let factors = Factors::of(beta);
            near(factors.silence, silence, 1e-12);
            near(factors.ack, ack, 1e-12);
            near(factors.loss, silence, 1e-12);
            // Two thirds lost: W0 (silence - ack / 3 - 2/3 loss) is beta of the third that the path took.
            near(factors.silence - factors.ack / 3.0 - factors.loss * 2.0 / 3.0, beta / 3.0, 1e-12);
            near(factors.least(), beta / 3.0, 1e-12);
        }
    }

    /// Three times a round while the RTT stays within 4 ms or a tenth of the smallest,
    /// whichever is less, then twice.
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

    /// By hand for beta 0.5: 90 segments are in flight, and 30 are lost. The window goes to 90 x 5/6 = 75 at
    /// once. It falls by 60 / 3 for the segments acknowledged and by 30 x 5/6 for those lost, to 30. That is
    /// half of the 60 that passed. Then congestion avoidance.
    #[test]
    fn the_window_ends_at_beta_of_what_passed() {
        let mut rig = rig("reno");
        rig.round(0.6);
        rig.round(0.6);
        rig.flow.in_flight = 90_000_000;
        let said = rig.cc.backoff(&rig.flow, Congestion::Loss);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), said.cwnd), (75.0, 75_000_000));
        assert_eq!(rig.cc.needs().recovery, RecoveryWindow::Controller);
        rig.flow.phase = Phase::Recovery;
        let lost = crate::report::Ack { acks: 1, lost: 30_000_000, ..Default::default() };
        rig.cc.on_ack(&rig.flow, &lost);
        (0..60).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
        near(rig.w(), 30.0, 1e-6);
        assert_eq!(rig.cc.needs().recovery, RecoveryWindow::Sender);
        rig.flow.phase = Phase::Open;
        rig.ack(1.0, 0.01, 0.6, false);
        near(rig.w(), 30.0 + 1.0 / 30.0, 1e-6);
        // Later congestion is the algorithm's own business.
        rig.congestion(Congestion::Loss);
        near(rig.w(), 15.0, 0.01);
    }

    /// "Handing Over to CUBIC" by hand: of 90 segments 60 passed, so W ends at 0.7 x 60 = 42, the full BDP is
    /// 60 and W_max 120, where CUBIC alone would keep the 90. Without fast convergence it is the 60. The same
    /// if loss recovery ends before all is accounted for.
    #[test]
    fn cubic_takes_over_with_twice_the_bdp_that_was_found() {
        let fast = |on| ("fast_convergence", Value::Flag(on));
        for (id, given, w_max) in [
            ("cubic", vec![fast(true)], 120.0),
            ("cubic", vec![fast(false)], 60.0),
            ("cubic", vec![fast(true), ("rules", text("linux")), ("beta", Value::Number(0.7))], 120.0),
            ("satcp", vec![fast(true)], 120.0),
        ] {
            for recovered in [false, true] {
                let mut given = given.clone();
                given.push((SLOW_START, text(RAPID)));
                let mut rig = Rig::new(id, &given, 10.0, f64::INFINITY);
                rig.round(0.6);
                rig.round(0.6);
                rig.flow.in_flight = if recovered { 100_000_000 } else { 90_000_000 };
                rig.congestion(Congestion::Loss);
                rig.flow.phase = Phase::Recovery;
                let lost = crate::report::Ack { acks: 1, lost: 30_000_000, ..Default::default() };
                rig.cc.on_ack(&rig.flow, &lost);
                (0..60).for_each(|_| rig.ack(1.0, 0.01, 0.6, false));
                near(rig.w(), 42.0, 0.02); // the kernel's rules cut to whole segments
                rig.flow.phase = Phase::Open;
                rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
                near(probe(&*rig.cc, "w_max_segments"), w_max, 0.01);
            }
        }
    }
}
