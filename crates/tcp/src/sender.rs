//! The sending end: which segment to send and when, which are lost, and when to give up waiting.
//!
//! | RFC | rules |
//! |---|---|
//! | 5681, 6582 (NewReno), 6675 (SACK) | `recovery.rs`; `sender/recovery.rs` begins and ends a recovery |
//! | 5681 section 2 (duplicates), 3465 (byte counting), 7323 (timestamps) | `sender/delivery.rs` |
//! | 6675 section 4 | `scoreboard.rs`; `NextSeg` and 3042 (limited transmit) are in `sender/sending.rs` |
//! | 9937 (PRR) | `prr.rs` |
//! | 8985 (RACK-TLP) | `rack.rs`, `tlp.rs`; `sender/rack_tlp.rs` applies them |
//! | 6298 (timer) | `rto.rs`; `sender/recovery.rs` starts the timer and acts when it expires |
//! | 5682 (F-RTO), 3522 (Eifel), 3708 (D-SACK) | `spurious.rs` |
//! | 3168 (ECN), 9768 (AccECN) | `sender/ecn.rs`, `accurate_ecn.rs` |
//! | 9293 | `sender/peer_window.rs` (section 3.8.6), `handshake.rs` |
//! | 5681 section 4.1 (idle connections), 2861 as in Linux | `sender/validation.rs` |
//! | 6928 (initial window) | `sender/connection.rs` |
//! | 8684 (Multipath TCP) | `sender/subflow.rs` |
//! | draft-ietf-ccwg-bbr (delivery-rate samples) | [`bentpipe_cc::DeliveryRate`] |
//!
//! The controller owns the desired window, the sender the effective one. The order inside one ACK is:
//! scoreboard, RTT, rate and round; an undo; congestion; the acknowledgement; `Life::Recovered`. Then the
//! caller asks [`Sender::poll`] for segments. An ACK that ends one recovery and begins the next brings
//! `Life::Recovered` first.

mod cached_decision;
mod connection;
mod delivery;
mod ecn;
mod extra;
mod fast_path;
mod pacing;
mod peer_window;
mod rack_tlp;
mod recovery;
mod sending;
mod subflow;
mod validation;

use std::sync::Arc;

use bentpipe_cc::{
    Ack, Controller, Decision, DeliveryRate, Event, Flow, Header, Hint, Life, Needs, Phase, Rate, RttSample,
    Span, Time,
};

use crate::limits::{Limit, Limits};
use crate::options::{AckRule, EcnEcho, IdleRestart, LossRecovery, Options, Reading};
use crate::rack::Rack;
use crate::recovery::Recovery;
use crate::rto::Estimator;
use crate::sack_option::SackOption;
use crate::scoreboard::{Delivered, Scoreboard};
use crate::segment::{AckSegment, Data, Sack};
use crate::snack::Snack;
use crate::spurious::Suspicion;
use crate::tlp::Probing;
use cached_decision::CachedDecision;
use connection::Pushed;
use delivery::Duplicates;
use ecn::Ecn;
use extra::Extras;
use peer_window::PeerWindow;
use validation::Validation;

pub use cached_decision::MAX_OUTSTANDING;
pub use connection::ShortSegmentSent;

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmission timeouts that were acted on.
    pub timeouts: u64,
    /// Timeouts later found spurious, or spared by AEN.
    pub spurious_timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Fast recoveries found needless: every segment that they sent again had arrived.
    pub spurious_recoveries: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Data segments sent, retransmissions included, probes not.
    pub sent: u64,
}

/// How the sender handles the next acknowledgement and the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Nothing is lost and only windows and data limit the sender: `sender/fast_path.rs`.
    Fast,
    /// Fast recovery with SACK in which nothing waits to be sent again: `sender/fast_path.rs`, too.
    RecoveryFast,
    /// Every case.
    Slow,
}

/// The SACK blocks of the last acknowledgement, and the option that carried them.
#[derive(Clone, Copy, Debug, Default)]
struct LastSack {
    blocks: Sack,
    option: SackOption,
}

