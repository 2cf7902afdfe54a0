//! The one list of algorithms. The command line, the documentation, the plots and Python all read it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::algorithms;
use crate::controller::Controller;
use crate::windowed::Start;

/// A parameter's value, given or default.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// On or off.
    Flag(bool),
    /// One of a parameter's named choices.
    Text(String),
}

/// What values a parameter takes, and its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A real number between `min` and `max`, both allowed.
    Number {
        /// Used when the user gives none.
        default: f64,
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// On or off.
    Flag {
        /// Used when the user gives none.
        default: bool,
    },
    /// One of several names; the first is the default.
    Choice(&'static [&'static str]),
}

/// A fact about the path that a simulator or an operator may fill in when the user gives no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFact {
    /// Bit error rate of the path's data direction.
    BitErrorRate,
}

/// One parameter of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Values and default.
    pub kind: Kind,
    /// Unit, empty for pure numbers.
    pub unit: &'static str,
    /// What it does, and the equation it stands in.
    pub about: &'static str,
    /// Filled in from the path unless the user sets it.
    pub from_path: Option<PathFact>,
}

/// How well an algorithm is pinned down by what could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Rules read in an authority: paper, RFC or reference code.
    A,
    /// From knowledge of a published standard or paper.
    B,
    /// A reconstruction; the original could not be obtained.
    C,
}

/// What an algorithm asks of the sender rather than of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderOptions {
    /// Probe after a timeout to tell lost data from lost ACKs (TCP-STAR's AEN).
    pub aen: bool,
    /// Retransmit all outstanding segments when the controller says so (TCPW with Bulk Repeat).
    pub bulk_repeat: bool,
    /// Do not double the RTO on consecutive timeouts (TCPW with Bulk Repeat).
    pub fixed_rto: bool,
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
    pub build: fn(&Args, Start) -> Box<dyn Controller>,
}

/// Why an algorithm could not be built.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// No algorithm of this name.
    UnknownAlgorithm {
        /// What was asked for.
        id: String,
    },
    /// The algorithm has no such parameter.
    UnknownParameter {
        /// The algorithm.
        id: &'static str,
        /// What was given.
        name: String,
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
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownAlgorithm { id } => write!(f, "no congestion controller is called {id:?}"),
            Error::UnknownParameter { id, name } => {
                write!(f, "{id} has no parameter {name:?}; ")?;
                match find(id).map(|e| e.params) {
                    None | Some([]) => write!(f, "it takes none"),
                    Some(params) => {
                        let names: Vec<&str> = params.iter().map(|p| p.name).collect();
                        write!(f, "it takes {}", names.join(", "))
                    }
                }
            }
            Error::BadValue { id, name, allowed } => write!(f, "parameter {name} of {id} must be {allowed}"),
        }
    }
}

/// Checked parameter values of one construction.
#[derive(Clone, Debug)]
pub struct Args {
    /// Name, value, and whether the user gave it.
    values: Vec<(&'static str, Value, bool)>,
}

impl Args {
    fn value(&self, name: &str) -> &Value {
        let found = self.values.iter().find(|(n, ..)| *n == name);
        &found.expect("a constructor asks only for parameters of its own entry").1
    }

    /// Did the user give the parameter, rather than leave it at its default?
    pub fn given(&self, name: &str) -> bool {
        self.values.iter().any(|(n, _, given)| *n == name && *given)
    }

    /// The value of a `Kind::Number` parameter.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(x) => *x,
            _ => f64::NAN,
        }
    }

    /// The value of a `Kind::Flag` parameter.
    pub fn flag(&self, name: &str) -> bool {
        *self.value(name) == Value::Flag(true)
    }

    /// Is the `Kind::Choice` parameter `name` set to `choice`?
    pub fn is(&self, name: &str, choice: &str) -> bool {
        matches!(self.value(name), Value::Text(t) if t == choice)
    }
}

