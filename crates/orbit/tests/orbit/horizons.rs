//! Who is in reach.

use bentpipe_orbit::earth::Turn;
use bentpipe_orbit::ephemeris::Ephemeris;
use bentpipe_orbit::ground::{Ground, Point};
use bentpipe_orbit::horizon::{Horizon, Look, Reach};
use bentpipe_orbit::shells;
use proptest::prelude::*;
use sgp4::chrono::NaiveDateTime;

fn epoch() -> NaiveDateTime {
    "2000-01-01T00:00:00".parse().expect("an instant")
}

fn ephemeris(shell: &str) -> Ephemeris {
    let shell = shells::find(shell).expect("a shell").shell.clone();
    Ephemeris::new(shell.satellites(epoch()).expect("satellites"))
}

/// Every satellite in reach, each looked at, without any skipping.
fn brute_force(horizon: &Horizon, ephemeris: &mut Ephemeris, t_ns: i64) -> Vec<Look> {
    let observer = horizon.observer(t_ns, &Turn::at(epoch(), t_ns));
    let count = ephemeris.satellites().len();
    (0..count).filter_map(|i| horizon.one(i, ephemeris, t_ns, &observer).expect("a position")).collect()
}

fn rule() -> impl Strategy<Value = Reach> {
    prop_oneof![(0.0..60.0_f64).prop_map(Reach::Elevation), (700.0..6_000.0_f64).prop_map(Reach::Length)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn satellites_that_are_skipped_are_never_in_reach(
        lat in -90.0..90.0_f64, lon in -180.0..180.0_f64, far in -30.0..30.0_f64,
        reach in rule(), step_s in 1_i64..120,
        shell in prop::sample::select(vec!["kuiper-k3", "iridium", "telesat-polar", "o3b-mpower"]),
    ) {
        // An aircraft at Mach 3 or so: its own speed counts.
        let waypoints = vec![[0.0, lat, lon, 20_000.0], [3_600.0, (lat + far).clamp(-90.0, 90.0), lon, 0.0]];
        let point = Point { waypoints: Some(waypoints), ..Point::default() };
        let ground = Ground::new(&point, "a").expect("a point");
        let mut skipping = ephemeris(shell);
        let mut whole = ephemeris(shell);
        let mut horizon = Horizon::new(ground, |_| reach, &skipping);
        let mut found = Vec::new();
        for i in 0..60 {
            let t_ns = i * step_s * 1_000_000_000;
            let observer = horizon.observer(t_ns, &Turn::at(epoch(), t_ns));
            horizon.all(&mut skipping, t_ns, &observer, &mut found).expect("positions");
            prop_assert_eq!(&found, &brute_force(&horizon, &mut whole, t_ns), "at {} s", i * step_s);
        }
    }
}

#[test]
fn a_satellite_stays_in_reach_until_it_is_lost_and_not_longer() {
    let mut ephemeris = ephemeris("iridium");
    let point = Point { lat: Some(48.0), lon: Some(11.0), ..Point::default() };
    let ground = Ground::new(&point, "a").expect("a point");
    let mut horizon = Horizon::new(ground, |_| Reach::Elevation(8.2), &ephemeris);
    let looks = brute_force(&horizon, &mut ephemeris, 0);
    assert!(!looks.is_empty());
    let turn_at = |t| Turn::at(epoch(), t);
    for look in looks {
        let until =
            horizon.stays_until(look.index, &ephemeris, 0, i64::MAX / 4, &turn_at).expect("an instant");
        // A pass of a satellite at 780 km lasts at most some 12 minutes above 8.2 degrees.
        assert!(until > 0 && until < 750_000_000_000, "{until}");
        let in_reach = |t: i64, e: &mut Ephemeris| {
            let observer = horizon.observer(t, &turn_at(t));
            horizon.one(look.index, e, t, &observer).expect("a position").is_some()
        };
        assert!(in_reach(until - 3_000_000, &mut ephemeris) && !in_reach(until + 3_000_000, &mut ephemeris));
    }
}
