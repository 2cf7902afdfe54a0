//! The flows of a plan: copies, names, paths, controllers and options.

use std::sync::Arc;

use bentpipe_cc::registry::{self, Kind, PathFact, Value};
use bentpipe_cc::{Span, Start, Time};
use bentpipe_tcp::Options;

use crate::constellation::{Constellation, NetworkPlan, NextHops};
use crate::keys::error::{Error, Key, quoted, suggestion};
use crate::keys::units::Duration;
use crate::resolve::both_ways;
use crate::resolve::controller_needs;
use crate::resolve::dialogues;
use crate::resolve::hints::{hints, hints_on, may_use_paths, path_hints};
use crate::resolve::names::Names;
use crate::resolve::options;
use crate::resolve::pairs::{Pair, pairs};
use crate::resolve::path::{PathPlan, directions};
use crate::resolve::plan::{CcPlan, ConnectionPlan, DirectionId, FlowPlan, LinkPlan, Source, Way};
use crate::resolve::relations::Relations;
use crate::resolve::relay::{self, FlowPart};
use crate::resolve::subflows;
use crate::resolve::time_lines::Course;
use crate::resolve::work::{MAX_FLOWS, Work, name_of, supplied};
use crate::resolve::workload;
use crate::scenario::{Arg, Cc, Flow, Profile, Traffic};
use crate::workload::arrivals::ShortFlowsPlan;
use crate::workload::context::TrafficContext;
use crate::workload::kind::TrafficPlan;

fn key_of(index: usize) -> Key {
    Key::of(["flow"]).with(index)
}

/// The paths of the scenario's flows, one per table, with the numbers that determine queue sizes.
pub(crate) fn paths(
    work: &Work<'_>,
    courses: &[Course],
    constellation: Option<&Constellation>,
) -> Result<Vec<PathPlan>, Error> {
    let mut paths = Vec::with_capacity(work.scenario.flow.len());
    let table = constellation.map(NextHops::first);
    for (index, flow) in work.scenario.flow.iter().enumerate() {
        let key = key_of(index);
        subflows::check(work, flow, &key)?;
        let pairs = pairs(work, flow, &key, constellation)?;
        let there = match &pairs {
            Some(_) => Vec::new(),
            None => directions(work, &flow.path, &key.with("path"))?,
        };
        let back = match &flow.ack_path {
            Some(_) if workload::is_one_way(flow) => {
                let message = "nobody acknowledges constant-rate traffic; leave ack_path out";
                return Err(work.error(&key.with("ack_path"), message));
            }
            Some(names) => directions(work, names, &key.with("ack_path"))?,
            None => there.iter().rev().map(|direction| direction.opposite()).collect(),
        };
        let extra = flow.extra_delay.map_or(Span::ZERO, |d| d.0);
        work.check_delay(extra, &key.with("extra_delay"))?;
        let wire = match workload::traffic(work, flow, &key)? {
            TrafficPlan::Datagrams(plan) => plan.packet,
            _ => {
                let options = options::sizes(work, flow, &key)?;
                options.mss + options.header
            }
        };
        let mut path = PathPlan::new(there, back, extra, wire, courses);
        if let Some(at) = relay::place(work, flow, &path, &key)? {
            path.halves = Some(Box::new(relay::split(&path, extra, at, courses)));
        }
        path.branches = subflows::branches(work, flow, &key, &path, (extra, courses))?;
        if let (Some(pairs), Some(table)) = (pairs, &table) {
            let delay = |pair: &Pair| table.round_trip(pair.ends);
            path.base_rtt = pairs.iter().filter_map(delay).max().unwrap_or(Span::ZERO);
            path.pairs = Some(pairs);
        }
        paths.push(path);
    }
    Ok(paths)
}

