//! Where satellites are.

use bentpipe_orbit::earth::{Vector, distance};
use bentpipe_orbit::elements::read_tle;
use bentpipe_orbit::ephemeris::Ephemeris;
use bentpipe_orbit::satellites::Satellite;
use bentpipe_orbit::shells;
use proptest::prelude::*;

const MINUTE_NS: f64 = 6e10;

/// Satellites of the verification set, each with its rows of minutes and kilometres.
fn verification_set() -> Vec<(Satellite, Vec<[f64; 4]>)> {
    let lines: Vec<&str> =
        include_str!("sgp4_ver.txt").lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect();
    let mut all: Vec<(Satellite, Vec<[f64; 4]>)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].len() == 69 {
            let text = format!("{}\n{}\n", lines[at], lines[at + 1]);
            all.push((read_tle(&text, "sgp4_ver.txt").expect("a TLE").remove(0), Vec::new()));
            at += 2;
        } else {
            let numbers: Vec<f64> = lines[at].split(' ').map(|w| w.parse().expect("a number")).collect();
            all.last_mut().expect("a satellite").1.push([numbers[0], numbers[1], numbers[2], numbers[3]]);
            at += 1;
        }
    }
    all
}

#[test]
fn sgp4_is_within_a_metre_of_its_verification_set() {
    let set = verification_set();
    assert_eq!(set.len(), 21);
    let mut rows = 0;
    for (satellite, expected) in set {
        for [minutes, x, y, z] in expected {
            let at = satellite.position((minutes * MINUTE_NS).round() as i64).expect("a position");
            let off = distance(&at, &[x, y, z]);
            assert!(off < 1e-3, "satellite {} at {minutes} min is {off} km off", satellite.id);
            rows += 1;
        }
    }
    assert!(rows > 150, "{rows}");
}

/// A GEO satellite, one in Molniya's orbit, one in a low orbit with drag: of the
/// verification set. And a shell.
fn fleets() -> Vec<(&'static str, Vec<Satellite>)> {
    let mut fleets: Vec<(&str, Vec<Satellite>)> =
        vec![("geostationary", vec![]), ("Molniya", vec![]), ("low with drag", vec![])];
    for (satellite, _) in verification_set() {
        match satellite.id {
            28_626 => fleets[0].1.push(satellite),
            8_195 => fleets[1].1.push(satellite),
            6_251 => fleets[2].1.push(satellite),
            _ => {}
        }
    }
    let shell = shells::find("starlink-s1").expect("a shell").shell.clone();
    let epoch = "2000-01-01T00:00:00".parse().expect("an instant");
    fleets.push(("Starlink", shell.satellites(epoch).expect("satellites").into_iter().step_by(97).collect()));
    fleets
}

#[test]
fn interpolated_places_are_within_half_a_metre_of_sgp4() {
    for (name, satellites) in fleets() {
        assert!(!satellites.is_empty(), "{name}");
        let count = satellites.len();
        let mut ephemeris = Ephemeris::new(satellites);
        let mut worst = 0.0_f64;
        for i in 0..4_000_i64 {
            let t_ns = i * 21_601_000_003; // a day in odd steps, so that every part of an interval is met
            for index in 0..count {
                let exact = ephemeris.satellites()[index].position(t_ns).expect("a position");
                worst = worst.max(distance(&ephemeris.position(index, t_ns).expect("a position"), &exact));
            }
        }
        println!("{name}: {:.4} m at worst", worst * 1e3);
        let bound = if name == "Molniya" { 5e-4 } else { 1e-4 };
        assert!(worst < bound, "{name}: {worst} km");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Windows that are moved on, moved back, or begun anew hold the same knots.
    #[test]
    fn places_do_not_depend_on_the_instants_asked_before(asked in prop::collection::vec(0_i64..100_000, 1..20)) {
        let satellites = fleets().remove(3).1;
        let mut ephemeris = Ephemeris::new(satellites.clone());
        let mut places: Vec<Vector> = Vec::new();
        for seconds in &asked {
            places.push(ephemeris.position(1, seconds * 1_000_000_000).expect("a position"));
        }
        let last = *asked.last().expect("an instant") * 1_000_000_000;
        let fresh = Ephemeris::new(satellites).position(1, last).expect("a position");
        prop_assert_eq!(places.last(), Some(&fresh));
    }
}
