//! Laws that every registered controller keeps, for any parameters within their ranges
//! and any order of events.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use bentpipe_cc::registry::{self, Entry, Kind, Value};
use bentpipe_cc::{
    Ack, Congestion, Controller, Decision, Event, ExtraOrder, Flow, Header, Hint, Life, Needs, PathChange,
    Phase, Rate, RateChange, RateSample, RecoveryWindow, Rtt, RttSample, Span, Start, Subflow, Time,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Something that a sender may tell a controller.
#[derive(Clone, Debug)]
enum Op {
    Ack {
        report: Ack,
        flow: Change,
    },
    Congestion(Congestion),
    /// Undo to the decision that stood when the last episode began, or to an arbitrary one.
    Undo(Option<(u64, u64)>),
    Life(Life),
    Hint(Hint),
    Mss(u32),
    Deadline,
    /// The sender asks for extra segments, and this many that it sent are acknowledged.
    ExtraSegments(u8),
}

/// What an acknowledgement changes in the flow.
#[derive(Clone, Debug)]
struct Change {
    elapsed: u64,
    in_flight: u64,
    phase: Phase,
    limited: bool,
    rwnd: u64,
}

/// Everything one case needs: where in their ranges the parameters lie, how the
/// connection starts, and the events.
#[derive(Clone, Debug)]
struct Case {
    params: Vec<f64>,
    start: Start,
    ops: Vec<Op>,
}

/// Mostly everyday values, sometimes the extremes.
fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 6 => 1_000_u64..2_000_000_000, 1 => 0..=u64::MAX]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 6 => 1_u64..100_000, 1 => 0..=u64::MAX]
}

fn rtt() -> impl Strategy<Value = RttSample> {
    (nanos(), nanos(), nanos(), 1..100_u32).prop_map(|(a, b, c, count)| {
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        let sum = Span(min.saturating_mul(u64::from(count)));
        RttSample { min: Span(min), max: Span(max), latest: Span(c), sum, count }
    })
}

fn rate() -> impl Strategy<Value = RateSample> {
    (any::<u64>(), any::<bool>(), any::<u64>(), any::<u64>()).prop_map(
        |(rate, app_limited, delivered, flight)| RateSample {
            rate: Rate(rate),
            app_limited,
            prior_delivered: delivered,
            prior_in_flight: flight,
        },
    )
}

