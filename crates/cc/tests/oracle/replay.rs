//! Feeds a recorded flow to one of our controllers, or to a model of the kernel's own,
//! and compares the windows.

use bentpipe_cc::registry::{self, Value};
use bentpipe_cc::{Ack, Congestion, Controller, Event, Flow, Life, Rtt, RttSample, Span, Start, Time};

use crate::oracle::arithmetic::{INFINITE, Module, Socket};
use crate::oracle::trace::{Acked, Change, MSS, State, Step, Trace};

/// How far windows are from the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    /// ACKs outside fast recovery, where the algorithm and not the sender drives the window.
    pub(crate) acks: u32,
    /// Of them, those after which the windows were within one segment.
    pub(crate) within_one: u32,
    /// Largest difference in segments, ours less the kernel's, and when (seconds after the first ACK).
    pub(crate) largest: f64,
    pub(crate) at: f64,
    /// Answers to congestion, and the largest difference of a threshold from the kernel's, in segments.
    pub(crate) cuts: u32,
    pub(crate) largest_cut: f64,
}

impl Compared {
    fn nothing() -> Self {
        Self { acks: 0, within_one: 0, largest: 0.0, at: 0.0, cuts: 0, largest_cut: 0.0 }
    }

    fn window(&mut self, now: Time, ours: f64, kernel: u32) {
        let off = ours - f64::from(kernel);
        self.acks += 1;
        self.within_one += u32::from(off.abs() <= 1.0);
        if off.abs() > self.largest.abs() {
            (self.largest, self.at) = (off, now.secs());
        }
    }

    fn cut(&mut self, ours: f64, kernel: u32) {
        let off = ours - f64::from(kernel);
        self.cuts += 1;
        if off.abs() > self.largest_cut.abs() {
            self.largest_cut = off;
        }
    }
}

/// Why `ssthresh` was called, by the state that it led to.
fn why(changes: &[Change]) -> Congestion {
    let timeout = |change: &Change| matches!(change, Change::Entered(State::Loss, ..));
    if changes.iter().any(timeout) { Congestion::Timeout } else { Congestion::Loss }
}

/// A controller on a recorded flow. The kernel's window plays no part: ours runs free from
/// the first ACK to the last.
struct Ours {
    cc: Box<dyn Controller>,
    flow: Flow,
    una: u64,
    sent: u64,
    round_mark: u64,
}

impl Ours {
    fn new(id: &str, given: &[(&str, Value)], trace: &Trace) -> Self {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect();
        let initial_window = f64::from(trace.initial_window);
        let start = Start { mss: MSS, initial_window, initial_ssthresh: f64::INFINITY };
        let rtt = trace.handshake_rtt();
        let mut flow = Flow::default();
        (flow.mss, flow.rwnd) = (MSS, u64::MAX);
        flow.rtt = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span::ZERO });
        let cc = registry::build(id, &given, start).expect("a registered algorithm");
        Self { cc, flow, una: 0, sent: 0, round_mark: 0 }
    }

    fn segments(&self) -> f64 {
        self.cc.decision().cwnd as f64 / f64::from(MSS)
    }

    /// Brings the flow up to date, but for what [`Ours::ack`] does.
    fn learn(&mut self, acked: &Acked) {
        self.flow.in_flight = u64::from(acked.in_flight * MSS);
        self.flow.cwnd_limited = acked.limited;
        let Some(known) = &mut self.flow.rtt else { return };
        if let Some(rtt) = acked.rtt {
            known.latest = Span(u64::from(rtt) * 1000);
            known.min = known.min.min(known.latest);
        }
        if let Some(smoothed) = acked.smoothed {
            known.smoothed = Span(u64::from(smoothed) * 125);
        }
    }

    fn ack(&mut self, acked: &Acked) {
        let bytes = u64::from(acked.delivered * MSS);
        let mut ack = Ack::default();
        (ack.acks, ack.acked, ack.lost) = (1, bytes, u64::from(acked.lost * MSS));
        ack.rtt = acked.rtt.map(|rtt| RttSample::one(Span(u64::from(rtt) * 1000)));
        ack.uncounted = if acked.advanced > 0 { 0 } else { bytes };
        (self.una, self.sent) = (self.una + acked.advanced, self.sent + acked.sent);
        if self.una > self.round_mark {
            self.round_mark = self.sent;
            self.flow.round += 1;
            ack.round_end = true;
        }
        self.flow.delivered += bytes;
        self.flow.lost += ack.lost;
        self.flow.phase = acked.state.phase();
        self.cc.on_ack(&self.flow, &ack);
    }

    /// Returns whether a recovery ended.
    fn step(&mut self, step: &Step, found: &mut Compared) -> bool {
        self.flow.now = step.now;
        if let Some(acked) = &step.acked {
            self.learn(acked);
        }
        let mut recovered = false;
        let asked = step.changes.iter().any(|change| matches!(change, Change::Cut(_)));
        for change in &step.changes {
            match *change {
                // A timeout in recovery, or a second one: the threshold stays
                // (tcp_input.c, `tcp_enter_loss`).
                Change::Entered(State::Loss, _, sent) if !asked => {
                    self.sent += sent;
                    self.flow.reduced = true;
                    self.cc.on(&self.flow, Event::Congestion(Congestion::Timeout));
                    self.flow.reduced = false;
                }
                Change::Cut(kernel) => {
                    let why = why(&step.changes);
                    let answer = self.cc.backoff(&self.flow, why).ssthresh;
                    found.cut(answer as f64 / f64::from(MSS), kernel);
                    self.cc.on(&self.flow, Event::Congestion(why));
                }
                // Our sender says so of new data only, and all of these are retransmissions.
                Change::Sends => {}
                Change::Entered(to, _, sent) => {
                    self.sent += sent;
                    recovered |= !to.reduces() && self.flow.phase != to.phase();
                }
            }
        }
        recovered
    }
}

