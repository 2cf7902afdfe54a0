//! What a user should check before trusting a row of a report: flows that deliver nothing, transfers that
//! did not complete, and acknowledgements that are thinned in a long queue.

use bentpipe_cc::{Span, Time};

use crate::keys::units::Duration;
use crate::record::report::{FlowReport, LinkReport, SUBFLOW};
use crate::resolve::plan::{CbrPlan, DirectionId, DirectionPlan, FlowPlan, Plan, Source};

/// One warning for each reason why flows deliver nothing. `of`: the number in the plan of each flow's
/// connection; if it has several, of the first. `connects`: is the handshake of the connection with this
/// number still going on? `unrouted`: how many of its packets could go nowhere?
pub(crate) fn silent(
    plan: &Plan,
    (flows, of): (&[FlowReport], &[usize]),
    links: &[LinkReport],
    (connects, unrouted): (impl Fn(usize) -> bool, impl Fn(usize) -> u64),
) -> Vec<String> {
    let end = Time(plan.duration.0);
    let mut reasons: Vec<(String, &str, usize)> = Vec::new();
    for (i, (report, &number)) in flows.iter().zip(of).enumerate() {
        let flow = &plan.flows[number];
        let starts = Time((report.start_s * 1e9) as u64);
        // The relay cannot send what it has not received, and nobody answers a request that was not made.
        let hungry = flow.part.number() > 0 && i > 0 && flows[i - 1].delivered_bytes == 0;
        // A source that opens no connection has a warning of its own.
        let opens_none =
            flow.opened_by.is_some() && report.application.as_ref().is_some_and(|of| of.transfers == Some(0));
        // The row of its connection carries any warning.
        let is_part = report.half == Some(SUBFLOW);
        if report.delivered_bytes > 0 || is_part || starts >= end || hungry || opens_none {
            continue;
        }
        let silence = Silence {
            plan,
            flow,
            report,
            links,
            life: end.since(starts),
            connects: connects(number),
            unrouted: unrouted(number),
        };
        let why = silence.why(starts, end);
        match reasons.iter_mut().find(|(known, ..)| *known == why) {
            Some((.., others)) => *others += 1,
            None => reasons.push((why, &report.name, 0)),
        }
    }
    let line = |(why, name, others): (String, &str, usize)| match others {
        0 => format!("flow {name}: {why}"),
        _ => format!("flow {name}, and {others} more: {why}"),
    };
    reasons.into_iter().map(line).collect()
}

/// A warning if transfers of a given size did not end. `of`: the number in the plan of each flow's
/// connection; if it has several, of the first. Flows that deliver nothing have their own warning, and a flow
/// that is stopped was not meant to end.
pub(crate) fn unfinished(plan: &Plan, flows: &[FlowReport], of: &[usize]) -> Option<String> {
    let mut open = flows.iter().zip(of).filter(|(report, number)| {
        let flow = &plan.flows[**number];
        let sized = matches!(&*flow.source, Source::Tcp { bytes: Some(_), .. });
        let whole = flow.opened_by.is_none() && flow.part.row() != Some("first") && flow.stop == Time::MAX;
        sized && whole && report.completion_s.is_none() && report.delivered_bytes > 0
    });
    let (first, number) = open.next()?;
    let Source::Tcp { bytes: Some(all), .. } = &*plan.flows[*number].source else { return None };
    let others = match open.count() {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    Some(format!(
        "flow {}{others}: the transfer was not complete when the run ended; {} of {all} bytes had come",
        first.name, first.delivered_bytes
    ))
}

/// The mean wait in a queue from which thinned acknowledgements come too rarely, seconds. It is that of a
/// round trip over a geostationary satellite.
const LONG_WAIT_S: f64 = 0.5;

/// A warning for each direction that thins acknowledgements in a long queue: few of a flow are in it at once,
/// so few come in the time of the wait, and windows grow slowly.
pub(crate) fn thinned(plan: &Plan, links: &[LinkReport]) -> Vec<String> {
    let line = |((id, direction), did): ((DirectionId, &DirectionPlan), &LinkReport)| {
        let keep = direction.link_layer.ack_thinning.filter(|_| did.thinned_acks > 0)?;
        // Little's law: the mean number in the queue is the rate times the mean wait.
        let wait_s =
            did.queue_mean_packets * Time(plan.duration.0).secs() / did.delivered_packets.max(1) as f64;
        let acks = if keep == 1 { "one acknowledgement".into() } else { format!("{keep} acknowledgements") };
        (wait_s >= LONG_WAIT_S).then(|| {
            format!(
                "link {} thins acknowledgements: {acks} of a flow in {wait_s:.1} s of queue. Senders are slow by that; \
                 a queue in which acknowledgements do not wait behind data (fq-codel) helps",
                plan.name_of(id)
            )
        })
    };
    plan.directions().zip(links).filter_map(line).collect()
}

/// A flow that delivers nothing.
struct Silence<'a> {
    plan: &'a Plan,
    flow: &'a FlowPlan,
    report: &'a FlowReport,
    links: &'a [LinkReport],
    life: Span,
    connects: bool,
    /// Its packets that could go nowhere in a constellation.
    unrouted: u64,
}

