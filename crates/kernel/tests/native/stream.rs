//! Streams of acknowledgements as text, a line each, and their replay.
//! examples/record_streams.rs records them.
//!
//! `DT SEGMENTS RTT SRTT FLAGS [UNCOUNTED]` is an ACK: microseconds since the last line, segments delivered,
//! difference to the last RTT in microseconds (`-` without a sample), difference to the last smoothed RTT in
//! eighths of one, and flags: `e` the ACK ends a round, `l` the window limits the sender, `c` it echoes a
//! mark, `r` in fast recovery, `t` in the repair after a timeout, `.` none. UNCOUNTED of the segments may not
//! make the window grow. Other lines are `loss DT FLAGS`, `timeout DT FLAGS`, `ecn DT FLAGS`, `undo DT
//! FLAGS`, `recovered DT FLAGS`, `idle DT FLAGS`, `rwnd BYTES`; `#` begins a comment.

use bentpipe_cc::{Ack, Congestion, Controller, Decision, Flow, Life, Phase, Rtt, RttSample, Span, Time};

/// What happens to a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    Ack { segments: u32, uncounted: u32, rtt: Option<u32>, srtt8: u32 },
    Congestion(Congestion),
    Undo,
    Recovered,
    Idle,
}

/// An event, when it happens (microseconds since the last one), and the flow at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) after: u64,
    pub(crate) what: Event,
    pub(crate) phase: Phase,
    pub(crate) limited: bool,
    pub(crate) round_end: bool,
    pub(crate) marked: bool,
    pub(crate) rwnd: u64,
}

/// Payload bytes of a segment in a replay: many, so that windows in bytes are exact to
/// a millionth of a segment.
pub(crate) const MSS: u32 = 1_000_000;

/// Plays steps to a controller, as a sender would.
#[derive(Debug)]
pub(crate) struct Player {
    flow: Flow,
    before: Option<Decision>,
}

impl Player {
    pub(crate) fn new() -> Self {
        let mut flow = Flow::default();
        flow.mss = MSS;
        flow.now = Time(1_000_000_000);
        Self { flow, before: None }
    }

    pub(crate) fn play(&mut self, cc: &mut dyn Controller, step: &Step) {
        let flow = &mut self.flow;
        flow.now = flow.now + Span(step.after * 1000);
        flow.phase = step.phase;
        flow.cwnd_limited = step.limited;
        flow.rwnd = step.rwnd;
        match step.what {
            Event::Ack { segments, uncounted, rtt, srtt8 } => {
                let mut ack = Ack::default();
                ack.acks = 1;
                ack.acked = u64::from(segments) * u64::from(MSS);
                ack.uncounted = u64::from(uncounted) * u64::from(MSS);
                ack.ce = if step.marked { ack.acked } else { 0 };
                ack.round_end = step.round_end;
                flow.delivered += ack.acked;
                if let Some(rtt) = rtt {
                    let latest = Span(u64::from(rtt) * 1000);
                    let min = flow.rtt.map_or(latest, |known| known.min.min(latest));
                    flow.rtt = Some(Rtt { latest, min, smoothed: latest, var: Span::ZERO });
                    ack.rtt = Some(RttSample::one(latest));
                }
                if let Some(known) = &mut flow.rtt {
                    known.smoothed = Span(u64::from(srtt8) * 125);
                }
                cc.on_ack(flow, &ack);
            }
            Event::Congestion(why) => {
                self.before = Some(cc.decision());
                cc.on(flow, bentpipe_cc::Event::Congestion(why));
            }
            Event::Undo => {
                if let Some(before) = self.before.take() {
                    cc.on(flow, bentpipe_cc::Event::Undo(&before));
                }
            }
            Event::Recovered => cc.on(flow, bentpipe_cc::Event::Life(Life::Recovered)),
            Event::Idle => cc.on(flow, bentpipe_cc::Event::Life(Life::IdleRestart)),
        }
    }
}

/// Reads a stream.
///
/// # Errors
/// The number of the first line that is none, and the line.
pub(crate) fn read(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let (mut rtt, mut srtt8, mut rwnd) = (0_i64, 0_i64, u64::MAX);
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let bad = || format!("line {}: {line}", number + 1);
        let whole = |word: &str| word.parse::<i64>().map_err(|_| bad());
        let [first, rest @ ..] = &words[..] else { continue };
        let what = match *first {
            "#" => continue,
            "rwnd" => {
                rwnd = rest.first().and_then(|word| word.parse().ok()).ok_or_else(bad)?;
                continue;
            }
            "loss" => Event::Congestion(Congestion::Loss),
            "timeout" => Event::Congestion(Congestion::Timeout),
            "ecn" => Event::Congestion(Congestion::Ecn),
            "undo" => Event::Undo,
            "recovered" => Event::Recovered,
            "idle" => Event::Idle,
            _ => {
                let [segments, sample, smoothed, _, more @ ..] = rest else { return Err(bad()) };
                if *sample != "-" {
                    rtt += whole(sample)?;
                }
                srtt8 += whole(smoothed)?;
                let uncounted = more.first().map_or(Ok(0), |word| whole(word))?;
                let natural = |n: i64| u32::try_from(n).map_err(|_| bad());
                let sample = if *sample == "-" { None } else { Some(natural(rtt)?) };
                let (segments, uncounted) = (natural(whole(segments)?)?, natural(uncounted)?);
                Event::Ack { segments, uncounted, rtt: sample, srtt8: natural(srtt8)? }
            }
        };
        let ack = matches!(what, Event::Ack { .. });
        let after = if ack { first } else { rest.first().ok_or_else(bad)? };
        let flags = rest.get(if ack { 3 } else { 1 }).ok_or_else(bad)?;
        let has = |flag| flags.contains(flag);
        steps.push(Step {
            after: after.parse().map_err(|_| bad())?,
            what,
            phase: if has('r') {
                Phase::Recovery
            } else if has('t') {
                Phase::Loss
            } else {
                Phase::Open
            },
            limited: has('l'),
            round_end: has('e'),
            marked: has('c'),
            rwnd,
        });
    }
    Ok(steps)
}
