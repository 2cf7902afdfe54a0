//! Time lines of directions: against a simulator of its own, against runs without them,
//! and against closed forms.

use bentpipe_cc::{Span, Time};
use bentpipe_sim::link::{Class, Direction, Fate, Packet, Push, Refusal};
use bentpipe_sim::plan::{
    DirectionPlan, Discipline, DropFrontPlan, DropTailPlan, GilbertElliott, Handover, Leg, LossPlan,
    PacketError, Priority, QueueLimit, Step, TimeLine,
};
use proptest::prelude::*;

/// The end of a packet, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Arrives(u64),
    Full,
    Flushed,
    Lost,
    /// Not yet sent when all is over.
    Waits,
}

/// What the contract says of a link, as plain lists: (from when on, rate), (from when on,
/// delay, delay at the end).
#[derive(Clone, Debug)]
struct Contract {
    rates: Vec<(u64, u64)>,
    delays: Vec<(u64, u64, u64)>,
    handovers: Vec<u64>,
    loses: bool,
    flushes: bool,
    reorder: bool,
    room: Room,
    /// Does what waits longest make room, and not the packet that comes?
    front: bool,
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug)]
enum Room {
    Packets(usize),
    /// What the link sends in this time, ns.
    Time(u64),
}

/// After this instant nothing changes.
const LAST: u64 = 40_000_000;

/// A simulator of one link, written from the contract: it goes from event to event, and works
/// out what happens at each.
struct Simulator<'a> {
    of: &'a Contract,
    now: u64,
    waiting: Vec<(usize, u64)>,
    /// The packet in the transmitter, its size, and how much is left of it, in 10^-9 bit.
    sending: Option<(usize, u64, u128)>,
    /// Work of less than a nanosecond that the last packet left.
    left: u128,
    /// Packets sent and not there, and their arrivals.
    air: Vec<(usize, u64)>,
    last: u64,
    ends: Vec<End>,
}

