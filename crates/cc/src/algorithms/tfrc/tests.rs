use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::{equation, interval_for};
use crate::controller::Controller;
use crate::decision::Pacing;
use crate::event::{Congestion, Event};
use crate::registry::{self, Value};
use crate::report::{Ack, Flow, RateSample, Rtt, RttSample};
use crate::rig::near;
use crate::time::{Rate, Span, Time};
use crate::window::Start;

const S: f64 = 1000.0;
const R: f64 = 0.1;

/// A sender that keeps its rate, on a path of constant delay that loses chosen segments.
struct Path {
    cc: Box<dyn Controller>,
    flow: Flow,
    /// Seconds.
    send_at: f64,
    /// When the fate of each packet in flight is known, and whether it is lost.
    flight: VecDeque<(f64, bool)>,
    sent: u64,
    /// The application, and not the rate, limits the sender.
    app_limited: bool,
}

impl Path {
    fn new(given: &[(&str, Value)]) -> Self {
        let given: alloc::vec::Vec<_> =
            given.iter().map(|(n, v)| (alloc::string::String::from(*n), v.clone())).collect();
        let start = Start { mss: S as u32, initial_window: 4.0, initial_ssthresh: f64::INFINITY };
        let cc = registry::build("tfrc", &given, start).expect("within its range");
        let mut path = Self {
            cc,
            flow: Flow { mss: S as u32, rwnd: u64::MAX, ..Flow::default() },
            send_at: 0.0,
            flight: VecDeque::new(),
            sent: 0,
            app_limited: false,
        };
        // The first window leaves at once; its ACKs start the rate.
        path.flight.extend([(R, false); 4]);
        path.send_at = R;
        path
    }

    /// Segments per second.
    fn x(&self) -> f64 {
        match self.cc.decision().pacing {
            Pacing::Rate(rate) => rate.bytes_per_sec() / S,
            _ => f64::INFINITY,
        }
    }

    fn learn(&mut self, at: f64, lost: bool) {
        self.flow.now = Time(Span::from_secs(at).0);
        let rtt = Span::from_secs(R);
        self.flow.rtt = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span::ZERO });
        let mut ack = Ack { acks: 1, ..Ack::default() };
        if lost {
            self.flow.lost += S as u64;
            ack.lost = S as u64;
        } else {
            self.flow.delivered += S as u64;
            (ack.acked, ack.rtt) = (S as u64, Some(RttSample::one(rtt)));
        }
        ack.rate = self.app_limited.then_some(RateSample {
            rate: Rate(0),
            app_limited: true,
            prior_delivered: 0,
            prior_in_flight: 0,
        });
        self.cc.on_ack(&self.flow, &ack);
    }

    /// Runs for `secs`, losing what `lost` says of each packet sent; returns the mean
    /// rate, segments per second.
    fn run(&mut self, secs: f64, mut lost: impl FnMut(u64) -> bool) -> f64 {
        let (end, before) = (self.send_at + secs, self.sent);
        let began = self.send_at;
        while self.send_at < end {
            match self.flight.front() {
                Some(&(at, gone)) if at <= self.send_at => {
                    self.flight.pop_front();
                    self.learn(at, gone);
                }
                _ => {
                    self.sent += 1;
                    self.flight.push_back((self.send_at + R, lost(self.sent)));
                    self.send_at += 1.0 / self.x();
                }
            }
        }
        (self.sent - before) as f64 / (self.send_at - began)
    }

    /// A path in the steady state of one loss every `every` packets, just before the next loss is due.
    fn steady(every: u64, given: &[(&str, Value)]) -> Self {
        let mut path = Self::new(given);
        while path.sent < 20 * every || path.sent % every != every - 1 {
            path.run(1e-4, |n| n % every == 0);
        }
        path
    }
}

