//! Values with units, as text: "10 Mbit/s", "250 ms", "1448 bytes", "432 packets", "1.5 bdp".
//!
//! Each type parses from text, and prints text that parses to the same value. Decimal prefixes are powers of
//! 1000, those with an i (KiB, MiB, GiB) powers of 1024 (IEC 80000-13). A number without a unit is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use bentpipe_cc::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keys::error::{nearest, quoted};

/// Name in the schema of the member that says which quantity a string holds.
pub(crate) const UNIT_KEYWORD: &str = "x-quantity";

/// Name in the schema of a longitude, which `geometry` defines.
pub(crate) const LONGITUDE: &str = "longitude";

/// Largest packet of IPv4, bytes.
pub(crate) const MAX_PACKET: u64 = 65_535;
/// Longest propagation delay: a day.
pub(crate) const MAX_DELAY: Span = Span(86_400 * 1_000_000_000);
/// Highest rate, bits per second.
pub(crate) const MAX_RATE: u64 = 100_000_000_000_000;

/// Units of a quantity: the factor of each, and its spellings. The first one is printed.
pub type Table = &'static [(u64, &'static [&'static str])];

/// Units of time in nanoseconds.
const TIMES: Table = &[
    (1, &["ns"]),
    (1_000, &["us", "\u{b5}s", "\u{3bc}s"]),
    (1_000_000, &["ms"]),
    (1_000_000_000, &["s", "sec", "second", "seconds"]),
    (60_000_000_000, &["min"]),
    (3_600_000_000_000, &["h"]),
    (86_400_000_000_000, &["d"]),
];

/// Units of rate in bits per second.
const RATES: Table = &[
    (1, &["bit/s", "bps", "b/s"]),
    (1_000, &["kbit/s", "kbps", "kb/s"]),
    (1_000_000, &["Mbit/s", "Mbps", "Mb/s"]),
    (1_000_000_000, &["Gbit/s", "Gbps", "Gb/s"]),
    (1_000_000_000_000, &["Tbit/s", "Tbps", "Tb/s"]),
];

/// Units of size in bytes.
const SIZES: Table = &[
    (1, &["bytes", "byte", "B"]),
    (1_000, &["kB", "KB"]),
    (1_000_000, &["MB"]),
    (1_000_000_000, &["GB"]),
    (1_000_000_000_000, &["TB"]),
    (1 << 10, &["KiB"]),
    (1 << 20, &["MiB"]),
    (1 << 30, &["GiB"]),
];

/// Units of the room in a queue besides those of size.
const ROOMS: Table = &[(1, &["packets", "packet"]), (1, &["bdp", "BDP"])];

/// The units of time in nanoseconds, of rate in bits per second, and of size in bytes.
pub fn tables() -> BTreeMap<&'static str, Table> {
    BTreeMap::from([("time", TIMES), ("rate", RATES), ("size", SIZES)])
}

/// The spellings of units, in order.
fn spelt(table: Table) -> impl Iterator<Item = &'static str> {
    table.iter().flat_map(|(_, names)| names.iter().copied())
}

/// A decimal number as written.
struct Number<'a> {
    text: &'a str,
    value: f64,
    /// The exact value if it has neither fraction nor exponent.
    whole: Option<u128>,
}

/// Splits "1.5 Mbit/s" into number and unit.
fn split<'a>(text: &'a str, example: &str) -> Result<(Number<'a>, &'a str), String> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(|b| b.is_ascii_digit() || *b == b'_') {
            i += 1;
        }
        i
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let mut end = digits(sign);
    let integer = end;
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if end > sign && matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    let (number, unit) = text.split_at(end);
    if let Some(right) = without_commas(text) {
        return Err(format!(
            "{} has a comma; a point is in front of the fraction: write {right}",
            quoted(text)
        ));
    }
    let plain = number.replace('_', "");
    let not_a_number = || format!("{} is not a number with a unit; write e.g. {example:?}", quoted(text));
    let value: f64 = plain.parse().map_err(|_| not_a_number())?;
    if !value.is_finite() {
        return Err(format!("{} is too large; write e.g. {example:?}", quoted(text)));
    }
    if plain.starts_with('-') && value != 0.0 {
        return Err(format!("{} is negative; it must not be less than zero, e.g. {example:?}", quoted(text)));
    }
    let whole = if end == integer { plain.trim_start_matches(['+', '-']).parse().ok() } else { None };
    Ok((Number { text: number, value, whole }, unit.trim()))
}

