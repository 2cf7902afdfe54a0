//! The language: times, packets, system calls, shell commands, assertions, comments.

use super::Error;
use super::packet::{self, Packet};

/// When an event happens, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// `0.1`: since the start.
    At(u64),
    /// `+0.1`: since the last event.
    After(u64),
    /// `0.1~0.2`, since the start.
    Within(u64, u64),
    /// `+0.1~+0.2`, since the last event.
    AfterWithin(u64, u64),
    /// `*`.
    Any,
}

/// A system call: `name(args) = result`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    pub(crate) result: String,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Packet(Packet),
    Call(Call),
    /// `%{ ... }%`.
    Code(String),
    /// Between backticks.
    Shell(String),
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) line: usize,
    pub(crate) when: When,
    /// `0...0.1`: a system call that waits for something.
    pub(crate) blocks: bool,
    pub(crate) body: Body,
    /// Its first line as written.
    pub(crate) source: String,
}

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// `--name=value` lines.
    pub(crate) settings: Vec<(usize, String)>,
    /// `key=value` of comments that begin with `bentpipe:`.
    pub(crate) pragmas: Vec<(usize, String)>,
    pub(crate) events: Vec<Event>,
}

/// The longest time that a script may name: eleven days.
const LONGEST: u64 = 1_000_000_000_000_000;

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Script, Error> {
    let mut script = Script::default();
    let plain = without_comments(text, &mut script.pragmas)?;
    let mut at = Cursor { text: &plain, pos: 0 };
    loop {
        at.skip_space();
        let line = at.line();
        let source = text.lines().nth(line - 1).unwrap_or("").trim().to_string();
        let Some(next) = at.peek() else { return Ok(script) };
        if next == b'-' && at.rest().starts_with("--") {
            let setting = at.until_newline();
            script.settings.push((line, setting.trim_start_matches('-').trim().to_string()));
            continue;
        }
        if next == b'`' {
            let body = Body::Shell(at.enclosed("`", "`")?);
            script.events.push(Event { line, when: When::After(0), blocks: false, body, source });
            continue;
        }
        let (when, blocks) = at.time()?;
        at.skip_space();
        let body = match at.peek() {
            Some(b'<' | b'>') => Body::Packet(packet::parse(line, &at.until_newline())?),
            Some(b'`') => Body::Shell(at.enclosed("`", "`")?),
            Some(b'%') if at.rest().starts_with("%{") => Body::Code(at.enclosed("%{", "}%")?),
            Some(c) if c.is_ascii_alphabetic() => Body::Call(at.call()?),
            _ => {
                let word: String = at.rest().chars().take(20).collect();
                return Err(Error::syntax(
                    line,
                    format!("after the time comes <, >, `, %{{ or a system call, not {word:?}"),
                ));
            }
        };
        script.events.push(Event { line, when, blocks, body, source });
    }
}

/// The text with its comments blanked, line for line; what a pragma says goes to `pragmas`.
fn without_comments(text: &str, pragmas: &mut Vec<(usize, String)>) -> Result<String, Error> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        // A stretch that holds no comments, or one that is a comment: how long it is, and whether it stays.
        let close = |open: usize, end: &str| rest.get(open..).and_then(|r| r.find(end)).map(|n| open + n);
        let to_newline = rest.find('\n').unwrap_or(rest.len());
        let (len, stays) = if rest.starts_with("//") {
            let comment = rest[2..to_newline].trim();
            if let Some(words) = comment.strip_prefix("bentpipe:") {
                pragmas.extend(words.split_whitespace().map(|word| (line, word.to_string())));
            }
            (to_newline, false)
        } else if rest.starts_with("/*") {
            let end = close(2, "*/").ok_or_else(|| Error::syntax(line, "/* without */"))?;
            (end + 2, false)
        } else if first == '"' {
            (close(1, "\"").filter(|&n| n < to_newline).map_or(to_newline, |n| n + 1), true)
        } else if first == '`' {
            (close(1, "`").ok_or_else(|| Error::syntax(line, "` without a second one"))? + 1, true)
        } else if rest.starts_with("%{") {
            (close(2, "}%").ok_or_else(|| Error::syntax(line, "%{ without }%"))? + 2, true)
        } else {
            (first.len_utf8(), true)
        };
        let stretch = &rest[..len];
        if stays {
            plain.push_str(stretch);
        } else {
            plain.extend(stretch.chars().filter(|&c| c == '\n'));
            plain.push(' ');
        }
        line += stretch.matches('\n').count();
        rest = &rest[len..];
    }
    Ok(plain)
}

/// Parts of `text` at top level, separated by commas: not within quotes or any brackets.
pub(crate) fn split_at_commas(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quote) = (0_i64, None);
    for c in text.chars() {
        match c {
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            '(' | '[' | '{' if quote.is_none() => depth += 1,
            ')' | ']' | '}' if quote.is_none() => depth -= 1,
            ',' if quote.is_none() && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_string()).collect()
}

