//! From the text of a scenario to a tree of values that knows its lines; also overrides of single values.

use std::path::Path;

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use crate::keys::error::{Error, Key, MOST_SHOWN, Origin, quoted, suggestion};
use crate::keys::file;
use crate::scenario::syntax;

/// Largest scenario file that is read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Deepest path of an override; a scenario is at most half as deep.
const MAX_DEPTH: usize = 16;

/// Reads a scenario file, which messages call `name`.
pub(crate) fn read_scenario(path: &Path, name: &str) -> Result<String, Error> {
    let origin = Origin { file: Some(name.to_owned()), ..Origin::default() };
    file::text(path, MAX_FILE).map_err(|message| origin.error_on_line(None, message))
}

/// Finds the lines of ascending and descending offsets without counting from the start each time.
struct Lines {
    /// Offset of each line's first byte.
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
        Lines { starts: std::iter::once(0).chain(ends).collect() }
    }

    fn of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

/// A tree of values, and the mistakes of its text.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    /// The tree. A value that a scenario cannot have is null; the mistakes say why.
    pub(crate) tree: Value,
    pub(crate) mistakes: Vec<Error>,
    /// May the tree be checked for more mistakes?
    pub(crate) is_whole: bool,
}

/// Parses TOML, and notes in `origin` the line of each key. Text that begins with a brace is JSON, where null
/// means absent.
pub(crate) fn parse(text: &str, origin: &mut Origin) -> Result<Parsed, Error> {
    let lines = Lines::new(text);
    if text.len() as u64 > MAX_FILE {
        return Err(origin.error_on_line(None, format!("the scenario is larger than {} MiB", MAX_FILE >> 20)));
    }
    if let Some(at) = text.find('\0') {
        let message = "there is a NUL byte here; a scenario is a text file in TOML";
        return Err(origin.error_on_line(Some(lines.of(at)), message));
    }
    if text.trim_start().starts_with('{') {
        let tree = serde_json::from_str(text).map(without_nulls);
        let tree = tree.map_err(|e| {
            origin.error_on_line(Some(e.line()), format!("the scenario is not valid JSON: {e}"))
        })?;
        return Ok(Parsed { tree, mistakes: Vec::new(), is_whole: true });
    }
    let reading = syntax::read(text);
    let mut reader = Reader { lines, origin: &mut *origin, mistakes: Vec::new() };
    let tree = reader.table(reading.table.get_ref(), &Key::default());
    let Reader { lines, mut mistakes, .. } = reader;
    let wrong: Vec<usize> = reading.mistakes.iter().map(|(at, _)| lines.of(*at)).collect();
    // If there are many, only the first are shown, and nothing more is looked for.
    let few = wrong.len() + mistakes.len() < MOST_SHOWN;
    // A line that is not TOML is not checked any further.
    mistakes.retain(|mistake| mistake.line.is_none_or(|line| wrong.binary_search(&line).is_err()));
    for (line, (_, message)) in wrong.iter().zip(reading.mistakes) {
        let at = if few { key_on(*line, text, &tree, origin) } else { Key::default() };
        mistakes.push(Error { at, ..origin.error_on_line(Some(*line), message) });
    }
    Ok(Parsed { tree, mistakes, is_whole: reading.is_whole && few })
}

/// The key on a line that is not TOML, as far as it can be recognised.
fn key_on(line: usize, text: &str, tree: &Value, origin: &Origin) -> Key {
    let at =
        |number: usize| origin.lines.iter().filter(move |(_, at)| **at == Some(number)).map(|(key, _)| key);
    let words = text.lines().nth(line - 1).unwrap_or_default().trim();
    // The head of a table names all tables around it, and a key names everything in its value.
    let length = |key: &&Key| key.parts().len();
    let read = if words.starts_with('[') { at(line).max_by_key(length) } else { at(line).min_by_key(length) };
    if let Some(read) = read {
        return read.clone();
    }
    let word: String = words.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if word.is_empty() {
        return Key::default();
    }
    // It belongs to the table of the previous key.
    let before = (1..line).rev().find_map(|number| at(number).max_by_key(|key| key.parts().len()));
    let before = before.cloned().unwrap_or_default();
    let value = before.parts().iter().try_fold(tree, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    });
    match value.is_some_and(Value::is_object) {
        true => before.with(word),
        false => before.parent().unwrap_or_default().with(word),
    }
}