/// What a number with a comma may mean: `"1.5 Mbit/s"` for "1,5 Mbit/s". `None` if it has none.
fn without_commas(text: &str) -> Option<String> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.' | '_' | '+')))
        .unwrap_or(text.len());
    let (number, unit) = (text[..end].trim_end_matches([',', '.']), text[end..].trim());
    let comma = number.rfind(',')?;
    // Text that begins with a comma is no number at all.
    if comma == 0 || !number[..comma].bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let spelt = |number: String| format!("\"{number} {unit}\"").replace(" \"", "\"");
    let digits = |part: &str| part.replace([',', '.', '_'], "");
    let (before, behind) = match number.rfind('.') {
        Some(point) if point > comma => (&number[..point], &number[point + 1..]),
        _ => (&number[..comma], &number[comma + 1..]),
    };
    let fraction = spelt(format!("{}.{}", digits(before), digits(behind)));
    // "1,500" is a thousand and a half to some and 1.5 to others.
    let thousands = behind.len() == 3 && !number.contains('.');
    match (thousands, number.matches(',').count()) {
        (true, 1) => Some(format!("{fraction} or {}", spelt(digits(number)))),
        (_, 2..) if !number.contains('.') => Some(spelt(digits(number))),
        _ => Some(fraction),
    }
}

/// The factor of `unit`, or the message about it.
fn factor(table: Table, number: &Number<'_>, unit: &str, example: &str) -> Result<u64, String> {
    if unit.is_empty() {
        return Err(format!("{} has no unit; write e.g. {example:?}", quoted(number.text)));
    }
    if let Some((factor, _)) = table.iter().find(|(_, names)| names.contains(&unit)) {
        return Ok(*factor);
    }
    if let (Some(bits), true) = (in_bits(number.value, unit), std::ptr::eq(table, RATES)) {
        // Not the nearest spelling: "Mb/s" would be an eighth of the rate meant.
        return Err(format!("{} counts bytes; rates are in bits, e.g. {bits:?}", quoted(unit)));
    }
    let same_letters = spelt(table).find(|name| name.eq_ignore_ascii_case(unit));
    let near = same_letters.or_else(|| nearest(unit, spelt(table)).first().copied());
    let right = match near {
        Some(near) => format!("did you mean \"{} {near}\"?", number.text),
        None => {
            let units: Vec<&str> = table.iter().map(|(_, names)| names[0]).collect();
            format!("write e.g. {example:?} (units: {})", units.join(", "))
        }
    };
    Err(format!("unit {} is not one for this value; {right}", quoted(unit)))
}

/// The rate in bits that `number` bytes a second are: "80 Mbit/s" for 10 and "MB/s", "Mbyte/s" or "Mo/s".
/// `None` if the unit does not count bytes.
fn in_bits(number: f64, unit: &str) -> Option<String> {
    let counted = ["/s", "ps", "/sec"].iter().find_map(|end| unit.strip_suffix(end))?;
    let lower = counted.to_lowercase();
    let words = ["bytes", "byte", "octets", "octet", "o"];
    let long = words.iter().find_map(|word| lower.strip_suffix(word));
    let prefix = long.or_else(|| lower.strip_suffix('b').filter(|_| counted.ends_with('B')))?;
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix.trim_end_matches('i'))?;
    let binary = if prefix.ends_with('i') { libm::pow(1.024, power as f64) } else { 1.0 };
    let bits = libm::round(number * 8.0 * binary * 1e6) / 1e6;
    Some(format!("{bits} {}bit/s", ["", "k", "M", "G", "T"][power]))
}

/// number x factor as an integer.
fn scaled(number: &Number<'_>, factor: u64, smallest: &str) -> Result<u64, String> {
    let exact = number.whole.and_then(|whole| whole.checked_mul(u128::from(factor)));
    let too_large = || format!("{} is too large", number.text);
    if let Some(exact) = exact {
        return u64::try_from(exact).map_err(|_| too_large());
    }
    let product = libm::round(number.value * factor as f64);
    if product >= u64::MAX as f64 {
        return Err(too_large());
    }
    if product == 0.0 && number.value > 0.0 {
        return Err(format!("{} is less than {smallest}, the smallest step", number.text));
    }
    Ok(product as u64)
}

