//! The entry of an algorithm in the registry: what it is, its parameters, and what it asks of a sender.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::controller::{Controller, Needs};
use crate::params::{Args, Param, Value};
use crate::path_change::{self, Build, PATH_CHANGE};
use crate::probe;
use crate::resume::{self, SavedPath};
use crate::rule::Rule;
use crate::slow_start::{self, SLOW_START, SlowStart};
use crate::time::Span;
use crate::window::Start;
use crate::window_validation::{self, WINDOW_VALIDATION};

/// How well the available sources define an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Rules read in an authority: paper, RFC or reference code.
    A,
    /// From knowledge of a published standard or paper.
    B,
    /// A reconstruction; the original could not be obtained.
    C,
}

/// The sender options that an algorithm needs, besides its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderOptions {
    /// Probe after a timeout to tell lost data from lost ACKs (TCP-STAR's AEN).
    pub aen: bool,
    /// Retransmit all outstanding segments when the controller says so (TCPW with Bulk Repeat).
    pub bulk_repeat: bool,
    /// Do not double the RTO on consecutive timeouts (TCPW with Bulk Repeat).
    pub fixed_rto: bool,
    /// Bytes on the wire of the header that data segments and acknowledgements carry for the algorithm.
    pub header: u32,
    /// The kind of queue that computes for the algorithm, if it needs one.
    pub queue: Option<&'static str>,
    /// The marks that the algorithm answers to.
    pub marks: Marks,
}

/// How an algorithm learns of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// As any sender, if the flow has ECN at all.
    #[default]
    Any,
    /// An exact echo by the receiver (DCTCP, RFC 8257 section 3.2).
    Dctcp,
    /// Counters of the receiver (AccECN, RFC 9768), and data with ECT(1) (L4S, RFC 9331 section 4).
    L4s,
}

impl SenderOptions {
    /// Nothing: most algorithms.
    pub(crate) const NONE: Self =
        Self { aen: false, bulk_repeat: false, fixed_rto: false, header: 0, queue: None, marks: Marks::Any };
}

/// One registered algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in scenarios and on the command line.
    pub id: &'static str,
    /// Name in figures.
    pub label: &'static str,
    /// One sentence: what it is.
    pub about: &'static str,
    /// Authors, title, venue, year.
    pub source: &'static str,
    /// DOI or RFC number.
    pub reference: &'static str,
    /// How well it is pinned down.
    pub grade: Grade,
    /// Parameters.
    pub params: &'static [Param],
    /// Sender options that belong to the algorithm.
    pub sender: SenderOptions,
    /// Colour in plots, `#rrggbb`, from a colour-blind-safe set.
    pub colour: &'static str,
    /// Marker in plots, in matplotlib's letters.
    pub marker: &'static str,
    /// Constructor.
    pub build: Build,
}

/// Why an algorithm could not be built.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// No algorithm of this name.
    UnknownAlgorithm {
        /// The name given.
        id: String,
    },
    /// The algorithm has no such parameter.
    UnknownParameter {
        /// The algorithm.
        id: &'static str,
        /// What was given.
        name: String,
        /// The names of the parameters that it takes.
        takes: Vec<&'static str>,
    },
    /// The value has the wrong type or lies outside the range.
    BadValue {
        /// The algorithm.
        id: &'static str,
        /// The parameter.
        name: &'static str,
        /// What is allowed.
        allowed: String,
    },
    /// The algorithm refuses a rule that most algorithms take.
    Refused {
        /// The algorithm.
        id: &'static str,
        /// The parameter that asks for the rule.
        name: &'static str,
        /// What the algorithm cannot do.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// A parameter without another that it needs.
    Missing {
        /// The parameter.
        name: &'static str,
        /// The one that it needs.
        needed: &'static str,
    },
    /// A parameter that goes with a choice that was not made.
    StrayConstant {
        /// The parameter.
        name: &'static str,
        /// The choice parameter.
        of: &'static str,
        /// The value of it.
        choice: &'static str,
    },
}

