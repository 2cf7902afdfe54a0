//! What a user may mean who writes an unknown key.

use serde_json::{Map, Value};

use crate::keys::error::{Key, listed, nearest};

/// Names of keys in other programs and papers, and their names here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("algorithm", "cc"),
    ("bandwidth", "rate"),
    ("bitrate", "rate"),
    ("buffer", "queue"),
    ("bw", "rate"),
    ("capacity", "rate"),
    ("congestion_control", "cc"),
    ("controller", "cc"),
    ("iw", "initial_window"),
    ("latency", "delay"),
    ("losses", "loss"),
    ("one_way_delay", "delay"),
    ("packet_size", "packet"),
    ("per", "rate"),
    ("probability", "rate"),
    ("propagation", "delay"),
    ("return", "reverse"),
    ("route", "path"),
    ("rwnd", "receive_window"),
    ("segment_size", "mss"),
    ("tcp", "cc"),
    ("time", "duration"),
    ("trace", "record"),
    ("type", "kind"),
];

const HOW_TO_TRACE: &str =
    "interval = \"100 ms\" records traces, a row every 100 ms; links = true adds those of links";
const HOW_IT_STARTS: &str =
    "how a flow starts is up to its algorithm: cc = { name = \"cubic\", slow_start = \"hystart++\" }";

/// Keys that need more explanation than a name: the table in which a user looks for the key ("" for any),
/// what is meant there, and what is right.
const ADVICE: &[(&str, &str, &str, &str)] = &[
    ("rtt", "", "delay", "a link has a delay, one way, half of the round-trip time: delay = \"250 ms\""),
    (
        "kind",
        "",
        "traffic",
        "what a flow sends is its traffic: traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }",
    ),
    ("slow_start", "", "cc", HOW_IT_STARTS),
    ("hystart", "", "cc", HOW_IT_STARTS),
    (
        "leo",
        "satellite",
        "geo",
        "only a geostationary satellite stands still (geo); for LEO use timeline, or the scenario leo",
    ),
    (
        "meo",
        "satellite",
        "geo",
        "only a geostationary satellite stands still (geo); for MEO use timeline, or the scenario meo",
    ),
    ("trace", "record", "interval", HOW_TO_TRACE),
    ("traces", "record", "interval", HOW_TO_TRACE),
];

/// Keys that a list begins with, since users need them most.
const FIRST: &[&str] = &[
    "cc", "path", "traffic", "start", "stop", "count", "rate", "delay", "queue", "loss", "timeline", "relay",
];

/// The message about a key in the table `at` that `known` lacks, and the keys of `known` that may be meant.
pub(crate) fn unknown_key(name: &str, at: &Key, known: &Map<String, Value>) -> (String, Vec<String>) {
    let lower = name.to_lowercase();
    if let Some(index) = name.find('[') {
        let (list, rest) = name.split_at(index);
        let number: String = rest.chars().filter(char::is_ascii_digit).collect();
        let list: String = list.chars().take(60).collect();
        return (format!("unknown key; items of {list} are counted behind a point: {list}.{number}"), vec![]);
    }
    let table = at.last().unwrap_or_default();
    let advice = ADVICE.iter().find(|(key, place, meant, _)| {
        *key == lower && (place.is_empty() || *place == table) && known.contains_key(*meant)
    });
    if let Some((_, _, meant, advice)) = advice {
        return (format!("unknown key; {advice}"), vec![(*meant).to_owned()]);
    }
    let other = OTHER_NAMES.iter().filter(|(other, key)| *other == lower && known.contains_key(*key));
    let mut near: Vec<&str> = other.map(|(_, key)| *key).collect();
    if near.is_empty() {
        near = nearest(name, known.keys().map(String::as_str));
    }
    let message = match near.is_empty() {
        false => format!("unknown key; did you mean {}?", near.join(" or ")),
        true => {
            let mut all: Vec<&str> = known.keys().map(String::as_str).collect();
            all.sort_by_key(|key| FIRST.iter().position(|one| one == key).unwrap_or(FIRST.len()));
            format!("unknown key; the keys here are {}", listed(&all))
        }
    };
    (message, near.into_iter().map(str::to_owned).collect())
}
