//! Directions whose rate, delay or losses change.
//!
//! Nothing here is an event of its own. A queue that decides on arrival knows a packet's whole fate when the
//! packet comes. A queue that decides at departure catches up on handovers when somebody asks
//! (`departures.rs`).

use bentpipe_cc::Time;

use crate::link::direction::{Admission, Behaviour, Direction, Promises, Refusal, Transit};
use crate::link::foreseen::Doom;
use crate::link::moving::Moving;
use crate::link::packet::Packet;
use crate::link::transmitter::Transmitter;
use crate::loss::LossModel;

impl Direction {
    /// Its time line in use, if it has one.
    pub(super) fn moving(&mut self) -> Option<&mut Moving> {
        self.behaviour.as_deref_mut()?.moving.as_deref_mut()
    }

    /// The promises of a direction with a time line; `fixed`: what its queue allows.
    pub(super) fn promises_moving(&self, size: u16, fixed: Promises) -> Promises {
        let Some(moving) = self.behaviour.as_deref().and_then(|b| b.moving.as_deref()) else { return fixed };
        Promises {
            in_order: fixed.in_order && !moving.line.reorder,
            least_delay: moving.line.least_delay(),
            least_gap: moving.least_gap(size),
            constant: None,
        }
    }

    /// [`Direction::keep`] for a packet that may overtake others.
    pub(super) fn keep_in_place(&mut self, at: Time, packet: &Packet) {
        self.keep(at, packet.hop, packet);
        let mut place = self.under_way.len() - 1;
        while place > 0 && self.under_way[place - 1].at > at {
            self.under_way.swap(place - 1, place);
            place -= 1;
        }
    }

    /// [`Direction::transit`] where rate, delay or losses change.
    #[inline(never)]
    pub(super) fn transit_moving(&mut self, now: Time, packet: &mut Packet) -> Transit {
        self.backlog.drain(now.0);
        let free_at = self.free_at().0;
        let has_room = self.has_room(now, packet.size);
        self.tell_rate(free_at, now);
        if !self.takes(now, packet) {
            return self.refuse(if has_room { Refusal::Early } else { Refusal::Full });
        }
        let begin = free_at.max(now.0);
        let Some(moving) = self.moving() else { return self.refuse(Refusal::Full) };
        if let Some(at) = moving.drops(now, begin) {
            self.wait(now, at, packet.size);
            self.foresee(now, Time(at), Doom::Flush, packet);
            return Transit::Refused(Refusal::Flushed);
        }
        let cut = moving.loses(begin);
        let sent = moving.send(begin, packet.size, cut);
        moving.go_to(sent.at);
        let mut arrival = sent.at.saturating_add(moving.delay(sent.at));
        if !moving.line.reorder && arrival < moving.ahead {
            arrival = moving.ahead.saturating_add(sent.alone.unwrap_or(0));
        }
        let cut = cut.filter(|&at| at < arrival || sent.alone.is_none());
        if sent.alone.is_some() {
            moving.ahead = arrival;
        }
        if cut.is_none() {
            moving.there = arrival;
        }
        let line = &moving.line;
        let loss_rate = line.sets_loss.then(|| line.steps()[moving.step].loss_rate);
        if begin > now.0 {
            self.wait(now, begin, packet.size);
        }
        let Transmitter { free_at, busy, .. } = &mut self.transmitter;
        (*free_at, *busy) = (sent.at, *busy + (sent.at - begin));
        let struck = self.strikes(loss_rate, Time(sent.at), packet.size);
        let at = Time(cut.unwrap_or(arrival));
        if !struck && cut.is_none() {
            return Transit::Arrives(at);
        }
        let lost_at = if struck { sent.at.min(at.0) } else { at.0 };
        self.foresee(now, Time(lost_at), Doom::Error, packet);
        Transit::Lost(at)
    }

    /// Gives a rule that decides on arrival the mean rate since the transmitter became free, if that was
    /// before `now`.
    fn tell_rate(&mut self, free_at: u64, now: Time) {
        if let Some(Behaviour { admission: Admission::OnArrival(rule), moving: Some(moving) }) =
            self.behaviour.as_deref_mut()
            && free_at < now.0
        {
            rule.set_rate(moving.mean_rate(free_at, now.0));
        }
    }

    /// Do its loss models strike a packet that is sent at `sent`? Every model sees the packet.
    fn strikes(&mut self, loss_rate: Option<f64>, sent: Time, size: u16) -> bool {
        let strikes = |lost: bool, loss: &mut LossModel| {
            loss_rate.into_iter().for_each(|rate| loss.set_rate(rate));
            loss.strikes(sent, size) || lost
        };
        self.losses.iter_mut().fold(false, strikes)
    }

    /// [`Direction::catch_up`] where rate, delay or losses change: the choices, and the packets dropped at handovers.
    #[inline(never)]
    pub(super) fn catch_up_moving(&mut self, now: Time) {
        loop {
            let free_at = self.free_at();
            let Some(idle) = self.scheduled().map(|scheduled| scheduled.is_idle()) else { return };
            let Some(moving) = self.moving() else { return };
            let flush = moving.next_flush();
            // Within one instant the handover comes first.
            if flush <= now && (idle || flush <= free_at) {
                moving.flushed();
                if let Some(scheduled) = self.scheduled() {
                    scheduled.flush(flush);
                }
            } else if free_at <= now && !idle {
                self.transmit(free_at);
            } else {
                return;
            }
        }
    }
}
