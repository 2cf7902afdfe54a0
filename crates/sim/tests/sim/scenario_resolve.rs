//! Scenarios resolved: defaults, units, names, queues in bandwidth-delay products, geometry.

use std::path::Path;

use bentpipe_cc::registry::Value;
use bentpipe_cc::{Span, Time};
use bentpipe_sim::plan::{
    CbrPlan, CcPlan, CodelPlan, DirectionId, Discipline, FqCodelPlan, Lengths, LossPlan, OutagePlan, Pace,
    PacketError, PiePlan, Plan, Priority, QueueLimit, RedPlan, Source,
};
use bentpipe_sim::{Scenario, schema};
use bentpipe_tcp::{LossRecovery, NewRenoExit, Options, RtoRule, SpuriousTimeout};

use crate::outcome::plan;

const HEAD: &str = "duration = \"120 s\"\n[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n";

/// The plan of one flow with these lines over the 10 Mbit/s, 250 ms link.
fn one(flow: &str) -> Plan {
    plan(&format!("{HEAD}[[flow]]\npath = [\"sat\"]\n{flow}"))
}

fn options(plan: &Plan) -> Options {
    match &*plan.flows[0].source {
        Source::Tcp { options, .. } => **options,
        Source::Cbr(_) => panic!("not TCP"),
    }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.flows.iter().map(|f| f.name.as_str()).collect()
}

