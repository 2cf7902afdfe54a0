//! Checks a tree of values against the JSON Schema of a scenario. It finds unknown or missing keys, wrong
//! types, numbers out of range, and text that is not a quantity. It exists for its messages: each names the
//! exact key and the right value, which a deserializer cannot do behind tagged and untagged alternatives.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::keys::error::{Key, MOST_COUNTED, nearest, quoted, suggestion};
use crate::keys::units;
use crate::scenario::synonyms;

/// Schema member with a hint for a missing key.
pub(crate) const HINT_KEYWORD: &str = "x-hint";

/// A mistake in a tree.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// The key of the mistake.
    pub(crate) key: Key,
    pub(crate) message: String,
    /// For an unknown key: the keys that may be meant. That these are missing follows from the mistake.
    pub(crate) meant: Vec<Key>,
}

/// The JSON Schema of a scenario.
pub(crate) static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| schemars::schema_for!(crate::scenario::document::Scenario).to_value());

/// The schema as text (draft 2020-12), with its name and version, for editors and other programs.
pub fn schema() -> String {
    let mut published = SCHEMA.clone();
    published["$id"] = format!("urn:bentpipe:scenario:{}", env!("CARGO_PKG_VERSION")).into();
    published["title"] = "Bentpipe scenario".into();
    published["$comment"] = concat!("Bentpipe ", env!("CARGO_PKG_VERSION")).into();
    format!("{published:#}")
}

/// Checks a whole scenario; returns all its mistakes, in the order of the schema and of the tree.
pub(crate) fn check(value: &Value) -> Vec<Mistake> {
    let mut found = Vec::new();
    walk(&SCHEMA, value, &Key::default(), &mut found);
    found
}

/// The schemas of the values at a key: several, where `kind` chooses.
pub(crate) fn schemas_at(key: &Key) -> Vec<&'static Value> {
    key.parts().iter().fold(vec![&*SCHEMA], |above, part| {
        above.into_iter().flat_map(alternatives).filter_map(|schema| member(schema, part)).collect()
    })
}

/// Must the key be there?
pub(crate) fn is_required(key: &Key) -> bool {
    let (Some(above), Some(name)) = (key.parent(), key.last()) else { return true };
    let required = |schema: &Value| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    schemas_at(&above).into_iter().flat_map(alternatives).any(required)
}

/// A value that the schema allows at a key.
pub(crate) fn example_at(key: &Key) -> Option<Value> {
    let all: Vec<&Value> =
        schemas_at(key).into_iter().flat_map(|s| [vec![s], alternatives(s)].concat()).collect();
    let of = |schema: &&Value| match schema {
        schema if !schema["examples"][0].is_null() => Some(schema["examples"][0].clone()),
        schema if !schema["minimum"].is_null() => Some(schema["minimum"].clone()),
        schema if schema["type"] == "array" => Some(Value::Array(Vec::new())),
        _ => None,
    };
    all.iter().find_map(of)
}

/// The schema of the value under `part` in a table or a list.
pub(super) fn member<'a>(schema: &'a Value, part: &str) -> Option<&'a Value> {
    let places = [&schema["properties"][part], &schema["additionalProperties"], &schema["items"]];
    let pair = part.parse().ok().map_or(&Value::Null, |i: usize| &schema["prefixItems"][i]);
    places.into_iter().chain([pair]).find(|schema| schema.is_object())
}

/// The type of a value, in words.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// Follows `$ref`.
fn follow(schema: &Value) -> &Value {
    let name = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| &SCHEMA["$defs"][name])
}

/// The alternatives of a schema; the schema itself if it has none. Null is no alternative: a key is absent
/// instead.
pub(super) fn alternatives(schema: &Value) -> Vec<&Value> {
    let schema = follow(schema);
    match schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        Some(list) => list.iter().filter(|s| s["type"] != "null").flat_map(alternatives).collect(),
        None => vec![schema],
    }
}

/// The names of the JSON types that a schema without alternatives allows.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).filter(|t| *t != "null").collect(),
        _ if schema["enum"].is_array() || schema["const"].is_string() => vec!["string"],
        _ => vec![],
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    types(schema).into_iter().any(|name| match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" | "integer" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    })
}

