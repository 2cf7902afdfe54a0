//! Runs over a constellation: the fast path gives the bits of the reference loop, every law of the audit holds, and
//! packets take the time that their path asks for.

use std::fmt::Write;
use std::sync::Once;

use bentpipe_sim::constellation::{Changes, Constellation, Knots, MARGIN, make_constellations_by};
use bentpipe_sim::plan::Plan;
use bentpipe_sim::record::Outcome;
use bentpipe_sim::{Scenario, no_supply, run, run_by_reference};
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
    let name = request["network"]["shell"].as_str().expect("a shell");
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
    Constellation {
        satellites,
        stations,
        inhabitants: Vec::new(),
        lasers,
        knots,
        changes,
        warnings: Vec::new(),
    }
}

/// Makes the simulator draw its constellations.
fn draw_constellations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        make_constellations_by(Box::new(|request| {
            let request: Value = serde_json::from_str(request).map_err(|e| e.to_string())?;
            Ok(drawn(&request))
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
    let mut text = format!("duration = \"{} s\"\nseed = {}\n", 1 + random.below(4), random.below(99));
    _ = writeln!(
        text,
        "{}",
        random.of(&["", "record = { interval = \"50 ms\", links = true }", "record = { flows = true }"])
    );
    _ = writeln!(text, "[network]\nshell = \"drawn-{seed}\"");
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

fn plan(text: &str) -> Result<Plan, bentpipe_sim::Error> {
    draw_constellations();
    Scenario::from_toml(text, "network.toml", &[])?.resolve()
}

fn by_both_loops(text: &str) -> Result<Outcome, TestCaseError> {
    let plan = plan(text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
    let both = [run, run_by_reference].map(|run| run(&plan, &mut no_supply, &mut |_| true));
    let [fast, reference] = both.map(|of| of.map_err(|e| TestCaseError::fail(format!("{e}\n{text}"))));
    let (fast, reference) = (fast?, reference?);
    prop_assert_eq!(format!("{:#?}", fast.report), format!("{:#?}", reference.report), "{}", text);
    prop_assert!(format!("{fast:?}") == format!("{reference:?}"), "traces differ:\n{text}");
    crate::random::in_range(&fast.report)?;
    Ok(fast)
}

proptest! {
    #![proptest_config(crate::random::cases())]

    #[test]
    fn both_loops_agree_over_a_constellation(seed in any::<u64>()) {
        by_both_loops(&scenario(seed))?;
    }
}
