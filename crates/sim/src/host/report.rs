//! The report of one flow: its results at the end of the run.

use std::borrow::Cow;

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::Limit;

use crate::host::flow::{FlowState, Kind, NEVER};
use crate::record::histogram::Histogram;
use crate::record::report::{FlowReport, LimitShares, SUBFLOW};
use crate::resolve::plan::{CcPlan, FlowPlan, Source};

impl FlowState {
    /// The results of the flow in a run that ends at `end`.
    pub(crate) fn report(&mut self, plan: &FlowPlan, end: Time) -> FlowReport {
        let mut report = FlowReport {
            name: plan.name.clone(),
            half: plan.part.row().or(plan.subflow().map(|_| SUBFLOW)),
            cc: cc_name(plan),
            start_s: self.start.secs(),
            goodput_bps: 0.0,
            delivered_bytes: 0,
            sent_packets: self.data.sent,
            retransmitted_packets: 0,
            dropped_packets: self.missing_data.dropped,
            inside_packets: self.data.sent - self.data.arrived - self.missing_data.dropped,
            timeouts: 0,
            spurious_timeouts: 0,
            rtt: None,
            cwnd_mean_segments: 0.0,
            completion_s: None,
            application: None,
            limited: LimitShares::default(),
        };
        let life_ends = self.life_ends(end);
        match &mut self.kind {
            Kind::Cbr(cbr) => report.delivered_bytes = self.data.arrived * u64::from(cbr.size),
            Kind::Tcp(tcp) => {
                report.delivered_bytes = tcp.delivered_bytes();
                let counters = tcp.sender.counters();
                report.retransmitted_packets = counters.retransmitted;
                report.timeouts = counters.timeouts;
                report.spurious_timeouts = counters.spurious_timeouts;
                report.rtt = tcp.rtts.report();
                if tcp.bytes.is_some() && tcp.done_at < NEVER {
                    report.completion_s = Some(tcp.done_at.since(self.start).secs());
                }
                if self.start < end {
                    let mss = f64::from(tcp.sender.options().mss);
                    let limits = tcp.sender.limits(life_ends);
                    report.cwnd_mean_segments = limits.mean_window() / mss;
                    let life = life_ends.since(self.start).secs();
                    let part = |span: Span| if life > 0.0 { span.secs() / life } else { 0.0 };
                    let share = |limit| part(limits.spent(limit));
                    // While the connection opens, its application would seem to have nothing to send.
                    let opening = match tcp.ends.as_ref().map(|ends| ends.handshake) {
                        Some([began, done]) => done.min(life_ends).since(began),
                        None => Span::ZERO,
                    };
                    report.limited = LimitShares {
                        handshake: part(opening),
                        cwnd: share(Limit::Cwnd),
                        rwnd: share(Limit::Rwnd),
                        app: part(Span(limits.spent(Limit::App).0.saturating_sub(opening.0))),
                        pacing: share(Limit::Pacing),
                        recovery: share(Limit::Recovery),
                        timeout: share(Limit::Timeout),
                    };
                }
            }
        }
        let life = life_ends.since(self.start).secs();
        if life > 0.0 {
            report.goodput_bps = report.delivered_bytes as f64 * 8.0 / life;
        }
        report
    }

    /// Drops its RTT samples once a report has used them. The rows that follow take their place.
    pub(crate) fn forget_rtts(&mut self) {
        if let Kind::Tcp(tcp) = &mut self.kind {
            tcp.rtts = Histogram::default();
        }
    }
}

/// The controller of a flow, as its report calls it.
fn cc_name(plan: &FlowPlan) -> Cow<'static, str> {
    match &*plan.source {
        Source::Cbr(_) => "cbr".into(),
        Source::Tcp { cc: CcPlan::Registered { id, .. }, .. } => (*id).into(),
        Source::Tcp { cc: CcPlan::Supplied { key }, .. } => key.clone().into(),
    }
}
