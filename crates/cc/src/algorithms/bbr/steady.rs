//! The short way of an ACK while nothing changes: PROBE_BW, the pipe filled, no loss, the same round, phase, rate and RTT as
//! before. Only the measure of ACK aggregation and the window move then. It does what the long way does, less what cannot happen;
//! the test below holds the two against each other.

use super::{Bbr, FLOOR, Mode};
use crate::algorithms::model::LARGEST;
use crate::report::{Ack, Flow};

impl Bbr {
    /// After an ACK that went the long way: may the next go the short one? The target is then that of the present model.
    pub(super) fn calm_down(&mut self, ack: &Ack) {
        let disturbed = self.kept.repairing() | self.entering | self.conserving | self.collapsed | self.idle;
        let cruising = matches!(self.mode, Mode::ProbeBw(_));
        self.calm = cruising && self.filled && self.pacer.knows_rtt() && !disturbed && ack.acked > 0;
        // The second phase is over when the queue of the first is.
        self.drained = if self.mode == Mode::ProbeBw(1) { self.inflight(1.0) } else { 0 };
    }

    /// Takes the ACK if it leaves everything calm; if not, nothing has happened yet.
    #[inline(always)]
    pub(super) fn take_calmly(&mut self, flow: &Flow, ack: &Ack) -> bool {
        let (Some(sample), Some(rtt), Some(rtprop)) = (&ack.rate, &ack.rtt, self.rtprop) else {
            return false;
        };
        let bw = self.bw.get();
        let new_model = sample.prior_delivered >= self.round_mark
            || !self.bw.knows(self.round)
            || sample.rate.0 > bw
            || rtt.min < rtprop
            || flow.now.since(self.rtprop_at) > self.rtprop_window
            || flow.now.since(self.cycle_at) > rtprop;
        let drained = flow.in_flight.saturating_add(ack.acked) <= self.drained;
        if new_model || drained || ack.lost > 0 || ack.acked == 0 {
            return false;
        }
        self.aggregation.add(flow, ack, self.round, bw, self.cwnd);
        if !sample.app_limited && sample.prior_delivered >= self.small_until || sample.rate.0 == bw {
            self.bw.add(self.round, sample.rate.0);
        }
        let target = self.target.1 + self.aggregation.get(bw);
        self.cwnd = self.cwnd.saturating_add(ack.acked).min(target).max(self.segments(FLOOR)).min(LARGEST);
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use crate::algorithms::bbr::{Bbr, ENTRY};
    use crate::controller::{Congestion, Controller, Life};
    use crate::registry::{self, Value};
    use crate::report::{Ack, Flow, Phase, RateSample, Rtt, RttSample};
    use crate::time::{Rate, Span};
    use crate::windowed::Start;

    fn bbr() -> Bbr {
        let start = Start { mss: 1448, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        let given = [("phase", 0.0), ("rtprop_window", 3.0)].map(|(name, x)| (name.into(), Value::Number(x)));
        Bbr::new(&registry::check(&ENTRY, &given).unwrap(), start)
    }

    fn both(short: &mut Bbr, plain: &mut Bbr, call: impl Fn(&mut Bbr)) {
        call(short);
        call(plain);
    }

    /// Calls that a sender would make, in long calm stretches with now and then something else, on a fast path and on one that
    /// is so slow that the least window counts; two controllers get the same, and one of them is never calm.
    #[test]
    fn the_short_way_does_what_the_long_way_does() {
        for slower in [1, 8000] {
            let (calm, steps) = compare(slower, 100_000);
            assert!(calm > steps / 3, "{calm} calm ones of {steps}");
        }
    }

    fn compare(slower: u64, steps: u64) -> (u64, u64) {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut short, mut plain, mut flow, mut calm) = (bbr(), bbr(), Flow::default(), 0);
        flow.mss = 1448;
        let rtt = Span::from_millis(100);
        for step in 0..steps {
            flow.now = flow.now + Span(100_000 + draw(3) * draw(50_000));
            let longer = if draw(40) == 0 { draw(5_000_000) } else { 0 };
            let seen = Span(rtt.0 + longer - u64::from(draw(3000) == 0) * 1000);
            flow.rtt = Some(Rtt { latest: seen, min: rtt, smoothed: rtt, var: Span::ZERO });
            let acked = 1448 * (1 + draw(20) / 19);
            flow.delivered += acked;
            flow.in_flight = (1_000_000 + draw(600_000) * u64::from(step % 3000 < 1500)) / slower;
            if step % 20_000 > 19_000 {
                flow.in_flight = 1448 * draw(4); // long enough for PROBE_RTT
            }
            // What is greatest is rare, so that it leaves the window of rounds, and the application falls short for a while.
            let rate = (12_000_000 + draw(1000) + draw(3000) / 2999 * draw(2_000_000)) / slower;
            let rate = RateSample {
                rate: Rate(rate),
                app_limited: step % 7000 > 6000 || draw(50) == 0,
                prior_delivered: flow.delivered.saturating_sub(600_000),
                prior_in_flight: flow.in_flight,
            };
            let ack = Ack {
                acks: 1,
                acked: if draw(200) == 0 { 0 } else { acked },
                lost: if draw(1500) == 0 { 20_000 / slower.min(10) } else { 0 },
                rtt: (draw(100) > 0).then(|| RttSample::one(seen)),
                rate: (draw(100) > 0).then_some(rate),
                ..Ack::default()
            };
            plain.calm = false;
            match draw(3000) {
                0 => {
                    let why = [Congestion::Loss, Congestion::Timeout, Congestion::Ecn][draw(3) as usize];
                    both(&mut short, &mut plain, |cc| cc.on_congestion(&flow, why));
                    flow.phase = Phase::Recovery;
                }
                1 => {
                    flow.phase = Phase::Open;
                    both(&mut short, &mut plain, |cc| cc.on_life(&flow, Life::Recovered));
                }
                2 => both(&mut short, &mut plain, |cc| cc.on_life(&flow, Life::IdleRestart)),
                3 => {
                    flow.mss = [1448, 536, 9000][draw(3) as usize];
                    both(&mut short, &mut plain, |cc| cc.on_life(&flow, Life::MssChanged));
                }
                4 => {
                    let before = plain.decision();
                    both(&mut short, &mut plain, |cc| cc.on_undo(&flow, &before));
                }
                _ => {
                    let taken = short.calm && short.take_calmly(&flow, &ack);
                    calm += u64::from(taken);
                    if !taken {
                        short.on_ack(&flow, &ack);
                    }
                    plain.on_ack(&flow, &ack);
                }
            }
            plain.calm = short.calm;
            assert_eq!(format!("{short:?}"), format!("{plain:?}"), "after step {step}");
        }
        (calm, steps)
    }
}
