//! The interface of every congestion controller.
//!
//! For one acknowledgement, with [`Flow`] up to date, a sender reports [`Event::Undo`],
//! [`Event::Congestion`], the acknowledgement itself and [`Life::Recovered`](crate::Life::Recovered), in this
//! order. Then it reads `decision()`. The controller owns the *desired* window; the sender owns the
//! *effective* one (recovery, minimum, receive window).

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::decision::{Backoff, Decision, RecoveryWindow};
use crate::event::{Congestion, Event};
use crate::header::Echo;
use crate::hint::Hint;
use crate::report::{Ack, Flow};
use crate::rule::Rule;

/// The sender's features that a controller uses. A sender asks before the first event and keeps no state that
/// is not needed.
#[derive(Debug, Default)]
pub struct Needs {
    /// `Ack::rate`.
    pub rate: bool,
    /// [`Hint::PathChange`].
    pub path_change: bool,
    /// It uses [`Hint::LinkQuality`](crate::Hint::LinkQuality).
    pub link_quality: bool,
    /// [`Event::Subflows`].
    pub subflows: bool,
    /// [`Event::Room`] and [`Event::ExtraAcked`]: the algorithm orders extra segments.
    pub extra_segments: bool,
    /// Losses in a window of data that a mark has already cut, since the answer to marks differs from that to
    /// losses (DCTCP, RFC 8257 section 3). Other window algorithms get only one cut from a sender (RFC 3168
    /// section 6.1.2).
    pub losses_after_marks: bool,
    /// Who drives the window during fast recovery. It may change, so a sender asks
    /// again when a recovery begins.
    pub recovery: RecoveryWindow,
    /// The receiving end's part, if the algorithm has one. Its data segments then carry the header of
    /// [`Event::Departure`], and its acknowledgements carry the echo's answers.
    pub echo: Option<Box<dyn Echo>>,
}

impl Needs {
    /// Does the controller use hints of this kind, so that it gets them even if the scenario is silent?
    pub fn hint(&self, hint: &Hint) -> bool {
        match hint {
            Hint::PathChange(_) => self.path_change,
            Hint::RateChange(_) => false,
            Hint::LinkQuality(_) => self.link_quality,
        }
    }
}

/// A congestion-control algorithm: a pure state machine. It has no clock and no randomness of its own, so the
/// same calls give the same answers, bit for bit. A controller that wraps another one passes everything on;
/// methods that it must not forget have no default here.
pub trait Controller: Debug + Send {
    /// New information was acknowledged: one ACK, or several merged into one report.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack);

    /// Something else happened.
    fn on(&mut self, flow: &Flow, event: Event<'_>);

    /// The current decision.
    fn decision(&self) -> Decision;

    /// [`Controller::on_ack`], then [`Controller::decision`]: one virtual call for a sender's commonest event.
    fn decision_on_ack(&mut self, flow: &Flow, ack: &Ack) -> Decision {
        self.on_ack(flow, ack);
        self.decision()
    }

    /// The answer to `why` if it happened now. Pure: [`Event::Congestion`] right after must do just that.
    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff;

    /// What the controller uses.
    fn needs(&self) -> Needs;

    /// Adds a rule of a scenario; called before the first event.
    ///
    /// # Errors
    /// Why the algorithm cannot do that.
    fn add(&mut self, rule: Rule) -> Result<(), &'static str> {
        Err(rule.refusal())
    }

    /// Names internal quantities for traces, always the same ones in the same order. A name ends in its
    /// unit, as `base_rtt_s` ([`crate::probe::UNITS`]); a name without a unit is a pure number. NaN means
    /// that the value is not known yet.
    fn probe(&self, _emit: &mut dyn FnMut(&str, f64)) {}
}
