//! The host of the coupled algorithms of Multipath TCP (RFC 8684), a [`Policy`]: it knows the other paths of
//! the connection. A paper's algorithm is a [`Coupling`]. Slow start and, unless a coupling says otherwise,
//! the answer to losses are those of RFC 5681, for each subflow alone.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::algorithms::increments::Increments;
use crate::algorithms::prelude::*;
use crate::report::Subflow;

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

/// The part of a coupled algorithm that a paper defines. `paths` are those that have a round-trip time, the
/// own one with its present window of `w` segments. A connection of one path has that alone.
pub(crate) trait Coupling: Debug + Send {
    /// By how much each increment raises the window in congestion avoidance, segments.
    fn increase<P: Iterator<Item = Path> + Clone>(&mut self, w: f64, paths: P) -> f64;

    /// What a loss leaves of the window. Default: half (RFC 5681 eq. 4).
    fn keeps<P: Iterator<Item = Path> + Clone>(&self, _paths: P) -> f64 {
        0.5
    }

    /// Names internal quantities for traces.
    fn probe(&self, _emit: &mut dyn FnMut(&str, f64)) {}
}

/// A [`Coupling`] in its host.
#[derive(Debug)]
pub(crate) struct Coupled<C> {
    coupling: C,
    increments: Increments,
    /// The subflows as last reported, and the index of the own one.
    all: Vec<Subflow>,
    own: usize,
}

impl<C: Coupling + 'static> Coupled<C> {
    /// A complete controller on a connection that begins as `start` says.
    pub(crate) fn hosted(coupling: C, args: &Args, start: Start) -> Box<dyn Controller> {
        let increments = Increments::new(args);
        Windowed::hosted(Self { coupling, increments, all: Vec::new(), own: 0 }, start)
    }
}

fn paths(all: &[Subflow], own: usize, w: f64, flow: &Flow) -> impl Iterator<Item = Path> + Clone {
    let mss = f64::from(flow.mss.max(1));
    let secs = |rtt: Span| rtt.secs().max(1e-9);
    let here = flow.rtt.map(|rtt| secs(rtt.smoothed));
    let alone = all.is_empty().then_some(Subflow::default());
    all.iter().copied().chain(alone).enumerate().filter_map(move |(i, path)| {
        let own = i == own || all.is_empty();
        let rtt = if own { here? } else { secs(path.rtt?) };
        let w = if own { w } else { path.cwnd as f64 / mss };
        Some(Path { own, w, rtt, between_losses: path.between_losses as f64 })
    })
}

impl<C: Coupling> Policy for Coupled<C> {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let paths = paths(&self.all, self.own, w.cwnd, flow);
        // A flow of one path is Reno, whose unit is the segment (Linux: `tcp_reno_cong_avoid`
        // where `mptcp` is false).
        let alone = self.all.is_empty();
        let increments = if alone { ack.segments(flow) } else { self.increments.of(flow, ack) };
        w.cwnd += self.coupling.increase(w.cwnd, paths) * increments;
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        let paths = paths(&self.all, self.own, w.cwnd, flow);
        Cut::standard(w.cwnd * self.coupling.keeps(paths), why)
    }

    fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
        if let Event::Subflows { own, all } = event {
            self.own = own;
            self.all.clear();
            self.all.extend_from_slice(all);
        }
    }

    fn needs(&self) -> Needs {
        Needs { subflows: true, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.coupling.probe(emit);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Subflow, Vec};
    use crate::event::{Congestion, Event};
    use crate::rig::{Rig, near};
    use crate::time::Span;

    /// Algorithm `id` on path `own` of these after one more acknowledged segment. Windows in
    /// segments, round trips in seconds (0: not known yet), bytes between losses.
    pub(crate) fn on_paths(id: &str, own: usize, paths: &[(f64, f64, u64)]) -> Rig {
        let (w, rtt, _) = paths[own];
        let mut rig = Rig::new(id, &[], w, 2.0);
        rig.cc.on(&rig.flow, Event::Subflows { own, all: &subflows(paths) });
        rig.ack(1.0, 0.01, rtt, false);
        rig
    }

    fn subflows(paths: &[(f64, f64, u64)]) -> Vec<Subflow> {
        let subflow = |&(w, rtt, between_losses): &(f64, f64, u64)| {
            let cwnd = (w * 1e6) as u64;
            Subflow { cwnd, rtt: (rtt > 0.0).then(|| Span::from_secs(rtt)), between_losses }
        };
        paths.iter().map(subflow).collect()
    }

    /// An ACK for two segments, which a receiver that delays its ACKs sends:
    /// `mptcp_olia_cong_avoid` and `mptcp_balia_cong_avoid` ignore `acked`, RFC 6356 eq. 1 counts
    /// bytes. Alone all three are Reno: two in w.
    #[test]
    fn a_delayed_ack_counts_once_for_olia_and_balia_and_twice_for_lia() {
        let paths = [(20.0, 0.1, 30_000), (10.0, 0.1, 60_000)];
        for (id, increments) in [("lia", 2.0), ("olia", 1.0), ("balia", 1.0)] {
            let one = on_paths(id, 1, &paths).w() - 10.0;
            let mut rig = Rig::new(id, &[], 10.0, 2.0);
            rig.cc.on(&rig.flow, Event::Subflows { own: 1, all: &subflows(&paths) });
            rig.ack(2.0, 0.01, 0.1, false);
            near(rig.w() - 10.0, increments * one, 1e-6);
            let mut alone = Rig::new(id, &[], 10.0, 2.0);
            alone.ack(2.0, 0.01, 0.1, false);
            near(alone.w() - 10.0, 0.2, 1e-6);
        }
    }

    /// On one path each is Reno: 1/w, and half at a loss; also while the other path has carried nothing.
    #[test]
    fn one_path_is_reno() {
        for id in ["lia", "olia", "balia"] {
            let mut alone = Rig::new(id, &[], 10.0, 2.0);
            alone.ack(1.0, 0.01, 0.1, false);
            for mut rig in [alone, on_paths(id, 0, &[(10.0, 0.1, 0), (10.0, 0.0, 0)])] {
                near(rig.w() - 10.0, 0.1, 1e-4);
                let before = rig.w();
                rig.congestion(Congestion::Loss);
                near(rig.w(), before / 2.0, 1e-6);
            }
        }
    }
}
