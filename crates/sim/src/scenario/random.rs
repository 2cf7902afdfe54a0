//! Random scenarios for tests, from bytes: one generator for proptest, the fuzzer and Python.
//!
//! A scenario is TOML text, as a user writes it, so a failing one can be printed and run again. Bytes beyond
//! the end count as zeros, and zero means the simplest choice. A test may therefore shrink the bytes: fewer
//! and smaller ones make a simpler scenario.
//!
//! Queues, loss models, access, traffic, controllers and the options of a flow are drawn from the JSON Schema
//! and the registry of controllers. A new one needs no line here, unless a key needs a range of its own; such
//! ranges are in [`Draw::value`].

mod links;
mod traffic;

use std::sync::LazyLock;

use arbitrary::Unstructured;
use bentpipe_cc::registry::{self, Kind, Marks};
use bentpipe_tcp::{LossRecovery, Options};
use serde_json::{Map, Value, json};

use crate::resolve::options::asked_for;

/// The scenario that `bytes` encode, as TOML. A few are invalid, because their values do not fit together.
///
/// The first byte, modulo 4, chooses a regime:
///
/// - 0: any link, any queue, any loss and any options, anywhere in their ranges;
/// - 1: chains of drop-tail links, which flows with few options share;
/// - 2: all times are whole milliseconds, so that many events fall on one instant;
/// - 3: packets take no time or a nanosecond, and so do many links.
///
/// `losses` is the file that loss models of kind "trace" and opportunities name: increasing whole numbers,
/// one per line. The time lines `time_line.csv` and `delays.csv` are next to it.
pub fn random_scenario(bytes: &[u8], losses: &str) -> String {
    let mut bytes = Unstructured::new(bytes);
    let regime = [Regime::Any, Regime::Chain, Regime::Milliseconds, Regime::Nanoseconds]
        [bytes.int_in_range(0..=3).unwrap_or(0)];
    let mut draw = Draw { bytes, regime, least_delay: 0, finite: true, losses };
    toml::to_string(&draw.scenario()).expect("a tree that TOML can hold")
}

/// Options of a flow drawn by [`Draw::flow`] and [`Draw::tcp`], and not from the schema.
#[rustfmt::skip]
const OF_FLOW: &[&str] = &[
    "ack_jitter", "ack_path", "both_ways", "cc", "count", "extra_delay", "max_rto", "name", "opportunistic", "path",
    "priority", "relay", "scheduler", "start", "start_jitter", "stop", "subflow", "traffic",
];
/// Controllers whose window has a bound where acknowledgements come together.
const BOUNDED: [&str; 5] = ["reno", "reno", "cubic", "vegas", "bbr"];

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&crate::schema()).expect("the schema is JSON"));

/// The regime of a scenario; see [`random_scenario`].
#[derive(Clone, Copy, PartialEq)]
enum Regime {
    Any,
    Chain,
    Milliseconds,
    Nanoseconds,
}

/// Draws the parts of one scenario.
struct Draw<'a> {
    bytes: Unstructured<'a>,
    regime: Regime,
    /// The least delay of all links, in the unit of the regime. If it is above zero, every hop takes time.
    least_delay: u64,
    /// True if every transfer has an end, so that links may be of any rate.
    finite: bool,
    losses: &'a str,
}

