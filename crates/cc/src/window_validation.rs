//! newCWV: G. Fairhurst, A. Sathiaseelan, R. Secchi: Updating TCP to Support Rate-Limited Traffic,
//! RFC 7661, 2015. A window that the application leaves unused is kept for a time, and costs what was used,
//! not what was allowed, if that proves too much.
//!
//! Grade B: from knowledge of the RFC; the text itself could not be read here, parts of an implementation
//! (XNU's) were compared. Unit: bytes; the window in segments. Beside any policy.
//!
//! | phase         | while                       | window                                                                        |
//! |---------------|-----------------------------|-------------------------------------------------------------------------------|
//! | validated     | pipeACK >= W / 2, or unknown | by the algorithm                                                             |
//! | non-validated | pipeACK < W / 2             | kept; after five minutes T = max(T, 3/4 W), W = max(W / 2, IW)                |
//!
//! pipeACK is the most that was acknowledged in a round trip of the last max(3 RTT, 1 s). Congestion in the
//! non-validated phase takes W to max(pipeACK, FlightSize) / 2, and the end of loss recovery to
//! (max(pipeACK, FlightSize) - R) / 2, where R was retransmitted. Then pipeACK is unknown until it has been
//! measured again. (Sections 4.2 to 4.4.)
//!
//! Decisions:
//!  * it takes the place of the restart of RFC 5681 section 4.1, so `idle_restart` is off with it.
//!  * in slow start a quarter of W is enough, since W doubles in the round trip in which pipeACK
//!    is measured (XNU does so).
//!  * pipeACK is zero after a pause in which nothing was acknowledged for the whole sampling period.
//!  * ssthresh at such a congestion is max(pipeACK, FlightSize) / 2, since RFC 5681 eq. 4 cuts FlightSize. In
//!    the validated phase the algorithm's own cut applies.
//!  * R is what was declared lost since the congestion.
//!  * the five minutes are looked at with each ACK and at the end of a pause. They begin when the sampling
//!    period has run out, and anew with each reduction.

use crate::event::{Congestion, Life};
use crate::params::{Args, Param};
use crate::report::{Ack, Flow};
use crate::time::{Span, Time};
use crate::window::{Cut, Window};

/// Name of the parameter that chooses what becomes of an unused window.
pub const WINDOW_VALIDATION: &str = "window_validation";
/// Its value for newCWV.
pub const NEWCWV: &str = "newcwv";
const NVP: &str = "newcwv_nvp";
/// pipeACK samples that are kept (at least three round trips fit into the sampling period).
const SAMPLES: usize = 4;

/// What every window algorithm takes.
pub(crate) const PARAMS: &[Param] = &[
    Param::choice(WINDOW_VALIDATION, &["standard", NEWCWV]).about(
        "a window that the application does not use: it does not grow, and may be set back after a pause (idle_restart); or newCWV (RFC \
         7661)",
    ),
    Param::number(NVP, 300.0, 0.001..=1e6)
        .unit("s")
        .about("NVP: after this time without validation the window is halved")
        .with(WINDOW_VALIDATION, NEWCWV),
];

/// The non-validated period, if checked parameters choose newCWV.
pub(crate) fn chosen(args: &Args) -> Option<Span> {
    args.is(WINDOW_VALIDATION, NEWCWV).then(|| Span::from_secs(args.number(NVP)))
}

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCwv {
    nvp: Span,
    initial_window: f64,
    /// The present round trip: when it began, and what has been acknowledged in it.
    round: Option<(Time, u64)>,
    /// Bytes acknowledged in each of the last round trips, and when it ended; the latest first.
    samples: [Option<(Time, u64)>; SAMPLES],
    /// When the non-validated phase began, or the window was last reduced in it.
    unvalidated_since: Option<Time>,
    /// After a congestion in the non-validated phase: max(pipeACK, LossFlightSize), and
    /// bytes declared lost before.
    retreat: Option<(u64, u64)>,
}

