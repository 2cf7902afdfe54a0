//! Networks: their knots, and their rules on rings whose paths are worked out by hand.

use bentpipe_orbit::earth::{LIGHT_KM_PER_S, Turn, Vector, distance};
use bentpipe_orbit::elements::read_tle;
use bentpipe_orbit::ephemeris::Ephemeris;
use bentpipe_orbit::ground::{Ground, Point};
use bentpipe_orbit::horizon::{Horizon, Reach};
use bentpipe_orbit::satellites::Satellite;
use bentpipe_orbit::{Failed, FailedPart, Knots, Network, NetworkRequest, network, shells};
use serde_json::{Value, json};

fn made(json: &Value) -> Network {
    let request = NetworkRequest::from_json(&json.to_string()).expect("a request");
    network(&request, &mut |_| true).expect("a network")
}

/// The place of a node by the six knots around an instant (Lagrange's formula).
fn between(knots: &Knots, node: usize, t_ns: i64) -> Vector {
    let x = (t_ns - knots.first_ns) as f64 / knots.spacing_ns as f64;
    let first = x.floor() as usize - 2;
    let mut place = [0.0; 3];
    for j in first..first + 6 {
        let others = (first..first + 6).filter(|k| *k != j);
        let weight: f64 = others.map(|k| (x - k as f64) / (j as f64 - k as f64)).product();
        for (sum, km) in place.iter_mut().zip(knots.xyz_km[j * knots.nodes + node]) {
            *sum += weight * km;
        }
    }
    place
}

fn verified(number: &str) -> String {
    let lines = include_str!("sgp4_ver.txt").lines().filter(|line| line.len() == 69);
    lines.filter(|line| &line[2..7] == number).collect::<Vec<_>>().join("\n") + "\n"
}

/// Satellites as SGP4 places them, turned at each instant, beside the knots; over a day, up to both its ends.
#[test]
fn knots_give_places_within_a_centimetre_of_sgp4() {
    let stations = json!([{"lat": 35.69, "lon": 139.69}, {"lat": -33.9, "lon": 18.4, "alt_m": 50}]);
    let shell = |name: &str| {
        let shell = shells::find(name).expect("a shell").shell.clone();
        let epoch = shell.epoch.trim_end_matches('Z').parse().expect("an instant");
        (json!({"shell": name}), shell.satellites(epoch).expect("satellites"))
    };
    let single = |number: &str| {
        let text = verified(number);
        let satellites = read_tle(&text, "sgp4_ver.txt").expect("a TLE");
        (json!({"tle": text}), satellites)
    };
    // The last three: low with drag, an orbit of Molniya, geostationary.
    for (name, (satellites, exact)) in [
        ("starlink-s1", shell("starlink-s1")),
        ("hypatia-kuiper-k1", shell("hypatia-kuiper-k1")),
        ("o3b-mpower", shell("o3b-mpower")),
        ("06251", single("06251")),
        ("08195", single("08195")),
        ("28626", single("28626")),
    ] {
        let exact: Vec<Satellite> = exact;
        let duration_s = 86_400;
        let request = json!({"satellites": satellites, "stations": stations, "duration_s": duration_s,
            "step_s": duration_s, "knots": true});
        let knots = made(&request).knots.expect("knots");
        assert_eq!(knots.nodes, exact.len() + 2);
        let mut worst = 0.0_f64;
        for i in 0..=2_000_i64 {
            let t_ns = i * (duration_s * 1_000_000_000 / 2_000);
            let turn = Turn::at(exact[0].epoch, t_ns);
            for (node, satellite) in exact.iter().enumerate().step_by(97) {
                let place = turn.to_earth(&satellite.position(t_ns).expect("a position"));
                worst = worst.max(distance(&place, &between(&knots, node, t_ns)));
            }
        }
        println!("{name}: {:.3} mm at worst, knots each {} s", worst * 1e6, knots.spacing_ns / 1_000_000_000);
        assert!(worst < 1e-5, "{name}: {worst} km");
    }
}

