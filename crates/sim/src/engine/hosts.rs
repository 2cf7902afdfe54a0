//! What happens at hosts: packets arrive, timers expire, and senders send. Both event loops call this code.
//! The two loops differ only in how they move packets and keep events.

use bentpipe_cc::Time;

use crate::engine::network::Network;
use crate::host::flow::{Kind, NEVER};
use crate::link::packet::{ACK, CONTROL, Packet};
use crate::record::recorder::Cause;

/// A timer. Timers of one instant expire in this order; timers of one kind in the order of their flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The timer of a flow's sender: retransmission, pacing, probes; the flow's start.
    Sender(usize),
    /// The timer of its receiver: a delayed acknowledgement, a repeated answer of the handshake.
    Receiver(usize),
    /// Its application sends nothing more.
    Stop(usize),
    /// The host of its sender learns that the path changes hands.
    Hint(usize),
    /// The recorder takes a sample.
    Tick,
}

impl Timer {
    /// The number of a timer in a run with `flows` flows. Timers of one instant expire in the order of their
    /// numbers.
    #[inline(always)]
    pub(super) fn number(self, flows: usize) -> u64 {
        (match self {
            Timer::Sender(f) => f,
            Timer::Receiver(f) => flows + f,
            Timer::Stop(f) => 2 * flows + f,
            Timer::Hint(f) => 3 * flows + f,
            Timer::Tick => 4 * flows,
        }) as u64
    }

    /// The timer with this number.
    #[inline(always)]
    pub(super) fn of_number(number: u64, flows: usize) -> Self {
        let f = number as usize;
        match f.checked_div(flows) {
            Some(0) => Timer::Sender(f),
            Some(1) => Timer::Receiver(f - flows),
            Some(2) => Timer::Stop(f - 2 * flows),
            Some(3) => Timer::Hint(f - 3 * flows),
            _ => Timer::Tick,
        }
    }
}

/// What hosts need of an event loop.
pub(super) trait EventLoop {
    /// The state of the run.
    fn network(&mut self) -> &mut Network;
    /// A packet leaves its host now. It is passed in place and may be changed, because a copy costs a
    /// store-to-load forwarding stall.
    fn depart(&mut self, packet: &mut Packet);
    /// [`Hosts::on_timer`] must be called at `at`.
    fn schedule(&mut self, at: Time, timer: Timer);
    /// Is the sender of flow `f` in this part of the run?
    fn has_sender(&mut self, _f: usize) -> bool {
        true
    }
}

impl<L: EventLoop> Hosts for L {}

/// The hosts of a run, in whichever loop.
pub(super) trait Hosts: EventLoop {
    /// Schedules what is known before anything has happened.
    fn begin(&mut self) {
        for f in 0..self.network().flows.len() {
            if !self.has_sender(f) {
                continue;
            }
            let (start, stop) = (self.network().flows[f].start, self.network().flows[f].stop);
            self.arm_sender(f, start);
            if stop < NEVER {
                self.schedule(stop, Timer::Stop(f));
            }
            self.expect_hint(f);
        }
        if let Some(first) = self.network().recorder.first_tick() {
            self.schedule(first, Timer::Tick);
        }
    }

    /// A packet reaches the host at the end of its route.
    #[inline(always)]
    fn on_packet(&mut self, packet: &mut Packet) {
        if packet.has(CONTROL) {
            self.on_control(packet);
        } else if packet.has(ACK) {
            self.on_ack(packet);
        } else {
            self.on_data(packet);
        }
    }

    /// A timer expires, unless it was moved.
    #[inline(always)]
    fn on_timer(&mut self, timer: Timer) {
        let network = self.network();
        let now = network.now;
        match timer {
            Timer::Sender(f) if network.flows[f].sender_armed == now => self.on_sender_timer(f),
            Timer::Receiver(f) if network.flows[f].receiver_armed == now => self.on_receiver_timer(f),
            Timer::Sender(_) | Timer::Receiver(_) => {}
            Timer::Stop(f) => self.on_stop(f),
            Timer::Hint(f) => self.on_hint(f),
            Timer::Tick => {
                let Network { recorder, flows, directions, .. } = network;
                if let Some(next) = recorder.tick(now, flows, directions) {
                    self.schedule(next, timer);
                }
            }
        }
    }

