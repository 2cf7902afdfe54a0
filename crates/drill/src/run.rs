//! Plays a plan: time, arrivals, what the sender or the receiver answers, and what the script says of it.

use std::collections::VecDeque;
use std::fmt::Display;

use bentpipe_cc::{Phase, Start, Time, registry};
use bentpipe_tcp::{AckSegment, Block, Data, Receiver, Sender};

use super::expression::{self, Quantity};
use super::packet::Codepoint;
use super::parser::When;
use super::plan::{Action, Plan, Step};
use super::{Error, Manner, Outcome};

/// More timers and segments than any script needs.
const ENDLESS: usize = 100_000;

/// Linux's slow-start threshold before the first congestion.
const NO_SSTHRESH: i64 = 0x7fff_ffff;

/// Something that left us.
#[derive(Clone, Copy, Debug)]
enum Left {
    Data(Data),
    /// And its window in segments, if it changes.
    Ack(AckSegment, Option<u64>),
}

/// Plays `plan`.
pub(crate) fn play(plan: &Plan) -> Result<Outcome, Error> {
    let mut player = Player::new(plan)?;
    for step in &plan.steps {
        player.step(step)?;
    }
    if let Some(step) = plan.steps.last() {
        player.nothing_waits(step.line, "the end of the script")?;
    }
    if let (0, Some(why)) = (player.compared, &plan.skipped.1) {
        return Err(why.clone()); // what it is about was passed over
    }
    Ok(Outcome {
        compared: player.compared,
        asserted: player.asserted,
        skipped: plan.skipped.0,
        closed_at: plan.closed_at,
    })
}

struct Player<'a> {
    plan: &'a Plan,
    sender: Sender,
    receiver: Receiver,
    now: Time,
    /// The application has written something.
    started: bool,
    left: VecDeque<(Time, Left)>,
    /// Timestamps of the script beside the sender's own.
    stamps: Vec<(u32, u32)>,
    compared: usize,
    asserted: usize,
    work: usize,
}

