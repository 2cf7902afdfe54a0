//! One flow: its reports become calls of its controller, and the controller's decisions become orders.

use std::collections::VecDeque;

use bentpipe_cc::{
    Ack, Congestion, Controller, Decision, Event, Flow, Life, Pacing, Phase, Rate, RateSample,
    RecoveryWindow, Rtt, RttSample, Span, Start, Time,
};

use crate::layout::{News, Order, Report, Standing, pace, tells};

/// `Start` and `Report` give the same windows in segments; the kernel's infinite threshold is this.
const INFINITE: u32 = 0x7fff_ffff;

/// The start of a controller that takes over a flow with this report: from the flow's current window.
pub fn start_of(report: &Report) -> Start {
    let ssthresh = if report.ssthresh >= INFINITE { f64::INFINITY } else { f64::from(report.ssthresh) };
    Start {
        mss: report.mss.max(1),
        initial_window: f64::from(report.cwnd.max(1)),
        initial_ssthresh: ssthresh,
    }
}

/// The acknowledgement that the news of a report represents.
pub fn ack_of(news: &News) -> Ack {
    let mut ack = Ack::default();
    ack.acks = news.acks;
    ack.acked = news.acked;
    ack.uncounted = news.uncounted;
    ack.lost = news.lost;
    ack.ce = news.ce;
    ack.round_end = news.round_end != 0;
    ack.rtt = (news.rtt_count > 0).then(|| RttSample {
        min: micros(news.rtt_min_us),
        max: micros(news.rtt_max_us),
        latest: micros(news.rtt_latest_us),
        sum: Span(news.rtt_sum_us.saturating_mul(1000)),
        count: news.rtt_count,
    });
    ack.rate = (news.rate_valid != 0).then_some(RateSample {
        rate: Rate(news.rate),
        app_limited: news.rate_app_limited != 0,
        prior_delivered: news.rate_prior_delivered,
        prior_in_flight: news.rate_prior_in_flight,
    });
    ack
}

fn micros(us: u32) -> Span {
    Span(u64::from(us) * 1000)
}

/// Data in flight by the count of delivered data. The kernel's rate sample gives the data in flight when the
/// ACK came; a controller needs it for the time when the segment was sent.
#[derive(Debug, Default)]
struct Flights(VecDeque<(u64, u64)>);

impl Flights {
    /// Enough for the ACKs of a round trip; the oldest are dropped first.
    const MOST: usize = 1 << 16;

    fn note(&mut self, delivered: u64, in_flight: u64) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((delivered, in_flight));
    }

    /// In flight when the count was `delivered`; forgets all earlier entries.
    fn at(&mut self, delivered: u64) -> Option<u64> {
        while self.0.get(1).is_some_and(|later| later.0 <= delivered) {
            self.0.pop_front();
        }
        self.0.front().filter(|first| first.0 <= delivered).map(|first| first.1)
    }
}

/// A controller and the flow it steers.
#[derive(Debug)]
pub struct Steering {
    controller: Box<dyn Controller>,
    flow: Flow,
    /// The decision in force when the last congestion began.
    before: Decision,
    flights: Flights,
    /// Is the socket to be paced, if the controller leaves it open?
    paced: bool,
    /// Orders given.
    number: u64,
    /// The flow's id, and the last report that was taken in.
    id: u64,
    answers: u64,
    report_ns: u64,
    /// The last report that an order has taken into account; 0 for none.
    answered: u64,
}

impl Steering {
    /// `controller` takes over the flow of `report`.
    pub fn new(controller: Box<dyn Controller>, report: &Report, paced: bool) -> Self {
        let before = controller.decision();
        let mut new = Self {
            controller,
            flow: Flow::default(),
            before,
            flights: Flights::default(),
            paced,
            number: 0,
            id: report.id,
            answers: report.number,
            report_ns: report.t_ns,
            answered: 0,
        };
        new.look(report);
        new.flow.phase = phase(report);
        new
    }

    /// The controller, for traces.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// Number of the last report that was taken in.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Orders given by an agent before this one are counted, too: continues from `number`.
    pub fn count_from(&mut self, number: u64) {
        self.number = number;
    }

