//! From the connections of a run to the rows of its report. The connections that a source of short flows or a browser has opened are one
//! row.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Time;

use crate::host::flow::{FlowState, Kind, Tcp};
use crate::host::multipath::MultipathConnection;
use crate::record::histogram::Histogram;
use crate::record::report::{FlowReport, LimitShares};
use crate::record::trace::TransferTrace;
use crate::resolve::plan::{ApplicationPlan, CcPlan, Exchange, FlowPlan, Half, Opener, Part, Plan, Source};
use crate::workload::player::Playback;
use crate::workload::transfers::{Summary, Transfer};

/// The rows of a run.
pub(super) struct ReportRows {
    pub(super) reports: Vec<FlowReport>,
    /// The number of each row's connection, of several the first.
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
    let mut first = Vec::new();
    let mut rows: Vec<ReportRow> = Vec::new();
    let mut sources: BTreeMap<(*const Opener, Part), usize> = BTreeMap::new();
    for f in 0..flows.len() {
        let of = &plan.flows[f];
        let report = flows[f].report(of, cc_name(of), end);
        if let Some(subflow) = &of.subflow {
            let of = connections.iter().find(|connection| connection.flows.contains(&f));
            let (Some(connection), number) = (of, subflow.number as usize) else { continue };
            if number == 1 {
                rows.push(ReportRow::of_connection(connection, &report, end));
                first.push(f);
            }
            let at = rows.len() - number;
            rows[at].add_subflow(&report, &flows[f], subflow.connection.subflows);
            rows.push(ReportRow::single(report, None));
            first.push(f);
            continue;
        }
        let report = FlowReport { transfer: transfer_name(plan, f), ..report };
        let life = flows[f].life_ends(end).since(flows[f].start).secs();
        let Some(source) = &of.opened_by else {
            let report = FlowReport { video: playback_of(flows, f, end), ..report };
            rows.push(ReportRow::single(report, transfers_of(flows, f)));
            first.push(f);
            continue;
        };
        let i = *sources.entry((Arc::as_ptr(source), of.part)).or_insert_with(|| {
            rows.push(ReportRow::of_source(source, &report, of.part));
            first.push(f);
            rows.len() - 1
        });
        if flows[f].start <= end {
            let transfers = transfers_of(flows, f).or_else(|| connection_of(&flows[f]));
            rows[i].add(report, life, &flows[f], end, transfers);
        }
    }
    let wanted = plan.record.is_some_and(|record| record.transfers);
    let mut transfers = TransferTrace::default();
    let mut reports = Vec::with_capacity(rows.len());
    for (i, row) in (0..).zip(rows) {
        for transfer in row.transfers.iter().flatten().filter(|_| wanted) {
            transfers.push(i, transfer);
        }
        reports.push(row.finish(end));
    }
    ReportRows { reports, first, transfers }
}

/// A row in the making.
struct ReportRow {
    report: FlowReport,
    transfers: Option<Vec<Transfer>>,
    /// What a source of short flows needs beside.
    group: Option<Group>,
    /// The samples of all subflows, of a connection that has several.
    rtts: Option<Box<Histogram>>,
}

/// Sums over the connections of a source.
struct Group {
    stop: Time,
    /// Seconds that all connections lived.
    life: f64,
    /// When the last of them was done.
    last: Time,
    rtts: Histogram,
}

impl ReportRow {
    /// A row of its own.
    fn single(report: FlowReport, transfers: Option<Vec<Transfer>>) -> Self {
        Self { report, transfers, group: None, rtts: None }
    }

    /// The row of this part of a source, of which `one` is a connection, before any is added. Of a dialogue only what reaches the client
    /// has transfers.
    fn of_source(source: &Opener, one: &FlowReport, part: Part) -> Self {
        let name = match part.is_whole() {
            true => source.name.clone(),
            false => format!("{}/{}", source.name, part.name()),
        };
        let counts = part.way.is_none() || part.brings_responses();
        let report = FlowReport {
            name,
            start_s: source.start.secs(),
            goodput_bps: 0.0,
            delivered_bytes: 0,
            sent_packets: 0,
            retransmitted_packets: 0,
            dropped_packets: 0,
            timeouts: 0,
            spurious_timeouts: 0,
            cwnd_mean_segments: 0.0,
            completion_s: None,
            limited: LimitShares::default(),
            ..one.clone()
        };
        let group = Group { stop: source.stop, life: 0.0, last: source.start, rtts: Histogram::default() };
        Self { report, transfers: counts.then(Vec::new), group: Some(group), rtts: None }
    }

