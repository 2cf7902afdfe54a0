//! SCPS-TP whole: Consultative Committee for Space Data Systems: Space Communications Protocol Specification
//! (SCPS), Transport Protocol (SCPS-TP), CCSDS 714.0-B-2, 2006: congestion control in its Vegas mode and its
//! van Jacobson mode, and rate control. `scps-tp` has the two modes, with a rate on top of the window;
//! `scps-rate` has no congestion control, but the rate alone.
//!
//! Unit: segments; Mbit/s of payload. Valid for 1 <= cwnd < 2^40, RTT above 1 us.
//! The standard was not at hand, so the grade is B. The rules and constants are those that were read in the
//! reference implementation (MITRE, 1999: tp_timers.c, tp_socket.c, scpstp.h):
//!  * Vegas (`tp_TFVegas`): Diff = W - floor(W BaseRTT / RTT), in whole segments -> [`whole_diff`].
//!    Linear: one segment more below alpha; above beta 1 + min(W/2, (Diff - beta)/2) segments less,
//!    and exponential again at one segment -> `avoid`. Exponential: W doubles each round until Diff
//!    is above gamma -> `slow_start`. A loss halves W. alpha, beta and gamma are 3, 5 and 4
//!    (scpstp.h: ALPHA, BETA, GAMMA).
//!  * van Jacobson (the part of `tp_process_ack` that takes a SNACK): half of the window or of what is in
//!    flight, whichever is less, rounded up to whole segments, at least two -> `backoff`. Growth is
//!    Jacobson's: one segment per ACK, then one per round.
//!  * the cause of losses is assumed: `losses = "corruption"` leaves W as it is in Vegas mode. In van
//!    Jacobson mode it has no effect.
//!  * rate control (`tp_TFRate`): credit grows at the rate, and a segment goes out when there is credit
//!    for it, retransmissions too -> [`RateControl`]. The window is then the receiver's in `scps-rate`,
//!    "no congestion control".
//!
//! Decisions and deviations:
//!  * Diff counts whole segments and is 1 as soon as anything is queued, so with Vegas's alpha of 1 the
//!    window would stand still above an empty queue.
//!  * RTT is the mean of a round; the implementation times one segment per round. Growth by one comes at the
//!    end of the round, as there.
//!  * steps down leave T = W, so that the sender's recovery has its target. At one segment T is infinite.
//!  * a timeout leads to one segment and T = W/2, in Vegas mode with `losses = "corruption"`, too, where the
//!    implementation spares the window. ECN is answered as a loss.
//!  * the bucket holds one segment: the sender's pacer. The implementation counts headers, the
//!    rate here is of payload.
//!  * `scps-rate` sends its initial window at once and the rest by the rate, from the first RTT sample on. So
//!    it holds no more than the receive window in flight, as the implementation does.
//!  * after an idle time nothing changes (`IdleRestart`): the standard's rate control gathers no
//!    credit beyond its bucket.

use alloc::boxed::Box;

use crate::algorithms::model::LARGEST;
use crate::algorithms::prelude::*;
use crate::algorithms::vegas::{BASE_WINDOW, Gauge};

const SOURCE: &str = "Consultative Committee for Space Data Systems: Space Communications Protocol Specification (SCPS), Transport Protocol, 2006";

pub(crate) const ENTRY: Entry = Entry {
    id: "scps-tp",
    label: "SCPS-TP (reference)",
    about: "The space agencies' transport with its Vegas or its van Jacobson mode, and its rate control on top.",
    source: SOURCE,
    reference: "CCSDS 714.0-B-2",
    grade: Grade::B,
    params: &[
        Param::choice("mode", &["vegas", "van-jacobson"]).about("congestion control by the RTT or by losses"),
        Param::number("rate", 0.0, 0.0..=1e6)
            .unit("Mbit/s")
            .about("rate control: payload goes out no faster, whatever the window says; 0: no rate control"),
        Param::choice("losses", &["congestion", "corruption"])
            .about("the assumed cause of a loss; corruption leaves the window of Vegas mode as it is"),
        Param::number("alpha", 3.0, 0.0..=1000.0)
            .unit("segments")
            .about("Vegas mode: grow while fewer segments are queued"),
        Param::number("beta", 5.0, 0.0..=1000.0)
            .unit("segments")
            .about("Vegas mode: shrink while more segments are queued"),
        Param::number("gamma", 4.0, 0.0..=1000.0)
            .unit("segments")
            .about("Vegas mode: the first phase ends when more segments are queued"),
        BASE_WINDOW,
    ],
    sender: SenderOptions::NONE,
    colour: "#77aadd",
    marker: "o",
    build: |args, start| {
        if args.is("mode", "vegas") {
            Windowed::hosted(VegasMode::new(args), start)
        } else {
            Windowed::hosted(VanJacobson { rate: RateControl::new(args) }, start)
        }
    },
};

