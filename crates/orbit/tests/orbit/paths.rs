//! Paths from a request to a table.

use bentpipe_orbit::earth::{Turn, distance};
use bentpipe_orbit::ephemeris::Ephemeris;
use bentpipe_orbit::lasers::{End, Lasers};
use bentpipe_orbit::shells;
use bentpipe_orbit::{Request, Timetable, path, snapshot};
use bentpipe_sim::orbit::geostationary::{Station, geo_look};
use petgraph::algo::dijkstra;
use petgraph::graph::{NodeIndex, UnGraph};
use proptest::prelude::*;
use serde_json::{Value, json};

fn request(json: &Value) -> Request {
    Request::from_json(&json.to_string()).expect("a request")
}

fn run(json: &Value) -> Timetable {
    path(&request(json), &mut |_| true).expect("a path")
}

/// Kuiper between Manila and Dalian, as Hypatia has it, with other keys over it.
fn manila_dalian(more: &Value) -> Value {
    let mut all = json!({
        "satellites": {"shell": "hypatia-kuiper-k1"}, "reach": "length",
        "a": {"name": "Manila", "lat": 14.6042, "lon": 120.9822}, "b": {"name": "Dalian", "lat": 38.913_811, "lon": 121.602_322},
        "duration_s": 200, "step_s": 0.1,
    });
    for (key, value) in more.as_object().expect("an object") {
        all[key] = value.clone();
    }
    all
}

/// The routes in order, each with its first instant; none where there is no path.
fn changes(table: &Timetable) -> Vec<(f64, Vec<i64>)> {
    let rows = &table.columns;
    let route =
        |i: usize| usize::try_from(rows.route[i]).map(|r| table.routes[r].clone()).unwrap_or_default();
    let new = (0..rows.t_s.len()).filter(|i| *i == 0 || rows.route[*i] != rows.route[*i - 1]);
    new.map(|i| (rows.t_s[i], route(i))).collect()
}

#[test]
fn manila_to_dalian_changes_paths_where_hypatia_does() {
    // satgenpy/tests/data_to_match/kuiper_630/networkx_path_1173_to_1241.txt and
    // networkx_rtt_1173_to_1241.txt.
    let hypatia = [
        (0.0, vec![184, 183, 217]),
        (18.0, vec![218, 217]),
        (27.6, vec![648, 649, 650, 616]),
        (74.3, vec![218, 217, 216, 250]),
        (125.9, vec![647, 648, 649, 650, 616]),
        (128.7, vec![647, 648, 649, 615]),
    ];
    let rtt_ns = [29_423_137.758, 29_420_274.752, 29_417_416.255, 29_414_557.023];
    let table = run(&manila_dalian(&json!({})));
    assert_eq!(changes(&table), hypatia);
    for (row, expected) in rtt_ns.into_iter().enumerate() {
        let rtt_ms = table.columns.rtt_ms[row];
        assert!((rtt_ms - expected / 1e6).abs() < 1e-3, "{row}: {rtt_ms} ms");
    }
}

#[test]
fn saint_petersburg_is_cut_off_when_hypatia_says_so() {
    // satgenpy/tests/data_to_match/kuiper_630/networkx_path_1229_to_1173.txt. Its ranges are PyEphem's, which
    // differ from ours by up to 35 m: two of the instants are one step of 0.1 s later there.
    let more = json!({"a": {"lat": 59.929_858, "lon": 30.326_228}, "b": {"lat": 14.6042, "lon": 120.9822}});
    let ours = changes(&run(&manila_dalian(&more)));
    let hypatia = [
        (0.0, vec![144, 178, 179, 180, 181, 182, 183, 184]),
        (3.3, vec![177, 178, 179, 180, 181, 182, 183, 184]),
        (139.5, vec![144, 178, 179, 180, 181, 182, 183, 184]),
        (150.1, vec![144, 178, 179, 180, 181, 182, 183]),
        (155.4, vec![]),
        (165.2, vec![143, 177, 178, 179, 180, 181, 182, 183]),
        (178.8, vec![176, 177, 178, 179, 180, 181, 182, 183]),
    ];
    assert_eq!(ours.len(), hypatia.len());
    for ((at, route), (expected, same)) in ours.into_iter().zip(hypatia) {
        assert!((at - expected).abs() < 0.11 && route == same, "{at} {expected} {route:?} {same:?}");
    }
}

