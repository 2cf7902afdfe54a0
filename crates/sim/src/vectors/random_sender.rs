//! A sender that draws what happens to it: round-trip times, losses, marks, timeouts, pauses, hints. It keeps the
//! books of a sender and the order of its reports (`bentpipe_cc::Controller`), so that any implementation can
//! follow, and it meets more in a hundred calls than a transfer does in an hour.

use bentpipe_cc::{
    Ack, Arrived, Congestion, Controller, Decision, Echo, Event, Flow, Header, Hint, Life, LinkQuality, Load,
    PathChange, Phase, Rate, RateChange, RateSample, RecoveryWindow, Rtt, RttSample, Span, Start, Subflow,
    Time,
};

use crate::link::random::Stream;
use crate::vectors::line;
use crate::vectors::recorder::RecordedController;

/// Segment sizes: of an IPv4 path without and with discovery of its MTU, a QUIC datagram, an Ethernet with jumbo
/// frames.
const SEGMENTS: [u32; 5] = [536, 1200, 1440, 1448, 8948];

/// What a drawn sequence may be without: calls, acknowledgements that do not count in full, times in which the window
/// does not limit the sender, changes of the path, and an initial slow-start threshold.
pub const EVENTS: [&str; 11] = [
    "loss",
    "timeout",
    "ecn",
    "undo",
    "idle_restart",
    "validation",
    "mss_changed",
    "uncounted",
    "limited",
    "path_change",
    "ssthresh",
];

/// Draws of a sequence.
#[derive(Debug)]
pub(super) struct Draws(Stream);

impl Draws {
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Self(Stream::new(seed, name))
    }

    /// Uniform between the two.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// Uniform in the logarithm.
    fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        libm::exp(self.between(libm::log(low), libm::log(high)))
    }

    fn chance(&mut self, p: f64) -> bool {
        self.0.uniform() <= p
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[((self.0.uniform() * of.len() as f64) as usize).min(of.len() - 1)]
    }

    /// How a connection starts, with or without a threshold.
    pub(super) fn start(&mut self, without: &[String]) -> Start {
        let mss = self.one(&SEGMENTS);
        let initial_window = self.one(&[1.0, 2.0, 4.0, 10.0, 10.0, 32.0]);
        let threshold = libm::floor(self.magnitude(2.0, 200.0));
        let initial_ssthresh = self.one(&[f64::INFINITY, f64::INFINITY, threshold]);
        let known = without.iter().all(|event| event != "ssthresh");
        Start { mss, initial_window, initial_ssthresh: if known { initial_ssthresh } else { f64::INFINITY } }
    }
}

/// The path: its propagation delay, and what it holds and queues in segments.
#[derive(Debug)]
struct DrawnPath {
    rtt: f64,
    holds: f64,
    queues: f64,
}

impl DrawnPath {
    fn drawn(draw: &mut Draws) -> Self {
        let holds = draw.magnitude(4.0, 400.0);
        Self { rtt: draw.magnitude(2e-3, 0.8), holds, queues: holds * draw.between(0.2, 2.0) }
    }

    /// Segments that it holds with its queue.
    fn room(&self) -> f64 {
        self.holds + self.queues
    }

    /// Segments per second.
    fn rate(&self) -> f64 {
        self.holds / self.rtt
    }
}

/// The sender.
#[derive(Debug)]
pub(super) struct RandomSender {
    draw: Draws,
    cc: RecordedController,
    flow: Flow,
    path: DrawnPath,
    /// The application has less data than the window allows.
    short_of_data: bool,
    /// Reports merge many acknowledgements, as those of a datapath may.
    coarse: bool,
    /// Data that the round, and the recovery, end with.
    round_ends: u64,
    recovery_ends: u64,
    /// The decision before the last episode.
    before: Option<Decision>,
    /// Marks may come again from here on.
    marks_from: u64,
    echo: Option<Box<dyn Echo>>,
    /// Extra segments under way.
    extra: u64,
    /// Those of [`EVENTS`] that do not happen.
    without: Vec<String>,
}

impl RandomSender {
    /// The sender of this flow.
    pub(super) fn new(
        mut draw: Draws,
        coarse: bool,
        mut flow: Flow,
        cc: RecordedController,
        without: &[String],
    ) -> Self {
        let path = DrawnPath::drawn(&mut draw);
        if draw.chance(0.25) && without.iter().all(|event| event != "limited") {
            flow.rwnd = (draw.between(0.5, 2.0) * path.room()) as u64 * u64::from(flow.mss);
        }
        let echo = cc.needs().echo;
        Self {
            draw,
            cc,
            flow,
            path,
            short_of_data: false,
            coarse,
            round_ends: 0,
            recovery_ends: 0,
            before: None,
            marks_from: 0,
            echo,
            extra: 0,
            without: without.to_vec(),
        }
    }

