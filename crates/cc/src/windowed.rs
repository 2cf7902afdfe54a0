//! The host of every window-based algorithm: slow start, gating, collapse at a timeout and undo
//! are written here once. A paper's algorithm is a [`Policy`] of a few lines in the papers' own
//! unit, real-valued segments.

mod added;

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::controller::{Controller, Needs};
use crate::decision::{Backoff, Decision, Pacing, RecoveryWindow};
use crate::event::{Congestion, Event, Life};
use crate::hint::Hint;
use crate::report::{Ack, Flow, Phase};
use crate::resume::Resume;
use crate::rule::Rule;
use crate::time::{Time, whole};
use crate::window::{Cut, Start, Window, additive, exponential};
use crate::window_validation::NewCwv;
use added::Added;

/// The part of a window-based algorithm that a paper defines. What it does not say is as Reno does it.
pub trait Policy: Debug + Send {
    /// Every ACK, also in recovery and when application-limited: feed filters here, change nothing else.
    fn observe(&mut self, _flow: &Flow, _ack: &Ack) {}

    /// Congestion avoidance: called for ACKs outside recovery while the window limits the sender and W >= T.
    /// Default: one segment per round trip (RFC 5681 eq. 3).
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        additive(w, flow, ack, 1.0);
    }

    /// Slow start: called as [`Policy::avoid`] is, while W < T. Returns the segments that were left over when
    /// W reached T; the host passes them on to congestion avoidance. Default: one segment per acknowledged
    /// segment (RFC 5681 section 3.1).
    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        exponential(w, ack.segments(flow))
    }

    /// The answer to congestion. Pure. Default: half of the window (RFC 5681 eq. 4).
    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        Cut::standard(w.cwnd / 2.0, why)
    }

    /// Something else happened; the window may be changed. At [`Event::Congestion`] `w` is the window before
    /// the cut, which the host makes: remember the state that the next epoch needs. At [`Event::Undo`] the
    /// host has restored `w` already. Never [`Event::Deadline`].
    fn on(&mut self, _w: &mut Window, _flow: &Flow, _event: Event<'_>) {}

    /// A choice of `slow_start` has ended in a descent, and found that the path holds `full_bdp` segments,
    /// those in its queue included.
    fn on_descent(&mut self, _full_bdp: f64) {}

    /// See [`Controller::needs`]. The host says who drives the window during recovery.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Does the part of an acknowledgement that was not marked make the window grow? By default an
    /// acknowledgement with a mark brings no growth (RFC 3168 section 6.1.2).
    fn grows_beside_marks(&self) -> bool {
        false
    }

    /// How its segments are spread in time.
    fn pacing(&self, _w: &Window) -> Pacing {
        Pacing::Window
    }

    /// Does it pace by a rate of its own, whatever the sender's options say? The start of a connection
    /// then has no bursts to fear.
    fn paces(&self) -> bool {
        false
    }

    /// Why HyStart, HyStart++ and the other choices of `slow_start` must stay out of the algorithm's slow
    /// start; `None` where they may scale and end it. For algorithms that end slow start by a measure of
    /// their own, or have a window rule of their own there.
    fn refuses_slow_start(&self) -> Option<&'static str> {
        None
    }

    /// See [`Controller::probe`].
    fn probe(&self, _emit: &mut dyn FnMut(&str, f64)) {}
}

/// A [`Policy`] in its host: a complete [`Controller`].
#[derive(Debug)]
pub struct Windowed<P> {
    policy: P,
    w: Window,
    /// `w.ssthresh` in segments and in bytes, converted when it changes.
    threshold: (f64, u64),
    mss: u32,
    /// Boxed, so that connections without it stay small.
    added: Option<Box<Added>>,
    /// A timeout was reported and nothing has been delivered since: no further report may cut again (RFC 5681
    /// section 3.1, RFC 6298 section 5).
    collapsed: bool,
}

/// The largest window, in segments. Far above any use, and low enough for every sum and product
/// of windows to stay finite.
const LARGEST: f64 = (1_u64 << 40) as f64;

