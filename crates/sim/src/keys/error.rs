//! Mistakes in a scenario, and their places.

use std::collections::BTreeMap;
use std::fmt;

/// How many mistakes of a scenario are shown.
pub const MOST_SHOWN: usize = 20;

/// Characters of a key that are shown.
const LONGEST_KEY: usize = 200;

/// How many mistakes are counted; a file may have millions.
pub(crate) const MOST_COUNTED: usize = 10_000;

/// How many names a message lists, and how many of them if there are more.
const MOST_LISTED: usize = 20;
const FIRST_LISTED: usize = 12;

/// A mistake in a scenario, and its other mistakes. Each is shown on a line of its own as `FILE:LINE: KEY:
/// what is wrong; what would be right`, without unknown parts. At most [`MOST_SHOWN`] are shown, and then how
/// many more there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// Name of the file, unless the scenario came from JSON or Python.
    pub file: Option<Box<str>>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// Does the value come from an override instead of the file?
    pub overridden: bool,
    /// Dotted path of the key, such as `link.sat.rate` or `flow.0.cc`; empty if the mistake concerns the
    /// whole file.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The scenario's other mistakes that do not follow from this one, in the order of the file. These have
    /// no others.
    pub others: Box<[Error]>,
    /// The path of the key.
    pub(crate) at: Key,
}

impl Error {
    /// The lines to show, one for each mistake.
    pub fn lines(&self) -> Vec<String> {
        let all = std::iter::once(self).chain(&*self.others);
        let mut lines: Vec<String> = all.take(MOST_SHOWN).map(Error::line).collect();
        let all = self.others.len() + 1;
        if all > MOST_SHOWN {
            let least = if all < MOST_COUNTED { "" } else { "at least " };
            lines.push(format!("and {least}{} more", all - MOST_SHOWN));
        }
        lines
    }

    /// The line of this mistake alone.
    fn line(&self) -> String {
        let mut line = String::new();
        if let Some(file) = &self.file {
            // A name may break lines; a message does not.
            line.extend(file.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
            match (self.overridden, self.line) {
                (true, _) => line += " (override)",
                (false, Some(number)) => line += &format!(":{number}"),
                (false, None) => {}
            }
            line += ": ";
        }
        if !self.key.is_empty() {
            // A name may have millions of letters.
            line.extend(self.key.chars().take(LONGEST_KEY));
            line += if self.key.chars().nth(LONGEST_KEY).is_some() { "...: " } else { ": " };
        }
        line + &self.message
    }

    /// All of these mistakes as one, in the order of the file; `None` if there are none.
    pub(crate) fn all(mut mistakes: Vec<Error>) -> Option<Error> {
        mistakes.sort_by_key(|mistake| (mistake.overridden, mistake.line.unwrap_or(usize::MAX)));
        let mut mistakes = mistakes.into_iter();
        let first = mistakes.next()?;
        Some(Error { others: mistakes.collect(), ..first })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.lines().join("\n"))
    }
}

/// Path of a key from the top of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Box<[String]>);

impl Key {
    /// The path made of these parts.
    pub(crate) fn of<const N: usize>(parts: [&str; N]) -> Key {
        Key(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// The path one step further down.
    #[must_use]
    pub(crate) fn with(&self, part: impl ToString) -> Key {
        Key(self.0.iter().cloned().chain([part.to_string()]).collect())
    }

    /// The path one step up; `None` at the top.
    pub(crate) fn parent(&self) -> Option<Key> {
        let (_, above) = self.0.split_last()?;
        Some(Key(above.into()))
    }

    /// The steps from the top.
    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }

    /// The name of the key in its table.
    pub(crate) fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// Is this key `other`, or inside it?
    pub(crate) fn is_in(&self, other: &Key) -> bool {
        self.0.starts_with(&other.0)
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

/// The place at which each key of a scenario was written.
///
/// It is not part of a scenario's value, so any two are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Name of the file.
    pub(crate) file: Option<String>,
    /// The line of each key; `None` for keys set by an override.
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
            file: self.file.as_deref().map(Box::from),
            line: place.flatten(),
            overridden: place == Some(None),
            key: key.to_string(),
            message: message.into(),
            others: Box::default(),
            at: key.clone(),
        }
    }

    /// A mistake on a line of the file that belongs to no key.
    pub(crate) fn error_on_line(&self, line: Option<usize>, message: impl Into<String>) -> Error {
        let message = message.into();
        Error { line, overridden: false, message, ..self.error(&Key::default(), "") }
    }
}

/// Those of `names` that look like `wrong`, best first, at most three.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            // Half of the typed name, or one slip in three letters, is near whatever the other measure gives.
            let begins = lower.starts_with(&wrong) || wrong.starts_with(&lower);
            let half = wrong.len() >= 3 && (begins || lower.len() >= 3 && wrong.ends_with(&lower));
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

/// Names in a list: all of a few, and the first of many with their number.
pub(crate) fn listed(names: &[&str]) -> String {
    if names.len() <= MOST_LISTED {
        return names.join(", ");
    }
    let rest = names.len() - FIRST_LISTED;
    format!("{} and {rest} more", names[..FIRST_LISTED].join(", "))
}

/// Words for the replacement of `wrong`: the nearest of `names`, or what there is.
pub(crate) fn suggestion<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let near = nearest(wrong, names.iter().copied());
    match (near.is_empty(), names.is_empty()) {
        (_, true) => "there is none to choose from".to_owned(),
        (false, _) => format!("did you mean {}?", near.join(" or ")),
        (true, false) => format!("it must be one of {}", listed(&names)),
    }
}

/// A text of somebody else, in quotes, and cut after 60 characters.
pub(crate) fn quoted(text: &str) -> String {
    quoted_up_to(60, text)
}

/// The name of a file in quotes, cut after 300 characters.
pub(crate) fn quoted_name(file: &str) -> String {
    quoted_up_to(300, file)
}

fn quoted_up_to(limit: usize, text: &str) -> String {
    match text.char_indices().nth(limit) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}
