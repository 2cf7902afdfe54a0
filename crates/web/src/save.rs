//! Files that a page saves: the packets of a run as a capture, its samples as tables.

use std::fmt::Write;

use bentpipe_cc::Span;
use bentpipe_sim::pcap::Place;
use bentpipe_sim::plan::RecordPlan;
use bentpipe_sim::record::Outcome;
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
    let mut table = Table::default();
    match request.what {
        What::Packets | What::Trace => flows(&outcome, &mut table),
        What::LinkTrace => links(&outcome, &mut table),
        What::Probes => probes(&outcome, &mut table),
    }
    if table.is_full {
        return Err(vec![format!(
            "the table has more than {} MB; shorten the run, choose a longer interval in [record], or use bentpipe run --out FOLDER",
            MOST >> 20
        )]);
    }
    Ok(table.text.into_bytes())
}

/// A table as CSV (RFC 4180).
#[derive(Default)]
struct Table {
    text: String,
    is_full: bool,
}

impl Table {
    /// Adds a line of values that need no quotes, but for the second.
    fn line(&mut self, first: &dyn std::fmt::Display, name: &str, rest: &[&dyn std::fmt::Display]) {
        self.is_full |= self.text.len() > MOST;
        if self.is_full {
            return;
        }
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{first},{}", quoted(name));
        for value in rest {
            let _ = write!(self.text, ",{value}");
        }
        self.text.push('\n');
    }
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into()
    }
}

fn flows(outcome: &Outcome, table: &mut Table) {
    let trace = outcome.flows.trace();
    table
        .text
        .push_str("t_s,flow,cwnd,ssthresh,in_flight,srtt_s,rtt_s,delivered_bytes,retransmitted_packets\n");
    for i in 0..trace.t_s.len() {
        let row = trace.row(i);
        table.line(
            &row.t_s,
            &outcome.names[row.flow as usize],
            &[
                &row.cwnd,
                &row.ssthresh,
                &row.in_flight,
                &row.srtt_s,
                &row.rtt_s,
                &row.delivered_bytes,
                &row.retransmitted_packets,
            ],
        );
    }
}

fn links(outcome: &Outcome, table: &mut Table) {
    let trace = outcome.links.trace();
    let links = outcome.report.links.iter();
    let names: Vec<String> = links.map(|link| format!("{}/{}", link.name, link.direction)).collect();
    table.text.push_str(
        "t_s,link,queue_packets,delivered_packets,dropped_packets,dropped_queue,rate_bps,delay_s,handovers\n",
    );
    for i in 0..trace.t_s.len() {
        let row = trace.row(i);
        table.line(
            &row.t_s,
            &names[row.link as usize],
            &[
                &row.queue_packets,
                &row.delivered_packets,
                &row.dropped_packets,
                &row.dropped_queue,
                &row.rate_bps,
                &row.delay_s,
                &row.handovers,
            ],
        );
    }
}

fn probes(outcome: &Outcome, table: &mut Table) {
    let (trace, names) = (outcome.probes.trace(), outcome.probes.names());
    table.text.push_str("t_s,flow,probe,value\n");
    for i in 0..trace.t_s.len() {
        let row = trace.row(i);
        // A value that is not known is empty.
        let value = if row.value.is_nan() { String::new() } else { row.value.to_string() };
        table.line(&row.t_s, &outcome.names[row.flow as usize], &[&names[row.probe as usize], &value]);
    }
}