/// Turns TOML into a tree, and collects its mistakes.
struct Reader<'a> {
    lines: Lines,
    origin: &'a mut Origin,
    mistakes: Vec<Error>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, at: &Key) -> Value {
        let mut map = Map::new();
        for (name, value) in table {
            let key = at.with(name.get_ref());
            self.origin.lines.insert(key.clone(), Some(self.lines.of(name.span().start)));
            map.insert(name.get_ref().to_string(), self.value(value.get_ref(), &key));
        }
        Value::Object(map)
    }

    fn value(&mut self, value: &DeValue<'_>, key: &Key) -> Value {
        let message = match value {
            DeValue::String(s) => return Value::String(s.to_string()),
            DeValue::Boolean(b) => return Value::Bool(*b),
            DeValue::Integer(i) => {
                let (digits, radix) = (i.as_str(), i.radix());
                let number = u64::from_str_radix(digits, radix).map(Number::from);
                match number.or_else(|_| i64::from_str_radix(digits, radix).map(Number::from)) {
                    Ok(number) => return Value::Number(number),
                    Err(_) => {
                        format!("{} is too large; whole numbers go up to {}", quoted(digits), u64::MAX)
                    }
                }
            }
            DeValue::Float(f) => match f.as_str().parse().ok().and_then(Number::from_f64) {
                Some(number) => return Value::Number(number),
                None => {
                    let text = quoted(f.as_str());
                    format!("{text} is not a finite number; write a number, or leave the key out")
                }
            },
            DeValue::Datetime(_) => {
                "a date or a time of day has no meaning here; write e.g. \"30 s\" in quotes".to_owned()
            }
            DeValue::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    let key = key.with(i);
                    self.origin.lines.insert(key.clone(), Some(self.lines.of(item.span().start)));
                    list.push(self.value(item.get_ref(), &key));
                }
                return Value::Array(list);
            }
            DeValue::Table(table) => return self.table(table, key),
        };
        self.mistakes.push(self.origin.error(key, message));
        Value::Null
    }
}

