//! TCP-Cherry: S. Utsumi, S. M. S. Zabir, N. Shiratori: TCP-Cherry: A New Approach for TCP Congestion Control
//! over Satellite IP Networks, Computer Communications 31(10), 2008.
//!
//! Unit: segments. Valid where TCP-Peach is (`peach.rs`), with SACK and a receive window that has room
//! for data ahead of its turn.
//!
//! Grade C: the paper could not be obtained. Its abstract was read, that of its sequel (Analytical
//! Model and Performance Evaluation, Computer Communications 32(12), 2009), and the description in the
//! paper on A-LIAD. They say:
//!  * Supplement segments have low priority and carry data that was not yet sent as regular data,
//!    so that probing delivers.
//!  * Fast-Forward Start and First-Aid Recovery take the place of slow start and fast recovery.
//!  * A rule of choice keeps data from being sent twice.
//!  * A simple scheme keeps the window from falling little by little because probing segments are lost, too.
//!  * A receive window of four times the largest window serves it best.
//!
//! What would decide is the paper: the rule of choice, the scheme, and the counters.
//!
//! Reconstruction:
//!  * The rules, the counters and the decisions are those of TCP-Peach ([`Peach`]).
//!  * The rule of choice: a supplement segment carries the first data that is a window or more ahead of the
//!    next regular segment, a window being rwnd in Fast-Forward Start and W0 in First-Aid Recovery
//!    ([`ExtraPayload::Unsent`]). Regular data gets there no earlier than the answer gets back, and then
//!    skips what has arrived. That a receive window of several windows is needed agrees with it.
//!  * The scheme: when supplement segments have brought W back to (1 - `spare`) W0, it becomes W0. So a share
//!    `spare` of them may be lost to errors. A queue that has no room loses far more of them.
//!
//! Needless timeouts, measured over 10 Mbit/s, 250 ms each way, a packet error rate of 1e-3, drop-tail of one
//! bandwidth-delay product, 120 s, seeds 1 to 3. In profile `paper` (ns-2's timer: SRTT + 4 RTTVAR, at least
//! 200 ms) there are 18, 9 and 9 of them, and 4316, 4196 and 2842 segments are sent again. With
//! `min_rto = "1 s"` (RFC 6298) it is 1, 1 and 0, and 373, 381 and 70; in profile `modern` 0, and 68,
//! 84 and 69. On a long path without jitter that timer is hardly longer than the RTT. Two things fill a queue
//! within a round trip: two supplement segments for each acknowledgement, and the data that leaves when the
//! window jumps back. So the answer to a retransmission comes after the timer, which then has the whole
//! window sent again. A queue of kind `priority` spares data the first, not the second: 12, 11 and 6
//! timeouts, and none with 1 s. TCP-Peach has it too (3, 9 and 8), TCP-Peach+ has not. It is the timer's
//! error and not of these rules, so nothing is done here.

use crate::algorithms::peach::{Peach, RWND};
use crate::algorithms::prelude::*;
use crate::extra::ExtraPayload;

pub(crate) const ENTRY: Entry = Entry {
    id: "cherry",
    label: "TCP-Cherry",
    about: "TCP-Peach whose probing segments of low priority carry data that was not sent yet, and may lose a few of them.",
    source: "S. Utsumi, S. M. S. Zabir, N. Shiratori: TCP-Cherry: A New Approach for TCP Congestion Control over Satellite IP Networks, Computer Communications 31(10), 2008",
    reference: "Computer Communications 31(10), pp. 2541-2561",
    grade: Grade::C,
    params: &[
        RWND,
        Param::number("spare", 0.05, 0.0..=0.5).unit("1").about(
            "share of the window that a recovery regains though as many supplement segments were lost",
        ),
    ],
    sender: SenderOptions::NONE,
    colour: "#ee8866",
    marker: "p",
    build: |args, start| {
        let payload = ExtraPayload::Unsent { ahead: 0 };
        Windowed::hosted(Peach::new(args, payload, args.number("spare")), start)
    },
};

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event};
    use crate::extra::ExtraPayload;
    use crate::registry::Value;
    use crate::report::{Phase, Rtt};
    use crate::rig::Rig;
    use crate::time::Span;

    fn cherry(w: f64, t: f64) -> Rig {
        let mut rig = Rig::new("cherry", &[("rwnd", Value::Number(50.0))], w, t);
        let rtt = Span::from_secs(0.5);
        rig.flow.rtt = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span::ZERO });
        rig
    }

    /// Data a window ahead: rwnd = 50 at the start, W0 = 40 after a loss.
    #[test]
    fn supplement_segments_carry_data_a_window_ahead() {
        let mut rig = cherry(1.0, f64::INFINITY);
        let start = rig.extra_order().expect("Fast-Forward Start");
        assert_eq!((start.count, start.gap), (49, Span::from_millis(10)));
        assert_eq!(start.payload, ExtraPayload::Unsent { ahead: 50 });
        let mut rig = cherry(40.0, 2.0);
        rig.extra_order();
        rig.congestion(Congestion::Loss);
        rig.flow.phase = Phase::Recovery;
        rig.sack(1.0, 0.01, 0.5, false);
        let aid = rig.extra_order().expect("First-Aid Recovery");
        assert_eq!((aid.count, aid.payload), (2, ExtraPayload::Unsent { ahead: 40 }));
    }

    /// W0 = 40: the first 20 of 40 acknowledgements change nothing. 38 of 40 lead to 38 = 95 % of W0,
    /// which is then W0. 37 do not.
    #[test]
    fn a_few_lost_supplement_segments_cost_no_window() {
        for (back, window) in [(40, 40.0), (38, 40.0), (37, 37.0), (20, 20.0)] {
            let mut rig = cherry(40.0, 2.0);
            rig.extra_order();
            rig.congestion(Congestion::Loss);
            let mut left = back;
            while left > 0 && rig.w() < 40.0 {
                rig.cc.on(&rig.flow, Event::ExtraAcked);
                left -= 1;
            }
            assert_eq!(rig.w(), window, "{back} came back");
        }
    }
}
