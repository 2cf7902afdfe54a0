//! Demand assignment (DAMA): the return channel of a VSAT, after DVB-RCS2 (ETSI EN 301 545-2 section 9, ETSI
//! TR 101 545-4).
//!
//! Time is divided into frames, and a frame into slots of equal length. A terminal sends in the slots that it
//! is assigned:
//! - `cra` slots of every frame (constant rate assignment);
//! - slots on request for a volume (VBDC, volume based dynamic capacity). At the start of a frame the
//!   terminal requests all bytes that wait, the rest of a packet in transmission included. It subtracts what
//!   it has requested and not yet been given, and what its constant slots of one frame carry. The request
//!   takes no slot of its own. Volume requested at the start of a frame may be given in the frames that start
//!   `grant_delay` later or after. Requests cumulate: volume for which a frame has no slot is given in the
//!   next one;
//! - `free` slots of what is left of a frame, without request (FCA, free capacity assignment).
//!
//! A terminal's slots are the first ones of the frame, without a gap. A slot carries the bytes that the
//! link's rate sends in it, rounded down. Its bytes are received as one burst, at the end of the slot. A slot
//! that finds nothing waiting is lost.

use std::collections::VecDeque;

use bentpipe_cc::Span;

use crate::access::context::AccessContext;
use crate::access::kind::{AccessKeys, AccessRule, PlannedAccess};
use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::Duration;

keys! {
    /// Demand assignment in frames of slots: the return channel of a VSAT. The rules are those of DVB-RCS2
    /// (ETSI EN 301 545-2 section 9). At the start of each frame the terminal asks for what waits (VBDC); a
    /// slot carries the bytes that the link's rate sends in it, rounded down.
    pub struct Dama {
        /// Length of a frame.
        #[schemars(extend("examples" = ["26.5 ms"]))]
        pub frame: Duration,
        /// Slots of a frame, all of equal length. This terminal may be assigned some or all of them.
        #[schemars(range(min = 1, max = 10_000))]
        pub slots: u64,
        /// Slots of each frame that the terminal always has (CRA). Default 0.
        #[serde(default)]
        #[schemars(range(min = 0, max = 10_000))]
        pub cra: u64,
        /// Most slots of a frame that are assigned on request (VBDC). Default: all that `cra` leaves.
        #[schemars(range(min = 0, max = 10_000))]
        pub vbdc?: u64,
        /// Most slots of a frame that are assigned without request (FCA), of those that are left. Default 0.
        #[serde(default)]
        #[schemars(range(min = 0, max = 10_000))]
        pub free: u64,
        /// From the start of the frame in which the terminal asks, to the first frame that
        /// may carry what it asks for.
        /// Default: the propagation delay of both directions and one frame, in which the hub decides.
        pub grant_delay?: Duration,
    }
}

/// The demand assignment of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamaPlan {
    /// Length of a frame, ns.
    pub frame: u64,
    /// Slots of a frame, at least 1.
    pub slots: u64,
    /// Bytes of a slot, at least 1.
    pub slot_bytes: u64,
    /// Slots of each frame that are always assigned.
    pub cra: u64,
    /// Most slots of a frame that are assigned on request.
    pub vbdc: u64,
    /// Most slots of a frame that are assigned without request, out of those that are left.
    pub free: u64,
    /// From a request to the first frame that may carry the requested volume, ns.
    pub grant_delay: u64,
}

impl AccessKeys for Dama {
    type Plan = DamaPlan;

    fn resolve(
        &self,
        rate_bps: u64,
        round_trip: Span,
        context: &mut AccessContext<'_>,
    ) -> Result<DamaPlan, Error> {
        let Dama { frame, slots, cra, vbdc, free, grant_delay } = *self;
        let wrong = |name: &str, message: String| Err(context.error(name, message));
        let length = frame.0.0;
        if length < slots {
            return wrong("frame", format!("{frame} is too short for {slots} slots; write e.g. \"26.5 ms\""));
        }
        let bits = u128::from(rate_bps) * u128::from(length) / u128::from(slots) / 1_000_000_000;
        let slot_bytes = (bits / 8) as u64;
        if slot_bytes == 0 {
            let message =
                format!("a slot of {frame} / {slots} carries no whole byte at the link's rate; write fewer");
            return wrong("slots", message);
        }
        if cra > slots {
            return wrong("cra", format!("{cra} is more than the {slots} slots of a frame"));
        }
        let vbdc = vbdc.unwrap_or(slots - cra);
        if cra + vbdc > slots {
            let left = slots - cra;
            return wrong("vbdc", format!("{vbdc} is more than the {left} slots of a frame that cra leaves"));
        }
        if cra + vbdc + free == 0 {
            return wrong(
                "cra",
                "with cra, vbdc and free at 0 nothing is ever sent; write e.g. 1".to_owned(),
            );
        }
        let default = Span(round_trip.0.saturating_add(length));
        let grant_delay = grant_delay.map_or(default, |given| given.0);
        context.check_delay(grant_delay, "grant_delay")?;
        context.check_delay(frame.0, "frame")?;
        Ok(DamaPlan { frame: length, slots, slot_bytes, cra, vbdc, free, grant_delay: grant_delay.0 })
    }
}

