//! The air behind a port of a constellation: packets on their way to one of several nodes. Each says itself how long
//! it takes, so a later one may arrive first.

use bentpipe_cc::Time;

use crate::link::packet::Packet;
use crate::link::under_way::UnderWay;

/// The air behind one port. What is lost never takes to it.
#[derive(Debug, Default)]
pub(crate) struct Air {
    under_way: UnderWay,
    /// Packets that have taken to the air.
    pub(crate) offered: u64,
    /// Packets that have arrived.
    pub(crate) delivered: u64,
    /// Packets that the port has sent, and that are lost because a part of the constellation fails.
    pub(crate) lost: u64,
}

impl Air {
    /// A packet takes to the air, and arrives at `at`. Returns whether it is now the first one to arrive.
    #[inline(always)]
    pub(crate) fn fly(&mut self, at: Time, packet: &Packet) -> bool {
        self.offered += 1;
        let before = self.under_way.next();
        self.under_way.keep_in_place(at, packet);
        before.is_none_or(|first| at < first)
    }

    /// Adds what a part of the run has seen of this air: packets to other nodes.
    #[cold]
    #[inline(never)]
    pub(crate) fn join(&mut self, part: Self) {
        self.offered += part.offered;
        self.delivered += part.delivered;
        self.lost += part.lost;
        part.under_way.arrivals().for_each(|(at, packet)| self.under_way.keep_in_place(at, packet));
    }

    /// When the next packet arrives.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<Time> {
        self.under_way.next()
    }

    /// The packet that arrives now, at the instant of [`Air::next`].
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.under_way.pop()?;
        self.delivered += 1;
        Some(packet)
    }

    /// The packets that have not arrived.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.under_way.packets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_arrive_in_the_order_of_their_instants() {
        let mut air = Air::default();
        let fly = |air: &mut Air, at, handle| air.fly(Time(at), &Packet::new(100, handle));
        assert_eq!(
            [(9, 1), (5, 2), (9, 3), (7, 4)].map(|(at, handle)| fly(&mut air, at, handle)),
            [true, true, false, false]
        );
        let mut arrivals = Vec::new();
        while let (Some(at), Some(packet)) = (air.next(), air.pop()) {
            arrivals.push((at.0, packet.handle()));
        }
        assert_eq!(arrivals, [(5, 2), (7, 4), (9, 1), (9, 3)]);
        assert_eq!((air.offered, air.delivered), (4, 4));
    }
}
