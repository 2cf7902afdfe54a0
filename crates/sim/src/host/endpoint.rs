//! Endpoints of a connection whose both ends write: data in one direction carries the acknowledgements of the
//! other.
//!
//! Each direction is a flow of its own with a sender and a receiver. An endpoint is what one host has of
//! them: the sender of one flow, and the receiver of the other. Every data segment carries an acknowledgement
//! (RFC 9293 section 3.8.6.3, RFC 1122 section 4.2.3.2). An acknowledgement that is due now waits until the
//! sender at its host has sent what it may send at this instant, as in Linux (`tcp_data_snd_check` before
//! `tcp_ack_snd_check`). If nothing goes out, the acknowledgement leaves alone. A delayed acknowledgement
//! leaves alone when its timer expires.

use bentpipe_cc::Time;
use bentpipe_tcp::{AckSegment, BareAck, Passive, Sack, unwrap};

use crate::host::carried::{Carried, CarriedStore};
use crate::host::ends::{DuplexEnd, WriterEnd};
use crate::host::flow::{FlowState, Tcp};
use crate::link::packet::Packet;
use crate::resolve::plan::Duplex;

/// What one host has of a connection whose both ends write.
pub(crate) struct Endpoint<'a> {
    /// The flow whose sender is here.
    out: &'a mut Tcp,
    /// The flow whose receiver is here.
    back: &'a mut Tcp,
}

impl<'a> Endpoint<'a> {
    /// The endpoint that sends the data of flow `f`; `None` if only one end of its connection writes.
    pub(crate) fn of(flows: &'a mut [FlowState], f: usize) -> Option<Self> {
        let other = flows[f].tcp()?.duplex()?.other;
        let [out, back] = flows.get_disjoint_mut([f, other]).ok()?.map(FlowState::tcp_mut);
        Some(Self { out: out?, back: back? })
    }

    /// A data segment leaves. The acknowledgement that is due rides on it, except that of an extra segment,
    /// which leaves alone. The segment grows by the options of the acknowledgement.
    pub(crate) fn load(&mut self, packet: &mut Packet, carried: &mut CarriedStore) {
        let owed = self.back.duplex_mut().and_then(|end| end.owed.take_if(|ack| !ack.extra));
        let ack = owed.unwrap_or_else(|| self.back.receiver.ride());
        let (handle, blocks) = carried.put(ack.ack, ack.sack.blocks().iter().copied());
        packet.handle = handle;
        carried.on(packet).ride = BareAck { ack: ack.ack, tsecr: ack.tsecr, ece: ack.ece };
        packet.size = packet.size.saturating_add(self.back.sack_option_size(blocks) as u16);
        if let Some(counts) = self.back.receiver.mark_counts() {
            self.back.count_marks(packet, blocks, counts, carried);
        }
    }

    /// A data segment has arrived. The sender takes the acknowledgement that rode on it.
    pub(crate) fn unload(&mut self, now: Time, packet: &Packet, carried: &mut CarriedStore) {
        let (Carried { ride, marks, .. }, mut sack) = (*carried.of(packet.handle), Sack::default());
        carried.take(packet.handle, &mut sack);
        self.open(now);
        let out = &mut *self.out;
        out.check.ack(ride.ack, out.sender.next());
        if out.sender.minds_marks() {
            out.learn_marks(marks);
        }
        let ack = AckSegment { ack: ride.ack, sack, tsecr: ride.tsecr, ece: ride.ece, extra: false };
        if let Some(rtt) = out.sender.on_riding_ack(now, &ack) {
            out.rtts.add(rtt.0);
        }
        out.check.sender(&out.sender);
        if out.sender.is_done() {
            out.note_completion(now);
        }
    }

    /// The endpoint that answers may have learned by `now` that the connection is open. Returns true if its
    /// sender was waiting for that.
    pub(crate) fn open(&mut self, now: Time) -> bool {
        let opened = self.back.passive().map(Passive::opened);
        if self.back.duplex().is_none_or(|of| !of.opens)
            || opened == Some(None)
            || self.out.duplex_mut().is_none_or(|end| !core::mem::replace(&mut end.waits, false))
        {
            return false;
        }
        self.out.ends.iter_mut().for_each(|ends| ends.handshake[1] = now);
        if let Some(opened) = opened.flatten() {
            self.out.sender.on_opened(now, &opened);
            if let Some(rtt) = opened.rtt {
                self.out.rtts.add(rtt.0);
            }
        }
        true
    }

    /// For the endpoint that opened the connection: closes it if all data of both directions has arrived. The
    /// last data that it receives shows it that no more will come. Returns true if it closes now.
    pub(crate) fn close(&mut self) -> bool {
        let back = &self.back;
        let all = back.sender.has_sent_all() && back.receiver.delivered() >= back.sender.next();
        let ends = self.out.ends.as_ref();
        let open = ends.and_then(|ends| ends.active()).is_some_and(|active| active.is_quiet());
        let closes = open && all && self.out.is_complete();
        if closes {
            self.out.close();
        }
        closes
    }
}

impl Tcp {
    /// Which direction of two it is, if both ends write.
    #[inline]
    pub(crate) fn duplex(&self) -> Option<Duplex> {
        match self.writer() {
            WriterEnd::Duplex(end) => Some(end.plan),
            _ => None,
        }
    }

    fn duplex_mut(&mut self) -> Option<&mut DuplexEnd> {
        match self.writer_mut()? {
            WriterEnd::Duplex(end) => Some(end),
            _ => None,
        }
    }

    fn passive(&self) -> Option<&Passive> {
        self.ends.as_ref()?.opening.as_ref().map(|(_, passive)| passive)
    }

    /// A data segment arrived. Notes the acknowledgement that is due now, if there is one.
    #[cold]
    pub(super) fn on_duplex_data(&mut self, now: Time, packet: &Packet) {
        let data = self.data_in(packet, unwrap(packet.seq, self.receiver.delivered()));
        let answer = self.receiver.on_data(now, &data);
        if let Some(end) = self.duplex_mut() {
            end.owed = answer;
        }
    }

    /// The acknowledgement that is due now.
    pub(crate) fn owed(&mut self) -> Option<AckSegment> {
        self.duplex_mut()?.owed.take()
    }
}
