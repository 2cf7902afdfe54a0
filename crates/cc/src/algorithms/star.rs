//! TCP-STAR: H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for
//! Satellite Internet, IEICE Transactions on Communications, 2006.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, any RTT above 1 us.
//! Equations: (2) bandwidth sample and (3) its smoothing (the available-bandwidth estimate ABE, from
//! TCP-J) -> `Abe::add` in abe.rs. (4), (5) and figure 3, LWC: the window is Reno's plus ABE's -> `grow`; figure 1,
//! CWS: the setting at a loss -> `backoff`. AEN (section 3.3, the probe after a timeout) is the sender option
//! `aen`; a timeout reported here is case (I).
//! Deviation: section 3.3's probe "retransmits a data segment". Ours is one byte that the receiver answers and
//! does not take, so the receiver must know it. The printed probe (`aen_probe = "segment"` of the flow) repairs the
//! loss that it asks about: its answer covers new data whatever was lost, and case (I) is hardly ever found.
//!
//! Decisions where the paper is silent:
//!  * "Bandwidth estimation is one of the TCP-STAR's modules" (section 3): `estimator` chooses another one than ABE.
//!  * CWS governs during recovery; when it ends W_reno is halved as Reno's would be, then LWC goes on.
//!  * the window compared with ssthresh in CWS is W, not W_reno.
//!  * CWS is taken literally: an estimate above the window raises it. LWC and CWS differ from
//!    Reno only by the estimate.
//!  * ABE counts a duplicate ACK as one segment and the cumulative ACK that follows as that much less
//!    (Westwood's correction). ACKs at the same instant are added up. The first ACK, and the first after
//!    an idle time, only start the clock. BW and its first sample begin at 0. The filter is per ACK, so
//!    merged reports slow it down.
//!  * ECN is answered as a loss, but W_reno is halved at once: no recovery follows.
//!  * while the window does not limit the sender, LWC does not raise it.
//!  * ACKs that reach the sender in a bunch give samples (eq. 2) far above any link's rate. The
//!    paper's ACKs come one by one, and so each is a sample. `bw_samples = "ticks"` counts time in
//!    ticks of 1/32 to 1/16 of RTTmin: all ACKs of a tick are one sample. Real hosts bunch ACKs, so it
//!    is what runs in the kernel.
//!  * a timeout leaves BW alone: case (I) needs it for T, and no text resets it. `bw_at_timeout = "reset"`
//!    sets T from BW and then begins the filter anew. A spurious timeout gives BW back.
//!  * after a timeout by data loss (case I) LWC goes on with the first ACK, as figure 3 and eq. 4 know no
//!    exception. But section 4.2.1 explains the low throughput at BER 1e-5 by the window of one segment after
//!    a timeout, which eq. 4 leaves at once. `after_timeout = "slow-start"` takes this and section 3.3 (I) at
//!    their word: Reno's slow start leads from one segment to T = cwnd_abe, and only from there does LWC add
//!    the estimate. A recovery in between ends it too. A spurious timeout gives LWC back.
//!  * `lda` is what section 5 announces: a mechanism that detects the reason of a loss, "such as LDA of
//!    TCP-WestwoodBR", for the fairness under heavy congestion -> [`LossDiscrimination`]. CWS answers an error. The
//!    answer to congestion is NewReno's, as section 4.3 says of WestwoodBR: half of the window, and LWC adds the
//!    estimate again when Reno's window is back at that of the loss. The paper says no more than "such as"; the rest
//!    is ours. A timeout is answered as without it.

use crate::algorithms::abe::BW_SAMPLES;
use crate::algorithms::estimator::{ESTIMATOR, Estimator};
use crate::algorithms::loss_discrimination::{ENTER, GAP, LEAVE, LossDiscrimination};
use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "star",
    label: "TCP-STAR",
    about: "Reno's window plus an estimate of the available bandwidth; probes after a timeout to spare lost ACKs.",
    source: "H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for Satellite Internet, IEICE Trans. Commun., 2006",
    reference: "doi:10.1093/ietcom/e89-b.6.1766",
    grade: Grade::A,
    params: Star::PARAMS,
    sender: SenderOptions { aen: true, ..SenderOptions::NONE },
    colour: "#d55e00",
    marker: "*",
    build: |args, start| Windowed::hosted(Star::new(args, start), start),
};

