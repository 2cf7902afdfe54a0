//! What one host does with many packets in a row, while nothing else happens in its partition.
//!
//! The loop of the fast path takes one event at a time. Most events are packets of one flow, one after the
//! other, and timers of that flow between them. They are worked off here as long as no other event comes
//! before; the packets that the host sends wait at their door. The calls and their order are those of
//! `engine/hosts.rs`.

use bentpipe_cc::Time;

use super::routes::{END, Role};
use super::{Doors, FastPath};
use crate::engine::hosts::{EventLoop, Timer};
use crate::engine::network::Network;
use crate::host::flow::{Kind, NEVER};
use crate::link::packet::{ACK, CONTROL, LOST, Packet};
use crate::link::under_way::InFlight;

impl FastPath {
    /// Works off as many events as possible, up to `last` and at most `most`. The first is an arrival by this
    /// direction, or a timer. Returns how many; with 0 nothing has happened. It is not inlined, because the loop
    /// would then have fewer registers for the packets that are taken one by one.
    #[inline(never)]
    pub(super) fn take(&mut self, arrival: Option<usize>, last: Time, most: u64) -> u64 {
        match arrival {
            Some(i) => self.take_arrivals(i, last, most),
            None => self.take_timers(last, most),
        }
    }

    fn take_arrivals(&mut self, i: usize, last: Time, most: u64) -> u64 {
        let ([InFlight { packet: first, .. }, rest @ ..], _) = self.network.directions[i].front() else {
            return 0;
        };
        let (f, hop) = (first.flow as usize, first.hop as usize);
        let own = self.events.timer_number() == f as u64;
        let next = rest.first().filter(|of| of.packet.flow == first.flow && of.at <= last);
        if next.is_none() && !own || self.hops[hop].role != Role::Holds || self.hops[hop + 1].direction != END
        {
            return 0;
        }
        match first.has(ACK) {
            true => self.run_sender(f, i, last, most),
            false => self.run_receiver(f, i, last, most),
        }
    }

    fn take_timers(&mut self, last: Time, most: u64) -> u64 {
        let f = self.events.timer_number() as usize;
        let Some(flow) = self.network.flows.get(f) else { return 0 };
        let door = self.hops[flow.data_route as usize].door;
        match self.doors.doors.get(door as usize).map(|door| door.back) {
            None | Some(END) => 0,
            Some(i) => self.run_sender(f, i as usize, last, most),
        }
    }

