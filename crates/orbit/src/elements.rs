//! Texts of orbital elements: TLE in lines of two or three, OMM as JSON, CSV or KVN.
//!
//! OMM: CCSDS 502.0-B-3, Orbit Data Messages, section 4. The names of the fields are those of
//! Celestrak and Space-Track.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sgp4::chrono::{Datelike, NaiveDateTime};
use sgp4::{Constants, Elements, Orbit, WGS72};

use crate::earth::YEARS;
use crate::error::OrbitError;
use crate::satellites::Satellite;

/// Characters of a message about a value, which may have millions.
const LONGEST: usize = 160;

/// Notation of an OMM.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notation {
    /// One object, or a list of them.
    Json,
    /// A line of names, then a line a satellite.
    Csv,
    /// `NAME = VALUE`, a line each.
    Kvn,
}

fn bad(file: &str, line: usize, what: String) -> OrbitError {
    OrbitError::Elements { file: file.to_owned(), line, what }
}

/// Reads the satellites of a TLE text; `file` is its name in messages.
///
/// # Errors
/// The first line that is wrong, and how.
pub fn read_tle(text: &str, file: &str) -> Result<Vec<Satellite>, OrbitError> {
    let bad = |line, what| bad(file, line, what);
    let mut found = Vec::new();
    let mut first: Option<(usize, &str)> = None;
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim_end());
        match (first.take(), line.get(..2)) {
            (None, Some("1 ")) => first = Some((number, line)),
            (None, Some("2 ")) if line.len() == 69 => {
                return Err(bad(number, "line 2 of a TLE without line 1 before it".to_owned()));
            }
            (None, _) => {} // a name, or nothing
            (Some((above, one)), Some("2 ")) => {
                for (at, text, which) in [(above, one, 1), (number, line, 2)] {
                    check_tle_line(text, which).map_err(|what| bad(at, what))?;
                }
                let elements = Elements::from_tle(None, one.as_bytes(), line.as_bytes()).map_err(|e| {
                    let what = e.to_string();
                    bad(if what.contains("on TLE line 1") { above } else { number }, what)
                })?;
                found.push((number, elements));
            }
            (Some((above, _)), _) => {
                return Err(bad(above, "line 1 of a TLE without line 2 after it".to_owned()));
            }
        }
    }
    if let Some((above, _)) = first {
        return Err(bad(above, "line 1 of a TLE without line 2 after it".to_owned()));
    }
    satellites(found, file)
}

/// Length and checksum, with words of our own: those of the crate do not say what was expected.
fn check_tle_line(line: &str, which: u8) -> Result<(), String> {
    if line.len() != 69 || !line.is_ascii() {
        let length = line.chars().count();
        return Err(format!("line {which} of a TLE has 69 characters, this one has {length}"));
    }
    let (sum, last) = (checksum(&line.as_bytes()[..68]), &line[68..]);
    if last.parse() != Ok(sum) {
        return Err(format!(
            "line {which} of a TLE ends in the checksum {last}, but its characters give {sum}"
        ));
    }
    Ok(())
}

/// The last digit of a TLE's line with these characters before it.
pub(crate) fn checksum(line: &[u8]) -> u32 {
    let digit = |b: &u8| match b {
        b'0'..=b'9' => u32::from(b - b'0'),
        b'-' => 1,
        _ => 0,
    };
    line.iter().map(digit).sum::<u32>() % 10
}

/// Reads the satellites of an OMM text.
///
/// # Errors
/// The first message that is wrong, with its line.
pub fn read_omm(text: &str, notation: Notation, file: &str) -> Result<Vec<Satellite>, OrbitError> {
    let messages = match notation {
        Notation::Json => json_messages(text, file)?,
        Notation::Csv => csv_messages(text, file)?,
        Notation::Kvn => kvn_messages(text, file)?,
    };
    let mut found = Vec::with_capacity(messages.len());
    for (line, fields) in messages {
        let elements =
            serde_path_to_error::deserialize(Value::Object(with_defaults(fields))).map_err(|e| {
                let (field, what) = (e.path().to_string(), e.into_inner().to_string());
                let what = if field == "." { what } else { format!("{field}: {what}") };
                let what = what.chars().take(LONGEST).collect(); // it repeats the value
                bad(file, line, what)
            })?;
        found.push((line, elements));
    }
    satellites(found, file)
}

