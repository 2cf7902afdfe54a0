//! Controllers that a user of the page writes in JavaScript, with the methods of docs/own-controller.md.
//!
//! A call hands over [`Numbers`]: what the class has set, the flow, and the acknowledgement or the hint. A
//! value that is not there is NaN. `calls.js` turns them into the objects that the class gets, and checks
//! what it sets. A class that errs ends the run: the page throws an exception, and starts the module anew.

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Life, Needs, Pacing, Phase, Rate, Rtt, Span,
    Start, Time,
};

/// What passes in a call: `cwnd` and `ssthresh` in segments, `pacing_rate` in bytes per second; from
/// number 3 on the flow; from number 17 on the acknowledgement or the hint.
pub type Numbers = [f64; 28];

/// Where the flow begins.
const FLOW: usize = 3;
/// Where the acknowledgement or the hint begins.
const REPORT: usize = 17;

/// The number of a call of a method, as in `CALLS` of `calls.js`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Call {
    OnAck,
    OnLoss,
    OnEcn,
    OnTimeout,
    OnUndo,
    OnIdleRestart,
    OnRecovered,
    OnMssChanged,
    OnWindowValidated,
    BackoffAtLoss,
    BackoffAtEcn,
    BackoffAtTimeout,
    /// The first of [`Hint::METHODS`](bentpipe_cc::Hint::METHODS); the others follow.
    OnHint,
}

/// The functions of the page that has the classes.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Makes a controller of a class for a flow. The numbers hold the size of a segment, the initial window
    /// and threshold; then what the class has set, and whether it has `on_path_change` and `probes`. The
    /// answer is the controller's number, none if there is no such class.
    pub make: fn(class: &str, flow: &str, numbers: &mut Numbers) -> Option<u32>,
    /// Calls a method. `cwnd` becomes NaN if the class lacks `backoff`.
    pub call: fn(number: u32, call: u32, numbers: &mut Numbers),
    /// Calls `probes` at this instant of the run, in seconds. The answer has each name and its value, NaN if
    /// it is not known.
    pub probes: fn(number: u32, now_s: f64) -> Vec<(String, f64)>,
}

impl Page {
    /// The controller of a class for a flow.
    ///
    /// # Errors
    /// The page has no such class.
    pub fn supply(self, class: &str, flow: &str, start: Start) -> Result<Box<dyn Controller>, String> {
        let mut numbers = [f64::NAN; 28];
        numbers[..3].copy_from_slice(&[f64::from(start.mss), start.initial_window, start.initial_ssthresh]);
        let number = (self.make)(class, flow, &mut numbers).ok_or_else(|| {
            format!("the editor has no class {class}; write class {class} extends Controller")
        })?;
        let mss = f64::from(start.mss);
        let decision = decided(&numbers, mss);
        let [hinted, probed, rated] = [0, 1, 2].map(|place| numbers[FLOW + place] > 0.0);
        Ok(Box::new(Own { page: self, number, mss, hinted, rated, probed, now: Time(0), decision }))
    }
}

/// A controller of the page.
#[derive(Debug)]
struct Own {
    page: Page,
    number: u32,
    mss: f64,
    /// Does the class have `on_path_change`?
    hinted: bool,
    /// Does it have `on_link_quality`?
    rated: bool,
    /// Does it have `probes`?
    probed: bool,
    /// The instant of the last call.
    now: Time,
    decision: Decision,
}

impl Own {
    fn call(&mut self, call: u32, flow: &Flow, report: &[f64]) {
        let mut numbers = numbers_of(flow);
        numbers[REPORT..REPORT + report.len()].copy_from_slice(report);
        self.hand(call, flow, &mut numbers);
    }

    /// Calls a method after the class's window and threshold have become these bytes.
    fn given(&mut self, call: u32, flow: &Flow, cwnd: u64, ssthresh: u64) {
        let mut numbers = numbers_of(flow);
        numbers[0] = cwnd as f64 / self.mss;
        numbers[1] = if ssthresh == u64::MAX { f64::INFINITY } else { ssthresh as f64 / self.mss };
        self.hand(call, flow, &mut numbers);
    }

    fn hand(&mut self, call: u32, flow: &Flow, numbers: &mut Numbers) {
        self.now = flow.now;
        (self.page.call)(self.number, call, numbers);
        self.decision = decided(numbers, self.mss);
    }
}

