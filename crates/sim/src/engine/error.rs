//! Why a run gives no result.

use bentpipe_tcp::MAX_OUTSTANDING;

use crate::capture::pcap::CaptureError;

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The caller stopped the run.
    #[error("the run was interrupted")]
    Interrupted,
    /// A controller could not be built.
    #[error("flow {flow}: {why}")]
    Controller {
        /// Name of the flow.
        flow: String,
        /// What is wrong.
        why: String,
    },
    /// Packets could not be captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The recorded rows would fill the memory.
    #[error("the run records more than {most} rows; choose a longer interval, a shorter run, or record less")]
    Rows {
        /// Most rows of a run.
        most: u64,
    },
    /// A played run has too many packets under way.
    #[error(
        "more than {most} packets are under way at once, which is more than can be played; lower the rate or the delay of the links"
    )]
    UnderWay {
        /// Most packets under way, with those that entered a direction behind one of them.
        most: usize,
    },
    /// Packets under way and segments outstanding would fill the memory.
    #[error(
        "the run takes too much memory: it keeps {kept} packets and outstanding segments, {who}; a run may keep {most}, and a flow have \
         {MAX_OUTSTANDING} outstanding; give flows a receive_window, such as \"100000 segments\", or links shorter queues"
    )]
    Kept {
        /// Packets on links, and segments for which senders hold memory.
        kept: u64,
        /// The most that a run may keep.
        most: u64,
        /// The flow or link that keeps the most of them, and how many.
        who: String,
    },
    /// A law that holds in every run was broken: a bug of the simulator.
    #[error("bug in bentpipe: {law}; {numbers} (seed {seed}). Please report it with the scenario")]
    Law {
        /// What ought to hold.
        law: &'static str,
        /// Where the law is broken, and by which numbers.
        numbers: String,
        /// Seed of the run.
        seed: u64,
    },
}
