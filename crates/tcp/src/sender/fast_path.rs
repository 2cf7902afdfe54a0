//! The fast paths of the sender. On the first, segments are acknowledged in order, nothing is lost, and only
//! windows and data limit the sender. On the second, SACK repairs losses and nothing waits to be sent again.
//!
//! All but some thousands of ten million segments take the first path, which needs a third of the
//! instructions of the slow path. Both do the same as [`Sender::on_ack`] and [`Sender::poll`] without the
//! cases that cannot occur. The tests below run them side by side with the slow path and compare.

use bentpipe_cc::{Ack, Pacing, Phase, RttSample, Span, Time};

use super::{Path, Probe, Sender};
use crate::limits::Limit;
use crate::options::LossRecovery;
use crate::prr::Prr;
use crate::rto;
use crate::sack_option::SackOption;
use crate::scoreboard::{Heard, Sent};
use crate::segment::Data;

impl Sender {
    /// Decides whether the sender takes the fast path until the next timer or the next acknowledgement of
    /// another kind.
    #[inline]
    pub(super) fn choose_path(&mut self) {
        let fast = self.flow.phase == Phase::Open
            && self.board.is_in_order()
            && self.knows_no_blocks()
            && self.duplicates.credited == 0
            && self.duplicates.left == 0
            && self.recovery.clamp.is_none()
            && self.probe == Probe::No
            && !self.suspicion.is_open()
            && !self.recovery.has_seen_partial()
            && self.lost_meanwhile == 0
            && self.tlp.is_idle()
            && !self.was_idle
            && !self.every_ack_carries_more()
            && !self.extra
            && !self.is_done();
        self.path = if fast { Path::Fast } else { Path::Slow };
        if fast {
            self.allow_below(self.board.una().saturating_add(self.decision.segments()));
        }
    }

    /// The congestion window allows segments below `end`. Data and the receive window may allow fewer.
    #[inline(always)]
    fn allow_below(&mut self, mut end: u64) {
        if self.flow.rwnd != u64::MAX {
            end = end.min(self.peer_edge());
        }
        self.allowed_end = self.limit.min(end);
    }

    /// Does the sender stay on the fast path with an acknowledgement of all before `upto`, without SACK
    /// blocks and ECN echo?
    #[inline]
    fn stays_on_fast_path(&self, upto: u64) -> bool {
        let news = self.board.una() < upto && upto <= self.board.next();
        self.is_on_fast_path() && news && (!self.watchful || self.rack_is_silent(upto))
    }

    /// Does RACK find no loss? True if every segment that stays outstanding was sent after the newest
    /// delivered one.
    #[inline]
    fn rack_is_silent(&self, ack: u64) -> bool {
        match &self.rack {
            None => true,
            Some(rack) => ack == self.board.next() || self.board.sent(ack) >= rack.newest,
        }
    }

    /// Informs RACK and the tail loss probe that [`before`, `upto`) was delivered. Its last segment was sent
    /// at `last`.
    #[inline]
    fn watch_in_order(&mut self, before: u64, upto: u64, last: Time, rtt: Span) {
        if let Some(rack) = &mut self.rack {
            let heard = Heard { newest: Some(Sent { at: last, seq: upto - 1 }), lowest_once: Some(before) };
            rack.on_delivered(self.flow.now, Some(rtt), &heard, upto);
            rack.adapt(false, upto, self.board.next(), false);
            rack.lost_again = None;
            rack.deadline = None;
        }
        if self.options.tlp {
            self.tlp.on_rtt_sample();
            self.tlp.anew = true;
            if self.board.outstanding() == 0 {
                self.tlp.deadline = None;
            }
        }
    }

    /// [`Sender::on_ack`] on the fast path: an acknowledgement of all before `upto`, without SACK blocks and
    /// ECN echo. Returns the RTT sample in nanoseconds. `None` means that nothing has happened yet and the
    /// caller must use [`Sender::on_ack`].
    #[inline(always)]
    pub fn on_ack_fast(&mut self, now: Time, upto: u64) -> Option<Span> {
        self.stays_on_fast_path(upto).then(|| self.advance_fast(now, upto))
    }