impl Error {
    /// The parameter that is to blame, where there is one.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Error::UnknownAlgorithm { .. } => None,
            Error::UnknownParameter { name, .. } => Some(name),
            Error::BadValue { name, .. } | Error::StrayConstant { name, .. } => Some(name),
            Error::Refused { name, .. } | Error::Missing { name, .. } => Some(name),
        }
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownAlgorithm { id } => write!(f, "no congestion controller is called {id:?}"),
            Error::UnknownParameter { id, name, takes } => {
                write!(f, "{id} has no parameter {name:?}; it takes {}", takes.join(", "))
            }
            Error::BadValue { id, name, allowed } => write!(f, "parameter {name} of {id} must be {allowed}"),
            Error::Refused { id, what, why, .. } => write!(f, "{id} {what}: {why}"),
            Error::Missing { name, needed } => write!(f, "{name} needs {needed} beside it"),
            Error::StrayConstant { name, of, choice } => {
                write!(f, "{name} goes with {of} = {choice:?} only; add that, or leave it out")
            }
        }
    }
}

impl Entry {
    /// Every parameter that a scenario may give: the algorithm's own, then those that all algorithms share,
    /// which are the answer to a hint about the path and how the algorithm starts. Some algorithms refuse any
    /// other start than their own ([`Entry::refuses_slow_start`]).
    pub fn parameters(&self) -> impl Iterator<Item = &'static Param> + use<> {
        let own = self.params.iter().chain(&[path_change::PARAM]);
        own.chain(slow_start::PARAMS).chain(resume::PARAMS).chain(window_validation::PARAMS)
    }

    /// [`Entry::parameters`] without those that this algorithm refuses.
    pub fn offered(&'static self) -> impl Iterator<Item = &'static Param> + use<> {
        let ways = if self.refuses_slow_start().is_some() { &[] } else { slow_start::PARAMS };
        let (saved, validation) = match self.refuses_resume() {
            Some(_) => (&[][..], &[][..]),
            None => (resume::PARAMS, window_validation::PARAMS),
        };
        self.params.iter().chain(&[path_change::PARAM]).chain(ways).chain(saved).chain(validation)
    }

    /// The names of its own parameters, and those that choose among rules that it takes.
    fn names(&'static self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.params.iter().map(|param| param.name).collect();
        names.push(PATH_CHANGE);
        if self.refuses_slow_start().is_none() {
            names.push(SLOW_START);
        }
        if self.refuses_resume().is_none() {
            names.extend([resume::CWND, WINDOW_VALIDATION]);
        }
        names
    }

    /// Why the algorithm, with its defaults, has no Careful Resume, and no newCWV either; `None` if it has.
    pub fn refuses_resume(&'static self) -> Option<&'static str> {
        let saved = SavedPath { cwnd: 1.0, rtt: Span::ZERO, max_jump: 1.0, beta: 0.5 };
        self.by_default()?.add(Rule::Resume(saved)).err()
    }

    /// Why the algorithm, with its defaults, cannot start by HyStart++ or another choice of
    /// `slow_start`; `None` if it can.
    pub fn refuses_slow_start(&'static self) -> Option<&'static str> {
        self.by_default()?.add(Rule::SlowStart(SlowStart::Hystart)).err()
    }

    /// The sender's features that the algorithm uses, with its defaults.
    pub fn needs(&'static self) -> Needs {
        self.by_default().map_or_else(Needs::default, |cc| cc.needs())
    }

    /// The names of the quantities inside the algorithm, with its defaults, that a trace may have
    /// ([`Controller::probe`]).
    pub fn probes(&'static self) -> Vec<String> {
        self.by_default().map_or_else(Vec::new, |cc| probe::names(&*cc))
    }

    /// The controller with its defaults, to be asked for its abilities; `None` if a parameter has no default.
    fn by_default(&'static self) -> Option<Box<dyn Controller>> {
        let args = check(self, &[]).ok()?;
        Some((self.build)(&args, Start { mss: 1, initial_window: 1.0, initial_ssthresh: f64::INFINITY }))
    }
}

/// Checks `given` against the entry's parameters and fills in the defaults.
///
/// # Errors
/// As for [`build`](crate::registry::build), but each parameter is looked at alone.
pub fn check(entry: &'static Entry, given: &[(String, Value)]) -> Result<Args, Error> {
    if let Some((name, _)) = given.iter().find(|(name, _)| entry.parameters().all(|p| p.name != name)) {
        return Err(Error::UnknownParameter { id: entry.id, name: name.clone(), takes: entry.names() });
    }
    let mut values = Vec::new();
    for param in entry.parameters() {
        let found = given.iter().find(|(name, _)| name == param.name);
        let value = match found {
            Some((_, value)) if param.allows(value) => value.clone(),
            Some(_) => {
                return Err(Error::BadValue { id: entry.id, name: param.name, allowed: param.allowed() });
            }
            None => param.default(),
        };
        values.push((param.name, value, found.is_some()));
    }
    Ok(Args::new(values))
}
