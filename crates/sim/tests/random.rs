//! Any scenario that is valid runs to its end, keeps every law of the audit (a breach is an error of the run), is repeatable
//! beside other runs, and yields numbers that are finite and in range.

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use bentpipe_cc::registry::{self, Kind};
use bentpipe_sim::plan::Plan;
use bentpipe_sim::record::{Outcome, Report};
use bentpipe_sim::{Scenario, no_supply, run, run_by_reference, run_many};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn queue() -> impl Strategy<Value = String> {
    let limit = prop_oneof![
        (0_u32..60).prop_map(|n| format!("{n} packets")),
        (0_u32..60_000).prop_map(|n| format!("{n} bytes")),
        (0.1_f64..3.0).prop_map(|x| format!("{x} bdp")),
    ];
    let room = prop_oneof![
        (5_u32..60).prop_map(|n| format!("{n} packets")),
        (1_000_u32..60_000).prop_map(|n| format!("{n} bytes")),
    ];
    let times = (1_u32..50, 50_u32..300);
    let parts = (0.001_f64..=1.0, prop::option::of(0.0_f64..=1.0));
    (limit, room, times, parts, any::<bool>(), any::<bool>(), 0_usize..6, 1_u32..20).prop_map(
        |(limit, room, (target, interval), (part, mark), ecn, other, kind, n)| {
            let mark = mark.map_or(String::new(), |p| format!(", mark_p = {p}"));
            match kind {
                0 => format!("{{ kind = \"drop-tail\", limit = \"{limit}\" }}"),
                1 => format!(
                    "{{ kind = \"red\", limit = \"{room}\", weight = {part}, max_p = {part}, gentle = {other}, by_size = {ecn}, \
                     wait = {ecn}, ecn = {ecn}{mark} }}"
                ),
                2 => format!(
                    "{{ kind = \"pie\", limit = \"{room}\", target = \"{target} ms\", burst = \"{n} ms\", update = \"{n} ms\", \
                     alpha = {part}, beta = {}, ecn = {ecn}{mark} }}",
                    10.0 * part
                ),
                3 => format!(
                    "{{ kind = \"codel\", limit = \"{room}\", target = \"{target} ms\", interval = \"{interval} ms\", ecn = {ecn} }}"
                ),
                4 => format!(
                    "{{ kind = \"fq-codel\", limit = \"{room}\", target = \"{target} ms\", interval = \"{interval} ms\", \
                     queues = {n}, quantum = \"{} bytes\", ecn = {ecn} }}",
                    1 + interval * n
                ),
                _ => format!("{{ kind = \"priority\", limit = \"{limit}\", bands = 3 }}"),
            }
        },
    )
}

/// A trace of losses: packets 2 to 4, 40, and every 37th up to 10,000.
fn trace() -> String {
    static FILE: LazyLock<String> = LazyLock::new(|| {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/random-losses.txt");
        let lost: Vec<String> =
            [2, 3, 4, 40].into_iter().chain((37..10_000).step_by(37)).map(|n: u32| n.to_string()).collect();
        std::fs::write(path, lost.join("\n")).expect("a place for temporary files");
        path.to_owned()
    });
    FILE.clone()
}

fn loss() -> impl Strategy<Value = String> {
    let p = || prop_oneof![Just(0.0), 0.0..0.1, Just(1.0)];
    prop_oneof![
        4 => Just("[]".to_owned()),
        2 => p().prop_map(|p| format!("{{ kind = \"packet-error\", rate = {p} }}")),
        2 => (0.0..1e-4).prop_map(|p| format!("{{ kind = \"bit-error\", rate = {p} }}")),
        2 => (p(), p(), p(), p()).prop_map(|(p, r, g, b)| format!(
            "[{{ kind = \"gilbert-elliott\", p = {p}, r = {r}, good_loss = {g}, bad_loss = {b} }}]"
        )),
        1 => (1_u32..5, 1_u32..900).prop_map(|(every, length)| format!(
            "[{{ kind = \"outage\", every = \"{every} s\", length = \"{length} ms\", first = \"{length} ms\" }}, \
             {{ kind = \"outage\", from = \"1 s\", to = \"2 s\" }}]"
        )),
        1 => Just(format!("{{ kind = \"trace\", file = {:?} }}", trace())),
    ]
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 1_u64..1_000, 8 => 10_000_u64..20_000_000, 1 => Just(1_000_000_000_000)]
}

