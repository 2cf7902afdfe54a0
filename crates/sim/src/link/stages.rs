//! The stages behind the queue: transmitter, channel, flight.

use bentpipe_cc::Time;

use crate::link::channel::Channel;
use crate::link::flight::Flight;
use crate::link::packet::Packet;
use crate::link::transmitter::Transmitter;

/// The stages behind the queue of one direction.
#[derive(Debug)]
pub(super) struct Stages {
    pub(super) transmitter: Transmitter,
    pub(super) channel: Channel,
    pub(super) flight: Flight,
}

/// The fate of a packet behind the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// The end of its transmission.
    pub(super) sent: u64,
    /// When it reaches the far end; if it is lost, when it would have done so, or the handover that loses it.
    pub(super) at: Time,
    /// When it is lost, if it is.
    pub(super) lost: Option<Time>,
}

impl Stages {
    /// Sends a packet from `begin` on, when the transmitter is free. Inlined, so that the result stays in
    /// registers.
    #[inline(always)]
    pub(super) fn cross(&mut self, begin: u64, packet: &Packet) -> Crossing {
        let cut = self.flight.cut(begin);
        let sent = self.transmitter.send(begin, packet.size, cut);
        let landing = self.flight.land(sent, cut, || self.transmitter.last_alone());
        let struck = self.channel.strikes(sent, packet.size);
        let (Ok(at) | Err(at)) = landing;
        let lost = match landing {
            _ if struck => Some(Time(sent.min(at))),
            Err(at) => Some(Time(at)),
            Ok(_) => None,
        };
        Crossing { sent, at: Time(at), lost }
    }
}
