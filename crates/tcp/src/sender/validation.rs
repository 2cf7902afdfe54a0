//! What becomes of a window that was not used: RFC 5681 section 4.1 after a pause, or Linux's validation (RFC
//! 2861) by `tcp_cwnd_restart`, `tcp_cwnd_validate` and `tcp_cwnd_application_limited` of
//! net/ipv4/tcp_output.c and `tcp_is_cwnd_limited` of include/net/tcp.h (6.1). Both leave alone a controller
//! that sets its window in every phase, as Linux does with modules that have `cong_control`.

use bentpipe_cc::{Event, Phase, Time};

use super::Sender;
use crate::options::IdleRestart;

/// How much of the window is used. Windows in segments.
#[derive(Debug, Default)]
pub(super) struct Validation {
    /// `is_cwnd_limited`: the window was used up in this window of data, which ends before `usage_end`.
    limited: bool,
    /// `max_packets_out`: most outstanding in this window of data, if the window was not used up.
    most_out: u64,
    /// `cwnd_usage_seq`.
    usage_end: u64,
    /// `snd_cwnd_used`: most outstanding since the window was used up or validated.
    used: u64,
    /// `snd_cwnd_stamp`: when it was last used up, validated, or acknowledged.
    stamp: Time,
    /// When a segment was last sent again; the last new one may be older (`lsndtime`).
    pub(super) resent: Time,
    /// The oldest outstanding and the next new segment at the last call.
    seen: (u64, u64),
}

impl Sender {
    /// The first segment after a pause is about to go out.
    #[cold]
    pub(super) fn restart(&mut self, now: Time) {
        let resent = self.validation.as_ref().map_or(Time::default(), |use_of| use_of.resent);
        let pause = now.since(self.board.sent(self.board.next() - 1).at.max(resent));
        let timeout = self.rto.rto();
        if self.self_driven || pause <= timeout {
            return;
        }
        let first = (self.options.initial_window as u64).max(1);
        match self.options.idle_restart {
            // The window returns to its old value by slow start.
            IdleRestart::Rfc5681 if first < self.window() => self.recovery.clamp = Some(first),
            IdleRestart::Linux => {
                let before = self.decision.segments();
                let timeouts = (pause.0 - 1) / timeout.0.max(1); // those that are over before the end of the pause
                let halved = before >> timeouts.min(63);
                self.set_window(halved.max(first.min(before)));
                if let Some(use_of) = &mut self.validation {
                    (use_of.used, use_of.stamp) = (0, now);
                }
            }
            IdleRestart::Rfc5681 | IdleRestart::Off => {}
        }
    }

    /// Nothing more may be sent for now (`tcp_cwnd_validate`). Says whether the next acknowledgements may
    /// make the window grow.
    #[inline(never)]
    pub(super) fn validate(&mut self, now: Time) {
        let in_flight = self.in_flight();
        let Some(use_of) = &mut self.validation else { return };
        let (una, next) = (self.board.una(), self.board.next());
        let out = next - una;
        let used_up = in_flight >= self.decision.segments();
        if una > use_of.seen.0 {
            use_of.stamp = now; // `tcp_cong_avoid`
        }
        let sent = next > use_of.seen.1;
        use_of.seen = (una, next);
        if (sent || used_up)
            && (una >= use_of.usage_end || used_up || !use_of.limited && out > use_of.most_out)
        {
            (use_of.limited, use_of.most_out, use_of.usage_end) = (used_up, out, next);
        }
        // `tcp_is_cwnd_limited`: in slow start the window may grow to twice what is used.
        let doubles = self.decision.cwnd < self.decision.ssthresh
            && self.decision.segments() < use_of.most_out.saturating_mul(2);
        self.limited_until = if use_of.limited || doubles { next.max(use_of.usage_end) } else { 0 };
        if !(sent || used_up) {
            return;
        }
        if use_of.limited || doubles {
            (use_of.used, use_of.stamp) = (0, now);
            return;
        }
        use_of.used = use_of.used.max(out);
        if now.since(use_of.stamp) < self.rto.rto() {
            return;
        }
        // `tcp_cwnd_application_limited`
        use_of.stamp = now;
        if self.flow.phase != Phase::Open {
            return;
        }
        let used = core::mem::take(&mut use_of.used).max(self.options.initial_window as u64);
        let cwnd = self.decision.segments();
        if used < cwnd {
            self.set_window(u64::midpoint(cwnd, used));
        }
    }

    /// The window becomes `segments`, and the threshold at least three quarters of the window before
    /// (`tcp_current_ssthresh`).
    #[cold]
    fn set_window(&mut self, segments: u64) {
        let mss = u64::from(self.flow.mss);
        let before = self.decision.segments();
        let kept = (before / 2 + before / 4) * mss;
        let ssthresh = self.decision.ssthresh.max(kept);
        self.cc.on(&self.flow, Event::Validation { cwnd: segments * mss, ssthresh });
        self.ask();
    }
}