#[test]
fn a_shell_far_out_over_the_equator_is_the_geostationary_satellite_of_the_simulator() {
    let near = json!({"lat": 40.0, "lon": 10.0});
    let far = json!({"lat": -20.0, "lon": 40.0});
    let all = json!({
        "satellites": {"walker": {"planes": 1, "per_plane": 1, "inclination_deg": 0.0, "altitude_km": 42_164.17 - 6_378.135,
            "lasers": false, "min_elevation_deg": 0.0}},
        "a": near, "b": far, "duration_s": 1, "step_s": 1, "min_elevation_deg": 0,
    });
    // At the epoch the satellite is over the meridian of the vernal equinox; the points go where it is seen.
    let lon = snapshot(&request(&all), 0.0).expect("a snapshot").lon[0];
    let mut moved = all.clone();
    (moved["a"]["lon"], moved["b"]["lon"]) = (json!(lon + 15.0), json!(lon - 25.0));
    let table = run(&moved);
    let looks = [(40.0, lon + 15.0), (-20.0, lon - 25.0)]
        .map(|(lat, east)| geo_look(&Station { lat, lon: east }, bentpipe_sim::units::Longitude(lon)));
    let rtt_ms = 2.0 * looks.iter().map(|l| l.delay().secs() * 1e3).sum::<f64>();
    // J2, the Sun and the Moon move SGP4's satellite by some kilometres: 10 km are 0.03 ms one way.
    assert!((table.columns.rtt_ms[0] - rtt_ms).abs() < 0.1, "{} {rtt_ms}", table.columns.rtt_ms[0]);
    assert!((table.columns.first_elevation_deg[0] - looks[0].elevation_deg).abs() < 0.05);
    assert!((table.columns.last_elevation_deg[0] - looks[1].elevation_deg).abs() < 0.05);
}

