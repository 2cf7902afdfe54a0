//! What can go wrong.

use std::io;

use bentpipe_sim::pcap::CaptureError;

/// Why there is no emulation. Each message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// The machine or the user's privileges do not allow it.
    #[error("cannot {what}: {source}; {needs}")]
    Unable {
        /// What was tried.
        what: &'static str,
        /// What is needed.
        needs: &'static str,
        /// The error that the system gave.
        source: io::Error,
    },
    /// The request is wrong.
    #[error("{0}")]
    Wrong(String),
    /// A link has stopped forwarding on its own.
    #[error("the emulated link has failed ({thread}): {why}")]
    Failed {
        /// The thread that forwarded: link and way.
        thread: String,
        /// Its last message.
        why: String,
    },
    /// Packets cannot be captured.
    #[error(transparent)]
    Capture(CaptureError),
}

/// Names what was tried, where the system refuses something.
pub(crate) fn unable(what: &'static str, needs: &'static str) -> impl FnOnce(io::Error) -> EmulationError {
    move |source| EmulationError::Unable { what, needs, source }
}
