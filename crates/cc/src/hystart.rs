//! HyStart++: P. Balasubramanian, Y. Huang, M. Olson: HyStart++: Modified Slow Start for TCP, RFC 9406, 2023. Slow start that
//! ends when the RTT rises, with a guard against rises that pass.
//!
//! Unit: segments; times in nanoseconds. A state machine beside a [`crate::Policy`]: it scales the growth of the policy's slow
//! start, and decides when slow start is over. The host ([`crate::Windowed`]) owns the window.
//!
//! | stage      | growth per ACK of N bytes           | left                                                               |
//! |------------|-------------------------------------|--------------------------------------------------------------------|
//! | slow start | min(N, L SMSS)                      | smallest RTT of this round >= that of the last round + threshold: to CSS |
//! | CSS        | min(N, L SMSS) / CSS_GROWTH_DIVISOR | smallest RTT of this round < that on entry: back to slow start; after CSS_ROUNDS rounds: T = W, done |
//! | done       | as without HyStart++                | never                                                              |
//!
//! threshold = max(MIN_RTT_THRESH, min(smallest RTT of the last round / MIN_RTT_DIVISOR, MAX_RTT_THRESH)). A round counts from
//! N_RTT_SAMPLE samples on. Everything is from section 4.2; the constants, and these rules, from section 4.3:
//!  * only the first slow start is changed (SHOULD). It ends with the first congestion, or when W reaches T. A congestion that
//!    proves spurious brings it back, as it brings back T. Restarts after an idle time are RFC 5681's (the MAY is not used).
//!  * L replaces the sender's own limit on the segments that an ACK counts for (RFC 5681: 1, RFC 3465: 2). A merged report
//!    counts L for each ACK in it.
//!
//! Decisions where the text leaves room:
//!  * an ACK makes the window grow before its RTT is looked at, as the order of the text has it.
//!  * one change of stage per ACK.
//!  * a round ends with `Ack::round_end`, and the samples of that ACK belong to the round that it closes.
//!  * answer to congestion is the algorithm's own; the text's "ssthresh = cwnd" is about leaving slow start, not about the cut.

mod classic;

use crate::controller::Congestion;
use crate::registry::{Param, PathFact};
use crate::report::{Ack, Flow};
use crate::time::Span;
use crate::windowed::Window;
use classic::Classic;

/// Name of the parameter that chooses the slow start.
pub(crate) const SLOW_START: &str = "slow_start";
/// Its value that chooses HyStart++.
pub(crate) const HYSTART: &str = "hystart++";
/// Its value that chooses Linux's HyStart, `hystart/classic.rs`.
pub(crate) const CLASSIC: &str = "hystart";

const L: &str = "hystart_l";
/// L of a sender that does not pace.
const L_UNPACED: f64 = 8.0;
/// L of a sender that paces: more than any ACK covers. (Section 4.3: infinity.)
const L_PACED: f64 = 1e6;

/// What every window algorithm with the standard slow start takes: the choice, then the constants of section 4.3.
pub(crate) const PARAMS: &[Param] = &[
    Param::choice(SLOW_START, &["standard", HYSTART, CLASSIC]).about(
        "slow start: the algorithm's own; the first one with the exit of HyStart++ (RFC 9406); or with the exit of Linux's HyStart",
    ),
    Param::number("hystart_min_rtt_thresh", 0.004, 0.0..=10.0)
        .unit("s")
        .about("MIN_RTT_THRESH: least rise of the RTT that counts"),
    Param::number("hystart_max_rtt_thresh", 0.016, 0.0..=10.0)
        .unit("s")
        .about("MAX_RTT_THRESH: a rise that counts on any path"),
    Param::number("hystart_min_rtt_divisor", 8.0, 1.0..=1000.0)
        .unit("1")
        .about("MIN_RTT_DIVISOR: between the two, 1/this of the RTT counts"),
    Param::number("hystart_n_rtt_sample", 8.0, 1.0..=1000.0)
        .unit("samples")
        .about("N_RTT_SAMPLE: RTT samples that a round needs to be used"),
    Param::number("hystart_css_growth_divisor", 4.0, 2.0..=1000.0)
        .unit("1")
        .about("CSS_GROWTH_DIVISOR: growth in conservative slow start is 1/this of slow start's"),
    Param::number("hystart_css_rounds", 5.0, 1.0..=1000.0)
        .unit("rounds")
        .about("CSS_ROUNDS: rounds of conservative slow start until ssthresh = cwnd"),
    Param::number(L, L_UNPACED, 1.0..=L_PACED)
        .unit("segments")
        .about("L: most that one ACK counts for; without a bound (the largest value) if the sender paces")
        .filled_from(PathFact::Paced),
];

/// The constants of section 4.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
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

