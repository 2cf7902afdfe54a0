//! What a page must know of a plan to draw its limits and to place its sliders.

use bentpipe_sim::plan::{DirectionPlan, Plan, QueueLimit, Source};
use serde::Serialize;

/// A plan in numbers.
#[derive(Debug, Serialize)]
pub(crate) struct Outline {
    seed: u64,
    duration_s: f64,
    /// In the order of the rows of the report.
    directions: Vec<DirectionOutline>,
    /// In the order of the names of an outcome.
    flows: Vec<FlowOutline>,
}

/// One direction of a link.
#[derive(Debug, Serialize)]
struct DirectionOutline {
    link: String,
    way: &'static str,
    rate_bps: u64,
    delay_s: f64,
    /// Room in the queue; one of the two is there.
    queue_packets: Option<u64>,
    queue_bytes: Option<u64>,
    /// Do rate or delay change?
    moves: bool,
    /// Instants at which the path changes hands, s.
    handovers_s: Vec<f64>,
    /// From when until when nothing passes, s.
    outages_s: Vec<[f64; 2]>,
}

/// One flow.
#[derive(Debug, Serialize)]
struct FlowOutline {
    name: String,
    /// The index of its table in the scenario.
    table: u32,
    /// Is it one of many connections that a source opens?
    is_short: bool,
    /// Indices of directions.
    path: Vec<usize>,
    ack_path: Vec<usize>,
    /// Access delay, there and back.
    access_s: f64,
    /// Bytes of a full packet on the wire.
    packet_bytes: u32,
}

impl Outline {
    /// The outline of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let duration_s = plan.duration.secs();
        let directions = plan.directions().map(|(id, direction)| {
            let (queue_packets, queue_bytes) = match direction.queue {
                QueueLimit::Packets(most) => (Some(most), None),
                QueueLimit::Bytes(most) => (None, Some(most)),
            };
            DirectionOutline {
                link: plan.links[id.link()].name.clone(),
                way: id.way(),
                rate_bps: direction.rate_bps,
                delay_s: direction.delay.secs(),
                queue_packets,
                queue_bytes,
                moves: direction.line.is_some(),
                handovers_s: direction.handovers().iter().map(|at| at.secs()).collect(),
                outages_s: outages(direction, duration_s),
            }
        });
        let flows = plan.flows.iter().map(|flow| {
            let packet_bytes = match &*flow.source {
                Source::Tcp { options, .. } => options.mss + options.header,
                Source::Cbr(_) => 0,
            };
            FlowOutline {
                name: flow.name.clone(),
                table: flow.table,
                is_short: flow.opened_by.is_some(),
                path: flow.path.iter().map(|id| id.index()).collect(),
                ack_path: flow.ack_path.iter().map(|id| id.index()).collect(),
                access_s: 2.0 * flow.extra_delay.secs(),
                packet_bytes,
            }
        });
        Self { seed: plan.seed, duration_s, directions: directions.collect(), flows: flows.collect() }
    }
}

/// When the rate of a direction is 0.
fn outages(direction: &DirectionPlan, end_s: f64) -> Vec<[f64; 2]> {
    let steps = direction.line.as_ref().map_or(&[][..], |line| line.steps());
    let mut found: Vec<[f64; 2]> = Vec::new();
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.rate_bps == 0) {
        let until = steps.get(i + 1).map_or(end_s, |next| next.at.secs()).min(end_s);
        match found.last_mut() {
            Some(last) if last[1] == step.at.secs() => last[1] = until,
            _ if step.at.secs() < end_s => found.push([step.at.secs(), until]),
            _ => {}
        }
    }
    found
}
