//! SaTCP: X. Cao, X. Zhang: SaTCP: Link-Layer Informed TCP Adaptation for Highly Dynamic LEO Satellite
//! Networks, INFOCOM 2023. The rules are those of the authors' patch to Linux's CUBIC and of the program that
//! drives it (repository XuyangCaoUCSD/LeoEM at 4488b00, `satcp.patch`, `report_relay.c`); of the paper only
//! the abstract was at hand.
//!
//! Unit: segments and seconds. Valid as CUBIC is, which it extends (`cubic.rs`); what
//! follows is the difference.
//!
//! A report that the path will change hands is given `T_earlier` ahead, against errors of the prediction. For
//! `duration` after a report:
//!  * K, the time to come back to W_max, is a ninth of CUBIC's (`bictcp_update`) -> `avoid`. The window still
//!    is cut to beta, and is back within a few round trips.
//!  * a timeout does not forget W_max (`bictcp_state`) -> `on`. Slow start leads up to ssthresh as ever.
//!
//! Decisions and deviations:
//!  * the hint that the path changes is the report. The flow's key `hint_lead` is T_earlier, 500 ms
//!    in the authors' emulator.
//!  * `duration` is 2.3 s, as in `report_relay.c`.
//!  * the patched CUBIC is that of Linux 5.x, which is RFC 9438's; all deviations of `cubic.rs`.

use crate::algorithms::cubic::{BETA, BETA_ECN, C, Cubic, FAST_CONVERGENCE, RULES};
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "satcp",
    label: "SaTCP",
    about: "CUBIC that learns when the satellite changes, and comes back at once from a loss around that time.",
    source: "X. Cao, X. Zhang: SaTCP: Link-Layer Informed TCP Adaptation for Highly Dynamic LEO Satellite Networks, INFOCOM, 2023",
    reference: "repository XuyangCaoUCSD/LeoEM, satcp.patch",
    grade: Grade::A,
    params: SaTcp::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#88cc66",
    marker: "*",
    build: |args, start| Windowed::hosted(SaTcp::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct SaTcp {
        use RULES, C, BETA, BETA_ECN, FAST_CONVERGENCE;
        /// D: for how long after a report losses are taken for the handover's
        duration: Span = 2.3, 0.0..=1e6, "s";
        /// K, the time in which the window comes back to that of the loss, is divided by this
        k_divisor: f64 = 9.0, 1.0..=1000.0;
    }
    state(args) {
        cubic: Cubic = Cubic::new(args),
        /// Losses are the handover's until then.
        until: Option<Time>,
    }
}

impl SaTcp {
    fn changes(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

impl Policy for SaTcp {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.cubic.observe(flow, ack);
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        self.cubic.k_share = if self.changes(flow.now) { 1.0 / self.k_divisor } else { 1.0 };
        self.cubic.avoid(w, flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        self.cubic.backoff(w, flow, why)
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Hint(Hint::PathChange(_)) => self.until = Some(flow.now + self.duration),
            Event::Congestion(Congestion::Timeout) if self.changes(flow.now) => {
                self.cubic.on(w, flow, Event::Congestion(Congestion::Loss));
            }
            event => self.cubic.on(w, flow, event),
        }
    }

    fn on_descent(&mut self, full_bdp: f64) {
        self.cubic.on_descent(full_bdp);
    }

    fn needs(&self) -> Needs {
        Needs { path_change: true, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        self.cubic.probe(emit);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event};
    use crate::hint::{Hint, PathChange};
    use crate::rig::{Rig, near, probe};

    /// A flow of 432 segments that loses one, `after` seconds after a hint if there was one.
    fn lost(after: Option<f64>, why: Congestion) -> Rig {
        let mut rig = Rig::new("satcp", &[], 432.0, 2.0);
        if let Some(after) = after {
            rig.cc.on(&rig.flow, Event::Hint(Hint::PathChange(PathChange::default())));
            rig.flow.now = rig.flow.now + crate::time::Span::from_secs(after);
        }
        rig.congestion(why);
        rig
    }

    /// `bictcp_update`: K of 432 segments is cbrt(432 x 0.3 / 0.4) = 6.868 s (RFC 9438 section 4.2),
    /// and a ninth of it 0.763 s.
    #[test]
    fn for_2_3_s_after_a_hint_the_window_is_back_in_a_ninth_of_the_time() {
        for (after, k) in [(None, 6.868), (Some(0.1), 0.763), (Some(2.29), 0.763), (Some(2.31), 6.868)] {
            let mut rig = lost(after, Congestion::Loss);
            near(rig.w(), 0.7 * 432.0, 1e-3);
            rig.ack(1e-6, 0.0, 0.05, false);
            near(probe(&*rig.cc, "k_s"), k, 1e-3);
        }
    }

    /// The cubic function begins C (K / 9)^3 = 0.2 segments below W_max, and 1/e of the gap to it is
    /// left after each round trip.
    #[test]
    fn after_a_hint_five_round_trips_bring_the_window_back() {
        for (after, least, most) in [(Some(0.1), 430.0, 433.0), (None, 302.0, 320.0)] {
            let mut rig = lost(after, Congestion::Loss);
            (0..5).for_each(|_| rig.round(0.05));
            assert!(rig.w() >= least && rig.w() <= most, "{}", rig.w());
        }
    }

    /// `bictcp_state`; without a hint RFC 9438 section 4.8 forgets W_max.
    #[test]
    fn a_timeout_after_a_hint_does_not_forget_w_max() {
        for (after, highest) in [(Some(0.1), 432.0), (None, 0.7 * 432.0)] {
            let mut rig = lost(after, Congestion::Timeout);
            assert_eq!(rig.w(), 1.0);
            while rig.w() < rig.t() {
                rig.round(0.05);
            }
            rig.round(0.05);
            near(probe(&*rig.cc, "w_max_segments"), highest, 0.01);
        }
    }
}
