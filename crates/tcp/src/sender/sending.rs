//! Chooses the next segment, or the limit that forbids one, and does the bookkeeping for a segment that goes
//! out.

use bentpipe_cc::{Event, Life, Phase, Stamp, Time};

use super::{Probe, Sender};
use crate::limits::Limit;
use crate::options::{AenProbe, LossRecovery};
use crate::prr::Prr;
use crate::segment::Data;

impl Sender {
    pub(super) fn poll_slow(&mut self, now: Time) -> Option<Data> {
        if self.is_done() {
            self.limits.set(Limit::App); // until the application writes more
            self.note_app_limit(0);
            if self.validates {
                self.validate(now);
            }
            return None;
        }
        self.flow.now = now;
        if self.probe != Probe::No || self.tlp.due {
            return self.poll_probe(now);
        }
        if self.extra {
            self.skip_known(now);
        }
        match self.choose() {
            Ok(seq) => {
                if core::mem::take(&mut self.was_idle) {
                    self.cc.on(&self.flow, Event::Life(Life::IdleRestart));
                    self.ask();
                    self.restart(now);
                }
                Some(self.transmit(now, seq))
            }
            Err(limit) => {
                if limit == Limit::Cwnd {
                    self.limited_until = self.board.next();
                }
                if limit == Limit::App {
                    self.note_app_limit(self.in_flight());
                }
                if limit == Limit::Rwnd {
                    self.await_window(now);
                }
                if self.options.tlp {
                    self.schedule_probe();
                }
                if self.validates {
                    self.validate(now);
                }
                self.limits.pass(now, self.decision.cwnd);
                self.limits.set(if self.flow.phase == Phase::Open || limit == Limit::App {
                    limit
                } else {
                    Limit::Recovery
                });
                if self.extra { self.poll_extra(now) } else { None }
            }
        }
    }

    #[cold]
    fn poll_probe(&mut self, now: Time) -> Option<Data> {
        match self.probe {
            Probe::No => Some(self.loss_probe(now)),
            Probe::OfWindow => Some(self.window_probe()),
            Probe::Sent => {
                self.limits.set(Limit::Timeout);
                None
            }
            Probe::ToSend => {
                self.probe = Probe::Sent;
                if self.options.aen_probe == AenProbe::Segment {
                    let timer = self.timer; // the probe's timeout, which AEN has set
                    let data = self.transmit(now, self.board.una());
                    self.timer = timer;
                    return Some(data);
                }
                Some(Data { len: 1, probe: true, ..self.segment(self.board.una()) })
            }
        }
    }

    /// The next segment to send, or the limit that forbids one.
    fn choose(&mut self) -> Result<u64, Limit> {
        let pipe = self.in_flight();
        let any_lost = self.board.lost() > 0;
        if pipe >= self.window()
            && !((self.recovery.forced || self.sends_holes()) && any_lost && self.board.next_lost().is_some())
        {
            return Err(Limit::Cwnd);
        }
        if self.waits_for_pace(self.flow.now) {
            self.pacing_waits = true;
            return Err(Limit::Pacing);
        }
        let new = self.may_send_new(pipe);
        if self.suspicion.wants_new() {
            match new {
                Ok(_) => return new, // F-RTO: RFC 5682 section 2.1 step 2b
                Err(_) => self.suspicion.no_new(),
            }
        }
        if self.suspicion.waits() {
            return Err(Limit::Cwnd); // F-RTO: a retransmission now would make the next ACK ambiguous
        }
        if any_lost && let Some(seq) = self.board.next_lost() {
            return Ok(seq); // RFC 6675 NextSeg rule 1
        }
        let in_sack_recovery =
            self.flow.phase == Phase::Recovery && self.options.recovery == LossRecovery::Sack;
        // With RACK a segment that is not marked may only be late, and segments after it show losses at the
        // end.
        if new.is_err() && in_sack_recovery && self.rack.is_none() {
            if let Some(seq) = self.board.next_doubtful() {
                return Ok(seq); // rule 3
            }
            if let Some(seq) = self.recovery.rescue(&mut self.board) {
                return Ok(seq); // rule 4
            }
        }
        new // rule 2
    }

    /// May the segments that a SNACK asks for exceed the window? (The reference implementation widens the
    /// window by the hole.)
    fn sends_holes(&self) -> bool {
        self.options.snack.is_some() && self.flow.phase == Phase::Recovery
    }

    fn may_send_new(&self, pipe: u64) -> Result<u64, Limit> {
        let next = self.board.next();
        if next >= self.limit {
            return Err(if pipe == 0 || self.flow.phase == Phase::Open { Limit::App } else { Limit::Cwnd });
        }
        if !self.peer_has_room() {
            return Err(Limit::Rwnd);
        }
        // Without limited transmit, duplicate ACKs and SACKs before recovery make no room (RFC 3042).
        if !self.options.limited_transmit
            && self.flow.phase == Phase::Open
            && self.board.outstanding() >= self.window() + self.brought()
        {
            return Err(Limit::Cwnd);
        }
        Ok(next)
    }

    /// The effective congestion window in segments.
    pub(super) fn window(&self) -> u64 {
        self.recovery.window(self.flow.phase, self.decision.segments())
    }

    pub(super) fn segment(&self, seq: u64) -> Data {
        let len = if seq + 1 == self.limit { self.last_len } else { self.options.mss };
        let tsval = (self.flow.now.0 / 1000) as u32;
        Data::new(seq, len, tsval)
    }

    pub(super) fn transmit(&mut self, now: Time, seq: u64) -> Data {
        let mut data = self.segment(seq);
        self.begin_flight(now);
        let stamp = self.stamp();
        if seq == self.board.next() {
            data.cwr = self.takes_cwr();
            self.tlp.anew = true;
            self.board.send_new(now, stamp);
            self.suspicion.on_new_sent();
        } else {
            data.retransmission = true;
            self.send_again(now, &data, stamp);
        }
        self.recovery.prr.iter_mut().for_each(Prr::on_sent);
        if self.timer == Time::MAX {
            self.timer = now + self.rto.rto(); // RFC 6298 section 5.1
        }
        self.pace(now, data.len);
        self.note_in_flight();
        data
    }

    #[inline(never)]
    fn send_again(&mut self, now: Time, data: &Data, stamp: Option<Stamp>) {
        let seq = data.seq;
        self.counters.retransmitted += 1;
        if let Some(use_of) = &mut self.validation {
            use_of.resent = now;
        }
        let impatient = self.is_impatient() && self.recovery.has_seen_partial();
        if seq == self.board.una() && self.flow.phase == Phase::Recovery && !impatient {
            self.timer = Time::MAX; // restarted at once: the repair needs a round trip (RFC 6675 section 6)
        }
        self.suspicion.on_retransmit(data.tsval);
        let lost = if self.tlp.due || self.probe == Probe::Sent {
            self.board.send_probe(seq, now, stamp);
            None
        } else {
            Some(self.board.send_again(seq, now, stamp))
        };
        self.recovery.on_retransmit(lost);
    }

    /// Notes for rate samples that a flight begins at `now`, if nothing is outstanding.
    #[inline]
    pub(super) fn begin_flight(&mut self, now: Time) {
        if let Some(rate) = self.rate.as_mut().filter(|_| self.board.outstanding() == 0) {
            rate.begin(now);
        }
    }

    /// The state stored with a segment sent now, for controllers that use rate samples.
    #[inline]
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let in_flight = || self.in_flight() * u64::from(self.flow.mss);
        self.rate.as_ref().map(|rate| rate.stamp(self.flow.delivered, in_flight()))
    }
}