/// Delays to all satellites in reach, and of lasers, beside those that tables are made of.
#[test]
fn knots_give_the_delays_of_the_tables() {
    let station = Point { lat: Some(35.69), lon: Some(139.69), alt_m: Some(40.0), ..Point::default() };
    let request = json!({"satellites": {"shell": "hypatia-kuiper-k1"}, "duration_s": 200, "step_s": 200, "knots": true,
        "stations": [{"lat": 35.69, "lon": 139.69, "alt_m": 40}, {"lat": 48.9, "lon": 2.4}]});
    let of = made(&request);
    let knots = of.knots.expect("knots");
    let shell = shells::find("hypatia-kuiper-k1").expect("a shell").shell.clone();
    let epoch = "2000-01-01T00:00:00".parse().expect("an instant");
    let mut ephemeris = Ephemeris::new(shell.satellites(epoch).expect("satellites"));
    let ground = Ground::new(&station, "a").expect("a point");
    let mut horizon = Horizon::new(ground, |_| Reach::Elevation(30.0), &ephemeris);
    let (mut looks, mut seen, node) = (Vec::new(), 0, of.satellites.len());
    let delay_ns = |a: usize, b: usize, t_ns: i64| {
        distance(&between(&knots, a, t_ns), &between(&knots, b, t_ns)) / LIGHT_KM_PER_S * 1e9
    };
    for t_ns in (0..200_000_000_000).step_by(7_300_000_000) {
        let observer = horizon.observer(t_ns, &Turn::at(epoch, t_ns));
        horizon.all(&mut ephemeris, t_ns, &observer, &mut looks).expect("positions");
        seen += looks.len();
        for look in &looks {
            let wanted = look.range_km / LIGHT_KM_PER_S * 1e9;
            // The ephemeris of the tables is within ten centimetres, 0.33 ns.
            assert!((delay_ns(look.index, node, t_ns) - wanted).abs() < 0.34, "{} at {t_ns}", look.index);
        }
        let places = ephemeris.all(t_ns).expect("positions");
        for &(a, b) in of.lasers.iter().step_by(50) {
            let wanted = distance(&places[a as usize], &places[b as usize]) / LIGHT_KM_PER_S * 1e9;
            assert!((delay_ns(a as usize, b as usize, t_ns) - wanted).abs() < 0.34, "{a} to {b} at {t_ns}");
        }
    }
    assert!(seen > 28, "{seen}");
    assert_eq!(
        made(&json!({"satellites": {"shell": "oneweb"}, "duration_s": 1, "step_s": 1,
        "stations": [{"lat": 1, "lon": 1}, {"lat": 2, "lon": 2}]}))
        .knots,
        None
    );
}

/// `count` satellites around the equator at 11,000 km, with these lasers: satellite k begins over
/// longitude k x 360 / count - 99.968 degrees, the sidereal time of that midnight (Vallado, equation 3-47). By
/// Kepler's third law they move east over the ground by 0.01161 degrees/s.
fn ring(count: u32, lasers: &[(u32, u32)], more: &Value) -> Value {
    let mut request = json!({
        "satellites": {"walker": {"planes": 1, "per_plane": count, "inclination_deg": 0, "altitude_km": 11_000,
            "lasers": false}},
        "lasers": lasers, "duration_s": 500, "step_s": 10, "min_elevation_deg": 50,
    });
    for (key, value) in more.as_object().expect("an object") {
        request[key] = value.clone();
    }
    request
}

/// A station `degrees` east of the point above which a satellite of a ring of eight begins.
fn east_of(satellite: f64, degrees: f64) -> Value {
    json!({"lat": 0, "lon": satellite * 45.0 - 99.968 + degrees})
}

const NEIGHBOURS: [(u32, u32); 8] = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0)];

/// The changes of the path from the first station to the second one: seconds and nodes.
fn paths(of: &Network) -> Vec<(i64, Vec<u32>)> {
    let first = of.satellites.len() as u32;
    let begin = |i: usize| if i == 0 { 0 } else { of.paths.ends[i - 1] as usize };
    (0..of.paths.t_ns.len())
        .filter(|&i| (of.paths.from[i], of.paths.to[i]) == (first, first + 1))
        .map(|i| {
            (of.paths.t_ns[i] / 1_000_000_000, of.paths.via[begin(i)..of.paths.ends[i] as usize].to_vec())
        })
        .collect()
}

/// The changes of an entry: seconds and next hops.
fn entries(of: &Network, node: u32, to: u32) -> Vec<(i64, i64)> {
    let tables = &of.tables;
    (0..tables.t_ns.len())
        .filter(|&i| (tables.node[i], tables.destination[i]) == (node, to))
        .map(|i| (tables.t_ns[i] / 1_000_000_000, tables.next[i]))
        .collect()
}

