//! Events other than arrivals: timers of both ends of flows, and the recorder's ticks.

use bentpipe_cc::Time;

use super::FastPath;
use super::event_queue::Timer;
use crate::host::flow::{Kind, NEVER};
use crate::link::packet::Packet;
use crate::record::recorder::Cause;

impl FastPath {
    /// Timers of one instant expire in the order of these numbers.
    fn number(&self, timer: &Timer) -> u64 {
        let flows = self.network.flows.len();
        (match *timer {
            Timer::Sender(f) => f,
            Timer::Receiver(f) => flows + f,
            Timer::Stop(f) => 2 * flows + f,
            Timer::Hint(f) => 3 * flows + f,
            Timer::Tick => 4 * flows,
        }) as u64
    }

    fn timer(&self, number: u64) -> Timer {
        let (flows, f) = (self.network.flows.len(), number as usize);
        match f.checked_div(flows) {
            Some(0) => Timer::Sender(f),
            Some(1) => Timer::Receiver(f - flows),
            Some(2) => Timer::Stop(f - 2 * flows),
            Some(3) => Timer::Hint(f - 3 * flows),
            _ => Timer::Tick,
        }
    }

    /// The partition where a timer expires. The stop of a flow and its hints are its sender's.
    #[inline]
    pub(super) fn partition(&self, timer: &Timer) -> usize {
        if self.partitions.count == 1 {
            return 0;
        }
        let flows = self.network.flows.len();
        match *timer {
            Timer::Sender(f) | Timer::Stop(f) | Timer::Hint(f) => self.partitions.of_host(f, flows, false),
            Timer::Receiver(f) => self.partitions.of_host(f, flows, true),
            Timer::Tick => 0,
        }
    }

    #[inline(always)]
    pub(super) fn schedule(&mut self, at: Time, timer: &Timer) {
        let (partition, number) = (self.partition(timer), self.number(timer));
        self.events.push(partition, at, number);
    }

    /// Sets the next arrival of direction `i`; `None` if there is none.
    #[inline(always)]
    pub(super) fn expect_here(&mut self, i: usize, at: Option<Time>) {
        if self.network.directions[i].is_shared() {
            return self.expect_of_flow(i, at);
        }
        self.events.expect_here(i, at);
    }

    /// The same for an access delay that flows share: the next arrival may belong to another flow.
    #[inline(never)]
    pub(super) fn expect_of_flow(&mut self, i: usize, at: Option<Time>) {
        let flow = self.network.directions[i].first().map_or(0, |packet| packet.flow);
        self.events.rename(i, self.entity_of(i, flow));
        self.events.expect(i, at);
    }

    /// The same for a direction that held nothing, in whatever partition its packets arrive.
    #[inline(never)]
    pub(super) fn expect_first(&mut self, i: usize, at: Time) {
        self.expect_of_flow(i, Some(at));
    }

    /// The next event is a timer that expires at `at`.
    #[inline(never)]
    pub(super) fn on_timer(&mut self, at: Time) {
        let Some(number) = self.events.pop() else { return };
        if let Some(tap) = &mut self.network.tap {
            tap.expires();
        }
        let timer = self.timer(number);
        match timer {
            Timer::Tick => {
                let network = &mut self.network;
                let next = network.recorder.tick(self.now, &network.flows, &mut network.directions);
                if let Some(next) = next {
                    self.schedule(next, &timer);
                }
            }
            Timer::Stop(f) => {
                if let Kind::Tcp(tcp) = &mut self.network.flows[f].kind
                    && tcp.stop(self.now)
                {
                    self.send(f, Cause::Timer);
                    self.settle_both(f);
                }
            }
            Timer::Hint(f) => self.on_hint(f),
            Timer::Sender(f) if self.network.flows[f].sender_armed == at => self.on_sender_timer(f),
            Timer::Receiver(f) if self.network.flows[f].receiver_armed == at => self.on_receiver_timer(f),
            Timer::Sender(_) | Timer::Receiver(_) => {} // a timer that was moved
        }
    }

    #[cold]
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
    pub(super) fn expect_hint(&mut self, f: usize) {
        if let Some(at) = self.network.hints.next(f) {
            self.schedule(at, &Timer::Hint(f));
        }
    }

    fn on_sender_timer(&mut self, f: usize) {
        let now = self.now;
        let flow = &mut self.network.flows[f];
        flow.sender_armed = NEVER;
        match &mut flow.kind {
            Kind::Cbr(cbr) if now < flow.stop => {
                let mut packet =
                    Packet { flow: f as u32, hop: flow.data_route, size: cbr.size, ..Packet::default() };
                cbr.send();
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
                // Sends from here without a call: 2 % fewer instructions with BBR.
                if tcp.is_on_fast_path() {
                    self.send_fast(f, Cause::Timer)
                } else {
                    self.send(f, Cause::Timer)
                }
            }
        }
    }

    fn on_receiver_timer(&mut self, f: usize) {
        let now = self.now;
        let flow = &mut self.network.flows[f];
        flow.receiver_armed = NEVER;
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(ack) = tcp.on_receiver_deadline(now) {
            let mut packet = tcp.ack_packet(now, &ack, f as u32, flow.ack_route, &mut self.network.sacks);
            flow.acks.sent += 1;
            self.network.receive_of_subflow(f, Some(&mut packet));
            self.depart(&mut packet);
        }
        self.answer(f);
    }

    /// Makes sure that the sender's timer has an entry at `at` or before. Later deadlines wait for this entry.
    pub(super) fn arm_sender(&mut self, f: usize, at: Time) {
        if at < self.network.flows[f].sender_armed {
            self.network.flows[f].sender_armed = at;
            self.schedule(at, &Timer::Sender(f));
        }
    }

    pub(super) fn arm_receiver(&mut self, f: usize, at: Time) {
        if at < self.network.flows[f].receiver_armed {
            self.network.flows[f].receiver_armed = at;
            self.schedule(at, &Timer::Receiver(f));
        }
    }
}