struct Cursor<'a> {
    text: &'a str,
    /// Always at a boundary of characters.
    pos: usize,
}

impl Cursor<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn line(&self) -> usize {
        1 + self.text.get(..self.pos).unwrap_or("").matches('\n').count()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.pos += rest.len() - rest.trim_start().len();
    }

    fn until_newline(&mut self) -> String {
        let rest = self.rest();
        let len = rest.find('\n').unwrap_or(rest.len());
        let taken = rest[..len].trim().to_string();
        self.pos += len;
        taken
    }

    fn eat(&mut self, word: &str) -> bool {
        let there = self.rest().starts_with(word);
        if there {
            self.pos += word.len();
        }
        there
    }

    fn enclosed(&mut self, open: &str, close: &str) -> Result<String, Error> {
        let line = self.line();
        self.eat(open);
        let rest = self.rest();
        let len = rest.find(close).ok_or_else(|| Error::syntax(line, format!("{open} without {close}")))?;
        let inner = rest[..len].to_string();
        self.pos += len + close.len();
        Ok(inner)
    }

    /// A decimal number of seconds, as nanoseconds.
    fn seconds(&mut self) -> Result<u64, Error> {
        let line = self.line();
        let rest = self.rest();
        let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut len = whole;
        let mut fraction = 0;
        let after = rest.as_bytes().get(whole..).unwrap_or(&[]);
        // A second point begins the `...` of a range.
        if after.first() == Some(&b'.') && after.get(1) != Some(&b'.') {
            fraction = after[1..].iter().take_while(|c| c.is_ascii_digit()).count();
            len += 1 + fraction;
        }
        let wrong = || {
            let word: String = rest.chars().take_while(|c| !c.is_whitespace()).take(20).collect();
            Error::syntax(line, format!("{word:?} is no time; like 0.1, +.1, +0~+0.01, +0...0.01 or *"))
        };
        if whole + fraction == 0 {
            return Err(wrong());
        }
        let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse::<u64>().ok() };
        let mut nanos = rest[len - fraction..len].to_string();
        nanos.truncate(9);
        let scale = 10_u64.pow(9 - nanos.len() as u32);
        let seconds = number(&rest[..whole]).and_then(|n| n.checked_mul(1_000_000_000));
        let time = seconds.and_then(|s| s.checked_add(number(&nanos)? * scale));
        let time = time.filter(|&t| t <= LONGEST).ok_or_else(wrong)?;
        self.pos += len;
        Ok(time)
    }

    /// A time, and whether it is that of a call that blocks until later.
    fn time(&mut self) -> Result<(When, bool), Error> {
        if self.eat("*") {
            return Ok((When::Any, false));
        }
        let mut blocks = false;
        let relative = self.eat("+");
        let from = self.seconds()?;
        let back = self.pos;
        self.skip_space();
        if self.eat("...") {
            self.skip_space();
            let since_last = self.eat("+");
            let to = self.seconds()?;
            blocks = to > if since_last == relative { from } else { 0 };
        } else if self.eat("~") {
            self.skip_space();
            self.eat("+");
            let to = self.seconds()?;
            let range = (from.min(to), from.max(to));
            let when =
                if relative { When::AfterWithin(range.0, range.1) } else { When::Within(range.0, range.1) };
            return Ok((when, false));
        } else {
            self.pos = back;
        }
        Ok((if relative { When::After(from) } else { When::At(from) }, blocks))
    }

    fn call(&mut self) -> Result<Call, Error> {
        let line = self.line();
        let rest = self.rest();
        let word = rest.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
        let name = rest[..word].to_string();
        if rest.as_bytes().get(word) != Some(&b'(') {
            return Err(Error::syntax(
                line,
                format!("a system call is name(arguments) = result, not {name:?}"),
            ));
        }
        let (mut depth, mut quoted, mut end) = (0_usize, false, None);
        for (at, c) in rest.char_indices().skip(word) {
            match c {
                '"' => quoted = !quoted,
                '(' if !quoted => depth += 1,
                ')' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        end = Some(at);
                        break;
                    }
                }
                _ => {}
            }
        }
        let Some(end) = end else {
            return Err(Error::syntax(line, format!("{name}( without its closing parenthesis")));
        };
        let args = split_at_commas(&rest[word + 1..end]);
        self.pos += end + 1;
        let tail = self.until_newline();
        let result = match tail.strip_prefix('=') {
            Some(result) => result.trim().to_string(),
            None if tail.is_empty() => String::new(),
            None => {
                return Err(Error::syntax(
                    line,
                    format!("after {name}(...) comes = and its result, not {tail:?}"),
                ));
            }
        };
        Ok(Call { name, args, result })
    }
}
