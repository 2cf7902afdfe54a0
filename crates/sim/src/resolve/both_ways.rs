//! Flows whose both ends write: the two directions of one connection.

use std::sync::Arc;

use bentpipe_cc::registry;
use bentpipe_tcp::Options;

use crate::keys::error::{Error, Key};
use crate::resolve::path::PathPlan;
use crate::resolve::plan::{ConnectionPart, Peer, Source};
use crate::resolve::relay::FlowPart;
use crate::resolve::work::Work;
use crate::scenario::{BothWays, Flow, LossRecovery, Profile, Traffic, WayBack};
use crate::workload::Bulk;

/// Do both ends of the flow write?
pub(super) fn is_on(flow: &Flow) -> bool {
    matches!(flow.both_ways, Some(BothWays::Flag(true) | BothWays::Back(_)))
}

/// Refuses two writing ends where they make no sense.
pub(super) fn check(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<(), Error> {
    if !is_on(flow) {
        return Ok(());
    }
    let key = key.with("both_ways");
    let refuse = |message: &str| Err(work.error(&key, message.to_owned()));
    match &flow.traffic {
        None | Some(Traffic::Bulk(_)) => {}
        Some(traffic) if traffic.is_datagrams() => {
            return refuse("constant-rate traffic is no connection; leave both_ways out");
        }
        Some(_) => {
            return refuse(
                "both ends write bulk data; leave both_ways out, or write traffic = { kind = \"bulk\" }",
            );
        }
    }
    if flow.relay.is_some() {
        return refuse("a relay passes data on in one direction; leave both_ways or relay out");
    }
    if flow.read_rate.is_some() {
        return refuse(
            "the receiving applications of both ends read at once; leave both_ways or read_rate out",
        );
    }
    let newreno = flow.recovery.is_none_or(|recovery| recovery == LossRecovery::NewReno);
    if flow.snack.unwrap_or(flow.profile == Some(Profile::Scps) && newreno) {
        return refuse("a SNACK does not ride on data; add snack = false, or leave both_ways out");
    }
    let carries = |cc: &crate::scenario::Cc| {
        registry::find(&cc.name).is_some_and(|entry| entry.sender.header > 0 || entry.sender.queue.is_some())
    };
    if flow.cc.iter().chain(&way_back(flow).cc).any(carries) {
        return refuse(
            "a segment has one place for what it carries: a header for the controller or an acknowledgement; \
             leave both_ways out, or choose another cc",
        );
    }
    Ok(())
}

fn way_back(flow: &Flow) -> WayBack {
    match &flow.both_ways {
        Some(BothWays::Back(back)) => back.clone(),
        Some(BothWays::Flag(_)) | None => WayBack::default(),
    }
}

/// The two directions of the connection; `there` is the one that carries the flow's own data. `source` gives
/// the traffic of a flow over a path; the keys are those of the flow and of its controller.
pub(super) fn parts(
    work: &mut Work<'_>,
    flow: &Flow,
    key: &Key,
    path: &PathPlan,
    there: FlowPart,
    source: impl Fn(&mut Work<'_>, &Flow, (&Key, &Key), &PathPlan) -> Result<Source, Error>,
) -> Result<Vec<FlowPart>, Error> {
    let given = way_back(flow);
    let cc = if given.cc.is_some() { key.with("both_ways").with("cc") } else { key.with("cc") };
    if given.size.is_some_and(|size| size.0 == 0) {
        let message =
            "there is nothing to send; write e.g. \"1 MB\", or leave size out for as much as the other end";
        return Err(work.error(&key.with("both_ways").with("size"), message));
    }
    let back = answering(flow);
    let warnings = work.warnings.len();
    let mut second = source(work, &back, (key, &cc), path)?;
    let more = work.warnings.split_off(warnings);
    let new = more.into_iter().filter(|warning| !work.warnings.contains(warning)).collect::<Vec<_>>();
    work.warnings.extend(new);
    if let (Source::Tcp { options, .. }, Source::Tcp { options: of_first, .. }) =
        (&mut second, &*there.source)
    {
        // The first direction opens the connection, and marks are reported as both ends have agreed.
        let agreed = Options {
            handshake: false,
            ecn: of_first.ecn,
            echo: of_first.echo,
            ect1: of_first.ect1,
            ..**options
        };
        *options = Arc::new(agreed);
    }
    let answer = FlowPart {
        part: ConnectionPart::peer(Peer::Answers),
        turned: true,
        path: there.ack_path.clone(),
        ack_path: there.path.clone(),
        source: Arc::new(second),
    };
    Ok(vec![FlowPart { part: ConnectionPart::peer(Peer::Opens), ..there }, answer])
}

/// The flow as the answering end has it.
pub(super) fn answering(flow: &Flow) -> Flow {
    let given = way_back(flow);
    let traffic = match given.size {
        Some(size) => Some(Traffic::Bulk(Bulk { size: Some(size) })),
        None => flow.traffic.clone(),
    };
    Flow {
        cc: given.cc.or_else(|| flow.cc.clone()),
        initial_window: given.initial_window.or(flow.initial_window),
        traffic,
        ..flow.clone()
    }
}

/// Does a handshake open the connection with these directions?
pub(super) fn handshake(parts: &[FlowPart]) -> bool {
    matches!(parts.first().map(|first| &*first.source), Some(Source::Tcp { options, .. }) if options.handshake)
}
