//! The acknowledgement that is the rule in fast recovery with SACK, and the segments that it lets go: it says what the last one
//! said, but that one run has become longer by one segment. What is done here is what [`Sender::on_ack`] and [`Sender::poll`] do
//! with it, less what cannot happen; the test in `sender/even.rs` holds the two against each other.

use bentpipe_cc::{Ack, Phase, RttSample, Span, Time};

use super::{Course, Probe, Sender};
use crate::limits::Limit;
use crate::options::LossRecovery;
use crate::packed::PackedSack;
use crate::segment::Data;

impl Sender {
    /// The one segment that an acknowledgement of all before `ack` with these blocks newly reports, if nothing else is to be learnt
    /// from it. It must not echo congestion.
    #[inline]
    pub fn grown(&self, ack: u64, sack: &PackedSack) -> Option<u64> {
        let known = self.known_sack.as_ref()?;
        let repairing = self.flow.phase == Phase::Recovery && ack == self.board.una() && ack < self.recover;
        let plain = self.probe == Probe::No && !self.watchful && self.options.recovery == LossRecovery::Sack;
        let seq = known.blocks.blocks().first()?.end;
        (repairing && plain && sack.is_grown(&known.packed) && self.board.misses(seq)).then_some(seq)
    }

    /// [`Sender::on_ack`] for an acknowledgement that newly reports `seq`, see [`Sender::grown`].
    #[inline]
    pub fn on_grown_ack(&mut self, now: Time, seq: u64) -> Option<Span> {
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        if let Some(known) = &mut self.known_sack {
            known.blocks.lengthen();
            known.packed.lengthen();
        }
        let (sent, once, lost) = self.board.take_grown(seq);
        let mss = u64::from(self.flow.mss);
        let mut ack = Ack::default();
        ack.acks = 1;
        ack.lost = lost * mss;
        self.flow.lost += ack.lost;
        self.dupacks += 1;
        ack.acked = mss;
        self.flow.delivered += mss;
        self.flow.cwnd_limited = false; // a duplicate ACK brings no growth (RFC 5681 section 3.2 step 1)
        let rtt = once.then(|| now.since(sent));
        if let Some(rtt) = rtt {
            self.take_rtt(rtt, rtt);
        }
        ack.rtt = rtt.map(RttSample::one);
        self.delivered_at = now;
        if self.rated {
            ack.rate = self.rate(sent, &self.board.stamp_of(seq));
        }
        self.first_sent = sent;
        if seq >= self.round_mark {
            self.round_mark = self.board.next();
            self.flow.round += 1;
            ack.round_end = true;
        }
        self.note_in_flight();
        self.reduce(1, false);
        ack.uncounted = mss.saturating_sub(self.growth_limit(false));
        let (cc, flow) = (&mut self.cc, &self.flow);
        self.decision.renew(flow.mss, |decision| cc.reply(flow, &ack, decision));
        self.repair();
        rtt
    }

    /// What is left to do in recovery is to send new data, or nothing, until a timer or an acknowledgement of another kind.
    #[inline]
    fn repair(&mut self) {
        let plain = !self.forced && self.exit_clamp.is_none() && self.board.has_resent_all();
        self.course = if plain { Course::Repairing } else { Course::Uneven };
        self.free_up(self.board.next() + self.window().saturating_sub(self.board.pipe()));
    }

    /// [`Sender::poll`] on that course.
    #[inline]
    pub(super) fn poll_repairing(&mut self, now: Time) -> Option<Data> {
        let next = self.board.next();
        if next < self.free && !self.waits_for_pace(now) {
            self.flow.now = now;
            let data = self.send_freely(now, next);
            self.prr.on_sent();
            self.note_in_flight();
            return Some(data);
        }
        if self.board.pipe() < self.window() {
            return self.poll_any(now); // something else forbids it, or asks for another segment
        }
        self.flow.now = now;
        self.limited_until = next;
        self.limits.pass(now, self.decision.cwnd);
        self.limits.set(Limit::Recovery);
        None
    }
}
