//! Columns of samples. With nothing to record it costs one branch a burst of segments.

use bentpipe_cc::{Span, Time};

use crate::flow::{Flow, Kind, Tcp};
use crate::link::Link;
use crate::plan::Plan;
use crate::report::{FlowTrace, LinkTrace};
use crate::resolve::MAX_ROWS;

/// The recorder of one run.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Most rows of all traces together.
    pub(crate) most: u64,
    interval: Option<Span>,
    flows_at_ticks: bool,
    links_at_ticks: bool,
    /// Record a flow whenever its window changes: the last window and threshold of each flow.
    changes: Option<Vec<(u64, u64)>>,
    flows: FlowTrace,
    links: LinkTrace,
}

impl Recorder {
    pub(crate) fn new(plan: &Plan) -> Self {
        let interval = plan.record.and_then(|r| r.interval).filter(|i| i.0 > 0);
        let on_change = plan.record.is_some_and(|r| r.flows && r.interval.is_none());
        Self {
            most: MAX_ROWS,
            interval,
            flows_at_ticks: plan.record.is_some_and(|r| r.flows),
            links_at_ticks: plan.record.is_some_and(|r| r.links),
            changes: on_change.then(|| vec![(0, 0); plan.flows.len()]),
            flows: FlowTrace::default(),
            links: LinkTrace::default(),
        }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        (self.flows.t_s.len() + self.links.t_s.len()) as u64
    }

    /// The first sample, if samples are taken at an interval.
    pub(crate) fn first_tick(&self) -> Option<Time> {
        self.interval.map(|_| Time(0))
    }

    /// Takes a sample of everything; returns when the next is due.
    pub(crate) fn tick(&mut self, now: Time, flows: &[Flow], links: &mut [Link]) -> Option<Time> {
        if self.flows_at_ticks {
            for (f, flow) in flows.iter().enumerate() {
                if let (Kind::Tcp(tcp), true) = (&flow.kind, flow.start <= now) {
                    self.sample(now, f, tcp);
                }
            }
        }
        if self.links_at_ticks {
            for (i, link) in links.iter_mut().enumerate() {
                self.links.t_s.push(now.secs());
                self.links.link.push(i as u32);
                self.links.queue_packets.push(link.waiting(now) as f64);
                self.links.delivered_packets.push(link.counts.delivered);
                self.links.dropped_packets.push(link.counts.dropped_queue + link.counts.dropped_error);
            }
        }
        self.interval.map(|i| now + i)
    }

    /// Flow `f` has done all that it can do now.
    pub(crate) fn on_change(&mut self, now: Time, f: usize, tcp: &Tcp) {
        if let Some(last) = &mut self.changes {
            let decision = tcp.sender.decision();
            let state = (decision.cwnd, decision.ssthresh);
            if std::mem::replace(&mut last[f], state) != state {
                self.sample(now, f, tcp);
            }
        }
    }

    fn sample(&mut self, now: Time, f: usize, tcp: &Tcp) {
        let sender = &tcp.sender;
        let mss = f64::from(sender.options().mss);
        let ssthresh = sender.decision().ssthresh;
        let rtt = sender.flow().rtt;
        let trace = &mut self.flows;
        trace.t_s.push(now.secs());
        trace.flow.push(f as u32);
        trace.cwnd.push(sender.cwnd_segments());
        trace.ssthresh.push(if ssthresh == u64::MAX { f64::INFINITY } else { ssthresh as f64 / mss });
        trace.in_flight.push(sender.in_flight() as f64);
        trace.srtt_s.push(rtt.map_or(f64::NAN, |r| r.smoothed.secs()));
        trace.rtt_s.push(rtt.map_or(f64::NAN, |r| r.latest.secs()));
        trace.delivered_bytes.push(tcp.delivered_bytes());
    }

    pub(crate) fn finish(self) -> (FlowTrace, LinkTrace) {
        (self.flows, self.links)
    }
}
