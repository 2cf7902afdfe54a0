//! "Enhanced TCP": G. Hasegawa, M. Murata, H. Miyahara: Improvement of the congestion control mechanism
//! of TCP to avoid mis-retransmission, IEICE Transactions on Communications (Japanese Edition) J82-B, no.
//! 11, 1999, as H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method
//! for Satellite Internet, IEICE Transactions on Communications, 2006, describes and names it
//! (section 2.2, its reference 13).
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40.
//! A reconstruction (grade C). The paper is in Japanese and was not at hand. What is known are three
//! sentences. After a timeout the method measures the RTT of the retransmitted data, to judge whether
//! the acknowledgement was late. If so, the slow-start threshold is set to its value from before the
//! timeout. It does not help when acknowledgements are lost.
//! What is reconstructed, and what the paper itself would decide:
//!  * the judgement. The first acknowledgement after the timeout comes sooner than the smallest RTT ever
//!    measured: it cannot be the answer to the retransmission -> `slow_start`. The paper may compare with the
//!    mean, or with a share of it (`share`).
//!  * which value. "The values before": ssthresh as it was. In congestion avoidance that is
//!    below the window that was lost, so `restores = "window"` takes the larger of the two. The
//!    default is the literal reading.
//!  * the window itself begins with one segment, as after any timeout. The sentences
//!    speak of the threshold alone.
//!  * everything else is Reno's (RFC 5681), the base of the papers of that time.
//!
//! The sender must not undo spurious timeouts by itself, as profiles `modern` and `linux` do: with
//! `spurious = "none"` or profile `paper` the method is alone. A second timeout in a row keeps the values
//! from before the first. Idle times are Reno's: nothing changes.

use crate::algorithms::prelude::*;

pub(crate) const ENTRY: Entry = Entry {
    id: "enhanced",
    label: "Enhanced TCP",
    about: "Reno that keeps its threshold when a timeout was needless: the acknowledgement came too soon after the retransmission.",
    source: "G. Hasegawa, M. Murata, H. Miyahara: Improvement of the congestion control mechanism of TCP to avoid mis-retransmission, IEICE Trans. Commun., 1999",
    reference: "IEICE J82-B 11",
    grade: Grade::C,
    params: Enhanced::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#663333",
    marker: "^",
    build: |args, start| Windowed::hosted(Enhanced::new(args), start),
};

algorithm! {
    #[derive(Debug)]
    struct Enhanced {
        use Param::choice("restores", &["ssthresh", "window"])
            .about("the threshold after a needless timeout: as it was, or the window if that was larger");
        /// an acknowledgement is too soon below this share of the smallest RTT; 0 makes it plain Reno
        share: f64 = 1.0, 0.0..=1.0;
    }
    state(args) {
        of_window: bool = args.is("restores", "window"),
        /// When the retransmission went out, and the threshold to restore.
        judged: Option<(Time, f64)>,
        restored: u32,
    }
}

impl Policy for Enhanced {
    /// After a timeout the first acknowledgement of new data is always in slow start.
    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if let Some((sent, threshold)) = self.judged.take()
            && let Some(rtt) = flow.rtt
            && flow.now.since(sent).secs() < self.share * rtt.min.secs()
        {
            w.ssthresh = w.ssthresh.max(threshold);
            self.restored += 1;
        }
        exponential(w, ack.segments(flow))
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => {
                let threshold = if self.of_window { w.ssthresh.max(w.cwnd) } else { w.ssthresh };
                self.judged = (why == Congestion::Timeout).then_some((flow.now, threshold));
            }
            Event::Undo(_) => self.judged = None,
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("restored", f64::from(self.restored));
    }
}

#[cfg(test)]
mod tests {
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, probe, text};

    /// A window of 40 with a threshold of 32, an RTT of 0.5 s, a timeout; the next
    /// acknowledgement comes so long after it.
    fn after_timeout(given: &[(&str, Value)], answer: f64) -> (f64, f64) {
        let mut rig = Rig::new("enhanced", given, 40.0, 32.0);
        rig.ack(1.0, 0.5, 0.5, true);
        rig.congestion(Congestion::Timeout);
        assert_eq!(rig.w(), 1.0);
        rig.ack(1.0, answer, 0.5, true);
        (rig.w(), rig.t())
    }

    /// 0.4 s after the retransmission nothing can have come back on a path of 0.5 s: the threshold is 32 as
    /// before. 0.5 s is the answer to the retransmission: half of the window, 20.
    #[test]
    fn a_late_acknowledgement_gives_the_threshold_back() {
        assert_eq!(after_timeout(&[], 0.4), (2.0, 32.0));
        let (w, t) = after_timeout(&[], 0.5);
        assert!(w == 2.0 && (t - 20.0125).abs() < 1e-3, "{w} {t}");
        let (_, window) = after_timeout(&[("restores", text("window"))], 0.4);
        assert!((window - 40.025).abs() < 1e-3, "{window}");
        assert!((after_timeout(&[("share", Value::Number(0.0))], 0.4).1 - 20.0125).abs() < 1e-3);
    }

    /// The point of the method: it is back at the threshold by slow start, 5 round trips for 32 segments,
    /// where Reno needs 20 segments by slow start and 12 round trips more.
    #[test]
    fn it_is_back_by_slow_start() {
        let rounds = |id: &str| {
            let mut rig = Rig::new(id, &[], 40.0, 32.0);
            rig.ack(1.0, 0.5, 0.5, true);
            rig.congestion(Congestion::Timeout);
            rig.ack(1.0, 0.4, 0.5, true);
            let mut rounds = 1;
            while rig.w() < 31.9 {
                rig.round(0.5);
                rounds += 1;
            }
            rounds
        };
        assert_eq!(rounds("enhanced"), 5);
        assert!((15..=18).contains(&rounds("reno")), "{}", rounds("reno"));
    }

    /// A fast retransmission is not judged, and only the first acknowledgement after a timeout is.
    #[test]
    fn only_the_first_acknowledgement_after_a_timeout_counts() {
        let mut rig = Rig::new("enhanced", &[], 40.0, 32.0);
        rig.ack(1.0, 0.5, 0.5, true);
        rig.congestion(Congestion::Loss);
        rig.ack(1.0, 0.1, 0.5, true);
        assert_eq!(probe(&*rig.cc, "restored"), 0.0);
        rig.congestion(Congestion::Timeout);
        rig.ack(1.0, 0.6, 0.5, true);
        rig.ack(1.0, 0.1, 0.5, true);
        assert_eq!(probe(&*rig.cc, "restored"), 0.0);
    }
}