    /// The row of a connection with several subflows, of which `one` is the first, before any is added. Its data is its own: what the
    /// subflows have brought, in order.
    fn of_connection(connection: &MultipathConnection, one: &FlowReport, end: Time) -> Self {
        let done = connection.done_at.min(end).secs() - one.start_s;
        let bytes = connection.delivered_bytes();
        let report = FlowReport {
            name: connection.plan.name.clone(),
            half: None,
            goodput_bps: if done > 0.0 { bytes as f64 * 8.0 / done } else { 0.0 },
            delivered_bytes: bytes,
            sent_packets: 0,
            // A segment that a second subflow sends is one, too.
            retransmitted_packets: connection.reinjected,
            dropped_packets: 0,
            timeouts: 0,
            spurious_timeouts: 0,
            cwnd_mean_segments: 0.0,
            completion_s: (connection.plan.bytes.is_some() && connection.done_at <= end).then_some(done),
            limited: LimitShares::default(),
            ..one.clone()
        };
        Self { rtts: Some(Box::default()), ..Self::single(report, None) }
    }

    /// Adds one of so many subflows.
    fn add_subflow(&mut self, one: &FlowReport, flow: &FlowState, of: u32) {
        let (Some(rtts), Kind::Tcp(tcp)) = (&mut self.rtts, &flow.kind) else { return };
        let sum = &mut self.report;
        if sum.cc.split('+').all(|cc| cc != one.cc) {
            sum.cc = format!("{}+{}", sum.cc, one.cc);
        }
        sum.sent_packets += one.sent_packets;
        sum.retransmitted_packets += one.retransmitted_packets;
        sum.dropped_packets += one.dropped_packets;
        sum.timeouts += one.timeouts;
        sum.spurious_timeouts += one.spurious_timeouts;
        sum.cwnd_mean_segments += one.cwnd_mean_segments;
        sum.limited.add(1.0 / f64::from(of), &one.limited);
        rtts.merge(tcp.rtts());
    }

    /// Adds a connection that lived for `life` seconds, and its transfers.
    fn add(
        &mut self,
        one: FlowReport,
        life: f64,
        flow: &FlowState,
        end: Time,
        transfers: Option<Vec<Transfer>>,
    ) {
        let (Some(group), Kind::Tcp(tcp)) = (&mut self.group, &flow.kind) else { return };
        let sum = &mut self.report;
        sum.delivered_bytes += one.delivered_bytes;
        sum.sent_packets += one.sent_packets;
        sum.retransmitted_packets += one.retransmitted_packets;
        sum.dropped_packets += one.dropped_packets;
        sum.timeouts += one.timeouts;
        sum.spurious_timeouts += one.spurious_timeouts;
        sum.cwnd_mean_segments += life * one.cwnd_mean_segments;
        sum.limited.add(life, &one.limited);
        group.life += life;
        group.last = group.last.max(flow.life_ends(end));
        group.rtts.merge(tcp.rtts());
        if let Some(all) = &mut self.transfers {
            all.extend(transfers.into_iter().flatten());
        }
    }

    fn finish(self, end: Time) -> FlowReport {
        let mut report = self.report;
        if let Some(Group { stop, life, last, rtts }) = self.group {
            // It lives until it opens no more connections and the last one is done.
            let lived = stop.max(last).min(end).secs() - report.start_s;
            if lived > 0.0 {
                report.goodput_bps = report.delivered_bytes as f64 * 8.0 / lived;
            }
            if life > 0.0 {
                report.cwnd_mean_segments /= life;
                report.limited = report.limited.scaled(1.0 / life);
            }
            show_rtts(&mut report, &rtts);
        }
        self.rtts.iter().for_each(|rtts| show_rtts(&mut report, rtts));
        if let Some(transfers) = self.transfers {
            let summary = Summary::new(&transfers);
            report.transfers = Some(summary.transfers);
            report.completed = Some(summary.completed);
            report.completion_mean_s = summary.mean_s();
            report.completion_p50_s = summary.quantile_s(0.5);
            report.completion_p95_s = summary.quantile_s(0.95);
            report.completion_p99_s = summary.quantile_s(0.99);
        }
        report
    }
}