/// A delay, or stations and a satellite that they see.
fn place() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("delay = \"0 s\"".to_owned()),
        6 => (1_u64..400_000).prop_map(|us| format!("delay = \"{us} us\"")),
        1 => (60_u32..120).prop_map(|east| format!("from = \"shanghai\"\nto = \"here\"\nsatellite = {{ geo = \"{east}E\" }}")),
        1 => select(vec!["from", "to"]).prop_map(|end| {
            format!("{end} = \"singapore\"\nsatellite = {{ geo = \"100E\", min_elevation = 30 }}")
        }),
        1 => Just("from = \"london\"\nsatellite = { geo = \"100E\", min_elevation = -90 }".to_owned()),
    ]
}

fn link() -> impl Strategy<Value = String> {
    let back = prop::option::of(1_u64..400_000);
    (place(), rate(), queue(), loss(), back, rate(), queue(), loss()).prop_map(
        |(place, r, q, l, d2, r2, q2, l2)| {
            let d2 = d2.map_or(String::new(), |us| format!("delay = \"{us} us\", "));
            format!(
                "rate = \"{r} bit/s\"\n{place}\nqueue = {q}\nloss = {l}\n\
             reverse = {{ rate = \"{r2} bit/s\", {d2}queue = {q2}, loss = {l2} }}\n"
            )
        },
    )
}

/// A registered algorithm; some of its parameters are given, anywhere in their ranges.
fn controller() -> impl Strategy<Value = String> {
    (0_usize..1000, prop::collection::vec((any::<bool>(), 0.0_f64..=1.0), 32)).prop_map(|(i, draws)| {
        let all = registry::all();
        let entry = &all[i % all.len()];
        let mut text = format!("{{ name = \"{}\"", entry.id);
        for (param, (given, x)) in entry.parameters().zip(&draws) {
            if !given {
                continue;
            }
            let value = match param.kind {
                Kind::Number { min, max, .. } => format!("{:?}", (min + x * (max - min)).clamp(min, max)),
                Kind::Flag { .. } => (*x > 0.5).to_string(),
                Kind::Choice(names) => format!("{:?}", names[(x * (names.len() - 1) as f64) as usize]),
            };
            text += &format!(", {} = {value}", param.name);
        }
        text + " }"
    })
}

fn path() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c"]).prop_flat_map(|first| {
        let others: Vec<&str> = ["a", "b", "c"].into_iter().filter(|l| *l != first).collect();
        prop::sample::subsequence(others, 0..=2).prop_map(move |rest| {
            let names: Vec<String> = std::iter::once(first).chain(rest).map(|l| format!("{l:?}")).collect();
            format!("[{}]", names.join(", "))
        })
    })
}

