//! A first-in-first-out queue that decides about a packet on arrival. The departure of the packet is known
//! then, so the queue keeps no packets and only counts those that wait.

use bentpipe_cc::Time;

use crate::link::backlog::Backlog;
use crate::link::contract::Refusal;
use crate::link::counts::Counts;
use crate::link::flushes::Flushes;
use crate::link::packet::{CE, Packet};
use crate::link::transmitter::Transmitter;
use crate::queue::QueueLimit;
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};

/// The queue in front of one transmitter.
#[derive(Debug)]
pub(super) struct ArrivalQueue {
    pub(super) room: QueueLimit,
    pub(super) backlog: Backlog,
    /// `None` for drop-tail.
    more: Option<Box<More>>,
}

#[derive(Debug)]
struct More {
    rule: Option<Box<dyn OnArrival>>,
    flushes: Option<Box<Flushes>>,
}

impl ArrivalQueue {
    pub(super) fn new(
        room: QueueLimit,
        rule: Option<Box<dyn OnArrival>>,
        flushes: Option<Box<Flushes>>,
    ) -> Self {
        let bytes =
            matches!(room, QueueLimit::Bytes(_)) || rule.as_ref().is_some_and(|rule| rule.counts_bytes());
        let more = (rule.is_some() || flushes.is_some()).then(|| Box::new(More { rule, flushes }));
        Self { room, backlog: Backlog::new(bytes), more }
    }

    /// Takes the packet that comes at `now`, or returns why it does not. Marks the packet if the rule says
    /// so.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now: Time,
        packet: &mut Packet,
        transmitter: &Transmitter,
        counts: &mut Counts,
    ) -> Result<(), Refusal> {
        if self.more.is_some() {
            return self.admit_by_rule(now, packet, transmitter, counts);
        }
        if self.has_room(now, packet.size, transmitter) { Ok(()) } else { Err(Refusal::Full) }
    }

    /// [`ArrivalQueue::admit`] if the queue does more than drop-tail.
    fn admit_by_rule(
        &mut self,
        now: Time,
        packet: &mut Packet,
        transmitter: &Transmitter,
        counts: &mut Counts,
    ) -> Result<(), Refusal> {
        let has_room = self.has_room(now, packet.size, transmitter);
        let Some(rule) = self.more.as_mut().and_then(|more| more.rule.as_mut()) else {
            return if has_room { Ok(()) } else { Err(Refusal::Full) };
        };
        self.backlog.drain(now.0);
        if let Some(rate) = transmitter.mean_rate(now.0) {
            rule.set_rate(rate);
        }
        let verdict = rule.judge(&Arrival {
            now,
            size: packet.size,
            ecn: packet.ecn(),
            waiting_packets: self.backlog.packets(),
            waiting_bytes: self.backlog.bytes(),
            free_at: Time(transmitter.free_at),
        });
        match verdict {
            Verdict::Pass => Ok(()),
            Verdict::Mark => {
                packet.flags |= CE;
                counts.marked += 1;
                Ok(())
            }
            Verdict::Drop if has_room => Err(Refusal::Early),
            Verdict::Drop => Err(Refusal::Full),
        }
    }

    /// Would drop-tail take a packet of `size` bytes that comes at `now`? A packet that finds the transmitter
    /// free goes straight to it and needs no room.
    #[inline(always)]
    fn has_room(&mut self, now: Time, size: u16, transmitter: &Transmitter) -> bool {
        if transmitter.free_at <= now.0 {
            return true;
        }
        self.backlog.drain(now.0);
        self.room.has_room(self.backlog.packets(), self.backlog.bytes(), size)
    }

    /// The handover at which a packet that comes at `now`, and would be sent from `begin` on, is dropped.
    #[inline(always)]
    pub(super) fn flush(&mut self, now: Time, begin: u64) -> Option<Time> {
        let flushes = self.more.as_mut()?.flushes.as_mut()?;
        while flushes.next() <= now {
            flushes.pass();
        }
        Some(flushes.next()).filter(|at| at.0 <= begin)
    }

    /// A packet that comes at `now` waits until `end`.
    #[inline(always)]
    pub(super) fn wait(&mut self, now: Time, end: u64, size: u16, counts: &mut Counts) {
        self.backlog.join(end, size);
        counts.waited += u128::from(end - now.0);
        counts.most = counts.most.max(self.backlog.packets());
    }

    /// Does it drop a packet only if there is no room?
    pub(super) fn is_drop_tail(&self) -> bool {
        self.more.is_none()
    }
}
