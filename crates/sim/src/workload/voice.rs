//! Voice: one side of a call, whose codec is silent while the talker is.
//!
//! Talk spurts and silences take turns. Their lengths are exponential: P. T. Brady, A Model for Generating
//! On-Off Speech Patterns in Two-Way Conversation, Bell System Technical Journal 48 (7), 1969, from
//! knowledge of the paper. Its six states tell who of two talks; a flow is one talker and has two. The
//! means are those of ITU-T P.59 (1993): a talk spurt of 1.004 s and a pause of 1.587 s, so 38.8 % of the
//! time is speech. In a spurt of length T packets leave at 0, I, 2 I and so on before T, with the interval
//! I of the codec. With a mean spurt S these are 1 / (1 - exp(-I / S)) packets in the mean. The defaults
//! are G.711 at 64 kbit/s in packets of 20 ms (RFC 3551 sections 4.2 and 4.5.14), behind headers of IPv4
//! (20 bytes), UDP (8) and RTP (12).

use bentpipe_cc::Span;

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, Size};
use crate::workload::context::TrafficContext;
use crate::workload::datagrams::{CbrPlan, Pace};
use crate::workload::kind::{Carriage, TrafficKeys, TrafficPlan};
use crate::workload::laws::{ExponentialLengths, Lengths};

keys! {
    /// One side of a call: talk spurts and silences of exponential lengths, without TCP. In a spurt a packet
    /// leaves at a constant interval. It begins with a spurt. The transfers of the result are its packets, so
    /// `completion_p95_s` is a percentile of their one-way delay.
    pub struct Voice {
        /// Payload of each packet.
        #[schemars(extend("examples" = ["20 bytes"]))]
        pub payload: Size = Size(160),
        /// Bytes on the wire added to each packet: IPv4, UDP and RTP, less if a link compresses them.
        pub header: Size = Size(40),
        /// From one packet of a spurt to the next.
        pub interval: Duration = Duration(Span::from_millis(20)),
        /// Mean length of a talk spurt.
        #[schemars(extend("examples" = ["1.2 s"]))]
        pub spurt: Duration = Duration(Span::from_millis(1_004)),
        /// Mean length of a silence.
        #[schemars(extend("examples" = ["1.8 s"]))]
        pub silence: Duration = Duration(Span::from_millis(1_587)),
    }
}

impl TrafficKeys for Voice {
    const CARRIAGE: Carriage = Carriage::Datagrams;

    fn resolve(&self, context: &TrafficContext<'_>) -> Result<TrafficPlan, Error> {
        if self.interval.0 == Span::ZERO {
            return Err(context.error("interval", "must be longer than zero; write e.g. \"20 ms\""));
        }
        let payload = context.packet_size(self.payload, "payload")?;
        let packet = context.packet_size(Size(self.payload.0.saturating_add(self.header.0)), "header")?;
        let lengths = |mean| Lengths::ExponentialLengths(ExponentialLengths { mean });
        let (on, off) = (lengths(self.spurt), lengths(self.silence));
        let pace = Pace::Interval(self.interval.0);
        CbrPlan { packet, pace, on, off, transfer: Some(payload), is_echoed: false }
            .checked("spurt", context)
            .map(TrafficPlan::Datagrams)
    }
}

#[cfg(test)]
mod tests {
    use crate::record::Outcome;
    use crate::{Scenario, no_supply, run};

    /// A call over a link of 10 Mbit/s and 250 ms.
    fn scenario(keys: &str, more: &str) -> Result<Scenario, crate::Error> {
        let link = "[link.sat]\nrate = \"10 Mbit/s\"\ndelay = \"250 ms\"\n";
        let flow = format!("[[flow]]\npath = [\"sat\"]\ntraffic = {{ kind = \"voice\"{keys} }}\n{more}");
        let text =
            format!("duration = \"20000 s\"\nrecord = {{ transfers = true, flows = false }}\n{link}{flow}");
        Scenario::from_toml(&text, "call.toml", &[])
    }

    fn call(keys: &str) -> Outcome {
        let plan = scenario(keys, "").and_then(|scenario| scenario.resolve()).expect("a scenario");
        run(&plan, &mut no_supply, &mut |_| true).expect("a run")
    }

    /// By hand: a spurt has 1 / (1 - exp(-20/1004)) = 50.70 packets, and one begins every 2.591 s: 7,719
    /// spurts and 391,400 packets. The standard error of the number of spurts is 0.75 %, that of the packets
    /// 1.4 %. A silence shorter than the rest of a packet's time is not seen, one in 160.
    #[test]
    fn spurts_and_packets_are_those_of_the_closed_forms() {
        let found = call("");
        let at = &found.transfers.start_s;
        let (mut spurts, mut within) = (1_u32, Vec::new());
        for pair in at.windows(2) {
            let gap = pair[1] - pair[0];
            if gap > 0.020_001 { spurts += 1 } else { within.push(gap) }
        }
        assert!((f64::from(spurts) / 7_719.0 - 1.0).abs() < 0.03, "{spurts}");
        assert!((at.len() as f64 / 391_400.0 - 1.0).abs() < 0.05, "{}", at.len());
        assert!((at.len() as f64 / f64::from(spurts) / 50.7 - 1.0).abs() < 0.05);
        assert!(within.iter().all(|gap| (gap - 0.02).abs() < 1e-6));
    }

    /// 200 bytes take 0.16 ms at 10 Mbit/s.
    #[test]
    fn the_report_has_the_delay_of_packets() {
        let report = call(", silence = \"10 s\"").report;
        let flow = &report.flows[0];
        let of = flow.application.as_ref().expect("transfers");
        assert_eq!((flow.name.as_str(), &*flow.cc, of.transfer), ("voice", "cbr", Some("packet")));
        assert_eq!((of.transfers, of.completed), (Some(flow.sent_packets), Some(flow.delivered_bytes / 200)));
        for share in [of.completion_mean_s, of.completion_p50_s, of.completion_p99_s] {
            assert!((share.expect("packets") - 0.250_16).abs() < 1e-9, "{share:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (keys, more, said) in [
            (", interval = \"0 ms\"", "", "interval: must be longer than zero"),
            (", payload = \"0 bytes\"", "", "payload: 0 bytes is out of range"),
            (", header = \"70 kB\"", "", "header: 70160 bytes is out of range"),
            (", spurt = \"10 ms\"", "", "spurt: 10 ms is shorter than the time between two packets, 20 ms"),
            ("", "cc = \"reno\"", "voice traffic answers to nothing"),
        ] {
            let error = scenario(keys, more).and_then(|scenario| scenario.resolve()).expect_err(said);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
