//! The event loop.
//!
//! The queue of events holds one entry for each link that carries packets (the arrival at its head), one for each armed
//! timer, and the recorder's tick: never one per packet. Events at the same instant are taken in the order of their
//! numbers (links first, in order of name), so the order does not depend on who was inserted when.

mod agenda;
pub(crate) mod audit;
mod classes;
mod ending;
mod folding;
mod foretold;
mod hosts;
mod kept;
pub(crate) mod many;
mod passage;
mod places;
mod private;
mod timers;

use bentpipe_cc::registry;
use bentpipe_cc::{Controller, Start, Time};
use bentpipe_tcp::{MAX_OUTSTANDING, Options};

use crate::capture::pcap::{self, Capture};
use crate::capture::tap::Tap;
use crate::host::flow::{Flow, NEVER};
use crate::link::direction::{Fate, Link};
use crate::link::packet::{ACK, CONTROL, LOST, Packet, SackStore};
use crate::link::random::Stream;
use crate::queue::Class;
use crate::record::recorder::Recorder;
use crate::record::report::{Outcome, SegmentTrace};
use crate::resolve::plan::{CcPlan, Plan, Source};
use agenda::Agenda;
use folding::{END, Hop, Role};
use foretold::{LINKS, NOTHING, RECEIVERS};
use kept::Kept;
use passage::Passage;
use places::Places;
use private::Private;
use timers::Event;

/// How many events pass between two calls of a [`Watch`].
pub const EVENTS_PER_LOOK: u64 = 1 << 16;

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
    /// What is recorded would fill the memory.
    #[error("the run records more than {most} rows; choose a longer interval, a shorter run, or record less")]
    Rows {
        /// Most rows of a run.
        most: u64,
    },
    /// Packets under way and segments outstanding would fill the memory.
    #[error(
        "the run takes too much memory: it keeps {kept} packets and outstanding segments, {who}; a run may keep {most}, and a flow have \
         {MAX_OUTSTANDING} outstanding; give flows a receive_window, such as \"100000 segments\", or links shorter queues"
    )]
    Kept {
        /// Packets on links, and segments for which senders have taken memory.
        kept: u64,
        /// Most of a run.
        most: u64,
        /// Which flow or link keeps most of them, and how many.
        who: String,
    },
    /// A law that holds in every run was broken: a bug of the simulator.
    #[error("bug in bentpipe: {law}; {numbers} (seed {seed}). Please report it with the scenario")]
    Law {
        /// What ought to hold.
        law: &'static str,
        /// Where it does not, and by which numbers.
        numbers: String,
        /// Seed of the run.
        seed: u64,
    },
}

/// Builds the controllers of [`CcPlan::Supplied`]: given the key and how the connection starts.
pub type Supply<'a> = dyn FnMut(&str, Start) -> Result<Box<dyn Controller>, String> + 'a;

/// Told the share of simulated time that has passed, once in [`EVENTS_PER_LOOK`] events; false stops the run.
pub type Watch<'a> = dyn FnMut(f64) -> bool + 'a;

/// Runs `plan` to its end.
///
/// # Errors
/// A controller that cannot be built, `watch` returning false, or a law broken by a bug.
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
    work(plan, capture, Effort::Least, supply, watch)
}

/// As [`run`], without any short cut: every packet is an event at every link. It exists to be compared with.
///
/// # Errors
/// As for [`run`].
#[doc(hidden)]
pub fn run_plainly(plan: &Plan, supply: &mut Supply<'_>, watch: &mut Watch<'_>) -> Result<Outcome, RunError> {
    work(plan, None, Effort::Plain, supply, watch)
}

fn work(
    plan: &Plan,
    capture: Option<&Capture>,
    effort: Effort,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Outcome, RunError> {
    let mut engine = Engine::new(plan, Tap::new(plan, capture)?, effort, supply)?;
    engine.run(watch)?;
    engine.check_kept(plan)?;
    if capture.is_some() && !watch(1.0) {
        return Err(RunError::Interrupted); // a controller may have failed since the last look
    }
    let segments = engine.tap.as_mut().map_or(Ok(SegmentTrace::default()), |tap| tap.finish())?;
    Ok(Outcome { segments, ..engine.finish(plan)? })
}

/// A [`Supply`] for plans that use only registered controllers.
pub fn no_supply(key: &str, _start: Start) -> Result<Box<dyn Controller>, String> {
    Err(format!("no controller was supplied under the name {key:?}"))
}

/// How a run is worked out; its result is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// What follows from what is known is not an event.
    Least,
    Plain,
}