fn tcp() -> impl Strategy<Value = String> {
    let flags = prop::collection::vec(prop::option::of(any::<bool>()), 13);
    let timers = prop::option::of((1_u32..3_000, 1_u32..3_000, 1_u32..100_000, 1_u32..500));
    let more = (
        prop::option::of(select(vec!["flight-size", "ssthresh"])),
        prop::option::of(2_u32..100),
        prop::option::of(1_u32..200),
    );
    let words = (
        select(vec!["paper", "modern"]),
        select(vec!["sack", "sack", "newreno", "reno"]),
        select(vec!["none", "f-rto", "eifel"]),
    );
    let numbers =
        (prop::option::of(1_u64..400_000), 1_u32..60, prop::option::of(1_u32..200), 1_u32..9_000, 0_u32..80);
    (controller(), prop::option::of(path()), flags, words, numbers, timers, more).prop_map(|(cc, back, flags, words, numbers, timers, more)| {
        let (profile, recovery, spurious) = words;
        let (size, initial, window, mss, header) = numbers;
        let mut text = format!(
            "cc = {cc}\nprofile = \"{profile}\"\nrecovery = \"{recovery}\"\nspurious = \"{spurious}\"\n\
             timestamps = true\ninitial_window = {initial}\nmss = \"{mss} bytes\"\nheader = \"{header} bytes\"\n"
        );
        let names = [
            "prr", "byte_counting", "limited_transmit", "delayed_ack", "ecn", "pacing", "aen", "bulk_repeat",
            "fixed_rto", "handshake",
        ];
        let sacked = ["rack", "tlp", "dsack"].into_iter().filter(|_| recovery == "sack");
        for (name, flag) in names.into_iter().chain(sacked).zip(flags) {
            text += &flag.map_or(String::new(), |flag| format!("{name} = {flag}\n"));
        }
        text += &back.map_or(String::new(), |path| format!("ack_path = {path}\n"));
        text += &window.map_or(String::new(), |w| format!("receive_window = \"{w} segments\"\n"));
        text += &size.map_or(String::new(), |s| format!("traffic = {{ kind = \"bulk\", size = \"{s} bytes\" }}\n"));
        if let Some((initial, least, step, delay)) = timers {
            text += &format!(
                "initial_rto = \"{initial} ms\"\nmin_rto = \"{least} ms\"\nmax_rto = \"{} ms\"\ngranularity = \"{step} us\"\n",
                least + initial
            );
            if text.contains("delayed_ack = true") {
                text += &format!("delayed_ack_timeout = \"{delay} ms\"\n");
            }
        }
        let (exit, ssthresh, ack_size) = more;
        let exit = exit.filter(|_| recovery != "sack");
        text += &exit.map_or(String::new(), |exit| format!("newreno_exit = \"{exit}\"\n"));
        text += &ssthresh.map_or(String::new(), |n| format!("initial_ssthresh = {n}\n"));
        text += &ack_size.map_or(String::new(), |n| format!("ack_size = \"{n} bytes\"\n"));
        text
    })
}

fn cbr() -> impl Strategy<Value = String> {
    (1_u64..5_000_000, 1_u32..3_000, prop::option::of((1_u32..900, 0_u32..900))).prop_map(
        |(rate, size, pauses)| {
            let pauses =
                pauses.map_or(String::new(), |(on, off)| format!(", on = \"{on} ms\", off = \"{off} ms\""));
            format!(
                "traffic = {{ kind = \"cbr\", rate = \"{rate} bit/s\", packet = \"{size} bytes\"{pauses} }}\n"
            )
        },
    )
}

fn flow() -> impl Strategy<Value = String> {
    let times = (0_u32..3_000, 0_u32..1_000, prop::option::of(0_u32..9_000), 0_u32..60);
    let kind = prop_oneof![5 => (tcp(), 0_u32..30).prop_map(|(text, j)| format!("{text}ack_jitter = \"{j} ms\"\n")), 1 => cbr()];
    (kind, path(), times, 1_u32..4, 0_u32..3).prop_map(|(kind, path, (start, jitter, stop, extra), count, band)| {
        // A flow that stops before it starts is refused.
        let stop = stop.map_or(String::new(), |s| format!("stop = \"{} ms\"\n", start + jitter + s + 1));
        format!(
            "[[flow]]\npath = {path}\ncount = {count}\nstart = \"{start} ms\"\nstart_jitter = \"{jitter} ms\"\n\
             extra_delay = \"{extra} ms\"\npriority = {band}\n{stop}{kind}"
        )
    })
}

/// What is recorded, if anything, and how often.
fn record() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        3 => Just("record = { interval = \"change\" }\n".to_owned()),
        1 => Just("record = { interval = \"1 s\", segments = true }\n".to_owned()),
        1 => Just("record = { interval = \"change\", segments = true }\n".to_owned()),
        4 => (1_u32..300, any::<bool>(), any::<bool>()).prop_map(|(ms, flows, links)| format!(
            "record = {{ interval = \"{ms} ms\", flows = {flows}, links = {links} }}\n"
        )),
    ]
}

