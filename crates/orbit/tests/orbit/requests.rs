//! Requests that are wrong get one line.

use bentpipe_orbit::{Request, path};
use serde_json::{Value, json};

/// A request with one key replaced, or what is wrong with it.
fn said(key: &str, value: Value) -> String {
    let mut all = json!({
        "satellites": {"shell": "iridium"}, "a": {"lat": 1, "lon": 2}, "b": {"lat": 3, "lon": 4},
        "duration_s": 10, "step_s": 1,
    });
    all[key] = value;
    let result = Request::from_json(&all.to_string()).and_then(|r| path(&r, &mut |_| true));
    result.expect_err("an error").to_string()
}

#[test]
fn each_mistake_is_named_with_its_key() {
    for (key, value, expected) in [
        ("step_s", json!(0), "step_s is 0, but must be from 0.000001 to 86400"),
        ("step_s", json!("1 s"), "step_s: invalid type: string \"1 s\", expected f64"),
        ("duration_s", json!(-5), "duration_s is -5, but must be from 0.001 to 31622400"),
        ("shells", json!(1), "shells: unknown field `shells`"),
        ("mode", json!("laser"), "mode: unknown variant `laser`, expected `lasers` or `bent-pipe`"),
        (
            "when",
            json!("sometimes"),
            "when: expected \"every-step\", \"when-lost\", or {\"every_s\": seconds, \"first_s\": seconds}",
        ),
        ("min_elevation_deg", json!(100), "min_elevation_deg is 100, but must be from 0 to 90"),
        (
            "satellites",
            json!({"shell": "starlink-1"}),
            "satellites.shell: no shell is called \"starlink-1\"; did you mean \"starlink-s1\"?",
        ),
        ("satellites", json!({}), "satellites: give one of shell, walker, tle, omm"),
        (
            "satellites",
            json!({"walker": {"planes": 2, "per_plane": 3, "inclination_deg": 200, "altitude_km": 500}}),
            "satellites.walker.inclination_deg is 200, but must be from 0 to 180",
        ),
        (
            "satellites",
            json!({"walker": {"planes": 2, "per_plane": 3, "inclination_deg": 20}}),
            "satellites.walker: give altitude_km or mean_motion_rev_per_day",
        ),
        ("satellites", json!({"tle": "", "file": "empty.tle"}), "empty.tle, line 1: no orbital elements"),
        ("satellites", json!([]), "satellites: the list is empty; name a shell or a file"),
        (
            "satellites",
            json!([{"shell": "iridium"}, {"shell": "iridum"}]),
            "satellites.shell: no shell is called \"iridum\"; did you mean \"iridium\"?",
        ),
        (
            "satellites",
            json!([{"shell": "iridium"}, {"shell": "oneweb"}, {"shell": "iridium"}]),
            "satellites.shell: iridium is named twice; give each shell once",
        ),
        (
            "satellites",
            json!([{"tle": ISS}, {"shell": "oneweb"}, {"tle": ISS}]),
            "satellites: 25544 is in two files; give each satellite once",
        ),
        ("satellites", json!([{"shel": "oneweb"}]), "satellites[0].shel: unknown field `shel`"),
        ("satellites", json!("oneweb"), "satellites: invalid type: string \"oneweb\", expected one of shell"),
        ("a", json!({"lat": 95, "lon": 2}), "a: latitude is 95, but must be from -90 to 90"),
        ("b", Value::Null, "give b, or gateways"),
        ("gateways", json!([{"lat": 5}]), "gateways[0]: give lat and lon, or waypoints"),
        (
            "epoch",
            json!("tomorrow"),
            "epoch is \"tomorrow\", but must be an instant of UTC such as \"2026-05-01T12:00:00Z\"",
        ),
    ] {
        let message = said(key, value);
        assert!(message.starts_with(expected), "{message}\n instead of\n{expected}");
        assert!(!message.contains('\n'), "{message}");
    }
}

const ISS: &str = "1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992\n\
                   2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008\n";

#[test]
fn an_epoch_far_from_the_elements_is_refused() {
    let mut all = json!({
        "satellites": {"tle": ISS, "file": "iss.tle"}, "a": {"lat": 1, "lon": 2}, "b": {"lat": 3, "lon": 4},
        "duration_s": 86_400, "step_s": 60, "epoch": "2020-08-12",
    });
    let run = |all: &Value| Request::from_json(&all.to_string()).and_then(|r| path(&r, &mut |_| true));
    let message = run(&all).expect_err("an error").to_string();
    assert!(
        message.contains("more than 14 days") && message.contains("25544, 31.1 days before"),
        "{message}"
    );
    all["epoch"] = Value::Null;
    let table = run(&all).expect("a path");
    assert!(table.epoch.starts_with("2020-07-12T21:16:01.000416"), "{}", table.epoch); // 194.88612269 days into 2020
    all["mode"] = json!("lasers");
    assert!(
        run(&all)
            .expect_err("an error")
            .to_string()
            .starts_with("mode is \"lasers\", but these satellites have none")
    );
    all["mode"] = Value::Null;
    all["reach"] = json!("length");
    assert_eq!(run(&all).expect_err("an error").to_string(), "reach is \"length\": give greatest_length_km");
}

#[test]
fn a_place_without_visibility_is_said() {
    let all = json!({
        "satellites": {"shell": "kuiper-k3"}, "a": {"name": "Tromsø", "lat": 69.65, "lon": 18.96}, "b": {"lat": 3, "lon": 4},
        "duration_s": 10, "step_s": 1,
    });
    let table = Request::from_json(&all.to_string()).and_then(|r| path(&r, &mut |_| true)).expect("a table");
    assert_eq!(table.warnings, ["no path at any time: no satellite ever comes in reach of Tromsø"]);
    assert!(
        table.columns.rtt_ms.iter().all(|r| r.is_nan()) && table.columns.first_sat.iter().all(|s| *s == -1)
    );
}
