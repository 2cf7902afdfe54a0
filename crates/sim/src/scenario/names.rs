//! Names ignore case: algorithms, kinds of queues, losses and traffic, profiles and other words for a choice.

use bentpipe_cc::registry;
use serde_json::Value;

use crate::scenario::controller::{CONTROLLERS, NAMES_KEYWORD};
use crate::scenario::schema::{self, SCHEMA};

/// Writes every name as it is registered. A name that is unknown in any case is left as it is.
pub(crate) fn canonical(tree: &mut Value) {
    walk(&[&SCHEMA], tree);
}

fn walk(schemas: &[&Value], value: &mut Value) {
    let all: Vec<&Value> = schemas.iter().flat_map(|schema| schema::alternatives(schema)).collect();
    match value {
        Value::String(text) => {
            let mut names = schema::names(&all);
            if all.iter().any(|schema| schema[NAMES_KEYWORD] == CONTROLLERS) {
                names.extend(registry::all().iter().map(|entry| entry.id));
            }
            if let (false, Some(name)) = (names.contains(&text.as_str()), same(text, names)) {
                name.clone_into(text);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                walk(&members(&all, &i.to_string()), item);
            }
        }
        Value::Object(map) => {
            for (name, member) in map {
                walk(&members(&all, name), member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The one of `names` that differs from `text` in case at most.
fn same<'a>(text: &str, names: Vec<&'a str>) -> Option<&'a str> {
    names.into_iter().find(|name| name.eq_ignore_ascii_case(text.trim()))
}

fn members<'a>(schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
    schemas.iter().filter_map(|schema| schema::member(schema, name)).collect()
}
