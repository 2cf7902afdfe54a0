//! What an environment is asked to do, apart from its scenario.

use serde::Deserialize;

use crate::environment::measures::{ALL, number};

/// What an agent's action changes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Acts {
    /// The pacing rate. The window is only a guard.
    Rate,
    /// The congestion window.
    Window,
    /// First the pacing rate, then the window.
    Both,
}

/// What carries an agent's data.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// A TCP sender, which retransmits what is lost.
    #[default]
    Tcp,
    /// A sender of datagrams, which retransmits nothing and has no window.
    Datagrams,
}

/// When a step ends.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum StepEnd {
    /// This multiple of the mean round-trip time of the last interval after it began; with several agents,
    /// that of the agent with the longest.
    Rtts(f64),
    /// This many seconds after it began.
    Seconds(f64),
    /// With the next acknowledgement; for one agent.
    Ack,
}

/// The settings of an environment, as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names of the flows that agents control, one agent each.
    pub flows: Vec<String>,
    /// What carries the data of the agents.
    #[serde(default)]
    pub transport: TransportKind,
    /// What an action changes.
    pub acts: Acts,
    /// When a step ends.
    pub step: StepEnd,
    /// The scaling factor alpha of an action `a`: a rate or a window is multiplied by `1 + alpha a`, or
    /// divided by `1 - alpha a` if `a` is negative.
    pub scale: f64,
    /// The least and the largest rate, as multiples of the rate of the slowest link of the path. For a window
    /// the same multiples of that rate times the smallest round-trip time, and at least two segments.
    pub bounds: [f64; 2],
    /// The measures that are observed.
    pub observe: Vec<String>,
    /// How many intervals are observed, at least 1.
    pub history: usize,
    /// The reward: the sum of measures, each times its weight.
    pub reward: Vec<(String, f64)>,
    /// Steps after which an episode is cut off; `None`: at the end of the scenario.
    pub most_steps: Option<u64>,
}

impl Settings {
    /// Numbers of an action.
    pub fn actions(&self) -> usize {
        if self.acts == Acts::Both { 2 } else { 1 }
    }

    /// Numbers of an observation of one agent.
    pub fn observations(&self) -> usize {
        self.observe.len() * self.history
    }

    /// Why these settings make no environment, if so.
    ///
    /// # Errors
    /// One line for the user.
    pub fn check(&self) -> Result<(), String> {
        let names = self.observe.iter().chain(self.reward.iter().map(|(name, _)| name));
        if let Some(name) = names.into_iter().find(|name| number(name).is_none()) {
            let known = ALL.map(|measure| measure.name).join(", ");
            return Err(format!("no measure is called {name:?}; there are {known}"));
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let length = match self.step {
            StepEnd::Rtts(value) | StepEnd::Seconds(value) => value,
            StepEnd::Ack if self.flows.len() > 1 => {
                return Err("a step that ends with an acknowledgement is for one agent".to_owned());
            }
            StepEnd::Ack => 1.0,
        };
        if !positive(length) {
            return Err(format!("the length of a step must be above 0, not {length}"));
        }
        if !positive(self.scale) {
            return Err(format!("scale must be above 0, not {}", self.scale));
        }
        if self.transport == TransportKind::Datagrams {
            if self.acts != Acts::Rate {
                return Err("a sender of datagrams has no window: acts must be \"rate\"".to_owned());
            }
            if self.flows.len() > 1 {
                return Err("transport \"datagrams\" is for one agent; \"tcp\" is for several".to_owned());
            }
        }
        let [least, most] = self.bounds;
        if !(positive(least) && positive(most) && least <= most) {
            return Err(format!("bounds must be two numbers above 0 in order, not {least} and {most}"));
        }
        if self.flows.is_empty() || self.observe.is_empty() || self.history == 0 {
            return Err(
                "an environment needs a flow, an observed measure and a history of at least 1".to_owned()
            );
        }
        Ok(())
    }
}