/// All flows, each table repeated `count` times.
pub(crate) fn expand(
    work: &mut Work<'_>,
    paths: &[PathPlan],
    (links, network): (&[LinkPlan], Option<&NetworkPlan>),
) -> Result<Vec<FlowPlan>, Error> {
    let scenario = work.scenario;
    let copies = scenario.flow.iter().zip(paths).map(|(flow, path)| flow.count.saturating_mul(path.count()));
    let total = copies.fold(0_u64, u64::saturating_add);
    if total > MAX_FLOWS {
        let message = format!("these are {total} flows; a run has at most {MAX_FLOWS}");
        return Err(work.error(&Key::of(["flow"]), message));
    }
    let mut names = Names::new(&scenario.flow);
    let mut plans = Vec::with_capacity(total as usize);
    let mut relations = Relations::default();
    for (index, flow) in scenario.flow.iter().enumerate() {
        let key = key_of(index);
        let source_of = |work: &mut Work<'_>, flow: &Flow, keys: (&Key, &Key), path: &PathPlan| {
            source(work, flow, keys, path, links)
        };
        both_ways::check(work, flow, &key)?;
        let mut parts = relay::parts(work, flow, &key, &paths[index], source_of)?;
        parts = match both_ways::is_on(flow) {
            true => both_ways::parts(work, flow, &key, &paths[index], parts.remove(0), source_of)?,
            false => dialogues::parts(work, flow, &key, parts)?,
        };
        let spread = subflows::spread(work, flow, &key, &paths[index], &mut parts, source_of)?;
        let short = short_flows(work, flow, &paths[index], (links, network), &key)?;
        let (start, stop) = times(work, flow, &key)?;
        let ack_jitter = ack_jitter(work, flow, &key)?;
        let priority = priority(work, flow, &paths[index], links, &key)?;
        let whole = hints(work, flow, &key, &paths[index], links)?;
        let pairs = paths[index].pairs.iter().flatten().map(Some);
        let one = paths[index].pairs.is_none().then_some(None);
        let changes = network.filter(|_| may_use_paths(flow)).map(|of| {
            let pairs = paths[index].pairs.iter().flatten();
            of.constellation.path_changes(pairs.flat_map(|pair| [pair.ends, [pair.ends[1], pair.ends[0]]]))
        });
        let ends: Vec<Option<&Pair>> = pairs.chain(one).collect();
        for (copy, pair) in (1..=flow.count).flat_map(|copy| ends.iter().map(move |pair| (copy, *pair))) {
            let name = match (pair, network) {
                (Some(pair), Some(of)) if flow.pairs.is_some() => names.between(
                    work,
                    flow,
                    pair.ends.map(|end| &*of.constellation.stations[end as usize]),
                    &key,
                )?,
                _ => names.next(work, flow, copy, &key)?,
            };
            let start = pair.and_then(|pair| pair.start).unwrap_or(start);
            let mut copies = Vec::with_capacity(parts.len());
            let connection = spread.as_ref().map(|of| ConnectionPlan { name: name.clone(), ..of.clone() });
            for FlowPart { part, turned, path, ack_path, source } in &parts {
                let bytes = pair.and_then(|pair| pair.bytes);
                copies.push(FlowPlan {
                    name: name.clone(),
                    table: index as u32,
                    opened_by: None,
                    stations: pair.map(|pair| if *turned { [pair.ends[1], pair.ends[0]] } else { pair.ends }),
                    path: path.clone(),
                    ack_path: ack_path.clone(),
                    start: Time(start.0),
                    start_jitter: flow.start_jitter.map_or(Span::ZERO, |d| d.0),
                    // The server of a dialogue answers as long as it is asked.
                    stop: stop
                        .filter(|_| part.way != Some(Way::Responses))
                        .map_or(Time::MAX, |stop| Time(stop.0)),
                    extra_delay: flow.extra_delay.filter(|_| part.is_at_server()).map_or(Span::ZERO, |d| d.0),
                    ack_jitter: if part.reaches_client() { ack_jitter } else { Span::ZERO },
                    priority,
                    hints: match (&changes, pair, network) {
                        (Some(changes), Some(pair), Some(of)) => path_hints(flow, of, changes, pair.ends),
                        _ if part.is_whole() && connection.is_none() => whole.clone(),
                        _ => hints_on(flow, path, ack_path, paths[index].wire, links),
                    },
                    path_hints: flow.path_hints,
                    quality_hints: flow.quality_hints,
                    source: match bytes {
                        Some(bytes) => Arc::new(workload::with_bytes(source, bytes)),
                        None => source.clone(),
                    },
                    part: *part,
                    ties: None,
                });
            }
            let run = (work.scenario.seed, Time(work.scenario.duration.0.0));
            let opened = short.as_ref().map(|(plan, per_second)| {
                let source = copies[0].opener(run.0);
                let context = TrafficContext::new(&work.scenario.origin, &key);
                let connections = plan.connections(&source, run, *per_second, &context);
                connections.map(|connections| (source, connections))
            });
            let Some((by, mut connections)) = opened.transpose()? else {
                let from = plans.len();
                plans.extend(match connection {
                    Some(_) => subflows::name(work, &mut names, copies, &key)?,
                    None => dialogues::name(work, &mut names, copies, &key)?,
                });
                match &connection {
                    Some(connection) => relations.tie_subflows(&mut plans, from, connection),
                    None if both_ways::is_on(flow) => {
                        relations.tie_duplex(&mut plans, from, both_ways::handshake(&parts));
                    }
                    None => relations.tie(&mut plans, from),
                }
                continue;
            };
            if connections.is_empty() {
                work.warnings.push(format!("flow {}: it opens no connection in this run", by.name));
                connections.push((Time(run.1.0.saturating_add(1)), 1)); // it never starts, and stands for the source
            }
            for (number, (start, bytes)) in (1..).zip(connections) {
                let from = plans.len();
                let name = names.take(work, format!("{name}/{number}"), &key.with("name"))?;
                for plan in &copies {
                    plans.push(FlowPlan {
                        name: names.part(work, &name, plan.part, &key)?,
                        opened_by: Some(by.clone()),
                        start,
                        start_jitter: Span::ZERO,
                        stop: Time::MAX,
                        source: Arc::new(workload::with_bytes(&plan.source, bytes)),
                        ..plan.clone()
                    });
                }
                relations.tie(&mut plans, from);
            }
        }
    }
    if plans.len() as u64 > 2 * MAX_FLOWS {
        let message = format!("these are {} connections; a run has at most {MAX_FLOWS} flows", plans.len());
        return Err(work.error(&Key::of(["flow"]), message));
    }
    Ok(plans)
}

