//! What applications do: laws of sizes and lengths of time, the connections of a source of short flows.

use std::sync::Arc;

use bentpipe_cc::{Time, registry};
use bentpipe_tcp::Options;

use crate::link::random::Stream;
use crate::resolve::path::PathPlan;
use crate::resolve::plan::{ApplicationPlan, Burst, FlowPlan, Lengths, LinkPlan, Opener, Sizes, Source};
use crate::resolve::work::Work;
use crate::scenario::error::{Error, Key, quoted_name};
use crate::scenario::units::Size;
use crate::scenario::{Arg, Flow, Length, LengthLaw, Profile, SizeLaw, Traffic, TransferSize, file};
use crate::workload::arrivals::poisson;

/// Most connections of a run.
pub(super) const MAX_FLOWS: u64 = 100_000;
/// Largest file of sizes, bytes.
const MAX_FILE: u64 = 16 << 20;

/// A source of short flows, as far as it is the same for all its copies.
pub(super) struct ShortFlowsPart {
    per_second: f64,
    sizes: Sizes,
}

/// Does the application leave pauses that TCP notices?
pub(super) fn pauses(flow: &Flow) -> bool {
    matches!(
        flow.traffic,
        Some(Traffic::OnOff { .. } | Traffic::Requests { .. } | Traffic::Web { .. } | Traffic::Video { .. })
    )
}