fn discounting(on: bool) -> [(&'static str, Value); 1] {
    [("history_discounting", Value::Flag(on))]
}

/// The equation with R = 1 and t_RTO = 4, packets per second: computed apart from the code.
#[test]
fn the_throughput_equation() {
    for (p, x) in [(1e-4, 122.36), (1e-3, 38.38), (1e-2, 11.23)] {
        near(equation(1.0, 1.0, p, 4.0), x, 5e-4);
    }
    for interval in [2.0, 10.0, 1e3, 1e6] {
        near(interval_for(equation(S, R, 1.0 / interval, 4.0 * R), S, R, 4.0 * R), interval, 1e-6);
    }
}

/// One loss every 1/p packets, each a loss event of its own: the rate is the equation's, 1/R
/// times the values of above.
#[test]
fn regular_losses_give_the_rate_of_the_equation() {
    for (every, x) in [(100, 112.3), (1000, 383.8), (10_000, 1223.6)] {
        for on in [true, false] {
            let mut path = Path::new(&discounting(on));
            path.run(20.0 * every as f64 / x, |n| n % every == 0);
            near(path.run(10.0 * every as f64 / x, |n| n % every == 0), x, 0.02);
        }
    }
}

/// Section 4.3, a data-limited interval with a new loss event: old values of X_recv_set are halved, the new
/// one counts for 0.85. At a steady 100 segments a second X becomes max(50, 85), where the equation after 20
/// 000 segments without a loss allows ten times as many.
#[test]
fn a_loss_while_the_application_limits_leaves_85_hundredths_of_what_arrives() {
    let mut path = Path::new(&[]);
    path.app_limited = true;
    let mut at = R;
    let mut feed = |path: &mut Path, lost: bool| {
        at += 0.01;
        path.learn(at, lost);
    };
    (0..30).for_each(|_| feed(&mut path, false));
    feed(&mut path, true);
    (0..20_000).for_each(|_| feed(&mut path, false));
    feed(&mut path, true);
    near(path.x(), 85.0, 0.1);
}

/// Bernoulli losses: p is the rate of loss events, and the mean of a concave function of a
/// noisy mean is a little less.
#[test]
fn random_losses_give_nearly_the_rate_of_the_equation() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut coin = move |p: f64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) as f64) < p * 9_007_199_254_740_992.0
    };
    for (p, window) in [(1e-2, 11), (1e-3, 38)] {
        let mut path = Path::new(&discounting(false));
        path.run(20.0 / p * R / window as f64, |_| coin(p));
        let (mut events, mut last) = (0_u64, 0_u64);
        let before = path.sent;
        let x = path.run(1500.0 / p * R / window as f64, |n| {
            let lost = coin(p);
            if lost && n > last + window {
                (events, last) = (events + 1, n);
            }
            lost
        });
        let rate = events as f64 / (path.sent - before) as f64;
        near(x, equation(1.0, R, rate, 4.0 * R), 0.05);
    }
}

/// In a steady state the next loss, right after the last, takes 1/6 of the mean interval: sqrt(5/6), a fall
/// by 8.7 %. Halving takes five in a row, (6 - 4.8)/6 < 1/4; four leave (6 - 4)/6.
#[test]
fn one_loss_event_costs_at_most_nine_per_cent_and_five_halve_the_rate() {
    let mut path = Path::steady(10_000, &discounting(false));
    path.run(0.3, |n| n % 10_000 == 0);
    let before = path.x();
    let mut shares = [0.0; 5];
    for share in &mut shares {
        let mut first = true;
        path.run(2.5 * R, |_| core::mem::take(&mut first));
        *share = path.x() / before;
    }
    assert!(shares[0] > 0.905 && shares[0] < 0.925, "{shares:?}");
    assert!(shares[3] > 0.5 && shares[4] < 0.5, "{shares:?}");
}

