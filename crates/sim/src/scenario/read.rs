//! A scenario from a file, from text or from JSON.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::keys::error::{Error, Key, Origin};
use crate::scenario::build::build;
use crate::scenario::document::Scenario;
use crate::scenario::text::Parsed;
use crate::scenario::{mistakes, names, text};

/// The keys at the top of a file that say what a sweep varies. A scenario, which is
/// one run, has none of them.
pub const SWEEP_KEYS: [&str; 2] = ["vary", "seeds"];

/// The text of a scenario, read and parsed once, for scenarios that differ in their overrides.
#[derive(Clone, Debug)]
pub struct ScenarioText {
    /// As it was written.
    pub text: String,
    origin: Origin,
    parsed: Result<Parsed, Error>,
    /// Where the files are that it names; `None` for here.
    directory: Option<PathBuf>,
}

impl ScenarioText {
    /// Reads a file, which messages call `name`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(path: &Path, name: &str) -> Result<ScenarioText, Error> {
        let text = text::read_scenario(path, name)?;
        Ok(ScenarioText { directory: path.parent().map(Path::to_owned), ..ScenarioText::new(text, name) })
    }

    /// A text, TOML or JSON, which messages call `name`; files that it names are looked for from here.
    pub fn new(text: String, name: &str) -> ScenarioText {
        let mut origin = Origin { file: Some(name.to_owned()), ..Origin::default() };
        let parsed = text::parse(&text, &mut origin);
        ScenarioText { text, origin, parsed, directory: None }
    }

    /// The scenario without the keys at the top that are in `others`, and with overrides: each is a dotted key
    /// (`link.sat.rate`, `flow.0.cc`, `flow.*.cc`) and a TOML value; text that is not valid TOML is taken as a
    /// string. A file that an override names is in the working directory, or else beside the scenario.
    ///
    /// # Errors
    /// Text that is not TOML, and any invalid key or value, with its line.
    pub fn scenario(&self, others: &[&str], overrides: &[(String, String)]) -> Result<Scenario, Error> {
        let Parsed { mut tree, mut mistakes, is_whole } = self.parsed.clone()?;
        if !is_whole && let Some(error) = Error::all(mistakes.clone()) {
            return Err(error);
        }
        if let Value::Object(map) = &mut tree {
            map.retain(|key, _| !others.contains(&key.as_str()));
        }
        let (mut origin, directory) = (self.origin.clone(), self.directory.as_deref());
        for (key, value) in overrides {
            mistakes.extend(text::set(&mut tree, &mut origin, directory, key, value).err());
        }
        from_tree(tree, origin, mistakes, directory)
    }
}

impl Scenario {
    /// Reads a TOML file with overrides; see [`ScenarioText::scenario`].
    ///
    /// # Errors
    /// A file that cannot be read, text that is not TOML, and any invalid key or value, with its line.
    pub fn load(path: impl AsRef<Path>, overrides: &[(String, String)]) -> Result<Scenario, Error> {
        let path = path.as_ref();
        ScenarioText::read(path, &path.display().to_string())?.scenario(&[], overrides)
    }

    /// As [`Scenario::load`], from text; `name` is what messages call it.
    ///
    /// # Errors
    /// As for [`Scenario::load`].
    pub fn from_toml(text: &str, name: &str, overrides: &[(String, String)]) -> Result<Scenario, Error> {
        ScenarioText::new(text.to_owned(), name).scenario(&[], overrides)
    }

    /// Reads a scenario from JSON: the same keys, with `link` an object and `flow` a list. Null means absent.
    ///
    /// # Errors
    /// Text that is not JSON, and any invalid key or value.
    pub fn from_json(text: &str) -> Result<Scenario, Error> {
        let origin = Origin::default();
        let tree = serde_json::from_str(text)
            .map_err(|e| origin.error_on_line(None, format!("the scenario is not valid JSON: {e}")))?;
        from_tree(text::without_nulls(tree), origin, Vec::new(), None)
    }
}

/// The scenario of a tree whose text has these mistakes. `directory`: where the files are that
/// it names; `None` for here.
fn from_tree(
    mut tree: Value,
    mut origin: Origin,
    mut mistakes: Vec<Error>,
    directory: Option<&Path>,
) -> Result<Scenario, Error> {
    for name in SWEEP_KEYS {
        if tree.as_object_mut().and_then(|map| map.remove(name)).is_some() {
            let message = "this file describes many runs; use bentpipe sweep, or run --point for one of them";
            mistakes.push(origin.error(&Key::of([name]), message));
        }
    }
    names::canonical(&mut tree);
    if let Some(error) = mistakes::of_tree(&tree, &mut origin, mistakes, directory) {
        return Err(error);
    }
    build(tree, &origin, directory)
}
