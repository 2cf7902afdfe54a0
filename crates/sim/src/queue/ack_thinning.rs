//! Thinning of acknowledgements that wait: ACK filtering (RFC 3449 section 5.2.1; H. Balakrishnan, V.
//! Padmanabhan, R. Katz: The Effects of Asymmetry on TCP Performance, MobiCom 1997).
//!
//! An acknowledgement acknowledges everything that the older ones of its flow do. Where `most` of a flow wait
//! already, the oldest of them is therefore dropped. Each other one moves up by one place, and the newcomer
//! takes the place of the newest. None is overtaken in this way, and a flow whose acknowledgements come
//! faster than the queue moves does not lose its place in it.
//!
//! Only plain acknowledgements are dropped, and only in favour of plain ones. An acknowledgement that carries
//! more is kept, and so are those ahead of it: one with SACK blocks (duplicates reported by DSACK included),
//! with the echo of a mark, a duplicate (which fast retransmit counts), a probe, the acknowledgement of an
//! extra segment, or a segment that opens or closes a connection.

use std::collections::{BTreeMap, VecDeque};

use crate::link::packet::{ACK, CONTROL, CWR, ECE, HEADER, LOW, PROBE, Packet, SACK};
use crate::queue::packet_store::Store;

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// It has taken the place of another acknowledgement, and the oldest of its flow was dropped.
    Replaces,
    /// It is a plain acknowledgement for the queue.
    Plain,
    /// It is another packet for the queue.
    Other,
}

/// Acknowledgements that wait at one direction.
#[derive(Debug)]
pub(crate) struct AckFilter {
    most: usize,
    /// By flow.
    flows: BTreeMap<u32, WaitingAcks>,
    thinned: u64,
}

/// Acknowledgements of one flow.
#[derive(Debug, Default)]
struct WaitingAcks {
    /// The number that the last arrival acknowledged; `None` if none has come.
    last: Option<u32>,
    /// The places and contents of the acknowledgements that a newer one may replace, in order.
    plain: VecDeque<(u32, Packet)>,
}

impl AckFilter {
    /// Up to `most` plain acknowledgements of each flow may wait; `most` is at least 1.
    pub(crate) fn new(most: u32) -> Self {
        Self { most: most as usize, flows: BTreeMap::new(), thinned: 0 }
    }

    /// How many acknowledgements were dropped.
    pub(crate) fn thinned(&self) -> u64 {
        self.thinned
    }

    /// A packet comes.
    pub(crate) fn offer(&mut self, packet: &Packet, store: &mut Store) -> Offer {
        if !packet.has(ACK) || packet.has(CONTROL) {
            return self.other(packet);
        }
        let flow = self.flows.entry(packet.flow).or_default();
        let advances = flow.last.is_none_or(|last| (packet.seq.wrapping_sub(last) as i32) > 0);
        flow.last = Some(packet.seq);
        if !advances || packet.is_marked() || packet.has(SACK | ECE | CWR | PROBE | LOW | HEADER) {
            return self.other(packet);
        }
        let alike = flow.plain.front().is_some_and(|(_, first)| first.size == packet.size);
        if flow.plain.len() < self.most || !alike {
            return Offer::Plain;
        }
        let mut newer = *packet;
        for (place, waits) in flow.plain.iter_mut().rev() {
            *waits = newer;
            newer = store.swap(*place, newer);
        }
        store.verdicts.drop(newer);
        self.thinned += 1;
        Offer::Replaces
    }

    /// A packet comes that is no plain acknowledgement. No later acknowledgement overtakes it.
    fn other(&mut self, packet: &Packet) -> Offer {
        if packet.has(ACK)
            && let Some(flow) = self.flows.get_mut(&packet.flow)
        {
            flow.plain.clear();
        }
        Offer::Other
    }

    /// A plain acknowledgement that replaced no other waits at `place`.
    pub(crate) fn waits(&mut self, packet: &Packet, place: u32) {
        if let Some(flow) = self.flows.get_mut(&packet.flow) {
            flow.plain.push_back((place, *packet));
        }
    }

