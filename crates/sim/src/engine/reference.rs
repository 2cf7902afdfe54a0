//! The reference loop: what a run means.
//!
//! Every packet is an event at every direction that it crosses. It is pushed where it enters, and an event is due when the direction says
//! that a packet comes out. Every timer is an event. [`Event`] gives the order: by time, and of one instant arrivals first, by entity. So a
//! fixed number breaks a tie, and not who was scheduled first.
//!
//! This loop takes no short cut and needs no promise. It works out the runs for which the fast path is not eligible. It is the oracle with
//! which the fast path is compared, bit for bit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bentpipe_cc::Time;

use crate::engine::error::RunError;
use crate::engine::network::{EVENTS_PER_LOOK, Network, Watch};
use crate::host::flow::{Kind, NEVER};
use crate::link::direction::{Direction, Fate, Push};
use crate::link::packet::{ACK, CONTROL, Packet};
use crate::link::random::Stream;
use crate::record::recorder::Cause;
use crate::resolve::plan::{DirectionId, FlowPlan, Plan};

/// The events of one instant, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet comes out of a direction. Entities are the directions of the scenario, then three a flow: its access delay there, the one
    /// back, and the random delay of its acknowledgements.
    Arrival { entity: u32, direction: u32 },
    /// The timer of a sender, by its flow.
    Sender(u32),
    /// The timer of a receiver.
    Receiver(u32),
    /// The application of a flow stops.
    Stop(u32),
    /// The host of a sender learns that the path changes hands.
    Hint(u32),
    /// The recorder takes a sample.
    Tick,
}

/// A run in progress.
#[derive(Debug)]
pub(super) struct Reference {
    network: Network,
    now: Time,
    /// The earliest event is on top. An event that was moved keeps its old entry.
    events: BinaryHeap<Reverse<(Time, Event)>>,
    /// The entity of each direction, and the instant at which its event is due.
    arrivals: Vec<(u32, Option<Time>)>,
    /// The instants at which the timers of each flow's sender and receiver are due.
    timers: Vec<[Time; 2]>,
    /// The directions that each flow's data and acknowledgements cross.
    routes: Vec<[Vec<u32>; 2]>,
}

impl Reference {
    /// The run of `plan` before anything has happened.
    pub(super) fn new(plan: &Plan, mut network: Network) -> Self {
        let count = network.directions.len() as u32;
        let mut arrivals: Vec<_> = (0..count).map(|entity| (entity, None)).collect();
        let index = |id: &DirectionId| id.index() as u32;
        let mut add = |direction: Direction, entity: u32| {
            network.directions.push(direction);
            arrivals.push((entity, None));
            arrivals.len() as u32 - 1
        };
        let mut route = |(f, flow): (u32, &FlowPlan)| {
            let (mut there, mut back) = (Vec::new(), Vec::new());
            if flow.ack_jitter.0 > 0 {
                let stream = Stream::new(plan.seed, &format!("flow/{}/ack-jitter", flow.name));
                back.push(add(Direction::jitter(flow.ack_jitter, stream), count + 3 * f + 2));
            }
            let delayed = flow.extra_delay.0 > 0;
            there.extend(delayed.then(|| add(Direction::access_delay(flow.extra_delay), count + 3 * f)));
            there.extend(flow.path.iter().map(index));
            back.extend(flow.ack_path.iter().map(index));
            back.extend(delayed.then(|| add(Direction::access_delay(flow.extra_delay), count + 3 * f + 1)));
            [there, back]
        };
        let routes = (0..).zip(&plan.flows).map(&mut route).collect();
        let timers = vec![[NEVER; 2]; plan.flows.len()];
        let mut run = Self { network, now: Time(0), events: BinaryHeap::new(), arrivals, timers, routes };
        for f in 0..plan.flows.len() {
            run.arm_sender(f, run.network.flows[f].start);
            if run.network.flows[f].stop < NEVER {
                run.events.push(Reverse((run.network.flows[f].stop, Event::Stop(f as u32))));
            }
            run.expect_hint(f);
        }
        run.events.extend(run.network.recorder.first_tick().map(|first| Reverse((first, Event::Tick))));
        run
    }

