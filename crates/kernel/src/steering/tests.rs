use std::cell::RefCell;
use std::rc::Rc;

use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Needs, Pacing, Phase, Rate, RecoveryWindow,
    Span, Start, Time, registry,
};

use super::{Steering, ack_of, start_of};
use crate::layout::{News, Report, pace, tells};

const MSS: u32 = 1000;

/// The report of one ACK for `segments`, after `ms` milliseconds.
fn ack(number: u64, ms: u64, segments: u64) -> Report {
    let acked = segments * u64::from(MSS);
    Report {
        id: 7,
        number,
        t_ns: ms * 1_000_000,
        tells: tells::ACK,
        mss: MSS,
        in_flight: 10 * u64::from(MSS),
        delivered: number * acked,
        srtt_us: 100_000,
        rttvar_us: 1000,
        min_rtt_us: 90_000,
        cwnd_limited: 1,
        cwnd: 10,
        ssthresh: 0x7fff_ffff,
        rwnd: 1 << 20,
        news: News {
            acked,
            acks: 1,
            rtt_count: 1,
            rtt_min_us: 95_000,
            rtt_max_us: 95_000,
            rtt_latest_us: 95_000,
            rtt_sum_us: 95_000,
            ..News::default()
        },
        ..Report::default()
    }
}

fn opened() -> Report {
    Report { tells: tells::OPEN, news: News::default(), delivered: 0, ..ack(1, 0, 0) }
}

fn reno() -> Steering {
    let start = start_of(&opened());
    Steering::new(registry::build("reno", &[], start).expect("registered"), &opened(), false)
}

/// Writes down the reports it gets.
#[derive(Debug, Clone, Default)]
struct Diary(Rc<RefCell<Vec<String>>>);

// SAFETY: only this test's thread has it.
unsafe impl Send for Diary {}

impl Diary {
    fn note(&self, what: &str, flow: &Flow) {
        self.0.borrow_mut().push(format!("{what} {:?}", flow.phase));
    }
}

impl Controller for Diary {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let rate = ack.rate.map_or(String::new(), |rate| format!(" {}", rate.prior_in_flight));
        self.note(&format!("ack {}{rate}", ack.acked), flow);
    }
    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        let what = match event {
            Event::Congestion(why) => format!("{why:?}"),
            Event::Undo(before) => format!("undo to {}", before.cwnd),
            Event::Life(what) => format!("{what:?}"),
            Event::Deadline => format!("deadline {}", flow.now.0),
            other => format!("{other:?}"),
        };
        self.note(&what, flow);
    }
    fn decision(&self) -> Decision {
        let calls = self.0.borrow().len() as u64;
        Decision { cwnd: 1000 + calls, ssthresh: u64::MAX, pacing: Pacing::Rate(Rate(5)), deadline: Time(9) }
    }
    fn backoff(&self, _: &Flow, why: Congestion) -> Backoff {
        let n = why as u64 + 1;
        Backoff { cwnd: 10 * n, ssthresh: 100 * n, repeat: false }
    }
    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryWindow::Controller, ..Needs::default() }
    }
}

fn told(reports: &[Report]) -> Vec<String> {
    let diary = Diary::default();
    let mut steering = Steering::new(Box::new(diary.clone()), &opened(), false);
    reports.iter().for_each(|report| steering.on_report(report));
    diary.0.borrow().clone()
}

#[test]
fn a_flow_starts_where_it_is() {
    let fresh = start_of(&opened());
    assert_eq!(fresh, Start { mss: MSS, initial_window: 10.0, initial_ssthresh: f64::INFINITY });
    let older = start_of(&Report { cwnd: 300, ssthresh: 150, ..opened() });
    assert_eq!((older.initial_window, older.initial_ssthresh), (300.0, 150.0));
    let order = reno().order();
    assert_eq!((order.id, order.number, order.answers, order.cwnd), (7, 1, 1, 10_000));
}

/// Slow start adds what is acknowledged, and each order says what a congestion would do now.
#[test]
fn a_known_series_of_acks_gives_known_orders() {
    let mut steering = reno();
    for n in 0..5 {
        steering.on_report(&ack(n + 2, 100 + n, 2));
        let order = steering.order();
        let cwnd = (10 + 2 * (n + 1)) * u64::from(MSS);
        assert_eq!((order.cwnd, order.answers, order.report_ns), (cwnd, n + 2, (100 + n) * 1_000_000));
        assert_eq!((order.loss.cwnd, order.loss.ssthresh), (cwnd / 2, cwnd / 2));
        assert_eq!((order.timeout.cwnd, order.timeout.ssthresh), (1000, cwnd / 2));
        assert_eq!((order.pacing, order.own_recovery), (pace::WINDOW, 0));
    }
    let lost = Report { tells: tells::ACK | tells::LOSS, phase: 1, ..ack(8, 200, 1) };
    steering.on_report(&lost);
    assert_eq!((steering.order().cwnd, steering.order().ssthresh), (10_000, 10_000));
}

/// Two ACKs folded into one report are the same to a window algorithm as two reports.
#[test]
fn folded_news_count_like_single_ones() {
    let (mut one, mut two) = (reno(), reno());
    two.on_report(&ack(2, 100, 2));
    two.on_report(&ack(3, 101, 2));
    one.on_report(&ack(2, 101, 4));
    assert_eq!(one.order().cwnd, two.order().cwnd);
}

