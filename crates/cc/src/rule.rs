//! The rules that a scenario adds to an algorithm.

use crate::resume::SavedPath;
use crate::slow_start::SlowStart;
use crate::time::Span;

/// A rule that a scenario adds to an algorithm. Only algorithms hosted by [`crate::Windowed`] take any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The connection starts by one of the choices of `slow_start`.
    SlowStart(SlowStart),
    /// Careful Resume (RFC 9959), from what an earlier connection has saved.
    Resume(SavedPath),
    /// newCWV (RFC 7661), with this non-validated period.
    ValidateWindow(Span),
}

impl Rule {
    /// Why an algorithm without a host cannot take it.
    pub fn refusal(self) -> &'static str {
        match self {
            Rule::SlowStart(_) => {
                "it is not a window algorithm with the slow start of RFC 5681, and its start is part of its own model of the path"
            }
            Rule::Resume(_) => {
                "it is not a window algorithm, and what RFC 9959 advises for models of the path is not included"
            }
            Rule::ValidateWindow(_) => {
                "it is not a window algorithm, and its window is not one that unused time makes stale"
            }
        }
    }
}