/// Fields that SGP4 does not need and that may be absent (CCSDS 502.0-B-3, table 4-3).
fn with_defaults(mut fields: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in [
        ("CLASSIFICATION_TYPE", Value::from("U")),
        ("OBJECT_NAME", Value::Null),
        ("OBJECT_ID", Value::Null),
        ("EPHEMERIS_TYPE", Value::from(0)),
        ("ELEMENT_SET_NO", Value::from(0)),
        ("REV_AT_EPOCH", Value::from(0)),
        ("BSTAR", Value::from(0)),
        ("MEAN_MOTION_DOT", Value::from(0)),
        ("MEAN_MOTION_DDOT", Value::from(0)),
    ] {
        fields.entry(name).or_insert(value);
    }
    if let Some(Value::String(epoch)) = fields.get_mut("EPOCH") {
        *epoch = epoch.trim_end_matches('Z').to_owned();
    }
    fields
}

type Message = (usize, Map<String, Value>);

fn json_messages(text: &str, file: &str) -> Result<Vec<Message>, OrbitError> {
    let bad = |line, what| bad(file, line, what);
    let value: Value = serde_json::from_str(text).map_err(|e| bad(e.line(), e.to_string()))?;
    let list = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    // serde_json keeps no places: a message's line is that of its number, as Celestrak
    // and Space-Track write them.
    let lines: Vec<usize> = text
        .lines()
        .enumerate()
        .flat_map(|(i, l)| l.matches("\"NORAD_CAT_ID\"").map(move |_| i + 1))
        .collect();
    let mut messages = Vec::with_capacity(list.len());
    for (index, item) in list.into_iter().enumerate() {
        let line = lines.get(index).copied().unwrap_or(1);
        let Value::Object(fields) = item else {
            return Err(bad(line, format!("message {} is no JSON object", index + 1)));
        };
        messages.push((line, fields));
    }
    Ok(messages)
}

fn csv_messages(text: &str, file: &str) -> Result<Vec<Message>, OrbitError> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty());
    let names: Vec<&str> = lines.next().map(|(_, l)| split_csv(l)).unwrap_or_default();
    let mut messages = Vec::new();
    for (index, line) in lines {
        let cells = split_csv(line);
        if cells.len() != names.len() {
            let (expected, given) = (names.len(), cells.len());
            let what = format!("{given} cells, but the first line names {expected}");
            return Err(bad(file, index + 1, what));
        }
        let fields = names.iter().zip(cells).map(|(n, c)| ((*n).to_owned(), Value::from(c))).collect();
        messages.push((index + 1, fields));
    }
    Ok(messages)
}

/// Celestrak's CSV quotes nothing; Space-Track's quotes every cell, and no cell holds a comma.
fn split_csv(line: &str) -> Vec<&str> {
    line.split(',').map(|c| c.trim().trim_matches('"')).collect()
}

fn kvn_messages(text: &str, file: &str) -> Result<Vec<Message>, OrbitError> {
    let mut messages: Vec<Message> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("COMMENT") {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            let what = "it is not NAME = VALUE".to_owned();
            return Err(bad(file, index + 1, what));
        };
        let (name, value) = (name.trim(), value.trim());
        // A message begins with its version, or with its name where the version is left out.
        let begins = name == "CCSDS_OMM_VERS"
            || (name == "OBJECT_NAME" && messages.last().is_none_or(|m| m.1.contains_key("OBJECT_NAME")));
        if begins || messages.is_empty() {
            messages.push((index + 1, Map::new()));
        }
        if let Some((_, fields)) = messages.last_mut() {
            // A value may be followed by its unit in brackets.
            let bare = value.split('[').next().unwrap_or_default().trim();
            fields.insert(name.to_owned(), Value::from(bare));
        }
    }
    Ok(messages)
}

