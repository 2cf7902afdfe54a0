//! Changes values in the text of a scenario. Comments, order and layout of the rest stay.

use std::ops::Range;

use bentpipe_sim::scenario::key_parts;
use toml::de::{DeTable, DeValue};

/// A dotted key and the text of its new value, as for `--set` of the command line. Without a value an item of
/// a list of tables is removed, such as `flow.1`.
pub type Change = (String, Option<String>);

/// The text with all changes, one after the other.
///
/// # Errors
/// Text that is not TOML, a key that is none, and a place where a value cannot be written. The message is one
/// line.
pub fn edited(text: &str, changes: &[Change]) -> Result<String, String> {
    changes.iter().try_fold(text.to_owned(), |mut text, (key, value)| {
        let wrong = |why: &str| format!("{key}: {why}");
        let parts = key_parts(key).ok_or_else(|| wrong("this is not a key; write e.g. link.sat.rate"))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let document = DeTable::parse(&text).map_err(|error| wrong(error.message()))?;
        let root = document.get_ref();
        let (range, new) = match value {
            None => (item(&text, root, &parts).ok_or_else(|| wrong("there is no such item"))?, String::new()),
            Some(value) => Editor { text: &text, value: written(value) }
                .set(root, &Place { around: Around::File, below: Vec::new() }, &parts)
                .ok_or_else(|| wrong("its value cannot be replaced by itself; change the text"))?,
        };
        text.replace_range(range, &new);
        Ok(text)
    })
}

/// The value as TOML: as it is if it is a value of one line, else a string.
fn written(value: &str) -> String {
    let document = format!("value = {value}");
    let is_value =
        !value.contains('\n') && DeTable::parse(&document).is_ok_and(|table| table.get_ref().len() == 1);
    if is_value { value.to_owned() } else { toml::Value::from(value).to_string() }
}

/// The place of a table.
struct Place<'a> {
    /// What surrounds its keys.
    around: Around,
    /// Its name inside that, if it has no place of its own: `reverse` of `reverse.rate = "1 Mbit/s"`.
    below: Vec<&'a str>,
}

#[derive(Clone)]
enum Around {
    /// The top of the file.
    File,
    /// A header, `[link.sat]` or `[[flow]]`, and the lines below it.
    Header(Range<usize>),
    /// Braces.
    Braces(Range<usize>),
}

/// Finds the place of one value.
struct Editor<'a> {
    text: &'a str,
    value: String,
}