/// The kernel's fold is [`Ack::merge`]: what `ack_of` makes of a sum of news is the merger of
/// what it makes of the parts.
#[test]
fn the_fold_of_the_kernel_is_that_of_the_contract() {
    let sample = |us: u32, rate: u64, limited: u8| News {
        acked: 10,
        uncounted: 3,
        lost: 1,
        ce: 2,
        rtt_sum_us: us.into(),
        rate,
        rate_prior_delivered: 50,
        rate_prior_in_flight: 70,
        acks: 1,
        rtt_count: 1,
        rtt_min_us: us,
        rtt_max_us: us,
        rtt_latest_us: us,
        rate_valid: 1,
        rate_app_limited: limited,
        round_end: u8::from(us == 300),
        pad: 0,
    };
    let parts = [sample(300, 5, 0), sample(100, 9, 1), sample(200, 4, 0)];
    let left = parts.iter().fold(Ack::default(), |mut sum, part| {
        sum.merge(&ack_of(part));
        sum
    });
    let mut later = ack_of(&parts[1]);
    later.merge(&ack_of(&parts[2]));
    let mut right = ack_of(&parts[0]);
    right.merge(&later);
    assert_eq!(left, right);
    let whole = News {
        acked: 30,
        uncounted: 9,
        lost: 3,
        ce: 6,
        rtt_sum_us: 600,
        acks: 3,
        rtt_count: 3,
        rtt_min_us: 100,
        rtt_latest_us: 200,
        ..sample(300, 5, 0)
    };
    assert_eq!(ack_of(&whole), left);
    let rtt = left.rtt.expect("sampled");
    assert_eq!((rtt.min, rtt.max, rtt.latest), (Span(100_000), Span(300_000), Span(200_000)));
}

#[test]
fn a_report_is_told_in_the_order_of_the_contract() {
    let all = tells::ACK | tells::UNDO | tells::IDLE | tells::MSS | tells::TIMEOUT;
    let report = Report { tells: all, phase: 2, ..ack(2, 100, 1) };
    let expected =
        ["MssChanged Open", "IdleRestart Open", "undo to 1000 Open", "Timeout Open", "ack 1000 Loss"];
    assert_eq!(told(&[report]), expected);
}

#[test]
fn recovery_goes_on_through_the_ack_that_ends_it() {
    let enter = Report { tells: tells::ACK | tells::LOSS, phase: 1, ..ack(2, 100, 1) };
    let leave = Report { tells: tells::ACK | tells::RECOVERED, ..ack(3, 101, 1) };
    assert_eq!(
        told(&[enter, leave]),
        ["Loss Open", "ack 1000 Recovery", "ack 1000 Recovery", "Recovered Open"]
    );
    let again = Report { tells: tells::ACK | tells::RECOVERED | tells::LOSS, phase: 1, ..ack(3, 101, 1) };
    let expected = ["Loss Open", "ack 1000 Recovery", "Recovered Open", "Loss Open", "ack 1000 Recovery"];
    assert_eq!(told(&[enter, again]), expected);
}

/// What was in flight when the sampled segment was sent: just before the ACK came that followed.
#[test]
fn a_rate_sample_tells_what_was_in_flight_when_its_segment_was_sent() {
    let sampled = |number: u64, prior: u64, flight: u64| {
        let mut report = ack(number, 100, 1);
        report.news = News {
            rate_valid: 1,
            rate: 1,
            rate_prior_delivered: prior,
            rate_prior_in_flight: flight,
            ..report.news
        };
        report
    };
    // Delivered before these ACKs: 0, 2000, 3000; in flight then: 11, 22, 33.
    let reports = [sampled(2, 0, 11), sampled(3, 0, 22), sampled(4, 2000, 33)];
    assert_eq!(told(&reports), ["ack 1000 11 Open", "ack 1000 11 Open", "ack 1000 22 Open"]);
}

#[test]
fn an_order_carries_every_part_of_a_decision() {
    let mut steering = Steering::new(Box::new(Diary::default()), &opened(), true);
    steering.count_from(41);
    let order = steering.order();
    assert_eq!((order.number, order.cwnd, order.ssthresh), (42, 1000, u64::MAX));
    assert_eq!((order.pacing, order.rate, order.own_recovery), (pace::RATE, 5, 1));
    let answers = [order.ecn, order.loss, order.timeout].map(|answer| (answer.cwnd, answer.ssthresh));
    assert_eq!(answers, [(10, 100), (20, 200), (30, 300)]);
    assert_eq!(steering.deadline(), Time(9));
    assert_eq!(order.again, 0);
    steering.on_deadline(Time(12));
    let later = steering.order();
    assert_eq!((later.cwnd, later.number, later.again), (1001, 43, 1));
}

#[test]
fn a_window_is_paced_only_where_that_is_wanted() {
    let build = || registry::build("reno", &[], start_of(&opened())).expect("registered");
    assert_eq!(Steering::new(build(), &opened(), false).order().pacing, pace::WINDOW);
    assert_eq!(Steering::new(build(), &opened(), true).order().pacing, pace::WINDOW_ALWAYS);
}

#[test]
fn the_phase_of_a_flow_that_is_taken_up_is_the_kernels() {
    for (phase, expected) in [(0, Phase::Open), (1, Phase::Recovery), (2, Phase::Loss)] {
        let steering = Steering::new(Box::new(Diary::default()), &Report { phase, ..opened() }, false);
        assert_eq!(steering.flow.phase, expected);
    }
}