/// Station 8 is under satellite 2 and station 9 under satellite 4; at 50 degrees each sees one alone.
#[test]
fn routes_go_round_what_has_failed() {
    let stations = json!([east_of(2.0, 2.0), east_of(4.0, 2.0)]);
    let of = made(&ring(
        8,
        &NEIGHBOURS,
        &json!({"stations": stations, "failures": [
            {"laser": [3, 2], "from_s": 95, "to_s": 200, "detect_s": 20},
            {"satellite": 3, "from_s": 300, "to_s": 400},
            {"station": 1, "from_s": 440, "detect_s": 10},
        ]}),
    ));
    let (near, far) = (vec![2, 3, 4], vec![2, 1, 0, 7, 6, 5, 4]);
    let wanted = [(0, &near), (120, &far), (220, &near), (300, &far), (400, &near), (450, &vec![])];
    assert_eq!(paths(&of), wanted.map(|(t_s, path)| (t_s, path.clone())));
    // The satellite itself has no path while it is down, nor has anyone to the station.
    assert_eq!(entries(&of, 3, 8), [(0, 2), (120, 4), (220, 2), (300, -1), (400, 2)]);
    assert_eq!(entries(&of, 5, 9), [(0, 4), (450, -1)]);
    let at = |part, from_s: i64, to_s: i64| Failed {
        part,
        from_ns: from_s * 1_000_000_000,
        to_ns: to_s * 1_000_000_000,
    };
    let (laser, satellite, station) = (FailedPart::Laser(2), FailedPart::Node(3), FailedPart::Node(9));
    assert_eq!(of.failed, [at(laser, 95, 200), at(satellite, 300, 400), at(station, 440, 500)]);
}

/// From satellite 0 to satellite 3: three lasers of 45 degrees, 2.30 radii long, or back round the Earth two of
/// 135 and 90 degrees, 3.26 radii.
#[test]
fn the_fewest_links_may_be_the_longer_way() {
    let lasers = [(0, 1), (1, 2), (2, 3), (0, 5), (5, 3)];
    let stations = json!([east_of(0.0, 2.0), east_of(3.0, 2.0)]);
    let of = |route: &str| made(&ring(8, &lasers, &json!({"stations": stations, "route": route})));
    let (length, hops) = (of("length"), of("hops"));
    assert_eq!(paths(&length), [(0, vec![0, 1, 2, 3])]);
    assert_eq!(paths(&hops), [(0, vec![0, 5, 3])]);
    // The time is that of the path: up and down 2 degrees from the vertical, and the lasers. The oblate Earth
    // draws a round orbit over the equator in by 1.5 J2 R^2 / a, 3.8 km.
    let (ground, mean) = (6_378.137_f64, 6_378.135_f64 + 11_000.0);
    let orbit = mean - 1.5 * 1.082_616e-3 * 6_378.135 * 6_378.135 / mean;
    let chord = |degrees: f64| 2.0 * orbit * (degrees / 2.0).to_radians().sin();
    let slant = (ground * ground + orbit * orbit - 2.0 * ground * orbit * 2.0_f64.to_radians().cos()).sqrt();
    for (of, lasers_km) in [(length, 3.0 * chord(45.0)), (hops, chord(135.0) + chord(90.0))] {
        let km = of.paths.delay_ns[0] * 1e-9 * LIGHT_KM_PER_S;
        assert!((km - (2.0 * slant + lasers_km)).abs() < 0.1, "{km}");
    }
}