impl Editor<'_> {
    /// The bytes to replace, and by what, so that the key below `table` has the value.
    fn set(&self, table: &DeTable<'_>, place: &Place<'_>, parts: &[&str]) -> Option<(Range<usize>, String)> {
        let (part, rest) = parts.split_first()?;
        let Some(member) = table.get(*part) else { return self.add(table, place, parts) };
        let span = member.span();
        match (member.get_ref(), rest) {
            (value, []) => (!is_header(self.text, value, &span)).then(|| (span, self.value.clone())),
            (DeValue::Table(inner), rest) => {
                let below = || place.below.iter().chain([part]).copied().collect();
                let inner_place = match self.text.as_bytes().get(span.start) {
                    Some(b'{') => Place { around: Around::Braces(span), below: Vec::new() },
                    Some(b'[') => Place { around: Around::Header(span), below: Vec::new() },
                    _ => Place { around: place.around.clone(), below: below() },
                };
                self.set(inner, &inner_place, rest)
            }
            (DeValue::Array(items), [number, rest @ ..]) if number.parse::<usize>().is_ok() => {
                let item = items.get(number.parse::<usize>().ok()?)?;
                self.item(item.get_ref(), item.span(), rest)
            }
            // `loss = { ... }` and `loss = [{ ... }]` mean the same.
            (DeValue::Array(items), rest) if items.len() == 1 => {
                self.item(items[0].get_ref(), items[0].span(), rest)
            }
            // `cc = "star"` and `cc = { name = "star" }` mean the same; the second has room for parameters.
            (DeValue::String(name), [parameter]) if *part == "cc" => {
                let name = toml::Value::from(name.as_ref());
                Some((span, format!("{{ name = {name}, {} = {} }}", quoted(parameter), self.value)))
            }
            _ => None,
        }
    }

    /// As [`Editor::set`], for what is below an item of a list.
    fn item(&self, item: &DeValue<'_>, span: Range<usize>, parts: &[&str]) -> Option<(Range<usize>, String)> {
        match item {
            item if parts.is_empty() => {
                (!is_header(self.text, item, &span)).then(|| (span, self.value.clone()))
            }
            DeValue::Table(inner) => {
                let around = match self.text.as_bytes().get(span.start) {
                    Some(b'{') => Around::Braces(span),
                    _ => Around::Header(span),
                };
                self.set(inner, &Place { around, below: Vec::new() }, parts)
            }
            _ => None,
        }
    }

    /// Where a key that is missing is added, and how.
    fn add(&self, table: &DeTable<'_>, place: &Place<'_>, parts: &[&str]) -> Option<(Range<usize>, String)> {
        let key: Vec<String> = place.below.iter().chain(parts).map(|part| quoted(part)).collect();
        let line = format!("{} = {}", key.join("."), self.value);
        if let Around::Braces(range) = &place.around {
            let inside = self.text.get(range.start + 1..range.end - 1)?.trim_end();
            let at = range.start + 1 + inside.len();
            let comma = if inside.trim().is_empty() || inside.ends_with(',') { "" } else { "," };
            return Some((at..range.end - 1, format!("{comma} {line} ")));
        }
        let after = self.last_value(table, &place.around);
        // Behind the rest of that line, which may be a comment.
        let at = after + self.text[after..].find('\n').unwrap_or(self.text.len() - after);
        let is_empty = self.text[..at].trim().is_empty();
        Some((at..at, if is_empty { format!("{line}\n") } else { format!("\n{line}") }))
    }

    /// The end of the last value below a header, or below the top of the file.
    fn last_value(&self, table: &DeTable<'_>, around: &Around) -> usize {
        let begin = match around {
            Around::Header(header) => header.end,
            _ => 0,
        };
        let direct = table.values().filter(|value| {
            let span = value.span();
            let is_implied =
                matches!(value.get_ref(), DeValue::Table(_)) && !self.text[span.clone()].starts_with('{');
            !is_implied && !is_header(self.text, value.get_ref(), &span)
        });
        direct.map(|value| value.span().end).max().unwrap_or(begin).max(begin)
    }
}

/// Is this the place of a header, and not of a value?
fn is_header(text: &str, value: &DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(_) => !text[span.clone()].starts_with('{'),
        DeValue::Array(items) => {
            items.first().is_some_and(|item| is_header(text, item.get_ref(), &item.span()))
        }
        _ => false,
    }
}

/// The lines of an item of a list of tables, with the tables inside it.
fn item(text: &str, root: &DeTable<'_>, parts: &[&str]) -> Option<Range<usize>> {
    let [list, number] = parts else { return None };
    let DeValue::Array(items) = root.get(*list)?.get_ref() else { return None };
    let number: usize = number.parse().ok()?;
    let here = items.get(number).filter(|item| is_header(text, item.get_ref(), &item.span()))?.span();
    // The next header that does not belong to it.
    let mut starts = Vec::new();
    for (name, value) in root {
        if name.get_ref() == list {
            items.iter().enumerate().filter(|(i, _)| *i != number).for_each(|(_, item)| {
                headers(text, item.get_ref(), item.span(), &mut starts);
            });
        } else {
            headers(text, value.get_ref(), value.span(), &mut starts);
        }
    }
    let next = starts.into_iter().filter(|start| *start > here.start).min().unwrap_or(text.len());
    // Blank lines and comments before the next header belong to that.
    let mut end = here.end;
    let mut at = here.start;
    for line in text[here.start..next].split_inclusive('\n') {
        at += line.len();
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            end = at;
        }
    }
    Some(here.start..end)
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

