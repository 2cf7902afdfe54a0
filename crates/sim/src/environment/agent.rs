//! The controller of an agent: it measures, and takes its decisions from outside the run.
//!
//! Two deadlines divide its life. At the end of a monitor interval it reports what it has measured, and the
//! run pauses. One nanosecond later it takes the instruction that it has been given meanwhile. So a decision depends
//! on all that happened until the end of the interval, and is in force just after.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Life, Needs, Pacing, RecoveryWindow, Span,
    Time,
};

/// The time from a report to the instruction that answers it.
pub(super) const ANSWER: Span = Span(1);

/// What acknowledgements have brought in an interval, apart from the sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Brought {
    /// Acknowledgements.
    pub(super) acks: u64,
    /// Bytes acknowledged as marked "congestion experienced".
    pub(super) marked: u64,
    /// Samples of the round-trip time: their number, and their mean in seconds.
    pub(super) rtts: u64,
    pub(super) rtt_mean: f64,
    /// The mean of the later half of the samples less that of the earlier half, in seconds; 0 with fewer than
    /// two samples.
    pub(super) rtt_rise: f64,
}

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
    brought: Brought,
    /// The samples of the round-trip time, in order.
    rtts: Vec<Span>,
}

impl Agent {
    /// The controller of a connection that begins with `instruction`. It reports with the first sample of the
    /// round-trip time.
    pub(super) fn new(exchange: Arc<Exchange>, instruction: Instruction) -> Self {
        let decision = Decision {
            cwnd: instruction.cwnd,
            ssthresh: u64::MAX,
            pacing: instruction.pacing,
            deadline: Time::MAX,
        };
        Self {
            exchange,
            decision,
            until: Time::MAX,
            is_open: false,
            brought: Brought::default(),
            rtts: Vec::new(),
        }
    }

    fn report(&mut self, now: Time) {
        let mut brought = std::mem::take(&mut self.brought);
        let later = self.rtts.len() / 2;
        brought.rtts = self.rtts.len() as u64;
        brought.rtt_mean = mean(&self.rtts);
        if later > 0 {
            brought.rtt_rise = mean(&self.rtts[later..]) - mean(&self.rtts[..later]);
        }
        self.rtts.clear();
        *locked(&self.exchange.report) = Some(brought);
        self.decision.deadline = now + ANSWER;
    }

    /// Takes the instruction that waits. Without one the last decision stays, and the next acknowledgement asks
    /// again.
    fn obey(&mut self) {
        self.decision.deadline = Time::MAX;
        if let Some(instruction) = self.exchange.take_instruction() {
            (self.decision.cwnd, self.decision.pacing) = (instruction.cwnd, instruction.pacing);
            (self.until, self.decision.deadline) = (instruction.until, instruction.until);
        }
    }
}

/// The mean in seconds; 0 without samples.
fn mean(samples: &[Span]) -> f64 {
    let sum: u64 = samples.iter().map(|rtt| rtt.0).sum();
    Span(sum).secs() / samples.len().max(1) as f64
}

impl Controller for Agent {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.brought.acks += u64::from(ack.acks);
        self.brought.marked += ack.ce;
        self.rtts.extend(ack.rtt.map(|rtt| rtt.latest));
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
        Backoff { cwnd: self.decision.cwnd, ssthresh: u64::MAX, repeat: false }
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, ..Needs::default() }
    }
}