impl<'a> Player<'a> {
    fn new(plan: &'a Plan) -> Result<Self, Error> {
        let o = &plan.options;
        let start =
            Start { mss: o.mss, initial_window: o.initial_window, initial_ssthresh: o.initial_ssthresh };
        let cc = registry::build(&plan.cc, &[], start)
            .map_err(|e| Error::refused(1, format!("controller {:?}: {e}", plan.cc)))?;
        Ok(Self {
            plan,
            sender: Sender::new(*o, cc, Some(0)),
            receiver: Receiver::new(o),
            now: Time(0),
            started: false,
            left: VecDeque::new(),
            stamps: Vec::new(),
            compared: 0,
            asserted: 0,
            work: 0,
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), Error> {
        let (from, to) = self.window(step.when);
        if let Action::ExpectData { segments, cwr, codepoint, tsval } = &step.action {
            for seq in segments.start..segments.end {
                let data = self.next_data(step, from, to, seq, *segments)?;
                let cwr = *cwr && seq == segments.start;
                self.compare_data(step, &data, seq, cwr, *codepoint)?;
                if let Some(val) = tsval {
                    self.compare_stamp(step, &data, *val)?;
                }
                self.compared += 1;
            }
            return Ok(());
        }
        if let Action::ExpectProbe(seq) = step.action {
            let expected = format!("the probe {}", self.plan.grid.byte(seq) - 1);
            match self.next_left(step, from, to, &expected)? {
                Left::Data(data) if data.probe && data.seq == seq => {}
                left => return Err(self.other(step, &expected, &left)),
            }
            self.compared += 1;
            return Ok(());
        }
        if let Action::ExpectAck { ack, blocks, ece, tsecr, window } = &step.action {
            let (got, advertised) = self.next_ack(step, from, to, *ack)?;
            self.compare_ack(step, &got, *ack, blocks.as_deref(), *ece, *tsecr)?;
            if let (Some(want), Some(advertised)) = (window, advertised)
                && *want != advertised
            {
                let came = format!("a window of {advertised} segments instead of {want}");
                return Err(Error::differs(step.line, format!("{}\n  came: {came}", step.source)));
            }
            self.compared += 1;
            return Ok(());
        }
        if from < self.now {
            return Err(Error::syntax(
                step.line,
                format!("{} is over: it is {}", seconds(from), seconds(self.now)),
            ));
        }
        self.advance(step.line, from)?;
        if !matches!(step.action, Action::Pass | Action::Assert(_)) {
            self.nothing_waits(step.line, &step.source)?;
        }
        self.act(step)
    }

    /// The times between which a step may happen.
    fn window(&self, when: When) -> (Time, Time) {
        let after = |n: u64| Time(self.now.0.saturating_add(n));
        match when {
            When::At(t) => (Time(t), Time(t)),
            When::After(t) => (after(t), after(t)),
            When::Within(a, b) => (Time(a), Time(b)),
            When::AfterWithin(a, b) => (after(a), after(b)),
            When::Any => (self.now, Time::MAX),
        }
    }

    fn act(&mut self, step: &Step) -> Result<(), Error> {
        match &step.action {
            Action::Pass | Action::ExpectData { .. } | Action::ExpectProbe(_) | Action::ExpectAck { .. } => {}
            Action::Clock(val) => self.stamps.push((*val, self.micros())),
            Action::Write(bytes) => {
                if !core::mem::replace(&mut self.started, true) {
                    self.sender.start(self.now);
                }
                self.sender.write(*bytes).map_err(|_| {
                    Error::refused(
                        step.line,
                        "more is written behind a segment that was sent and is not full",
                    )
                })?;
                self.drain(step.line)?;
            }
            Action::Read(segments) => {
                let got = self.receiver.delivered();
                if *segments > got {
                    return Err(step.differs(format!("{segments} segments to read"), got));
                }
                let update = self.receiver.read(*segments);
                self.acknowledge(update);
            }
            Action::Ack(seg, ecr, window) => {
                let tsecr = ecr.map_or(0, |ecr| self.own_stamp(ecr));
                if self.started {
                    let seg = AckSegment { tsecr, ..*seg };
                    match window {
                        Some(window) => self.sender.on_windowed_ack(self.now, &seg, *window, None),
                        None => self.sender.on_ack(self.now, &seg),
                    };
                    self.drain(step.line)?;
                }
            }
            Action::Arrive(data) => {
                let answer = self.receiver.on_data(self.now, data);
                self.acknowledge(answer);
            }
            Action::Assert(assertions) => {
                for a in assertions {
                    let ask = |quantity| self.ask(quantity);
                    let value = expression::value(&a.expr, &ask).ok_or_else(|| {
                        Error::syntax(a.line, format!("{} divides by zero or is too large", a.text))
                    })?;
                    if value == 0 {
                        let mut names = Vec::new();
                        expression::asked(&a.expr, &mut names);
                        let got: Vec<String> =
                            names.iter().map(|(name, q)| format!("{name} is {}", self.ask(*q))).collect();
                        return Err(Error::differs(
                            a.line,
                            format!(
                                "\n  expected: {}\n  came: {} at {}",
                                a.text,
                                got.join(", "),
                                seconds(self.now)
                            ),
                        ));
                    }
                    self.asserted += 1;
                }
            }
        }
        Ok(())
    }

    fn ask(&self, quantity: Quantity) -> i64 {
        let (sender, counters) = (&self.sender, self.sender.counters());
        let mss = u64::from(self.plan.options.mss.max(1));
        let outstanding = sender.next() - sender.una();
        let rtt = |of: fn(&bentpipe_cc::Rtt) -> u64| sender.flow().rtt.as_ref().map_or(0, of) / 1000;
        let number = match quantity {
            Quantity::Cwnd => sender.decision().cwnd / mss,
            Quantity::Ssthresh if sender.decision().ssthresh == u64::MAX => return NO_SSTHRESH,
            Quantity::Ssthresh => sender.decision().ssthresh / mss,
            Quantity::Unacked => outstanding,
            Quantity::Sacked => sender.sacked(),
            Quantity::Lost => sender.lost(),
            Quantity::Retrans => {
                (sender.in_flight() + sender.sacked() + sender.lost()).saturating_sub(outstanding)
            }
            Quantity::TotalRetrans => counters.retransmitted,
            Quantity::CaState => match sender.flow().phase {
                Phase::Open => u64::from(sender.sacked() > 0),
                Phase::Recovery => 3,
                Phase::Loss => 4,
            },
            Quantity::Mss => mss,
            Quantity::Rtt => rtt(|r| r.smoothed.0),
            Quantity::MinRtt => rtt(|r| r.min.0),
            Quantity::Pipe => sender.in_flight(),
            Quantity::Timeouts => counters.timeouts,
            Quantity::SpuriousTimeouts => counters.spurious_timeouts,
            Quantity::Recoveries => counters.recoveries,
            Quantity::SpuriousRecoveries => counters.spurious_recoveries,
            Quantity::Probes => counters.probes,
            Quantity::Received => self.receiver.delivered(),
        };
        i64::try_from(number).unwrap_or(i64::MAX)
    }

    fn deadline(&self) -> Option<Time> {
        let sender = if self.started { self.sender.deadline() } else { None };
        [sender, self.receiver.deadline()].into_iter().flatten().min()
    }

    /// Time passes until `to`; what is due before happens, what is due at `to` does not yet.
    fn advance(&mut self, line: usize, to: Time) -> Result<(), Error> {
        while let Some(due) = self.deadline().filter(|&due| due < to) {
            self.expire(line, due)?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// The timers of `due`.
    fn expire(&mut self, line: usize, due: Time) -> Result<(), Error> {
        self.now = self.now.max(due);
        let ack = self.receiver.on_deadline(self.now);
        self.acknowledge(ack);
        if self.started && self.sender.deadline().is_some_and(|t| t <= self.now) {
            self.sender.on_deadline(self.now);
        }
        self.drain(line)
    }

    /// The receiver sends an acknowledgement, if there is one.
    fn acknowledge(&mut self, ack: Option<AckSegment>) {
        let window = self.receiver.window();
        self.left.extend(ack.map(|ack| (self.now, Left::Ack(ack, window))));
    }

    /// All that the sender may send now.
    fn drain(&mut self, line: usize) -> Result<(), Error> {
        self.work += 1;
        while self.started
            && self.work < ENDLESS
            && let Some(data) = self.sender.poll(self.now)
        {
            self.work += 1;
            self.left.push_back((self.now, Left::Data(data)));
        }
        if self.work >= ENDLESS {
            return Err(Error::refused(line, "more than 100,000 timers and segments"));
        }
        Ok(())
    }

    /// What leaves next, up to the time `to` and the tolerance.
    fn next_left(&mut self, step: &Step, from: Time, to: Time, expected: &str) -> Result<Left, Error> {
        let latest = Time(to.0.saturating_add(self.plan.tolerance));
        while self.left.is_empty()
            && let Some(due) = self.deadline().filter(|&due| due <= latest)
        {
            self.expire(step.line, due)?;
        }
        let differs = |came: String| {
            let when = match (from == to, to == Time::MAX) {
                (_, true) => "at any time".to_string(),
                (true, _) => format!("at {}", seconds(from)),
                _ => format!("from {} to {}", seconds(from), seconds(to)),
            };
            step.differs(format!("{expected}, {when}"), came)
        };
        let Some((at, left)) = self.left.pop_front() else {
            let next = self.deadline().map_or("no timer is armed".to_string(), |t| {
                format!("the next timer expires at {}", seconds(t))
            });
            return Err(differs(format!("nothing; {next}")));
        };
        if at > latest || at.0.saturating_add(self.plan.tolerance) < from.0 {
            return Err(differs(self.describe(at, &left)));
        }
        Ok(left)
    }

    fn next_data(&mut self, step: &Step, from: Time, to: Time, seq: u64, all: Block) -> Result<Data, Error> {
        let (first, last) = (self.plan.grid.byte(seq), self.plan.grid.byte(seq + 1));
        let mut expected = format!("segment {first}:{last}");
        if all.end - all.start > 1 {
            expected += &format!(" of {}:{}", self.plan.grid.byte(all.start), self.plan.grid.byte(all.end));
        }
        match self.next_left(step, from, to, &expected)? {
            Left::Data(data) => Ok(data),
            left => Err(self.other(step, &expected, &left)),
        }
    }

    fn next_ack(
        &mut self,
        step: &Step,
        from: Time,
        to: Time,
        ack: u64,
    ) -> Result<(AckSegment, Option<u64>), Error> {
        let expected = format!("ack {}", self.plan.grid.byte(ack));
        match self.next_left(step, from, to, &expected)? {
            Left::Ack(ack, window) => Ok((ack, window)),
            left => Err(self.other(step, &expected, &left)),
        }
    }

    fn other(&self, step: &Step, expected: &str, left: &Left) -> Error {
        step.differs(expected, self.describe(self.now, left))
    }

    fn compare_data(
        &self,
        step: &Step,
        data: &Data,
        seq: u64,
        cwr: bool,
        codepoint: Option<Codepoint>,
    ) -> Result<(), Error> {
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
        let ect = self.plan.options.ecn && !data.retransmission;
        let marks = codepoint.is_none_or(|c| c == if ect { Codepoint::Ect0 } else { Codepoint::NotEct });
        if data.seq == seq && data.cwr == cwr && marks {
            return Ok(());
        }
        let flag = if cwr { " with CWR" } else { "" };
        let point = codepoint.map_or(String::new(), |c| format!(", {c:?}"));
        let expected = format!("segment {}{flag}{point}", self.plan.grid.byte(seq));
        Err(self.other(step, &expected, &Left::Data(*data)))
    }

    fn compare_ack(
        &self,
        step: &Step,
        got: &AckSegment,
        ack: u64,
        blocks: Option<&[Block]>,
        ece: bool,
        tsecr: Option<u32>,
    ) -> Result<(), Error> {
        let same_blocks = blocks.is_none_or(|b| b == got.sack.blocks());
        if got.ack == ack && same_blocks && got.ece == ece && tsecr.is_none_or(|t| t == got.tsecr) {
            return Ok(());
        }
        let mut want = self.describe_ack(ack, blocks.unwrap_or(&[]), ece);
        if let Some(tsecr) = tsecr {
            want += &format!(", echo {tsecr}");
        }
        Err(self.other(step, &want, &Left::Ack(*got, None)))
    }

    /// The timestamp of `data` is `val` by the script's clock, which ticks in milliseconds.
    fn compare_stamp(&mut self, step: &Step, data: &Data, val: u32) -> Result<(), Error> {
        if let Some((script, own)) = self.stamps.first() {
            let want = i64::from(val.wrapping_sub(*script) as i32) * 1000;
            let got = i64::from(data.tsval.wrapping_sub(*own) as i32);
            if (want - got).unsigned_abs() > 1000 + self.plan.tolerance / 1000 {
                let after = |us: i64| format!("{} ms after the first", us / 1000);
                return Err(step.differs(format!("a timestamp {}", after(want)), after(got)));
            }
        }
        self.stamps.push((val, data.tsval));
        Ok(())
    }

    /// The sender's timestamp for one of the script: that of the packet that had it, or by the clock.
    fn own_stamp(&self, ecr: u32) -> u32 {
        if let Some((_, own)) = self.stamps.iter().rev().find(|(script, _)| *script == ecr) {
            return *own;
        }
        let (script, own) = self.stamps.first().copied().unwrap_or((0, 0));
        own.wrapping_add(ecr.wrapping_sub(script).wrapping_mul(1000))
    }

    fn micros(&self) -> u32 {
        (self.now.0 / 1000) as u32
    }

    fn nothing_waits(&self, line: usize, before: &str) -> Result<(), Error> {
        if self.plan.manner == Manner::Lenient {
            return Ok(());
        }
        let Some((at, left)) = self.left.front() else { return Ok(()) };
        let came = self.describe(*at, left);
        Err(Error::differs(line, format!("{before}\n  expected: nothing sent before\n  came: {came}")))
    }

    fn describe(&self, at: Time, left: &Left) -> String {
        let what = match left {
            Left::Data(data) if data.probe => format!("the probe {}", self.plan.grid.byte(data.seq) - 1),
            Left::Data(data) => {
                let grid = &self.plan.grid;
                let mut text = format!("segment {}:{}", grid.byte(data.seq), grid.byte(data.seq + 1));
                if data.retransmission {
                    text += " again";
                }
                if data.cwr {
                    text += " with CWR";
                }
                text
            }
            Left::Ack(ack, _) => {
                let mut text = self.describe_ack(ack.ack, ack.sack.blocks(), ack.ece);
                if self.plan.options.timestamps {
                    text += &format!(", echo {}", ack.tsecr);
                }
                text
            }
        };
        format!("{what}, at {}", seconds(at))
    }

    fn describe_ack(&self, ack: u64, blocks: &[Block], ece: bool) -> String {
        let grid = &self.plan.grid;
        let mut text = format!("ack {}", grid.byte(ack));
        for b in blocks {
            text += &format!(" sack {}:{}", grid.byte(b.start), grid.byte(b.end));
        }
        if ece {
            text += " with ECE";
        }
        text
    }
}

impl Step {
    /// What came is not what the script says.
    fn differs(&self, expected: impl Display, came: impl Display) -> Error {
        Error::differs(self.line, format!("{}\n  expected: {expected}\n  came: {came}", self.source))
    }
}

fn seconds(at: Time) -> String {
    format!("{:.6} s", at.secs())
}
