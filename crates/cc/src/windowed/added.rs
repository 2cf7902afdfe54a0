//! What a scenario adds to the host beside its policy: a choice of slow start, Careful Resume, newCWV.

use alloc::boxed::Box;

use crate::decision::RecoveryWindow;
use crate::event::{Congestion, Life};
use crate::report::{Ack, Flow};
use crate::resume::Resume;
use crate::slow_start::SlowStartRule;
use crate::time::Rate;
use crate::window::{Cut, Window};
use crate::window_validation::NewCwv;

/// Rules that a scenario adds to the host.
#[derive(Debug, Default)]
pub(super) struct Added {
    /// A choice of `slow_start`.
    pub(super) slow_start: Option<Box<dyn SlowStartRule>>,
    /// Careful Resume.
    pub(super) resume: Option<Resume>,
    /// newCWV.
    pub(super) validation: Option<NewCwv>,
}

impl Added {
    /// Must the window stand, whatever is acknowledged?
    pub(super) fn holds(&self) -> bool {
        self.resume.is_some_and(|resume| resume.holds())
            || self.slow_start.as_ref().is_some_and(|rule| rule.holds())
            || self.validation.is_some_and(|validation| validation.holds())
    }

    /// The answer to congestion at a window of `w`, where `own` is the algorithm's.
    pub(super) fn cut(&self, flow: &Flow, why: Congestion, w: &Window, own: Cut) -> Cut {
        let cut = self.slow_start.as_ref().map_or(own, |rule| rule.cut(why, w, own));
        let cut = self.resume.map_or(cut, |resume| resume.cut(flow, why, cut));
        self.validation.map_or(cut, |validation| validation.cut(flow, why, cut))
    }

    pub(super) fn on_congestion(&mut self, flow: &Flow, why: Congestion, w: &Window, own: &Cut) {
        self.slow_start.iter_mut().for_each(|rule| rule.on_congestion(flow, why, w, own));
        self.resume.iter_mut().for_each(|resume| resume.on_congestion(flow, why));
        self.validation.iter_mut().for_each(|validation| validation.on_congestion(flow, why));
    }

    pub(super) fn on_undo(&mut self) {
        self.slow_start.iter_mut().for_each(|rule| rule.on_undo());
        self.resume.iter_mut().for_each(Resume::on_undo);
        self.validation.iter_mut().for_each(NewCwv::on_undo);
    }

    pub(super) fn on_life(&mut self, flow: &Flow, what: Life, w: &mut Window) {
        self.slow_start.iter_mut().for_each(|rule| rule.on_life(what));
        self.resume.iter_mut().for_each(|resume| resume.on_life(flow, what, w));
        self.validation.iter_mut().for_each(|validation| validation.on_life(flow, what, w));
    }

    pub(super) fn on_path_change(&mut self, flow: &Flow, w: &mut Window) {
        self.resume.iter_mut().for_each(|resume| resume.on_path_change(flow, w));
    }

    pub(super) fn on_deadline(&mut self, flow: &Flow, w: &mut Window) {
        self.resume.iter_mut().for_each(|resume| resume.on_deadline(flow, w));
    }

    /// See [`SlowStartRule::full_bdp`].
    pub(super) fn full_bdp(&mut self) -> Option<f64> {
        self.slow_start.as_mut()?.full_bdp()
    }

    pub(super) fn pace(&self, cwnd: u64) -> Option<Rate> {
        let resumed = self.resume.and_then(|resume| resume.pace(cwnd));
        resumed.or_else(|| self.slow_start.as_ref()?.pace(cwnd))
    }

    pub(super) fn recovery(&self) -> RecoveryWindow {
        let resumed = self.resume.map(|resume| resume.recovery());
        let started = self.slow_start.as_ref().map(|rule| rule.recovery());
        if [resumed, started].contains(&Some(RecoveryWindow::Controller)) {
            RecoveryWindow::Controller
        } else {
            RecoveryWindow::Sender
        }
    }

    /// Every ACK before the window grows. True if it must stand.
    pub(super) fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) -> bool {
        self.resume.iter_mut().for_each(|resume| resume.before_growth(flow, ack, w));
        self.validation.iter_mut().for_each(|validation| validation.before_growth(flow, ack, w));
        if !self.resume.is_some_and(|resume| resume.holds()) {
            self.slow_start.iter_mut().for_each(|rule| rule.before_growth(flow, ack, w));
        }
        self.holds()
    }

    /// Every ACK after the window has grown, or, if `held`, has stood.
    pub(super) fn after_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window, held: bool) {
        if !held {
            self.slow_start.iter_mut().for_each(|rule| rule.after_growth(flow, ack, w));
        }
        self.resume.iter_mut().for_each(|resume| resume.after_growth(flow, ack, w));
    }
}
