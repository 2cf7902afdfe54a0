//! The measures of a monitor interval, by name: what agents observe, and what rewards consist of.
//!
//! The first three are the observation of Aurora (N. Jay, N. Rotman, P. B. Godfrey, M. Schapira, A. Tamar:
//! "A Deep Reinforcement Learning Perspective on Internet Congestion Control", ICML 2019). Their formulae
//! are those of the paper's environment, whose sources are public (PCC-RL, `src/common/sender_obs.py`).
//! Two rules differ, since an interval without acknowledgements is no good news: it keeps the latency of
//! the one before, where that environment says 0; and the throughput is that of all acknowledged packets,
//! where it leaves out one.

use std::ops::RangeInclusive;

use bentpipe_cc::Span;

/// A measure.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its name, which ends in its unit; a measure without a unit is a pure number.
    pub name: &'static str,
    /// The smallest value; smaller ones are raised to it.
    pub low: f64,
    /// The largest value; larger ones are cut to it.
    pub high: f64,
    /// The value before the first interval.
    pub neutral: f64,
    /// What it is.
    pub about: &'static str,
    value: fn(&StepInterval, &Life) -> f64,
}

impl Measure {
    const fn new(
        name: &'static str,
        range: RangeInclusive<f64>,
        value: fn(&StepInterval, &Life) -> f64,
    ) -> Self {
        Self { name, low: *range.start(), high: *range.end(), neutral: 0.0, about: "", value }
    }

    const fn neutral(self, neutral: f64) -> Self {
        Self { neutral, ..self }
    }

    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

/// The state of an agent's sender at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SenderState {
    /// Bytes of payload sent, acknowledged and declared lost so far.
    pub(super) counters: [u64; 3],
    /// Bytes of payload in flight.
    pub(super) in_flight: u64,
    /// Congestion window, bytes; 0 without one.
    pub(super) cwnd: u64,
    /// The smallest sample of the round-trip time so far, s.
    pub(super) rtt_min: Option<f64>,
    /// What acknowledgements have brought in the interval.
    pub(super) brought: Brought,
}

/// The interval of a step, in bytes and seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepInterval {
    pub(super) time: Span,
    pub(super) mss: f64,
    pub(super) sent: u64,
    pub(super) acked: u64,
    pub(super) lost: u64,
    /// The rate that was in force.
    pub(super) rate: f64,
    /// The sender at its end.
    pub(super) sender: SenderState,
}

/// What acknowledgements have brought in an interval, apart from the sender's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Brought {
    /// Acknowledgements.
    pub(super) acks: u64,
    /// Bytes acknowledged as marked "congestion experienced".
    pub(super) marked: u64,
    /// Samples of the round-trip time: their number, and their mean in seconds.
    pub(super) rtts: u64,
    pub(super) rtt_mean: f64,
    /// The mean of the later half of the samples less that of the earlier half, in seconds; 0 with fewer than
    /// two samples.
    pub(super) rtt_rise: f64,
}

/// The acknowledgements of the interval that goes on.
#[derive(Debug, Default)]
pub(super) struct Samples {
    acks: u64,
    marked: u64,
    /// The samples of the round-trip time, in order.
    rtts: Vec<Span>,
}

impl Samples {
    /// Adds acknowledgements, `marked` bytes acknowledged as marked, and a sample of the round-trip time.
    pub(super) fn add(&mut self, acks: u64, marked: u64, rtt: Option<Span>) {
        self.acks += acks;
        self.marked += marked;
        self.rtts.extend(rtt);
    }

    /// Ends the interval.
    pub(super) fn take(&mut self) -> Brought {
        let later = self.rtts.len() / 2;
        let rtt_rise = if later > 0 { mean(&self.rtts[later..]) - mean(&self.rtts[..later]) } else { 0.0 };
        let brought = Brought {
            acks: std::mem::take(&mut self.acks),
            marked: std::mem::take(&mut self.marked),
            rtts: self.rtts.len() as u64,
            rtt_mean: mean(&self.rtts),
            rtt_rise,
        };
        self.rtts.clear();
        brought
    }
}

/// The mean in seconds; 0 without samples.
fn mean(samples: &[Span]) -> f64 {
    let sum: u64 = samples.iter().map(|rtt| rtt.0).sum();
    Span(sum).secs() / samples.len().max(1) as f64
}

/// What the life of a connection has shown so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// The mean round-trip time of the last interval that had a sample.
    pub(super) rtt_mean: f64,
    /// The smallest of these means.
    pub(super) rtt_mean_min: f64,
    /// The smallest sample.
    pub(super) rtt_min: f64,
    /// The largest rate of acknowledged data, bytes per second.
    pub(super) throughput_max: f64,
    /// Bytes of payload per second that the slowest direction of the path carries.
    pub(super) capacity: f64,
}

impl Life {
    /// Adds an interval.
    pub(super) fn add(&mut self, interval: &StepInterval) {
        if interval.sender.brought.rtts > 0 {
            self.rtt_mean = interval.sender.brought.rtt_mean;
            let least = if self.rtt_mean_min > 0.0 { self.rtt_mean_min } else { f64::INFINITY };
            self.rtt_mean_min = least.min(self.rtt_mean);
        }
        self.rtt_min = interval.sender.rtt_min.unwrap_or(0.0);
        self.throughput_max = self.throughput_max.max(interval.throughput());
    }
}