/// As [`scaled`], for quantities that cannot be divided.
fn counted(number: &Number<'_>, factor: u64, what: &str) -> Result<u64, String> {
    let product = number.value * factor as f64;
    if number.whole.is_none() && libm::fabs(product - libm::round(product)) > 1e-9 * product {
        return Err(format!("{} is not a whole number of {what}", number.text));
    }
    scaled(number, factor, &format!("1 of the {what}"))
}

/// `amount` in the largest unit that leaves no fraction. `factors` says which units of `table` are printed;
/// they ascend there.
fn print(f: &mut fmt::Formatter<'_>, amount: u64, table: Table, factors: &[u64]) -> fmt::Result {
    let fits = |factor: u64| factor == 1 || (amount > 0 && amount.is_multiple_of(factor));
    let printed = |(factor, _): &&(u64, _)| factors.contains(factor) && fits(*factor);
    let (factor, names) = table.iter().rev().find(printed).unwrap_or(&table[0]);
    write!(f, "{} {}", amount / factor, names[0])
}

/// Text form of a quantity: parsing, printing, serde and schema all use it.
trait Quantity: FromStr<Err = String> + fmt::Display {
    /// Name in the schema.
    const NAME: &'static str;
    /// What the text holds.
    const ABOUT: &'static str;
    /// A valid value.
    const EXAMPLE: &'static str;
    /// Its units.
    const UNITS: &'static [Table];
}

/// The texts that are a number and one of these units, as a regular expression for editors.
fn pattern(units: &[Table]) -> String {
    let units: Vec<&str> = units.iter().copied().flat_map(spelt).collect();
    format!(r"^\s*\+?[0-9_]*\.?[0-9_]*([eE][+-]?[0-9]+)?\s*({})\s*$", units.join("|"))
}

macro_rules! quantity {
    ($type:ident, $name:literal, $example:literal, $($units:expr),+; $about:literal) => {
        impl Quantity for $type {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const EXAMPLE: &'static str = $example;
            const UNITS: &'static [Table] = &[$($units),+];
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!({
                    "type": "string",
                    "description": Self::ABOUT,
                    "examples": [Self::EXAMPLE],
                });
                schema.insert(UNIT_KEYWORD.to_owned(), Self::NAME.into());
                schema.insert("pattern".to_owned(), pattern(Self::UNITS).into());
                schema
            }
        }
    };
}

/// Checks `text` as a value of the quantity called `name`; `Err` has the message.
pub(crate) fn check(name: &str, text: &str) -> Result<(), String> {
    fn parses<Q: Quantity>(text: &str) -> Result<(), String> {
        text.parse::<Q>().map(|_| ())
    }
    match name {
        Duration::NAME => parses::<Duration>(text),
        BitRate::NAME => parses::<BitRate>(text),
        Size::NAME => parses::<Size>(text),
        QueueSize::NAME => parses::<QueueSize>(text),
        QueueRoom::NAME => parses::<QueueRoom>(text),
        WindowSize::NAME => parses::<WindowSize>(text),
        Interval::NAME => parses::<Interval>(text),
        LONGITUDE => text.parse::<Longitude>().map(|_| ()),
        _ => Ok(()),
    }
}

/// A length of time, to the nanosecond: "250 ms". Units ns, us, ms, s, min, h, d.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub Span);

quantity!(Duration, "duration", "250 ms", TIMES; "A length of time, in ns, us, ms, s, min, h or d.");

impl FromStr for Duration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text, Self::EXAMPLE)?;
        let factor = factor(TIMES, &number, unit, Self::EXAMPLE)?;
        Ok(Duration(Span(scaled(&number, factor, "1 ns")?)))
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self(span)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Span::ZERO {
            return write!(f, "0 s");
        }
        print(f, self.0.0, TIMES, &[1, 1_000, 1_000_000, 1_000_000_000])
    }
}

/// A rate in bits per second: "10 Mbit/s". Units bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, or bps, kbps and so
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub u64);

quantity!(BitRate, "rate", "10 Mbit/s", RATES; "A rate, in bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s.");

impl BitRate {
    /// Bits per second of a link or a source.
    ///
    /// # Errors
    /// Zero, and what is above [`MAX_RATE`].
    pub(crate) fn of_link(self) -> Result<u64, String> {
        match self.0 {
            0 => Err("a rate must be greater than zero; write e.g. \"10 Mbit/s\"".to_owned()),
            high if high > MAX_RATE => Err(format!("{self} is too high; it must be at most 100 Tbit/s")),
            fine => Ok(fine),
        }
    }
}