    /// Works out all events until the end.
    ///
    /// # Errors
    /// The run was stopped, or breaks a bound.
    pub(super) fn run(mut self, watch: &mut Watch<'_>) -> Result<Network, RunError> {
        let end = self.network.end;
        let mut until_look = EVENTS_PER_LOOK;
        while let Some(Reverse((at, event))) = self.events.pop().filter(|&Reverse((at, _))| at <= end) {
            self.now = at;
            if let Some(tap) = &mut self.network.tap
                && !matches!(event, Event::Arrival { .. })
            {
                tap.expires();
            }
            match event {
                Event::Arrival { entity, direction } if self.is_due(direction) => {
                    self.on_arrival(entity, direction as usize);
                }
                Event::Sender(f) if self.comes_up(f, 0) => self.on_sender_timer(f as usize),
                Event::Receiver(f) if self.comes_up(f, 1) => self.on_receiver_timer(f as usize),
                Event::Arrival { .. } | Event::Sender(_) | Event::Receiver(_) => {} // it was moved
                Event::Stop(f) => self.on_stop(f as usize),
                Event::Hint(f) => self.on_hint(f as usize),
                Event::Tick => self.on_tick(),
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = EVENTS_PER_LOOK;
                if !self.network.look(at.secs() / end.secs(), watch)? {
                    break;
                }
            }
        }
        Ok(self.network)
    }

    /// A packet comes out of a direction.
    fn on_arrival(&mut self, entity: u32, direction: usize) {
        self.arrivals[direction].1 = None;
        let out = self.network.directions[direction].pop(self.now);
        self.expect(direction);
        let Some((mut packet, fate)) = out else { return };
        if fate != Fate::Delivered {
            return self.network.sacks.free(packet.handle);
        }
        packet.hop += 1;
        if (packet.hop as usize) < self.route(&packet).len() {
            return self.enter(packet, Some(entity));
        }
        if let Some(tap) = &mut self.network.tap {
            tap.arrives(self.now, entity, &packet, &mut self.network.sacks);
        }
        if packet.has(CONTROL) {
            self.on_control(&packet);
        } else if packet.has(ACK) {
            self.on_ack(&packet);
        } else {
            self.on_data(packet);
        }
    }

    fn route(&self, packet: &Packet) -> &[u32] {
        &self.routes[packet.flow as usize][usize::from(packet.has(ACK))]
    }

    /// A packet leaves its host.
    fn depart(&mut self, mut packet: Packet) {
        if let Some(tap) = &mut self.network.tap {
            tap.departs(self.now, &mut packet, &mut self.network.sacks);
        }
        self.enter(packet, None);
    }

    /// Offers a packet to the direction of its present hop. `brought`: the entity that has brought it; `None` if it leaves its host.
    fn enter(&mut self, packet: Packet, brought: Option<u32>) {
        let i = self.route(&packet)[packet.hop as usize] as usize;
        if let Some(tap) = &mut self.network.tap {
            tap.enters(self.now, i, &packet, &self.network.sacks);
        }
        let class = self.network.class(i, &packet);
        match self.network.directions[i].push(self.now, packet, class) {
            Push::Taken => {}
            Push::Lost => self.network.lose(self.now, brought, &packet),
            Push::Dropped(_) => {
                self.network.lose(self.now, brought, &packet);
                self.network.sacks.free(packet.handle);
            }
        }
        self.network.lose_doomed(i, self.now, brought);
        self.expect(i);
    }

    /// Schedules the event of direction `i` for the instant at which the direction says that a packet comes out.
    fn expect(&mut self, i: usize) {
        let next = self.network.directions[i].next();
        let (entity, due) = &mut self.arrivals[i];
        let event = Event::Arrival { entity: *entity, direction: i as u32 };
        if *due != next {
            self.events.extend(next.map(|at| Reverse((at, event))));
            *due = next;
        }
    }

