//! Where the subflows of a connection meet (Multipath TCP, RFC 8684): which of them sends the next segment,
//! in which order the data reaches the application, and what is acknowledged. Each subflow is a flow of the
//! plan with its own path, sender, receiver and controller. The subflows of one connection are consecutive in
//! the plan.
//!
//! Data is numbered in segments, as within a flow. A subflow's segments are mapped to the numbers of the
//! connection (section 3.3.1). Each acknowledgement of a subflow carries the DATA_ACK (section 3.3.2). All
//! subflows share one receive buffer, whose window counts from the DATA_ACK (section 3.3.5): data that a slow
//! path has not yet delivered holds back a fast one.

use std::ops::Range;

use bentpipe_cc::Span;
use bentpipe_tcp::{Data, unwrap};

use crate::engine::network::Network;
use crate::host::ends::SubflowEnd;
use crate::host::flow::{FlowState, NEVER, Tcp};
use crate::link::packet::Packet;
use crate::resolve::plan::Scheduler;

impl Network {
    /// The number of the connection to which flow `f` belongs as a subflow.
    #[inline]
    pub(super) fn connection_of(&self, f: usize) -> Option<usize> {
        Some(self.flows[f].tcp()?.subflow()?.connection)
    }

    /// Data has reached the receiver of flow `f`, which may be a subflow. `answer` is the acknowledgement
    /// that goes out now; it carries the DATA_ACK.
    #[cold]
    pub(super) fn receive_of_subflow(&mut self, f: usize, answer: Option<&mut Packet>) {
        let Some(tcp) = self.flows[f].tcp() else { return };
        let Some(&SubflowEnd { connection, number: i, .. }) = tcp.subflow() else { return };
        let (connection, upto) = (&mut self.connections[connection], tcp.receiver.delivered());
        while connection.paths[i].taken < upto {
            let path = &mut connection.paths[i];
            let number = path.sent[(path.taken - path.first) as usize];
            path.taken += 1;
            connection.receive(number);
        }
        if let Some(packet) = answer {
            self.carried.on(packet).data_ack = connection.delivered as u32;
        }
    }

    /// The sender of flow `f`, which may be a subflow, has taken an acknowledgement; `handle` was the
    /// acknowledgement's handle.
    #[cold]
    pub(super) fn on_data_ack(&mut self, f: usize, handle: u32) {
        let Some(tcp) = self.flows[f].tcp() else { return };
        let Some(&SubflowEnd { connection, number, .. }) = tcp.subflow() else { return };
        let connection = &mut self.connections[connection];
        let data_ack = self.carried.of(handle).data_ack;
        connection.acknowledge(unwrap(data_ack, connection.una));
        let path = &mut connection.paths[number];
        let acknowledged = tcp.sender.una() - path.first;
        path.sent.drain(..acknowledged as usize);
        path.first += acknowledged;
    }

    /// Checks what has happened on the subflows of connection `c` before it sends: joins, timeouts, and
    /// whether all is done.
    pub(super) fn look_at_subflows(&mut self, c: usize) {
        let now = self.now;
        let connection = &mut self.connections[c];
        let flows = &mut self.flows[connection.flows()];
        let open = flows.first().and_then(FlowState::tcp).is_some_and(Tcp::is_open);
        for (i, tcp) in flows.iter_mut().filter_map(FlowState::tcp_mut).enumerate() {
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
            flows.iter_mut().filter_map(FlowState::tcp_mut).for_each(|tcp| tcp.end_subflow(now));
        }
    }

