//! A scenario as a page gives it: a text, and changes of values in it.

use bentpipe_sim::Scenario;
use bentpipe_sim::plan::Plan;
use serde::Deserialize;

use crate::edit::{Change, edited};

/// A scenario of a page.
#[derive(Clone, Debug, Deserialize)]
pub struct Given {
    /// The scenario in TOML.
    pub text: String,
    /// The name of its file for messages.
    pub name: String,
    /// Changes of its text before it runs.
    #[serde(default)]
    pub changes: Vec<Change>,
}

impl Given {
    /// Its plan.
    ///
    /// # Errors
    /// What is wrong with it, a line for each mistake.
    pub fn plan(&self) -> Result<Plan, Vec<String>> {
        let text = edited(&self.text, &self.changes).map_err(|message| vec![message])?;
        let scenario = Scenario::from_toml(&text, &self.name, &[]);
        scenario.and_then(|scenario| scenario.resolve()).map_err(|error| error.lines())
    }
}