/// The flow's band, which must exist in every priority queue that the flow meets.
fn priority(
    work: &mut Work<'_>,
    flow: &Flow,
    path: &PathPlan,
    links: &[LinkPlan],
    key: &Key,
) -> Result<u8, Error> {
    let priority = flow.priority.unwrap_or(0);
    // Constant-rate traffic has no acknowledgements.
    let answered = !workload::is_one_way(flow);
    let mut met = false;
    let crossed =
        path.parts().iter().flat_map(|part| part.there.iter().chain(part.back.iter().filter(|_| answered)));
    for direction in crossed {
        let Some(bands) = direction.of(links).discipline.plan().bands() else { continue };
        met = true;
        if priority >= bands {
            let message = format!(
                "{priority} is out of range: the queue of link {} has {bands} bands; it must be at most {}",
                links[direction.link()].name,
                bands - 1
            );
            return Err(work.error(&key.with("priority"), message));
        }
    }
    if priority > 0 && !met {
        let name = name_of(flow);
        work.warnings
            .push(format!("flow {name}: priority has no effect, since no queue on its path has priorities"));
    }
    Ok(priority)
}

/// The traffic of a flow over this path. `cc_key`: the place of its controller in the scenario.
fn source(
    work: &mut Work<'_>,
    flow: &Flow,
    (key, cc_key): (&Key, &Key),
    path: &PathPlan,
    links: &[LinkPlan],
) -> Result<Source, Error> {
    let (bytes, application) = match workload::traffic(work, flow, key)? {
        TrafficPlan::Bulk(bytes) => (bytes, None),
        TrafficPlan::ShortFlows(_) => (None, None),
        TrafficPlan::Application(application) => (None, Some(application)),
        TrafficPlan::Dialogue { server, .. } => (None, Some(server)),
        TrafficPlan::Datagrams(plan) => {
            if flow.cc.is_some() {
                let kind = flow.traffic.as_ref().map_or("this", Traffic::kind);
                let message =
                    format!("{kind} traffic answers to nothing and has no controller; leave cc out");
                return Err(work.error(&key.with("cc"), message));
            }
            return Ok(Source::Cbr(plan));
        }
    };
    let Some(cc) = &flow.cc else {
        let count = registry::all().len();
        let message = format!("is missing; add e.g. cc = \"reno\" (bentpipe cc list has all {count})");
        return Err(work.error(cc_key, message));
    };
    let mut options = options::of(work, flow, key)?;
    if options.mss < options.header {
        let (name, mss, header) = (name_of(flow), options.mss, options.header);
        work.warnings.push(format!(
            "flow {name}: its segments carry {mss} bytes behind a header of {header}; mss may be meant larger"
        ));
    }
    let marks = |direction: &DirectionId| direction.of(links).discipline.plan().marks();
    if options.ecn && !path.there.iter().any(marks) {
        let name = name_of(flow);
        work.warnings.push(format!("flow {name}: ecn has no effect, since no queue on its path marks"));
    }
    controller_needs::check(work, flow, cc, path, links);
    let linux = flow.profile == Some(Profile::Linux);
    let cc = controller(work, cc, cc_key, &options, (path, links), linux)?;
    if let Some(application) = &application {
        workload::fit(&mut options, application);
    }
    Ok(Source::Tcp { cc, bytes, options: Arc::new(options), application: application.map(Arc::new) })
}