    fn happens(&self, event: &str) -> bool {
        self.without.iter().all(|name| name != event)
    }

    /// What happens next.
    pub(super) fn step(&mut self) {
        match self.draw.between(0.0, 100.0) {
            x if x < 1.5 => self.episode(Congestion::Loss),
            x if x < 2.2 => self.episode(Congestion::Timeout),
            x if x < 4.0 => self.episode(Congestion::Ecn),
            x if x < 5.5 && self.happens("limited") => self.short_of_data = !self.short_of_data,
            x if x < 6.2 && self.happens("idle_restart") => self.pause(),
            x if x < 6.9 && self.happens("path_change") => self.other_path(),
            x if x < 7.2 && self.happens("validation") => self.validate(),
            x if x < 7.4 && self.happens("mss_changed") => self.resize(),
            x if x < 8.0 => self.quality(),
            _ => self.acknowledge(),
        }
        self.extra_segments();
    }

    /// Time passes; what is due is reported.
    fn pass(&mut self, seconds: f64) {
        let then = self.flow.now + Span::from_secs(seconds);
        for _ in 0..3 {
            let due = self.cc.decision().deadline;
            if due <= then && due < Time::MAX {
                self.flow.now = self.flow.now.max(due);
                self.cc.on(&self.flow, Event::Deadline);
            }
        }
        self.flow.now = self.flow.now.max(then);
    }

    /// Data in flight before an acknowledgement, as window, application and receiver have it. No sender has more
    /// than several times what the path and its queue hold.
    fn fill(&mut self) -> u64 {
        let mss = u64::from(self.flow.mss);
        let cwnd = self.cc.decision().cwnd;
        self.flow.cwnd_limited = !self.short_of_data && cwnd <= self.flow.rwnd;
        let share = if self.short_of_data { self.draw.between(0.1, 0.7) } else { 1.0 };
        let most = 4.0 * self.path.room() * mss as f64;
        let window = (cwnd.min(self.flow.rwnd) as f64).min(most);
        ((share * window) as u64 / mss).max(1) * mss
    }

    fn acknowledge(&mut self) {
        let mss = u64::from(self.flow.mss);
        let sent = self.fill();
        let acked = self.acked(sent / mss).min(sent);
        let segments = acked as f64 / mss as f64;
        let flight = sent as f64 / mss as f64;
        // A queue that is full, or a window that leaves the path idle.
        let queue = (flight - self.path.holds).clamp(0.0, self.path.queues);
        let rtt = (self.path.rtt + queue / self.path.rate()) * self.draw.between(0.99, 1.05);
        let spacing = if flight < self.path.holds { rtt / flight } else { 1.0 / self.path.rate() };
        self.pass(segments * spacing);
        let (delivered, lost) = (self.flow.delivered, self.loss(flight));
        self.flow.delivered += acked;
        self.flow.lost += lost;
        self.flow.in_flight = sent.saturating_sub(acked + lost);
        let mut ack = Ack::default();
        (ack.acks, ack.acked, ack.lost) = (libm::ceil(segments / 2.0) as u32, acked, lost);
        ack.rtt = (!self.draw.chance(0.05)).then(|| samples(&mut self.draw, rtt, ack.acks));
        self.estimate(ack.rtt);
        if self.cc.needs().rate {
            let rate = self.draw.between(0.8, 1.05) * (1.0 / spacing).min(self.path.rate()) * mss as f64;
            let limited = !self.flow.cwnd_limited;
            ack.rate = Some(RateSample {
                rate: Rate(rate as u64),
                app_limited: limited,
                prior_delivered: delivered.saturating_sub(sent - acked),
                prior_in_flight: sent,
            });
        }
        if self.flow.delivered >= self.round_ends {
            self.round_ends = self.flow.delivered + sent;
            self.flow.round += 1;
            ack.round_end = true;
        }
        if self.flow.delivered < self.marks_from {
            ack.ce = if self.draw.chance(0.3) { acked } else { acked / 3 };
        }
        let repeats = self.flow.phase == Phase::Recovery && self.draw.chance(0.7);
        ack.uncounted = match () {
            () if repeats => acked,
            () if self.draw.chance(0.03) && self.happens("uncounted") => acked / 2,
            () => 0,
        };
        self.report(&ack, segments);
    }

