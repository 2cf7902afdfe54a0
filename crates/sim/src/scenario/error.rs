//! Mistakes in a scenario, and their places.

use std::collections::BTreeMap;
use std::fmt;

/// A mistake in a scenario. Shown as `FILE:LINE: KEY: what is wrong; what would be right`, without the parts
/// that are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// Name of the file, unless the scenario came from JSON or Python.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// Does the value come from an override instead of the file?
    pub overridden: bool,
    /// Dotted path of the key, such as `link.sat.rate` or `flow.0.cc`; empty if the mistake concerns the
    /// whole file.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            match (self.overridden, self.line) {
                (true, _) => write!(f, " (override)")?,
                (false, Some(line)) => write!(f, ":{line}")?,
                (false, None) => {}
            }
            write!(f, ": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.message)
    }
}

/// Path of a key from the top of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<String>);

impl Key {
    /// The path made of these parts.
    pub(crate) fn of<const N: usize>(parts: [&str; N]) -> Key {
        Key(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// The path one step further down.
    #[must_use]
    pub(crate) fn with(&self, part: impl ToString) -> Key {
        let mut parts = self.0.clone();
        parts.push(part.to_string());
        Key(parts)
    }

    /// The path one step up; `None` at the top.
    fn parent(&self) -> Option<Key> {
        let (_, above) = self.0.split_last()?;
        Some(Key(above.to_vec()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            let bare =
                !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            match bare {
                true => write!(f, "{dot}{part}")?,
                false => write!(f, "{dot}{part:?}")?,
            }
        }
        Ok(())
    }
}

/// Where each key of a scenario was written.
///
/// It is no part of a scenario's value, so any two are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Name of the file.
    pub(crate) file: Option<String>,
    /// Where each key stands; `None` for keys set by an override.
    pub(crate) lines: BTreeMap<Key, Option<usize>>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Origin {
    /// A mistake at `key`, on the line of the key or of the nearest table around it.
    pub(crate) fn error(&self, key: &Key, message: impl Into<String>) -> Error {
        let mut at = Some(key.clone());
        let mut place = None;
        while let (Some(k), None) = (&at, place) {
            place = self.lines.get(k).copied();
            at = k.parent();
        }
        Error {
            file: self.file.clone(),
            line: place.flatten(),
            overridden: place == Some(None),
            key: key.to_string(),
            message: message.into(),
        }
    }

    /// A mistake on a line of the file that belongs to no key.
    pub(crate) fn error_on_line(&self, line: Option<usize>, message: impl Into<String>) -> Error {
        let message = message.into();
        Error { file: self.file.clone(), line, overridden: false, key: String::new(), message }
    }
}

/// Those of `names` that look like `wrong`, best first, at most three.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            // Half of a name that was typed, and one slip in three letters, are near whatever the other measure gives.
            let half = wrong.len() >= 3 && (lower.starts_with(&wrong) || wrong.starts_with(&lower));
            let slips = strsim::damerau_levenshtein(&wrong, &lower);
            let near = half || slips <= wrong.chars().count() / 3;
            let score = strsim::jaro_winkler(&wrong, &lower);
            (if near { score.max(0.8) } else { score }, name)
        })
        .filter(|(score, _)| *score >= 0.78)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// In words, the replacement of `wrong`: the nearest of `names`, or all of them.
pub(crate) fn suggestion<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let near = nearest(wrong, names.iter().copied());
    match (near.is_empty(), names.is_empty()) {
        (_, true) => "there is none to choose from".to_owned(),
        (false, _) => format!("did you mean {}?", near.join(" or ")),
        (true, false) => format!("it must be one of {}", names.join(", ")),
    }
}

/// `text` in quotes, cut if it is long.
pub(crate) fn quoted(text: &str) -> String {
    const LIMIT: usize = 60;
    match text.char_indices().nth(LIMIT) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}
