//! One direction of a link, or a port of a constellation, prepared for a run.

use bentpipe_cc::{Span, Time};

use crate::access::AccessPlan;
use crate::link::arq::ArqPlan;
use crate::link::time_line::TimeLine;
use crate::loss::LossPlan;
use crate::queue::{Discipline, DropTailPlan, QueueLimit};

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionPlan {
    /// Bits per second, above 0; with a time line its mean over the time in which the path is there.
    pub rate_bps: u64,
    /// Propagation delay, one way; with a time line that at 0 s.
    pub delay: Span,
    /// Room in the queue; the packet in transmission is not counted.
    pub queue: QueueLimit,
    /// The rule for packets that have room.
    pub discipline: Discipline,
    /// Loss models; a packet is lost if any of them says so.
    pub loss: Vec<LossPlan>,
    /// Rate, delay and loss rate over time, if any of them changes.
    pub line: Option<TimeLine>,
    /// Access to the channel, repeats of lost packets, thinning of acknowledgements.
    pub link_layer: LinkLayerPlan,
    /// Does its owner ask for each packet that it sends? So do ports of a constellation whose rules need to know when a
    /// packet waits.
    pub on_request: bool,
}

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

impl DirectionPlan {
    /// A rate and a delay that stay as they are, behind a drop-tail queue; nothing is lost.
    pub fn plain(rate_bps: u64, delay: Span, queue: QueueLimit) -> Self {
        Self {
            rate_bps,
            delay,
            queue,
            discipline: Discipline::DropTail(DropTailPlan::default()),
            loss: Vec::new(),
            line: None,
            link_layer: LinkLayerPlan::default(),
            on_request: false,
        }
    }

    /// The instants at which its path changes hands, in order, until the end of the run. At each of them a
    /// sender may get the hint `path_change`. Empty without a time line.
    pub fn handovers(&self) -> &[Time] {
        self.line.as_ref().map_or(&[], |line| line.handovers())
    }

    /// The rate in bits per second, and the propagation delay, at an instant.
    pub fn at(&self, at: Time) -> (u64, Span) {
        self.line.as_ref().map_or((self.rate_bps, self.delay), |line| line.at(at))
    }

    /// Bits that it can send in an interval. Opportunities that do not follow from the rate may come at any.
    pub(crate) fn bits(&self, from: Time, to: Time) -> u128 {
        let own_rate = self.link_layer.access.as_ref().and_then(AccessPlan::own_rate);
        match (&self.line, own_rate) {
            (_, Some(_)) => u128::MAX,
            (Some(line), None) => line.bits(from, to),
            (None, None) => u128::from(self.rate_bps) * u128::from(to.since(from).0) / 1_000_000_000,
        }
    }
}
