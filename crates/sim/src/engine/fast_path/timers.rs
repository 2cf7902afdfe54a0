//! The events of the queue: timers by their numbers, and arrivals by their directions.

use bentpipe_cc::Time;

use super::FastPath;
use crate::engine::hosts::{Hosts, Timer};

impl FastPath {
    /// The partition in which a timer expires. The stop and the hints of a flow are in its sender's
    /// partition.
    #[inline]
    pub(super) fn partition(&self, timer: Timer) -> usize {
        if self.partitions.count == 1 {
            return 0;
        }
        let flows = self.network.flows.len();
        match timer {
            Timer::Sender(f) | Timer::Stop(f) | Timer::Hint(f) => self.partitions.of_host(f, flows, false),
            Timer::Receiver(f) => self.partitions.of_host(f, flows, true),
            Timer::Tick => 0,
        }
    }

    /// Sets the next arrival of direction `i`; `None` if there is none.
    #[inline(always)]
    pub(super) fn expect_here(&mut self, i: usize, at: Option<Time>) {
        if self.network.directions[i].is_shared() {
            return self.expect_of_flow(i, at);
        }
        self.events.expect_here(i, at);
    }

    /// As above, for an access delay that flows share: the next arrival may belong to another flow.
    #[inline(never)]
    pub(super) fn expect_of_flow(&mut self, i: usize, at: Option<Time>) {
        let flow = self.network.directions[i].first().map_or(0, |packet| packet.flow);
        self.events.rename(i, self.entity_of(i, flow));
        self.events.expect(i, at);
    }

    /// As above, for a direction that held nothing, in whichever partition its packets arrive.
    #[inline(never)]
    pub(super) fn expect_first(&mut self, i: usize, at: Time) {
        self.expect_of_flow(i, Some(at));
    }

    /// The next event is a timer.
    #[inline(never)]
    pub(super) fn expire(&mut self) {
        let Some(number) = self.events.pop() else { return };
        if let Some(tap) = &mut self.network.tap {
            tap.expires();
        }
        let flows = self.network.flows.len();
        self.on_timer(Timer::of_number(number, flows));
    }
}