fn report() -> impl Strategy<Value = Ack> {
    let options = (proptest::option::of(rtt()), proptest::option::of(rate()));
    let uncounted = prop_oneof![5 => Just(0), 1 => bytes(), 2 => Just(u64::MAX)];
    (1..100_u32, (bytes(), uncounted), bytes(), bytes(), any::<bool>(), options).prop_map(
        |(acks, (acked, uncounted), lost, ce, round_end, (rtt, rate))| {
            let mut ack = Ack::default();
            ack.uncounted = acked.min(uncounted); // all of it: the acknowledgement did not advance
            (ack.acks, ack.acked, ack.lost, ack.ce) = (acks, acked, lost, ce);
            (ack.round_end, ack.rtt, ack.rate) = (round_end, rtt, rate);
            ack
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let phase = prop_oneof![6 => Just(Phase::Open), 1 => Just(Phase::Recovery), 2 => Just(Phase::Loss)];
    let rwnd = prop_oneof![3 => Just(u64::MAX), 1 => bytes()];
    (nanos(), bytes(), phase, proptest::bool::weighted(0.8), rwnd).prop_map(
        |(elapsed, in_flight, phase, limited, rwnd)| Change { elapsed, in_flight, phase, limited, rwnd },
    )
}

fn why() -> impl Strategy<Value = Congestion> {
    prop_oneof![Just(Congestion::Ecn), Just(Congestion::Loss), Just(Congestion::Timeout)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (report(), change()).prop_map(|(report, flow)| Op::Ack { report, flow }),
        4 => why().prop_map(Op::Congestion),
        1 => Just(Op::Undo(None)),
        1 => (bytes(), prop_oneof![Just(u64::MAX), bytes()]).prop_map(|before| Op::Undo(Some(before))),
        1 => Just(Op::Life(Life::IdleRestart)),
        2 => Just(Op::Life(Life::Recovered)),
        2 => (nanos(), nanos())
            .prop_map(|(ahead, dark)| PathChange { ahead: Span(ahead), dark: Span(dark) })
            .prop_map(|change| Op::Hint(Hint::PathChange(change))),
        1 => (nanos(), bytes(), bytes())
            .prop_map(|(ahead, from, to)| RateChange { ahead: Span(ahead), from: Rate(from), to: Rate(to) })
            .prop_map(|change| Op::Hint(Hint::RateChange(change))),
        1 => (1..=65_535_u32).prop_map(Op::Mss),
        1 => Just(Op::Deadline),
        1 => (0..20_u8).prop_map(Op::ExtraSegments),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let unit = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 4 => 0.0..1.0_f64];
    let ssthresh = prop_oneof![2 => Just(f64::INFINITY), 1 => Just(0.0), 2 => 0.0..1000.0_f64];
    (vec(unit, 16), 1..=65_535_u32, 0.0..100.0_f64, ssthresh, vec(op(), 0..120)).prop_map(
        |(params, mss, initial_window, initial_ssthresh, ops)| Case {
            params,
            start: Start { mss, initial_window, initial_ssthresh },
            ops,
        },
    )
}

/// Parameter values at the given places of their ranges.
fn values(entry: &Entry, places: &[f64]) -> Vec<(String, Value)> {
    let value = |kind: Kind, x: f64| match kind {
        Kind::Number { min, max, .. } => Value::Number((min + x * (max - min)).clamp(min, max)),
        Kind::Flag { .. } => Value::Flag(x >= 0.5),
        Kind::Choice(names) => {
            Value::Text(names[((x * names.len() as f64) as usize).min(names.len() - 1)].to_string())
        }
    };
    // Every fourth place leaves the parameter out, so that defaults that depend on
    // another parameter are met too.
    let given = |x: f64| !(0.25..0.5).contains(&x);
    let places = entry.parameters().zip(places.iter().cycle()).filter(|(_, x)| given(**x));
    let all: Vec<_> = places.map(|(param, x)| (param.name.to_string(), value(param.kind, *x))).collect();
    // Constants only with the choice that they go with, and a choice only where it has a place.
    let made = |(of, choice): (&str, &str)| {
        all.iter().any(|(name, value)| name == of && *value == Value::Text(choice.to_string()))
    };
    let goes_with = |name: &str| entry.parameters().find(|param| param.name == name)?.goes_with;
    let fitting: Vec<_> = all.iter().filter(|(name, _)| goes_with(name).is_none_or(made)).cloned().collect();
    let start = Start { mss: 1, initial_window: 1.0, initial_ssthresh: 2.0 };
    if registry::build(entry.id, &fitting, start).is_ok() {
        return fitting;
    }
    let own = |name: &str| name == "path_change" || entry.params.iter().any(|param| param.name == name);
    all.into_iter().filter(|(name, _)| own(name)).collect()
}

/// A controller and the flow that is reported to it.
struct Run {
    cc: Box<dyn Controller>,
    flow: Flow,
    before: Decision,
}

impl Run {
    fn new(entry: &Entry, case: &Case) -> Self {
        let cc =
            registry::build(entry.id, &values(entry, &case.params), case.start).expect("within its range");
        let mut flow = Flow::default();
        (flow.mss, flow.rwnd, flow.cwnd_limited) = (case.start.mss, u64::MAX, true);
        let before = cc.decision();
        Self { cc, flow, before }
    }

    /// Brings the flow up to date for a report, as a sender does before it calls a controller.
    fn update(&mut self, report: &Ack, to: &Change) {
        let flow = &mut self.flow;
        flow.now = flow.now + Span(to.elapsed);
        flow.delivered = flow.delivered.saturating_add(report.acked);
        flow.lost = flow.lost.saturating_add(report.lost);
        flow.round += u64::from(report.round_end);
        (flow.in_flight, flow.phase) = (to.in_flight, to.phase);
        (flow.cwnd_limited, flow.rwnd) = (to.limited, to.rwnd);
        flow.reduced = to.phase == Phase::Recovery;
        if let Some(rtt) = report.rtt {
            let min = flow.rtt.map_or(rtt.min, |known| known.min.min(rtt.min));
            flow.rtt =
                Some(Rtt { latest: rtt.latest, min, smoothed: rtt.latest, var: Span(rtt.max.0 - rtt.min.0) });
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Ack { report, flow } => {
                self.update(report, flow);
                self.cc.on_ack(&self.flow, report);
            }
            Op::Congestion(why) => {
                self.before = self.cc.decision();
                self.cc.on(&self.flow, Event::Congestion(*why));
            }
            Op::Undo(arbitrary) => {
                let mut before = self.before;
                if let Some((cwnd, ssthresh)) = *arbitrary {
                    (before.cwnd, before.ssthresh) = (cwnd, ssthresh);
                }
                self.cc.on(&self.flow, Event::Undo(&before));
            }
            Op::Life(what) => self.cc.on(&self.flow, Event::Life(*what)),
            Op::Hint(hint) => self.cc.on(&self.flow, Event::Hint(*hint)),
            Op::Mss(mss) => {
                self.flow.mss = *mss;
                self.cc.on(&self.flow, Event::Life(Life::MssChanged));
            }
            Op::ExtraSegments(acks) => {
                self.extra_order();
                (0..*acks).for_each(|_| self.cc.on(&self.flow, Event::ExtraAcked));
            }
            Op::Deadline => {
                let at = self.cc.decision().deadline;
                if at < Time::MAX {
                    self.flow.now = self.flow.now.max(at);
                    self.cc.on(&self.flow, Event::Deadline);
                }
            }
        }
    }

    fn extra_order(&mut self) -> Option<ExtraOrder> {
        let mut order = None;
        self.cc.on(&self.flow, Event::Room(&mut order));
        order
    }

    /// The state of a second subflow reaches it, and the header of a segment that leaves comes
    /// back; returns the header.
    fn others(&mut self) -> Option<Header> {
        let second = Subflow { cwnd: 20_000, rtt: Some(Span::from_millis(50)), between_losses: 9_000 };
        let all = [Subflow { cwnd: self.cc.decision().cwnd, ..second }, second];
        self.cc.on(&self.flow, Event::Subflows { own: 0, all: &all });
        let mut header = None;
        self.cc.on(&self.flow, Event::Departure(&mut header));
        header.iter().for_each(|header| self.cc.on(&self.flow, Event::Header(header)));
        header
    }

    /// The whole state in words; floating-point numbers are printed so that different bits print differently.
    fn state(&self) -> String {
        format!("{:?} {:?}", self.cc, self.cc.decision())
    }
}

fn runner() -> TestRunner {
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// The cases that a runner would try, the same in every run.
fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        let tried = RefCell::new(Vec::new());
        let all = runner().run(&case(), |case| {
            tried.borrow_mut().push(case);
            Ok(())
        });
        all.expect("no law, no breach");
        tried.into_inner()
    })
}

