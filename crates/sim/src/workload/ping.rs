//! Ping: packets at a constant interval, each of which the other end sends back at once.

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, Size};
use crate::workload::context::TrafficContext;
use crate::workload::datagrams::{CbrPlan, Pace};
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::Lengths;

keys! {
    /// Echo requests without TCP, as ping sends them (RFC 792). The transfers of the result are its packets, so
    /// `completion_p50_s` is the median of their round-trip times.
    pub struct Ping {
        /// From one packet to the next.
        pub interval: Duration = Duration(Span::from_millis(1_000)),
        /// Size of each packet on the wire, and of its echo: IPv4 20 bytes, ICMP 8, and data.
        pub packet: Size = Size(84),
    }
}

impl TrafficKeys for Ping {
    const CARRIAGE: Carriage = Carriage::Datagrams;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        if self.interval.0 == Span::ZERO {
            return Err(context.error("interval", "must be longer than zero; write e.g. \"1 s\""));
        }
        let packet = context.packet_size(self.packet, "packet")?;
        let (on, off) = (Lengths::Fixed(Span::MAX), Lengths::Fixed(Span::ZERO));
        let pace = Pace::Interval(self.interval.0);
        Ok(TrafficPlan::Datagrams(CbrPlan { packet, pace, on, off, transfer: Some(packet), is_echoed: true }))
    }
}

#[cfg(test)]
mod tests {
    use crate::record::Outcome;
    use crate::{Scenario, no_supply, run};

    fn pings(link: &str, flow: &str) -> Outcome {
        let text = format!(
            "duration = \"10 s\"\nrecord = {{ transfers = true }}\n[link.sat]\n{link}\n[[flow]]\n\
             path = [\"sat\"]\ntraffic = {{ kind = \"ping\", interval = \"100 ms\" }}\n{flow}"
        );
        let plan =
            Scenario::from_toml(&text, "ping.toml", &[]).and_then(|s| s.resolve()).expect("a scenario");
        run(&plan, &mut no_supply, &mut |_| true).expect("a run")
    }

    /// By hand: 84 bytes take 672 us at 1 Mbit/s, there and back, and 250 ms of propagation each way. The last
    /// five are under way at the end: those sent from 9.5 s on.
    #[test]
    fn a_round_trip_is_twice_the_way() {
        let outcome = pings("rate = \"1 Mbit/s\"\ndelay = \"250 ms\"", "");
        let times = &outcome.transfers.completion_s;
        assert_eq!((times.len(), times.iter().filter(|t| t.is_nan()).count()), (101, 6));
        assert!(times[..95].iter().all(|t| (t - 0.501_344).abs() < 1e-9), "{:?}", &times[..9]);
    }

    #[test]
    fn echoes_are_lost_on_the_way_back() {
        let reverse = "rate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n[link.sat.reverse]\nloss = { kind = \"packet-error\", rate = 1.0 }";
        let outcome = pings(reverse, "");
        assert!(outcome.transfers.completion_s.iter().all(|t| t.is_nan()));
        assert_eq!(outcome.report.links[1].dropped_error, 100);
    }

    #[test]
    fn echoes_take_another_way_and_wait_for_their_jitter() {
        let other =
            "rate = \"1 Mbit/s\"\ndelay = \"5 ms\"\n[link.back]\nrate = \"1 Mbit/s\"\ndelay = \"95 ms\"";
        let outcome = pings(other, "ack_path = [\"back\"]\nack_jitter = \"10 ms\"");
        let times = &outcome.transfers.completion_s[..90];
        assert!(
            times.iter().all(|t| (0.101_344..0.111_344).contains(t)) && times[0] != times[1],
            "{times:?}"
        );
    }
}
