//! Careful Resume: N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi, C. Huitema: Convergence of Congestion
//! Control from Retained State, RFC 9959, 2026. A connection begins with what an earlier one over the same
//! path has measured, and takes it back if it no longer holds.
//!
//! Grade A: read as draft-ietf-tsvwg-careful-resume-24, the version that became the RFC (the repository's
//! state of October 2025, 7048ede, says the same). Unit: bytes; the window in segments. Beside any policy;
//! section numbers are the RFC's.
//!
//! | phase          | window                            | left                                                                          |
//! |----------------|-----------------------------------|-------------------------------------------------------------------------------|
//! | Reconnaissance | by the algorithm, from the IW on  | IW acknowledged, path confirmed, window limits the sender: Unvalidated        |
//! | Unvalidated    | jump_cwnd = min(max_jump, saved_cwnd / 2), paced over the current RTT; no growth | all of it sent, or its first segment acknowledged, or an RTT over: Validating, or Normal if little was sent |
//! | Validating     | what was in flight, then by the algorithm | its last segment acknowledged: Normal                                 |
//! | Safe Retreat   | PipeSize / 2, no growth           | its last segment acknowledged, losses repaired: T = Beta PipeSize, Normal      |
//! | Normal         | by the algorithm                  | never                                                                         |
//!
//! PipeSize is what was in flight before the jump and all that has been acknowledged since. Congestion in
//! Reconnaissance ends Careful Resume; so does an RTT of saved_rtt / 2 or less, or of more than 10 saved_rtt.
//! Congestion after the jump leads to Safe Retreat, a timeout to Normal.
//!
//! Where the saved state comes from, for how long it holds, and that one connection uses it at a time is the
//! business of who gives it (sections 3.1 and 4.2.1): a scenario gives it to a flow.
//!
//! Decisions:
//!  * a window that has grown to jump_cwnd in Reconnaissance has no use of a jump: Normal.
//!  * "all sent" is seen with the next ACK: then the window was full when that ACK came, and stays.
//!  * a sent segment is known by the count of bytes before it: bytes delivered and in flight. Exact while
//!    nothing is lost. In Safe Retreat the end of loss recovery replaces the last unvalidated segment; after
//!    a mark, which starts no recovery, the count with losses does.
//!  * PipeSize counts no byte twice: it is at most what was in flight or sent in the phase,
//!    less what was declared lost.
//!  * Safe Retreat does without proportional rate reduction (section 4.5): the window holds at once.
//!  * the least window in Safe Retreat is two segments (RFC 9002 section 4.8 has that for QUIC). The example
//!    of appendix A takes the IW, the rule of section 3.4 does not; the rule is followed.
//!  * a congestion that proves spurious ends Safe Retreat, with the window from before.
//!  * a hint that the path changes is taken as the local signal of sections 3.2 and 3.3. In the Unvalidated
//!    Phase an RTT that would not confirm the path is one, too: section 3.3 demands a Safe Retreat where the
//!    RTT indicates another path, and leaves open when it does.

use crate::decision::RecoveryWindow;
use crate::event::{Congestion, Life};
use crate::params::{Args, Param};
use crate::report::{Ack, Flow, Phase};
use crate::time::{Rate, Span, Time};
use crate::window::{Cut, Window};

/// Name of the parameter that turns Careful Resume on.
pub(crate) const CWND: &str = "resume_cwnd";
/// Name of the parameter with the RTT that belongs to it.
pub(crate) const RTT: &str = "resume_rtt";

/// What every window algorithm takes.
pub(crate) const PARAMS: &[Param] = &[
    Param::number(CWND, 0.0, 0.0..=1e7).unit("segments").about(
        "Careful Resume (RFC 9959): saved_cwnd, the capacity that an earlier connection used; 0 for none, and then the start is an ordinary one",
    ),
    Param::number(RTT, 0.0, 0.0..=100.0)
        .unit("s")
        .about("saved_rtt: the least RTT of that connection; needed with resume_cwnd"),
    Param::number("resume_max_jump", 1e7, 1.0..=1e7)
        .unit("segments")
        .about("max_jump: the window jumps to this at most, and to half of resume_cwnd"),
    Param::number("resume_beta", 0.5, 0.5..=1.0)
        .unit("1")
        .about("Beta: after a Safe Retreat ssthresh is this times PipeSize"),
];

/// The saved state of a path, and the constants of Careful Resume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SavedPath {
    /// saved_cwnd in segments.
    pub cwnd: f64,
    /// saved_rtt.
    pub rtt: Span,
    /// max_jump in segments.
    pub max_jump: f64,
    /// Beta.
    pub beta: f64,
}

impl SavedPath {
    /// From checked parameters; `None` if there is no saved state.
    pub(crate) fn given(args: &Args) -> Option<Self> {
        let cwnd = args.number(CWND);
        (cwnd > 0.0).then(|| Self {
            cwnd,
            rtt: Span::from_secs(args.number(RTT)),
            max_jump: args.number("resume_max_jump"),
            beta: args.number("resume_beta"),
        })
    }

