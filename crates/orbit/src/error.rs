//! The ways in which the work can fail.

/// A request, or the elements in it, that cannot be worked out. The message is one line and says where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OrbitError {
    /// The request is wrong: the key, and what would be right.
    #[error("{0}")]
    Request(String),
    /// A text of orbital elements is wrong.
    #[error("{file}, line {line}: {what}")]
    Elements {
        /// What the request calls the text.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// SGP4 has no answer for a satellite at an instant of the run.
    #[error("satellite {satellite} has no position at {t_s} s: {what}")]
    Position {
        /// Its number.
        satellite: i64,
        /// Seconds from the start.
        t_s: f64,
        /// What SGP4 says.
        what: String,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// A wrong request.
pub(crate) fn wrong<T>(message: impl Into<String>) -> Result<T, OrbitError> {
    Err(OrbitError::Request(message.into()))
}

/// A number that a request may have only from `low` to `high`; `name` is its key, or what messages call it.
pub(crate) fn within(name: &str, value: f64, low: f64, high: f64) -> Result<(), OrbitError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    wrong(format!("{name} is {value}, but must be from {low} to {high}"))
}