/// Checks `law` for every registered controller on many cases. To make a case costs more than to play it,
/// so they are made once for all controllers and laws; a runner makes them anew only to look for a smaller
/// one that breaks the law.
fn for_all(law: impl Fn(&Entry, &Case) -> Result<(), TestCaseError>) {
    for entry in registry::all() {
        let holds = |case| catch_unwind(AssertUnwindSafe(|| law(entry, case).is_ok())).unwrap_or(false);
        if cases().iter().all(holds) {
            continue;
        }
        match runner().run(&case(), |case| law(entry, &case)) {
            Err(broken) => panic!("{}: {broken}", entry.id),
            Ok(()) => panic!("{}: breaks the law only when it is tried first", entry.id),
        }
    }
}

const ALL: [Congestion; 3] = [Congestion::Ecn, Congestion::Loss, Congestion::Timeout];

#[test]
fn the_window_is_finite_and_at_least_one_segment() {
    for_all(|entry, case| {
        let mut run = Run::new(entry, case);
        let check = |run: &Run| {
            let (now, mss) = (run.cc.decision(), u64::from(run.flow.mss));
            prop_assert!(now.cwnd >= mss && now.cwnd < u64::MAX, "cwnd {} at {mss} bytes", now.cwnd);
            prop_assert!(now.ssthresh >= 2 * mss, "ssthresh {} at {mss} bytes", now.ssthresh);
            Ok(())
        };
        check(&run)?;
        for op in &case.ops {
            run.apply(op);
            check(&run)?;
        }
        Ok(())
    });
}

#[test]
fn a_window_that_does_not_limit_the_sender_does_not_grow() {
    for_all(|entry, case| {
        let mut run = Run::new(entry, case);
        for op in &case.ops {
            let before = run.cc.decision().cwnd;
            run.apply(op);
            // The window of a controller that measures the path's rate and drives its window in recovery too
            // is a bound on the data in flight, computed from that model. It does not probe by growing, so
            // unused growth is no harm, and it comes back after a recovery whoever held the sender back. All
            // others are held to the law.
            let needs = run.cc.needs();
            let models = needs.rate && needs.recovery == RecoveryWindow::Controller;
            let idle = !run.flow.cwnd_limited && !models;
            let recovers = run.flow.phase == Phase::Recovery && needs.recovery == RecoveryWindow::Sender;
            let held = match op {
                Op::Ack { report, .. } => {
                    let stands = report.uncounted == report.acked && needs.recovery == RecoveryWindow::Sender;
                    idle || recovers || stands
                }
                // Linux's Westwood+ goes to its estimate when recovery ends
                // (CA_EVENT_COMPLETE_CWR), whoever held back.
                Op::Life(Life::Recovered) if entry.id.ends_with("westwood-plus") => false,
                Op::Life(_) | Op::Hint(_) | Op::Deadline => idle,
                // An extra segment that arrives shows room that the data does not use;
                // its kind exists for that.
                Op::ExtraSegments(_) => false,
                Op::Congestion(_) | Op::Undo(_) | Op::Mss(_) => false,
            };
            let after = run.cc.decision().cwnd;
            prop_assert!(!held || after <= before, "{op:?}: from {before} to {after} bytes");
        }
        Ok(())
    });
}

