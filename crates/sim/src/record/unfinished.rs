//! Files that were not complete when the run ended: a user who compares completion times has to know.

use bentpipe_cc::Time;

use crate::record::report::FlowReport;
use crate::resolve::plan::{Plan, Source};

/// A warning if transfers of a size did not end. `of`: the number in the plan of each flow's connection, of several the first. Flows that
/// deliver nothing have a warning of their own, and one that is stopped was not meant to end.
pub(crate) fn warnings(plan: &Plan, flows: &[FlowReport], of: &[usize]) -> Option<String> {
    let mut open = flows.iter().zip(of).filter(|(report, number)| {
        let flow = &plan.flows[**number];
        let sized = matches!(&*flow.source, Source::Tcp { bytes: Some(_), .. });
        let whole = flow.opened_by.is_none() && flow.part.row() != Some("first") && flow.stop == Time::MAX;
        sized && whole && report.completion_s.is_none() && report.delivered_bytes > 0
    });
    let (first, number) = open.next()?;
    let Source::Tcp { bytes: Some(all), .. } = &*plan.flows[*number].source else { return None };
    let others = match open.count() {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    Some(format!(
        "flow {}{others}: the transfer was not complete when the run ended; {} of {all} bytes had come",
        first.name, first.delivered_bytes
    ))
}
