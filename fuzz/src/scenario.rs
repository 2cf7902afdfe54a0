//! A small scenario from the bytes that the fuzzer chooses: every kind of queue, loss, controller and traffic.

use bentpipe_cc::registry::{self, Kind};

use crate::Bytes;

/// Links of the scenario.
const LINKS: [&str; 3] = ["a", "b", "c"];

impl Bytes<'_> {
    /// Two bytes.
    fn short(&mut self) -> u64 {
        u64::from(self.byte()) << 8 | u64::from(self.byte())
    }

    /// A number from 0 to `most`.
    fn to(&mut self, most: u64) -> u64 {
        self.short() % (most + 1)
    }

    /// From 0 to 1, often one of these two.
    fn part(&mut self) -> f64 {
        match self.byte() {
            0..=9 => 0.0,
            246..=255 => 1.0,
            _ => self.short() as f64 / 65_535.0,
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// Links that differ, at least one.
    fn path(&mut self) -> String {
        let (first, more) = (usize::from(self.byte()), usize::from(self.byte()) % LINKS.len());
        let names: Vec<String> =
            (first..=first + more).map(|i| format!("{:?}", LINKS[i % LINKS.len()])).collect();
        format!("[{}]", names.join(", "))
    }

    fn rate(&mut self) -> u64 {
        match self.byte() {
            0..=15 => 1 + self.to(1_000),
            16..=23 => 1_000_000_000_000,
            _ => 10_000 + self.short() * 40,
        }
    }

    fn queue(&mut self) -> String {
        let limit = match self.byte() % 3 {
            0 => format!("{} packets", self.to(60)),
            1 => format!("{} bytes", self.short()),
            _ => format!("{} bdp", self.part() * 3.0),
        };
        let (a, b, ecn) = (1 + self.to(60), 1 + self.to(300), self.flag());
        match self.byte() % 6 {
            0 => format!("{{ kind = \"drop-tail\", limit = \"{limit}\" }}"),
            1 => format!(
                "{{ kind = \"red\", limit = \"{limit}\", weight = {}, max_p = {}, gentle = {}, wait = {}, by_size = {}, ecn = {ecn} }}",
                self.part().max(1e-9),
                self.part().max(1e-9),
                self.flag(),
                self.flag(),
                self.flag()
            ),
            2 => format!(
                "{{ kind = \"pie\", limit = \"{limit}\", target = \"{a} ms\", update = \"{b} ms\", burst = \"{} ms\", \
                 alpha = {}, beta = {}, mark_p = {}, ecn = {ecn} }}",
                self.to(200),
                self.part() * 2.0,
                self.part() * 20.0,
                self.part()
            ),
            3 => format!(
                "{{ kind = \"codel\", limit = \"{limit}\", target = \"{a} ms\", interval = \"{} ms\", ecn = {ecn} }}",
                a + b
            ),
            4 => format!(
                "{{ kind = \"fq-codel\", limit = \"{limit}\", target = \"{a} ms\", interval = \"{} ms\", queues = {}, \
                 quantum = \"{} bytes\", ecn = {ecn} }}",
                a + b,
                1 + self.to(9),
                1 + self.to(3_000)
            ),
            _ => format!("{{ kind = \"priority\", limit = \"{limit}\", bands = 3 }}"),
        }
    }

    fn loss(&mut self) -> String {
        let one = |bytes: &mut Self| match bytes.byte() % 5 {
            0 => format!("{{ kind = \"packet-error\", rate = {} }}", bytes.part()),
            1 => format!("{{ kind = \"bit-error\", rate = {} }}", bytes.part() * 1e-4),
            2 => format!(
                "{{ kind = \"gilbert-elliott\", p = {}, r = {}, good_loss = {}, bad_loss = {} }}",
                bytes.part(),
                bytes.part(),
                bytes.part() / 10.0,
                bytes.part()
            ),
            3 => format!(
                "{{ kind = \"outage\", every = \"{} ms\", length = \"{} ms\", first = \"{} ms\" }}",
                1_000 + bytes.to(3_000),
                1 + bytes.to(900),
                bytes.to(2_000)
            ),
            _ => {
                let from = bytes.to(3_000);
                format!(
                    "{{ kind = \"outage\", from = \"{from} ms\", to = \"{} ms\" }}",
                    from + 1 + bytes.to(2_000)
                )
            }
        };
        let models: Vec<String> =
            (0..[0, 0, 1, 1, 2][usize::from(self.byte()) % 5]).map(|_| one(self)).collect();
        format!("[{}]", models.join(", "))
    }

    fn link(&mut self, name: &str) -> String {
        let place = match self.byte() % 8 {
            0 => "from = \"beijing\"\nto = \"here\"\nsatellite = { geo = \"100E\" }".to_owned(),
            1 => "to = \"singapore\"\nsatellite = { geo = \"90E\", min_elevation = 20 }".to_owned(),
            _ => format!("delay = \"{} us\"", self.short() * 6),
        };
        let (rate, queue, loss) = (self.rate(), self.queue(), self.loss());
        let (rate_back, delay_back) = (self.rate(), self.short() * 6);
        let (queue_back, loss_back) = (self.queue(), self.loss());
        format!(
            "[link.{name}]\nrate = \"{rate} bit/s\"\n{place}\nqueue = {queue}\nloss = {loss}\n\
             reverse = {{ rate = \"{rate_back} bit/s\", delay = \"{delay_back} us\", queue = {queue_back}, loss = {loss_back} }}\n"
        )
    }

    /// A registered algorithm with some of its parameters, anywhere in their ranges.
    fn controller(&mut self) -> String {
        let entry = self.one_of(&registry::all().iter().collect::<Vec<_>>());
        let mut text = format!("{{ name = \"{}\"", entry.id);
        if self.byte() % 4 == 0 {
            for param in entry.parameters() {
                if self.byte() % 4 != 0 {
                    continue;
                }
                let value = match param.kind {
                    Kind::Number { min, max, .. } => {
                        format!("{:?}", (min + self.part() * (max - min)).clamp(min, max))
                    }
                    Kind::Flag { .. } => self.flag().to_string(),
                    Kind::Choice(names) => format!("{:?}", self.one_of(names)),
                };
                text += &format!(", {} = {value}", param.name);
            }
        }
        text + " }"
    }

    fn tcp(&mut self) -> String {
        let recovery = self.one_of(&["sack", "sack", "newreno", "reno"]);
        let mut text = format!(
            "cc = {}\nprofile = \"{}\"\nrecovery = \"{recovery}\"\nspurious = \"{}\"\ntimestamps = true\n\
             initial_window = {}\nmss = \"{} bytes\"\nheader = \"{} bytes\"\nack_jitter = \"{} ms\"\n",
            self.controller(),
            self.one_of(&["paper", "modern"]),
            self.one_of(&["none", "f-rto", "eifel"]),
            1 + self.to(200),
            1 + self.to(9_000),
            self.to(80),
            self.one_of(&[0, 0, 0, 30]),
        );
        let flags = [
            "prr",
            "byte_counting",
            "limited_transmit",
            "delayed_ack",
            "ecn",
            "pacing",
            "aen",
            "bulk_repeat",
            "fixed_rto",
            "handshake",
        ];
        let sacked = ["rack", "tlp", "dsack"].into_iter().filter(|_| recovery == "sack");
        for name in flags.into_iter().chain(sacked) {
            match self.byte() % 4 {
                0 => text += &format!("{name} = true\n"),
                1 => text += &format!("{name} = false\n"),
                _ => {}
            }
        }
        if self.byte() % 4 == 0 {
            text += &format!("ack_path = {}\n", self.path());
        }
        if self.byte() % 4 == 0 {
            text += &format!("receive_window = \"{} segments\"\n", 1 + self.to(200));
        }
        if self.flag() {
            text += &format!("traffic = {{ kind = \"bulk\", size = \"{} bytes\" }}\n", 1 + self.short() * 6);
        }
        if self.byte() % 4 == 0 {
            text += &format!(
                "initial_rto = \"{} ms\"\nmin_rto = \"{} ms\"\ngranularity = \"{} us\"\n",
                1 + self.to(3_000),
                1 + self.to(3_000),
                1 + self.short()
            );
        }
        text
    }

    fn flow(&mut self) -> String {
        let path = self.path();
        let (start, jitter) = (self.to(3_000), self.to(1_000));
        let mut text = format!(
            "[[flow]]\npath = {path}\ncount = {}\npriority = {}\nstart = \"{start} ms\"\nstart_jitter = \"{jitter} ms\"\n\
             extra_delay = \"{} ms\"\n",
            1 + self.to(2),
            self.to(2),
            self.one_of(&[0, 0, 7, 60]),
        );
        if self.byte() % 4 == 0 {
            text += &format!("stop = \"{} ms\"\n", start + jitter + 1 + self.to(5_000));
        }
        if self.byte() % 5 > 0 {
            return text + &self.tcp();
        }
        let pauses = match self.flag() {
            true => format!(", on = \"{} ms\", off = \"{} ms\"", 1 + self.to(900), self.to(900)),
            false => String::new(),
        };
        let (rate, size) = (1 + self.short() * 50, 1 + self.to(3_000));
        text + &format!(
            "traffic = {{ kind = \"cbr\", rate = \"{rate} bit/s\", packet = \"{size} bytes\"{pauses} }}\n"
        )
    }

    /// Three links and up to four tables of flows.
    pub fn scenario(&mut self) -> String {
        let mut text = format!("seed = {}\nduration = \"{} ms\"\n", self.word(), 1 + self.to(8_000));
        text += "station = { here = { lat = 1.3, lon = 103.8 } }\n";
        for name in LINKS {
            text += &self.link(name);
        }
        for _ in 0..=self.byte() % 4 {
            text += &self.flow();
        }
        text
    }
}
