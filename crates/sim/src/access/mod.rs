//! Access to a channel: a transmitter that may send only at given instants, a given number of bytes at each.
//! A file for each kind, and the one list of all.
//!
//! At an opportunity the waiting packets are sent in order. Small packets share it, and the rest of a large
//! one continues at the next opportunity. A packet that arrives at the very instant of an opportunity has
//! missed it.
//!
//! The file of a kind holds the keys that a user writes, the plan into which they resolve, and the rule
//! itself.

mod context;
mod dama;
mod kind;
mod opportunities;

use bentpipe_cc::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::keys::error::Error;
use crate::keys::order::in_order;
pub(crate) use context::AccessContext;
pub(crate) use kind::AccessRule;
use kind::{AccessKeys, PlannedAccess};
pub use opportunities::OPPORTUNITY;

/// Makes everything that depends on the list of kinds. A line gives the kind in scenarios, its file, its keys
/// and its plan there. The attribute `serde(skip)` marks a kind that has a key of its own in a link.
macro_rules! accesses {
    ($($(#[$own:meta])? $kind:literal is $file:ident: $keys:ident, $plan:ident;)*) => {
        $(pub use $file::{$keys, $plan};)*

        /// How a terminal gets the right to send.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        #[schemars(transform = in_order::<Access>)]
        #[expect(missing_docs, reason = "each kind is documented where its keys are")]
        pub enum Access {
            $($(#[$own])? #[serde(rename = $kind)] $keys($keys),)*
        }

        /// How the transmitter of a direction gets its instants.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each kind is documented where its plan is")]
        pub enum AccessPlan {
            $($keys($plan),)*
        }

        impl Access {
            /// Resolves its keys into a plan, on a link of `rate_bps` with this propagation there and back.
            pub(crate) fn resolve(
                &self,
                rate_bps: u64,
                round_trip: Span,
                context: &mut AccessContext<'_>,
            ) -> Result<AccessPlan, Error> {
                match self {
                    $(Access::$keys(keys) => {
                        keys.resolve(rate_bps, round_trip, context).map(AccessPlan::$keys)
                    })*
                }
            }

            /// The mean rate in bits per second, if it does not follow from the link's rate.
            pub(crate) fn own_rate(&self, context: &mut AccessContext<'_>) -> Result<Option<u64>, Error> {
                match self {
                    $(Access::$keys(keys) => keys.own_rate(context),)*
                }
            }
        }

        impl AccessPlan {
            fn planned(&self) -> &dyn PlannedAccess {
                match self {
                    $(AccessPlan::$keys(plan) => plan,)*
                }
            }
        }
    };
}

accesses! {
    "dama" is dama: Dama, DamaPlan;
    #[serde(skip)] "opportunities" is opportunities: Opportunities, OpportunitiesPlan;
}

impl AccessPlan {
    /// The mean rate in bits per second, if it does not follow from the link's rate.
    pub(crate) fn own_rate(&self) -> Option<u64> {
        self.planned().own_rate()
    }

    /// The rule before the first opportunity.
    pub(crate) fn start(&self) -> Box<dyn AccessRule> {
        self.planned().start()
    }
}
