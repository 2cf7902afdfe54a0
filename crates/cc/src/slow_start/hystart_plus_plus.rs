//! HyStart++: P. Balasubramanian, Y. Huang, M. Olson: HyStart++: Modified Slow Start for TCP, RFC 9406, 2023.
//! Slow start that ends when the RTT rises, with a guard against rises that pass.
//!
//! Unit: segments; times in nanoseconds. A state machine beside a [`crate::Policy`]: it scales the
//! growth of the policy's slow start, and decides when slow start is over. The host
//! ([`crate::Windowed`]) owns the window.
//!
//! | stage      | growth per ACK of N bytes           | left                                                               |
//! |------------|-------------------------------------|--------------------------------------------------------------------|
//! | slow start | min(N, L SMSS)                      | smallest RTT of this round >= that of the last round + threshold: to CSS |
//! | CSS        | min(N, L SMSS) / CSS_GROWTH_DIVISOR | smallest RTT of this round < that on entry: back to slow start; after CSS_ROUNDS rounds: T = W, done |
//! | done       | as without HyStart++                | never                                                              |
//!
//! threshold = max(MIN_RTT_THRESH, min(smallest RTT of the last round / MIN_RTT_DIVISOR, MAX_RTT_THRESH)). A
//! round counts from N_RTT_SAMPLE samples on. Everything is from section 4.2; the constants, and these
//! rules, from section 4.3:
//!  * only the first slow start is changed (SHOULD). It ends with the first congestion, or when W reaches T.
//!    A congestion that proves spurious brings it back, as it brings back T. Restarts after an idle time are
//!    RFC 5681's (the MAY is not used).
//!  * L replaces the sender's own limit on the segments that an ACK counts for (RFC 5681: 1, RFC 3465: 2). A
//!    merged report counts L for each ACK in it.
//!
//! Decisions where the text leaves room:
//!  * an ACK makes the window grow before its RTT is looked at, as the order of the text has it.
//!  * one change of stage per ACK.
//!  * a round ends with `Ack::round_end`, and the samples of that ACK belong to the round that it closes.
//!  * answer to congestion is the algorithm's own; the text's "ssthresh = cwnd" is about leaving slow
//!    start, not about the cut.

use super::SlowStartRule;
use crate::event::Congestion;
use crate::registry::Args;
use crate::report::{Ack, Flow};
use crate::time::Span;
use crate::window::{Cut, Window};

pub(super) const L: &str = "hystart_l";
/// L of a sender that does not pace.
pub(super) const L_UNPACED: f64 = 8.0;
/// L of a sender that paces: more than any ACK covers. (Section 4.3: infinity.)
pub(super) const L_PACED: f64 = 1e6;

/// The constants of section 4.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HystartConstants {
    /// MIN_RTT_THRESH.
    pub min_rtt_thresh: Span,
    /// MAX_RTT_THRESH.
    pub max_rtt_thresh: Span,
    /// MIN_RTT_DIVISOR.
    pub min_rtt_divisor: f64,
    /// N_RTT_SAMPLE.
    pub n_rtt_sample: u32,
    /// CSS_GROWTH_DIVISOR.
    pub css_growth_divisor: f64,
    /// CSS_ROUNDS.
    pub css_rounds: u32,
    /// L in segments; `None`: as section 4.3 has it, by whether the sender paces.
    pub l: Option<f64>,
}

impl HystartConstants {
    /// From checked parameters.
    pub(super) fn new(args: &Args) -> Self {
        Self {
            min_rtt_thresh: Span::from_secs(args.number("hystart_min_rtt_thresh")),
            max_rtt_thresh: Span::from_secs(args.number("hystart_max_rtt_thresh")),
            min_rtt_divisor: args.number("hystart_min_rtt_divisor"),
            n_rtt_sample: args.number("hystart_n_rtt_sample") as u32,
            css_growth_divisor: args.number("hystart_css_growth_divisor"),
            css_rounds: args.number("hystart_css_rounds") as u32,
            l: args.given(L).then(|| args.number(L)),
        }
    }