    /// How much an acknowledgement is for.
    fn acked(&mut self, flight: u64) -> u64 {
        let mss = u64::from(self.flow.mss);
        let most = if self.coarse { flight as f64 / 3.0 } else { 3.0 };
        match self.draw.between(0.0, 1.0) {
            x if x < 0.03 => (self.draw.between(0.01, 0.99) * mss as f64) as u64 + 1, // the last of an application's data
            x if x < 0.4 => mss,
            _ => (self.draw.between(1.0, most.max(1.0) + 1.0) as u64).max(1) * mss,
        }
    }

    /// Bytes that an acknowledgement shows to be lost; a full queue ends in an episode.
    fn loss(&mut self, flight: f64) -> u64 {
        let full = flight > self.path.room();
        if self.flow.phase == Phase::Open && full && self.draw.chance(0.2) {
            self.episode(Congestion::Loss);
        }
        let lost = self.flow.phase != Phase::Open && self.draw.chance(0.2);
        if lost { u64::from(self.flow.mss) } else { 0 }
    }

    /// The report, with what goes before and after it.
    fn report(&mut self, ack: &Ack, segments: f64) {
        let over = self.flow.phase != Phase::Open && self.flow.delivered >= self.recovery_ends;
        let spurious = self.flow.phase != Phase::Open && self.draw.chance(0.03) && self.happens("undo");
        if let Some(before) = self.before.filter(|_| spurious) {
            self.flow.phase = Phase::Open;
            self.before = None;
            self.cc.on(&self.flow, Event::Undo(&before));
        }
        if self.cc.needs().subflows && self.draw.chance(0.3) {
            self.subflows();
        }
        self.headers(segments);
        self.cc.on_ack(&self.flow, ack);
        if over && self.flow.phase != Phase::Open {
            self.flow.phase = Phase::Open;
            self.cc.on(&self.flow, Event::Life(Life::Recovered));
        }
    }

    /// RFC 6298 section 2.
    fn estimate(&mut self, sample: Option<RttSample>) {
        let Some(sample) = sample else { return };
        let latest = sample.latest;
        self.flow.rtt = Some(self.flow.rtt.map_or(
            Rtt { latest, min: sample.min, smoothed: latest, var: Span(latest.0 / 2) },
            |known| Rtt {
                latest,
                min: known.min.min(sample.min),
                smoothed: Span((7 * known.smoothed.0 + latest.0) / 8),
                var: Span((3 * known.var.0 + known.smoothed.0.abs_diff(latest.0)) / 4),
            },
        ));
    }

    fn episode(&mut self, why: Congestion) {
        let outstanding = self.fill();
        match why {
            _ if !self.happens(line::word(why)) => return,
            Congestion::Ecn if self.flow.delivered < self.marks_from => return,
            Congestion::Loss if self.flow.phase != Phase::Open => return,
            Congestion::Ecn => self.marks_from = self.flow.delivered + outstanding,
            Congestion::Loss => {
                self.flow.phase = Phase::Recovery;
                self.flow.lost += u64::from(self.flow.mss);
            }
            Congestion::Timeout => {
                self.flow.reduced = self.flow.phase == Phase::Recovery;
                let rto =
                    self.flow.rtt.map_or(1.0, |rtt| (rtt.smoothed.secs() + 4.0 * rtt.var.secs()).max(0.2));
                self.pass(rto);
                (self.flow.phase, self.flow.in_flight) = (Phase::Loss, 0);
                self.flow.lost += outstanding;
            }
        }
        self.recovery_ends = self.flow.delivered + outstanding;
        self.before = Some(self.cc.decision());
        self.cc.on(&self.flow, Event::Congestion(why));
        self.flow.reduced = false;
        // The timer may expire again and again.
        if why == Congestion::Timeout && self.draw.chance(0.2) {
            self.pass(1.0);
            self.cc.on(&self.flow, Event::Congestion(why));
        }
    }

    /// The application pauses.
    fn pause(&mut self) {
        let seconds = self.draw.magnitude(0.05, 20.0);
        self.pass(seconds);
        (self.flow.in_flight, self.flow.phase) = (0, Phase::Open);
        self.cc.on(&self.flow, Event::Life(Life::IdleRestart));
    }

    /// The path changes hands, and its rate with it; a controller that uses hints gets them.
    fn other_path(&mut self) {
        let before = self.path.rate();
        self.path = DrawnPath::drawn(&mut self.draw);
        if !self.cc.needs().path_change {
            return;
        }
        let [ahead, dark] = [0.0, 0.2].map(|most| Span::from_secs(self.draw.between(0.0, most)));
        self.cc.on(&self.flow, Event::Hint(Hint::PathChange(PathChange { ahead, dark })));
        let [from, to] =
            [before, self.path.rate()].map(|rate| Rate((rate * f64::from(self.flow.mss)) as u64));
        self.cc.on(&self.flow, Event::Hint(Hint::RateChange(RateChange { ahead, from, to })));
    }