    fn on_data(&mut self, packet: &mut Packet) {
        let f = packet.flow as usize;
        let now = self.network().now;
        let answers = self.network().receive::<false>(now, packet);
        let (deadline, linked) = match &self.network().flows[f].kind {
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

    /// The rest of [`Hosts::on_data`] for a receiver whose data another flow's host reads.
    #[cold]
    #[inline(never)]
    fn on_linked_data(&mut self, packet: &mut Packet, answers: bool, deadline: Option<Time>) {
        let f = packet.flow as usize;
        self.network().receive_of_subflow(f, answers.then_some(&mut *packet));
        if answers {
            self.depart(packet);
        }
        if let Some(at) = deadline {
            self.arm_receiver(f, at);
        }
        self.network().hand_over(f, packet);
        self.send_woken();
        self.finish_duplex(f);
    }

    /// Sends on the flows for which something that has arrived is news.
    fn send_woken(&mut self) {
        let mut woken = core::mem::take(&mut self.network().woken);
        woken.drain(..).for_each(|f| self.send(f, Cause::Arrival));
        self.network().woken = woken; // and its memory
    }

    fn on_ack(&mut self, packet: &Packet) {
        let f = packet.flow as usize;
        let network = self.network();
        let flow = &mut network.flows[f];
        flow.acks.arrived += 1;
        let tcp = match &mut flow.kind {
            Kind::Tcp(tcp) => tcp,
            Kind::Cbr(cbr) => {
                network.carried.free(packet.handle); // which only a tap gives to an echo
                return cbr.complete(network.now, packet.seq);
            }
        };
        if tcp.on_ack(network.now, packet, &mut network.carried) {
            self.send_fast(f, Cause::Arrival)
        } else {
            if tcp.is_alone() {
                return self.send_any(f, Cause::Arrival);
            }
            network.on_data_ack(f, packet.handle);
            self.send_any(f, Cause::Arrival);
            if let Some(mut packet) = self.network().relay_room(f) {
                self.depart(&mut packet);
            }
            self.finish_duplex(f);
        }
    }

    /// Completes the work for a connection whose both ends write. Something of flow `f` has arrived at a
    /// host, and the sender there has already sent what it may send.
    #[inline(never)]
    fn finish_duplex(&mut self, f: usize) {
        if let Some(mut packet) = self.network().owed(f) {
            self.depart(&mut packet);
        }
        if let Some(first) = self.network().close_both(f) {
            self.send(first, Cause::Arrival);
        }
    }

    /// A segment that opens or closes a connection arrives.
    #[cold]
    #[inline(never)]
    fn on_control(&mut self, packet: &Packet) {
        let f = packet.flow as usize;
        let network = self.network();
        if let Kind::Tcp(tcp) = &mut network.flows[f].kind {
            tcp.on_control(network.now, packet);
            if packet.has(ACK) {
                return self.send(f, Cause::Arrival);
            }
            self.answer(f);
            self.network().hand_over_control(f, packet);
            self.send_woken();
        }
    }

    /// Sends the control segment that the receiving end of flow `f` may have due, and sets its timer.
    #[inline(never)]
    fn answer(&mut self, f: usize) {
        let network = self.network();
        let hop = network.flows[f].ack_route;
        let Kind::Tcp(tcp) = &mut network.flows[f].kind else { return };
        let answer = tcp.answer(network.now, f as u32, hop);
        let deadline = tcp.receiver_deadline();
        if let Some(mut packet) = answer {
            self.depart(&mut packet);
        }
        if let Some(at) = deadline {
            self.arm_receiver(f, at);
        }
    }

    /// Sends all that the sender of flow `f` may send now, prompted by `cause`, and sets its timer.
    fn send(&mut self, f: usize, cause: Cause) {
        match &self.network().flows[f].kind {
            Kind::Tcp(tcp) if tcp.is_on_fast_path() => self.send_fast(f, cause),
            _ => self.send_any(f, cause),
        }
    }

    /// [`Hosts::send`] while the sender is on its own fast path. The packet is built in one place, apart from
    /// the rest, so that it stays in registers.
    #[inline(always)]
    fn send_fast(&mut self, f: usize, cause: Cause) {
        loop {
            let network = self.network();
            let flow = &mut network.flows[f];
            let Kind::Tcp(tcp) = &mut flow.kind else { return };
            let Some(data) = tcp.sender.poll_fast(network.now) else {
                network.recorder.on_change(network.now, f, tcp, cause);
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
        let alone = matches!(&self.network().flows[f].kind, Kind::Tcp(tcp) if tcp.is_alone());
        if !alone && let Some(c) = self.network().connection_of(f) {
            return self.send_of_subflows(c, cause);
        }
        loop {
            let network = self.network();
            let (now, flow) = (network.now, &mut network.flows[f]);
            let Kind::Tcp(tcp) = &mut flow.kind else { return };
            let Some(mut packet) = tcp.next_packet(now, f as u32, flow.data_route, &mut network.carried)
            else {
                network.recorder.on_change(now, f, tcp, cause);
                let due = tcp.due();
                return self.arm_sender(f, due);
            };
            flow.data.sent += u64::from(!packet.has(CONTROL));
            if !alone {
                network.load(f, &mut packet);
            }
            self.depart(&mut packet);
        }
    }

    /// [`Hosts::send`] for all subflows of connection `c`.
    #[cold]
    fn send_of_subflows(&mut self, c: usize, cause: Cause) {
        self.network().look_at_subflows(c);
        while let Some(mut packet) = self.network().poll_connection(c) {
            self.depart(&mut packet);
        }
        for f in self.network().after_sending(c) {
            let network = self.network();
            let Kind::Tcp(tcp) = &network.flows[f].kind else { continue };
            network.recorder.on_change(network.now, f, tcp, cause);
            let due = tcp.due();
            self.arm_sender(f, due);
        }
    }

    fn on_sender_timer(&mut self, f: usize) {
        let network = self.network();
        let (now, flow) = (network.now, &mut network.flows[f]);
        flow.sender_armed = NEVER;
        match &mut flow.kind {
            Kind::Cbr(cbr) if now < flow.stop => {
                let (hop, size, seq) = (flow.data_route, cbr.size, cbr.send());
                let mut packet = Packet { seq, flow: f as u32, hop, size, ..Packet::default() };
                let due = cbr.due();
                flow.data.sent += 1;
                self.depart(&mut packet);
                self.arm_sender(f, due);
            }
            Kind::Cbr(_) => {}
            Kind::Tcp(tcp) => {
                if now == flow.start {
                    tcp.start(now);
                }
                tcp.on_deadline(now);
                // Sending from here without a call takes 2 % fewer instructions with BBR.
                if tcp.is_on_fast_path() {
                    self.send_fast(f, Cause::Timer)
                } else {
                    self.send(f, Cause::Timer)
                }
            }
        }
    }

    fn on_receiver_timer(&mut self, f: usize) {
        let network = self.network();
        let (now, flow) = (network.now, &mut network.flows[f]);
        flow.receiver_armed = NEVER;
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(ack) = tcp.on_receiver_deadline(now) {
            let mut packet = tcp.ack_packet(now, &ack, f as u32, flow.ack_route, &mut network.carried);
            flow.acks.sent += 1;
            network.receive_of_subflow(f, Some(&mut packet));
            self.depart(&mut packet);
        }
        self.answer(f);
    }

    fn on_stop(&mut self, f: usize) {
        let network = self.network();
        if let Kind::Tcp(tcp) = &mut network.flows[f].kind
            && tcp.stop(network.now)
        {
            self.send(f, Cause::Timer);
            self.finish_duplex(f);
        }
    }

    #[cold]
    fn on_hint(&mut self, f: usize) {
        let network = self.network();
        if let Kind::Tcp(tcp) = &mut network.flows[f].kind
            && let Some(hint) = network.hints.take(f)
        {
            tcp.sender.on_hint(network.now, hint);
            self.send(f, Cause::Timer);
        }
        self.expect_hint(f);
    }

    /// Schedules the next hint of flow `f`.
    fn expect_hint(&mut self, f: usize) {
        if let Some(at) = self.network().hints.next(f) {
            self.schedule(at, Timer::Hint(f));
        }
    }

    /// Makes sure that the sender's timer has an event at or before `at`. A timer that is moved later keeps
    /// its event. Its host finds out when that event comes, and arms the timer anew.
    fn arm_sender(&mut self, f: usize, at: Time) {
        let armed = &mut self.network().flows[f].sender_armed;
        if at < *armed {
            *armed = at;
            self.schedule(at, Timer::Sender(f));
        }
    }

    /// The same for the receiver's timer.
    fn arm_receiver(&mut self, f: usize, at: Time) {
        let armed = &mut self.network().flows[f].receiver_armed;
        if at < *armed {
            *armed = at;
            self.schedule(at, Timer::Receiver(f));
        }
    }
}
