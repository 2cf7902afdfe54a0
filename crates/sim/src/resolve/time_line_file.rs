//! Time line files, version 1: a table of instants with the rate, delay and losses from each instant on.
//!
//! CSV is read here. Other formats are converted to CSV by whoever has a library for them
//! ([`read_tables_by`]); the Python package reads Parquet.

use std::path::Path;
use std::sync::OnceLock;

use crate::keys::error::{quoted, quoted_name};
use crate::keys::file;
use crate::keys::units::{MAX_DELAY, MAX_RATE};

/// The version of the format that is read.
const VERSION: u32 = 1;
/// Largest file, in bytes.
const MAX_FILE: u64 = 256 << 20;
/// Latest instant, s: a hundred years.
const MAX_TIME_S: f64 = 3.2e9;
/// The columns that are read, `t_s` first.
const COLUMNS: [&str; 6] = ["t_s", "rate_bps", "delay_s", "loss_rate", "up", "handover"];

/// Reads a Parquet file as CSV text in the form of a time line file, or says in one
/// line what is wrong with it.
pub type TableReader = dyn Fn(&Path) -> Result<String, String> + Send + Sync;

static READER: OnceLock<Box<TableReader>> = OnceLock::new();

/// From now on Parquet files are read by `reader`. Only the first call has an effect.
pub fn read_tables_by(reader: Box<TableReader>) {
    _ = READER.set(reader);
}

/// The rows of a time line file. An absent column is `None`; all columns are equally long.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TimeTable {
    /// Instants, ns, the first 0.
    pub(super) at: Vec<u64>,
    /// Bits per second.
    pub(super) rate: Option<Vec<u64>>,
    /// One-way delay, ns.
    pub(super) delay: Option<Vec<u64>>,
    pub(super) loss: Option<Vec<f64>>,
    pub(super) up: Option<Vec<bool>>,
    pub(super) handover: Option<Vec<bool>>,
}