    /// Acknowledgements of flow `f` come out of direction `i`, and timers of its sender expire.
    #[inline(never)]
    fn run_sender(&mut self, f: usize, i: usize, last: Time, most: u64) -> u64 {
        let Network { directions, flows, carried, .. } = &mut self.network;
        let flow = &mut flows[f];
        let Doors { doors, due, most: size, .. } = &mut self.doors;
        let (Kind::Tcp(tcp), Some(door)) =
            (&mut flow.kind, doors.get_mut(self.hops[flow.data_route as usize].door as usize))
        else {
            return 0;
        };
        let (ring, behind) = directions[i].front();
        let second = ring.get(1).map_or(Time::MAX, |of| of.at);
        let mut until = self.events.arrival_besides(i).min(*due).min(Time(last.0.saturating_add(1)));
        until = until.min(behind.unwrap_or(Time::MAX));
        // The flow's own timer is worked off here, too. `queued`: the instant of its event.
        let (mut armed, mut queued) = (flow.sender_armed, flow.sender_armed);
        let own =
            armed == self.events.timer() && self.events.timer_number() == f as u64 && armed != flow.start;
        if !tcp.is_alone() || second.min(if own { armed } else { Time::MAX }) >= until {
            return 0;
        }
        if own && armed < until {
            self.events.pop();
            queued = NEVER;
        }
        until = until.min(self.events.timer());
        let (mut now, mut acks, mut events, mut sent) = (Time(0), 0, 0, 0);
        let mut calm = tcp.sender.has_no_other_limit();
        while events < most && door.room(*size) > 0 {
            let mut taken = 0;
            if calm && tcp.is_on_fast_path() {
                let room = door.room(*size).min((most - events) as usize);
                let by = ring.get(acks).map_or(until, |of| until.min(door.due_with(of.at, *due)));
                let bare = |of: &&InFlight| {
                    let Packet { flow, flags, handle, .. } = of.packet;
                    of.at < by && of.at <= armed && flow as usize == f && flags == ACK && handle == 0
                };
                let bare = ring[acks..].iter().take(room).take_while(bare).map(|of| (of.at, of.packet.seq));
                let at_hop = (f as u32, flow.data_route);
                let last;
                (taken, last) = tcp.on_bare_acks(bare, armed, at_hop, |at, packet| {
                    sent += 1;
                    door.wait(at, packet, due);
                });
                if taken > 0 {
                    now = last;
                    calm = tcp.sender.has_no_other_limit();
                    if calm {
                        (acks, events) = (acks + taken, events + taken as u64);
                        armed = armed.min(tcp.due());
                        until = until.min(*due);
                        continue;
                    }
                }
            }
            let ack = ring.get(acks).filter(|of| of.at < until);
            let fast = if taken > 0 {
                (acks, events) = (acks + taken, events + taken as u64 - 1); // the last one is counted below
                true
            } else if armed < until && ack.is_none_or(|of| armed < of.at) {
                now = armed;
                armed = NEVER;
                tcp.on_deadline(now);
                tcp.is_on_fast_path()
            } else if let Some(of) = ack
                && of.packet.flow as usize == f
                && of.packet.flags & (ACK | CONTROL | LOST) == ACK
            {
                now = of.at;
                acks += 1;
                tcp.on_ack(now, &of.packet, carried)
            } else {
                break;
            };
            events += 1;
            if fast {
                while let Some(data) = tcp.sender.poll_fast(now) {
                    sent += 1;
                    door.wait(now, &tcp.data_packet(&data, f as u32, flow.data_route), due);
                }
            } else {
                while let Some(packet) = tcp.next_packet(now, f as u32, flow.data_route, carried) {
                    sent += u64::from(!packet.has(CONTROL));
                    door.wait(now, &packet, due);
                }
            }
            armed = armed.min(tcp.due());
            until = until.min(*due);
        }
        flow.acks.arrived += acks as u64;
        flow.data.sent += sent;
        flow.sender_armed = armed;
        let full = door.room(*size) == 0;
        if acks > 0 {
            directions[i].take(acks);
            let next = directions[i].next();
            self.expect_here(i, next);
        }
        if events > 0 {
            self.network.now = now;
        }
        if armed != queued {
            self.schedule(armed, Timer::Sender(f));
        }
        if full {
            self.move_all_on();
        }
        events
    }

    /// Data of flow `f` comes out of direction `i`.
    #[inline(never)]
    fn run_receiver(&mut self, f: usize, i: usize, last: Time, most: u64) -> u64 {
        let Network { directions, flows, carried, .. } = &mut self.network;
        let flow = &mut flows[f];
        let Doors { doors, due, most: size, .. } = &mut self.doors;
        let (Kind::Tcp(tcp), Some(door)) =
            (&mut flow.kind, doors.get_mut(self.hops[flow.ack_route as usize].door as usize))
        else {
            return 0;
        };
        if tcp.is_linked() || tcp.is_duplex() {
            return 0;
        }
        let (ring, _) = directions[i].front();
        let mut until = self.events.arrival_besides(i).min(*due).min(self.events.timer());
        until = until.min(Time(last.0.saturating_add(1)));
        let (queued, mut armed, mut now, mut arrived, mut sent) =
            (flow.receiver_armed, flow.receiver_armed, Time(0), 0, 0);
        for of in ring.iter().take(door.room(*size).min(most as usize)) {
            let mut packet = of.packet;
            if of.at >= until || packet.flow as usize != f || packet.has(ACK | CONTROL | LOST) {
                break;
            }
            (now, arrived) = (of.at, arrived + 1);
            if tcp.on_data(now, &mut packet, flow.ack_route, carried) {
                sent += 1;
                door.wait(now, &packet, due);
            }
            armed = armed.min(tcp.receiver.deadline().unwrap_or(NEVER));
            until = until.min(*due).min(armed);
        }
        if arrived == 0 {
            return 0;
        }
        flow.data.arrived += arrived;
        flow.acks.sent += sent;
        flow.receiver_armed = armed;
        let full = door.room(*size) == 0;
        directions[i].take(arrived as usize);
        let next = directions[i].next();
        self.network.packets += arrived;
        self.network.now = now;
        self.expect_here(i, next);
        if armed < queued {
            self.schedule(armed, Timer::Receiver(f));
        }
        if full {
            self.move_all_on();
        }
        arrived
    }
}
