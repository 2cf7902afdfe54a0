//! RAP: R. Rejaie, M. Handley, D. Estrin: RAP: An End-to-End Rate-Based Congestion Control Mechanism for
//! Realtime Streams in the Internet, IEEE INFOCOM, 1999.
//!
//! Unit: seconds between packets (IPG), packets of one MSS, bytes per second outside. Valid for
//! RTT from 1 us to 10^4 s.
//! Rules: a packet goes out every IPG. Without a loss the rate rises once per step of SRTT by one packet per
//! SRTT, IPG' = IPG C / (IPG + C) with C = SRTT -> `step`. A loss halves it, IPG' = IPG / beta -> `halve`.
//! Fine grain: the gap is IPG FRTT / XRTT, the ratio of a short-term and a long-term mean of the RTT, with
//! gains 0.9 and 0.01 -> `observe`. SRTT is RAP's own, with a gain of 0.5. Rules and values were read in the
//! module of ns-2.35 (rap/rap.cc, rap/rap.h, ns-default.tcl), the paper's text was not at hand. What of RAP's
//! own transport is not here: its data is not sent again, since its application adapts its quality instead.
//! Here what is lost is sent again, within the rate, as TCP does. Losses are found by the sender's own
//! recovery, which also sees to it that all losses of one window are one (RAP: a cluster, "SeqFirst" to
//! "SeqLast"); RAP finds them by the gaps that each ACK reports, and by timeouts.
//! Decisions and deviations (hence grade B):
//!  * fine grain is off, as in the module (`useFineGrain_`). With it RAP alone gets a tenth more at 10 Mbit/s
//!    and 40 ms (9.54 Mbit/s instead of 8.59), and hardly more over GEO.
//!  * there is no slow start, as in the module, which sends one packet per RTT at first. Here the sender's
//!    initial window goes out at once, and then one such window per first RTT is the rate. So a path of many
//!    packets is filled as slowly as by Reno's congestion avoidance from there on.
//!  * a step ends with the first ACK that comes SRTT after the last step, if the application did not limit
//!    the sender since, and no loss came. The module asks that half of the packets of the step were sent
//!    (`dpthresh_`), which bulk data always meets.
//!  * a timeout is a loss as any other: the rate is halved once. A spurious loss is undone.
//!  * an ECN echo is answered as a loss.
//!  * cwnd is a guard, not a control ([`guard`](crate::algorithms::model::guard)).
//!  * IPG is at most 64 s, so that a flow does not die out.
//!  * after an idle time (`IdleRestart`) nothing changes: the rate is held, and an
//!    application-limited step does not raise it.

use crate::algorithms::model::LARGEST;
use crate::algorithms::prelude::*;
use crate::algorithms::rate_based::{RateBased, RatePolicy};

pub(crate) const ENTRY: Entry = Entry {
    id: "rap",
    label: "RAP",
    about: "AIMD on the time between packets: one packet per RTT more each RTT, half after a loss, with no window.",
    source: "R. Rejaie, M. Handley, D. Estrin: RAP: An End-to-End Rate-Based Congestion Control Mechanism for Realtime Streams in the Internet, IEEE INFOCOM, 1999",
    reference: "IEEE INFOCOM 1999",
    grade: Grade::B,
    params: Rap::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#663333",
    marker: "s",
    build: |args, start| RateBased::hosted(Rap::new(args, start), start),
};

/// The longest and the shortest time between packets, seconds.
const LONGEST: f64 = 64.0;
const SHORTEST: f64 = 1e-9;