fn walk(schema: &Value, value: &Value, at: &Key, found: &mut Vec<Mistake>) {
    if found.len() >= MOST_COUNTED {
        return;
    }
    let mut wrong = |message: String| found.push(Mistake { key: at.clone(), message, meant: Vec::new() });
    let all = alternatives(schema);
    let fitting: Vec<&Value> = all.iter().copied().filter(|s| has_type(s, value)).collect();
    let Some(first) = fitting.first() else {
        let hint = schema[HINT_KEYWORD].as_str().map(|hint| format!("; {hint}")).unwrap_or_default();
        return wrong(wrong_type(&all, value) + &hint);
    };
    match value {
        Value::Object(map) => {
            let tagged = fitting.iter().any(|s| s["properties"]["kind"]["const"].is_string());
            // Of several tables without a kind the one is meant that has what it requires.
            let complete = |schema: &&&Value| {
                let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
                required.iter().filter_map(Value::as_str).all(|key| map.contains_key(key))
            };
            let meant = fitting.iter().find(complete).unwrap_or(first);
            match if tagged { pick(&fitting, map, at) } else { Ok(*meant) } {
                Ok(schema) => walk_object(schema, map, at, found),
                Err(mistake) => found.push(mistake),
            }
        }
        Value::Array(items) if first["prefixItems"].is_array() => {
            walk_pair(&first["prefixItems"], items, at, found);
        }
        Value::Array(items) => {
            // A list of pairs written without the inner brackets is one mistake.
            let flat = first["items"]["type"] == "array" && items.iter().all(|item| !item.is_array());
            let most = if flat { 1 } else { usize::MAX };
            for (i, item) in items.iter().enumerate().take(most) {
                walk(&first["items"], item, &at.with(i), found);
            }
        }
        Value::String(text) => walk_string(&fitting, text).unwrap_or_else(wrong),
        Value::Number(number) => walk_number(first, number).unwrap_or_else(wrong),
        Value::Bool(_) | Value::Null => {}
    }
}

/// A list with a fixed number of items, each of its own kind.
fn walk_pair(schemas: &Value, items: &[Value], at: &Key, found: &mut Vec<Mistake>) {
    let schemas = schemas.as_array().map_or(&[][..], Vec::as_slice);
    if items.len() != schemas.len() {
        let example = |schema: &Value| match &alternatives(schema)[0]["examples"][0] {
            Value::Null => "true".to_owned(),
            example => example.to_string(),
        };
        let example: Vec<String> = schemas.iter().map(example).collect();
        let message = format!(
            "has {} items; it must be an instant and a value, e.g. [{}]",
            items.len(),
            example.join(", ")
        );
        found.push(Mistake { key: at.clone(), message, meant: Vec::new() });
        return;
    }
    for (i, (schema, item)) in schemas.iter().zip(items).enumerate() {
        walk(schema, item, &at.with(i), found);
    }
}

fn wrong_type(allowed: &[&Value], value: &Value) -> String {
    let shown = match value {
        Value::String(text) => quoted(text),
        Value::Number(n) => n.to_string(),
        Value::Bool(b) => b.to_string(),
        other => kind_of(other).to_owned(),
    };
    let quantity = allowed.iter().find(|s| s[units::UNIT_KEYWORD].is_string());
    if let (Some(quantity), Value::Number(_)) = (quantity, value) {
        return format!("{shown} has no unit; write text with a unit, e.g. {}", quantity["examples"][0]);
    }
    let names = names(allowed);
    if !names.is_empty() {
        return format!("{shown} is not allowed here; it must be one of {}", names.join(", "));
    }
    let mut words: Vec<&str> = Vec::new();
    for name in allowed.iter().flat_map(|s| types(s)) {
        let word = match name {
            "string" => "a string",
            "boolean" => "true or false",
            "integer" => "a whole number",
            "number" => "a number",
            "array" => "a list",
            _ => "a table",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let example = allowed.iter().map(|s| &s["examples"][0]).find(|e| !e.is_null());
    let example =
        example.map(|e| format!(", e.g. {e}")).or_else(|| kind_for(allowed, value)).unwrap_or_default();
    format!("{shown} is not allowed here; it must be {}{example}", words.join(" or "))
}

/// The table that a name may represent, where `kind` distinguishes tables: `queue = "codel"`.
fn kind_for(allowed: &[&Value], value: &Value) -> Option<String> {
    let kinds: Vec<&str> = allowed.iter().filter_map(|s| s["properties"]["kind"]["const"].as_str()).collect();
    let given = value.as_str().unwrap_or_default();
    let kind = nearest(given, kinds.iter().copied()).first().copied().or(kinds.first().copied())?;
    Some(format!(", e.g. {{ kind = {kind:?} }}"))
}

/// Among tables that `kind` distinguishes, the one that `map` names.
fn pick<'a>(schemas: &[&'a Value], map: &Map<String, Value>, at: &Key) -> Result<&'a Value, Mistake> {
    let kinds: Vec<&str> = schemas.iter().filter_map(|s| s["properties"]["kind"]["const"].as_str()).collect();
    let message = match map.get("kind") {
        None => format!("is missing; it must be one of {}", kinds.join(", ")),
        Some(Value::String(kind)) => {
            let found = schemas.iter().find(|s| s["properties"]["kind"]["const"].as_str() == Some(kind));
            match found {
                Some(schema) => return Ok(schema),
                None => format!("{} is not known; {}", quoted(kind), suggestion(kind, kinds)),
            }
        }
        Some(other) => {
            format!("{} is not allowed here; it must be one of {}", kind_of(other), kinds.join(", "))
        }
    };
    Err(Mistake { key: at.with("kind"), message, meant: Vec::new() })
}

