//! What a window grows by: acknowledgements, or the segments that they acknowledge. A receiver that delays
//! its ACKs (RFC 9293 section 3.8.6.3) acknowledges two segments with each, so that the one is half of the
//! other. Equations of papers rarely say which they mean; modules of Linux that ignore `acked` count ACKs.

use crate::algorithms::prelude::*;

/// The parameter, with the value `"ack"` or `"segment"` as default.
pub(crate) const PER_ACK: Param = Param::choice("per", &["ack", "segment"]).about(ABOUT);
/// The same with the other default.
pub(crate) const PER_SEGMENT: Param = Param::choice("per", &["segment", "ack"]).about(ABOUT);
const ABOUT: &str =
    "what the window grows by: each ACK, delayed or not, or each segment that an ACK acknowledges";

/// How increments are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Increments {
    /// An ACK counts once, however much it acknowledges.
    pub(crate) per_ack: bool,
}

impl Increments {
    /// From the parameter.
    pub(crate) fn new(args: &Args) -> Self {
        Self { per_ack: args.is("per", "ack") }
    }

    /// Increments that `ack` brings. The part of a segment that HyStart++ leaves of an
    /// ACK counts as that part.
    pub(crate) fn of(self, flow: &Flow, ack: &Ack) -> f64 {
        let segments = ack.segments(flow);
        if self.per_ack { segments.min(f64::from(ack.acks)) } else { segments }
    }
}
