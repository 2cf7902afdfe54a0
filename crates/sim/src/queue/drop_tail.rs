//! Drop-tail: a packet that finds no room is dropped, all others leave in the order in which they came.

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{QueueRoom, QueueSize};
use crate::link::random::Stream;
use crate::link::time_line::TimeLine;
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};
use crate::queue::room::ChangingRoom;

keys! {
    /// First in, first out: a packet that finds no room is dropped.
    pub struct DropTail {
        /// Room, the packet in transmission not counted. As a time, the bytes that the link sends in it at
        /// the rate of the instant; in an outage, at the last rate before it.
        pub limit: QueueRoom = QueueRoom::Size(QueueSize::Bdp(1.0)),
    }
}

/// Drop-tail has nothing but its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DropTailPlan {
    /// The limit as a time, if it is one.
    pub time: Option<Span>,
}

impl QueueKeys for DropTail {
    type Plan = DropTailPlan;
    const LABEL: &'static str = "Drop-tail";
    const SOURCE: &'static str = "B. Braden et al.: Recommendations on Queue Management and Congestion Avoidance in the Internet, 1998";
    const REFERENCE: &'static str = "RFC 2309";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, DropTailPlan), Error> {
        let (limit, time) = context.room(self.limit);
        Ok((limit, DropTailPlan { time }))
    }
}

impl QueuePlan for DropTailPlan {
    fn start(&self, _: QueueLimit, _: u64, _: Stream) -> Rule {
        Rule::DropTail
    }

    fn start_along(&self, line: &TimeLine, _: QueueLimit, _: u64, _: Stream) -> Rule {
        match self.time.and_then(|time| ChangingRoom::new(time, line)) {
            Some(room) => Rule::OnArrival(Box::new(room)),
            None => Rule::DropTail,
        }
    }
}

/// Drop-tail with room that changes.
impl OnArrival for ChangingRoom {
    fn judge(&mut self, arrival: &Arrival) -> Verdict {
        let limit = self.at(arrival.now);
        let has_room = limit.has_room(arrival.waiting_packets, arrival.waiting_bytes, arrival.size);
        if arrival.idle || has_room { Verdict::Pass } else { Verdict::Drop }
    }

    fn counts_bytes(&self) -> bool {
        true
    }
}
