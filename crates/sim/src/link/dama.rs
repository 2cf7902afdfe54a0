//! Demand assignment (DAMA): the return channel of a VSAT, after DVB-RCS2 (ETSI EN 301 545-2 section 9, ETSI TR 101 545-4).
//!
//! Time is cut into frames, and a frame into slots of equal length. A terminal sends in the slots that it is assigned:
//! - `cra` slots of every frame (constant rate assignment);
//! - slots on request for a volume (VBDC, volume based dynamic capacity). At the start of a frame the terminal asks for all that waits, the
//!   rest of a packet in transmission included, less what it has asked for and not been given, less what its constant slots of one frame
//!   carry. The request takes no slot of its own. What is asked for at the start of a frame may be given in the frames that start
//!   `grant_delay` later or after. Requests cumulate: volume for which a frame has no slot is given in the next one;
//! - `free` slots of what is left of a frame, for nothing (FCA, free capacity assignment).
//!
//! The slots of a frame are the first ones, without a gap. A slot carries the bytes that the link's rate sends in it, rounded down. Its
//! bytes are received as one burst, at the end of the slot. A slot that finds nothing waiting is lost.

use std::collections::VecDeque;

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
    /// Most slots of a frame that are assigned without request, of those that are left.
    pub free: u64,
    /// From a request to the first frame that may carry what it asks for, ns.
    pub grant_delay: u64,
}

/// The slots of one terminal, in order.
#[derive(Debug)]
pub(crate) struct Dama {
    plan: DamaPlan,
    /// The present frame, the slots assigned in it, and the next of them.
    frame: u64,
    assigned: u64,
    next: u64,
    /// Requests under way: from when each may be granted, and its bytes.
    requests: VecDeque<(u64, u64)>,
    /// Bytes of requests that have matured and for which no slot was assigned yet.
    owed: u64,
    /// Bytes asked for and not assigned yet, in all.
    asked: u64,
}

impl Dama {
    pub(crate) fn new(plan: &DamaPlan) -> Self {
        let mut dama = Self {
            plan: *plan,
            frame: 0,
            assigned: 0,
            next: 0,
            requests: VecDeque::new(),
            owed: 0,
            asked: 0,
        };
        dama.assign(0);
        dama
    }

    /// Length of a slot, ns.
    pub(crate) fn slot(&self) -> u64 {
        self.plan.frame / self.plan.slots
    }

    pub(crate) fn due(&self) -> u64 {
        if self.next < self.assigned {
            return self.start_of(self.frame) + self.start_in_frame(self.next);
        }
        self.start_of(self.frame + 1)
    }

    pub(crate) fn take(&mut self, waiting: u64) -> u64 {
        if self.next < self.assigned {
            self.next += 1;
            return self.plan.slot_bytes;
        }
        self.begin_frame(waiting);
        0
    }

    pub(crate) fn pass(&mut self, now: u64) {
        while self.due() <= now {
            if self.asked == 0 && self.next == self.assigned {
                // Until the frame of `now` all frames are alike.
                self.frame = self.frame.max((now / self.plan.frame).saturating_sub(1));
            }
            self.take(0);
        }
    }

    /// The next frame begins while so many bytes wait.
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