/// AEN's probe (TCP-STAR section 3.3), or the probe of a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    No,
    ToSend,
    Sent,
    /// A probe of the closed receive window is to be sent.
    OfWindow,
}

/// The sender of one connection. The fields of the fast path come first, in this order. With ten thousand
/// connections, most of the time goes into loading these cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    flow: Flow,
    options: Arc<Options>,
    cc: Box<dyn Controller>,
    path: Path,
    /// True if RACK, tail loss probe, D-SACK or the validation of the window is on.
    watchful: bool,
    /// True if acknowledgements carry more than what has arrived: a window that changes, or a header.
    acks_carry_more: bool,
    /// True if its segments carry headers ([`bentpipe_cc::Header`]). Each segment has its own header, so such
    /// segments never take the fast paths.
    headers: bool,
    /// True if SRTT follows the oldest segment that an ACK covers, as Linux's does.
    srtt_of_oldest: bool,
    /// True if the sender validates its window as Linux does, so that there is a `validation`.
    validates: bool,
    pacing_waits: bool,
    /// True if the controller orders extra segments.
    extra: bool,
    /// On the fast paths segments below this one may be sent.
    allowed_end: u64,
    decision: CachedDecision,
    /// Segments that the application has to send in all, and the payload of the last one.
    limit: u64,
    last_len: u32,
    /// The payload of the segment for which `gap` was found.
    gap_len: u32,
    /// The window held the sender back while these segments were the newest.
    limited_until: u64,
    /// The round ends when this segment is delivered.
    round_mark: u64,
    pace_at: Time,
    duplicates: Duplicates,
    /// When the retransmission timer expires; [`Time::MAX`] while it does not run.
    timer: Time,
    rto: Estimator,
    limits: Limits,
    /// ECN, if the connection uses it.
    ecn: Option<Box<Ecn>>,
    /// Delivery-rate samples, if the controller uses them.
    rate: Option<Box<DeliveryRate>>,
    board: Scoreboard,
    /// The blocks of the last ACK, once there have been any.
    known_sack: Option<Box<LastSack>>,
    recovery: Recovery,
    /// True if the controller drove the window during fast recovery when the connection began.
    self_driven: bool,
    /// True if the application has written again after everything was acknowledged, and
    /// nothing has been sent since.
    was_idle: bool,
    probe: Probe,
    suspicion: Suspicion,
    rack: Option<Box<Rack>>,
    tlp: Probing,
    /// The use of the window, if the sender validates it.
    validation: Option<Box<Validation>>,
    /// Bytes found lost without an ACK; the next ACK reports them.
    lost_meanwhile: u64,
    /// The peer's window, if it changes.
    peer: Option<Box<PeerWindow>>,
    /// The extra segments that the controller orders, if it does.
    extras: Option<Box<Extras>>,
    /// The ends of writes, if the receiver goes by them.
    pushed: Option<Box<Pushed>>,
    /// The last pause between paced segments, and its inputs: rates change less often than segments go out.
    gap: (Rate, Span),
    /// All counters except `sent`, which is the sum of the numbers used and the retransmissions.
    counters: Counters,
}

