//! From a scenario to a plan: names become indices, defaults are filled in, and values that do not fit
//! together are refused.

mod both_ways;
mod connection_part;
mod controller_needs;
mod defaults;
mod dialogues;
pub(crate) mod direction_plan;
mod flows;
mod hints;
mod link_layer;
mod links;
mod names;
mod network;
pub(crate) mod options;
mod pairs;
mod path;
pub mod plan;
pub(crate) mod relations;
mod relay;
mod subflows;
mod ties;
pub(crate) mod time_line_file;
mod time_lines;
pub(crate) mod work;
mod workload;

use std::collections::BTreeMap;

use bentpipe_cc::{Span, registry};

use crate::keys::error::{Error, Key};
use crate::keys::units::Interval;
use crate::scenario::{Record, Scenario};
use plan::{CcPlan, FlowPlan, Plan, RecordPlan, Source};
use work::Work;

/// Longest run: ten years.
const MAX_DURATION: Span = Span(3_652 * 86_400 * 1_000_000_000);
/// Most rows that the traces of a run may have. In an address space of 4 GiB there is room for fewer.
pub(crate) const MAX_ROWS: u64 = if cfg!(target_pointer_width = "32") { 10_000_000 } else { 200_000_000 };

/// Makes the plan of a scenario. An error is the first one found.
pub(crate) fn make(scenario: &Scenario) -> Result<Plan, Error> {
    let mut work = Work { scenario, warnings: Vec::new(), instants: BTreeMap::new() };
    work.check_shape()?;
    let duration = scenario.duration.0;
    let key = Key::of(["duration"]);
    if duration == Span::ZERO {
        return Err(work.error(&key, "a run takes longer than zero; write e.g. \"120 s\""));
    }
    if duration > MAX_DURATION {
        return Err(work.error(&key, format!("{} is too long; it must be at most 3652 d", scenario.duration)));
    }
    if scenario.link.is_empty() && scenario.network.is_none() {
        let message = "there is no link; add a table such as [link.sat] with rate = \"10 Mbit/s\" \
            and delay = \"250 ms\"";
        return Err(work.error(&Key::of(["link"]), message));
    }
    if scenario.flow.is_empty() {
        let message = "there is no flow; add a table [[flow]] with cc = \"reno\" and path = [\"sat\"]";
        return Err(work.error(&Key::of(["flow"]), message));
    }
    names::check_links(&work)?;
    let courses = work.courses()?;
    let constellation = network::of_scenario(&mut work)?;
    let paths = flows::paths(&work, &courses, constellation.as_deref())?;
    let links = work.links(&courses, &paths)?;
    let network = constellation.map(|of| network::plan(&mut work, of, &paths)).transpose()?;
    let flows = flows::expand(&mut work, &paths, (&links, network.as_deref()))?;
    let record = work.record(&flows, links.len())?;
    Ok(Plan { seed: scenario.seed, duration, record, links, network, flows, warnings: work.warnings })
}

impl Work<'_> {
    fn record(&self, flows: &[FlowPlan], links: usize) -> Result<Option<RecordPlan>, Error> {
        let Some(record) = &self.scenario.record else { return Ok(None) };
        let key = Key::of(["record"]);
        let interval = match record.interval.unwrap_or(Interval::Change) {
            Interval::Change => None,
            Interval::Every(span) => Some(span),
        };
        if record.links && interval.is_none() {
            let message =
                "links are recorded at intervals of time; add interval = \"100 ms\", or leave links out";
            return Err(self.error(&key.with("links"), message));
        }
        if let Some(interval) = interval {
            // Short flows are sampled only while they last.
            let long = || flows.iter().filter(|flow| flow.opened_by.is_none());
            let probes = if record.probes { long().map(probes).sum() } else { 0 };
            let each = u64::from(record.flows) * long().count() as u64
                + u64::from(record.links) * 2 * links as u64
                + probes;
            let rows = self.scenario.duration.0.0.checked_div(interval.0).map(|n| n.saturating_mul(each));
            match rows {
                None => {
                    let message = "an interval must be longer than zero; write e.g. \"100 ms\" or \"change\"";
                    return Err(self.error(&key.with("interval"), message));
                }
                Some(rows) if rows > MAX_ROWS => {
                    let message =
                        format!("this makes {rows} rows, more than {MAX_ROWS}; choose a longer interval");
                    return Err(self.error(&key.with("interval"), message));
                }
                Some(_) => {}
            }
        }
        let &Record { flows, links, segments, transfers, probes, .. } = record;
        Ok(Some(RecordPlan { interval, flows, links, segments, transfers, probes }))
    }
}

/// How many probes a flow has, as far as its scenario says.
fn probes(flow: &FlowPlan) -> u64 {
    match &*flow.source {
        Source::Tcp { cc: CcPlan::Registered { id, .. }, .. } => {
            registry::find(id).map_or(0, |entry| entry.probes().len() as u64)
        }
        _ => 0,
    }
}
