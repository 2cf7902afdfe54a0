//! Runs a scenario for a page.

use bentpipe_cc::Span;
use bentpipe_sim::plan::RecordPlan;
use bentpipe_sim::record::{FlowTrace, LinkTrace, Outcome, Report};
use bentpipe_sim::{Scenario, Supply, Watch, run};
use serde::{Deserialize, Serialize};

use crate::edit::{Change, edited};
use crate::outline::Outline;

/// What a page asks for, in JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The scenario in TOML.
    pub text: String,
    /// The name of its file for messages.
    pub name: String,
    /// Changes of its text before it runs.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// About how many samples of each flow and link over the whole run.
    pub samples: u64,
    /// Leave out the run: the answer has the text and its plan alone.
    #[serde(default)]
    pub plan_only: bool,
}

/// The answer, in JSON. What a mistake hides is null.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// The scenario with the changes.
    text: String,
    /// Its keys and values as they are written.
    tree: Option<serde_json::Value>,
    /// What is wrong with it, a line for each mistake.
    mistakes: Vec<String>,
    /// The plan in numbers.
    plan: Option<Outline>,
    /// The report of the run.
    report: Option<Report>,
    /// The names of all connections.
    names: Vec<String>,
    /// The number of rows of the columns of flows, and of those of links ([`FLOW_COLUMNS`],
    /// [`LINK_COLUMNS`]).
    rows: [usize; 2],
}

/// The columns of flows, one after the other.
pub const FLOW_COLUMNS: [&str; 6] = ["t_s", "flow", "cwnd", "ssthresh", "srtt_s", "delivered_bytes"];
/// The columns of links, behind those of flows.
pub const LINK_COLUMNS: [&str; 5] = ["t_s", "link", "queue_packets", "rate_bps", "delay_s"];

impl Answer {
    /// An answer that says only what is wrong.
    pub fn wrong(text: &str, mistakes: Vec<String>) -> Self {
        Self { text: text.to_owned(), mistakes, ..Self::default() }
    }

    /// What is wrong, a line for each mistake.
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }

    /// Changes the scenario, runs it, and gives the samples of the run as columns. What the scenario itself
    /// records is left out, which changes no result.
    pub fn to(request: &Request, supply: &mut Supply<'_>, watch: &mut Watch<'_>) -> (Self, Vec<f64>) {
        let text = match edited(&request.text, &request.changes) {
            Ok(text) => text,
            Err(message) => return (Self::wrong(&request.text, vec![message]), Vec::new()),
        };
        let mut answer =
            Self { tree: text.parse::<toml::Table>().ok().and_then(tree), ..Self::wrong(&text, Vec::new()) };
        let resolved = Scenario::from_toml(&text, &request.name, &[]).and_then(|scenario| scenario.resolve());
        let mut plan = match resolved {
            Ok(plan) => plan,
            Err(error) => {
                answer.mistakes = error.lines();
                return (answer, Vec::new());
            }
        };
        answer.plan = Some(Outline::of(&plan));
        if request.plan_only {
            return (answer, Vec::new());
        }
        plan.record = Some(RecordPlan {
            interval: Some(Span((plan.duration.0 / request.samples.max(1)).max(1))),
            flows: true,
            links: true,
            segments: false,
            transfers: false,
            probes: false,
        });
        match run(&plan, supply, watch) {
            Ok(outcome) => {
                let (flows, links) = (outcome.flows.trace(), outcome.links.trace());
                answer.rows = [flows.t_s.len(), links.t_s.len()];
                let Outcome { report, names, .. } = outcome;
                answer.report = Some(report);
                answer.names = names;
                (answer, columns(&flows, &links))
            }
            Err(error) => {
                answer.mistakes = vec![format!("{}: {error}", request.name)];
                (answer, Vec::new())
            }
        }
    }
}

/// A table as JSON. Dates, which a scenario cannot have, make it none.
fn tree(table: toml::Table) -> Option<serde_json::Value> {
    serde_json::to_value(table).ok()
}

/// The samples for charts, in the order of [`FLOW_COLUMNS`] and [`LINK_COLUMNS`].
fn columns(flows: &FlowTrace, links: &LinkTrace) -> Vec<f64> {
    let mut all =
        Vec::with_capacity(FLOW_COLUMNS.len() * flows.t_s.len() + LINK_COLUMNS.len() * links.t_s.len());
    all.extend_from_slice(&flows.t_s);
    all.extend(flows.flow.iter().map(|i| f64::from(*i)));
    all.extend_from_slice(&flows.cwnd);
    all.extend_from_slice(&flows.ssthresh);
    all.extend_from_slice(&flows.srtt_s);
    all.extend(flows.delivered_bytes.iter().map(|bytes| *bytes as f64));
    all.extend_from_slice(&links.t_s);
    all.extend(links.link.iter().map(|i| f64::from(*i)));
    all.extend_from_slice(&links.queue_packets);
    all.extend_from_slice(&links.rate_bps);
    all.extend_from_slice(&links.delay_s);
    all
}
