//! A short cut for a drop-tail queue, if all packets have one size and their transmission takes a whole
//! number of nanoseconds. The number of packets that wait follows from the instant at which the transmitter
//! will be free, so no list is needed.

use bentpipe_cc::Time;

use crate::link::contract::{Refusal, Transit};
use crate::link::counts::Counts;
use crate::link::packet::Packet;
use crate::link::transmitter::Transmitter;
use crate::link::under_way::{InFlight, keep_if};
use crate::queue::QueueLimit;

/// Longest wait at a queue without a list, ns: 146 years, so that no sum of times exceeds the end of the
/// clock.
const FARTHEST: u64 = 1 << 62;

/// The promises of the stages about the packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct EqualPackets {
    /// Bytes of each packet.
    size: u16,
    /// Transmission time, ns, above 0.
    time: u64,
    /// Propagation delay, ns.
    delay: u64,
    /// The longest time until the transmitter is free at which a packet still has room, ns.
    room: u64,
}

impl EqualPackets {
    /// `None` if the limit is in bytes, if a packet takes no time, or if a full queue takes longer than
    /// [`FARTHEST`].
    pub(super) fn new(size: u16, time: u64, delay: u64, limit: QueueLimit) -> Option<Self> {
        let QueueLimit::Packets(limit) = limit else { return None };
        let room = limit.checked_mul(time).filter(|&room| time > 0 && room < FARTHEST)?;
        Some(Self { size, time, delay, room })
    }

    /// The fate of a packet that comes at `now`.
    #[inline(always)]
    pub(super) fn transit(
        &self,
        now: Time,
        packet: &Packet,
        transmitter: &mut Transmitter,
        counts: &mut Counts,
    ) -> Transit {
        debug_assert_eq!(packet.size, self.size, "a size that nobody announced");
        let begin = transmitter.free_at.max(now.0);
        let ahead = begin - now.0;
        if ahead > self.room {
            return counts.refuse(Refusal::Full);
        }
        counts.waited += u128::from(ahead);
        counts.most = counts.most.max(ahead);
        Transit::Arrives(Time(transmitter.occupy(begin, self.time).saturating_add(self.delay)))
    }

    /// [`EqualPackets::transit`] for a batch of packets in order of time. Those that get through stay in it, each
    /// with the instant at which it arrives; the others are added to `lost`.
    pub(super) fn transit_all(
        &self,
        batch: &mut Vec<InFlight>,
        lost: &mut Vec<InFlight>,
        transmitter: &mut Transmitter,
        counts: &mut Counts,
    ) {
        let mut free_at = transmitter.free_at;
        if self.has_room_for(batch, free_at) {
            let (mut waited, mut most) = (0, counts.most);
            for of in batch.iter_mut() {
                debug_assert_eq!(of.packet.size, self.size, "a size that nobody announced");
                let begin = free_at.max(of.at.0);
                let ahead = begin - of.at.0;
                waited += ahead;
                most = most.max(ahead);
                free_at = begin + self.time;
                of.at = Time(free_at.saturating_add(self.delay));
            }
            (counts.waited, counts.most) = (counts.waited + u128::from(waited), most);
            transmitter.free_at = free_at;
            transmitter.busy += self.time * batch.len() as u64;
            return;
        }
        keep_if(batch, |of| match self.transit(of.at, &of.packet, transmitter, counts) {
            Transit::Arrives(at) => {
                of.at = at;
                true
            }
            Transit::Refused(_) | Transit::Lost(_) => {
                lost.push(*of);
                false
            }
        });
    }

    /// Is there room for all packets of a batch, and do the times that they wait add up to 64 bits? The
    /// transmitter is free at `free_at`. A bound decides: all come with the first one.
    fn has_room_for(&self, batch: &[InFlight], free_at: u64) -> bool {
        let (first, count) = (batch.first().map_or(0, |of| of.at.0), batch.len() as u64);
        let longest = u128::from(free_at.saturating_sub(first)) + u128::from(self.time) * u128::from(count);
        longest <= u128::from(self.room) && longest * u128::from(count) <= u128::from(u64::MAX)
    }

