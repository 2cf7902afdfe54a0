//! The subflows of a connection (Multipath TCP, RFC 8684): their paths, the settings of each sender, and what
//! they share.

use std::sync::Arc;

use bentpipe_cc::Span;
use bentpipe_tcp::Options;

use crate::keys::error::{Error, Key};
use crate::resolve::names::Names;
use crate::resolve::path::{PathPlan, directions};
use crate::resolve::plan::{ConnectionPart, ConnectionPlan, FlowPlan, Source};
use crate::resolve::relay::FlowPart;
use crate::resolve::time_lines::Course;
use crate::resolve::work::{Work, name_of};
use crate::scenario::{Flow, SubflowKeys, Traffic};

/// Most subflows of a connection.
const MAX_SUBFLOWS: usize = 16;
/// Bytes of the option DSS in a data segment: 4, a DATA_ACK of 4, a data sequence number of 4, 4 of the
/// subflow's, 2 of a length, and 2 of padding (RFC 8684 section 3.3).
const DSS: u32 = 20;
/// The same in an acknowledgement: 4 and a DATA_ACK.
const DATA_ACK: u32 = 8;

/// Refuses keys that do not go together with subflows, or that need them.
pub(super) fn check(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<(), Error> {
    let refuse = |name: &str, message: &str| Err(work.error(&key.with(name), message));
    if flow.subflow.is_empty() {
        return match (flow.scheduler, flow.opportunistic) {
            (Some(_), _) => refuse(
                "scheduler",
                "chooses among subflows, and there is one path; add e.g. subflow = [{ path = [\"leo\"] }], or leave it out",
            ),
            (None, Some(true)) => refuse(
                "opportunistic",
                "is for several subflows, and there is one path; add e.g. subflow = [{ path = [\"leo\"] }], or leave it out",
            ),
            (None, _) => Ok(()),
        };
    }
    if flow.both_ways.is_some() {
        return refuse("both_ways", "both ends write over one path only; leave this or the subflows out");
    }
    match &flow.traffic {
        None | Some(Traffic::Bulk(_)) => {}
        Some(_) => {
            let name = name_of(flow);
            let message = format!(
                "the subflows of a connection carry bulk data; leave them out of flow {name}, or choose another traffic"
            );
            return Err(work.error(&key.with("subflow"), message));
        }
    }
    if flow.relay.is_some() {
        return refuse("subflow", "a relay ends one connection of one path; leave relay or the subflows out");
    }
    if flow.read_rate.is_some() {
        return refuse(
            "read_rate",
            "the application behind several subflows reads at once; leave this or the subflows out",
        );
    }
    if flow.opportunistic == Some(true) && flow.receive_window.is_none() {
        return refuse(
            "opportunistic",
            "is about a full receive window; add e.g. receive_window = \"1 MB\", or leave it out",
        );
    }
    match flow.subflow.len() + 1 {
        ..=MAX_SUBFLOWS => Ok(()),
        many => refuse(
            "subflow",
            &format!("these are {many} subflows with the first; a connection has at most {MAX_SUBFLOWS}"),
        ),
    }
}

/// The paths of all subflows, starting with `first`; empty if it is the only one.
pub(super) fn branches(
    work: &Work<'_>,
    flow: &Flow,
    key: &Key,
    first: &PathPlan,
    (extra, courses): (Span, &[Course]),
) -> Result<Vec<PathPlan>, Error> {
    if flow.subflow.is_empty() {
        return Ok(Vec::new());
    }
    let of = |there, back| PathPlan::new(there, back, extra, first.wire, courses);
    let mut all = vec![of(first.there.clone(), first.back.clone())];
    for (i, subflow) in flow.subflow.iter().enumerate() {
        let key = key.with("subflow").with(i);
        let there = directions(work, &subflow.path, &key.with("path"))?;
        let back = match &subflow.ack_path {
            Some(names) => directions(work, names, &key.with("ack_path"))?,
            None => there.iter().rev().map(|direction| direction.opposite()).collect(),
        };
        all.push(of(there, back));
    }
    Ok(all)
}

/// Makes room for the option DSS in segments whose sizes are not given: payload and header are
/// together as large as before.
pub(super) fn fit(flow: &Flow, options: &mut Options) {
    if flow.subflow.is_empty() {
        return;
    }
    if flow.mss.is_none() && options.mss > DSS {
        options.mss -= DSS;
    }
    if flow.header.is_none() {
        options.header += DSS;
    }
    if flow.ack_size.is_none() {
        options.ack_size += DATA_ACK;
    }
}

/// Replaces the first subflow by all subflows, if there are several. Returns what they share, which has no
/// name and no flows yet.
pub(super) fn spread(
    work: &mut Work<'_>,
    flow: &Flow,
    key: &Key,
    path: &PathPlan,
    parts: &mut Vec<FlowPart>,
    source: impl Fn(&mut Work<'_>, &Flow, (&Key, &Key), &PathPlan) -> Result<Source, Error>,
) -> Result<Option<ConnectionPlan>, Error> {
    if path.branches.is_empty() {
        return Ok(None);
    }
    for (i, (of, branch)) in flow.subflow.iter().zip(path.branches.iter().skip(1)).enumerate() {
        let own = key.with("subflow").with(i).with("cc");
        let cc_key = if of.cc.is_some() { own } else { key.with("cc") };
        let before = work.warnings.len();
        let source = source(work, &further(flow, of), (key, &cc_key), branch)?;
        // A warning about one subflow need not be repeated for the next.
        let warnings = work.warnings.split_off(before);
        for warning in warnings {
            if !work.warnings.contains(&warning) {
                work.warnings.push(warning);
            }
        }
        parts.push(FlowPart {
            part: ConnectionPart::default(),
            turned: false,
            path: branch.there.as_slice().into(),
            ack_path: branch.back.as_slice().into(),
            source: Arc::new(source),
        });
    }
    let mut shared = ConnectionPlan {
        name: String::new(),
        number: 0,
        flows: 0..0,
        scheduler: flow.scheduler.unwrap_or_default(),
        opportunistic: flow.opportunistic.unwrap_or(false),
        window: None,
        bytes: None,
    };
    for FlowPart { source, .. } in parts {
        let mut own = (**source).clone();
        if let Source::Tcp { options, bytes, .. } = &mut own {
            (shared.window, shared.bytes) = (options.receive_window, bytes.take());
            *options = Arc::new(Options { receive_window: None, ..**options });
        }
        *source = Arc::new(own);
    }
    Ok(Some(shared))
}

/// The flow as one of its further subflows has it: the first one takes its place.
pub(super) fn further(flow: &Flow, subflow: &SubflowKeys) -> Flow {
    let mut further = Flow { cc: subflow.cc.clone().or_else(|| flow.cc.clone()), ..flow.clone() };
    further.subflow.iter_mut().filter(|other| *other == subflow).for_each(|own| own.cc.clone_from(&flow.cc));
    further
}

/// Names the subflows of a connection, which itself has the name that they shared.
pub(super) fn name(
    work: &Work<'_>,
    names: &mut Names<'_>,
    copies: Vec<FlowPlan>,
    key: &Key,
) -> Result<Vec<FlowPlan>, Error> {
    let named = (1..).zip(copies).map(|(number, plan)| {
        let name = names.take(work, format!("{}/{number}", plan.name), &key.with("name"))?;
        Ok(FlowPlan { name, ..plan })
    });
    named.collect()
}
