//! RACK (RFC 8985 sections 5 and 6): the send times of delivered segments show which other segments are lost.
//!
//! This is the arithmetic; `scoreboard/order.rs` applies it to segments. Decisions where
//! the RFC leaves a choice:
//!  * Step 1: `RACK.min_RTT` is the minimum of the last five minutes, as the RFC recommends. So a path that
//!    has become longer shows.
//!  * Step 2: the echoed timestamp judges only segments that are acknowledged cumulatively. A segment behind
//!    a gap does not change the echo (RFC 7323 section 4.3), so the echo proves nothing about it. The
//!    minimum RTT judges both.
//!  * Step 4: a D-SACK that answers a tail loss probe proves no reordering and widens no window (as Linux).
//!  * Step 5: the reordering timer expires when the first segment becomes lost rather than when the
//!    last one does. Each is then marked at its own instant, never before its window is over, and no
//!    search for the last is needed.

use bentpipe_cc::{Span, Time, WindowedMin};

use crate::scoreboard::{DUP_THRESH, Heard, Sent};

/// Recoveries without a D-SACK after which the window is reset (section 6.2 step 4).
const PERSIST: u32 = 16;
/// Appendix: the window of `RACK.min_RTT`.
const MIN_RTT_WINDOW: Span = Span::from_millis(300_000);

/// The state of section 5.2. Names of the RFC are given where they differ.
#[derive(Debug)]
pub(crate) struct Rack {
    min_rtt: WindowedMin,
    /// `RACK.xmit_ts` and `RACK.end_seq`: the delivered segment that was sent last.
    pub(crate) newest: Sent,
    rtt: Span,
    /// `RACK.fack`: the segment after the highest one delivered.
    high: u64,
    reordering_seen: bool,
    /// `RACK.reo_wnd_mult` and `RACK.reo_wnd_persist`.
    steps: u64,
    persist: u32,
    dsack_round: Option<u64>,
    /// When the reordering timer expires.
    pub(crate) deadline: Option<Time>,
    /// The send time of the newest retransmission that was last found lost.
    pub(crate) lost_again: Option<Time>,
}

