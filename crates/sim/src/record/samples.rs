//! Samples of flows and links as they are taken, and their columns.

use bentpipe_cc::{Rtt, Time};

use crate::host::flow::Tcp;
use crate::record::rows::{Numbers, Row, Rows};
use crate::record::trace::{FlowRow, FlowTrace, LinkRow, LinkTrace};
use crate::resolve::plan::{DirectionPlan, FlowPlan, Plan, Source};

/// Represents a missing value among numbers.
const NONE: u64 = u64::MAX;

/// Samples of the flows in the order in which they were taken, stored in less than half the space of their
/// columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSamples {
    /// cwnd in bytes, smoothed and latest RTT in nanoseconds; segments in flight and delivered; ssthresh in
    /// bytes, segments sent again.
    rows: Rows<3, 2, 2>,
    /// For each flow, the bytes of a segment and of its whole transfer.
    sizes: Vec<(u32, u64)>,
}

impl FlowSamples {
    /// An empty store for these flows.
    pub(crate) fn new(flows: &[FlowPlan]) -> Self {
        let size = |flow: &FlowPlan| match &*flow.source {
            Source::Tcp { options, bytes, .. } => (options.mss, bytes.unwrap_or(u64::MAX)),
            Source::Cbr(_) => (1, 0), // constant-rate flows are not sampled
        };
        Self { rows: Rows::new(flows.len()), sizes: flows.iter().map(size).collect() }
    }

    /// How many samples there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Samples flow `f` at `now`, when `delivered` segments have been delivered.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, f: usize, tcp: &Tcp, delivered: u64) {
        let decision = tcp.sender.decision();
        let rtt = tcp.sender.flow().rtt;
        let (smoothed, latest) =
            rtt.map_or((NONE, NONE), |Rtt { smoothed, latest, .. }| (smoothed.0, latest.0));
        let numbers = Numbers {
            wide: [decision.cwnd, smoothed, latest],
            slim: [tcp.sender.in_flight(), delivered],
            still: [decision.ssthresh, tcp.sender.retransmitted()],
        };
        self.rows.push(now, f, numbers);
    }

    /// The samples of this and of another part of a run, each of which has sampled all flows. `part_has`: whether the
    /// sender, and whether the receiver, of a flow is in the other part. A flow has a row where its sender has one.
    pub(crate) fn joined(&self, part: &Self, part_has: impl Fn(usize) -> [bool; 2]) -> Self {
        let mut whole = Self { rows: Rows::new(self.sizes.len()), sizes: self.sizes.clone() };
        let mut ours = self.rows.iter().peekable();
        let mut theirs = part.rows.iter().peekable();
        let key = |row: &Row<3, 2, 2>| (row.at, row.of);
        while let Some(next) = ours.peek().into_iter().chain(theirs.peek()).map(key).min() {
            let our = ours.next_if(|row| key(row) == next);
            let their = theirs.next_if(|row| key(row) == next);
            let [sender, receiver] = part_has(next.1 as usize);
            let Some(mut row) = (if sender { their } else { our }) else { continue };
            if let Some(with) = if receiver { their } else { our } {
                row.numbers.slim[1] = with.numbers.slim[1];
            }
            whole.rows.push(row.at, row.of as usize, row.numbers);
        }
        whole
    }

    /// The samples as columns.
    pub fn trace(&self) -> FlowTrace {
        let mut trace = FlowTrace::with_capacity(self.len());
        for row in self.rows.iter() {
            let Numbers { wide, slim, still: [ssthresh, retransmitted] } = row.numbers;
            let ([cwnd, smoothed, latest], [in_flight, delivered]) = (wide, slim);
            let (mss, bytes) = self.sizes[row.of as usize];
            let segments = |bytes: u64| bytes as f64 / f64::from(mss);
            let seconds = |ns: u64| if ns == NONE { f64::NAN } else { Time(ns).secs() };
            trace.push(FlowRow {
                t_s: row.at.secs(),
                flow: row.of,
                cwnd: segments(cwnd),
                ssthresh: if ssthresh == NONE { f64::INFINITY } else { segments(ssthresh) },
                in_flight: in_flight as f64,
                srtt_s: seconds(smoothed),
                rtt_s: seconds(latest),
                delivered_bytes: (delivered * u64::from(mss)).min(bytes),
                retransmitted_packets: retransmitted,
            });
        }
        trace
    }
}

/// Packet counts of a direction at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Waiting in the queue.
    pub(crate) waiting: u64,
    /// Dropped until then, without thinned acknowledgements.
    pub(crate) dropped: u64,
    /// The part of these dropped at the queue and not lost to errors.
    pub(crate) dropped_queue: u64,
}

/// Samples of the links in the order in which they were taken, stored in less than half the space of their
/// columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSamples {
    /// Packets waiting, delivered and dropped, and the part of these dropped at the queue.
    rows: Rows<0, 4, 0>,
    /// The plans of the directions, which say their rates and delays over time.
    directions: Vec<DirectionPlan>,
}

impl LinkSamples {
    /// An empty store for all directions of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let directions: Vec<_> = plan.directions().map(|(_, direction)| direction.clone()).collect();
        Self { rows: Rows::new(directions.len()), directions }
    }

    /// How many samples there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Samples direction `i` at `now`, given its packet counts.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, i: usize, delivered: u64, seen: Seen) {
        let slim = [seen.waiting, delivered, seen.dropped, seen.dropped_queue];
        self.rows.push(now, i, Numbers { wide: [], slim, still: [] });
    }

    /// The samples as columns.
    pub fn trace(&self) -> LinkTrace {
        let mut trace = LinkTrace::with_capacity(self.len());
        for row in self.rows.iter() {
            let direction = &self.directions[row.of as usize];
            trace.push(LinkRow::of(row.of, direction, row.at, row.numbers.slim));
        }
        trace
    }
}
