//! Loss models: a file for each kind, and the one list of all.
//!
//! The file of a kind holds the keys that a user writes, with units, ranges and defaults; the plan into which
//! they resolve, where that differs; and the rule itself. A loss strikes after the queue: a lost packet has
//! used its share of the rate.

mod bernoulli_burst;
mod gilbert_elliott;
mod independent;
mod kind;
mod outage;
mod trace;

use bentpipe_cc::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::keys::order::in_order;
use crate::link::random::Stream;
pub(crate) use kind::Per;
use kind::{LossKeys, LossRule, PlannedLoss, Wrong};

/// Makes everything that depends on the list of kinds. A line gives the kind in scenarios, its file, its keys
/// there, and its plan unless the keys are the plan.
macro_rules! losses {
    (plan $keys:ident) => { $keys };
    (plan $keys:ident $plan:ident) => { $plan };
    ($($kind:literal is $file:ident: $keys:ident $(, $plan:ident)?;)*) => {
        $(pub use $file::{$keys $(, $plan)?};)*

        /// A loss model of one direction.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        #[schemars(transform = in_order::<Loss>)]
        #[expect(missing_docs, reason = "each kind is documented where its keys are")]
        pub enum Loss {
            $(#[serde(rename = $kind)] $keys($keys),)*
        }

        /// A loss model of one direction, prepared for a run.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each kind is documented where its plan is")]
        pub enum LossPlan {
            $($keys(losses!(plan $keys $($plan)?)),)*
        }

        impl Loss {
            /// Resolves its keys into a plan.
            pub(crate) fn resolve(&self) -> Result<LossPlan, Wrong> {
                match self {
                    $(Loss::$keys(keys) => keys.resolve().map(LossPlan::$keys),)*
                }
            }

            /// The name of the file that it reads, if it reads one.
            pub(crate) fn file_mut(&mut self) -> Option<&mut String> {
                match self {
                    $(Loss::$keys(keys) => keys.file_mut(),)*
                }
            }
        }

        impl LossPlan {
            fn planned(&self) -> &dyn PlannedLoss {
                match self {
                    $(LossPlan::$keys(plan) => plan,)*
                }
            }

            /// The rate of its errors, if they are independent; a time line may set it.
            pub(crate) fn rate_mut(&mut self) -> Option<&mut f64> {
                match self {
                    $(LossPlan::$keys(plan) => plan.rate_mut(),)*
                }
            }
        }
    };
}

losses! {
    "packet-error" is independent: PacketError;
    "bit-error" is independent: BitError;
    "gilbert-elliott" is gilbert_elliott: GilbertElliott;
    "bernoulli-burst" is bernoulli_burst: BernoulliBurst;
    "outage" is outage: Outage, OutagePlan;
    "trace" is trace: LossTrace, LossTracePlan;
}

impl LossPlan {
    /// The rate of its errors, and what they strike, if they are independent.
    pub(crate) fn independent(&self) -> Option<(Per, f64)> {
        self.planned().independent()
    }
}

/// A loss model in use on one direction of a link.
#[derive(Debug)]
pub(crate) struct LossModel {
    rule: Box<dyn LossRule>,
    random: Stream,
}

impl LossModel {
    /// The model of `plan`, drawing from `random`.
    pub(crate) fn new(plan: &LossPlan, mut random: Stream) -> Self {
        Self { rule: plan.planned().start(&mut random), random }
    }

    /// Sets the rate of a model whose errors are independent.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rule.set_rate(rate, &mut self.random);
    }

    /// Is the next packet, of `size` bytes and fully sent at `sent`, lost? Call once
    /// for each packet, in order.
    pub(crate) fn strikes(&mut self, sent: Time, size: u16) -> bool {
        self.rule.strikes(sent, size, &mut self.random)
    }
}

#[cfg(test)]
mod tests;
