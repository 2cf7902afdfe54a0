//! When flows start and stop, and how long their acknowledgements are held.

use bentpipe_cc::Span;

use crate::resolve::work::{Work, name_of};
use crate::scenario::error::{Error, Key};
use crate::scenario::units::Duration;
use crate::scenario::{Flow, Traffic};

/// Start and stop.
pub(super) fn times(work: &mut Work<'_>, flow: &Flow, key: &Key) -> Result<(Span, Option<Span>), Error> {
    let start = flow.start.map_or(Span::ZERO, |d| d.0);
    let latest = start + flow.start_jitter.map_or(Span::ZERO, |d| d.0);
    if let Some(stop) = flow.stop.filter(|stop| stop.0 <= latest) {
        let message = format!(
            "a flow stops after it has started; {stop} is not later than start{} = {}",
            if flow.start_jitter.is_some() { " + start_jitter" } else { "" },
            Duration(latest)
        );
        return Err(work.error(&key.with("stop"), message));
    }
    if latest >= work.scenario.duration.0 {
        let name = name_of(flow);
        work.warnings.push(format!("flow {name}: it may start only when the run is over"));
    }
    Ok((start, flow.stop.map(|d| d.0)))
}

/// Longest random delay of an acknowledgement.
pub(super) fn ack_jitter(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Span, Error> {
    let Some(Duration(jitter)) = flow.ack_jitter else { return Ok(Span::ZERO) };
    let key = key.with("ack_jitter");
    if matches!(flow.traffic, Some(Traffic::Cbr { .. })) {
        let message = "nobody acknowledges constant-rate traffic; leave ack_jitter out";
        return Err(work.error(&key, message));
    }
    work.check_delay(jitter, &key)?;
    Ok(jitter)
}
