//! BBR, version 2: N. Cardwell, Y. Cheng, S. Hassas Yeganeh, I. Swett, V. Jacobson: BBR Congestion Control,
//! IRTF, draft-cardwell-iccrg-bbr-congestion-control-02, 2022; google/bbr, branch v2alpha (tcp_bbr2.c).
//!
//! Unit, range, model, bounds and decisions as in `bbr3.rs`, whose code this is with the rules of its
//! predecessor ([`RULES`]). Where the draft and the code differ, the code counts, since it was read (in a
//! copy of the branch) and the draft was not.
//!
//! | state    | pacing | cwnd  | ends when                                                                          |
//! |----------|--------|-------|------------------------------------------------------------------------------------|
//! | Startup  | 2.885  | 2.885 | three rounds in which max_bw did not grow by 1/4, or a round in recovery with 8 losses and over 2 % |
//! | Drain    | 0.347  | 2.885 | in flight <= BDP                                                                   |
//! | DOWN     | 0.75   | 2     | as in version 3                                                                    |
//! | CRUISE   | 1      | 2     | as in version 3                                                                    |
//! | REFILL   | 1      | 2     | one round                                                                          |
//! | UP       | 1.25   | 2     | after one min_rtt with 1.25 BDP in flight, over 2 % lost, or (after a probe that lost too much) inflight_hi is reached |
//! | ProbeRTT | 1      | 0.5   | as in version 3                                                                    |
//!
//! What became of the functions: `bbr_check_full_bw_reached` -> `Bbr3::check_full`,
//! `bbr_check_drain` -> `leave_startup`, `bbr2_check_loss_too_high_in_startup` and
//! `bbr2_handle_queue_too_high_in_startup` -> `check_startup_losses`,
//! `bbr2_adapt_lower_bounds` -> `lower_bounds`, `bbr2_adapt_upper_bounds` -> `adapt_long_term`,
//! `bbr2_update_cycle_phase` -> `advance_cycle`, `bbr2_skb_marked_lost` -> `note_losses`.
//!
//! Differences that are left as in version 3:
//!  * UP's window credit survives an ACK that the window did not limit.
//!  * losses of a whole flight at a timeout reach the bounds.
//!  * ACK aggregation is remembered for ten rounds (code: 5 to 10).
//!  * the draft's Startup gain, 2.77, is version 3's.
//!
//! ECN (DCTCP's answer, off by default in the code) is left out.
//!
//! Idle restart: as in version 3 (paced at the estimated rate, ProbeRTT ends if its time has passed).

use alloc::boxed::Box;

use crate::algorithms::bbr3::{Bbr3, UpEnd, VersionRules};
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "bbr2",
    label: "BBRv2",
    about: "BBR with bounds on the data in flight learned from losses; the version before BBRv3, with a deeper drain.",
    source: "N. Cardwell, Y. Cheng, S. Hassas Yeganeh, I. Swett, V. Jacobson: BBR Congestion Control, IRTF, draft-cardwell-iccrg-bbr-congestion-control-02, 2022; google/bbr v2alpha",
    reference: "draft-cardwell-iccrg-bbr-congestion-control-02",
    grade: Grade::A,
    params: crate::algorithms::bbr3::ENTRY.params,
    sender: SenderOptions::NONE,
    colour: "#eedd88",
    marker: "o",
    build: |args, start| Box::new(Bbr3::new(args, start, &RULES)),
};

/// Gains and ends of states in v2alpha.
const RULES: VersionRules = VersionRules {
    startup_pacing: 2.885,
    startup_cwnd: 2.885,
    drain: 1.0 / 2.885,
    down: 0.75,
    up_cwnd: 2.0,
    full_losses: 8,
    drain_rounds: u64::MAX,
    startup_keeps_latest: false,
    full_by_max: true,
    up_end: UpEnd::Queue(1.25),
};

#[cfg(test)]
mod tests {
    use crate::rig::near;
    use crate::rig::pipe::{Pipe, assert_rate_goes_on_after_a_pause};

    /// 2/ln 2 = 2.885 and its inverse; DOWN drains at 0.75, UP pushes at 1.25.
    #[test]
    fn the_gains_are_those_of_v2alpha() {
        let mut pipe = Pipe::new("bbr2", &[], 0.1, 0.0);
        let mut seen = alloc::vec::Vec::new();
        pipe.run(8.0, |p| {
            let gain = p.probe("pacing_gain");
            if !seen.contains(&gain) {
                seen.push(gain);
            }
        });
        for (gain, expected) in seen.iter().zip([2.885, 0.3466, 0.75, 1.0, 1.25]) {
            near(*gain, expected, 1e-3);
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
        near(pipe.probe("max_bw_bytes_per_s"), 1e6, 0.02);
    }

    /// A probe ends when 1.25 BDP are in flight after a round trip: the queue then is a quarter of the BDP,
    /// 25 segments and the few that make up the quantum.
    #[test]
    fn a_probe_ends_at_a_quarter_of_a_bdp_in_the_queue() {
        let mut pipe = Pipe::new("bbr2", &[], 0.1, 0.0);
        pipe.run(3.0, |_| {});
        let mut most = 0.0_f64;
        pipe.run(30.0, |p| most = most.max(p.queue()));
        assert!((15.0..45.0).contains(&most), "{most}");
    }

    /// What the bound is for: at 10 % of loss each probe is taken for too much, and inflight_hi falls far
    /// below the two BDP that version 1 would keep in flight; at 0.5 % it does not hold the flow back.
    #[test]
    fn losses_above_the_threshold_bound_inflight_hi_and_below_it_do_not() {
        let run = |loss: f64| {
            let mut pipe = Pipe::new("bbr2", &[], 0.1, loss);
            pipe.run(10.0, |_| {});
            let (mut sum, mut n) = (0.0, 0.0);
            let share = pipe.run(70.0, |p| {
                sum += p.flow.in_flight as f64 / 1e5;
                n += 1.0;
            });
            (share, sum / n, pipe.probe("inflight_hi_bytes") / 1e5)
        };
        let (share, _, _) = run(0.005);
        assert!(share > 0.85, "{share}");
        let (share, flight, bound) = run(0.10);
        assert!(
            bound < 1.0 && flight < 0.9 && share < 0.8,
            "share {share}, {flight} BDP in flight, bound {bound} BDP"
        );
    }

    #[test]
    fn a_pause_keeps_the_rate() {
        assert_rate_goes_on_after_a_pause("bbr2");
    }
}
