//! The laws that hold in every run, whatever the scenario. A run that breaks one ends in an error that asks
//! the user to report it.
//!
//! Packets are counted as they pass, and the counts are balanced when the run ends. Each direction of a link
//! has a ledger (`link/ledger.rs`); each flow has end-to-end counters of its own.

use bentpipe_cc::Time;

use crate::host::flow::{FlowState, Kind, NEVER, Tcp};
use crate::host::multipath::MultipathConnection;
use crate::link::air::Air;
use crate::link::direction::Direction;
use crate::link::ledger::{Breach, hold};
use crate::link::packet::{ACK, CONTROL, LOST, Packet};
use crate::resolve::plan::{CcPlan, FlowPlan, Plan, ReadBy, Source};

/// Balances the books at the end of a run.
pub(crate) fn check(
    plan: &Plan,
    end: Time,
    (directions, airs): (&mut [Direction], &[Air]),
    flows: &[FlowState],
) -> Result<(), Breach> {
    let (links, rest) = directions.split_at_mut(2 * plan.links.len());
    for (direction, (id, of)) in links.iter_mut().zip(plan.directions()) {
        direction.audit(&plan.name_of(id), Some(of), end)?;
    }
    let (ports, rest) = rest.split_at_mut(plan.ports().count());
    for (direction, (network, port)) in ports.iter_mut().zip(plan.ports()) {
        direction.audit(&network.name_of(port), Some(network.of(port)), end)?;
    }
    for direction in rest {
        direction.audit("a flow's own delay", None, end)?;
    }
    for (air, (network, port)) in airs.iter().zip(plan.ports()) {
        let inside = air.packets().count() as u64;
        hold("what takes to the air arrives or is there", air.offered == air.delivered + inside, || {
            format!(
                "{}: {} offered, {} delivered, {inside} inside",
                network.name_of(port),
                air.offered,
                air.delivered
            )
        })?;
    }
    let found = under_way(directions, airs, flows.len());
    for ((flow, flow_plan), found) in flows.iter().zip(&plan.flows).zip(found) {
        balance_flow(flow, flow_plan, found)?;
        goodput(plan, end, flow, flow_plan)?;
        ends(end, flow, flow_plan)?;
    }
    for (to, flow_plan) in flows.iter().zip(&plan.flows) {
        if let ReadBy::Relay { onward } = *flow_plan.reader() {
            relay(to, &flows[onward], &flow_plan.name)?;
        }
    }
    Ok(())
}

/// The data of connections with several subflows.
pub(crate) fn connections(end: Time, all: &[MultipathConnection], flows: &[FlowState]) -> Result<(), Breach> {
    for connection in all {
        let [una, got, next] = connection.books();
        let tcps = || flows[connection.flows()].iter();
        let brought: u64 = tcps()
            .map(|flow| match &flow.kind {
                Kind::Tcp(tcp) => tcp.receiver.delivered(),
                Kind::Cbr(_) => 0,
            })
            .sum();
        let name = &connection.plan.name;
        let law = "what a connection has acknowledged was delivered, and its subflows have brought it";
        hold(law, una <= got && got <= next && got <= brought, || {
            format!("flow {name}: {una} acknowledged, {got} delivered, {next} sent, {brought} brought")
        })?;
        let (bytes, handed) = (connection.plan.bytes, connection.delivered_bytes());
        let brought: u64 =
            flows[connection.flows()].iter().filter_map(FlowState::tcp).map(Tcp::delivered_bytes).sum();
        hold("subflows bring the bytes that their connection hands over", handed <= brought, || {
            format!("flow {name}: {handed} handed over, {brought} brought")
        })?;
        let done = connection.done_at != NEVER && tcps().all(|flow| flow.stop > end);
        let law = "a transfer over several paths hands over all of its bytes and no more";
        hold(law, bytes.is_none_or(|bytes| handed <= bytes && (!done || handed == bytes)), || {
            format!("flow {name}: {handed} of {bytes:?}")
        })?;
    }
    Ok(())
}

