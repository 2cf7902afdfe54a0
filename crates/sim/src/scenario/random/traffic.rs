//! Random traffic.

use serde_json::{Value, json};

use super::{Draw, Regime, is_required, kind_of, properties};

/// Pairs of keys; traffic has exactly one of each pair.
const EITHER: [[&str; 2]; 3] = [["load", "per_second"], ["on", "size"], ["every", "think"]];

impl Draw<'_> {
    /// Datagrams of any kind.
    pub(super) fn datagrams(&mut self) -> Value {
        let chosen = self.kind("Traffic", |of| of["x-carriage"] == "datagrams");
        if kind_of(chosen) == "cbr" { self.cbr() } else { self.traffic(chosen, 1) }
    }

    /// An application that does not always have data to send, or several connections, with
    /// transfers of about `size` bytes.
    pub(super) fn application(&mut self, size: u64) -> Value {
        let chosen = self.kind("Traffic", |of| of["x-carriage"] != "datagrams" && kind_of(of) != "bulk");
        if kind_of(chosen) == "video" { self.video(size / 8 + 1) } else { self.traffic(chosen, size / 8 + 1) }
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

    /// A video, with segments of up to `size` bytes.
    fn video(&mut self, size: u64) -> Value {
        let (length, unit) =
            self.by([(1_000_000_000, "s"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]);
        let several = 1 + self.to(9);
        let most = size * 8_000_000_000 / (several * length) + 2;
        let mut video = json!({ "kind": "video", "segment": format!("{several} {unit}") });
        video["ladder"] = json!([format!("{} bit/s", most / 2), format!("{most} bit/s")]);
        video["buffer"] = json!(format!("{} {unit}", several * (1 + self.to(9))));
        if self.one_in(2) {
            video["length"] = json!(format!("{} {unit}", 1 + self.to(99)));
        }
        if self.one_in(2) {
            video["reservoir"] = json!(format!("{} {unit}", self.to(9)));
            video["cushion"] = json!(format!("{} {unit}", self.to(9)));
        }
        if self.one_in(2) {
            video["startup"] = json!(format!("{several} {unit}"));
        }
        if self.one_in(2) {
            video["request"] = self.bytes(1, 4_000);
        }
        video
    }

    /// Traffic by the schema of its kind, with transfers around `size`. A key that may be a law is always
    /// given, since the default may be millions of segments.
    fn traffic(&mut self, of: &'static Value, size: u64) -> Value {
        let mut traffic = json!({ "kind": kind_of(of) });
        // Where a round trip may take no time, a pause must take some. Elsewhere, pauses of no time make very
        // many small packets.
        let least = u64::from(self.finite || !self.one_in(8));
        // A link may have any rate, and therefore few connections at most.
        let by_load = self.regime != Regime::Nanoseconds && self.one_in(4);
        let size = if by_load && of["properties"]["load"].is_object() { size + 20_000 } else { size };
        let by_time = !self.finite && self.one_in(2);
        let left_out = EITHER.map(|[one, other]| match one {
            "load" if by_load => other,
            "on" if by_time => other,
            "every" if self.one_in(2) => other,
            _ => one,
        });
        for (key, schema) in properties(of) {
            let pair = EITHER.iter().find(|pair| pair.contains(&key));
            let has_pair = pair.is_some_and(|pair| pair.iter().all(|key| of["properties"][key].is_object()));
            let given = match key {
                "kind" => false,
                _ if has_pair => !left_out.contains(&key),
                _ => law_of(schema).is_some() || is_required(of, key) || self.one_in(2),
            };
            if given {
                traffic[key] = match (key, law_of(schema)) {
                    ("load", _) => json!(1e-5),
                    ("per_second", _) => json!((self.by([3.0, 3.0, 10.0, 10_000.0]) * self.part()).max(1e-3)),
                    ("every", _) => self.time(1, [3_000, 2_000, 30, 90_000]),
                    ("connections", _) => json!(1 + self.to(5)),
                    ("request", _) => self.bytes(1, 4_000),
                    // Shorter than most spurts.
                    ("interval", _) => self.time(1, [60, 60, 4, 3_000]),
                    (_, Some("SizeLaw")) => self.transfer(size),
                    ("on", Some(_)) => self.length(1),
                    ("parsing", Some(_)) => self.length(0),
                    (_, Some("LengthLaw")) => self.length(least),
                    (_, Some("CountLaw")) => self.count(),
                    _ => self.value(key, schema),
                };
            }
        }
        traffic
    }

    /// A length of time, fixed or random, from `least` on.
    fn length(&mut self, least: u64) -> Value {
        let time = self.time(least, [3_000, 2_000, 30, 90_000]);
        if self.one_in(3) { self.law("LengthLaw", |_, _| Some(time.clone())) } else { time }
    }

    /// A number of things, fixed or random.
    fn count(&mut self) -> Value {
        if self.one_in(3) {
            return json!(self.to(9));
        }
        self.law("CountLaw", |draw, key| match key {
            "least" => Some(json!(1.5)),
            "shape" => Some(json!(0.5 + draw.part())),
            "most" => Some(json!(9.0)),
            _ => None,
        })
    }

    /// Sizes of transfers around `size`.
    fn transfer(&mut self, size: u64) -> Value {
        let text = |size: u64| json!(format!("{size} bytes"));
        if self.to(7) <= 2 {
            return text(size);
        }
        self.law("SizeLaw", |draw, key| match key {
            "mean" | "median" => Some(text(size)),
            "least" => Some(text(size / 2 + 1)),
            "most" => Some(text(9 * size)),
            "shape" => Some(json!(0.1 + 4.0 * draw.part())),
            "sigma" => Some(json!(1.5 * draw.part())),
            "sizes" => Some(json!([text(size), text(1), text(3 * size)])),
            "weights" => Some(json!([draw.part(), 0.5, draw.part()])),
            "file" => Some(json!(draw.losses)),
            _ => None,
        })
    }

    /// A law of any kind of a table in the schema. `value` gives its keys, and the schema gives those that
    /// `value` does not know.
    fn law(&mut self, table: &str, value: impl Fn(&mut Self, &str) -> Option<Value>) -> Value {
        let of = self.kind(table, |_| true);
        self.table(of, value)
    }
}

/// The table of the laws by which a value may be drawn, if it may.
fn law_of(schema: &Value) -> Option<&str> {
    let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    let each = schema["anyOf"].as_array().into_iter().flatten();
    name.filter(|name| name.ends_with("Law")).or_else(|| each.filter_map(law_of).next())
}
