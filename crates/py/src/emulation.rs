//! Emulated links: namespaces, forwarding, counts.

use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bentpipe_emu::{
    EmulationError, Hop, HopStatus, Lateness, Link, LinkStatus, Network, WayStatus, route_of,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::{plan, wrong};

/// Ends, and links between ends.
#[pyclass(frozen)]
pub(crate) struct EmulatedNetwork {
    network: Mutex<Network>,
    names: Vec<[Vec<String>; 2]>,
}

fn failed(error: EmulationError) -> PyErr {
    match &error {
        EmulationError::Unable { source, .. } => {
            // With the kind, so that Python has its subclass of OSError; the words are those of the error.
            std::io::Error::new(source.kind(), error.to_string()).into()
        }
        _ => wrong(error),
    }
}

/// The names of the directions among `hops`; an access delay is "access".
fn names(hops: &[Hop]) -> Vec<String> {
    let name = |hop: &Hop| match hop {
        Hop::Access(_) => "access".to_owned(),
        Hop::Direction { name, .. } => name.clone(),
    };
    hops.iter().map(name).collect()
}

#[pymethods]
impl EmulatedNetwork {
    /// So many ends, and links: numbers of the near and the far end, and a scenario as JSON, of which the first flow says the route.
    #[new]
    fn new(py: Python<'_>, ends: usize, links: Vec<(usize, usize, String)>) -> PyResult<Self> {
        let mut all = Vec::new();
        let mut named = Vec::new();
        for (near, far, scenario) in links {
            let (_, plan) = plan(&scenario)?;
            let route = route_of(&plan).ok_or_else(|| wrong("a scenario without flows has no route"))?;
            named.push([names(&route.forward), names(&route.reverse)]);
            all.push(Link { between: (near, far), route, seed: plan.seed });
        }
        let network = py.detach(|| Network::new(ends, all)).map_err(failed)?;
        Ok(Self { network: Mutex::new(network), names: named })
    }

    /// Time 0.
    fn start(&self) -> PyResult<()> {
        self.held().start().map_err(failed)
    }

    /// Moves the calling thread to an end.
    fn enter(&self, end: usize) -> PyResult<()> {
        self.held().enter(end).map_err(failed)
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

    /// What a link has done so far, as JSON; with `histogram`, that of lateness too.
    #[pyo3(signature = (link, histogram = false))]
    fn status(&self, py: Python<'_>, link: usize, histogram: bool) -> PyResult<String> {
        let LinkStatus { t_s, forward, reverse } = py.detach(|| self.held().status(link)).map_err(failed)?;
        let [there, back] = &self.names[link];
        let (forward, reverse) = (way(&forward, there, histogram), way(&reverse, back, histogram));
        Ok(json!({ "t_s": t_s, "forward": forward, "reverse": reverse }).to_string())
    }

    /// Ends forwarding; the counts stay.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.held().stop());
    }
}

impl EmulatedNetwork {
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

fn late(lateness: &Lateness, histogram: bool, row: &mut Value) {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
        row[format!("lateness_{name}_s")] = json!(seconds(lateness.quantile(q)));
    }
    row["lateness_max_s"] = json!(seconds(lateness.max()));
    if histogram {
        row["lateness"] = lateness.bins().map(|(end, n)| json!([seconds(end), n])).collect();
    }
}
