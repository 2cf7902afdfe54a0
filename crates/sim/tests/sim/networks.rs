//! Runs over a constellation: the fast path gives the bits of the reference loop, every law of the audit holds, and
//! packets take the time that their path asks for.

use std::fmt::Write;
use std::sync::Once;

use bentpipe_cc::{Span, Time};
use bentpipe_sim::constellation::{Changes, Constellation, Failed, Knots, MARGIN, make_constellations_by};
use bentpipe_sim::pcap::{Capture, Place};
use bentpipe_sim::plan::Plan;
use bentpipe_sim::record::Outcome;
use bentpipe_sim::{Scenario, no_supply, run, run_by_reference, run_captured, run_in_parts};
use proptest::prelude::*;
use serde_json::Value;

/// Numbers that follow from a seed (splitmix64; Steele, Lea, Flood, OOPSLA 2014).
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn within(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The constellation whose name is "drawn-SEED": a torus of satellites that drift apart, stations that reach some of
/// them, and tables of which most lead on, some round in circles, and some nowhere.
fn drawn(request: &Value) -> Constellation {
    let name = request["network"]["shell"][0].as_str().expect("a shell");
    let mut random = Drawn(name.trim_start_matches("drawn-").parse().expect("a seed"));
    let (planes, slots) = (2 + random.below(3) as u32, 3 + random.below(3) as u32);
    let satellites = planes * slots;
    let stations: Vec<String> = (0..2 + random.below(4)).map(|i| format!("station {i}")).collect();
    let nodes = satellites + stations.len() as u32;
    let of = |plane: u32, slot: u32| (plane % planes) * slots + slot % slots;
    let mut lasers: Vec<(u32, u32)> = (0..planes)
        .flat_map(|p| (0..slots).flat_map(move |s| [(of(p, s), of(p, s + 1)), (of(p, s), of(p + 1, s))]))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    lasers.sort_unstable();
    lasers.dedup();
    let duration_s = request["duration_s"].as_f64().expect("a duration");
    let spacing_s = random.within(1.0, 10.0);
    let mut drift = || -> Vec<[f64; 3]> {
        (0..nodes).map(|_| [0; 3].map(|_| random.within(-3_000.0, 3_000.0))).collect()
    };
    let (from, speed) = (drift(), drift());
    let count = 2 * MARGIN + 2 + (duration_s / spacing_s) as usize;
    let at = |knot: usize| {
        let t_s = (knot as f64 - MARGIN as f64) * spacing_s;
        from.iter().zip(&speed).map(move |(x, v)| [0, 1, 2].map(|axis| x[axis] + 1e-3 * t_s * v[axis]))
    };
    let knots = Knots {
        first_ns: -(MARGIN as i64) * (spacing_s * 1e9) as i64,
        spacing_ns: (spacing_s * 1e9) as i64,
        nodes: nodes as usize,
        xyz_km: (0..count).flat_map(at).collect(),
    };
    let mut changes = Changes::default();
    for step in 0..4 {
        for node in 0..nodes {
            for destination in (satellites..nodes).filter(|to| *to != node) {
                if step > 0 && random.below(4) > 0 {
                    continue;
                }
                let near: Vec<u32> = lasers
                    .iter()
                    .filter_map(|&(a, b)| if a == node { Some(b) } else { (b == node).then_some(a) })
                    .collect();
                let next = match random.below(10) {
                    0 => None,
                    // Every third satellite sees the station, and a station every second satellite.
                    1..4 if node < satellites && !near.is_empty() => {
                        Some(near[random.below(near.len() as u64) as usize])
                    }
                    _ if node >= satellites => Some(2 * random.below(u64::from(satellites) / 2) as u32),
                    _ if node.is_multiple_of(3) => Some(destination),
                    _ => near.iter().copied().min_by_key(|of| (of % 3, *of)),
                };
                changes.at_ns.push((f64::from(step) * duration_s * 0.3e9) as u64);
                changes.node.push(node);
                changes.destination.push(destination);
                changes.next.push(next.map_or(-1, i64::from));
            }
        }
    }
    let mut failed = Vec::new();
    while random.below(2) == 0 {
        let ends = match random.below(2) {
            0 => lasers[random.below(lasers.len() as u64) as usize],
            _ => [random.below(u64::from(nodes)) as u32; 2].into(),
        };
        let from_ns = random.below((duration_s * 1e9) as u64);
        failed.push(Failed { ends, from_ns, to_ns: from_ns + random.below(1_000_000_000) });
    }
    Constellation {
        satellites,
        stations,
        inhabitants: Vec::new(),
        lasers,
        knots,
        changes,
        failed,
        warnings: Vec::new(),
    }
}

/// Two satellites 600 km above two stations, 3,000 km apart, with a laser between them. From 2 s on no path leads to
/// station "east"; from 3 s on one does again.
fn two() -> Constellation {
    let spacing_ns = 10_000_000_000;
    let places = [[0.0, 0.0, 600.0], [3_000.0, 0.0, 600.0], [0.0; 3], [3_000.0, 0.0, 0.0]];
    let (west, east) = (2, 3);
    let rows = [
        (0, west, east, 0),
        (0, 0, east, 1),
        (0, 1, east, 3),
        (0, east, west, 1),
        (0, 1, west, 0),
        (0, 0, west, 2),
        (2, 0, east, -1),
        (3, 0, east, 1),
    ];
    let mut changes = Changes::default();
    for (at_s, node, destination, next) in rows {
        changes.at_ns.push(at_s * 1_000_000_000);
        changes.node.push(node);
        changes.destination.push(destination);
        changes.next.push(next);
    }
    Constellation {
        satellites: 2,
        stations: vec!["west".to_owned(), "east".to_owned()],
        inhabitants: vec![1e6, 3e6],
        lasers: vec![(0, 1)],
        knots: Knots {
            first_ns: -(MARGIN as i64) * spacing_ns,
            spacing_ns,
            nodes: places.len(),
            xyz_km: places.repeat(3 * MARGIN),
        },
        changes,
        failed: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The same, but at 1 s, and not later, the tables change: of a node, to a station, the next node.
fn two_until_1s(then: &[(u32, u32, i64)]) -> Constellation {
    let mut made = two();
    let Changes { at_ns, node, destination, next } = &mut made.changes;
    at_ns.truncate(6);
    node.truncate(6);
    destination.truncate(6);
    next.truncate(6);
    for &(at, to, over) in then {
        at_ns.push(1_000_000_000);
        node.push(at);
        destination.push(to);
        next.push(over);
    }
    made
}

/// Makes the simulator draw its constellations.
fn draw_constellations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        make_constellations_by(Box::new(|request| {
            let request: Value = serde_json::from_str(request).map_err(|e| e.to_string())?;
            match request["network"]["shell"][0].as_str() {
                Some("two") => Ok(two()),
                // At 1 s station "west" changes over from satellite 0 to satellite 1.
                Some("leaving") => Ok(two_until_1s(&[(2, 3, 1), (0, 2, 1), (1, 2, 2)])),
                // At 1 s satellite 0 reaches station "east".
                Some("reaching") => Ok(two_until_1s(&[(0, 3, 3)])),
                // The laser fails for a tenth of a second.
                Some("failing") => {
                    let failed = Failed { ends: (1, 0), from_ns: 1_000_000_000, to_ns: 1_100_000_000 };
                    Ok(Constellation { failed: vec![failed], ..two() })
                }
                Some("unsound") => Ok(Constellation { lasers: vec![(0, 2)], ..two() }),
                Some(name) if name.starts_with("drawn-") => Ok(drawn(&request)),
                _ => Err("no shell is called so".to_owned()),
            }
        }));
    });
}

