//! Where connections learn of each other: the halves of a relayed flow (`relays.rs`), and the two directions of a dialogue. What reaches the
//! server is answered, and when a response is complete, the client may ask again. Which flows these are says [`Exchange`].
//!
//! A browser may have several dialogues, whose flows stand one behind the other. Its first client knows the page, and what is complete on
//! any of its connections may be news for all of them.

use std::iter::StepBy;
use std::ops::Range;

use bentpipe_tcp::Sender;

use crate::engine::network::Network;
use crate::host::flow::{Kind, Tcp};
use crate::link::packet::Packet;
use crate::resolve::plan::{Exchange, Half, Way};
use crate::workload::browser::Next;
use crate::workload::client::{Client, Order};

/// Flows that have learnt something, and may have something to send.
pub(super) type Woken = StepBy<Range<usize>>;

impl Network {
    /// Data, `packet`, has reached the receiver of flow `f`. Gives the flows that learn of it.
    pub(super) fn hand_over(&mut self, f: usize, packet: &Packet) -> Woken {
        let one = match &self.flows[f].kind {
            Kind::Tcp(tcp) if !tcp.is_linked() => None,
            Kind::Tcp(tcp) if tcp.connection().is_some() => None, // its connection has learnt of it before
            Kind::Tcp(tcp) if tcp.is_twin() => self.unload(f, packet),
            Kind::Tcp(tcp) if tcp.half() == Some(Half::First) => self.relay_data(f),
            Kind::Tcp(tcp) => {
                let (part, delivered) = (tcp.part(), tcp.receiver.delivered());
                match Exchange::of(f, part).zip(part.way) {
                    Some((dialogue, Way::Requests)) => self.serve(dialogue, delivered),
                    Some((dialogue, Way::Responses)) => {
                        return self.hear(dialogue, delivered).unwrap_or_else(|| woken(0..0, 1));
                    }
                    None => None,
                }
            }
            Kind::Cbr(_) => None,
        };
        woken(one.map_or(0..0, |f| f..f + 1), 1)
    }

    /// So many segments of requests have reached the server. Gives the flow on which it writes, if it answers.
    fn serve(&mut self, dialogue: Exchange, delivered: u64) -> Option<usize> {
        let now = self.now;
        let (client, server) = self.ends_of(dialogue)?;
        // The server of a connection that is opened later begins with the first request.
        let begins = !server.has_begun();
        if begins {
            server.start(now);
        }
        let answers = server.respond(client, delivered);
        if begins {
            self.flows[dialogue.server()].start = now;
        }
        answers.then_some(dialogue.server())
    }

    /// So many segments of responses have reached the client. Gives the flows that have something to do.
    fn hear(&mut self, dialogue: Exchange, delivered: u64) -> Option<Woken> {
        let now = self.now;
        let (client, server) = self.ends_of(dialogue)?;
        let count = server.responses(now, delivered);
        if count == 0 {
            return None;
        }
        let (asks, sender) = client.client_mut()?;
        let Some(lane) = asks.lane() else {
            asks.on_responses(now, count, sender);
            client.note_due();
            let asks = dialogue.client();
            return Some(woken(asks..asks + 1, 1));
        };
        let first = dialogue.before(lane)?;
        // Several objects are complete at once only on the one connection of a browser that has no other.
        (0..count).filter_map(|_| self.on_object(first, dialogue)).last()
    }

    /// An object of the browser whose first connection is `first` has come on its connection `at`. Gives the flows that have something to do.
    fn on_object(&mut self, first: Exchange, at: Exchange) -> Option<Woken> {
        let now = self.now;
        let browser = self.client(first.client())?.0.browser()?;
        let lanes = browser.connections();
        let (mut asks, mut orders) = (at, Vec::new());
        match browser.on_object(now) {
            Next::Page(when) => {
                asks = first;
                orders.push(Order { at: when, bytes: Some(browser.begin(when)) });
            }
            Next::Another => {
                orders.extend(browser.take().map(|bytes| Order { at: now, bytes: Some(bytes) }));
            }
            Next::Embedded(when) => {
                asks = first;
                let most = if lanes == 1 { usize::MAX } else { lanes };
                let bytes = std::iter::from_fn(|| browser.take()).take(most);
                orders.extend(bytes.map(|bytes| Order { at: when, bytes: Some(bytes) }));
            }
        }
        for (i, order) in orders.iter().enumerate() {
            self.ask(asks.behind(i % lanes), *order);
        }
        let from = asks.client();
        let upto = asks.behind(orders.len().min(lanes)).client();
        (!orders.is_empty()).then(|| woken(from..upto, asks.flows()))
    }

    /// The client of the dialogue has a request to make. Its connection begins with it, if it has neither begun nor stopped.
    fn ask(&mut self, dialogue: Exchange, order: Order) {
        let now = self.now;
        let f = dialogue.client();
        let flow = &mut self.flows[f];
        if order.at < flow.stop {
            flow.start = flow.start.min(order.at);
        }
        if let Some((client, sender)) = self.client(f) {
            client.ask(order);
            client.act(now, sender);
        }
        if let Kind::Tcp(tcp) = &mut self.flows[f].kind {
            tcp.note_due();
        }
    }

    fn client(&mut self, f: usize) -> Option<(&mut Client, &mut Sender)> {
        match &mut self.flows[f].kind {
            Kind::Tcp(tcp) => tcp.client_mut(),
            Kind::Cbr(_) => None,
        }
    }

    /// The connections on which the client and the server write.
    fn ends_of(&mut self, dialogue: Exchange) -> Option<(&mut Tcp, &mut Tcp)> {
        let [client, server] = self.flows.get_disjoint_mut([dialogue.client(), dialogue.server()]).ok()?;
        match (&mut client.kind, &mut server.kind) {
            (Kind::Tcp(client), Kind::Tcp(server)) => Some((client, server)),
            _ => None,
        }
    }
}

/// Every `step`th of these flows.
fn woken(flows: Range<usize>, step: usize) -> Woken {
    flows.step_by(step)
}