    /// Is the event of a direction that comes up now the one scheduled last?
    fn is_due(&self, direction: u32) -> bool {
        self.arrivals[direction as usize].1 == Some(self.now)
    }

    fn on_data(&mut self, mut packet: Packet) {
        let f = packet.flow as usize;
        self.network.packets += 1;
        let flow = &mut self.network.flows[f];
        flow.data.arrived += 1;
        match &mut flow.kind {
            Kind::Cbr(cbr) => cbr.on_data(self.now),
            Kind::Tcp(tcp) => {
                let answers = tcp.on_data(self.now, &mut packet, 0, &mut self.network.sacks);
                let due = tcp.receiver_deadline();
                flow.acks.sent += u64::from(answers);
                self.network.receive_of_subflow(f, answers.then_some(&mut packet));
                if answers {
                    self.depart(packet);
                }
                self.arm_receiver(f, due);
                for other in self.network.hand_over(self.now, f, &packet) {
                    self.send(other, Cause::Arrival);
                    self.settle_both(f);
                }
            }
        }
    }

    fn on_ack(&mut self, packet: &Packet) {
        let f = packet.flow as usize;
        let flow = &mut self.network.flows[f];
        flow.acks.arrived += 1;
        if let Kind::Tcp(tcp) = &mut flow.kind {
            tcp.on_ack(self.now, packet, &mut self.network.sacks);
            self.network.on_data_ack(f, packet.handle);
            self.send(f, Cause::Arrival);
            if let Some(packet) = self.network.relay_room(self.now, f) {
                self.depart(packet);
            }
            self.settle_both(f);
        }
    }

    /// What is left to do for a connection whose both ends write, when the sender at the host where something of flow `f` has arrived has
    /// sent what it may send.
    fn settle_both(&mut self, f: usize) {
        if let Some(packet) = self.network.owed(self.now, f) {
            self.depart(packet);
        }
        if let Some(first) = self.network.close_both(f) {
            self.send(first, Cause::Arrival);
        }
    }

    /// A segment that opens or closes a connection arrives.
    fn on_control(&mut self, packet: &Packet) {
        let f = packet.flow as usize;
        if let Kind::Tcp(tcp) = &mut self.network.flows[f].kind {
            tcp.on_control(self.now, packet);
            if packet.has(ACK) {
                return self.send(f, Cause::Arrival);
            }
            self.answer(f);
            let second = self.network.relay_control(self.now, f, packet);
            if let Some(second) = second.or_else(|| self.network.open_both(self.now, f)) {
                self.send(second, Cause::Arrival);
            }
        }
    }

    /// Sends all that the sender of flow `f` may send now, because of `cause`, and sets its timer.
    fn send(&mut self, f: usize, cause: Cause) {
        if let Some(c) = self.network.connection_of(f) {
            return self.send_of_subflows(c, cause);
        }
        loop {
            let flow = &mut self.network.flows[f];
            let Kind::Tcp(tcp) = &mut flow.kind else { return };
            let mut packet = if let Some(control) = tcp.poll_end(self.now, f as u32, 0) {
                control
            } else if let Some(data) = tcp.poll(self.now) {
                flow.data.sent += 1;
                tcp.any_data_packet(&data, f as u32, 0, &mut self.network.sacks)
            } else {
                self.network.recorder.on_change(self.now, f, tcp, cause);
                let due = tcp.due();
                return self.arm_sender(f, due);
            };
            self.network.load(f, &mut packet);
            self.depart(packet);
        }
    }