#[test]
fn backoff_changes_nothing_and_says_what_congestion_will_do() {
    for_all(|entry, case| {
        let mut run = Run::new(entry, case);
        for op in &case.ops {
            let state = run.state();
            let answers = ALL.map(|why| run.cc.backoff(&run.flow, why));
            prop_assert_eq!(&state, &run.state());
            run.apply(op);
            if let Op::Congestion(why) = *op {
                let said = answers[ALL.iter().position(|w| *w == why).expect("one of the three")];
                let did = run.cc.decision();
                prop_assert_eq!((said.cwnd, said.ssthresh), (did.cwnd, did.ssthresh), "{:?}", why);
            }
        }
        Ok(())
    });
}

#[test]
fn the_same_events_give_the_same_bits() {
    for_all(|entry, case| {
        let (mut once, mut again) = (Run::new(entry, case), Run::new(entry, case));
        for op in &case.ops {
            once.apply(op);
            // Questions must not change the answer either.
            again.cc.backoff(&again.flow, Congestion::Loss);
            again.cc.probe(&mut |_, _| {});
            again.apply(op);
        }
        prop_assert_eq!(once.state(), again.state());
        Ok(())
    });
}

#[test]
fn a_second_timeout_without_new_data_does_not_cut_again() {
    for_all(|entry, case| {
        let mut run = Run::new(entry, case);
        for op in &case.ops {
            run.apply(op);
        }
        run.apply(&Op::Congestion(Congestion::Timeout));
        let first = run.cc.decision();
        let state = run.state();
        for why in [Congestion::Timeout, Congestion::Loss, Congestion::Ecn, Congestion::Timeout] {
            run.apply(&Op::Congestion(why));
            let again = run.cc.decision();
            prop_assert_eq!((first.cwnd, first.ssthresh), (again.cwnd, again.ssthresh));
            prop_assert_eq!(&state, &run.state());
        }
        Ok(())
    });
}

#[test]
fn undo_gives_back_at_least_what_stood_before() {
    for_all(|entry, case| {
        for why in ALL {
            let mut run = Run::new(entry, case);
            for op in &case.ops {
                run.apply(op);
            }
            // An episode within an unanswered timeout changes nothing, so there must be an ACK before it.
            let mut ack = Ack::default();
            (ack.acks, ack.acked) = (1, 1);
            run.apply(&Op::Ack { report: ack, flow: unchanged(&run.flow) });
            let before = run.cc.decision();
            run.apply(&Op::Congestion(why));
            for _ in 0..3 {
                run.apply(&Op::Undo(None));
                let after = run.cc.decision();
                // Bytes are whole: a window may lose less than one of them.
                prop_assert!(
                    after.cwnd + 1 >= before.cwnd,
                    "{why:?}: {} of {} bytes",
                    after.cwnd,
                    before.cwnd
                );
                prop_assert!(after.ssthresh.saturating_add(1) >= before.ssthresh, "{why:?}");
            }
        }
        Ok(())
    });
}