/// Our controller `id` on `trace`.
pub(crate) fn ours(id: &str, given: &[(&str, Value)], trace: &Trace) -> Compared {
    let mut us = Ours::new(id, given, trace);
    let mut found = Compared::nothing();
    for step in &trace.steps {
        let recovered = us.step(step, &mut found);
        let Some(acked) = &step.acked else { continue };
        us.ack(acked);
        if recovered && acked.state <= State::Disorder {
            us.cc.on(&us.flow, Event::Life(Life::Recovered));
        }
        if !acked.state.reduces() {
            found.window(step.now, us.segments(), acked.cwnd);
        }
    }
    found
}

/// A model of the kernel's own on `trace`.
pub(crate) fn model(module: &mut dyn Module, trace: &Trace) -> Compared {
    let mut s = Socket {
        cwnd: trace.initial_window,
        count: 0,
        ssthresh: INFINITE,
        una: 0,
        sent: 0,
        ticks: 0,
        smoothed: trace.handshake,
    };
    let mut state = State::Open;
    let mut found = Compared::nothing();
    for step in &trace.steps {
        s.ticks = step.ticks;
        if let Some(acked) = &step.acked {
            (s.una, s.sent) = (s.una + acked.advanced, s.sent + acked.sent);
            s.smoothed = acked.smoothed.unwrap_or(s.smoothed);
            module.sample(&s, acked.advanced.div_ceil(u64::from(MSS)) as u32, acked.rtt, state);
            module.arrived(&s, acked);
        }
        for change in &step.changes {
            match *change {
                Change::Cut(kernel) => {
                    s.ssthresh = module.ssthresh(&s);
                    found.cut(f64::from(s.ssthresh), kernel);
                    s.count = 0;
                }
                Change::Sends => module.sends(&mut s),
                Change::Entered(to, cwnd, sent) => {
                    s.sent += sent;
                    if to == State::Loss {
                        (s.cwnd, s.count) = (cwnd, 0);
                        module.collapsed(&mut s);
                    } else if state.reduces() && !to.reduces() {
                        s.cwnd = s.ssthresh;
                        module.recovered(&mut s);
                    }
                    module.enter(&mut s, to);
                    state = to;
                }
            }
        }
        let Some(acked) = &step.acked else { continue };
        if !state.reduces() {
            if acked.advanced > 0 {
                module.avoid(&mut s, acked.delivered, acked.limited);
            }
            found.window(step.now, f64::from(s.cwnd), acked.cwnd);
        }
    }
    found
}