    #[inline(always)]
    fn advance_fast(&mut self, now: Time, upto: u64) -> Span {
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        let before = self.board.una();
        let (first, last) = self.board.shift(upto);
        let mut ack = Ack::default();
        ack.acks = 1;
        ack.acked = self.bytes(upto - before, upto);
        self.flow.delivered += ack.acked;
        if upto - before > 1 {
            ack.uncounted = ack.acked.saturating_sub(self.growth_limit(false));
        }
        self.flow.cwnd_limited = before < self.limited_until;
        let (rtt, for_timer) = (now.since(last), now.since(first));
        self.rto.sample(for_timer, upto, self.board.next());
        rto::follow(&mut self.flow.rtt, rtt, if self.srtt_of_oldest { for_timer } else { rtt });
        ack.rtt = Some(RttSample::one(rtt));
        if self.rate.is_some() {
            self.sample_rate(last, upto - 1, &mut ack);
        }
        if upto > self.round_mark {
            self.round_mark = self.board.next();
            self.flow.round += 1;
            ack.round_end = true;
        }
        self.duplicates.count = 0;
        if self.watchful {
            self.watch_in_order(before, upto, last, rtt);
        }
        self.note_outstanding();
        self.report(&ack);
        self.timer = if self.board.outstanding() > 0 { now + self.rto.rto() } else { Time::MAX };
        if self.is_done() {
            self.path = Path::Slow;
        }
        self.allow_below(self.board.una().saturating_add(self.decision.segments()));
        rtt
    }

    /// Is the congestion window alone the limit of the sender, as long as it stays on the fast path and its
    /// controller neither paces it nor has a deadline? Then it may take [`Sender::on_acks_fast`].
    #[inline]
    pub fn has_no_other_limit(&self) -> bool {
        self.limit == u64::MAX
            && self.flow.rwnd == u64::MAX
            && self.peer.is_none()
            && self.ecn.is_none()
            && self.rate.is_none()
            && !self.options.pacing
            && !self.pacing_waits
            && self.is_led_by_window()
    }

    #[inline(always)]
    fn is_led_by_window(&self) -> bool {
        !matches!(self.decision.pacing, Pacing::Rate(_)) && self.decision.deadline == Time::MAX
    }

    /// [`Sender::on_ack_fast`] and [`Sender::poll_fast`] for acknowledgements in a row, while
    /// [`Sender::has_no_other_limit`] holds. Each of `acks` has its instant and the number of the next segment
    /// expected, modulo 2^32. It ends before an acknowledgement that these two could not take, and after the
    /// one that makes the sender due before `armed`. `sampled` receives each RTT sample, `out` each segment that
    /// goes out. Returns the number of acknowledgements taken and the instant of the last one.
    #[inline(always)]
    pub fn on_acks_fast(
        &mut self,
        acks: impl Iterator<Item = (Time, u32)>,
        armed: Time,
        mut sampled: impl FnMut(Span),
        mut out: impl FnMut(Time, u64),
    ) -> (usize, Time) {
        let mss = u64::from(self.flow.mss);
        let (mut una, mut next) = (self.board.una(), self.board.next());
        let (mut taken, mut last_at) = (0, Time(0));
        let mut limited = una < self.limited_until;
        let mut ack = Ack::default();
        ack.acks = 1;
        for (now, number) in acks {
            let acked = u64::from(number.wrapping_sub(una as u32));
            let upto = una + acked;
            if acked == 0 || upto > next || self.watchful && !self.rack_is_silent(upto) {
                break;
            }
            (taken, last_at) = (taken + 1, now);
            self.limits.pass(now, self.decision.cwnd);
            self.flow.now = now;
            self.flow.cwnd_limited = limited;
            let (first, last) = self.board.shift(upto);
            ack.acked = acked * mss;
            self.flow.delivered += ack.acked;
            ack.uncounted = if acked > 1 { ack.acked.saturating_sub(self.growth_limit(false)) } else { 0 };
            let (rtt, for_timer) = (now.since(last), now.since(first));
            self.rto.sample(for_timer, upto, next);
            rto::follow(&mut self.flow.rtt, rtt, if self.srtt_of_oldest { for_timer } else { rtt });
            ack.rtt = Some(RttSample::one(rtt));
            ack.round_end = upto > self.round_mark;
            if ack.round_end {
                self.round_mark = next;
                self.flow.round += 1;
            }
            if self.watchful {
                self.watch_in_order(una, upto, last, rtt);
            }
            self.flow.in_flight = (next - upto) * mss;
            self.report(&ack);
            una = upto;
            self.allowed_end = una + self.decision.segments();
            sampled(rtt);
            if !self.is_led_by_window() {
                self.timer = if next > una { now + self.rto.rto() } else { Time::MAX };
                break;
            }
            while next < self.allowed_end {
                self.board.send_new(now, None);
                out(now, next);
                next += 1;
            }
            self.timer = now + self.rto.rto(); // something is outstanding now
            self.flow.in_flight = (next - una) * mss;
            self.limited_until = next;
            limited = true;
            if self.watchful {
                self.watch_pause(now);
            }
            self.limits.set(Limit::Cwnd);
            // Nothing is paced and the controller has no deadline.
            let due = if self.watchful { self.due() } else { self.timer };
            if due < armed || self.decision.cwnd < mss || self.decision.cwnd == u64::MAX {
                break;
            }
        }
        if taken > 0 {
            self.duplicates.count = 0;
        }
        (taken, last_at)
    }