impl Duration {
    /// A length of time that a propagation delay or a buffer of a player may have.
    ///
    /// # Errors
    /// What is above [`MAX_DELAY`].
    pub(crate) fn of_delay(self) -> Result<Span, String> {
        match self.0 > MAX_DELAY {
            true => Err(format!("{self} is too long; it must be at most 1 d")),
            false => Ok(self.0),
        }
    }
}

impl Size {
    /// Bytes that fit a packet.
    ///
    /// # Errors
    /// Less than `least`, or more than [`MAX_PACKET`].
    pub(crate) fn of_packet(self, least: u64) -> Result<u32, String> {
        match u32::try_from(self.0) {
            Ok(bytes) if (least..=MAX_PACKET).contains(&self.0) => Ok(bytes),
            _ => Err(format!("{self} is out of range; it must be from {least} to {MAX_PACKET} bytes")),
        }
    }
}

impl FromStr for BitRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text, Self::EXAMPLE)?;
        let factor = factor(RATES, &number, unit, Self::EXAMPLE)?;
        Ok(BitRate(scaled(&number, factor, "1 bit/s")?))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, RATES, &[1, 1_000, 1_000_000, 1_000_000_000])
    }
}

/// A size in bytes: "1448 bytes", "10 MB". Units bytes or B, kB, MB, GB, KiB, MiB, GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

quantity!(Size, "size", "1448 bytes", SIZES; "A size, in bytes, kB, MB, GB, KiB, MiB or GiB.");

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text, Self::EXAMPLE)?;
        let factor = factor(SIZES, &number, unit, Self::EXAMPLE)?;
        Ok(Size(counted(&number, factor, "bytes")?))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, SIZES, &[1, 1_000_000])
    }
}

/// Room in a queue: "432 packets", "64 kB", or "1.5 bdp", multiples of rate x round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSize {
    /// Packets of any size.
    Packets(u64),
    /// Bytes on the wire.
    Bytes(u64),
    /// Bandwidth-delay products of the flows that cross the link.
    Bdp(f64),
}

quantity!(QueueSize, "queue-size", "432 packets", SIZES, ROOMS; "Room in a queue, in packets, bytes, kB, MB, or bdp.");

impl FromStr for QueueSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text, Self::EXAMPLE)?;
        match unit {
            "packet" | "packets" => Ok(QueueSize::Packets(counted(&number, 1, "packets")?)),
            "bdp" | "BDP" => Ok(QueueSize::Bdp(number.value)),
            _ if is_in(SIZES, unit) => Ok(QueueSize::Bytes(text.parse::<Size>()?.0)),
            _ if is_in(TIMES, unit) => Err(format!(
                "{} is a time, and only drop-tail and drop-front have a limit in time; write e.g. {:?}",
                quoted(text),
                Self::EXAMPLE
            )),
            _ => Err(no_unit(text, unit, "a queue's size", "\"432 packets\", \"64 kB\" or \"1.5 bdp\"")),
        }
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueSize::Packets(n) => write!(f, "{n} packets"),
            QueueSize::Bytes(n) => write!(f, "{}", Size(*n)),
            QueueSize::Bdp(x) => write!(f, "{x} bdp"),
        }
    }
}

/// Room in a queue, or the time in which a link sends as much: "432 packets", "64 kB", "1.5 bdp" or "200 ms".
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueRoom {
    /// What may wait.
    Size(QueueSize),
    /// As many bytes as the link sends in this time.
    Time(Duration),
}

quantity!(QueueRoom, "queue-room", "432 packets", SIZES, ROOMS, TIMES;
    "Room in a queue, in packets, bytes, kB, MB, or bdp, or as the time in which the link sends as much.");

/// Is this one of the units?
fn is_in(table: Table, unit: &str) -> bool {
    spelt(table).any(|name| name == unit)
}

/// The message for `text`, whose unit is none of those of `what`.
fn no_unit(text: &str, unit: &str, what: &str, examples: &str) -> String {
    match unit {
        "" => format!("{} has no unit; write e.g. {examples}", quoted(text)),
        _ => format!("unit {} is not one of {what}; write e.g. {examples}", quoted(unit)),
    }
}

impl FromStr for QueueRoom {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (_, unit) = split(text, Self::EXAMPLE)?;
        if is_in(TIMES, unit) { text.parse().map(QueueRoom::Time) } else { text.parse().map(QueueRoom::Size) }
    }
}

