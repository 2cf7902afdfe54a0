//! A run that is watched packet by packet, for a player.
//!
//! The reference loop runs it, because that has an event for each packet at each direction. The fast path
//! gives the same bits, so what is played is the run of all other commands.

use bentpipe_cc::{Phase, Rule, Span, Time, registry};

use crate::capture::tap::Tap;
use crate::engine::error::RunError;
use crate::engine::hosts::EventLoop;
use crate::engine::network::{EVENTS_PER_LOOK, Network, Supply, Watch};
use crate::engine::reference::Reference;
use crate::host::flow::FlowState;
use crate::record::trace::{CrossingTrace, SenderRow, SenderTrace};
use crate::record::{CrossingEnd, SenderPhase};
use crate::resolve::plan::{CcPlan, FlowPlan, Plan, Source};

/// The most packets under way, with all that entered a direction behind them.
const MOST_KEPT: usize = 1 << 19;

/// A run between two parts of its play.
#[derive(Debug)]
pub struct PlayedRun {
    plan: Plan,
    run: Reference,
    from: Time,
    watched: Vec<Watched>,
    senders: SenderTrace,
    moments: Vec<Moment>,
    is_over: bool,
}

/// A flow whose sender is watched.
#[derive(Debug)]
struct Watched {
    flow: usize,
    /// Has its controller a slow-start threshold?
    has_threshold: bool,
    last: Option<WatchedState>,
    timeouts: u64,
    /// Has the last state a row?
    is_known: bool,
}

/// What a row of a sender is made from: cwnd and ssthresh in bytes, SRTT in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WatchedState {
    cwnd: u64,
    ssthresh: u64,
    in_flight: u64,
    srtt: Option<Span>,
    phase: SenderPhase,
}

/// The first time that something happened in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// What happened.
    pub what: Happening,
    /// When, in seconds since the start of the run.
    pub t_s: f64,
    /// Index of the connection in the plan.
    pub flow: u32,
}

/// Something worth seeing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Data was lost or dropped in this way.
    Loss(CrossingEnd),
    /// Slow start ended.
    SlowStartEnds,
    /// A fast recovery began.
    Recovery,
    /// The retransmission timer expired.
    Timeout,
}

/// A part of a play.
#[derive(Clone, Debug)]
pub struct PlayedPart {
    /// Up to when, in seconds, all is known; what enters a direction later may be missing.
    pub complete_s: f64,
    /// Is this the end of the run?
    pub is_over: bool,
    /// Packets at directions since the last part.
    pub packets: CrossingTrace,
    /// States of the senders since the last part.
    pub senders: SenderTrace,
    /// What has happened for the first time so far.
    pub moments: Vec<Moment>,
}

impl PlayedRun {
    /// The run of `plan` before anything has happened. What ends before `from` is not recorded. The senders
    /// of these flows are watched; others have no states.
    ///
    /// # Errors
    /// A controller that cannot be built.
    pub fn new(
        mut plan: Plan,
        from: Time,
        flows: &[usize],
        supply: &mut Supply<'_>,
    ) -> Result<Self, RunError> {
        plan.record = None;
        let mut network = Network::new(&plan, Some(Tap::following(&plan, from)), supply, &mut |_| true)?;
        network.directions.iter_mut().for_each(|direction| direction.log_departures());
        let watched = flows.iter().filter(|flow| **flow < plan.flows.len()).map(|&flow| Watched {
            flow,
            has_threshold: has_threshold(&plan.flows[flow]),
            last: None,
            timeouts: 0,
            is_known: false,
        });
        let watched = watched.collect();
        let run = Reference::new(&plan, network);
        let (senders, moments) = (SenderTrace::default(), Vec::new());
        Ok(Self { plan, run, from, watched, senders, moments, is_over: false })
    }

    /// Goes on until everything that enters a direction up to `until` is known to the end, or `most` rows are
    /// there.
    ///
    /// # Errors
    /// The run was stopped, or exceeds a bound.
    pub fn advance(&mut self, until: Time, most: usize, watch: &mut Watch<'_>) -> Result<(), RunError> {
        let end = Time(self.plan.duration.0);
        let (until, mut events) = (until.min(end), 0_u64);
        loop {
            let complete = self.complete(); // hands on what is known to the end, so that memory stays small
            if self.is_over || (until < end && complete >= until) || self.rows() >= most {
                return Ok(());
            }
            let next = self.run.next();
            if next > end {
                self.close(end);
                return Ok(());
            }
            let mut goes_on = self.run.advance(next, watch)?;
            self.look(next);
            events += 1;
            if events.is_multiple_of(EVENTS_PER_LOOK) {
                goes_on &= self.run.network().look(next.secs() / end.secs(), watch)?;
            }
            if !goes_on {
                let flying = self.run.network().flying();
                let Network { memory, flows, directions, .. } = self.run.network();
                memory.check(&self.plan, flows, directions, flying)?;
            }
            if self.kept() > MOST_KEPT {
                return Err(RunError::UnderWay { most: MOST_KEPT });
            }
        }
    }

