//! How a connection leaves its first window: the choices of `slow_start`, side by side. One file a choice,
//! each a [`SlowStartRule`] beside the policy in its host, [`crate::Windowed`].
//!
//! | choice      | growth                                   | slow start ends                                | file                   |
//! |-------------|------------------------------------------|------------------------------------------------|------------------------|
//! | `standard`  | the algorithm's own, in the policy       | at a loss, a mark or T                         | `../windowed.rs`       |
//! | `hystart++` | less once the RTT has risen              | five rounds after the RTT has risen            | `hystart_plus_plus.rs` |
//! | `hystart`   | standard                                 | when the RTT rises or ACKs come as a train     | `hystart.rs`           |
//! | `search`    | standard                                 | when deliveries no longer double with the window | `search.rs`          |
//! | `limited`   | at most `max_ssthresh` / 2 a round trip  | as standard                                    | `limited.rs`           |
//! | `rapid`     | three times a round trip without a queue | as standard, with a descent of its own         | `rapid.rs`             |
//! | `swift`     | once to a share of the measured path     | as standard                                    | `swift.rs`             |

mod hystart;
mod hystart_plus_plus;
mod limited;
mod rapid;
mod search;
mod swift;

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::decision::RecoveryWindow;
use crate::event::{Congestion, Life};
use crate::params::{Args, Param, PathFact};
use crate::report::{Ack, Flow};
use crate::time::Rate;
use crate::window::{Cut, Window};

pub use hystart_plus_plus::HystartConstants;
pub(crate) use rapid::after_descent;
pub use search::{Compared, Exit as SearchExit, SearchConstants};

/// Name of the parameter that chooses the slow start.
pub(crate) const SLOW_START: &str = "slow_start";
/// Its value that chooses HyStart++.
pub(crate) const HYSTART_PLUS_PLUS: &str = "hystart++";
/// Its value that chooses Linux's HyStart.
pub(crate) const HYSTART: &str = "hystart";
/// Its value that chooses SEARCH.
pub(crate) const SEARCH: &str = "search";
/// Its value that chooses limited slow start.
pub(crate) const LIMITED: &str = "limited";
/// Its value that chooses Rapid Start.
pub(crate) const RAPID: &str = "rapid";
/// Its value that chooses Swift Start.
pub(crate) const SWIFT: &str = "swift";

/// A choice of `slow_start` other than `standard`, with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowStart {
    /// HyStart++ (RFC 9406).
    HystartPlusPlus(HystartConstants),
    /// Linux's HyStart (tcp_cubic.c).
    Hystart,
    /// SEARCH (draft-chung-ccwg-search).
    Search(SearchConstants),
    /// Limited slow start (RFC 3742).
    Limited {
        /// Above this window growth is limited, in segments.
        max_ssthresh: f64,
    },
    /// Rapid Start (draft-kazuho-ccwg-rapid-start).
    Rapid,
    /// Swift Start (BBN Technical Report 8339).
    Swift {
        /// Share of the measured path that the window goes to.
        fraction: f64,
    },
}

impl SlowStart {
    /// The choice that checked parameters make; `None` for the algorithm's own slow start.
    pub(crate) fn chosen(args: &Args) -> Option<Self> {
        Some(match args.choice(SLOW_START) {
            HYSTART_PLUS_PLUS => Self::HystartPlusPlus(HystartConstants::new(args)),
            HYSTART => Self::Hystart,
            SEARCH => Self::Search(SearchConstants::new(args)),
            LIMITED => Self::Limited { max_ssthresh: args.number(limited::MAX_SSTHRESH) },
            RAPID => Self::Rapid,
            SWIFT => Self::Swift { fraction: args.number(swift::FRACTION) },
            _ => return None,
        })
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::HystartPlusPlus(_) => HYSTART_PLUS_PLUS,
            Self::Hystart => HYSTART,
            Self::Search(_) => SEARCH,
            Self::Limited { .. } => LIMITED,
            Self::Rapid => RAPID,
            Self::Swift { .. } => SWIFT,
        }
    }

    /// The same for an algorithm that paces whatever its sender does.
    #[must_use]
    pub(crate) fn paced(self) -> Self {
        match self {
            Self::HystartPlusPlus(constants) => Self::HystartPlusPlus(constants.paced()),
            other => other,
        }
    }

    /// The rule at the start of a connection with this initial window, in segments.
    pub(crate) fn rule(self, initial_window: f64) -> Box<dyn SlowStartRule> {
        match self {
            Self::HystartPlusPlus(constants) => Box::new(hystart_plus_plus::HystartPlusPlus::new(constants)),
            Self::Hystart => Box::new(hystart::Hystart::default()),
            Self::Search(constants) => Box::new(search::Search::new(constants)),
            Self::Limited { max_ssthresh } => Box::new(limited::Limited { max_ssthresh }),
            Self::Rapid => Box::new(rapid::Rapid::default()),
            Self::Swift { fraction } => Box::new(swift::Swift::new(fraction, initial_window)),
        }
    }
}

/// What a choice of slow start does at each event. The host owns the window and calls the policy.
pub(crate) trait SlowStartRule: Debug + Send {
    /// Every ACK before its growing. May end slow start by T = W.
    fn before_growth(&mut self, _flow: &Flow, _ack: &Ack, _w: &mut Window) {}

    /// Slow start at a window of `w`: the ACK that the policy grows by instead of `counted`, and by how much
    /// it was divided. `ack` is the whole ACK, `counted` what is left of it by the sender's own limit.
    /// `None`: growth as without.
    fn counted(&self, _flow: &Flow, _ack: &Ack, _counted: &Ack, _w: &Window) -> Option<(Ack, f64)> {
        None
    }