    /// The next packet that connection `c` sends.
    pub(super) fn poll_connection(&mut self, c: usize) -> Option<Packet> {
        let now = self.now;
        let flows = self.connections[c].flows();
        if let Some((i, number)) = self.schedule(c)
            && let Some(f) = flows.clone().nth(i)
            && let Some(tcp) = self.flows[f].tcp_mut()
        {
            let data = tcp.send_new(now);
            self.connections[c].note_sent(i, number);
            if let Some(data) = data {
                return self.packet_of_subflow((c, i), f, data);
            }
        }
        for (i, f) in flows.enumerate() {
            let route = self.flows[f].data_route;
            let Some(tcp) = self.flows[f].tcp_mut() else { continue };
            if let Some(control) = tcp.poll_end(now, f as u32, route) {
                return Some(control);
            }
            if let Some(data) = tcp.poll(now) {
                return self.packet_of_subflow((c, i), f, data);
            }
        }
        None
    }

    /// The segment of subflow `i` of connection `c`, which is flow `f`, as a packet. The last segment of the
    /// connection may be short, whichever subflow sends it.
    fn packet_of_subflow(&mut self, (c, i): (usize, usize), f: usize, mut data: Data) -> Option<Packet> {
        let connection = &self.connections[c];
        let path = &connection.paths[i];
        let flow = &mut self.flows[f];
        flow.data.sent += 1;
        let route = flow.data_route;
        let tcp = flow.tcp_mut()?;
        let number = data.seq.checked_sub(path.first).and_then(|at| path.sent.get(at as usize));
        if number.is_some_and(|&number| connection.ends_with(number)) && !data.probe {
            tcp.shorten(&mut data);
        }
        Some(tcp.any_data_packet(&data, f as u32, route, &mut self.carried))
    }

    /// The subflow that sends next, and its segment.
    fn schedule(&mut self, c: usize) -> Option<(usize, u64)> {
        let now = self.now;
        let connection = &mut self.connections[c];
        if connection.done_at != NEVER {
            return None;
        }
        let flows = &mut self.flows[connection.flows()];
        let ready: Vec<Option<Span>> = flows
            .iter_mut()
            .map(|flow| {
                let tcp = flow.tcp_mut()?;
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
            self.hurry(c);
        }
        self.connections[c].turn = (chosen.0 + 1) % ready.len();
        Some(chosen)
    }

    /// A subflow that the shared window holds back sends the oldest segment once more. The subflow that has
    /// it in flight is penalised (Raiciu et al., NSDI 2012, section 4.2).
    #[cold]
    fn hurry(&mut self, c: usize) {
        let now = self.now;
        let connection = &mut self.connections[c];
        connection.hurried = connection.una + 1;
        let Some(slow) = connection.carrier(connection.una).map(usize::from) else { return };
        let flows = &mut self.flows[connection.flows()];
        let path = &mut connection.paths[slow];
        if let Some(tcp) = flows[slow].tcp_mut()
            && now >= path.spared_until
            && let Some(rtt) = tcp.sender.flow().rtt
        {
            path.spared_until = now + rtt.smoothed;
            tcp.sender.penalise();
        }
    }

    /// Nothing more goes out on connection `c` now. Notes why, and passes the state of all subflows to
    /// coupled controllers. Returns its flows.
    pub(super) fn after_sending(&mut self, c: usize) -> Range<usize> {
        let now = self.now;
        let connection = &mut self.connections[c];
        let flows = &mut self.flows[connection.flows()];
        let waits = connection.next < connection.limit && connection.done_at == NEVER;
        let shared = waits && !connection.has_room();
        if waits {
            let started = flows.iter_mut().filter_map(FlowState::tcp_mut).filter(|tcp| tcp.is_open());
            started.for_each(|tcp| tcp.sender.go_without(now, shared));
        }
        if connection.coupled {
            connection.shown.clear();
            for (tcp, path) in flows.iter().filter_map(FlowState::tcp).zip(&mut connection.paths) {
                connection.shown.push(path.as_subflow(tcp));
            }
            for (i, tcp) in flows.iter_mut().filter_map(FlowState::tcp_mut).enumerate() {
                tcp.sender.show_subflows(i, &connection.shown);
            }
        }
        connection.flows()
    }
}