impl NewCwv {
    pub(crate) fn new(nvp: Span, initial_window: f64) -> Self {
        Self {
            nvp,
            initial_window,
            round: None,
            samples: [None; SAMPLES],
            unvalidated_since: None,
            retreat: None,
        }
    }

    /// Must the window stand?
    pub(crate) fn holds(&self) -> bool {
        self.unvalidated_since.is_some()
    }

    /// pipeACK; `None` while it is unknown.
    fn pipe_ack(&self, now: Time, srtt: Span) -> Option<u64> {
        self.samples[0]?;
        let fresh = self.samples.iter().flatten().filter(|(at, _)| now.since(*at) <= period(srtt));
        Some(fresh.map(|(_, bytes)| *bytes).max().unwrap_or(0))
    }

    /// Every ACK, before the window grows.
    pub(crate) fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        let Some(rtt) = flow.rtt else { return };
        let (began, acked) = self.round.unwrap_or((flow.now, 0));
        let acked = acked.saturating_add(ack.acked);
        if flow.now.since(began) >= rtt.smoothed && self.round.is_some() {
            self.samples.rotate_right(1);
            self.samples[0] = Some((flow.now, acked));
            self.round = Some((flow.now, 0));
        } else {
            self.round = Some((began, acked));
        }
        self.judge(flow, w);
    }

    /// Which phase is it, and since when?
    fn judge(&mut self, flow: &Flow, w: &mut Window) {
        let Some(rtt) = flow.rtt else { return };
        let share = if w.cwnd < w.ssthresh { 0.25 } else { 0.5 };
        let enough = (w.cwnd * f64::from(flow.mss) * share) as u64;
        if self.pipe_ack(flow.now, rtt.smoothed).is_none_or(|pipe| pipe >= enough) {
            self.unvalidated_since = None;
            return;
        }
        let ran_out = self.samples[0].map_or(flow.now, |(at, _)| at + period(rtt.smoothed)).min(flow.now);
        let mut since = self.unvalidated_since.unwrap_or(ran_out);
        while flow.now.since(since) >= self.nvp && w.cwnd > self.initial_window {
            w.ssthresh = w.ssthresh.max(0.75 * w.cwnd); // section 4.4.3
            w.cwnd = (w.cwnd / 2.0).max(self.initial_window);
            since = since + self.nvp;
        }
        self.unvalidated_since = Some(since);
    }

    /// max(pipeACK, FlightSize), if congestion now is one of the non-validated phase.
    fn used(&self, flow: &Flow, why: Congestion) -> Option<u64> {
        if why == Congestion::Timeout || self.unvalidated_since.is_none() {
            return None;
        }
        let srtt = flow.rtt.map_or(Span::ZERO, |rtt| rtt.smoothed);
        Some(self.pipe_ack(flow.now, srtt)?.max(flow.in_flight))
    }

    /// The answer to congestion, where `cut` is the algorithm's: section 4.4.2.
    pub(crate) fn cut(&self, flow: &Flow, why: Congestion, cut: Cut) -> Cut {
        self.used(flow, why).map_or(cut, |used| {
            let half = used as f64 / f64::from(flow.mss.max(1)) / 2.0;
            Cut { cwnd: cut.cwnd.min(half), ssthresh: cut.ssthresh.min(half), ..cut }
        })
    }

    pub(crate) fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        self.retreat = self.used(flow, why).map(|used| (used, flow.lost));
        self.forget();
    }

    pub(crate) fn on_undo(&mut self) {
        self.retreat = None;
    }

    pub(crate) fn on_life(&mut self, flow: &Flow, what: Life, w: &mut Window) {
        match what {
            Life::Recovered => {
                if let Some((used, lost)) = self.retreat.take() {
                    let again = flow.lost.saturating_sub(lost);
                    let rest = used.saturating_sub(again) as f64 / f64::from(flow.mss.max(1));
                    w.cwnd = w.cwnd.min(rest / 2.0);
                }
                self.forget();
            }
            Life::IdleRestart => self.judge(flow, w),
            Life::MssChanged => {}
        }
    }

    /// pipeACK is unknown.
    fn forget(&mut self) {
        (self.round, self.samples, self.unvalidated_since) = (None, [None; SAMPLES], None);
    }
}

