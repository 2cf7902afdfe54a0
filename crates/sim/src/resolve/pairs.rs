//! The pairs of stations between which the flows of a scenario run.

use std::path::Path;

use bentpipe_cc::Span;

use crate::constellation::Constellation;
use crate::keys::error::{Error, Key, quoted, suggestion};
use crate::keys::file;
use crate::keys::units::Duration;
use crate::link::random::Stream;
use crate::resolve::work::{MAX_FLOWS, Work, name_of};
use crate::scenario::{Flow, Gravity, PairFile, PairRule, Pairs};

/// Largest file of pairs, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// A sender's station and a receiver's, by their numbers, and what a file says of the flow between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(super) ends: [u32; 2],
    pub(super) start: Option<Span>,
    pub(super) bytes: Option<u64>,
}

impl Pair {
    fn new(from: u32, to: u32) -> Self {
        Self { ends: [from, to], start: None, bytes: None }
    }
}

/// The pairs of stations of a flow of the scenario; `None` if it runs over links.
pub(super) fn pairs(
    work: &Work<'_>,
    flow: &Flow,
    key: &Key,
    constellation: Option<&Constellation>,
) -> Result<Option<Vec<Pair>>, Error> {
    let ends = [("from", flow.from.is_some()), ("to", flow.to.is_some()), ("pairs", flow.pairs.is_some())];
    let Some((first, _)) = ends.into_iter().find(|(_, given)| *given) else { return Ok(None) };
    let Some(of) = constellation else {
        let message = "stations are those of a constellation; add a table [network], or write path instead";
        return Err(work.error(&key.with(first), message));
    };
    let is_some_time = |given: Option<Duration>| given.is_some_and(|of| of.0 > Span::ZERO);
    let without = [
        ("path", !flow.path.is_empty()),
        ("ack_path", flow.ack_path.is_some()),
        ("extra_delay", is_some_time(flow.extra_delay)),
        ("ack_jitter", is_some_time(flow.ack_jitter)),
        ("relay", flow.relay.is_some()),
        ("subflow", !flow.subflow.is_empty()),
    ];
    if let Some((name, _)) = without.into_iter().find(|(_, given)| *given) {
        let message = format!("has no use for a flow between stations; leave out {name}, or {first}");
        return Err(work.error(&key.with(name), message));
    }
    let stations = of.stations.len() as u32;
    let pairs = match (&flow.from, &flow.to, &flow.pairs) {
        (Some(from), Some(to), None) => {
            let from_to =
                [station(work, of, from, &key.with("from"))?, station(work, of, to, &key.with("to"))?];
            if from_to[0] == from_to[1] {
                return Err(work.error(&key.with("to"), "a flow ends at another station than it begins"));
            }
            vec![Pair::new(from_to[0], from_to[1])]
        }
        (None, None, Some(Pairs::Rule(PairRule::All))) => {
            let all = (0..stations).flat_map(|a| (0..stations).map(move |b| (a, b)));
            all.filter(|(a, b)| a != b).map(|(a, b)| Pair::new(a, b)).collect()
        }
        (None, None, Some(Pairs::Rule(PairRule::Permutation))) => permutation(work, flow, stations),
        (None, None, Some(Pairs::Gravity(Gravity { gravity }))) => drawn(work, flow, key, of, *gravity)?,
        (None, None, Some(Pairs::File(PairFile { file }))) => listed(of, Path::new(file))
            .map_err(|message| work.error(&key.with("pairs").with("file"), message))?,
        (_, _, Some(_)) => {
            let message = "pairs already gives the stations; leave out from and to, or pairs";
            return Err(work.error(&key.with(first), message));
        }
        (from, _, None) => {
            let missing = if from.is_none() { "from" } else { "to" };
            let example = of.stations.first().map_or("Tokyo", String::as_str);
            return Err(
                work.error(&key.with(missing), format!("is missing; write e.g. {missing} = {example:?}"))
            );
        }
    };
    if pairs.len() as u64 > MAX_FLOWS {
        let message = format!("these are {} flows; a run has at most {MAX_FLOWS}", pairs.len());
        return Err(work.error(&key.with("pairs"), message));
    }
    Ok(Some(pairs))
}

/// The number of the station of this name.
fn station(work: &Work<'_>, of: &Constellation, name: &str, key: &Key) -> Result<u32, Error> {
    find(of, name).ok_or_else(|| {
        let names = of.stations.iter().map(String::as_str);
        let near = suggestion(name, names);
        work.error(key, format!("no station of the network is called {}; {near}", quoted(name)))
    })
}

fn find(of: &Constellation, name: &str) -> Option<u32> {
    let position = |same: &dyn Fn(&str) -> bool| of.stations.iter().position(|station| same(station));
    let found = position(&|station| station == name)
        .or_else(|| position(&|station| station.eq_ignore_ascii_case(name)));
    found.map(|number| number as u32)
}