#[test]
fn an_elevation_is_that_worked_out_by_hand() {
    // On the equator, under an equatorial orbit: with psi the angle at the centre, tan
    // e = (cos psi - R / r) / sin psi.
    let mut all = json!({
        "satellites": {"walker": {"planes": 1, "per_plane": 1, "inclination_deg": 0.0, "altitude_km": 1_000.0, "lasers": false}},
        "a": {"lat": 0.0, "lon": 0.0}, "b": {"lat": 0.0, "lon": 0.0}, "duration_s": 1, "step_s": 1,
    });
    let shot = snapshot(&request(&all), 0.0).expect("a snapshot");
    (all["a"]["lon"], all["b"]["lon"]) = (json!(shot.lon[0] + 10.0), json!(shot.lon[0]));
    let columns = run(&all).columns;
    let radius = 6_378.137 + shot.alt_km[0];
    let by_hand =
        ((10_f64.to_radians().cos() - 6_378.137 / radius) / 10_f64.to_radians().sin()).atan().to_degrees();
    assert!(
        (columns.first_elevation_deg[0] - by_hand).abs() < 1e-6,
        "{} {by_hand}",
        columns.first_elevation_deg[0]
    );
    assert!((columns.last_elevation_deg[0] - 90.0).abs() < 1e-3);
    // Straight up, and by the law of cosines down.
    let slant = (6_378.137_f64.powi(2) + radius * radius
        - 2.0 * 6_378.137 * radius * 10_f64.to_radians().cos())
    .sqrt();
    let rtt_ms = 2.0 * (slant + shot.alt_km[0]) / 299_792.458 * 1e3;
    assert!((columns.rtt_ms[0] - rtt_ms).abs() < 2e-5, "{} {rtt_ms}", columns.rtt_ms[0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_star_is_as_short_as_dijkstra(
        name in prop::sample::select(vec!["starlink-s3", "iridium", "telesat-polar", "kuiper-k3"]),
        from in 0_usize..66, to in 0_usize..66, seconds in 0_i64..90_000,
    ) {
        let shell = shells::find(name).expect("a shell").shell.clone();
        let epoch = "2000-01-01T00:00:00".parse().expect("an instant");
        let mut ephemeris = Ephemeris::new(shell.satellites(epoch).expect("satellites"));
        let places = ephemeris.all(seconds * 1_000_000_000).expect("positions").to_vec();
        let pairs = shell.plus_grid();
        let found = Lasers::new(places.len(), &pairs).shortest(&places, End::Satellite(from), End::Satellite(to));
        // Grids of these shells stay clear of the air, so no laser is off.
        let graph = UnGraph::<(), f64, u32>::from_edges(
            pairs.iter().map(|(a, b)| (*a, *b, distance(&places[*a as usize], &places[*b as usize]))),
        );
        let goal = NodeIndex::new(to);
        let expected = dijkstra(&graph, NodeIndex::new(from), Some(goal), |e| *e.weight()).get(&goal).copied();
        let (length, way) = found.expect("a path");
        prop_assert!((length - expected.expect("a path")).abs() < 1e-6, "{} {:?}", length, expected);
        let walked: f64 = way.windows(2).map(|w| distance(&places[w[0] as usize], &places[w[1] as usize])).sum();
        prop_assert!((length - walked).abs() < 1e-6);
        prop_assert!(way.windows(2).all(|w| pairs.contains(&(w[0].min(w[1]), w[0].max(w[1])))));
    }
}

#[test]
fn a_satellite_is_kept_until_it_is_lost_if_that_is_asked() {
    let always = run(&manila_dalian(&json!({"step_s": 1, "duration_s": 3_000})));
    let held = run(&manila_dalian(&json!({"step_s": 1, "duration_s": 3_000, "when": "when-lost"})));
    let count = |t: &Timetable| t.columns.access.iter().filter(|a| **a).count();
    assert!(count(&held) < count(&always), "{} {}", count(&held), count(&always));
    for (short, long) in always.columns.rtt_ms.iter().zip(&held.columns.rtt_ms) {
        assert!(short <= long || short.is_nan() || long.is_nan());
    }
}

#[test]
fn choices_at_intervals_fall_on_the_interval_or_on_a_loss() {
    let when = json!({"every_s": 15, "first_s": 12});
    let all = json!({"step_s": 1, "duration_s": 2_000, "when": when, "choose": "highest-elevation"});
    let columns = run(&manila_dalian(&all)).columns;
    let at: Vec<usize> = (0..2_000).filter(|i| columns.access[*i]).collect();
    let on_time = at.iter().filter(|t| **t % 15 == 12).count();
    assert!(on_time > 20, "{on_time}");
    // By elevation, the highest of several is never lost within 15 s unless it was the only one.
    assert!(at.iter().filter(|t| **t % 15 != 12).count() * 5 < on_time, "{at:?}");
}

#[test]
fn the_satellite_that_stays_longest_changes_hands_least() {
    let count = |choose: &str| {
        let all = json!({"step_s": 5, "duration_s": 6_000, "when": "when-lost", "choose": choose,
            "satellites": {"shell": "starlink-s1"}, "mode": "bent-pipe", "b": {"lat": 15.5, "lon": 121.5}});
        run(&manila_dalian(&all)).columns.access.iter().filter(|a| **a).count()
    };
    let (longest, highest) = (count("longest-visible"), count("highest-elevation"));
    assert!(longest > 10 && longest < highest, "{longest} {highest}");
}

#[test]
fn a_break_follows_a_change_of_access_and_ends_with_a_row() {
    let columns = run(&manila_dalian(&json!({"step_s": 1, "handover_break_s": 0.4}))).columns;
    let changes: Vec<usize> = (0..columns.t_s.len()).filter(|i| columns.access[*i]).collect();
    assert_eq!(changes.len(), 5);
    for i in changes {
        assert!(columns.reachable[i] && !columns.up[i], "{i}");
        assert!((columns.t_s[i + 1] - columns.t_s[i] - 0.4).abs() < 1e-9 && columns.up[i + 1]);
    }
    assert_eq!(columns.up.iter().filter(|up| !**up).count(), 5);
}

#[test]
fn a_bent_pipe_ends_at_the_gateway_or_goes_on_over_the_ground() {
    // Gateway at 0 N 10 E, b at 0 N 11 E: a degree of great circle, 111.195 km at
    // 2/3 c, is 0.5564 ms one way.
    let at = |b: Value| {
        run(&json!({
            "satellites": {"shell": "o3b-mpower"}, "a": {"lat": 0, "lon": 0}, "b": b,
            "gateways": [{"lat": 60, "lon": 170}, {"lat": 0, "lon": 10}], "duration_s": 60, "step_s": 10,
        }))
    };
    let (short, long) = (at(Value::Null), at(json!({"lat": 0, "lon": 11})));
    for (s, l) in short.columns.rtt_ms.iter().zip(&long.columns.rtt_ms) {
        assert!((l - s - 2.0 * 0.556_35).abs() < 1e-4, "{s} {l}");
    }
    assert!(short.columns.gateway.iter().all(|g| *g == 1) && short.columns.hops.iter().all(|h| *h == 2));
}

#[test]
fn an_aircraft_meets_other_satellites_than_one_who_stays() {
    let stays = run(&manila_dalian(&json!({"step_s": 10})));
    let flies = run(&manila_dalian(&json!({"step_s": 10,
        "a": {"waypoints": [[0, 14.6042, 120.9822, 0], [200, 14.6042, 122.9822, 10_000]]}})));
    assert_eq!(stays.columns.rtt_ms[0], flies.columns.rtt_ms[0]);
    assert!(stays.columns.rtt_ms[19] != flies.columns.rtt_ms[19]);
    let end = snapshot(
        &request(&manila_dalian(&json!({"a": {"waypoints": [[0, 0, 0, 0], [100, 0, 1, 1_000]]}}))),
        150.0,
    );
    let point = end.expect("a snapshot").points.remove(0);
    assert!(
        point.1.abs() < 1e-9 && (point.2 - 1.0).abs() < 1e-9 && (point.3 - 1_000.0).abs() < 1e-3,
        "{point:?}"
    );
}

#[test]
fn the_same_request_gives_the_same_bits_and_stops_when_told() {
    let all =
        request(&manila_dalian(&json!({"when": "when-lost", "choose": "longest-visible", "step_s": 1})));
    let once = path(&all, &mut |_| true).expect("a path");
    let again = path(&all, &mut |_| true).expect("a path");
    assert_eq!(format!("{once:?}"), format!("{again:?}")); // NaN differs from itself, its text does not
    let mut told = Vec::new();
    let stopped = path(&all, &mut |share| {
        told.push(share);
        told.len() < 4
    });
    assert_eq!(stopped.expect_err("an interruption").to_string(), "interrupted");
    assert_eq!(told, [0.0, 0.005, 0.01, 0.015]);
}

#[test]
fn satellites_of_a_snapshot_are_where_sgp4_puts_them() {
    let all = manila_dalian(&json!({}));
    let shot = snapshot(&request(&all), 100.0).expect("a snapshot");
    assert_eq!((shot.sat.len(), shot.lasers.len(), shot.points.len()), (1_156, 2_312, 2));
    let shell = shells::find("hypatia-kuiper-k1").expect("a shell").shell.clone();
    let epoch = "2000-01-01T00:00:00".parse().expect("an instant");
    let satellites = shell.satellites(epoch).expect("satellites");
    let at = Turn::at(epoch, 100_000_000_000)
        .to_earth(&satellites[37].position(100_000_000_000).expect("a position"));
    let (lat, lon, alt) = bentpipe_orbit::earth::geodetic(&at);
    assert!((shot.lat[37] - lat).abs() < 1e-9 && (shot.lon[37] - lon).abs() < 1e-9);
    assert!((shot.alt_km[37] - alt).abs() < 1e-9 && (610.0..660.0).contains(&alt), "{alt}");
}
