//! Many environments that advance together, on several threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::environment::episode::Environment;
use crate::environment::failure::EnvironmentError;
use crate::environment::measures::MEASURES;
use crate::environment::settings::Settings;
use crate::scenario::Scenario;

/// An episode to begin in place of a step.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The number of the environment.
    pub number: usize,
    /// Its scenario as JSON.
    pub scenario: String,
    /// As for [`Environment::begin`].
    pub start: Vec<f64>,
}

/// Where a batch writes what a step has yielded, one environment after the other, and in each one agent after
/// the other.
#[derive(Debug)]
pub struct Stepped<'a> {
    /// [`Settings::observations`] numbers for each agent.
    pub observations: &'a mut [f32],
    /// A number for each agent; 0 when an episode begins.
    pub rewards: &'a mut [f64],
    /// For each agent, whether its transfer has ended.
    pub complete: &'a mut [bool],
    /// For each environment, whether the episode is cut off.
    pub cut_off: &'a mut [bool],
    /// [`MEASURES`] numbers for each agent: all measures of the last interval.
    pub measures: &'a mut [f64],
}

/// The environments of one kind.
#[derive(Debug)]
pub struct Batch {
    settings: Arc<Settings>,
    environments: Vec<Option<Environment>>,
    threads: usize,
}

/// The work of one environment in a step.
struct Turn<'a> {
    number: usize,
    environment: &'a mut Option<Environment>,
    fresh: Option<Fresh>,
    actions: &'a [f64],
    into: Stepped<'a>,
}

impl Batch {
    /// `count` environments that have not begun, on at most `threads` threads.
    pub fn new(settings: Settings, count: usize, threads: usize) -> Self {
        let environments = (0..count).map(|_| None).collect();
        Self { settings: Arc::new(settings), environments, threads: threads.max(1) }
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The number of environments.
    pub fn count(&self) -> usize {
        self.environments.len()
    }

    /// Are these slices as long as a step needs them?
    pub fn fits(&self, actions: &[f64], into: &Stepped<'_>) -> bool {
        let (count, agents) = (self.count(), self.count() * self.settings.flows.len());
        actions.len() == agents * self.settings.actions()
            && into.observations.len() == agents * self.settings.observations()
            && into.rewards.len() == agents
            && into.complete.len() == agents
            && into.cut_off.len() == count
            && into.measures.len() == agents * MEASURES
    }

    /// Begins the episodes of `fresh`, and makes a step in each other environment. `actions`: as for
    /// [`Environment::step`], one environment after the other. With `only_fresh` the other environments rest,
    /// and nothing is written for them.
    ///
    /// # Errors
    /// The first failure by number. The other environments have made their steps.
    /// Slices that do not [fit](Batch::fits) leave environments without a step.
    pub fn step(
        &mut self,
        actions: &[f64],
        fresh: Vec<Fresh>,
        only_fresh: bool,
        into: Stepped<'_>,
    ) -> Result<(), EnvironmentError> {
        let agents = self.settings.flows.len();
        let mut begins: Vec<Option<Fresh>> = self.environments.iter().map(|_| None).collect();
        for one in fresh {
            let number = one.number;
            *begins.get_mut(number).ok_or_else(|| failed(number, "there is no such environment"))? =
                Some(one);
        }
        let mut jobs = Vec::with_capacity(self.environments.len());
        let rows = into
            .observations
            .chunks_mut(agents * self.settings.observations())
            .zip(into.rewards.chunks_mut(agents))
            .zip(into.complete.chunks_mut(agents))
            .zip(into.cut_off.chunks_mut(1))
            .zip(into.measures.chunks_mut(agents * MEASURES));
        let given = actions.chunks(agents * self.settings.actions());
        let each = self.environments.iter_mut().zip(begins).zip(given).zip(rows).enumerate();
        for (
            number,
            (((environment, fresh), actions), ((((observations, rewards), complete), cut_off), measures)),
        ) in each
        {
            if fresh.is_some() || !only_fresh {
                let into = Stepped { observations, rewards, complete, cut_off, measures };
                jobs.push(Turn { number, environment, fresh, actions, into });
            }
        }
        let threads = self.threads.min(jobs.len());
        let (settings, jobs) = (&self.settings, Mutex::new(jobs.into_iter()));
        let failures = Mutex::new(Vec::new());
        let work = || {
            while let Some(job) = { jobs.lock().unwrap_or_else(PoisonError::into_inner).next() } {
                let number = job.number;
                let done = catch_unwind(AssertUnwindSafe(|| job.run(settings)));
                if let Err(error) = done.unwrap_or_else(|_| Err(failed(number, "a panic"))) {
                    failures.lock().unwrap_or_else(PoisonError::into_inner).push((number, error));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failures.into_iter().min_by_key(|(number, _)| *number) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }
}

fn failed(number: usize, why: &str) -> EnvironmentError {
    EnvironmentError::Failed { number, why: why.to_owned() }
}

impl Turn<'_> {
    fn run(self, settings: &Arc<Settings>) -> Result<(), EnvironmentError> {
        let begins = self.fresh.is_some();
        if let Some(Fresh { scenario, start, .. }) = self.fresh {
            *self.environment = None;
            let plan = Scenario::from_json(&scenario)?.resolve()?;
            *self.environment = Some(Environment::begin(settings, plan, &start)?);
        }
        let Some(environment) = self.environment else {
            return Err(failed(self.number, "it has not begun: reset it first"));
        };
        if !begins {
            environment.step(self.actions)?;
        }
        let Stepped { observations, rewards, complete, cut_off, measures } = self.into;
        let seen = observations.chunks_mut(settings.observations()).zip(measures.chunks_mut(MEASURES));
        for (agent, (observed, measured)) in seen.enumerate() {
            observed.iter_mut().zip(environment.observation(agent)).for_each(|(into, value)| *into = value);
            measured.copy_from_slice(environment.measures(agent));
            rewards[agent] = if begins { 0.0 } else { environment.reward(agent) };
            complete[agent] = environment.is_complete(agent);
        }
        cut_off[0] = environment.is_cut_off();
        Ok(())
    }
}
