//! The sender of one subflow of a connection that has several (Multipath TCP, RFC 8684). The connection hands
//! it data segment by segment, when the subflow has room.

use bentpipe_cc::{Congestion, Event, Phase, Subflow, Time};

use super::{Probe, Sender};
use crate::limits::Limit;

impl Sender {
    /// Would a segment that is written now go out at once? Not while losses are to be repaired, nor after a
    /// timeout until the timeout has been overcome: such a path may be gone.
    pub fn has_room(&mut self, now: Time) -> bool {
        self.probe == Probe::No
            && !self.tlp.due
            && self.flow.phase != Phase::Loss
            && self.in_flight() < self.window()
            && (self.options.limited_transmit || self.board.outstanding() < self.window())
            && !self.suspicion.waits()
            && self.board.next() == self.limit
            && !(self.board.lost() > 0 && self.board.next_lost().is_some())
            && !self.waits_for_pace(now)
    }

    /// The connection hands over a full segment.
    pub fn take_segment(&mut self) {
        let taken = self.append(self.options.mss.into());
        debug_assert!(taken.is_ok(), "every segment of a subflow is a full one");
    }

    /// The connection has data that this subflow may not send. Notes the limit, which is `shared` if the
    /// receive window of all subflows holds the data back. A sender that waits for its pace is woken.
    pub fn go_without(&mut self, now: Time, shared: bool) {
        self.pacing_waits |= self.waits_for_pace(now);
        if shared && self.flow.phase == Phase::Open && self.in_flight() < self.window() {
            self.limits.pass(now, self.decision.cwnd);
            self.limits.set(Limit::Rwnd);
        }
    }

    /// Reduces the window as for a mark, because this subflow holds back the others.
    pub fn penalise(&mut self) {
        self.path = super::Path::Slow;
        self.cc.on(&self.flow, Event::Congestion(Congestion::Ecn));
        self.ask();
    }

    /// What a coupled controller of another subflow may know about this one.
    pub fn as_subflow(&self, between_losses: u64) -> Subflow {
        Subflow { cwnd: self.decision.cwnd, rtt: self.flow.rtt.map(|rtt| rtt.smoothed), between_losses }
    }

    /// Gives the controller the state of all subflows of the connection; this subflow is the one at `own`.
    pub fn show_subflows(&mut self, own: usize, all: &[Subflow]) {
        self.cc.on(&self.flow, Event::Subflows { own, all });
        self.ask();
    }
}
