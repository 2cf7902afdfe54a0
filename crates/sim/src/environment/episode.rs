//! One run in the hands of agents.

use std::sync::Arc;

use bentpipe_cc::{Controller, Span, Start, Time};

use crate::engine::RunError;
use crate::engine::stepped::SteppedRun;
use crate::environment::agent::{ANSWER, Agent};
use crate::environment::driver::Driver;
use crate::environment::failure::EnvironmentError;
use crate::environment::measures::{MEASURES, number};
use crate::environment::settings::{Settings, StepEnd};
use crate::record::Outcome;
use crate::resolve::plan::Plan;

/// The key under which the flows of agents get their controllers: `cc = "python:agent"`.
pub const KEY: &str = "agent";

/// The shortest step.
const SHORTEST: Span = Span(1_000);

/// One run, and the agents that control some of its flows.
#[derive(Debug)]
pub struct Environment {
    settings: Arc<Settings>,
    run: SteppedRun,
    drivers: Vec<Driver>,
    /// The numbers of the observed measures, and of the rewarded ones with their weights.
    observe: Arc<[usize]>,
    reward: Arc<[(usize, f64)]>,
    /// The end of the last interval.
    now: Time,
    steps: u64,
}

impl Environment {
    /// Begins an episode: the run goes on until every agent has a sample of the round-trip time, or to its end.
    /// `start`: the first rate of each agent, as a multiple of the rate of the slowest link of its path.
    ///
    /// # Errors
    /// A flow of the settings that is not there, is not one connection or has another controller; or as for
    /// [`SteppedRun::new`].
    pub fn begin(settings: &Arc<Settings>, plan: Plan, start: &[f64]) -> Result<Self, EnvironmentError> {
        let mut drivers = Vec::with_capacity(settings.flows.len());
        for (name, &share) in settings.flows.iter().zip(start) {
            drivers.push(Driver::new(settings, &plan, name, share)?);
        }
        let mut supply = |key: &str, name: &str, _: Start| -> Result<Box<dyn Controller>, String> {
            let found = settings.flows.iter().position(|flow| flow == name).filter(|_| key == KEY);
            let driver =
                found.map(|i| &drivers[i]).ok_or_else(|| format!("no agent controls flow {name:?}"))?;
            Ok(Box::new(Agent::new(driver.exchange.clone(), driver.instruction(settings, Time::MAX))))
        };
        let run = SteppedRun::new(plan, &mut supply)?;
        let known = |name: &String| number(name).unwrap_or_default(); // the settings were checked
        let mut environment = Self {
            observe: settings.observe.iter().map(known).collect(),
            reward: settings.reward.iter().map(|(name, weight)| (known(name), *weight)).collect(),
            settings: settings.clone(),
            run,
            drivers,
            now: Time(0),
            steps: 0,
        };
        environment.until(|drivers| drivers.iter().all(|driver| driver.exchange.has_report()))?;
        environment.measure();
        Ok(environment)
    }

    /// Makes one step. `actions` has the numbers of each agent, one agent after the other.
    ///
    /// # Errors
    /// As for [`SteppedRun::advance`].
    pub fn step(&mut self, actions: &[f64]) -> Result<(), RunError> {
        let until = match self.settings.step {
            StepEnd::Ack => Time::MAX,
            StepEnd::Seconds(length) => self.after(length),
            StepEnd::Rtts(multiple) => {
                let longest = self.drivers.iter().map(|driver| driver.life.rtt_mean).fold(0.0, f64::max);
                self.after(multiple * longest)
            }
        };
        for (driver, actions) in self.drivers.iter_mut().zip(actions.chunks(self.settings.actions())) {
            driver.act(&self.settings, actions);
            driver.exchange.give(driver.instruction(&self.settings, until));
        }
        self.steps += 1;
        if until == Time::MAX {
            self.until(|drivers| drivers.iter().any(|driver| driver.exchange.has_report()))?;
        } else {
            self.run.advance(until)?;
            self.now = until.min(self.end());
        }
        self.measure();
        Ok(())
    }

    /// Has the transfer of the agent with this number ended?
    pub fn is_complete(&mut self, agent: usize) -> bool {
        self.run.is_complete(self.drivers[agent].flow)
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

    /// The values of all measures in the last interval of an agent, in the order of [`ALL_MEASURES`](super::ALL_MEASURES).
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

    /// Ends the run under the decisions in force, and writes its report.
    ///
    /// # Errors
    /// As for [`SteppedRun::finish`].
    pub fn finish(self) -> Result<Outcome, RunError> {
        self.run.finish()
    }

    fn end(&self) -> Time {
        Time(self.run.plan().duration.0)
    }

    /// The end of a step of this many seconds.
    fn after(&self, seconds: f64) -> Time {
        self.now + ANSWER + Span::from_secs(seconds).max(SHORTEST)
    }

    /// Goes on event by event until `enough`, or to the end of the run.
    fn until(&mut self, enough: fn(&[Driver]) -> bool) -> Result<(), RunError> {
        while !enough(&self.drivers) {
            let next = self.run.next();
            self.run.advance(next)?;
            self.now = next.min(self.end());
            if next == Time::MAX {
                break;
            }
        }
        Ok(())
    }

    /// Measures the interval that has ended.
    fn measure(&mut self) {
        for driver in &mut self.drivers {
            driver.measure(&mut self.run, self.now, &self.observe);
        }
    }
}