impl TimeTable {
    /// Reads a file; `Err` says in one line what is wrong, where, and what would be right.
    pub(super) fn read(file: &str) -> Result<Self, String> {
        let path = Path::new(file);
        let in_file = |message: String| format!("time line {}: {message}", quoted_name(file));
        let parquet = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet"));
        let text = match READER.get() {
            Some(reader) if parquet => reader(path),
            None if parquet => {
                Err("Parquet is read by the Python package; write the table as CSV".to_owned())
            }
            _ => file::text(path, MAX_FILE),
        };
        text.and_then(|text| Self::parse(&text)).map_err(in_file)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if let Some(line) = lone_return(text) {
            return Err(format!(
                "line {line}: a carriage return without a line feed ends no line; save the file with line ends LF or CR LF"
            ));
        }
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()).peekable();
        if let Some((first, _)) = lines.next_if(|(line, _)| line.trim_start().starts_with('#')) {
            check_version(first)?;
        }
        let Some((header, at)) = lines.next() else { return Err("it is empty; write a header".to_owned()) };
        let header: Vec<&str> = cells(header).collect();
        let mut places = [None; COLUMNS.len()];
        for (place, name) in header.iter().enumerate() {
            if let Some(column) = COLUMNS.iter().position(|column| column == name)
                && places[column].replace(place).is_some()
            {
                return Err(format!("line {at}: column {name} stands there twice"));
            }
        }
        if places[0].is_none() {
            return Err(format!(
                "line {at}: there is no column t_s; write a header such as {}",
                COLUMNS.join(",")
            ));
        }
        if places[1..].iter().all(Option::is_none) {
            return Err(format!("line {at}: none of {} is a column", COLUMNS[1..].join(", ")));
        }
        let mut table = Self::default();
        let [_, rate, delay, loss, up, handover] = places.map(|place| place.is_some());
        table.rate = rate.then(Vec::new);
        table.delay = delay.then(Vec::new);
        table.loss = loss.then(Vec::new);
        table.up = up.then(Vec::new);
        table.handover = handover.then(Vec::new);
        let mut row = Vec::with_capacity(header.len());
        for (line, number) in lines {
            row.clear();
            row.extend(cells(line));
            if row.len() != header.len() {
                return Err(format!("line {number}: {} cells under {} columns", row.len(), header.len()));
            }
            let cell = |column: usize| places[column].map_or("", |place: usize| row[place]);
            let wrong = |(column, message): (usize, String)| {
                format!("line {number}, column {}: {message}", COLUMNS[column])
            };
            table.add(cell).map_err(wrong)?;
        }
        if table.at.is_empty() {
            Err("it has no rows; the first is at t_s = 0".to_owned())
        } else {
            Ok(table)
        }
    }

    /// Adds a row; `Err` has the number of a column.
    fn add<'a>(&mut self, cell: impl Fn(usize) -> &'a str) -> Result<(), (usize, String)> {
        let in_column = |column: usize| move |message: String| (column, message);
        let number = |column: usize, highest: f64| number(cell(column), highest).map_err(in_column(column));
        let at = number(0, MAX_TIME_S)?.ok_or((0, "is empty; write seconds".to_owned()))?;
        let at = libm::round(at * 1e9) as u64;
        match self.at.last() {
            None if at > 0 => {
                return Err((0, format!("{} is not 0; the first row is at 0", quoted(cell(0)))));
            }
            Some(&before) if at <= before => {
                let now = quoted(cell(0));
                return Err((0, format!("{now} is not later than the row before, to the nanosecond")));
            }
            _ => self.at.push(at),
        }
        let missing = |column: usize| (column, "is empty in the first row; write a value there".to_owned());
        if let Some(rates) = &mut self.rate {
            let rate = number(1, MAX_RATE as f64)?.map(|rate| libm::round(rate) as u64);
            rates.push(rate.or(rates.last().copied()).ok_or(missing(1))?);
        }
        if let Some(delays) = &mut self.delay {
            let delay = number(2, MAX_DELAY.secs())?.map(|delay| libm::round(delay * 1e9) as u64);
            delays.push(delay.or(delays.last().copied()).ok_or(missing(2))?);
        }
        if let Some(losses) = &mut self.loss {
            losses.push(number(3, 1.0)?.or(losses.last().copied()).ok_or(missing(3))?);
        }
        if let Some(ups) = &mut self.up {
            let up = flag(cell(4)).map_err(in_column(4))?;
            ups.push(up.or(ups.last().copied()).ok_or(missing(4))?);
        }
        if let Some(handovers) = &mut self.handover {
            handovers.push(flag(cell(5)).map_err(in_column(5))?.unwrap_or(false));
        }
        Ok(())
    }
}

/// The line with the first carriage return that no line feed follows, as old Macintosh programs end lines.
fn lone_return(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let at = (0..bytes.len()).find(|&at| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))?;
    Some(1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count())
}

/// Checks the first line, `# bentpipe timeline 1`.
fn check_version(line: &str) -> Result<(), String> {
    let version = line.trim_start_matches(['#', ' ']).strip_prefix("bentpipe timeline").map(str::trim);
    match version.map(str::parse::<u32>) {
        Some(Ok(VERSION)) => Ok(()),
        Some(Ok(other)) => Err(format!("it is of version {other}; this program reads version {VERSION}")),
        _ => Err(format!("line 1: it begins with #, but is not \"# bentpipe timeline {VERSION}\"")),
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| {
        let cell = cell.trim();
        cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell)
    })
}

/// A number from 0 to `highest`; `None` if the cell is empty.
fn number(cell: &str, highest: f64) -> Result<Option<f64>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    match cell.parse::<f64>() {
        Ok(x) if (0.0..=highest).contains(&x) => Ok(Some(x)),
        Ok(x) if x < 0.0 => Err(format!("{} is negative; it must be from 0 to {highest}", quoted(cell))),
        Ok(x) if x > highest => Err(format!("{} is too high; it must be from 0 to {highest}", quoted(cell))),
        _ => Err(format!("{} is not a number; write one from 0 to {highest}", quoted(cell))),
    }
}

