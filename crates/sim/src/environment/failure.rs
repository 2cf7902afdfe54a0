//! Why an environment gives no result.

use crate::engine::RunError;
use crate::keys::error::Error;

/// Why an environment gives no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// Its scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] Error),
    /// An agent cannot control that flow.
    #[error("flow {flow}: {why}")]
    Flow {
        /// The flow of the settings.
        flow: String,
        /// What is wrong.
        why: String,
    },
    /// Its run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A step of an environment that has not begun, or a bug.
    #[error("environment {number}: {why}")]
    Failed {
        /// The number of the environment.
        number: usize,
        /// What is wrong.
        why: String,
    },
}