impl<P: Policy> Windowed<P> {
    /// Hosts `policy` on a connection that begins as `start` says.
    pub fn new(policy: P, start: Start) -> Self {
        let w = Window { cwnd: start.initial_window, ssthresh: start.initial_ssthresh };
        let mss = start.mss.max(1);
        let mut host = Self { policy, w, threshold: (f64::NAN, 0), mss, added: None, collapsed: false };
        host.clamp_window();
        host
    }

    /// The same as a [`Controller`] of its own.
    pub fn hosted(policy: P, start: Start) -> Box<dyn Controller>
    where
        P: 'static,
    {
        Box::new(Self::new(policy, start))
    }

    /// Keeps the window in its range; ssthresh is at least 2 (RFC 5681 eq. 4).
    fn clamp_window(&mut self) {
        debug_assert!(!self.w.cwnd.is_nan() && !self.w.ssthresh.is_nan(), "{:?}", self.policy);
        self.w.cwnd = self.w.cwnd.clamp(1.0, LARGEST);
        if self.w.ssthresh != self.threshold.0 {
            self.w.ssthresh = self.w.ssthresh.max(2.0);
            self.threshold = (self.w.ssthresh, self.bytes(self.w.ssthresh));
        }
    }

    /// The present window, for tests and traces.
    pub fn window(&self) -> Window {
        self.w
    }

    fn bytes(&self, segments: f64) -> u64 {
        whole(segments * f64::from(self.mss))
    }

    /// A window or a threshold of a [`Decision`] in segments.
    fn segments(&self, bytes: u64) -> f64 {
        if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 / f64::from(self.mss) }
    }

    fn cut(&self, flow: &Flow, why: Congestion) -> Cut {
        if self.collapsed {
            return Cut { cwnd: self.w.cwnd, ssthresh: self.w.ssthresh, repeat: false };
        }
        let mut cut = self.policy.backoff(&self.w, flow, why);
        if let Some(added) = &self.added {
            cut = added.cut(flow, why, &self.w, cut);
        }
        if flow.reduced && why == Congestion::Timeout && self.w.ssthresh.is_finite() {
            cut.ssthresh = self.w.ssthresh;
        }
        Cut { cwnd: cut.cwnd.clamp(1.0, LARGEST), ssthresh: cut.ssthresh.max(2.0), repeat: cut.repeat }
    }

    fn slow(&self) -> bool {
        self.w.cwnd < self.w.ssthresh
    }

    #[inline(always)]
    fn grow(&mut self, flow: &Flow, ack: &Ack) {
        if ack.acked == 0 {
            return;
        }
        self.collapsed = false;
        if flow.phase == Phase::Recovery || !flow.cwnd_limited {
            return;
        }
        if ack.ce == 0 && ack.uncounted == 0 {
            self.grow_by(flow, ack, ack);
        } else {
            self.grow_by_part(flow, ack);
        }
    }

    /// [`Windowed::grow`] for an acknowledgement that does not count in full. Out of the way: its copy of
    /// `ack` would cost every other.
    #[inline(never)]
    fn grow_by_part(&mut self, flow: &Flow, ack: &Ack) {
        // RFC 3168 section 6.1.2: no growth on an ACK that echoes a mark.
        let uncounted = match ack.ce {
            0 => ack.uncounted,
            ce if self.policy.grows_beside_marks() => ack.uncounted.saturating_add(ce),
            _ => ack.acked,
        };
        if uncounted < ack.acked {
            self.grow_by(flow, ack, &Ack { acked: ack.acked - uncounted, ..*ack });
        }
    }

    /// Growth by what `counted` acknowledges, which is `ack` or a part of it.
    #[inline]
    fn grow_by(&mut self, flow: &Flow, ack: &Ack, counted: &Ack) {
        if self.slow() {
            self.grow_slowly(flow, ack, counted);
        } else {
            self.policy.avoid(&mut self.w, flow, counted);
        }
        self.clamp_window();
    }

    /// Slow start, and what is left at its end.
    #[inline(never)]
    fn grow_slowly(&mut self, flow: &Flow, ack: &Ack, counted: &Ack) {
        let rule = self.added.as_ref().and_then(|added| added.slow_start.as_ref());
        let scaled = rule.and_then(|rule| rule.counted(flow, ack, counted, &self.w));
        let (counted, divisor) =
            scaled.as_ref().map_or((counted, 1.0), |(counted, divisor)| (counted, *divisor));
        let left = divisor * self.policy.slow_start(&mut self.w, flow, counted);
        if left > 0.0 && self.w.cwnd >= self.w.ssthresh {
            let rest = Ack { acked: (left * f64::from(flow.mss)) as u64, ..*ack };
            self.policy.avoid(&mut self.w, flow, &rest);
        }
    }
}