    /// What has been recorded since the last call.
    pub fn take(&mut self) -> PlayedPart {
        let complete = self.complete();
        let journeys = self.run.network().tap.as_mut().and_then(|tap| tap.journeys.as_mut());
        let (packets, losses) =
            journeys.map_or_else(Default::default, |journeys| (journeys.take(), journeys.losses().to_vec()));
        let losses = losses.iter().map(|loss| Moment {
            what: Happening::Loss(loss.how),
            t_s: loss.at.secs(),
            flow: loss.flow,
        });
        PlayedPart {
            complete_s: complete.secs(),
            is_over: self.is_over,
            packets,
            senders: std::mem::take(&mut self.senders),
            moments: losses.chain(self.moments.iter().copied()).collect(),
        }
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn complete(&mut self) -> Time {
        let end = Time(self.plan.duration.0);
        // Nothing happens before the next event.
        let now = if self.is_over { end } else { self.run.next().min(end) };
        let journeys = self.run.network().tap.as_mut().and_then(|tap| tap.journeys.as_mut());
        journeys.map_or(now, |journeys| journeys.complete(now))
    }

    fn rows(&mut self) -> usize {
        let journeys = self.run.network().tap.as_ref().and_then(|tap| tap.journeys.as_ref());
        journeys.map_or(0, |journeys| journeys.rows()) + self.senders.t_s.len()
    }

    fn kept(&mut self) -> usize {
        let journeys = self.run.network().tap.as_ref().and_then(|tap| tap.journeys.as_ref());
        journeys.map_or(0, |journeys| journeys.kept())
    }

    /// The run is over.
    fn close(&mut self, end: Time) {
        self.is_over = true;
        self.look(end);
        let Network { tap, directions, .. } = self.run.network();
        if let Some(journeys) = tap.as_mut().and_then(|tap| tap.journeys.as_mut()) {
            journeys.finish(end, directions);
        }
    }

    /// Notes what has changed at the senders.
    fn look(&mut self, now: Time) {
        let Self { run, watched, senders, moments, from, plan, .. } = self;
        let network = run.network();
        for one in watched {
            let flow = &network.flows[one.flow];
            let Some(state) = state(flow, one.has_threshold, now) else { continue };
            let before = one.last.replace(state);
            let mut first = |what: Happening| {
                if !moments.iter().any(|known| known.what == what) {
                    moments.push(Moment { what, t_s: now.secs(), flow: one.flow as u32 });
                }
            };
            let timeouts = flow.tcp().map_or(0, |tcp| tcp.sender.counters().timeouts);
            if std::mem::replace(&mut one.timeouts, timeouts) < timeouts {
                first(Happening::Timeout);
            }
            let phase = before.map_or(SenderPhase::Closed, |before| before.phase);
            match (phase, state.phase) {
                (SenderPhase::SlowStart, other) if other != SenderPhase::SlowStart => {
                    first(Happening::SlowStartEnds);
                }
                _ => {}
            }
            if phase != SenderPhase::Recovery && state.phase == SenderPhase::Recovery {
                first(Happening::Recovery);
            }
            if now < *from {
                continue;
            }
            let mut push = |t_s: f64, state: WatchedState| {
                let mss = match &*plan.flows[one.flow].source {
                    Source::Tcp { options, .. } => f64::from(options.mss),
                    Source::Cbr(_) => 1.0,
                };
                senders.push(SenderRow {
                    t_s,
                    flow: one.flow as u32,
                    cwnd: state.cwnd as f64 / mss,
                    ssthresh: if state.ssthresh == u64::MAX {
                        f64::INFINITY
                    } else {
                        state.ssthresh as f64 / mss
                    },
                    in_flight: state.in_flight as u32,
                    srtt_s: state.srtt.map_or(f64::NAN, |srtt| srtt.secs()),
                    phase: state.phase as u8,
                });
            };
            if !one.is_known {
                one.is_known = true;
                push(from.secs(), before.unwrap_or(state));
            }
            if before != Some(state) {
                push(now.secs(), state);
            }
        }
    }
}

/// The state of a flow's sender; `None` without one.
fn state(flow: &FlowState, has_threshold: bool, now: Time) -> Option<WatchedState> {
    let tcp = flow.tcp()?;
    let (decision, seen) = (tcp.sender.decision(), tcp.sender.flow());
    let closed = now < flow.start || flow.is_connecting() || flow.life_ends(Time::MAX) <= now;
    let phase = match seen.phase {
        _ if closed => SenderPhase::Closed,
        Phase::Recovery => SenderPhase::Recovery,
        Phase::Loss => SenderPhase::Timeout,
        Phase::Open if !has_threshold && decision.ssthresh == u64::MAX => SenderPhase::Model,
        Phase::Open if decision.cwnd < decision.ssthresh => SenderPhase::SlowStart,
        Phase::Open => SenderPhase::Avoidance,
    };
    Some(WatchedState {
        cwnd: decision.cwnd,
        ssthresh: decision.ssthresh,
        in_flight: tcp.sender.in_flight(),
        srtt: seen.rtt.map(|rtt| rtt.smoothed),
        phase,
    })
}

/// Has the controller of a flow the slow start of RFC 5681? Only such an algorithm takes a rule about it.
fn has_threshold(flow: &FlowPlan) -> bool {
    let Source::Tcp { cc: CcPlan::Registered { id, args }, options, .. } = &*flow.source else {
        return false;
    };
    let start = bentpipe_cc::Start {
        mss: options.mss,
        initial_window: options.initial_window,
        initial_ssthresh: options.initial_ssthresh,
    };
    registry::build(id, args, start).is_ok_and(|mut cc| cc.add(Rule::ValidateWindow(Span(1))).is_ok())
}
