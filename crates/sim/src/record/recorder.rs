//! Samples taken during a run. If there is nothing to record, the cost is one branch per burst of segments.
//!
//! Receivers may be ahead of the samples. A history of their deliveries is then kept until the samples have
//! caught up. The same holds for links (`record/links.rs`).

use bentpipe_cc::{Span, Time};

use super::links::LinkRecorder;
use super::ports::PortRecorder;
use super::probes::{ProbeRecorder, ProbeSamples};
use crate::host::flow::{FlowState, Kind, Tcp};
use crate::link::direction::Direction;
use crate::record::history::{Moments, Past};
use crate::record::samples::{FlowSamples, LinkSamples};
use crate::record::trace::PortTrace;
use crate::resolve::MAX_ROWS;
use crate::resolve::plan::{FlowPlan, Plan};

/// Why a flow's window may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A packet reached its sender.
    Arrival,
    /// A timer, which expires after all arrivals of its instant.
    Timer,
}

/// The recorder of one run.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Most rows of all traces together.
    pub(crate) most: u64,
    interval: Option<Span>,
    flows_at_ticks: bool,
    /// Marks short flows, which are sampled only while they last; empty if there are none.
    short: Vec<bool>,
    /// The last window and threshold of each flow, if every change is recorded.
    changes: Option<Vec<(u64, u64)>>,
    flows: FlowSamples,
    /// The recorder of probes, if probes of controllers are recorded.
    probes: Option<ProbeRecorder>,
    /// The recorder of the links, if they are sampled at ticks.
    links: Option<LinkRecorder>,
    /// The recorder of the ports of a constellation, likewise.
    ports: Option<PortRecorder>,
    /// Histories of receivers, by flow; empty if no receiver delivers ahead of time.
    receivers: Vec<ReceiverHistory>,
}

/// The history of a receiver that may deliver ahead of time.
#[derive(Debug)]
struct ReceiverHistory {
    /// Segments delivered so far, and their history.
    delivered: u64,
    past: Delivered,
    /// Within one instant, do acknowledgements reach the sender before data reaches the receiver?
    acks_first: bool,
}

/// The history of deliveries, by how samples may be taken.
#[derive(Debug)]
enum Delivered {
    AtTicks(Past),
    AtAnyTime(Moments),
}

impl Recorder {
    pub(crate) fn new(plan: &Plan) -> Self {
        let interval = plan.record.and_then(|r| r.interval).filter(|i| i.0 > 0);
        let on_change = plan.record.is_some_and(|r| (r.flows || r.probes) && r.interval.is_none());
        let is_short = |flow: &FlowPlan| flow.opened_by.is_some();
        let flows_at_ticks = plan.record.is_some_and(|r| r.flows);
        let links_at_ticks = interval.filter(|_| plan.record.is_some_and(|r| r.links));
        Self {
            most: MAX_ROWS,
            interval,
            flows_at_ticks,
            short: if plan.flows.iter().any(is_short) {
                plan.flows.iter().map(is_short).collect()
            } else {
                Vec::new()
            },
            changes: on_change.then(|| vec![(0, 0); plan.flows.len()]),
            flows: if flows_at_ticks { FlowSamples::new(&plan.flows) } else { FlowSamples::default() },
            probes: plan.record.filter(|r| r.probes).map(|_| ProbeRecorder::new(plan.flows.len())),
            links: links_at_ticks.map(|interval| LinkRecorder::new(plan, interval)),
            ports: links_at_ticks.and_then(|_| PortRecorder::new(plan)),
            receivers: Vec::new(),
        }
    }

    /// Are flows recorded?
    pub(crate) fn has_flows(&self) -> bool {
        self.flows_at_ticks
    }

    /// Are links recorded?
    pub(crate) fn has_links(&self) -> bool {
        self.links.is_some()
    }

