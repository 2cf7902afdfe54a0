//! Where the subflows of a connection meet (Multipath TCP, RFC 8684): which of them sends the next segment, in which order the data
//! reaches the application, and what is acknowledged of it. Each subflow is a flow of the plan with its own path, sender, receiver and
//! controller; those of one connection stand behind each other.
//!
//! Data is numbered by segments, as within a flow. A subflow's segments are mapped to the numbers of the connection (section 3.3.1). Each
//! acknowledgement of a subflow tells the DATA_ACK (section 3.3.2). The receive buffer is one for all, and its window counts from the
//! DATA_ACK (section 3.3.5): what a slow path has not yet brought holds back a fast one.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bentpipe_cc::{Span, Subflow, Time};
use bentpipe_tcp::unwrap;

use crate::engine::network::Network;
use crate::host::flow::{FlowState, Kind, NEVER, Tcp};
use crate::link::packet::Packet;
use crate::resolve::plan::{ConnectionPlan, Scheduler};

/// A connection with several subflows.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) plan: Arc<ConnectionPlan>,
    /// Its flows.
    pub(crate) flows: Range<usize>,
    /// Payload of a full segment.
    mss: u32,
    /// Segments to send in all; [`u64::MAX`] for no end.
    limit: u64,
    /// Segments for which the receive buffer has room.
    window: u64,
    /// Does some controller want to know of the other subflows?
    coupled: bool,
    paths: Vec<Path>,
    /// The next segment never sent, and the oldest that is not acknowledged.
    next: u64,
    una: u64,
    /// The subflow that has sent each segment from `una` on last.
    carriers: VecDeque<u8>,
    /// Segments to be sent once more, by another subflow than this one.
    again: BTreeMap<u64, u8>,
    /// Segments below have been sent by a second subflow because the shared window was full.
    hurried: u64,
    /// The subflow whose turn it is.
    turn: usize,
    /// Segments sent by a second subflow.
    pub(crate) reinjected: u64,
    pub(crate) done_at: Time,
    /// What the controllers are told.
    told: Vec<Subflow>,
    /// The next segment expected in order at the receiving end, and the runs received behind it.
    delivered: u64,
    early: BTreeMap<u64, u64>,
}

/// What a connection knows of one of its paths.
#[derive(Debug, Default)]
struct Path {
    /// The connection's numbers of the subflow's segments from `first` on, which are not all acknowledged.
    sent: VecDeque<u64>,
    first: u64,
    /// Segments of the subflow that its receiver has handed on.
    taken: u64,
    /// Timeouts that the connection has answered.
    timeouts: u64,
    /// Losses so far, bytes delivered at the last one, and between the last two.
    losses: u64,
    delivered_then: u64,
    between: u64,
    /// Its window is not reduced for the others' sake before.
    spared_until: Time,
}