/// The numbers of a flow. Window and threshold are not there, so they stay as the class has set them, which
/// may be finer than bytes.
fn numbers_of(flow: &Flow) -> Numbers {
    let mut numbers = [f64::NAN; 28];
    let rtt = |part: fn(&Rtt) -> Span| flow.rtt.as_ref().map_or(f64::NAN, |rtt| part(rtt).secs());
    numbers[FLOW..REPORT].copy_from_slice(&[
        flow.now.secs(),
        f64::from(flow.mss),
        flow.in_flight as f64,
        flow.delivered as f64,
        flow.lost as f64,
        rtt(|r| r.latest),
        rtt(|r| r.min),
        rtt(|r| r.smoothed),
        rtt(|r| r.var),
        flow.round as f64,
        match flow.phase {
            Phase::Open => 0.0,
            Phase::Recovery => 1.0,
            Phase::Loss => 2.0,
        },
        f64::from(flow.cwnd_limited),
        f64::from(flow.reduced),
        if flow.rwnd < u64::MAX { flow.rwnd as f64 } else { f64::NAN },
    ]);
    numbers
}

/// The names and values of probes in a text: each has a NUL byte behind it.
pub fn listed(text: &str) -> Vec<(String, f64)> {
    let words: Vec<&str> = text.split_terminator('\0').collect();
    words.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap_or(f64::NAN))).collect()
}

/// What the class has set, which the page has checked.
fn decided(numbers: &Numbers, mss: f64) -> Decision {
    let [cwnd, ssthresh, rate, ..] = *numbers;
    Decision {
        cwnd: (cwnd.max(1.0) * mss) as u64,
        ssthresh: (ssthresh * mss) as u64,
        pacing: if rate.is_nan() { Pacing::Window } else { Pacing::Rate(Rate(rate as u64)) },
        deadline: Time::MAX,
    }
}

