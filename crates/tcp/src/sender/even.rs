//! The even run of things: an acknowledgement says that what was sent in order has arrived in order, nothing is lost, and only
//! windows and data limit the sender. Of ten million segments all but some thousands are sent and acknowledged like that, and
//! a third of the instructions suffices. What is done here is what [`Sender::on_ack`] and [`Sender::poll`] do, less what
//! cannot happen; the test below holds the two against each other.

use bentpipe_cc::{Ack, Phase, RttSample, Span, Time};

use super::{Course, Probe, Sender};
use crate::limits::Limit;
use crate::rto;
use crate::scoreboard::{Heard, Sent};
use crate::segment::Data;

impl Sender {
    /// Whether the run of things is even from now on, until a timer or an acknowledgement of another kind.
    #[inline]
    pub(super) fn smooth(&mut self) {
        let even = self.flow.phase == Phase::Open
            && self.board.is_in_order()
            && self.knows_no_blocks()
            && self.credited | self.unsacked_deliveries == 0
            && self.exit_clamp.is_none()
            && self.probe == Probe::No
            && self.suspicion.is_idle()
            && !self.partial_seen
            && self.lost_meanwhile == 0
            && self.tlp.is_idle()
            && !self.is_done();
        self.course = if even { Course::Even } else { Course::Uneven };
        if even {
            self.free_up(self.board.una().saturating_add(self.decision.segments()));
        }
    }

    /// The congestion window allows segments below `free`; data and the receive window may not allow as many.
    #[inline]
    pub(super) fn free_up(&mut self, mut free: u64) {
        if self.flow.rwnd != u64::MAX {
            let window = self.options.receive_window.unwrap_or(u64::MAX);
            free = free.min(self.board.una().saturating_add(window));
        }
        self.free = self.limit.min(free);
    }

    /// Does an acknowledgement of all before `upto`, without SACK blocks and ECN echo, leave the run of things even?
    #[inline]
    fn is_even_ack(&self, upto: u64) -> bool {
        let news = self.board.una() < upto && upto <= self.board.next();
        self.is_even() && news && (!self.watchful || self.rack_is_silent(upto))
    }

    /// Nothing that stays outstanding was sent before what `ack` delivers or was delivered before, so that RACK finds nothing.
    #[inline]
    fn rack_is_silent(&self, ack: u64) -> bool {
        match &self.rack {
            None => true,
            Some(rack) => ack == self.board.next() || self.board.sent(ack) >= rack.newest(),
        }
    }

