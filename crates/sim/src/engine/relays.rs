//! Where the two halves of a relayed connection meet: what reaches the relay in the first half goes out in the second, and what the second
//! has had acknowledged makes room in the first. The second half is the flow behind the first.

use bentpipe_tcp::Signal;

use crate::engine::network::Network;
use crate::host::control;
use crate::host::flow::{Kind, Tcp};
use crate::link::packet::Packet;
use crate::resolve::plan::Half;

impl Network {
    /// Data has reached the receiver of flow `f`. If that is a relay, gives the second half, which may have something to send.
    pub(super) fn relay_data(&mut self, f: usize) -> Option<usize> {
        let now = self.now;
        let (first, second) = self.halves(f)?;
        let delivered = first.receiver.delivered();
        let more = second.feed(now, delivered);
        self.begin_behind(f);
        more.then_some(f + 1)
    }

    /// A control segment has reached the receiver of flow `f`. Gives the second half, if that learns of it.
    pub(super) fn relay_control(&mut self, f: usize, packet: &Packet) -> Option<usize> {
        let now = self.now;
        let signal = control::signal(packet);
        let (_, second) = self.halves(f)?;
        match signal {
            Some(Signal::Syn) => second.open_with(now),
            Some(Signal::Fin) => second.close_with(now),
            _ => return None,
        }
        self.begin_behind(f);
        Some(f + 1)
    }

    /// The second half of a connection that a browser opens later begins, with what comes first from the first half, `f`.
    fn begin_behind(&mut self, f: usize) {
        let second = &mut self.flows[f + 1];
        second.start = second.start.min(self.now);
    }

    /// An acknowledgement has reached the sender of flow `f`. If that is a relay, the buffer of the first half has room; gives the packet
    /// that says so, if one is due.
    pub(super) fn relay_room(&mut self, f: usize) -> Option<Packet> {
        let now = self.now;
        let before = f.checked_sub(1)?;
        let (first, second) = self.halves(before)?;
        let ack = first.passed_on(now, second.sender.una())?;
        let flow = &mut self.flows[before];
        flow.acks.sent += 1;
        let Kind::Tcp(first) = &mut flow.kind else { return None };
        Some(first.ack_packet(now, &ack, before as u32, flow.ack_route, &mut self.sacks))
    }

    /// The connections of flow `f` and of the flow behind it, if `f` is a first half.
    fn halves(&mut self, f: usize) -> Option<(&mut Tcp, &mut Tcp)> {
        let [first, second] = self.flows.get_mut(f..f + 2)? else { return None };
        match (first.half() == Some(Half::First), &mut first.kind, &mut second.kind) {
            (true, Kind::Tcp(first), Kind::Tcp(second)) => Some((first, second)),
            _ => None,
        }
    }
}
