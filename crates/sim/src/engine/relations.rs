//! Where related flows meet: at a relay, in a dialogue, or at both ends of a connection whose both ends
//! write. What reaches a host on one flow may be news for others. Those flows are then woken
//! ([`Network::woken`]) and may have something to send. The plan says which flows these are
//! (`resolve/relations.rs`).
//!
//! A browser may have several dialogues. Its first client knows the page, and an object that is complete on
//! any of its connections may be news for all of them.

use bentpipe_tcp::{Sender, Signal};

use crate::engine::network::Network;
use crate::host::control;
use crate::host::endpoint::Endpoint;
use crate::host::flow::{FlowState, Tcp};
use crate::link::packet::{ACK, CONTROL, Packet};
use crate::resolve::plan::{Dialogue, ReadBy};
use crate::workload::browser::Next;
use crate::workload::client::{Client, Order};

impl Network {
    /// Data, `packet`, has reached the receiver of flow `f`. Wakes the flows that read it.
    pub(super) fn hand_over(&mut self, f: usize, packet: &Packet) {
        let Some(tcp) = self.flows[f].tcp() else { return };
        match tcp.reader().clone() {
            ReadBy::Sink | ReadBy::Connection => {} // a connection has learnt of it before
            ReadBy::Duplex { other } => {
                if let Some(mut end) = Endpoint::of(&mut self.flows, other) {
                    end.unload(self.now, packet, &mut self.carried);
                }
                self.woken.push(other);
            }
            ReadBy::Relay { onward } => self.relay_data(f, onward),
            ReadBy::Server(dialogue) => self.serve(&dialogue),
            ReadBy::Client(dialogue) => self.hear(&dialogue),
        }
    }

    /// A control segment has reached the receiver of flow `f`. Wakes the flow that reads it.
    pub(super) fn hand_over_control(&mut self, f: usize, packet: &Packet) {
        let Some(tcp) = self.flows[f].tcp() else { return };
        let woken = match *tcp.reader() {
            ReadBy::Relay { onward } => self.relay_control(onward, packet).then_some(onward),
            ReadBy::Duplex { other } => Endpoint::of(&mut self.flows, other)
                .is_some_and(|mut end| end.open(self.now))
                .then_some(other),
            _ => None,
        };
        self.woken.extend(woken);
    }

    /// Data has reached the relay on flow `f`, which sends it on with flow `onward`.
    fn relay_data(&mut self, f: usize, onward: usize) {
        let now = self.now;
        let Some([to, from]) = self.pair(f, onward) else { return };
        let more = from.feed(now, to.receiver.delivered());
        self.begin_behind(onward);
        self.woken.extend(more.then_some(onward));
    }

    /// A control segment has reached the relay that sends on with flow `onward`. Returns true if that is news
    /// for the relay.
    fn relay_control(&mut self, onward: usize, packet: &Packet) -> bool {
        let now = self.now;
        let Some(from) = self.flows[onward].tcp_mut() else { return false };
        match control::signal(packet) {
            Some(Signal::Syn) => from.open_with(now),
            Some(Signal::Fin) => from.close_with(now),
            _ => return false,
        }
        self.begin_behind(onward);
        true
    }

    /// The flow behind a relay begins with the first arrival, if a browser has opened its connection later
    /// than at the start.
    fn begin_behind(&mut self, onward: usize) {
        let flow = &mut self.flows[onward];
        flow.start = flow.start.min(self.now);
    }

    /// Data of flow `f` has been acknowledged. If a relay writes the flow, the relay's buffer has room.
    /// Returns the packet that says so, if one is due.
    pub(super) fn relay_room(&mut self, f: usize) -> Option<Packet> {
        let now = self.now;
        let from = self.flows[f].tcp()?.relay()?.from;
        let [to, behind] = self.pair(from, f)?;
        let ack = to.passed_on(now, behind.sender.una())?;
        let flow = &mut self.flows[from];
        flow.acks.sent += 1;
        let route = flow.ack_route;
        Some(flow.tcp_mut()?.ack_packet(now, &ack, from as u32, route, &mut self.carried))
    }

    /// A packet of flow `f` leaves its host. Data of a connection whose both ends write takes the
    /// acknowledgement of the other direction along.
    pub(super) fn load(&mut self, f: usize, packet: &mut Packet) {
        if packet.has(ACK | CONTROL) {
            return;
        }
        if let Some(mut end) = Endpoint::of(&mut self.flows, f) {
            end.load(packet, &mut self.carried);
        }
    }

