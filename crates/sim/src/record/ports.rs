//! Ports of a constellation, sampled at ticks. Nothing enters a port ahead of time, so its state is that of the
//! tick.

use std::sync::Arc;

use bentpipe_cc::Time;

use crate::constellation::NetworkPlan;
use crate::link::direction::Direction;
use crate::record::trace::{PortRow, PortTrace};
use crate::resolve::plan::Plan;

/// The samples of the ports, and the state that they need.
#[derive(Debug)]
pub(crate) struct PortRecorder {
    plan: Arc<NetworkPlan>,
    /// The direction of port 0.
    first: usize,
    /// For how long each port has sent by the last tick, ns.
    busy: Vec<u64>,
    last: Time,
    trace: PortTrace,
}

impl PortRecorder {
    /// A recorder of the ports of this plan, if it has some.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let of = plan.network.clone()?;
        let busy = vec![0; of.ports.len()];
        Some(Self { plan: of, first: 2 * plan.links.len(), busy, last: Time(0), trace: PortTrace::default() })
    }

    /// Takes a sample of each port to which a packet has come.
    pub(crate) fn tick(&mut self, now: Time, directions: &mut [Direction]) {
        let passed = now.since(self.last).0;
        self.last = now;
        let ports = directions[self.first..].iter_mut().zip(&*self.plan.ports).zip(&mut self.busy);
        for ((direction, port), before) in ports.filter(|((direction, _), _)| direction.offered() > 0) {
            let busy = direction.busy(now).0;
            let (dropped_queue, dropped_error) = direction.dropped(now);
            self.trace.push(PortRow {
                t_s: now.secs(),
                from: port.node,
                to: port.to.unwrap_or(port.node),
                busy: if passed == 0 { 0.0 } else { (busy - *before) as f64 / passed as f64 },
                queue_packets: direction.waiting(now) as f64,
                offered_packets: direction.offered(),
                dropped_packets: dropped_queue + dropped_error,
            });
            *before = busy;
        }
    }

    /// Adds the samples of a part of a run, of other ports.
    pub(crate) fn join(&mut self, part: Self) {
        let rows = |of: &Self| (0..of.trace.t_s.len()).map(|i| of.trace.row(i)).collect::<Vec<_>>();
        let mut all = [rows(self), rows(&part)].concat();
        // As in a sample: by node, lasers before the port to the ground.
        let place = |row: &PortRow| (row.from, row.from == row.to, row.to);
        all.sort_by(|a, b| a.t_s.total_cmp(&b.t_s).then_with(|| place(a).cmp(&place(b))));
        self.trace = PortTrace::default();
        all.into_iter().for_each(|row| self.trace.push(row));
    }

    pub(crate) fn rows(&self) -> u64 {
        self.trace.t_s.len() as u64
    }

    pub(crate) fn finish(self) -> PortTrace {
        self.trace
    }
}