    /// Every outstanding segment is in flight, once.
    #[inline]
    fn note_outstanding(&mut self) {
        self.flow.in_flight = self.board.outstanding() * u64::from(self.flow.mss);
    }

    /// Is the sender on the fast path? Only then may [`Sender::poll_fast`] be called.
    #[inline]
    pub fn is_on_fast_path(&self) -> bool {
        self.path == Path::Fast
    }

    /// [`Sender::poll`] on the fast path.
    #[inline(always)]
    pub fn poll_fast(&mut self, now: Time) -> Option<Data> {
        self.flow.now = now;
        let next = self.board.next();
        if next < self.allowed_end && !self.waits_for_pace(now) {
            let data = self.send_next(now, next);
            self.note_outstanding();
            return Some(data);
        }
        self.pause_fast(now, next);
        None
    }

    /// No segment may go out: notes which limit holds the sender back.
    #[inline(always)]
    fn pause_fast(&mut self, now: Time, next: u64) {
        let limit = if self.board.outstanding() >= self.decision.segments() {
            self.limited_until = next;
            Limit::Cwnd
        } else if self.waits_for_pace(now) {
            self.pacing_waits = true;
            Limit::Pacing
        } else if next >= self.limit {
            self.note_app_limit(self.board.outstanding());
            Limit::App
        } else {
            Limit::Rwnd
        };
        if self.watchful {
            self.watch_pause(now);
        }
        self.limits.pass(now, self.decision.cwnd);
        self.limits.set(limit);
    }

    /// The sender pauses: starts the timer of the probe, and validates the window.
    #[inline]
    fn watch_pause(&mut self, now: Time) {
        if self.options.tlp {
            self.schedule_probe();
        }
        if self.validates {
            self.validate(now);
        }
    }

    /// The delivery-rate sample of `ack`, whose newest segment `seq` was sent at `sent`. It is a separate
    /// function, so that senders without rates keep their registers: 2 instructions per packet.
    #[inline(never)]
    fn sample_rate(&mut self, sent: Time, seq: u64, ack: &mut Ack) {
        if let Some(rate) = &mut self.rate {
            ack.rate = rate.on_delivered(&self.flow, Some((sent, self.board.stamp_of(seq))));
        }
    }

    /// Sends `next`, the next new segment, on one of the fast paths.
    #[inline(always)]
    fn send_next(&mut self, now: Time, next: u64) -> Data {
        let data = Data { cwr: self.takes_cwr(), ..self.segment(next) };
        if self.rate.is_some() {
            self.begin_flight(now);
            self.board.send_new(now, self.stamp());
        } else {
            self.board.send_new(now, None);
        }
        if self.watchful {
            self.tlp.anew = true;
        }
        if self.timer == Time::MAX {
            self.timer = now + self.rto.rto();
        }
        self.pace(now, data.len);
        data
    }
}

