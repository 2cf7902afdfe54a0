//! `bentpipe-quic simulate`: the same transfer in simulated time, over the link of a scenario.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bentpipe_cc::Span;
use bentpipe_sim::Scenario;
use bentpipe_sim::plan::stream_of;
use serde_json::json;

use super::Failure;
use super::request::{Amount, Simulate};
use crate::simulation::{self, Transfer};

/// The longest file that is read for the names of its links.
const LONGEST_FILE: u64 = 1 << 20;
/// The longest simulated time of a transfer with a given number of bytes.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Simulates, and prints the report.
pub(crate) fn run(request: &Simulate) -> Result<(), Failure> {
    let wrong = |why: String| Failure::Request(why);
    let file = request.scenario.display().to_string();
    let sending = &request.sending;
    let (bytes, duration) = match &sending.amount {
        Amount::For(time) => (None, *time),
        Amount::Bytes(bytes) => (Some(*bytes), PATIENCE),
        Amount::File(_) => return Err(wrong("no file is read in a simulation".to_owned())),
    };
    let mut scenario = scenario(&request.scenario, duration).map_err(wrong)?;
    scenario.seed = request.seed.unwrap_or(scenario.seed);
    let plan = scenario.resolve();
    let plan = plan.map_err(|why| wrong(why.to_string()))?;
    let flow = plan.flows.first().ok_or_else(|| wrong(format!("{file} has no flow, and so no path")))?;
    let ([forward], [reverse]) = (&flow.path[..], &flow.ack_path[..]) else {
        return Err(wrong(format!(
            "{file}: the first flow crosses several links; QUIC is simulated over one"
        )));
    };
    let names = [forward, reverse].map(|id| stream_of(&plan.name_of(*id)));
    let report = simulation::run(&Transfer {
        forward: (forward.of(&plan.links), &names[0]),
        reverse: (reverse.of(&plan.links), &names[1]),
        controller: sending.controller.clone(),
        bytes,
        duration: Span::from_secs(duration.as_secs_f64()),
        interval: Span::from_secs(sending.interval.as_secs_f64()),
        seed: plan.seed,
    });
    let report = report.map_err(|why| Failure::Work(why.to_string()))?;
    let samples = report.samples.iter().map(|sample| {
        json!({
            "t_s": sample.at.secs(), "cwnd_bytes": sample.cwnd, "rtt_s": sample.rtt.secs(),
            "lost_packets": sample.lost_packets,
        })
    });
    let answer = json!({
        "controller": sending.name,
        "simulated": true,
        "complete": report.complete,
        "seconds": report.took.secs(),
        "received_bytes": report.received,
        "goodput_bps": report.goodput_bps(),
        "rtt_min_s": report.rtt_min.secs(),
        "rtt_mean_s": report.rtt_mean_s(),
        "sent_packets": report.sent_packets,
        "lost_packets": report.lost_packets,
        "lost_bytes": report.lost_bytes,
        "congestion_events": report.congestion_events,
        "dropped_queue": report.dropped.0,
        "dropped_error": report.dropped.1,
        "mtu_bytes": report.mtu,
        "samples": samples.collect::<Vec<_>>(),
    });
    println!("{answer}");
    Ok(())
}

/// The scenario of a file. As in `bentpipe emulate`, a scenario may lack flows if only one path is possible,
/// and may lack a duration, for which `duration` is used.
fn scenario(path: &Path, duration: Duration) -> Result<Scenario, String> {
    let refused = match Scenario::load(path, &[]) {
        Ok(scenario) => return Ok(scenario),
        Err(why) => why.to_string(),
    };
    let is_short = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LONGEST_FILE);
    let text = if is_short { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let Ok(table) = text.parse::<toml::Table>() else { return Err(refused) };
    let mut missing = Vec::new();
    if !table.contains_key("flow") {
        let links = table.get("link").and_then(toml::Value::as_table);
        let names: Vec<&str> = links.into_iter().flat_map(toml::Table::keys).map(String::as_str).collect();
        match names[..] {
            [] => return Err(refused),
            [name] => missing.push(("flow", format!("[{{ cc = \"reno\", path = [{name:?}] }}]"))),
            _ => {
                let all = names.join(", ");
                return Err(format!(
                    "{} has no flows and several links, {all}; QUIC is simulated over one: write a flow whose path \
                     it is",
                    path.display()
                ));
            }
        }
    }
    if !table.contains_key("duration") {
        missing.push(("duration", format!("\"{} s\"", duration.as_secs_f64())));
    }
    let missing: Vec<_> = missing.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Scenario::load(path, &missing).map_err(|why| why.to_string())
}
