//! The laws that hold at one direction of a link. A run that breaks one ends in an error that asks the user
//! to report it: its numbers cannot be trusted.

use bentpipe_cc::Time;

use crate::link::direction::Direction;
use crate::link::packet::LOST;
use crate::resolve::plan::{DirectionPlan, QueueLimit};

/// A broken law, and the numbers that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) law: &'static str,
    pub(crate) numbers: String,
}

/// Checks a law; `numbers` is called only if the law is broken.
pub(crate) fn hold(law: &'static str, holds: bool, numbers: impl FnOnce() -> String) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(Breach { law, numbers: numbers() }) }
}

/// What one direction of a link has done with the packets offered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ledger {
    offered: u64,
    dropped_queue: u64,
    dropped_error: u64,
    delivered: u64,
    /// Waiting before the transmitter of a direction that decides at departure.
    waiting: u64,
    /// Packets that wait, as the queue counts them.
    queued: u64,
    /// Waiting, in transmission or propagating elsewhere, and not lost so far.
    under_way: u64,
    /// Bytes that wait: by the queue's counter, and by summing over its packets.
    waiting_bytes: (u64, u64),
    /// Most bytes that ever waited, in a queue that decides at departure.
    most_bytes: u64,
    queue_max: u64,
}

impl Direction {
    /// Balances the counts until `end` of the direction called `name`. `plan`: `None` for an access delay.
    pub(crate) fn audit(
        &mut self,
        name: &str,
        plan: Option<&DirectionPlan>,
        end: Time,
    ) -> Result<(), Breach> {
        let ledger = self.ledger(end);
        balance(name, &ledger)?;
        let Some(plan) = plan else { return Ok(()) };
        room(name, plan, &ledger)?;
        let busy = self.utilisation(end);
        hold("a transmitter sends no more than its rate allows", (0.0..=1.0).contains(&busy), || {
            format!("link {name}: {busy}")
        })
    }

    /// Packets offered until `end`, and how many of them are inside then: they wait or are in flight.
    pub(crate) fn inside(&mut self, end: Time) -> (u64, u64) {
        let ledger = self.ledger(end);
        (ledger.offered, ledger.waiting + ledger.under_way)
    }

    fn ledger(&mut self, end: Time) -> Ledger {
        let queued = self.waiting(end);
        let counts = self.counts;
        let (dropped_queue, dropped_error) = self.dropped(end);
        let (waiting, waiting_bytes) = match self.scheduled() {
            Some(scheduled) => {
                let packets = scheduled.packets();
                let sizes = packets.iter().map(|packet| u64::from(packet.size)).sum();
                (packets.len() as u64, (scheduled.bytes(), sizes))
            }
            None => (0, self.listed_bytes()),
        };
        let there = self.on_the_way().filter(|packet| !packet.has(LOST)).count() + self.doomed().count();
        Ledger {
            offered: self.offered(),
            dropped_queue,
            dropped_error,
            delivered: counts.delivered,
            waiting,
            queued,
            under_way: there as u64 + counts.beyond,
            waiting_bytes,
            most_bytes: self.scheduled().map_or(0, |scheduled| scheduled.most_bytes()),
            queue_max: self.queue_max(),
        }
    }
}

/// Balances one direction of a link.
fn balance(name: &str, l: &Ledger) -> Result<(), Breach> {
    let law =
        "each packet offered to a link is dropped at its queue, lost to errors, delivered, or still there";
    // The sum wraps, so that a count below zero is a broken law and not a panic.
    let accounted = [l.dropped_queue, l.dropped_error, l.delivered, l.waiting, l.under_way]
        .into_iter()
        .fold(0, u64::wrapping_add);
    hold(law, l.offered == accounted, || format!("link {name}: {l:?}"))?;
    let law = "what waits at a link is neither dropped nor lost";
    hold(law, l.queued <= l.waiting + l.under_way, || format!("link {name}: {l:?}"))?;
    hold("a queue's bytes are those of its packets", l.waiting_bytes.0 == l.waiting_bytes.1, || {
        format!("link {name}: {:?}", l.waiting_bytes)
    })
}

/// Has the queue kept to its limit?
fn room(name: &str, plan: &DirectionPlan, l: &Ledger) -> Result<(), Breach> {
    let law = "no more waits at a link than its queue has room for";
    let numbers = || format!("link {name}: {:?}, {l:?}", plan.queue);
    match plan.discipline.plan().most(plan.queue) {
        QueueLimit::Packets(most) => hold(law, l.queue_max <= most, numbers),
        QueueLimit::Bytes(most) => hold(law, l.waiting_bytes.0.max(l.most_bytes) <= most, numbers),
    }
}
