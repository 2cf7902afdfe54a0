//! The hosts at both ends of a route: the packets that reach them, and the packets that they send.

use bentpipe_cc::Time;

use super::FastPath;
use crate::host::flow::Kind;
use crate::link::packet::{ACK, Packet};
use crate::record::recorder::Cause;
use crate::resolve::plan::Half;

impl FastPath {
    pub(super) fn on_data(&mut self, packet: &mut Packet) {
        let f = packet.flow as usize;
        let answers = self.receive(self.now, packet);
        let (deadline, linked) = match &self.network.flows[f].kind {
            Kind::Tcp(tcp) => (tcp.receiver.deadline(), tcp.is_linked()),
            Kind::Cbr(_) => (None, false),
        };
        if linked {
            return self.on_linked_data(packet, answers, deadline);
        }
        if answers {
            self.depart(packet);
        }
        if let Some(at) = deadline {
            self.arm_receiver(f, at);
        }
    }

    /// The rest of [`FastPath::on_data`] for a receiver of which another flow's host learns.
    #[cold]
    #[inline(never)]
    fn on_linked_data(&mut self, packet: &mut Packet, answers: bool, deadline: Option<Time>) {
        let f = packet.flow as usize;
        self.network.receive_of_subflow(f, answers.then_some(&mut *packet));
        if answers {
            self.depart(packet);
        }
        if let Some(at) = deadline {
            self.arm_receiver(f, at);
        }
        for other in self.network.hand_over(self.now, f, packet) {
            self.send(other, Cause::Arrival);
            self.settle_both(f);
        }
    }

    /// Data reaches its receiver at `at`. True if the receiver acknowledges it now; `packet` is then the acknowledgement.
    #[inline(always)]
    pub(super) fn receive(&mut self, at: Time, packet: &mut Packet) -> bool {
        self.network.packets += 1;
        let flow = &mut self.network.flows[packet.flow as usize];
        flow.data.arrived += 1;
        match &mut flow.kind {
            Kind::Cbr(cbr) => {
                cbr.on_data(at);
                false
            }
            Kind::Tcp(tcp) => {
                let answers = tcp.on_data(at, packet, flow.ack_route, &mut self.network.sacks);
                flow.acks.sent += u64::from(answers);
                answers
            }
        }
    }

    pub(super) fn on_ack(&mut self, packet: &Packet) {
        let f = packet.flow as usize;
        let flow = &mut self.network.flows[f];
        flow.acks.arrived += 1;
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if tcp.on_ack(self.now, packet, &mut self.network.sacks) {
            self.send_fast(f, Cause::Arrival)
        } else {
            let plain = tcp.is_plain();
            if tcp.is_linked() {
                self.network.on_data_ack(f, packet.handle);
            }
            self.send_any(f, Cause::Arrival);
            if plain {
                return;
            }
            if self.network.flows[f].half() == Some(Half::Second) {
                self.make_room(f);
            }
            self.settle_both(f);
        }
    }

    /// What is left to do for a connection whose both ends write, when the sender at the host where something of flow `f` has arrived has
    /// sent what it may send.
    #[inline(never)]
    pub(super) fn settle_both(&mut self, f: usize) {
        if let Some(mut packet) = self.network.owed(self.now, f) {
            self.depart(&mut packet);
        }
        if let Some(first) = self.network.close_both(f) {
            self.send(first, Cause::Arrival);
        }
    }

    /// The relay of which flow `f` is the second half has had something acknowledged.
    #[cold]
    fn make_room(&mut self, f: usize) {
        if let Some(mut packet) = self.network.relay_room(self.now, f) {
            self.depart(&mut packet);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn on_control(&mut self, packet: &Packet) {
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

    /// Sends the control segment that the receiving end of flow `f` may have to send, and sets its timer.
    #[inline(never)]
    pub(super) fn answer(&mut self, f: usize) {
        let hop = self.network.flows[f].ack_route;
        let Kind::Tcp(tcp) = &mut self.network.flows[f].kind else { return };
        let answer = tcp.answer(self.now, f as u32, hop);
        let deadline = tcp.receiver_deadline();
        if let Some(mut packet) = answer {
            self.depart(&mut packet);
        }
        if let Some(at) = deadline {
            self.arm_receiver(f, at);
        }
    }

    /// Sends all that the sender of flow `f` may send now, because of `cause`, and sets its timer.
    pub(super) fn send(&mut self, f: usize, cause: Cause) {
        match &self.network.flows[f].kind {
            Kind::Tcp(tcp) if tcp.is_on_fast_path() => self.send_fast(f, cause),
            _ => self.send_any(f, cause),
        }
    }

    /// [`FastPath::send`] while the sender is on its own fast path. The packet is made in one place, apart from the rest, so that it stays
    /// in registers.
    #[inline(always)]
    pub(super) fn send_fast(&mut self, f: usize, cause: Cause) {
        loop {
            let flow = &mut self.network.flows[f];
            let Kind::Tcp(tcp) = &mut flow.kind else { return };
            let Some(data) = tcp.sender.poll_fast(self.now) else {
                self.network.recorder.on_change(self.now, f, tcp, cause);
                let due = tcp.due();
                if due < flow.sender_armed {
                    self.arm_sender(f, due);
                }
                return;
            };
            let mut packet = tcp.data_packet(&data, f as u32, flow.data_route);
            flow.data.sent += 1;
            self.depart(&mut packet);
        }
    }

    #[inline(never)]
    fn send_any(&mut self, f: usize, cause: Cause) {
        let plain = matches!(&self.network.flows[f].kind, Kind::Tcp(tcp) if tcp.is_plain());
        if !plain && let Some(c) = self.network.connection_of(f) {
            return self.send_of_subflows(c, cause);
        }
        loop {
            let flow = &mut self.network.flows[f];
            let Kind::Tcp(tcp) = &mut flow.kind else { return };
            let mut packet = if let Some(control) = tcp.poll_end(self.now, f as u32, flow.data_route) {
                control
            } else if let Some(data) = tcp.poll(self.now) {
                flow.data.sent += 1;
                tcp.any_data_packet(&data, f as u32, flow.data_route, &mut self.network.sacks)
            } else {
                self.network.recorder.on_change(self.now, f, tcp, cause);
                let due = tcp.due();
                return self.arm_sender(f, due);
            };
            if !plain {
                self.network.load(f, &mut packet);
            }
            self.depart(&mut packet);
        }
    }

    /// [`FastPath::send`] for all subflows of connection `c`.
    #[cold]
    fn send_of_subflows(&mut self, c: usize, cause: Cause) {
        self.network.look_at_subflows(self.now, c);
        while let Some((f, mut packet)) = self.network.poll_connection(self.now, c) {
            packet.hop = self.network.flows[f].data_route;
            self.depart(&mut packet);
        }
        for f in self.network.settle_connection(self.now, c) {
            let Kind::Tcp(tcp) = &self.network.flows[f].kind else { continue };
            self.network.recorder.on_change(self.now, f, tcp, cause);
            let due = tcp.due();
            self.arm_sender(f, due);
        }
    }

    /// Records what the receiver of flow `f` has delivered with the packet that came at `at`.
    #[inline]
    pub(super) fn tell_receiver(&mut self, at: Time, f: usize) {
        if let Kind::Tcp(tcp) = &self.network.flows[f].kind {
            self.network.recorder.received(self.now, at, f, tcp.receiver.delivered());
        }
    }
}