impl Connection {
    /// The connection whose subflows are these, before anything has happened.
    fn new(plan: Arc<ConnectionPlan>, flows: Range<usize>, states: &[FlowState]) -> Self {
        let tcps = || states[flows.clone()].iter().filter_map(tcp_of);
        let mss = tcps().next().map_or(1, |tcp| tcp.sender.options().mss);
        Self {
            limit: plan.bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(u64::from(mss))),
            window: plan.window.unwrap_or(u64::MAX),
            coupled: tcps().any(|tcp| tcp.sender.wants_subflows()),
            paths: flows.clone().map(|_| Path::default()).collect(),
            plan,
            flows,
            mss,
            next: 0,
            una: 0,
            carriers: VecDeque::new(),
            again: BTreeMap::new(),
            hurried: 0,
            turn: 0,
            reinjected: 0,
            done_at: NEVER,
            told: Vec::new(),
            delivered: 0,
            early: BTreeMap::new(),
        }
    }

    /// Segments acknowledged, delivered to the application in order, and sent.
    pub(crate) fn books(&self) -> [u64; 3] {
        [self.una, self.delivered, self.next]
    }

    /// Payload bytes handed to the application.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        let full = self.delivered * u64::from(self.mss);
        self.plan.bytes.map_or(full, |bytes| bytes.min(full))
    }

    /// Has the shared receive buffer room for one more segment?
    fn has_room(&self) -> bool {
        self.next < self.una.saturating_add(self.window)
    }

    /// A segment has reached the receiving end of the connection.
    fn receive(&mut self, number: u64) {
        if number > self.delivered {
            let from = match self.early.range_mut(..=number).next_back() {
                Some((_, end)) if *end > number => return,
                Some((&start, end)) if *end == number => {
                    *end += 1;
                    start
                }
                _ => {
                    self.early.insert(number, number + 1);
                    number
                }
            };
            if let Some(end) = self.early.remove(&(number + 1)) {
                self.early.insert(from, end);
            }
        } else if number == self.delivered {
            self.delivered = self.early.remove(&(number + 1)).unwrap_or(number + 1);
        }
    }

    /// All before `upto` is acknowledged.
    fn acknowledge(&mut self, upto: u64) {
        let news = upto.min(self.next).saturating_sub(self.una);
        self.una += news;
        self.carriers.drain(..news as usize);
        if !self.again.is_empty() {
            self.again = self.again.split_off(&self.una);
        }
    }

    /// The subflow that has sent a segment last; `None` if that is acknowledged or was never sent.
    fn carrier(&self, number: u64) -> Option<u8> {
        self.carriers.get(number.checked_sub(self.una)? as usize).copied()
    }

    /// Subflow `i` has sent the segment.
    fn note_sent(&mut self, i: usize, number: u64) {
        self.paths[i].sent.push_back(number);
        if number == self.next {
            self.next += 1;
            self.carriers.push_back(i as u8);
        } else {
            self.reinjected += 1;
            self.again.remove(&number);
            self.carriers[(number - self.una) as usize] = i as u8;
        }
    }

    /// The subflow has timed out: what it has under way is sent again by the others, too. (RFC 8684 section 3.3.6)
    fn on_timeout(&mut self, i: usize) {
        for &number in self.paths[i].sent.iter().filter(|&&number| number >= self.una) {
            if self.carriers[(number - self.una) as usize] == i as u8 {
                self.again.insert(number, i as u8);
            }
        }
    }
}

fn tcp_of(flow: &FlowState) -> Option<&Tcp> {
    match &flow.kind {
        Kind::Tcp(tcp) => Some(tcp),
        Kind::Cbr(_) => None,
    }
}

fn tcp_mut(flow: &mut FlowState) -> Option<&mut Tcp> {
    match &mut flow.kind {
        Kind::Tcp(tcp) => Some(tcp),
        Kind::Cbr(_) => None,
    }
}

impl Network {
    /// Makes the connection of these flows, which are its subflows.
    pub(super) fn connect(
        connections: &mut Vec<Connection>,
        plan: &Arc<ConnectionPlan>,
        flows: &mut [FlowState],
    ) {
        let range = flows.len() - plan.subflows as usize..flows.len();
        let start = flows[range.start].start;
        for flow in &mut flows[range.clone()] {
            flow.start = start;
            tcp_mut(flow).into_iter().for_each(|tcp| tcp.join_connection(connections.len()));
        }
        connections.push(Connection::new(plan.clone(), range, flows));
    }

    /// The number of the connection of which flow `f` is a subflow.
    #[inline]
    pub(super) fn connection_of(&self, f: usize) -> Option<usize> {
        tcp_of(&self.flows[f])?.connection()
    }

    /// Data has reached the receiver of flow `f`, if that is a subflow. `answer` is the acknowledgement that goes out now: it tells the
    /// DATA_ACK.
    #[cold]
    pub(super) fn receive_of_subflow(&mut self, f: usize, answer: Option<&mut Packet>) {
        let Some(c) = self.connection_of(f) else { return };
        let connection = &mut self.connections[c];
        let Some(upto) = tcp_of(&self.flows[f]).map(|tcp| tcp.receiver.delivered()) else { return };
        let i = f - connection.flows.start;
        while connection.paths[i].taken < upto {
            let path = &mut connection.paths[i];
            let number = path.sent[(path.taken - path.first) as usize];
            path.taken += 1;
            connection.receive(number);
        }
        if let Some(packet) = answer {
            packet.handle = self.sacks.tell_data_ack(packet.handle, connection.delivered);
        }
    }