algorithm! {
    #[derive(Debug)]
    struct Rap {
        /// the rate rises by this many packets per SRTT, each SRTT
        alpha: f64 = 1.0, 0.01..=100.0, "packets";
        /// what a loss leaves of the rate
        beta: f64 = 0.5, 0.05..=0.95;
        /// weight of a sample in SRTT
        srtt_gain: f64 = 0.5, 0.001..=1.0;
        /// send slower while the RTT is above its long-term mean
        fine_grain: bool = false;
        use Param::number("short_gain", 0.9, 0.001..=1.0)
            .about("weight of a sample in the short-term mean FRTT");
        use Param::number("long_gain", 0.01, 0.001..=1.0)
            .about("weight of a sample in the long-term mean XRTT");
    }
    state(args, start: Start) {
        gains: [f64; 2] = [args.number("short_gain"), args.number("long_gain")],
        initial: f64 = start.initial_window.max(1.0),
        /// IPG, seconds; `None` before the first sample.
        gap: Option<f64>,
        /// FRTT and XRTT, seconds.
        means: [f64; 2],
        /// SRTT, seconds.
        srtt: f64,
        /// When the present step began.
        stepped: Time,
        /// Has the application left the rate to limit the sender since then?
        busy: bool,
        /// The gap before the last loss.
        before: Option<f64>,
    }
}

impl Rap {
    /// Takes an RTT sample. The first one gives the first rate: the initial window in one RTT.
    fn observe(&mut self, now: Time, sample: f64) {
        if self.gap.is_none() {
            self.gap = Some((sample / self.initial).clamp(SHORTEST, LONGEST));
            (self.means, self.srtt) = ([sample; 2], sample);
            self.stepped = now;
        }
        for (mean, gain) in self.means.iter_mut().zip(self.gains) {
            *mean += gain * (sample - *mean);
        }
        self.srtt += self.srtt_gain * (sample - self.srtt);
    }

    /// IPG' = IPG C / (IPG + C): one packet per `c` seconds more.
    fn step(&mut self, c: f64) {
        if let Some(gap) = &mut self.gap {
            *gap = (*gap * c / (c + self.alpha * *gap)).clamp(SHORTEST, LONGEST);
        }
    }

    /// IPG' = IPG / beta.
    fn halve(&mut self, flow: &Flow) {
        self.before = self.gap;
        if let Some(gap) = &mut self.gap {
            *gap = (*gap / self.beta).clamp(SHORTEST, LONGEST);
        }
        (self.stepped, self.busy) = (flow.now, false);
    }
}

impl RatePolicy for Rap {
    fn rate(&self, mss: u32) -> Option<f64> {
        let [short, long] = self.means;
        let feedback = if self.fine_grain && long > 0.0 && short > 0.0 { short / long } else { 1.0 };
        self.gap.map(|gap| (f64::from(mss) / (gap * feedback)).clamp(1.0, LARGEST as f64))
    }

    fn on_ack(&mut self, flow: &Flow, ack: &Ack) -> Option<f64> {
        let sample = ack.rtt.map(|rtt| rtt.latest.secs()).filter(|rtt| *rtt > 0.0);
        if let Some(sample) = sample {
            self.observe(flow.now, sample);
        }
        self.busy |= ack.rate.is_none_or(|sample| !sample.app_limited);
        let rtt = Some(self.srtt).filter(|rtt| *rtt > 0.0)?;
        if ack.acked > 0 && flow.now.since(self.stepped).secs() >= rtt {
            if self.busy {
                self.step(rtt);
            }
            (self.stepped, self.busy) = (flow.now, false);
        }
        self.rate(flow.mss.max(1)).map(|rate| rate * rtt)
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) -> Option<f64> {
        match event {
            Event::Congestion(_) => self.halve(flow),
            Event::Undo(_) => self.gap = self.before.take().or(self.gap),
            _ => {}
        }
        None
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("ipg_s", self.gap.unwrap_or(f64::NAN));
        emit("frtt_s", self.means[0]);
        emit("xrtt_s", self.means[1]);
    }
}