/// A scenario over such a constellation.
fn scenario(seed: u64) -> String {
    let mut random = Drawn(!seed);
    let queues = [
        "",
        ", queue = { kind = \"drop-tail\", limit = \"3 packets\" }",
        ", queue = { kind = \"drop-tail\", limit = \"20 ms\" }",
        ", queue = { kind = \"red\", limit = \"40 packets\", ecn = true }",
        ", queue = { kind = \"fq-codel\" }",
        ", queue = { kind = \"codel\", limit = \"50 packets\" }",
        ", queue = { kind = \"pie\", limit = \"1 bdp\" }",
    ];
    let losses = [
        "",
        "",
        ", loss = [{ kind = \"packet-error\", rate = 0.02 }]",
        ", loss = [{ kind = \"outage\", from = \"0.5 s\", to = \"0.7 s\" }]",
    ];
    let rates = ["300 kbit/s", "2 Mbit/s", "12 Mbit/s", "1 Gbit/s"];
    let in_flight = ["delivered", "delivered", "lost"];
    let waiting = ["kept", "kept", "flushed", "requeued"];
    let outages = ["0 s", "0 s", "3 ms", "400 ms"];
    let mut text = format!("duration = \"{} s\"\nseed = {}\n", 1 + random.below(4), random.below(99));
    _ = writeln!(
        text,
        "{}",
        random.of(&["", "record = { interval = \"50 ms\", links = true }", "record = { flows = true }"])
    );
    _ = writeln!(text, "[network]\nshell = \"drawn-{seed}\"");
    _ = writeln!(text, "decide = \"{}\"", random.of(&["arrival", "arrival", "departure"]));
    _ = writeln!(
        text,
        "handover = {{ in_flight = \"{}\", queue = \"{}\", outage = \"{}\" }}",
        random.of(&in_flight),
        random.of(&waiting),
        random.of(&outages)
    );
    for port in ["isl", "gsl"] {
        let (rate, queue, loss) = (random.of(&rates), random.of(&queues), random.of(&losses));
        _ = writeln!(text, "{port} = {{ rate = \"{rate}\"{queue}{loss} }}");
    }
    if random.below(3) == 0 {
        _ = writeln!(text, "down = {{ rate = \"{}\"{} }}", random.of(&rates), random.of(&queues));
    }
    let links = random.below(3) == 0;
    if links {
        text += "[link.beside]\nrate = \"5 Mbit/s\"\ndelay = \"30 ms\"\n";
    }
    for flow in 0..1 + random.below(5) {
        let cc = random.of(&["reno", "cubic", "bbr", "vegas", "a-liad", "hybla", "copa"]);
        let pair = match random.below(4) {
            0 if links => "path = [\"beside\"]",
            0 | 1 => "pairs = \"permutation\"",
            2 => "pairs = \"all\"",
            _ => "from = \"station 0\"\nto = \"station 1\"",
        };
        let traffic = random.of(&[
            "",
            "",
            "both_ways = true\n",
            "traffic = { kind = \"bulk\", size = \"200 kB\" }\n",
            "traffic = { kind = \"web\" }\n",
            "traffic = { kind = \"short-flows\", per_second = 5, size = \"20 kB\" }\n",
            "datagrams",
        ]);
        let profile = random.of(&["", "profile = \"modern\"\n", "profile = \"linux\"\n", "ecn = true\n"]);
        _ = match traffic {
            "datagrams" => writeln!(
                text,
                "[[flow]]\nname = \"f{flow}\"\n{pair}\ntraffic = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}"
            ),
            _ => writeln!(
                text,
                "[[flow]]\nname = \"f{flow}\"\ncc = \"{cc}\"\n{pair}\nstart_jitter = \"100 ms\"\n{traffic}{profile}"
            ),
        };
    }
    text
}

