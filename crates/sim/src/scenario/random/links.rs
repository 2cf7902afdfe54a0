//! The links of a random scenario.

use serde_json::{Value, json};

use super::{Draw, Regime, kind_of, properties};

impl Draw<'_> {
    pub(super) fn link(&mut self) -> Value {
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
        // A changing direction can send at any time.
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
            // Each packet waits, so the queue needs room. At a low rate a time may be none.
            let has_room =
                |limit: &str| !(limit.starts_with("0 ") || limit.ends_with("ms") || limit.ends_with("ns"));
            if !direction["queue"]["limit"].as_str().is_some_and(has_room) {
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

    /// Access of any kind.
    fn access(&mut self) -> Value {
        let chosen = self.kind("Access", |_| true);
        if kind_of(chosen) == "dama" { self.dama() } else { self.table(chosen, |_, _| None) }
    }

    /// Demand assignment, with slots that carry a byte or more at most rates.
    fn dama(&mut self) -> Value {
        let slots = 1 + self.to(9);
        let cra = if self.one_in(2) { self.to(slots) } else { 0 };
        let mut dama = json!({ "kind": "dama", "slots": slots, "cra": cra, "frame": self.time(10, [50, 50, 10, 9_000]) });
        if self.one_in(3) {
            dama["vbdc"] = json!(self.to(slots - cra));
        }
        if self.one_in(3) {
            dama["free"] = json!(self.to(3));
        }
        if self.one_in(2) {
            dama["grant_delay"] = self.time(0, [600, 600, 20, 9_000]);
        }
        dama
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

    fn drawn_line(&mut self) -> Value {
        let mut line = json!({
            "generator": "starlink", "profile": "car-2024", "direction": self.pick(&["down", "up"]),
            "rate_median": self.rate(), "share": self.part().max(0.1),
        });
        if self.one_in(2) {
            line["blackout"] = self.time(0, [400, 200, 9, 20_000]);
        }
        if self.one_in(3) {
            line["seed"] = json!(self.to(9));
        }
        line
    }

    /// Makes the rate, the delay or the losses of a direction change, or its path change hands.
    fn moves(&mut self, link: &mut Value) {
        match self.to(5) {
            0 => {
                link["rate"] = self.steps(|draw| if draw.one_in(4) { json!("0 bit/s") } else { draw.rate() })
            }
            1 if link["delay"].is_string() => link["delay"] = self.steps(Self::delay),
            2 => link["timeline"] = self.file("delays.csv"),
            3 => {
                link["timeline"] = self.file("time_line.csv");
                // The file has loss rates of its own.
                link["loss"] = match self.to(3) {
                    0 => json!([]),
                    1 => json!({ "kind": "bit-error", "rate": 0.0 }),
                    2 => self.losses(),
                    _ => json!([self.loss(), self.loss()]),
                };
            }
            4 => link["timeline"] = self.drawn_line(),
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

    /// A time line file, next to the file of losses.
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

    /// In [`Regime::Chain`] most packets take a whole number of nanoseconds, in [`Regime::Milliseconds`]
    /// 1500 bytes take 1 to 4 ms.
    pub(super) fn rate(&mut self) -> Value {
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
        let plain = self.regime != Regime::Any && self.to(self.by([0, 5, 2, 4])) > 0;
        let chosen = self.kind("Queue", |of| !plain || kind_of(of) == "drop-tail");
        let kind = kind_of(chosen);
        let mut queue = json!({ "kind": kind });
        for (key, schema) in properties(chosen) {
            match key {
                "kind" => {}
                // Other kinds need room.
                "limit" if schema["x-quantity"] == "queue-room" => queue[key] = self.room_or_time(),
                "limit" if kind == "priority" => queue[key] = self.room(0),
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
    pub(super) fn room(&mut self, packets: u64) -> Value {
        json!(match self.to(9) {
            6 | 7 => format!("{} bytes", 1_500 * packets + self.to(self.by([60_000, 40_000, 30_000, 3_000]))),
            8 => format!("{} bdp", 0.1 + 3.0 * self.part()),
            9 => "1000 packets".to_owned(),
            _ => format!("{} packets", packets + self.to(self.by([60, 40, 20, 30]))),
        })
    }

    /// The size of a queue, or the time in which the link sends as much.
    fn room_or_time(&mut self) -> Value {
        if self.one_in(4) { self.time(0, [400, 400, 30, 90_000]) } else { self.room(0) }
    }

    fn losses(&mut self) -> Value {
        let number = match self.regime {
            Regime::Any => self.pick(&[0, 1, 0, 1, 2]),
            _ => u64::from(self.one_in(5)),
        };
        (0..number).map(|_| self.loss()).collect()
    }

    /// A loss model of any kind; outside [`Regime::Any`] it loses little.
    fn loss(&mut self) -> Value {
        let chosen = self.kind("Loss", |_| true);
        let kind = kind_of(chosen);
        if kind == "outage" {
            return self.outage();
        }
        let (most, bits) = (self.by([1.0, 0.1, 0.1, 0.1]), self.by([1e-4, 1e-5, 1e-5, 1e-3]));
        let mut loss = json!({ "kind": kind });
        for (key, schema) in properties(chosen).filter(|(key, _)| *key != "kind") {
            loss[key] = match key {
                "file" => json!(self.losses),
                "rate" if kind == "bit-error" => json!(self.part() * bits),
                "rate" | "p" => json!(self.part() * most),
                "good_loss" => json!(self.part() * 0.1 * most),
                _ => self.by_schema(schema),
            };
        }
        loss
    }

    fn outage(&mut self) -> Value {
        if self.one_in(2) {
            return json!({
                "kind": "outage", "every": self.time(1_000, [3_000, 3_000, 1_000, 300_000]),
                "length": self.time(1, [900, 900, 90, 900]), "first": self.time(0, [2_000, 2_000, 1_000, 100_000]),
            });
        }
        let from = self.to(self.by([3_000, 3_000, 1_000, 100_000]));
        let to = from + 1 + self.to(self.by([2_000, 1_000, 90, 50_000]));
        json!({ "kind": "outage", "from": self.span(from), "to": self.span(to) })
    }
}