    /// The sender of flow `f`, if that is a subflow, has taken an acknowledgement, whose handle was `handle`.
    #[cold]
    pub(super) fn on_data_ack(&mut self, f: usize, handle: u32) {
        let Some(c) = self.connection_of(f) else { return };
        let connection = &mut self.connections[c];
        let told = self.sacks.data_ack(handle);
        connection.acknowledge(unwrap(told, connection.una));
        let path = &mut connection.paths[f - connection.flows.start];
        if let Some(tcp) = tcp_of(&self.flows[f]) {
            let acknowledged = tcp.sender.una() - path.first;
            path.sent.drain(..acknowledged as usize);
            path.first += acknowledged;
        }
    }

    /// Looks what has happened on the subflows of connection `c` before it sends: joins, timeouts, and whether all is done.
    pub(super) fn look_at_subflows(&mut self, now: Time, c: usize) {
        let connection = &mut self.connections[c];
        let flows = &mut self.flows[connection.flows.clone()];
        let open = flows.first().and_then(tcp_of).is_some_and(Tcp::is_open);
        for (i, tcp) in flows.iter_mut().filter_map(tcp_mut).enumerate() {
            if connection.done_at == NEVER {
                tcp.pass_time(now);
            }
            if open && i > 0 {
                tcp.open_subflow(now);
            }
            if tcp.has_stopped() {
                connection.limit = connection.limit.min(connection.next);
            }
            let timeouts = tcp.sender.counters().timeouts;
            if core::mem::replace(&mut connection.paths[i].timeouts, timeouts) < timeouts {
                connection.on_timeout(i);
            }
        }
        if connection.una >= connection.limit && connection.done_at == NEVER {
            connection.done_at = now;
            flows.iter_mut().filter_map(tcp_mut).for_each(|tcp| tcp.end_subflow(now));
        }
    }

    /// The next packet that connection `c` sends at `now`, at hop 0, and its flow.
    pub(super) fn poll_connection(&mut self, now: Time, c: usize) -> Option<(usize, Packet)> {
        let first = self.connections[c].flows.start;
        if let Some((i, number)) = self.schedule(now, c)
            && let Some(tcp) = tcp_mut(&mut self.flows[first + i])
        {
            let data = tcp.send_new(now);
            self.connections[c].note_sent(i, number);
            if let Some(data) = data {
                return Some(self.packet_of_subflow(c, first + i, data));
            }
        }
        for f in self.connections[c].flows.clone() {
            let Some(tcp) = tcp_mut(&mut self.flows[f]) else { continue };
            if let Some(control) = tcp.poll_end(now, f as u32, 0) {
                return Some((f, control));
            }
            if let Some(data) = tcp.poll(now) {
                return Some(self.packet_of_subflow(c, f, data));
            }
        }
        None
    }

    /// The segment as a packet. The last one of the connection may be short, whichever subflow sends it.
    fn packet_of_subflow(&mut self, c: usize, f: usize, mut data: bentpipe_tcp::Data) -> (usize, Packet) {
        let connection = &self.connections[c];
        let path = &connection.paths[f - connection.flows.start];
        let flow = &mut self.flows[f];
        flow.data.sent += 1;
        let Some(tcp) = tcp_mut(flow) else { return (f, Packet::default()) };
        let number = data.seq.checked_sub(path.first).and_then(|at| path.sent.get(at as usize));
        if let Some(short) = tcp.short_segment()
            && number.is_some_and(|number| number + 1 == connection.limit)
            && !data.probe
        {
            data.len = short;
        }
        (f, tcp.any_data_packet(&data, f as u32, 0, &mut self.sacks))
    }

