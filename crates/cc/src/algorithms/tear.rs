//! TEAR: I. Rhee, V. Ozdemir, Y. Yi: TEAR: TCP Emulation at Receivers, Flow Control for Multimedia Streaming,
//! NCSU technical report, 2000.
//!
//! Unit: segments and seconds at the receiver; bytes per second outside. Valid for RTT from 1 us to 10^4 s.
//! The receiver keeps the window that a TCP sender would have, by what arrives, and tells the sender a
//! smoothed rate -> [`Receiver`]:
//!  * each packet in order adds 1 in slow start, and 1/W of the round's beginning in congestion
//!    avoidance; W packets are a round;
//!  * a gap behind which three packets have come is a fast retransmission: W and the threshold are halved.
//!    Gaps within a window of packets behind the first lost one are the same event. A gap with a pause of
//!    more than T_out behind it is a timeout: W = 1;
//!  * an epoch lasts from one such event to the next; its rate is the sum of the windows of its rounds
//!    over the sum of their RTTs;
//!  * the rate reported is the mean of the last 8 epochs with weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2. The one
//!    under way counts only if it makes the mean higher.
//!
//! What of TEAR's own transport is not here: its data is not sent again. Here it is, within the
//! rate; the receiver leaves these copies out. So while much is repaired its receiver learns
//! little, and the rate stays.
//! Its report comes once per feedback round; here each acknowledgement carries it (4 bytes,
//! [`Header::ReceiverRate`]). Its receiver measures the RTT; here the sender tells it with each segment.
//! Decisions where the report is silent or its text was not at hand (grade B, from general knowledge of it):
//!  * until the first event the rate is W / RTT of the round under way, which is what a TCP sender has in
//!    slow start. The mean over the rounds so far would be a small part of that: W would double on a path
//!    that does not feel it, and lose most of what is sent for half a minute once it does. Measured on a GEO
//!    path of 834 segments with its buffer: W above 5000, two thirds of all packets lost.
//!  * events are also a round trip apart, as TCP's are: at a rate far above W per RTT a window of packets
//!    takes less. The round that an event cuts short counts as a whole one.
//!  * T_out is four round trips. The report has TCP's estimator at the receiver.
//!  * the sender begins with its initial window at once, then paces by that window per first
//!    RTT until a report comes.
//!  * a timeout of the sender, to which no report can come, halves its rate until the next report. ECN
//!    marks are not looked at.
//!  * cwnd is a guard, not a control ([`guard`](crate::algorithms::model::guard)).
//!  * an idle sender (`IdleRestart`) begins with the last rate reported.

use alloc::boxed::Box;

use crate::algorithms::model::LARGEST;
use crate::algorithms::prelude::*;
use crate::algorithms::rate_based::{RateBased, RatePolicy};
use crate::header::{Arrived, Echo, Header, seconds};

pub(crate) const ENTRY: Entry = Entry {
    id: "tear",
    label: "TEAR",
    about: "The receiver plays a TCP sender by what arrives, and tells the sender the smoothed rate that it would have.",
    source: "I. Rhee, V. Ozdemir, Y. Yi: TEAR: TCP Emulation at Receivers, Flow Control for Multimedia Streaming, NCSU, 2000",
    reference: "NCSU TR 2000",
    grade: Grade::B,
    params: &[],
    sender: SenderOptions { header: 4, ..SenderOptions::NONE },
    colour: "#663333",
    marker: "D",
    build: |_, start| RateBased::hosted(Tear::new(start), start),
};

const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Packets behind a gap that make it a loss.
const DUP_THRESH: u32 = 3;
/// T_out in round trips.
const PATIENCE: f64 = 4.0;

/// The sums over the rounds of an epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    windows: f64,
    rtts: f64,
}

impl Epoch {
    /// Segments per second.
    fn rate(&self) -> f64 {
        if self.rtts > 0.0 { self.windows / self.rtts } else { 0.0 }
    }
}

/// TCP, emulated by what arrives.
#[derive(Debug, Default)]
struct Receiver {
    mss: f64,
    rtt: f64,
    w: f64,
    threshold: f64,
    /// W at the beginning of the round, and how many packets of the round have come.
    of_round: f64,
    come: f64,
    expected: u64,
    last_at: Time,
    /// Packets behind a gap that is not yet judged.
    behind_gap: Option<u32>,
    /// Gaps below this number belong to the last event.
    until: u64,
    /// When the last event came.
    lost_at: Time,
    now: Epoch,
    /// Rates of the epochs before, the last one first, segments per second.
    past: [f64; 8],
    epochs: usize,
}

impl Receiver {
    fn new(mss: u32, window: f64) -> Self {
        Self { mss: f64::from(mss), w: window, threshold: f64::INFINITY, of_round: window, ..Self::default() }
    }

