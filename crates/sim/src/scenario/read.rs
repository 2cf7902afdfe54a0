//! A scenario from a file, from text or from JSON.

use std::path::Path;

use serde_json::Value;

use crate::keys::error::{Error, Key, Origin};
use crate::scenario::build::build;
use crate::scenario::document::Scenario;
use crate::scenario::text::Parsed;
use crate::scenario::{mistakes, names, text};

/// The keys at the top of a file that say what a sweep varies. A scenario, which is
/// one run, has none of them.
pub const SWEEP_KEYS: [&str; 2] = ["vary", "seeds"];

impl Scenario {
    /// Reads a TOML file and applies overrides. Each is a dotted key (`link.sat.rate`, `flow.0.cc`,
    /// `flow.*.cc`) and a TOML value; text that is not valid TOML is taken as a string.
    ///
    /// # Errors
    /// A file that cannot be read, text that is not TOML, and any invalid key or value, with its line.
    pub fn load(path: impl AsRef<Path>, overrides: &[(String, String)]) -> Result<Scenario, Error> {
        Scenario::load_except(path, &[], overrides)
    }

    /// As [`Scenario::load`], for a file that also has keys of another program: the top-level keys in
    /// `others` are left out.
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
        Scenario::read(&text, &path.display().to_string(), others, overrides, path.parent())
    }

    /// As [`Scenario::load`], from text; `file_name` is used in messages only.
    ///
    /// # Errors
    /// As for [`Scenario::load`].
    pub fn from_toml(text: &str, file_name: &str, overrides: &[(String, String)]) -> Result<Scenario, Error> {
        Scenario::read(text, file_name, &[], overrides, None)
    }

    fn read(
        text: &str,
        file_name: &str,
        others: &[&str],
        overrides: &[(String, String)],
        directory: Option<&Path>,
    ) -> Result<Scenario, Error> {
        let mut origin = Origin { file: Some(file_name.to_owned()), ..Origin::default() };
        let Parsed { mut tree, mut mistakes, is_whole } = text::parse(text, &mut origin)?;
        if !is_whole && let Some(error) = Error::all(mistakes.clone()) {
            return Err(error);
        }
        if let Value::Object(map) = &mut tree {
            map.retain(|key, _| !others.contains(&key.as_str()));
        }
        for (key, value) in overrides {
            mistakes.extend(text::set(&mut tree, &mut origin, key, value).err());
        }
        from_tree(tree, origin, mistakes, directory)
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
