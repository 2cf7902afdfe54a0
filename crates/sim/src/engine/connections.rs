//! Builds the rows of a report from the connections of a run. All connections opened by one source of short
//! flows, or by one browser, make one row.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Time;

use crate::host::flow::{FlowState, Kind};
use crate::host::multipath::MultipathConnection;
use crate::record::histogram::Histogram;
use crate::record::report::{ApplicationReport, FlowReport, LimitShares};
use crate::record::trace::{TransferRow, TransferTrace};
use crate::resolve::plan::{
    ApplicationPlan, CbrPlan, ConnectionPart, FlowPlan, Opener, Plan, ReadBy, Source, WrittenBy,
};
use crate::workload::client::Client;
use crate::workload::player::Playback;
use crate::workload::transfers::{Summary, Transfer};

/// The rows of a run.
pub(super) struct ReportRows {
    pub(super) reports: Vec<FlowReport>,
    /// The index of each row's connection; of the first one if the row has several.
    pub(super) first: Vec<usize>,
    /// The transfers, if the plan asks for them.
    pub(super) transfers: TransferTrace,
}

/// The rows of a run that ends at `end`.
pub(super) fn report(
    plan: &Plan,
    flows: &mut [FlowState],
    connections: &[MultipathConnection],
    end: Time,
) -> ReportRows {
    // A hundred thousand flows make as many rows, so a row holds only what is reported.
    let rows = plan.flows.iter().filter(|of| of.opened_by.is_none()).count();
    let mut first = Vec::with_capacity(rows);
    let mut rows: Vec<FlowReport> = Vec::with_capacity(rows);
    let mut sums: BTreeMap<usize, Sums> = BTreeMap::new();
    let mut sources: BTreeMap<(*const Opener, ConnectionPart), usize> = BTreeMap::new();
    for f in 0..flows.len() {
        let of = &plan.flows[f];
        let mut report = flows[f].report(of, end);
        if let Some(subflow) = of.subflow() {
            if subflow.number == 0 {
                sums.insert(rows.len(), Sums { rtts: Some(Box::default()), ..Sums::default() });
                rows.push(of_connection(&connections[subflow.connection.number], &report, end));
                first.push(f);
            }
            // The connection's row is the last of the summing rows, and the rows of its subflows follow it.
            if let Some(mut sums) = sums.last_entry() {
                let at = *sums.key();
                let sums = sums.get_mut();
                sums.add_subflow(&mut rows[at], &report, &flows[f], subflow.connection.flows.len());
            }
            rows.push(report);
            first.push(f);
            continue;
        }
        report.application = application_of(plan, f);
        let life = flows[f].life_ends(end).since(flows[f].start).secs();
        let Some(source) = &of.opened_by else {
            if let Some(transfers) = transfers_of(flows, of, f) {
                sums.insert(rows.len(), Sums { transfers: Some(transfers), ..Sums::default() });
            }
            if let Some(video) = playback_of(flows, of, end) {
                report.application.get_or_insert_default().video = Some(video);
            }
            rows.push(report);
            first.push(f);
            flows[f].forget_rtts();
            continue;
        };
        let i = *sources.entry((Arc::as_ptr(source), of.part)).or_insert_with(|| {
            sums.insert(rows.len(), Sums::of_source(source, of.part));
            rows.push(of_source(source, &report, of.part));
            first.push(f);
            rows.len() - 1
        });
        if let Some(sums) = sums.get_mut(&i).filter(|_| flows[f].start <= end) {
            let transfers = transfers_of(flows, of, f).or_else(|| connection_of(&flows[f]));
            sums.add(&mut rows[i], &report, (life, flows[f].life_ends(end)), &flows[f], transfers);
        }
    }
    let wanted = plan.record.is_some_and(|record| record.transfers);
    let mut transfers = TransferTrace::default();
    for (i, sums) in sums {
        for transfer in sums.transfers.iter().flatten().filter(|_| wanted) {
            transfers.push(TransferRow {
                flow: i as u32,
                start_s: transfer.start.secs(),
                bytes: transfer.bytes,
                completion_s: transfer.completion_s().unwrap_or(f64::NAN),
            });
        }
        sums.finish(&mut rows[i], end);
    }
    ReportRows { reports: rows, first, transfers }
}

