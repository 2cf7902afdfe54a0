//! A test bench for rate-based controllers: one flow, one FIFO link, segment by segment, with
//! rate samples and pacing.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::controller::Controller;
use crate::decision::Pacing;
use crate::event::{Congestion, Event, Life};
use crate::registry::{self, Value};
use crate::report::{Ack, Flow, Phase, RateSample, Rtt, RttSample};
use crate::rig::{args, near, probe};
use crate::time::{Rate, Span, Time};
use crate::window::Start;

const MSS: u32 = 1000;
/// Wire time of a segment is 1 ms: the rate is 1 MB/s.
const SEGMENT: Span = Span::from_millis(1);
/// The link's rate in bytes per second.
pub(crate) const LINK: f64 = 1e6;

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: Time,
    back: Time,
    lost: bool,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    in_flight: u64,
}

/// A controller that always has data to send, and its path.
pub(crate) struct Pipe {
    pub(crate) cc: Box<dyn Controller>,
    pub(crate) flow: Flow,
    base: Span,
    /// One segment in this many is lost at random; 0: none.
    loss: f64,
    coin: u64,
    flight: VecDeque<Sent>,
    free_at: Time,
    pace_at: Time,
    delivered_at: Time,
    first_sent: Time,
    sent: u64,
    /// Losses below this belong to the recovery under way; it ends when segment `repaired` is acknowledged.
    recover: u64,
    repaired: u64,
    round_mark: u64,
    blocked_at: u64,
    lost: u64,
}

