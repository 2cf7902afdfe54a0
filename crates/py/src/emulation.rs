//! Emulated links: namespaces, forwarding, counts.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bentpipe_cc::Span;
use bentpipe_emu::relay::{RelayCounts, RelaySettings};
use bentpipe_emu::{
    EmulationError, Hop, HopStatus, Lateness, Link, LinkStatus, Network, Packets, Record, WayStatus, route_of,
};
use bentpipe_sim::RunError;
use bentpipe_sim::pcap::{Capture, Place};
use bentpipe_sim::record::{LinkReport, LinkRow, LinkTrace};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::{plan, run_error, table, wrong};

/// Ends, and links between ends.
#[pyclass(frozen)]
pub(crate) struct EmulatedNetwork {
    network: Mutex<Network>,
    names: Vec<[Vec<String>; 2]>,
    changes_until: Option<Span>,
}

fn failed(error: EmulationError) -> PyErr {
    match error {
        EmulationError::Unable { ref source, .. } => {
            // With the kind, so that Python has its subclass of OSError; the words are those of the error.
            std::io::Error::new(source.kind(), error.to_string()).into()
        }
        EmulationError::Capture(error) => run_error(RunError::Capture(error)),
        EmulationError::Failed { .. } => std::io::Error::other(error.to_string()).into(),
        _ => wrong(error),
    }
}

/// The names of the directions among `hops`; an access delay is "access", and the jitter of acknowledgements
/// "jitter". Those of a further flow have its name, "access/second".
fn names(hops: &[Hop]) -> Vec<String> {
    let name = |hop: &Hop| match hop {
        Hop::Access { flow, of: Packets::Of(_), .. } => format!("access/{flow}"),
        Hop::Access { .. } => "access".to_owned(),
        Hop::Jitter { flow, of: Packets::Of(_), .. } => format!("jitter/{flow}"),
        Hop::Jitter { .. } => "jitter".to_owned(),
        Hop::Direction { name, .. } => name.clone(),
    };
    hops.iter().map(name).collect()
}

#[pymethods]
impl EmulatedNetwork {
    /// The number of ends, and the links: numbers of the near and the far end, and a scenario as JSON, whose
    /// first flow gives the route. With `interval_ns`, samples are taken so often. A capture is a path, a
    /// place, and whether whole packets are kept. The largest packet of all links has `mtu` bytes.
    #[new]
    #[pyo3(signature = (ends, links, interval_ns = None, capture = None, mtu = 1500))]
    fn new(
        py: Python<'_>,
        ends: usize,
        links: Vec<(usize, usize, String)>,
        interval_ns: Option<u64>,
        capture: Option<(PathBuf, String, bool)>,
        mtu: u32,
    ) -> PyResult<Self> {
        let mut all = Vec::new();
        let mut named = Vec::new();
        let mut changes_until = None;
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX); // refused there
        for (i, (near, far, scenario)) in links.into_iter().enumerate() {
            let (_, plan) = plan(&scenario)?;
            let route = route_of(&plan, i)
                .ok_or_else(|| wrong("flow: there is none whose path links could be emulated for; a network is simulated alone"))?;
            if route.changes() {
                changes_until = Some(plan.duration);
            }
            named.push([names(&route.forward), names(&route.reverse)]);
            all.push(Link { between: (near, far), route, seed: plan.seed, mtu });
        }
        let capture = capture.map(|(path, at, whole)| Capture { path, at: Place::named(&at), whole });
        let record = Record { interval: interval_ns.map(Span), capture };
        let network = py.detach(|| Network::new(ends, all, record)).map_err(failed)?;
        Ok(Self { network: Mutex::new(network), names: named, changes_until })
    }

    /// Until when rates, delays or losses change, in seconds; their last values hold from then on.
    /// `None` if they never change.
    #[getter]
    fn changes_until_s(&self) -> Option<f64> {
        self.changes_until.map(Span::secs)
    }

    /// Makes end 1 a relay between the first two links, with the buffer that the first flow of a
    /// scenario gives to its own. `controllers` are kernel's names, the best first; gives that
    /// with which the relay sends.
    fn start_relay(&self, py: Python<'_>, scenario: &str, controllers: Vec<String>) -> PyResult<String> {
        let (scenario, _) = plan(scenario)?;
        let relay = scenario.flow.first().and_then(|flow| flow.relay.as_ref());
        let buffer = relay.ok_or_else(|| wrong("the first flow has no relay"))?.buffer.0;
        let settings = RelaySettings { buffer, controllers };
        py.detach(|| self.held().start_relay(&settings)).map_err(failed)
    }

    /// What the relay has done so far, as JSON; null without one.
    fn relayed(&self) -> String {
        let row = |counts: RelayCounts| {
            let RelayCounts { connections, unreached, broken, bytes } = counts;
            json!({ "connections": connections, "unreached": unreached, "broken": broken, "bytes": bytes })
        };
        self.held().relayed().map_or(Value::Null, row).to_string()
    }

    /// Time 0.
    fn start(&self) -> PyResult<()> {
        self.held().start().map_err(failed)
    }

    /// Raises if a link has stopped forwarding by itself.
    fn check(&self) -> PyResult<()> {
        self.held().check().map_err(failed)
    }

    /// Moves the calling thread to an end.
    fn enter(&self, end: usize) -> PyResult<()> {
        self.held().enter(end).map_err(failed)
    }

    /// Lets the ends reach what is behind `interface` of the caller's namespace, through the end with this
    /// number. With `closed`, nothing but what belongs to emulations is forwarded that comes in by it.
    fn open_outside(&self, py: Python<'_>, end: usize, interface: &str, closed: bool) -> PyResult<()> {
        py.detach(|| self.held().open_outside(end, interface, closed)).map_err(failed)
    }

    /// The file descriptor of an end's namespace.
    fn descriptor(&self, end: usize) -> PyResult<i32> {
        self.held().descriptor(end).map(|fd| fd.as_raw_fd()).map_err(failed)
    }

    /// The addresses of the near and the far end of a link.
    #[staticmethod]
    fn addresses(link: usize) -> (String, String) {
        (Network::near_address(link).to_string(), Network::far_address(link).to_string())
    }

    /// The addresses of IPv6 of the near and the far end of a link.
    #[staticmethod]
    fn addresses_ipv6(link: usize) -> (String, String) {
        (Network::near_ipv6(link).to_string(), Network::far_ipv6(link).to_string())
    }

    /// The addresses of the far end of a link, by the index of a flow in the scenario. Packets from or to an
    /// address have the access delay and the jitter of its flow.
    fn flow_addresses(&self, link: usize) -> BTreeMap<usize, String> {
        let addresses = self.held().flow_addresses(link);
        addresses.into_iter().map(|(table, address)| (table, address.to_string())).collect()
    }

    /// Do the ends have addresses of IPv6?
    #[getter]
    fn has_ipv6(&self) -> bool {
        self.held().has_ipv6()
    }

    /// What a link has done so far, as JSON; with `histogram`, that of lateness too.
    #[pyo3(signature = (link, histogram = false))]
    fn status(&self, py: Python<'_>, link: usize, histogram: bool) -> PyResult<String> {
        let LinkStatus { t_s, forward, reverse } = py.detach(|| self.held().status(link)).map_err(failed)?;
        let [there, back] = &self.names[link];
        let (forward, reverse) = (way(&forward, there, histogram), way(&reverse, back, histogram));
        Ok(json!({ "t_s": t_s, "forward": forward, "reverse": reverse }).to_string())
    }

    /// Ends forwarding, and completes the capture; the counts stay. How many packets has the capture missed?
    fn stop(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.held().stop()).map_err(failed)?;
        Ok(self.held().missed())
    }

    /// After the end, a row for each direction of a link that is crossed, as in a run's report: JSON.
    fn link_reports(&self, py: Python<'_>) -> PyResult<String> {
        let hops = self.hops(py)?;
        let rows: Vec<&LinkReport> = hops.iter().filter_map(|hop| hop.report.as_ref()).collect();
        Ok(json!(rows).to_string())
    }

    /// After the end, samples of these directions, a column a name, as in a run's result.
    fn link_trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let hops = self.hops(py)?;
        let mut trace = LinkTrace::default();
        for (i, hop) in hops.iter().filter(|hop| hop.report.is_some()).enumerate() {
            hop.samples.iter().for_each(|row| trace.push(LinkRow { link: i as u32, ..*row }));
        }
        table(py, trace.into_columns())
    }
}

