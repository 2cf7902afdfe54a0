//! A transmitter that sends only at opportunities (`access`).

use crate::access::{AccessPlan, AccessRule};
use crate::link::arq::Frame;

/// The opportunities of one direction, and their use.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) access: Box<dyn AccessRule>,
    /// A packet partly sent at an earlier opportunity, and the bytes that are left.
    pub(super) partial: Option<(Frame, u64)>,
    /// Bytes sent at opportunities.
    sent: u64,
    /// Their mean rate, bits per second.
    rate: u64,
}

impl Slots {
    pub(super) fn new(plan: &AccessPlan, rate: u64) -> Self {
        Self { access: plan.start(), partial: None, sent: 0, rate }
    }

    /// Sends as many of the `left` bytes of a packet as `room` allows. Returns the packet once all its bytes
    /// have been sent.
    pub(super) fn send(&mut self, frame: Frame, left: u64, room: &mut u64) -> Option<Frame> {
        let part = left.min(*room);
        *room -= part;
        self.sent += part;
        if part == left {
            return Some(frame);
        }
        self.partial = Some((frame, left - part));
        None
    }

    /// Bytes left of the packet that has been sent in part.
    pub(super) fn rest(&self) -> u64 {
        self.partial.as_ref().map_or(0, |(_, left)| *left)
    }

    /// The share used of the bytes that could have been sent until `end`.
    pub(super) fn used(&self, end: u64) -> f64 {
        let offered = self.access.offered(end, self.rate);
        if offered > 0.0 { (self.sent as f64 / offered).min(1.0) } else { 0.0 }
    }
}