    /// jump_cwnd (section 3.3).
    fn jump(&self) -> f64 {
        self.max_jump.min(self.cwnd / 2.0)
    }
}

/// The phases of section 3.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ResumePhase {
    Reconnaissance,
    Unvalidated {
        /// The current RTT at its start: an RTT later it is over.
        rtt: Span,
        until: Time,
        /// Bytes sent before the first unvalidated segment.
        first: u64,
    },
    Validating,
    SafeRetreat {
        /// Loss recovery, whose end ends the phase.
        recovering: bool,
    },
    Normal,
}

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resume {
    saved: SavedPath,
    initial_window: f64,
    phase: ResumePhase,
    /// PipeSize so far, in bytes.
    pipe: u64,
    /// Bytes delivered, and bytes declared lost, before the jump.
    delivered_before: u64,
    lost_before: u64,
    /// Bytes sent with the last unvalidated segment.
    last: u64,
}

impl Resume {
    pub(crate) fn new(saved: SavedPath, initial_window: f64) -> Self {
        Self {
            saved,
            initial_window,
            phase: ResumePhase::Reconnaissance,
            pipe: 0,
            delivered_before: 0,
            lost_before: 0,
            last: 0,
        }
    }

    /// Must the window stand?
    pub(crate) fn holds(&self) -> bool {
        matches!(self.phase, ResumePhase::Unvalidated { .. } | ResumePhase::SafeRetreat { .. })
    }

