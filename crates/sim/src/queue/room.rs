//! The room of a queue at an instant. A limit in time is the number of bytes that the transmitter sends in
//! that time. Linux's `tbf` reads its `latency` so (tc-tbf(8)), as routers do their limits in milliseconds:
//! `queue-limit` of Cisco IOS XR, `queue-delay` of Nokia SR OS.
//!
//! Those devices compute the bytes once, by the rate that is set. Here a time line may change the rate, and
//! the bytes follow it: the room at an instant is that of the rate at this instant. While the rate is zero
//! the room is that of the last rate above zero, because an outage takes no memory from a device. Before the
//! first rate above zero it is that of the first. No waiting packet is dropped because the rate falls; what
//! arrives then finds less room.
//!
//! This is not a limit of a packet's age, such as the discardTimer of 3GPP TS 38.323: no packet is
//! dropped while nothing arrives.

use bentpipe_cc::{Span, Time};

use crate::link::time_line::TimeLine;
use crate::queue::context::{QueueLimit, bytes_in};

/// The room of a queue in use.
#[derive(Debug)]
pub(super) enum Room {
    Constant(QueueLimit),
    Changing(ChangingRoom),
}

impl Room {
    /// The room at `now`, which never goes back.
    #[inline]
    pub(super) fn at(&mut self, now: Time) -> QueueLimit {
        match self {
            Self::Constant(limit) => *limit,
            Self::Changing(room) => room.at(now),
        }
    }
}

/// Room for the bytes of a time, in front of a transmitter whose rate changes.
#[derive(Debug)]
pub(super) struct ChangingRoom {
    time: Span,
    line: TimeLine,
    step: usize,
    /// The room by the last rate above zero.
    bytes: u64,
}

impl ChangingRoom {
    /// The bytes of `time` by the rates of `line`; `None` if they are always the same.
    pub(super) fn new(time: Span, line: &TimeLine) -> Option<Self> {
        let mut rates = line.steps().iter().map(|step| step.rate_bps).filter(|rate| *rate > 0);
        let first = rates.next()?;
        let changes = rates.any(|rate| rate != first);
        changes.then(|| Self { time, line: line.clone(), step: 0, bytes: bytes_in(time, first) })
    }

    /// The room at `now`, which never goes back.
    #[inline]
    pub(super) fn at(&mut self, now: Time) -> QueueLimit {
        while let Some(next) = self.line.steps().get(self.step + 1).filter(|next| next.at <= now) {
            self.step += 1;
            if next.rate_bps > 0 {
                self.bytes = bytes_in(self.time, next.rate_bps);
            }
        }
        QueueLimit::Bytes(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::time_line::{Leg, Step};

    fn line(steps: &[(u64, u64)]) -> TimeLine {
        let step = |&(ms, rate_bps): &(u64, u64)| Step { at: Time(ms * 1_000_000), rate_bps, loss_rate: 0.0 };
        let leg = Leg { at: Time(0), delay: Span(0), towards: Span(0) };
        let line = TimeLine::new(steps.iter().map(step).collect(), [leg].into(), Vec::new().into());
        line.expect("instants in order")
    }

    #[test]
    fn the_room_follows_the_rate_and_outlasts_an_outage() {
        // 200 ms of 8 Mbit/s are 200 kB, of 2 Mbit/s 50 kB, of 12,345 bit/s 308.6 bytes.
        let rates = [(0, 0), (5, 8_000_000), (10, 0), (20, 2_000_000), (21, 12_345), (22, 0)];
        let mut room = ChangingRoom::new(Span::from_millis(200), &line(&rates)).expect("rates that change");
        let found = [0, 4, 5, 10, 19, 20, 21, 99].map(|ms| room.at(Time(ms * 1_000_000)));
        let bytes = [200_000, 200_000, 200_000, 200_000, 200_000, 50_000, 308, 308];
        assert_eq!(found, bytes.map(QueueLimit::Bytes));
        // Steps that are passed over at once count as well.
        let mut room = ChangingRoom::new(Span::from_millis(200), &line(&rates)).expect("rates that change");
        assert_eq!(room.at(Time(99_000_000)), QueueLimit::Bytes(308));
    }

    #[test]
    fn a_rate_that_is_one_or_zero_changes_no_room() {
        assert!(ChangingRoom::new(Span::from_millis(5), &line(&[(0, 9_000), (1, 0), (2, 9_000)])).is_none());
        assert_eq!(bytes_in(Span(u64::MAX), 100_000_000_000_000), u64::MAX);
    }
}
