//! What a controller answers: its decision, and its reaction to congestion, in bytes.

use crate::time::{Rate, Time};

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
    /// When [`Event::Deadline`](crate::Event::Deadline) is due; [`Time::MAX`] for not at all.
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