impl Simulator<'_> {
    fn rate(&self, at: u64) -> u128 {
        u128::from(self.of.rates.iter().rfind(|r| r.0 <= at).expect("a first rate").1)
    }

    fn delay(&self, at: u64) -> u64 {
        let i = self.of.delays.iter().rposition(|d| d.0 <= at).expect("a first delay");
        let (begin, from, to) = self.of.delays[i];
        let Some(next) = self.of.delays.get(i + 1) else { return from };
        let (from, to) = (i128::from(from), i128::from(to));
        (from + (to - from) * i128::from(at - begin) / i128::from(next.0 - begin)) as u64
    }

    /// When the packet in the transmitter is sent, if nothing changes before.
    fn sent_at(&self) -> Option<u64> {
        let rate = self.rate(self.now);
        self.sending.filter(|_| rate > 0).map(|(_, _, work)| self.now + (work / rate) as u64)
    }

    /// Works out all events before or at `until`.
    fn go_to(&mut self, until: u64) {
        loop {
            let change = self.of.rates.iter().map(|r| r.0).chain(self.of.handovers.iter().copied());
            let change = change.filter(|at| *at > self.now).min().unwrap_or(u64::MAX);
            let sent = self.sent_at().unwrap_or(u64::MAX);
            let next = sent.min(change);
            if next > until {
                return self.work(until);
            }
            // At the instant of a change the rest, if any, is for the new rate.
            let rate = self.rate(self.now);
            self.work(next);
            if let Some((i, size, 0)) = self.sending {
                self.finish(i, size, rate);
            } else if let Some((i, size, work)) = self.sending
                && next < change
            {
                self.left = work;
                self.finish(i, size, rate);
            }
            if next == change && self.of.handovers.contains(&change) {
                self.hand_over();
            }
            self.begin();
        }
    }

    /// Sends until `until`, in which nothing changes.
    fn work(&mut self, until: u64) {
        let rate = self.rate(self.now);
        if let Some((_, _, work)) = &mut self.sending {
            *work -= rate * u128::from(until - self.now);
        }
        self.now = until;
    }

    fn finish(&mut self, i: usize, size: u64, rate: u128) {
        let alone = (u128::from(size) * 8_000_000_000 / rate) as u64;
        let mut arrival = self.now + self.delay(self.now);
        if !self.of.reorder && arrival < self.last {
            arrival = self.last + alone;
        }
        self.air.push((i, arrival));
        self.last = arrival;
        self.sending = None;
    }

    fn hand_over(&mut self) {
        if self.of.loses {
            // Packets that are there have arrived; the last of the others leave no trace.
            for (i, arrival) in std::mem::take(&mut self.air) {
                self.ends[i] = if arrival > self.now { End::Lost } else { End::Arrives(arrival) };
            }
            let there =
                self.ends.iter().filter_map(|end| if let End::Arrives(at) = end { Some(*at) } else { None });
            self.last = there.max().unwrap_or(0);
            if let Some((i, ..)) = self.sending.take() {
                self.ends[i] = End::Lost;
                self.left = 0;
            }
        }
        if self.of.flushes {
            self.waiting.drain(..).for_each(|(i, _)| self.ends[i] = End::Flushed);
        }
    }

    /// The next packet goes into a free transmitter.
    fn begin(&mut self) {
        if self.sending.is_none() && !self.waiting.is_empty() {
            let (i, size) = self.waiting.remove(0);
            let work = u128::from(size) * 8_000_000_000 + std::mem::take(&mut self.left);
            self.sending = Some((i, size, work));
        }
    }

    /// Does a packet of this size fit behind the waiting packets from this number on?
    fn fits(&self, behind: usize, size: u64) -> bool {
        let waiting = self.waiting.get(behind..).unwrap_or_default();
        match self.of.room {
            Room::Packets(most) => waiting.len() < most,
            Room::Time(ns) => {
                let up = || self.of.rates.iter().filter(|rate| rate.1 > 0);
                let now = up().rfind(|rate| rate.0 <= self.now);
                let rate = now.or(up().next()).expect("a rate above zero").1;
                let bytes =
                    waiting.iter().map(|(_, size)| u128::from(*size)).sum::<u128>() + u128::from(size);
                // A sum of whole bytes: it fits exactly if it fits the whole bytes of the product.
                bytes * 8_000_000_000 <= u128::from(rate) * u128::from(ns)
            }
        }
    }

    fn push(&mut self, at: u64, size: u64) {
        self.go_to(at);
        let i = self.ends.len();
        self.ends.push(End::Waits);
        if self.sending.is_some() && !self.fits(0, size) {
            let all = self.waiting.len();
            let go = (1..=all).find(|&behind| self.fits(behind, size)).filter(|_| self.of.front);
            let Some(go) = go else {
                self.ends[i] = End::Full;
                return;
            };
            self.waiting.drain(..go).for_each(|(i, _)| self.ends[i] = End::Full);
        }
        self.waiting.push((i, size));
        self.begin();
    }
}

/// The ends of packets that come at these instants, by the simulator above.
fn simulate(of: &Contract, packets: &[(u64, u64)]) -> Vec<End> {
    let mut s = Simulator {
        of,
        now: 0,
        waiting: Vec::new(),
        sending: None,
        left: 0,
        air: Vec::new(),
        last: 0,
        ends: Vec::new(),
    };
    for &(at, size) in packets {
        s.push(at, size);
    }
    s.go_to(u64::MAX / 4);
    for (i, arrival) in std::mem::take(&mut s.air) {
        s.ends[i] = End::Arrives(arrival);
    }
    s.ends
}

fn line(of: &Contract) -> TimeLine {
    let step = |&(at, rate_bps): &(u64, u64)| Step { at: Time(at), rate_bps, loss_rate: 0.0 };
    let leg = |(i, &(at, from, to)): (usize, &(u64, u64, u64))| {
        let to = if i + 1 < of.delays.len() { to } else { from };
        Leg { at: Time(at), delay: Span(from), towards: Span(to) }
    };
    let handovers: Vec<Time> = of.handovers.iter().copied().map(Time).collect();
    let steps = of.rates.iter().map(step).collect();
    let mut line = TimeLine::new(steps, of.delays.iter().enumerate().map(leg).collect(), handovers.into())
        .expect("instants in order");
    line.handover = Handover { loses: of.loses, flushes: of.flushes };
    line.reorder = of.reorder;
    line
}