impl<P: Policy> Windowed<P> {
    /// The decision with rules that may pace, or want to be called.
    #[inline(never)]
    fn decision_by_rules(&self, added: &Added) -> Decision {
        let cwnd = self.bytes(self.w.cwnd);
        let pacing = match (added.pace(cwnd), self.policy.pacing(&self.w)) {
            (Some(rate), Pacing::Rate(own)) => Pacing::Rate(rate.min(own)), // a policy's rate may be its operator's limit
            (Some(rate), _) => Pacing::Rate(rate),
            (None, own) => own,
        };
        Decision {
            cwnd,
            ssthresh: self.threshold.1,
            pacing,
            deadline: added.resume.map_or(Time::MAX, |resume| resume.deadline()),
        }
    }

    /// Tells the policy what the choice of slow start has found.
    fn hand_over(&mut self) {
        if let Some(full_bdp) = self.added.as_mut().and_then(|added| added.full_bdp()) {
            self.policy.on_descent(full_bdp);
        }
    }

    /// [`Event::Congestion`].
    fn reduce(&mut self, flow: &Flow, why: Congestion) {
        let cut = self.cut(flow, why);
        if !self.collapsed {
            if let Some(added) = &mut self.added {
                let own = self.policy.backoff(&self.w, flow, why);
                added.on_congestion(flow, why, &self.w, &own);
            }
            self.policy.on(&mut self.w, flow, Event::Congestion(why));
        }
        self.collapsed |= why == Congestion::Timeout;
        self.w = Window { cwnd: cut.cwnd, ssthresh: cut.ssthresh };
        self.clamp_window();
    }

    /// [`Event::Undo`].
    fn undo(&mut self, flow: &Flow, before: &Decision) {
        self.w.cwnd = self.w.cwnd.max(self.segments(before.cwnd));
        self.w.ssthresh = self.w.ssthresh.max(self.segments(before.ssthresh));
        self.collapsed = false;
        self.clamp_window();
        self.policy.on(&mut self.w, flow, Event::Undo(before));
        self.clamp_window();
        self.added.iter_mut().for_each(|added| added.on_undo());
    }

    /// [`Windowed::grow`] with rules that may hold the window, scale its growth, or find
    /// that slow start is over.
    #[inline(never)]
    fn grow_by_rules(&mut self, flow: &Flow, ack: &Ack) {
        let held = self.added.as_mut().is_some_and(|added| added.before_growth(flow, ack, &mut self.w));
        self.clamp_window();
        self.hand_over();
        if held {
            self.collapsed &= ack.acked == 0;
        } else {
            self.grow(flow, ack);
        }
        if let Some(added) = &mut self.added {
            added.after_growth(flow, ack, &mut self.w, held);
        }
        self.clamp_window();
    }
}

