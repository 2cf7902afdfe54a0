//! The answer that any algorithm can give to a hint that its path changes hands: to measure the path anew.
//!
//! A connection over low orbits changes satellites every few seconds to minutes. An algorithm that keeps the
//! smallest RTT of its life mistakes a longer path for one with a queue. Two things help: a minimum over a
//! window of time, which forgets by itself, and a hint.

use alloc::boxed::Box;

use crate::controller::{Controller, Needs};
use crate::decision::{Backoff, Decision};
use crate::event::{Congestion, Event};
use crate::hint::Hint;
use crate::params::{Args, Param};
use crate::report::{Ack, Flow};
use crate::rule::Rule;
use crate::time::{Span, Time};
use crate::window::Start;

/// The name of the parameter that all algorithms share.
pub(crate) const PATH_CHANGE: &str = "path_change";
/// Its value for [`Anew`].
pub(crate) const RESET: &str = "reset";

/// The parameter that says what a hint does.
pub(crate) const PARAM: Param = Param::choice(PATH_CHANGE, &["standard", RESET]).about(
    "a hint that the path changes hands: what the algorithm does of its own, or all that was measured is forgotten and the window kept, or lowered with the rate where that is known",
);

/// A constructor of an algorithm.
pub(crate) type Build = fn(&Args, Start) -> Box<dyn Controller>;

/// An algorithm that begins anew when its path has changed hands. It forgets all estimates and keeps window
/// and threshold.
///
/// It begins with the first RTT sample of a segment that was sent after the change. Earlier segments describe
/// the old path. The smallest RTT that it sees is that of the new path. When the rate of the path falls
/// ([`Hint::RateChange`]), it begins at once, with the share of window and threshold that the new rate
/// carries; the smallest RTT is still that of the path. HyStart++, which belongs to the first slow start,
/// does not come back.
#[derive(Debug)]
pub(crate) struct Anew {
    build: Build,
    args: Args,
    inner: Box<dyn Controller>,
    /// Segments sent from here on cross a path about which nothing is known yet.
    changed_at: Option<Time>,
    /// The smallest RTT since the algorithm began anew, if it ever did.
    rtt_min: Option<Span>,
}

impl Anew {
    /// `inner`, which `build` has made with `args`, under this rule.
    pub(crate) fn new(build: Build, args: Args, inner: Box<dyn Controller>) -> Self {
        Self { build, args, inner, changed_at: None, rtt_min: None }
    }

    /// Begins anew with this share of window and threshold.
    fn begin(&mut self, flow: &Flow, share: f64) {
        let Decision { cwnd, ssthresh, .. } = self.inner.decision();
        let mss = flow.mss.max(1);
        let segments = |bytes: u64| share * bytes as f64 / f64::from(mss);
        let initial_ssthresh = if ssthresh == u64::MAX { f64::INFINITY } else { segments(ssthresh) };
        let start = Start { mss, initial_window: segments(cwnd), initial_ssthresh };
        self.inner = (self.build)(&self.args, start);
    }

    /// The flow as the algorithm sees it.
    fn seen(&self, flow: &Flow) -> Flow {
        let mut seen = *flow;
        if let (Some(rtt), Some(min)) = (&mut seen.rtt, self.rtt_min) {
            rtt.min = min.min(rtt.latest);
        }
        seen
    }
}

