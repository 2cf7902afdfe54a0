//! The event loop.
//!
//! The queue of events holds one entry for each link that carries packets (the arrival at its head), one for each armed
//! timer, and the recorder's tick: never one per packet. Events at the same instant are taken in the order of their
//! numbers (links first, in order of name), so the order does not depend on who was inserted when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use bentpipe_cc::registry;
use bentpipe_cc::{Controller, Start, Time};
use bentpipe_tcp::{AckSegment, Options};

use crate::flow::{Flow, Kind, NEVER};
use crate::link::{Link, Passed, Pushed};
use crate::packet::{ACK, CONTROL, LOST, Packet, SackStore};
use crate::pcap::{self, Capture};
use crate::plan::{CcPlan, Plan, Source};
use crate::random::Stream;
use crate::recorder::Recorder;
use crate::report::{LinkReport, Outcome, Report, SCHEMA, SegmentTrace};
use crate::tap::Tap;

/// Ends a route.
const END: u32 = u32::MAX;
/// How many events pass between two looks at the caller's wish to go on.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The caller wanted it to stop.
    #[error("the run was interrupted")]
    Interrupted,
    /// A controller could not be built.
    #[error("flow {flow}: {why}")]
    Controller {
        /// Name of the flow.
        flow: String,
        /// What is wrong.
        why: String,
    },
    /// Packets could not be captured.
    #[error(transparent)]
    Capture(#[from] pcap::Error),
}

/// Builds the controllers of [`CcPlan::Supplied`]: given the key and how the connection starts.
pub type Supply<'a> = dyn FnMut(&str, Start) -> Result<Box<dyn Controller>, String> + 'a;

/// Told the share of simulated time that has passed, now and then; false stops the run.
pub type Watch<'a> = dyn FnMut(f64) -> bool + 'a;

/// Runs `plan` to its end.
///
/// # Errors
/// A controller that cannot be built, or `watch` returning false.
pub fn run(plan: &Plan, supply: &mut Supply<'_>, watch: &mut Watch<'_>) -> Result<Outcome, RunError> {
    run_captured(plan, None, supply, watch)
}

/// As [`run`], and writes the packets to a file, if that is asked for.
///
/// # Errors
/// As for [`run`], and a capture that is not possible; then nothing is left of its file.
pub fn run_captured(
    plan: &Plan,
    capture: Option<&Capture>,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, RunError> {
    let mut engine = Engine::new(plan, Tap::new(plan, capture)?, supply)?;
    engine.run(watch)?;
    if capture.is_some() && !watch(1.0) {
        return Err(RunError::Interrupted); // a controller may have failed since the last look
    }
    let segments = engine.tap.as_mut().map_or(Ok(SegmentTrace::default()), |tap| tap.finish())?;
    Ok(Outcome { segments, ..engine.finish(plan) })
}

/// A [`Supply`] for plans that use only registered controllers.
pub fn no_supply(key: &str, _start: Start) -> Result<Box<dyn Controller>, String> {
    Err(format!("no controller was supplied under the name {key:?}"))
}

#[derive(Debug)]
struct Engine {
    now: Time,
    end: Time,
    events: BinaryHeap<Reverse<u128>>,
    links: Vec<Link>,
    /// Links of the scenario, both directions; those behind are private delays of flows.
    public_links: usize,
    routes: Vec<u32>,
    roles: Vec<Role>,
    flows: Vec<Flow>,
    sacks: SackStore,
    recorder: Recorder,
    tap: Option<Box<Tap>>,
    packets: u64,
}

/// What becomes of a packet that a link takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Its arrival at the far end is known, and an event.
    Holds,
    /// All packets go on to one other link that no one else feeds. They need no event: what happens at the next link
    /// follows, in order, from what happens here.
    HandsOn,
    /// It waits until the transmitter chooses it.
    Decides,
}

/// What an event's number stands for.
enum Event {
    Link(usize),
    Sender(usize),
    Receiver(usize),
    Stop(usize),
    Tick,
}

