//! Random scenarios for tests, from bytes: one generator for proptest, the fuzzer and Python.
//!
//! A scenario is TOML text, as a user writes it, so one that fails can be printed and run again. Bytes that run out count as zeros, and
//! zero stands for the simplest choice. So a test may shrink the bytes: fewer and smaller ones make a simpler scenario.
//!
//! Queues, controllers and the options of a flow are drawn from the JSON Schema and the registry of controllers. A new one needs no line
//! here, unless a key needs a range of its own; these stand in [`Draw::value`].

use std::sync::LazyLock;

use arbitrary::Unstructured;
use bentpipe_cc::registry::{self, Kind};
use serde_json::{Map, Value, json};

/// The scenario that `bytes` stand for, as TOML. A few are invalid, because their values do not fit together.
///
/// The first byte, modulo 4, chooses a regime:
///
/// - 0: any link, any queue, any loss and any options, anywhere in their ranges;
/// - 1: chains of drop-tail links, which flows with few options share;
/// - 2: all times are whole milliseconds, so that many events fall on one instant;
/// - 3: packets take no time or a nanosecond, and so do many links.
///
/// `losses` is the file that loss models of kind "trace" and opportunities name: whole numbers that increase, one a line. Beside it stand
/// the time lines `time_line.csv` and `delays.csv`.
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
    "ack_jitter", "ack_path", "cc", "count", "extra_delay", "max_rto", "name", "path", "priority", "start", "start_jitter",
    "stop", "traffic",
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
    /// The least delay of all links, in the unit of the regime. Above zero, every hop takes time.
    least_delay: u64,
    /// Every transfer has an end, so that links may be of any rate.
    finite: bool,
    losses: &'a str,
}