    /// Are changes recorded instead of samples at ticks?
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.is_some()
    }

    /// Receivers will deliver ahead of time. `acks_first`, for each flow: within one instant, do
    /// acknowledgements reach the sender before data reaches the receiver?
    pub(crate) fn expect_receivers(&mut self, acks_first: &[bool]) {
        let interval = self.interval;
        let past = || match interval {
            Some(interval) => Delivered::AtTicks(Past::new(interval)),
            None => Delivered::AtAnyTime(Moments::default()),
        };
        let receiver = |&acks_first: &bool| ReceiverHistory { delivered: 0, past: past(), acks_first };
        self.receivers = acks_first.iter().map(receiver).collect();
    }

    /// A packet has reached the receiver of flow `f` at `at`, ahead of `now`; `delivered` segments have been
    /// delivered by then.
    #[inline]
    pub(crate) fn received(&mut self, now: Time, at: Time, f: usize, delivered: u64) {
        let Some(receiver) = self.receivers.get_mut(f) else { return };
        let earlier = std::mem::replace(&mut receiver.delivered, delivered);
        match &mut receiver.past {
            Delivered::AtTicks(past) => past.changes(at, earlier),
            Delivered::AtAnyTime(moments) => match delivered - earlier {
                0 => {}
                1 => moments.add(at, before(now)), // so for most packets
                count => moments.add_all(count, at, before(now)),
            },
        }
    }

    /// Adds the next delay line: its directions, and how long after entry each of them delivers.
    pub(crate) fn expect_delay_line(&mut self, directions: &[(usize, Span)]) {
        if let Some(known) = &mut self.links {
            known.expect_delay_line(directions);
        }
    }

    /// A packet is about to be offered to direction `i` at `at`.
    #[inline(always)]
    pub(crate) fn offered(&mut self, at: Time, i: usize, link: &mut Direction) {
        if let Some(links) = &mut self.links {
            links.offered(at, i, link);
        }
    }

    /// Direction `i` hands a packet on ahead of time, which arrives at `at`.
    #[inline(always)]
    pub(crate) fn handed_on(&mut self, at: Time, i: usize) {
        if let Some(links) = &mut self.links {
            links.handed_on(at, i);
        }
    }

    /// A packet enters delay line `i` at `at`.
    #[inline(always)]
    pub(crate) fn passes(&mut self, at: Time, i: usize) {
        if let Some(links) = &mut self.links {
            links.passes(at, i);
        }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        let probes = self.probes.as_ref().map_or(0, ProbeRecorder::rows);
        let ports = self.ports.as_ref().map_or(0, PortRecorder::rows);
        self.flows.len() as u64 + self.links.as_ref().map_or(0, LinkRecorder::rows) + ports + probes
    }

    /// The first sample, if samples are taken at an interval.
    pub(crate) fn first_tick(&self) -> Option<Time> {
        self.interval.map(|_| Time(0))
    }

    /// Takes a sample of everything; returns when the next is due.
    pub(crate) fn tick(&mut self, now: Time, flows: &[FlowState], links: &mut [Direction]) -> Option<Time> {
        if self.flows_at_ticks || self.probes.is_some() {
            for (f, flow) in flows.iter().enumerate() {
                let over = || self.short.get(f) == Some(&true) && flow.life_ends(Time::MAX) <= now;
                if let (Kind::Tcp(tcp), true) = (&flow.kind, flow.start <= now && !over()) {
                    if self.flows_at_ticks {
                        self.sample(now, f, tcp, Cause::Timer);
                    }
                    if let Some(probes) = &mut self.probes {
                        probes.take(now, f, tcp.sender.controller(), true);
                    }
                }
            }
        }
        if let Some(known) = &mut self.links {
            known.tick(now, links);
        }
        if let Some(ports) = &mut self.ports {
            ports.tick(now, links);
        }
        self.interval.map(|i| now + i)
    }

    /// Flow `f` has sent all that it may send now: samples what has changed.
    #[inline]
    pub(crate) fn on_change(&mut self, now: Time, f: usize, tcp: &Tcp, cause: Cause) {
        let Some(last) = &mut self.changes else { return };
        let decision = tcp.sender.decision();
        let state = (decision.cwnd, decision.ssthresh);
        if self.flows_at_ticks && last[f] != state {
            last[f] = state;
            self.sample(now, f, tcp, cause);
        }
        if let Some(probes) = &mut self.probes {
            probes.take(now, f, tcp.sender.controller(), false);
        }
    }

    #[inline(never)]
    fn sample(&mut self, now: Time, f: usize, tcp: &Tcp, cause: Cause) {
        let mut segments = tcp.receiver.delivered();
        if let Some(ReceiverHistory { past, acks_first, .. }) = self.receivers.get_mut(f) {
            let until = if cause == Cause::Arrival && *acks_first { before(now) } else { now };
            segments = match past {
                Delivered::AtTicks(past) => past.at(now, segments),
                Delivered::AtAnyTime(moments) => segments - moments.after(until),
            };
        }
        self.flows.take(now, f, tcp, segments);
    }

    /// Adds the samples of a part of a run. `part_has`: whether the sender, and whether the receiver, of a flow is in
    /// that part.
    pub(crate) fn join(&mut self, part: Self, part_has: impl Fn(usize) -> [bool; 2]) {
        if self.flows_at_ticks {
            self.flows = self.flows.joined(&part.flows, part_has);
        }
        if let (Some(ports), Some(part)) = (&mut self.ports, part.ports) {
            ports.join(part);
        }
    }

    pub(crate) fn finish(self) -> (FlowSamples, LinkSamples, PortTrace, ProbeSamples) {
        let links = self.links.map_or_else(LinkSamples::default, LinkRecorder::finish);
        let ports = self.ports.map_or_else(PortTrace::default, PortRecorder::finish);
        (self.flows, links, ports, self.probes.map_or_else(ProbeSamples::default, ProbeRecorder::finish))
    }
}

/// The instant before `now`.
fn before(now: Time) -> Time {
    Time(now.0.saturating_sub(1))
}
