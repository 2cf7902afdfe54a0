//! What the command line, the pages and Python know of each kind of queue: it is read from its keys.

use serde::Serialize;
use serde_json::Value;

use crate::keys::units::UNIT_KEYWORD;
use crate::queue::kind::QueueKeys;

/// A kind of queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueKind {
    /// Its name in scenarios.
    pub kind: &'static str,
    /// Its name in tables.
    pub label: &'static str,
    /// What it is.
    pub about: String,
    /// Authors, title, year.
    pub source: &'static str,
    /// DOI, or the number of an RFC or of another standard.
    pub reference: &'static str,
    /// Its keys besides `kind`, in the order of the alphabet.
    pub keys: Vec<QueueKey>,
}

/// A key of a queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueKey {
    /// Its name in scenarios.
    pub name: String,
    /// What values it takes: "number", "integer", "boolean", or a text with a unit:
    /// "queue-size", "duration", "size".
    pub takes: Vec<String>,
    /// The value that it has if none is given.
    pub default: Value,
    /// Smallest number.
    pub min: Option<f64>,
    /// Largest number.
    pub max: Option<f64>,
    /// What it does.
    pub about: String,
}

impl QueueKind {
    /// The kind with these keys.
    pub(super) fn of<K: QueueKeys>(kind: &'static str) -> Self {
        let schema = schemars::schema_for!(K).to_value();
        let keys = schema["properties"].as_object().into_iter().flatten();
        Self {
            kind,
            label: K::LABEL,
            about: prose(&schema),
            source: K::SOURCE,
            reference: K::REFERENCE,
            keys: keys.map(|(name, key)| QueueKey::of(name, key, &schema)).collect(),
        }
    }
}

impl QueueKey {
    fn of(name: &str, key: &Value, schema: &Value) -> Self {
        let link = key["$ref"].as_str().and_then(|link| link.strip_prefix("#/$defs/"));
        let value = link.map_or(key, |name| &schema["$defs"][name]);
        let each = value["anyOf"].as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let bound = |name| each.iter().find_map(|value| value[name].as_f64());
        Self {
            name: name.to_owned(),
            takes: each.iter().map(takes).collect(),
            default: key["default"].clone(),
            min: bound("minimum"),
            max: bound("maximum"),
            about: prose(key),
        }
    }
}

/// Which values a schema without alternatives allows, in a word.
fn takes(schema: &Value) -> String {
    let types = match &schema["type"] {
        Value::Array(types) => &types[0],
        one => one,
    };
    schema[UNIT_KEYWORD].as_str().or(types.as_str()).unwrap_or_default().to_owned()
}

/// The description, without the ends of its lines.
fn prose(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::queue::all;

    #[test]
    fn names_are_distinct_and_every_key_is_told_of() {
        for (i, kind) in all().iter().enumerate() {
            assert!(all()[i + 1..].iter().all(|other| kind.kind != other.kind && kind.label != other.label));
            assert!(kind.about.ends_with('.') && !kind.source.is_empty() && !kind.reference.is_empty());
            for key in &kind.keys {
                assert!(!key.about.is_empty() && key.takes.iter().all(|word| !word.is_empty()), "{key:?}");
            }
        }
    }

    /// The defaults of the registry, written into a scenario, change nothing.
    #[test]
    fn the_defaults_are_those_of_a_scenario() {
        for kind in all() {
            let given = kind.keys.iter().filter(|key| !key.default.is_null());
            let given: String = given.map(|key| format!(", {} = {}", key.name, key.default)).collect();
            let plan = |given: &str| {
                let queue = format!("queue = {{ kind = \"{}\"{given} }}", kind.kind);
                let link = format!("[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\n{queue}\n");
                let text = format!("duration = \"1 s\"\n{link}[[flow]]\ncc = \"reno\"\npath = [\"x\"]\n");
                Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).expect("a scenario")
            };
            let found = plan(&given);
            assert_eq!(found.links[0].forward.discipline.kind(), kind.kind);
            assert_eq!(found, plan(""));
        }
    }

    #[test]
    fn a_key_has_its_units_its_range_and_its_default() {
        let red = all().into_iter().find(|kind| kind.kind == "red").expect("RED");
        let key = |name: &str| red.keys.iter().find(|key| key.name == name).expect("a key");
        let min = key("min");
        assert_eq!(min.takes, ["number", "queue-size"]);
        assert_eq!((&min.default, min.min, min.max), (&Value::from(0.15), Some(0.0), Some(1.0)));
        assert_eq!(
            (key("mark_p").takes.concat(), &key("mark_p").default),
            ("number".to_owned(), &Value::Null)
        );
        assert_eq!((&key("limit").default, key("limit").min), (&Value::from("1 bdp"), None));
        assert_eq!(key("gentle").takes, ["boolean"]);
    }
}