impl fmt::Display for QueueRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueRoom::Size(size) => size.fmt(f),
            QueueRoom::Time(time) => time.fmt(f),
        }
    }
}

/// A receive window: "432 segments" or "1 MB".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSize {
    /// Full segments.
    Segments(u64),
    /// Payload bytes.
    Bytes(u64),
}

quantity!(WindowSize, "window-size", "432 segments", SIZES, &[(1, &["segments", "segment"])]; "A window, in segments, bytes, kB or MB.");

impl FromStr for WindowSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split(text, Self::EXAMPLE)?;
        match unit {
            "segment" | "segments" => Ok(WindowSize::Segments(counted(&number, 1, "segments")?)),
            _ if is_in(SIZES, unit) => Ok(WindowSize::Bytes(text.parse::<Size>()?.0)),
            _ => Err(no_unit(text, unit, "a window's size", "\"432 segments\" or \"1 MB\"")),
        }
    }
}

impl fmt::Display for WindowSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowSize::Segments(n) => write!(f, "{n} segments"),
            WindowSize::Bytes(n) => write!(f, "{}", Size(*n)),
        }
    }
}

/// When a trace gets a row: "100 ms" for every 100 ms, or "change".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Whenever a flow's window changes.
    Change,
    /// At multiples of this.
    Every(Span),
}

quantity!(Interval, "interval", "100 ms", TIMES, &[(1, &["change"])]; "The time between two rows of a trace, or \"change\".");

impl FromStr for Interval {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            text if text.eq_ignore_ascii_case("change") => Ok(Interval::Change),
            text => {
                Ok(Interval::Every(text.parse::<Duration>().map_err(|e| format!("{e} (or \"change\")"))?.0))
            }
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interval::Change => write!(f, "change"),
            Interval::Every(span) => write!(f, "{}", Duration(*span)),
        }
    }
}

/// A longitude in degrees east, from -180 to 360. As text "100E", "74W", or signed degrees; as a number
/// degrees east.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Longitude(pub f64);

impl FromStr for Longitude {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{} is not a longitude; write e.g. \"100E\", \"74W\" or -74.0", quoted(text));
        let trimmed = text.trim().trim_end_matches('\u{b0}');
        let (number, sign, largest) = match trimmed.char_indices().last() {
            Some((i, 'E' | 'e')) => (&trimmed[..i], 1.0, 180.0),
            Some((i, 'W' | 'w')) => (&trimmed[..i], -1.0, 180.0),
            _ => (trimmed, 1.0, 360.0),
        };
        let number = number.trim().trim_end_matches('\u{b0}');
        // A sign and a letter would contradict or repeat each other.
        if largest == 180.0 && number.starts_with(['-', '+']) {
            return Err(wrong());
        }
        let degrees: f64 = number.parse().map_err(|_| wrong())?;
        if !(-180.0..=largest).contains(&degrees) {
            return Err(wrong());
        }
        Ok(Longitude(sign * degrees))
    }
}

impl fmt::Display for Longitude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            west if west < 0.0 => write!(f, "{}W", -west),
            east if east <= 180.0 => write!(f, "{east}E"),
            round => write!(f, "{round}"),
        }
    }
}

impl Serialize for Longitude {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Longitude {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Text(String),
        }
        let text = match Form::deserialize(deserializer)? {
            Form::Number(degrees) => degrees.to_string(),
            Form::Text(text) => text,
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Longitude {
    fn schema_name() -> Cow<'static, str> {
        "longitude".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut text = json_schema!({ "type": "string", "examples": ["100E"] });
        text.insert(UNIT_KEYWORD.to_owned(), LONGITUDE.into());
        json_schema!({
            "description": "A longitude: \"100E\", \"74W\", or degrees east.",
            "anyOf": [text, { "type": "number", "minimum": -180.0, "maximum": 360.0 }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longitudes_read_as_people_write_them() {
        for (text, degrees) in
            [("100E", 100.0), ("74W", -74.0), (" 74.5 w", -74.5), ("-74", -74.0), ("286", 286.0), ("0E", 0.0)]
        {
            assert_eq!(text.parse(), Ok(Longitude(degrees)), "{text}");
            assert_eq!(Longitude(degrees).to_string().parse(), Ok(Longitude(degrees)));
        }
        for text in ["", "E", "181E", "-74W", "100N", "361", "nan", "infE", "\u{b0}"] {
            assert!(text.parse::<Longitude>().is_err(), "{text}");
        }
    }
}