    /// The acknowledgement of flow `f` that is due now and found no data to ride on.
    pub(super) fn owed(&mut self, f: usize) -> Option<Packet> {
        let flow = &mut self.flows[f];
        let route = flow.ack_route;
        let ack = flow.tcp_mut()?.owed()?;
        flow.acks.sent += 1;
        Some(flow.tcp_mut()?.ack_packet(self.now, &ack, f as u32, route, &mut self.carried))
    }

    /// Closes the connection of flow `f` if both ends have written everything and all of it is acknowledged.
    /// Returns the flow that then has something to send.
    pub(super) fn close_both(&mut self, f: usize) -> Option<usize> {
        let duplex = self.flows[f].tcp()?.duplex()?;
        let first = if duplex.opens { f } else { duplex.other };
        Endpoint::of(&mut self.flows, first)?.close().then_some(first)
    }

    /// Requests have reached the server, which wakes if it answers.
    fn serve(&mut self, dialogue: &Dialogue) {
        let now = self.now;
        let Some(delivered) = self.flows[dialogue.to_server].tcp().map(|tcp| tcp.receiver.delivered()) else {
            return;
        };
        let Some([client, server]) = self.pair(dialogue.client, dialogue.server) else { return };
        // The server of a connection that is opened later begins with the first request.
        let begins = !server.has_begun();
        if begins {
            server.start(now);
        }
        let answers = server.respond(client, delivered);
        if begins {
            self.flows[dialogue.server].start = now;
        }
        self.woken.extend(answers.then_some(dialogue.server));
    }

    /// Responses have reached the client. Wakes the flows that have something to do.
    fn hear(&mut self, dialogue: &Dialogue) {
        let now = self.now;
        let Some(delivered) = self.flows[dialogue.to_client].tcp().map(|tcp| tcp.receiver.delivered()) else {
            return;
        };
        let Some([client, server]) = self.pair(dialogue.client, dialogue.server) else { return };
        let count = server.responses(now, delivered);
        let Some((asks, sender)) = client.client_mut().filter(|_| count > 0) else { return };
        if !asks.browses() {
            asks.on_responses(now, count, sender);
            client.note_due();
            return self.woken.push(dialogue.client);
        }
        // Several objects can be complete at once only on the single connection of a browser.
        (0..count).for_each(|_| self.on_object(dialogue));
    }

    /// An object of a browser has come on this connection.
    fn on_object(&mut self, on: &Dialogue) {
        let now = self.now;
        let lanes = &on.lanes;
        let Some(browser) = self.client(lanes[0]).and_then(|(client, _)| client.browser()) else { return };
        // The connection on which it asks; if there are several, the first.
        let (mut asks, mut orders) = (0, Vec::new());
        match browser.on_object(now) {
            Next::Page(when) => orders.push(Order { at: when, bytes: Some(browser.begin(when)) }),
            Next::Another => {
                asks = on.lane;
                orders.extend(browser.take().map(|bytes| Order { at: now, bytes: Some(bytes) }));
            }
            Next::Embedded(when) => {
                let most = if lanes.len() == 1 { usize::MAX } else { lanes.len() };
                let bytes = std::iter::from_fn(|| browser.take()).take(most);
                orders.extend(bytes.map(|bytes| Order { at: when, bytes: Some(bytes) }));
            }
        }
        let clients = &lanes[asks..];
        for (&client, order) in clients.iter().cycle().zip(&orders) {
            self.ask(client, *order);
        }
        if !orders.is_empty() {
            self.woken.clear();
            self.woken.extend(clients.iter().take(orders.len()));
        }
    }

    /// The client of flow `f` has a request to make. Its connection begins with the request, unless it has
    /// already begun or stopped.
    fn ask(&mut self, f: usize, order: Order) {
        let flow = &mut self.flows[f];
        if order.at < flow.stop {
            flow.start = flow.start.min(order.at);
        }
        let now = self.now;
        if let Some((client, sender)) = self.client(f) {
            client.ask(order);
            client.act(now, sender);
        }
        self.flows[f].tcp_mut().into_iter().for_each(Tcp::note_due);
    }

    fn client(&mut self, f: usize) -> Option<(&mut Client, &mut Sender)> {
        self.flows[f].tcp_mut()?.client_mut()
    }

    /// The connections of two flows.
    fn pair(&mut self, one: usize, other: usize) -> Option<[&mut Tcp; 2]> {
        let [one, other] = self.flows.get_disjoint_mut([one, other]).ok()?.map(FlowState::tcp_mut);
        Some([one?, other?])
    }
}
