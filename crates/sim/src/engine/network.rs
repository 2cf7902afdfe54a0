//! The state of a run in either loop: the directions of the links, the hosts, and the recorder.

use std::collections::BTreeSet;

use bentpipe_cc::registry;
use bentpipe_cc::{Controller, Span, Start, Time};
use bentpipe_tcp::Options;

use crate::capture::tap::Tap;
use crate::constellation::{Forwarding, NextHops};
use crate::engine::audit;
use crate::engine::classes;
use crate::engine::connections::{self, ReportRows};
use crate::engine::error::RunError;
use crate::engine::hints::Hints;
use crate::engine::memory_bound::MemoryBound;
use crate::host::carried::CarriedStore;
use crate::host::flow::{FlowState, Kind, NEVER, Tcp};
use crate::host::multipath::MultipathConnection;
use crate::link::air::Air;
use crate::link::direction::{Direction, Fate};
use crate::link::ledger::Breach;
use crate::link::packet::{ACK, Packet};
use crate::link::under_way::{InFlight, keep_after, keep_if};
use crate::queue::Class;
use crate::record::Outcome;
use crate::record::recorder::Recorder;
use crate::record::report::{LinkReport, NetworkFlowReport, Report, SCHEMA};
use crate::record::warnings;
use crate::resolve::plan::{CcPlan, FlowPlan, Plan, Source, stream_of};
use crate::workload::client::Client;

/// How many events pass between two calls of a [`Watch`]. The number is small, so that a run whose events
/// take 10 ms each still ends within a second.
pub const EVENTS_PER_LOOK: u64 = 1 << 6;
/// How many calls of a [`Watch`] pass between two counts of the rows and the memory that a run keeps.
pub const LOOKS_PER_COUNT: u64 = 1 << 10;
/// How many flows are set up between two calls of a [`Watch`].
const FLOWS_PER_LOOK: usize = 1 << 10;

/// Builds the controllers of [`CcPlan::Supplied`] from the key, the name of the flow and the start of its
/// connection.
pub type Supply<'a> = dyn FnMut(&str, &str, Start) -> Result<Box<dyn Controller>, String> + 'a;

/// Called once in [`EVENTS_PER_LOOK`] events, and now and then while a run is set up, with the share of
/// simulated time that has passed. Returning false stops the run. It is called so often that it should do no
/// more than read a flag; anything that costs more should be done once in many calls.
pub type Watch<'a> = dyn FnMut(f64) -> bool + 'a;

/// The state of a run.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) seed: u64,
    /// The instant of the current event.
    pub(super) now: Time,
    pub(super) end: Time,
    /// The directions of the scenario, numbered as in the plan, and the ports of a constellation. A loop appends
    /// the access delays of the flows.
    pub(super) directions: Vec<Direction>,
    /// The constellation, if there is one.
    pub(super) forwarding: Option<Box<Forwarding>>,
    /// The air behind each of its ports.
    pub(super) airs: Vec<Air>,
    /// Packets that a port has just given up, and that look for another one at its node.
    pub(super) moved: Vec<Packet>,
    /// The classes of packets at each direction of the scenario whose queue sorts them by flow.
    classes: Vec<Box<[Class]>>,
    pub(super) flows: Vec<FlowState>,
    /// The connections that have several subflows.
    pub(super) connections: Vec<MultipathConnection>,
    /// Flows for which something that has just arrived at their senders' hosts is news.
    pub(super) woken: Vec<usize>,
    pub(super) hints: Hints,
    /// What packets in flight carry behind their headers.
    pub(super) carried: CarriedStore,
    pub(super) recorder: Recorder,
    pub(super) tap: Option<Box<Tap>>,
    /// Data packets that have reached receivers.
    pub(super) packets: u64,
    pub(super) memory: MemoryBound,
    /// Packets in the air that a loop keeps outside `airs`.
    pub(super) flying: u64,
    /// Looks so far.
    looks: u64,
}