/// True or false; `None` if the cell is empty.
fn flag(cell: &str) -> Result<Option<bool>, String> {
    match cell {
        "" => Ok(None),
        "true" | "True" | "TRUE" => Ok(Some(true)),
        "false" | "False" | "FALSE" => Ok(Some(false)),
        _ => Err(format!("{} is neither true nor false", quoted(cell))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_cells_repeat_the_row_before_and_other_columns_are_left_out() {
        let text = "# bentpipe timeline 1\r\nhops,t_s,delay_s,handover,rate_bps\r\n3,0,0.0123456789,,1e6\r\n\
                    4, 0.5,,true,2.5\r\n5,1e0,0.02,false,\r\n";
        let expected = TimeTable {
            at: vec![0, 500_000_000, 1_000_000_000],
            rate: Some(vec![1_000_000, 3, 3]),
            delay: Some(vec![12_345_679, 12_345_679, 20_000_000]),
            handover: Some(vec![false, true, false]),
            ..TimeTable::default()
        };
        assert_eq!(TimeTable::parse(text), Ok(expected));
    }

    #[test]
    fn each_mistake_names_its_line_and_column() {
        let one = |row: &str| format!("t_s,rate_bps,delay_s,loss_rate,up\n0,1,1,0,true\n{row}\n");
        for (text, parts) in [
            ("# bentpipe timeline 2\nt_s,up\n0,true\n".to_owned(), &["version 2", "version 1"][..]),
            ("# a note\nt_s,up\n0,true\n".to_owned(), &["line 1", "bentpipe timeline 1"]),
            (String::new(), &["empty"]),
            ("t_s,rate_bps\n".to_owned(), &["no rows"]),
            ("t_s,rate_bps\r0,1\r".to_owned(), &["line 1", "carriage return", "LF"]),
            ("t_s,rate_bps\r\n0,1\r\n1,2\r".to_owned(), &["line 3", "carriage return"]),
            ("rate_bps\n1\n".to_owned(), &["line 1", "no column t_s"]),
            ("t_s,rate\n0,1\n".to_owned(), &["line 1", "rate_bps", "delay_s"]),
            ("t_s,up,up\n0,true,true\n".to_owned(), &["line 1", "up", "twice"]),
            ("t_s,rate_bps\n1,1\n".to_owned(), &["line 2", "t_s", "first row"]),
            ("t_s,rate_bps\n0,\n".to_owned(), &["line 2", "rate_bps", "first row"]),
            (one("0,1,1,0,true"), &["line 3", "t_s", "not later"]),
            (one("1e-10,1,1,0,true"), &["line 3", "t_s", "nanosecond"]),
            (one("nan,1,1,0,true"), &["line 3", "t_s", "not a number"]),
            (one(",1,1,0,true"), &["line 3", "t_s", "empty"]),
            (one("2,-1,1,0,true"), &["line 3", "rate_bps", "negative"]),
            (one("2,1,-1,0,true"), &["line 3", "delay_s", "negative"]),
            (one("2,1,1e9,0,true"), &["line 3", "delay_s", "86400"]),
            (one("2,1,1,1.5,true"), &["line 3", "loss_rate", "from 0 to 1"]),
            (one("2,1,1,0,1"), &["line 3", "up", "true nor false"]),
            (one("2,1,1,0"), &["line 3", "4 cells under 5"]),
            (one("2,10 Mbit/s,1,0,true"), &["line 3", "rate_bps", "not a number"]),
        ] {
            let message = TimeTable::parse(&text).expect_err(&text);
            assert!(parts.iter().all(|part| message.contains(part)), "{text:?}: {message}");
            assert!(!message.contains('\n'));
        }
    }

    #[test]
    fn a_message_quotes_sixty_characters_of_a_cell_and_none_of_a_file_without_the_header() {
        let long = "9".repeat(1_000_000);
        for row in [format!("2,{long}"), format!("2,-{long}"), format!("{long},1"), format!("0.{long},1")] {
            let message = TimeTable::parse(&format!("t_s,rate_bps\n0,1\n0.9999999999,1\n{row}\n"))
                .expect_err(&row[..9]);
            assert!(message.contains(&"9".repeat(50)) && message.len() < 200, "{message:.300}");
        }
        for text in ["root:x:0:0\nt_s,up\n", "# secret\nt_s,up\n0,true\n", "secret,secret\n1,2\n"] {
            let message = TimeTable::parse(text).expect_err(text);
            assert!(!message.contains("secret") && !message.contains("root"), "{message}");
        }
    }
}
