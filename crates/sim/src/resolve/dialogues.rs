//! Dialogues: flows whose clients ask and whose servers answer. Requests one at a time, browsers, players of video.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::Options;

use crate::link::random::Stream;
use crate::resolve::names::Names;
use crate::resolve::options;
use crate::resolve::plan::{
    Again, ApplicationPlan, ClientPlan, ConnectionPart, FlowPlan, Half, Lengths, ObjectNumbers, Opener,
    Sizes, Source, VideoPlan, Way, WebPlan,
};
use crate::resolve::relay::{self, FlowPart};
use crate::resolve::work::Work;
use crate::resolve::workload::{fit, length, sizes};
use crate::scenario::error::{Error, Key};
use crate::scenario::units::{BitRate, Duration, Size};
use crate::scenario::{CountLaw, Flow, ObjectCount, Traffic};

/// Payload of a request of a browser or a player, bytes (3GPP2 C.R1002).
const HTTP_REQUEST: u64 = 350;
/// Most embedded objects of a page.
const MOST_OBJECTS: u64 = 1_000_000;
/// Most segments that a player keeps.
const MOST_SEGMENTS: u64 = 1_000_000;

/// The bitrates that Netflix had before 2015, in kbit/s ("Per-Title Encode Optimization", Netflix technology blog, 2015; from knowledge).
const LADDER_KBPS: [u64; 10] = [235, 375, 560, 750, 1_050, 1_750, 2_350, 3_000, 4_300, 5_800];

