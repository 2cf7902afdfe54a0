//! The link layer between a queue and the channel: access to the channel (`access.rs`) and repeats of packets
//! lost there (`arq.rs`). `choices.rs` says what a direction does with it.

use bentpipe_cc::{Span, Time};

use crate::link::access::{AccessChannel, AccessPlan};
use crate::link::arq::{ArqPlan, ArqSender, Frame};
use crate::link::packet::Packet;

/// What the link layer of a direction does besides sending packets one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkLayerPlan {
    /// When the transmitter may send; `None` for at any time.
    pub access: Option<AccessPlan>,
    /// How lost packets are sent again; `None` if they are not.
    pub arq: Option<ArqPlan>,
    /// How many acknowledgements of a flow may wait where newer ones say the same; `None` for no limit.
    pub ack_thinning: Option<u32>,
}

impl LinkLayerPlan {
    /// Does it do nothing?
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// The link layer of one direction.
#[derive(Debug)]
pub(crate) struct LinkLayer {
    pub(super) access: Option<AccessChannel>,
    pub(super) arq: Option<ArqSender>,
    /// A packet partly sent at an earlier opportunity, and the bytes that are left.
    pub(super) partial: Option<(Frame, u64)>,
    /// Bytes sent at opportunities.
    pub(super) sent: u64,
}

impl LinkLayer {
    /// `None` if packets are sent one after the other, and each of them once.
    pub(crate) fn new(plan: &LinkLayerPlan) -> Option<Box<Self>> {
        let access = plan.access.as_ref().map(AccessChannel::new);
        let arq = plan.arq.as_ref().map(ArqSender::new);
        let needed = access.is_some() || arq.is_some();
        needed.then(|| Box::new(Self { access, arq, partial: None, sent: 0 }))
    }

    /// Does each packet wait for an opportunity?
    pub(crate) fn has_access(&self) -> bool {
        self.access.is_some()
    }

    /// The packets that it holds, lost ones included.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let partial = self.partial.iter().map(|(frame, _)| &frame.packet);
        partial.chain(self.arq.iter().flat_map(ArqSender::packets))
    }

    /// The share used of the bytes that could have been sent until `end`.
    pub(crate) fn used(&self, end: Time, rate: u64) -> Option<f64> {
        let offered = self.access.as_ref()?.offered(end.0, rate);
        Some(if offered > 0.0 { (self.sent as f64 / offered).min(1.0) } else { 0.0 })
    }

    /// May several packets come out at one instant?
    pub(super) fn comes_in_bunches(&self) -> bool {
        self.access.is_some() || self.arq.as_ref().is_some_and(ArqSender::is_in_order)
    }

    /// The least time a packet spends here, propagation apart.
    pub(super) fn least_time(&self) -> Span {
        Span(self.access.as_ref().map_or(0, AccessChannel::length))
    }
}