impl Network {
    /// The network of `plan` before anything has happened.
    pub(super) fn new(
        plan: &Plan,
        tap: Option<Box<Tap>>,
        supply: &mut Supply<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Self, RunError> {
        let carried = CarriedStore::default();
        let (mut directions, mut classes) = (Vec::new(), Vec::new());
        for (id, of) in plan.directions() {
            let name = stream_of(&plan.name_of(id));
            let mut direction = Direction::new(of, plan.seed, &name);
            if let Some(scheduled) = direction.scheduled() {
                scheduled.share(&carried.headers);
            }
            directions.push(direction);
            classes.push(classes::find(of, plan.seed, &name, &plan.flows));
        }
        let forwarding =
            plan.network.as_ref().map(|of| Box::new(Forwarding::new(of, directions.len(), plan.flows.len())));
        for (number, (network, port)) in plan.ports().enumerate() {
            if number.is_multiple_of(FLOWS_PER_LOOK) && !watch(0.0) {
                return Err(RunError::Interrupted);
            }
            let name = format!("network/{}", network.name_of(port));
            let mut direction = Direction::new(network.of(port), plan.seed, &name);
            if let Some(scheduled) = direction.scheduled() {
                scheduled.share(&carried.headers);
            }
            directions.push(direction);
            classes.push(classes::find(network.of(port), plan.seed, &name, &plan.flows));
        }
        let airs = plan.ports().map(|_| Air::default()).collect();
        let mut flows: Vec<FlowState> = Vec::with_capacity(plan.flows.len());
        let mut connections = Vec::new();
        for part in plan.flows.chunks(FLOWS_PER_LOOK) {
            if !watch(0.0) {
                return Err(RunError::Interrupted);
            }
            for flow in part {
                let mut host = host(plan, flow, supply)?;
                if host.tcp().and_then(Tcp::client).is_some_and(Client::waits_for_browser) {
                    host.start = NEVER;
                }
                if let Some(first) = flow.ties.as_ref().and_then(|ties| flows.get(ties.first)) {
                    host.start = first.start;
                }
                flows.push(host);
                if let Some(of) = flow.subflow().map(|subflow| &subflow.connection)
                    && flows.len() == of.flows.end
                {
                    connections.push(MultipathConnection::new(of.clone(), &flows[of.flows.clone()]));
                }
            }
        }
        Ok(Self {
            seed: plan.seed,
            now: Time(0),
            end: Time(plan.duration.0),
            directions,
            forwarding,
            airs,
            moved: Vec::new(),
            classes,
            hints: Hints::new(&plan.flows, &flows),
            connections,
            flows,
            woken: Vec::new(),
            carried,
            recorder: Recorder::new(plan),
            tap,
            packets: 0,
            memory: MemoryBound::default(),
            flying: 0,
            looks: 0,
        })
    }

    /// Data reaches its receiver at `at`, which may be ahead of time. Returns true if the receiver
    /// acknowledges it now; `packet` is then the acknowledgement. With `RECORDED` the recorder keeps what has
    /// been delivered by then.
    #[inline(always)]
    pub(super) fn receive<const RECORDED: bool>(&mut self, at: Time, packet: &mut Packet) -> bool {
        self.packets += 1;
        let flow = &mut self.flows[packet.flow as usize];
        flow.data.arrived += 1;
        match &mut flow.kind {
            Kind::Cbr(cbr) => {
                let answers = cbr.on_data(at, packet.seq);
                if answers {
                    packet.flags |= ACK;
                    (packet.hop, packet.handle) = (flow.ack_route, 0);
                    flow.acks.sent += 1;
                }
                answers
            }
            Kind::Tcp(tcp) => {
                let answers = tcp.on_data(at, packet, flow.ack_route, &mut self.carried);
                flow.acks.sent += u64::from(answers);
                if RECORDED {
                    let delivered = tcp.receiver.delivered();
                    self.recorder.received(self.now, at, packet.flow as usize, delivered);
                }
                answers
            }
        }
    }

    /// [`Network::receive`] for a batch of packets. The acknowledgements stay in it.
    pub(super) fn receive_all<const RECORDED: bool>(&mut self, batch: &mut Vec<InFlight>) {
        let Some(first) = batch.first().map(|of| of.packet.flow) else { return };
        let Self { flows, carried, recorder, now, .. } = self;
        let flow = &mut flows[first as usize];
        let Kind::Tcp(tcp) = &mut flow.kind else { return self.receive_each::<RECORDED>(batch) };
        if batch.iter().any(|of| of.packet.flow != first) {
            return self.receive_each::<RECORDED>(batch);
        }
        self.packets += batch.len() as u64;
        flow.data.arrived += batch.len() as u64;
        let row = if RECORDED { 0 } else { tcp.answer_row(batch, first, flow.ack_route) };
        keep_after(row, batch, |of| {
            let answers = tcp.on_data(of.at, &mut of.packet, flow.ack_route, carried);
            if RECORDED {
                recorder.received(*now, of.at, first as usize, tcp.receiver.delivered());
            }
            answers
        });
        flow.acks.sent += batch.len() as u64;
    }

    /// The same with packets of several flows, or without connections.
    #[inline(never)]
    fn receive_each<const RECORDED: bool>(&mut self, batch: &mut Vec<InFlight>) {
        keep_if(batch, |of| self.receive::<RECORDED>(of.at, &mut of.packet));
    }

    /// The class of a packet at direction `i`, by which its queue places it.
    pub(super) fn class(&self, i: usize, packet: &Packet) -> Class {
        let number = 2 * packet.flow as usize + usize::from(packet.has(ACK));
        self.classes.get(i).and_then(|classes| classes.get(number)).copied().unwrap_or_default()
    }

    /// A packet is lost at `at`. `brought`: the entity that has brought it there; `None` if it has just left
    /// its host.
    pub(super) fn lose(&mut self, at: Time, brought: Option<u32>, packet: &Packet) {
        if let Some(tap) = &mut self.tap {
            tap.loses(at, brought, packet);
        }
        if let Some(missing) = self.flows[packet.flow as usize].missing(packet) {
            missing.dropped += 1;
        }
    }

    /// A packet is at a node of the constellation from which it can go nowhere.
    #[cold]
    pub(super) fn turn_away(&mut self, packet: &Packet) {
        self.forwarding.iter_mut().for_each(|of| of.turn_away(packet.flow));
        self.lose(self.now, None, packet);
        self.carried.free(packet.handle);
    }

    /// Removes from the books of the flows the losses of direction `i` that come after the end of the run:
    /// these packets are still inside.
    fn keep_doomed(&mut self, i: usize, end: Time) {
        self.directions[i].dropped(end);
        for packet in self.directions[i].doomed() {
            if let Some(missing) = self.flows[packet.flow as usize].missing(packet) {
                missing.dropped -= 1;
            }
        }
    }

    /// Loses the packets that direction `i` has given up since the last call. `brought` brings another packet
    /// at `at`.
    pub(super) fn lose_doomed(&mut self, i: usize, at: Time, brought: Option<u32>) {
        while let Some((packet, fate)) = self.directions[i].take_doomed() {
            self.lose(at, brought, &packet);
            if fate == Fate::Dropped {
                self.carried.free(packet.handle);
            }
        }
    }

    /// Will the next look count what the run keeps?
    #[inline]
    pub(super) fn is_about_to_count(&self) -> bool {
        (self.looks + 1).is_multiple_of(LOOKS_PER_COUNT)
    }

    /// Checks the run when `share` of it is over: memory, rows, and whether the caller wants to continue.
    /// Returns false if the run must end because it keeps too much; [`Network::finish`] reports that.
    pub(super) fn look(&mut self, share: f64, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_PER_COUNT) && !self.count()? {
            return Ok(false);
        }
        if watch(share) { Ok(true) } else { Err(RunError::Interrupted) }
    }