impl Controller for Anew {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        if let (Some(at), Some(rtt)) = (self.changed_at, ack.rtt)
            && ack.acked > 0
            && flow.now >= at
            && flow.now.since(at) >= rtt.max
        {
            self.changed_at = None;
            self.begin(flow, 1.0);
            self.rtt_min = Some(Span::MAX);
        }
        if let (Some(min), Some(rtt)) = (&mut self.rtt_min, ack.rtt) {
            *min = rtt.min.min(*min);
        }
        self.inner.on_ack(&self.seen(flow), ack);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Hint(Hint::PathChange(change)) => self.changed_at = Some(flow.now + change.ahead),
            Event::Hint(Hint::RateChange(change)) if change.share() < 1.0 => self.begin(flow, change.share()),
            _ => {}
        }
        self.inner.on(&self.seen(flow), event);
    }

    fn decision(&self) -> Decision {
        self.inner.decision()
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        self.inner.backoff(&self.seen(flow), why)
    }

    fn needs(&self) -> Needs {
        Needs { path_change: true, ..self.inner.needs() }
    }

    fn add(&mut self, rule: Rule) -> Result<(), &'static str> {
        self.inner.add(rule)
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.inner.probe(emit);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event};
    use crate::hint::{Hint, PathChange, RateChange};
    use crate::registry;
    use crate::rig::{Rig, near, text};
    use crate::time::{Rate, Span};

    const NOW: PathChange = PathChange { ahead: Span::ZERO, dark: Span::ZERO };

    /// A Vegas flow of 100 segments on a path of 100 BDP segments and 40 ms, which becomes 60 ms long.
    fn vegas(given: &[(&str, registry::Value)]) -> (Rig, f64) {
        let mut rig = Rig::new("vegas", given, 100.0, 2.0);
        (0..100).for_each(|_| {
            rig.path(100.0, 0.04);
        });
        let before = rig.w();
        let changed = rig.flow.now;
        rig.cc.on(&rig.flow, Event::Hint(Hint::PathChange(NOW)));
        rig.flow.now = changed;
        (0..200).for_each(|_| {
            rig.path(150.0, 0.06);
        });
        (rig, before)
    }

    /// Vegas keeps alpha = 1 to beta = 3 segments in the queue. A base RTT of 40 ms on a path of 60 ms hides
    /// 20 ms of that: in its belief a third of the window waits, so it shrinks to 3 x 3 segments at most.
    /// With the hint it finds 150 + 1..3 again.
    #[test]
    fn an_algorithm_that_begins_anew_finds_the_longer_path() {
        let (rig, before) = vegas(&[]);
        near(before, 102.0, 0.02);
        assert!(rig.w() <= 10.0, "{}", rig.w());
        let (rig, before) = vegas(&[("path_change", text("reset"))]);
        near(before, 102.0, 0.02);
        near(rig.w(), 152.0, 0.02);
    }

    /// From 8 to 2 Mbit/s a quarter of the window is left, and of the threshold. A higher rate changes
    /// nothing, nor does the hint to an algorithm that has no answer to it.
    #[test]
    fn a_rate_that_falls_takes_its_share_of_the_window() {
        for (given, to, w, t) in
            [("reset", 2, 25.0, 10.0), ("reset", 16, 100.0, 40.0), ("standard", 2, 100.0, 40.0)]
        {
            let mut rig = Rig::new("cubic", &[("path_change", text(given))], 100.0, 40.0);
            let change = RateChange { ahead: Span::ZERO, from: Rate(1_000_000), to: Rate(to * 125_000) };
            rig.cc.on(&rig.flow, Event::Hint(Hint::RateChange(change)));
            assert_eq!((rig.w(), rig.t()), (w, t), "{given}, {to} Mbit/s");
        }
    }

    /// Segments sent before the change describe the old path, so their samples must not be the first of the
    /// new one.
    #[test]
    fn samples_of_the_old_path_do_not_count_for_the_new_one() {
        let mut rig = Rig::new("a-liad", &[("path_change", text("reset"))], 100.0, 2.0);
        rig.ack(1.0, 0.1, 0.04, true);
        rig.cc.on(
            &rig.flow,
            Event::Hint(Hint::PathChange(PathChange { ahead: Span::from_millis(100), dark: Span::ZERO })),
        );
        rig.ack(1.0, 0.1, 0.04, true); // acknowledged at the change, sent before
        rig.ack(1.0, 0.03, 0.05, true);
        rig.ack(1.0, 0.1, 0.06, true); // the first one sent after
        let seen = rig.cc.backoff(&rig.flow, Congestion::Loss);
        rig.flow.rtt.as_mut().expect("sampled").min = Span::from_secs(0.06);
        assert_eq!(rig.cc.backoff(&rig.flow, Congestion::Loss), seen, "the minimum of 40 ms is not seen");
    }

    /// TFRC has a rate and no window; its rate is measured anew.
    #[test]
    fn the_window_is_kept() {
        // The window of these is a guard, several times what the rate fills, and not
        // what an initial window is.
        for entry in registry::all().iter().filter(|entry| {
            !["lda-plus", "mahdavi-floyd", "rap", "tear", "tfrc", "tfrcp", "vivace"].contains(&entry.id)
        }) {
            let mut rig = Rig::new(entry.id, &[("path_change", text("reset"))], 64.0, 32.0);
            rig.ack(1.0, 0.1, 0.1, true);
            let before = rig.w();
            rig.cc.on(&rig.flow, Event::Hint(Hint::PathChange(NOW)));
            rig.ack(1e-6, 0.1, 0.1, false);
            assert!((rig.w() - before).abs() <= 1.0, "{}: {before} to {}", entry.id, rig.w());
            assert!(rig.cc.needs().path_change, "{}", entry.id);
        }
    }
}