/// The fast path of fast recovery with SACK. Most acknowledgements in it repeat the last one, with the first
/// block one segment longer.
///
/// Measured gain with `Receiver::on_next_of_newest_run`, in instructions per delivered packet of the
/// benchmark. TCP-STAR over 100 s of a: 17 % (1598 to 1319); c 8 %, f 2 %, a 1 %. With RACK, for 60 lines
/// more: BBR at 3 % loss (lossy) 24 % (4248 to 3247), at 0.1 % 14 %, CUBIC at 0.1 % 11 %.
impl Sender {
    /// The one segment that an acknowledgement of all before `ack` newly reports, if it brings no other news.
    /// Such an acknowledgement takes [`Sender::on_ack_recovery_fast`]. It must not carry an ECN echo.
    #[inline]
    pub fn newly_sacked(&self, ack: u64, sack: &SackOption) -> Option<u64> {
        let known = self.known_sack.as_ref()?;
        let repairing =
            self.flow.phase == Phase::Recovery && ack == self.board.una() && !self.recovery.is_full(ack);
        let plain = self.probe == Probe::No && !self.extra && self.options.recovery == LossRecovery::Sack;
        let seq = known.blocks.blocks().first()?.end;
        (repairing && plain && sack.adds_one_to(&known.option) && self.board.misses(seq)).then_some(seq)
    }

    /// [`Sender::on_ack`] for an acknowledgement that newly reports `seq` alone, see
    /// [`Sender::newly_sacked`]. Returns the RTT sample.
    #[inline]
    pub fn on_ack_recovery_fast(&mut self, now: Time, seq: u64) -> Option<Span> {
        self.limits.pass(now, self.decision.cwnd);
        self.flow.now = now;
        if let Some(known) = &mut self.known_sack {
            known.blocks.lengthen();
            known.option.lengthen();
        }
        let (sent, once, lost) = self.board.acknowledge_one(seq);
        let mss = u64::from(self.flow.mss);
        let mut ack = Ack::default();
        ack.acks = 1;
        ack.lost = lost * mss;
        self.flow.lost += ack.lost;
        self.duplicates.count += 1;
        ack.acked = mss;
        self.flow.delivered += mss;
        self.flow.cwnd_limited = self.board.una() < self.limited_until;
        let rtt = once.then(|| now.since(sent));
        if let Some(rtt) = rtt {
            self.take_rtt(rtt, rtt);
        }
        ack.rtt = rtt.map(RttSample::one);
        if self.rate.is_some() {
            self.sample_rate(sent, seq, &mut ack);
        }
        if seq >= self.round_mark {
            self.round_mark = self.board.next();
            self.flow.round += 1;
            ack.round_end = true;
        }
        if self.watchful {
            self.detect_one(Sent { at: sent, seq }, rtt, &mut ack);
        }
        self.note_in_flight();
        self.reduce(1, false);
        ack.uncounted = mss; // a duplicate ACK brings no growth (RFC 5681 section 3.2 step 1)
        self.report(&ack);
        if self.watchful && once {
            self.restart_for_sack(sent);
        }
        self.choose_recovery_path();
        rtt
    }

    /// Decides whether the sender takes the recovery fast path until the next timer or the next
    /// acknowledgement of another kind.
    #[inline]
    fn choose_recovery_path(&mut self) {
        let fast = !self.recovery.forced && self.recovery.clamp.is_none() && self.board.has_resent_all();
        self.path = if fast { Path::RecoveryFast } else { Path::Slow };
        self.allow_below(self.board.next() + self.window().saturating_sub(self.board.pipe()));
    }