impl StepInterval {
    fn per_second(&self, bytes: u64) -> f64 {
        ratio(bytes as f64, self.time.secs(), 0.0)
    }

    fn throughput(&self) -> f64 {
        self.per_second(self.acked)
    }
}

/// `a / b`, or `without` if `b` is 0.
fn ratio(a: f64, b: f64, without: f64) -> f64 {
    if b > 0.0 { a / b } else { without }
}

const MOST_BPS: f64 = 1e13;
const MOST_SEGMENTS: f64 = 1e10;
const MOST_SECONDS: f64 = 1e5;

/// How many measures there are.
pub const MEASURES: usize = 21;

/// Every measure.
pub const ALL: [Measure; MEASURES] = [
    Measure::new("latency_gradient", -1.0..=10.0, |i, _| {
        ratio(i.sender.brought.rtt_rise, i.time.secs(), 0.0)
    })
    .about(
        "Mean RTT of the later half of the samples less that of the earlier half, per second of \
             the interval (Aurora)",
    ),
    Measure::new("latency_ratio", 1.0..=10_000.0, |_, life| ratio(life.rtt_mean, life.rtt_mean_min, 1.0))
        .neutral(1.0)
        .about("Mean RTT over the smallest mean RTT of any interval so far (Aurora)"),
    Measure::new("send_ratio", 0.0..=1_000.0, |i, _| ratio(i.sent as f64, i.acked as f64, 1.0))
        .neutral(1.0)
        .about("Data sent over data acknowledged; 1 if nothing was acknowledged (Aurora)"),
    Measure::new("throughput_bps", 0.0..=MOST_BPS, |i, _| 8.0 * i.throughput())
        .about("Data acknowledged per second"),
    Measure::new("throughput_pps", 0.0..=MOST_SEGMENTS, |i, _| ratio(i.throughput(), i.mss, 0.0))
        .about("The same in full segments per second"),
    Measure::new("throughput_share", 0.0..=1_000.0, |i, life| ratio(i.throughput(), life.capacity, 0.0))
        .about(
            "The same as a part of the rate of the slowest link of the path, which no sender knows: \
             for rewards",
        ),
    Measure::new("throughput_ratio", 0.0..=1.0, |i, life| ratio(i.throughput(), life.throughput_max, 0.0))
        .about("The same over its largest value so far"),
    Measure::new("sent_bps", 0.0..=MOST_BPS, |i, _| 8.0 * i.per_second(i.sent))
        .about("Data sent per second, retransmissions included"),
    Measure::new("rate_bps", 0.0..=MOST_BPS, |i, _| 8.0 * i.rate)
        .about("The rate at which the agent paces; 0 if it sets a window alone"),
    Measure::new("rate_ratio", 0.0..=1_000.0, |i, life| ratio(i.rate, life.throughput_max, 1.0))
        .neutral(1.0)
        .about("That rate over the largest throughput so far"),
    Measure::new("cwnd_segments", 0.0..=MOST_SEGMENTS, |i, _| ratio(i.sender.cwnd as f64, i.mss, 0.0))
        .about("The congestion window; 0 for datagrams, which have none"),
    Measure::new("in_flight_segments", 0.0..=MOST_SEGMENTS, |i, _| {
        ratio(i.sender.in_flight as f64, i.mss, 0.0)
    })
    .about("Data in flight when the interval ends"),
    Measure::new("in_flight_ratio", 0.0..=10_000.0, |i, life| {
        ratio(i.sender.in_flight as f64, life.throughput_max * life.rtt_min, 0.0)
    })
    .about("The same over the largest throughput so far times the smallest RTT"),
    Measure::new("rtt_mean_s", 0.0..=MOST_SECONDS, |_, life| life.rtt_mean).about("Mean RTT"),
    Measure::new("rtt_min_s", 0.0..=MOST_SECONDS, |_, life| life.rtt_min).about("The smallest RTT so far"),
    Measure::new("rtt_ratio", 0.0..=10_000.0, |_, life| ratio(life.rtt_mean, life.rtt_min, 1.0))
        .neutral(1.0)
        .about("Mean RTT over the smallest RTT so far"),
    Measure::new("queueing_s", 0.0..=MOST_SECONDS, |_, life| life.rtt_mean - life.rtt_min)
        .about("Mean RTT less the smallest RTT so far"),
    Measure::new("loss_share", 0.0..=1.0, |i, _| ratio(i.lost as f64, (i.lost + i.acked) as f64, 0.0))
        .about("Data declared lost as a part of the data acknowledged or declared lost"),
    Measure::new("mark_share", 0.0..=1.0, |i, _| ratio(i.sender.brought.marked as f64, i.acked as f64, 0.0))
        .about(
            "Data acknowledged as marked \"congestion experienced\", as a part of the data \
             acknowledged",
        ),
    Measure::new("acks", 0.0..=MOST_SEGMENTS, |i, _| i.sender.brought.acks as f64).about("Acknowledgements"),
    Measure::new("interval_s", 0.0..=MOST_SECONDS, |i, _| i.time.secs()).about("Length of the interval"),
];

/// The values of all measures, in the order of [`ALL`].
pub(super) fn values(interval: &StepInterval, life: &Life) -> [f64; MEASURES] {
    ALL.map(|measure| (measure.value)(interval, life).clamp(measure.low, measure.high))
}

/// The number of a measure.
pub(super) fn number(name: &str) -> Option<usize> {
    ALL.iter().position(|measure| measure.name == name)
}