fn show_rtts(report: &mut FlowReport, rtts: &Histogram) {
    report.rtt_min_s = rtts.min_s();
    report.rtt_mean_s = rtts.mean_s();
    report.rtt_p50_s = rtts.quantile_s(0.5);
    report.rtt_p95_s = rtts.quantile_s(0.95);
}

/// The flow whose application makes the transfers that stand with flow `f`: they stand with the part that brings them to the client.
fn writer_of(f: usize, part: Part) -> Option<usize> {
    match (Exchange::of(f, part), part.half) {
        (Some(dialogue), _) => (dialogue.to_client() == f).then(|| dialogue.server()),
        (None, Some(Half::First)) => None,
        (None, Some(Half::Second)) => f.checked_sub(1),
        (None, None) => Some(f),
    }
}

/// The transfers of flow `f`. Of a dialogue a request that is under way is one. Those of a browser are its pages, and stand with its first
/// connection.
fn transfers_of(flows: &[FlowState], f: usize) -> Option<Vec<Transfer>> {
    let part = tcp(flows.get(f)?)?.part();
    let mut transfers = tcp(&flows[writer_of(f, part)?])?.transfers()?.to_vec();
    let Some(dialogue) = Exchange::of(f, part) else { return Some(transfers) };
    let client = tcp(&flows[dialogue.client()])?.client()?;
    if client.lane().is_some() {
        return Some(client.pages().unwrap_or_default().to_vec());
    }
    let asked = client.open_request();
    transfers.extend(asked.filter(|asked| transfers.last().is_none_or(|last| last.start != asked.start)));
    Some(transfers)
}

/// How the video that flow `f` brings was seen until `end`.
fn playback_of(flows: &[FlowState], f: usize, end: Time) -> Option<Playback> {
    let dialogue = Exchange::of(f, tcp(&flows[f])?.part()).filter(|of| of.to_client() == f)?;
    tcp(&flows[dialogue.client()])?.client()?.playback(end)
}

/// What transfers of flow `f` are, "page" for example, if it has some.
fn transfer_name(plan: &Plan, f: usize) -> Option<&'static str> {
    let of = &plan.flows[f];
    let application = |f: usize| match &*plan.flows[f].source {
        Source::Tcp { application, .. } => application.as_deref(),
        Source::Cbr { .. } => None,
    };
    match writer_of(f, of.part).and_then(application) {
        Some(ApplicationPlan::OnOff { .. }) => Some("burst"),
        Some(ApplicationPlan::Server { what, .. }) => Some(what),
        Some(ApplicationPlan::Client { .. }) => None,
        None if of.part.way.is_some() => None,
        None => of.opened_by.as_ref().map(|_| "connection"),
    }
}

/// A connection as a transfer, if it has nothing else to do.
fn connection_of(flow: &FlowState) -> Option<Vec<Transfer>> {
    let done = flow.life_ends(Time::MAX);
    let end = (done < Time::MAX).then_some(done);
    Some(vec![Transfer { start: flow.start, bytes: tcp(flow)?.bytes().unwrap_or(0), end }])
}

fn tcp(flow: &FlowState) -> Option<&Tcp> {
    match &flow.kind {
        Kind::Tcp(tcp) => Some(tcp),
        Kind::Cbr(_) => None,
    }
}

fn cc_name(plan: &FlowPlan) -> &str {
    match &*plan.source {
        Source::Cbr { .. } => "cbr",
        Source::Tcp { cc: CcPlan::Registered { id, .. }, .. } => id,
        Source::Tcp { cc: CcPlan::Supplied { key }, .. } => key,
    }
}