#[derive(Debug)]
struct Engine {
    now: Time,
    end: Time,
    seed: u64,
    events: Agenda,
    places: Places,
    links: Vec<Link>,
    /// Of packets on each link of the scenario whose queue sorts them by flow.
    classes: Vec<Box<[Class]>>,
    /// Links of the scenario, both directions; those behind are private delays of flows.
    public_links: usize,
    routes: Vec<Hop>,
    passages: Vec<Passage>,
    flows: Vec<Flow>,
    sacks: SackStore,
    recorder: Recorder,
    /// What of all that happens ahead of time the recorder has to be told: [`RECEIVERS`], [`LINKS`], both or nothing.
    told: u8,
    tap: Option<Box<Tap>>,
    packets: u64,
    kept: Kept,
}

impl Engine {
    fn new(
        plan: &Plan,
        tap: Option<Box<Tap>>,
        effort: Effort,
        supply: &mut Supply<'_>,
    ) -> Result<Self, RunError> {
        let mut links = Vec::with_capacity(2 * plan.links.len());
        let mut classes = Vec::with_capacity(2 * plan.links.len());
        for link in &plan.links {
            for (channel, direction) in [(&link.forward, "forward"), (&link.reverse, "reverse")] {
                let name = format!("link/{}/{direction}", link.name);
                links.push(Link::new(channel, links.len() as u32, plan.seed, &name));
                classes.push(classes::find(channel, plan.seed, &name, &plan.flows));
            }
        }
        let mut engine = Self {
            now: Time(0),
            end: Time(plan.duration.0),
            seed: plan.seed,
            events: Agenda::new(1, &[]),
            places: Places::one(),
            public_links: links.len(),
            links,
            classes,
            routes: Vec::new(),
            passages: Vec::new(),
            flows: Vec::with_capacity(plan.flows.len()),
            sacks: SackStore::default(),
            recorder: Recorder::new(plan),
            told: NOTHING,
            tap,
            packets: 0,
            kept: Kept::default(),
        };
        let mut private = Private::new(plan.seed, effort, engine.links.len() as u32);
        for (f, flow_plan) in plan.flows.iter().enumerate() {
            let mut jitter = Stream::new(plan.seed, &format!("flow/{}/start", flow_plan.name));
            let part = (jitter.uniform() * flow_plan.start_jitter.0 as f64) as u64;
            let start = Time(flow_plan.start.0.saturating_add(part));
            let cc = match &*flow_plan.source {
                Source::Cbr { .. } => None,
                Source::Tcp { cc, options, .. } => {
                    let built = build(cc, options, supply);
                    Some(built.map_err(|why| RunError::Controller { flow: flow_plan.name.clone(), why })?)
                }
            };
            let mut flow = Flow::new(flow_plan, start, cc);
            let own = private.links(f, flow_plan, &mut engine.links);
            let forward = own.there.into_iter().chain(flow_plan.path.iter().map(|l| 2 * l));
            flow.data_route = engine.add_route(forward);
            let back: Vec<usize> = match &flow_plan.ack_path {
                Some(links) => links.iter().map(|l| 2 * l).collect(),
                None => flow_plan.path.iter().rev().map(|l| 2 * l + 1).collect(),
            };
            let back = own.jitter.into_iter().chain(back).chain(own.back);
            flow.ack_route = engine.add_route(back);
            engine.flows.push(flow);
        }
        engine.fold(plan, effort);
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
        self.routes.extend(hops.map(Hop::new));
        self.routes.push(Hop::LAST);
        first
    }

    #[inline(always)]
    fn schedule(&mut self, at: Time, number: u64) {
        let place = self.place(number);
        self.events.push(place, at, number);
    }

    fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), RunError> {
        let (end, places) = (self.end, self.places.count);
        let mut until_look = EVENTS_PER_LOOK;
        loop {
            let first = self.events.earliest();
            if first > end {
                break;
            }
            let last = end.min(Time(first.0.saturating_add(self.places.apart.0 - 1)));
            for place in 0..places {
                // What happens between the two is done place by place.
                let spent = |now: Time| {
                    (last.since(first).secs() * place as f64 + now.since(first).secs()) / places as f64
                };
                let mut look = |now| watch((first.secs() + spent(now)) / end.secs());
                self.now = self.events.go_to(place, self.now);
                if !self.work_until(last, &mut until_look, &mut look)? {
                    return Ok(());
                }
            }
        }
        self.now = end;
        Ok(())
    }

    /// All that happens at the present place until `last`; `look` tells now and then how late it is. False if the run must end
    /// because of what it keeps.
    fn work_until(
        &mut self,
        last: Time,
        until_look: &mut u64,
        look: &mut dyn FnMut(Time) -> bool,
    ) -> Result<bool, RunError> {
        loop {
            let ((at, link), timer) = (self.events.arrival(), self.events.timer());
            let next = at.min(timer);
            if next > last {
                return Ok(true);
            }
            if next < self.now {
                return Err(self.back_in_time(next));
            }
            self.now = next;
            if timer < at {
                self.on_timer(timer);
            } else {
                self.on_arrival(link);
            }
            *until_look -= 1;
            if *until_look == 0 {
                *until_look = EVENTS_PER_LOOK;
                self.check_records()?;
                if self.keeps_too_much() {
                    return Ok(false);
                }
                if !look(next) {
                    return Err(RunError::Interrupted);
                }
            }
        }
    }

    /// The head of link `i` arrives at the far end.
    fn on_arrival(&mut self, i: usize) {
        // The link's next arrival takes the place of this one among the events, or its entry goes.
        let link = &mut self.links[i];
        let Some(mut packet) = link.pop() else { return };
        let next = link.next().or_else(|| link.refill(self.now));
        self.expect_here(i, next);
        if packet.has(LOST) {
            self.sacks.free(packet.sack);
            return;
        }
        packet.hop += 1;
        if self.routes[packet.hop as usize].link != END {
            return self.go_further(&mut packet);
        }
        if let Some(tap) = &mut self.tap {
            let entity = self.links[i].entity_of(packet.flow);
            tap.arrives(self.now, entity, &packet, &mut self.sacks);
        }
        if packet.has(CONTROL) {
            self.on_control(&packet);
        } else if packet.has(ACK) {
            self.on_ack(&packet);
        } else {
            self.on_data(&mut packet);
        }
    }

    /// A packet leaves its host.
    #[inline]
    fn depart(&mut self, packet: &mut Packet) {
        if self.told != NOTHING || self.tap.is_some() {
            return self.depart_seen(packet);
        }
        self.forward::<NOTHING>(packet);
    }

    #[inline(never)]
    fn depart_seen(&mut self, packet: &mut Packet) {
        if let Some(tap) = &mut self.tap {
            tap.departs(self.now, packet, &mut self.sacks);
        }
        self.go_further(packet);
    }

    /// Offers a packet to the link of its present hop, and goes on with it for as long as that needs no event: then it is the
    /// acknowledgement. In place, as a copy would be read wider than it has just been written, for which the processor waits.
    /// `TOLD` is [`Engine::told`].
    fn forward<const TOLD: u8>(&mut self, packet: &mut Packet) {
        let (mut at, mut at_hop) = (self.now, packet.hop);
        loop {
            let Hop { mut link, mut role, passage } = self.routes[at_hop as usize];
            let mut passes = false;
            let number = passage as usize;
            if let Some(passage) = self.passages.get_mut(number) {
                let then = Time(at.0.saturating_add(passage.time));
                // What is of another size, or arrives after the end, goes link by link.
                passes = packet.size == passage.size && then <= self.end;
                if passes {
                    if TOLD & LINKS != 0 {
                        self.recorder.passes(at, number);
                    }
                    passage.count += 1;
                    (at, at_hop, link, role) = (then, passage.last, passage.link, passage.role);
                }
            }
            let i = link as usize;
            if passes {
                if role == Role::Holds {
                    if self.links[i].keep(at, at_hop, packet) {
                        self.expect_first(i, at);
                    }
                    return;
                }
            } else if role >= Role::Decides {
                packet.hop = at_hop;
                return self.offer(role, i, at, packet);
            } else {
                let link = &mut self.links[i];
                if TOLD & LINKS != 0 {
                    self.recorder.offered(at, i, link);
                }
                let Fate::Arrives(arrival) = link.admit(at, packet) else {
                    return self.dropped(at, self.brought(packet, at_hop), packet, true);
                };
                at = arrival;
                if role == Role::Holds {
                    if link.keep(at, at_hop, packet) {
                        self.expect_first(i, at);
                    }
                    return;
                }
                if at > self.end {
                    return self.beyond(i, packet);
                }
                if TOLD & LINKS != 0 {
                    self.recorder.handed_on(at, i);
                }
                link.counts.delivered += 1;
            }
            if role == Role::HandsOn {
                at_hop += 1;
                continue;
            }
            let answers = self.receive(at, packet);
            if TOLD & RECEIVERS != 0 {
                self.tell_receiver(at, packet.flow as usize);
            }
            if !answers {
                return;
            }
            at_hop = packet.hop;
        }
    }

    /// Offers a packet to a link that decides at departure, or where it is seen.
    #[inline(never)]
    fn offer(&mut self, role: Role, i: usize, at: Time, packet: &mut Packet) {
        if let Some(tap) = &mut self.tap {
            tap.enters(at, i, packet, &self.sacks);
        }
        let link = &mut self.links[i];
        if self.told & LINKS != 0 {
            self.recorder.offered(at, i, link);
        }
        if role == Role::Decides {
            let number = 2 * packet.flow as usize + usize::from(packet.has(ACK));
            let class = self.classes[i].get(number).copied().unwrap_or_default();
            if link.offer(at, *packet, class) {
                let next = link.next();
                self.events.expect(i, next);
            }
            return self.settle(i, at, self.brought(packet, packet.hop));
        }
        match link.admit(at, packet) {
            Fate::Arrives(arrival) if link.keep(arrival, packet.hop, packet) => self.expect_first(i, arrival),
            Fate::Arrives(_) => {}
            Fate::Dropped | Fate::Lost(_) => self.dropped(at, self.brought(packet, packet.hop), packet, true),
        }
    }

    /// Tells flows of the packets that link `i` has decided against since the last time, when `by` brings another at `at`.
    fn settle(&mut self, i: usize, at: Time, by: Option<u32>) {
        while let Some(packet) = self.links[i].take_untold() {
            self.dropped(at, by, &packet, !packet.has(LOST));
        }
    }

    /// The entity that has brought a packet to hop `hop`; `None` if it sets out there.
    fn brought(&self, packet: &Packet, hop: u32) -> Option<u32> {
        let flow = &self.flows[packet.flow as usize];
        let sets_out = hop == flow.data_route || hop == flow.ack_route;
        (!sets_out).then(|| self.links[self.routes[hop as usize - 1].link as usize].entity_of(packet.flow))
    }

    /// A packet that `by` has brought at `at` will not arrive; `gone`: nothing of it is left in the network.
    fn dropped(&mut self, at: Time, by: Option<u32>, packet: &Packet, gone: bool) {
        if let Some(tap) = &mut self.tap {
            tap.loses(at, by, packet);
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.missing_data.dropped += u64::from(!packet.has(ACK | CONTROL));
        flow.missing_acks.dropped += u64::from(packet.has(ACK) && !packet.has(CONTROL));
        if gone {
            self.sacks.free(packet.sack);
        }
    }

    /// The packet that link `i` has handed on will arrive after the end of the run.
    #[cold]
    fn beyond(&mut self, i: usize, packet: &Packet) {
        self.links[i].counts.beyond += 1;
        if !packet.has(CONTROL) {
            let flow = &mut self.flows[packet.flow as usize];
            let missing = if packet.has(ACK) { &mut flow.missing_acks } else { &mut flow.missing_data };
            missing.beyond += 1;
        }
    }

    #[cold]
    fn back_in_time(&self, at: Time) -> RunError {
        let numbers = format!("{} ns after {} ns", at.0, self.now.0);
        RunError::Law { law: "time never goes back", numbers, seed: self.seed }
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
mod tests;