    /// The errors of the path change.
    fn quality(&mut self) {
        if self.cc.needs().link_quality {
            let bit_error_rate = self.draw.magnitude(1e-9, 1e-4);
            let quality = LinkQuality { ahead: Span::ZERO, bit_error_rate };
            self.cc.on(&self.flow, Event::Hint(Hint::LinkQuality(quality)));
        }
    }

    /// A window that was not used is taken back (RFC 2861).
    fn validate(&mut self) {
        if self.cc.needs().recovery == RecoveryWindow::Sender && self.flow.phase == Phase::Open {
            let Decision { cwnd, ssthresh, .. } = self.cc.decision();
            let mss = u64::from(self.flow.mss);
            let threshold = if ssthresh == u64::MAX { ssthresh } else { ssthresh.max(cwnd / 4 * 3) };
            let cwnd = (cwnd / 2).max(mss);
            self.cc.on(&self.flow, Event::Validation { cwnd, ssthresh: threshold });
        }
    }

    /// Segments have another size.
    fn resize(&mut self) {
        self.flow.mss = self.draw.one(&SEGMENTS);
        self.cc.on(&self.flow, Event::Life(Life::MssChanged));
    }

    fn subflows(&mut self) {
        let own = Subflow {
            cwnd: self.cc.decision().cwnd,
            rtt: self.flow.rtt.map(|rtt| rtt.smoothed),
            between_losses: self.draw.magnitude(1e3, 1e7) as u64,
        };
        let other = Subflow {
            cwnd: self.draw.magnitude(2e3, 1e6) as u64,
            rtt: self.draw.chance(0.9).then(|| Span::from_secs(self.draw.magnitude(2e-3, 0.8))),
            between_losses: self.draw.magnitude(1e3, 1e7) as u64,
        };
        self.cc.on(&self.flow, Event::Subflows { own: 0, all: &[own, other] });
    }

    /// A segment with its header passes a queue that computes, arrives, and is acknowledged.
    fn headers(&mut self, segments: f64) {
        let Some(echo) = &mut self.echo else { return };
        let mut header = None;
        self.cc.on(&self.flow, Event::Departure(&mut header));
        let now = self.flow.now;
        let seq = self.flow.delivered / u64::from(self.flow.mss);
        for number in 0..(segments as u64).clamp(1, 4) {
            let retransmission = self.flow.phase != Phase::Open && number == 0;
            // A number left out is a loss.
            let seq = seq + number + u64::from(self.draw.chance(0.02));
            let header = header.map(|header| computed(&mut self.draw, header));
            echo.on_data(&Arrived { now, seq, size: self.flow.mss + 40, retransmission, ecn: 0, header });
        }
        if let Some(answer) = echo.answer(now) {
            self.cc.on(&self.flow, Event::Header(&answer));
        }
    }

    /// The sender asks for extra segments, and some of them are acknowledged.
    fn extra_segments(&mut self) {
        if !self.cc.needs().extra_segments {
            return;
        }
        let mut order = None;
        self.cc.on(&self.flow, Event::Room(&mut order));
        self.extra = order.map_or(self.extra, |order| order.count);
        if self.extra > 0 && self.draw.chance(0.5) {
            self.extra -= 1;
            self.cc.on(&self.flow, Event::ExtraAcked);
        }
    }
}

/// Samples near this round-trip time.
fn samples(draw: &mut Draws, rtt: f64, acks: u32) -> RttSample {
    let count = if draw.chance(0.9) { 1 } else { acks.clamp(1, 3) };
    let mut all = RttSample::one(Span::from_secs(rtt));
    for _ in 1..count {
        all = all.and(RttSample::one(Span::from_secs(rtt * draw.between(0.95, 1.05))));
    }
    all
}

/// The header as a queue leaves it.
fn computed(draw: &mut Draws, header: Header) -> Header {
    match header {
        Header::Change { rtt, spacing, change, .. } => {
            let change = change.min(draw.magnitude(1e2, 1e6)) * draw.between(-0.5, 1.0);
            Header::Change { rtt, spacing, change, computed: true }
        }
        Header::Rate { rtt, rate, .. } => {
            Header::Rate { rtt, rate: rate.min(draw.magnitude(1e3, 1e7)), computed: true }
        }
        Header::Load(_) => Header::Load(draw.one(&[Load::Low, Load::Low, Load::High, Load::Over])),
        other => other,
    }
}
