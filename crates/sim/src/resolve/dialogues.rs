//! Dialogues: flows whose clients ask and whose servers answer. They are requests one at a time, browsers,
//! and players of video.

use std::sync::Arc;

use bentpipe_cc::Span;
use bentpipe_tcp::Options;

use crate::keys::error::{Error, Key};
use crate::resolve::names::Names;
use crate::resolve::options;
use crate::resolve::plan::{ApplicationPlan, ConnectionPart, FlowPlan, Half, Source, Way};
use crate::resolve::relay::{self, FlowPart};
use crate::resolve::work::Work;
use crate::resolve::workload::{self, fit};
use crate::scenario::Flow;
use crate::workload::kind::TrafficPlan;

/// The flows of a dialogue whose server sends on `responses`, which is one flow, or two with a relay. As many
/// flows are added for the requests, which take the way back; each connection has all of them. Returns
/// `responses` unchanged if the traffic is of another kind.
pub(super) fn parts(
    work: &Work<'_>,
    flow: &Flow,
    of_flow: &Key,
    responses: Vec<FlowPart>,
) -> Result<Vec<FlowPart>, Error> {
    let TrafficPlan::Dialogue { request, clients, .. } = workload::traffic(work, flow, of_flow)? else {
        return Ok(responses);
    };
    let with = |of: &FlowPart, change: &dyn Fn(&mut Options), asks: Option<&ApplicationPlan>| {
        let mut source = (*of.source).clone();
        if let Source::Tcp { options, application, .. } = &mut source {
            change(Arc::make_mut(options));
            if let Some(asks) = asks {
                // Behind a relay, nobody asks on his own initiative.
                *application = (of.part.half != Some(Half::Second)).then(|| Arc::new(asks.clone()));
            }
        }
        source
    };
    let mut parts = Vec::with_capacity(2 * responses.len() * clients.len());
    for kind in clients {
        let asks = ApplicationPlan::Client { request, kind };
        // Both ends send to the relay in the same way, and the relay sends on in its own way, in either
        // direction.
        for (of, way_back) in responses.iter().zip(responses.iter().rev()) {
            let sender = match (&flow.relay, of.part.half) {
                (Some(given), Some(Half::Second)) => relay::behind(flow, given),
                _ => flow.clone(),
            };
            // The segments of the responses may have been fitted to these.
            let mss = options::sizes(work, &sender, of_flow)?.mss;
            let mut source = with(
                of,
                &|options| {
                    options.mss = mss;
                    fit(options, &asks);
                },
                Some(&asks),
            );
            if of.part.half == Some(Half::First) {
                relay::bound(work, flow, &mut source, of_flow)?;
            }
            parts.push(FlowPart {
                part: ConnectionPart { way: Some(Way::Requests), ..of.part },
                turned: true,
                path: way_back.ack_path.clone(),
                ack_path: way_back.path.clone(),
                source: Arc::new(source),
            });
        }
        for of in &responses {
            // The client opens.
            let source = with(of, &|options| options.handshake = false, None);
            parts.push(FlowPart {
                part: ConnectionPart { way: Some(Way::Responses), ..of.part },
                source: Arc::new(source),
                ..of.clone()
            });
        }
    }
    Ok(parts)
}

/// Names the flows of one source. The flows of a browser with several connections are numbered and make one
/// row of the result.
pub(super) fn name(
    work: &Work<'_>,
    names: &mut Names<'_>,
    copies: Vec<FlowPlan>,
    key: &Key,
) -> Result<Vec<FlowPlan>, Error> {
    let flows = copies.first().map_or(1, |one| one.part.count());
    let opener = copies.get(flows).map(|one| one.opener(work.scenario.seed));
    let mut named = Vec::with_capacity(copies.len());
    let mut connection = String::new();
    for (i, plan) in copies.into_iter().enumerate() {
        if let Some(opener) = &opener
            && plan.part.number() == 0
        {
            let number = i / flows + 1;
            connection = names.take(work, format!("{}/{number}", opener.name), &key.with("name"))?;
        }
        let whole = if opener.is_some() { &connection } else { &plan.name };
        let name = names.part(work, whole, plan.part, key)?;
        named.push(match &opener {
            None => FlowPlan { name, ..plan },
            Some(opener) => FlowPlan {
                name,
                opened_by: Some(opener.clone()),
                start: opener.start,
                start_jitter: Span::ZERO,
                ..plan
            },
        });
    }
    Ok(named)
}
