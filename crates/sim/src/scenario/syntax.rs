//! Mistakes in TOML itself: all that can be found in a text, and what can be read in spite of them.

use toml::Spanned;
use toml::de::{DeTable, Error as TomlError};

/// The table of a text, as far as it can be read, and what is wrong with the text.
pub(super) struct Reading<'a> {
    pub(super) table: Spanned<DeTable<'a>>,
    /// Offset and message of each mistake, in the order of the text, at most one per line.
    pub(super) mistakes: Vec<(usize, String)>,
    /// Is the rest of the table as it was meant? It is not if a bracket is open, which swallows what comes
    /// after it.
    pub(super) is_whole: bool,
}

/// Reads TOML.
pub(super) fn read(text: &str) -> Reading<'_> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut errors: Vec<(usize, TomlError)> = errors.into_iter().map(|e| (offset(&e), e)).collect();
    errors.sort_by_key(|(at, _)| *at);
    let mut mistakes: Vec<(usize, String)> = Vec::new();
    let mut is_whole = true;
    for (at, error) in errors {
        let same_line = mistakes.last().is_some_and(|(last, _)| !text[*last..at].contains('\n'));
        if !same_line {
            mistakes.push((at, message(text, at, &error)));
        }
        match Reach::of(error.message()) {
            Reach::Value => {}
            Reach::Table => is_whole = false,
            // Any mistakes on later lines follow from this one.
            Reach::Rest => {
                is_whole = false;
                break;
            }
        }
    }
    Reading { table, mistakes, is_whole }
}

/// How much of a text is misread because of a mistake.
enum Reach {
    /// One value, or one key.
    Value,
    /// The table whose head is wrong, which is read as part of the previous one.
    Table,
    /// Everything that follows.
    Rest,
}

impl Reach {
    fn of(message: &str) -> Self {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if says(&[
            "array elements",
            "in array",
            "unclosed array,",
            "inline table",
            "key-value pairs",
            "multi-line",
        ]) {
            Self::Rest
        } else if says(&["unclosed", "table"]) {
            Self::Table
        } else {
            Self::Value
        }
    }
}

fn offset(error: &TomlError) -> usize {
    error.span().map_or(0, |span| span.start)
}

/// What is wrong at an offset, and what would be right.
fn message(text: &str, at: usize, error: &TomlError) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let said = error.message().lines().collect::<Vec<_>>().join(", ");
    let value = line.split_once('=').map(|(_, value)| value.trim());
    let hint = match value {
        Some(value) if said.starts_with("string values must be quoted") => {
            let bare = error.span().map_or(value, |span| &text[span]);
            return format!("not valid TOML: text stands in quotes; write {bare:?}");
        }
        Some(value) if has_decimal_comma(value) => "; a decimal point is a point, not a comma",
        None if error.message().contains("expected `=`") => "; write KEY = VALUE",
        _ => "",
    };
    format!("not valid TOML: {said}{hint}")
}

/// "1,5" outside of brackets and quotes.
fn has_decimal_comma(value: &str) -> bool {
    let Some((before, behind)) = value.split_once(',') else { return false };
    !before.is_empty()
        && before.bytes().all(|b| b.is_ascii_digit())
        && behind.bytes().next().is_some_and(|b| b.is_ascii_digit())
}