algorithm! {
    #[derive(Debug)]
    struct Star {
        use Param::choice("bw_at_timeout", &["keep", "reset"])
            .about("the bandwidth estimate BW of eq. 3 at a timeout: kept, or 0 once T has been set from it");
        use BW_SAMPLES;
        use ESTIMATOR;
        use Param::choice("after_timeout", &["lift", "slow-start"])
            .about("after a timeout by data loss (section 3.3, I): eq. 4 from the first ACK on, or from T on, after a slow start without the estimate");
        use Param::flag("lda", false).about(
            "section 5: answer a loss that looks like congestion as NewReno does; enter, leave and gap are its thresholds",
        );
        use ENTER, LEAVE, GAP;
    }
    state(args, start: Start) {
        w_reno: f64 = start.initial_window.max(1.0),
        estimator: Estimator = Estimator::new(args),
        /// A timeout begins the estimate anew.
        resets: bool = args.is("bw_at_timeout", "reset"),
        /// After a timeout the estimate is not added before T.
        waits: bool = args.is("after_timeout", "slow-start"),
        /// The slow start after a timeout is under way, and the estimate is not added.
        waiting: bool,
        /// A loss was answered by CWS, and W_reno is halved when its recovery ends.
        halve: bool,
        lda: Option<LossDiscrimination> = args.flag("lda").then(|| LossDiscrimination::new(args)),
        /// After congestion the estimate is not added below this W_reno, segments; 0: it is.
        quiet: f64,
        /// W_reno, the estimate, `waiting` and `quiet` when the last episode began.
        before: Option<(f64, Estimator, bool, f64)>,
    }
}

impl Star {
    /// LWC.
    fn grow(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let mut reno = Window { cwnd: self.w_reno, ssthresh: w.ssthresh };
        let left = exponential(&mut reno, ack.segments(flow)); // figure 3, first branch
        self.w_reno = reno.cwnd + left / reno.cwnd; // second branch
        self.waiting &= self.w_reno < w.ssthresh;
        let estimate =
            if self.waiting || self.w_reno < self.quiet { 0.0 } else { self.estimator.window(flow) };
        w.cwnd = self.w_reno + estimate; // eq. 4
    }

    /// Is this congestion, by a mark or by the loss discrimination, if there is one?
    fn congested(&self, w: &Window, flow: &Flow, why: Congestion) -> bool {
        self.lda.is_some_and(|lda| match why {
            Congestion::Ecn => true,
            Congestion::Loss => !lda.error(self.estimator.window(flow), w.cwnd),
            Congestion::Timeout => false,
        })
    }

    fn on_congestion(&mut self, w: &Window, flow: &Flow, why: Congestion) {
        self.before = Some((self.w_reno, self.estimator.clone(), self.waiting, self.quiet));
        if self.congested(w, flow, why) {
            (self.w_reno, self.quiet, self.halve) = ((w.cwnd / 2.0).max(1.0), w.cwnd, false);
            return;
        }
        self.halve = why == Congestion::Loss;
        self.quiet = 0.0;
        match why {
            Congestion::Timeout => {
                self.w_reno = 1.0;
                self.waiting = self.waits;
                if self.resets {
                    self.estimator.reset();
                }
            }
            Congestion::Ecn => self.w_reno = (self.w_reno / 2.0).max(1.0),
            Congestion::Loss => {}
        }
    }

    fn on_undo(&mut self) {
        self.halve = false;
        if let Some((w_reno, estimator, waiting, quiet)) = self.before.take() {
            self.waiting &= waiting;
            self.quiet = quiet;
            self.w_reno = self.w_reno.max(w_reno);
            if self.estimator.rate() < estimator.rate() && self.resets {
                self.estimator.restore(estimator);
            }
        }
    }

