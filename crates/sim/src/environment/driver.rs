//! The side of an agent outside its run: its decision, and what it observes.

use std::collections::VecDeque;

use bentpipe_cc::{Pacing, Rate, Time};

use crate::environment::agent::Instruction;
use crate::environment::failure::EnvironmentError;
use crate::environment::measures::{ALL, Life, MEASURES, SenderState, StepInterval, number, values};
use crate::environment::settings::{Acts, Settings};
use crate::resolve::plan::{FlowPlan, Plan, Source};

/// A rate-controlled sender has at most this multiple of what its rate sends in a round trip in flight, and
/// [`GUARD_SEGMENTS`].
const GUARD: f64 = 4.0;
const GUARD_SEGMENTS: f64 = 4.0;
/// The round-trip time that the guard assumes before there is a sample.
const UNKNOWN_RTT: f64 = 1.0;

/// The side of an agent that faces its run.
#[derive(Debug)]
pub(super) struct Driver {
    /// The number of its flow.
    pub(super) flow: usize,
    mss: f64,
    /// The decision in force: bytes of payload per second, and bytes.
    rate: f64,
    cwnd: f64,
    /// The sender's counters at the end of the last interval: sent, delivered and lost bytes.
    counted: [u64; 3],
    /// The end of the last interval; at first the start of the flow.
    since: Time,
    pub(super) life: Life,
    /// The values of all measures in the last interval.
    pub(super) latest: [f64; MEASURES],
    /// The observed values of the last intervals, the oldest first.
    pub(super) history: VecDeque<f32>,
}

impl Driver {
    pub(super) fn new(
        settings: &Settings,
        plan: &Plan,
        name: &str,
        share: f64,
    ) -> Result<Self, EnvironmentError> {
        let none = |why: &str| EnvironmentError::Flow { flow: name.to_owned(), why: why.to_owned() };
        let flow = plan.flows.iter().position(|flow| flow.name == name).ok_or_else(|| {
            let names: Vec<&str> = plan.flows.iter().map(|flow| &*flow.name).collect();
            none(&format!("the scenario has no connection of this name; it has {}", names.join(", ")))
        })?;
        let of: &FlowPlan = &plan.flows[flow];
        let Source::Tcp { options, .. } = &*of.source else {
            return Err(none("it has no controller"));
        };
        if of.ties.is_some() {
            return Err(none(
                "an agent controls a connection of its own, without a relay, subflows or responses",
            ));
        }
        let mss = f64::from(options.mss.max(1));
        let slowest = of.path.iter().map(|id| id.of(&plan.links).rate_bps).min().unwrap_or(0);
        let capacity = (slowest as f64 / 8.0).max(1.0) * mss / (mss + f64::from(options.header));
        let neutral = settings.observe.iter().filter_map(|name| number(name));
        let neutral: Vec<f32> = neutral.map(|i| ALL[i].neutral as f32).collect();
        Ok(Self {
            flow,
            mss,
            rate: (share * capacity).clamp(settings.bounds[0] * capacity, settings.bounds[1] * capacity),
            cwnd: options.initial_window.max(1.0) * mss,
            counted: [0; 3],
            since: of.start,
            life: Life { capacity, ..Life::default() },
            latest: ALL.map(|measure| measure.neutral),
            history: neutral.repeat(settings.history).into(),
        })
    }

    /// Changes rate and window by an action.
    pub(super) fn act(&mut self, settings: &Settings, actions: &[f64]) {
        let bounds = settings.bounds.map(|bound| bound * self.life.capacity);
        let changed = |value: f64, action: Option<&f64>, [least, most]: [f64; 2]| {
            let step = settings.scale * action.copied().filter(|a| a.is_finite()).unwrap_or(0.0);
            let factor = if step >= 0.0 { 1.0 + step } else { 1.0 / (1.0 - step) };
            (value * factor).clamp(least, most)
        };
        let mut actions = actions.iter();
        if settings.acts != Acts::Window {
            self.rate = changed(self.rate, actions.next(), bounds);
        }
        if settings.acts != Acts::Rate {
            let two = 2.0 * self.mss;
            let [least, most] = bounds.map(|rate| rate * self.life.rtt_min);
            self.cwnd = changed(self.cwnd, actions.next(), [least.max(two), most.max(two)]);
        }
    }

    /// The decision in force, for an interval that ends at `until`.
    pub(super) fn instruction(&self, settings: &Settings, until: Time) -> Instruction {
        let pacing = Pacing::Rate(Rate((self.rate as u64).max(1)));
        let rtt = if self.life.rtt_mean > 0.0 { self.life.rtt_mean } else { UNKNOWN_RTT };
        let guard = GUARD * self.rate * rtt + GUARD_SEGMENTS * self.mss;
        match settings.acts {
            Acts::Rate => Instruction { cwnd: guard as u64, pacing, until },
            Acts::Window => Instruction { cwnd: self.cwnd as u64, pacing: Pacing::Window, until },
            Acts::Both => Instruction { cwnd: self.cwnd as u64, pacing, until },
        }
    }

    /// Measures the interval that ends at `now`, and adds the measures of these numbers to what is observed.
    pub(super) fn measure(
        &mut self,
        sender: &SenderState,
        now: Time,
        settings: &Settings,
        observe: &[usize],
    ) {
        let since = |i: usize| sender.counters[i].saturating_sub(self.counted[i]);
        let [sent, acked, lost] = [0, 1, 2].map(since);
        let interval = StepInterval {
            time: now.since(self.since),
            mss: self.mss,
            sent,
            acked,
            lost,
            rate: if settings.acts == Acts::Window { 0.0 } else { self.rate },
            sender: *sender,
        };
        (self.counted, self.since) = (sender.counters, now);
        self.life.add(&interval);
        self.latest = values(&interval, &self.life);
        self.history.drain(..observe.len().min(self.history.len()));
        self.history.extend(observe.iter().map(|&i| self.latest[i] as f32));
    }
}