/// Propagators from elements; of two with one number the newer stays.
fn satellites(found: Vec<(usize, Elements)>, file: &str) -> Result<Vec<Satellite>, OrbitError> {
    if found.is_empty() {
        return Err(bad(file, 1, "no orbital elements".to_owned()));
    }
    let mut newest: BTreeMap<u64, (usize, Elements)> = BTreeMap::new();
    for (line, elements) in found {
        let known = newest.get(&elements.norad_id);
        if known.is_none_or(|(_, k)| k.datetime < elements.datetime) {
            newest.insert(elements.norad_id, (line, elements));
        }
    }
    newest.into_values().map(|(line, e)| satellite(&e).map_err(|what| bad(file, line, what))).collect()
}

fn satellite(elements: &Elements) -> Result<Satellite, String> {
    const TO_RADIANS: f64 = std::f64::consts::PI / 180.0;
    if !YEARS.contains(&elements.datetime.year()) {
        let (first, last, at) = (YEARS.start, YEARS.end - 1, elements.datetime);
        return Err(format!("EPOCH: {at} is not in the years {first} to {last}"));
    }
    let orbit = Orbit::from_kozai_elements(
        &WGS72,
        elements.inclination * TO_RADIANS,
        elements.right_ascension * TO_RADIANS,
        elements.eccentricity,
        elements.argument_of_perigee * TO_RADIANS,
        elements.mean_anomaly * TO_RADIANS,
        elements.mean_motion * (std::f64::consts::PI / 720.0),
    )
    .map_err(|e| e.to_string())?;
    let constants =
        Constants::new(WGS72, sgp4::iau_epoch_to_sidereal_time, elements.epoch(), elements.drag_term, orbit)
            .map_err(|e| e.to_string())?;
    let id = i64::try_from(elements.norad_id).map_err(|e| e.to_string())?;
    let motion = elements.mean_motion * (std::f64::consts::PI / 720.0);
    Ok(Satellite::new(id, elements.datetime, motion, elements.eccentricity, constants))
}