    /// The packets in the air of a constellation.
    pub(super) fn flying(&self) -> u64 {
        self.flying + self.airs.iter().map(|air| air.offered - air.delivered).sum::<u64>()
    }

    /// Counts what the run keeps. Returns false if it is too much.
    fn count(&mut self) -> Result<bool, RunError> {
        let mut rows = self.recorder.rows();
        if let Some(tap) = &mut self.tap {
            tap.check()?;
            rows += tap.rows();
        }
        let (most, flying) = (self.recorder.most, self.flying());
        if rows > most {
            return Err(RunError::Rows { most });
        }
        Ok(!self.memory.is_exceeded(&self.flows, &mut self.directions, flying))
    }

    /// The run is over: balances the books and writes the report.
    pub(super) fn finish(mut self, plan: &Plan) -> Result<Outcome, RunError> {
        let flying = self.flying();
        self.memory.check(plan, &self.flows, &mut self.directions, flying)?;
        let end = self.end;
        let segments = self.tap.as_mut().map(|tap| tap.finish()).transpose()?.unwrap_or_default();
        for i in 0..self.directions.len() {
            self.directions[i].catch_up(end);
            self.lose_doomed(i, end, None);
            self.keep_doomed(i, end);
        }
        let law = |Breach { law, numbers }| RunError::Law { law, numbers, seed: plan.seed };
        audit::check(plan, end, (&mut self.directions, &self.airs), &self.flows).map_err(law)?;
        audit::connections(end, &self.connections, &self.flows).map_err(law)?;
        let ReportRows { reports: flows, first, transfers } =
            connections::report(plan, &mut self.flows, &self.connections, end);
        let links = plan.directions().zip(&mut self.directions).map(|((id, of), direction)| {
            LinkReport::of(direction, &plan.links[id.link()].name, id.way(), of.rate_bps, end)
        });
        let mut links: Vec<LinkReport> = links.collect();
        let directions = self.directions[links.len()..].iter_mut().zip(&self.airs);
        let used = directions.zip(plan.ports()).filter(|((direction, _), _)| direction.offered() > 0);
        links.extend(used.map(|((direction, air), (network, port))| {
            let rate_bps = network.of(port).rate_bps;
            let mut report = LinkReport::of(direction, &network.name_of(port), "forward", rate_bps, end);
            report.delivered_packets -= air.lost;
            report.dropped_error += air.lost;
            report
        }));
        for id in plan.flows.iter().flat_map(|flow| &*flow.path) {
            links[id.index()].data_flows += 1;
        }
        let unrouted = |i| self.forwarding.as_ref().map_or(0, |of| of.unrouted(i));
        let silent =
            warnings::silent(plan, (&flows, &first), &links, (|i| self.flows[i].is_connecting(), unrouted));
        let open = warnings::unfinished(plan, &flows, &first);
        let thinned = warnings::thinned(plan, &links);
        let network_flows = self.network_flows(plan);
        let report = Report {
            schema: SCHEMA,
            seed: plan.seed,
            simulated_s: end.secs(),
            wall_s: 0.0,
            packets: self.packets,
            flows,
            links,
            network_flows,
            warnings: plan.warnings.iter().cloned().chain(silent).chain(open).chain(thinned).collect(),
        };
        let (flows, links, ports, probes) = self.recorder.finish();
        drop(self.flows); // which are the most that a run keeps, before the names are copied
        let names = plan.flows.iter().map(|flow| flow.name.clone()).collect();
        Ok(Outcome { report, names, flows, links, ports, probes, segments, transfers })
    }