    /// Most packets that have waited, if the longest wait was `longest`.
    pub(super) fn most(&self, longest: u64) -> u64 {
        longest.div_ceil(self.time)
    }

    /// How many packets wait at `now`: those whose transmission begins later, one after the other until the
    /// transmitter is free.
    pub(super) fn waiting(&self, transmitter: &Transmitter, now: u64) -> u64 {
        transmitter.free_at.saturating_sub(now).saturating_sub(1) / self.time
    }

    /// Sum of the times that these packets will wait.
    pub(super) fn waits(&self, transmitter: &Transmitter, now: u64) -> u128 {
        let many = u128::from(self.waiting(transmitter, now));
        // The last packet waits for all before it, each other one for one packet less.
        many * u128::from(transmitter.free_at.saturating_sub(now))
            - u128::from(self.time) * (many * (many + 1) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::transmitter::{FixedRate, SendingRate};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_waits_follows_from_when_the_transmitter_is_free(
            gaps in prop::collection::vec(0_u64..3_000_000, 1..40),
            later in 0_u64..30_000_000,
        ) {
            // 1500 bytes at 12 Mbit/s take 1 ms.
            let (mut transmitter, mut counts) = (Transmitter::new(SendingRate::Fixed(FixedRate::new(12_000_000))), Counts::default());
            let time = transmitter.exact_time(1500).expect("whole nanoseconds");
            let equal = EqualPackets::new(1500, time, 7, QueueLimit::Packets(1_000)).expect("room");
            let (mut now, mut begins) = (0, Vec::new());
            for gap in gaps {
                now += gap;
                let begin = transmitter.free_at.max(now);
                begins.push(begin);
                let transit = equal.transit(Time(now), &Packet::new(1500, 0), &mut transmitter, &mut counts);
                prop_assert_eq!(transit, Transit::Arrives(Time(begin + 1_000_007)));
                for now in [now, now + later] {
                    let waits = || begins.iter().filter(|&&begin| begin > now);
                    prop_assert_eq!(equal.waiting(&transmitter, now), waits().count() as u64);
                    let times = waits().map(|begin| u128::from(begin - now)).sum();
                    prop_assert_eq!(equal.waits(&transmitter, now), times);
                }
            }
        }

        #[test]
        fn a_batch_is_its_packets_one_by_one(
            gaps in prop::collection::vec(0_u64..1_500_000, 1..60),
            limit in 0_u64..40,
            size in 1_usize..60,
        ) {
            let start = || (Transmitter::new(SendingRate::Fixed(FixedRate::new(12_000_000))), Counts::default());
            let equal = EqualPackets::new(1500, 1_000_000, 7, QueueLimit::Packets(limit)).expect("room");
            let mut now = 0;
            let mut packet = |(seq, gap): (u32, u64)| {
                now += gap;
                InFlight { at: Time(now), packet: Packet { seq, ..Packet::new(1500, 0) } }
            };
            let packets: Vec<InFlight> = (0..).zip(gaps).map(&mut packet).collect();
            let told = |of: &[InFlight]| of.iter().map(|of| (of.packet.seq, of.at)).collect::<Vec<_>>();
            let [one_by_one, batches] = [1, size].map(|size| {
                let ((mut transmitter, mut counts), mut there, mut lost) = (start(), Vec::new(), Vec::new());
                for part in packets.chunks(size) {
                    let mut batch = part.to_vec();
                    if let ([of], 1) = (&mut batch[..], size) {
                        match equal.transit(of.at, &of.packet, &mut transmitter, &mut counts) {
                            Transit::Arrives(at) => of.at = at,
                            _ => lost.append(&mut batch),
                        }
                    } else {
                        equal.transit_all(&mut batch, &mut lost, &mut transmitter, &mut counts);
                    }
                    there.extend(batch);
                }
                (told(&there), told(&lost), format!("{transmitter:?} {counts:?}"))
            });
            prop_assert_eq!(one_by_one, batches);
        }
    }
}