/// The sampling period of pipeACK (section 4.2).
fn period(srtt: Span) -> Span {
    Span(srtt.0.saturating_mul(3)).max(Span::from_millis(1000))
}

#[cfg(test)]
mod tests {
    use super::{NEWCWV, WINDOW_VALIDATION};
    use crate::event::{Congestion, Event, Life};
    use crate::report::Phase;
    use crate::rig::{Rig, text};
    use crate::time::Span;

    /// CUBIC that has grown from 10 to more than 100 segments in round trips of 0.5 s, each used in full.
    fn rig() -> Rig {
        let mut rig = Rig::new("cubic", &[(WINDOW_VALIDATION, text(NEWCWV))], 10.0, 100.0);
        (0..6).for_each(|_| rig.round(0.5));
        assert!((100.0..120.0).contains(&rig.w()), "{}", rig.w());
        rig
    }

    fn pause(rig: &mut Rig, secs: f64) {
        rig.flow.now = rig.flow.now + Span::from_secs(secs);
        rig.flow.in_flight = 0;
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
    }

    /// Section 4.3: pipeACK of half the window is enough. 60 of some 105 segments are, 40 are not once the
    /// samples of full use are more than three round trips old.
    #[test]
    fn a_window_of_which_less_than_half_is_used_stands() {
        let grows = |used: u32| {
            let mut rig = rig();
            for _ in 0..5 {
                (0..used).for_each(|_| rig.ack(1.0, 0.5 / f64::from(used), 0.5, false));
            }
            let before = rig.w();
            rig.ack(1.0, 0.01, 0.5, false);
            rig.w() > before
        };
        assert!(grows(60));
        assert!(!grows(40));
    }

    /// A pause keeps the window, for five minutes after three round trips. Then it is halved, and slow start
    /// may lead to three quarters of what it was.
    #[test]
    fn an_unused_window_is_halved_after_five_minutes() {
        let mut rig = rig();
        let (w, t) = (rig.w(), rig.t());
        pause(&mut rig, 10.0);
        assert_eq!((rig.w(), rig.t()), (w, t));
        pause(&mut rig, 291.0); // 1.5 s of them are the sampling period
        assert_eq!(rig.w(), w);
        pause(&mut rig, 1.0);
        assert!((rig.w() - w / 2.0).abs() < 1e-5 && (rig.t() - (0.75 * w).max(t)).abs() < 1e-5);
        pause(&mut rig, 299.0);
        assert!((rig.w() - w / 2.0).abs() < 1e-5);
        (0..9).for_each(|_| pause(&mut rig, 300.0));
        assert_eq!(rig.w(), 10.0); // the initial window is kept
    }

    /// Section 4.4.2, by hand. Ten round trips of 20 segments of a window of some 100; a loss with 30 in
    /// flight: the window is 15, and when the four lost ones are repaired (30 - 4) / 2 = 13. In the validated
    /// phase the cut is CUBIC's, 0.7.
    #[test]
    fn congestion_costs_what_was_used() {
        let mut rig = rig();
        for _ in 0..10 {
            (0..20).for_each(|_| rig.ack(1.0, 0.025, 0.5, false));
        }
        rig.flow.in_flight = 30_000_000;
        let said = rig.cc.backoff(&rig.flow, Congestion::Loss);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t(), said.cwnd), (15.0, 15.0, 15_000_000));
        rig.flow.lost += 4_000_000;
        rig.flow.phase = Phase::Open;
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        assert_eq!((rig.w(), rig.t()), (13.0, 15.0));
        let mut used = self::rig();
        let before = used.w();
        used.congestion(Congestion::Loss);
        assert!((used.w() - 0.7 * before).abs() < 1e-5);
    }
}