impl PlannedAccess for DamaPlan {
    fn start(&self) -> Box<dyn AccessRule> {
        Box::new(DamaState::new(*self))
    }
}

/// The slots of one terminal, in order.
#[derive(Debug)]
struct DamaState {
    plan: DamaPlan,
    /// The current frame, the slots assigned in it, and the next of these slots.
    frame: u64,
    assigned: u64,
    next: u64,
    /// Outstanding requests: the instant from which each may be granted, and its bytes.
    requests: VecDeque<(u64, u64)>,
    /// Bytes of matured requests for which no slot was assigned yet.
    owed: u64,
    /// Bytes requested and not yet assigned, in all.
    asked: u64,
}

impl DamaState {
    fn new(plan: DamaPlan) -> Self {
        let mut dama =
            Self { plan, frame: 0, assigned: 0, next: 0, requests: VecDeque::new(), owed: 0, asked: 0 };
        dama.assign(0);
        dama
    }

    /// The next frame begins while `waiting` bytes wait.
    fn begin_frame(&mut self, waiting: u64) {
        self.frame += 1;
        let now = self.start_of(self.frame);
        let constant = self.plan.cra * self.plan.slot_bytes;
        let volume = waiting.saturating_sub(constant).saturating_sub(self.asked);
        if volume > 0 && self.plan.vbdc > 0 {
            self.requests.push_back((now.saturating_add(self.plan.grant_delay), volume));
            self.asked += volume;
        }
        self.assign(now);
    }

    /// Assigns the slots of the frame that starts at `now`.
    fn assign(&mut self, now: u64) {
        while let Some(&(from, volume)) = self.requests.front()
            && from <= now
        {
            self.requests.pop_front();
            self.owed += volume;
        }
        let DamaPlan { slots, slot_bytes, cra, vbdc, free, .. } = self.plan;
        let granted = self.owed.div_ceil(slot_bytes).min(vbdc);
        let given = self.owed.min(granted * slot_bytes);
        self.owed -= given;
        self.asked -= given;
        (self.assigned, self.next) = (cra + granted + free.min(slots - cra - granted), 0);
    }

    fn start_of(&self, frame: u64) -> u64 {
        frame.saturating_mul(self.plan.frame)
    }

    fn start_in_frame(&self, slot: u64) -> u64 {
        (u128::from(slot) * u128::from(self.plan.frame) / u128::from(self.plan.slots)) as u64
    }
}

impl AccessRule for DamaState {
    fn length(&self) -> u64 {
        self.plan.frame / self.plan.slots
    }

    fn due(&self) -> u64 {
        if self.next < self.assigned {
            return self.start_of(self.frame) + self.start_in_frame(self.next);
        }
        self.start_of(self.frame + 1)
    }

    fn take(&mut self, waiting: u64) -> u64 {
        if self.next < self.assigned {
            self.next += 1;
            return self.plan.slot_bytes;
        }
        self.begin_frame(waiting);
        0
    }

    fn pass(&mut self, now: u64) {
        while self.due() <= now {
            if self.asked == 0 && self.next == self.assigned {
                // All frames up to the frame of `now` are alike.
                self.frame = self.frame.max((now / self.plan.frame).saturating_sub(1));
            }
            self.take(0);
        }
    }