impl Draw<'_> {
    /// A number from 0 to `most`.
    fn to(&mut self, most: u64) -> u64 {
        self.bytes.int_in_range(0..=most).unwrap_or(0)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.to(n - 1) == n - 1 && n > 1
    }

    /// A number from 0 to 1, often one of these two.
    fn part(&mut self) -> f64 {
        match self.to(255) {
            0..=9 => 0.0,
            246.. => 1.0,
            _ => self.to(65_535) as f64 / 65_535.0,
        }
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.to(all.len() as u64 - 1) as usize]
    }

    /// The element for the regime.
    fn by<T: Copy>(&self, each: [T; 4]) -> T {
        each[self.regime as usize]
    }

    /// Is an optional key given?
    fn given(&mut self) -> bool {
        self.one_in(self.by([2, 12, 12, 12]))
    }

    /// This many milliseconds or, in [`Regime::Nanoseconds`], nanoseconds.
    fn span(&self, number: u64) -> Value {
        json!(format!("{number} {}", self.by(["ms", "ms", "ms", "ns"])))
    }

    /// A time from `least` to `least` plus `more` of the regime.
    fn time(&mut self, least: u64, more: [u64; 4]) -> Value {
        let number = least + self.to(self.by(more));
        self.span(number)
    }

    fn bytes(&mut self, least: u64, most: u64) -> Value {
        json!(format!("{} bytes", least + self.to(most - least)))
    }

    fn scenario(&mut self) -> Value {
        let mut tree = json!({
            "seed": self.to(u64::from(u16::MAX)),
            "duration": self.time(1, [12_000, 8_000, 2_000, 1_000_000]),
            "station": { "here": { "lat": 1.3, "lon": 103.8 } },
        });
        self.least_delay = self.to(1);
        self.finite = self.regime == Regime::Nanoseconds || self.one_in(4);
        let names = &["a", "b", "c", "d"][..=self.to(self.by([3, 7, 3, 3])).min(3) as usize];
        let tables = self.pick(&[1, 2, 1, 3, 1, 2, 3, 4]);
        tree["flow"] = (0..tables).map(|_| self.flow(names)).collect();
        for name in names {
            tree["link"][name] = self.link();
        }
        match self.to(7) {
            0 => {}
            1 => tree["record"] = json!({ "interval": "change" }),
            2 => tree["record"] = json!({ "interval": "change", "segments": true }),
            3 => tree["record"] = json!({ "interval": self.interval(), "segments": true }),
            _ => {
                let (flows, links) = (!self.one_in(4), !self.one_in(4));
                tree["record"] = json!({ "interval": self.interval(), "flows": flows, "links": links });
                if self.one_in(2) {
                    tree["record"]["transfers"] = json!(true);
                }
            }
        }
        if !tree["record"].is_null() && self.one_in(2) {
            tree["record"]["probes"] = json!(true);
        }
        tree
    }

    /// Time between two samples.
    fn interval(&mut self) -> Value {
        match self.regime {
            Regime::Nanoseconds => json!("1 us"),
            _ => self.time(1, [300, 300, 3, 0]),
        }
    }

    fn flow(&mut self, links: &[&str]) -> Value {
        let mut flow = if self.one_in(6) { json!({ "traffic": self.datagrams() }) } else { self.tcp(links) };
        let (start, jitter) =
            (self.to(self.by([1_500, 1_000, 4, 2])), self.to(self.by([1_000, 1_000, 0, 0])));
        flow["path"] = self.path(links);
        flow["count"] = json!(1 + self.to(3));
        flow["start"] = self.span(start);
        flow["start_jitter"] = self.span(jitter);
        if self.one_in(4) {
            // A flow that stops before it starts is refused.
            let length = 1 + self.to(self.by([9_000, 5_000, 1_500, 500_000]));
            flow["stop"] = self.span(start + jitter + length);
        }
        if self.one_in(self.by([2, 5, 5, 5])) {
            flow["extra_delay"] = self.time(0, [60, 20, 3, 1]);
        }
        if self.one_in(3) {
            flow["priority"] = json!(self.to(2));
        }
        self.relay(&mut flow);
        self.subflows(&mut flow, links);
        self.both_ways(&mut flow);
        flow
    }

    /// Further subflows of a flow that may have some, now and then.
    fn subflows(&mut self, flow: &mut Value, links: &[&str]) {
        let bulk = matches!(flow["traffic"]["kind"].as_str(), None | Some("bulk"));
        if flow["cc"].is_null() || !flow["relay"].is_null() || !bulk || !self.one_in(3) {
            return;
        }
        let joined = 1 + self.to(2);
        flow["subflow"] = (0..joined)
            .map(|_| {
                let mut subflow = json!({ "path": self.path(links) });
                if self.one_in(2) {
                    subflow["cc"] = json!(self.pick(&["lia", "olia", "balia", "reno", "cubic"]));
                }
                if self.one_in(4) {
                    subflow["ack_path"] = self.path(links);
                }
                subflow
            })
            .collect();
        if self.one_in(2) {
            flow["scheduler"] = json!(self.pick(&["round-robin", "min-rtt"]));
        }
        if !flow["receive_window"].is_null() && self.one_in(2) {
            flow["opportunistic"] = json!(true);
        }
        if let Value::Object(flow) = flow {
            flow.remove("read_rate");
        }
    }

    /// Data in the other direction, too, now and then.
    fn both_ways(&mut self, flow: &mut Value) {
        let bulk = matches!(flow["traffic"]["kind"].as_str(), None | Some("bulk"));
        let carries = registry::find(flow["cc"]["name"].as_str().unwrap_or_default())
            .is_none_or(|entry| entry.sender.header > 0 || entry.sender.queue.is_some());
        if !bulk || carries || !flow["relay"].is_null() || !flow["subflow"].is_null() || !self.one_in(4) {
            return;
        }
        let mut back = json!({ "cc": self.pick(&BOUNDED) });
        if self.finite || self.one_in(2) {
            let size = 1 + self.to(self.by([400_000, 1_000_000, 90_000, 3_000]));
            back["size"] = json!(format!("{size} bytes"));
        }
        // A SNACK does not ride on data.
        flow["snack"] = json!(false);
        flow["both_ways"] = if self.one_in(3) { json!(true) } else { back };
        if let Value::Object(flow) = flow {
            flow.remove("read_rate");
            flow.remove("snack_vector");
        }
    }

    /// A relay on a path that has a place for it, now and then.
    fn relay(&mut self, flow: &mut Value) {
        let places = flow["path"].as_array().map_or(0, Vec::len) as u64;
        if places < 2 || flow["cc"].is_null() || !self.one_in(3) {
            return;
        }
        let at = flow["path"][self.to(places - 2) as usize].clone();
        // Room for a segment, whatever its size.
        let buffer = self.by([9_000, 1_460, 1_460, 60]);
        let mut relay = json!({ "at": at, "buffer": self.bytes(buffer, 60 * buffer) });
        if self.one_in(2) {
            relay["cc"] = json!(self.pick(&BOUNDED));
        }
        if self.one_in(3) {
            relay["initial_window"] = json!(1 + self.to(30));
        }
        flow["relay"] = relay;
        if let Value::Object(flow) = flow {
            flow.remove("ack_path");
        }
    }

    /// Different links, at least one, in any order; some are crossed in the reverse direction.
    fn path(&mut self, links: &[&str]) -> Value {
        let first =
            if self.one_in(self.by([1, 3, 2, 2])) { 0 } else { self.to(links.len() as u64 - 1) as usize };
        let around = links.iter().cycle().skip(first).take(links.len());
        let leave_out = self.by([2, 8, 2, 2]);
        let mut path: Vec<&str> =
            around.enumerate().filter(|(i, _)| *i == 0 || !self.one_in(leave_out)).map(|(_, l)| *l).collect();
        if self.one_in(self.by([2, 8, 2, 2])) {
            path.reverse();
        }
        let other_way = self.one_in(4);
        let mut name = |link: &str| {
            let reverse = other_way != self.one_in(8);
            if reverse { format!("{link}/reverse") } else { link.to_owned() }
        };
        json!(path.into_iter().map(&mut name).collect::<Vec<_>>())
    }

    fn tcp(&mut self, links: &[&str]) -> Value {
        let mut flow =
            json!({ "cc": self.controller(), "profile": self.by(["modern", "paper", "paper", "paper"]) });
        if self.one_in(8) {
            flow["profile"] = json!("scps");
        }
        for (key, schema) in properties(&SCHEMA["$defs"]["Flow"]) {
            if !OF_FLOW.contains(&key) && self.given() {
                flow[key] = self.value(key, schema);
            }
        }
        let mut size = 1 + self.to(self.by([400_000, 1_000_000, 90_000, 3_000]));
        match self.regime {
            Regime::Any => {}
            Regime::Chain => flow["initial_window"] = json!(1 + self.to(59)),
            // Acknowledgements take as long as data.
            Regime::Milliseconds => {
                (flow["mss"], flow["header"], flow["ack_size"]) =
                    (json!("1460 bytes"), json!("40 bytes"), json!("1500 bytes"));
            }
            Regime::Nanoseconds => {
                let (mss, window) = (1 + self.to(59), 2 + self.to(38));
                size *= mss;
                flow["mss"] = json!(format!("{mss} bytes"));
                flow["ack_size"] = flow["mss"].clone();
                flow["header"] = self.bytes(0, 60);
                flow["initial_window"] = json!(window);
                flow["receive_window"] = json!(format!("{window} segments"));
            }
        }
        if self.finite || self.one_in(self.by([2, 7, 4, 0])) {
            flow["traffic"] = json!({ "kind": "bulk", "size": format!("{size} bytes") });
        }
        if self.one_in(4) {
            flow["traffic"] = self.application(size);
        }
        if self.one_in(4) {
            flow["ack_path"] = self.path(links);
        }
        if self.one_in(self.by([2, 6, 16, 6])) {
            flow["ack_jitter"] = self.time(0, [30, 9, 3, 9]);
        }
        if self.regime != Regime::Any && !BOUNDED.iter().any(|id| flow["cc"]["name"] == *id) {
            flow["receive_window"] = json!(format!("{} segments", 1 + self.to(400)));
        }
        self.reconcile(&mut flow);
        flow
    }

    /// Makes options that were drawn one by one fit together.
    fn reconcile(&mut self, flow: &mut Value) {
        if let Some(least) =
            flow["min_rto"].as_str().and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
        {
            flow["max_rto"] = self.time(least, [100_000, 10_000, 1_000, 100_000]);
        }
        if flow["spurious"] == "eifel" {
            flow["timestamps"] = json!(true);
        }
        let l4s = registry::find(flow["cc"]["name"].as_str().unwrap_or_default())
            .is_some_and(|entry| entry.sender.marks == Marks::L4s);
        if flow["ecn"] == "accecn" || (flow["ecn"].is_null() && l4s) {
            flow["snack"] = json!(false); // there is no room for both
        }
        let options = asked_for_by(flow);
        let lacks =
            |key: &str| Options::NEEDS.iter().any(|(name, need)| *name == key && !need.holds(&options));
        let newreno = options.recovery == LossRecovery::NewReno;
        let delayed = flow["delayed_ack"] == true;
        let bounded = !flow["receive_window"].is_null();
        let validates = flow["cc"]["window_validation"] == "newcwv";
        let leads = !flow["hint_lead"].is_null();
        if let Value::Object(flow) = flow {
            flow.retain(|key, value| match key.as_str() {
                "snack" => (newreno || *value == false) && !value.is_null(),
                "snack_vector" => options.snack.is_some(),
                "delayed_ack_timeout" => delayed,
                "read_rate" => bounded && !value.is_null(),
                "hint_delay" => !leads,
                "idle_restart" => !validates && !value.is_null(),
                _ => !value.is_null() && !lacks(key),
            });
        }
    }

    /// A registered algorithm; parameters are anywhere in their ranges.
    fn controller(&mut self) -> Value {
        let any = if self.regime == Regime::Any { self.to(15) > 0 } else { self.one_in(3) };
        if !any {
            return json!({ "name": self.pick(&BOUNDED) });
        }
        let all = registry::all();
        let entry = &all[self.to(all.len() as u64 - 1) as usize];
        let mut table = json!({ "name": entry.id });
        for param in entry.params {
            if self.given() {
                table[param.name] = self.argument(param.kind);
            }
        }
        if self.one_in(8) {
            table["path_change"] = json!("reset");
        }
        // Constants are refused without the choice with which they go.
        let choices = entry.offered().find(|param| param.name == "slow_start").map(|param| param.kind);
        if let Some(kind) = choices
            && self.given()
        {
            table["slow_start"] = self.argument(kind);
            for param in entry.offered() {
                let goes = |(of, choice): (&str, &str)| table[of] == json!(choice);
                if param.goes_with.is_some_and(goes) && self.one_in(4) {
                    table[param.name] = self.argument(param.kind);
                }
            }
        }
        if entry.refuses_resume().is_none() && self.one_in(6) {
            table["resume_cwnd"] = json!(1 + self.to(3000));
            table["resume_rtt"] = json!(0.001 + self.part());
        }
        if entry.refuses_resume().is_none() && self.one_in(6) {
            table["window_validation"] = json!("newcwv");
        }
        table
    }

    fn argument(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Number { min, max, .. } => json!((min + self.part() * (max - min)).clamp(min, max)),
            Kind::Flag { .. } => json!(self.one_in(2)),
            Kind::Choice(names) => json!(self.pick(names)),
        }
    }

    /// A value for a key of a queue or a flow. It follows the schema, unless a narrower range is more useful.
    fn value(&mut self, key: &str, schema: &Value) -> Value {
        match key {
            "ecn" if schema["type"].is_null() => self.pick_value(&[
                json!(false),
                json!(true),
                json!("rfc3168"),
                json!("dctcp"),
                json!("accecn"),
            ]),
            "min" => json!(0.4 * self.part()),
            "max" => json!(0.5 + 0.5 * self.part()),
            "bands" => json!(3 + self.to(2)),
            "target" => self.time(1, [49, 49, 2, 3_000]),
            // Longer than any target.
            "interval" => self.time(self.by([51, 51, 4, 3_001]), [250, 250, 16, 20_000]),
            "update" => json!(format!("{} ms", 1 + self.to(19))),
            "snack_vector" => json!(self.to(16)),
            "mss" => self.bytes(1, 9_000),
            "header" => self.bytes(0, 80),
            "ack_size" => self.bytes(1, 1_500),
            "initial_window" | "initial_ssthresh" => json!(2 + self.to(98)),
            "recovery" => json!(self.pick(&["sack", "sack", "newreno", "reno", "tahoe"])),
            "initial_rto" | "min_rto" => self.time(1, [3_000, 3_000, 200, 100_000]),
            "granularity" => json!(format!("{} us", 1 + self.to(499))),
            _ => self.by_schema(schema),
        }
    }

    fn pick_value(&mut self, among: &[Value]) -> Value {
        among[self.to(among.len() as u64 - 1) as usize].clone()
    }

    /// One of those kinds of a table in the schema that `fit` accepts.
    fn kind(&mut self, table: &str, fit: impl Fn(&Value) -> bool) -> &'static Value {
        let kinds = SCHEMA["$defs"][table]["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
        let kinds: Vec<&Value> = kinds.iter().filter(|kind| fit(kind)).collect();
        self.pick(&kinds)
    }

    /// A table of the kind `of`. `value` gives its keys, and the schema gives those that `value` does not
    /// know.
    fn table(&mut self, of: &'static Value, value: impl Fn(&mut Self, &str) -> Option<Value>) -> Value {
        let mut table = json!({ "kind": kind_of(of) });
        for (key, schema) in properties(of).filter(|(key, _)| *key != "kind") {
            // Without a bound a Pareto law has sizes beyond any run.
            if is_required(of, key) || (key, kind_of(of)) == ("most", "pareto") || self.one_in(2) {
                table[key] = value(self, key).unwrap_or_else(|| self.by_schema(schema));
            }
        }
        table
    }

    fn by_schema(&mut self, schema: &Value) -> Value {
        let kind = schema["type"].as_str().or(schema["type"][0].as_str());
        let (min, max) =
            (schema["minimum"].as_f64().unwrap_or(0.0), schema["maximum"].as_f64().unwrap_or(1e9));
        match (kind, schema["x-quantity"].as_str()) {
            (Some("boolean"), _) => json!(self.one_in(2)),
            (Some("number"), _) => json!(min + self.part() * (max.min(10.0) - min)),
            (Some("integer"), _) => json!(min as u64 + self.to((max.min(20.0) - min) as u64)),
            (_, Some("duration")) => self.time(1, [300, 300, 20, 100_000]),
            (_, Some("size")) => self.bytes(1, 3_000),
            (_, Some("rate")) => self.rate(),
            (_, Some("queue-size")) => self.room(5),
            (_, Some("window-size")) => json!(format!("{} segments", 1 + self.to(199))),
            // One of several names, defined elsewhere in the schema.
            _ => {
                let name = schema["anyOf"][0]["$ref"].as_str().and_then(|path| path.rsplit('/').next());
                let words = &SCHEMA["$defs"][name.unwrap_or_default()]["oneOf"];
                let words = words.as_array().map_or(&[][..], Vec::as_slice);
                words
                    .get(self.to((words.len() as u64).saturating_sub(1)) as usize)
                    .map_or(Value::Null, |w| w["const"].clone())
            }
        }
    }
}

/// The options that a flow asks for, whatever its controller does.
fn asked_for_by(flow: &Value) -> Options {
    let mut flow = flow.clone();
    (flow["cc"], flow["path"]) = (Value::Null, json!([]));
    asked_for(&serde_json::from_value(flow).expect("values by the schema"))
}

/// The name of a kind.
fn kind_of(table: &Value) -> &str {
    table["properties"]["kind"]["const"].as_str().unwrap_or_default()
}

fn is_required(table: &Value, key: &str) -> bool {
    table["required"].as_array().is_some_and(|keys| keys.iter().any(|name| name == key))
}

/// The keys of a table, with the schema of each.
fn properties(table: &Value) -> impl Iterator<Item = (&str, &Value)> {
    table["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
        .map(|(key, schema)| (key.as_str(), schema))
}
