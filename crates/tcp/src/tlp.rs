//! Tail loss probe (RFC 8985 section 7): when no ACKs arrive, one segment asks for feedback before the
//! timeout does.
//!
//! Section 7.3 lets the timer expire and then checks whether a probe may be sent. Here the check comes first,
//! so a forbidden probe does not delay the retransmission timeout. Fast recovery and timeouts reset the probe
//! (section 7.1).

use std::num::NonZeroU64;

use bentpipe_cc::{Span, Time};

/// The least `TLP.max_ack_delay` assumed of a receiver (section 7.2).
pub(crate) const MAX_ACK_DELAY: Span = Span::from_millis(200);

/// The state of section 5.3 and the timer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probing {
    /// `TLP.end_seq`: the segment after the highest one outstanding when the probe was sent; one probe at a
    /// time.
    end: Option<NonZeroU64>,
    /// `TLP.is_retrans`.
    retransmission: bool,
    /// True if an RTT has been measured since the last probe.
    measured: bool,
    /// When the timer expires.
    pub(crate) deadline: Option<Time>,
    /// True if the timer has expired and the probe is to go out.
    pub(crate) due: bool,
    /// True if new data was sent, or data acknowledged, since the timer was last checked.
    pub(crate) anew: bool,
}

/// The facts of an acknowledgement that concern the probe (section 7.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) ack: u64,
    /// The segment after the one that a D-SACK reports.
    pub(crate) dsack_end: Option<u64>,
    /// True for a duplicate ACK without SACK blocks.
    pub(crate) bare_duplicate: bool,
}

impl Probing {
    pub(crate) fn on_rtt_sample(&mut self) {
        self.measured = true;
    }

    /// Is no probe on its way or about to go out?
    pub(crate) fn is_idle(&self) -> bool {
        self.end.is_none() && !self.due
    }

    /// May a probe be scheduled, as far as earlier probes decide (section 7.3)?
    pub(crate) fn may_schedule(&self) -> bool {
        self.end.is_none() && self.measured
    }

    /// `TLP_calc_PTO` of section 7.2. `delay`: how long the receiver may delay the ACK of a single segment in
    /// flight; `rto`: when the retransmission timer expires.
    pub(crate) fn schedule(&mut self, now: Time, srtt: Span, delay: Span, rto: Time) {
        let wait = srtt + srtt + delay;
        self.deadline = Some((now + wait).min(rto));
    }

    /// The timer expired.
    pub(crate) fn on_deadline(&mut self) {
        self.deadline = None;
        self.due = true;
    }

    /// The probe went out; `end` is the next segment never sent.
    pub(crate) fn on_sent(&mut self, end: u64, retransmission: bool) {
        *self = Self { end: NonZeroU64::new(end), retransmission, ..Self::default() };
    }

    /// Is the duplicate that ends at `end` the probe?
    pub(crate) fn is_probe(&self, end: u64) -> bool {
        self.retransmission && self.end.is_some_and(|probe| probe.get() == end)
    }

    /// Recovery begins, and finds the losses that the probe was for.
    pub(crate) fn reset(&mut self) {
        *self = Self { measured: self.measured, ..Self::default() };
    }

    /// `TLP_process_ack` of section 7.4.2. Returns true if the probe has repaired a loss, to which congestion
    /// control must react.
    pub(crate) fn on_ack(&mut self, seen: Answer) -> bool {
        let Some(end) = self.end.map(NonZeroU64::get).filter(|&end| seen.ack >= end) else { return false };
        let spurious = seen.dsack_end == Some(end);
        let repaired = self.retransmission && !spurious && seen.ack > end;
        if !self.retransmission || spurious || repaired || seen.bare_duplicate {
            self.end = None;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probing(end: u64, retransmission: bool) -> Probing {
        let mut probing = Probing::default();
        probing.on_rtt_sample();
        assert!(probing.may_schedule());
        probing.on_sent(end, retransmission);
        assert!(!probing.may_schedule());
        probing
    }

    fn answer(ack: u64) -> Answer {
        Answer { ack, dsack_end: None, bare_duplicate: false }
    }

    /// Section 7.2: 2 SRTT, the delay of the ACK for one segment, at most the retransmission timeout.
    #[test]
    fn the_timer() {
        let mut p = Probing::default();
        for (delay, rto, expected) in [(0, 9000, 1100), (200, 9000, 1300), (200, 1250, 1250)] {
            let ms = Span::from_millis;
            p.schedule(Time(0) + ms(100), ms(500), ms(delay), Time(0) + ms(rto));
            assert_eq!(p.deadline, Some(Time(0) + ms(expected)));
        }
    }

    /// Section 7.4.2: every branch of `TLP_process_ack`.
    #[test]
    fn only_an_unexplained_ack_beyond_the_probe_shows_a_repair() {
        assert!(!probing(10, false).on_ack(answer(11)), "new data: RACK finds the losses");
        let mut p = probing(10, true);
        assert!(!p.on_ack(answer(9)) && !p.on_ack(answer(10)), "original or probe: not known yet");
        assert!(p.on_ack(answer(11)) && !p.on_ack(answer(12)), "once");
        let mut p = probing(10, true);
        assert!(!p.on_ack(Answer { dsack_end: Some(10), ..answer(10) }) && !p.on_ack(answer(11)));
        let mut p = probing(10, true);
        assert!(!p.on_ack(Answer { bare_duplicate: true, ..answer(10) }) && !p.on_ack(answer(11)));
    }

    /// Section 7.3: the next probe needs the answer to the last one and a new RTT sample.
    #[test]
    fn one_probe_at_a_time() {
        let mut p = probing(10, false);
        p.on_rtt_sample();
        assert!(!p.may_schedule());
        p.on_ack(answer(10));
        assert!(p.may_schedule());
        p.on_sent(11, false);
        p.on_ack(answer(11));
        assert!(!p.may_schedule(), "no RTT sample since");
    }
}