#[test]
fn defaults() {
    let plan = one("cc = \"reno\"\n");
    assert_eq!((plan.seed, plan.duration, plan.record), (1, Span(120_000_000_000), None));
    let link = &plan.links[0];
    assert_eq!(link.forward, link.reverse);
    assert_eq!((link.forward.rate_bps, link.forward.delay), (10_000_000, Span(250_000_000)));
    assert!(link.forward.loss.is_empty());
    let flow = &plan.flows[0];
    assert_eq!((flow.name.as_str(), &*flow.path), ("reno", &[DirectionId::forward(0)][..]));
    assert_eq!(
        (flow.start, flow.stop, flow.start_jitter, flow.extra_delay),
        (Time(0), Time::MAX, Span(0), Span(0))
    );
    assert_eq!(options(&plan), Options::modern());
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

#[test]
fn a_path_names_directions() {
    let there = DirectionId::forward(0);
    for (path, data, acks) in [
        ("[\"sat\"]", there, there.opposite()),
        ("[\"sat/forward\"]", there, there.opposite()),
        ("[\"sat/reverse\"]", there.opposite(), there),
        ("[\"sat/reverse\"]\nack_path = [\"sat/reverse\"]", there.opposite(), there.opposite()),
    ] {
        let text = format!(
            "duration = \"1 s\"\n[link.sat]\nrate = \"1 Mbit/s\"\ndelay = \"9 ms\"\n[[flow]]\ncc = \"reno\"\npath = {path}\n"
        );
        let flow = &plan(&text).flows[0];
        assert_eq!((&*flow.path, &*flow.ack_path), (&[data][..], &[acks][..]), "{path}");
    }
}

#[test]
fn profiles_and_single_options() {
    assert_eq!(options(&one("cc = \"reno\"\nprofile = \"paper\"\n")), Options::paper());
    let own = options(&one("cc = \"reno\"\nprofile = \"paper\"\nmss = \"1000 bytes\"\nack_size = \"44 \
            bytes\"\ninitial_window = 2\n\
         initial_ssthresh = 64\nreceive_window = \"100 kB\"\nrecovery = \"newreno\"\nprr = true\n\
         delayed_ack = true\n\
         timestamps = true\nspurious = \"eifel\"\nrto = \"linux\"\nmin_rto = \"1 s\"\ngranularity = \"500 ms\"\n\
         limited_transmit = false\n\
         pacing = true\nfixed_rto = true\n"));
    let expected = Options {
        mss: 1000,
        ack_size: 44,
        ack_grows: false,
        initial_window: 2.0,
        initial_ssthresh: 64.0,
        receive_window: Some(100),
        recovery: LossRecovery::NewReno,
        prr: true,
        delayed_ack: Some(Span(200_000_000)),
        timestamps: true,
        spurious: SpuriousTimeout::Eifel,
        rto: RtoRule::Linux,
        min_rto: Span(1_000_000_000),
        granularity: Span(500_000_000),
        limited_transmit: false,
        pacing: true,
        fixed_rto: true,
        ..Options::paper()
    };
    assert_eq!(own, expected);
    // A given size of acknowledgements does not grow.
    assert!(!options(&one("cc = \"reno\"\nack_size = \"52 bytes\"\n")).ack_grows);
}

#[test]
fn loss_detection_follows_profile_and_recovery() {
    let flags = |lines: &str| {
        let o = options(&one(&format!("cc = \"reno\"\n{lines}\n")));
        (o.rack, o.tlp, o.dsack)
    };
    assert_eq!(flags(""), (true, true, true));
    assert_eq!(flags("profile = \"paper\""), (false, false, false));
    assert_eq!(flags("tlp = false"), (true, false, true));
    assert_eq!(flags("profile = \"paper\"\nrack = true"), (true, false, false));
    // Options of the profile that need SACK go with it; they need not be switched off one by one.
    assert_eq!(flags("recovery = \"newreno\""), (false, false, false));
    let exit = |lines: &str| {
        options(&one(&format!("cc = \"reno\"\nrecovery = \"newreno\"\n{lines}\n"))).newreno_exit
    };
    assert_eq!(
        (exit(""), exit("newreno_exit = \"ssthresh\"")),
        (NewRenoExit::FlightSize, NewRenoExit::Ssthresh)
    );
    // ns-2.35 leaves recovery at ssthresh.
    let paper = "profile = \"paper\"\n";
    assert_eq!(
        (exit(paper), exit(&format!("{paper}newreno_exit = \"flight-size\""))),
        (NewRenoExit::Ssthresh, NewRenoExit::FlightSize)
    );
}

#[test]
fn a_controller_brings_its_sender_options() {
    assert!(options(&one("cc = \"star\"\n")).aen);
    assert!(!options(&one("cc = \"star\"\naen = false\n")).aen);
    assert!(!options(&one("cc = \"reno\"\n")).aen);
}

#[test]
fn a_supplied_controller_keeps_its_key() {
    let plan = one("cc = \"python:mine\"\n");
    assert_eq!(names(&plan), ["mine"]);
    let Source::Tcp { cc, .. } = &*plan.flows[0].source else { panic!("not TCP") };
    assert_eq!(*cc, CcPlan::Supplied { key: "mine".to_owned() });
}

#[test]
fn names_of_copies() {
    let flow = |lines: &str| format!("[[flow]]\npath = [\"sat\"]\n{lines}\n");
    let text = format!("{HEAD}{}{}", flow("cc = \"star\"\nname = \"s\"\ncount = 2"), flow("cc = \"reno\""));
    assert_eq!(names(&plan(&text)), ["s-1", "s-2", "reno"]);
    // Flows that would share a default name are numbered.
    assert_eq!(
        names(&plan(&format!("{text}{}", flow("cc = \"reno\"\ncount = 2")))),
        ["s-1", "s-2", "reno-1", "reno-2", "reno-3"]
    );
}

#[test]
fn a_queue_of_one_bandwidth_delay_product() {
    // 10 Mbit/s x 0.5 s / (8 x 1500 bytes) = 416.67 packets.
    let queue = |text: &str| plan(text).links[0].forward.queue;
    let flow = "[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n";
    assert_eq!(queue(&format!("{HEAD}{flow}")), QueueLimit::Packets(417));
    // The longest round trip and the largest packet count: 10 Mbit/s x 0.7 s / (8 x 1052 bytes) = 831.75,
    // halved.
    let half = "queue = { kind = \"drop-tail\", limit = \"0.5 bdp\" }\n";
    let second = format!("{flow}mss = \"1000 bytes\"\nextra_delay = \"100 ms\"\n");
    assert_eq!(queue(&format!("{HEAD}{half}{second}{flow}mss = \"500 bytes\"\n")), QueueLimit::Packets(416));
    // 10 kbit/s x 0.5 s is less than one packet; at least five, and a warning.
    let slow = HEAD.replace("10 Mbit/s", "10 kbit/s");
    assert_eq!(queue(&format!("{slow}{flow}")), QueueLimit::Packets(5));
    assert!(plan(&format!("{slow}{flow}")).warnings[0].contains("bdp"));
}

#[test]
fn red_thresholds_are_in_the_unit_of_the_limit() {
    let red = |keys: &str| {
        let text =
            format!("{HEAD}queue = {{ kind = \"red\"{keys} }}\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n");
        let forward = plan(&text).links[0].forward.clone();
        let Discipline::Red(red) = forward.discipline else { panic!("not RED") };
        (forward.queue, red)
    };
    // The defaults, on 2.5 x 416.67 packets of 1500 bytes.
    let expected = RedPlan {
        min: 0.15 * 1042.0,
        max: 521.0,
        weight: 0.002,
        max_p: 0.1,
        gentle: true,
        wait: true,
        by_size: false,
        ecn: false,
        hard_drop: true,
        mark_p: None,
        mean_packet: 1000,
    };
    assert_eq!(red(", limit = \"2.5 bdp\""), (QueueLimit::Packets(1042), expected));
    let levels = |keys: &str| (red(keys).1.min, red(keys).1.max);
    assert_eq!(levels(", limit = \"100 packets\", min = \"5 packets\", max = \"30 kB\""), (5.0, 30.0));
    let bytes = ", limit = \"1 MB\", min = \"5 packets\", max = \"0.5 bdp\", mean_packet = \"500 bytes\"";
    assert_eq!(levels(bytes), (2_500.0, 312_500.0));
    assert_eq!(red(bytes).0, QueueLimit::Bytes(1_000_000));
    let (low, high) = levels(", min = \"0.25 bdp\", max = \"0.5 bdp\"");
    assert!((low - 104.166_667).abs() < 1e-6 && (high - 208.333_333).abs() < 1e-6, "{low} {high}");
}

#[test]
fn queues_that_govern_the_delay_have_the_defaults_of_their_rfcs() {
    let of = |keys: &str| {
        let text = format!("{HEAD}queue = {{ kind = {keys} }}\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n");
        let channel = plan(&text).links[0].forward.clone();
        (channel.queue, channel.discipline)
    };
    let ms = Span::from_millis;
    let bdp = QueueLimit::Packets(417);
    // RFC 8289 section 4; RFC 8290 section 5.2; RFC 8033 sections 4.2, 4.4 and 5.1.
    let codel = CodelPlan { target: ms(5), interval: ms(100), ecn: false, mtu: 1500 };
    assert_eq!(of("\"codel\""), (bdp, Discipline::Codel(codel)));
    let fq = FqCodelPlan { codel, queues: 1024, quantum: 1514 };
    assert_eq!(of("\"fq-codel\""), (QueueLimit::Packets(10_240), Discipline::FqCodel(fq)));
    let pie = PiePlan {
        target: ms(15),
        update: ms(15),
        alpha: 0.125,
        beta: 1.25,
        burst: ms(150),
        ecn: false,
        mark_p: 0.1,
        mtu: 1500,
    };
    assert_eq!(of("\"pie\""), (bdp, Discipline::Pie(pie)));
    assert_eq!(of("\"priority\""), (bdp, Discipline::Priority(Priority::default())));
    // The longer round trip of a satellite needs a longer interval.
    let slow = CodelPlan { target: ms(30), interval: ms(600), ecn: true, mtu: 1500 };
    let given = "\"codel\", limit = \"2 MB\", target = \"30 ms\", interval = \"600 ms\", ecn = true";
    assert_eq!(of(given), (QueueLimit::Bytes(2_000_000), Discipline::Codel(slow)));
}

#[test]
fn ecn_is_in_vain_only_where_no_queue_marks() {
    let queue = |name: &str, keys: &str| {
        format!("[link.{name}]\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\nqueue = {{ kind = {keys} }}\n")
    };
    let warnings = |path: &str, sat: &str| {
        let links = queue("lan", "\"drop-tail\"") + &queue("sat", sat);
        let flow = format!("[[flow]]\nname = \"f\"\ncc = \"reno\"\npath = [{path}]\necn = true\n");
        let warnings = plan(&format!("duration = \"1 s\"\n{links}{flow}")).warnings;
        warnings.into_iter().filter(|w| w.contains("ecn")).collect::<Vec<_>>()
    };
    let in_vain = ["flow f: ecn has no effect, since no queue on its path marks"];
    assert_eq!(warnings("\"lan\", \"sat\"", "\"drop-tail\""), in_vain);
    assert_eq!(warnings("\"lan\", \"sat\"", "\"red\", limit = \"50 packets\""), in_vain);
    for kind in ["codel", "fq-codel", "pie"] {
        assert_eq!(warnings("\"lan\", \"sat\"", &format!("\"{kind}\"")), in_vain);
        assert!(warnings("\"lan\", \"sat\"", &format!("\"{kind}\", ecn = true")).is_empty());
    }
    assert_eq!(warnings("\"lan\", \"sat\"", "\"priority\""), in_vain);
    assert_eq!(warnings("\"lan\"", "\"red\", limit = \"50 packets\", ecn = true"), in_vain);
    assert!(warnings("\"lan\", \"sat\"", "\"red\", limit = \"50 packets\", ecn = true").is_empty());
}

#[test]
fn the_return_direction_takes_over_all_but_loss() {
    let text = format!(
        "{HEAD}loss = {{ kind = \"packet-error\", rate = 0.5 }}\nqueue = {{ kind = \"drop-tail\", \
            limit = \"9 packets\" }}\n\
         [link.sat.reverse]\nrate = \"1 Mbit/s\"\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n"
    );
    let plan = plan(&text);
    let link = &plan.links[0];
    assert_eq!(link.forward.loss, [LossPlan::PacketError(PacketError { rate: 0.5 })]);
    assert!(link.reverse.loss.is_empty());
    assert_eq!((link.reverse.rate_bps, link.reverse.delay), (1_000_000, Span(250_000_000)));
    assert_eq!(link.reverse.queue, QueueLimit::Packets(9));
}

#[test]
fn outages() {
    let loss = |loss: &str| {
        let text = format!("{HEAD}loss = {loss}\n[[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n");
        plan(&text).links[0].forward.loss.clone()
    };
    let s = |n: u64| n * 1_000_000_000;
    assert_eq!(
        loss("{ kind = \"outage\", from = \"10 s\", to = \"12 s\" }"),
        [LossPlan::Outage(OutagePlan { first: Time(s(10)), length: Span(s(2)), every: None })]
    );
    assert_eq!(
        loss("{ kind = \"outage\", every = \"60 s\", length = \"3 s\" }"),
        [LossPlan::Outage(OutagePlan { first: Time(s(60)), length: Span(s(3)), every: Some(Span(s(60))) })]
    );
}

/// The parameter `ber` of HSWA-TCP over a link with this loss; packets are 1500 bytes long.
fn ber(loss: &str, cc: &str) -> Option<f64> {
    let text = format!("{HEAD}loss = {loss}\n[[flow]]\ncc = {cc}\npath = [\"sat\"]\n");
    let plan = plan(&text);
    let Source::Tcp { cc: CcPlan::Registered { args, .. }, .. } = &*plan.flows[0].source else {
        panic!("no controller")
    };
    args.iter().find(|(name, _)| name == "ber").map(|(_, value)| match value {
        Value::Number(x) => *x,
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_controller_learns_the_bit_error_rate_of_the_path() {
    let bit = "{ kind = \"bit-error\", rate = 1e-6 }";
    assert!((ber(bit, "\"hswa\"").unwrap() / 1e-6 - 1.0).abs() < 1e-9);
    assert_eq!(ber(bit, "{ name = \"hswa\", ber = 1e-4 }"), Some(1e-4));
    // 1 - 0.99^(1/12000) = 8.37528e-7.
    let packet = "{ kind = \"packet-error\", rate = 0.01 }";
    assert!((ber(packet, "\"hswa\"").unwrap() / 8.375_28e-7 - 1.0).abs() < 1e-5);
    // Both: the probabilities that a bit survives are multiplied.
    assert!((ber(&format!("[{bit}, {packet}]"), "\"hswa\"").unwrap() / 1.837_527e-6 - 1.0).abs() < 1e-5);
    assert_eq!(ber("{ kind = \"outage\", from = \"1 s\", to = \"2 s\" }", "\"hswa\""), None);
    assert_eq!(ber("{ kind = \"packet-error\", rate = 1.0 }", "\"hswa\""), Some(1.0));
    // A rate of 0 is no loss.
    let none = "{ kind = \"bit-error\", rate = 0.0 }";
    assert_eq!(ber(none, "\"hswa\""), None);
    assert!((ber(&format!("[{none}, {bit}]"), "\"hswa\"").unwrap() / 1e-6 - 1.0).abs() < 1e-9);
}

/// RFC 9406 section 4.3: L is 8, but without a bound where the sender paces. No other
/// controller gets this parameter.
#[test]
fn hystart_learns_whether_the_sender_paces() {
    let l = |cc: &str, pacing: bool| {
        let plan = plan(&format!("{HEAD}[[flow]]\ncc = {cc}\npacing = {pacing}\npath = [\"sat\"]\n"));
        let Source::Tcp { cc: CcPlan::Registered { args, .. }, .. } = &*plan.flows[0].source else {
            panic!("no controller")
        };
        args.iter().find(|(name, _)| name == "hystart_l").map(|(_, value)| value.clone())
    };
    let chosen = "{ name = \"cubic\", slow_start = \"hystart++\" }";
    assert_eq!(l(chosen, false), None);
    assert_eq!(l(chosen, true), Some(Value::Number(1e6)));
    assert_eq!(
        l("{ name = \"cubic\", slow_start = \"hystart++\", hystart_l = 2 }", true),
        Some(Value::Number(2.0))
    );
    assert_eq!(l("\"cubic\"", true), None);
}

#[test]
fn a_link_between_stations_takes_its_delay_from_the_satellite() {
    let link = |ends: &str| {
        plan(&format!(
            "duration = \"1 s\"\n[station.here]\nlat = 0\nlon = 100\n[link.sat]\nrate = \"1 \
                Mbit/s\"\n{ends}\n\
             [[flow]]\ncc = \"reno\"\npath = [\"sat\"]\n"
        ))
    };
    let ms = |plan: &Plan| plan.links[0].forward.delay.secs() * 1e3;
    // Right below: 35786.03 km / c = 119.369 ms. Beijing: 37680 km on a sphere, 9 km less on the ellipsoid:
    // 125.66 ms.
    let up = link("from = \"here\"\nsatellite = { geo = \"100E\" }");
    assert!((ms(&up) - 119.369).abs() < 0.001, "{}", ms(&up));
    let down = link("to = \"beijing\"\nsatellite = { geo = 100 }");
    assert!((ms(&down) - 125.66).abs() < 0.02, "{}", ms(&down));
    let both = link("from = \"here\"\nto = \"beijing\"\nsatellite = { geo = \"100E\" }");
    assert!((ms(&both) - 245.03).abs() < 0.02, "{}", ms(&both));
    assert_eq!(both.links[0].forward.delay, both.links[0].reverse.delay);
    assert!(both.warnings.is_empty());
    let below =
        link("from = \"here\"\nto = \"new-york\"\nsatellite = { geo = \"100E\", min_elevation = -90.0 }");
    assert!(
        below.warnings[0].contains("new-york") && below.warnings[0].contains("-5"),
        "{:?}",
        below.warnings
    );
}

#[test]
fn constant_bit_rate() {
    let plan = |packet, on, off| CbrPlan {
        packet,
        pace: Pace::Rate(1_000_000),
        on: Lengths::Fixed(on),
        off: Lengths::Fixed(off),
        transfer: None,
        is_echoed: false,
    };
    let cbr = one("traffic = { kind = \"cbr\", rate = \"1 Mbit/s\", on = \"30 s\", off = \"10 s\" }\n");
    assert_eq!(*cbr.flows[0].source, Source::Cbr(plan(1000, Span(30_000_000_000), Span(10_000_000_000))));
    assert_eq!(cbr.flows[0].name, "cbr");
    let always = one("traffic = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"200 bytes\" }\n");
    assert_eq!(*always.flows[0].source, Source::Cbr(plan(200, Span::MAX, Span::ZERO)));
}

#[test]
fn suspicious_scenarios_get_warnings() {
    let unused = plan(&format!(
        "{HEAD}[link.spare]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\ncc = \"reno\"\npath \
            = [\"sat\"]\n"
    ));
    assert!(unused.warnings[0].contains("spare"), "{:?}", unused.warnings);
    assert!(one("cc = \"reno\"\nstart = \"130 s\"\n").warnings[0].contains("over"));
    assert!(one("cc = \"reno\"\necn = true\n").warnings[0].contains("ecn"));
}

#[test]
fn the_scenarios_of_the_repository_resolve_without_warnings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let plan = Scenario::load(&path, &[]).and_then(|s| s.resolve()).unwrap_or_else(|e| panic!("{e}"));
            assert!(plan.warnings.is_empty(), "{path:?}: {:?}", plan.warnings);
            seen.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    for name in ["geo", "geo-star", "leo", "meo", "vsat"] {
        assert!(seen.iter().any(|s| s == name), "{name}");
    }
}

#[test]
fn the_schema_describes_the_format() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["duration"]["type"], "string");
    assert_eq!(schema["$defs"]["Flow"]["additionalProperties"], false);
    let required: Vec<&str> =
        schema["required"].as_array().unwrap().iter().filter_map(|r| r.as_str()).collect();
    assert_eq!(required, ["duration", "flow"]);
    let kinds = schema["$defs"]["Loss"]["oneOf"].as_array().unwrap();
    let kinds: Vec<&str> = kinds.iter().filter_map(|k| k["properties"]["kind"]["const"].as_str()).collect();
    assert_eq!(kinds, ["packet-error", "bit-error", "gilbert-elliott", "bernoulli-burst", "outage", "trace"]);
}