fn scenario() -> impl Strategy<Value = String> {
    let links = prop::collection::vec(link(), 3);
    (any::<u32>(), 1_u32..12_000, record(), links, prop::collection::vec(flow(), 1..4)).prop_map(
        |(seed, ms, record, links, flows)| {
            let links: String =
                links.iter().zip(["a", "b", "c"]).map(|(l, n)| format!("[link.{n}]\n{l}")).collect();
            let here = "station = { here = { lat = 1.3, lon = 103.8 } }\n";
            format!("seed = {seed}\nduration = \"{ms} ms\"\n{record}{here}{links}{}", flows.concat())
        },
    )
}

/// Paths of up to four links in a row, there and back, with little rate, small queues and some loss.
fn folded() -> impl Strategy<Value = String> {
    let size = prop_oneof![3 => (0_u32..40).prop_map(|n| format!("{n} packets")), 1 => (0_u32..40_000).prop_map(|n| format!("{n} bytes"))];
    let direction = (
        prop_oneof![
            1 => Just(100_000_u64),
            3 => 200_000_u64..30_000_000,
            1 => Just(1_000_000_000_000),
            // Packets that take a whole number of nanoseconds make constants of fast links behind slow ones.
            8 => select(vec![800_000, 1_000_000, 1_250_000, 1_600_000, 100_000_000]),
        ],
        0_u32..60,
        prop_oneof![
            5 => size.prop_map(|limit| format!("kind = \"drop-tail\", limit = \"{limit}\"")),
            1 => Just("kind = \"codel\", limit = \"30 packets\"".to_owned()),
        ],
        prop_oneof![
            // A link that may lose something is none of the simple ones.
            4 => Just(String::new()),
            1 => (0.0..0.05).prop_map(|loss| format!(", loss = {{ kind = \"packet-error\", rate = {loss} }}")),
        ],
    )
        .prop_map(|(rate, delay, queue, loss)| {
            format!("rate = \"{rate} bit/s\", delay = \"{delay} ms\", queue = {{ {queue} }}{loss}")
        });
    let link = (direction.clone(), direction).prop_map(|(there, back)| {
        format!(
            "{}\nreverse = {{ {back} }}\n",
            there.replace(", delay", "\ndelay").replace(", queue", "\nqueue").replace(", loss", "\nloss")
        )
    });
    let path =
        select(vec!["[\"a\", \"b\", \"c\", \"d\"]", "[\"a\", \"b\", \"c\"]", "[\"b\", \"c\"]", "[\"d\"]"]);
    let flow = (
        path,
        prop_oneof![4 => Just("delayed_ack = false\nhandshake = false\n"), 1 => Just("delayed_ack = true\n"), 1 => Just("delayed_ack = false\nhandshake = false\necn = true\n"), 1 => Just("handshake = true\n")],
        prop_oneof![3 => Just(""), 1 => Just("ack_jitter = \"7 ms\"\n"), 1 => Just("extra_delay = \"13 ms\"\n")],
        prop_oneof![5 => Just(""), 1 => Just("ack_path = [\"a\", \"c\"]\n"), 1 => Just("stop = \"4 s\"\n")],
        prop_oneof![
            4 => Just("cc = \"reno\"\nprofile = \"paper\"\n"),
            // Its estimate of the bandwidth has no bound where acknowledgements come together; without a window such a run ends in an error.
            1 => Just("cc = \"star\"\nprofile = \"paper\"\nack_size = \"900 bytes\"\nreceive_window = \"500 segments\"\n"),
            1 => Just("cc = \"cubic\"\nprofile = \"modern\"\ntraffic = { kind = \"bulk\", size = \"1000001 bytes\" }\n"),
            1 => Just("traffic = { kind = \"cbr\", rate = \"300 kbit/s\", packet = \"700 bytes\" }\n"),
        ],
        1_u32..5,
        1_u32..60,
    )
        .prop_map(|(path, ends, delay, back, source, count, window)| {
            let tcp = if source.starts_with("cc") { format!("{ends}{back}initial_window = {window}\n{delay}") } else { String::new() };
            format!("[[flow]]\npath = {path}\ncount = {count}\nstart_jitter = \"1 s\"\n{tcp}{source}")
        });
    // Mostly flows of one path; then their receivers can answer ahead of time.
    let flows = prop_oneof![flow.clone().prop_map(|f| vec![f]), prop::collection::vec(flow, 1..4)];
    (any::<u32>(), record(), prop::collection::vec(link, 4), flows).prop_map(
        |(seed, record, links, flows)| {
            let links: String =
                links.iter().zip(["a", "b", "c", "d"]).map(|(l, n)| format!("[link.{n}]\n{l}")).collect();
            format!("seed = {seed}\nduration = \"8 s\"\n{record}{links}{}", flows.concat())
        },
    )
}

