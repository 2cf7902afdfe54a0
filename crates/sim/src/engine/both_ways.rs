//! Connections whose both ends write: where the two flows of one meet. The flow of the end that answers stands behind that of the end that
//! opens.

use bentpipe_tcp::Sack;

use crate::engine::network::Network;
use crate::host::flow::{Kind, Tcp};
use crate::host::sack_store::Ride;
use crate::link::packet::{ACK, CONTROL, Packet};
use crate::resolve::plan::Half;

impl Network {
    /// The flow of the other direction, if both ends of the connection write.
    pub(super) fn twin(&self, f: usize) -> Option<usize> {
        match self.tcp(f)?.twin_half()? {
            Half::First => Some(f + 1),
            Half::Second => f.checked_sub(1),
        }
    }

    /// A packet of flow `f` leaves its host. If it is data of a connection whose both ends write, it takes the acknowledgement of the other
    /// direction along.
    pub(super) fn load(&mut self, f: usize, packet: &mut Packet) {
        if packet.has(ACK | CONTROL) {
            return;
        }
        let Some(other) = self.twin(f) else { return };
        let Kind::Tcp(tcp) = &mut self.flows[other].kind else { return };
        let ack = tcp.ride();
        let (handle, blocks) = self.sacks.put(ack.ack, ack.sack.blocks().iter().copied());
        self.sacks.load(handle, Ride { ack: ack.ack as u32, tsecr: ack.tsecr, ece: ack.ece });
        packet.handle = handle;
        tcp.ride_on(packet, blocks, &mut self.sacks);
    }

    /// Data of flow `f` has reached its receiver. If both ends write, the sender at the same host takes the acknowledgement that
    /// rode on it. Gives the flow of that sender.
    pub(super) fn unload(&mut self, f: usize, packet: &Packet) -> Option<usize> {
        let now = self.now;
        let other = self.twin(f)?;
        let (ride, mut sack) = (self.sacks.ride(packet.handle), Sack::default());
        let report = self.sacks.reported(packet.handle);
        self.sacks.take(packet.handle, &mut sack);
        self.open_both(f);
        if let Kind::Tcp(tcp) = &mut self.flows[other].kind {
            tcp.on_ride(now, ride, sack, report);
        }
        Some(other)
    }

    /// The end that answers may have learned that the connection of flow `f` is open. Gives the flow of its data if that has waited
    /// so long.
    pub(super) fn open_both(&mut self, f: usize) -> Option<usize> {
        let now = self.now;
        if self.tcp(f)?.twin_half()? != Half::First {
            return None;
        }
        let (first, second) = self.both(f)?;
        second.open_behind(now, first).then_some(f + 1)
    }

    /// The acknowledgement of flow `f` that has to leave and found no data to ride on.
    pub(super) fn owed(&mut self, f: usize) -> Option<Packet> {
        let now = self.now;
        let flow = &mut self.flows[f];
        let Kind::Tcp(tcp) = &mut flow.kind else { return None };
        let ack = tcp.owed()?;
        flow.acks.sent += 1;
        Some(tcp.ack_packet(now, &ack, f as u32, flow.ack_route, &mut self.sacks))
    }

    /// Closes the connection of flow `f` if both ends have written all and have it acknowledged. Gives the flow that then has something to
    /// send.
    pub(super) fn close_both(&mut self, f: usize) -> Option<usize> {
        let first = match self.tcp(f)?.twin_half()? {
            Half::First => f,
            Half::Second => f.checked_sub(1)?,
        };
        let (one, other) = self.both(first)?;
        one.close_both(other).then_some(first)
    }

    fn tcp(&self, f: usize) -> Option<&Tcp> {
        match &self.flows.get(f)?.kind {
            Kind::Tcp(tcp) => Some(tcp),
            Kind::Cbr(_) => None,
        }
    }

    /// The connections of flow `first` and of the flow behind it.
    fn both(&mut self, first: usize) -> Option<(&mut Tcp, &mut Tcp)> {
        let [one, other] = self.flows.get_mut(first..first + 2)? else { return None };
        match (&mut one.kind, &mut other.kind) {
            (Kind::Tcp(one), Kind::Tcp(other)) => Some((one, other)),
            _ => None,
        }
    }
}
