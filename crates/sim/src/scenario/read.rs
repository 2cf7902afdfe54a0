//! A scenario from a file, from text or from JSON.

use std::path::Path;

use serde_json::Value;

use crate::scenario::error::{Error, Key, Origin};
use crate::scenario::keys::{Loss, Scenario, TimelineFile};
use crate::scenario::{schema, text};

/// The keys at the top of a file that say what a sweep varies. A scenario, which is one run, has none of them.
pub const SWEEP_KEYS: [&str; 2] = ["vary", "seeds"];

impl Scenario {
    /// Reads a TOML file and applies overrides. Each is a dotted key (`link.sat.rate`, `flow.0.cc`, `flow.*.cc`) and a TOML value; text
    /// that is not valid TOML is taken as a string.
    ///
    /// # Errors
    /// A file that cannot be read, text that is not TOML, and any invalid key or value, with its line.
    pub fn load(path: impl AsRef<Path>, overrides: &[(String, String)]) -> Result<Scenario, Error> {
        Scenario::load_except(path, &[], overrides)
    }

    /// As [`Scenario::load`], of a file with keys that are somebody else's: those at its top that `others` names are left out.
    ///
    /// # Errors
    /// As for [`Scenario::load`].
    pub fn load_except(
        path: impl AsRef<Path>,
        others: &[&str],
        overrides: &[(String, String)],
    ) -> Result<Scenario, Error> {
        let path = path.as_ref();
        let text = text::read_scenario(path)?;
        let mut scenario = Scenario::read(&text, &path.display().to_string(), others, overrides)?;
        if let Some(directory) = path.parent() {
            scenario.anchor(directory);
        }
        Ok(scenario)
    }

    /// As [`Scenario::load`], from text; `file_name` is used in messages only.
    ///
    /// # Errors
    /// As for [`Scenario::load`].
    pub fn from_toml(text: &str, file_name: &str, overrides: &[(String, String)]) -> Result<Scenario, Error> {
        Scenario::read(text, file_name, &[], overrides)
    }

    fn read(
        text: &str,
        file_name: &str,
        others: &[&str],
        overrides: &[(String, String)],
    ) -> Result<Scenario, Error> {
        let mut origin = Origin { file: Some(file_name.to_owned()), ..Origin::default() };
        let mut tree = text::parse(text, &mut origin)?;
        if let Value::Object(map) = &mut tree {
            map.retain(|key, _| !others.contains(&key.as_str()));
        }
        for (key, value) in overrides {
            text::set(&mut tree, &mut origin, key, value)?;
        }
        Scenario::from_tree(tree, origin)
    }

    /// Reads a scenario from JSON: the same keys, with `link` an object and `flow` a list. Null means absent.
    ///
    /// # Errors
    /// Text that is not JSON, and any invalid key or value.
    pub fn from_json(text: &str) -> Result<Scenario, Error> {
        let origin = Origin::default();
        let tree = serde_json::from_str(text)
            .map_err(|e| origin.error_on_line(None, format!("the scenario is not valid JSON: {e}")))?;
        Scenario::from_tree(text::without_nulls(tree), origin)
    }

    fn from_tree(tree: Value, origin: Origin) -> Result<Scenario, Error> {
        for key in SWEEP_KEYS {
            if tree.get(key).is_some() {
                let message = "this file describes many runs; use bentpipe sweep, or leave this out for one";
                return Err(origin.error(&Key::of([key]), message));
            }
        }
        schema::check(&tree).map_err(|(key, message)| origin.error(&key, message))?;
        let read: Result<Scenario, _> = serde_path_to_error::deserialize(tree);
        match read {
            Ok(scenario) => Ok(Scenario { origin, ..scenario }),
            Err(e) => {
                let key = e.path().iter().fold(Key::default(), |key, part| key.with(part));
                Err(origin.error(&key, e.inner().to_string()))
            }
        }
    }

    /// Makes the names of files relative to the working directory instead of to `directory`.
    fn anchor(&mut self, directory: &Path) {
        for file in self.flow.iter_mut().filter_map(|flow| flow.traffic.as_mut()?.file_mut()) {
            *file = directory.join(&*file).display().to_string();
        }
        for link in self.link.values_mut() {
            let reverse = link.reverse.iter_mut().flat_map(|r| &mut r.opportunities);
            for file in link.opportunities.iter_mut().chain(reverse) {
                *file = directory.join(&*file).display().to_string();
            }
            let reverse = link.reverse.iter_mut().flat_map(|r| &mut r.loss);
            for loss in link.loss.iter_mut().chain(reverse) {
                if let Loss::Trace { file } = loss {
                    *file = directory.join(&*file).display().to_string();
                }
            }
            let back = link.reverse.iter_mut().flat_map(|reverse| &mut reverse.timeline);
            for file in link.timeline.iter_mut().chain(back).map(TimelineFile::file_mut) {
                *file = directory.join(&*file).display().to_string();
            }
        }
    }
}