fn walk_object(schema: &Value, map: &Map<String, Value>, at: &Key, found: &mut Vec<Mistake>) {
    let none = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&none);
    let others = &schema["additionalProperties"];
    let mut meant: Vec<Key> = Vec::new();
    let nameless = nameless(others, map);
    if !nameless.is_empty() {
        let last = at.last().unwrap_or_default();
        let message = format!("each {last} has a name; write [{last}.NAME] above {}", nameless.join(", "));
        found.push(Mistake { key: at.clone(), message, meant: Vec::new() });
    }
    for (name, member) in map {
        let key = at.with(name);
        match known.get(name) {
            _ if nameless.contains(&name.as_str()) => {}
            Some(schema) => walk(schema, member, &key, found),
            None if others.is_object() => walk(others, member, &key, found),
            None if found.len() >= MOST_COUNTED => return,
            None => {
                let (message, names) = synonyms::unknown_key(name, at, known);
                let names: Vec<Key> = names.iter().map(|name| at.with(name)).collect();
                meant.extend(names.iter().cloned());
                found.push(Mistake { key, message, meant: names });
            }
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let key = at.with(name);
        if !map.contains_key(name) && !meant.contains(&key) {
            found.push(Mistake { key, message: missing_key(name, &known[name]), meant: Vec::new() });
        }
    }
}

/// The members of a table of named tables that are keys of one of those: its name was forgotten.
fn nameless<'a>(each: &Value, map: &'a Map<String, Value>) -> Vec<&'a str> {
    let known = &follow(each)["properties"];
    let is_key = |(name, value): &(&String, &Value)| {
        let schema = &known[name.as_str()];
        schema.is_object()
            && alternatives(schema).into_iter().any(|s| has_type(s, value))
            && !value.is_object()
    };
    map.iter().filter(is_key).map(|(name, _)| name.as_str()).collect()
}

fn missing_key(name: &str, schema: &Value) -> String {
    let all = alternatives(schema);
    let hint = schema[HINT_KEYWORD].as_str();
    let example = all.iter().map(|s| &s["examples"][0]).find(|e| !e.is_null());
    match (hint, example) {
        (Some(hint), _) => format!("is missing; {hint}"),
        (None, Some(example)) => format!("is missing; add e.g. {name} = {example}"),
        (None, None) => format!("is missing; it must be {}", kind_words(&all)),
    }
}

fn kind_words(schemas: &[&Value]) -> &'static str {
    match schemas.iter().flat_map(|s| types(s)).next() {
        Some("number" | "integer") => "a number",
        Some("boolean") => "true or false",
        Some("array") => "a list",
        Some("object") => "a table",
        _ => "a string",
    }
}

/// The names that a string may be one of; none if it is free text.
pub(super) fn names<'a>(schemas: &[&'a Value]) -> Vec<&'a str> {
    let listed = |s: &'a Value| s["enum"].as_array().into_iter().flatten().chain([&s["const"]]);
    schemas.iter().copied().flat_map(listed).filter_map(Value::as_str).collect()
}

fn walk_string(schemas: &[&Value], text: &str) -> Result<(), String> {
    let names = names(schemas);
    if !names.is_empty() {
        return match names.contains(&text) {
            true => Ok(()),
            false => Err(format!("{} is not known; {}", quoted(text), suggestion(text, names))),
        };
    }
    let quantity = schemas.iter().find_map(|s| s[units::UNIT_KEYWORD].as_str());
    quantity.map_or(Ok(()), |quantity| units::check(quantity, text))
}

fn walk_number(schema: &Value, number: &serde_json::Number) -> Result<(), String> {
    let (min, max) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
    let range = match (min, max) {
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("of at least {min}"),
        (None, Some(max)) => format!("of at most {max}"),
        (None, None) => String::new(),
    };
    let value = number.as_f64().unwrap_or(f64::NAN);
    let whole = types(schema).first() == Some(&"integer");
    let noun = if whole { "a whole number" } else { "a number" };
    if whole && !(number.is_u64() || number.is_i64()) {
        return Err(format!("{number} is not a whole number; write {noun} {range}").trim_end().to_owned());
    }
    if value.is_nan() || min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max) {
        return Err(format!("{number} is out of range; write {noun} {range}"));
    }
    Ok(())
}