/// Station 8 begins 20.5 degrees east of satellite 2. At 5 degrees it sees satellites up to 63.56 degrees away on
/// the equator: 2 and 3, and 1 a little later. Satellite 2 is the highest until satellite 1 is as near, after 43
/// degrees or 3,703 s, and sets after 84.06 degrees or 7,239 s; satellite 3 sets earlier. At that time 1 is the
/// highest, 18.6 degrees away, and 0 is the one that stays longest. Steps are a minute.
#[test]
fn a_station_uses_the_satellite_that_the_rule_chooses() {
    let of = |choose: &str, when: Value| {
        made(&ring(
            8,
            &NEIGHBOURS,
            &json!({"stations": [east_of(2.0, 20.5), east_of(6.0, 20.5)],
            "min_elevation_deg": 5, "duration_s": 7_500, "step_s": 60, "choose": choose, "when": when}),
        ))
    };
    let highest = of("highest-elevation", json!("every-step"));
    assert_eq!(entries(&highest, 8, 9), [(0, 2), (3_720, 1)]);
    // What is sent to the station takes its satellite, too, although satellite 3 reaches it.
    assert_eq!((entries(&highest, 2, 8)[0], entries(&highest, 3, 8)[0]), ((0, 8), (0, 2)));
    assert_eq!(entries(&of("longest-visible", json!("when-lost")), 8, 9), [(0, 2), (7_260, 0)]);
    let every = |every_s: u32| json!({"every_s": every_s});
    assert_eq!(entries(&of("highest-elevation", every(3_000)), 8, 9), [(0, 2), (6_000, 1)]);
    // The one that sets before the next choice is replaced at once.
    assert_eq!(entries(&of("highest-elevation", every(86_400)), 8, 9), [(0, 2), (7_260, 1)]);
    // One that fails is replaced when that is known.
    let failing = made(&ring(
        8,
        &NEIGHBOURS,
        &json!({"stations": [east_of(2.0, 20.5), east_of(6.0, 20.5)],
        "min_elevation_deg": 5, "step_s": 60, "choose": "longest-visible", "when": "when-lost", "threads": 3,
        "failures": [{"satellite": 2, "from_s": 30, "to_s": 200, "detect_s": 60}]}),
    ));
    assert_eq!(entries(&failing, 8, 9), [(0, 2), (120, 3)]);
}

/// Station 8 begins 20.5 degrees east of satellite 2, and goes west by 0.01 degrees/s. Satellite 1 is as near as
/// satellite 2 after 43 degrees, and satellite 2 sets after 84.06 degrees: at 0.02161 degrees/s after 1,990 s and
/// 3,890 s, where it takes 3,703 s and 7,239 s if the station stands. Satellite 0 follows satellite 1 after 45 degrees,
/// 2,082 s. Steps are a minute.
#[test]
fn a_station_that_moves_passes_the_satellites() {
    let to = |t_s: f64| 90.0 - 99.968 + 20.5 - 0.01 * t_s;
    let ship = json!({"waypoints": [[0, 0, to(0.0), 0], [4_500, 0, to(4_500.0), 0]]});
    let of = |choose: &str, when: &str| {
        made(&ring(
            8,
            &NEIGHBOURS,
            &json!({"stations": [ship, east_of(6.0, 20.5)], "min_elevation_deg": 5, "duration_s": 4_200,
                "step_s": 60, "choose": choose, "when": when, "knots": true}),
        ))
    };
    let highest = of("highest-elevation", "every-step");
    assert_eq!(entries(&highest, 8, 9), [(0, 2), (2_040, 1), (4_080, 0)]);
    assert_eq!(entries(&highest, 1, 8), [(0, 2), (2_040, 8), (4_080, 0)]);
    assert_eq!(entries(&of("longest-visible", "when-lost"), 8, 9), [(0, 2), (3_900, 0)]);
    // Its place between knots is that on the equator, also where the run begins and ends.
    let knots = highest.knots.expect("knots");
    for t_s in [0, 1, 50, 2_000, 4_150, 4_199] {
        let angle = to(f64::from(t_s)).to_radians();
        let place = [6_378.137 * angle.cos(), 6_378.137 * angle.sin(), 0.0];
        let apart = distance(&between(&knots, 8, i64::from(t_s) * 1_000_000_000), &place);
        assert!(apart < 1e-5, "{apart} km at {t_s} s");
    }
}

/// Four satellites. Station 4 sees 3 and 0, station 5 sees 1 and 2, and station 6 half way between sees 0 and 1.
#[test]
fn a_station_between_two_relays_if_it_may() {
    let at = |degrees: f64| json!({"lat": 0, "lon": degrees - 99.968});
    let of = |lasers: &[(u32, u32)], relays: bool| {
        made(&ring(
            4,
            lasers,
            &json!({"stations": [at(-30.0), at(120.0), at(45.0)], "min_elevation_deg": 5,
            "relays": relays, "duration_s": 10}),
        ))
    };
    assert_eq!(paths(&of(&[], false)), [(0, vec![])]);
    let relayed = of(&[], true);
    assert_eq!(paths(&relayed), [(0, vec![0, 6, 1])]);
    assert_eq!((entries(&relayed, 0, 5), entries(&relayed, 6, 5)), (vec![(0, 6)], vec![(0, 1)]));
    // The laser is 24,577 km long, and the way over the station 27,272 km.
    assert_eq!(paths(&of(&[(0, 1)], true)), [(0, vec![0, 1])]);
}