    /// [`Sender::poll`] on the recovery fast path.
    #[inline]
    pub(super) fn poll_recovery_fast(&mut self, now: Time) -> Option<Data> {
        let next = self.board.next();
        if next < self.allowed_end && !self.waits_for_pace(now) {
            self.flow.now = now;
            let data = self.send_next(now, next);
            self.recovery.prr.iter_mut().for_each(Prr::on_sent);
            self.note_in_flight();
            return Some(data);
        }
        if next < self.allowed_end {
            self.pacing_waits = true;
        } else if self.board.pipe() < self.window() {
            return self.poll_slow(now); // another limit holds, or another segment is due
        } else {
            self.limited_until = next;
        }
        self.flow.now = now;
        if self.validates {
            self.validate(now);
        }
        self.tlp.anew = false; // as `schedule_probe`, which schedules none in a recovery
        self.limits.pass(now, self.decision.cwnd);
        self.limits.set(Limit::Recovery);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use bentpipe_cc::registry::{self, Value};
    use bentpipe_cc::{Hint, PathChange, Start};
    use proptest::prelude::*;

    use super::*;
    use crate::options::{Options, Reading};
    use crate::receiver::Receiver;
    use crate::segment::AckSegment;

    /// The same connection twice: `slow` and `slow_receiver` never take a fast path.
    struct TwoPaths {
        fast: Sender,
        slow: Sender,
        fast_receiver: Receiver,
        slow_receiver: Receiver,
        under_way: VecDeque<Data>,
        now: Time,
        /// Acknowledgements and data segments on the fast path.
        fast_acks: u32,
        in_order: u32,
        /// Data segments that extended the receiver's newest run.
        extending: u32,
        /// Acknowledgements and data segments on the recovery fast path.
        recovery_acks: u32,
        recovery_sent: u32,
    }

    impl TwoPaths {
        fn new(cc: &str, options: Options, bytes: Option<u64>) -> Self {
            let start = Start {
                mss: options.mss,
                initial_window: options.initial_window,
                initial_ssthresh: options.initial_ssthresh,
            };
            let reset = [("path_change".to_owned(), Value::Text("reset".to_owned()))];
            let sender = || Sender::new(options, registry::build(cc, &reset, start).unwrap(), bytes);
            let receiver = || Receiver::new(&options);
            let mut pair = Self {
                fast: sender(),
                slow: sender(),
                fast_receiver: receiver(),
                slow_receiver: receiver(),
                under_way: VecDeque::new(),
                now: Time(0),
                fast_acks: 0,
                in_order: 0,
                extending: 0,
                recovery_acks: 0,
                recovery_sent: 0,
            };
            pair.both(|sender, now| sender.start(now));
            pair
        }

        fn both<T: PartialEq + std::fmt::Debug>(&mut self, call: impl Fn(&mut Sender, Time) -> T) -> T {
            let got = call(&mut self.fast, self.now);
            self.slow.path = Path::Slow;
            assert_eq!(got, call(&mut self.slow, self.now));
            got
        }

        /// Sends all that both may send, and compares all that can be seen of them.
        fn send_and_compare(&mut self) {
            while self.under_way.len() < 3000 {
                let repairing = self.fast.path == Path::RecoveryFast;
                let Some(data) = self.both(|sender, now| sender.poll(now)) else { break };
                self.recovery_sent += u32::from(repairing);
                self.under_way.push_back(data);
            }
            self.both(|s, now| {
                let seen =
                    (*s.flow(), s.decision(), s.counters(), s.deadline(), format!("{:?}", s.limits(now)));
                let recovering = s.flow().phase == Phase::Recovery;
                let repair = recovering.then(|| format!("{:?}", s.recovery));
                (seen, s.duplicates.count, repair, format!("{:?}", s.rate))
            });
        }

        /// A segment reaches both receivers.
        fn receive(&mut self, data: &Data) -> Option<AckSegment> {
            let expected =
                self.fast_receiver.is_in_order() && data.seq == self.fast_receiver.delivered() && !data.probe;
            let got = if expected {
                self.in_order += 1;
                let bare = self.fast_receiver.on_next_in_order(self.now, data.tsval, data.cwr, data.ce);
                bare.map(|b| AckSegment { ack: b.ack, tsecr: b.tsecr, ece: b.ece, ..AckSegment::default() })
            } else {
                let early = if data.probe {
                    None
                } else {
                    self.fast_receiver.on_next_of_newest_run(data.seq, data.cwr, data.ce)
                };
                self.extending += u32::from(early.is_some());
                match early {
                    Some(b) => {
                        let mut ack =
                            AckSegment { ack: b.ack, tsecr: b.tsecr, ece: b.ece, ..AckSegment::default() };
                        ack.sack.fill(self.fast_receiver.sack_blocks());
                        Some(ack)
                    }
                    None => self.fast_receiver.on_data(self.now, data),
                }
            };
            assert_eq!(got, self.slow_receiver.on_data(self.now, data));
            assert_eq!(self.fast_receiver.deadline(), self.slow_receiver.deadline());
            got
        }

        fn acknowledge(&mut self, ack: Option<AckSegment>, ece: bool) {
            if let Some(mut ack) = ack {
                ack.ece = ece;
                let bare = ack.sack.is_empty() && !ack.ece;
                self.fast_acks += u32::from(bare && self.fast.stays_on_fast_path(ack.ack));
                let mut option = SackOption::default();
                option.fill(ack.ack, ack.sack.blocks().iter().copied());
                let newly = if ack.ece { None } else { self.fast.newly_sacked(ack.ack, &option) };
                self.recovery_acks += u32::from(newly.is_some());
                let short = match newly {
                    Some(seq) => self.fast.on_ack_recovery_fast(self.now, seq),
                    None => self.fast.on_ack(self.now, &ack),
                };
                self.slow.path = Path::Slow;
                assert_eq!(short, self.slow.on_ack_slow(self.now, &ack, None));
                self.send_and_compare();
            }
        }

        fn step(&mut self, op: &Event) {
            match *op {
                Event::Arrive { count, gap, ece } => {
                    for _ in 0..count {
                        let Some(mut data) = self.under_way.pop_front() else { break };
                        self.now = self.now + Span(gap);
                        data.ce = ece;
                        let ack = self.receive(&data);
                        self.acknowledge(ack, ece);
                    }
                }
                Event::Lose => drop(self.under_way.pop_front()),
                Event::LoseAck => {
                    let Some(data) = self.under_way.pop_front() else { return };
                    self.receive(&data);
                }
                Event::Swap if self.under_way.len() > 1 => self.under_way.swap(0, 1),
                Event::Swap => {}
                Event::Timer => {
                    let sender = self.both(|sender, _| sender.deadline());
                    let receiver = self.slow_receiver.deadline();
                    let Some(at) = sender.into_iter().chain(receiver).min() else { return };
                    self.now = self.now.max(at);
                    let ack = self.slow_receiver.on_deadline(self.now);
                    assert_eq!(ack, self.fast_receiver.on_deadline(self.now));
                    self.acknowledge(ack, false);
                    self.both(|sender, now| sender.on_deadline(now));
                    self.send_and_compare();
                }
                Event::Stop => self.both(|sender, _| sender.stop()),
                Event::Hint(hint) => {
                    self.both(|sender, now| sender.on_hint(now, hint));
                    self.send_and_compare();
                }
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Event {
        Arrive { count: u16, gap: u64, ece: bool },
        Lose,
        LoseAck,
        Swap,
        Timer,
        Stop,
        Hint(Hint),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            40 => (1_u16..200, 1_u64..30_000_000, prop::bool::weighted(0.05))
                .prop_map(|(count, gap, ece)| Event::Arrive { count, gap, ece }),
            10 => Just(Event::Timer),
            4 => Just(Event::Lose),
            4 => Just(Event::LoseAck),
            2 => Just(Event::Swap),
            1 => Just(Event::Stop),
            2 => (0_u64..500_000_000, 0_u64..500_000_000)
                .prop_map(|(ahead, dark)| PathChange { ahead: Span(ahead), dark: Span(dark) })
                .prop_map(|change| Event::Hint(Hint::PathChange(change))),
        ]
    }

    fn options() -> impl Strategy<Value = Options> {
        let flags = prop::array::uniform3(prop::bool::ANY);
        (flags, prop::collection::vec(0_u64..60, Options::NAMES.len()), prop::option::of(1_u64..300))
            .prop_map(|([modern, delayed, ecn], draws, window)| {
                let profile = if modern { Options::modern() } else { Options::paper() };
                let mut draws = draws.into_iter();
                Options {
                    delayed_ack: delayed.then_some(Span::from_millis(100)),
                    ecn,
                    receive_window: window,
                    ..profile.drawn(&mut |n| draws.next().unwrap_or(0) % n)
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

        #[test]
        fn the_fast_path_does_what_the_slow_path_does(
            cc in prop::sample::select(vec!["reno", "cubic", "bbr", "vegas", "tfrc", "hybla", "star", "westwood-plus"]),
            options in options(),
            bytes in prop::option::of(1_u64..2_000_000),
            ops in prop::collection::vec(event(), 1..60),
        ) {
            let mut pair = TwoPaths::new(cc, options, bytes);
            pair.send_and_compare();
            for op in &ops {
                pair.step(op);
            }
        }
    }

    #[test]
    fn in_recovery_acknowledgements_that_report_one_more_segment_take_the_recovery_fast_path() {
        let options = Options { recovery: LossRecovery::Sack, initial_window: 100.0, ..Options::paper() };
        let mut pair = TwoPaths::new("reno", options, None);
        pair.send_and_compare();
        pair.step(&Event::Lose);
        pair.step(&Event::Arrive { count: 99, gap: 1_000_000, ece: false });
        assert_eq!(pair.recovery_acks, 96, "three duplicates begin the recovery");
        assert_eq!(pair.extending, 97, "the first after the gap begins the run, the 64th asks for room");
        assert_eq!(
            pair.recovery_sent, 47,
            "each since 53 of 102 have gone (two by RFC 3042), so that fewer than 50 are in flight"
        );

        // BBR is seldom in recovery, so it has several runs.
        let one: &[usize] = &[97];
        for (cc, options, periods) in [
            ("reno", false, one),
            ("reno", true, one),
            ("cubic", true, one),
            ("star", false, one),
            ("bbr", false, &[97, 61, 53, 43, 31]),
        ]
        .into_iter()
        .flat_map(|(cc, prr, periods)| {
            let modern = Options { prr, initial_window: 100.0, ..Options::modern() };
            [(cc, Options { prr, ..options }, periods), (cc, modern, periods)]
        }) {
            let mut short = [0; 3];
            for period in periods {
                let mut pair = TwoPaths::new(cc, options, None);
                pair.send_and_compare();
                for i in 0..4000_usize {
                    (0..if i % period == 0 { i % 31 } else { 0 }).for_each(|_| pair.step(&Event::Lose));
                    while pair.under_way.len() < 60 && pair.fast.pacing_waits {
                        pair.step(&Event::Timer); // the next paced segment
                    }
                    pair.step(&Event::Arrive { count: 1 + (i % 5) as u16, gap: 300_000, ece: false });
                }
                for (sum, n) in short.iter_mut().zip([pair.recovery_acks, pair.extending, pair.recovery_sent])
                {
                    *sum += n;
                }
            }
            assert!(short.iter().all(|&n| n > 15), "{cc}, RACK {}: {short:?}", options.rack);
        }
    }

    /// Without this check, the test above might compare the slow path with itself.
    #[test]
    fn without_losses_every_acknowledgement_but_the_first_takes_the_fast_path() {
        for (options, acks) in [(Options::paper(), 999), (Options::modern(), 499)] {
            let mut pair = TwoPaths::new("reno", options, None);
            pair.send_and_compare();
            for _ in 0..100 {
                pair.step(&Event::Arrive { count: 10, gap: 1_000_000, ece: false });
            }
            assert_eq!((pair.fast_acks, pair.in_order), (acks, 1000));
        }
    }

    /// Linux's receiver advertises a window only while it grows. Other acknowledgements bring nothing else.
    #[test]
    fn with_the_options_of_linux_acknowledgements_without_a_window_take_the_fast_path() {
        let options = Options { reading: Reading::Growing, ..Options::linux() };
        let mut pair = TwoPaths::new("cubic", options, None);
        assert!(pair.fast.acks_carry_more() && !pair.fast.every_ack_carries_more());
        pair.send_and_compare();
        for _ in 0..100 {
            pair.step(&Event::Arrive { count: 10, gap: 1_000_000, ece: false });
        }
        assert!(pair.fast_acks > 500, "{}", pair.fast_acks);
    }
}
