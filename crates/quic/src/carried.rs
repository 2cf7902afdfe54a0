//! What quinn's trait carries of each algorithm, determined by testing the algorithms.

use bentpipe_cc::registry::{self, Entry};
use bentpipe_cc::{
    Ack, Congestion, Controller, Event, Flow, Life, Pacing, Rate, RateSample, RecoveryWindow, Rtt, RttSample,
};
use bentpipe_cc::{Span, Start, Time};

/// Bytes of a segment in the trial.
const MSS: u32 = 1200;
/// Round trips of the trial before the question is asked.
const ROUNDS: usize = 40;
/// The round trip of the trial.
const ROUND_TRIP: Span = Span::from_millis(100);

/// How an algorithm wants its packets spread in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnPacing {
    /// It leaves that to the sender. quinn paces at 1.25 window / SRTT.
    Sender,
    /// At a rate that never holds back what its window allows. quinn's own pacing takes its place.
    Faster,
    /// At a rate that holds back more than its window. quinn gets the window rate times SRTT.
    Binding,
}

/// One algorithm under quinn.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The algorithm.
    pub entry: &'static Entry,
    /// Its pacing.
    pub pacing: OwnPacing,
    /// It drives its window in fast recovery itself, as quinn expects. For the others quinn has no
    /// proportional rate reduction: it stops until the data in flight is less than the window.
    pub own_recovery: bool,
    /// A spurious loss would be undone, but quinn does not report it.
    pub undo: bool,
    /// It answers an ECN mark. quinn reports that there was one, not how many bytes were marked.
    pub ecn: bool,
    /// It reads delivery-rate samples. They are computed from quinn's calls; packets sent between two ACKs
    /// share their stamp.
    pub rate_samples: bool,
    /// It has a timer. Its expiry is reported late, with the next packet that is sent or acknowledged.
    pub timer: bool,
    /// It answers the restart after a pause of the application. The restart is reported once the first packet
    /// after the pause has been sent.
    pub restart: bool,
    /// It reads the peer's receive window, which quinn does not report.
    pub receive_window: bool,
    /// It uses hints that the path changes hands, which nobody gives under quinn.
    pub path_hints: bool,
    /// It has a part at the receiving end, which QUIC lacks: no acknowledgement carries that part's answers.
    pub receiver: bool,
    /// It looks at the other subflows of its connection; there are none.
    pub subflows: bool,
}

/// Every algorithm of the registry, with its defaults, in the registry's order.
pub fn all() -> Vec<Carried> {
    registry::all().iter().map(one).collect()
}

impl Carried {
    /// What the algorithm asks of its sender and QUIC has no counterpart for: options by their names in a
    /// scenario.
    pub fn sender_options(&self) -> impl Iterator<Item = &'static str> {
        let asked = self.entry.sender;
        let queue = asked.queue.is_some();
        [
            ("aen", asked.aen),
            ("bulk_repeat", asked.bulk_repeat),
            ("fixed_rto", asked.fixed_rto),
            ("queue", queue),
            ("extra segments", self.entry.needs().extra_segments),
        ]
        .into_iter()
        .filter_map(|(name, on)| on.then_some(name))
    }
}

fn one(entry: &'static Entry) -> Carried {
    let plain = Trial::run(entry, u64::MAX);
    let after = |event: &dyn Fn(&mut Trial)| {
        let mut trial = Trial::run(entry, u64::MAX);
        event(&mut trial);
        trial
    };
    let changes = |event: &dyn Fn(&mut Trial)| after(event).state() != plain.state();
    let lost = after(&|trial| trial.cc.on(&trial.flow, Event::Congestion(Congestion::Loss)));
    let undone = after(&|trial| {
        let before = trial.cc.decision();
        trial.cc.on(&trial.flow, Event::Congestion(Congestion::Loss));
        trial.cc.on(&trial.flow, Event::Undo(&before));
    });
    let needs = entry.needs();
    Carried {
        entry,
        pacing: plain.pacing,
        own_recovery: needs.recovery == RecoveryWindow::Controller,
        undo: undone.state() != lost.state(),
        ecn: changes(&|trial| trial.cc.on(&trial.flow, Event::Congestion(Congestion::Ecn))),
        rate_samples: needs.rate,
        timer: plain.timer,
        restart: changes(&|trial| trial.restart()),
        receive_window: Trial::run(entry, 20 * u64::from(MSS)).state() != plain.state(),
        path_hints: needs.path_change,
        receiver: needs.echo.is_some(),
        subflows: needs.subflows,
    }
}

