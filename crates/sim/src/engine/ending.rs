//! The end of a run: the books are balanced and the report is written.

use super::{Engine, RunError};
use crate::engine::audit::{self, Breach};
use crate::record::report::{LinkReport, Outcome, Report, SCHEMA, SegmentTrace};
use crate::resolve::plan::{CcPlan, FlowPlan, Plan, Source};

impl Engine {
    /// Now and then: can what is written down still be, and has it room?
    pub(super) fn check_records(&mut self) -> Result<(), RunError> {
        let mut rows = self.recorder.rows();
        if let Some(tap) = &mut self.tap {
            tap.check()?;
            rows += tap.rows();
        }
        let most = self.recorder.most;
        if rows > most { Err(RunError::Rows { most }) } else { Ok(()) }
    }

    pub(super) fn finish(mut self, plan: &Plan) -> Result<Outcome, RunError> {
        let end = self.end;
        self.passages.iter_mut().for_each(|passage| passage.settle(&self.routes, &mut self.links));
        for i in 0..self.links.len() {
            if self.links[i].decides_at_departure() {
                self.links[i].catch_up(end);
                self.settle(i, end, None);
            }
        }
        let law = |Breach { law, numbers }| RunError::Law { law, numbers, seed: plan.seed };
        audit::check(plan, end, &mut self.links, &self.flows).map_err(law)?;
        let flows =
            self.flows.iter_mut().zip(&plan.flows).map(|(flow, p)| flow.report(&p.name, cc_name(p), end));
        let flows = flows.collect();
        let mut links = Vec::with_capacity(self.public_links);
        for (i, link) in self.links[..self.public_links].iter_mut().enumerate() {
            links.push(LinkReport {
                name: plan.links[i / 2].name.clone(),
                direction: if i % 2 == 0 { "forward" } else { "reverse" },
                rate_bps: link.rate_bps(),
                utilisation: link.utilisation(end),
                delivered_packets: link.counts.delivered,
                dropped_queue: link.counts.dropped_queue,
                dropped_error: link.counts.dropped_error,
                marked: link.counts.marked,
                queue_mean_packets: link.queue_mean(end),
                queue_max_packets: link.queue_max(),
            });
        }
        let report = Report {
            schema: SCHEMA,
            seed: plan.seed,
            simulated_s: end.secs(),
            wall_s: 0.0,
            packets: self.packets,
            flows,
            links,
            warnings: plan.warnings.clone(),
        };
        let (flows, links) = self.recorder.finish();
        Ok(Outcome { report, flows, links, segments: SegmentTrace::default() })
    }
}

fn cc_name(plan: &FlowPlan) -> &str {
    match &*plan.source {
        Source::Cbr { .. } => "cbr",
        Source::Tcp { cc: CcPlan::Registered { id, .. }, .. } => id,
        Source::Tcp { cc: CcPlan::Supplied { key }, .. } => key,
    }
}
