//! A rate that holds for an interval and follows from the losses of the last one, as TFRCP and the scheme of Mahdavi and
//! Floyd have it. What their papers define is an [`IntervalRule`]; the first rate, the timeout and undo are here once.

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::algorithms::loss_report::LossReport;
use crate::algorithms::model::LARGEST;
use crate::algorithms::prelude::*;
use crate::algorithms::rate_based::{RateBased, RatePolicy};
use crate::report::Rtt;

/// At least one packet in this time, seconds.
pub(crate) const LONGEST_GAP: f64 = 64.0;

/// An interval that is over. Rates in bytes per second, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    /// The rate that it had, and how long it was.
    pub(crate) rate: f64,
    pub(crate) age: f64,
    /// The share of its packets that were lost, 0 to 1.
    pub(crate) p: f64,
    /// Bytes of a packet.
    pub(crate) s: f64,
    /// SRTT, above 0, and SRTT + 4 RTTVAR.
    pub(crate) r: f64,
    pub(crate) t_rto: f64,
}

/// The part of such a rate that a paper defines.
pub(crate) trait IntervalRule: Debug + Send {
    /// The length of an interval at a round trip of `r` seconds, seconds.
    fn length(&self, r: f64) -> f64;

    /// The rate after an interval that had losses, or that the application did not limit; bytes per second.
    fn next(&self, past: Past) -> f64;
}

/// An [`IntervalRule`] in its host: a complete [`RatePolicy`].
#[derive(Debug)]
pub(crate) struct IntervalRate<R> {
    rule: R,
    /// The initial window, segments.
    initial: f64,
    /// Bytes per second; `None` before the first RTT sample.
    rate: Option<f64>,
    report: LossReport,
    /// The rate before a timeout.
    before: Option<f64>,
}

impl<R: IntervalRule + 'static> IntervalRate<R> {
    /// A complete [`Controller`] that goes by `rule`, on a connection that begins as `start` says.
    pub(crate) fn hosted(rule: R, start: Start) -> Box<dyn Controller> {
        let initial = start.initial_window.max(1.0);
        RateBased::hosted(
            Self { rule, initial, rate: None, report: LossReport::default(), before: None },
            start,
        )
    }
}

impl<R: IntervalRule> IntervalRate<R> {
    /// The interval is over.
    fn next(&mut self, flow: &Flow, rtt: Rtt) {
        let Some(rate) = self.rate else { return };
        let (r, s, p) = (rtt.smoothed.secs(), f64::from(flow.mss.max(1)), self.report.fraction(flow));
        let next = if p > 0.0 || self.report.busy {
            let (age, t_rto) = (self.report.age(flow), r + 4.0 * rtt.var.secs());
            self.rule.next(Past { rate, age, p, s, r, t_rto })
        } else {
            rate
        };
        self.rate = Some(next.clamp(s / LONGEST_GAP, LARGEST as f64));
        self.report.begin(flow);
    }

    fn rtt(flow: &Flow) -> Option<Rtt> {
        flow.rtt.filter(|rtt| rtt.smoothed.secs() > 0.0)
    }
}

impl<R: IntervalRule> RatePolicy for IntervalRate<R> {
    fn rate(&self, _mss: u32) -> Option<f64> {
        self.rate
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) -> Option<f64> {
        let rtt = Self::rtt(flow)?;
        let r = rtt.smoothed.secs();
        if self.rate.is_none() {
            self.rate = Some((self.initial * f64::from(flow.mss.max(1)) / r).min(LARGEST as f64));
            self.report.begin(flow);
        }
        self.report.observe(ack);
        if ack.acked > 0 && self.report.age(flow) >= self.rule.length(r) {
            self.next(flow, rtt);
        }
        self.rate.map(|rate| rate * r)
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) -> Option<f64> {
        match event {
            Event::Congestion(why) => {
                self.report.on_congestion(flow, why);
                if why == Congestion::Timeout
                    && let Some(rtt) = Self::rtt(flow)
                {
                    self.before = self.rate;
                    self.next(flow, rtt);
                    self.report.settle(flow);
                }
            }
            Event::Undo(_) => {
                self.rate = self.before.take().or(self.rate);
                self.report.forget(flow);
            }
            _ => {}
        }
        None
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_bytes_per_s", self.rate.unwrap_or(f64::NAN));
    }
}