/// The same by a direction. `looks`: between packets, somebody looks at the queue or not.
fn direct(of: &Contract, packets: &[(u64, u64)], discipline: Discipline) -> (Vec<End>, Vec<u64>) {
    let highest = of.rates.iter().map(|rate| u128::from(rate.1)).max().unwrap_or_default();
    let queue = match of.room {
        Room::Packets(most) => QueueLimit::Packets(most as u64),
        Room::Time(ns) => QueueLimit::Bytes((highest * u128::from(ns) / 8_000_000_000) as u64),
    };
    let line = Some(line(of));
    let plan = DirectionPlan { discipline, line, ..DirectionPlan::plain(1_000_000, Span(0), queue) };
    let mut direction = Direction::new(&plan, 1, "x/forward");
    let promises = direction.promises(1_500);
    let mut ends = vec![End::Waits; packets.len()];
    let mut order = Vec::new();
    let mut take = |direction: &mut Direction, until: u64, ends: &mut Vec<End>| {
        while let Some(at) = direction.next().filter(|at| at.0 <= until) {
            let Some((packet, fate)) = direction.pop(at) else { continue };
            let i = packet.handle() as usize;
            match fate {
                Fate::Delivered => {
                    assert!(at.0 - packets[i].0 >= promises.least_delay.0);
                    ends[i] = End::Arrives(at.0);
                    order.push(at.0);
                }
                _ => ends[i] = End::Lost,
            }
        }
        while let Some((packet, fate)) = direction.take_doomed() {
            ends[packet.handle() as usize] = if fate == Fate::Lost { End::Lost } else { End::Flushed };
        }
    };
    for (i, &(at, size)) in packets.iter().enumerate() {
        take(&mut direction, at, &mut ends);
        match direction.push(Time(at), Packet::new(size as u16, i as u32), Class::default()) {
            Push::Dropped(Refusal::Flushed) => ends[i] = End::Flushed,
            Push::Dropped(_) => ends[i] = End::Full,
            Push::Taken | Push::Lost => {}
        }
    }
    take(&mut direction, u64::MAX / 4, &mut ends);
    (ends, order)
}

/// Which of `packets` packets, sent a millisecond apart, these losses strike; the loss rate
/// changes at these instants.
fn struck(loss: &[LossPlan], rates: &[(u64, f64)], packets: u64) -> Vec<bool> {
    let step = |&(at, loss_rate): &(u64, f64)| Step { at: Time(at), rate_bps: 12_000_000, loss_rate };
    let leg = Leg { at: Time(0), delay: Span(0), towards: Span(0) };
    let mut line = TimeLine::new(rates.iter().map(step).collect(), [leg].into(), Vec::new().into())
        .expect("instants in order");
    line.sets_loss = rates.len() > 1;
    let plan = DirectionPlan {
        loss: loss.to_vec(),
        line: Some(line),
        ..DirectionPlan::plain(12_000_000, Span(0), QueueLimit::Packets(1))
    };
    let mut direction = Direction::new(&plan, 1, "x/forward");
    let mut lost = Vec::new();
    for i in 0..packets {
        let push = direction.push(Time(i * 1_000_000), Packet::new(1_500, i as u32), Class::default());
        lost.push(push == Push::Lost);
        while let Some(at) = direction.next() {
            direction.pop(at);
        }
    }
    lost
}