/// An algorithm that has met slow start, a loss and congestion avoidance on a path
/// whose queue comes and goes.
struct Trial {
    cc: Box<dyn Controller>,
    flow: Flow,
    pacing: OwnPacing,
    timer: bool,
}

impl Trial {
    fn run(entry: &'static Entry, rwnd: u64) -> Self {
        let start = Start { mss: MSS, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        let cc = registry::build(entry.id, &[], start).expect("an entry builds with its defaults");
        let mut flow = Flow::default();
        (flow.mss, flow.rwnd, flow.cwnd_limited) = (MSS, rwnd, true);
        let mut trial = Self { cc, flow, pacing: OwnPacing::Sender, timer: false };
        for round in 0..ROUNDS {
            if round == 5 {
                trial.lose();
            }
            trial.round(Span(ROUND_TRIP.0 + 5_000_000 * (round % 4) as u64));
        }
        trial
    }

    /// Sends data again after ten seconds without any.
    fn restart(&mut self) {
        self.flow.now = self.flow.now + Span::from_millis(10_000);
        self.flow.in_flight = 0;
        self.cc.on(&self.flow, Event::Life(Life::IdleRestart));
    }

    fn state(&self) -> String {
        format!("{:?} {:?}", self.cc, self.cc.decision())
    }

    fn lose(&mut self) {
        self.flow.lost += u64::from(MSS);
        self.cc.on(&self.flow, Event::Congestion(Congestion::Loss));
        self.flow.phase = bentpipe_cc::Phase::Recovery;
        self.round(ROUND_TRIP);
        self.flow.phase = bentpipe_cc::Phase::Open;
        self.cc.on(&self.flow, Event::Life(Life::Recovered));
    }

    /// A window is acknowledged, in ten ACKs.
    fn round(&mut self, rtt: Span) {
        let window = self.cc.decision().cwnd.min(200 * u64::from(MSS));
        let before = self.flow.delivered;
        for i in 0..10 {
            let flow = &mut self.flow;
            flow.now = Time(flow.now.0 + rtt.0 / 10);
            flow.in_flight = window;
            let mut ack = Ack::default();
            (ack.acks, ack.acked) = (1, (window / 10).max(1));
            flow.delivered += ack.acked;
            flow.rtt = Some(Rtt { latest: rtt, min: ROUND_TRIP, smoothed: rtt, var: Span(rtt.0 / 8) });
            ack.round_end = i == 9;
            flow.round += u64::from(ack.round_end);
            ack.rtt = Some(RttSample::one(rtt));
            ack.rate = Some(RateSample {
                rate: Rate((window as f64 / rtt.secs()) as u64),
                app_limited: false,
                prior_delivered: before,
                prior_in_flight: window,
            });
            self.cc.on_ack(&self.flow, &ack);
            self.look(rtt);
        }
    }

    fn look(&mut self, srtt: Span) {
        let decision = self.cc.decision();
        self.timer |= decision.deadline != Time::MAX;
        if let Pacing::Rate(rate) = decision.pacing {
            let binds = rate.bytes_per_sec() * srtt.secs() < decision.cwnd as f64;
            if binds || self.pacing == OwnPacing::Sender {
                self.pacing = if binds { OwnPacing::Binding } else { OwnPacing::Faster };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnPacing, all};

    fn of(id: &str) -> super::Carried {
        all().into_iter().find(|carried| carried.entry.id == id).expect("registered")
    }

    /// What their papers say: Reno is a window; BBR a rate with a model; TFRC (RFC 5348 section 4.3)
    /// a rate with a nofeedback timer; Copa paces at twice its window; HSWA's eq. 4 bounds the
    /// window by the receiver's.
    #[test]
    fn the_table_knows_what_papers_say() {
        let (reno, bbr, tfrc, copa) = (of("reno"), of("bbr"), of("tfrc"), of("copa"));
        assert_eq!(
            (reno.pacing, reno.own_recovery, reno.undo, reno.timer),
            (OwnPacing::Sender, false, true, false)
        );
        assert_eq!((bbr.pacing, bbr.own_recovery, bbr.rate_samples), (OwnPacing::Binding, true, true));
        assert_eq!((tfrc.pacing, tfrc.timer), (OwnPacing::Binding, true));
        assert_eq!(copa.pacing, OwnPacing::Faster);
        assert!(reno.ecn && !bbr.ecn, "BBR version 1 ignores marks");
        assert!(of("star").sender_options().eq(["aen"]));
        assert!(of("peach").sender_options().eq(["extra segments"]));
        assert!(of("tear").receiver && of("xcp").receiver && !reno.receiver);
        assert!(of("lia").subflows && !reno.subflows);
        assert!(of("cubic").restart && !reno.restart);
        assert!(!reno.receive_window);
    }
}