    fn on_life(&mut self, w: &mut Window, flow: &Flow, what: Life) {
        match what {
            Life::Recovered if self.halve => {
                self.halve = false;
                self.waiting = false;
                self.w_reno = (self.w_reno / 2.0).max(1.0);
                let lifted = self.w_reno + self.estimator.window(flow);
                w.cwnd = if flow.cwnd_limited { lifted } else { lifted.min(w.cwnd) };
            }
            Life::IdleRestart => self.estimator.pause(),
            _ => {}
        }
    }
}

impl Policy for Star {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.estimator.observe(flow, ack);
        if let (Some(lda), Some(rtt)) = (&mut self.lda, flow.rtt) {
            lda.observe(ack, rtt.min.secs());
        }
    }

    fn needs(&self) -> Needs {
        Needs { rate: self.estimator.needs_rate(), ..Needs::default() }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some(
            "its window in slow start is not grown but set, to Reno's window plus the estimated bandwidth (LWC)",
        )
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        self.grow(w, flow, ack);
        0.0
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        self.grow(w, flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        if self.congested(w, flow, why) {
            return Cut::standard(w.cwnd / 2.0, why);
        }
        let estimate = self.estimator.window(flow).max(2.0); // eq. 5
        if why != Congestion::Timeout && w.cwnd < w.ssthresh {
            Cut { cwnd: w.cwnd, ssthresh: estimate, repeat: false } // figure 1, first branch
        } else {
            Cut::standard(estimate, why) // figure 1, second branch; AEN case (I)
        }
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(w, flow, why),
            Event::Undo(_) => self.on_undo(),
            Event::Life(what) => self.on_life(w, flow, what),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("w_reno_segments", self.w_reno);
        emit("bw_segments_per_s", self.estimator.rate());
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::registry::Value;
    use crate::report::Phase;
    use crate::rig::{Rig, near, text};

    /// Bunched ACKs: 16 segments within a millisecond, every 16 ms at an RTT of 0.5 s, are 1000 segments a
    /// second. Each ACK as a sample finds far more; a tick of 16.384 ms takes a bunch as one sample.
    #[test]
    fn ticks_find_the_rate_of_bunched_acks() {
        let found = |choice| {
            let mut rig = Rig::new("star", &[("bw_samples", text(choice))], 10.0, 2.0);
            for _ in 0..60 {
                rig.ack(1.0, 0.015_04, 0.5, false);
                (0..15).for_each(|_| rig.ack(1.0, 0.000_064, 0.5, false));
            }
            probe(&rig).1
        };
        near(found("ticks"), 1000.0, 0.1);
        assert!(found("acks") > 5000.0, "{}", found("acks"));
    }

    fn probe(rig: &Rig) -> (f64, f64) {
        let (mut w_reno, mut bw) = (0.0, 0.0);
        rig.cc.probe(&mut |name, value| match name {
            "w_reno_segments" => w_reno = value,
            _ => bw = value,
        });
        (w_reno, bw)
    }

    /// A flow whose ACKs came at 100 segments a second for 50 ACKs, at an RTT of 0.5 s.
    fn running(t: f64) -> Rig {
        let mut rig = Rig::new("star", &[], 10.0, t);
        for _ in 0..50 {
            rig.ack(1.0, 0.01, 0.5, false);
        }
        rig
    }

    /// Eq. 4 and 5, exactly; 30 ACKs of a train give 95.5 % of the rate.
    #[test]
    fn the_window_is_renos_plus_the_estimate() {
        for t in [2.0, f64::INFINITY] {
            let rig = running(t);
            let (w_reno, bw) = probe(&rig);
            assert!(bw >= 0.955 * 100.0);
            near(rig.w(), w_reno + bw * 0.5, 1e-6);
            let mut reno = Rig::new("reno", &[], 10.0, t);
            for _ in 0..50 {
                reno.ack(1.0, 0.01, 0.5, false);
            }
            near(w_reno, reno.w(), 1e-6);
        }
    }

    /// Section 4.2.1: one flow at 10 Mbit/s and 500 ms without delayed ACKs holds 2, 25.7, 427.6 and
    /// 432 segments (the receive window) after its first four rounds. Reno's slow start needs almost nine.
    #[test]
    fn fills_the_receive_window_in_four_rounds() {
        let gap = 1448.0 * 8.0 / 10e6;
        let mut rig = Rig::new("star", &[], 1.0, f64::INFINITY);
        // Times at which the ACKs of segments already sent will arrive: the bottleneck spaces them.
        let (mut sent, mut acked, mut now, mut free) = (0_usize, 0_usize, 0.0_f64, 0.0_f64);
        let mut arrivals = alloc::vec::Vec::new();
        let mut round_end = 0;
        let mut windows = alloc::vec::Vec::new();
        let mut last = 0.0;
        while windows.len() < 4 {
            let allowed = rig.w().min(432.0) as usize;
            while sent - acked < allowed {
                free = free.max(now) + gap;
                arrivals.push(free + 0.5);
                sent += 1;
            }
            if acked == round_end {
                round_end = sent;
            }
            now = arrivals[acked];
            acked += 1;
            rig.ack(1.0, now - last, 0.5, acked == round_end);
            last = now;
            if acked == round_end {
                windows.push(rig.w().min(432.0));
            }
        }
        for (got, expected) in windows.iter().zip([2.0, 25.7, 427.6, 432.0]) {
            near(*got, expected, 0.01);
        }
    }

    /// Figure 1: in slow start W stays and T becomes the estimate; otherwise both become the estimate. After
    /// recovery W_reno has been halved.
    #[test]
    fn cws() {
        let mut rig = running(f64::INFINITY);
        let (w, (w_reno, bw)) = (rig.w(), probe(&rig));
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), w);
        near(rig.t(), bw * 0.5, 1e-6);

        let mut rig = running(2.0);
        let (_, bw_now) = probe(&rig);
        rig.congestion(Congestion::Loss);
        near(rig.w(), bw_now * 0.5, 1e-6);
        near(rig.t(), bw_now * 0.5, 1e-6);

        let mut rig = running(f64::INFINITY);
        rig.congestion(Congestion::Loss);
        rig.flow.phase = Phase::Recovery;
        rig.ack(1.0, 0.01, 0.5, false);
        assert_eq!(rig.w(), w);
        rig.flow.phase = Phase::Open;
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        let (halved, bw_then) = probe(&rig);
        near(halved, w_reno / 2.0, 1e-9);
        near(rig.w(), halved + bw_then * 0.5, 1e-6);
        assert!(bw_then > bw);
    }

    /// Section 3.3, case (I): one segment, and T is the estimate; W_reno starts at one segment
    /// and is not halved later.
    #[test]
    fn a_timeout_that_was_a_loss() {
        let mut rig = running(2.0);
        let (w_reno, bw) = probe(&rig);
        let before = rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        near(rig.t(), bw * 0.5, 1e-6);
        rig.ack(1.0, 0.5, 0.5, false);
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        assert_eq!(probe(&rig).0, 2.0);
        rig.cc.on(&rig.flow, Event::Undo(&before));
        assert_eq!(probe(&rig).0, w_reno);
    }

    /// A timeout keeps BW unless `bw_at_timeout` resets it. T is the estimate before the reset, and a
    /// spurious timeout gives BW back.
    #[test]
    fn a_timeout_resets_the_estimate_if_told_to() {
        for (choice, kept) in [("keep", true), ("reset", false)] {
            let mut rig = Rig::new("star", &[("bw_at_timeout", text(choice))], 10.0, 2.0);
            for _ in 0..50 {
                rig.ack(1.0, 0.01, 0.5, false);
            }
            let bw = probe(&rig).1;
            let before = rig.congestion(Congestion::Timeout);
            near(rig.t(), bw * 0.5, 1e-6);
            assert_eq!(probe(&rig).1, if kept { bw } else { 0.0 }, "{choice}");
            rig.ack(1.0, 0.5, 0.5, false);
            // Slow start adds one segment to Reno's window, and LWC the estimate.
            near(rig.w(), 2.0 + probe(&rig).1 * 0.5, 1e-6);
            let now = probe(&rig).1;
            rig.cc.on(&rig.flow, Event::Undo(&before));
            assert_eq!(probe(&rig).1, if kept { now } else { bw }, "{choice}");
        }
    }

    /// `after_timeout = "slow-start"`: from one segment, an ACK of one segment adds one up to T = 40 segments
    /// (80 segments a second at 0.5 s); with the ACK that reaches T the window is T and the estimate. By
    /// default the first ACK adds the estimate.
    #[test]
    fn slow_start_after_a_timeout_can_come_before_the_estimate() {
        let after = |choice| {
            let mut rig = Rig::new("star", &[("after_timeout", text(choice))], 10.0, 2.0);
            (0..400).for_each(|_| rig.ack(1.0, 0.0125, 0.5, false));
            near(rig.w(), probe(&rig).0 + 40.0, 0.01);
            let before = rig.congestion(Congestion::Timeout);
            assert_eq!(rig.w(), 1.0);
            near(rig.t(), 40.0, 1e-6);
            (rig, before)
        };
        let (mut rig, _) = after("lift");
        rig.ack(1.0, 0.0125, 0.5, false);
        near(rig.w(), 2.0 + 40.0, 0.01);

        let (mut rig, _) = after("slow-start");
        for w in 2..40 {
            rig.ack(1.0, 0.0125, 0.5, false);
            assert_eq!(rig.w(), f64::from(w));
        }
        rig.ack(1.0, 0.0125, 0.5, false);
        near(rig.w(), 40.0 + 40.0, 0.01);
        // What was reached stays: a later ACK does not take the estimate away.
        rig.ack(1.0, 0.0125, 0.5, false);
        near(rig.w(), 40.0 + 1.0 / 40.0 + 40.0, 0.01);

        // A timeout that proves spurious gives the window back, and with it LWC.
        let (mut rig, before) = after("slow-start");
        rig.cc.on(&rig.flow, Event::Undo(&before));
        let w_reno = probe(&rig).0;
        rig.ack(1.0, 0.0125, 0.5, false);
        assert!(rig.w() > w_reno + 39.0, "{}", rig.w());

        // A loss on the way, after its recovery, too: W_reno = 10 is halved, then LWC goes on.
        let (mut rig, _) = after("slow-start");
        (0..9).for_each(|_| rig.ack(1.0, 0.0125, 0.5, false));
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 10.0); // figure 1, first branch
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        near(rig.w(), 5.0 + 40.0, 0.01);
    }

    /// `lda`: on a path of 100 segments and 0.5 s the window of 200 finds a full queue, and a loss is congestion:
    /// half of the window, which grows as NewReno's. With the estimate back at the old window LWC goes on. A loss
    /// on an empty queue is an error, which CWS answers, and so is one without `lda`.
    #[test]
    fn loss_discrimination_answers_congestion_as_newreno_does() {
        let loss = |lda, queued: bool| {
            let mut rig = Rig::new("star", &[("lda", Value::Flag(lda))], 100.0, 2.0);
            (0..100).for_each(|_| rig.ack(1.0, 0.005, 0.5, false));
            (0..100).for_each(|_| rig.ack(1.0, 0.005, 1.0, false));
            if !queued {
                rig.ack(1.0, 0.005, 0.5, false);
            }
            let before = rig.w();
            rig.congestion(Congestion::Loss);
            (rig, before)
        };
        let (mut rig, before) = loss(true, true);
        near(rig.w(), before / 2.0, 1e-6);
        near(rig.t(), before / 2.0, 1e-6);
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        rig.ack(1.0, 0.005, 1.0, false);
        near(rig.w(), before / 2.0 + 2.0 / before, 1e-6);
        while probe(&rig).0 < before {
            rig.ack(1.0, 0.005, 1.0, false);
        }
        near(rig.w(), before + probe(&rig).1 * 0.5, 0.01);
        for (lda, queued) in [(true, false), (false, true)] {
            let (rig, _) = loss(lda, queued);
            near(rig.w(), probe(&rig).1 * 0.5, 1e-6);
        }
    }

    /// The silence of a pause is no sample of the rate.
    #[test]
    fn a_pause_is_no_sample() {
        let mut rig = running(2.0);
        let (_, before) = probe(&rig);
        rig.cc.on(&rig.flow, Event::Life(Life::IdleRestart));
        rig.ack(1.0, 60.0, 0.5, false);
        near(probe(&rig).1, before, 1e-9);
    }
}