    /// The same for an algorithm that paces whatever its sender does.
    #[must_use]
    pub(super) fn paced(self) -> Self {
        Self { l: self.l.or(Some(L_PACED)), ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum HystartStage {
    SlowStart,
    /// Conservative slow start.
    Css {
        /// cssBaselineMinRtt.
        baseline: Span,
        /// Rounds that have ended in it, the partial first one included.
        rounds: u32,
    },
    Done,
}

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(super) struct HystartPlusPlus {
    constants: HystartConstants,
    stage: HystartStage,
    /// The stage that the last congestion ended.
    before: Option<HystartStage>,
    /// lastRoundMinRTT.
    last: Option<Span>,
    /// currentRoundMinRTT.
    current: Option<Span>,
    /// rttSampleCount.
    samples: u32,
}

impl SlowStartRule for HystartPlusPlus {
    /// The part of `ack` that slow start may grow by, and its divisor; `None` once the
    /// first slow start is over.
    fn counted(&self, flow: &Flow, ack: &Ack, _counted: &Ack, _w: &Window) -> Option<(Ack, f64)> {
        let divisor = match self.stage {
            HystartStage::SlowStart => 1.0,
            HystartStage::Css { .. } => self.constants.css_growth_divisor,
            HystartStage::Done => return None,
        };
        let l = self.constants.l.unwrap_or(L_UNPACED);
        let most = l * f64::from(flow.mss) * f64::from(ack.acks.max(1)); // L SMSS, for each ACK
        let acked = (ack.acked as f64).min(most) / divisor;
        Some((Ack { acked: acked as u64, ..*ack }, divisor))
    }

    fn after_growth(&mut self, _flow: &Flow, ack: &Ack, w: &mut Window) {
        if self.stage == HystartStage::Done {
            return;
        }
        if w.cwnd >= w.ssthresh {
            self.stage = HystartStage::Done;
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.current = Some(self.current.map_or(rtt.min, |known| known.min(rtt.min)));
            self.samples = self.samples.saturating_add(rtt.count);
        }
        if let Some(current) = self.current
            && self.samples >= self.constants.n_rtt_sample
        {
            self.judge(current);
        }
        if ack.round_end {
            (self.last, self.current, self.samples) = (self.current, None, 0);
            if let HystartStage::Css { rounds, .. } = &mut self.stage {
                *rounds += 1;
                if *rounds >= self.constants.css_rounds {
                    self.stage = HystartStage::Done;
                    w.ssthresh = w.cwnd; // section 4.2
                }
            }
        }
    }

    /// The first slow start is over.
    fn on_congestion(&mut self, _flow: &Flow, _why: Congestion, _w: &Window, _own: &Cut) {
        self.before = Some(core::mem::replace(&mut self.stage, HystartStage::Done));
    }

    fn on_undo(&mut self) {
        self.stage = self.before.take().unwrap_or(self.stage);
    }
}

impl HystartPlusPlus {
    pub(super) fn new(constants: HystartConstants) -> Self {
        Self {
            constants,
            stage: HystartStage::SlowStart,
            before: None,
            last: None,
            current: None,
            samples: 0,
        }
    }

    /// Compares the smallest RTT of a round with enough samples.
    fn judge(&mut self, current: Span) {
        match self.stage {
            HystartStage::SlowStart => {
                if self.last.is_some_and(|last| current >= last + self.threshold(last)) {
                    self.stage = HystartStage::Css { baseline: current, rounds: 0 };
                }
            }
            HystartStage::Css { baseline, .. } => {
                if current < baseline {
                    self.stage = HystartStage::SlowStart;
                }
            }
            HystartStage::Done => {}
        }
    }

    /// RttThresh.
    fn threshold(&self, last: Span) -> Span {
        let HystartConstants { min_rtt_thresh, max_rtt_thresh, min_rtt_divisor, .. } = self.constants;
        let share = Span((last.0 as f64 / min_rtt_divisor) as u64);
        min_rtt_thresh.max(share.min(max_rtt_thresh))
    }
}

#[cfg(test)]
mod tests;