    /// RACK and the tail loss probe take note of [`before`, `upto`), of which the last segment was sent at `last`.
    #[inline]
    fn watch_even(&mut self, before: u64, upto: u64, last: Time, rtt: Span) {
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

    /// [`Sender::on_ack`] for an acknowledgement of all before `upto` that has no SACK blocks and echoes no congestion, if the run
    /// of things is even. Returns the RTT sample; `None` says that [`Sender::on_ack`] is to be called, and that nothing has
    /// happened yet.
    #[inline]
    pub fn on_bare_ack(&mut self, now: Time, upto: u64) -> Option<Span> {
        self.is_even_ack(upto).then(|| self.on_even_ack(now, upto))
    }

    #[inline]
    fn on_even_ack(&mut self, now: Time, upto: u64) -> Span {
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
        let rtt = now.since(last);
        self.rto.sample(now.since(first));
        rto::follow(&mut self.flow.rtt, rtt);
        ack.rtt = Some(RttSample::one(rtt));
        if self.rated {
            self.delivered_at = now;
            ack.rate = self.rate(last, &self.board.stamp_of(upto - 1));
            self.first_sent = last;
        }
        if upto > self.round_mark {
            self.round_mark = self.board.next();
            self.flow.round += 1;
            ack.round_end = true;
        }
        self.dupacks = 0;
        if self.watchful {
            self.watch_even(before, upto, last, rtt);
        }
        self.note_even_flight();
        let (cc, flow) = (&mut self.cc, &self.flow);
        self.decision.renew(flow.mss, |decision| cc.reply(flow, &ack, decision));
        self.timer = if self.board.outstanding() > 0 { now + self.rto.rto() } else { Time::MAX };
        if self.is_done() {
            self.course = Course::Uneven;
        }
        self.free_up(self.board.una().saturating_add(self.decision.segments()));
        rtt
    }

    /// What is outstanding is in flight, once.
    #[inline]
    fn note_even_flight(&mut self) {
        self.flow.in_flight = self.board.outstanding() * u64::from(self.flow.mss);
    }

    /// Is the run of things even, so that [`Sender::poll_even`] may be called?
    #[inline]
    pub fn is_even(&self) -> bool {
        self.course == Course::Even
    }

    /// [`Sender::poll`] while the run of things is even.
    #[inline(always)]
    pub fn poll_even(&mut self, now: Time) -> Option<Data> {
        self.flow.now = now;
        let next = self.board.next();
        if next < self.free && !self.waits_for_pace(now) {
            let data = self.send_freely(now, next);
            self.note_even_flight();
            return Some(data);
        }
        self.pause_even(now, next);
        None
    }

    /// After an acknowledgement, while the run of things is even: does the next segment wait for its time as it did before, and is
    /// nothing else due earlier? Then [`Sender::poll_even`] and [`Sender::due`] would say again what they said.
    #[inline]
    pub fn still_waits(&self, now: Time) -> bool {
        self.pacing_waits
            && self.waits_for_pace(now)
            && self.board.next() < self.free
            && self.limits.is(Limit::Pacing)
            && self.pace_at < self.timer
            && self.decision.deadline() == Time::MAX
            && !self.watchful
    }

    /// Why nothing goes out.
    #[inline(always)]
    fn pause_even(&mut self, now: Time, next: u64) {
        let limit = if self.board.outstanding() >= self.decision.segments() {
            self.limited_until = next;
            Limit::Cwnd
        } else if self.waits_for_pace(now) {
            self.pacing_waits = true;
            Limit::Pacing
        } else if next >= self.limit {
            self.app_limited_until = self.flow.delivered + self.flow.in_flight.max(1);
            Limit::App
        } else {
            Limit::Rwnd
        };
        if self.watchful && self.options.tlp {
            self.schedule_probe();
        }
        self.limits.pass(now, self.decision.cwnd);
        self.limits.set(limit);
    }

    /// Sends segment `next`, which is new, while nothing but windows limits the sender.
    #[inline(always)]
    pub(super) fn send_freely(&mut self, now: Time, next: u64) -> Data {
        let data = Data { cwr: core::mem::take(&mut self.cwr), ..self.segment(next) };
        if self.rated {
            if self.board.outstanding() == 0 {
                self.first_sent = now;
                self.delivered_at = now;
            }
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use bentpipe_cc::{Start, registry};
    use proptest::prelude::*;

    use super::*;
    use crate::options::{LossRecovery, Options, SpuriousTimeout};
    use crate::packed::PackedSack;
    use crate::receiver::Receiver;
    use crate::segment::AckSegment;

    /// The same connection twice: `plain` and `receiver` never take the short way.
    struct Pair {
        short: Sender,
        plain: Sender,
        prompt: Receiver,
        receiver: Receiver,
        under_way: VecDeque<Data>,
        now: Time,
        /// Acknowledgements that took the short way, and data segments.
        even: u32,
        expected: u32,
        /// The same that made the newest run longer, acknowledgements that took the short way of `sender/grown.rs`, and data segments
        /// sent after those.
        early: u32,
        grown: u32,
        repairing: u32,
        /// Acknowledgements after which the next segment still waited for its time.
        waiting: u32,
    }

    impl Pair {
        fn new(cc: &str, options: Options, bytes: Option<u64>) -> Self {
            let start = Start {
                mss: options.mss,
                initial_window: options.initial_window,
                initial_ssthresh: options.initial_ssthresh,
            };
            let sender = || Sender::new(options, registry::build(cc, &[], start).unwrap(), bytes);
            let receiver = || Receiver::new(&options);
            let mut pair = Self {
                short: sender(),
                plain: sender(),
                prompt: receiver(),
                receiver: receiver(),
                under_way: VecDeque::new(),
                now: Time(0),
                even: 0,
                expected: 0,
                early: 0,
                grown: 0,
                repairing: 0,
                waiting: 0,
            };
            pair.both(|sender, now| sender.start(now));
            pair
        }

        fn both<T: PartialEq + std::fmt::Debug>(&mut self, call: impl Fn(&mut Sender, Time) -> T) -> T {
            let got = call(&mut self.short, self.now);
            self.plain.course = Course::Uneven;
            assert_eq!(got, call(&mut self.plain, self.now));
            got
        }

        /// Sends what both may send, and compares all that can be seen of them.
        fn settle(&mut self) {
            while self.under_way.len() < 3000 {
                let repairing = self.short.course == Course::Repairing;
                let Some(data) = self.both(|sender, now| sender.poll(now)) else { break };
                self.repairing += u32::from(repairing);
                self.under_way.push_back(data);
            }
            self.both(|s, now| {
                let seen =
                    (*s.flow(), s.decision(), s.counters(), s.deadline(), format!("{:?}", s.limits(now)));
                let recovering = s.flow().phase == Phase::Recovery;
                let repair = recovering.then(|| format!("{:?}", s.prr));
                (seen, s.dupacks, repair, s.rated.then_some((s.first_sent, s.delivered_at)))
            });
        }

        /// A segment reaches both receivers.
        fn receive(&mut self, data: &Data) -> Option<AckSegment> {
            let expected = self.prompt.is_even() && data.seq == self.prompt.delivered() && !data.probe;
            let got = if expected {
                self.expected += 1;
                let bare = self.prompt.on_expected(self.now, data.tsval, data.cwr, data.ce);
                bare.map(|b| AckSegment { ack: b.ack, tsecr: b.tsecr, ece: b.ece, ..AckSegment::default() })
            } else {
                let early = if data.probe { None } else { self.prompt.on_early(data.seq, data.cwr, data.ce) };
                self.early += u32::from(early.is_some());
                match early {
                    Some(b) => {
                        let mut ack =
                            AckSegment { ack: b.ack, tsecr: b.tsecr, ece: b.ece, ..AckSegment::default() };
                        ack.sack.fill(self.prompt.runs());
                        Some(ack)
                    }
                    None => self.prompt.on_data(self.now, data),
                }
            };
            assert_eq!(got, self.receiver.on_data(self.now, data));
            assert_eq!(self.prompt.deadline(), self.receiver.deadline());
            got
        }

        fn acknowledge(&mut self, ack: Option<AckSegment>, ece: bool) {
            if let Some(mut ack) = ack {
                ack.ece = ece;
                let bare = ack.sack.is_empty() && !ack.ece;
                self.even += u32::from(bare && self.short.is_even_ack(ack.ack));
                let mut packed = PackedSack::default();
                packed.fill(ack.ack, ack.sack.blocks().iter().copied());
                let grown = if ack.ece { None } else { self.short.grown(ack.ack, &packed) };
                self.grown += u32::from(grown.is_some());
                let short = match grown {
                    Some(seq) => self.short.on_grown_ack(self.now, seq),
                    None => self.short.on_ack(self.now, &ack),
                };
                self.plain.course = Course::Uneven;
                assert_eq!(short, self.plain.on_long_ack(self.now, &ack));
                if self.short.is_even() && self.short.still_waits(self.now) {
                    self.waiting += 1;
                    let before = format!("{:?}", self.short);
                    assert_eq!((self.short.poll(self.now), self.short.due()), (None, self.short.pace_at));
                    assert_eq!(format!("{:?}", self.short), before);
                }
                self.settle();
            }
        }

        fn step(&mut self, op: &Op) {
            match *op {
                Op::Arrive { count, gap, ece } => {
                    for _ in 0..count {
                        let Some(mut data) = self.under_way.pop_front() else { break };
                        self.now = self.now + Span(gap);
                        data.ce = ece;
                        let ack = self.receive(&data);
                        self.acknowledge(ack, ece);
                    }
                }
                Op::Lose => drop(self.under_way.pop_front()),
                Op::LoseAck => {
                    let Some(data) = self.under_way.pop_front() else { return };
                    self.receive(&data);
                }
                Op::Swap if self.under_way.len() > 1 => self.under_way.swap(0, 1),
                Op::Swap => {}
                Op::Timer => {
                    let sender = self.both(|sender, _| sender.deadline());
                    let receiver = self.receiver.deadline();
                    let Some(at) = sender.into_iter().chain(receiver).min() else { return };
                    self.now = self.now.max(at);
                    let ack = self.receiver.on_deadline(self.now);
                    assert_eq!(ack, self.prompt.on_deadline(self.now));
                    self.acknowledge(ack, false);
                    self.both(|sender, now| sender.on_deadline(now));
                    self.settle();
                }
                Op::Stop => self.both(|sender, _| sender.stop()),
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Arrive { count: u16, gap: u64, ece: bool },
        Lose,
        LoseAck,
        Swap,
        Timer,
        Stop,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            40 => (1_u16..200, 1_u64..30_000_000, prop::bool::weighted(0.05))
                .prop_map(|(count, gap, ece)| Op::Arrive { count, gap, ece }),
            10 => Just(Op::Timer),
            4 => Just(Op::Lose),
            4 => Just(Op::LoseAck),
            2 => Just(Op::Swap),
            1 => Just(Op::Stop),
        ]
    }

    fn options() -> impl Strategy<Value = Options> {
        let recovery =
            prop_oneof![Just(LossRecovery::Sack), Just(LossRecovery::NewReno), Just(LossRecovery::Reno)];
        let spurious = prop_oneof![
            Just(SpuriousTimeout::Off),
            Just(SpuriousTimeout::FRto),
            Just(SpuriousTimeout::Eifel)
        ];
        let flags = prop::array::uniform9(prop::bool::ANY);
        (recovery, spurious, flags, prop::option::of(1_u64..300)).prop_map(
            |(recovery, spurious, flags, window)| {
                let [modern, byte_counting, limited_transmit, delayed, timestamps, ecn, pacing, aen, prr] =
                    flags;
                let profile = if modern { Options::modern() } else { Options::paper() };
                Options {
                    recovery,
                    spurious,
                    byte_counting,
                    limited_transmit,
                    delayed_ack: delayed.then_some(Span::from_millis(100)),
                    timestamps,
                    ecn,
                    pacing,
                    aen,
                    prr,
                    receive_window: window,
                    rack: modern && timestamps,
                    tlp: modern && ecn,
                    dsack: modern && pacing,
                    ..profile
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

        #[test]
        fn the_short_way_leads_where_the_long_one_does(
            cc in prop::sample::select(vec!["reno", "cubic", "bbr", "vegas", "tfrc", "hybla", "star", "westwood-plus"]),
            options in options(),
            bytes in prop::option::of(1_u64..2_000_000),
            ops in prop::collection::vec(op(), 1..60),
        ) {
            let mut pair = Pair::new(cc, options, bytes);
            pair.settle();
            for op in &ops {
                pair.step(op);
            }
        }
    }

    /// And in recovery every one but those that begin it, or acknowledge the repair and what follows.
    #[test]
    fn in_recovery_acknowledgements_that_report_one_more_segment_go_a_short_way() {
        let options = Options { recovery: LossRecovery::Sack, initial_window: 100.0, ..Options::paper() };
        let mut pair = Pair::new("reno", options, None);
        pair.settle();
        pair.step(&Op::Lose);
        pair.step(&Op::Arrive { count: 99, gap: 1_000_000, ece: false });
        assert_eq!(pair.grown, 96, "three duplicates begin the recovery");
        assert_eq!(pair.early, 97, "the first after the gap begins the run, the 64th asks for room");
        assert_eq!(
            pair.repairing, 47,
            "each since 53 of 102 have gone (two by RFC 3042), so that fewer than 50 are in flight"
        );

        for (cc, prr) in [("reno", false), ("reno", true), ("cubic", true), ("star", false), ("bbr", false)] {
            let mut pair = Pair::new(cc, Options { prr, ..options }, None);
            pair.settle();
            for i in 0..4000_usize {
                (0..if i % 97 == 0 { i % 31 } else { 0 }).for_each(|_| pair.step(&Op::Lose));
                while pair.under_way.len() < 60 && pair.short.pacing_waits {
                    pair.step(&Op::Timer); // the next paced segment
                }
                pair.step(&Op::Arrive { count: 1 + (i % 5) as u16, gap: 300_000, ece: false });
            }
            assert_eq!(pair.waiting > 50, cc == "bbr", "{cc}: {}", pair.waiting);
            let short = [pair.grown, pair.early, pair.repairing];
            assert!(short.iter().all(|&n| n > 15), "{cc}: {short:?}");
        }
    }

    /// Or else the test above would compare the long way with itself.
    #[test]
    fn without_losses_every_acknowledgement_but_the_first_goes_the_short_way() {
        for (options, acks) in [(Options::paper(), 999), (Options::modern(), 499)] {
            let mut pair = Pair::new("reno", options, None);
            pair.settle();
            for _ in 0..100 {
                pair.step(&Op::Arrive { count: 10, gap: 1_000_000, ece: false });
            }
            assert_eq!((pair.even, pair.expected), (acks, 1000));
        }
    }
}