/// Links on which everything takes whole milliseconds, acknowledgements and delays too, and samples that are taken at such times or
/// on change: much of what happens, happens at the same instant.
fn in_step() -> impl Strategy<Value = String> {
    // 1500 bytes take 1, 2, 3 or 4 ms.
    let direction = (
        select(vec![12_000_u32, 12_000, 6_000, 4_000, 3_000]),
        0_u32..4,
        prop_oneof![
            6 => (0_u32..20).prop_map(|n| format!("kind = \"drop-tail\", limit = \"{n} packets\"")),
            1 => (2_u32..30).prop_map(|n| format!("kind = \"drop-tail\", limit = \"{n} kB\"")),
            1 => Just("kind = \"codel\", limit = \"20 packets\", target = \"3 ms\", interval = \"20 ms\"".to_owned()),
            1 => Just("kind = \"fq-codel\", limit = \"20 packets\", target = \"3 ms\", interval = \"20 ms\"".to_owned()),
            1 => Just("kind = \"priority\", limit = \"10 packets\"".to_owned()),
            1 => Just("kind = \"pie\", limit = \"20 packets\", target = \"5 ms\", burst = \"0 s\"".to_owned()),
        ],
        prop_oneof![5 => Just(0.0), 1 => 0.0..0.1],
    );
    let link = (direction.clone(), direction).prop_map(|((r1, d1, q1, l1), (r2, d2, q2, l2))| {
        // A link with a loss model is none of the simple ones, even if that loses nothing.
        let loss = |rate| match rate {
            0.0 => "[]".to_owned(),
            rate => format!("{{ kind = \"packet-error\", rate = {rate} }}"),
        };
        format!(
            "rate = \"{r1} kbit/s\"\ndelay = \"{d1} ms\"\nqueue = {{ {q1} }}\nloss = {}\n\
             reverse = {{ rate = \"{r2} kbit/s\", delay = \"{d2} ms\", queue = {{ {q2} }}, loss = {} }}\n",
            loss(l1),
            loss(l2)
        )
    });
    let tcp = (
        select(vec!["reno", "cubic", "bbr", "vegas"]),
        prop_oneof![5 => Just(""), 1 => Just("delayed_ack = true\n"), 1 => Just("handshake = true\n")],
        prop_oneof![3 => Just(String::new()), 1 => path().prop_map(|p| format!("ack_path = {p}\n"))],
        prop_oneof![3 => Just(String::new()), 1 => (1_u32..90_000).prop_map(|n| format!("traffic = {{ kind = \"bulk\", size = \"{n} bytes\" }}\n"))],
        prop_oneof![4 => Just(""), 1 => Just("stop = \"1500 ms\"\n")],
    )
        .prop_map(|(cc, ends, back, size, stop)| {
            format!("cc = \"{cc}\"\nprofile = \"paper\"\nmss = \"1460 bytes\"\nheader = \"40 bytes\"\nack_size = \"1500 bytes\"\n{ends}{back}{size}{stop}")
        });
    let source = prop_oneof![
        6 => tcp,
        1 => Just("traffic = { kind = \"cbr\", rate = \"6000 kbit/s\", packet = \"1500 bytes\" }\n".to_owned()),
    ];
    let flow = (path(), 0_u32..5, prop_oneof![4 => Just(0), 1 => 1_u32..4], 1_u32..3, source).prop_map(|(path, start, extra, count, source)| {
        format!("[[flow]]\npath = {path}\ncount = {count}\nstart = \"{start} ms\"\nextra_delay = \"{extra} ms\"\n{source}")
    });
    let record = prop_oneof![
        2 => Just("interval = \"change\"".to_owned()),
        2 => Just("interval = \"change\", segments = true".to_owned()),
        3 => (1_u32..5, any::<bool>()).prop_map(|(ms, flows)| format!("interval = \"{ms} ms\", links = true, flows = {flows}")),
    ];
    (any::<u32>(), record, prop::collection::vec(link, 3), prop::collection::vec(flow, 1..3)).prop_map(
        |(seed, record, links, flows)| {
            let links: String =
                links.iter().zip(["a", "b", "c"]).map(|(l, n)| format!("[link.{n}]\n{l}")).collect();
            format!("seed = {seed}\nduration = \"2 s\"\nrecord = {{ {record} }}\n{links}{}", flows.concat())
        },
    )
}

