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
    /// The delay of each packet behind the transmitter, ns, if nothing is lost there and all have the same
    /// delay.
    #[inline(always)]
    pub(super) fn constant_delay(&self) -> Option<u64> {
        if self.channel.is_clear() { self.flight.constant() } else { None }
    }

    /// When a packet of `size` bytes that comes at `now` reaches the far end, in the commonest case: the
    /// transmitter is free and has a fixed rate, the packet is as large as the one before, nothing is lost,
    /// and the delay is constant. `None` in all other cases, and nothing has happened.
    #[inline(always)]
    pub(super) fn pass(&mut self, now: u64, size: u16) -> Option<Time> {
        let delay = self.constant_delay()?;
        let sent = self.transmitter.send_alike(now, size)?;
        Some(Time(sent.saturating_add(delay)))
    }

    /// Sends a packet from `begin` on, when the transmitter is free. Inlined, so that the result stays in
    /// registers.
    #[inline(always)]
    pub(super) fn cross(&mut self, begin: u64, packet: &Packet) -> Crossing {
        if let Some(delay) = self.constant_delay() {
            let sent = self.transmitter.send(begin, packet.size, None);
            return Crossing { sent, at: Time(sent.saturating_add(delay)), lost: None };
        }
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
