//! One run in the hands of agents.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};

use crate::engine::RunError;
use crate::environment::agent::{ANSWER, Instruction};
use crate::environment::datagrams::Datagrams;
use crate::environment::driver::Driver;
use crate::environment::failure::EnvironmentError;
use crate::environment::measures::{MEASURES, number};
use crate::environment::settings::{Settings, StepEnd, TransportKind};
use crate::environment::tcp::TcpTransport;
use crate::environment::transport::Transport;
use crate::resolve::plan::Plan;

/// The shortest step.
const SHORTEST: Span = Span(1_000);

/// One run, and the agents that control some of its flows.
#[derive(Debug)]
pub struct Environment {
    settings: Arc<Settings>,
    transport: Box<dyn Transport>,
    drivers: Vec<Driver>,
    /// The numbers of the observed measures, and of the rewarded ones with their weights.
    observe: Arc<[usize]>,
    reward: Arc<[(usize, f64)]>,
    /// The end of the last interval.
    now: Time,
    steps: u64,
}

impl Environment {
    /// Begins an episode: the run goes on until every agent has a sample of the round-trip time, or to its
    /// end. `start`: the first rate of each agent, as a multiple of the rate of the slowest link of its path.
    ///
    /// # Errors
    /// A flow of the settings that is not there, is not one connection or has another controller; a path that
    /// datagrams cannot cross; or as for [`SteppedRun::new`](crate::SteppedRun::new).
    pub fn begin(settings: &Arc<Settings>, plan: Plan, start: &[f64]) -> Result<Self, EnvironmentError> {
        let mut drivers = Vec::with_capacity(settings.flows.len());
        for (name, &share) in settings.flows.iter().zip(start) {
            drivers.push(Driver::new(settings, &plan, name, share)?);
        }
        let first: Vec<Instruction> =
            drivers.iter().map(|driver| driver.instruction(settings, Time::MAX)).collect();
        let flows: Vec<usize> = drivers.iter().map(|driver| driver.flow).collect();
        let transport: Box<dyn Transport> = match settings.transport {
            TransportKind::Datagrams => Box::new(Datagrams::new(&plan, flows[0], first[0])?),
            TransportKind::Tcp => Box::new(TcpTransport::new(plan, flows, &first)?),
        };
        let known = |name: &String| number(name).unwrap_or_default(); // the settings were checked
        let mut environment = Self {
            observe: settings.observe.iter().map(known).collect(),
            reward: settings.reward.iter().map(|(name, weight)| (known(name), *weight)).collect(),
            settings: settings.clone(),
            transport,
            drivers,
            now: Time(0),
            steps: 0,
        };
        environment.now = environment.transport.advance_to_report(false)?;
        environment.measure();
        Ok(environment)
    }

    /// Makes one step. `actions` has the numbers of each agent, one agent after the other.
    ///
    /// # Errors
    /// As for [`SteppedRun::advance`](crate::SteppedRun::advance).
    pub fn step(&mut self, actions: &[f64]) -> Result<(), RunError> {
        let until = match self.settings.step {
            StepEnd::Ack => Time::MAX,
            StepEnd::Seconds(length) => self.after(length),
            StepEnd::Rtts(multiple) => {
                let longest = self.drivers.iter().map(|driver| driver.life.rtt_mean).fold(0.0, f64::max);
                self.after(multiple * longest)
            }
        };
        let each = self.drivers.iter_mut().zip(actions.chunks(self.settings.actions())).enumerate();
        for (agent, (driver, actions)) in each {
            driver.act(&self.settings, actions);
            self.transport.give(agent, driver.instruction(&self.settings, until));
        }
        self.steps += 1;
        if until == Time::MAX {
            self.now = self.transport.advance_to_report(true)?;
        } else {
            self.transport.advance(until)?;
            self.now = until.min(self.end());
        }
        self.measure();
        Ok(())
    }

    /// Has the transfer of the agent with this number ended?
    pub fn is_complete(&mut self, agent: usize) -> bool {
        self.transport.is_complete(agent)
    }

    /// Is the episode cut off, by the end of the scenario or the number of steps?
    pub fn is_cut_off(&self) -> bool {
        self.now >= self.end() || self.settings.most_steps.is_some_and(|most| self.steps >= most)
    }

    /// The observation of the agent with this number: the observed measures of the last intervals, the oldest
    /// interval first.
    pub fn observation(&self, agent: usize) -> impl Iterator<Item = f32> + '_ {
        self.drivers[agent].history.iter().copied()
    }

    /// The values of all measures in the last interval of an agent, in the order of
    /// [`ALL_MEASURES`](super::ALL_MEASURES).
    pub fn measures(&self, agent: usize) -> &[f64; MEASURES] {
        &self.drivers[agent].latest
    }

    /// What an agent has earned in the last interval.
    pub fn reward(&self, agent: usize) -> f64 {
        let latest = self.measures(agent);
        self.reward.iter().map(|&(i, weight)| weight * latest[i]).sum()
    }

    /// The end of the last interval.
    pub fn now(&self) -> Time {
        self.now
    }

    fn end(&self) -> Time {
        self.transport.end()
    }

    /// The end of a step of this many seconds.
    fn after(&self, seconds: f64) -> Time {
        self.now + ANSWER + Span::from_secs(seconds).max(SHORTEST)
    }

    /// Measures the interval that has ended.
    fn measure(&mut self) {
        for (agent, driver) in self.drivers.iter_mut().enumerate() {
            driver.measure(&self.transport.end_interval(agent), self.now, &self.settings, &self.observe);
        }
    }
}
