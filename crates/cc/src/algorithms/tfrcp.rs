//! TFRCP: J. Padhye, J. Kurose, D. Towsley, R. Koodli: A Model Based TCP-Friendly Rate Control Protocol, NOSSDAV,
//! 1999; the equation from J. Padhye, V. Firoiu, D. Towsley, J. Kurose: Modeling TCP Throughput, ACM SIGCOMM, 1998.
//!
//! Unit: bytes per second, seconds. Valid for RTT from 1 us to 10^4 s and rounds of 0.1 s to 60 s.
//! Time is divided into rounds of M seconds with one rate each -> `next`:
//!  * no packet of the round was lost: the next rate is twice the present one.
//!  * a share p of its packets was lost: the equation with p, the RTT and TCP's retransmission timeout ->
//!    [`padhye`].
//!
//! What of TFRCP's own transport is not here: each of its acknowledgements tells about the last eight packets, and its
//! data is not sent again. Here SACK tells, and what is lost is sent again, within the rate.
//! Decisions where its text was not at hand (grade B, from general knowledge of it):
//!  * M is 5 s.
//!  * the first rate is the initial window per first RTT, and the timeout SRTT + 4 RTTVAR without a least value.
//!  * the bound by W_max in the equation is the sender's, which keeps to the receive window anyhow.
//!  * a round in which the application was the limit does not double the rate.
//!  * a timeout of the sender ends the round at once, with all that was outstanding lost. An ECN echo is a
//!    loss of one packet.
//!  * the rate is at least one packet in 64 s.
//!  * cwnd is a guard, not a control ([`guard`](crate::algorithms::model::guard)).
//!  * after an idle time (`IdleRestart`) nothing changes: the rate is held.

use crate::algorithms::interval_rate::{IntervalRate, IntervalRule, Past};
use crate::algorithms::prelude::*;
use crate::algorithms::tcp_equation::padhye;

pub(crate) const ENTRY: Entry = Entry {
    id: "tfrcp",
    label: "TFRCP",
    about: "A new rate every few seconds: twice the last one if nothing was lost, else what an equation gives for TCP.",
    source: "J. Padhye, J. Kurose, D. Towsley, R. Koodli: A Model Based TCP-Friendly Rate Control Protocol, NOSSDAV, 1999",
    reference: "NOSSDAV 1999",
    grade: Grade::B,
    params: Tfrcp::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#997700",
    marker: "o",
    build: |args, start| IntervalRate::hosted(Tfrcp::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Tfrcp {
        /// M: length of a round
        round: f64 = 5.0, 0.1..=60.0, "s";
    }
}

impl IntervalRule for Tfrcp {
    fn length(&self, _r: f64) -> f64 {
        self.round
    }

    fn next(&self, Past { rate, p, s, r, t_rto, .. }: Past) -> f64 {
        if p > 0.0 { padhye(s, r, p, t_rto) } else { 2.0 * rate }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event};
    use crate::report::Rtt;
    use crate::rig::{Rig, near, probe};
    use crate::time::Span;

    /// Ten packets of 8 Mbit in 0.5 s are 160 Mbit/s. The rig's RTT does not vary.
    fn tfrcp() -> Rig {
        let mut rig = Rig::new("tfrcp", &[], 10.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, true);
        rig
    }

    fn mbit(rig: &Rig) -> f64 {
        probe(&*rig.cc, "rate_bytes_per_s") * 8.0 / 1e6
    }

    /// 160 Mbit/s for five seconds, then 320, then 640.
    #[test]
    fn a_round_without_a_loss_doubles_the_rate() {
        let mut rig = tfrcp();
        rig.ack(1.0, 4.9, 0.5, false);
        near(mbit(&rig), 160.0, 1e-9);
        rig.ack(1.0, 0.1, 0.5, true);
        near(mbit(&rig), 320.0, 1e-9);
        rig.ack(1.0, 5.0, 0.5, true);
        near(mbit(&rig), 640.0, 1e-9);
    }

    /// One of a hundred lost, R = T0 = 0.5 s. By hand: R sqrt(2 p / 3) = 0.040825, 3 sqrt(3 p / 8) = 0.183712,
    /// T0 0.183712 p (1 + 32 p^2) = 0.00092150; 8 Mbit / 0.0417463 s = 191.634 Mbit/s.
    /// Of half lost the share of timeouts is bounded by 1: 0.288675 + 0.5 x 0.5 x 9 = 2.538675; 3.15125 Mbit/s.
    #[test]
    fn losses_give_the_rate_of_the_equation() {
        for (lost, came, expected) in [(1, 99.0, 191.634), (50, 50.0, 3.151_25)] {
            let mut rig = tfrcp();
            rig.flow.lost = lost * 1_000_000;
            rig.ack(came, 5.0, 0.5, true);
            near(mbit(&rig), expected, 1e-5);
        }
    }

    /// A timeout ends the round: all that is outstanding is lost, one packet of ten, and its loss does not count
    /// again. RTTVAR = 0.25 s makes T0 = 1.5 s: 0.1290994 + 1.5 x 0.580948 x 0.1 x 1.32 = 0.2441271 s per 8 Mbit.
    /// If the timeout was spurious the rate comes back.
    #[test]
    fn a_timeout_ends_the_round() {
        let mut rig = tfrcp();
        rig.ack(9.0, 0.5, 0.5, true);
        rig.flow.in_flight = 1_000_000;
        rig.flow.rtt = rig.flow.rtt.map(|rtt| Rtt { var: Span::from_millis(250), ..rtt });
        let before = rig.congestion(Congestion::Timeout);
        near(mbit(&rig), 32.7698, 1e-5);
        let low = mbit(&rig);
        rig.flow.lost = 1_000_000;
        rig.ack(10.0, 5.0, 0.5, true);
        near(mbit(&rig), 2.0 * low, 1e-9);
        rig.cc.on(&rig.flow, Event::Undo(&before));
        near(mbit(&rig), 160.0, 1e-9);
    }
}