/// Links with these delays on which a packet takes less than a nanosecond, mostly.
fn within_nanoseconds(delays: &'static [&'static str]) -> impl Strategy<Value = String> {
    let direction = (
        prop_oneof![4 => select(vec!["9 Gbit/s", "100 Gbit/s", "1 Tbit/s", "10 Tbit/s"]), 1 => select(vec!["12 Mbit/s", "1 Gbit/s"])],
        select(delays),
        prop_oneof![6 => 0_u32..30, 1 => Just(1000)],
        prop_oneof![8 => Just("drop-tail"), 1 => Just("codel"), 1 => Just("priority")],
        prop_oneof![6 => Just(0.0), 1 => 0.0..0.1],
    )
        .prop_map(|(rate, delay, room, kind, loss)| {
            let room = if kind == "codel" { room + 5 } else { room };
            let loss = if loss > 0.0 { format!("loss = {{ kind = \"packet-error\", rate = {loss} }}") } else { String::new() };
            [format!("rate = \"{rate}\""), format!("delay = \"{delay}\""), format!("queue = {{ kind = \"{kind}\", limit = \"{room} packets\" }}"), loss]
        });
    let link = (direction.clone(), direction).prop_map(|(there, back)| {
        let back: Vec<String> = back.into_iter().filter(|key| !key.is_empty()).collect();
        format!("{}\nreverse = {{ {} }}\n", there.join("\n"), back.join(", "))
    });
    let tcp = (
        select(vec!["reno", "cubic", "vegas"]),
        prop_oneof![5 => Just(""), 1 => Just("delayed_ack = true\n"), 1 => Just("handshake = true\n")],
        prop_oneof![3 => Just(String::new()), 1 => path().prop_map(|p| format!("ack_path = {p}\n"))],
        (1_u32..3_000, 2_u32..40, 1_u32..60, 0_u32..60),
        prop_oneof![3 => Just(""), 1 => Just("extra_delay = \"1 ns\"\n"), 1 => Just("ack_jitter = \"9 ns\"\n")],
    )
        .prop_map(|(cc, ends, back, (segments, window, mss, header), extra)| {
            let size = segments * mss + 1;
            format!(
                "cc = \"{cc}\"\nprofile = \"paper\"\nmss = \"{mss} bytes\"\nheader = \"{header} bytes\"\nack_size = \"{mss} bytes\"\n\
                 receive_window = \"{window} segments\"\ninitial_window = {window}\n\
                 traffic = {{ kind = \"bulk\", size = \"{size} bytes\" }}\n{ends}{back}{extra}"
            )
        });
    let source = prop_oneof![
        4 => tcp,
        1 => (1_u32..60).prop_map(|n| format!("traffic = {{ kind = \"cbr\", rate = \"1 Tbit/s\", packet = \"{n} bytes\", on = \"100 ns\", off = \"99 us\" }}\n")),
    ];
    let flow = (path(), 0_u32..3, 1_u32..4, source).prop_map(|(path, start, count, source)| {
        format!("[[flow]]\npath = {path}\ncount = {count}\nstart = \"{start} ns\"\n{source}")
    });
    let record = prop_oneof![
        2 => Just("record = { interval = \"change\" }\n"),
        1 => Just("record = { interval = \"1 us\", links = true }\n"),
        1 => Just("record = { interval = \"1 us\", segments = true }\n"),
        2 => Just(""),
    ];
    (any::<u32>(), record, prop::collection::vec(link, 3), prop::collection::vec(flow, 1..4)).prop_map(
        |(seed, record, links, flows)| {
            let links: String =
                links.iter().zip(["a", "b", "c"]).map(|(l, n)| format!("[link.{n}]\n{l}")).collect();
            format!("seed = {seed}\nduration = \"1 ms\"\n{record}{links}{}", flows.concat())
        },
    )
}

