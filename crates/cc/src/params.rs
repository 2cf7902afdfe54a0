//! Parameters of algorithms: what values they take, and the checked values of one construction.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::time::Span;

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

/// A fact about the path, or about the sender on it, that a simulator or an operator may fill in when the
/// user gives no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFact {
    /// Bit error rate of the path's data direction.
    BitErrorRate,
    /// The receive window in segments or, where it never binds, the bandwidth-delay product of the path.
    ReceiveWindow,
    /// The sender spreads its segments in time. Where it does, the parameter takes its largest value.
    Paced,
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
    /// What it does, and the number of its equation.
    pub about: &'static str,
    /// Filled in from the path unless the user sets it.
    pub from_path: Option<PathFact>,
    /// The choice parameter, and its value, with which this parameter goes; refused without.
    pub goes_with: Option<(&'static str, &'static str)>,
}

impl Param {
    /// A real number within `range`, both ends allowed.
    pub(crate) const fn number(name: &'static str, default: f64, range: RangeInclusive<f64>) -> Self {
        Self::of(name, Kind::Number { default, min: *range.start(), max: *range.end() })
    }

    /// On or off.
    pub(crate) const fn flag(name: &'static str, default: bool) -> Self {
        Self::of(name, Kind::Flag { default })
    }

    /// One of these names; the first is the default.
    pub(crate) const fn choice(name: &'static str, names: &'static [&'static str]) -> Self {
        Self::of(name, Kind::Choice(names))
    }

    const fn of(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, unit: "", about: "", from_path: None, goes_with: None }
    }

    /// In this unit.
    pub(crate) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// What it does, and the number of its equation.
    pub(crate) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Filled in from the path unless the user sets it.
    pub(crate) const fn filled_from(self, fact: PathFact) -> Self {
        Self { from_path: Some(fact), ..self }
    }

    /// Only with this value of a choice parameter.
    pub(crate) const fn with(self, of: &'static str, choice: &'static str) -> Self {
        Self { goes_with: Some((of, choice)), ..self }
    }

    /// The default value.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Flag { default } => Value::Flag(default),
            Kind::Choice(names) => Value::Text(names[0].to_string()),
        }
    }

    /// Does it take this value?
    pub(crate) fn allows(&self, value: &Value) -> bool {
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

/// Checked parameter values of one construction.
#[derive(Clone, Debug)]
pub struct Args {
    /// Name, value, and whether the user gave it.
    values: Vec<(&'static str, Value, bool)>,
}

impl Args {
    /// Values by name, each with whether the user gave it.
    pub(crate) fn new(values: Vec<(&'static str, Value, bool)>) -> Self {
        Self { values }
    }

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

    /// The value of a `Kind::Choice` parameter.
    pub fn choice(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(choice) => choice,
            _ => "",
        }
    }

    /// Is the `Kind::Choice` parameter `name` set to `choice`?
    pub fn is(&self, name: &str, choice: &str) -> bool {
        self.choice(name) == choice
    }
}

/// A type of fields that hold the value of a parameter.
pub(crate) trait FromArgs {
    /// The value of the parameter called `name`.
    fn from_args(args: &Args, name: &str) -> Self;
}

macro_rules! from_args {
    ($($type:ty: $read:expr;)*) => {
        $(impl FromArgs for $type {
            fn from_args(args: &Args, name: &str) -> Self {
                $read(args, name)
            }
        })*
    };
}

from_args! {
    f64: Args::number;
    bool: Args::flag;
    u32: |args: &Args, name| args.number(name) as u32;
    usize: |args: &Args, name| args.number(name) as usize;
    Span: |args: &Args, name| Span::from_secs(args.number(name));
}