/// The state of the sender that determines the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// In fast recovery or in recovery from a timeout.
    pub(crate) recovering: bool,
    /// `RACK.segs_sacked`.
    pub(crate) sacked: u64,
    pub(crate) srtt: Span,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            min_rtt: WindowedMin::new(MIN_RTT_WINDOW),
            newest: Sent::default(),
            rtt: Span::ZERO,
            high: 0,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            dsack_round: None,
            deadline: None,
            lost_again: None,
        }
    }

    /// Step 2: the latest send time of a retransmission for which an ACK at `now` can be its own and not its
    /// original's. That is at least the minimum RTT ago.
    pub(crate) fn believable(&self, now: Time) -> Time {
        Time(now.0.saturating_sub(self.min_rtt.get().map_or(0, |rtt| rtt.0)))
    }

    /// Steps 1 to 3: an ACK delivered `got`, up to `high`, and gave the RTT sample `rtt`.
    pub(crate) fn on_delivered(&mut self, now: Time, rtt: Option<Span>, got: &Heard, high: u64) {
        if let Some(rtt) = rtt {
            self.min_rtt.add(now, rtt);
        }
        if let Some(sent) = got.newest {
            self.rtt = now.since(sent.at);
            self.newest = self.newest.max(sent);
        }
        // Step 3: an original below the highest segment delivered before has been overtaken.
        self.reordering_seen |= got.lowest_once.is_some_and(|seq| seq + 1 < self.high);
        self.high = self.high.max(high);
    }

    /// Step 4, the adaptation. `dsack`: does the ACK report a duplicate? `una` and `next`: bounds of the
    /// outstanding segments. `exiting`: does the ACK end a recovery?
    pub(crate) fn adapt(&mut self, dsack: bool, una: u64, next: u64, exiting: bool) {
        if self.dsack_round.is_some_and(|end| una >= end) {
            self.dsack_round = None;
        }
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.steps += 1;
            self.persist = PERSIST;
        } else if exiting {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.steps = 1;
            }
        }
    }

    /// Step 4, the window, and from it the age at which a segment counts as lost: `RACK.rtt + RACK.reo_wnd`.
    pub(crate) fn patience(&self, now: &Situation) -> Span {
        let hurry = !self.reordering_seen && (now.recovering || now.sacked >= DUP_THRESH as u64);
        let window = match self.min_rtt.get() {
            Some(min) if !hurry => Span(self.steps.saturating_mul(min.0 / 4).min(now.srtt.0)),
            _ => Span::ZERO,
        };
        self.rtt + window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Situation = Situation { recovering: false, sacked: 1, srtt: Span(100) };

    /// Segment `seq`, sent once at `at`, was delivered at `now`.
    fn deliver(rack: &mut Rack, now: u64, at: u64, seq: u64) {
        let got = Heard { newest: Some(Sent { at: Time(at), seq }), lowest_once: Some(seq) };
        rack.on_delivered(Time(now), Some(Span(now - at)), &got, seq + 1);
    }

    fn window(rack: &mut Rack, now: Situation) -> u64 {
        rack.patience(&now).0 - rack.rtt.0
    }

    /// Section 6.2 step 4: a quarter of the minimum RTT. Until reordering is seen, the window is zero in
    /// recovery or with three segments SACKed.
    #[test]
    fn the_window_is_a_quarter_of_the_minimum_rtt_unless_haste_is_safe() {
        let mut rack = Rack::new();
        assert_eq!(window(&mut rack, CALM), 0, "no RTT yet");
        deliver(&mut rack, 80, 0, 5);
        deliver(&mut rack, 120, 20, 6);
        assert_eq!(window(&mut rack, CALM), 20);
        for haste in [Situation { recovering: true, ..CALM }, Situation { sacked: 3, ..CALM }] {
            assert_eq!(window(&mut rack, haste), 0);
        }
        deliver(&mut rack, 130, 10, 4);
        for haste in [Situation { recovering: true, ..CALM }, Situation { sacked: 3, ..CALM }] {
            assert_eq!(window(&mut rack, haste), 20, "segment 4 came after segment 6");
        }
    }

    /// Section 6.2 step 4: one step per round with a D-SACK, at most SRTT, back to one after 16 recoveries.
    #[test]
    fn dsacks_widen_the_window_for_sixteen_recoveries() {
        let mut rack = Rack::new();
        deliver(&mut rack, 80, 0, 5);
        rack.adapt(true, 6, 20, false);
        assert_eq!(window(&mut rack, CALM), 40);
        rack.adapt(true, 19, 40, false);
        assert_eq!(window(&mut rack, CALM), 40, "the round of the first is not over");
        rack.adapt(true, 20, 40, false);
        assert_eq!(window(&mut rack, CALM), 60);
        rack.adapt(true, 40, 60, false);
        rack.adapt(true, 60, 80, false);
        assert_eq!(window(&mut rack, CALM), 100, "5 / 4 of the minimum RTT would be more: SRTT");
        for _ in 0..15 {
            rack.adapt(false, 80, 90, true);
            assert_eq!(window(&mut rack, CALM), 100);
        }
        rack.adapt(false, 80, 90, true);
        assert_eq!(window(&mut rack, CALM), 20);
    }

    /// Section 6.2 step 2: an older segment delivered late is not the most recent one.
    #[test]
    fn the_newest_delivered_segment_stays() {
        let mut rack = Rack::new();
        deliver(&mut rack, 80, 10, 5);
        deliver(&mut rack, 90, 0, 3);
        assert_eq!(rack.newest, Sent { at: Time(10), seq: 5 });
        deliver(&mut rack, 90, 10, 6);
        assert_eq!(rack.newest, Sent { at: Time(10), seq: 6 }, "sent at the same instant: the higher one");
    }
}