impl Draw<'_> {
    /// From 0 to `most`.
    fn to(&mut self, most: u64) -> u64 {
        self.bytes.int_in_range(0..=most).unwrap_or(0)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.to(n - 1) == n - 1 && n > 1
    }

    /// From 0 to 1, often one of these two.
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
            }
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

    fn link(&mut self) -> Value {
        let mut link = self.place();
        link["rate"] = self.rate();
        link["queue"] = self.queue();
        link["loss"] = self.losses();
        if self.to(3) > 0 {
            let mut back = json!({});
            for key in ["rate", "delay", "queue", "loss"] {
                if self.to(3) > 0 {
                    back[key] = match key {
                        "rate" => self.rate(),
                        "delay" => self.delay(),
                        "queue" => self.queue(),
                        _ => self.losses(),
                    };
                }
            }
            link["reverse"] = back;
        }
        // What changes sends at any time.
        let moves = self.one_in(3);
        if moves {
            self.moves(&mut link);
        }
        self.link_layer(&mut link, !moves);
        if link["reverse"].is_object() {
            let back_moves = self.one_in(6);
            if back_moves {
                self.moves(&mut link["reverse"]);
            }
            if self.one_in(2) {
                self.link_layer(&mut link["reverse"], !moves && !back_moves);
            }
        }
        link
    }

    /// Keys of a link layer for one direction.
    fn link_layer(&mut self, direction: &mut Value, may_wait: bool) {
        if may_wait && self.one_in(self.by([4, 15, 8, 8])) {
            if self.one_in(2) {
                direction["opportunities"] = json!(self.losses);
            } else {
                direction["access"] = self.access();
            }
            // Each packet waits, so the queue needs room.
            if direction["queue"]["limit"].as_str().is_none_or(|limit| limit.starts_with("0 ")) {
                direction["queue"] = json!({ "kind": "drop-tail", "limit": "9 packets" });
            }
        }
        if self.one_in(self.by([5, 10, 8, 8])) {
            direction["arq"] = self.arq();
        }
        if self.one_in(self.by([5, 10, 8, 8])) {
            let keep = if self.one_in(2) { json!({ "keep": 1 + self.to(3) }) } else { json!({}) };
            direction["ack_thinning"] = keep;
        }
    }

    /// Slots that carry a byte or more at most rates.
    fn access(&mut self) -> Value {
        let slots = 1 + self.to(9);
        let cra = if self.one_in(2) { self.to(slots) } else { 0 };
        let mut access = json!({ "kind": "dama", "slots": slots, "cra": cra, "frame": self.time(10, [50, 50, 10, 9_000]) });
        if self.one_in(3) {
            access["vbdc"] = json!(self.to(slots - cra));
        }
        if self.one_in(3) {
            access["free"] = json!(self.to(3));
        }
        if self.one_in(2) {
            access["grant_delay"] = self.time(0, [600, 600, 20, 9_000]);
        }
        access
    }

    fn arq(&mut self) -> Value {
        let mut arq = json!({ "tries": 1 + self.to(5) });
        if self.one_in(2) {
            arq["round_trip"] = self.time(0, [600, 100, 5, 9_000]);
        }
        if self.one_in(2) {
            arq["in_order"] = json!(self.one_in(2));
        }
        arq
    }

    /// Lets the rate, the delay or the losses of a direction change, or its path change hands.
    fn moves(&mut self, link: &mut Value) {
        match self.to(5) {
            0 => {
                link["rate"] = self.steps(|draw| if draw.one_in(4) { json!("0 bit/s") } else { draw.rate() })
            }
            1 if link["delay"].is_string() => link["delay"] = self.steps(Self::delay),
            2 => link["timeline"] = self.file("delays.csv"),
            3 => {
                link["timeline"] = self.file("time_line.csv");
                link["loss"] =
                    if self.one_in(2) { json!([]) } else { json!({ "kind": "bit-error", "rate": 0.0 }) };
            }
            _ => {}
        }
        if link["timeline"].is_null() && self.one_in(3) {
            link["up"] = self.steps(|draw| json!(!draw.one_in(3)));
        }
        if self.one_in(2) {
            link["nominal"] = json!({ "rate": self.rate(), "delay": self.delay() });
        }
        if self.one_in(4) {
            link["reorder"] = json!(true);
        }
        if self.to(3) > 0 {
            let mut handover = json!({
                "in_flight": self.pick(&["delivered", "lost"]), "queue": self.pick(&["kept", "flushed"]),
            });
            if self.one_in(2) {
                handover["every"] = self.time(20, [2_000, 1_000, 100, 90_000]);
                handover["first"] = self.time(0, [2_000, 1_000, 100, 90_000]);
            }
            if self.one_in(3) {
                let at = self.to(3);
                handover["at"] = (0..at).map(|_| self.time(0, [3_000, 2_000, 500, 100_000])).collect();
            }
            if self.one_in(2) {
                handover["outage"] = self.time(0, [700, 300, 9, 20_000]);
            }
            link["handover"] = handover;
        }
    }

    /// A few instants, the first 0, and a value at each.
    fn steps(&mut self, mut value: impl FnMut(&mut Self) -> Value) -> Value {
        let (mut at, mut list) = (0, Vec::new());
        for _ in 0..=self.to(5) {
            list.push(json!([self.span(at), value(self)]));
            at += 1 + self.to(self.by([1_500, 1_000, 40, 50_000]));
        }
        json!(list)
    }

    /// A time line file, which stands beside that of the losses.
    fn file(&mut self, name: &str) -> Value {
        let file = std::path::Path::new(self.losses).with_file_name(name);
        let mut table =
            json!({ "file": file, "repeat": self.one_in(2), "delay": self.pick(&["lines", "steps"]) });
        if self.one_in(3) {
            table["offset"] = self.time(0, [2_900, 2_900, 2_900, 1_000_000]);
        }
        table
    }

    /// A delay, or stations and a satellite that they see.
    fn place(&mut self) -> Value {
        match self.to(self.by([10, 0, 0, 0])) {
            0..=7 => json!({ "delay": self.delay() }),
            8 => {
                json!({ "from": "shanghai", "to": "here", "satellite": { "geo": format!("{}E", 60 + self.to(60)) } })
            }
            9 => {
                json!({ self.pick(&["from", "to"]): "singapore", "satellite": { "geo": "100E", "min_elevation": 30 } })
            }
            _ => json!({ "from": "london", "satellite": { "geo": "100E", "min_elevation": -90 } }),
        }
    }

    fn delay(&mut self) -> Value {
        let more = match self.regime {
            Regime::Any => match self.to(7) {
                0..=3 => self.pick(&[0, 1, 20, 270]),
                _ => return json!(format!("{} us", self.least_delay + self.to(400_000))),
            },
            Regime::Chain => self.to(60),
            Regime::Milliseconds => self.to(3),
            Regime::Nanoseconds => self.pick(&[0, 0, 1, 1_000, 9_000]),
        };
        self.span(self.least_delay + more)
    }

    /// In [`Regime::Chain`] most packets take a whole number of nanoseconds, in [`Regime::Milliseconds`] 1500 bytes take 1 to 4 ms.
    fn rate(&mut self) -> Value {
        let kbps = match self.regime {
            Regime::Any => match self.to(9) {
                8 => return json!(format!("{} bit/s", 1 + self.to(999))),
                9 if self.finite => 1_000_000_000,
                _ => 10 + self.to(20_000),
            },
            Regime::Chain => match self.to(12) {
                0..=7 => self.pick(&[800, 1_000, 1_250, 1_600, 100_000]),
                8 => 100,
                9 if self.finite => 1_000_000_000,
                _ => 200 + self.to(29_800),
            },
            Regime::Milliseconds => self.pick(&[12_000, 12_000, 6_000, 4_000, 3_000]),
            Regime::Nanoseconds => 1_000 * self.pick(&[1_000_000, 9_000, 100_000, 10_000_000, 1_000, 12]),
        };
        json!(format!("{kbps} kbit/s"))
    }

    /// A queue of any kind; outside [`Regime::Any`] mostly drop-tail.
    fn queue(&mut self) -> Value {
        let kinds = SCHEMA["$defs"]["Queue"]["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
        let plain = self.regime != Regime::Any && self.to(self.by([0, 5, 2, 4])) > 0;
        let chosen = &kinds[if plain { 0 } else { self.to(kinds.len() as u64 - 1) as usize }];
        let kind = &chosen["properties"]["kind"]["const"];
        let mut queue = json!({ "kind": kind });
        for (key, schema) in properties(chosen) {
            match key {
                "kind" => {}
                // Other kinds need room.
                "limit" if kind == "drop-tail" || kind == "priority" => queue[key] = self.room(0),
                "limit" => queue[key] = self.room(5),
                // With the default number of bands a flow's priority may be refused.
                "bands" => queue[key] = self.value(key, schema),
                // The default is longer than the intervals of short scales.
                "target" if self.regime != Regime::Any => queue[key] = self.value(key, schema),
                _ if self.one_in(2) => queue[key] = self.value(key, schema),
                _ => {}
            }
        }
        queue
    }

    /// The size of a queue, at least this number of packets.
    fn room(&mut self, packets: u64) -> Value {
        json!(match self.to(9) {
            6 | 7 => format!("{} bytes", 1_500 * packets + self.to(self.by([60_000, 40_000, 30_000, 3_000]))),
            8 => format!("{} bdp", 0.1 + 3.0 * self.part()),
            9 => "1000 packets".to_owned(),
            _ => format!("{} packets", packets + self.to(self.by([60, 40, 20, 30]))),
        })
    }

    fn losses(&mut self) -> Value {
        let number = match self.regime {
            Regime::Any => self.pick(&[0, 1, 0, 1, 2]),
            _ => u64::from(self.one_in(5)),
        };
        (0..number).map(|_| self.loss()).collect()
    }

    fn loss(&mut self) -> Value {
        let most = self.by([1.0, 0.1, 0.1, 0.1]);
        match self.to(6) {
            0 | 1 => json!({ "kind": "packet-error", "rate": self.part() * most }),
            2 => json!({ "kind": "bit-error", "rate": self.part() * self.by([1e-4, 1e-5, 1e-5, 1e-3]) }),
            3 => json!({
                "kind": "gilbert-elliott", "p": self.part() * most, "r": self.part(), "good_loss": self.part() * 0.1 * most,
                "bad_loss": self.part(),
            }),
            4 => json!({
                "kind": "outage", "every": self.time(1_000, [3_000, 3_000, 1_000, 300_000]),
                "length": self.time(1, [900, 900, 90, 900]), "first": self.time(0, [2_000, 2_000, 1_000, 100_000]),
            }),
            5 => {
                let from = self.to(self.by([3_000, 3_000, 1_000, 100_000]));
                let to = from + 1 + self.to(self.by([2_000, 1_000, 90, 50_000]));
                json!({ "kind": "outage", "from": self.span(from), "to": self.span(to) })
            }
            _ => json!({ "kind": "trace", "file": self.losses }),
        }
    }

    fn flow(&mut self, links: &[&str]) -> Value {
        let mut flow = if self.one_in(6) { json!({ "traffic": self.cbr() }) } else { self.tcp(links) };
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
        flow
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

    /// Packets at a constant rate; 2,500 a second or fewer in the regimes without a rate of their own.
    fn cbr(&mut self) -> Value {
        match self.regime {
            Regime::Milliseconds => json!({ "kind": "cbr", "rate": "6000 kbit/s", "packet": "1500 bytes" }),
            Regime::Nanoseconds => json!({
                "kind": "cbr", "rate": "1 Tbit/s", "packet": self.bytes(1, 60), "on": "100 ns", "off": "99 us",
            }),
            _ => {
                let size = 1 + self.to(3_000);
                let rate = format!("{} bit/s", 1 + self.to(20_000 * size));
                let mut cbr = json!({ "kind": "cbr", "rate": rate, "packet": format!("{size} bytes") });
                if self.one_in(2) {
                    cbr["on"] = self.time(1, [900, 900, 0, 0]);
                    cbr["off"] = self.time(0, [900, 900, 0, 0]);
                }
                cbr
            }
        }
    }

    fn tcp(&mut self, links: &[&str]) -> Value {
        let mut flow =
            json!({ "cc": self.controller(), "profile": self.by(["modern", "paper", "paper", "paper"]) });
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

    /// Makes options fit together that were drawn one by one.
    fn reconcile(&mut self, flow: &mut Value) {
        if let Some(least) =
            flow["min_rto"].as_str().and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
        {
            flow["max_rto"] = self.time(least, [100_000, 10_000, 1_000, 100_000]);
        }
        if flow["spurious"] == "eifel" {
            flow["timestamps"] = json!(true);
        }
        let sack = flow["recovery"].as_str().is_none_or(|recovery| recovery == "sack");
        let (delayed, ecn) = (flow["delayed_ack"] == true, flow["ecn"] == true);
        let bounded = !flow["receive_window"].is_null();
        let leads = !flow["hint_lead"].is_null();
        if let Value::Object(flow) = flow {
            flow.retain(|key, value| match key.as_str() {
                "rack" | "tlp" | "dsack" => sack,
                "newreno_exit" => !sack,
                "delayed_ack_timeout" => delayed,
                "ect1" => ecn,
                "read_rate" => bounded && !value.is_null(),
                "hint_delay" => !leads,
                _ => !value.is_null(),
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
        // Without HyStart++ its constants are refused.
        if entry.refuses_hystart().is_none() && self.given() {
            table["slow_start"] = json!("hystart++");
            for param in entry.parameters().filter(|param| param.name.starts_with("hystart_")) {
                if self.one_in(4) {
                    table[param.name] = self.argument(param.kind);
                }
            }
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

    /// A value for a key of a queue or a flow. It follows the schema, unless a narrower range is of more use.
    fn value(&mut self, key: &str, schema: &Value) -> Value {
        match key {
            "min" => json!(0.4 * self.part()),
            "max" => json!(0.5 + 0.5 * self.part()),
            "bands" => json!(3 + self.to(2)),
            "target" => self.time(1, [49, 49, 2, 3_000]),
            // Longer than any target.
            "interval" => self.time(self.by([51, 51, 4, 3_001]), [250, 250, 16, 20_000]),
            "update" => json!(format!("{} ms", 1 + self.to(19))),
            "mss" => self.bytes(1, 9_000),
            "header" => self.bytes(0, 80),
            "ack_size" => self.bytes(1, 1_500),
            "initial_window" | "initial_ssthresh" => json!(2 + self.to(98)),
            "recovery" => json!(self.pick(&["sack", "sack", "newreno", "reno"])),
            "initial_rto" | "min_rto" => self.time(1, [3_000, 3_000, 200, 100_000]),
            "granularity" => json!(format!("{} us", 1 + self.to(499))),
            _ => self.by_schema(schema),
        }
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

/// The keys of a table, with the schema of each.
fn properties(table: &Value) -> impl Iterator<Item = (&str, &Value)> {
    table["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
        .map(|(key, schema)| (key.as_str(), schema))
}
