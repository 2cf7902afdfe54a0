//! The order in which the keys of a table are declared. A JSON object has no order; the arguments of a Python
//! class do.

use std::fmt;

use schemars::Schema;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Error};
use serde_json::{Value, json};

/// Schema member: the keys of a table in the order of their declaration.
const ORDER_KEYWORD: &str = "x-order";

/// Adds the order of its keys to the schema of `T`; where `kind` distinguishes tables, to each of them.
pub(crate) fn in_order<T: DeserializeOwned>(schema: &mut Schema) {
    let Some(kinds) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else {
        schema.insert(ORDER_KEYWORD.to_owned(), json!(keys::<T>(None)));
        return;
    };
    for table in kinds {
        let keys = keys::<T>(table["properties"]["kind"]["const"].as_str());
        table[ORDER_KEYWORD] = json!(keys);
    }
}

/// The keys that `T` expects. serde lists them when it meets another key.
fn keys<T: DeserializeOwned>(kind: Option<&str>) -> &'static [&'static str] {
    let kind = kind.map(|kind| ("kind", kind));
    let table = MapDeserializer::new(kind.into_iter().chain([("", "")]));
    T::deserialize(table).err().map_or(&[], |Expected(keys)| keys)
}

/// The error of a deserializer; only the names of keys in it matter.
#[derive(Debug)]
struct Expected(&'static [&'static str]);

impl Error for Expected {
    fn custom<M: fmt::Display>(_: M) -> Self {
        Self(&[])
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Expected {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queue;
    use crate::scenario::{Arq, Loss};

    #[test]
    fn keys_are_in_the_order_of_their_declaration() {
        assert_eq!(keys::<Arq>(None), ["tries", "round_trip", "in_order"]);
        assert_eq!(keys::<Loss>(Some("outage")), ["from", "to", "every", "length", "first"]);
        assert_eq!(keys::<Queue>(Some("priority")), ["limit", "bands"]);
    }
}