    /// How the constellation has treated the flows.
    fn network_flows(&self, plan: &Plan) -> Vec<NetworkFlowReport> {
        let (Some(network), Some(forwarding)) = (&plan.network, &self.forwarding) else { return Vec::new() };
        let of = &network.constellation;
        let own = || plan.flows.iter().enumerate().filter(|(_, flow)| flow.opened_by.is_none());
        let pairs =
            own().filter_map(|(_, flow)| flow.stations).flat_map(|[from, to]| [[from, to], [to, from]]);
        let (changes, table) = (of.path_changes(pairs), NextHops::first(of));
        let report = |(f, flow): (usize, &FlowPlan)| {
            let ends = flow.stations?;
            let [from, to] = ends.map(|station| of.stations[station as usize].clone());
            let state = &self.flows[f];
            let acked_bytes = state.tcp().map_or(0, Tcp::acked_bytes);
            let life = state.life_ends(self.end).since(state.start).secs();
            let both = [ends, [ends[1], ends[0]]].into_iter().filter_map(|pair| changes.get(&pair)).flatten();
            Some(NetworkFlowReport {
                flow: flow.name.clone(),
                from,
                to,
                base_rtt_s: table.round_trip(ends).map(Span::secs),
                path_changes: both.filter(|at| **at <= self.end).collect::<BTreeSet<_>>().len() as u64,
                unrouted_packets: forwarding.unrouted(f),
                acked_bytes,
                acked_goodput_bps: if life > 0.0 { acked_bytes as f64 * 8.0 / life } else { 0.0 },
            })
        };
        own().filter_map(report).collect()
    }
}

/// The ends of one flow.
fn host(plan: &Plan, flow: &FlowPlan, supply: &mut Supply<'_>) -> Result<FlowState, RunError> {
    let cc = match &*flow.source {
        Source::Cbr(_) => None,
        Source::Tcp { cc, options, .. } => {
            let built = build(cc, &flow.name, options, supply);
            Some(built.map_err(|why| RunError::Controller { flow: flow.name.clone(), why })?)
        }
    };
    Ok(FlowState::new(flow, plan.seed, flow.drawn_start(plan.seed), cc))
}

fn build(
    cc: &CcPlan,
    flow: &str,
    options: &Options,
    supply: &mut Supply<'_>,
) -> Result<Box<dyn Controller>, String> {
    let start = Start {
        mss: options.mss,
        initial_window: options.initial_window,
        initial_ssthresh: options.initial_ssthresh,
    };
    match cc {
        CcPlan::Registered { id, args } => registry::build(id, args, start).map_err(|e| e.to_string()),
        CcPlan::Supplied { key } => supply(key, flow, start),
    }
}
