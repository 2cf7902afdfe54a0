//! The interface of every congestion controller.
//!
//! For one acknowledgement, with [`Flow`] up to date, a sender calls `on_undo`, `on_congestion`, `on_ack` and `on_life(Recovered)`,
//! in this order. Then it reads `decision()`. The controller owns the *desired* window; the sender owns the *effective* one
//! (recovery, minimum, receive window).

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::extra::ExtraOrder;
use crate::header::{Echo, Header};
use crate::path_change::PathChange;
use crate::report::{Ack, Flow};
use crate::resume::SavedPath;
use crate::slow_start::SlowStart;
use crate::subflows::Subflow;
use crate::time::{Rate, Span, Time};

/// Why the sender reports congestion. Each kind is reported once per episode; the sender removes duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// An ECN echo (RFC 3168 section 6.1.2), at most once per window.
    Ecn,
    /// Loss detected by duplicate or selective acknowledgements. A window algorithm does not hear of it where a mark has cut the window of
    /// data before, unless it [answers marks apart](Controller::answers_marks_apart).
    Loss,
    /// The retransmission timer expired (RFC 6298 section 5).
    Timeout,
}

/// Rare events of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The application has data again after a pause in which nothing was in flight, and its first segment is about to go out (Linux's
    /// `CA_EVENT_TX_START`). How long the pause was does not matter.
    IdleRestart,
    /// Loss recovery ended: all data outstanding at its start has been acknowledged.
    Recovered,
    /// `Flow::mss` changed.
    MssChanged,
}

/// Who drives the effective window during fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The sender, by RFC 6675 or proportional rate reduction, towards `ssthresh`. Window-based controllers.
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
    /// A sender with its `pacing` option on derives a rate from cwnd / srtt, as Linux does; others do not pace.
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
    /// When [`Controller::on_deadline`] is to be called; [`Time::MAX`] for not at all.
    pub deadline: Time,
}

/// A controller's answer to congestion, in bytes. A datapath that cannot call it in time (the kernel at a loss) keeps the last
/// answer as a standing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The window to go to.
    pub cwnd: u64,
    /// The new slow-start threshold.
    pub ssthresh: u64,
    /// Retransmit every outstanding segment, not only those known to be lost (TCPW with Bulk Repeat, ICC 2003). Only
    /// honoured by a sender whose `bulk_repeat` option is on.
    pub repeat: bool,
}