/// The source of short flows, if the flow is one, with the connections that it opens per second.
fn short_flows(
    work: &Work<'_>,
    flow: &Flow,
    path: &PathPlan,
    (links, network): (&[LinkPlan], Option<&NetworkPlan>),
    key: &Key,
) -> Result<Option<(ShortFlowsPlan, f64)>, Error> {
    let TrafficPlan::ShortFlows(plan) = workload::traffic(work, flow, key)? else { return Ok(None) };
    let ports = network.iter().filter(|_| path.pairs.is_some()).flat_map(|of| [&of.laser, &of.up, &of.down]);
    let crossed = path.there.iter().map(|id| id.of(links)).chain(ports);
    let slowest = crossed.map(|of| of.rate_bps).min().unwrap_or(0);
    let per_second = plan.per_second(slowest, &TrafficContext::new(&work.scenario.origin, key))?;
    Ok(Some((plan, per_second)))
}

/// Checks a controller's name and parameters, and fills in parameters that come from the path or from Linux.
fn controller(
    work: &Work<'_>,
    cc: &Cc,
    key: &Key,
    options: &Options,
    (path, links): (&PathPlan, &[LinkPlan]),
    linux: bool,
) -> Result<CcPlan, Error> {
    let name = key.with("name");
    // In the short form the name is the value of the key itself.
    let name = if cc.args.is_empty() && !work.scenario.origin.lines.contains_key(&name) {
        key.clone()
    } else {
        name
    };
    if let Some(supplied) = supplied(&cc.name) {
        if supplied.is_empty() {
            let message = format!("a controller's key is missing; write e.g. \"{}Mine\"", cc.name);
            return Err(work.error(&name, message));
        }
        if let Some(arg) = cc.args.keys().next() {
            let message =
                "a supplied controller takes its parameters from whoever supplies it; leave this out";
            return Err(work.error(&key.with(arg), message));
        }
        return Ok(CcPlan::Supplied { key: supplied.to_owned() });
    }
    let Some(entry) = registry::find(&cc.name) else {
        let ids = registry::all().iter().map(|entry| entry.id);
        let message =
            format!("no congestion controller is called {}; {}", quoted(&cc.name), suggestion(&cc.name, ids));
        return Err(work.error(&name, message));
    };
    let mut args: Vec<(String, Value)> = Vec::with_capacity(cc.args.len());
    for (arg, value) in &cc.args {
        let value = match value {
            Arg::Flag(flag) => Value::Flag(*flag),
            Arg::Number(number) => Value::Number(*number),
            Arg::Text(text) => Value::Text(text.clone()),
        };
        // Each parameter is first checked alone, so that the message names the wrong one.
        let given = [(arg.clone(), value)];
        registry::check(entry, &given).map_err(|e| {
            let near = match &e {
                registry::Error::UnknownParameter { .. } => {
                    // The shared parameters are suggested to a user who gives one of them.
                    let shared = ["slow", "hystart", "search", "limited", "swift", "resume", "path"]
                        .iter()
                        .any(|word| arg.starts_with(word));
                    let most = if shared { usize::MAX } else { entry.params.len() };
                    match most {
                        0 => String::new(),
                        _ => format!("; {}", suggestion(arg, entry.parameters().take(most).map(|p| p.name))),
                    }
                }
                _ => String::new(),
            };
            let shown = match (&e, &given[0].1) {
                (registry::Error::BadValue { .. }, Value::Number(x)) => format!("{x} is not allowed: "),
                (registry::Error::BadValue { .. }, Value::Flag(x)) => format!("{x} is not allowed: "),
                (registry::Error::BadValue { .. }, Value::Text(x)) => {
                    format!("{} is not allowed: ", quoted(x))
                }
                _ => String::new(),
            };
            work.error(&key.with(arg), format!("{shown}{e}{near}"))
        })?;
        args.extend(given);
    }
    if linux {
        args = registry::with(&args, registry::in_linux(entry.id));
    }
    // Building a controller shows whether the parameters fit together, as in a run.
    let start = Start { mss: options.mss, initial_window: 1.0, initial_ssthresh: f64::INFINITY };
    registry::build(entry.id, &args, start).map_err(|e| {
        let blamed = e.parameter().map_or_else(|| name.clone(), |parameter| key.with(parameter));
        work.error(&blamed, e.to_string())
    })?;
    let hystart = registry::starts_with_hystart(&args);
    for param in entry.parameters() {
        let given = args.iter().any(|(name, _)| name == param.name);
        let known = match (param.from_path, param.kind) {
            _ if given => None,
            (Some(PathFact::BitErrorRate), _) => path.bit_error_rate(links),
            (Some(PathFact::ReceiveWindow), Kind::Number { min, max, .. }) => {
                controller_needs::window(options, path, links).map(|segments| segments.clamp(min, max))
            }
            (Some(PathFact::Paced), Kind::Number { max, .. }) => (hystart && options.pacing).then_some(max),
            (Some(PathFact::Paced | PathFact::ReceiveWindow) | None, _) => None,
        };
        args.extend(known.map(|fact| (param.name.to_owned(), Value::Number(fact))));
    }
    registry::check(entry, &args).map_err(|e| work.error(&name, e.to_string()))?;
    args.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(CcPlan::Registered { id: entry.id, args })
}

