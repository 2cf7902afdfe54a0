//! Networks as a simulator takes them.

use bentpipe_orbit::earth::{LIGHT_KM_PER_S, Turn, Vector, distance};
use bentpipe_orbit::elements::read_tle;
use bentpipe_orbit::ephemeris::Ephemeris;
use bentpipe_orbit::ground::{Ground, Point};
use bentpipe_orbit::horizon::{Horizon, Reach};
use bentpipe_orbit::satellites::Satellite;
use bentpipe_orbit::{Knots, NetworkRequest, network, shells};
use serde_json::{Value, json};

fn made(json: &Value) -> bentpipe_orbit::Network {
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
    let mut horizon = Horizon::new(ground, Reach::Elevation(30.0), &ephemeris);
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
