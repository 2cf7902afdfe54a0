//! The one list of algorithms. The command line, the documentation, the plots and Python all read it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use crate::algorithms;
use crate::controller::{Controller, Needs, Rule};
use crate::path_change::{self, Anew, PATH_CHANGE, RESET};
use crate::probe;
use crate::resume::{self, SavedPath};
use crate::slow_start::{self, HYSTART, HYSTART_PLUS_PLUS, SLOW_START, SlowStart};
use crate::time::Span;
use crate::window_validation;
use crate::windowed::Start;

pub use crate::window_validation::{NEWCWV, WINDOW_VALIDATION};

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
    pub build: fn(&Args, Start) -> Box<dyn Controller>,
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
            Error::UnknownParameter { id, name } => {
                write!(f, "{id} has no parameter {name:?}; ")?;
                let mut names: Vec<&str> =
                    find(id).map_or(&[][..], |e| e.params).iter().map(|p| p.name).collect();
                names.push(PATH_CHANGE);
                if find(id).is_some_and(|e| e.refuses_slow_start().is_none()) {
                    names.push(SLOW_START);
                }
                if find(id).is_some_and(|e| e.refuses_resume().is_none()) {
                    names.extend([resume::CWND, WINDOW_VALIDATION]);
                }
                write!(f, "it takes {}", names.join(", "))
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
/// An unknown name, an unknown parameter, a value of the wrong type or out of range, or a choice of
/// `slow_start` where it has no place.
pub fn build(id: &str, given: &[(String, Value)], start: Start) -> Result<Box<dyn Controller>, Error> {
    let entry = find(id).ok_or_else(|| Error::UnknownAlgorithm { id: id.to_string() })?;
    let args = check(entry, given)?;
    let mut built = (entry.build)(&args, start);
    let mut add = |rule, name, what: String| {
        built.add(rule).map_err(|why| Error::Refused { id: entry.id, name, what, why })
    };
    if let Some(choice) = SlowStart::chosen(&args) {
        add(Rule::SlowStart(choice), SLOW_START, format!("cannot start with {:?}", choice.name()))?;
    }
    if let Some(nvp) = window_validation::chosen(&args) {
        add(Rule::ValidateWindow(nvp), WINDOW_VALIDATION, "cannot validate its window".to_string())?;
    }
    match SavedPath::given(&args) {
        Some(saved) if saved.rtt > Span::ZERO => {
            add(Rule::Resume(saved), resume::CWND, "has no Careful Resume".to_string())?;
        }
        Some(_) => return Err(Error::Missing { name: resume::CWND, needed: resume::RTT }),
        None => {
            if let Some(stray) = resume::PARAMS.iter().skip(1).find(|param| args.given(param.name)) {
                return Err(Error::Missing { name: stray.name, needed: resume::CWND });
            }
        }
    }
    for param in entry.parameters().filter(|param| args.given(param.name)) {
        if let Some((of, choice)) = param.goes_with
            && !args.is(of, choice)
        {
            return Err(Error::StrayConstant { name: param.name, of, choice });
        }
    }
    if args.is(PATH_CHANGE, RESET) {
        built = Box::new(Anew::new(entry, args, built));
    }
    Ok(built)
}

/// The names that a choice takes which algorithms share; none if there is no such parameter.
pub fn choices(shared: &str) -> &'static [&'static str] {
    let mut all = slow_start::PARAMS.iter().chain(window_validation::PARAMS).chain(&[path_change::PARAM]);
    match all.find(|param| param.name == shared).map(|param| param.kind) {
        Some(Kind::Choice(names)) => names,
        _ => &[],
    }
}

/// The parameters with which algorithm `id` runs where acknowledgements come from real hosts, which bunch
/// them, if they are not its defaults. Empty for most.
pub fn on_real_hosts(id: &str) -> &'static [(&'static str, &'static str)] {
    match id {
        "star" | "tcp-j" => &[("bw_samples", "ticks")],
        _ => &[],
    }
}

/// The parameters with which algorithm `id` runs in Linux where they are not its defaults here: the kernel's
/// own rules for its own, and [`on_real_hosts`] for ours. Empty for most.
pub fn in_linux(id: &str) -> &'static [(&'static str, &'static str)] {
    match id {
        "cubic" => &[("rules", "linux"), (SLOW_START, HYSTART)],
        "cdg" => &[(SLOW_START, HYSTART)],
        "lp" => &[("extremes", "linux")],
        _ => on_real_hosts(id),
    }
}

/// `given`, and of `more` the parameters that `given` leaves open: those of
/// [`in_linux`] or [`on_real_hosts`].
pub fn with(given: &[(String, Value)], more: &[(&str, &str)]) -> Vec<(String, Value)> {
    let open = more.iter().filter(|(name, _)| given.iter().all(|(known, _)| known != name));
    let more = open.map(|(name, value)| ((*name).to_string(), Value::Text((*value).to_string())));
    given.iter().cloned().chain(more).collect()
}

/// Do these parameters turn HyStart++ on?
pub fn starts_with_hystart(given: &[(String, Value)]) -> bool {
    given
        .iter()
        .any(|(name, value)| name == SLOW_START && *value == Value::Text(HYSTART_PLUS_PLUS.to_string()))
}

/// Checks `given` against the entry's parameters and fills in the defaults.
///
/// # Errors
/// As for [`build`], but each parameter is looked at alone.
pub fn check(entry: &'static Entry, given: &[(String, Value)]) -> Result<Args, Error> {
    if let Some((name, _)) = given.iter().find(|(name, _)| entry.parameters().all(|p| p.name != name)) {
        return Err(Error::UnknownParameter { id: entry.id, name: name.clone() });
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
        assert_eq!(
            refused("hswa", "A", Value::Number(1.0)),
            "hswa has no parameter \"A\"; it takes ber, a, lg, average, eq4, path_change, slow_start, resume_cwnd, window_validation"
        );
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
