//! Files that a page saves: the packets of a run as a capture, its samples as tables.

use bentpipe_cc::Span;
use bentpipe_sim::pcap::Place;
use bentpipe_sim::plan::RecordPlan;
use bentpipe_sim::record::Column;
use bentpipe_sim::{Supply, Watch, capture_in_memory, run};
use serde::{Deserialize, Serialize};

use crate::given::Given;

/// The most bytes of a file. The memory of a page ends at 4 GiB, and a browser copies what it saves.
const MOST: usize = 256 << 20;

/// What a page wants to save, in JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The scenario.
    pub given: Given,
    /// The file.
    pub what: What,
    /// Where a capture sees packets: `sender`, `receiver`, or a link's name.
    #[serde(default)]
    pub at: String,
    /// About how many samples a table has of each flow or link, if the scenario does not say when to take
    /// them.
    #[serde(default)]
    pub samples: u64,
    /// Take these samples, whatever the scenario says.
    #[serde(default)]
    pub even: bool,
}

/// A file to be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The headers of packets in the format pcapng.
    Packets,
    /// The flows over time, as `trace` of a result of Python.
    Trace,
    /// The links over time, as `link_trace`.
    LinkTrace,
    /// The probes of the controllers, as `probes`.
    Probes,
}

/// The answer, in JSON. The bytes of the file go beside it.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// What is wrong, a line for each mistake.
    pub mistakes: Vec<String>,
}

/// Runs a scenario and gives the bytes of a file.
///
/// # Errors
/// What is wrong with the scenario or the file, a line for each mistake.
pub fn file(
    request: &Request,
    supply: &mut Supply<'_>,
    watch: &mut Watch<'_>,
) -> Result<Vec<u8>, Vec<String>> {
    let mut plan = request.given.plan()?;
    let failed = |error: bentpipe_sim::RunError| vec![format!("{}: {error}", request.given.name)];
    if request.what == What::Packets {
        plan.record = None;
        return capture_in_memory(&plan, &Place::named(&request.at), MOST, supply, watch).map_err(failed);
    }
    let interval = match plan.record.filter(|_| !request.even) {
        // Links have samples at instants alone.
        Some(record) if record.interval.is_some() || request.what != What::LinkTrace => record.interval,
        _ => Some(Span((plan.duration.0 / request.samples.max(1)).max(1))),
    };
    plan.record = Some(RecordPlan {
        interval,
        flows: request.what == What::Trace,
        links: request.what == What::LinkTrace,
        probes: request.what == What::Probes,
        segments: false,
        transfers: false,
    });
    let outcome = run(&plan, supply, watch).map_err(failed)?;
    // No controller is called any more.
    watch(1.0);
    let links = outcome.report.links.iter();
    let links: Vec<String> = links.map(|link| format!("{}/{}", link.name, link.direction)).collect();
    let columns = match request.what {
        What::Packets | What::Trace => outcome.flows.trace().into_columns(),
        What::LinkTrace => outcome.links.trace().into_columns(),
        What::Probes => outcome.probes.trace().into_columns(),
    };
    let names = [("flow", &*outcome.names), ("link", &*links), ("probe", outcome.probes.names())];
    let text = csv(&columns, &names).ok_or_else(|| vec![format!(
        "the table has more than {} MB; shorten the run, choose a longer interval in [record], or use bentpipe run --out FOLDER",
        MOST >> 20
    )])?;
    Ok(text.into_bytes())
}

/// A trace as CSV (RFC 4180), with names in place of indices in the columns that have some. A probe's value
/// that is not known is empty. None if the table has more than `MOST` bytes.
fn csv(columns: &[(&'static str, Column)], names: &[(&str, &[String])]) -> Option<String> {
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    let mut text = heads.join(",") + "\n";
    for row in 0..columns.first().map_or(0, |(_, column)| column.len()) {
        for (place, (head, column)) in columns.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            match (column, names.iter().find(|(indices, _)| indices == head)) {
                (Column::U32(indices), Some((_, names))) => {
                    text.push_str(&quoted(&names[indices[row] as usize]));
                }
                (Column::F64(values), _) if *head == "value" && values[row].is_nan() => {}
                (column, _) => text.push_str(&column.text(row)),
            }
        }
        text.push('\n');
        if text.len() > MOST {
            return None;
        }
    }
    Some(text)
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into()
    }
}