    /// Every ACK after its growing. May end slow start by T = W.
    fn after_growth(&mut self, _flow: &Flow, _ack: &Ack, _w: &mut Window) {}

    /// Must the window stand, whatever is acknowledged?
    fn holds(&self) -> bool {
        false
    }

    /// The answer to congestion at a window of `w`, where `own` is the algorithm's. Pure.
    fn cut(&self, _why: Congestion, _w: &Window, own: Cut) -> Cut {
        own
    }

    /// Congestion began at a window of `w`, and the algorithm's answer is `own`.
    fn on_congestion(&mut self, _flow: &Flow, _why: Congestion, _w: &Window, _own: &Cut) {}

    /// The last congestion was spurious.
    fn on_undo(&mut self) {}

    /// A rare event.
    fn on_life(&mut self, _what: Life) {}

    /// The full BDP in segments, pipe and queue, that a descent has just found; yielded once.
    fn full_bdp(&mut self) -> Option<f64> {
        None
    }

    /// The rate at which a window of `cwnd` bytes is sent; `None` leaves that to the sender.
    fn pace(&self, _cwnd: u64) -> Option<Rate> {
        None
    }

    /// Who drives the window in recovery.
    fn recovery(&self) -> RecoveryWindow {
        RecoveryWindow::Sender
    }
}

/// What every window algorithm with the standard slow start takes: the choice, then the constants of each.
pub(crate) const PARAMS: &[Param] = &[
    Param::choice(SLOW_START, &["standard", HYSTART_PLUS_PLUS, HYSTART, SEARCH, LIMITED, RAPID, SWIFT]).about(
        "slow start: the algorithm's own; the first one with the exit of HyStart++ (RFC 9406); with the exit of Linux's HyStart; with \
         that of SEARCH (draft-chung-ccwg-search); limited (RFC 3742); Rapid Start (draft-kazuho-ccwg-rapid-start); or Swift Start (a \
         reconstruction)",
    ),
    Param::number("hystart_min_rtt_thresh", 0.004, 0.0..=10.0)
        .unit("s")
        .about("MIN_RTT_THRESH: least rise of the RTT that counts")
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number("hystart_max_rtt_thresh", 0.016, 0.0..=10.0)
        .unit("s")
        .about("MAX_RTT_THRESH: a rise that counts on any path")
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number("hystart_min_rtt_divisor", 8.0, 1.0..=1000.0)
        .unit("1")
        .about("MIN_RTT_DIVISOR: between the two, 1/this of the RTT counts")
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number("hystart_n_rtt_sample", 8.0, 1.0..=1000.0)
        .unit("samples")
        .about("N_RTT_SAMPLE: RTT samples that a round needs to be used")
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number("hystart_css_growth_divisor", 4.0, 2.0..=1000.0)
        .unit("1")
        .about("CSS_GROWTH_DIVISOR: growth in conservative slow start is 1/this of slow start's")
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number("hystart_css_rounds", 5.0, 1.0..=1000.0)
        .unit("rounds")
        .about("CSS_ROUNDS: rounds of conservative slow start until ssthresh = cwnd")
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number(hystart_plus_plus::L, hystart_plus_plus::L_UNPACED, 1.0..=hystart_plus_plus::L_PACED)
        .unit("segments")
        .about("L: most that one ACK counts for; without a bound (the largest value) if the sender paces")
        .filled_from(PathFact::Paced)
        .with(SLOW_START, HYSTART_PLUS_PLUS),
    Param::number("search_window_factor", 3.5, 0.5..=100.0)
        .unit("1")
        .about("WINDOW_SIZE_FACTOR: the window of measurement in initial RTTs")
        .with(SLOW_START, SEARCH),
    Param::number("search_bins", 10.0, 2.0..=1000.0)
        .unit("bins")
        .about("W: bins of the window of measurement")
        .with(SLOW_START, SEARCH),
    Param::number("search_extra_bins", 15.0, 2.0..=1000.0)
        .unit("bins")
        .about("EXTRA_BINS: bins kept besides, for the look back by one RTT")
        .with(SLOW_START, SEARCH),
    Param::choice(search::COMPARED, &["delivered", "sent"])
        .about(
            "what one RTT ago is compared with today's deliveries: twice the deliveries (drafts up to 06, Linux module 3.1), or what was \
             sent (draft 09)",
        )
        .with(SLOW_START, SEARCH),
    Param::number(search::THRESH, search::THRESH_DELIVERED, 0.01..=0.99)
        .unit("1")
        .about("THRESH: the share that must be missing to leave slow start; 0.26 if not given with search_compared = \"sent\"")
        .with(SLOW_START, SEARCH),
    Param::choice(search::EXIT, &["keep", "rollback", "drain"])
        .about(
            "the window on leaving slow start: kept; less what was delivered in the last two initial RTTs; or what was delivered in the \
             last one",
        )
        .with(SLOW_START, SEARCH),
    Param::number(limited::MAX_SSTHRESH, 100.0, 2.0..=1e6)
        .unit("segments")
        .about("max_ssthresh of RFC 3742: a larger window grows by at most half of this a round trip")
        .with(SLOW_START, LIMITED),
    Param::number(swift::FRACTION, 0.125, 0.001..=1.0)
        .unit("1")
        .about("share of the measured rate times RTT that the window goes to")
        .with(SLOW_START, SWIFT),
];
