//! What differs between BBR's versions 2 and 3.

use super::cycle::State;

/// What differs between versions: gains, and when states end.
#[derive(Debug)]
pub(crate) struct VersionRules {
    /// Gains of Startup. 4 ln 2 doubles the delivery rate each round with the least queue
    /// (draft, StartupPacingGain).
    pub(crate) startup_pacing: f64,
    pub(crate) startup_cwnd: f64,
    /// Gains of Drain and DOWN.
    pub(crate) drain: f64,
    pub(crate) down: f64,
    /// Window's gain of UP.
    pub(crate) up_cwnd: f64,
    /// Ranges of lost segments in a round that end Startup (draft, StartupFullLossCnt).
    pub(crate) full_losses: u32,
    /// Drain lasts no longer.
    pub(crate) drain_rounds: u64,
    /// Is the bound that losses in Startup set at least what the last round delivered?
    pub(crate) startup_keeps_latest: bool,
    /// Is the pipe full when max_bw stops growing, or when the samples do?
    pub(crate) full_by_max: bool,
    /// What ends UP where nothing is lost.
    pub(crate) up_end: UpEnd,
}

/// What ends UP where nothing is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UpEnd {
    /// Three rounds without growth of the rate.
    Plateau,
    /// This many BDP in flight after one min_rtt.
    Queue(f64),
}

/// Version 3's.
pub(super) const RULES: VersionRules = VersionRules {
    startup_pacing: 2.77,
    startup_cwnd: 2.0,
    drain: 0.5,
    down: 0.9,
    up_cwnd: 2.25,
    full_losses: 6,
    drain_rounds: 3,
    startup_keeps_latest: true,
    full_by_max: false,
    up_end: UpEnd::Plateau,
};

impl VersionRules {
    pub(super) fn pacing_gain(&self, state: State) -> f64 {
        match state {
            State::Startup => self.startup_pacing,
            State::Drain => self.drain,
            State::Down => self.down,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    pub(super) fn cwnd_gain(&self, state: State) -> f64 {
        match state {
            State::Startup | State::Drain => self.startup_cwnd,
            State::Up => self.up_cwnd,
            State::ProbeRtt => 0.5,
            State::Down | State::Cruise | State::Refill => 2.0,
        }
    }
}