/// What every result promises of its numbers.
fn in_range(r: &Report) -> Result<(), TestCaseError> {
    for f in &r.flows {
        prop_assert!(f.goodput_bps.is_finite() && f.goodput_bps >= 0.0, "{f:?}");
        prop_assert!(f.cwnd_mean_segments.is_finite() && f.cwnd_mean_segments >= 0.0, "{f:?}");
        prop_assert!(f.retransmitted_packets <= f.sent_packets, "{f:?}");
        let rtts = [f.rtt_min_s, f.rtt_mean_s, f.rtt_p50_s, f.rtt_p95_s];
        prop_assert!(
            rtts.iter().flatten().all(|t| t.is_finite() && *t >= 0.0 && *t <= r.simulated_s * 1.02),
            "{f:?}"
        );
        if let [Some(least), Some(mean), Some(_), Some(p95)] = rtts {
            prop_assert!(least <= mean * (1.0 + 1e-9) && least <= p95 * 1.02, "{f:?}");
        }
        let l = f.limited;
        let shares = [l.cwnd, l.rwnd, l.app, l.pacing, l.recovery, l.timeout];
        prop_assert!(shares.iter().all(|s| (0.0..=1.0 + 1e-9).contains(s)), "{f:?}");
        let sum: f64 = shares.iter().sum();
        prop_assert!(sum.abs() < 1e-6 || (sum - 1.0).abs() < 1e-6, "shares sum to {sum}: {f:?}");
    }
    for l in &r.links {
        prop_assert!((0.0..=1.0).contains(&l.utilisation), "{l:?}");
        prop_assert!(
            l.queue_mean_packets >= 0.0 && l.queue_mean_packets <= l.queue_max_packets as f64 + 1e-6,
            "{l:?}"
        );
        prop_assert!(
            l.marked <= l.delivered_packets + l.dropped_error + l.queue_max_packets + 1_000_000,
            "{l:?}"
        );
    }
    Ok(())
}

/// The run of this scenario, its samples too, is that of the plain engine. As text, because a trace holds NaN before the first RTT sample.
fn like_plainly(plan: &Plan, text: &str) -> Result<Outcome, TestCaseError> {
    let got = [run, run_by_reference].map(|run| run(plan, &mut no_supply, &mut |_| true));
    let [Ok(fast), Ok(plain)] = got else { return Err(TestCaseError::fail(format!("{got:?}\n{text}"))) };
    prop_assert_eq!(format!("{:?}", fast.report), format!("{:?}", plain.report), "{}", text);
    let flows = [&fast, &plain].map(|outcome| lines(&format!("{:?}", outcome.flows.trace())));
    let links = [&fast, &plain].map(|outcome| lines(&format!("{:?}", outcome.links.trace())));
    prop_assert!(flows[0] == flows[1], "flows differ:\n{text}\n{}\n{}", flows[0], flows[1]);
    prop_assert!(links[0] == links[1], "links differ:\n{text}\n{}\n{}", links[0], links[1]);
    prop_assert!(format!("{fast:?}") == format!("{plain:?}"), "{text}");
    Ok(fast)
}

/// [`like_plainly`] for a scenario that is valid.
fn text_like_plainly(text: &str) -> Result<(), TestCaseError> {
    let plan = Scenario::from_toml(text, "random.toml", &[]).and_then(|s| s.resolve());
    let plan = plan.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    like_plainly(&plan, text).map(drop)
}