/// Drops the members of objects that are null: an absent key and a null one mean the same.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, v)| !v.is_null());
            Value::Object(kept.map(|(k, v)| (k, without_nulls(v))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Sets the value at a dotted key, as `--set` does. Numbers in the key count list items from 0. `*` means all
/// items of a list or all members of a table. Missing tables on the way are created, but a link is made as a
/// whole. Text that is not TOML is a string; as the relay of a flow, `none` takes it away. With a `directory`, that
/// of the scenario, files are those of the working directory, or else there.
pub(crate) fn set(
    tree: &mut Value,
    origin: &mut Origin,
    directory: Option<&Path>,
    key: &str,
    text: &str,
) -> Result<(), Error> {
    let wrong = |message: String| Error {
        overridden: true,
        key: key.to_owned(),
        ..origin.error_on_line(None, message)
    };
    if let Some((name, number)) = subscript(key) {
        let right = key.replacen(&format!("[{number}]"), &format!(".{number}"), 1);
        return Err(wrong(format!("items of {name} are counted behind a point; write {right}")));
    }
    let Some(parts) = key_parts(key).filter(|parts| parts.len() <= MAX_DEPTH) else {
        return Err(wrong("this is not a key; write e.g. link.sat.rate or flow.0.cc".to_owned()));
    };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if let (["link", name, _, ..], Some(Value::Object(links))) = (&*parts, tree.get("link"))
        && *name != "*"
        && !links.contains_key(*name)
    {
        let near = suggestion(name, links.keys().map(String::as_str));
        return Err(wrong(format!("no link is called {name:?}; {near}")));
    }
    let mut value = override_value(text, &parts, origin.file.as_deref())?;
    match (&mut value, parts.last(), directory) {
        (Value::String(word), Some(&"relay"), _) if word == "none" => value = Value::Null,
        (
            Value::String(file),
            Some(&("timeline" | "file" | "opportunities" | "tle" | "hypatia")),
            Some(directory),
        ) => {
            from_here(file, directory).map_err(wrong)?;
        }
        _ => {}
    }
    let mut touched = Vec::new();
    place(tree, &parts, &Key::default(), &value, &mut touched).map_err(wrong)?;
    for key in touched {
        origin.lines.insert(key, None);
    }
    Ok(())
}

/// The parts of a dotted key. A part in quotes may have any characters; in double quotes they are escaped
/// as in TOML and JSON. `None` if a part is empty or a quote does not end.
pub fn key_parts(key: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = key.trim();
    loop {
        let (part, after) = match rest.chars().next()? {
            '"' => {
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let part = stream.next()?.ok()?;
                (part, &rest[stream.byte_offset()..])
            }
            '\'' => {
                let (part, after) = rest[1..].split_once('\'')?;
                (part.to_owned(), after)
            }
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        match after.trim_start() {
            "" => return Some(parts),
            after => rest = after.strip_prefix('.')?.trim_start(),
        }
    }
}

/// The value that the text of an override represents.
fn override_value(text: &str, parts: &[&str], file: Option<&str>) -> Result<Value, Error> {
    let as_string = || Value::String(text.trim().to_owned());
    let document = format!("value = {text}");
    let parsed = match DeTable::parse(&document) {
        Ok(table) if table.get_ref().len() == 1 && !text.contains('\n') => table,
        _ => return Ok(as_string()),
    };
    let Some(value) = parsed.get_ref().values().next() else { return Ok(as_string()) };
    let key = parts.iter().fold(Key::default(), |key, part| key.with(part));
    // Lines inside an override have no meaning.
    let mut inner = Origin { file: file.map(str::to_owned), ..Origin::default() };
    let mut reader = Reader { lines: Lines::new(""), origin: &mut inner, mistakes: Vec::new() };
    let tree = reader.value(value.get_ref(), &key);
    match reader.mistakes.into_iter().next() {
        None => Ok(tree),
        Some(mistake) => Err(Error { line: None, overridden: true, ..mistake }),
    }
}

/// Makes the name of a file that is in the working directory absolute; another is beside the scenario.
fn from_here(file: &mut String, directory: &Path) -> Result<(), String> {
    match std::fs::canonicalize(&*file) {
        Ok(here) if here.is_file() => *file = here.display().to_string(),
        _ if directory.join(&*file).exists() || Path::new(file).is_absolute() => {}
        _ => {
            let beside = directory.display();
            return Err(format!("no file {file:?} is in the working directory, nor in {beside}"));
        }
    }
    Ok(())
}

/// Name and number of a key such as "flow[0].cc".
fn subscript(key: &str) -> Option<(&str, &str)> {
    let (name, rest) = key.split_once('[')?;
    let (number, _) = rest.split_once(']')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !name.is_empty()).then_some((name, number))
}

fn place(
    tree: &mut Value,
    parts: &[&str],
    at: &Key,
    value: &Value,
    touched: &mut Vec<Key>,
) -> Result<(), String> {
    let Some((part, rest)) = parts.split_first() else {
        *tree = value.clone();
        touched.push(at.clone());
        return Ok(());
    };
    // `cc = "simd"` and `cc = { name = "simd" }` mean the same; the second has room for parameters.
    if let (Value::String(name), true) = (&*tree, at.to_string().ends_with(".cc")) {
        *tree = serde_json::json!({ "name": name });
    }
    match tree {
        Value::Array(items) if *part == "*" => {
            for (i, item) in items.iter_mut().enumerate() {
                place(item, rest, &at.with(i), value, touched)?;
            }
            Ok(())
        }
        // `loss = { ... }` and `loss = [{ ... }]` mean the same; stored scenarios have the second form.
        Value::Array(items)
            if items.len() == 1 && at.last() == Some("loss") && part.parse::<usize>().is_err() =>
        {
            place(&mut items[0], parts, &at.with(0), value, touched)
        }
        Value::Array(items) => {
            let count = items.len();
            let item = part.parse().ok().and_then(|i: usize| items.get_mut(i));
            let item = item.ok_or_else(|| match count {
                0 => format!("{at} is an empty list"),
                _ => format!("{at} is a list; its items are 0 to {}, or * for all", count - 1),
            })?;
            place(item, rest, &at.with(part), value, touched)
        }
        Value::Object(map) if *part == "*" => {
            for (name, member) in map {
                place(member, rest, &at.with(name), value, touched)?;
            }
            Ok(())
        }
        Value::Object(map) if rest.is_empty() && value.is_null() => {
            map.remove(*part);
            Ok(())
        }
        Value::Object(map) => {
            if !map.contains_key(*part) {
                touched.push(at.with(part));
            }
            let member = map.entry(*part).or_insert_with(|| Value::Object(Map::new()));
            place(member, rest, &at.with(part), value, touched)
        }
        other => {
            Err(format!("{at} is {}, and has no member {part:?}", crate::scenario::schema::kind_of(other)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TOML's dotted keys, and bare parts with any characters but points and quotes.
    #[test]
    fn a_dotted_key_has_parts_with_or_without_quotes() {
        let parts = |key: &str| key_parts(key).map(|parts| parts.join("|"));
        for (key, expected) in [
            ("link.sat.rate", "link|sat|rate"),
            (" link . a b . rate ", "link|a b|rate"),
            ("link.\"a.b\".rate", "link|a.b|rate"),
            ("link.\"\\u00fc\".rate", "link|\u{fc}|rate"),
            ("link.\u{fc}.rate", "link|\u{fc}|rate"),
            ("link.\"say \\\"x\\\"\".rate", "link|say \"x\"|rate"),
            ("link.'a\".b'.rate", "link|a\".b|rate"),
            ("flow.*.cc", "flow|*|cc"),
        ] {
            assert_eq!(parts(key).as_deref(), Some(expected), "{key}");
        }
        for wrong in ["", ".", "link..rate", "link.", "link.\"a", "link.\"a\"b.rate", "link.''.rate"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    fn tree(text: &str) -> (Value, Origin) {
        let mut origin = Origin::default();
        let value = parse(text, &mut origin).unwrap().tree;
        (value, origin)
    }

    #[test]
    fn lines_are_those_of_the_keys() {
        let (_, origin) = tree("a = 1\n[b.c]\nd = [1,\n 2]\n[[e]]\nf = 1\n\n[[e]]\nf = 2\n");
        let line = |parts: &[&str]| origin.lines[&parts.iter().fold(Key::default(), |k, p| k.with(p))];
        assert_eq!(line(&["a"]), Some(1));
        assert_eq!(line(&["b", "c"]), Some(2));
        assert_eq!(line(&["b", "c", "d"]), Some(3));
        assert_eq!(line(&["b", "c", "d", "1"]), Some(4));
        assert_eq!(line(&["e", "0"]), Some(5));
        assert_eq!(line(&["e", "1"]), Some(8));
        assert_eq!(line(&["e", "1", "f"]), Some(9));
    }

    #[test]
    fn a_list_of_one_loss_is_that_loss() {
        let (mut value, mut origin) = tree("link.a.loss = [{ rate = 1 }]\nflow = [{ cc = 'reno' }]");
        set(&mut value, &mut origin, None, "link.a.loss.rate", "2").unwrap();
        assert_eq!(value["link"]["a"]["loss"][0]["rate"], 2);
        assert!(set(&mut value, &mut origin, None, "flow.cc", "star").is_err());
    }

    #[test]
    fn an_override_is_toml_or_else_a_string() {
        let (mut value, mut origin) = tree("[[flow]]\ncc = \"simd\"\n[[flow]]\n");
        set(&mut value, &mut origin, None, "flow.0.cc.beta", "0.5").unwrap();
        set(&mut value, &mut origin, None, "flow.*.path", "[\"sat\"]").unwrap();
        set(&mut value, &mut origin, None, "link.sat.rate", "10 Mbit/s").unwrap();
        set(&mut value, &mut origin, None, "flow.1.cc", "reno").unwrap();
        set(&mut value, &mut origin, None, "seed", "7").unwrap();
        let expected = serde_json::json!({
            "flow": [
                { "cc": { "name": "simd", "beta": 0.5 }, "path": ["sat"] },
                { "cc": "reno", "path": ["sat"] },
            ],
            "link": { "sat": { "rate": "10 Mbit/s" } },
            "seed": 7,
        });
        assert_eq!(value, expected);
        for (key, needle) in
            [("flow.2.cc", "0 to 1"), ("seed.x", "has no member"), ("", "not a key"), ("a..b", "not a key")]
        {
            let error = set(&mut value, &mut origin, None, key, "1").unwrap_err();
            assert!(error.to_string().contains(needle), "{error}");
        }
    }
}