pub(crate) fn plan(text: &str) -> Result<Plan, bentpipe_sim::Error> {
    draw_constellations();
    Scenario::from_toml(text, "network.toml", &[])?.resolve()
}

pub(crate) fn by_both_loops(text: &str) -> Result<Outcome, TestCaseError> {
    let plan = plan(text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    let both = [run, run_by_reference].map(|run| run(&plan, &mut no_supply, &mut |_| true));
    let [fast, reference] = both.map(|of| of.map_err(|e| TestCaseError::fail(format!("{e}\n{text}"))));
    let (fast, reference) = (fast?, reference?);
    prop_assert_eq!(format!("{:#?}", fast.report), format!("{:#?}", reference.report), "{}", text);
    prop_assert!(format!("{fast:?}") == format!("{reference:?}"), "traces differ:\n{text}");
    crate::random::in_range(&fast.report)?;
    let several =
        run_in_parts(&plan, 2, Span(300_000)).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    let same = several.is_none_or(|several| format!("{several:?}") == format!("{fast:?}"));
    prop_assert!(same, "on two threads:\n{text}");
    let own = (std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(format!("bentpipe-network-{own:?}.pcapng"));
    let capture = Capture { path: path.clone(), at: Place::Sender, whole: false };
    if let Ok(captured) = run_captured(&plan, Some(&capture), &mut no_supply, &mut |_| true) {
        prop_assert!(format!("{captured:?}") == format!("{fast:?}"), "captured:\n{text}");
        std::fs::remove_file(&path).expect("written");
    }
    Ok(fast)
}

/// A scenario of 4 s over [`two`].
pub(crate) fn over_two(more: &str) -> String {
    format!(
        "duration = \"4 s\"\nrecord = {{ transfers = true, interval = \"1 s\", links = true }}\n[network]\n\
         shell = \"two\"\nisl = {{ rate = \"1 Mbit/s\" }}\ngsl = {{ rate = \"2 Mbit/s\" }}\n{more}"
    )
}

/// By hand: 250 bytes take 1 ms up, 2 ms over the laser and 1 ms down. 600 km are 2,001,384.6 ns of light, and 3,000 km
/// 10,006,922.9 ns. So a ping takes 2 x 18.009692 ms; one that is at satellite 0 after 2 s goes nowhere until 3 s.
#[test]
fn a_ping_takes_the_time_of_its_ports_and_of_light() {
    let ping = "[[flow]]\nfrom = \"west\"\nto = \"east\"\ntraffic = { kind = \"ping\", interval = \"100 ms\", packet = \"250 bytes\" }\n";
    let outcome = by_both_loops(&over_two(ping)).expect("a run");
    let times = &outcome.transfers.completion_s;
    assert_eq!(times.len(), 41);
    for (number, time) in times.iter().enumerate() {
        match number {
            20..30 | 40 => assert!(time.is_nan(), "{number}: {time}"),
            _ => assert!((time - 0.036_019_384).abs() < 3e-9, "{number}: {time}"),
        }
    }
    let flow = &outcome.report.network_flows[0];
    assert_eq!((flow.path_changes, flow.unrouted_packets), (2, 10));
    assert!((flow.base_rtt_s.expect("a path") - 2.0 * 0.014_009_692).abs() < 1e-8);
    // Each port sends 10 packets a second, the laser for 2 ms each, but while no path leads there.
    let busy: Vec<(u32, u32, f64)> = (0..outcome.ports.t_s.len())
        .map(|i| outcome.ports.row(i))
        .filter(|row| row.t_s == 2.0 || row.t_s == 3.0)
        .map(|row| (row.from, row.to, row.busy))
        .collect();
    let expected = [(0, 1, 0.02), (0, 0, 0.01), (1, 0, 0.02), (1, 1, 0.01), (2, 2, 0.01), (3, 3, 0.01)];
    for (row, wanted) in busy.iter().zip(expected) {
        assert_eq!((row.0, row.1), (wanted.0, wanted.1));
        assert!((row.2 - wanted.2).abs() < 1e-9, "{row:?}");
    }
    assert_eq!(busy[6..].iter().map(|row| row.2).collect::<Vec<_>>(), [0.0, 0.0, 0.0, 0.0, 0.01, 0.0]);
}

/// By hand: packets set out each millisecond and reach satellite 0 after 3.001 ms, so 997 have come to the laser by 1 s.
#[test]
fn ports_with_queues_that_decide_at_departure_are_reported() {
    let cbr = "[[flow]]\nfrom = \"west\"\nto = \"east\"\ntraffic = { kind = \"cbr\", rate = \"2 Mbit/s\", packet = \"250 bytes\" }\n";
    let text = over_two(cbr)
        .replace("Mbit/s\" }\n", "Mbit/s\", queue = { kind = \"drop-front\", limit = \"9 packets\" } }\n");
    let outcome = by_both_loops(&text).expect("a run");
    let names: Vec<&str> = outcome.report.links.iter().map(|link| &*link.name).collect();
    assert_eq!(names, ["0>1", "1>ground", "west>ground"]);
    let row =
        (0..outcome.ports.t_s.len()).map(|i| outcome.ports.row(i)).find(|row| row.t_s == 1.0).expect("a row");
    assert_eq!((row.from, row.to, row.offered_packets), (0, 1, 997));
}

/// Packets that wait at a satellite keep their next hop: at 2 s the queue of the laser still sends what it has.
#[test]
fn what_waits_in_a_port_goes_on_by_the_old_table() {
    let cbr = "[[flow]]\nfrom = \"west\"\nto = \"east\"\ntraffic = { kind = \"cbr\", rate = \"2 Mbit/s\", packet = \"250 bytes\" }\n";
    let outcome = by_both_loops(&over_two(cbr)).expect("a run");
    let laser = outcome.report.links.iter().find(|link| link.name == "0>1").expect("a laser");
    // Half of what comes in the first two seconds overflows its 100 packets; what waits then leaves in 200 ms.
    let came = outcome.report.flows[0].sent_packets - outcome.report.network_flows[0].unrouted_packets;
    assert!((2_990..=3_001).contains(&laser.offered_packets) && laser.offered_packets <= came, "{laser:?}");
    assert_eq!(laser.queue_max_packets, 100);
    let at = |t_s: f64| {
        (0..outcome.ports.t_s.len())
            .map(|i| outcome.ports.row(i))
            .find(|row| row.t_s == t_s && (row.from, row.to) == (0, 1))
    };
    assert!((at(3.0).expect("a row").busy - 0.202).abs() < 0.003, "{:?}", at(3.0));
}

/// By hand: packets set out each 100 ms. That of 0.9 s is over the laser by 0.917 s; that of 1.0 s is lost there; that of
/// 1.1 s reaches satellite 0 after 1.103 s, when the laser works again.
#[test]
fn packets_on_a_laser_that_fails_are_lost() {
    let ping = "[[flow]]\nfrom = \"west\"\nto = \"east\"\ntraffic = { kind = \"ping\", interval = \"100 ms\", packet = \"250 bytes\" }\n";
    let outcome = by_both_loops(&over_two(ping).replace("\"two\"", "\"failing\"")).expect("a run");
    let times = &outcome.transfers.completion_s[..20];
    let lost: Vec<usize> = (0..20).filter(|&number| times[number].is_nan()).collect();
    assert_eq!(lost, [10]);
    let laser = outcome.report.links.iter().find(|link| link.name == "0>1").expect("a laser");
    assert_eq!((laser.dropped_error, laser.dropped_queue), (1, 0));
}

/// By hand: a packet of 250 bytes is on the link to satellite 0 for 3.001 ms from the begin of its transmission on.
/// Packets set out each millisecond. So three are lost at 1 s: those of 997, 998 and 999 ms. The packet of 1 s
/// takes the other satellite.
#[test]
fn what_is_in_flight_is_lost_where_a_station_leaves_its_satellite() {
    let cbr = "[[flow]]\nfrom = \"west\"\nto = \"east\"\ntraffic = { kind = \"cbr\", rate = \"2 Mbit/s\", packet = \"250 bytes\" }\n";
    let text = over_two(cbr).replace("\"two\"", "\"leaving\"").replace("\"1 Mbit/s\"", "\"9 Mbit/s\"");
    let kept = by_both_loops(&text).expect("a run");
    assert_eq!(kept.report.flows[0].dropped_packets, 0);
    let lost = by_both_loops(&text.replace("[network]", "[network]\nhandover = { in_flight = \"lost\" }"))
        .expect("a run");
    assert_eq!(lost.report.flows[0].dropped_packets, 3);
    let up = lost.report.links.iter().find(|link| link.name == "west>ground").expect("a port");
    assert_eq!(up.dropped_error, 3);
}

#[test]
fn pairs_are_permuted_drawn_and_read() {
    draw_constellations();
    let file = std::env::temp_dir().join(format!("bentpipe-pairs-{}.csv", std::process::id()));
    std::fs::write(&file, "from,to,start_s,bytes\nwest,east,0.5,3000\n1,0,,\n").expect("written");
    let names = |pairs: &str| {
        let text = over_two(&format!("[[flow]]\ncc = \"reno\"\npairs = {pairs}\n"));
        let plan = plan(&text).map_err(|e| e.to_string())?;
        Ok::<_, String>(plan.flows.into_iter().map(|flow| (flow.name, flow.start)).collect::<Vec<_>>())
    };
    let both = [("reno:west>east".to_owned(), Time(0)), ("reno:east>west".to_owned(), Time(0))];
    assert_eq!(names("\"permutation\"").expect("pairs"), both);
    assert_eq!(names("\"all\"").expect("pairs"), both);
    assert_eq!(names("{ gravity = 20 }").expect("pairs").len(), 20);
    let read = names(&format!("{{ file = {:?} }}", file.display().to_string())).expect("pairs");
    assert_eq!(read, [(both[0].0.clone(), Time(500_000_000)), both[1].clone()]);
    std::fs::write(&file, "from,to\nwest,west\n").expect("written");
    let wrong = names(&format!("{{ file = {:?} }}", file.display().to_string())).expect_err("no pair");
    std::fs::remove_file(&file).expect("removed");
    assert!(wrong.contains("line 2: a flow ends at another station than it begins"), "{wrong}");
}

#[test]
fn mistakes_are_named() {
    let of = |more: &str| plan(&over_two(more)).map(drop).expect_err(more).to_string();
    let flow = |keys: &str| of(&format!("[[flow]]\ncc = \"reno\"\n{keys}\n"));
    for (keys, message) in [
        ("from = \"west\"", "flow.0.to: is missing; write e.g. to = \"west\""),
        (
            "from = \"west\"\nto = \"eest\"",
            "flow.0.to: no station of the network is called \"eest\"; did you mean east or west?",
        ),
        ("from = \"west\"\nto = \"west\"", "flow.0.to: a flow ends at another station than it begins"),
        (
            "from = \"west\"\nto = \"east\"\npath = [\"x\"]",
            "flow.0.path: has no use for a flow between stations",
        ),
        ("pairs = \"all\"\nto = \"east\"", "pairs already gives the stations"),
        (
            "pairs = \"all\"\nextra_delay = \"1 ms\"",
            "flow.0.extra_delay: has no use for a flow between stations",
        ),
        ("pairs = { file = \"/no/such.csv\" }", "flow.0.pairs.file: there is no such file"),
    ] {
        let said = flow(keys);
        assert!(said.contains(message), "{said}");
    }
    let pairs = "[[flow]]\ncc = \"reno\"\npairs = \"all\"\n";
    let network =
        |from: &str, to: &str| plan(&over_two(pairs).replace(from, to)).map(drop).expect_err(to).to_string();
    let two = "shell = \"two\"";
    assert!(network(two, "shell = \"none\"").contains("network: no shell is called so"));
    assert!(
        network(two, "shell = \"unsound\"")
            .contains("network: its constellation has not lasers between satellites")
    );
    assert!(network(two, "").contains("network: there are no satellites; add e.g. shell"));
    assert!(
        network(two, "shell = \"two\"\ntle = \"x\"")
            .contains("network.tle: shell already gives the satellites")
    );
    assert!(
        network(two, "shell = \"two\"\nupdate = \"0 s\"")
            .contains("network.update: must be longer than zero")
    );
    let alone = "duration = \"1 s\"\n[link.x]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"reno\"\nfrom = \"a\"\n";
    let said = plan(alone).expect_err("no network").to_string();
    assert!(
        said.contains("flow.0.from: stations are those of a constellation; add a table [network]"),
        "{said}"
    );
}

/// The parts of a drawn network on threads of their own give the bits of one thread, wherever their windows are short
/// enough.
#[test]
fn threads_change_no_bit() {
    let mut ran = 0;
    for seed in 0..60 {
        let text = scenario(seed);
        let plan = plan(&text).expect("a plan");
        let one = run(&plan, &mut no_supply, &mut |_| true).expect("a run");
        for parts in if seed % 10 == 0 { 2..9 } else { 2..4 } {
            let Some(several) = run_in_parts(&plan, parts, Span(300_000)).expect("a run") else { continue };
            assert!(format!("{several:?}") == format!("{one:?}"), "on {parts} threads:\n{text}");
            ran += 1;
        }
    }
    assert!(ran >= 20, "only {ran} runs were on several threads");
}

proptest! {
    #![proptest_config(crate::random::cases())]

    #[test]
    fn both_loops_agree_over_a_constellation(seed in any::<u64>()) {
        by_both_loops(&scenario(seed))?;
    }
}