    /// A packet that counts for the window.
    fn grow(&mut self) {
        self.w += if self.w < self.threshold { 1.0 } else { 1.0 / self.of_round };
        self.come += 1.0;
        if self.come >= self.of_round {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        if self.rtt > 0.0 {
            self.now.windows += self.of_round;
            self.now.rtts += self.rtt;
        }
        (self.of_round, self.come) = (self.w, 0.0);
    }

    /// A loss event: the epoch is over.
    fn lose(&mut self, after: f64) {
        self.end_round();
        if self.now.rtts > 0.0 {
            self.past.rotate_right(1);
            self.past[0] = self.now.rate();
            self.epochs = (self.epochs + 1).min(WEIGHTS.len());
        }
        self.now = Epoch::default();
        self.until = self.expected + self.of_round as u64;
        self.lost_at = self.last_at;
        self.threshold = (self.w / 2.0).max(2.0);
        self.w = after.max(1.0);
        (self.of_round, self.come, self.behind_gap) = (self.w, 0.0, None);
    }

    /// The weighted mean of these rates, the last one first.
    fn mean(rates: impl Iterator<Item = f64>) -> f64 {
        let (sum, weight) = rates.zip(WEIGHTS).fold((0.0, 0.0), |(s, n), (rate, w)| (s + w * rate, n + w));
        if weight > 0.0 { sum / weight } else { 0.0 }
    }

    /// Segments per second.
    fn rate(&self) -> f64 {
        if self.epochs == 0 {
            // Slow start: the round under way.
            return if self.now.rtts > 0.0 { self.of_round / self.rtt } else { 0.0 };
        }
        let past = self.past.iter().copied().take(self.epochs);
        let with = Self::mean(core::iter::once(self.now.rate()).chain(past.clone()));
        if self.now.rtts > 0.0 { with.max(Self::mean(past)) } else { Self::mean(past) }
    }
}

impl Echo for Receiver {
    fn on_data(&mut self, arrived: &Arrived) {
        if let Some(Header::Rate { rtt, .. }) = arrived.header
            && rtt > 0.0
        {
            self.rtt = rtt;
        }
        if arrived.retransmission || arrived.seq < self.expected {
            return; // TEAR sends nothing again
        }
        let pause = arrived.now.since(self.last_at).secs();
        let gap = arrived.seq > self.expected;
        (self.expected, self.last_at) = (arrived.seq + 1, arrived.now);
        let apart = arrived.seq >= self.until
            && (self.until == 0 || arrived.now.since(self.lost_at).secs() >= self.rtt);
        if gap && apart && self.behind_gap.is_none() {
            self.behind_gap = Some(0);
        }
        match &mut self.behind_gap {
            None => self.grow(),
            Some(_) if self.rtt > 0.0 && pause > PATIENCE * self.rtt => self.lose(1.0),
            Some(behind) => {
                *behind += 1;
                if *behind >= DUP_THRESH {
                    self.lose(self.w / 2.0);
                }
            }
        }
    }

    fn answer(&mut self, _now: Time) -> Option<Header> {
        let rate = self.rate() * self.mss;
        (rate > 0.0).then_some(Header::ReceiverRate(rate))
    }
}

/// The sending end.
#[derive(Debug)]
struct Tear {
    initial: f64,
    /// Bytes per second; `None` before the first RTT sample.
    rate: Option<f64>,
    /// The rate before the last timeout.
    before: Option<f64>,
}

impl Tear {
    fn new(start: Start) -> Self {
        Self { initial: start.initial_window.max(1.0), rate: None, before: None }
    }
}

impl RatePolicy for Tear {
    fn rate(&self, _mss: u32) -> Option<f64> {
        self.rate
    }

    fn on_ack(&mut self, flow: &Flow, _ack: &Ack) -> Option<f64> {
        let rtt = seconds(flow.rtt.map(|rtt| rtt.smoothed));
        if self.rate.is_none() && rtt > 0.0 {
            self.rate = Some((self.initial * f64::from(flow.mss.max(1)) / rtt).min(LARGEST as f64));
        }
        self.rate.map(|rate| rate * rtt)
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) -> Option<f64> {
        match event {
            Event::Header(&Header::ReceiverRate(rate)) if rate > 0.0 => {
                (self.rate, self.before) = (Some(rate.min(LARGEST as f64)), None);
            }
            Event::Congestion(Congestion::Timeout) => {
                self.before = self.rate;
                self.rate = self.rate.map(|rate| rate / 2.0);
            }
            Event::Undo(_) => self.rate = self.before.take().or(self.rate),
            Event::Departure(slot) => {
                let rtt = seconds(flow.rtt.map(|rtt| rtt.smoothed));
                *slot = Some(Header::Rate { rtt, rate: f64::INFINITY, computed: false });
            }
            _ => {}
        }
        None
    }