pub(crate) const RATE: Entry = Entry {
    id: "scps-rate",
    label: "SCPS-TP (rate)",
    about: "The space agencies' transport without congestion control: as fast as its operator says, whatever is lost.",
    source: SOURCE,
    reference: "CCSDS 714.0-B-2",
    grade: Grade::B,
    params: &[Param::number("rate", 10.0, 1e-3..=1e6).unit("Mbit/s").about("payload goes out at this rate")],
    sender: SenderOptions::NONE,
    colour: "#77aadd",
    marker: "h",
    build: |args, start| Box::new(PureRate::new(args.number("rate"), start)),
};

/// Bytes per second.
fn payload(megabits: f64) -> Rate {
    Rate(((megabits * 1e6 / 8.0) as u64).clamp(1, LARGEST))
}

/// Rate control on top of a window.
#[derive(Clone, Copy, Debug)]
struct RateControl(Option<Rate>);

impl RateControl {
    fn new(args: &Args) -> Self {
        let rate = args.number("rate");
        Self((rate > 0.0).then(|| payload(rate)))
    }

    fn pacing(self) -> Pacing {
        self.0.map_or(Pacing::Window, Pacing::Rate)
    }
}

/// W - floor(W Base / RTT) in whole segments of W.
fn whole_diff(gauge: &Gauge, w: f64, rtt_secs: f64) -> f64 {
    let w = libm::floor(w);
    w - libm::floor(w - gauge.diff(w, rtt_secs))
}

#[derive(Debug)]
struct VegasMode {
    alpha: f64,
    beta: f64,
    gamma: f64,
    spares: bool,
    gauge: Gauge,
    rate: RateControl,
}

impl VegasMode {
    fn new(args: &Args) -> Self {
        let alpha = args.number("alpha");
        Self {
            alpha,
            beta: args.number("beta").max(alpha),
            gamma: args.number("gamma"),
            spares: args.is("losses", "corruption"),
            gauge: Gauge::new(args),
            rate: RateControl::new(args),
        }
    }
}

impl Policy for VegasMode {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        self.gauge.observe(flow, ack, flow.phase == Phase::Recovery);
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if let Some(round) = self.gauge.close()
            && whole_diff(&self.gauge, w.cwnd, round.rtt.mean_secs()) > self.gamma
        {
            w.ssthresh = w.cwnd;
            return 0.0;
        }
        exponential(w, ack.segments(flow))
    }

    fn avoid(&mut self, w: &mut Window, _flow: &Flow, _ack: &Ack) {
        let Some(round) = self.gauge.close() else { return };
        let diff = whole_diff(&self.gauge, w.cwnd, round.rtt.mean_secs());
        if diff < self.alpha {
            w.cwnd += 1.0;
        } else if diff > self.beta {
            w.cwnd -= 1.0 + (w.cwnd / 2.0).min((diff - self.beta) / 2.0);
            w.ssthresh = w.cwnd;
            if w.cwnd <= 1.0 {
                *w = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
            }
        }
    }

    fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
        if self.spares && why == Congestion::Loss {
            return Cut { cwnd: w.cwnd, ssthresh: w.cwnd, repeat: false };
        }
        Cut::standard(w.cwnd / 2.0, why)
    }

    fn pacing(&self, _w: &Window) -> Pacing {
        self.rate.pacing()
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("base_rtt_s", self.gauge.base_secs());
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its Vegas mode ends slow start by the RTT itself")
    }
}

