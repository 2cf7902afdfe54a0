//! J. Mahdavi, S. Floyd: TCP-Friendly Unicast Rate-Based Flow Control, note sent to the end2end-interest mailing list,
//! 1997: the first scheme that keeps to the rate of an equation.
//!
//! Unit: bytes per second, seconds. Valid for RTT from 1 us to 10^4 s.
//! Equation: a flow is TCP-friendly if its rate is no more than T = 1.22 s / (R sqrt(p)), with packets of s bytes, the
//! round trip R and the share p of packets lost -> [`square_root`].
//!
//! Grade C: the note could not be read, and papers that cite it print the equation and not the loop around it. What
//! would decide is when the rate is computed, over what p is measured, and how the rate rises. Reconstructed:
//!  * once in `rounds` round trips p is measured and the rate computed -> `next`.
//!  * the rate rises no faster than TCP's in congestion avoidance: by one packet per R each R, up to T if packets
//!    were lost. It falls to T at once.
//!  * there is no slow start: the first rate is the initial window per first RTT, as RAP's is.
//!  * an interval in which the application was the limit does not raise the rate.
//!  * a timeout of the sender ends the interval at once, with all that was outstanding lost. An ECN echo is a
//!    loss of one packet. The equation knows no timeouts, so at p above some 5 % the flow gets more than TCP.
//!  * what is lost is sent again, within the rate. The rate is at least one packet in 64 s.
//!  * cwnd is a guard, not a control ([`guard`](crate::algorithms::model::guard)).
//!  * after an idle time (`IdleRestart`) nothing changes: the rate is held.

use crate::algorithms::interval_rate::{IntervalRate, IntervalRule, Past};
use crate::algorithms::prelude::*;
use crate::algorithms::tcp_equation::square_root;

pub(crate) const ENTRY: Entry = Entry {
    id: "mahdavi-floyd",
    label: "Mahdavi-Floyd",
    about: "A rate that rises as TCP's window does, up to the square-root law of TCP at the measured losses, and falls to it.",
    source: "J. Mahdavi, S. Floyd: TCP-Friendly Unicast Rate-Based Flow Control, note to the end2end-interest mailing list, 1997",
    reference: "end2end-interest, January 1997",
    grade: Grade::C,
    params: MahdaviFloyd::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#997700",
    marker: "v",
    build: |args, start| IntervalRate::hosted(MahdaviFloyd::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct MahdaviFloyd {
        /// round trips over which losses are measured for a new rate; a reconstruction
        rounds: f64 = 8.0, 1.0..=1000.0, "round trips";
    }
}

impl IntervalRule for MahdaviFloyd {
    fn length(&self, r: f64) -> f64 {
        self.rounds * r
    }

    fn next(&self, Past { rate, age, p, s, r, .. }: Past) -> f64 {
        let risen = rate + age / r * s / r;
        if p > 0.0 { square_root(s, r, p).min(risen) } else { risen }
    }
}

#[cfg(test)]
mod tests {
    use crate::rig::{Rig, near, probe};

    /// Ten packets of 8 Mbit in 0.5 s are 160 Mbit/s.
    fn begun() -> Rig {
        let mut rig = Rig::new("mahdavi-floyd", &[], 10.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, true);
        rig
    }

    fn mbit(rig: &Rig) -> f64 {
        probe(&*rig.cc, "rate_bytes_per_s") * 8.0 / 1e6
    }

    /// Eight round trips of 0.5 s: eight packets per round trip more, 18 of 8 Mbit in 0.5 s.
    #[test]
    fn without_losses_the_rate_rises_as_tcps_window_does() {
        let mut rig = begun();
        rig.ack(1.0, 3.9, 0.5, false);
        near(mbit(&rig), 160.0, 1e-9);
        rig.ack(1.0, 0.1, 0.5, true);
        near(mbit(&rig), 18.0 * 16.0, 1e-9);
    }

    /// Four of a hundred lost: 1.22 / sqrt(0.04) = 6.1 packets per round trip, 97.6 Mbit/s. One of a million
    /// allows 1,220, but the rate rises by eight only.
    #[test]
    fn losses_bound_the_rate_by_the_square_root_law() {
        for (lost, came, expected) in [(4, 96.0, 97.6), (1, 999_999.0, 288.0)] {
            let mut rig = begun();
            rig.flow.lost = lost * 1_000_000;
            rig.ack(came, 4.0, 0.5, true);
            near(mbit(&rig), expected, 1e-6);
        }
    }
}