/// The buffer of the relay between these two flows.
fn relay(first: &FlowState, second: &FlowState, name: &str) -> Result<(), Breach> {
    let (Kind::Tcp(first), Kind::Tcp(second)) = (&first.kind, &second.kind) else { return Ok(()) };
    let (got, out, sent) = (first.receiver.delivered(), second.sender.una(), second.sender.next());
    let kept = first.receiver.unread();
    let room = first.sender.options().receive_window.unwrap_or(u64::MAX);
    let law = "what came to a relay has left it or is in its buffer";
    let balanced = second.relay().map(|relay| relay.taken) == Some(got)
        && got == out + kept
        && sent <= got
        && kept <= room;
    hold(law, balanced, || {
        format!("flow {name}: {got} came, {out} left, {sent} sent on, {kept} kept where {room} have room")
    })?;
    let (came, left) = (first.delivered_bytes(), second.delivered_bytes());
    hold("no more bytes leave a relay than come to it", left <= came, || {
        format!("flow {name}: {came} came, {left} left")
    })?;
    let [size, size_behind] = [first, second].map(|tcp| tcp.sender.options().mss);
    hold("a relay hands over segments of one size", size == size_behind, || {
        format!("flow {name}: {size} before it, {size_behind} behind it")
    })
}

/// The packets of each flow that are still on links: data, then acknowledgements.
fn under_way(directions: &mut [Direction], airs: &[Air], flows: usize) -> Vec<[u64; 2]> {
    let mut found = vec![[0; 2]; flows];
    let mut count = |packet: &Packet| {
        if !packet.has(LOST) && !packet.has(CONTROL) {
            found[packet.flow as usize][usize::from(packet.has(ACK))] += 1;
        }
    };
    airs.iter().flat_map(Air::packets).for_each(&mut count);
    for direction in directions {
        direction.on_the_way().chain(direction.doomed()).for_each(&mut count);
        if let Some(scheduled) = direction.scheduled() {
            scheduled.packets().iter().for_each(&mut count);
        }
    }
    found
}

/// Balances one flow end to end; `found`: its data and acknowledgements still on links.
fn balance_flow(flow: &FlowState, plan: &FlowPlan, found: [u64; 2]) -> Result<(), Breach> {
    let kinds = [
        ("data", flow.data, flow.missing_data, found[0]),
        ("acknowledgements", flow.acks, flow.missing_acks, found[1]),
    ];
    for (kind, books, missing, found) in kinds {
        let law = "each packet that a flow sends arrives, is dropped, or is under way";
        let accounted =
            [books.arrived, missing.dropped, missing.beyond, found].into_iter().fold(0, u64::wrapping_add);
        let numbers = || format!("flow {}, {kind}: {books:?}, {missing:?}, {found} under way", plan.name);
        hold(law, books.sent == accounted, numbers)?;
        hold("no more packets of a flow are dropped than it sends", missing.dropped <= books.sent, numbers)?;
    }
    Ok(())
}

/// Both ends of one flow.
fn ends(end: Time, flow: &FlowState, flow_plan: &FlowPlan) -> Result<(), Breach> {
    let (Kind::Tcp(tcp), Source::Tcp { cc, bytes, .. }) = (&flow.kind, &*flow_plan.source) else {
        return Ok(());
    };
    let name = &flow_plan.name;
    // A user's own controller may ask for any window; that is no bug of the simulator.
    if let (Some(breach), CcPlan::Registered { id, .. }) = (&tcp.check.breach, cc) {
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
    let done = tcp.is_complete() && flow.stop > end;
    hold(
        law,
        bytes.is_none_or(|b| tcp.delivered_bytes() <= b && (!done || tcp.delivered_bytes() == b)),
        || format!("flow {name}: {} of {bytes:?}", tcp.delivered_bytes()),
    )
}

/// The goodput of one flow, headers included, against the rates of its links.
fn goodput(plan: &Plan, end: Time, flow: &FlowState, flow_plan: &FlowPlan) -> Result<(), Breach> {
    let (packets, wire) = match (&flow.kind, &*flow_plan.source) {
        (Kind::Tcp(tcp), Source::Tcp { options, .. }) => {
            (tcp.receiver.delivered(), options.mss + options.header)
        }
        (Kind::Cbr(cbr), _) => (flow.data.arrived, u32::from(cbr.size)),
        (Kind::Tcp(_), Source::Cbr(_)) => return Ok(()),
    };
    // The last segment may be short, and one may have been sent on the remainder of a nanosecond.
    let bits = u128::from(packets.saturating_sub(2)) * u128::from(wire) * 8;
    // The flow's life ends within a nanosecond, in which many packets may arrive.
    let until = Time(flow.life_ends(end).max(flow.start).0.saturating_add(1));
    // A station has one port, but may receive from several satellites at once.
    let port = plan.network.iter().filter(|_| flow_plan.stations.is_some()).map(|of| &of.up);
    let crossed = flow_plan.path.iter().map(|d| d.of(&plan.links)).chain(port);
    let could = crossed.map(|of| of.bits(flow.start, until)).min().unwrap_or(0);
    hold("no flow is faster than the slowest link of its path", bits <= could, || {
        format!("flow {}: {bits} bits where {could} could pass in its life", flow_plan.name)
    })
}