impl Silence<'_> {
    fn why(&self, starts: Time, end: Time) -> String {
        let what = if self.connects { "it never connects" } else { "it delivers nothing" };
        if self.report.sent_packets == 0 && !self.connects {
            return format!("{what}: it has nothing to send in the run");
        }
        let back: &[DirectionId] = match &*self.flow.source {
            Source::Tcp { .. } => &self.flow.ack_path,
            Source::Cbr(CbrPlan { is_echoed: true, .. }) => &self.flow.ack_path,
            Source::Cbr(_) => &[],
        };
        if self.flow.stations.is_some() {
            return format!("{what}: {}", self.astray());
        }
        let crossed = self.flow.path.iter().chain(back);
        if let Some(wall) = crossed.clone().find_map(|&direction| self.wall(direction, starts, end)) {
            return format!("{what}: {wall}");
        }
        let there = self.delay(&self.flow.path);
        let round_trip = Span(there.0.saturating_add(self.delay(&self.flow.ack_path).0));
        let took = if self.connects { round_trip } else { there };
        if took >= self.life {
            let way = if self.connects { "a round trip" } else { "the way there" };
            let (took, life) = (Duration(took), Duration(self.life));
            return format!("{what}: {way} takes {took}, and the run ends {life} after its start");
        }
        let lossy: Vec<String> = crossed
            .filter(|direction| {
                self.links[direction.index()].dropped_error + self.links[direction.index()].dropped_queue > 0
            })
            .map(|direction| self.plan.name_of(*direction))
            .collect();
        match (self.connects, lossy.is_empty()) {
            (true, false) => {
                format!("{what}: its handshake is lost again and again (at link {})", lossy.join(", "))
            }
            (true, true) => format!("{what}: its handshake is still going on when the run ends"),
            (false, false) => format!(
                "{what}: what it sends is lost, or still under way when the run ends (link {})",
                lossy.join(", ")
            ),
            (false, true) => format!("{what}: what it sends is still under way when the run ends"),
        }
    }

    /// What keeps a flow between two stations from its aim.
    fn astray(&self) -> &'static str {
        match self.unrouted {
            0 => "what it sends is lost, or still under way when the run ends",
            _ => "no path leads from its one station to the other, or back, when it sends",
        }
    }

    /// What blocks a direction entirely.
    fn wall(&self, direction: DirectionId, starts: Time, end: Time) -> Option<String> {
        let (plan, name) = (direction.of(&self.plan.links), self.plan.name_of(direction));
        let did = &self.links[direction.index()];
        if plan.line.as_ref().is_some_and(|line| !line.is_up(starts, end)) {
            return Some(format!("link {name} is never up"));
        }
        if did.delivered_packets > 0 {
            return None;
        }
        // Packets that wait for most of the run have not been lost.
        if did.dropped_error > did.inside_packets {
            return Some(format!("link {name} loses every packet to errors"));
        }
        (did.dropped_queue > did.inside_packets)
            .then(|| format!("the queue of link {name} drops every packet; it is too small"))
    }

    /// The propagation delay along directions, and the access delay.
    fn delay(&self, path: &[DirectionId]) -> Span {
        let links = path.iter().map(|direction| direction.of(&self.plan.links).delay.0);
        Span(links.fold(self.flow.extra_delay.0, u64::saturating_add))
    }
}