#[cfg(test)]
mod tests {
    use crate::decision::Pacing;
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, near, probe};

    fn rap(w: f64) -> Rig {
        let mut rig = Rig::new("rap", &[], w, 2.0);
        rig.ack(1.0, 0.5, 0.5, true);
        rig
    }

    fn gap(rig: &Rig) -> f64 {
        probe(&*rig.cc, "ipg_s")
    }

    /// Five packets in 0.5 s are 0.1 s apart. After 0.5 s: 0.1 x 0.5 / 0.6 = 0.08333, 12 packets per second
    /// instead of 10. Not before. A loss doubles the gap.
    #[test]
    fn the_gap_follows_the_papers_rule() {
        let mut rig = rap(5.0);
        near(gap(&rig), 0.1, 1e-9);
        rig.ack(1.0, 0.49, 0.5, false);
        near(gap(&rig), 0.1, 1e-9);
        rig.ack(1.0, 0.01, 0.5, true);
        near(gap(&rig), 0.1 * 0.5 / 0.6, 1e-9);
        rig.congestion(Congestion::Loss);
        near(gap(&rig), 0.1 / 0.6, 1e-9);
        // The step begins anew at the loss.
        rig.ack(1.0, 0.4, 0.5, false);
        near(gap(&rig), 0.1 / 0.6, 1e-9);
    }

    /// rap.cc, `UpdateTimeValues` with `delta_` 0.5: SRTT is 0.75 s after samples of 0.5 s and 1 s. So
    /// the step ends after 0.75 s, not before, by 0.1 x 0.75 / 0.85. The gap is not stretched
    /// meanwhile: `useFineGrain_` is 0.
    #[test]
    fn a_step_lasts_its_own_srtt() {
        let mut rig = rap(5.0);
        rig.ack(1.0, 0.1, 1.0, false);
        let Pacing::Rate(rate) = rig.cc.decision().pacing else { panic!("it is paced") };
        near(1e6 / rate.bytes_per_sec(), 0.1, 1e-6);
        rig.ack(0.0, 0.6, 0.75, false);
        near(gap(&rig), 0.1, 1e-9);
        rig.ack(1.0, 0.05, 0.75, true);
        near(gap(&rig), 0.1 * 0.75 / 0.85, 1e-9);
    }

    /// FRTT = 0.5 + 0.9 x 0.5 = 0.95, XRTT = 0.5 + 0.01 x 0.5 = 0.505 after one sample of 1 s: the gap
    /// between packets is 1.881 IPG.
    #[test]
    fn a_longer_round_trip_slows_it_down_at_once() {
        let mut rig = Rig::new("rap", &[("fine_grain", Value::Flag(true))], 5.0, 2.0);
        rig.ack(1.0, 0.5, 0.5, true);
        rig.ack(1.0, 0.1, 1.0, false);
        let Pacing::Rate(rate) = rig.cc.decision().pacing else { panic!("it is paced") };
        near(1e6 / rate.bytes_per_sec(), 0.1 * 0.95 / 0.505, 1e-4);
    }

    /// AIMD by one packet and a half: the square-root law, a rate of sqrt(3 / 2p) packets per RTT (RAP's
    /// claim to be friendly to TCP). One loss in 600 packets: 30 per RTT.
    #[test]
    fn its_rate_obeys_the_square_root_law() {
        let given = [("fine_grain", Value::Flag(false))];
        let mut rig = Rig::new("rap", &given, 20.0, 2.0);
        let r = 0.1;
        rig.ack(1.0, r, r, true);
        let (mut since_loss, mut packets, mut from) = (0, 0.0, 0.0);
        for _ in 0..40_000 {
            rig.ack(1.0, gap(&rig), r, false);
            since_loss += 1;
            packets += 1.0;
            if since_loss == 600 {
                since_loss = 0;
                rig.congestion(Congestion::Loss);
            }
            if packets == 6_000.0 {
                from = rig.secs();
            }
        }
        near((packets - 6_000.0) / (rig.secs() - from) * r, 30.0, 0.03);
    }
}