impl Controller for Own {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let nan = f64::NAN;
        let report = [
            f64::from(ack.acks),
            ack.acked as f64,
            ack.lost as f64,
            ack.uncounted as f64,
            ack.ce as f64,
            f64::from(ack.round_end),
            ack.rtt.map_or(nan, |r| r.mean_secs()),
            ack.rtt.map_or(nan, |r| r.min.secs()),
            ack.rtt.map_or(nan, |r| r.max.secs()),
            ack.rate.map_or(nan, |r| r.rate.0 as f64),
            f64::from(ack.rate.is_some_and(|r| r.app_limited)),
        ];
        self.call(Call::OnAck as u32, flow, &report);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(Congestion::Loss) => self.call(Call::OnLoss as u32, flow, &[]),
            Event::Congestion(Congestion::Ecn) => self.call(Call::OnEcn as u32, flow, &[]),
            Event::Congestion(Congestion::Timeout) => self.call(Call::OnTimeout as u32, flow, &[]),
            Event::Undo(before) => {
                let cwnd = self.decision.cwnd.max(before.cwnd);
                let ssthresh = self.decision.ssthresh.max(before.ssthresh);
                self.given(Call::OnUndo as u32, flow, cwnd, ssthresh);
            }
            Event::Validation { cwnd, ssthresh } => {
                self.given(Call::OnWindowValidated as u32, flow, cwnd, ssthresh)
            }
            Event::Life(Life::IdleRestart) => self.call(Call::OnIdleRestart as u32, flow, &[]),
            Event::Life(Life::Recovered) => self.call(Call::OnRecovered as u32, flow, &[]),
            Event::Life(Life::MssChanged) => self.call(Call::OnMssChanged as u32, flow, &[]),
            Event::Hint(hint) => {
                let (kind, values) = hint.call();
                let report: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
                self.call(Call::OnHint as u32 + kind as u32, flow, &report);
            }
            // What a controller gets that says that it needs it.
            Event::Subflows { .. }
            | Event::Departure(_)
            | Event::Header(_)
            | Event::Room(_)
            | Event::ExtraAcked
            | Event::Deadline => {}
        }
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        let call = match why {
            Congestion::Loss => Call::BackoffAtLoss,
            Congestion::Ecn => Call::BackoffAtEcn,
            Congestion::Timeout => Call::BackoffAtTimeout,
        };
        let mut numbers = numbers_of(flow);
        (self.page.call)(self.number, call as u32, &mut numbers);
        let half = self.decision.cwnd / 2;
        let (cwnd, ssthresh) = if numbers[0].is_nan() {
            (half, half)
        } else {
            let announced = decided(&numbers, self.mss);
            (announced.cwnd, announced.ssthresh)
        };
        Backoff { cwnd, ssthresh, repeat: false }
    }

    fn needs(&self) -> Needs {
        Needs { rate: true, path_change: self.hinted, link_quality: self.rated, ..Needs::default() }
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        if self.probed {
            (self.page.probes)(self.number, self.now.secs())
                .iter()
                .for_each(|(name, value)| emit(name, *value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    /// A class whose window is the call's number plus the seconds of the flow's clock, without a threshold.
    fn call(number: u32, call: u32, numbers: &mut Numbers) {
        numbers[0] =
            if call == Call::BackoffAtEcn as u32 { f64::NAN } else { f64::from(call) + numbers[FLOW] };
        numbers[1] = f64::INFINITY;
        numbers[2] = if number == 7 { numbers[REPORT] } else { f64::NAN };
    }

    fn make(class: &str, flow: &str, numbers: &mut Numbers) -> Option<u32> {
        numbers[0] = numbers[1] + f64::from(flow == "one");
        numbers[1] = numbers[2];
        numbers[2] = f64::NAN;
        numbers[FLOW] = 1.0;
        numbers[FLOW + 1] = f64::from(flow == "one");
        (class == "Mine").then_some(7)
    }

    fn probes(number: u32, now_s: f64) -> Vec<(String, f64)> {
        vec![("number".to_owned(), f64::from(number)), ("now_s".to_owned(), now_s)]
    }

    const PAGE: Page = Page { make, call, probes };

    fn own_of(flow: &str) -> Box<dyn Controller> {
        let start = Start { mss: MSS, initial_window: 10.0, initial_ssthresh: 64.0 };
        PAGE.supply("Mine", flow, start).expect("a class")
    }

    fn own() -> Box<dyn Controller> {
        own_of("one")
    }

    fn probed(own: &dyn Controller) -> Vec<(String, f64)> {
        let mut all = Vec::new();
        own.probe(&mut |name, value| all.push((name.to_owned(), value)));
        all
    }

    #[test]
    fn probes_are_asked_of_a_class_that_has_them_at_the_instant_of_its_last_call() {
        let mut flow = Flow::default();
        (flow.now, flow.mss) = (Time(2_000_000_000), MSS);
        let mut own = own();
        own.on(&flow, Event::Congestion(Congestion::Loss));
        assert_eq!(probed(&*own), [("number".to_owned(), 7.0), ("now_s".to_owned(), 2.0)]);
        assert_eq!(probed(&*own_of("two")), []);
    }

    #[test]
    fn a_class_begins_with_the_window_and_the_threshold_that_it_sets() {
        let own = own();
        let decision = own.decision();
        assert_eq!((decision.cwnd, decision.ssthresh, decision.pacing), (11_000, 64_000, Pacing::Window));
        assert!(own.needs().path_change && own.needs().rate);
    }

    #[test]
    fn a_class_that_is_not_there_is_named() {
        let start = Start { mss: MSS, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        let message = PAGE.supply("Yours", "one", start).expect_err("no class");
        assert!(message.contains("no class Yours"), "{message}");
    }

    #[test]
    fn probes_in_a_text_have_numbers_as_the_page_writes_them() {
        let all = listed("base_rtt_s\x000.5\0window\0Infinity\0rate\0NaN\0");
        assert_eq!(all[..2], [("base_rtt_s".to_owned(), 0.5), ("window".to_owned(), f64::INFINITY)]);
        assert!(all[2].0 == "rate" && all[2].1.is_nan() && all.len() == 3);
    }

    #[test]
    fn each_event_is_the_call_of_its_own() {
        let mut flow = Flow::default();
        (flow.now, flow.mss) = (Time(2_000_000_000), MSS);
        let mut own = own();
        let mut ack = Ack::default();
        ack.acks = 3;
        own.on_ack(&flow, &ack);
        let decision = own.decision();
        assert_eq!(decision.cwnd, 2000, "on_ack is call 0, and the clock says 2 s");
        assert_eq!((decision.ssthresh, decision.pacing), (u64::MAX, Pacing::Rate(Rate(3))));
        for (why, number) in [(Congestion::Loss, 1), (Congestion::Ecn, 2), (Congestion::Timeout, 3)] {
            own.on(&flow, Event::Congestion(why));
            assert_eq!(own.decision().cwnd, (number + 2) * 1000);
        }
        assert_eq!(own.backoff(&flow, Congestion::Loss).cwnd, 11_000);
        assert_eq!(own.backoff(&flow, Congestion::Ecn).cwnd, 2500, "half, if the class has no backoff");
    }
}
