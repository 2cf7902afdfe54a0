//! Values of which a table has one or a list.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// One value, or a list.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// Reads either as a list.
pub(super) fn one_or_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => Ok(vec![one]),
        OneOrMany::Many(many) => Ok(many),
    }
}