/// A congestion-control algorithm: a pure state machine. It has no clock and no randomness of its own, so the same calls
/// give the same answers, bit for bit.
pub trait Controller: Debug + Send {
    /// New information was acknowledged: one ACK, or several merged into one report.
    fn on_ack(&mut self, flow: &Flow, ack: &Ack);
    /// A congestion episode began.
    fn on_congestion(&mut self, flow: &Flow, why: Congestion);
    /// The last episode proved spurious; `before` is the decision that stood when it began.
    fn on_undo(&mut self, flow: &Flow, before: &Decision);
    /// A rare event.
    fn on_life(&mut self, _flow: &Flow, _what: Life) {}
    /// A hint, standard for all algorithms: the path changes hands. See [`PathChange`] for what is known and who can know it. A
    /// controller may use it or, as by default, go on as if nothing had been said.
    fn on_path_change(&mut self, _flow: &Flow, _change: &PathChange) {}
    /// Declares that the controller uses [`Controller::on_path_change`]. A sender that is not told otherwise gives hints to such
    /// controllers only.
    fn wants_path_hints(&self) -> bool {
        false
    }
    /// The flow is one subflow of a connection that has several (Multipath TCP, RFC 8684): all of them, itself at `own`, as they stand after
    /// the last event on any of them. A coupled algorithm keeps what it needs until the next acknowledgement. Never called for a flow of
    /// one path, nor for a controller that does not want it.
    fn on_subflows(&mut self, _own: usize, _all: &[Subflow]) {}
    /// Declares that the controller uses [`Controller::on_subflows`].
    fn wants_subflows(&self) -> bool {
        false
    }
    /// The receiving end's part, if the algorithm has one: its data segments then carry [`Controller::header`], and its acknowledgements
    /// what the echo answers. Asked once, before the first event.
    fn echo(&self) -> Option<Box<dyn Echo>> {
        None
    }
    /// The header of the data segment that leaves now, if it has an [`Controller::echo`].
    fn header(&mut self, _flow: &Flow) -> Option<Header> {
        None
    }
    /// An acknowledgement has brought this. The report of the acknowledgement follows, if it acknowledges anything.
    fn on_header(&mut self, _flow: &Flow, _header: &Header) {}
    /// The instant of [`Decision::deadline`] has come.
    fn on_deadline(&mut self, _flow: &Flow) {}
    /// The present decision.
    fn decision(&self) -> Decision;
    /// The answer to `why` if it happened now. Pure: `on_congestion` right after must do just that.
    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff;
    /// Declares that its answer to marks is not that to losses, so that a loss cuts the window also where a mark has cut it in the same window of
    /// data (DCTCP, RFC 8257 section 3). Of other window algorithms a sender asks for one cut (RFC 3168 section 6.1.2).
    fn answers_marks_apart(&self) -> bool {
        false
    }
    /// Who drives the window during fast recovery. A sender asks when a recovery begins.
    fn recovery(&self) -> Recovery {
        Recovery::Sender
    }
    /// Makes a connection start by one of the choices of `slow_start`; called once, before the first event.
    ///
    /// # Errors
    /// Why the algorithm cannot do that. Only algorithms hosted by [`crate::Windowed`] can.
    fn start_by(&mut self, _choice: SlowStart) -> Result<(), &'static str> {
        Err(
            "it is not a window algorithm with the slow start of RFC 5681, and its start is part of its own model of the path",
        )
    }
    /// Turns Careful Resume (RFC 9959) on, from what an earlier connection has saved; called once, before the first event.
    ///
    /// # Errors
    /// Why the algorithm cannot do that. Only algorithms hosted by [`crate::Windowed`] can.
    fn resume(&mut self, _saved: SavedPath) -> Result<(), &'static str> {
        Err("it is not a window algorithm, and what RFC 9959 advises for models of the path is not included")
    }
    /// Turns newCWV (RFC 7661) on, with this non-validated period; called once, before the first event.
    ///
    /// # Errors
    /// Why the algorithm cannot do that. Only algorithms hosted by [`crate::Windowed`] can.
    fn validate_window(&mut self, _nvp: Span) -> Result<(), &'static str> {
        Err("it is not a window algorithm, and its window is not one that unused time makes stale")
    }
    /// Declares that the controller reads `Ack::rate`. Only then a sender keeps the state for rate samples; it calls this once,
    /// before the first event.
    fn wants_rate(&self) -> bool {
        false
    }
    /// Declares that the controller orders extra segments. Only then a sender keeps the state for them; it calls this once, before the
    /// first event.
    fn wants_extra_segments(&self) -> bool {
        false
    }
    /// The extra segments to send from now on. A sender that can send them asks once after every event, when its window is used up.
    /// One that cannot never asks, so a controller that has not been asked must do without.
    fn extra_order(&mut self, _flow: &Flow) -> Option<ExtraOrder> {
        None
    }
    /// An extra segment was acknowledged. Data that it delivered is in an `on_ack` before.
    fn on_extra_ack(&mut self, _flow: &Flow) {}
    /// Names internal quantities for traces, always the same ones in the same order. A name ends in its unit, as `base_rtt_s`
    /// ([`crate::probe::UNITS`]); a name without a unit is a pure number. NaN means that the value is not known yet.
    fn probe(&self, _emit: &mut dyn FnMut(&str, f64)) {}
}