/// The sums of a row over connections, subflows or transfers, if it has any.
#[derive(Default)]
struct Sums {
    transfers: Option<Vec<Transfer>>,
    /// What a source of short flows needs in addition.
    group: Option<Group>,
    /// The RTT samples of all subflows, for a connection with several.
    rtts: Option<Box<Histogram>>,
}

/// Sums over the connections of a source.
struct Group {
    stop: Time,
    /// The total lifetime of all connections, in seconds.
    life: f64,
    /// When the last of them was done.
    last: Time,
    rtts: Histogram,
}

/// The empty row of this part of a source; `one` is the report of one of its connections.
fn of_source(source: &Opener, one: &FlowReport, part: ConnectionPart) -> FlowReport {
    let name = match part.is_whole() {
        true => source.name.clone(),
        false => format!("{}/{}", source.name, part.name()),
    };
    FlowReport {
        name,
        start_s: source.start.secs(),
        goodput_bps: 0.0,
        delivered_bytes: 0,
        ..nothing_sent(one)
    }
}

/// The empty row of a connection with several subflows; `one` is the report of the first. Its data is what
/// the subflows have delivered in order.
fn of_connection(connection: &MultipathConnection, one: &FlowReport, end: Time) -> FlowReport {
    let done = connection.done_at.min(end).secs() - one.start_s;
    let bytes = connection.delivered_bytes();
    FlowReport {
        name: connection.plan.name.clone(),
        half: None,
        goodput_bps: if done > 0.0 { bytes as f64 * 8.0 / done } else { 0.0 },
        delivered_bytes: bytes,
        // A segment that a second subflow sends again is a retransmission, too.
        retransmitted_packets: connection.reinjected,
        completion_s: (connection.plan.bytes.is_some() && connection.done_at <= end).then_some(done),
        ..nothing_sent(one)
    }
}

/// A copy of `one` with all counters of sent packets at zero.
fn nothing_sent(one: &FlowReport) -> FlowReport {
    FlowReport {
        sent_packets: 0,
        retransmitted_packets: 0,
        dropped_packets: 0,
        inside_packets: 0,
        timeouts: 0,
        spurious_timeouts: 0,
        cwnd_mean_segments: 0.0,
        completion_s: None,
        limited: LimitShares::default(),
        ..one.clone()
    }
}

/// Adds the counters of `one` to the row.
fn count(sum: &mut FlowReport, one: &FlowReport) {
    sum.sent_packets += one.sent_packets;
    sum.retransmitted_packets += one.retransmitted_packets;
    sum.dropped_packets += one.dropped_packets;
    sum.inside_packets += one.inside_packets;
    sum.timeouts += one.timeouts;
    sum.spurious_timeouts += one.spurious_timeouts;
}

impl Sums {
    /// The sums of this part of a source. In a dialogue only the data towards the client has transfers.
    fn of_source(source: &Opener, part: ConnectionPart) -> Self {
        let counts = part.way.is_none() || part.brings_responses();
        let group = Group { stop: source.stop, life: 0.0, last: source.start, rtts: Histogram::default() };
        Self { transfers: counts.then(Vec::new), group: Some(group), rtts: None }
    }

    /// Adds one subflow of a connection that has `of` subflows.
    fn add_subflow(&mut self, sum: &mut FlowReport, one: &FlowReport, flow: &FlowState, of: usize) {
        let (Some(rtts), Kind::Tcp(tcp)) = (&mut self.rtts, &flow.kind) else { return };
        if sum.cc.split('+').all(|cc| cc != one.cc) {
            sum.cc = format!("{}+{}", sum.cc, one.cc).into();
        }
        count(sum, one);
        sum.cwnd_mean_segments += one.cwnd_mean_segments;
        sum.limited.add(1.0 / of as f64, &one.limited);
        rtts.merge(tcp.rtts());
    }

    /// Adds a connection that lived for `life` seconds until `ends`, and its transfers.
    fn add(
        &mut self,
        sum: &mut FlowReport,
        one: &FlowReport,
        (life, ends): (f64, Time),
        flow: &FlowState,
        transfers: Option<Vec<Transfer>>,
    ) {
        let (Some(group), Kind::Tcp(tcp)) = (&mut self.group, &flow.kind) else { return };
        sum.delivered_bytes += one.delivered_bytes;
        count(sum, one);
        sum.cwnd_mean_segments += life * one.cwnd_mean_segments;
        sum.limited.add(life, &one.limited);
        group.life += life;
        group.last = group.last.max(ends);
        group.rtts.merge(tcp.rtts());
        if let Some(all) = &mut self.transfers {
            all.extend(transfers.into_iter().flatten());
        }
    }

