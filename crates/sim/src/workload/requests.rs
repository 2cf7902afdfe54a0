//! Requests: a client that asks for one response after the other.

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, Size};
use crate::workload::application::ApplicationPlan;
use crate::workload::client::{Again, ClientPlan};
use crate::workload::context::TrafficContext;
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::{Length, TransferSize};

keys! {
    /// One connection on which a client asks and a server answers, one request at a time. `path` is that of
    /// the responses; requests take the way of acknowledgements. The result has a row for each way,
    /// NAME/requests and NAME/responses.
    pub struct Requests {
        /// Payload of a request, rounded up to whole segments if it needs several. Default "100 bytes".
        pub request?: Size,
        /// Payload of a response. Several segments are all full ones.
        #[schemars(extend("x-hint" = "add e.g. response = \"10 kB\" or response = { kind = \"exponential\", mean = \"10 kB\" }"))]
        pub response: TransferSize,
        /// From the end of a response to the next request. Either this or `every`.
        pub think?: Length,
        /// From one request to the next; a request waits for the response before. Either this or `think`.
        pub every?: Duration,
    }
}

impl TrafficKeys for Requests {
    const CARRIAGE: Carriage = Carriage::Dialogue;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        let server = ApplicationPlan::Server {
            sizes: Some(context.sizes(&self.response, "response")?),
            what: "response",
        };
        let clients = vec![ClientPlan::Requests(self.again(context)?)];
        Ok(TrafficPlan::Dialogue { request: context.request(self.request, 100)?, clients, server })
    }

    fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
        vec![&mut self.response]
    }
}

impl Requests {
    /// When the client asks again.
    fn again(&self, context: &TrafficContext<'_>) -> Result<Again, Error> {
        match (&self.think, self.every) {
            (Some(think), None) => Ok(Again::After(context.lengths(think, "think")?)),
            (None, Some(every)) if every.0 > Span::ZERO => Ok(Again::Every(every.0)),
            (None, Some(_)) => Err(context.error("every", "must be longer than zero; write e.g. \"10 s\"")),
            (Some(_), Some(_)) => {
                let message = "think counts from the response, every from the request; leave one of them out";
                Err(context.error("every", message))
            }
            (None, None) => {
                let message = "is missing; add e.g. think = \"5 s\" from a response to the next request, or every = \"10 s\"";
                Err(context.error("think", message))
            }
        }
    }
}