impl Pipe {
    /// Algorithm `id` on a path of 1 MB/s with an endless queue, `base` seconds long; a segment is lost
    /// with probability `loss`.
    pub(crate) fn new(id: &str, given: &[(&str, Value)], base: f64, loss: f64) -> Self {
        let start = Start { mss: MSS, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        let cc = (registry::find(id).expect("registered").build)(&args(id, given), start);
        let flow = Flow { mss: MSS, rwnd: u64::MAX, ..Flow::default() };
        Self {
            cc,
            flow,
            base: Span::from_secs(base),
            loss,
            coin: 1,
            flight: VecDeque::new(),
            free_at: Time(0),
            pace_at: Time(0),
            delivered_at: Time(0),
            first_sent: Time(0),
            sent: 0,
            recover: 0,
            repaired: 0,
            round_mark: 0,
            blocked_at: 0,
            lost: 0,
        }
    }

    /// Segments waiting for the link now.
    pub(crate) fn queue(&self) -> f64 {
        self.free_at.since(self.flow.now).secs() / SEGMENT.secs()
    }

    /// A named internal quantity of the controller.
    pub(crate) fn probe(&self, wanted: &str) -> f64 {
        probe(&*self.cc, wanted)
    }

    /// cwnd in segments.
    pub(crate) fn w(&self) -> f64 {
        self.cc.decision().cwnd as f64 / f64::from(MSS)
    }

    /// Seconds since the start.
    pub(crate) fn secs(&self) -> f64 {
        self.flow.now.secs()
    }

    /// Changes the round trip's propagation delay to `base` seconds for segments sent from now on.
    pub(crate) fn reroute(&mut self, base: f64) {
        self.base = Span::from_secs(base);
    }

    /// Runs until `secs`, showing every ACK to `look`; returns the bytes delivered per second in
    /// units of the link's rate.
    pub(crate) fn run(&mut self, secs: f64, mut look: impl FnMut(&Pipe)) -> f64 {
        let (from, delivered) = (self.secs(), self.flow.delivered);
        while self.secs() < secs {
            self.step();
            look(self);
        }
        (self.flow.delivered - delivered) as f64 / (self.secs() - from) / LINK
    }

    /// The next event: a segment goes out or an ACK comes in.
    fn step(&mut self) {
        let room =
            self.flow.in_flight + u64::from(MSS) <= self.cc.decision().cwnd || self.flow.in_flight == 0;
        if !room {
            self.blocked_at = self.sent;
        }
        let back = self.flight.front().map_or(Time::MAX, |s| s.back);
        if room && self.pace_at.max(self.flow.now) <= back {
            self.send();
        } else {
            self.receive();
        }
    }

    /// All that is in flight comes back, nothing is sent for `secs`, and the application goes on.
    pub(crate) fn pause(&mut self, secs: f64) {
        while !self.flight.is_empty() {
            self.receive();
        }
        self.flow.now = self.flow.now + Span::from_secs(secs);
        self.cc.on(&self.flow, Event::Life(Life::IdleRestart));
    }

    fn send(&mut self) {
        let now = self.pace_at.max(self.flow.now);
        self.flow.now = now;
        if self.flight.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.coin = self.coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lost = ((self.coin >> 11) as f64) < self.loss * (1_u64 << 53) as f64;
        self.free_at = self.free_at.max(now) + SEGMENT;
        self.flight.push_back(Sent {
            number: self.sent,
            at: now,
            back: self.free_at + self.base,
            lost,
            delivered: self.flow.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight: self.flow.in_flight,
        });
        self.sent += 1;
        self.flow.in_flight += u64::from(MSS);
        if let Pacing::Rate(rate) = self.cc.decision().pacing {
            self.pace_at = now + Span::from_secs(f64::from(MSS) / rate.bytes_per_sec());
        }
    }

    fn receive(&mut self) {
        let Some(got) = self.flight.pop_front() else { return };
        let bytes = u64::from(MSS);
        self.flow.now = self.flow.now.max(got.back);
        self.flow.in_flight -= bytes;
        if got.lost {
            self.lost += bytes; // seen when the next segment is acknowledged
            return;
        }
        let lost = core::mem::take(&mut self.lost);
        self.flow.delivered += bytes;
        self.flow.lost += lost;
        let rtt = self.flow.now.since(got.at);
        let min = self.flow.rtt.map_or(rtt, |r| r.min.min(rtt));
        let smoothed = self.flow.rtt.map_or(rtt, |r| Span((7 * r.smoothed.0 + rtt.0) / 8));
        self.flow.rtt = Some(Rtt { latest: rtt, min, smoothed, var: Span::ZERO });
        self.flow.cwnd_limited = got.number < self.blocked_at;
        self.delivered_at = self.flow.now;
        let interval = got.at.since(got.first_sent).max(self.flow.now.since(got.delivered_at)).secs();
        self.first_sent = got.at;
        let round_end = got.number >= self.round_mark;
        if round_end {
            self.round_mark = self.sent;
            self.flow.round += 1;
        }
        let ack = Ack {
            acks: 1,
            acked: bytes,
            lost,
            round_end,
            rtt: Some(RttSample::one(rtt)),
            rate: Some(RateSample {
                rate: Rate(((self.flow.delivered - got.delivered) as f64 / interval) as u64),
                app_limited: false,
                prior_delivered: got.delivered,
                prior_in_flight: got.in_flight,
            }),
            ..Ack::default()
        };
        if self.flow.phase == Phase::Recovery && got.number >= self.repaired && got.number >= self.recover {
            self.flow.phase = Phase::Open;
            self.cc.on(&self.flow, Event::Life(Life::Recovered));
        }
        if lost > 0 && self.flow.phase == Phase::Open {
            self.cc.on(&self.flow, Event::Congestion(Congestion::Loss));
            self.flow.phase = Phase::Recovery;
            self.recover = self.sent;
        }
        if lost > 0 && got.number <= self.recover {
            self.repaired = self.sent; // a retransmission would go out now, and be acknowledged with this one
        }
        self.cc.on_ack(&self.flow, &ack);
    }
}

/// After a pause of 30 s a controller that paces goes on at the link's rate and with more
/// than half of its window.
pub(crate) fn assert_rate_goes_on_after_a_pause(id: &str) {
    let mut pipe = Pipe::new(id, &[], 0.1, 0.0);
    pipe.run(8.0, |_| ());
    pipe.pause(30.0);
    let Pacing::Rate(rate) = pipe.cc.decision().pacing else { panic!("it paces") };
    near(rate.bytes_per_sec(), 0.99 * 1e6, 0.01);
    let end = pipe.secs() + 1.0;
    let mut least = f64::INFINITY;
    pipe.run(end, |p| least = least.min(p.w()));
    assert!(least > 50.0, "a window of {least} segments");
}
