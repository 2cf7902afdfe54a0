//! Web pages: a browser that loads one after the other. The browser at work is in `browser.rs`.

use std::sync::Arc;

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, Size};
use crate::workload::application::ApplicationPlan;
use crate::workload::browser::WebPlan;
use crate::workload::client::{ClientPlan, HTTP_REQUEST};
use crate::workload::context::TrafficContext;
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::{
    ExponentialLengths, Length, LengthLaw, LogNormalSizes, ObjectCount, ObjectNumbers, ParetoCounts, SizeLaw,
    TransferSize,
};

/// Most embedded objects of a page.
const MOST_OBJECTS: u64 = 1_000_000;

keys! {
    /// A browser that loads page after page: a main object and, when that is parsed, its embedded objects.
    /// Without keys it is the model of 3GPP2 C.R1002. `path` is that of the responses. The result has a row
    /// for each way, NAME/requests and NAME/responses; the transfers of the latter are the pages.
    pub struct Web {
        /// Payload of a main object. Default: log-normal, median "4230 bytes", sigma 1.37,
        /// from "100 bytes" to "2 MB".
        pub main?: TransferSize,
        /// Number of embedded objects. Default: pareto-count, least 2, shape 1.1, most 55: 5.6 on average.
        pub objects?: ObjectCount,
        /// Payload of an embedded object. Default: log-normal, median "478 bytes", sigma 2.36,
        /// from "50 bytes" to "2 MB".
        pub embedded?: TransferSize,
        /// From the end of the main object to the requests for the others. Default:
        /// exponential, mean "130 ms".
        pub parsing?: Length,
        /// From the end of a page to the request for the next one. Default: exponential, mean "30 s".
        pub reading?: Length,
        /// Most connections. With 1, the default, all embedded objects are asked for at once on the one
        /// connection (HTTP/2). With more, each carries one object at a time, and they stay open (HTTP/1.1).
        #[schemars(range(min = 1, max = 32), extend("examples" = [6]))]
        pub connections?: u32,
        /// Payload of a request, rounded up to whole segments if it needs several. Default "350 bytes".
        pub request?: Size,
    }
}

impl TrafficKeys for Web {
    const CARRIAGE: Carriage = Carriage::Dialogue;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        let request = context.request(self.request, HTTP_REQUEST)?;
        let plan = self.pages(context)?;
        let further = vec![ClientPlan::Lane; plan.connections - 1];
        let clients = [vec![ClientPlan::Browser(Arc::new(plan))], further].concat();
        let server = ApplicationPlan::Server { sizes: None, what: "page" };
        Ok(TrafficPlan::Dialogue { request, clients, server })
    }

    fn sizes_mut(&mut self) -> Vec<&mut TransferSize> {
        self.main.iter_mut().chain(&mut self.embedded).collect()
    }
}

impl Web {
    /// What is not given is that of 3GPP2 C.R1002: its means and standard deviations of the log-normal
    /// laws, as medians and sigmas.
    fn pages(&self, context: &TrafficContext<'_>) -> Result<WebPlan, Error> {
        let object = |given: &Option<_>, name, [median, least]: [u64; 2], sigma| {
            let (least, most) = (Some(Size(least)), Some(Size(2_000_000)));
            let law = LogNormalSizes { median: Size(median), sigma, least, most };
            let default = TransferSize::Drawn(SizeLaw::LogNormalSizes(law));
            context.sizes(given.as_ref().unwrap_or(&default), name)
        };
        let wait = |given: &Option<_>, name, ms| {
            let default = Length::Drawn(LengthLaw::ExponentialLengths(ExponentialLengths {
                mean: Duration(Span::from_millis(ms)),
            }));
            context.lengths(given.as_ref().unwrap_or(&default), name)
        };
        Ok(WebPlan {
            main: object(&self.main, "main", [4_230, 100], 1.37)?,
            objects: self.object_numbers(context)?,
            embedded: object(&self.embedded, "embedded", [478, 50], 2.36)?,
            parsing: wait(&self.parsing, "parsing", 130)?,
            reading: wait(&self.reading, "reading", 30_000)?,
            connections: self.connections.unwrap_or(1).max(1) as usize,
        })
    }

    fn object_numbers(&self, context: &TrafficContext<'_>) -> Result<ObjectNumbers, Error> {
        match &self.objects {
            None => Ok(ObjectNumbers::ParetoCounts(ParetoCounts { least: 2.0, shape: 1.1, most: 55.0 })),
            Some(ObjectCount::Fixed(count)) if *count > MOST_OBJECTS => {
                let message = format!("{count} is too many; it must be at most {MOST_OBJECTS}");
                Err(context.error("objects", message))
            }
            Some(ObjectCount::Fixed(count)) => Ok(ObjectNumbers::Fixed(*count)),
            Some(ObjectCount::Drawn(law)) => law.resolve().map_err(|wrong| context.wrong("objects", wrong)),
        }
    }
}
