//! Changes values in the text of a scenario. Comments, order and layout of the rest stay.

use std::ops::Range;

use bentpipe_sim::scenario::key_parts;
use toml::de::{DeTable, DeValue};

use crate::removal::{is_header, removed};

/// A dotted key and the text of its new value, as for `--set` of the command line. Without a value the key is
/// removed if it is there; it may be a table or an item of a list, such as `flow.1`.
pub type Change = (String, Option<String>);

/// The text with all changes, one after the other.
///
/// # Errors
/// Text that is not TOML, a key that is none, and a place where a value cannot be written. The message is one
/// line.
pub fn edited(text: &str, changes: &[Change]) -> Result<String, String> {
    changes.iter().try_fold(text.to_owned(), |text, (key, value)| {
        let wrong = |why: &str| format!("{key}: {why}");
        let parts = key_parts(key).ok_or_else(|| wrong("this is not a key; write e.g. link.sat.rate"))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let document = |text| DeTable::parse(text).map_err(|error| wrong(error.message()));
        let read = document(&text)?;
        let without = || removed(&text, read.get_ref(), &parts);
        let Some(value) = value else { return Ok(without().unwrap_or_else(|| text.clone())) };
        if let Some(done) = with(&text, read.get_ref(), &parts, value) {
            return Ok(done);
        }
        // A table with a header, or of dotted keys, has no place of its own that a value could take.
        let text = without().ok_or_else(|| wrong("there is no such place; change the text"))?;
        let read = document(&text)?;
        with(&text, read.get_ref(), &parts, value)
            .ok_or_else(|| wrong("a value cannot be written there; change the text"))
    })
}

/// The text in which the key has the value; none if the key is a table without braces.
fn with(text: &str, root: &DeTable<'_>, parts: &[&str], value: &str) -> Option<String> {
    let place = Place { around: Around::File, below: Vec::new() };
    let (range, new) = Editor { text, root, value: written(value) }.set(root, &place, parts)?;
    Some([&text[..range.start], &new, &text[range.end..]].concat())
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
    root: &'a DeTable<'a>,
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
        let after = match &place.around {
            Around::Header(header) => self.last_value(table).unwrap_or(header.end),
            _ => match self.last_value(table).or_else(|| self.last_value(self.root)) {
                Some(after) => after,
                // Above all headers.
                None => {
                    return Some((0..0, format!("{line}\n{}", if self.text.is_empty() { "" } else { "\n" })));
                }
            },
        };
        // Behind the rest of that line, which may be a comment.
        let at = after + self.text[after..].find('\n').unwrap_or(self.text.len() - after);
        Some((at..at, format!("\n{line}")))
    }

    /// The end of the last value that a table has beside its headers and dotted keys.
    fn last_value(&self, table: &DeTable<'_>) -> Option<usize> {
        let spans = table.values().map(|value| (value.get_ref(), value.span()));
        let direct = spans.filter(|(value, span)| !is_header(self.text, value, span));
        direct.map(|(_, span)| span.end).max()
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

    fn changed(text: &str, key: &str, value: Option<&str>) -> String {
        edited(text, &[(key.to_owned(), value.map(str::to_owned))]).expect(key)
    }

    #[test]
    fn a_key_is_removed_with_the_comment_behind_it() {
        let without = |key: &str| changed(TEXT, key, None);
        assert_eq!(without("seed"), TEXT.replace("seed = 1 # the root\n", ""));
        assert_eq!(without("link.sat.queue"), TEXT.replace("queue = { kind = \"drop-tail\" }\n", ""));
        assert_eq!(without("link.sat.queue.kind"), TEXT.replace("{ kind = \"drop-tail\" }", "{}"));
        assert_eq!(without("link.sat.loss.rate"), TEXT.replace(", rate = 1e-3", ""));
        assert_eq!(without("link.sat.loss.kind"), TEXT.replace(" kind = \"packet-error\",", ""));
        assert_eq!(without("link.sat.loss.0"), TEXT.replace("{ kind = \"packet-error\", rate = 1e-3 }", ""));
        assert_eq!(without("flow.1.traffic"), TEXT.replace("[flow.traffic]\nkind = \"bulk\"\n", ""));
        let both = TEXT.replace(
            "\n[[flow]]\ncc = \"reno\"",
            "[link.sat.reverse]\nup = [\n  1, # one\n]\n\n[[flow]]\ncc = \"reno\"",
        );
        assert_eq!(changed(&both, "link.sat.reverse.up", None), both.replace("up = [\n  1, # one\n]\n", ""));
    }

    #[test]
    fn what_is_not_there_is_removed_already() {
        for key in ["flow.3", "link.sat.delay", "link.geo.rate", "seed.x"] {
            assert_eq!(changed(TEXT, key, None), TEXT);
        }
    }

    #[test]
    fn a_table_of_dotted_keys_or_of_far_headers_is_removed_with_all_its_lines() {
        let dotted = "a.b = 1\nc = 2\na.d.e = 3\n[f]\ng = { h.i = 1, h.j = 2, k = 3 }\n";
        assert_eq!(changed(dotted, "a", None), "c = 2\n[f]\ng = { h.i = 1, h.j = 2, k = 3 }\n");
        assert_eq!(changed(dotted, "f.g.h", None), "a.b = 1\nc = 2\na.d.e = 3\n[f]\ng = { k = 3 }\n");
        let far = "[a.b]\nc = 1\n\n[d]\ne = 2\n\n# Of a.\n[a]\nf = 3\n\n[a.b.g]\nh = 4\n";
        assert_eq!(changed(far, "a.b", None), "\n[d]\ne = 2\n\n# Of a.\n[a]\nf = 3\n\n");
        assert_eq!(changed(far, "a", None), "\n[d]\ne = 2\n\n# Of a.\n");
    }

    #[test]
    fn a_value_takes_the_place_of_a_table_with_a_header_or_of_dotted_keys() {
        assert_eq!(
            changed(TEXT, "flow.1.traffic", Some("{ kind = \"web\" }")),
            TEXT.replace("[flow.traffic]\nkind = \"bulk\"\n", "")
                .replace("cc = \"cubic\"\n", "cc = \"cubic\"\ntraffic = { kind = \"web\" }\n")
        );
        let dotted = with("link.sat.reverse.rate", "1 Mbit/s");
        let whole = changed(&dotted, "link.sat.reverse", Some("{ delay = \"1 s\" }"));
        assert_eq!(whole, dotted.replace("reverse.rate = \"1 Mbit/s\"", "reverse = { delay = \"1 s\" }"));
        let list = changed(TEXT, "flow", Some("[{ cc = \"reno\" }]"));
        assert_eq!(list.parse::<toml::Table>().expect("TOML")["flow"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_key_of_the_top_stays_above_the_headers() {
        let text = "[link.sat]\nrate = \"1 Mbit/s\"\n";
        assert_eq!(changed(text, "seed", Some("2")), format!("seed = 2\n\n{text}"));
        let more = changed(TEXT, "link.geo", Some("{ rate = \"1 Mbit/s\" }"));
        assert_eq!(more, TEXT.replace("the root\n", "the root\nlink.geo = { rate = \"1 Mbit/s\" }\n"));
        let links = more.parse::<toml::Table>().expect("TOML")["link"].as_table().map(toml::Table::len);
        assert_eq!(links, Some(2));
    }

    #[test]
    fn what_cannot_be_changed_says_so_in_one_line() {
        for (key, value, part) in [
            ("link..rate", Some("1"), "not a key"),
            ("link..rate", None, "not a key"),
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