    /// Completes the row for a run that ends at `end`.
    fn finish(self, report: &mut FlowReport, end: Time) {
        if let Some(Group { stop, life, last, rtts }) = self.group {
            // A source lives until it opens no more connections and the last one is done.
            let lived = stop.max(last).min(end).secs() - report.start_s;
            if lived > 0.0 {
                report.goodput_bps = report.delivered_bytes as f64 * 8.0 / lived;
            }
            if life > 0.0 {
                report.cwnd_mean_segments /= life;
                report.limited = report.limited.scaled(1.0 / life);
            }
            report.rtt = rtts.report();
        }
        if let Some(rtts) = self.rtts {
            report.rtt = rtts.report();
        }
        if let Some(transfers) = self.transfers {
            let summary = Summary::new(&transfers);
            let report = report.application.get_or_insert_default();
            report.transfers = Some(summary.transfers);
            report.completed = Some(summary.completed);
            report.completion_mean_s = summary.mean_s();
            report.completion_p50_s = summary.quantile_s(0.5);
            report.completion_p95_s = summary.quantile_s(0.95);
            report.completion_p99_s = summary.quantile_s(0.99);
        }
    }
}

/// The flow whose application makes the transfers that are reported with flow `f`. Transfers are reported
/// with the part that brings them to the client.
fn writer_of(plan: &FlowPlan, f: usize) -> Option<usize> {
    match (plan.reader(), plan.writer()) {
        (ReadBy::Client(dialogue), _) => Some(dialogue.server),
        (ReadBy::Server(_) | ReadBy::Relay { .. }, _) => None,
        (_, WrittenBy::Relay { from }) => Some(*from),
        _ => Some(f),
    }
}

/// The transfers of flow `f`. In a dialogue, a request still on its way counts as one. A browser's transfers
/// are its pages, reported with its first connection.
fn transfers_of(flows: &[FlowState], plan: &FlowPlan, f: usize) -> Option<Vec<Transfer>> {
    let mut transfers = flows[writer_of(plan, f)?].transfers()?.to_vec();
    let Some(client) = client_of(flows, plan) else { return Some(transfers) };
    if client.browses() {
        return Some(client.pages().unwrap_or_default().to_vec());
    }
    let asked = client.open_request();
    transfers.extend(asked.filter(|asked| transfers.last().is_none_or(|last| last.start != asked.start)));
    Some(transfers)
}

/// How the video that a flow carries played until `end`.
fn playback_of(flows: &[FlowState], plan: &FlowPlan, end: Time) -> Option<Playback> {
    client_of(flows, plan)?.playback(end)
}

/// The client to which a flow brings responses.
fn client_of<'a>(flows: &'a [FlowState], plan: &FlowPlan) -> Option<&'a Client> {
    match plan.reader() {
        ReadBy::Client(dialogue) => flows[dialogue.client].tcp()?.client(),
        _ => None,
    }
}

/// The report of the application that makes the transfers of flow `f`; only the name of a transfer is filled
/// in.
fn application_of(plan: &Plan, f: usize) -> Option<Box<ApplicationReport>> {
    let of = &plan.flows[f];
    let named = |transfer| {
        Some(Box::new(ApplicationReport { transfer: Some(transfer), ..ApplicationReport::default() }))
    };
    if let Source::Cbr(CbrPlan { transfer: Some(_), .. }) = &*of.source {
        return named("packet");
    }
    let application = |f: usize| match &*plan.flows[f].source {
        Source::Tcp { application, .. } => application.as_deref(),
        Source::Cbr(_) => None,
    };
    let transfer = match writer_of(of, f).and_then(application) {
        Some(ApplicationPlan::OnOff { .. }) => "burst",
        Some(ApplicationPlan::Server { what, .. }) => what,
        Some(ApplicationPlan::Client { .. }) => return None,
        None => of.opened_by.as_ref().filter(|_| of.part.way.is_none()).map(|_| "connection")?,
    };
    named(transfer)
}

/// The whole connection as one transfer, if it has nothing else to carry.
fn connection_of(flow: &FlowState) -> Option<Vec<Transfer>> {
    let done = flow.life_ends(Time::MAX);
    let end = (done < Time::MAX).then_some(done);
    Some(vec![Transfer { start: flow.start, bytes: flow.tcp()?.bytes().unwrap_or(0), end }])
}
