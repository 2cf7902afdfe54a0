//! Removes keys from the text of a scenario, with the tables inside them.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// The text without a key; none if there is no such key. A comment behind a value goes with it, one above it
/// stays.
pub(crate) fn removed(text: &str, root: &DeTable<'_>, parts: &[&str]) -> Option<String> {
    let mut starts = Vec::new();
    root.values().for_each(|value| headers(text, value.get_ref(), value.span(), &mut starts));
    let mut taker = Taker { text, starts, ranges: Vec::new(), is_part: false };
    taker.find(root, None, parts)?;
    let Taker { mut ranges, is_part, .. } = taker;
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        // A header inside a table may lie in the lines that go already.
        kept.push_str(&text[end..range.start.max(end)]);
        end = range.end.max(end);
    }
    kept.push_str(&text[end..]);
    if is_part {
        let read = DeTable::parse(&kept).ok()?;
        return removed(&kept, read.get_ref(), parts).or_else(|| Some(kept.clone()));
    }
    Some(kept)
}

/// Is this the place of a header or of dotted keys, and not of a value?
pub(crate) fn is_header(text: &str, value: &DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(_) => !text[span.clone()].starts_with('{'),
        DeValue::Array(items) => {
            items.first().is_some_and(|item| is_header(text, item.get_ref(), &item.span()))
        }
        _ => false,
    }
}

/// Collects what goes.
struct Taker<'a> {
    text: &'a str,
    /// The offsets of all headers.
    starts: Vec<usize>,
    ranges: Vec<Range<usize>>,
    /// Is there more to take when the ranges are gone?
    is_part: bool,
}

/// Braces or brackets, and where the values between them end.
type Listed = (Range<usize>, Vec<Range<usize>>);

impl Taker<'_> {
    /// Takes the value at a key. `listed` is there inside braces and brackets.
    fn find(&mut self, table: &DeTable<'_>, listed: Option<&Listed>, parts: &[&str]) -> Option<()> {
        let (part, rest) = parts.split_first()?;
        let value = table.get(*part)?;
        self.step(value.get_ref(), value.span(), listed, rest)
    }

    fn step(
        &mut self,
        value: &DeValue<'_>,
        span: Range<usize>,
        listed: Option<&Listed>,
        rest: &[&str],
    ) -> Option<()> {
        if rest.is_empty() {
            self.take(value, span, listed);
            return Some(());
        }
        match value {
            DeValue::Table(inner) => {
                let own = self.text[span.clone()].starts_with('{').then(|| {
                    let mut ends = Vec::new();
                    leaves(self.text, inner, &mut ends);
                    (span.clone(), ends)
                });
                // Dotted keys are between the braces of the table around them.
                let around = if self.text[span].starts_with('[') { None } else { listed };
                self.find(inner, own.as_ref().or(around), rest)
            }
            DeValue::Array(items) => {
                let spans = items.iter().map(toml::Spanned::span).collect();
                let number = rest[0].parse::<usize>().ok();
                // `loss = { ... }` and `loss = [{ ... }]` mean the same.
                let (number, rest) = match number {
                    Some(number) => (number, &rest[1..]),
                    None if items.len() == 1 => (0, rest),
                    None => return None,
                };
                let item = items.get(number)?;
                self.step(item.get_ref(), item.span(), Some(&(span, spans)), rest)
            }
            _ => None,
        }
    }

    fn take(&mut self, value: &DeValue<'_>, span: Range<usize>, listed: Option<&Listed>) {
        if is_header(self.text, value, &span) {
            match value {
                DeValue::Table(table) if self.text[span.clone()].starts_with('[') => {
                    self.section(value, span);
                    // What has a header of its own may be far away.
                    let apart = |value: &&toml::Spanned<DeValue<'_>>| {
                        is_header(self.text, value.get_ref(), &value.span()) && !self.is_dotted(value)
                    };
                    let apart: Vec<_> = table.values().filter(apart).collect();
                    apart.iter().for_each(|value| self.take(value.get_ref(), value.span(), None));
                }
                DeValue::Table(table) if listed.is_some() => {
                    // One by one, as each takes a comma with it.
                    self.is_part = true;
                    let first = table.values().next();
                    first.into_iter().for_each(|value| self.take(value.get_ref(), value.span(), listed));
                }
                DeValue::Table(table) => {
                    table.values().for_each(|value| self.take(value.get_ref(), value.span(), None));
                }
                DeValue::Array(items) => {
                    items.iter().for_each(|item| self.take(item.get_ref(), item.span(), None));
                }
                _ => {}
            }
        } else if let Some((around, spans)) = listed {
            self.between(&span, around, spans);
        } else {
            let text = self.text;
            let begin = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
            let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
            self.ranges.push(begin..end);
        }
    }

    /// Are these dotted keys without a header inside?
    fn is_dotted(&self, value: &toml::Spanned<DeValue<'_>>) -> bool {
        let mut starts = Vec::new();
        headers(self.text, value.get_ref(), value.span(), &mut starts);
        starts.is_empty()
    }

    /// Takes the lines of a header and of what is below it.
    fn section(&mut self, value: &DeValue<'_>, header: Range<usize>) {
        let mut inside = Vec::new();
        headers(self.text, value, header.clone(), &mut inside);
        let outside = self.starts.iter().filter(|at| **at > header.start && !inside.contains(at));
        let next = outside.min().copied().unwrap_or(self.text.len());
        // Blank lines and comments before the next header belong to that.
        let (mut at, mut end) = (header.start, header.end);
        for line in self.text[header.start..next].split_inclusive('\n') {
            at += line.len();
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                end = at;
            }
        }
        self.ranges.push(header.start..end);
    }

    /// Takes a value with its key and a comma.
    fn between(&mut self, value: &Range<usize>, around: &Range<usize>, spans: &[Range<usize>]) {
        let before = spans.iter().map(|span| span.end).filter(|end| *end <= value.start).max();
        let after = spans.iter().map(|span| span.start).filter(|start| *start >= value.end).min();
        let comma = self.text[value.end..around.end].find(',').map_or(value.end, |at| value.end + at + 1);
        self.ranges.push(match (before, after) {
            (Some(before), _) => before..value.end,
            (None, Some(_)) => around.start + 1..comma,
            (None, None) => around.start + 1..around.end - 1,
        });
    }
}

/// Where the values are that braces hold.
fn leaves(text: &str, table: &DeTable<'_>, found: &mut Vec<Range<usize>>) {
    for value in table.values() {
        match value.get_ref() {
            DeValue::Table(inner) if !text[value.span()].starts_with('{') => leaves(text, inner, found),
            _ => found.push(value.span()),
        }
    }
}

/// The offsets of all headers of a value and inside it.
fn headers(text: &str, value: &DeValue<'_>, span: Range<usize>, starts: &mut Vec<usize>) {
    if text[span.clone()].starts_with('[') && is_header(text, value, &span) {
        starts.push(span.start);
    }
    match value {
        DeValue::Table(table) => {
            table.values().for_each(|value| headers(text, value.get_ref(), value.span(), starts));
        }
        DeValue::Array(items) => {
            items.iter().for_each(|item| headers(text, item.get_ref(), item.span(), starts));
        }
        _ => {}
    }
}
