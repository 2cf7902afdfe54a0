//! The laws that hold in every run, whatever the scenario. A run that breaks one ends in an error that asks to report it: its
//! numbers cannot be trusted.
//!
//! What can be counted is counted while packets pass and balanced when the run ends: at each direction of a link, and for each
//! flow from end to end by counters of its own. Windows and acknowledgements are looked at with each ACK.

use bentpipe_cc::Time;
use bentpipe_tcp::Sender;

use crate::host::flow::{Flow, Kind};
use crate::link::direction::Link;
use crate::link::packet::{ACK, CONTROL, LOST, Packet};
use crate::resolve::plan::{CcPlan, Channel, FlowPlan, Plan, QueueLimit, Source};

/// A law that was broken, and by which numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) law: &'static str,
    pub(crate) numbers: String,
}

fn hold(law: &'static str, holds: bool, numbers: impl FnOnce() -> String) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(Breach { law, numbers: numbers() }) }
}

/// Packets of one kind, data or acknowledgements, of one flow. Those of handshake and teardown are in no book of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
}

/// Those of them that have not arrived and will not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Dropped by queues and lost to errors.
    pub(crate) dropped: u64,
    /// On a link that had handed them on ahead of time when the run ends.
    pub(crate) beyond: u64,
}

/// What one direction of a link has done with the packets that it was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) offered: u64,
    pub(crate) dropped_queue: u64,
    pub(crate) dropped_error: u64,
    pub(crate) delivered: u64,
    /// Waiting before the transmitter of a link that decides at departure.
    pub(crate) waiting: u64,
    /// Waiting, in transmission or propagating elsewhere, and not lost.
    pub(crate) under_way: u64,
    /// Bytes that wait by the queue's counter, and by adding up its packets.
    pub(crate) waiting_bytes: (u64, u64),
    /// Most bytes that ever waited, in what decides at departure.
    pub(crate) most_bytes: u64,
    pub(crate) queue_max: u64,
}

/// What is looked at with each acknowledgement of one sender.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    breach: Option<Box<Breach>>,
}

impl Watch {
    /// An acknowledgement of all before `ack` reaches a sender that has sent all before `next`.
    #[inline]
    pub(crate) fn ack(&mut self, ack: u64, next: u64) {
        if ack > next {
            self.note("no acknowledgement reaches a sender for what it has not sent", [ack, next]);
        }
    }

    /// The sender after it.
    #[inline]
    pub(crate) fn sender(&mut self, sender: &Sender) {
        self.window(sender);
        let flow = sender.flow();
        let mss = u64::from(flow.mss);
        let outstanding = sender.next() - sender.una();
        // A segment counts twice while its copy is under way beside it.
        if flow.in_flight > 2 * outstanding * mss {
            self.note(
                "in flight is what is outstanding, or a copy of it",
                [flow.in_flight, outstanding * mss],
            );
        }
    }

    /// The sender's window.
    #[inline]
    pub(crate) fn window(&mut self, sender: &Sender) {
        let (mss, cwnd) = (u64::from(sender.flow().mss), sender.decision().cwnd);
        if cwnd < mss || cwnd == u64::MAX {
            self.note("a congestion window is finite and at least one segment", [cwnd, mss]);
        }
    }

    #[cold]
    fn note(&mut self, law: &'static str, [found, bound]: [u64; 2]) {
        let breach = || Box::new(Breach { law, numbers: format!("{found} against {bound}") });
        self.breach.get_or_insert_with(breach);
    }
}

/// Which packets of each flow are under way on links, data first, then acknowledgements.
fn under_way(links: &mut [Link], flows: usize) -> Vec<[u64; 2]> {
    let mut found = vec![[0; 2]; flows];
    let mut count = |packet: &Packet| {
        if !packet.has(LOST) && !packet.has(CONTROL) {
            found[packet.flow as usize][usize::from(packet.has(ACK))] += 1;
        }
    };
    for link in links {
        link.on_the_way().for_each(&mut count);
        if let Some(scheduled) = link.scheduled() {
            scheduled.packets().iter().for_each(&mut count);
        }
    }
    found
}

/// Balances the books of a run that has come to its end.
pub(crate) fn check(plan: &Plan, end: Time, links: &mut [Link], flows: &[Flow]) -> Result<(), Breach> {
    let channels = plan.links.iter().flat_map(|l| [(l, &l.forward, "forward"), (l, &l.reverse, "reverse")]);
    let mut channels = channels.map(|(l, channel, direction)| (format!("{}/{direction}", l.name), channel));
    for link in links.iter_mut() {
        let named = channels.next();
        let name = named.as_ref().map_or("a flow's own delay", |(name, _)| name);
        let ledger = link.ledger();
        balance(name, &ledger)?;
        if let Some((name, channel)) = &named {
            room(name, channel, &ledger)?;
            let busy = link.utilisation(end);
            hold("a transmitter is not busy for longer than the run", (0.0..=1.0).contains(&busy), || {
                format!("link {name}: {busy}")
            })?;
        }
    }
    let found = under_way(links, flows.len());
    for ((flow, flow_plan), found) in flows.iter().zip(&plan.flows).zip(found) {
        balance_flow(flow, flow_plan, found)?;
        ends(plan, end, flow, flow_plan)?;
    }
    Ok(())
}