    /// A packet waits no longer.
    pub(crate) fn forget(&mut self, packet: &Packet) {
        if packet.has(ACK)
            && let Some(flow) = self.flows.get_mut(&packet.flow)
        {
            flow.plain.retain(|(_, waits)| waits.seq != packet.seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::{Span, Time};

    use super::*;
    use crate::link::direction::Direction;
    use crate::queue::{Class, QueueLimit};
    use crate::resolve::plan::{DirectionPlan, LinkLayerPlan};

    /// The output, as (flow, acknowledgement), of a link into which these packets go at once: flow,
    /// acknowledgement, further flags. The first is in transmission at once.
    fn out(keep: u32, packets: &[(u32, u32, u16)]) -> (Vec<(u32, u32)>, Direction) {
        let plan = DirectionPlan {
            link_layer: LinkLayerPlan { ack_thinning: Some(keep), ..LinkLayerPlan::default() },
            ..DirectionPlan::plain(32_000, Span::from_millis(1), QueueLimit::Packets(6))
        };
        let mut link = Direction::new(&plan, 1, "test");
        for &(flow, seq, flags) in packets {
            link.push(
                Time(0),
                Packet { flow, seq, size: 40, flags: ACK | flags, ..Packet::default() },
                Class::default(),
            );
        }
        let mut out = Vec::new();
        while let Some(at) = link.next() {
            out.extend(link.pop(at).map(|(packet, _)| (packet.flow, packet.seq)));
        }
        (out, link)
    }

    #[test]
    fn the_newest_plain_acknowledgement_takes_the_place_of_the_oldest() {
        let acks = [(0, 1, 0), (0, 2, 0), (1, 7, 0), (0, 3, 0), (1, 8, 0), (0, 4, 0)];
        let (came, mut link) = out(1, &acks);
        assert_eq!(came, [(0, 1), (0, 4), (1, 8)]);
        assert_eq!((link.counts.dropped_queue, link.scheduled().unwrap().thinned()), (3, 3));
        let acked: Vec<u32> =
            std::iter::from_fn(|| link.take_doomed()).map(|(packet, _)| packet.seq).collect();
        assert_eq!(acked, [3, 7, 2]);
        assert_eq!(out(2, &acks).0, [(0, 1), (0, 3), (1, 7), (0, 4), (1, 8)]);
        assert_eq!(out(9, &acks).0, [(0, 1), (0, 2), (1, 7), (0, 3), (1, 8), (0, 4)]);
        // Numbers wrap around.
        assert_eq!(out(1, &[(0, 5, 0), (0, u32::MAX, 0), (1, u32::MAX, 0), (1, 3, 0)]).0.len(), 3);
    }

    #[test]
    fn what_tells_more_is_kept_and_not_overtaken() {
        // Duplicates: fast retransmit counts them.
        let acks = [(0, 1, 0), (0, 2, 0), (0, 2, 0), (0, 2, 0), (0, 3, 0), (0, 4, 0)];
        assert_eq!(out(1, &acks).0, [(0, 1), (0, 2), (0, 2), (0, 2), (0, 4)]);
        for flag in [SACK, ECE, CWR, PROBE, LOW, CONTROL, HEADER] {
            let acks = [(0, 1, 0), (0, 2, 0), (0, 3, flag), (0, 4, 0), (0, 5, 0), (0, 6, flag)];
            assert_eq!(out(1, &acks).0, [(0, 1), (0, 2), (0, 3), (0, 5), (0, 6)], "{flag}");
        }
    }

    #[test]
    fn a_newcomer_needs_no_room_in_a_full_queue() {
        let acks = [
            (9, 1, 0),
            (0, 1, 0),
            (1, 1, 0),
            (2, 1, 0),
            (3, 1, 0),
            (4, 1, 0),
            (5, 1, 0),
            (2, 2, 0),
            (6, 1, 0),
        ];
        assert_eq!(out(1, &acks).0, [(9, 1), (0, 1), (1, 1), (2, 2), (3, 1), (4, 1), (5, 1)]);
    }
}