    fn offered(&self, end: u64, rate: u64) -> f64 {
        end as f64 * rate as f64 / 8e9
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::Time;
    use proptest::prelude::*;

    use super::*;
    use crate::link::direction::Direction;
    use crate::link::packet::Packet;
    use crate::queue::{Class, QueueLimit};
    use crate::resolve::plan::{AccessPlan, DirectionPlan, LinkLayerPlan};

    const MS: u64 = 1_000_000;
    /// Frames of 20 ms with 10 slots of 2 ms; each slot carries 500 bytes at 2 Mbit/s. Grants take 530 ms, or
    /// 27 frames; the last of these begins before the grant.
    const PLAN: DamaPlan = DamaPlan {
        frame: 20 * MS,
        slots: 10,
        slot_bytes: 500,
        cra: 0,
        vbdc: 10,
        free: 0,
        grant_delay: 530 * MS,
    };

    fn terminal(plan: DamaPlan) -> Direction {
        let access = Some(AccessPlan::Dama(plan));
        let plan = DirectionPlan {
            link_layer: LinkLayerPlan { access, ..LinkLayerPlan::default() },
            ..DirectionPlan::plain(2_000_000, Span::from_millis(250), QueueLimit::Packets(100_000))
        };
        Direction::new(&plan, 1, "test")
    }

    /// When packets of these sizes leave if they come at these instants, ns.
    fn departures(plan: DamaPlan, packets: &[(u64, u16)]) -> Vec<u64> {
        let (mut terminal, mut out) = (terminal(plan), Vec::new());
        let mut drain = |terminal: &mut Direction, until: u64| {
            while let Some(at) = terminal.next().filter(|at| at.0 <= until) {
                out.extend(terminal.pop(at).map(|_| at.0 - 250 * MS));
            }
        };
        for &(at, size) in packets {
            drain(&mut terminal, at);
            terminal.push(Time(at), Packet { size, ..Packet::default() }, Class::default());
        }
        drain(&mut terminal, 1 << 60);
        out
    }

    #[test]
    fn the_first_packet_waits_for_the_request_the_grant_and_its_slots() {
        // 1500 bytes take 3 slots of 2 ms. They are requested at the next start of a frame, and given in the
        // first frame that starts 530 ms later or after.
        for (comes, asks) in [(0, 20), (1, 20), (19, 20), (20, 40), (47, 60)] {
            let given = (asks + 530_u64).next_multiple_of(20);
            assert_eq!(departures(PLAN, &[(comes * MS, 1_500)]), [(given + 3 * 2) * MS], "{comes} ms");
        }
        // A grant that arrives as a frame starts may be used in it.
        let plan = DamaPlan { grant_delay: 520 * MS, ..PLAN };
        assert_eq!(departures(plan, &[(0, 1_500)]), [(20 + 520 + 6) * MS]);
    }

    #[test]
    fn a_steady_stream_below_the_constant_rate_pays_only_the_frame() {
        // 3 constant slots carry 1500 bytes a frame, which is as much as arrives.
        let plan = DamaPlan { cra: 3, vbdc: 7, ..PLAN };
        let packets: Vec<(u64, u16)> = (0..500).map(|i| (i * 20 * MS + 7 * MS, 1_500)).collect();
        for ((comes, _), leaves) in packets.iter().zip(departures(plan, &packets)) {
            assert_eq!(leaves - comes, (20 - 7 + 6) * MS);
        }
        // The terminal requests nothing; with half as many slots, it requests the bytes that are not carried.
        let plan = DamaPlan { cra: 1, vbdc: 9, ..PLAN };
        let last = *departures(plan, &packets).last().unwrap();
        assert!(last - packets[499].0 <= (20 + 540 + 20) * MS, "{last}");
    }

    #[test]
    fn throughput_is_that_of_the_slots_that_may_be_assigned() {
        let packets = vec![(MS, 1_500); 2_000];
        for (cra, vbdc, free) in
            [(0, 10, 0), (2, 4, 0), (0, 1, 0), (5, 0, 0), (1, 3, 2), (0, 10, 10), (0, 0, 4)]
        {
            let plan = DamaPlan { cra, vbdc, free, ..PLAN };
            let out = departures(plan, &packets);
            // While something waits, every frame has all these slots: free slots are left over only where
            // requests need fewer.
            let slots = (cra + vbdc + free).min(10);
            let (first, last) = (out[1_000], out[1_999]);
            let frames = 999.0 * 1_500.0 / (500 * slots) as f64;
            let took = (last - first) as f64 / (20 * MS) as f64;
            assert!((took - frames).abs() <= 1.0, "{cra} {vbdc} {free}: {took} frames, not {frames}");
        }
    }

    #[test]
    fn free_slots_need_no_request() {
        let plan = DamaPlan { free: 2, ..PLAN };
        // Two slots a frame carry 1000 of its 1500 bytes in the next frame, and the rest in the frame after
        // that.
        assert_eq!(departures(plan, &[(5 * MS, 1_500)]), [(40 + 2) * MS]);
    }

    proptest! {
        /// Every packet leaves by the end of the frame in which its request is granted, if the frames have
        /// room. No slot carries more than its bytes. The result does not depend on who looks when.
        #[test]
        fn requests_cover_all_that_waits(
            gaps in prop::collection::vec((0_u64..100, 40_u16..1_501), 1..60),
            cra in 0_u64..3,
            free in 0_u64..3,
        ) {
            let plan = DamaPlan { cra, vbdc: 4_000, free, slots: 10_000, frame: 20 * MS, ..PLAN };
            let mut at = 0;
            let packets: Vec<(u64, u16)> = gaps.iter().map(|(gap, size)| { at += gap * MS; (at, *size) }).collect();
            let out = departures(plan, &packets);
            prop_assert_eq!(out.len(), packets.len());
            for ((comes, _), leaves) in packets.iter().zip(&out) {
                let asks = (comes / (20 * MS) + 1) * 20 * MS;
                let given = (asks + 530 * MS).next_multiple_of(20 * MS);
                prop_assert!(*leaves <= given + 20 * MS, "{comes}: {leaves}, not by {given}");
            }
            let mut unseen = terminal(plan);
            for (at, size) in &packets {
                unseen.push(Time(*at), Packet { size: *size, ..Packet::default() }, Class::default());
            }
            let late: Vec<u64> = std::iter::from_fn(|| { let at = unseen.next()?; Some((at, unseen.pop(at))) })
                .filter_map(|(at, out)| out.map(|_| at.0 - 250 * MS))
                .collect();
            prop_assert_eq!(late, out);
        }
    }
}
