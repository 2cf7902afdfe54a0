//! Where connections learn of each other: the halves of a relayed flow (`relays.rs`), and the two directions of a dialogue. What reaches the
//! server is answered, and when the response is complete, the client may ask again. The server's flow stands behind the client's.

use bentpipe_cc::Time;

use crate::engine::network::Network;
use crate::host::flow::{Kind, Tcp};
use crate::link::packet::Packet;

impl Network {
    /// Data, `packet`, has reached the receiver of flow `f` at `now`. Gives the flow that learns of it and may have something to send.
    pub(super) fn hand_over(&mut self, now: Time, f: usize, packet: &Packet) -> Option<usize> {
        let Kind::Tcp(tcp) = &self.flows[f].kind else { return None };
        if !tcp.is_linked() {
            return None;
        }
        if tcp.is_twin() {
            return self.unload(now, f, packet);
        }
        if tcp.half().is_some() {
            return self.relay_data(now, f);
        }
        if tcp.is_client() {
            let (client, server) = self.dialogue(f)?;
            return server.respond(client).then_some(f + 1);
        }
        let before = f.checked_sub(1)?;
        let (client, server) = self.dialogue(before)?;
        client.hear(now, server).then_some(before)
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