/// Without losses, by hand for small p, X R = sqrt(1.5 I): the open interval has 1/6 of the weight, so the
/// window grows by 1.5 / (2 x 6) = 1/8 segment per round trip (0.12 to 0.14 in the literature). Discounting
/// gives it 1/(1 + 5/4) = 4/9 once it is eight times the mean of the older ones: 1/3. On the way there the
/// weights themselves shift, and growth is greatest there: with DF = 2 I / I_0 the mean is
/// (I_0^2 + 10 I^2) / (I_0 + 10 I), whose slope at I_0 = 8 I is 214/324: 1/2.
#[test]
fn growth_is_a_fraction_of_a_segment_per_round_trip() {
    for (on, most, at_last) in [(false, 0.125, 0.125), (true, 0.495, 0.333)] {
        let mut path = Path::steady(1000, &discounting(on));
        let (mut largest, mut last, mut grown) = (0.0_f64, path.x() * R, 0.0);
        for _ in 0..400 {
            path.run(R, |_| false);
            grown = path.x() * R - last;
            largest = largest.max(grown);
            last = path.x() * R;
        }
        near(largest, most, 0.12);
        near(grown, at_last, 0.12);
    }
}

/// Section 4.3: at most doubling each round trip, and at most 2 X_recv. X_recv is the rate sent a round trip
/// before, so that the rate doubles in two of them.
#[test]
fn slow_start_doubles_at_most_each_round_trip_until_the_first_loss() {
    let mut path = Path::new(&[]);
    path.run(1e-3, |_| false);
    assert_eq!(path.x(), 4.0 / R);
    let mut rates = alloc::vec![path.x()];
    for _ in 0..10 {
        path.run(R, |_| false);
        rates.push(path.x());
    }
    assert!(rates.windows(2).all(|pair| pair[1] <= 2.0 * pair[0] && pair[1] >= pair[0]), "{rates:?}");
    assert!(rates.windows(3).all(|three| three[2] >= 1.7 * three[0]), "{rates:?}");
    let x = path.x();
    // Slow start has just doubled what the path took: section 6.3.1 begins with half of the receive rate.
    let mut first = true;
    path.run(1.01 * R, |_| core::mem::take(&mut first));
    let arrived = x / 2.0;
    assert!(path.x() > 0.4 * arrived && path.x() < 1.1 * arrived, "{} of {arrived}", path.x());
}

/// Section 4.4: max(4 R, 2 s / X) without an ACK halve the rate, down to one packet in 64 s.
#[test]
fn silence_halves_the_rate() {
    let mut path = Path::steady(1000, &[]);
    let (x, mut now) = (path.x(), path.flow.now);
    path.flow.in_flight = 10_000;
    for halved in [2.0, 4.0, 8.0] {
        let due = path.cc.decision().deadline;
        assert!(due.since(now) <= Span::from_secs(4.0 * R) && due > now);
        now = due;
        path.flow.now = now;
        path.cc.on(&path.flow, Event::Deadline);
        near(path.x(), x / halved, 0.01);
    }
    for _ in 0..20 {
        path.flow.now = path.cc.decision().deadline;
        path.cc.on(&path.flow, Event::Deadline);
    }
    near(path.x(), 1.0 / 64.0, 0.05);
}

/// The same before the first loss; but an idle sender keeps its initial rate, and its timer rests.
#[test]
fn silence_in_slow_start_halves_the_rate_of_a_sender_that_is_not_idle() {
    for (rounds, in_flight, share) in [(8.0, 10_000, 0.5), (8.0, 0, 0.5), (0.5, 10_000, 0.5), (0.5, 0, 1.0)] {
        let mut path = Path::new(&[]);
        path.run(rounds * R, |_| false);
        let x = path.x();
        path.flow.now = path.cc.decision().deadline;
        path.flow.in_flight = in_flight;
        path.cc.on(&path.flow, Event::Deadline);
        near(path.x(), share * x, 1e-3);
        assert_eq!(path.cc.decision().deadline == Time::MAX, share == 1.0);
    }
}

/// X is at most twice the receive rate: a path that delivers a tenth of what is sent
/// holds the rate near a fifth.
#[test]
fn the_rate_is_at_most_twice_what_arrives() {
    let mut path = Path::steady(10_000, &[]);
    let x = path.x();
    path.run(5.0 * R, |n| n % 10 != 0);
    assert!(path.x() < 0.25 * x && path.x() > 0.1 * x, "{} of {x}", path.x());
}

