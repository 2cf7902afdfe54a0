//! A model of a Starlink access link: time lines drawn from what one drive measured.
//!
//! The link is reconfigured every 15 s. Each period has a level of the rate and a step of the delay. Within a
//! period the rate has a course in half seconds, and noise below. Outages lose all packets. docs/starlink.md
//! has the equations, their fit and the comparison with days that were not fitted.
//!
//! Rates are whole bits per second and delays whole microseconds.

use bentpipe_cc::Span;

use crate::drawn::quantiles::{gamma_quantile, normal_quantile};
use crate::drawn::streams;
use crate::drawn::{DrawnLine, DrawnTimeline, Profile, Towards};

/// Time between reconfigurations.
pub const PERIOD: Span = Span(15_000_000_000);
/// The first second after a full minute that has a reconfiguration: 12, 27, 42 and 57.
pub const PHASE: Span = Span(12_000_000_000);
/// Steps of the course of the rate.
const SLOT: Span = Span(500_000_000);
/// Steps of the noise of the rate.
const FINE: Span = Span(50_000_000);
/// Steps of the delay.
const PING: Span = Span(200_000_000);
/// Time in which the common part of successive levels changes, s: a place on the drive. An assumption.
const SLOW_S: f64 = 300.0;
/// Time in which the part `rtt_slow` of the delay changes, s, from the same autocorrelation as that part.
const RTT_SLOW_S: f64 = 0.65;
/// No level is below this share of the median.
const LEAST_LEVEL: f64 = 0.05;

/// What has a stream of random numbers. Both directions of a link have the same outages and delays.
#[derive(Clone, Copy)]
enum Drawn {
    Outage,
    DelayPeriod,
    DelaySlow,
    DelayFast,
    Level,
    Slow,
    Spread,
    Course,
    Noise,
}

/// The numbers of a draw.
struct LinkDraw {
    profile: &'static Profile,
    direction: Towards,
    seed: u64,
}

impl LinkDraw {
    fn uniform(&self, stream: Drawn, count: usize) -> Vec<f64> {
        let of_direction = stream as u32 >= Drawn::Level as u32 && self.direction == Towards::Up;
        streams::uniform(self.seed, stream as u32 + if of_direction { 5 } else { 0 }, count)
    }

    fn normal(&self, stream: Drawn, count: usize) -> Vec<f64> {
        self.uniform(stream, count).into_iter().map(normal_quantile).collect()
    }

    /// The rate over its median: level x (1 + course) x noise.
    fn shape(&self, steps: usize) -> Vec<f64> {
        let profile = self.profile;
        let periods = period(steps - 1) + 1;
        let slow = profile.level_slow.value;
        let kept = libm::exp(-PERIOD.secs() / SLOW_S);
        let place = markov(&self.normal(Drawn::Slow, periods), kept);
        let own = self.normal(Drawn::Level, periods);
        let z: Vec<f64> =
            place.iter().zip(&own).map(|(a, b)| libm::sqrt(slow) * a + libm::sqrt(1.0 - slow) * b).collect();
        let with_level = profile.course_level.value;
        let rest = libm::sqrt(1.0 - with_level * with_level);
        let cv: Vec<f64> = self
            .normal(Drawn::Spread, periods)
            .iter()
            .zip(&z)
            .map(|(own, z)| {
                profile.course_cv.value
                    * libm::exp(profile.course_spread.value * (with_level * z + rest * own))
            })
            .collect();
        let each = (SLOT.0 / FINE.0) as usize;
        let course = markov(&self.normal(Drawn::Course, (steps - 1) / each + 1), profile.course_half.value);
        let shape = 1.0 / (profile.noise_cv.value * profile.noise_cv.value);
        let noise = self.uniform(Drawn::Noise, steps);
        (0..steps)
            .map(|step| {
                let now = period(step);
                let level = (1.0 + profile.level_cv.value * z[now]).max(LEAST_LEVEL);
                let course = (1.0 + cv[now] * course[step / each]).max(0.0);
                level * course * (gamma_quantile(shape, noise[step]) / shape)
            })
            .collect()
    }