/// Two rings at one height: eight satellites that serve from 60 degrees on, up to 19.4 degrees away over the equator,
/// and four that serve from 5 degrees on, up to 63.6 degrees away. Station 12 is 2 degrees east of the first of both
/// rings, and station 13 at 67.5 degrees, half way between the second and the third of eight, and 22.5 degrees from
/// the second of four.
#[test]
fn shells_are_numbered_one_after_the_other_and_have_their_own_elevation() {
    let shell = |per_plane: u32, degrees: f64| {
        json!({"walker": {"planes": 1, "per_plane": per_plane, "inclination_deg": 0, "altitude_km": 11_000,
            "min_elevation_deg": degrees}})
    };
    let (eight, four) = (shell(8, 60.0), shell(4, 5.0));
    let stations = json!([{"lat": 0, "lon": 2.0 - 99.968}, {"lat": 0, "lon": 67.5 - 99.968}]);
    let of = |satellites: Value, more: &Value| {
        let mut request =
            json!({"satellites": satellites, "stations": stations, "duration_s": 10, "step_s": 10});
        for (key, value) in more.as_object().expect("an object") {
            request[key] = value.clone();
        }
        made(&request)
    };
    let both = of(json!([eight, four]), &json!({}));
    assert_eq!(both.satellites, (0..12).collect::<Vec<i64>>());
    let grid = |count: u32, first: u32| {
        let mut pairs: Vec<_> = (0..count).map(|k| (first + k, first + (k + 1) % count)).collect();
        pairs.iter_mut().for_each(|pair| *pair = (pair.0.min(pair.1), pair.0.max(pair.1)));
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(both.lasers, [grid(8, 0), grid(4, 8)].concat());
    assert_eq!(both.min_elevation_deg, 5.0);
    // The ring of eight has no satellite for station 13, and no laser leads from one ring to the other.
    assert_eq!(paths(&both), [(0, vec![8, 9])]);
    assert_eq!(entries(&both, 0, 12), [(0, 12)]);
    assert_eq!((entries(&both, 2, 12), entries(&both, 2, 13)), (vec![(0, 1)], vec![(0, -1)]));
    assert_eq!(paths(&of(json!([four, eight]), &json!({}))), [(0, vec![0, 1])]);
    assert_eq!(paths(&of(eight.clone(), &json!({}))), [(0, vec![])]);
    // What a request says holds for all.
    assert_eq!(paths(&of(json!([eight, four]), &json!({"min_elevation_deg": 60}))), [(0, vec![])]);
    // By Hypatia's rule links are up to 12,702 km long at 60 degrees, and 126,215 km at 5 degrees. Over the first of
    // four the path is 27,058 km long, over the second 30,037 km, and over two of eight 36,041 km.
    assert_eq!(paths(&of(json!([eight, four]), &json!({"reach": "length"}))), [(0, vec![8])]);
    assert_eq!(paths(&of(eight, &json!({"reach": "length"}))), [(0, vec![0, 1])]);
}

#[test]
fn rules_that_do_not_fit_are_named() {
    let said = |more: Value| {
        let mut request = ring(8, &NEIGHBOURS, &json!({"stations": [east_of(2.0, 2.0), east_of(4.0, 2.0)]}));
        for (key, value) in more.as_object().expect("an object") {
            request[key] = value.clone();
        }
        let request = NetworkRequest::from_json(&request.to_string());
        request.and_then(|request| network(&request, &mut |_| true)).expect_err("an error").to_string()
    };
    assert!(
        said(json!({"route": "links"}))
            .starts_with("route: unknown variant `links`, expected `length` or `hops`")
    );
    assert!(
        said(json!({"when": "when-lost"})).starts_with("when goes with a rule that chooses the satellite")
    );
    assert!(
        said(json!({"failures": [{"laser": [2, 4]}]})).starts_with("failures[0].laser: no laser from 2 to 4")
    );
    assert!(
        said(json!({"failures": [{"share": 0.1, "of": "planes"}]}))
            .starts_with("failures[0].of: unknown variant")
    );
}