    /// The subflow that sends next, and the segment.
    fn schedule(&mut self, now: Time, c: usize) -> Option<(usize, u64)> {
        let connection = &mut self.connections[c];
        if connection.done_at != NEVER {
            return None;
        }
        let flows = &mut self.flows[connection.flows.clone()];
        let ready: Vec<Option<Span>> = flows
            .iter_mut()
            .map(|flow| {
                let tcp = tcp_mut(flow)?;
                let rtt = tcp.sender.flow().rtt.map_or(Span::ZERO, |rtt| rtt.smoothed);
                tcp.has_room(now).then_some(rtt)
            })
            .collect();
        let turn = connection.turn;
        let choose = |but: Option<u8>| {
            let able = (0..ready.len()).filter(|&i| but != Some(i as u8));
            match connection.plan.scheduler {
                Scheduler::MinRtt => able.filter_map(|i| Some((ready[i]?, i))).min().map(|(_, i)| i),
                Scheduler::RoundRobin => {
                    let wait = |i: &usize| (i + ready.len() - turn) % ready.len();
                    able.filter(|&i| ready[i].is_some()).min_by_key(wait)
                }
            }
        };
        let again = connection.again.iter().find_map(|(&number, &but)| Some((choose(Some(but))?, number)));
        let new = || Some((choose(None)?, connection.next));
        let chosen = match again {
            Some(again) => Some(again),
            None if connection.next >= connection.limit => None,
            None if connection.has_room() => new(),
            None if connection.plan.opportunistic && connection.una >= connection.hurried => {
                let slow = connection.carrier(connection.una)?;
                Some((choose(Some(slow))?, connection.una))
            }
            None => None,
        }?;
        if again.is_none() && chosen.1 < connection.next {
            self.hurry(now, c);
        }
        self.connections[c].turn = (chosen.0 + 1) % ready.len();
        Some(chosen)
    }

    /// The oldest segment is sent once more by a subflow that the shared window holds back. The one that has it under way is penalised
    /// (Raiciu et al., NSDI 2012, section 4.2).
    #[cold]
    fn hurry(&mut self, now: Time, c: usize) {
        let connection = &mut self.connections[c];
        connection.hurried = connection.una + 1;
        let Some(slow) = connection.carrier(connection.una).map(usize::from) else { return };
        let path = &mut connection.paths[slow];
        if let Some(tcp) = tcp_mut(&mut self.flows[connection.flows.start + slow])
            && now >= path.spared_until
            && let Some(rtt) = tcp.sender.flow().rtt
        {
            path.spared_until = now + rtt.smoothed;
            tcp.sender.penalise();
        }
    }

    /// Nothing more goes out on connection `c` at `now`: notes why, and tells coupled controllers of all subflows. Gives its flows.
    pub(super) fn settle_connection(&mut self, now: Time, c: usize) -> Range<usize> {
        let connection = &mut self.connections[c];
        let flows = &mut self.flows[connection.flows.clone()];
        let waits = connection.next < connection.limit && connection.done_at == NEVER;
        let shared = waits && !connection.has_room();
        if waits {
            let started = flows.iter_mut().filter_map(tcp_mut).filter(|tcp| tcp.is_open());
            started.for_each(|tcp| tcp.sender.go_without(now, shared));
        }
        if connection.coupled {
            connection.told.clear();
            for (tcp, path) in flows.iter().filter_map(tcp_of).zip(&mut connection.paths) {
                connection.told.push(path.as_subflow(tcp));
            }
            for (i, tcp) in flows.iter_mut().filter_map(tcp_mut).enumerate() {
                tcp.sender.tell_subflows(i, &connection.told);
            }
        }
        connection.flows.clone()
    }
}

impl Path {
    /// What coupled controllers learn of the subflow. Bytes count from loss to loss.
    fn as_subflow(&mut self, tcp: &Tcp) -> Subflow {
        let (counters, delivered) = (tcp.sender.counters(), tcp.sender.flow().delivered);
        let losses = counters.recoveries + counters.timeouts;
        let since = delivered.saturating_sub(self.delivered_then);
        if core::mem::replace(&mut self.losses, losses) < losses && since > 0 {
            (self.between, self.delivered_then) = (since, delivered);
        }
        let since = delivered.saturating_sub(self.delivered_then);
        tcp.sender.as_subflow(self.between.max(since))
    }
}
