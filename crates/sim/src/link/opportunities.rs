//! mahimahi's packet opportunities: instants at which exactly 1504 bytes may be sent (R. Netravali et al.: Mahimahi: Accurate
//! Record-and-Replay for HTTP, USENIX ATC 2015; `src/frontend/link_queue.cc`, `LinkQueue::rationalize`).
//!
//! The rules: an opportunity that finds nothing waiting is lost. One opportunity may carry several small packets and parts of two large
//! ones; a packet has left when its last byte has. After the last one all begin again, counted from the instant of the last one.

use std::sync::Arc;

/// Bytes of an opportunity: 1500 of IP and 4 of the tunnel device's header (mahimahi, `LinkQueue::PACKET_SIZE`).
pub const OPPORTUNITY: u64 = 1_504;
/// Nanoseconds in the unit of the files.
const MILLISECOND: u64 = 1_000_000;

/// The opportunities of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct OpportunitiesPlan {
    /// Their instants in milliseconds, at least one. They never decrease, and the last one is above 0.
    pub at_ms: Arc<[u64]>,
}

impl OpportunitiesPlan {
    /// Their mean rate, bits per second.
    pub fn mean_rate(&self) -> u64 {
        let period = u128::from(self.period_ms().max(1));
        (self.at_ms.len() as u128 * u128::from(OPPORTUNITY) * 8_000 / period) as u64
    }

    fn period_ms(&self) -> u64 {
        self.at_ms.last().copied().unwrap_or(1)
    }
}

/// The opportunities of one transmitter, in order.
#[derive(Debug)]
pub(crate) struct Opportunities {
    plan: OpportunitiesPlan,
    /// Index of the next one, and the instant from which its round of the file counts, ms.
    next: usize,
    base: u64,
    /// How many have passed.
    passed: u64,
}

impl Opportunities {
    pub(crate) fn new(plan: &OpportunitiesPlan) -> Self {
        Self { plan: plan.clone(), next: 0, base: 0, passed: 0 }
    }

    pub(crate) fn due(&self) -> u64 {
        self.base.saturating_add(self.plan.at_ms[self.next]).saturating_mul(MILLISECOND)
    }

    pub(crate) fn take(&mut self) -> u64 {
        self.move_to(self.next + 1);
        OPPORTUNITY
    }

    pub(crate) fn pass(&mut self, now: u64) {
        while self.due() <= now {
            let until = now / MILLISECOND - self.base;
            let rest = &self.plan.at_ms[self.next..];
            self.move_to(self.next + rest.partition_point(|&at| at <= until));
        }
    }

    /// Bytes of those that have passed.
    pub(crate) fn offered(&self) -> u64 {
        self.passed * OPPORTUNITY
    }

    fn move_to(&mut self, next: usize) {
        self.passed += (next - self.next) as u64;
        self.next = next;
        if next == self.plan.at_ms.len() {
            self.next = 0;
            self.base += self.plan.period_ms();
        }
    }
}
