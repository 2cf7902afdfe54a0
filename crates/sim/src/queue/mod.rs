//! Queues: a file for each kind, and the one list of all.
//!
//! The file of a kind holds the keys that a user writes, with units, ranges and defaults; the plan into which
//! they resolve; and the rule itself. A rule decides when a packet arrives (`on_arrival.rs`) or when the
//! transmitter is free (`at_departure.rs`).

mod ack_thinning;
pub(crate) mod at_departure;
mod codel;
mod computing;
mod context;
mod drop_front;
mod drop_tail;
mod dual_pi2;
mod fq_codel;
pub(crate) mod in_order;
pub(crate) mod kind;
mod largest_backlog;
pub(crate) mod on_arrival;
pub(crate) mod packet_store;
mod pie;
mod priority;
mod rcp;
mod red;
mod registry;
mod room;
mod vcp;
mod xcp;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use at_departure::Class;
pub(crate) use context::Context;
pub use context::QueueLimit;
pub use red::Threshold;
pub use registry::{QueueKey, QueueKind};

use crate::keys::error::Error;
use crate::keys::order::in_order;
use kind::{QueueKeys, QueuePlan};

/// Makes everything that depends on the list of kinds. A line gives the kind in scenarios, its file, its keys
/// there, and its plan unless the keys are the plan.
macro_rules! queues {
    (plan $keys:ident) => { $keys };
    (plan $keys:ident $plan:ident) => { $plan };
    ($($kind:literal is $file:ident: $keys:ident $(, $plan:ident)?;)*) => {
        $(pub use $file::{$keys $(, $plan)?};)*

        /// A queue.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        #[schemars(transform = in_order::<Queue>)]
        #[expect(missing_docs, reason = "each kind is documented where its keys are")]
        pub enum Queue {
            $(#[serde(rename = $kind)] $keys($keys),)*
        }

        /// Which packets a queue takes, and in which order it sends them.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each kind is documented where its plan is")]
        pub enum Discipline {
            $($keys(queues!(plan $keys $($plan)?)),)*
        }

        impl Queue {
            /// The room of the queue, and its discipline.
            pub(crate) fn resolve(
                &self,
                context: &mut Context<'_>,
            ) -> Result<(QueueLimit, Discipline), Error> {
                match self {
                    $(Queue::$keys(keys) => {
                        keys.resolve(context).map(|(limit, plan)| (limit, Discipline::$keys(plan)))
                    })*
                }
            }
        }

        impl Discipline {
            /// What a run needs to know of it.
            pub(crate) fn plan(&self) -> &dyn QueuePlan {
                match self {
                    $(Discipline::$keys(plan) => plan,)*
                }
            }

            /// Does it sort packets by flow, that is, go by their [`Class`]?
            pub fn sorts_by_flow(&self) -> bool {
                self.plan().sorts_by_flow()
            }

            /// Its kind, which names it in a scenario and names its random stream.
            pub(crate) fn kind(&self) -> &'static str {
                match self {
                    $(Discipline::$keys(_) => $kind,)*
                }
            }
        }

        /// Every kind of queue, in the order of tables.
        pub fn all() -> Vec<QueueKind> {
            vec![$(QueueKind::of::<$keys>($kind),)*]
        }
    };
}

queues! {
    "drop-tail" is drop_tail: DropTail, DropTailPlan;
    "drop-front" is drop_front: DropFront, DropFrontPlan;
    "red" is red: Red, RedPlan;
    "codel" is codel: Codel, CodelPlan;
    "fq-codel" is fq_codel: FqCodel, FqCodelPlan;
    "pie" is pie: Pie, PiePlan;
    "dualpi2" is dual_pi2: DualPi2;
    "priority" is priority: Priority;
    "xcp" is xcp: Xcp;
    "vcp" is vcp: Vcp;
    "rcp" is rcp: Rcp;
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail(DropTail::default())
    }
}