impl Sender {
    /// A sender with `bytes` to transfer (`None`: as many as the connection takes). Many senders
    /// may share their options.
    pub fn new(options: impl Into<Arc<Options>>, cc: Box<dyn Controller>, bytes: Option<u64>) -> Self {
        let options = consistent(options.into());
        let mss = u64::from(options.mss.max(1));
        let (limit, last_len) = match bytes {
            None => (u64::MAX, options.mss),
            Some(b) => (b.div_ceil(mss), (b - b.div_ceil(mss).saturating_sub(1) * mss) as u32),
        };
        let mut flow = Flow::default();
        flow.mss = options.mss.max(1);
        flow.rwnd = peer_window::first_window(&options).saturating_mul(mss);
        let rack = options.rack;
        let needs = cc.needs();
        let extras = needs.extra_segments.then(Box::<Extras>::default);
        let peer = PeerWindow::new(&options);
        let headers = needs.echo.is_some();
        let self_driven = needs.recovery == bentpipe_cc::RecoveryWindow::Controller;
        let validates = options.idle_restart == IdleRestart::Linux && !self_driven;
        Self {
            decision: CachedDecision::new(&*cc, flow.mss),
            rate: needs.rate.then(Box::default),
            srtt_of_oldest: options.acks == AckRule::Linux,
            acks_carry_more: headers
                || peer.is_some()
                || options.ecn && options.echo == EcnEcho::AccEcn
                || options.reading == Reading::Growing,
            headers,
            self_driven,
            validates,
            validation: validates.then(Box::default),
            board: Scoreboard::new(needs.rate, rack),
            cc,
            flow,
            limit,
            last_len,
            known_sack: None,
            duplicates: Duplicates::default(),
            recovery: Recovery::default(),
            extra: extras.is_some(),
            rto: Estimator::new(&options),
            timer: Time::MAX,
            suspicion: Suspicion::new(&options),
            watchful: rack || options.tlp || options.dsack || validates,
            rack: rack.then(|| Box::new(Rack::new())),
            tlp: Probing::default(),
            lost_meanwhile: 0,
            probe: Probe::No,
            peer,
            ecn: Ecn::new(&options),
            extras,
            pushed: Pushed::new(&options, bytes.map(|_| limit)),
            path: Path::Slow,
            allowed_end: 0,
            round_mark: 0,
            limited_until: 0,
            pace_at: Time(0),
            pacing_waits: false,
            was_idle: false,
            gap: (Rate(0), Span::ZERO),
            gap_len: 0,
            counters: Counters::default(),
            limits: Limits::default(),
            options,
        }
    }

    /// The connection starts at `now`.
    pub fn start(&mut self, now: Time) {
        self.flow.now = now;
        self.begin_flight(now);
        self.limits.begin(now);
    }

    /// The application will send nothing more than the segments already sent.
    pub fn stop(&mut self) {
        self.path = Path::Slow;
        if self.limit > self.next() {
            self.limit = self.next();
            self.last_len = self.options.mss;
        }
    }

    /// Has every segment that the application has to send gone out?
    pub fn has_sent_all(&self) -> bool {
        self.board.next() >= self.limit
    }

    /// Is everything sent and acknowledged?
    pub fn is_done(&self) -> bool {
        self.board.una() >= self.limit
    }

    /// The controller's current decision.
    pub fn decision(&self) -> Decision {
        *self.decision
    }

    /// The controller, to be asked about its probes.
    pub fn controller(&self) -> &dyn Controller {
        &*self.cc
    }

    /// The state that the controller sees.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Options of the connection.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The segments sent again so far.
    #[inline]
    pub fn retransmitted(&self) -> u64 {
        self.counters.retransmitted
    }

    /// Counters.
    pub fn counters(&self) -> Counters {
        let sent = self.board.next() - self.skipped() + self.counters.retransmitted;
        Counters { sent, ..self.counters }
    }

    /// Oldest unacknowledged segment.
    pub fn una(&self) -> u64 {
        self.board.una()
    }

    /// Segments for which the scoreboard has room: the next power of two from the most
    /// that were ever outstanding.
    pub fn room(&self) -> u64 {
        self.board.room()
    }

    /// Time under each limit until `now`.
    pub fn limits(&mut self, now: Time) -> &Limits {
        self.limits.pass(now, self.decision.cwnd);
        &self.limits
    }

    /// The congestion window in segments, real-valued.
    pub fn cwnd_segments(&self) -> f64 {
        self.decision.cwnd as f64 / f64::from(self.flow.mss)
    }

    /// Segments in flight: RFC 6675's pipe, or its counterpart when duplicate ACKs take the place of SACKs.
    pub fn in_flight(&self) -> u64 {
        self.board.pipe().saturating_sub(self.duplicates.left)
    }

    /// Outstanding segments that are selectively acknowledged.
    pub fn sacked(&self) -> u64 {
        self.board.sacked()
    }

