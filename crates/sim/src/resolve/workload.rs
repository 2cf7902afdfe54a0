//! What a flow's traffic means for its connections.

use bentpipe_cc::registry;
use bentpipe_tcp::{IdleRestart, Options};

use crate::keys::error::{Error, Key};
use crate::resolve::plan::{ApplicationPlan, Burst, Sizes, Source};
use crate::resolve::work::Work;
use crate::scenario::{Arg, Flow, Traffic};
use crate::workload::context::TrafficContext;
use crate::workload::kind::TrafficPlan;

/// What the flow sends; by default, bulk data without end.
pub(super) fn traffic(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<TrafficPlan, Error> {
    let resolved = flow
        .traffic
        .as_ref()
        .map(|traffic| traffic.resolve(&TrafficContext::new(&work.scenario.origin, key)));
    resolved.unwrap_or(Ok(TrafficPlan::Bulk(None)))
}

/// Does the flow send datagrams that nobody acknowledges?
pub(super) fn is_datagrams(flow: &Flow) -> bool {
    flow.traffic.as_ref().is_some_and(Traffic::is_datagrams)
}

/// Does nothing come back from the receiver of the flow?
pub(super) fn is_one_way(flow: &Flow) -> bool {
    flow.traffic.as_ref().is_some_and(Traffic::is_one_way)
}

/// What becomes of a window that the senders of a flow have not used, where `asked` is what the flow and its
/// profile say.
///
/// # Errors
/// A rule of its own beside newCWV, which takes its place.
pub(super) fn idle_restart(
    work: &Work<'_>,
    flow: &Flow,
    asked: IdleRestart,
    key: &Key,
) -> Result<IdleRestart, Error> {
    let chosen = flow.cc.as_ref().and_then(|cc| cc.args.get(registry::WINDOW_VALIDATION));
    if chosen != Some(&Arg::Text(registry::NEWCWV.to_owned())) {
        return Ok(asked);
    }
    if flow.idle_restart.is_some_and(|rule| rule != IdleRestart::Off) {
        let message = "window_validation = \"newcwv\" takes the place of the restart; leave out one of them";
        return Err(work.error(&key.with("idle_restart"), message));
    }
    Ok(IdleRestart::Off)
}

/// If all transfers of an application are smaller than one segment, its segments get the size of the
/// transfers.
pub(super) fn fit(options: &mut Options, application: &ApplicationPlan) {
    let size = match application {
        ApplicationPlan::OnOff { on: Burst::Of(Sizes::Fixed(size)), .. }
        | ApplicationPlan::Server { sizes: Some(Sizes::Fixed(size)), .. }
        | ApplicationPlan::Client { request: size, .. } => *size,
        ApplicationPlan::OnOff { .. } | ApplicationPlan::Server { .. } => return,
    };
    options.mss = options.mss.min(u32::try_from(size).unwrap_or(u32::MAX)).max(1);
}

/// The source of a connection with `bytes` bytes.
pub(super) fn with_bytes(source: &Source, bytes: u64) -> Source {
    let mut source = source.clone();
    if let Source::Tcp { bytes: all, .. } = &mut source {
        *all = Some(bytes);
    }
    source
}
