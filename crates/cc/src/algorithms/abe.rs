//! The available-bandwidth estimate of TCP-J, which TCP-STAR uses: H. Obata et al.: TCP-STAR, section 3,
//! eq. (2) and (3) -> [`Abe::add`]. Segments per second; star.rs has the decisions where the paper is silent.

use crate::algorithms::prelude::*;

/// Which ACKs make a sample of the bandwidth.
pub(crate) const BW_SAMPLES: Param = Param::choice("bw_samples", &["acks", TICKS]).about(
    "a sample of the bandwidth (eq. 2): each ACK, or all ACKs within a tick of 1/32 to 1/16 of RTTmin",
);

/// The value of [`BW_SAMPLES`] for hosts whose ACKs come in bunches.
pub(crate) const TICKS: &str = "ticks";

/// The available-bandwidth estimate of TCP-J, per ACK and not per time (eq. 2 and 3, alpha = 0.9).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Abe {
    /// Time is counted in ticks.
    ticks: bool,
    /// BW, segments per second.
    bw: f64,
    /// s_(k-1), segments per second.
    last: f64,
    at: Option<Time>,
    pending: f64,
}

impl Abe {
    /// An estimate whose samples are as [`BW_SAMPLES`] says.
    pub(crate) fn new(args: &Args) -> Self {
        Self { ticks: args.is(BW_SAMPLES.name, TICKS), ..Self::default() }
    }

    /// Takes what `ack` acknowledges.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if ack.acked > 0 {
            let now = if self.ticks { tick(flow) } else { flow.now };
            self.add(ack.segments(flow), now);
        }
    }

    /// Takes `segments` acknowledged at `now`, which may lie before the last instant
    /// where the tick has grown.
    fn add(&mut self, segments: f64, now: Time) {
        let Some(at) = self.at.replace(now) else { return };
        self.pending += segments;
        if now <= at {
            return;
        }
        let s = self.pending / now.since(at).secs(); // eq. 2
        self.bw = 0.9 * self.bw + 0.1 * (s + self.last) / 2.0; // eq. 3
        self.last = s;
        self.pending = 0.0;
    }

    /// BW, segments per second.
    pub(crate) fn rate(&self) -> f64 {
        self.bw
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self) {
        *self = Self { ticks: self.ticks, ..Self::default() };
    }

    /// Takes back a reset; the clock goes on.
    pub(crate) fn restore(&mut self, before: &Self) {
        (self.bw, self.last) = (before.bw, before.last);
    }

    /// The next ACK only starts the clock.
    pub(crate) fn pause(&mut self) {
        self.at = None;
        self.pending = 0.0;
    }

    /// BW * Rmin: the window that the estimate allows, in segments (eq. 5); 0 before the first RTT sample.
    pub(crate) fn window(&self, flow: &Flow) -> f64 {
        flow.rtt.map_or(0.0, |r| self.bw * r.min.secs())
    }
}

/// The present instant, rounded down to a tick: the power of two of microseconds that is 1/32 to 1/16 of
/// RTTmin, and at least one.
fn tick(flow: &Flow) -> Time {
    let rtt_min_us = flow.rtt.map_or(0, |rtt| rtt.min.0 / 1000);
    let tick_ns = (1 << ((rtt_min_us | 16).ilog2() - 4)) * 1000;
    Time(flow.now.0 / tick_ns * tick_ns)
}

#[cfg(test)]
mod tests {
    use super::Abe;
    use crate::rig::near;
    use crate::time::Time;

    /// Eq. 2 and 3 for a constant ACK rate: BW_k = rate (1 - 0.95 * 0.9^(k-1)), whatever the rate.
    #[test]
    fn abe_of_a_constant_ack_rate() {
        for rate in [10.0, 863.3, 1e5] {
            let mut abe = Abe::default();
            abe.add(7.0, Time(0)); // the first ACK only starts the clock
            for k in 1..=44 {
                abe.add(1.0, Time((f64::from(k) * 1e9 / rate) as u64));
                let share = match k {
                    1 => 0.05,
                    10 => 0.632,
                    20 => 0.872,
                    29 => 0.950,
                    44 => 0.990,
                    _ => continue,
                };
                near(abe.bw / rate, share, 1e-3);
            }
        }
    }

    /// ACKs at one instant are added up; the first after an idle time only starts the clock.
    #[test]
    fn abe_adds_up_simultaneous_acks() {
        let mut abe = Abe::default();
        for (n, ms) in [(1.0, 0), (1.0, 10), (2.0, 10), (1.0, 20)] {
            abe.add(n, Time(ms * 1_000_000));
        }
        // Samples 100 and (2 + 1) / 10 ms = 300 segments per second.
        near(abe.bw, 0.9 * 0.1 * 50.0 + 0.1 * 200.0, 1e-9);
        let known = abe.bw;
        abe.pause();
        abe.add(1.0, Time(60_000_000_000));
        assert_eq!(abe.bw, known);
    }
}
