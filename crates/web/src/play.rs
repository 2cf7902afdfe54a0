//! Plays a run for a page: a span of time, packet by packet.

use bentpipe_cc::Time;
use bentpipe_sim::record::{CrossingEnd, CrossingTrace, SenderTrace};
use bentpipe_sim::{Happening, PlayedPart, PlayedRun, Supply, Watch};
use serde::{Deserialize, Serialize};

use crate::given::Given;

/// What a page asks a [`Player`] for, in JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The run to begin; without it the present one goes on.
    pub start: Option<Start>,
    /// Up to when the page must know all, in seconds.
    pub until_s: f64,
    /// About how many rows an answer may have.
    pub most: usize,
}

/// A run to be played.
#[derive(Clone, Debug, Deserialize)]
pub struct Start {
    /// The scenario.
    pub given: Given,
    /// What ends before, in seconds, is left out; null leaves out all but the moments.
    pub from_s: Option<f64>,
    /// The connections whose senders are watched.
    pub flows: Vec<usize>,
}

/// The answer, in JSON.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    /// What is wrong, a line for each mistake.
    pub mistakes: Vec<String>,
    /// Up to when all is known, in seconds.
    pub complete_s: f64,
    /// Is this the end of the run?
    pub is_over: bool,
    /// The number of rows of the columns of packets, and of those of senders ([`PACKET_COLUMNS`],
    /// [`SENDER_COLUMNS`]).
    pub rows: [usize; 2],
    /// What has happened for the first time.
    pub moments: Vec<Moment>,
}

/// The first time that something happened.
#[derive(Debug, Serialize)]
pub struct Moment {
    /// A word for what happened.
    pub what: &'static str,
    /// When, in seconds.
    pub t_s: f64,
    /// The index of the connection.
    pub flow: u32,
}

/// The columns of packets, one after the other, as in [`CrossingTrace`].
pub const PACKET_COLUMNS: [&str; 11] =
    ["enter_s", "begin_s", "sent_s", "out_s", "end_s", "flow", "place", "number", "segment", "kind", "end"];
/// The columns of senders, behind those of packets, as in [`SenderTrace`].
pub const SENDER_COLUMNS: [&str; 7] = ["t_s", "flow", "cwnd", "ssthresh", "in_flight", "srtt_s", "phase"];

/// The run that a page plays.
#[derive(Debug, Default)]
pub struct Player {
    run: Option<PlayedRun>,
}

impl Player {
    /// A player without a run.
    pub const fn new() -> Self {
        Self { run: None }
    }

    /// Begins a run or goes on with it, and gives what is new as columns.
    pub fn answer(
        &mut self,
        request: &Request,
        supply: &mut Supply<'_>,
        watch: &mut Watch<'_>,
    ) -> (Answer, Vec<f64>) {
        match self.part(request, supply, watch) {
            Ok(part) => {
                let moments = part.moments.iter();
                let moments =
                    moments.map(|one| Moment { what: word(one.what), t_s: one.t_s, flow: one.flow });
                let answer = Answer {
                    mistakes: Vec::new(),
                    complete_s: part.complete_s,
                    is_over: part.is_over,
                    rows: [part.packets.enter_s.len(), part.senders.t_s.len()],
                    moments: moments.collect(),
                };
                (answer, columns(&part.packets, &part.senders))
            }
            Err(mistakes) => {
                self.run = None;
                (Answer { mistakes, ..Answer::default() }, Vec::new())
            }
        }
    }

    fn part(
        &mut self,
        request: &Request,
        supply: &mut Supply<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<PlayedPart, Vec<String>> {
        if let Some(Start { given, from_s, flows }) = &request.start {
            let from = from_s.map_or(Time::MAX, instant);
            let run = PlayedRun::new(given.plan()?, from, flows, supply);
            self.run = Some(run.map_err(|error| vec![format!("{}: {error}", given.name)])?);
        }
        let run = self.run.as_mut().ok_or_else(|| vec!["no run has begun".to_owned()])?;
        let part = run.advance(instant(request.until_s), request.most.max(1), watch);
        part.map_err(|error| vec![error.to_string()])?;
        Ok(run.take())
    }
}

/// The instant after this many seconds.
fn instant(seconds: f64) -> Time {
    Time((seconds * 1e9) as u64)
}

fn word(what: Happening) -> &'static str {
    match what {
        Happening::Loss(CrossingEnd::Error) => "error",
        Happening::Loss(CrossingEnd::Handover) => "handover",
        Happening::Loss(CrossingEnd::Full) => "full",
        Happening::Loss(CrossingEnd::Flushed) => "flushed",
        Happening::Loss(_) => "early",
        Happening::SlowStartEnds => "slow start ends",
        Happening::Recovery => "recovery",
        Happening::Timeout => "timeout",
    }
}

fn columns(packets: &CrossingTrace, senders: &SenderTrace) -> Vec<f64> {
    let rows = PACKET_COLUMNS.len() * packets.enter_s.len() + SENDER_COLUMNS.len() * senders.t_s.len();
    let mut all = Vec::with_capacity(rows);
    for times in [&packets.enter_s, &packets.begin_s, &packets.sent_s, &packets.out_s, &packets.end_s] {
        all.extend_from_slice(times);
    }
    for numbers in [&packets.flow, &packets.place, &packets.number, &packets.segment] {
        all.extend(numbers.iter().map(|number| f64::from(*number)));
    }
    for bytes in [&packets.kind, &packets.end] {
        all.extend(bytes.iter().map(|byte| f64::from(*byte)));
    }
    all.extend_from_slice(&senders.t_s);
    all.extend(senders.flow.iter().map(|flow| f64::from(*flow)));
    all.extend_from_slice(&senders.cwnd);
    all.extend_from_slice(&senders.ssthresh);
    all.extend(senders.in_flight.iter().map(|count| f64::from(*count)));
    all.extend_from_slice(&senders.srtt_s);
    all.extend(senders.phase.iter().map(|phase| f64::from(*phase)));
    all
}
