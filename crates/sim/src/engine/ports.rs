//! Ports on request: those of a constellation whose rules say that a packet may go elsewhere while it waits, or must
//! wait for longer. All that they know is at their node, or in tables that are known before the run.

use crate::constellation::{Onward, node_of};
use crate::engine::network::Network;
use crate::link::direction::Push;
use crate::link::packet::Packet;
use crate::queue::packet_store::Sifted;
use crate::scenario::LeftBehind;

impl Network {
    /// Offers a packet to direction `i`. What that port gives up meanwhile to other ports of its node is in `moved`.
    pub(super) fn offer(&mut self, i: usize, packet: &Packet) -> Push {
        let class = self.class(i, packet);
        if !self.directions[i].is_on_request() {
            return self.directions[i].push(self.now, *packet, class);
        }
        self.leave(i);
        if self.forwarding.as_ref().is_some_and(|of| of.silent_until(i) > self.now) {
            self.directions[i].stay_busy();
        }
        let push = self.directions[i].accept(self.now, *packet, class);
        self.let_send(i);
        push
    }

    /// Lets port `i` send, if it is on request and its transmitter is free.
    pub(super) fn let_send(&mut self, i: usize) {
        if !self.directions[i].is_on_request() {
            return;
        }
        self.leave(i);
        let Self { forwarding: Some(forwarding), directions, moved, now, .. } = self else { return };
        let (direction, now, silent) = (&mut directions[i], *now, forwarding.silent_until(i));
        while silent <= now
            && let Some(mut packet) = direction.ask(now)
        {
            match forwarding.onward(i, &mut packet, now) {
                Onward::Now => {
                    direction.send(now, packet);
                    break;
                }
                Onward::Later(until) => direction.hold(until, packet),
                Onward::Elsewhere => {
                    direction.hand_back();
                    moved.push(packet);
                }
            }
        }
        if direction.keeps() {
            let silent = Some(silent).filter(|until| *until > now);
            let held = direction.held_until().filter(|until| *until > now);
            let wakes = [forwarding.next_departure(i), silent, held];
            wakes.into_iter().flatten().for_each(|at| direction.wake(at));
        }
        self.lose_doomed(i, now, None);
    }

    /// Packets that wait at port `i` for a link which a station has left do not stay as they are.
    fn leave(&mut self, i: usize) {
        let Self { forwarding: Some(forwarding), directions, moved, now, .. } = self else { return };
        let departed = forwarding.take_departed(i, *now);
        if departed.is_empty() {
            return;
        }
        let flushes = forwarding.left_behind() == LeftBehind::Flushed;
        directions[i].sift(*now, &mut |packet| {
            if !departed.contains(&node_of(packet.hop)) {
                return Sifted::Stays;
            }
            if flushes {
                return Sifted::Dropped;
            }
            if forwarding.look_up_again(i, packet) {
                return Sifted::Stays;
            }
            moved.push(*packet);
            Sifted::Returned
        });
    }
}