/// One direction of a link.
fn balance(name: &str, l: &Ledger) -> Result<(), Breach> {
    let law =
        "each packet offered to a link is dropped at its queue, lost to errors, delivered, or still there";
    // Wrapping, so that a count that has gone below zero is a broken law and not a panic.
    let accounted = [l.dropped_queue, l.dropped_error, l.delivered, l.waiting, l.under_way]
        .into_iter()
        .fold(0, u64::wrapping_add);
    hold(law, l.offered == accounted, || format!("link {name}: {l:?}"))?;
    hold("a queue's bytes are those of its packets", l.waiting_bytes.0 == l.waiting_bytes.1, || {
        format!("link {name}: {:?}", l.waiting_bytes)
    })
}

/// Has the queue kept to its limit?
fn room(name: &str, channel: &Channel, l: &Ledger) -> Result<(), Breach> {
    let law = "no more waits at a link than its queue has room for";
    let numbers = || format!("link {name}: {:?}, {l:?}", channel.queue);
    match channel.discipline.plan().most(channel.queue) {
        QueueLimit::Packets(most) => hold(law, l.queue_max <= most, numbers),
        QueueLimit::Bytes(most) => hold(law, l.waiting_bytes.0.max(l.most_bytes) <= most, numbers),
    }
}

/// One flow from end to end; `found`: its packets that are on links, data and acknowledgements.
fn balance_flow(flow: &Flow, plan: &FlowPlan, found: [u64; 2]) -> Result<(), Breach> {
    let kinds = [
        ("data", flow.data, flow.missing_data, found[0]),
        ("acknowledgements", flow.acks, flow.missing_acks, found[1]),
    ];
    for (kind, books, missing, found) in kinds {
        let law = "each packet that a flow sends arrives, is dropped, or is under way";
        let accounted =
            [books.arrived, missing.dropped, missing.beyond, found].into_iter().fold(0, u64::wrapping_add);
        hold(law, books.sent == accounted, || {
            format!("flow {}, {kind}: {books:?}, {missing:?}, {found} under way", plan.name)
        })?;
    }
    Ok(())
}

/// Both ends of one flow.
fn ends(plan: &Plan, end: Time, flow: &Flow, flow_plan: &FlowPlan) -> Result<(), Breach> {
    let (Kind::Tcp(tcp), Source::Tcp { cc, options, bytes }) = (&flow.kind, &*flow_plan.source) else {
        return Ok(());
    };
    let name = &flow_plan.name;
    // A controller of the user's may want any window; that is no bug here.
    if let (Some(breach), CcPlan::Registered { id, .. }) = (&tcp.watch.breach, cc) {
        return Err(Breach { law: breach.law, numbers: format!("flow {name} ({id}): {}", breach.numbers) });
    }
    let (una, got, next) = (tcp.sender.una(), tcp.receiver.delivered(), tcp.sender.next());
    let law = "what is acknowledged was delivered, and what was delivered was sent";
    hold(law, una <= got && got <= next && got <= flow.data.arrived, || {
        format!(
            "flow {name}: {una} acknowledged, {got} delivered, {next} sent, {} arrived",
            flow.data.arrived
        )
    })?;
    let law = "a transfer hands over all of its bytes and no more";
    let done = tcp.sender.is_done() && flow.stop > end;
    hold(
        law,
        bytes.is_none_or(|b| tcp.delivered_bytes() <= b && (!done || tcp.delivered_bytes() == b)),
        || format!("flow {name}: {} of {bytes:?}", tcp.delivered_bytes()),
    )?;
    let slowest = flow_plan.path.iter().map(|l| plan.links[*l].forward.rate_bps).min().unwrap_or(u64::MAX);
    let wire = u128::from(options.mss + options.header) * 8;
    // The last segment may be short, and one may have been sent on the remainder of a nanosecond.
    let bits = u128::from(got.saturating_sub(2)) * wire;
    let could = u128::from(slowest) * u128::from(end.since(flow.start).0) / 1_000_000_000;
    hold("no flow is faster than the slowest link of its path", bits <= could, || {
        format!("flow {name}: {bits} bits where {could} could pass")
    })
}
