//! The interface of every congestion controller.
//!
//! For one acknowledgement, with [`Flow`] up to date, a sender reports [`Event::Undo`],
//! [`Event::Congestion`], the acknowledgement itself and [`Life::Recovered`](crate::Life::Recovered), in this
//! order. Then it reads `decision()`. The controller owns the *desired* window; the sender owns the
//! *effective* one (recovery, minimum, receive window).

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::event::{Congestion, Event, Hint};
use crate::header::Echo;
use crate::report::{Ack, Flow};
use crate::resume::SavedPath;
use crate::slow_start::SlowStart;
use crate::time::{Rate, Span, Time};

/// Which of the two drives the effective window during fast recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryWindow {
    /// The sender, by RFC 6675 or proportional rate reduction, towards `ssthresh`. Window-based controllers.
    #[default]
    Sender,
    /// The controller's own `cwnd` is used unchanged. Rate-based controllers.
    Controller,
}

/// How segments may be spread in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Send whenever the window allows.
    Off,
    /// Send payload at this rate, whatever the sender's options say.
    Rate(Rate),
    /// A sender with its `pacing` option on derives a rate from cwnd / srtt, as Linux
    /// does; others do not pace.
    Window,
}

/// A controller's decision, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Congestion window, at least one segment.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` before the first congestion.
    pub ssthresh: u64,
    /// Pacing.
    pub pacing: Pacing,
    /// When [`Event::Deadline`] is due; [`Time::MAX`] for not at all.
    pub deadline: Time,
}

impl Decision {
    /// That of a controller with a model of the path: it has no slow-start threshold. Nothing is due.
    #[must_use]
    pub fn of_model(cwnd: u64, pacing: Pacing) -> Self {
        Self { cwnd, ssthresh: u64::MAX, pacing, deadline: Time::MAX }
    }
}

/// A controller's answer to congestion, in bytes. A datapath that cannot call the controller in time (the
/// kernel at a loss) keeps the last answer as a standing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The window to go to.
    pub cwnd: u64,
    /// The new slow-start threshold.
    pub ssthresh: u64,
    /// Retransmit every outstanding segment, not only those known to be lost (TCPW with Bulk Repeat, ICC
    /// 2003). Only honoured by a sender whose `bulk_repeat` option is on.
    pub repeat: bool,
}

impl Backoff {
    /// That of a controller with a model of the path: it has no slow-start threshold.
    #[must_use]
    pub fn of_model(cwnd: u64) -> Self {
        Self { cwnd, ssthresh: u64::MAX, repeat: false }
    }
}

/// The sender's features that a controller uses. A sender asks before the first event and keeps no state that
/// is not needed.
#[derive(Debug, Default)]
pub struct Needs {
    /// `Ack::rate`.
    pub rate: bool,
    /// [`Hint::PathChange`].
    pub path_change: bool,
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
        }
    }
}

/// A rule that a scenario adds to an algorithm. Only algorithms hosted by [`crate::Windowed`] take any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The connection starts by one of the choices of `slow_start`.
    SlowStart(SlowStart),
    /// Careful Resume (RFC 9959), from what an earlier connection has saved.
    Resume(SavedPath),
    /// newCWV (RFC 7661), with this non-validated period.
    ValidateWindow(Span),
}

impl Rule {
    /// Why an algorithm without a host cannot take it.
    pub fn refusal(self) -> &'static str {
        match self {
            Rule::SlowStart(_) => {
                "it is not a window algorithm with the slow start of RFC 5681, and its start is part of its own model of the path"
            }
            Rule::Resume(_) => {
                "it is not a window algorithm, and what RFC 9959 advises for models of the path is not included"
            }
            Rule::ValidateWindow(_) => {
                "it is not a window algorithm, and its window is not one that unused time makes stale"
            }
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
