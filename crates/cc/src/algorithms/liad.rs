//! LIAD: Chang, Lin, Jin, Computer Networks, 2009 (doi 10.1016/j.comnet.2009.05.010).
//! A-LIAD is its adaptive form.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, RTT above 1 us; the estimate of the initial ssthresh needs a
//! sender that does not pace.
//! Equations (of the A-LIAD paper): those of A-LIAD with alpha = 2 in eq. 5 and 6 at any RTT.
//! Grade C: the original could not be read. What would decide are its own equations for the
//! prediction and for the decrease.
//! Known of the original: the logarithmic increase of LogWestwood+ (alpha = 2), a predicted initial ssthresh,
//! and a decrease that adapts to congestion. Reconstructed: the prediction, the decrease and max-probing are
//! A-LIAD's, with its parameters. `start = "standard"` leaves the first out.

use crate::algorithms::a_liad::Liad;
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "liad",
    label: "LIAD",
    about: "Halves the gap to the window of the last loss every round trip; decreases by the queueing delay.",
    source: "Chang, Lin, Jin, Computer Networks, 2009, after its description in the A-LIAD paper",
    reference: "doi:10.1016/j.comnet.2009.05.010",
    grade: Grade::C,
    params: Liad::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#ee7733",
    marker: "H",
    build: |args, start| Windowed::hosted(Liad::new(args, false), start),
};

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, text};

    /// Rounds, counted to a fraction, from 378 back to within a segment of 700.
    fn epoch(mode: &str, rtt: f64) -> f64 {
        let given = [("ack_mode", text(mode)), ("decrease", text("fixed")), ("beta", Value::Number(0.46))];
        let mut rig = Rig::new("liad", &given, 700.0, 2.0);
        rig.ack(1e-6, rtt, rtt, false);
        rig.congestion(Congestion::Loss);
        let (begin, mut last) = (rig.secs(), 378.0);
        loop {
            rig.round(rtt);
            if rig.w() >= 699.0 {
                return (rig.secs() - begin) / rtt - (rig.w() - 699.0) / (rig.w() - last);
            }
            last = rig.w();
        }
    }

    /// log2(beta Wmax) = 8.33 round trips with eq. 5 and 11.5 with eq. 6, at any RTT: the epoch's duration is
    /// proportional to the RTT.
    #[test]
    fn an_epoch_is_a_number_of_round_trips() {
        for rtt in [0.025, 0.075, 0.6] {
            near(epoch("round", rtt), 8.33, 0.01);
            near(epoch("eq6", rtt), 11.5, 0.03);
        }
    }
}
