//! Controllers by the names of the command line: those of the registry, and quinn's own beside them.

use std::sync::Arc;

use bentpipe_cc::registry::{self, Value};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};

use crate::Algorithm;

/// The names of quinn's own.
pub(crate) const QUINNS: [&str; 3] = ["quinn-newreno", "quinn-cubic", "quinn-bbr"];

/// The controller called `name`. `given` are the parameters, as text; quinn's own have none here.
pub(crate) fn controller(
    name: &str,
    given: &[(String, String)],
    initial_window: Option<f64>,
) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    let quinns: Arc<dyn ControllerFactory + Send + Sync> = match name {
        "quinn-newreno" => Arc::new(NewRenoConfig::default()),
        "quinn-cubic" => Arc::new(CubicConfig::default()),
        "quinn-bbr" => Arc::new(BbrConfig::default()),
        _ => return registered(name, given, initial_window),
    };
    match (given.first(), initial_window) {
        (Some((param, _)), _) => Err(format!("{name} is quinn's own and takes no parameter {param:?}")),
        (None, Some(_)) => Err(format!("{name} is quinn's own and keeps its own initial window")),
        (None, None) => Ok(quinns),
    }
}

fn registered(
    name: &str,
    given: &[(String, String)],
    initial_window: Option<f64>,
) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    let given: Vec<(String, Value)> =
        given.iter().map(|(param, value)| (param.clone(), read(value))).collect();
    let algorithm = Algorithm::new(name, &given).map_err(|why| {
        let known: Vec<&str> = registry::all().iter().map(|entry| entry.id).chain(QUINNS).collect();
        match why {
            registry::Error::UnknownAlgorithm { .. } => format!("{why}; there are {}", known.join(", ")),
            other => other.to_string(),
        }
    })?;
    Ok(Arc::new(match initial_window {
        Some(datagrams) => algorithm.initial_window(datagrams),
        None => algorithm,
    }))
}

/// A parameter as written on the command line.
fn read(value: &str) -> Value {
    match (value, value.parse()) {
        ("true" | "on", _) => Value::Flag(true),
        ("false" | "off", _) => Value::Flag(false),
        (_, Ok(number)) => Value::Number(number),
        (text, Err(_)) => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::controller;

    #[test]
    fn names_and_parameters_are_those_of_a_scenario() {
        let set = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert!(controller("hswa", &set("a", "3"), Some(4.0)).is_ok());
        assert!(controller("cubic", &set("slow_start", "hystart++"), None).is_ok());
        assert!(controller("quinn-bbr", &[], None).is_ok());
        let refused = |name: &str, given: &[(String, String)]| match controller(name, given, None) {
            Ok(_) => String::new(),
            Err(why) => why,
        };
        assert_eq!(refused("hswa", &set("a", "x")), "parameter a of hswa must be a number from 0 to 1000");
        assert!(refused("rono", &[]).starts_with("no congestion controller is called \"rono\"; there are "));
        assert!(refused("quinn-cubic", &set("a", "1")).contains("takes no parameter \"a\""));
    }
}