impl Engine {
    fn new(plan: &Plan, tap: Option<Box<Tap>>, supply: &mut Supply<'_>) -> Result<Self, RunError> {
        let mut links = Vec::with_capacity(2 * plan.links.len());
        for link in &plan.links {
            for (channel, direction) in [(&link.forward, "forward"), (&link.reverse, "reverse")] {
                let name = format!("link/{}/{direction}", link.name);
                links.push(Link::new(channel, plan.seed, &name, &plan.flows));
            }
        }
        let mut engine = Self {
            now: Time(0),
            end: Time(plan.duration.0),
            events: BinaryHeap::new(),
            public_links: links.len(),
            links,
            routes: Vec::new(),
            roles: Vec::new(),
            flows: Vec::with_capacity(plan.flows.len()),
            sacks: SackStore::default(),
            recorder: Recorder::new(plan),
            tap,
            packets: 0,
        };
        for flow_plan in &plan.flows {
            let mut jitter = Stream::new(plan.seed, &format!("flow/{}/start", flow_plan.name));
            let part = (jitter.uniform() * flow_plan.start_jitter.0 as f64) as u64;
            let start = Time(flow_plan.start.0.saturating_add(part));
            let cc = match &flow_plan.source {
                Source::Cbr { .. } => None,
                Source::Tcp { cc, options, .. } => {
                    let built = build(cc, options, supply);
                    Some(built.map_err(|why| RunError::Controller { flow: flow_plan.name.clone(), why })?)
                }
            };
            let mut flow = Flow::new(flow_plan, start, cc);
            let private = (flow_plan.extra_delay.0 > 0).then(|| {
                engine
                    .links
                    .extend([Link::private(flow_plan.extra_delay), Link::private(flow_plan.extra_delay)]);
                engine.links.len() - 2
            });
            let forward = private.into_iter().chain(flow_plan.path.iter().map(|l| 2 * l));
            flow.data_route = engine.add_route(forward);
            let back: Vec<usize> = match &flow_plan.ack_path {
                Some(links) => links.iter().map(|l| 2 * l).collect(),
                None => flow_plan.path.iter().rev().map(|l| 2 * l + 1).collect(),
            };
            let jitter = (flow_plan.ack_jitter.0 > 0).then(|| {
                let stream = Stream::new(plan.seed, &format!("flow/{}/ack-jitter", flow_plan.name));
                engine.links.push(Link::jitter(flow_plan.ack_jitter, stream));
                engine.links.len() - 1
            });
            let back = jitter.into_iter().chain(back).chain(private.map(|p| p + 1));
            flow.ack_route = engine.add_route(back);
            engine.flows.push(flow);
        }
        let seen_between_links = plan.record.is_some_and(|r| r.links) || engine.tap.is_some();
        let chained = chained(&engine.routes, engine.links.len());
        let role = |(link, chained): (&Link, bool)| match (link.decides_at_departure(), chained) {
            (true, _) => Role::Decides,
            (false, true) if !seen_between_links => Role::HandsOn,
            (false, _) => Role::Holds,
        };
        engine.roles = engine.links.iter().zip(chained).map(role).collect();
        for flow in 0..engine.flows.len() {
            engine.arm_sender(flow, engine.flows[flow].start);
            if engine.flows[flow].stop < NEVER {
                engine.schedule(engine.flows[flow].stop, engine.number(&Event::Stop(flow)));
            }
        }
        if let Some(first) = engine.recorder.first_tick() {
            engine.schedule(first, engine.number(&Event::Tick));
        }
        Ok(engine)
    }

    fn add_route(&mut self, hops: impl Iterator<Item = usize>) -> u32 {
        let first = self.routes.len() as u32;
        self.routes.extend(hops.map(|h| h as u32));
        self.routes.push(END);
        first
    }

    fn number(&self, event: &Event) -> u64 {
        let (links, flows) = (self.links.len(), self.flows.len());
        (match *event {
            Event::Link(i) => i,
            Event::Sender(i) => links + i,
            Event::Receiver(i) => links + flows + i,
            Event::Stop(i) => links + 2 * flows + i,
            Event::Tick => links + 3 * flows,
        }) as u64
    }

    fn event(&self, number: u64) -> Event {
        let (links, flows, i) = (self.links.len(), self.flows.len(), number as usize);
        match i {
            _ if i < links => Event::Link(i),
            _ if i < links + flows => Event::Sender(i - links),
            _ if i < links + 2 * flows => Event::Receiver(i - links - flows),
            _ if i < links + 3 * flows => Event::Stop(i - links - 2 * flows),
            _ => Event::Tick,
        }
    }

    fn schedule(&mut self, at: Time, number: u64) {
        self.events.push(Reverse(key(at, number)));
    }

    fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), RunError> {
        let mut until_look = EVENTS_PER_LOOK;
        while let Some(top) = self.events.peek() {
            let (at, number) = (Time((top.0 >> 64) as u64), top.0 as u64);
            if at > self.end {
                break;
            }
            self.now = at;
            if (number as usize) < self.links.len() {
                self.on_arrival(number as usize);
            } else {
                self.events.pop();
                self.on_timer(at, number);
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = EVENTS_PER_LOOK;
                self.tap.as_mut().map_or(Ok(()), |tap| tap.check())?;
                if !watch(at.secs() / self.end.secs()) {
                    return Err(RunError::Interrupted);
                }
            }
        }
        self.now = self.end;
        Ok(())
    }

    /// The head of link `i` arrives at the far end.
    fn on_arrival(&mut self, i: usize) {
        let mut packet = self.links[i].pop();
        // The link's next arrival takes the place of this one at the top of the queue, or its entry goes.
        if let Some(mut top) = self.events.peek_mut() {
            match self.links[i].next() {
                Some(next) => *top = Reverse(key(next, i as u64)),
                None => match self.links[i].refill(self.now) {
                    Some(next) => *top = Reverse(key(next, i as u64)),
                    None => drop(PeekMut::pop(top)),
                },
            }
        }
        if packet.has(LOST) {
            self.sacks.take(packet.sack);
            return;
        }
        packet.hop += 1;
        if self.routes[packet.hop as usize] != END {
            return self.forward(packet);
        }
        if let Some(tap) = &mut self.tap {
            tap.arrives(self.now, &packet, &mut self.sacks);
        }
        if packet.has(CONTROL) {
            self.on_control(packet);
        } else if packet.has(ACK) {
            self.on_ack(packet);
        } else {
            self.on_data(packet);
        }
    }

    /// A packet leaves its host.
    #[inline]
    fn depart(&mut self, packet: Packet) {
        if self.tap.is_some() {
            return self.depart_seen(packet);
        }
        self.forward(packet);
    }

    #[cold]
    #[inline(never)]
    fn depart_seen(&mut self, mut packet: Packet) {
        if let Some(tap) = &mut self.tap {
            tap.departs(self.now, &mut packet, &mut self.sacks);
        }
        self.forward(packet);
    }

    /// Offers a packet to the link of its present hop, and to those behind it while they hand on by themselves.
    fn forward(&mut self, mut packet: Packet) {
        let mut at = self.now;
        loop {
            let i = self.routes[packet.hop as usize] as usize;
            match self.roles[i] {
                Role::HandsOn => match self.links[i].pass(at, &mut packet) {
                    Passed::Full | Passed::Lost => return self.dropped(&packet, true),
                    Passed::At(arrival) if arrival <= self.end => {
                        self.links[i].counts.delivered += 1;
                        packet.hop += 1;
                        at = arrival;
                    }
                    Passed::At(_) => return, // still under way when the run ends
                },
                Role::Holds => {
                    if let Some(tap) = &mut self.tap {
                        tap.enters(at, i, &packet, &self.sacks);
                    }
                    match self.links[i].push(at, packet) {
                        Pushed::Full => self.dropped(&packet, true),
                        Pushed::Taken { lost, first } => {
                            if first {
                                let next = self.links[i].next().unwrap_or(NEVER);
                                self.schedule(next, i as u64);
                            }
                            if lost {
                                self.dropped(&packet, false);
                            }
                        }
                    }
                    return;
                }
                Role::Decides => return self.offer(i, at, packet),
            }
        }
    }

    #[inline(never)]
    fn offer(&mut self, i: usize, at: Time, packet: Packet) {
        if let Some(tap) = &mut self.tap {
            tap.enters(at, i, &packet, &self.sacks);
        }
        if self.links[i].offer(at, packet) {
            let next = self.links[i].next().unwrap_or(NEVER);
            self.schedule(next, i as u64);
        }
        self.settle(i);
    }

    /// Tells flows of the packets that link `i` has decided against since the last time.
    fn settle(&mut self, i: usize) {
        while let Some(packet) = self.links[i].take_untold() {
            self.dropped(&packet, !packet.has(LOST));
        }
    }

    /// A packet will not arrive; `gone`: nothing of it is left in the network.
    fn dropped(&mut self, packet: &Packet, gone: bool) {
        if let Some(tap) = &mut self.tap {
            tap.loses(self.now, packet);
        }
        self.flows[packet.flow as usize].dropped += u64::from(!packet.has(ACK | CONTROL));
        if gone {
            self.sacks.take(packet.sack);
        }
    }

    fn on_data(&mut self, packet: Packet) {
        self.packets += 1;
        let f = packet.flow as usize;
        match &mut self.flows[f].kind {
            Kind::Cbr(cbr) => cbr.delivered(),
            Kind::Tcp(tcp) => {
                let ack = tcp.on_data(self.now, &packet);
                let deadline = tcp.receiver.deadline();
                if let Some(ack) = ack {
                    self.acknowledge(f, &ack);
                }
                if let Some(at) = deadline {
                    self.arm_receiver(f, at);
                }
            }
        }
    }

    fn acknowledge(&mut self, f: usize, ack: &AckSegment) {
        let hop = self.flows[f].ack_route;
        if let Kind::Tcp(tcp) = &self.flows[f].kind {
            let packet = tcp.ack_packet(ack, f as u32, hop, &mut self.sacks);
            self.depart(packet);
        }
    }

    fn on_ack(&mut self, packet: Packet) {
        let f = packet.flow as usize;
        if let Kind::Tcp(tcp) = &mut self.flows[f].kind {
            tcp.on_ack(self.now, &packet, &mut self.sacks);
            self.send(f);
        }
    }

    #[cold]
    #[inline(never)]
    fn on_control(&mut self, packet: Packet) {
        let f = packet.flow as usize;
        if let Kind::Tcp(tcp) = &mut self.flows[f].kind {
            tcp.on_control(self.now, &packet);
            if packet.has(ACK) { self.send(f) } else { self.answer(f) }
        }
    }

    /// Sends what the receiving end of flow `f` has to say of the connection and sets its timer.
    #[inline(never)]
    fn answer(&mut self, f: usize) {
        let hop = self.flows[f].ack_route;
        let Kind::Tcp(tcp) = &mut self.flows[f].kind else { return };
        let answer = tcp.answer(self.now, f as u32, hop);
        let deadline = tcp.receiver_deadline();
        if let Some(packet) = answer {
            self.depart(packet);
        }
        if let Some(at) = deadline {
            self.arm_receiver(f, at);
        }
    }

    /// Sends what the sender of flow `f` may send now and sets its timer.
    fn send(&mut self, f: usize) {
        let hop = self.flows[f].data_route;
        while let Kind::Tcp(tcp) = &mut self.flows[f].kind {
            if let Some(packet) = tcp.poll_end(self.now, f as u32, hop) {
                self.depart(packet);
                continue;
            }
            let Some(data) = tcp.poll(self.now) else {
                let deadline = tcp.deadline();
                self.recorder.on_change(self.now, f, tcp);
                if let Some(at) = deadline {
                    self.arm_sender(f, at);
                }
                break;
            };
            let packet = tcp.data_packet(&data, f as u32, hop);
            self.depart(packet);
        }
    }

    fn on_timer(&mut self, at: Time, number: u64) {
        match self.event(number) {
            Event::Tick => {
                if let Some(next) =
                    self.recorder.tick(self.now, &self.flows, &mut self.links[..self.public_links])
                {
                    self.schedule(next, number);
                }
            }
            Event::Stop(f) => {
                if let Kind::Tcp(tcp) = &mut self.flows[f].kind
                    && tcp.stop(self.now)
                {
                    self.send(f);
                }
            }
            Event::Sender(f) if self.flows[f].sender_armed == at => self.on_sender_timer(f),
            Event::Receiver(f) if self.flows[f].receiver_armed == at => self.on_receiver_timer(f),
            _ => {} // a timer that was moved
        }
    }

    fn on_sender_timer(&mut self, f: usize) {
        let now = self.now;
        let flow = &mut self.flows[f];
        flow.sender_armed = NEVER;
        match &mut flow.kind {
            Kind::Cbr(cbr) if now < flow.stop => {
                let packet =
                    Packet { flow: f as u32, hop: flow.data_route, size: cbr.size, ..Packet::default() };
                cbr.send();
                let due = cbr.due();
                self.depart(packet);
                self.arm_sender(f, due);
            }
            Kind::Cbr(_) => {}
            Kind::Tcp(tcp) => {
                if now == flow.start {
                    tcp.start(now);
                }
                tcp.on_deadline(now);
                self.send(f);
            }
        }
    }

    fn on_receiver_timer(&mut self, f: usize) {
        let now = self.now;
        self.flows[f].receiver_armed = NEVER;
        let Kind::Tcp(tcp) = &mut self.flows[f].kind else { return };
        if let Some(ack) = tcp.on_receiver_deadline(now) {
            self.acknowledge(f, &ack);
        }
        self.answer(f);
    }

    /// Makes sure that an entry for the sender's timer stands at `at` or before; later deadlines wait for that entry.
    fn arm_sender(&mut self, f: usize, at: Time) {
        if at < self.flows[f].sender_armed {
            self.flows[f].sender_armed = at;
            self.schedule(at, self.number(&Event::Sender(f)));
        }
    }

    fn arm_receiver(&mut self, f: usize, at: Time) {
        if at < self.flows[f].receiver_armed {
            self.flows[f].receiver_armed = at;
            self.schedule(at, self.number(&Event::Receiver(f)));
        }
    }

    fn finish(mut self, plan: &Plan) -> Outcome {
        let end = self.end;
        for i in 0..self.links.len() {
            if self.roles[i] == Role::Decides {
                self.links[i].catch_up(end);
                self.settle(i);
            }
        }
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
                queue_max_packets: link.counts.queue_max,
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
        Outcome { report, flows, links, segments: SegmentTrace::default() }
    }
}