/// A part of a key, in quotes if it needs them.
fn quoted(part: &str) -> String {
    let is_bare = !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    if is_bare { part.to_owned() } else { toml::Value::from(part).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A link.\ntitle = \"one\"\nseed = 1 # the root\n\n[link.sat]\n# Ten.\nrate = \"10 Mbit/s\"\n\
        queue = { kind = \"drop-tail\" }\nloss = [{ kind = \"packet-error\", rate = 1e-3 }]\n\n[[flow]]\ncc = \"reno\"\n\
        # The second.\n[[flow]]\ncc = \"cubic\"\n[flow.traffic]\nkind = \"bulk\"\n# The third.\n\n[[flow]]\ncc = \"bbr\"\n";

    fn with(key: &str, value: &str) -> String {
        edited(TEXT, &[(key.to_owned(), Some(value.to_owned()))]).expect(key)
    }

    #[test]
    fn a_value_is_replaced_and_everything_else_stays() {
        assert_eq!(with("link.sat.rate", "5 Mbit/s"), TEXT.replace("10 Mbit/s", "5 Mbit/s"));
        assert_eq!(with("seed", "7"), TEXT.replace("seed = 1", "seed = 7"));
        assert_eq!(with("link.sat.queue.kind", "codel"), TEXT.replace("drop-tail", "codel"));
        assert_eq!(with("link.sat.loss.rate", "0.5"), TEXT.replace("1e-3", "0.5"));
        assert_eq!(with("flow.1.traffic.kind", "web"), TEXT.replace("bulk", "web"));
        assert_eq!(with("flow.2.cc", "star"), TEXT.replace("bbr", "star"));
    }

    #[test]
    fn a_missing_key_is_added_to_its_table() {
        assert_eq!(with("duration", "9 s"), TEXT.replace("the root\n", "the root\nduration = \"9 s\"\n"));
        let line = "1e-3 }]\n";
        assert_eq!(
            with("link.sat.reverse.rate", "1 Mbit/s"),
            TEXT.replace(line, &format!("{line}reverse.rate = \"1 Mbit/s\"\n"))
        );
        assert_eq!(
            with("link.sat.queue.limit", "1 bdp"),
            TEXT.replace("\"drop-tail\" }", "\"drop-tail\", limit = \"1 bdp\" }")
        );
        assert_eq!(with("flow.0.count", "3"), TEXT.replace("\"reno\"\n", "\"reno\"\ncount = 3\n"));
        assert_eq!(with("flow.1.count", "3"), TEXT.replace("\"cubic\"\n", "\"cubic\"\ncount = 3\n"));
        assert_eq!(with("flow.2.cc.beta", "0.5"), TEXT.replace("\"bbr\"", "{ name = \"bbr\", beta = 0.5 }"));
        assert_eq!(edited("", &[("seed".to_owned(), Some("1".to_owned()))]).as_deref(), Ok("seed = 1\n"));
    }

    #[test]
    fn a_second_key_of_a_table_without_a_header_goes_beside_the_first() {
        let once = with("link.sat.reverse.rate", "1 Mbit/s");
        let twice =
            edited(&once, &[("link.sat.reverse.delay".to_owned(), Some("1 s".to_owned()))]).expect("added");
        let table: toml::Table = twice.parse().expect("TOML");
        let reverse = &table["link"]["sat"]["reverse"];
        assert_eq!((reverse["rate"].as_str(), reverse["delay"].as_str()), (Some("1 Mbit/s"), Some("1 s")));
    }

    #[test]
    fn a_flow_is_removed_with_its_tables_and_without_the_comments_of_the_next() {
        let without = |n: &str| edited(TEXT, &[(n.to_owned(), None)]).expect(n);
        assert_eq!(
            without("flow.1"),
            TEXT.replace("[[flow]]\ncc = \"cubic\"\n[flow.traffic]\nkind = \"bulk\"\n", "")
        );
        assert_eq!(without("flow.2"), TEXT.replace("[[flow]]\ncc = \"bbr\"\n", ""));
        assert_eq!(without("flow.0"), TEXT.replace("[[flow]]\ncc = \"reno\"\n", ""));
    }

    #[test]
    fn what_cannot_be_changed_says_so_in_one_line() {
        for (key, value, part) in [
            ("link..rate", Some("1"), "not a key"),
            ("flow.3", None, "no such item"),
            ("link.sat", Some("1"), "change the text"),
            ("flow", Some("1"), "change the text"),
            ("flow.7.cc", Some("reno"), "change the text"),
            ("seed.x", Some("1"), "change the text"),
        ] {
            let message = edited(TEXT, &[(key.to_owned(), value.map(str::to_owned))]).expect_err(key);
            assert!(
                message.contains(part) && message.starts_with(key) && !message.contains('\n'),
                "{message}"
            );
        }
    }
}