impl<P: Policy> Controller for Windowed<P> {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let _ = self.decision_on_ack(flow, ack);
    }

    fn decision_on_ack(&mut self, flow: &Flow, ack: &Ack) -> Decision {
        self.policy.observe(flow, ack);
        if self.added.is_none() {
            self.grow(flow, ack);
        } else {
            self.grow_by_rules(flow, ack);
        }
        self.decision()
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.reduce(flow, why),
            Event::Undo(before) => self.undo(flow, before),
            Event::Life(what) => {
                if what == Life::MssChanged {
                    self.mss = flow.mss.max(1);
                    self.threshold.1 = self.bytes(self.w.ssthresh);
                }
                self.policy.on(&mut self.w, flow, event);
                self.added.iter_mut().for_each(|added| added.on_life(flow, what, &mut self.w));
                self.clamp_window();
                self.hand_over();
            }
            Event::Hint(Hint::PathChange(_)) => {
                self.policy.on(&mut self.w, flow, event);
                self.added.iter_mut().for_each(|added| added.on_path_change(flow, &mut self.w));
                self.clamp_window();
            }
            Event::Validation { cwnd, ssthresh } => {
                self.w = Window { cwnd: self.segments(cwnd), ssthresh: self.segments(ssthresh) };
                self.clamp_window();
                self.policy.on(&mut self.w, flow, event);
                self.clamp_window();
            }
            Event::Deadline => {
                self.added.iter_mut().for_each(|added| added.on_deadline(flow, &mut self.w));
                self.clamp_window();
            }
            event => {
                self.policy.on(&mut self.w, flow, event);
                self.clamp_window();
            }
        }
    }

    fn decision(&self) -> Decision {
        if let Some(added) = &self.added {
            return self.decision_by_rules(added);
        }
        Decision {
            cwnd: self.bytes(self.w.cwnd),
            ssthresh: self.threshold.1,
            pacing: self.policy.pacing(&self.w),
            deadline: Time::MAX,
        }
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        let cut = self.cut(flow, why);
        Backoff { cwnd: self.bytes(cut.cwnd), ssthresh: self.bytes(cut.ssthresh), repeat: cut.repeat }
    }

    fn needs(&self) -> Needs {
        let recovery = self.added.as_ref().map_or(RecoveryWindow::Sender, |added| added.recovery());
        Needs { recovery, ..self.policy.needs() }
    }

    fn add(&mut self, rule: Rule) -> Result<(), &'static str> {
        let cwnd = self.w.cwnd;
        match rule {
            Rule::SlowStart(choice) => {
                if let Some(why) = self.policy.refuses_slow_start() {
                    return Err(why);
                }
                let choice = if self.policy.paces() { choice.paced() } else { choice };
                self.added.get_or_insert_default().slow_start = Some(choice.rule(cwnd));
            }
            Rule::Resume(saved) => {
                self.added.get_or_insert_default().resume = Some(Resume::new(saved, cwnd));
            }
            Rule::ValidateWindow(nvp) => {
                self.added.get_or_insert_default().validation = Some(NewCwv::new(nvp, cwnd));
            }
        }
        Ok(())
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.policy.probe(emit);
        if let Some(resume) = self.added.as_ref().and_then(|added| added.resume) {
            resume.probe(self.mss, emit);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Phase;
    use crate::rig::Rig;
    use crate::window::{Window, exponential};

    /// RFC 5681 section 3.2 step 1: duplicate ACKs bring a window policy no growth, though the window limits
    /// the sender. A controller that drives itself goes on, since what a SACK reports has arrived.
    #[test]
    fn an_ack_that_does_not_advance_lets_only_controllers_grow_that_drive_themselves() {
        for (id, phase, grows) in [
            ("reno", Phase::Open, false),
            ("cubic", Phase::Loss, false),
            ("copa", Phase::Recovery, true),
            ("copa", Phase::Loss, true),
        ] {
            let mut rig = Rig::new(id, &[], 10.0, 100.0);
            rig.ack(1.0, 0.1, 0.1, true);
            let before = rig.w();
            rig.flow.phase = phase;
            for _ in 0..5 {
                rig.sack(1.0, 0.01, 0.1, false);
            }
            assert_eq!(rig.w() > before, grows, "{id} from {before} to {}", rig.w());
        }
    }

    /// For these numbers W + (T - W) is less than T in floating point.
    /// Hybla by ACKs gives nothing back of the ACK that fills the room.
    #[test]
    fn slow_start_that_meets_its_threshold_ends_there() {
        let mut w = Window { cwnd: 140.63128074114277, ssthresh: 431.52528170626107 };
        assert!(w.cwnd + (w.ssthresh - w.cwnd) < w.ssthresh);
        assert_eq!(exponential(&mut w, 300.0), 300.0 - (431.52528170626107 - 140.63128074114277));
        assert_eq!((w.cwnd, exponential(&mut w, 1.0)), (w.ssthresh, 1.0));
    }
}