    fn echo(&self, mss: u32) -> Option<Box<dyn Echo>> {
        Some(Box::new(Receiver::new(mss, self.initial)))
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("rate_bytes_per_s", self.rate.unwrap_or(f64::NAN));
    }
}

#[cfg(test)]
mod tests {
    use super::Receiver;
    use crate::header::{Arrived, Echo, Header};
    use crate::rig::near;
    use crate::time::{Span, Time};

    /// Packets of 1000 bytes that arrive at the emulated rate, RTT 0.1 s; those with a number for
    /// which `lost` holds do not.
    fn receive(tear: &mut Receiver, from: u64, to: u64, lost: impl Fn(u64) -> bool) {
        for seq in (from..to).filter(|&seq| !lost(seq)) {
            let now = tear.last_at + Span::from_secs(0.1 / tear.w);
            let header = Some(Header::Rate { rtt: 0.1, rate: f64::INFINITY, computed: false });
            tear.on_data(&Arrived { now, seq, size: 1040, retransmission: false, ecn: 2, header });
        }
    }

    fn reported(tear: &mut Receiver) -> f64 {
        match tear.answer(Time(0)) {
            Some(Header::ReceiverRate(rate)) => rate,
            other => panic!("{other:?}"),
        }
    }

    /// Slow start doubles each round: after 2 + 4 + 8 packets W is 16, and 16 packets go out in the round
    /// trip of 0.1 s that follows.
    #[test]
    fn slow_start_is_emulated_round_by_round() {
        let mut tear = Receiver::new(1000, 2.0);
        receive(&mut tear, 0, 14, |_| false);
        assert_eq!(tear.w, 16.0);
        near(reported(&mut tear), 16.0 / 0.1 * 1000.0, 1e-9);
    }

    /// The third packet behind the gap halves the window, once for all gaps of that window. A pause of more
    /// than four round trips behind a gap leaves one segment.
    #[test]
    fn a_gap_halves_and_a_pause_collapses() {
        let mut tear = Receiver::new(1000, 16.0);
        receive(&mut tear, 0, 8, |_| false);
        assert_eq!(tear.w, 24.0);
        receive(&mut tear, 8, 11, |seq| seq == 8);
        assert_eq!(tear.w, 24.0);
        receive(&mut tear, 11, 12, |_| false);
        assert_eq!((tear.w, tear.threshold), (12.0, 12.0));
        receive(&mut tear, 12, 24, |seq| seq == 15);
        assert!(tear.w >= 12.0, "{}", tear.w);
        tear.last_at = Time(0);
        let now = Time(0) + Span::from_secs(0.5);
        tear.on_data(&Arrived { now, seq: 60, size: 1040, retransmission: false, ecn: 2, header: None });
        assert_eq!(tear.w, 1.0);
    }

    /// A retransmission tells nothing: TEAR has none.
    #[test]
    fn copies_do_not_count() {
        let mut tear = Receiver::new(1000, 4.0);
        let data =
            |seq| Arrived { now: Time(9), seq, size: 1040, retransmission: true, ecn: 2, header: None };
        tear.on_data(&data(0));
        tear.on_data(&data(7));
        assert_eq!((tear.w, tear.expected), (4.0, 0));
    }

    /// The weights of the report: rates 10, 20 and 40, the last one first, with one of 100 under way:
    /// (100 + 10 + 20 + 40) / 4. One of 1 under way is left out: (10 + 20 + 40) / 3.
    #[test]
    fn the_epoch_under_way_counts_only_upwards() {
        let mut tear = Receiver::new(1, 4.0);
        tear.past[..3].copy_from_slice(&[10.0, 20.0, 40.0]);
        tear.epochs = 3;
        (tear.now.windows, tear.now.rtts) = (100.0, 1.0);
        near(reported(&mut tear), 42.5, 1e-12);
        tear.now.windows = 1.0;
        near(reported(&mut tear), 70.0 / 3.0, 1e-12);
    }

    /// It is as friendly as TCP: one loss in 600 packets gives sqrt(3 N / 2) = 30 packets per round trip
    /// (Mathis et al.). The three packets behind each gap and the whole rounds leave a little less.
    #[test]
    fn the_rate_is_that_of_the_square_root_law() {
        let mut tear = Receiver::new(1000, 20.0);
        receive(&mut tear, 0, 60_000, |seq| seq % 600 == 599);
        near(reported(&mut tear), 30.0 / 0.1 * 1000.0, 0.05);
    }
}
