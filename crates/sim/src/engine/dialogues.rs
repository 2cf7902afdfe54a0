//! Where connections learn of each other: the halves of a relayed flow (`relays.rs`), and the two directions of a dialogue. What reaches the
//! server is answered, and when a response is complete, the client may ask again. The server's flow stands behind the client's.
//!
//! A browser may have several dialogues, whose flows stand one behind the other. Its first client knows the page, and what is complete on
//! any of its connections may be news for all of them.

use std::iter::StepBy;
use std::ops::Range;

use bentpipe_cc::Time;
use bentpipe_tcp::Sender;

use crate::engine::network::Network;
use crate::host::flow::{Kind, Tcp};
use crate::link::packet::Packet;
use crate::workload::browser::Next;
use crate::workload::client::{Client, Order};

/// Flows that have learnt something, and may have something to send.
pub(super) type Woken = StepBy<Range<usize>>;

/// From the flow of a client to that of the next one of its browser.
const LANE: usize = 2;

impl Network {
    /// Data, `packet`, has reached the receiver of flow `f` at `now`. Gives the flows that learn of it.
    pub(super) fn hand_over(&mut self, now: Time, f: usize, packet: &Packet) -> Woken {
        let one = match &self.flows[f].kind {
            Kind::Tcp(tcp) if !tcp.is_linked() => None,
            Kind::Tcp(tcp) if tcp.connection().is_some() => None, // its connection has learnt of it before
            Kind::Tcp(tcp) if tcp.is_twin() => self.unload(now, f, packet),
            Kind::Tcp(tcp) if tcp.half().is_some() => self.relay_data(now, f),
            Kind::Tcp(tcp) if tcp.is_client() => self.serve(now, f),
            Kind::Tcp(_) => return self.hear(now, f),
            Kind::Cbr(_) => None,
        };
        one.map_or(0..0, |f| f..f + 1).step_by(LANE)
    }

    /// Requests of the client `f` have reached its server. Gives the flow of the server, if it answers.
    fn serve(&mut self, now: Time, f: usize) -> Option<usize> {
        let (client, server) = self.dialogue(f)?;
        // The server of a connection that is opened later begins with the first request.
        let begins = !server.has_begun();
        if begins {
            server.start(now);
        }
        let answers = server.respond(client);
        if begins {
            self.flows[f + 1].start = now;
        }
        answers.then_some(f + 1)
    }

    /// Data of the server `f` has reached its client.
    fn hear(&mut self, now: Time, f: usize) -> Woken {
        let nobody = (0..0).step_by(LANE);
        let Some(before) = f.checked_sub(1) else { return nobody };
        let Some((client, server)) = self.dialogue(before) else { return nobody };
        let count = server.responses(now);
        if count == 0 {
            return nobody;
        }
        let Some((asks, sender)) = client.client_mut() else { return nobody };
        let Some(lane) = asks.lane() else {
            asks.on_responses(now, count, sender);
            client.note_due();
            return (before..before + 1).step_by(LANE);
        };
        let Some(first) = before.checked_sub(LANE * lane) else { return nobody };
        // Several objects are complete at once only on the one connection of a browser that has no other.
        (0..count).filter_map(|_| self.on_object(now, first, before)).last().unwrap_or(nobody)
    }

    /// An object of the browser whose first client is flow `first` has come to its client `at`. Gives the flows that have something to do.
    fn on_object(&mut self, now: Time, first: usize, at: usize) -> Option<Woken> {
        let browser = self.client(first)?.0.browser()?;
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
            self.ask(now, asks + LANE * (i % lanes), *order);
        }
        (!orders.is_empty()).then(|| (asks..asks + LANE * orders.len().min(lanes)).step_by(LANE))
    }

    /// The client of flow `f` has a request to make. Its connection begins with it, if it has neither begun nor stopped.
    fn ask(&mut self, now: Time, f: usize, order: Order) {
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

    /// The connections of the client `f` and of its server.
    fn dialogue(&mut self, f: usize) -> Option<(&mut Tcp, &mut Tcp)> {
        let [client, server] = self.flows.get_mut(f..f + 2)? else { return None };
        match (&mut client.kind, &mut server.kind) {
            (Kind::Tcp(client), Kind::Tcp(server)) => Some((client, server)),
            _ => None,
        }
    }
}