impl EmulatedNetwork {
    /// All hops: link after link, forward before reverse.
    fn hops(&self, py: Python<'_>) -> PyResult<Vec<HopStatus>> {
        let mut hops = Vec::new();
        for i in 0..self.names.len() {
            let found = py.detach(|| self.held().status(i)).map_err(failed)?;
            hops.extend(found.forward.hops);
            hops.extend(found.reverse.hops);
        }
        Ok(hops)
    }

    fn held(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn way(way: &WayStatus, names: &[String], histogram: bool) -> Value {
    let hops: Vec<Value> = way.hops.iter().zip(names).map(|(hop, name)| hop_row(hop, name)).collect();
    let sum = |of: fn(&HopStatus) -> u64| way.hops.iter().map(of).sum::<u64>();
    let mut row = json!({
        "queue_packets": sum(|hop| hop.queue_packets),
        "queue_bytes": sum(|hop| hop.queue_bytes),
        "delivered_packets": way.written_packets,
        "delivered_bytes": way.written_bytes,
        "dropped_queue": sum(|hop| hop.counts.dropped_queue),
        "dropped_error": sum(|hop| hop.counts.dropped_error),
        "marked": sum(|hop| hop.counts.marked),
        "read_packets": way.read_packets,
        "refused_protocol": way.refused_protocol,
        "refused_size": way.refused_size,
        "refused_kernel": way.refused_kernel,
        "kernel_dropped_before": way.dropped_before,
        "kernel_dropped_behind": way.dropped_behind,
        "socket_dropped": way.dropped_sockets,
        "burst_packets": way.burst_packets,
        "burst_s": way.burst_s,
        "inside_packets": way.inside,
        "realtime": way.realtime,
        "hops": hops,
    });
    late(&way.lateness, histogram, &mut row);
    row
}

fn hop_row(hop: &HopStatus, name: &str) -> Value {
    json!({
        "name": name, "queue_packets": hop.queue_packets, "queue_bytes": hop.queue_bytes,
        "offered_packets": hop.counts.offered_packets, "delivered_packets": hop.counts.delivered_packets,
        "delivered_bytes": hop.counts.delivered_bytes, "dropped_queue": hop.counts.dropped_queue,
        "dropped_error": hop.counts.dropped_error, "marked": hop.counts.marked,
    })
}

fn late(Lateness(lateness): &Lateness, histogram: bool, row: &mut Value) {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
        row[format!("lateness_{name}_s")] = json!(seconds(lateness.value_at_quantile(q)));
    }
    row["lateness_max_s"] = json!(seconds(lateness.max()));
    if histogram {
        let bins = lateness.iter_recorded();
        row["lateness"] = bins
            .map(|bin| json!([seconds(bin.value_iterated_to() + 1), bin.count_since_last_iteration()]))
            .collect();
    }
}
