//! A drop-tail queue with more to it: a rule that decides about a packet on arrival, or handovers that flush.

use bentpipe_cc::Time;

use crate::link::contract::Refusal;
use crate::link::counted_queue::CountedQueue;
use crate::link::counts::Counts;
use crate::link::flushes::Flushes;
use crate::link::foreseen::{Doom, Foreseen};
use crate::link::packet::Packet;
use crate::link::transmitter::Transmitter;
use crate::queue::on_arrival::{Arrival, OnArrival, Verdict};

/// The queue in front of one transmitter.
#[derive(Debug)]
pub(super) struct ArrivalQueue {
    pub(super) waiting: CountedQueue,
    /// Decides about a packet; `None` if only the room does.
    pub(super) rule: Option<Box<dyn OnArrival>>,
    pub(super) flushes: Option<Flushes>,
}

impl ArrivalQueue {
    /// Takes the packet that comes at `now`, and marks it if the rule says so. Returns when its transmission
    /// begins, or why the packet is refused.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now: Time,
        packet: &mut Packet,
        transmitter: &Transmitter,
        counts: &mut Counts,
        foreseen: &mut Foreseen,
    ) -> Result<u64, Refusal> {
        self.waiting.backlog.drain(now.0);
        match self.judge(now, packet, transmitter) {
            Verdict::Pass => {}
            Verdict::Mark => {
                packet.mark();
                counts.marked += 1;
            }
            Verdict::Drop if self.waiting.has_room(now, packet.size, transmitter.free_at) => {
                return Err(Refusal::Early);
            }
            Verdict::Drop => return Err(Refusal::Full),
        }
        let begin = transmitter.free_at.max(now.0);
        if let Some(at) = self.flush(now, begin) {
            self.waiting.wait(now, at.0, packet.size, counts);
            foreseen.note(now, at, Doom::Flush, packet);
            return Err(Refusal::Flushed);
        }
        if begin > now.0 {
            self.waiting.wait(now, begin, packet.size, counts);
        }
        Ok(begin)
    }

    /// The verdict on a packet that comes at `now`, up to which the queue has been drained.
    #[inline(always)]
    fn judge(&mut self, now: Time, packet: &Packet, transmitter: &Transmitter) -> Verdict {
        let Self { waiting, rule, .. } = self;
        let Some(rule) = rule else {
            let has_room = waiting.has_room(now, packet.size, transmitter.free_at);
            return if has_room { Verdict::Pass } else { Verdict::Drop };
        };
        if let Some(rate) = transmitter.mean_rate(now.0) {
            rule.set_rate(rate);
        }
        rule.judge(&Arrival {
            now,
            size: packet.size,
            ecn: packet.ecn(),
            waiting_packets: waiting.backlog.packets(),
            waiting_bytes: waiting.backlog.bytes(),
            free_at: Time(transmitter.free_at),
            idle: transmitter.free_at <= now.0,
        })
    }

    /// The handover at which a packet that comes at `now`, and would be sent from `begin` on, is dropped.
    #[inline(always)]
    fn flush(&mut self, now: Time, begin: u64) -> Option<Time> {
        let flushes = self.flushes.as_mut()?;
        while flushes.next() <= now {
            flushes.pass();
        }
        Some(flushes.next()).filter(|at| at.0 <= begin)
    }
}
