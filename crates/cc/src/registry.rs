//! The one list of algorithms. The command line, the documentation, the plots and Python all read it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::algorithms;
use crate::controller::Controller;
use crate::path_change::{self, Anew, PATH_CHANGE, RESET};
use crate::resume::{self, SavedPath};
use crate::rule::Rule;
use crate::slow_start::{self, HYSTART, HYSTART_PLUS_PLUS, SLOW_START, SlowStart};
use crate::time::Span;
use crate::window::Start;
use crate::window_validation;

pub use crate::entry::{Entry, Error, Grade, Marks, SenderOptions, check};
pub use crate::params::{Args, Kind, Param, PathFact, Value};
pub use crate::window_validation::{NEWCWV, WINDOW_VALIDATION};

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
        built = Box::new(Anew::new(entry.build, args, built));
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

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::{Error, Value, all, build, check, find};
    use crate::window::Start;

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
