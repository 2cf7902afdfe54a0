//! LEDBAT's two filters over delays (RFC 6817 section 2.4.2): base delays by the
//! minute, and the latest samples.

use alloc::collections::VecDeque;

use crate::algorithms::prelude::*;

const MINUTE: u64 = 60_000_000_000;

/// Base delays and current delays.
#[derive(Debug)]
pub(crate) struct DelayHistory {
    /// Minutes kept.
    history: usize,
    /// Samples kept.
    filter: usize,
    /// (minute, least delay in it), oldest first.
    base: VecDeque<(u64, Span)>,
    current: VecDeque<Span>,
}

impl DelayHistory {
    /// BASE_HISTORY minutes and CURRENT_FILTER samples.
    pub(crate) fn new(history: f64, filter: f64) -> Self {
        let count = |n: f64| (n as usize).max(1);
        Self {
            history: count(history),
            filter: count(filter),
            base: VecDeque::new(),
            current: VecDeque::new(),
        }
    }

    /// Takes the least RTT of an ACK: that of its last segment, which no delayed ACK held up.
    pub(crate) fn observe(&mut self, flow: &Flow, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.min) else { return };
        let Time(now) = flow.now;
        match self.base.back_mut() {
            Some((minute, least)) if *minute == now / MINUTE => *least = rtt.min(*least),
            _ => self.base.push_back((now / MINUTE, rtt)),
        }
        if self.base.len() > self.history {
            self.base.pop_front();
        }
        if self.current.len() >= self.filter {
            self.current.pop_front();
        }
        self.current.push_back(rtt);
    }

    /// The base delay in seconds; `None` before the first sample.
    pub(crate) fn base(&self) -> Option<f64> {
        self.base.iter().map(|&(_, least)| least).min().map(Span::secs)
    }

    /// The queueing delay in seconds; `None` without a current sample.
    pub(crate) fn queueing(&self) -> Option<f64> {
        let current = self.current.iter().min()?.secs();
        Some((current - self.base()?).max(0.0))
    }

    /// The current samples are of the time before a pause.
    pub(crate) fn forget_current(&mut self) {
        self.current.clear();
    }

    /// Names both for traces.
    pub(crate) fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("base_rtt_s", self.base().unwrap_or(f64::NAN));
        emit("queueing_s", self.queueing().unwrap_or(f64::NAN));
    }
}