    /// Passes the contents of the report to the controller, in the order of [`Controller`]'s contract.
    pub fn on_report(&mut self, report: &Report) {
        let has = |bit: u32| report.tells & bit != 0;
        let mut ack = ack_of(&report.news);
        if let Some(rate) = &mut ack.rate {
            self.flights.note(self.flow.delivered, rate.prior_in_flight);
            rate.prior_in_flight = self.flights.at(rate.prior_delivered).unwrap_or(rate.prior_in_flight);
        }
        self.look(report);
        if let Some(sample) = ack.rtt {
            self.flow.rtt.get_or_insert_default().latest = sample.latest;
        }
        self.answers = report.number;
        self.report_ns = report.t_ns;
        let now = phase(report);
        let anew = has(tells::LOSS | tells::ECN | tells::TIMEOUT);
        if has(tells::MSS) {
            self.controller.on(&self.flow, Event::Life(Life::MssChanged));
        }
        if has(tells::IDLE) {
            self.controller.on(&self.flow, Event::Life(Life::IdleRestart));
        }
        if has(tells::UNDO) {
            self.flow.phase = Phase::Open;
            self.controller.on(&self.flow, Event::Undo(&self.before));
        }
        if has(tells::RECOVERED) && anew {
            // One recovery ended and the next began with the same ACK.
            self.flow.phase = Phase::Open;
            self.controller.on(&self.flow, Event::Life(Life::Recovered));
        }
        for (bit, why) in [
            (tells::ECN, Congestion::Ecn),
            (tells::LOSS, Congestion::Loss),
            (tells::TIMEOUT, Congestion::Timeout),
        ] {
            if has(bit) {
                self.before = self.controller.decision();
                let flow = self.at(why);
                self.controller.on(&flow, Event::Congestion(why));
            }
        }
        let ends = has(tells::RECOVERED) && !anew;
        // The ACK that ends a recovery still belongs to it.
        self.flow.phase = if ends { Phase::Recovery } else { now };
        if has(tells::ACK) {
            self.controller.on_ack(&self.flow, &ack);
        }
        self.flow.phase = now;
        if ends {
            self.controller.on(&self.flow, Event::Life(Life::Recovered));
        }
    }

    /// When [`Steering::on_deadline`] is to be called.
    pub fn deadline(&self) -> Time {
        self.controller.decision().deadline
    }

    /// The controller's deadline has come.
    pub fn on_deadline(&mut self, now: Time) {
        self.flow.now = self.flow.now.max(now);
        self.controller.on(&self.flow, Event::Deadline);
    }

    /// The next order; its sequence count is up to the writer.
    pub fn order(&mut self) -> Order {
        let Decision { cwnd, ssthresh, pacing, .. } = self.controller.decision();
        let standing = |why| {
            let answer = self.controller.backoff(&self.at(why), why);
            Standing { cwnd: answer.cwnd, ssthresh: answer.ssthresh }
        };
        let (pacing, rate) = match pacing {
            Pacing::Off => (pace::OFF, 0),
            Pacing::Rate(rate) => (pace::RATE, rate.0),
            Pacing::Window if self.paced => (pace::WINDOW_ALWAYS, 0),
            Pacing::Window => (pace::WINDOW, 0),
        };
        let order = Order {
            seq: 0,
            pacing,
            own_recovery: u8::from(self.controller.needs().recovery == RecoveryWindow::Controller),
            again: u16::from(self.answered == self.answers),
            id: self.id,
            number: self.number + 1,
            answers: self.answers,
            report_ns: self.report_ns,
            cwnd,
            ssthresh,
            rate,
            loss: standing(Congestion::Loss),
            ecn: standing(Congestion::Ecn),
            timeout: standing(Congestion::Timeout),
            spare: [0; 2],
        };
        self.number += 1;
        self.answered = self.answers;
        order
    }

    /// The flow at congestion: a timeout in a fast recovery finds the window cut already (`tcp_enter_loss`).
    fn at(&self, why: Congestion) -> Flow {
        let mut flow = self.flow;
        flow.reduced = why == Congestion::Timeout && flow.phase == Phase::Recovery;
        flow
    }

    /// Everything of the flow but its phase.
    fn look(&mut self, report: &Report) {
        let flow = &mut self.flow;
        flow.now = flow.now.max(Time(report.t_ns));
        flow.mss = report.mss.max(1);
        flow.in_flight = report.in_flight;
        flow.delivered = report.delivered;
        flow.lost = report.lost;
        flow.round = report.round;
        flow.cwnd_limited = report.cwnd_limited != 0;
        flow.rwnd = report.rwnd;
        if report.srtt_us > 0 {
            let smoothed = micros(report.srtt_us);
            let latest = flow.rtt.map_or(smoothed, |rtt| rtt.latest);
            let min = if report.min_rtt_us > 0 { micros(report.min_rtt_us) } else { smoothed };
            flow.rtt = Some(Rtt { latest, min, smoothed, var: micros(report.rttvar_us) });
        }
    }
}

fn phase(report: &Report) -> Phase {
    match report.phase {
        1 => Phase::Recovery,
        2 => Phase::Loss,
        _ => Phase::Open,
    }
}

#[cfg(test)]
#[path = "steering/tests.rs"]
mod tests;
