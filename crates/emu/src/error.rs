//! What can go wrong.

use std::io;

use bentpipe_sim::pcap::CaptureError;

/// Why there is no emulation. Each message is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum EmulationError {
    /// The machine or the user's privileges do not allow it.
    Unable {
        /// What was tried.
        what: &'static str,
        /// What is needed.
        needs: &'static str,
        /// The error that the system gave.
        source: io::Error,
    },
    /// The request is wrong.
    Wrong(String),
    /// A link has stopped forwarding on its own.
    Failed {
        /// The thread that forwarded: link and way.
        thread: String,
        /// Its last message.
        why: String,
    },
    /// Packets cannot be captured.
    Capture(CaptureError),
}

impl std::fmt::Display for EmulationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unable { what, needs, source } => write!(f, "cannot {what}: {source}; {needs}"),
            Self::Wrong(what) => f.write_str(what),
            Self::Failed { thread, why } => write!(f, "the emulated link has failed ({thread}): {why}"),
            Self::Capture(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EmulationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unable { source, .. } => Some(source),
            Self::Wrong(_) | Self::Failed { .. } => None,
            Self::Capture(error) => error.source(),
        }
    }
}

/// Names what was tried, where the system refuses something.
pub(crate) fn unable(what: &'static str, needs: &'static str) -> impl FnOnce(io::Error) -> EmulationError {
    move |source| EmulationError::Unable { what, needs, source }
}