    /// Outstanding segments that are considered lost, whether or not they were sent again.
    pub fn lost(&self) -> u64 {
        self.board.lost()
    }

    #[inline]
    fn note_in_flight(&mut self) {
        self.flow.in_flight = self.in_flight() * u64::from(self.flow.mss);
    }

    /// Reads the controller's decision after an event reported to it.
    #[inline]
    fn ask(&mut self) {
        self.decision.set(self.cc.decision(), self.flow.mss);
    }

    /// Reports `ack` to the controller, and reads its decision.
    #[inline]
    fn report(&mut self, ack: &Ack) {
        let decision = self.cc.decision_on_ack(&self.flow, ack);
        self.decision.set(decision, self.flow.mss);
    }

    /// When [`Sender::on_deadline`] must be called.
    pub fn deadline(&self) -> Option<Time> {
        Some(self.due()).filter(|&at| at != Time::MAX)
    }

    /// As [`Sender::deadline`]; [`Time::MAX`] if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        let mut first = if self.watchful { self.loss_timer() } else { self.timer };
        if self.pacing_waits {
            first = first.min(self.pace_at);
        }
        debug_assert!(self.extra || *self.decision == self.cc.decision(), "{:?} was not asked", self.cc);
        first.min(self.decision.deadline)
    }

    /// An acknowledgement arrived; [`Sender::poll`] then yields what may be sent. Returns the RTT
    /// sample, if there was one.
    pub fn on_ack(&mut self, now: Time, seg: &AckSegment) -> Option<Span> {
        if seg.sack.is_empty()
            && !seg.ece
            && let Some(rtt) = self.on_ack_fast(now, seg.ack)
        {
            return Some(rtt);
        }
        self.on_ack_slow(now, seg, None)
    }

    /// [`Sender::on_ack`] for an acknowledgement that lists the segments that its receiver misses. They are
    /// lost and go out again at once.
    pub fn on_snack(&mut self, now: Time, seg: &AckSegment, snack: &Snack) -> Option<Span> {
        self.on_ack_slow(now, seg, Some(snack))
    }

    /// The losses that a SNACK reports. A segment that has been sent again counts as lost once more when a
    /// round trip has passed and the receiver still misses it. This is the embargo of the reference
    /// implementation, which waits for SRTT. Here the wait is the longer of SRTT and the latest sample.
    #[cold]
    fn take_holes(&mut self, snack: &Snack) -> u64 {
        let embargo = self.flow.rtt.map_or(self.rto.rto(), |rtt| rtt.smoothed.max(rtt.latest));
        let answered = Time(self.flow.now.0.saturating_sub(embargo.0));
        snack.holes().map(|hole| self.board.miss(hole.start, hole.end, answered)).sum()
    }

    /// As [`Sender::on_ack`], for an acknowledgement that rides on a data segment of the other direction
    /// (RFC 9293 section 3.8.6.3). It is no duplicate, since a duplicate ACK carries no data (RFC 5681
    /// section 2, condition b). With SACK its blocks report what has arrived (RFC 6675 section 2).
    pub fn on_riding_ack(&mut self, now: Time, seg: &AckSegment) -> Option<Span> {
        let news = seg.ack > self.board.una() || !seg.sack.is_empty() || self.probe != Probe::No;
        if news { self.on_ack(now, seg) } else { None }
    }

    /// [`Sender::on_ack`] off the fast path.
    fn on_ack_slow(&mut self, now: Time, seg: &AckSegment, snack: Option<&Snack>) -> Option<Span> {
        let early = if self.extra { self.learn(now, seg) } else { 0 };
        let before = self.board.una();
        if seg.ack > self.board.next() || (seg.ack < before && !self.has_news(seg)) || self.is_done() {
            return None; // it acknowledges data never sent, or is old, or brings nothing new
        }
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        let spared = self.probe != Probe::No && self.on_probe_answer(seg.ack > before);
        // The numbers are those of docs/engine.md. 1: the scoreboard.
        let advanced = seg.ack.saturating_sub(before);
        let mut got = self.take_blocks(seg);
        if let Some(snack) = snack {
            got.lost += self.take_holes(snack);
        }
        if self.extra {
            got.segments += early;
            self.doubt(before, &mut got);
        }
        let mut ack = Ack::default();
        ack.acks = 1;
        self.declare_lost(got.lost, &mut ack);
        let delivered = self.count_deliveries(seg, advanced, got.segments);
        ack.acked = self.bytes(delivered, seg.ack);
        self.flow.delivered += ack.acked;
        // 2: samples, and the end of a round.
        let timed_out = self.flow.phase == Phase::Loss;
        self.flow.cwnd_limited = before < self.limited_until;
        let rtt = if seg.extra { None } else { self.sample_rtt(seg, advanced, &got) };
        ack.rtt = rtt.map(RttSample::one);
        if let Some(rate) = self.rate.as_mut().filter(|_| delivered > 0) {
            ack.rate =
                rate.on_delivered(&self.flow, got.newest.map(|(sent, seq)| (sent, self.board.stamp_of(seq))));
        }
        if got.high > self.round_mark {
            self.round_mark = self.board.next();
            self.flow.round += 1;
            ack.round_end = true;
        }
        // 1 again: marks, and what RACK finds by the new samples.
        let echoed = self.note_marks(seg, got.segments, seg.ack >= before, &mut ack);
        let mut probe_repaired = false;
        if self.watchful {
            let found = self.detect(seg, rtt, got.high, got.segments);
            self.declare_lost(found.lost, &mut ack);
            ack.lost += found.earlier;
            got.lost += found.lost;
            probe_repaired = found.repaired;
        }
        // 3 and 4: undo, and congestion.
        self.note_in_flight();
        let recovered = self.react(seg, advanced, echoed, &got, &mut ack);
        let probe_repaired = probe_repaired && self.flow.phase == Phase::Open;
        if probe_repaired {
            self.react_to_repair();
        }
        if self.flow.phase == Phase::Recovery || recovered {
            self.reduce(delivered, advanced > 0 && got.lost == 0);
        }
        self.note_in_flight();
        if advanced > 0 {
            self.recovery.clamp.iter_mut().for_each(|segments| *segments += delivered);
        }
        // 5: the controller. Only now is it known whether this is slow start: an undo may have made it so. An ACK
        // that does not advance brings no growth (RFC 5681 section 3.2 step 1).
        let counted = if advanced > 0 { self.growth_limit(timed_out) } else { 0 };
        ack.uncounted = ack.acked.saturating_sub(counted);
        if spared {
            // AEN keeps the window: the ACK feeds the filters but does not make it grow.
            let mut flow = self.flow;
            flow.phase = Phase::Recovery;
            self.cc.on_ack(&flow, &ack);
        } else {
            self.cc.on_ack(&self.flow, &ack);
        }
        // 6: the end of a recovery.
        if recovered {
            self.leave_recovery();
        } else if probe_repaired {
            self.cc.on(&self.flow, Event::Life(Life::Recovered));
        }
        // 7: the decision, and the timer.
        self.ask();
        self.rearm(advanced, got.sent_once);
        self.tlp.anew |= advanced > 0;
        self.choose_path();
        rtt
    }

    /// The scoreboard's part of an ACK.
    #[inline]
    fn take_blocks(&mut self, seg: &AckSegment) -> Delivered {
        let none = Sack::default();
        let sack = if self.options.recovery == LossRecovery::Sack { &seg.sack } else { &none };
        if self.watchful {
            self.believe(seg);
        }
        let mut unknown = LastSack::default();
        let known = match &mut self.known_sack {
            Some(known) => known,
            None if sack.is_empty() => &mut unknown,
            none => none.insert(Box::default()),
        };
        let got = self.board.acknowledge(seg.ack, sack, &mut known.blocks);
        known.option.fill(seg.ack, sack.blocks().iter().copied());
        got
    }

    /// Did the last ACK report nothing out of order?
    fn knows_no_blocks(&self) -> bool {
        self.known_sack.as_ref().is_none_or(|known| known.blocks.is_empty())
    }

    /// The instant of [`Sender::deadline`] may have come; [`Sender::poll`] then yields what may be sent.
    pub fn on_deadline(&mut self, now: Time) {
        self.flow.now = now;
        if self.decision.deadline <= now {
            self.path = Path::Slow;
            // The deadline may be that of the next extra segment.
            if !self.extra || self.cc.decision().deadline <= now {
                self.cc.on(&self.flow, Event::Deadline);
            }
            self.ask();
        }
        if self.pacing_waits && self.pace_at <= now {
            self.pacing_waits = false;
        }
        if self.watchful && self.on_early_timer(now) {
            return;
        }
        if self.timer <= now {
            if self.board.outstanding() == 0 {
                return self.on_persist_timer(now);
            }
            if self.paces_oldest() {
                return self.start_timer(); // it was found lost after the timer had started
            }
            self.path = Path::Slow;
            self.limits.pass_as(now, self.decision.cwnd, Limit::Timeout);
            if self.options.aen && self.probe == Probe::No && self.flow.phase != Phase::Loss {
                self.probe = Probe::ToSend;
                self.timer = now + self.rto.rto();
            } else {
                self.on_timeout(true);
            }
        }
    }

    /// The host learns something about the path at `now`, and passes it to the controller; [`Sender::poll`]
    /// then yields what may be sent.
    pub fn on_hint(&mut self, now: Time, hint: Hint) {
        if self.is_done() {
            return; // the life of a finished transfer is over
        }
        self.path = Path::Slow;
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        self.note_in_flight();
        self.cc.on(&self.flow, Event::Hint(hint));
        self.ask();
    }

    /// Do data segments carry [`Sender::header`]?
    #[inline]
    pub fn has_headers(&self) -> bool {
        self.headers
    }

    /// Do acknowledgements carry more than what has arrived, so that none may go to [`Sender::on_ack`] alone?
    /// They also bring a window ([`Sender::on_windowed_ack`]) or a header ([`Sender::on_header`]).
    #[inline]
    pub fn acks_carry_more(&self) -> bool {
        self.acks_carry_more
    }

    /// Does every acknowledgement carry more? Others advertise a window only after it has grown
    /// ([`Reading::Growing`]).
    #[inline]
    fn every_ack_carries_more(&self) -> bool {
        let counts_marks = || self.options.ecn && self.options.echo == EcnEcho::AccEcn;
        self.acks_carry_more && (self.headers || self.peer.is_some() || counts_marks())
    }

    /// The header of the segment that [`Sender::poll`] has just given.
    pub fn header(&mut self) -> Option<Header> {
        let mut header = None;
        self.cc.on(&self.flow, Event::Departure(&mut header));
        header
    }

    /// An acknowledgement that arrives at `now` has brought this header. Call it before reporting
    /// the acknowledgement itself.
    pub fn on_header(&mut self, now: Time, header: &Header) {
        if self.is_done() {
            return; // nobody counts the time after that
        }
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        self.cc.on(&self.flow, Event::Header(header));
        self.ask();
    }

    /// What the controller needs.
    pub fn needs(&self) -> Needs {
        self.cc.needs()
    }

    /// The next segment to send at `now`, or `None`: then something limits the sender until the next event.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Data> {
        match self.path {
            Path::Fast => self.poll_fast(now),
            Path::RecoveryFast => self.poll_recovery_fast(now),
            Path::Slow => self.poll_slow(now),
        }
    }
}

/// The options, without those that lack what they need, and without SNACK where it does not apply.
fn consistent(options: Arc<Options>) -> Arc<Options> {
    let mut fitting = Options { snack: options.snacks(), ..*options };
    fitting.fit();
    if fitting == *options { options } else { Arc::new(fitting) }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn an_acknowledgement_on_the_fast_path_needs_eight_cache_lines() {
        let end = offset_of!(Sender, board) + Scoreboard::NEEDED;
        assert!(end <= 512, "{end}");
    }
}
