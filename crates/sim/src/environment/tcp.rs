//! Agents that control TCP senders: the run of every other command, stopped between two events
//! (`engine/stepped.rs`).

use std::sync::Arc;

use bentpipe_cc::{Controller, Start, Time};

use crate::engine::RunError;
use crate::engine::stepped::SteppedRun;
use crate::environment::agent::{Agent, Exchange, Instruction};
use crate::environment::measures::SenderState;
use crate::environment::transport::Transport;
use crate::resolve::plan::Plan;

/// The key under which the flows of agents get their controllers: `cc = "python:agent"`.
pub const KEY: &str = "agent";

/// A run, and the agents that control some of its flows.
#[derive(Debug)]
pub(super) struct TcpTransport {
    run: SteppedRun,
    /// The number of the flow of each agent.
    flows: Vec<usize>,
    exchanges: Vec<Arc<Exchange>>,
}

impl TcpTransport {
    /// The run of `plan`, in which agents control the flows with these numbers and begin
    /// with these instructions.
    ///
    /// # Errors
    /// As for [`SteppedRun::new`].
    pub(super) fn new(plan: Plan, flows: Vec<usize>, first: &[Instruction]) -> Result<Self, RunError> {
        let exchanges: Vec<Arc<Exchange>> = flows.iter().map(|_| Arc::default()).collect();
        let names: Vec<String> = flows.iter().map(|&flow| plan.flows[flow].name.clone()).collect();
        let mut supply = |key: &str, name: &str, _: Start| -> Result<Box<dyn Controller>, String> {
            let found = names.iter().position(|flow| flow == name).filter(|_| key == KEY);
            let agent = found.ok_or_else(|| format!("no agent controls flow {name:?}"))?;
            Ok(Box::new(Agent::new(exchanges[agent].clone(), first[agent])))
        };
        let run = SteppedRun::new(plan, &mut supply)?;
        Ok(Self { run, flows, exchanges })
    }
}

impl Transport for TcpTransport {
    fn give(&mut self, agent: usize, instruction: Instruction) {
        self.exchanges[agent].give(instruction);
    }

    fn advance(&mut self, until: Time) -> Result<(), RunError> {
        self.run.advance(until)
    }

    fn advance_to_report(&mut self, any: bool) -> Result<Time, RunError> {
        let mut now = Time(0);
        loop {
            let mut reports = self.exchanges.iter().map(|exchange| exchange.has_report());
            if if any { reports.any(|has| has) } else { reports.all(|has| has) } {
                return Ok(now);
            }
            let next = self.run.next();
            self.run.advance(next)?;
            now = next.min(self.end());
            if next == Time::MAX {
                return Ok(now);
            }
        }
    }

    fn end_interval(&mut self, agent: usize) -> SenderState {
        let brought = self.exchanges[agent].take_report().unwrap_or_default();
        let Some(sender) = self.run.sender(self.flows[agent]) else { return SenderState::default() };
        let (flow, mss) = (sender.flow(), u64::from(sender.options().mss.max(1)));
        SenderState {
            counters: [sender.counters().sent * mss, flow.delivered, flow.lost],
            in_flight: sender.in_flight() * mss,
            cwnd: sender.decision().cwnd,
            rtt_min: flow.rtt.map(|rtt| rtt.min.secs()),
            brought,
        }
    }

    fn is_complete(&mut self, agent: usize) -> bool {
        self.run.is_complete(self.flows[agent])
    }

    fn end(&self) -> Time {
        Time(self.run.plan().duration.0)
    }
}