/// When a flow starts and stops.
fn times(work: &mut Work<'_>, flow: &Flow, key: &Key) -> Result<(Span, Option<Span>), Error> {
    let start = flow.start.map_or(Span::ZERO, |d| d.0);
    let latest = start + flow.start_jitter.map_or(Span::ZERO, |d| d.0);
    if let Some(stop) = flow.stop.filter(|stop| stop.0 <= latest) {
        let message = format!(
            "a flow stops after it has started; {stop} is not later than start{} = {}",
            if flow.start_jitter.is_some() { " + start_jitter" } else { "" },
            Duration(latest)
        );
        return Err(work.error(&key.with("stop"), message));
    }
    if latest >= work.scenario.duration.0 {
        let name = name_of(flow);
        work.warnings.push(format!("flow {name}: it may start only when the run is over"));
    }
    Ok((start, flow.stop.map(|d| d.0)))
}

/// The longest random delay of an acknowledgement.
fn ack_jitter(work: &Work<'_>, flow: &Flow, key: &Key) -> Result<Span, Error> {
    let Some(Duration(jitter)) = flow.ack_jitter else { return Ok(Span::ZERO) };
    let key = key.with("ack_jitter");
    if workload::is_one_way(flow) {
        let message = "nobody acknowledges constant-rate traffic; leave ack_jitter out";
        return Err(work.error(&key, message));
    }
    work.check_delay(jitter, &key)?;
    Ok(jitter)
}