/// Which links hand all their packets on to one other link that is fed by nobody else.
fn chained(routes: &[u32], links: usize) -> Vec<bool> {
    // Behind and before each link: nothing seen yet, always the same link, or several (or an end of a route).
    let several = END - 1;
    let (mut behind, mut before) = (vec![END; links], vec![END; links]);
    let meet = |side: &mut Vec<u32>, link: u32, other: u32| {
        let known = &mut side[link as usize];
        *known = if *known == END || *known == other { other } else { several };
    };
    for route in routes.split(|&hop| hop == END) {
        for (i, &link) in route.iter().enumerate() {
            meet(&mut before, link, if i == 0 { several } else { route[i - 1] });
            meet(&mut behind, link, route.get(i + 1).copied().unwrap_or(several));
        }
    }
    let hands_on = |i: usize| behind[i] < several && before[behind[i] as usize] == i as u32;
    (0..links).map(hands_on).collect()
}

fn key(at: Time, number: u64) -> u128 {
    u128::from(at.0) << 64 | u128::from(number)
}

fn cc_name(plan: &crate::plan::FlowPlan) -> &str {
    match &plan.source {
        Source::Cbr { .. } => "cbr",
        Source::Tcp { cc: CcPlan::Registered { id, .. }, .. } => id,
        Source::Tcp { cc: CcPlan::Supplied { key }, .. } => key,
    }
}

