//! The acknowledgement that is the rule in fast recovery with SACK: it says what the last one said, but that one run has become
//! longer by one segment. What is done here is what [`Sender::on_ack`] does with it, less what cannot happen; the test in
//! `sender/even.rs` holds the two against each other.

use bentpipe_cc::{Ack, Phase, RttSample, Span, Time};

use super::{Probe, Sender};
use crate::options::LossRecovery;
use crate::segment::AckSegment;

impl Sender {
    /// The one segment that `seg` newly reports, if nothing else is to be learnt from it.
    #[inline]
    pub(super) fn grown(&self, seg: &AckSegment) -> Option<u64> {
        let known = self.known_sack.as_ref()?;
        let repairing = self.flow.phase == Phase::Recovery && seg.ack < self.recover;
        let plain = self.probe == Probe::No && !self.watchful && !seg.ece;
        if !repairing || !plain || self.options.recovery != LossRecovery::Sack {
            return None;
        }
        self.board.grown(seg.ack, &seg.sack, known)
    }

    /// [`Sender::on_ack`] for an acknowledgement that newly reports `seq`, see [`Sender::grown`].
    #[inline]
    pub(super) fn on_grown_ack(&mut self, now: Time, seq: u64) -> Option<Span> {
        self.limits.pass(now, self.decision.real());
        self.flow.now = now;
        if let Some(known) = &mut self.known_sack {
            known.lengthen();
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
        self.prr.on_ack(1, self.in_flight(), false);
        ack.uncounted = mss.saturating_sub(self.growth_limit(false));
        let (cc, flow) = (&mut self.cc, &self.flow);
        self.decision.renew(flow.mss, |decision| cc.reply(flow, &ack, decision));
        rtt
    }
}