    /// The round trip without queues, s: in lines between pings, in a step where a period begins.
    fn round_trips(&self, steps: usize) -> Vec<f64> {
        let profile = self.profile;
        let each = (PING.0 / FINE.0) as usize;
        let pings = (steps - 1) / each + 2;
        let by_period = self.normal(Drawn::DelayPeriod, period((pings - 1) * each) + 1);
        let slow = markov(&self.normal(Drawn::DelaySlow, pings), libm::exp(-PING.secs() / RTT_SLOW_S));
        let fast = self.normal(Drawn::DelayFast, pings);
        let shares = [profile.rtt_period.value, profile.rtt_slow.value];
        let [p, s, f] = [shares[0], shares[1], 1.0 - shares[0] - shares[1]].map(libm::sqrt);
        let rtt: Vec<f64> = (0..pings)
            .map(|i| {
                let z = p * by_period[period(i * each)] + s * slow[i] + f * fast[i];
                profile.rtt_least_s.value + profile.rtt_more_s.value * libm::exp(profile.rtt_spread.value * z)
            })
            .collect();
        (0..steps)
            .map(|step| {
                let now = step / each;
                let next = if period((now + 1) * each) == period(step) { rtt[now + 1] } else { rtt[now] };
                rtt[now] + (next - rtt[now]) * (step % each) as f64 / each as f64
            })
            .collect()
    }
}

/// The rate, the delay and the reconfigurations of one direction.
pub(super) fn line(given: &DrawnTimeline, seed: u64, duration: Span, blackout: Span) -> DrawnLine {
    let draw = LinkDraw { profile: given.profile(), direction: given.direction, seed };
    // Whole steps of 50 ms: periods, half seconds and pings begin at one of them.
    let steps = duration.0.div_ceil(FINE.0).max(1) as usize + 1;
    let median = given.rate_bps();
    let begins = |step: usize| step > 0 && period(step) > period(step - 1);
    let mut at: Vec<u64> = (0..steps as u64).map(|step| step * FINE.0).collect();
    at[steps - 1] = duration.0;
    let rates: Vec<u64> = draw.shape(steps).iter().map(|shape| libm::rint(median * shape) as u64).collect();
    let delays: Vec<u64> =
        draw.round_trips(steps).iter().map(|rtt| libm::rint(rtt / 2.0 * 1e6) as u64 * 1000).collect();
    let (mut line, mut dark_until) = (DrawnLine::default(), 0);
    for (step, &now) in at.iter().enumerate() {
        // Light comes back between two steps: a row of its own, with the values of the step before.
        if step > 0 && (at[step - 1] + 1..now).contains(&dark_until) {
            line.push(dark_until, rates[step - 1], delays[step - 1], true, false);
        }
        if begins(step) {
            dark_until = now + blackout.0;
        }
        line.push(now, rates[step], delays[step], now >= dark_until, begins(step));
    }
    line
}

impl DrawnLine {
    fn push(&mut self, at: u64, rate: u64, delay: u64, up: bool, handover: bool) {
        self.at.push(at);
        self.rate.push(rate);
        self.delay.push(delay);
        self.up.push(up);
        self.handover.push(handover);
    }
}

/// Begin and end of each outage, whole milliseconds. They do not overlap.
pub(super) fn outages(profile: &'static Profile, seed: u64, duration: Span) -> Vec<[Span; 2]> {
    let draw = LinkDraw { profile, direction: Towards::Down, seed };
    let count = 16 + (4.0 * duration.secs() / profile.outage_every_s.value) as usize;
    let uniform = draw.uniform(Drawn::Outage, 2 * count);
    let ms = |s: f64| Span(libm::rint(s * 1e3) as u64 * 1_000_000);
    let (mut begin_s, mut found) = (0.0, Vec::<[Span; 2]>::new());
    for pair in uniform.chunks_exact(2) {
        begin_s += -profile.outage_every_s.value * libm::log1p(-pair[0]);
        let begin = ms(begin_s);
        if begin >= duration {
            continue;
        }
        let length_s =
            profile.outage_length_s.value * libm::exp(profile.outage_spread.value * normal_quantile(pair[1]));
        let end = begin + ms(length_s).max(ms(1e-3));
        match found.last_mut() {
            Some(last) if begin <= last[1] => last[1] = last[1].max(end),
            _ => found.push([begin, end]),
        }
    }
    let cut = ms(duration.secs());
    found.into_iter().map(|[begin, end]| [begin, end.min(cut)]).filter(|[begin, end]| begin < end).collect()
}

/// The period in which a step of 50 ms lies, counted from the one at the start of the run.
fn period(step: usize) -> usize {
    (step + ((PERIOD.0 - PHASE.0) / FINE.0) as usize) / (PERIOD.0 / FINE.0) as usize
}

/// A Gaussian process of variance 1 whose successive values have the correlation `kept`.
fn markov(normal: &[f64], kept: f64) -> Vec<f64> {
    let rest = libm::sqrt(1.0 - kept * kept);
    let mut last = None;
    let next = |x: &f64| {
        let value = last.map_or(*x, |before: f64| rest * x + kept * before);
        last = Some(value);
        value
    };
    normal.iter().map(next).collect()
}