/// `path_change = "reset"` puts a wrapper around the algorithm. Until a hint comes, nobody may notice: every
/// call and every answer passes through, those included that few algorithms have a use for.
#[test]
fn a_wrapper_passes_everything_on() {
    for_all(|entry, case| {
        let bare = Run::new(entry, case);
        let mut given = values(entry, &case.params);
        given.retain(|(name, _)| name != "path_change");
        let alone = registry::build(entry.id, &given, case.start).expect("within its range");
        given.push(("path_change".to_string(), Value::Text("reset".to_string())));
        let wrapped = registry::build(entry.id, &given, case.start).expect("within its range");
        let mut alone = Run { cc: alone, before: bare.before, flow: bare.flow };
        let mut wrapped = Run { cc: wrapped, before: bare.before, flow: bare.flow };
        let needs = Needs { path_change: true, ..alone.cc.needs() };
        prop_assert_eq!(format!("{needs:?}"), format!("{:?}", wrapped.cc.needs()));
        for op in case.ops.iter().filter(|op| !matches!(op, Op::Hint(_))) {
            let said = [&mut alone, &mut wrapped].map(|run| {
                run.apply(op);
                let header = run.others();
                let mut probed = Vec::new();
                run.cc.probe(&mut |name, value| probed.push((name.to_owned(), value.to_bits())));
                let answers = ALL.map(|why| run.cc.backoff(&run.flow, why));
                let order = run.extra_order();
                let (decision, needs) = (run.cc.decision(), run.cc.needs().recovery);
                format!("{decision:?} {needs:?} {answers:?} {header:?} {order:?} {probed:?}")
            });
            prop_assert_eq!(&said[0], &said[1]);
        }
        Ok(())
    });
}

/// RFC 9959 section 3.3: a path that changes in the Unvalidated Phase ends in Safe Retreat, whatever
/// the algorithm beside it is.
#[test]
fn a_path_change_takes_a_resumed_window_back() {
    let mut resumed = Vec::new();
    for entry in registry::all() {
        let given = [("resume_cwnd", 300.0), ("resume_rtt", 0.6)]
            .map(|(name, value)| (name.to_string(), Value::Number(value)));
        let start = Start { mss: 1000, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        let Ok(cc) = registry::build(entry.id, &given, start) else { continue };
        let mut flow = Flow::default();
        (flow.mss, flow.rwnd, flow.cwnd_limited, flow.in_flight) = (1000, u64::MAX, true, 20_000);
        let mut run = Run { before: cc.decision(), cc, flow };
        // One ACK for the initial window, so that none has the spacing of ACKs to grow by.
        let mut ack = Ack::default();
        (ack.acks, ack.acked, ack.rtt) = (1, 10_000, Some(RttSample::one(Span::from_millis(600))));
        let flow = Change { elapsed: 1_000_000, in_flight: 20_000, ..unchanged(&run.flow) };
        run.apply(&Op::Ack { report: ack, flow });
        if run.cc.decision().cwnd != 150_000 {
            continue; // it had more than the jump of its own accord
        }
        resumed.push(entry.id);
        run.apply(&Op::Hint(Hint::PathChange(PathChange::default())));
        assert_eq!(run.cc.decision().cwnd, 10_000, "{}: half of the 20 segments in flight", entry.id);
    }
    for id in ["reno", "cubic", "hybla", "scps-tp", "vegas", "satcp"] {
        assert!(resumed.contains(&id), "{id} is not among {resumed:?}");
    }
}

fn unchanged(flow: &Flow) -> Change {
    Change {
        elapsed: 1,
        in_flight: flow.in_flight,
        phase: Phase::Open,
        limited: flow.cwnd_limited,
        rwnd: flow.rwnd,
    }
}

#[test]
fn reports_merge_associatively() {
    let verdict = runner().run(&(report(), report(), report()), |(a, b, c)| {
        let (mut left, mut right, mut tail) = (a, a, b);
        left.merge(&b);
        left.merge(&c);
        tail.merge(&c);
        right.merge(&tail);
        prop_assert_eq!(left, right);
        Ok(())
    });
    verdict.expect("associative");
}

/// `Time` and `Span` saturate, so the far end of time is an event order like any other.
#[test]
fn the_end_of_time_is_reached_without_a_panic() {
    for entry in registry::all() {
        let case = Case {
            params: vec![0.3],
            start: Start { mss: 1448, initial_window: 10.0, initial_ssthresh: 20.0 },
            ops: Vec::new(),
        };
        let mut run = Run::new(entry, &case);
        for (now, rtt) in [(0, 0), (0, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX, 0), (u64::MAX, 1)] {
            let mut ack = Ack::default();
            (ack.acks, ack.acked, ack.round_end) = (u32::MAX, u64::MAX, true);
            ack.rtt = Some(RttSample::one(Span(rtt)));
            run.update(&ack, &Change { elapsed: 0, limited: true, ..unchanged(&run.flow) });
            run.flow.now = Time(now);
            run.cc.on_ack(&run.flow, &ack);
            for why in ALL {
                run.cc.on(&run.flow, Event::Congestion(why));
                run.cc.on(&run.flow, Event::Undo(&run.before));
            }
            assert!(run.cc.decision().cwnd >= 1448, "{}", entry.id);
        }
    }
}
