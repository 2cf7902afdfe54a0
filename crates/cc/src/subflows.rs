//! What a coupled algorithm knows of the other paths of its connection (Multipath TCP, RFC 8684).

use alloc::vec::Vec;

use crate::report::Flow;
use crate::time::Span;

/// One subflow of a connection that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subflow {
    /// Its congestion window in bytes.
    pub cwnd: u64,
    /// Its smoothed round-trip time; `None` before the first sample. Such a subflow carries nothing yet.
    pub rtt: Option<Span>,
    /// Bytes delivered between its last two losses, or since the last one if these are more.
    pub between_losses: u64,
}

/// The subflows of a connection, as the last call of `on_subflows` told them.
#[derive(Debug, Default)]
pub(crate) struct Subflows {
    own: usize,
    all: Vec<Subflow>,
}

/// One path in the units of the equations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Is it the algorithm's own?
    pub(crate) own: bool,
    /// Window w in segments of the own size.
    pub(crate) w: f64,
    /// Round-trip time in seconds.
    pub(crate) rtt: f64,
    /// [`Subflow::between_losses`].
    pub(crate) between_losses: f64,
}

impl Path {
    /// x = w / rtt, in segments per second.
    pub(crate) fn rate(&self) -> f64 {
        self.w / self.rtt
    }
}

impl Subflows {
    /// Takes what `on_subflows` tells.
    pub(crate) fn learn(&mut self, own: usize, all: &[Subflow]) {
        self.own = own;
        self.all.clear();
        self.all.extend_from_slice(all);
    }

    /// The paths that have a round-trip time, the own one with the present window of `w` segments. A connection of one path has that
    /// alone.
    pub(crate) fn paths(&self, w: f64, flow: &Flow) -> impl Iterator<Item = Path> + Clone {
        let mss = f64::from(flow.mss.max(1));
        let secs = |rtt: Span| rtt.secs().max(1e-9);
        let here = flow.rtt.map(|rtt| secs(rtt.smoothed));
        let alone = self.all.is_empty().then_some(Subflow::default());
        self.all.iter().copied().chain(alone).enumerate().filter_map(move |(i, path)| {
            let own = i == self.own || self.all.is_empty();
            let rtt = if own { here? } else { secs(path.rtt?) };
            let w = if own { w } else { path.cwnd as f64 / mss };
            Some(Path { own, w, rtt, between_losses: path.between_losses as f64 })
        })
    }
}