    /// The same for all subflows of connection `c`.
    fn send_of_subflows(&mut self, c: usize, cause: Cause) {
        self.network.look_at_subflows(self.now, c);
        while let Some((_, packet)) = self.network.poll_connection(self.now, c) {
            self.depart(packet);
        }
        for f in self.network.settle_connection(self.now, c) {
            let Kind::Tcp(tcp) = &self.network.flows[f].kind else { continue };
            self.network.recorder.on_change(self.now, f, tcp, cause);
            let due = tcp.due();
            self.arm_sender(f, due);
        }
    }

    /// Sends the control segment that the receiving end of flow `f` may have to send, and sets its timer.
    fn answer(&mut self, f: usize) {
        let Kind::Tcp(tcp) = &mut self.network.flows[f].kind else { return };
        let answer = tcp.answer(self.now, f as u32, 0);
        let due = tcp.receiver_deadline();
        answer.into_iter().for_each(|packet| self.depart(packet));
        self.arm_receiver(f, due);
    }

    fn on_sender_timer(&mut self, f: usize) {
        let flow = &mut self.network.flows[f];
        match &mut flow.kind {
            Kind::Cbr(cbr) if self.now < flow.stop => {
                let packet = Packet { flow: f as u32, size: cbr.size, ..Packet::default() };
                cbr.send();
                let due = cbr.due();
                flow.data.sent += 1;
                self.depart(packet);
                self.arm_sender(f, due);
            }
            Kind::Cbr(_) => {}
            Kind::Tcp(tcp) => {
                if self.now == flow.start {
                    tcp.start(self.now);
                }
                tcp.on_deadline(self.now);
                self.send(f, Cause::Timer);
            }
        }
    }

    fn on_receiver_timer(&mut self, f: usize) {
        let flow = &mut self.network.flows[f];
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(ack) = tcp.on_receiver_deadline(self.now) {
            let mut packet = tcp.ack_packet(self.now, &ack, f as u32, 0, &mut self.network.sacks);
            flow.acks.sent += 1;
            self.network.receive_of_subflow(f, Some(&mut packet));
            self.depart(packet);
        }
        self.answer(f);
    }

    fn on_stop(&mut self, f: usize) {
        if let Kind::Tcp(tcp) = &mut self.network.flows[f].kind
            && tcp.stop(self.now)
        {
            self.send(f, Cause::Timer);
            self.settle_both(f);
        }
    }

    fn on_hint(&mut self, f: usize) {
        if let Kind::Tcp(tcp) = &mut self.network.flows[f].kind
            && let Some(hint) = self.network.hints.take(f)
        {
            tcp.sender.on_hint(self.now, hint);
            self.send(f, Cause::Timer);
        }
        self.expect_hint(f);
    }

    /// Schedules the next hint of flow `f`.
    fn expect_hint(&mut self, f: usize) {
        self.events.extend(self.network.hints.next(f).map(|at| Reverse((at, Event::Hint(f as u32)))));
    }

    fn on_tick(&mut self) {
        let Network { recorder, flows, directions, .. } = &mut self.network;
        let next = recorder.tick(self.now, flows, directions);
        self.events.extend(next.map(|at| Reverse((at, Event::Tick))));
    }

    fn arm_sender(&mut self, f: usize, at: Time) {
        self.arm(f, 0, Event::Sender(f as u32), at);
    }

    fn arm_receiver(&mut self, f: usize, at: Option<Time>) {
        self.arm(f, 1, Event::Receiver(f as u32), at.unwrap_or(NEVER));
    }

    /// A timer that is moved later keeps its event. Its host finds out when the event comes up, and arms the timer anew.
    fn arm(&mut self, f: usize, end: usize, timer: Event, at: Time) {
        let armed = &mut self.timers[f][end];
        if at < *armed {
            *armed = at;
            self.events.push(Reverse((at, timer)));
        }
    }

    /// Is the timer that comes up now the one armed last? If so, disarms it.
    fn comes_up(&mut self, f: u32, end: usize) -> bool {
        let armed = &mut self.timers[f as usize][end];
        let comes_up = *armed == self.now;
        if comes_up {
            *armed = NEVER;
        }
        comes_up
    }
}
