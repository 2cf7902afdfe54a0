//! Scenarios whose defaults, written out, once made another scenario. `random.rs` has
//! the law for any scenario.

use bentpipe_cc::registry::Value;
use bentpipe_sim::Scenario;
use bentpipe_sim::plan::{CcPlan, Plan, Source};
use bentpipe_tcp::IdleRestart;

fn scenario(links: &str, flow: &str) -> Scenario {
    let text = format!("duration = \"9 s\"\n{links}[[flow]]\n{flow}");
    Scenario::from_toml(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The plan, which must be that of the scenario with its defaults written out.
fn plan(scenario: &Scenario) -> Plan {
    let plan = scenario.resolve().expect("a plan");
    let full = scenario.with_defaults().expect("defaults");
    assert_eq!(full.resolve().expect("a plan of the whole"), plan);
    assert_eq!(full.with_defaults().expect("defaults"), full);
    plan
}

fn sizes(plan: &Plan) -> Vec<(u32, u32)> {
    let of = |source: &Source| match source {
        Source::Tcp { options, .. } => (options.mss, options.header),
        Source::Cbr(_) => panic!("constant-rate traffic has no segments"),
    };
    plan.flows.iter().map(|flow| of(&flow.source)).collect()
}

const LINKS: &str =
    "[link.a]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n[link.b]\nrate = \"2 Mbit/s\"\ndelay = \"30 ms\"\n";

/// The header takes its bytes from a segment of 1448, behind 52 bytes of IPv4, TCP and timestamps:
/// a packet has 1500 bytes.
#[test]
fn the_header_of_a_controller_counts_once() {
    for (cc, header) in [("xcp", 20), ("rcp", 12), ("tear", 4)] {
        for traffic in ["", "traffic = { kind = \"web\" }\n"] {
            let plan = plan(&scenario(LINKS, &format!("cc = \"{cc}\"\npath = [\"a\"]\n{traffic}")));
            let expected = (1448 - header, 52 + header);
            let responses = plan.flows.len() - 1;
            assert_eq!(sizes(&plan)[responses], expected, "{cc} {traffic}");
        }
    }
    // A request of a browser is 350 bytes (3GPP2 C.R1002) behind the same header.
    let web = plan(&scenario(LINKS, "cc = \"xcp\"\npath = [\"a\"]\ntraffic = { kind = \"web\" }\n"));
    assert_eq!(sizes(&web)[0], (350, 72));
    // One that asks for more than a segment carries has full segments.
    let long = plan(&scenario(
        LINKS,
        "cc = \"xcp\"\npath = [\"a\"]\ntraffic = { kind = \"requests\", request = \"9 kB\", response = \"1 kB\", think = \"1 s\" }\n",
    ));
    assert_eq!(sizes(&long), [(1428, 72), (1000, 72)]);
}

/// RFC 9331 section 4: a sender of L4S marks its packets with ECT(1), whatever the other subflow does.
#[test]
fn each_subflow_has_its_own_marks() {
    let of = |cc: &str, other: &str| {
        let flow =
            format!("cc = \"{cc}\"\npath = [\"a\"]\nsubflow = [{{ path = [\"b\"], cc = \"{other}\" }}]\n");
        let plan = plan(&scenario(LINKS, &flow));
        let marks = plan.flows.iter().map(|flow| match &*flow.source {
            Source::Tcp { options, .. } => (options.ecn, options.ect1),
            Source::Cbr(_) => panic!("no marks"),
        });
        marks.collect::<Vec<_>>()
    };
    assert_eq!(of("reno", "prague"), [(false, false), (true, true)]);
    assert_eq!(of("prague", "reno"), [(true, true), (false, false)]);
    assert_eq!(of("prague", "prague"), [(true, true); 2]);
}

/// The window at which TCP-Peach aims is a product of its own path: 8 Mbit/s over 10 ms
/// and 2 Mbit/s over 60 ms.
#[test]
fn each_subflow_has_the_parameters_of_its_path() {
    for cc in ["peach", "peach-plus", "cherry", "hswa", "xcp", "tear"] {
        let inherited = format!("cc = \"{cc}\"\npath = [\"a\"]\nsubflow = [{{ path = [\"b\"] }}]\n");
        let alone =
            format!("cc = \"reno\"\npath = [\"a\"]\nsubflow = [{{ path = [\"b\"], cc = \"{cc}\" }}]\n");
        for flow in [inherited, alone] {
            plan(&scenario(LINKS, &flow));
        }
    }
    let peach = plan(&scenario(LINKS, "cc = \"peach\"\npath = [\"a\"]\nsubflow = [{ path = [\"b\"] }]\n"));
    let windows = peach.flows.iter().map(|flow| match &*flow.source {
        Source::Tcp { cc: CcPlan::Registered { args, .. }, .. } => {
            args.iter().find(|(name, _)| name == "rwnd").map(|(_, value)| value.clone())
        }
        _ => panic!("a controller of the registry"),
    });
    // 10 kB and 15 kB in packets of 1500 bytes.
    assert_eq!(windows.collect::<Vec<_>>(), [6.0, 10.0].map(|n| Some(Value::Number(n))));
}

/// A return direction with opportunities has their mean rate, not the rate of the way there;
/// also where that changes.
#[test]
fn a_return_direction_with_opportunities_keeps_their_rate() {
    let name = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sim/opportunities.txt");
    for rate in ["\"8 Mbit/s\"", "[[\"0 s\", \"8 Mbit/s\"], [\"3 s\", \"4 Mbit/s\"]]"] {
        let link =
            format!("[link.a]\nrate = {rate}\ndelay = \"5 ms\"\nreverse = {{ opportunities = {name:?} }}\n");
        let plan = plan(&scenario(&link, "cc = \"reno\"\npath = [\"a\"]\n"));
        // One opportunity of 1504 bytes every 4 ms.
        assert_eq!(plan.links[0].reverse.rate_bps, 3_008_000);
    }
}

/// newCWV takes the place of the restart after a pause on the relay's half alone (RFC 7661 section 4.4.2).
#[test]
fn each_half_has_its_own_answer_to_a_pause() {
    let links = LINKS;
    for traffic in [
        "{ kind = \"web\" }",
        "{ kind = \"video\" }",
        "{ kind = \"on-off\", size = \"9 kB\", off = \"1 s\" }",
    ] {
        let flow = format!(
            "cc = \"reno\"\npath = [\"a\", \"b\"]\ntraffic = {traffic}\n\
             relay = {{ at = \"a\", buffer = \"1 MB\", cc = {{ name = \"reno\", window_validation = \"newcwv\" }} }}\n"
        );
        let plan = plan(&scenario(links, &flow));
        let restarts = plan.flows.iter().map(|flow| match &*flow.source {
            Source::Tcp { options, .. } => options.idle_restart,
            Source::Cbr(_) => panic!("no pause"),
        });
        let rules = [IdleRestart::Rfc5681, IdleRestart::Off];
        assert_eq!(restarts.collect::<Vec<_>>(), rules.repeat(plan.flows.len() / 2), "{traffic}");
    }
}

/// A warning is about the scenario, and not about how much of it is written out.
#[test]
fn warnings_are_the_same() {
    let plan = plan(&scenario(LINKS, "cc = \"dctcp\"\npath = [\"a\"]\n"));
    assert_eq!(plan.warnings.iter().filter(|warning| warning.contains("ecn has no effect")).count(), 1);
}
