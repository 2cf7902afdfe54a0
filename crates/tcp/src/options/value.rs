//! What the values of options have in common, whatever their type.

use bentpipe_cc::Span;

/// A value of an option.
pub trait OptionValue: Copy {
    /// The value that `text` represents.
    ///
    /// # Errors
    /// Any other text: the message lists the right ones.
    fn read(text: &str) -> Result<Self, String>;

    /// One of all values; `below` gives a number below another. A quantity keeps its value.
    fn draw(self, below: &mut dyn FnMut(u64) -> u64) -> Self;

    /// The value in a connection that lacks what the option needs.
    fn off(self) -> Self {
        self
    }

    /// Does the value ask for what the option needs?
    fn asks(self) -> bool {
        true
    }

    /// Is it a time of no length?
    fn is_no_time(self) -> bool {
        false
    }
}

impl OptionValue for bool {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err("on or off".to_owned()),
        }
    }

    fn draw(self, below: &mut dyn FnMut(u64) -> u64) -> Self {
        below(2) == 1
    }

    fn off(self) -> Self {
        false
    }

    fn asks(self) -> bool {
        self
    }
}

/// A time in text is longer than zero.
impl OptionValue for Span {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || "a time like 200ms or 3s".to_owned();
        let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let scale = match unit {
            "ms" => 1,
            "s" => 1000,
            _ => return Err(wrong()),
        };
        match digits.parse::<u32>() {
            Ok(n @ 1..) => Ok(Span::from_millis(u64::from(n) * scale)),
            _ => Err(wrong()),
        }
    }

    fn draw(self, _: &mut dyn FnMut(u64) -> u64) -> Self {
        self
    }

    fn is_no_time(self) -> bool {
        self == Span::ZERO
    }
}

/// A window in segments.
impl OptionValue for f64 {
    fn read(text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            Ok(n @ 1..=10_000) => Ok(f64::from(n)),
            _ => Err("segments, 1 to 10000".to_owned()),
        }
    }

    fn draw(self, _: &mut dyn FnMut(u64) -> u64) -> Self {
        self
    }
}

/// "one, another or a third".
pub(super) fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}
