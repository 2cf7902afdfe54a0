//! What applications do: how much they send, when they begin, and for how long they are silent. A file for
//! each kind of traffic, and the one list of all.
//!
//! The file of a kind holds the keys that a user writes, with units, ranges and defaults; the plan that they
//! come to; and the rule at work.

pub(crate) mod application;
pub(crate) mod arrivals;
pub(crate) mod browser;
mod bulk;
mod cbr;
pub(crate) mod client;
pub(crate) mod context;
mod datagrams;
pub(crate) mod kind;
pub mod laws;
mod on_off;
mod ping;
pub(crate) mod player;
mod requests;
mod short_flows;
pub(crate) mod transfers;
mod video;
mod voice;
mod web;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::keys::error::Error;
use crate::keys::order::in_order;
use context::TrafficContext;
pub use datagrams::{CbrPlan, Pace};
use kind::{Carriage, TrafficKeys, TrafficPlan};
use laws::TransferSize;

/// Schema member: what carries a kind of traffic, in a word.
const CARRIAGE_KEYWORD: &str = "x-carriage";

/// Makes all that knows every kind of traffic. A line: the kind in scenarios, its file, and its keys there.
macro_rules! traffic {
    ($($kind:literal is $file:ident: $keys:ident;)*) => {
        $(pub use $file::$keys;)*

        /// What a flow sends.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        #[schemars(transform = with_carriage)]
        #[expect(missing_docs, reason = "each kind is documented where its keys are")]
        pub enum Traffic {
            $(#[serde(rename = $kind)] $keys($keys),)*
        }

        impl Traffic {
            /// Its kind.
            pub(crate) fn kind(&self) -> &'static str {
                match self {
                    $(Traffic::$keys(_) => $kind,)*
                }
            }

            /// What carries it.
            pub(crate) fn carriage(&self) -> Carriage {
                match self {
                    $(Traffic::$keys(_) => $keys::CARRIAGE,)*
                }
            }

            /// What its keys come to.
            pub(crate) fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
                match self {
                    $(Traffic::$keys(keys) => keys.resolve(context),)*
                }
            }

            /// Writes out defaults.
            pub(crate) fn write_out(&mut self) {
                match self {
                    $(Traffic::$keys(keys) => keys.write_out(),)*
                }
            }

            fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
                match self {
                    $(Traffic::$keys(keys) => keys.sizes_mut(),)*
                }
            }
        }

        /// What carries each kind.
        const CARRIAGES: &[(&str, Carriage)] = &[$(($kind, $keys::CARRIAGE),)*];
    };
}

traffic! {
    "bulk" is bulk: Bulk;
    "cbr" is cbr: Cbr;
    "voice" is voice: Voice;
    "ping" is ping: Ping;
    "short-flows" is short_flows: ShortFlows;
    "on-off" is on_off: OnOff;
    "requests" is requests: Requests;
    "web" is web: Web;
    "video" is video: Video;
}

impl Traffic {
    /// Does it do without TCP?
    pub(crate) fn is_datagrams(&self) -> bool {
        self.carriage() == Carriage::Datagrams
    }

    /// Does nothing come back?
    pub(crate) fn is_one_way(&self) -> bool {
        self.is_datagrams() && !matches!(self, Traffic::Ping(_))
    }

    /// The names of the files with the sizes of its transfers, to be changed.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.sizes_mut().into_iter().filter_map(TransferSize::file_mut)
    }
}

/// Adds to the schema of each kind the order of its keys, and what carries it.
fn with_carriage(schema: &mut Schema) {
    in_order::<Traffic>(schema);
    let kinds = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for (table, (_, carriage)) in kinds.into_iter().flatten().zip(CARRIAGES) {
        table[CARRIAGE_KEYWORD] = carriage.name().into();
    }
}
