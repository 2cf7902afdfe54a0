//! The two ends of a connection whose segments carry headers.

use bentpipe_cc::{Arrived, Time};
use bentpipe_tcp::{AckSegment, Data};

use crate::host::carried::{Carried, CarriedStore};
use crate::host::flow::Tcp;
use crate::link::packet::{ECE, HEADER, Packet, RESENT};

impl Tcp {
    /// As [`Tcp::data_packet`], for a sender that may not be on the fast path: with its
    /// header, if segments carry any.
    #[inline(always)]
    pub(crate) fn any_data_packet(
        &mut self,
        data: &Data,
        flow: u32,
        hop: u32,
        carried: &mut CarriedStore,
    ) -> Packet {
        let mut packet = self.data_packet(data, flow, hop);
        if self.sender.has_headers()
            && let Some(header) = self.sender.header()
        {
            carried.put_header(&mut packet, header);
        }
        packet
    }

    /// An acknowledgement that advertises a window of its own, or carries a header.
    #[inline(never)]
    pub(super) fn on_telling_ack(
        &mut self,
        now: Time,
        upto: u64,
        packet: &Packet,
        carried: &mut CarriedStore,
    ) {
        let Carried { window, marks, .. } = *carried.of(packet.handle);
        let window = u64::from(window);
        if let Some(header) = carried.headers.of(packet) {
            self.sender.on_header(now, &header);
        }
        if self.sender.learns_window() {
            self.sender.on_grown_window(window);
        }
        if self.sender.minds_marks() {
            self.learn_marks(marks);
        }
        let snack = self.snack(packet, carried);
        let mut ack =
            AckSegment { ack: upto, tsecr: packet.ts, ece: packet.has(ECE), ..AckSegment::default() };
        carried.take(packet.handle, &mut ack.sack);
        let rtt = match snack {
            _ if self.sender.minds_windows() => {
                self.sender.on_windowed_ack(now, &ack, window, snack.as_ref())
            }
            Some(snack) => self.sender.on_snack(now, &ack, &snack),
            None => self.sender.on_ack(now, &ack),
        };
        if let Some(rtt) = rtt {
            self.rtts.add(rtt.0);
        }
        self.check.sender(&self.sender);
    }

    /// The receiving end reads the header that segment `seq` carries, and the header is gone.
    #[inline(never)]
    pub(super) fn read_header(&mut self, now: Time, seq: u64, packet: &Packet, carried: &mut CarriedStore) {
        let Some(echo) = self.ends.as_mut().and_then(|ends| ends.echo.as_mut()) else { return };
        let (size, retransmission) = (packet.size.into(), packet.has(RESENT));
        let header = carried.headers.of(packet);
        echo.on_data(&Arrived { now, seq, size, retransmission, ecn: packet.ecn() as u8, header });
        if packet.has(HEADER) {
            carried.free(packet.handle);
        }
    }
}
