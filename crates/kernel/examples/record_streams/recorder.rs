//! A controller that writes down the reports it gets, in the format of tests/native/stream.rs.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Life, Needs, Phase};

/// Where a recording is written; the simulator owns the controller.
pub(crate) type Tape = Arc<Mutex<Recording>>;

/// The lines recorded so far.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) text: String,
    pub(crate) lines: usize,
    now: u64,
    rtt: i64,
    srtt8: i64,
    rwnd: u64,
}

impl Recording {
    fn add(&mut self, flow: &Flow, line: impl FnOnce(&mut Self, u64) -> String) {
        let now = flow.now.0 / 1000;
        let after = if self.lines == 0 { 0 } else { now - self.now };
        self.now = now;
        if flow.rwnd != self.rwnd {
            self.rwnd = flow.rwnd;
            let _ = writeln!(self.text, "rwnd {}", flow.rwnd);
        }
        let line = line(self, after);
        let _ = writeln!(self.text, "{line}");
        self.lines += 1;
    }

    fn ack(&mut self, flow: &Flow, ack: &Ack) {
        self.add(flow, |tape, after| {
            let mss = u64::from(flow.mss);
            let sample = ack.rtt.map(|rtt| (rtt.latest.0 / 1000) as i64);
            let difference = sample.map_or("-".into(), |rtt| (rtt - tape.rtt).to_string());
            tape.rtt = sample.unwrap_or(tape.rtt);
            let srtt8 = flow.rtt.map_or(0, |rtt| (rtt.smoothed.0 / 125) as i64);
            let smoothed = srtt8 - std::mem::replace(&mut tape.srtt8, srtt8);
            let segments = ack.acked / mss;
            let uncounted = match ack.uncounted / mss {
                0 => String::new(),
                n => format!(" {n}"),
            };
            let flags = flags(flow, ack.round_end, ack.ce > 0);
            format!("{after} {segments} {difference} {smoothed} {flags}{uncounted}")
        });
    }

    fn event(&mut self, flow: &Flow, name: &str) {
        self.add(flow, |_, after| format!("{name} {after} {}", flags(flow, false, false)));
    }
}

fn flags(flow: &Flow, round_end: bool, marked: bool) -> String {
    let set = [
        (round_end, 'e'),
        (flow.cwnd_limited, 'l'),
        (marked, 'c'),
        (flow.phase == Phase::Recovery, 'r'),
        (flow.phase == Phase::Loss, 't'),
    ];
    let text: String = set.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect();
    if text.is_empty() { ".".into() } else { text }
}

/// A controller that records the reports it gets. Up to `merge` ACKs become one, as a receive offload merges
/// them.
#[derive(Debug)]
pub(crate) struct Recorder {
    inner: Box<dyn Controller>,
    tape: Tape,
    merge: u32,
    most: usize,
    waiting: Option<(Flow, Ack)>,
}

impl Recorder {
    /// Records at most `most` lines.
    pub(crate) fn new(inner: Box<dyn Controller>, tape: Tape, merge: u32, most: usize) -> Self {
        Self { inner, tape, merge, most, waiting: None }
    }

    fn write(&mut self, act: impl FnOnce(&mut Recording)) {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if tape.lines < self.most {
            act(&mut tape);
        }
    }

    fn flush(&mut self) {
        if let Some((flow, ack)) = self.waiting.take() {
            self.write(|tape| tape.ack(&flow, &ack));
        }
    }

    fn event(&mut self, flow: &Flow, name: &str) {
        self.flush();
        self.write(|tape| tape.event(flow, name));
    }
}

impl Controller for Recorder {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        let merged = match self.waiting.take() {
            Some((last, mut sum)) if last.phase == flow.phase && last.cwnd_limited == flow.cwnd_limited => {
                sum.merge(ack);
                sum
            }
            Some(alone) => {
                self.waiting = Some(alone);
                self.flush();
                *ack
            }
            None => *ack,
        };
        let complete = merged.acks >= self.merge || merged.round_end;
        self.waiting = Some((*flow, merged));
        if complete {
            self.flush();
        }
        self.inner.on_ack(flow, ack);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        let name = match event {
            Event::Congestion(Congestion::Ecn) => "ecn",
            Event::Congestion(Congestion::Loss) => "loss",
            Event::Congestion(Congestion::Timeout) => "timeout",
            Event::Undo(_) => "undo",
            Event::Life(Life::Recovered) => "recovered",
            Event::Life(Life::IdleRestart) => "idle",
            _ => return self.inner.on(flow, event),
        };
        self.event(flow, name);
        self.inner.on(flow, event);
    }

    fn decision(&self) -> Decision {
        self.inner.decision()
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        self.inner.backoff(flow, why)
    }

    fn needs(&self) -> Needs {
        self.inner.needs()
    }
}