impl Constants {
    /// From checked parameters: `value` gives the value of a name, `given` whether the user gave it.
    pub(crate) fn new(value: impl Fn(&str) -> f64, given: impl Fn(&str) -> bool) -> Self {
        Self {
            min_rtt_thresh: Span::from_secs(value("hystart_min_rtt_thresh")),
            max_rtt_thresh: Span::from_secs(value("hystart_max_rtt_thresh")),
            min_rtt_divisor: value("hystart_min_rtt_divisor"),
            n_rtt_sample: value("hystart_n_rtt_sample") as u32,
            css_growth_divisor: value("hystart_css_growth_divisor"),
            css_rounds: value("hystart_css_rounds") as u32,
            l: given(L).then(|| value(L)),
        }
    }

    /// The same for an algorithm that paces whatever its sender does.
    #[must_use]
    pub(crate) fn paced(self) -> Self {
        Self { l: self.l.or(Some(L_PACED)), ..self }
    }
}

/// Which exit from slow start a controller is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exit {
    /// HyStart++ (RFC 9406).
    PlusPlus(Constants),
    /// Linux's HyStart (tcp_cubic.c).
    Classic,
}

impl Exit {
    /// The same for an algorithm that paces whatever its sender does.
    #[must_use]
    pub(crate) fn paced(self) -> Self {
        match self {
            Exit::PlusPlus(constants) => Exit::PlusPlus(constants.paced()),
            Exit::Classic => Exit::Classic,
        }
    }
}

/// The state of an [`Exit`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watch {
    PlusPlus(Hystart),
    Classic(Classic),
}

impl Watch {
    pub(crate) fn new(exit: Exit) -> Self {
        match exit {
            Exit::PlusPlus(constants) => Watch::PlusPlus(Hystart::new(constants)),
            Exit::Classic => Watch::Classic(Classic::default()),
        }
    }

    /// Takes an ACK before its growing. True if T must be set to W.
    pub(crate) fn before_growth(&mut self, flow: &Flow, ack: &Ack, w: &Window) -> bool {
        match self {
            Watch::PlusPlus(_) => false,
            Watch::Classic(classic) => classic.on_ack(flow, ack, w),
        }
    }

    /// See [`Hystart::counted`]; `None` where growth is as without.
    pub(crate) fn counted(&self, flow: &Flow, ack: &Ack) -> Option<(Ack, f64)> {
        match self {
            Watch::PlusPlus(hystart) => hystart.counted(flow, ack),
            Watch::Classic(_) => None,
        }
    }

    /// Takes the ACK after its growing; `slow` says whether W is still below T. True if T must be set to W.
    pub(crate) fn after_growth(&mut self, ack: &Ack, slow: bool) -> bool {
        match self {
            Watch::PlusPlus(hystart) => hystart.on_ack(ack, slow),
            Watch::Classic(_) => false,
        }
    }

    pub(crate) fn on_congestion(&mut self, flow: &Flow, why: Congestion) {
        match self {
            Watch::PlusPlus(hystart) => hystart.on_congestion(),
            Watch::Classic(classic) if why == Congestion::Timeout => classic.on_timeout(flow.now),
            Watch::Classic(_) => {} // T says that slow start is over
        }
    }

    /// The last congestion was spurious.
    pub(crate) fn on_undo(&mut self) {
        if let Watch::PlusPlus(hystart) = self {
            hystart.on_undo();
        }
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
pub(crate) struct Hystart {
    constants: Constants,
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

impl Hystart {
    pub(crate) fn new(constants: Constants) -> Self {
        Self {
            constants,
            stage: HystartStage::SlowStart,
            before: None,
            last: None,
            current: None,
            samples: 0,
        }
    }

    /// The part of `ack` that slow start may grow by, and its divisor; `None` once the first slow start is over.
    pub(crate) fn counted(&self, flow: &Flow, ack: &Ack) -> Option<(Ack, f64)> {
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

    /// Takes an ACK that has done its growing; `slow` says whether W is still below T. True if T must be set to W.
    pub(crate) fn on_ack(&mut self, ack: &Ack, slow: bool) -> bool {
        if self.stage == HystartStage::Done {
            return false;
        }
        if !slow {
            self.stage = HystartStage::Done;
            return false;
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
                    return true;
                }
            }
        }
        false
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
        let Constants { min_rtt_thresh, max_rtt_thresh, min_rtt_divisor, .. } = self.constants;
        let share = Span((last.0 as f64 / min_rtt_divisor) as u64);
        min_rtt_thresh.max(share.min(max_rtt_thresh))
    }

    /// Congestion: the first slow start is over.
    pub(crate) fn on_congestion(&mut self) {
        self.before = Some(core::mem::replace(&mut self.stage, HystartStage::Done));
    }

    /// The last congestion was spurious.
    pub(crate) fn on_undo(&mut self) {
        self.stage = self.before.take().unwrap_or(self.stage);
    }
}

#[cfg(test)]
mod tests;
