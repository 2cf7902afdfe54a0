//! What the page asks, for every shipped scenario.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use bentpipe_sim::{Scenario, no_supply};
use bentpipe_web::answer::{Answer, FLOW_COLUMNS, LINK_COLUMNS, Request};
use bentpipe_web::edit::edited;
use bentpipe_web::files;

/// The texts of the scenarios that the page lists, by name; their files are given before.
fn shipped() -> Vec<(String, String)> {
    static GIVEN: Once = Once::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let of = |end: &'static str| paths.iter().filter(move |path| path.extension().is_some_and(|e| e == end));
    GIVEN.call_once(|| of("csv").for_each(|path| files::give(&name(path), fs::read(path).expect("CSV"))));
    of("toml").map(|path| (name(path), fs::read_to_string(path).expect("TOML"))).collect()
}

fn answer_to(text: &str, changes: &[(&str, &str)]) -> (serde_json::Value, usize) {
    let request: Request = serde_json::from_value(serde_json::json!({
        "text": text, "name": "a.toml", "changes": changes, "samples": 20
    }))
    .expect("a request");
    let (answer, columns) = Answer::to(&request, &mut no_supply, &mut |_| true);
    (serde_json::to_value(&answer).expect("JSON"), columns.len())
}

/// After a run that has failed the page shows the text and the plan that ran.
#[test]
fn a_plan_alone_is_answered_without_a_run() {
    let (_, text) = shipped().swap_remove(0);
    let request = serde_json::from_value(serde_json::json!({
        "text": text, "name": "a.toml", "changes": [["duration", "7 s"]], "samples": 20, "plan_only": true
    }));
    let (answer, columns) = Answer::to(
        &request.expect("a request"),
        &mut |_, _, _| unreachable!("a plan needs no controller"),
        &mut |_| unreachable!("a plan is no run"),
    );
    let answer = serde_json::to_value(&answer).expect("JSON");
    assert_eq!(answer["plan"]["duration_s"], 7.0);
    assert!(answer["text"].as_str().expect("a text").contains("7 s"));
    assert!(answer["report"].is_null() && answer["mistakes"] == serde_json::json!([]) && columns.is_empty());
}

/// A slider changes the text. That it then means what `--set` of the command line means is the promise of the
/// command below the text.
#[test]
fn a_changed_text_is_the_scenario_with_the_value_set() {
    let mut tried = 0;
    for (name, text) in shipped() {
        let table: toml::Table = text.parse().expect(&name);
        let link = table["link"].as_table().expect("links").keys().next().expect("a link").clone();
        for (key, value) in [
            ("duration".to_owned(), "7 s"),
            ("seed".to_owned(), "9"),
            (format!("link.{link}.rate"), "3 Mbit/s"),
            (format!("link.{link}.delay"), "20 ms"),
            (format!("link.{link}.loss"), "{ kind = \"packet-error\", rate = 0.001 }"),
            (format!("link.{link}.queue"), "{ kind = \"codel\", limit = \"2 bdp\" }"),
            (format!("link.{link}.reverse.rate"), "1 Mbit/s"),
            ("flow.0.cc".to_owned(), "bbr"),
            ("flow.0.count".to_owned(), "2"),
        ] {
            let set = [(key.clone(), value.to_owned())];
            let by_option = Scenario::from_toml(&text, &name, &set).and_then(|scenario| scenario.resolve());
            let changed = edited(&text, &[(key.clone(), Some(value.to_owned()))]).expect(&name);
            let by_text = Scenario::from_toml(&changed, &name, &[]).and_then(|scenario| scenario.resolve());
            assert_eq!(by_option.is_ok(), by_text.is_ok(), "{name} {key}: {:?}", by_text.err());
            if let (Ok(by_option), Ok(by_text)) = (by_option, by_text) {
                assert_eq!(by_option, by_text, "{name} {key}");
                tried += 1;
            }
        }
    }
    assert!(tried > 150, "{tried}");
}

#[test]
fn a_scenario_with_a_file_runs_and_has_its_limits() {
    let (_, text) = shipped().into_iter().find(|(name, _)| name == "leo.toml").expect("leo");
    let (answer, numbers) = answer_to(&text, &[("duration", "40 s")]);
    assert_eq!(answer["mistakes"], serde_json::json!([]));
    let [flows, links] = [0, 1].map(|i| answer["rows"][i].as_u64().expect("a number") as usize);
    assert!(flows >= 20 && links == 2 * flows, "{flows} {links}");
    assert_eq!(numbers, flows * FLOW_COLUMNS.len() + links * LINK_COLUMNS.len());
    let direction = &answer["plan"]["directions"][0];
    // scenarios/leo.csv: handovers at 15, 30 s and so on, each after 100 ms without a path.
    assert_eq!(direction["handovers_s"][0], 15.0);
    assert_eq!(direction["outages_s"][0], serde_json::json!([15.0, 15.1]));
    assert_eq!(direction["rate_bps"], 100_000_000);
}

#[test]
fn mistakes_come_as_the_simulator_says_them() {
    let text = "duration = \"1 s\"\n[link.a]\nrate = \"1\"\n[[flow]]\ncc = \"renno\"\npath = [\"a\"]\n";
    let (answer, numbers) = answer_to(text, &[]);
    let lines: Vec<&str> =
        answer["mistakes"].as_array().expect("lines").iter().filter_map(|line| line.as_str()).collect();
    assert!(lines.iter().any(|line| line.starts_with("a.toml:3: ") && line.contains("rate")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("reno")), "{lines:?}");
    assert_eq!((numbers, &answer["report"]), (0, &serde_json::Value::Null));
    assert_eq!(answer["tree"]["flow"][0]["cc"], "renno");
}

#[test]
fn a_file_that_was_not_given_is_missing_and_the_disk_is_not_asked() {
    shipped();
    let text = format!(
        "duration = \"1 s\"\n[link.a]\ntimeline = {:?}\n[[flow]]\ncc = \"reno\"\npath = [\"a\"]\n",
        format!("{}/../../scenarios/geo-rain.csv", env!("CARGO_MANIFEST_DIR"))
    );
    let (answer, _) = answer_to(&text, &[]);
    assert!(answer["mistakes"].to_string().contains("no such file"), "{}", answer["mistakes"]);
}