impl Param {
    /// The default value.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Flag { default } => Value::Flag(default),
            Kind::Choice(names) => Value::Text(names[0].to_string()),
        }
    }

    fn allows(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (Kind::Number { min, max, .. }, Value::Number(x)) => (min..=max).contains(x),
            (Kind::Flag { .. }, Value::Flag(_)) => true,
            (Kind::Choice(names), Value::Text(t)) => names.contains(&t.as_str()),
            _ => false,
        }
    }

    /// In words, which values are allowed.
    pub fn allowed(&self) -> String {
        match self.kind {
            Kind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Flag { .. } => "true or false".to_string(),
            Kind::Choice(names) => format!("one of {}", names.join(", ")),
        }
    }
}

/// Every registered algorithm, in the order in which tables and legends show them.
pub fn all() -> &'static [Entry] {
    algorithms::ALL
}

/// The algorithm called `id`.
pub fn find(id: &str) -> Option<&'static Entry> {
    all().iter().find(|e| e.id == id)
}

/// Builds the algorithm `id` with the given parameters; those not given take their defaults.
///
/// # Errors
/// An unknown name, an unknown parameter, or a value of the wrong type or out of range.
pub fn build(id: &str, given: &[(String, Value)], start: Start) -> Result<Box<dyn Controller>, Error> {
    let entry = find(id).ok_or_else(|| Error::UnknownAlgorithm { id: id.to_string() })?;
    Ok((entry.build)(&check(entry, given)?, start))
}

/// Checks `given` against the entry's parameters and fills in the defaults.
///
/// # Errors
/// As for [`build`].
pub fn check(entry: &'static Entry, given: &[(String, Value)]) -> Result<Args, Error> {
    if let Some((name, _)) = given.iter().find(|(name, _)| entry.params.iter().all(|p| p.name != name)) {
        return Err(Error::UnknownParameter { id: entry.id, name: name.clone() });
    }
    let mut values = Vec::with_capacity(entry.params.len());
    for param in entry.params {
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
    Ok(Args { values })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::{Error, Value, all, build, check, find};
    use crate::windowed::Start;

    const START: Start = Start { mss: 1448, initial_window: 10.0, initial_ssthresh: f64::INFINITY };

    #[test]
    fn names_labels_and_looks_are_distinct() {
        for (i, a) in all().iter().enumerate() {
            assert!(a.colour.len() == 7 && a.colour.starts_with('#'), "{}", a.id);
            for b in &all()[i + 1..] {
                assert!(a.id != b.id && a.label != b.label, "{}", a.id);
                assert!((a.colour, a.marker) != (b.colour, b.marker), "{} and {}", a.id, b.id);
            }
        }
    }

    #[test]
    fn every_default_is_allowed_and_every_entry_builds_with_its_defaults() {
        for entry in all() {
            for param in entry.params {
                assert!(param.allows(&param.default()), "{}.{}", entry.id, param.name);
            }
            let cc = build(entry.id, &[], START).expect("defaults");
            assert_eq!(cc.decision().cwnd, 14_480, "{}", entry.id);
        }
    }

    #[test]
    fn wrong_names_and_values_are_refused_with_what_is_allowed() {
        let refused = |id: &str, name: &str, value| {
            build(id, &[(name.to_string(), value)], START).expect_err("refused").to_string()
        };
        assert_eq!(refused("rono", "x", Value::Flag(true)), "no congestion controller is called \"rono\"");
        assert_eq!(refused("hswa", "A", Value::Number(1.0)), "hswa has no parameter \"A\"; it takes ber, a");
        for value in [Value::Number(1001.0), Value::Number(f64::NAN), Value::Flag(true)] {
            assert_eq!(refused("hswa", "a", value), "parameter a of hswa must be a number from 0 to 1000");
        }
        assert_eq!(
            refused("vegas", "rules", Value::Text("bsd".to_string())),
            "parameter rules of vegas must be one of paper, linux"
        );
        assert!(matches!(build("", &[], START), Err(Error::UnknownAlgorithm { .. })));
    }

    #[test]
    fn given_tells_a_default_from_the_same_value_given() {
        let vegas = find("vegas").expect("registered");
        let args = check(vegas, &[("alpha".to_string(), Value::Number(1.0))]).expect("in range");
        assert!(args.given("alpha") && !args.given("beta"));
        assert_eq!((args.number("alpha"), args.number("beta")), (1.0, 3.0));
    }
}
