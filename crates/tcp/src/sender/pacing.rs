//! Segments spread in time: at the controller's rate, or at one derived from cwnd / srtt.

use bentpipe_cc::{Decision, Pacing, Rate, Span, Time};

use super::Sender;

impl Sender {
    /// A segment with a payload of `len` goes out. Finds when the next one may follow, if segments are paced.
    #[inline]
    pub(super) fn pace(&mut self, now: Time, len: u32) {
        match self.decision.pacing {
            Pacing::Window if !self.options.pacing => return,
            Pacing::Off => return,
            Pacing::Rate(rate) if self.gap.0 == rate && self.gap_len == len => {}
            _ => self.find_gap(len),
        }
        self.pace_at = self.pace_at.max(now) + self.gap.1;
    }

    #[inline(never)]
    fn find_gap(&mut self, len: u32) {
        let rate = self.pacing_rate();
        let gap =
            rate.map_or(Span::ZERO, |rate| Span::from_secs(f64::from(len + self.options.header) / rate));
        (self.gap, self.gap_len) = match self.decision.pacing {
            Pacing::Rate(rate) => ((rate, gap), len),
            _ => ((Rate(0), gap), 0),
        };
    }

    /// Must segments wait for their instant?
    #[inline]
    pub(super) fn waits_for_pace(&self, now: Time) -> bool {
        self.pace_at > now && (matches!(self.decision.pacing, Pacing::Rate(_)) || self.is_window_paced())
    }

    /// Does the window determine a [`Sender::pacing_rate`]?
    fn is_window_paced(&self) -> bool {
        self.decision.pacing == Pacing::Window
            && self.options.pacing
            && self.flow.rtt.is_some_and(|rtt| rtt.smoothed > Span::ZERO)
    }

    /// Bytes on the wire per second, if segments are paced.
    fn pacing_rate(&self) -> Option<f64> {
        let payload = match self.decision.pacing {
            Pacing::Rate(rate) => Some(rate.bytes_per_sec().max(1.0)),
            Pacing::Window if self.options.pacing => {
                let srtt = self.flow.rtt?.smoothed.secs();
                // Linux, `tcp_update_pacing_rate`.
                let Decision { cwnd, ssthresh, .. } = *self.decision;
                let gain = if cwnd < ssthresh / 2 { 2.0 } else { 1.2 };
                let out = self.board.outstanding() * u64::from(self.flow.mss);
                (srtt > 0.0).then(|| gain * cwnd.max(out) as f64 / srtt)
            }
            _ => return None,
        };
        // Controllers count payload, as windows and rate samples do; headers add their share on the wire.
        let wire = f64::from(self.options.header) / f64::from(self.flow.mss) + 1.0;
        payload.map(|rate| rate * wire)
    }
}