    /// Every ACK, before the window grows.
    pub(crate) fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        if !matches!(self.phase, ResumePhase::Reconnaissance | ResumePhase::Normal) {
            self.pipe = self.pipe.saturating_add(ack.acked);
        }
        match self.phase {
            ResumePhase::Unvalidated { .. } if self.is_other_path(flow) => self.on_path_change(flow, w),
            ResumePhase::Unvalidated { until, first, .. } => {
                let before = flow.in_flight.saturating_add(ack.acked).saturating_add(ack.lost);
                let all_sent = before.saturating_add(u64::from(flow.mss)) > bytes(flow, w.cwnd);
                if all_sent {
                    self.validate(flow, before, w);
                } else if flow.delivered > first || flow.now >= until {
                    self.validate(flow, flow.in_flight, w);
                }
            }
            ResumePhase::Validating if flow.delivered >= self.last => self.phase = ResumePhase::Normal,
            ResumePhase::SafeRetreat { recovering: false } => {
                let lost = flow.lost.saturating_sub(self.lost_before);
                if flow.delivered.saturating_add(lost) >= self.last {
                    self.leave_retreat(flow, w);
                }
            }
            _ => {}
        }
    }

    /// Every ACK, after the window has grown.
    pub(crate) fn after_growth(&mut self, flow: &Flow, ack: &Ack, w: &mut Window) {
        let reconnoitres =
            self.phase == ResumePhase::Reconnaissance && ack.acked > ack.uncounted && ack.ce == 0;
        let Some(rtt) = flow.rtt.filter(|_| reconnoitres) else { return };
        if self.is_other_path(flow) || w.cwnd >= self.saved.jump() {
            self.phase = ResumePhase::Normal; // section 4.2.1
            return;
        }
        let initial_data = bytes(flow, self.initial_window);
        if flow.delivered < initial_data || !flow.cwnd_limited || flow.phase != Phase::Open {
            return;
        }
        // Section 3.3.
        self.pipe = flow.in_flight;
        self.delivered_before = flow.delivered;
        self.lost_before = flow.lost;
        let first = flow.delivered.saturating_add(flow.in_flight);
        self.phase = ResumePhase::Unvalidated { rtt: rtt.latest, until: flow.now + rtt.latest, first };
        w.cwnd = self.saved.jump();
    }

    /// Does the RTT say that the path is not the saved one (section 4.2.1)?
    fn is_other_path(&self, flow: &Flow) -> bool {
        let saved = self.saved.rtt;
        flow.rtt.is_some_and(|rtt| rtt.min.0 <= saved.0 / 2 || rtt.latest.0 > saved.0.saturating_mul(10))
    }

    /// The Unvalidated Phase is over, with so much in flight.
    fn validate(&mut self, flow: &Flow, in_flight: u64, w: &mut Window) {
        self.last = flow.delivered.saturating_add(flow.in_flight);
        if in_flight < bytes(flow, self.initial_window) || in_flight <= self.pipe {
            let used = segments(flow, self.pipe).max(self.initial_window);
            w.cwnd = w.cwnd.min(used);
            self.phase = ResumePhase::Normal;
        } else {
            w.cwnd = w.cwnd.min(segments(flow, in_flight));
            self.phase = ResumePhase::Validating;
        }
    }

    /// The answer to congestion, where `cut` is the algorithm's.
    pub(crate) fn cut(&self, flow: &Flow, why: Congestion, cut: Cut) -> Cut {
        let retreats = matches!(self.phase, ResumePhase::Unvalidated { .. } | ResumePhase::Validating);
        if !retreats || why == Congestion::Timeout {
            return cut;
        }
        let half = (segments(flow, self.pipe) / 2.0).max(2.0); // section 3.5
        Cut { cwnd: cut.cwnd.min(half), ..cut }
    }

    pub(crate) fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        match self.phase {
            _ if why == Congestion::Timeout => self.phase = ResumePhase::Normal, // section 3.6
            ResumePhase::Reconnaissance => self.phase = ResumePhase::Normal,
            ResumePhase::Unvalidated { .. } | ResumePhase::Validating => {
                if self.phase != ResumePhase::Validating {
                    self.last = flow.delivered.saturating_add(flow.in_flight);
                }
                self.phase = ResumePhase::SafeRetreat { recovering: why == Congestion::Loss };
            }
            ResumePhase::SafeRetreat { .. } if why == Congestion::Loss => {
                self.phase = ResumePhase::SafeRetreat { recovering: true };
            }
            ResumePhase::SafeRetreat { .. } | ResumePhase::Normal => {}
        }
    }

    pub(crate) fn on_undo(&mut self) {
        if matches!(self.phase, ResumePhase::SafeRetreat { .. }) {
            self.phase = ResumePhase::Normal;
        }
    }

    pub(crate) fn on_life(&mut self, flow: &Flow, what: Life, w: &mut Window) {
        match (what, self.phase) {
            (Life::Recovered, ResumePhase::SafeRetreat { .. }) => self.leave_retreat(flow, w),
            // All that was in flight has been acknowledged before a pause.
            (Life::IdleRestart, ResumePhase::Unvalidated { .. }) => self.validate(flow, 0, w),
            (Life::IdleRestart, ResumePhase::Validating) => self.phase = ResumePhase::Normal,
            _ => {}
        }
    }

    /// The path changes, or has changed.
    pub(crate) fn on_path_change(&mut self, flow: &Flow, w: &mut Window) {
        match self.phase {
            ResumePhase::Reconnaissance => self.phase = ResumePhase::Normal,
            ResumePhase::Unvalidated { .. } => {
                self.last = flow.delivered.saturating_add(flow.in_flight);
                w.cwnd = w.cwnd.min((segments(flow, self.pipe) / 2.0).max(2.0));
                self.phase = ResumePhase::SafeRetreat { recovering: false };
            }
            _ => {}
        }
    }

    /// An RTT after the jump.
    pub(crate) fn on_deadline(&mut self, flow: &Flow, w: &mut Window) {
        if matches!(self.phase, ResumePhase::Unvalidated { until, .. } if flow.now >= until) {
            self.validate(flow, flow.in_flight, w);
        }
    }

    pub(crate) fn deadline(&self) -> Time {
        match self.phase {
            ResumePhase::Unvalidated { until, .. } => until,
            _ => Time::MAX,
        }
    }

    /// The rate of the Unvalidated Phase: a window of `cwnd` bytes in the current RTT (section 4.3.2).
    pub(crate) fn pace(&self, cwnd: u64) -> Option<Rate> {
        match self.phase {
            ResumePhase::Unvalidated { rtt, .. } if rtt > Span::ZERO => {
                Some(Rate(((cwnd as f64 / rtt.secs()) as u64).max(1)))
            }
            _ => None,
        }
    }

    /// Who drives the window in recovery.
    pub(crate) fn recovery(&self) -> RecoveryWindow {
        let retreats = matches!(self.phase, ResumePhase::SafeRetreat { .. });
        if retreats { RecoveryWindow::Controller } else { RecoveryWindow::Sender }
    }

    /// Names internal quantities for traces.
    pub(crate) fn probe(&self, flow_mss: u32, emit: &mut dyn FnMut(&str, f64)) {
        let number = match self.phase {
            ResumePhase::Reconnaissance => 0.0,
            ResumePhase::Unvalidated { .. } => 1.0,
            ResumePhase::Validating => 2.0,
            ResumePhase::SafeRetreat { .. } => 3.0,
            ResumePhase::Normal => 4.0,
        };
        emit("resume_phase", number);
        emit("pipe_size_segments", self.pipe as f64 / f64::from(flow_mss.max(1)));
    }

    /// Section 3.5: T is at most Beta times the measured PipeSize.
    fn leave_retreat(&mut self, flow: &Flow, w: &mut Window) {
        let sent = self.last.saturating_sub(self.delivered_before);
        let pipe = self.pipe.min(sent.saturating_sub(flow.lost.saturating_sub(self.lost_before)));
        w.ssthresh = (self.saved.beta * segments(flow, pipe)).max(2.0);
        self.phase = ResumePhase::Normal;
    }
}

fn bytes(flow: &Flow, segments: f64) -> u64 {
    (segments * f64::from(flow.mss)) as u64
}

fn segments(flow: &Flow, bytes: u64) -> f64 {
    bytes as f64 / f64::from(flow.mss.max(1))
}

#[cfg(test)]
mod tests;