/// The flows of a dialogue, whose server sends on `responses`, one flow or with a relay two: as many again for the requests, and all of them
/// for each connection. Requests take the way back. Themselves if the traffic is of another kind.
pub(super) fn parts(
    work: &Work<'_>,
    flow: &Flow,
    of_flow: &Key,
    responses: Vec<FlowPart>,
) -> Result<Vec<FlowPart>, Error> {
    let key = of_flow.with("traffic");
    let (request, clients) = match &flow.traffic {
        Some(Traffic::Requests { request, think, every, .. }) => {
            let again = again(work, think.as_ref().map(length), *every, &key)?;
            (request.unwrap_or(Size(100)), vec![ClientPlan::Requests(again)])
        }
        Some(traffic @ Traffic::Web { request, .. }) => {
            let plan = web(work, traffic, &key)?;
            let further = vec![ClientPlan::Lane; plan.connections - 1];
            let clients = [vec![ClientPlan::Browser(Arc::new(plan))], further].concat();
            (request.unwrap_or(Size(HTTP_REQUEST)), clients)
        }
        Some(traffic @ Traffic::Video { request, .. }) => {
            let plan = video(work, traffic, &key)?;
            (request.unwrap_or(Size(HTTP_REQUEST)), vec![ClientPlan::Player(Arc::new(plan))])
        }
        _ => return Ok(responses),
    };
    let Size(request) = request;
    if request == 0 {
        return Err(work.error(&key.with("request"), "a request is not empty; write e.g. \"100 bytes\""));
    }
    let with = |of: &FlowPart, change: &dyn Fn(&mut Options), asks: Option<&ApplicationPlan>| {
        let mut source = (*of.source).clone();
        if let Source::Tcp { options, application, .. } = &mut source {
            change(Arc::make_mut(options));
            if let Some(asks) = asks {
                // Behind a relay nobody asks of his own accord.
                *application = (of.part.half != Some(Half::Second)).then(|| Arc::new(asks.clone()));
            }
        }
        source
    };
    let mut parts = Vec::with_capacity(2 * responses.len() * clients.len());
    for kind in clients {
        let asks = ApplicationPlan::Client { request, kind };
        // Both ends send to the relay in one manner, and the relay sends on in its own, whichever way.
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

/// Gives the flows of one source their names. Those of a browser with several connections are numbered, and one row of the result.
pub(super) fn name(
    work: &Work<'_>,
    names: &mut Names<'_>,
    flow: &Flow,
    copies: Vec<FlowPlan>,
    key: &Key,
) -> Result<Vec<FlowPlan>, Error> {
    let flows = copies.first().map_or(1, |one| one.part.count());
    let opener = copies.get(flows).map(|one| {
        let late = Stream::new(work.scenario.seed, &format!("flow/{}/start", one.name)).uniform();
        let start = Time(one.start.0.saturating_add((late * one.start_jitter.0 as f64) as u64));
        let stop = one.stop;
        Arc::new(Opener { name: one.name.clone(), start, stop })
    });
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
        let name = names.part(work, flow, whole, plan.part, key)?;
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

/// When a client that asks for one response after the other asks again.
fn again(
    work: &Work<'_>,
    think: Option<Lengths>,
    every: Option<Duration>,
    key: &Key,
) -> Result<Again, Error> {
    match (think, every) {
        (Some(think), None) => Ok(Again::After(think)),
        (None, Some(every)) if every.0 > Span::ZERO => Ok(Again::Every(every.0)),
        (None, Some(_)) => {
            Err(work.error(&key.with("every"), "must be longer than zero; write e.g. \"10 s\""))
        }
        (Some(_), Some(_)) => {
            let message = "think counts from the response, every from the request; leave one of them out";
            Err(work.error(&key.with("every"), message))
        }
        (None, None) => {
            let message = "is missing; add e.g. think = \"5 s\" from a response to the next request, or every = \"10 s\"";
            Err(work.error(&key.with("think"), message))
        }
    }
}

/// The pages of a browser. What is not given is that of 3GPP2 C.R1002: its means and standard deviations of the log-normal laws, as medians
/// and sigmas.
fn web(work: &Work<'_>, traffic: &Traffic, key: &Key) -> Result<WebPlan, Error> {
    let Traffic::Web { main, objects, embedded, parsing, reading, connections, .. } = traffic else {
        unreachable!("the traffic of a browser")
    };
    let law = |median: f64, sigma: f64, least: f64| Sizes::LogNormal { median, sigma, least, most: 2e6 };
    let object = |size: &Option<_>, default: Sizes, name: &str| match size {
        None => Ok(default),
        Some(size) => sizes(work, size, &key.with(name)),
    };
    let wait = |given: &Option<_>, ms: u64| {
        given.as_ref().map_or(Lengths::Exponential(Span(ms * 1_000_000)), length)
    };
    Ok(WebPlan {
        main: object(main, law(4_230.0, 1.37, 100.0), "main")?,
        objects: count(work, objects.as_ref(), &key.with("objects"))?,
        embedded: object(embedded, law(478.0, 2.36, 50.0), "embedded")?,
        parsing: wait(parsing, 130),
        reading: wait(reading, 30_000),
        connections: connections.unwrap_or(1).max(1) as usize,
    })
}

fn count(work: &Work<'_>, objects: Option<&ObjectCount>, key: &Key) -> Result<ObjectNumbers, Error> {
    match objects {
        None => Ok(ObjectNumbers::Pareto { least: 2.0, shape: 1.1, most: 55.0 }),
        Some(ObjectCount::Fixed(count)) if *count > MOST_OBJECTS => {
            Err(work.error(key, format!("{count} is too many; it must be at most {MOST_OBJECTS}")))
        }
        Some(ObjectCount::Fixed(count)) => Ok(ObjectNumbers::Fixed(*count)),
        Some(ObjectCount::Drawn(CountLaw::ParetoCount { least, most, .. })) if most <= least => {
            Err(work.error(&key.with("most"), format!("must be larger than least = {least}")))
        }
        Some(ObjectCount::Drawn(CountLaw::ParetoCount { least, shape, most })) => {
            Ok(ObjectNumbers::Pareto { least: *least, shape: *shape, most: *most })
        }
    }
}

/// A video and its player. The parts of the buffer are those of BBA-0: of 240 s, 90 s are the reservoir and 126 s the cushion.
fn video(work: &Work<'_>, traffic: &Traffic, key: &Key) -> Result<VideoPlan, Error> {
    let Traffic::Video { ladder, segment, buffer, reservoir, cushion, startup, length, .. } = traffic else {
        unreachable!("the traffic of a player")
    };
    let wrong = |name: &str, message: String| Err(work.error(&key.with(name), message));
    let ladder: Vec<u64> = match ladder {
        None => LADDER_KBPS.map(|kbps| 1_000 * kbps).into(),
        Some(rates) => rates.iter().map(|BitRate(rate)| *rate).collect(),
    };
    if ladder.is_empty() || ladder[0] == 0 || ladder.windows(2).any(|pair| pair[0] >= pair[1]) {
        let message = "needs bitrates above zero, each larger than the one before; write e.g. [\"1 Mbit/s\", \"3 Mbit/s\"]";
        return wrong("ladder", message.to_owned());
    }
    for (i, rate) in ladder.iter().enumerate() {
        work.rate(BitRate(*rate), &key.with("ladder").with(i))?;
    }
    let segment = segment.map_or(Span::from_secs(4.0), |d| d.0);
    if segment == Span::ZERO {
        return wrong("segment", "must be longer than zero; write e.g. \"4 s\"".to_owned());
    }
    let buffer = buffer.map_or(Span::from_secs(240.0), |d| d.0);
    work.check_delay(buffer, &key.with("buffer"))?;
    if buffer < segment || buffer.0 / segment.0 > MOST_SEGMENTS {
        let message = format!(
            "{} must have room for one segment of {} and for at most {MOST_SEGMENTS}",
            Duration(buffer),
            Duration(segment)
        );
        return wrong("buffer", message);
    }
    let startup = startup.map_or(segment, |d| d.0);
    if startup > buffer {
        let message = format!("must be at most buffer = {}", Duration(buffer));
        return wrong("startup", message);
    }
    let part = |given: &Option<Duration>, of_40: u64| given.map_or(Span(buffer.0 / 40 * of_40), |d| d.0);
    let segments = length.map_or(u64::MAX, |d| d.0.0.div_ceil(segment.0).max(1));
    Ok(VideoPlan {
        segment,
        ladder: ladder.into(),
        buffer,
        reservoir: part(reservoir, 15),
        cushion: part(cushion, 21),
        startup,
        segments,
    })
}