fn build(cc: &CcPlan, options: &Options, supply: &mut Supply<'_>) -> Result<Box<dyn Controller>, String> {
    let start = Start {
        mss: options.mss,
        initial_window: options.initial_window,
        initial_ssthresh: options.initial_ssthresh,
    };
    match cc {
        CcPlan::Registered { id, args } => registry::build(id, args, start).map_err(|e| e.to_string()),
        CcPlan::Supplied { key } => supply(key, start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    #[test]
    fn sack_blocks_of_dropped_acknowledgements_are_freed() {
        // Lossy data, and ACKs that queue at 30 kbit/s and are dropped there.
        for queue in [
            "kind = \"codel\", limit = \"20 packets\", target = \"5 ms\"",
            "kind = \"fq-codel\", limit = \"20 packets\"",
            "kind = \"pie\", limit = \"20 packets\", burst = \"0 s\"",
            "kind = \"priority\", limit = \"20 packets\"",
            "kind = \"drop-tail\", limit = \"20 packets\"",
        ] {
            let text = format!(
                "duration = \"60 s\"\n[link.x]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ {queue} }}\n\
                 loss = {{ kind = \"packet-error\", rate = 0.02 }}\n\
                 [link.x.reverse]\nrate = \"30 kbit/s\"\nloss = {{ kind = \"packet-error\", rate = 0.05 }}\n\
                 [[flow]]\ncc = \"cubic\"\npath = [\"x\"]\ncount = 4\ninitial_window = 50\n"
            );
            let plan = Scenario::from_toml(&text, "x.toml", &[]).and_then(|s| s.resolve()).unwrap();
            let mut engine = Engine::new(&plan, None, &mut no_supply).unwrap();
            engine.run(&mut |_| true).unwrap();
            let back = engine.links[1].counts;
            assert!(back.dropped_queue > 20 && back.dropped_error > 20, "{queue}: {back:?}");
            // What is still taken belongs to ACKs under way or waiting, of which there are few.
            let taken = engine.sacks.taken();
            assert!(taken <= 20 + 10, "{queue}: {taken}");
        }
    }
}
