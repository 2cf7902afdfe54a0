//! A runner for scripts in the language of packetdrill (N. Cardwell et al., packetdrill: scriptable network
//! stack testing, from sockets to packets, USENIX ATC 2013), against the sender and the receiver of
//! `bentpipe-tcp` instead of a kernel.
//!
//! A script is read (`parser`), turned into options of the connection and steps in whole segments (`plan`),
//! and played ([`run()`]). Whatever the text, the answer is an [`Outcome`] or an [`Error`] with the line;
//! nothing panics. [`run()`] is what a fuzzer calls with arbitrary text: it reads and plans first, and plays
//! what is left within bounded time and memory.
//!
//! What differs from packetdrill: there is no handshake to play (its lines only say which options hold), no
//! teardown (a script ends where it closes), no data in both directions, and the PSH flag is not compared.
//! The window that we advertise is compared if `// bentpipe: receive_window=` says how many segments the
//! buffer holds; `read` then empties it.

mod expression;
mod packet;
mod parser;
mod plan;
mod run;
mod settings;

use std::fmt;

/// What is wrong with a script, or with this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The text is not in the language.
    Syntax,
    /// It needs a feature that is not available here.
    Refused,
    /// It ran, but something other than the script says came.
    Differs,
}

/// Why a script did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub kind: Kind,
    /// Line of the script, from 1.
    pub line: usize,
    /// What was expected and what came, or what is not understood.
    pub message: String,
}

impl Error {
    fn syntax(line: usize, message: impl Into<String>) -> Self {
        Self { kind: Kind::Syntax, line, message: message.into() }
    }

    fn refused(line: usize, message: impl Into<String>) -> Self {
        Self { kind: Kind::Refused, line, message: message.into() }
    }

    fn differs(line: usize, message: impl Into<String>) -> Self {
        Self { kind: Kind::Differs, line, message: message.into() }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Syntax => "cannot be read",
            Kind::Refused => "does not apply here",
            Kind::Differs => "differs",
        };
        write!(f, "line {}: {what}: {}", self.line, self.message)
    }
}

/// A script that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Segments that were sent and compared.
    pub compared: usize,
    /// Assertions that held.
    pub asserted: usize,
    /// Blocks of code that were skipped because they ask for something that is not available here
    /// ([`Manner::Lenient`]).
    pub skipped: usize,
    /// Where the script closes the connection, if it does: what follows was not played.
    pub closed_at: Option<usize>,
}

/// What came of a script, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// "pass", "differs", "refused" (it needs what is not here) or "unreadable".
    pub word: &'static str,
    /// The line that is to blame, from 1; 0 if there is none.
    pub line: usize,
    /// What was compared; or what was expected and what came, or what is not understood.
    pub message: String,
}

/// How strictly a script is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Nothing may be sent without a line that says so, up to the last event, and every assertion must be
    /// understood.
    Strict,
    /// As in packetdrill: a sent packet waits for the next line that names a packet to be sent, and is not
    /// missed if none comes. Code that asks for something that is not available here is skipped and counted.
    Lenient,
}

/// Runs the script `text` in the strict manner.
///
/// # Errors
///
/// If the text is not in the language, needs what is not here, or says something else than what comes.
pub fn run(text: &str) -> Result<Outcome, Error> {
    run_as(text, Manner::Strict)
}

/// Runs the script `text`.
///
/// # Errors
///
/// As [`run()`].
pub fn run_as(text: &str, manner: Manner) -> Result<Outcome, Error> {
    let script = parser::parse(text)?;
    let plan = plan::plan(&script, manner)?;
    run::play(&plan)
}

/// Runs the script `text`, and says what came of it.
pub fn verdict(text: &str, manner: Manner) -> Verdict {
    match run_as(text, manner) {
        Ok(done) => {
            let passed_over =
                if done.skipped > 0 { format!(", {} passed over", done.skipped) } else { String::new() };
            let end = done.closed_at.map_or(String::new(), |line| format!(", up to line {line}"));
            let message =
                format!("{} segments, {} assertions{passed_over}{end}", done.compared, done.asserted);
            Verdict { word: "pass", line: 0, message }
        }
        Err(error) => {
            let word = match error.kind {
                Kind::Syntax => "unreadable",
                Kind::Refused => "refused",
                Kind::Differs => "differs",
            };
            Verdict { word, line: error.line, message: error.message.trim().replace(['\n', '\t'], " ") }
        }
    }
}
