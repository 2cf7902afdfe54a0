//! A connection whose both ends write: data in one direction carries the acknowledgements of the other.
//!
//! Each direction is a flow of its own with a sender and a receiver. At each host the receiver of one flow
//! meets the sender of the other. Every data segment carries an acknowledgement (RFC 9293 section 3.8.6.3,
//! RFC 1122 section 4.2.3.2). An acknowledgement that is due now waits until the sender at its host has sent
//! what it may send at this instant, as in Linux (`tcp_data_snd_check` before `tcp_ack_snd_check`). If
//! nothing goes out, the acknowledgement leaves alone. A delayed acknowledgement leaves alone when its timer
//! expires.

use bentpipe_cc::Time;
use bentpipe_tcp::{AckSegment, BareAck, Data, Passive, Sack, unwrap};

use crate::host::carried::{CarriedStore, MarkReport};
use crate::host::ends::{TwinEnd, WriterEnd};
use crate::host::flow::Tcp;
use crate::link::packet::{CWR, LOW, PROBE, Packet};
use crate::resolve::plan::Twin;

impl Tcp {
    /// Which direction of two it is, if both ends write.
    #[inline]
    pub(crate) fn twin(&self) -> Option<Twin> {
        match self.writer() {
            WriterEnd::Twin(twin) => Some(twin.plan),
            _ => None,
        }
    }

    fn twin_mut(&mut self) -> Option<&mut TwinEnd> {
        match self.writer_mut()? {
            WriterEnd::Twin(twin) => Some(twin),
            _ => None,
        }
    }

    fn passive(&self) -> Option<&Passive> {
        self.ends.as_ref()?.opening.as_ref().map(|(_, passive)| passive)
    }

    /// For the second direction: the connection, which `first` has asked for, is open at `now`. Returns true
    /// if this direction was waiting for that.
    pub(crate) fn open_behind(&mut self, now: Time, first: &Tcp) -> bool {
        let opened = first.passive().map(Passive::opened);
        if opened == Some(None)
            || self.twin_mut().is_none_or(|twin| !core::mem::replace(&mut twin.waits, false))
        {
            return false;
        }
        self.ends.iter_mut().for_each(|ends| ends.handshake[1] = now);
        if let Some(opened) = opened.flatten() {
            self.sender.on_opened(now, &opened);
            if let Some(rtt) = opened.rtt {
                self.rtts.add(rtt.0);
            }
        }
        true
    }

    /// A data segment arrived. Notes the acknowledgement that is due now, if there is one.
    #[cold]
    pub(super) fn on_twin_data(&mut self, now: Time, packet: &Packet) {
        let data = Data {
            seq: unwrap(packet.seq, self.receiver.delivered()),
            len: self.payload(packet),
            tsval: packet.ts,
            retransmission: false,
            cwr: packet.has(CWR),
            probe: packet.has(PROBE),
            ce: packet.is_marked(),
            extra: packet.has(LOW),
        };
        let answer = self.receiver.on_data(now, &data);
        if let Some(twin) = self.twin_mut() {
            twin.owed = answer;
        }
    }

    /// The acknowledgement that rides on a data segment which leaves this receiver's host now. The
    /// acknowledgement of an extra segment leaves alone.
    pub(crate) fn ride(&mut self) -> AckSegment {
        let owed = self.twin_mut().and_then(|twin| twin.owed.take_if(|ack| !ack.extra));
        owed.unwrap_or_else(|| self.receiver.ride())
    }

    /// The acknowledgement that is due now.
    pub(crate) fn owed(&mut self) -> Option<AckSegment> {
        self.twin_mut()?.owed.take()
    }

    /// Puts an acknowledgement with `blocks` SACK blocks, stored under the packet's handle, on the packet,
    /// which grows by the acknowledgement's options.
    pub(crate) fn ride_on(&self, packet: &mut Packet, blocks: u32, carried: &mut CarriedStore) {
        packet.size = packet.size.saturating_add(self.sack_option_size(blocks) as u16);
        if let Some(counts) = self.receiver.mark_counts() {
            self.count_marks(packet, blocks, counts, carried);
        }
    }

    /// An acknowledgement arrived on a data segment.
    pub(crate) fn on_ride(&mut self, now: Time, ride: BareAck, sack: Sack, marks: MarkReport) {
        self.check.ack(ride.ack, self.sender.next());
        if self.sender.minds_marks() {
            self.learn_marks(marks);
        }
        let ack = AckSegment { ack: ride.ack, sack, tsecr: ride.tsecr, ece: ride.ece, extra: false };
        if let Some(rtt) = self.sender.on_riding_ack(now, &ack) {
            self.rtts.add(rtt.0);
        }
        self.check.sender(&self.sender);
        if self.sender.is_done() {
            self.settle(now);
        }
    }

    /// For the first direction: closes the connection if all data of both directions has arrived. This end
    /// learns from the data of `second` that no more will come. Returns true if it closes now.
    pub(crate) fn close_both(&mut self, second: &Tcp) -> bool {
        let all = second.sender.has_sent_all() && second.receiver.delivered() >= second.sender.next();
        let open = self.ends.as_ref().and_then(|ends| ends.active()).is_some_and(|active| active.is_quiet());
        let closes = open && all && self.is_complete();
        if closes {
            self.close();
        }
        closes
    }
}