/// A column on each line.
fn lines(trace: &str) -> String {
    trace.replace("], ", "],\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn any_valid_scenario_runs_lawfully_and_repeatably(text in scenario()) {
        let plan = match Scenario::from_toml(&text, "random.toml", &[]).and_then(|s| s.resolve()) {
            Ok(plan) => plan,
            Err(e) => {
                // Parameters that do not go together, or a queue too small for its kind: said with file and key.
                let said = e.to_string();
                prop_assert!(said.starts_with("random.toml") && said.lines().count() == 1, "{said}\n{text}");
                return Ok(());
            }
        };
        let alone = like_plainly(&plan, &text)?;
        in_range(&alone.report)?;
        let alone = format!("{alone:?}");
        let beside = run_many(3, 3, &AtomicBool::new(false), &|_| run(&plan, &mut no_supply, &mut |_| true));
        for other in beside.map_err(|e| TestCaseError::fail(e.to_string()))? {
            prop_assert!(format!("{other:?}") == alone, "two runs differ:\n{text}");
        }
    }

    /// The same where short cuts are most: chains of drop-tail links that flows share, receivers that answer at once.
    #[test]
    fn short_cuts_change_no_bit(text in folded()) {
        text_like_plainly(&text)?;
    }

    /// And where many things happen at one instant, so that their order decides what a sample sees.
    #[test]
    fn short_cuts_keep_the_order_within_an_instant(text in in_step()) {
        text_like_plainly(&text)?;
    }

    /// And where what happens at an instant gives rise to more at that instant, or at the next.
    #[test]
    fn short_cuts_keep_the_order_of_what_takes_no_time(
        text in prop_oneof![within_nanoseconds(&["0 s", "0 s", "1 ns", "9 us"]), within_nanoseconds(&["1 ns", "1 ns", "2 ns", "1 us"])]
    ) {
        text_like_plainly(&text)?;
    }
}

/// Which of the two was first is not to be told from the numbers of their links.
#[test]
fn an_acknowledgement_and_data_may_arrive_by_one_link_in_one_nanosecond() {
    let link = |name: &str, room: u32| {
        format!(
            "[link.{name}]\nrate = \"1 Tbit/s\"\ndelay = \"1 ns\"\nqueue = {{ kind = \"drop-tail\", limit = \"{room} packets\" }}\n"
        )
    };
    let text = format!(
        "duration = \"1 ms\"\nrecord = {{ interval = \"change\" }}\n{}{}{}[[flow]]\npath = [\"a\", \"c\"]\nack_path = [\"b\", \"c\"]\n\
         cc = \"reno\"\nprofile = \"paper\"\nmss = \"6 bytes\"\nheader = \"17 bytes\"\nack_size = \"6 bytes\"\n\
         receive_window = \"7 segments\"\ninitial_window = 7\ntraffic = {{ kind = \"bulk\", size = \"253 bytes\" }}\n",
        link("a", 4),
        link("b", 0),
        link("c", 1)
    );
    text_like_plainly(&text).unwrap();
}

/// Words of the scenarios that are drawn: each kind of queue, loss and place, each controller and option is among them.
#[test]
fn every_kind_and_option_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let drawn: String =
        (0..400).map(|_| scenario().new_tree(&mut runner).expect("a scenario").current()).collect();
    let schema: serde_json::Value = serde_json::from_str(&bentpipe_sim::schema()).expect("a schema");
    let mut words: Vec<String> = registry::all().iter().map(|e| format!("name = {:?}", e.id)).collect();
    // The keys of a flow, and of everything else that has a table of its own.
    let defs = schema["$defs"].as_object().expect("definitions");
    for (name, def) in defs.iter().chain([(&"Scenario".to_owned(), &schema)]) {
        let variants = def["oneOf"].as_array().into_iter().flatten();
        for part in std::iter::once(def).chain(variants) {
            for (key, value) in part["properties"].as_object().into_iter().flatten() {
                match value["const"].as_str() {
                    Some(kind) => words.push(format!("kind = {kind:?}")),
                    None => words.push(format!("{key} ")),
                }
                assert!(!key.is_empty(), "{name}");
            }
        }
    }
    // Tables that are written as [link.a], and what changes no decision.
    let unused = ["link ", "flow ", "title ", "name ", "min ", "max ", "mean_packet ", "flows "];
    let missing: Vec<_> =
        words.iter().filter(|w| !unused.contains(&w.as_str()) && !drawn.contains(w.as_str())).collect();
    assert!(words.len() > 100 && missing.is_empty(), "{} words, never drawn: {missing:?}", words.len());
}
