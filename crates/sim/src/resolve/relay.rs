//! A relay on the path of a flow (RFC 3135): its place, and the two halves into which it splits the flow, or
//! each way of a dialogue.

use std::sync::Arc;

use bentpipe_cc::Span;
use bentpipe_tcp::{Options, Reading};

use crate::keys::error::{Error, Key, quoted};
use crate::resolve::path::PathPlan;
use crate::resolve::plan::{ConnectionPart, DirectionId, Half, Source};
use crate::resolve::time_lines::Course;
use crate::resolve::work::Work;
use crate::resolve::workload::is_datagrams;
use crate::scenario::{Flow, Relay};

/// The only place on a path of two links, by the name that satellite operators give it.
const GATEWAY: &str = "gateway";

/// A part of a flow or the whole.
#[derive(Clone)]
pub(super) struct FlowPart {
    pub(super) part: ConnectionPart,
    /// Does its data take the way of the flow's acknowledgements?
    pub(super) turned: bool,
    pub(super) path: Arc<[DirectionId]>,
    pub(super) ack_path: Arc<[DirectionId]>,
    pub(super) source: Arc<Source>,
}

/// The flow, or the two halves into which its relay splits it. `source` gives the traffic of a flow over a
/// path; the keys are those of the flow and of its controller.
pub(super) fn parts(
    work: &mut Work<'_>,
    flow: &Flow,
    key: &Key,
    path: &PathPlan,
    source: impl Fn(&mut Work<'_>, &Flow, (&Key, &Key), &PathPlan) -> Result<Source, Error>,
) -> Result<Vec<FlowPart>, Error> {
    let cc = key.with("cc");
    let part = |part, path: &PathPlan, source| FlowPart {
        part,
        turned: false,
        path: path.there.as_slice().into(),
        ack_path: path.back.as_slice().into(),
        source: Arc::new(source),
    };
    let (Some(halves), Some(given)) = (&path.halves, &flow.relay) else {
        return Ok(vec![part(ConnectionPart::default(), path, source(work, flow, (key, &cc), path)?)]);
    };
    let before = work.warnings.len();
    let [to, from] = &**halves;
    let mut first = source(work, flow, (key, &cc), to)?;
    bound(work, flow, &mut first, key)?;
    let cc = if given.cc.is_some() { key.with("relay").with("cc") } else { cc };
    let mut second = source(work, &behind(flow, given), (key, &cc), from)?;
    if let Source::Tcp { application, .. } = &mut second {
        *application = None; // the relay passes on what comes
    }
    // Something that only one half of the path lacks is not missing.
    let warnings = work.warnings.split_off(before);
    let both = warnings.iter().enumerate().filter(|(i, warning)| warnings[..*i].contains(warning));
    work.warnings.extend(both.map(|(_, warning)| warning.clone()));
    Ok(vec![
        part(ConnectionPart::half(Half::First), to, first),
        part(ConnectionPart::half(Half::Second), from, second),
    ])
}

/// How many links of the path are before the relay of `flow`; `None` without a relay.
pub(super) fn place(
    work: &Work<'_>,
    flow: &Flow,
    path: &PathPlan,
    key: &Key,
) -> Result<Option<usize>, Error> {
    let Some(relay) = &flow.relay else { return Ok(None) };
    let key = key.with("relay");
    if is_datagrams(flow) {
        let message = "constant-rate traffic is no connection that a relay could end; leave relay out";
        return Err(work.error(&key, message));
    }
    let there = path.there.iter();
    if !path.back.iter().rev().map(|direction| direction.opposite()).eq(there.copied()) {
        let message =
            "a relay needs the acknowledgements on the way of the data; leave ack_path or relay out";
        return Err(work.error(&key, message));
    }
    let names: Vec<&str> = flow.path.iter().map(|name| link_of(name)).collect();
    let at = key.with("at");
    let wrong = |why: String| {
        let before = &names[..names.len() - 1];
        let right = match before {
            [] => "a path of one link has no place for a relay; leave relay out".to_owned(),
            _ => format!("name the link at whose end it is: {}", before.join(", ")),
        };
        Err(work.error(&at, format!("{why}; {right}")))
    };
    match names.iter().position(|name| *name == link_of(&relay.at)) {
        Some(last) if last + 1 == names.len() => wrong(format!(
            "at the end of link {} the path ends, where a relay has no second half",
            names[last]
        )),
        Some(i) => Ok(Some(i + 1)),
        None if relay.at == GATEWAY && names.len() == 2 => Ok(Some(1)),
        None => wrong(format!("link {} is not on the path", quoted(&relay.at))),
    }
}

/// The name of a link, in whichever direction it is crossed.
fn link_of(name: &str) -> &str {
    name.strip_suffix("/forward").or(name.strip_suffix("/reverse")).unwrap_or(name)
}

/// The two halves of a path whose relay is behind `at` links. The access delay `extra` is the server's.
pub(super) fn split(path: &PathPlan, extra: Span, at: usize, courses: &[Course]) -> [PathPlan; 2] {
    let (to, from) = path.there.split_at(at);
    let (client, server) = path.back.split_at(path.there.len() - at);
    [(to, server, extra), (from, client, Span::ZERO)]
        .map(|(there, back, extra)| PathPlan::new(there.to_vec(), back.to_vec(), extra, path.wire, courses))
}

/// The flow as its second half has it: the controllers of the two halves change places.
pub(super) fn behind(flow: &Flow, relay: &Relay) -> Flow {
    Flow {
        cc: relay.cc.clone().or_else(|| flow.cc.clone()),
        relay: Some(Relay { cc: flow.cc.clone(), ..relay.clone() }),
        initial_window: relay.initial_window.or(flow.initial_window),
        ..flow.clone()
    }
}

/// The receiver of the first half is the relay: its buffer is the receive window. Nothing changes without a
/// relay.
pub(super) fn bound(work: &Work<'_>, flow: &Flow, source: &mut Source, key: &Key) -> Result<(), Error> {
    let (Some(relay), Source::Tcp { options, .. }) = (&flow.relay, source) else { return Ok(()) };
    let segments = relay.buffer.0 / u64::from(options.mss);
    if segments == 0 {
        let message = format!(
            "{} is less than one segment of {} bytes; write e.g. \"4 MB\"",
            relay.buffer, options.mss
        );
        return Err(work.error(&key.with("relay").with("buffer"), message));
    }
    let bounded = Options { receive_window: Some(segments), reading: Reading::OnDemand, ..**options };
    *options = bounded.into();
    Ok(())
}
