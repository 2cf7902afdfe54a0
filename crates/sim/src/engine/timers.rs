//! Events that are no arrivals: timers of both ends of flows, and the recorder's ticks.

use bentpipe_cc::Time;

use super::Engine;
use crate::flow::{Kind, NEVER};
use crate::packet::Packet;
use crate::recorder::Cause;

/// What an event's number stands for.
pub(super) enum Event {
    Link(usize),
    Sender(usize),
    Receiver(usize),
    Stop(usize),
    Tick,
}

impl Engine {
    pub(super) fn number(&self, event: &Event) -> u64 {
        let (links, flows) = (self.links.len(), self.flows.len());
        (match *event {
            Event::Link(i) => i,
            Event::Sender(i) => links + i,
            Event::Receiver(i) => links + flows + i,
            Event::Stop(i) => links + 2 * flows + i,
            Event::Tick => links + 3 * flows,
        }) as u64
    }

    /// Where the event with this number happens.
    #[inline]
    pub(super) fn place(&self, number: u64) -> usize {
        if self.places.count == 1 {
            return 0;
        }
        let stops = self.number(&Event::Stop(0));
        let flows = self.flows.len() as u64;
        // A flow's end is its sender's affair.
        self.places.of((if number >= stops { number - 2 * flows } else { number }) as usize)
    }

    /// The next arrival of link `i` will be at `at`, or there is none.
    #[inline(always)]
    pub(super) fn expect_here(&mut self, i: usize, at: Option<Time>) {
        if self.links[i].is_shared() {
            return self.expect_of_flow(i, at);
        }
        self.events.expect_here(i, at);
    }

    /// The same where flows share a delay: the next arrival is one of another flow.
    #[inline(never)]
    fn expect_of_flow(&mut self, i: usize, at: Option<Time>) {
        self.events.rename(i, self.links[i].entity());
        self.events.expect(i, at);
    }

    /// The same for a link that held nothing, wherever its packets arrive.
    #[inline(never)]
    pub(super) fn expect_first(&mut self, i: usize, at: Time) {
        self.expect_of_flow(i, Some(at));
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

    /// The next event is a timer that expires at `at`.
    #[inline(never)]
    pub(super) fn on_timer(&mut self, at: Time) {
        let Some(number) = self.events.pop() else { return };
        if let Some(tap) = &mut self.tap {
            tap.expires();
        }
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
                    self.send(f, Cause::Timer);
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
                // Sent from here without a call: 2 % fewer instructions with BBR.
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
        let flow = &mut self.flows[f];
        flow.receiver_armed = NEVER;
        let Kind::Tcp(tcp) = &mut flow.kind else { return };
        if let Some(ack) = tcp.on_receiver_deadline(now) {
            let mut packet = tcp.ack_packet(&ack, f as u32, flow.ack_route, &mut self.sacks);
            flow.acks.sent += 1;
            self.depart(&mut packet);
        }
        self.answer(f);
    }

    /// Makes sure that an entry for the sender's timer stands at `at` or before; later deadlines wait for that entry.
    pub(super) fn arm_sender(&mut self, f: usize, at: Time) {
        if at < self.flows[f].sender_armed {
            self.flows[f].sender_armed = at;
            self.schedule(at, self.number(&Event::Sender(f)));
        }
    }

    pub(super) fn arm_receiver(&mut self, f: usize, at: Time) {
        if at < self.flows[f].receiver_armed {
            self.flows[f].receiver_armed = at;
            self.schedule(at, self.number(&Event::Receiver(f)));
        }
    }
}