fn stream(work: &Work<'_>, flow: &Flow) -> Stream {
    Stream::new(work.scenario.seed, &format!("flow/{}/pairs", name_of(flow)))
}

/// A permutation without a fixed point, drawn uniformly (Sattolo's algorithm: one cycle of all).
fn permutation(work: &Work<'_>, flow: &Flow, stations: u32) -> Vec<Pair> {
    let mut random = stream(work, flow);
    let mut to: Vec<u32> = (0..stations).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, ((1.0 - random.uniform()) * last as f64) as usize);
    }
    (0..).zip(to).filter(|(from, to)| from != to).map(|(from, to)| Pair::new(from, to)).collect()
}

/// Pairs drawn by the inhabitants of their cities.
fn drawn(
    work: &Work<'_>,
    flow: &Flow,
    key: &Key,
    of: &Constellation,
    count: u64,
) -> Result<Vec<Pair>, Error> {
    let known = of.inhabitants.iter().filter(|people| **people > 0.0).count();
    if of.inhabitants.len() != of.stations.len() || known < 2 {
        let message = "needs the inhabitants of the stations' cities; name cities of the list, or give a file of \
            stations with a column population";
        return Err(work.error(&key.with("pairs").with("gravity"), message));
    }
    let mut random = stream(work, flow);
    let sums: Vec<f64> = of
        .inhabitants
        .iter()
        .scan(0.0, |sum, people| {
            *sum += people.max(0.0);
            Some(*sum)
        })
        .collect();
    let all = sums.last().copied().unwrap_or(0.0);
    let mut draw = || {
        let at = (1.0 - random.uniform()) * all;
        sums.partition_point(|sum| *sum <= at) as u32
    };
    let mut pairs = Vec::with_capacity(count as usize);
    while (pairs.len() as u64) < count {
        let (from, to) = (draw(), draw());
        if from != to {
            pairs.push(Pair::new(from, to));
        }
    }
    Ok(pairs)
}

/// The pairs of a file; `Err` says in one line what is wrong with it.
fn listed(of: &Constellation, path: &Path) -> Result<Vec<Pair>, String> {
    let text = file::text(path, MAX_FILE)?;
    let mut lines =
        (1..).zip(text.trim_start_matches('\u{feff}').lines()).filter(|(_, line)| !line.trim().is_empty());
    let header: Vec<&str> =
        lines.next().map(|(_, line)| line.split(',').map(str::trim).collect()).unwrap_or_default();
    let place = |name: &str| header.iter().position(|column| *column == name);
    let known = ["from", "to", "start_s", "bytes"];
    if let Some(other) = header.iter().find(|column| !known.contains(column)) {
        return Err(format!("line 1: no column is called {}; there are {}", quoted(other), known.join(", ")));
    }
    let (Some(from), Some(to)) = (place("from"), place("to")) else {
        return Err("line 1: columns are missing; the header needs from and to".to_owned());
    };
    let (start, bytes) = (place("start_s"), place("bytes"));
    let row = |(number, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let wrong = |why: String| format!("line {number}: {why}");
        if cells.len() != header.len() {
            return Err(wrong(format!("{} cells, where the header has {}", cells.len(), header.len())));
        }
        let station = |cell: &str| {
            let number = cell.parse::<u32>().ok().filter(|number| (*number as usize) < of.stations.len());
            find(of, cell).or(number).ok_or_else(|| {
                let near = suggestion(cell, of.stations.iter().map(String::as_str));
                wrong(format!("no station is called {}; {near}", quoted(cell)))
            })
        };
        let ends = [station(cells[from])?, station(cells[to])?];
        if ends[0] == ends[1] {
            return Err(wrong("a flow ends at another station than it begins".to_owned()));
        }
        let number = |column: Option<usize>, most: f64| match column.map(|column| cells[column]) {
            None | Some("") => Ok(None),
            Some(cell) => match cell.parse::<f64>() {
                Ok(number) if (0.0..=most).contains(&number) => Ok(Some(number)),
                _ => Err(wrong(format!("{} is no number from 0 to {most}", quoted(cell)))),
            },
        };
        let start = number(start, 3e8)?.map(|s| Span(libm::round(s * 1e9) as u64));
        let bytes = number(bytes, 1e15)?.map(|bytes| bytes as u64);
        if bytes == Some(0) {
            return Err(wrong(
                "a flow has at least one byte; leave the cell empty for one without end".to_owned(),
            ));
        }
        Ok(Pair { ends, start, bytes })
    };
    let pairs: Vec<Pair> = lines.map(row).collect::<Result<_, String>>()?;
    if pairs.is_empty() { Err("it has no pairs".to_owned()) } else { Ok(pairs) }
}
