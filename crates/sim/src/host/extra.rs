//! Acknowledgements of extra segments, which have low priority (docs/tcp.md).

use bentpipe_cc::Time;
use bentpipe_tcp::AckSegment;

use crate::host::carried::CarriedStore;
use crate::host::flow::Tcp;
use crate::link::packet::{ECE, Packet};

impl Tcp {
    /// The acknowledgement of an extra segment. A window that it tells is not taken: it may be older than those of other acknowledgements.
    #[cold]
    pub(super) fn on_extra_ack(&mut self, now: Time, upto: u64, packet: &Packet, carried: &mut CarriedStore) {
        let mut ack =
            AckSegment { ack: upto, tsecr: packet.ts, ece: packet.has(ECE), ..AckSegment::default() };
        carried.take(packet.handle, &mut ack.sack);
        self.sender.on_extra_ack(now, &ack);
        self.check.sender(&self.sender);
    }
}