/// Whether senders of a flow begin again with the initial window after a pause.
///
/// # Errors
/// Such a restart beside newCWV, which takes its place.
pub(super) fn idle_restart(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<bool, Error> {
    let chosen = flow.cc.as_ref().and_then(|cc| cc.args.get(registry::WINDOW_VALIDATION));
    let newcwv = chosen == Some(&Arg::Text(registry::NEWCWV.to_owned()));
    if newcwv && flow.idle_restart == Some(true) {
        let message = "window_validation = \"newcwv\" takes the place of the restart; leave out one of them";
        return Err(work.error(&key.with("idle_restart"), message));
    }
    let paper = flow.profile.unwrap_or_default() == Profile::Paper;
    Ok(flow.idle_restart.unwrap_or(!paper && pauses(flow) && !newcwv))
}

/// The application of a flow, if it is one that leaves pauses.
pub(super) fn application(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Option<ApplicationPlan>, Error> {
    let key = key.with("traffic");
    Ok(match &flow.traffic {
        Some(Traffic::OnOff { on, size, off }) => {
            let on = match (on, size) {
                (Some(on), None) => {
                    let length = length(on);
                    if length.is_zero() {
                        let message = "must be longer than zero; write e.g. \"2 s\"";
                        return Err(work.error(&key.with("on"), message));
                    }
                    Burst::For(length)
                }
                (None, Some(size)) => Burst::Of(sizes(work, size, &key.with("size"))?),
                (Some(_), Some(_)) => {
                    let message = "on says for how long it sends, size how much; leave one of them out";
                    return Err(work.error(&key.with("size"), message));
                }
                (None, None) => {
                    let message = "is missing; add e.g. on = \"2 s\", or size = \"500 kB\"";
                    return Err(work.error(&key.with("on"), message));
                }
            };
            Some(ApplicationPlan::OnOff { on, off: length(off) })
        }
        Some(Traffic::Requests { response, .. }) => Some(ApplicationPlan::Server {
            sizes: Some(sizes(work, response, &key.with("response"))?),
            what: "response",
        }),
        Some(Traffic::Web { .. }) => Some(ApplicationPlan::Server { sizes: None, what: "page" }),
        Some(Traffic::Video { .. }) => Some(ApplicationPlan::Server { sizes: None, what: "segment" }),
        Some(Traffic::Bulk { .. } | Traffic::Cbr { .. } | Traffic::ShortFlows { .. }) | None => None,
    })
}

/// The segments of an application whose transfers are all smaller than one have their size.
pub(super) fn fit(options: &mut Options, application: &ApplicationPlan) {
    let size = match application {
        ApplicationPlan::OnOff { on: Burst::Of(Sizes::Fixed(size)), .. }
        | ApplicationPlan::Server { sizes: Some(Sizes::Fixed(size)), .. }
        | ApplicationPlan::Client { request: size, .. } => *size,
        ApplicationPlan::OnOff { .. } | ApplicationPlan::Server { .. } => return,
    };
    options.mss = options.mss.min(u32::try_from(size).unwrap_or(u32::MAX)).max(1);
}

/// The source of short flows that a flow is, if it is one.
pub(super) fn short_flows(
    work: &Work<'_>,
    flow: &Flow,
    path: &PathPlan,
    links: &[LinkPlan],
    key: &Key,
) -> Result<Option<ShortFlowsPart>, Error> {
    let Some(Traffic::ShortFlows { per_second, load, size }) = &flow.traffic else { return Ok(None) };
    let key = key.with("traffic");
    let sizes = sizes(work, size, &key.with("size"))?;
    let per_second = match (per_second, load) {
        (Some(rate), None) => *rate,
        (None, Some(load)) => {
            let slowest = path.there.iter().map(|id| id.of(links).rate_bps).min().unwrap_or(0) as f64;
            let rate = load * slowest / (8.0 * sizes.mean());
            if rate <= 0.0 || !rate.is_finite() {
                let message = if sizes.mean().is_infinite() {
                    "the mean size has no bound, so that no rate makes this load; write per_second instead, \
                     or add most to the size"
                } else {
                    "the slowest link of the path has no rate at the start; write per_second instead"
                };
                return Err(work.error(&key.with("load"), message));
            }
            rate
        }
        (Some(_), Some(_)) => {
            let message = "load and per_second both say how often; leave one of them out";
            return Err(work.error(&key.with("load"), message));
        }
        (None, None) => {
            let message = "is missing; add e.g. per_second = 2.0, or load = 0.3";
            return Err(work.error(&key.with("per_second"), message));
        }
    };
    Ok(Some(ShortFlowsPart { per_second, sizes }))
}

/// Start and size in bytes of each connection of a source.
type Connections = Vec<(Time, u64)>;

impl ShortFlowsPart {
    /// The connections that `one`, a source called `name`, opens: their starts and sizes.
    pub(super) fn connections(
        &self,
        work: &mut Work<'_>,
        one: &FlowPlan,
        key: &Key,
    ) -> Result<(Arc<Opener>, Connections), Error> {
        let (name, seed) = (&one.name, work.scenario.seed);
        let stream = |what: &str| Stream::new(seed, &format!("flow/{name}/{what}"));
        let late = (stream("start").uniform() * one.start_jitter.0 as f64) as u64;
        let start = Time(one.start.0.saturating_add(late));
        let end = Time(work.scenario.duration.0.0);
        let stop = one.stop;
        let until = stop.min(end);
        let expected = self.per_second * until.since(start).secs();
        let arrivals = match expected > 2.0 * MAX_FLOWS as f64 {
            true => Vec::new(),
            false => poisson(self.per_second, start, until, MAX_FLOWS as usize, &mut stream("arrivals")),
        };
        if expected > 2.0 * MAX_FLOWS as f64 || arrivals.len() > MAX_FLOWS as usize {
            let message = format!(
                "this opens about {expected:.0} connections; a run has at most {MAX_FLOWS} flows; choose fewer a second"
            );
            let given = matches!(flow_traffic(work, one), Some(Traffic::ShortFlows { load: Some(_), .. }));
            let key = key.with("traffic").with(if given { "load" } else { "per_second" });
            return Err(work.error(&key, message));
        }
        let mut draws = stream("size");
        let mut connections: Vec<(Time, u64)> =
            arrivals.into_iter().map(|at| (at, self.sizes.draw(&mut draws))).collect();
        if connections.is_empty() {
            work.warnings.push(format!("flow {name}: it opens no connection in this run"));
            connections.push((Time(end.0.saturating_add(1)), 1)); // it never starts, and stands for the source
        }
        Ok((Arc::new(Opener { name: name.clone(), start, stop }), connections))
    }
}

fn flow_traffic<'a>(work: &'a Work<'_>, one: &FlowPlan) -> Option<&'a Traffic> {
    work.scenario.flow.get(one.table as usize)?.traffic.as_ref()
}

/// The source of a connection with so many bytes.
pub(super) fn with_bytes(source: &Source, bytes: u64) -> Source {
    let mut source = source.clone();
    if let Source::Tcp { bytes: all, .. } = &mut source {
        *all = Some(bytes);
    }
    source
}

pub(super) fn length(length: &Length) -> Lengths {
    match length {
        Length::Fixed(duration) => Lengths::Fixed(duration.0),
        Length::Drawn(LengthLaw::Exponential { mean }) => Lengths::Exponential(mean.0),
    }
}

pub(super) fn sizes(work: &Work<'_>, size: &TransferSize, key: &Key) -> Result<Sizes, Error> {
    let some = |size: Size, key: &Key| match size.0 {
        0 => Err(work.error(key, "there is nothing to send; write e.g. \"10 kB\"")),
        bytes => Ok(bytes as f64),
    };
    let law = match size {
        TransferSize::Fixed(size) => {
            some(*size, key)?;
            return Ok(Sizes::Fixed(size.0));
        }
        TransferSize::Drawn(law) => law,
    };
    Ok(match law {
        SizeLaw::Exponential { mean } => Sizes::Exponential { mean: some(*mean, &key.with("mean"))? },
        SizeLaw::Pareto { least, shape, most } => {
            let least_bytes = some(*least, &key.with("least"))?;
            let bound = most.map_or(f64::INFINITY, |most| most.0 as f64);
            if bound <= least_bytes {
                let message = format!("must be larger than least = {least}");
                return Err(work.error(&key.with("most"), message));
            }
            Sizes::Pareto { least: least_bytes, shape: *shape, most: bound }
        }
        SizeLaw::LogNormal { median, sigma, least, most } => {
            let between = some(*median, &key.with("median"))?;
            let bounds =
                [least.map_or(0.0, |size| size.0 as f64), most.map_or(f64::INFINITY, |size| size.0 as f64)];
            if bounds[0] > between || bounds[1] < between {
                let wrong = if bounds[0] > between { "least" } else { "most" };
                let message = format!("median = {median} must lie between least and most");
                return Err(work.error(&key.with(wrong), message));
            }
            Sizes::LogNormal { median: between, sigma: *sigma, least: bounds[0], most: bounds[1] }
        }
        SizeLaw::List { sizes, weights } => {
            let listed: Vec<u64> = sizes.iter().map(|size| size.0).collect();
            if listed.is_empty() || listed.contains(&0) {
                let message = "needs sizes of at least one byte; write e.g. [\"1 kB\", \"10 kB\"]";
                return Err(work.error(&key.with("sizes"), message));
            }
            let weights = weights.clone().unwrap_or_else(|| vec![1.0; listed.len()]);
            let sum: f64 = weights.iter().sum();
            let usable = weights.iter().all(|w| *w >= 0.0 && w.is_finite()) && sum > 0.0;
            if weights.len() != listed.len() || !usable {
                let message = format!(
                    "has to have a weight of 0 or more for each of {} sizes, and one above 0",
                    listed.len()
                );
                return Err(work.error(&key.with("weights"), message));
            }
            list(listed, &weights)
        }
        SizeLaw::File { file } => {
            let sizes = read(file).map_err(|message| work.error(&key.with("file"), message))?;
            let weights = vec![1.0; sizes.len()];
            list(sizes, &weights)
        }
    })
}

fn list(sizes: Vec<u64>, weights: &[f64]) -> Sizes {
    let sum: f64 = weights.iter().sum();
    let mut upto = 0.0;
    let mut shares: Vec<f64> = weights
        .iter()
        .map(|weight| {
            upto += weight / sum;
            upto
        })
        .collect();
    // Those behind the last weight above zero are never drawn.
    let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    shares[last..].fill(1.0);
    Sizes::List { sizes: sizes.into(), shares: shares.into() }
}

/// The sizes in a file, one number of bytes a line. No message repeats a line: the file may be another than was meant.
fn read(file: &str) -> Result<Vec<u64>, String> {
    let in_file = |message: String| format!("file of sizes {}: {message}", quoted_name(file));
    let text = file::text(file.as_ref(), MAX_FILE).map_err(in_file)?;
    let mut sizes = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = line.split('#').next().unwrap_or_default().trim();
        if number.is_empty() {
            continue;
        }
        match number.parse::<u64>() {
            Ok(size) if size > 0 => sizes.push(size),
            _ => {
                return Err(in_file(format!("line {} is not a number of bytes from 1", i + 1)));
            }
        }
    }
    if sizes.is_empty() {
        return Err(in_file("there is no size in it; write one number of bytes a line".to_owned()));
    }
    Ok(sizes)
}
