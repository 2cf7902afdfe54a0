//! A congestion controller in a scenario.

use std::collections::BTreeMap;

use bentpipe_cc::registry;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Member of the JSON Schema, one of ours, that says whose names a string may be.
pub(crate) const NAMES_KEYWORD: &str = "x-names";
/// Its value where these are the congestion controllers.
pub(crate) const CONTROLLERS: &str = "controllers";

/// A congestion controller: a name, or a table of name and parameters. `python:KEY` and `javascript:KEY` name
/// one that the caller supplies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "CcForm", into = "CcForm")]
pub struct Cc {
    /// Its id in the registry.
    pub name: String,
    /// Parameters that differ from their defaults.
    pub args: BTreeMap<String, Arg>,
}

/// Value of a controller's parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Arg {
    /// On or off.
    Flag(bool),
    /// A number in the parameter's unit.
    Number(f64),
    /// One of several names.
    Text(String),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum CcForm {
    Name(String),
    Table {
        name: String,
        #[serde(flatten)]
        args: BTreeMap<String, Arg>,
    },
}

impl From<CcForm> for Cc {
    fn from(form: CcForm) -> Cc {
        match form {
            CcForm::Name(name) => Cc { name, args: BTreeMap::new() },
            CcForm::Table { name, args } => Cc { name, args },
        }
    }
}

impl From<Cc> for CcForm {
    fn from(Cc { name, args }: Cc) -> CcForm {
        if args.is_empty() { CcForm::Name(name) } else { CcForm::Table { name, args } }
    }
}

impl JsonSchema for Cc {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cc".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A congestion controller: its name, or a table of its name and its parameters.",
            "anyOf": [
                { "type": "string", "examples": ["reno"], NAMES_KEYWORD: CONTROLLERS },
                {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "examples": ["reno"], NAMES_KEYWORD: CONTROLLERS },
                        "slow_start": { "enum": registry::choices("slow_start") },
                        "path_change": { "enum": registry::choices("path_change") },
                        "window_validation": { "enum": registry::choices("window_validation") },
                    },
                    "required": ["name"],
                    "additionalProperties": { "type": ["number", "boolean", "string"] },
                },
            ],
        })
    }
}
