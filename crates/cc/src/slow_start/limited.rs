//! Limited slow start: S. Floyd: Limited Slow-Start for TCP with Large Congestion Windows, RFC 3742, 2004.
//!
//! Grade B: the formulas of section 2 from knowledge of the RFC, its draft of 2003 looked up. Unit:
//! segments. In every slow start:
//!
//! | window W                 | growth for each segment acknowledged            |
//! |--------------------------|-------------------------------------------------|
//! | W <= max_ssthresh        | one segment                                     |
//! | above                    | 1/K of one, K = int(W / (0.5 max_ssthresh))     |
//!
//! So a window grows by at most max_ssthresh / 2 segments a round trip. Decision: for an algorithm whose own
//! slow start grows by something else than one segment (Hybla), 1/K of that.

use super::SlowStartRule;
use crate::report::{Ack, Flow};
use crate::window::Window;

pub(super) const MAX_SSTHRESH: &str = "limited_max_ssthresh";

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limited {
    pub(super) max_ssthresh: f64,
}

impl SlowStartRule for Limited {
    fn counted(&self, _flow: &Flow, _ack: &Ack, counted: &Ack, w: &Window) -> Option<(Ack, f64)> {
        if w.cwnd <= self.max_ssthresh {
            return None;
        }
        let k = libm::floor(w.cwnd / (0.5 * self.max_ssthresh)).max(1.0); // section 2
        Some((Ack { acked: (counted.acked as f64 / k) as u64, ..*counted }, k))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LIMITED, SLOW_START};
    use crate::registry::Value;
    use crate::rig::{Rig, near, text};

    fn rig(w: f64, t: f64) -> Rig {
        Rig::new("reno", &[(SLOW_START, text(LIMITED))], w, t)
    }

    /// RFC 3742 section 2 with max_ssthresh 100. K is 2 from 100 to 150 segments, 3 to 200, and 20 at 1000.
    #[test]
    fn a_segment_counts_for_one_over_k() {
        for (w, growth) in
            [(99.0, 1.0), (100.0, 1.0), (101.0, 0.5), (149.0, 0.5), (150.0, 1.0 / 3.0), (1000.0, 1.0 / 20.0)]
        {
            let mut rig = rig(w, f64::INFINITY);
            rig.ack(1.0, 0.1, 0.1, false);
            near(rig.w() - w, growth, 1e-4);
        }
    }

    /// At most 50 segments a round trip; the standard slow start would add the whole window.
    #[test]
    fn a_round_trip_brings_at_most_half_of_max_ssthresh() {
        let mut rig = rig(64.0, f64::INFINITY);
        rig.round(0.6);
        let mut before = rig.w();
        assert!((113.0..=115.0).contains(&before), "36 segments to 100, 28 halves behind it: {before}");
        for _ in 0..10 {
            rig.round(0.6);
            let grown = rig.w() - before;
            assert!((30.0..=50.001).contains(&grown), "{grown}");
            before = rig.w();
        }
    }

    /// The rest of an ACK that leads to T is passed on to congestion avoidance in full: two of four segments
    /// lead from 200 to 200.5 at a quarter each (K = 4), the others are left.
    #[test]
    fn what_is_left_at_the_threshold_is_passed_on() {
        let mut rig = rig(200.0, 200.5);
        rig.ack(4.0, 0.1, 0.1, false);
        near(rig.w(), 200.5 + 2.0 / 200.5, 1e-6);
    }

    #[test]
    fn max_ssthresh_is_a_parameter() {
        let given = [(SLOW_START, text(LIMITED)), (super::MAX_SSTHRESH, Value::Number(10.0))];
        let mut rig = Rig::new("cubic", &given, 20.0, f64::INFINITY);
        rig.ack(1.0, 0.1, 0.1, false);
        near(rig.w(), 20.25, 1e-6);
    }
}