#[test]
fn a_loss_rate_over_time_strikes_beside_other_losses_and_leaves_their_draws_alone() {
    let events = LossPlan::GilbertElliott(GilbertElliott { p: 0.02, r: 0.25, good_loss: 0.0, bad_loss: 1.0 });
    let own = LossPlan::PacketError(PacketError { rate: 0.0 });
    let alone = struck(std::slice::from_ref(&events), &[(0, 0.0)], 40_000);
    let both = |rates: &[(u64, f64)]| struck(&[events.clone(), own.clone()], rates, 40_000);
    assert!(alone.contains(&true) && both(&[(0, 0.0), (1, 0.0)]) == alone);
    // Packet i is sent from i to i + 1 ms: those of 10.5 s to 20.5 s, whose last bits
    // are sent then, are lost.
    let found = both(&[(0, 0.0), (10_500_000_000, 1.0), (20_500_000_000, 0.0)]);
    let dark = 10_499..20_499;
    assert!((0..40_000).all(|i| found[i] == (alone[i] || dark.contains(&i))));
    // Independent: of the packets that pass the events, a tenth is lost, within four standard errors.
    let found = both(&[(0, 0.1), (1, 0.1)]);
    let pass = alone.iter().filter(|struck| !*struck).count() as f64;
    let more = (0..40_000).filter(|&i| found[i] && !alone[i]).count() as f64;
    assert!((more - 0.1 * pass).abs() < 4.0 * (0.09 * pass).sqrt(), "{more} of {pass}");
}

fn steps<V: std::fmt::Debug>(value: impl Strategy<Value = V>) -> impl Strategy<Value = Vec<(u64, V)>> {
    prop::collection::vec((1..LAST / 4, value), 1..9).prop_map(|gaps| {
        let mut at = 0;
        let step = |(i, (gap, value)): (usize, (u64, V))| {
            at += if i == 0 { 0 } else { gap };
            (at, value)
        };
        gaps.into_iter().enumerate().map(step).collect()
    })
}

prop_compose! {
    fn contract()(
        mut rates in steps(prop::sample::select(vec![0, 12_000_000, 1_234_567, 99_999_989, 3_000_000])),
        last in prop::sample::select(vec![12_000_000_u64, 7_654_321]),
        delays in steps((0..9_000_000_u64, 0..9_000_000_u64)),
        mut handovers in prop::collection::vec(0..LAST, 0..5),
        (loses, flushes, reorder) in any::<(bool, bool, bool)>(),
        room in prop_oneof![(0..40_usize).prop_map(Room::Packets), (0..20_000_000_u64).prop_map(Room::Time)],
    ) -> Contract {
        // At last all is sent.
        rates.push((3 * LAST, last));
        let delays = delays.into_iter().map(|(at, (from, to))| (at, from, to)).collect();
        handovers.sort_unstable();
        handovers.dedup();
        Contract { rates, delays, handovers, loses, flushes, reorder, room, front: false }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    /// In order, with both kinds of queues. Drops at departure are reported late, and drops at arrival early.
    #[test]
    fn an_independent_simulator_agrees_in_every_arrival(
        mut of in contract(),
        gaps in prop::collection::vec((0..900_000_u64, 40..1_501_u64), 1..120),
    ) {
        let mut at = 0;
        let packets: Vec<(u64, u64)> = gaps.iter().map(|(gap, size)| { at += gap; (at, *size) }).collect();
        let expected = simulate(&of, &packets);
        let time = if let Room::Time(ns) = of.room { Some(Span(ns)) } else { None };
        let (found, order) = direct(&of, &packets, Discipline::DropTail(DropTailPlan { time }));
        prop_assert_eq!(&found, &expected);
        prop_assert!(order.is_sorted());
        // A queue that decides at departure tells of what finds no room in the same
        // way as of what is flushed.
        let as_dropped = |end: &End| if *end == End::Full { End::Flushed } else { *end };
        let dropped = |ends: &[End]| ends.iter().map(as_dropped).collect::<Vec<End>>();
        if time.is_none() {
            let (found, _) = direct(&of, &packets, Discipline::Priority(Priority { bands: 3, ..Priority::default() }));
            prop_assert_eq!(dropped(&found), dropped(&expected));
        }
        of.front = true;
        let (found, _) = direct(&of, &packets, Discipline::DropFront(DropFrontPlan { time }));
        prop_assert_eq!(dropped(&found), dropped(&simulate(&of, &packets)));
    }
}