/// Losses within one R of the first are the same event; ECN echoes and timeouts are events.
#[test]
fn a_loss_event_lasts_a_round_trip() {
    // A round trip is 122 packets here.
    let falls = |losses: &[u64]| {
        let mut path = Path::steady(10_000, &discounting(false));
        path.run(0.3, |n| n % 10_000 == 0);
        let (before, began) = (path.x(), path.sent);
        path.run(4.0 * R, |n| losses.contains(&(n - began)));
        path.x() / before
    };
    let one = falls(&[1]);
    near(one, 0.914, 0.01);
    near(falls(&[1, 2, 3, 50, 110]), one, 2e-3);
    assert!(falls(&[1, 180]) < 0.95 * one);

    for why in [Congestion::Ecn, Congestion::Timeout] {
        let mut path = Path::steady(10_000, &discounting(false));
        path.run(0.3, |n| n % 10_000 == 0);
        let before = path.x();
        path.cc.on(&path.flow, Event::Congestion(why));
        path.run(R, |_| false);
        near(path.x() / before, 0.915, 0.02);
    }
}

#[test]
fn a_spurious_loss_event_is_taken_back() {
    let mut path = Path::steady(10_000, &discounting(false));
    path.run(0.3, |n| n % 10_000 == 0);
    let before = path.cc.decision();
    path.cc.on(&path.flow, Event::Congestion(Congestion::Timeout));
    path.cc.on(&path.flow, Event::Undo(&before));
    let x = path.x();
    path.run(2.0 * R, |_| false);
    assert!(path.x() >= x);
}

/// Section 4.5: the RTT at 0.2 s, its long-term mean of roots at 0.1 s: sqrt(1/2), less a tenth, by
/// which the mean has moved.
#[test]
fn oscillation_prevention_slows_down_when_the_rtt_rises() {
    let given = [("oscillation_prevention", Value::Flag(true)), ("rtt_gain", Value::Number(0.999))];
    let (mut with, mut without) = (Path::steady(1000, &given), Path::steady(1000, &given[1..]));
    for path in [&mut with, &mut without] {
        let rtt = Span::from_secs(2.0 * R);
        path.flow.now = path.flow.now + rtt;
        path.flow.delivered += 1000;
        let ack = Ack { acks: 1, acked: 1000, rtt: Some(RttSample::one(rtt)), ..Ack::default() };
        path.cc.on_ack(&path.flow, &ack);
    }
    let mean = 0.9 * libm::sqrt(0.1) + 0.1 * libm::sqrt(0.2);
    near(with.x() / without.x(), mean / libm::sqrt(0.2), 1e-3);
}

/// Section 6.2: X_recv is what came within R. A fast link delivers the first window within an instant; a loss
/// there must not take the spacing of its ACKs for a receive rate (here 10^6 packets a second).
#[test]
fn a_loss_within_the_first_window_leaves_no_more_than_that_window_per_round_trip() {
    let mut path = Path::new(&[]);
    for (us, lost) in [(0.0, false), (1.0, false), (2.0, true), (3.0, false)] {
        path.learn(R + us * 1e-6, lost);
    }
    assert!(path.x() <= 4.0 / R, "{} packets per second", path.x());
}

#[test]
fn self_clocked_it_sends_no_more_than_was_received_after_a_loss_and_a_tenth_more_else() {
    let given = [("conservative", Value::Flag(true))];
    let mut path = Path::steady(100, &given);
    // Rare losses leave the equation far above what is received: from here on only self-clocking limits.
    path.run(30.0 * R, |_| false);
    let before = path.run(R, |_| false);
    let grown = path.run(R, |_| false);
    assert!(grown <= 1.1 * before * 1.02, "{grown} after {before}");
    // The path delivers half: what is received is half of what is sent, and the rate follows as soon as the
    // ACKs of a round trip tell.
    let sent = path.x();
    path.run(3.0 * R, |n| n % 2 == 0);
    let clocked = path.x();
    assert!(clocked <= 0.55 * sent, "{clocked} after {sent}");
    let mut free = Path::steady(100, &[]);
    free.run(32.0 * R, |_| false);
    let sent = free.x();
    free.run(3.0 * R, |n| n % 2 == 0);
    assert!(free.x() > 0.8 * sent, "without it the rate falls slowly: {} after {sent}", free.x());
}
