//! The controller of an agent: it measures, and takes its decisions from outside the run.
//!
//! Two deadlines divide its life. At the end of a monitor interval it reports what it has measured, and the
//! run pauses. One nanosecond later it takes the instruction that it has been given meanwhile. So a decision
//! depends on all that happened until the end of the interval, and is in force just after.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Life, Needs, Pacing, RecoveryWindow, Span,
    Time,
};

use crate::environment::measures::{Brought, Samples};

/// The time from a report to the instruction that answers it.
pub(super) const ANSWER: Span = Span(1);

/// A decision from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Instruction {
    /// Congestion window, bytes.
    pub(super) cwnd: u64,
    /// Pacing.
    pub(super) pacing: Pacing,
    /// When the agent reports next; [`Time::MAX`]: with the next acknowledgement.
    pub(super) until: Time,
}

/// What an agent and its environment exchange.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Is there an instruction that the agent has not taken?
    waits: AtomicBool,
    instruction: Mutex<Option<Instruction>>,
    report: Mutex<Option<Brought>>,
}

impl Exchange {
    /// Gives an instruction, which replaces one that was not taken.
    pub(super) fn give(&self, instruction: Instruction) {
        *locked(&self.instruction) = Some(instruction);
        self.waits.store(true, Ordering::Relaxed);
    }

    /// Has the agent reported since the last [`Exchange::take_report`]?
    pub(super) fn has_report(&self) -> bool {
        locked(&self.report).is_some()
    }

    /// The report of the agent, once.
    pub(super) fn take_report(&self) -> Option<Brought> {
        locked(&self.report).take()
    }

    fn take_instruction(&self) -> Option<Instruction> {
        self.waits.swap(false, Ordering::Relaxed).then(|| locked(&self.instruction).take()).flatten()
    }
}

/// A thread never fails while it holds one of these locks.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The controller.
#[derive(Debug)]
pub(super) struct Agent {
    exchange: Arc<Exchange>,
    decision: Decision,
    /// When the interval ends; [`Time::MAX`]: with the next acknowledgement.
    until: Time,
    /// Has it begun to report? It does so with the first sample of the round-trip time.
    is_open: bool,
    samples: Samples,
}

impl Agent {
    /// The controller of a connection that begins with `instruction`. It reports with the first sample of the
    /// round-trip time.
    pub(super) fn new(exchange: Arc<Exchange>, instruction: Instruction) -> Self {
        let decision = Decision::of_model(instruction.cwnd, instruction.pacing);
        Self { exchange, decision, until: Time::MAX, is_open: false, samples: Samples::default() }
    }

    fn report(&mut self, now: Time) {
        *locked(&self.exchange.report) = Some(self.samples.take());
        self.decision.deadline = now + ANSWER;
    }

    /// Takes the instruction that waits. Without one the last decision stays, and the next
    /// acknowledgement asks again.
    fn obey(&mut self) {
        self.decision.deadline = Time::MAX;
        if let Some(instruction) = self.exchange.take_instruction() {
            (self.decision.cwnd, self.decision.pacing) = (instruction.cwnd, instruction.pacing);
            (self.until, self.decision.deadline) = (instruction.until, instruction.until);
        }
    }
}

impl Controller for Agent {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.samples.add(u64::from(ack.acks), ack.ce, ack.rtt.map(|rtt| rtt.latest));
        if self.exchange.waits.load(Ordering::Relaxed) {
            self.obey();
        }
        let ends = if self.is_open { self.until == Time::MAX } else { ack.rtt.is_some() };
        if ends && self.decision.deadline == Time::MAX {
            self.is_open = true;
            self.report(flow.now);
        }
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Deadline if flow.now >= self.until && self.decision.deadline == self.until => {
                self.report(flow.now);
            }
            Event::Deadline => self.obey(),
            Event::Life(Life::MssChanged) => self.decision.cwnd = self.decision.cwnd.max(u64::from(flow.mss)),
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    /// Nothing changes before the next instruction.
    fn backoff(&self, _flow: &Flow, _why: Congestion) -> Backoff {
        Backoff::of_model(self.decision.cwnd)
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, ..Needs::default() }
    }
}