/// The newest instant of elements, UTC.
pub(crate) fn newest(satellites: &[Satellite]) -> Option<NaiveDateTime> {
    satellites.iter().map(|s| s.epoch).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISS: &str = "ISS (ZARYA)\n\
        1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992\n\
        2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008\n";
    const JSON: &str = r#"[{"OBJECT_NAME": "ISS (ZARYA)", "OBJECT_ID": "1998-067A", "EPOCH": "2020-07-12T21:16:01.000416",
        "MEAN_MOTION": 15.49507896, "ECCENTRICITY": 0.0001413, "INCLINATION": 51.6461, "RA_OF_ASC_NODE": 221.2784,
        "ARG_OF_PERICENTER": 89.1723, "MEAN_ANOMALY": 280.4612, "NORAD_CAT_ID": 25544, "BSTAR": -3.1515e-5}]"#;
    const CSV: &str = "OBJECT_NAME,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,MEAN_ANOMALY,\
        NORAD_CAT_ID,BSTAR\nISS (ZARYA),2020-07-12T21:16:01.000416,15.49507896,.0001413,51.6461,221.2784,89.1723,280.4612,25544,\
        -3.1515e-5\n";
    const KVN: &str = "CCSDS_OMM_VERS = 2.0\nCOMMENT made by hand\nOBJECT_NAME = ISS (ZARYA)\nEPOCH = 2020-07-12T21:16:01.000416\n\
        MEAN_MOTION = 15.49507896 [rev/day]\nECCENTRICITY = .0001413\nINCLINATION = 51.6461 [deg]\nRA_OF_ASC_NODE = 221.2784\n\
        ARG_OF_PERICENTER = 89.1723\nMEAN_ANOMALY = 280.4612\nNORAD_CAT_ID = 25544\nBSTAR = -3.1515e-5\n";

    fn message(result: Result<Vec<Satellite>, OrbitError>) -> String {
        result.expect_err("an error").to_string()
    }

    #[test]
    fn four_notations_of_one_satellite_give_one_position() {
        let tle = read_tle(ISS, "iss.tle").expect("a TLE");
        let at = tle[0].position(0).expect("a position");
        for (text, notation) in [(JSON, Notation::Json), (CSV, Notation::Csv), (KVN, Notation::Kvn)] {
            let omm = read_omm(text, notation, "iss").expect("an OMM");
            let there = omm[0].position(0).expect("a position");
            assert_eq!((omm.len(), omm[0].id), (1, 25_544));
            assert!(crate::earth::distance(&at, &there) < 0.01, "{notation:?} {at:?} {there:?}");
        }
    }

    #[test]
    fn a_wrong_checksum_is_named_with_its_line() {
        let text = ISS.replace("9992", "9993");
        let said = message(read_tle(&text, "iss.tle"));
        assert_eq!(
            said,
            "iss.tle, line 2: line 1 of a TLE ends in the checksum 3, but its characters give 2"
        );
    }

    #[test]
    fn a_line_that_is_cut_off_is_named() {
        let text = ISS.replace("15.49507896236008", "15.49507896");
        assert_eq!(
            message(read_tle(&text, "x")),
            "x, line 3: line 2 of a TLE has 69 characters, this one has 63"
        );
    }

    #[test]
    fn a_letter_in_a_number_is_named_with_its_line() {
        let text = ISS.replace("  51.6461", "  51.A461").replace("236008", "236002"); // a letter counts 0 in the checksum
        let said = message(read_tle(&text, "x"));
        assert!(said.starts_with("x, line 3: ") && said.contains("between characters 8 and 16"), "{said}");
        let text = ISS.replace("20194.8", "20A94.8").replace("9992", "9991");
        let said = message(read_tle(&text, "x"));
        assert!(said.starts_with("x, line 2: ") && said.contains("line 1 between characters"), "{said}");
    }

    #[test]
    fn a_missing_second_line_is_named() {
        let first: String = ISS.lines().take(2).map(|l| format!("{l}\n")).collect();
        let said = message(read_tle(&format!("{first}{ISS}"), "x"));
        assert_eq!(said, "x, line 2: line 1 of a TLE without line 2 after it");
        assert_eq!(message(read_tle("nothing\n", "x")), "x, line 1: no orbital elements");
    }

    #[test]
    fn an_omm_without_a_field_names_the_field_and_the_line() {
        let text = JSON.replace("\"INCLINATION\": 51.6461,", "");
        assert_eq!(message(read_omm(&text, Notation::Json, "x")), "x, line 3: missing field `INCLINATION`");
        let text = CSV.replace("51.6461", "steep");
        assert_eq!(
            message(read_omm(&text, Notation::Csv, "x")),
            "x, line 2: INCLINATION: invalid float literal"
        );
        assert_eq!(message(read_omm("NAME\n", Notation::Kvn, "x")), "x, line 1: it is not NAME = VALUE");
    }

    #[test]
    fn an_epoch_beyond_the_clock_is_named_with_its_line() {
        for year in ["0000", "1600", "1956", "2200", "9999"] {
            let text = CSV.replace("2020-07-12", &format!("{year}-07-12"));
            let said = message(read_omm(&text, Notation::Csv, "x"));
            let wanted =
                format!("x, line 2: EPOCH: {year}-07-12 21:16:01.000416 is not in the years 1957 to 2199");
            assert_eq!(said, wanted);
        }
        for year in ["1957", "2199"] {
            let text = CSV.replace("2020-07-12", &format!("{year}-07-12"));
            assert_eq!(read_omm(&text, Notation::Csv, "x").expect("elements").len(), 1);
        }
    }

    #[test]
    fn of_two_elements_of_one_satellite_the_newer_stays() {
        let older = JSON.replace("2020-07-12", "2020-07-10");
        let both = format!("[{},{}]", &older[1..older.len() - 1], &JSON[1..JSON.len() - 1]);
        let read = read_omm(&both, Notation::Json, "x").expect("two messages");
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].epoch.to_string(), "2020-07-12 21:16:01.000416");
    }
}