#[derive(Debug)]
struct VanJacobson {
    rate: RateControl,
}

impl Policy for VanJacobson {
    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        let flight = flow.in_flight as f64 / f64::from(flow.mss.max(1));
        Cut::standard(libm::ceil(w.cwnd.min(flight) / 2.0).max(2.0).min(w.cwnd), why)
    }

    fn pacing(&self, _w: &Window) -> Pacing {
        self.rate.pacing()
    }
}

/// "No congestion control".
#[derive(Debug)]
struct PureRate {
    rate: Rate,
    cwnd: u64,
    mss: u64,
    open: bool,
}

impl PureRate {
    fn new(megabits: f64, start: Start) -> Self {
        let mss = u64::from(start.mss.max(1));
        let cwnd = ((start.initial_window.max(1.0) * mss as f64) as u64).min(LARGEST);
        Self { rate: payload(megabits), cwnd, mss, open: false }
    }
}

impl Controller for PureRate {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.open |= ack.acked > 0 && flow.rtt.is_some();
        // As much as the peer takes.
        self.cwnd = if self.open { flow.rwnd.clamp(self.mss, LARGEST) } else { self.cwnd };
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Undo(before) => self.cwnd = self.cwnd.max(before.cwnd.min(LARGEST)),
            Event::Life(Life::MssChanged) => {
                self.mss = u64::from(flow.mss.max(1));
                self.cwnd = self.cwnd.max(self.mss);
            }
            _ => {}
        }
    }

    fn decision(&self) -> Decision {
        let pacing = if self.open { Pacing::Rate(self.rate) } else { Pacing::Off };
        Decision::of_model(self.cwnd, pacing)
    }

    fn backoff(&self, _flow: &Flow, _why: Congestion) -> Backoff {
        Backoff::of_model(self.cwnd)
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, rate: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::decision::Pacing;
    use crate::event::Congestion;
    use crate::registry::Value;
    use crate::rig::{Rig, text};
    use crate::time::Rate;

    fn vegas(w: f64, t: f64) -> Rig {
        let given =
            [("alpha", Value::Number(1.0)), ("beta", Value::Number(3.0)), ("gamma", Value::Number(1.0))];
        Rig::new("scps-tp", &given, w, t)
    }

    /// scpstp.h: ALPHA 3, BETA 5, GAMMA 4. By hand, BaseRTT 1 s: W = 20 at 1.2 s leaves
    /// 20 - floor(16.67) = 4, which holds. At 1.1 s 20 - 18 = 2, one segment more. 21 at 1.4 s leave
    /// 21 - 15 = 6, one above beta: 1 + 1/2 segments less. The first phase bears 31 - floor(28.18) = 3 and
    /// ends at 63 - floor(57.27) = 6.
    #[test]
    fn the_thresholds_are_those_of_the_reference_implementation() {
        let mut rig = Rig::new("scps-tp", &[], 19.0, 2.0);
        rig.round(1.0);
        rig.round(1.2);
        assert_eq!(rig.w(), 20.0);
        rig.round(1.1);
        assert_eq!(rig.w(), 21.0);
        rig.round(1.4);
        assert_eq!(rig.w(), 19.5);
        let mut rig = Rig::new("scps-tp", &[], 8.0, 1e9);
        rig.round(1.0);
        rig.round(1.1);
        assert!(rig.w() == 32.0 && rig.t() > 1e8, "{} {}", rig.w(), rig.t());
        rig.round(1.1);
        assert_eq!((rig.w(), rig.t()), (63.0, 63.0));
    }

    /// `tp_TFVegas` by hand, BaseRTT 1 s. W = 10 at 1.1 s: 10 - floor(9.09) = 1, which holds. At 2 s:
    /// 10 - 5 = 5, two above beta, so 1 + 1 segments less. W = 8 at 1 s: Diff is 0, one segment more.
    #[test]
    fn the_window_moves_by_whole_segments_of_diff() {
        let mut rig = vegas(10.0, 2.0);
        rig.round(1.0);
        assert_eq!(rig.w(), 11.0);
        let mut rig = vegas(9.0, 2.0);
        rig.round(1.0);
        assert_eq!(rig.w(), 10.0);
        rig.round(1.1);
        assert_eq!(rig.w(), 10.0);
        rig.round(2.0);
        assert_eq!((rig.w(), rig.t()), (8.0, 8.0));
        rig.round(1.0);
        assert_eq!(rig.w(), 9.0);
    }

    /// The exponential phase doubles each round, where Vegas of ns-2 does every other, and ends when a second
    /// segment is queued: 4, 8, 16 at 1 s; at 1.1 s floor(14.5) of 16 leave two.
    #[test]
    fn the_first_phase_doubles_each_round_until_a_queue_shows() {
        let mut rig = vegas(4.0, 1e9);
        rig.round(1.0);
        rig.round(1.0);
        assert_eq!(rig.w(), 16.0);
        rig.round(1.1);
        assert!((30.0..=32.0).contains(&rig.w()) && rig.t() == rig.w(), "{} {}", rig.w(), rig.t());
    }

    /// At one segment the exponential phase begins again.
    #[test]
    fn at_the_bottom_growth_is_exponential_again() {
        let mut rig = vegas(4.0, 2.0);
        rig.round(0.01);
        rig.round(10.0); // 5 - floor(0.005) = 5: 1 + 1 less
        rig.round(10.0); // 3 - 0 = 3 holds
        assert_eq!(rig.w(), 3.0);
        let given = [("alpha", Value::Number(1.0)), ("beta", Value::Number(1.0))];
        let mut rig = Rig::new("scps-tp", &given, 2.0, 2.0);
        rig.ack(1.0, 0.01, 0.01, true);
        rig.round(10.0); // 3 - 0 = 3, two above beta: 2 less
        assert!(rig.w() == 1.0 && rig.t() > 1e13, "{} {}", rig.w(), rig.t());
    }

    /// A loss halves in both modes. What is assumed to be corruption costs Vegas nothing, but a timeout does.
    #[test]
    fn losses_are_answered_by_their_assumed_cause() {
        let after = |given: &[(&str, Value)], why| {
            let mut rig = Rig::new("scps-tp", given, 9.0, 2.0);
            rig.flow.in_flight = 9_000_000;
            rig.congestion(why);
            rig.w()
        };
        assert_eq!(after(&[], Congestion::Loss), 4.5);
        assert_eq!(after(&[("losses", text("corruption"))], Congestion::Loss), 9.0);
        assert_eq!(after(&[("losses", text("corruption"))], Congestion::Timeout), 1.0);
        // Rounded up to whole segments, and never above what is in flight.
        let van_jacobson = [("mode", text("van-jacobson"))];
        assert_eq!(after(&van_jacobson, Congestion::Loss), 5.0);
        let mut rig = Rig::new("scps-tp", &van_jacobson, 40.0, 2.0);
        rig.flow.in_flight = 10_000_000;
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 5.0);
    }

    /// 8 Mbit/s are 1 000 000 bytes per second, whatever happens to the window.
    #[test]
    fn the_rate_is_open_loop() {
        let mut rig = Rig::new("scps-tp", &[("rate", Value::Number(8.0))], 10.0, 100.0);
        for _ in 0..3 {
            assert_eq!(rig.cc.decision().pacing, Pacing::Rate(Rate(1_000_000)));
            rig.round(0.6);
            rig.congestion(Congestion::Loss);
        }
        let mut rig = Rig::new("scps-rate", &[("rate", Value::Number(8.0))], 10.0, 100.0);
        assert_eq!(rig.w(), 10.0);
        rig.ack(1.0, 0.6, 0.6, true);
        let before = rig.cc.decision();
        assert_eq!(before.pacing, Pacing::Rate(Rate(1_000_000)));
        for why in [Congestion::Loss, Congestion::Ecn, Congestion::Timeout] {
            rig.congestion(why);
            assert_eq!(rig.cc.decision(), before);
        }
    }
}
