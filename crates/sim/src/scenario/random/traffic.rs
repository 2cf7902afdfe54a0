//! Random traffic.

use serde_json::{Value, json};

use super::{Draw, Regime};

impl Draw<'_> {
    /// Packets at a constant rate; 2,500 a second or fewer in the regimes without a rate of their own.
    pub(super) fn cbr(&mut self) -> Value {
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

    /// An application that does not always have data to send, with transfers of about `size` bytes.
    pub(super) fn application(&mut self, size: u64) -> Value {
        let size = size / 8 + 1;
        // Where a round trip may take no time, a pause has to. Elsewhere, pauses of no time make very many small packets.
        let least = u64::from(self.finite || !self.one_in(8));
        match self.to(4) {
            0 => {
                if self.regime != Regime::Nanoseconds && self.one_in(4) {
                    // A link may have any rate, and so few connections at most.
                    let size = self.transfer(size + 20_000);
                    return json!({ "kind": "short-flows", "load": 1e-5, "size": size });
                }
                let often = self.by([3.0, 3.0, 10.0, 10_000.0]) * self.part();
                json!({ "kind": "short-flows", "per_second": often.max(1e-3), "size": self.transfer(size) })
            }
            1 => {
                let mut on_off = json!({ "kind": "on-off", "off": self.length(least) });
                if !self.finite && self.one_in(2) {
                    on_off["on"] = self.length(1);
                } else {
                    on_off["size"] = self.transfer(size);
                }
                on_off
            }
            2 => self.web(size, least),
            3 => self.video(size),
            _ => {
                let mut requests = json!({ "kind": "requests", "response": self.transfer(size) });
                if self.one_in(2) {
                    requests["request"] = self.bytes(1, 4_000);
                }
                if self.one_in(2) {
                    requests["every"] = self.time(1, [3_000, 2_000, 30, 90_000]);
                } else {
                    requests["think"] = self.length(least);
                }
                requests
            }
        }
    }

    /// A browser. Its sizes are always given, since those of the model may be millions of segments.
    fn web(&mut self, size: u64, least: u64) -> Value {
        let (main, embedded) = (self.transfer(size), self.transfer(size));
        let mut web =
            json!({ "kind": "web", "main": main, "embedded": embedded, "reading": self.length(least) });
        web["parsing"] = self.length(0);
        web["objects"] = match self.to(2) {
            0 => json!(self.to(9)),
            _ => json!({ "kind": "pareto-count", "least": 1.5, "shape": 0.5 + self.part(), "most": 9.0 }),
        };
        if self.one_in(2) {
            web["connections"] = json!(1 + self.to(5));
        }
        if self.one_in(2) {
            web["request"] = self.bytes(1, 4_000);
        }
        web
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

    /// A length of time, fixed or random, from `least` on.
    fn length(&mut self, least: u64) -> Value {
        let time = self.time(least, [3_000, 2_000, 30, 90_000]);
        if self.one_in(3) { json!({ "kind": "exponential", "mean": time }) } else { time }
    }

    /// Sizes of transfers around `size`.
    fn transfer(&mut self, size: u64) -> Value {
        let text = |size: u64| json!(format!("{size} bytes"));
        match self.to(7) {
            0..=2 => text(size),
            3 => json!({ "kind": "exponential", "mean": text(size) }),
            4 => {
                let shape = 0.1 + 4.0 * self.part();
                json!({ "kind": "pareto", "least": text(size), "shape": shape, "most": text(9 * size) })
            }
            5 => {
                let sigma = 1.5 * self.part();
                let mut law = json!({ "kind": "log-normal", "median": text(size), "sigma": sigma });
                if self.one_in(2) {
                    law["least"] = text(size / 2);
                    law["most"] = text(2 * size);
                }
                law
            }
            6 => {
                let mut list = json!({ "kind": "list", "sizes": [text(size), text(1), text(3 * size)] });
                if self.one_in(2) {
                    list["weights"] = json!([self.part(), 0.5, self.part()]);
                }
                list
            }
            _ => json!({ "kind": "file", "file": self.losses }),
        }
    }
}
