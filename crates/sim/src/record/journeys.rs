//! The journeys of packets: what happens to each one at each direction that it crosses.
//!
//! Only a run that is played records them ([`PlayedRun`](crate::PlayedRun)). Each packet has a handle then,
//! which no other packet has while it is under way. A crossing is kept until the packet has left the
//! direction, and is handed out in the order of entry. So the memory is that of the packets under way.

use std::collections::VecDeque;

use bentpipe_cc::Time;

use crate::link::departure_log::Departure;
use crate::link::direction::{Direction, Fate, Push, Refusal};
use crate::link::packet::{ACK, CONTROL, PROBE, Packet, RESENT, SACK};
use crate::record::trace::{CrossingRow, CrossingTrace};
use crate::resolve::plan::{DirectionPlan, Plan};

/// What a packet is: bits of [`CrossingRow::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CrossingKind {
    /// An acknowledgement rather than data.
    Ack = 1,
    /// Data that was sent before.
    Resent = 2,
    /// An acknowledgement with SACK blocks.
    Sack = 4,
    /// It opens or closes a connection, or probes.
    Control = 8,
    /// It came out with the mark "congestion experienced".
    Marked = 16,
}

/// How a packet ended at a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CrossingEnd {
    /// It reached the far end.
    Arrived,
    /// It was lost to errors on the channel.
    Error,
    /// A handover lost it on the air.
    Handover,
    /// The queue had no room.
    Full,
    /// The queue's rule dropped it: early, or in favour of another packet.
    Early,
    /// A handover flushed it out of the queue.
    Flushed,
    /// The run ended before.
    Inside,
}

impl From<Refusal> for CrossingEnd {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::Full => Self::Full,
            Refusal::Early => Self::Early,
            Refusal::Flushed => Self::Flushed,
        }
    }
}

/// What a sender is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SenderPhase {
    /// The connection has not begun, is being opened, or is over.
    Closed,
    /// The window is below the slow-start threshold.
    SlowStart,
    /// The window is not below the threshold.
    Avoidance,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until all data sent before it is acknowledged.
    Timeout,
    /// The controller has no slow-start threshold: it follows a model of the path.
    Model,
}

/// One packet at one direction.
#[derive(Clone, Copy, Debug)]
struct OpenCrossing {
    enter: Time,
    begin: Option<Time>,
    sent: Option<Time>,
    out: Option<Time>,
    end: Option<Time>,
    flow: u32,
    place: u32,
    /// The index of the direction in the network.
    direction: u32,
    number: u32,
    segment: u32,
    kind: u8,
    how: CrossingEnd,
    /// Has the packet left the direction?
    is_over: bool,
}

/// The first time that something happens to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) how: CrossingEnd,
    pub(crate) at: Time,
    pub(crate) flow: u32,
}

/// The recorder of journeys of one run.
#[derive(Debug)]
pub(crate) struct Journeys {
    plans: Vec<DirectionPlan>,
    /// Crossings in order of entry; `gone` were before the first.
    open: VecDeque<OpenCrossing>,
    gone: u64,
    /// The number of the crossing of each handle.
    of_handle: Vec<u64>,
    /// When the transmitter of each direction was free before the last packet, and how many packets have
    /// entered it.
    free_at: Vec<Time>,
    entered: Vec<u32>,
    /// What ended before is not handed out.
    from: Time,
    done: CrossingTrace,
    /// The first loss of data of each kind.
    losses: Vec<Loss>,
}

impl Journeys {
    /// The journeys of a run of `plan`; those that ended before `from` are forgotten.
    pub(crate) fn new(plan: &Plan, from: Time) -> Self {
        Self {
            plans: plan.directions().map(|(_, direction)| direction.clone()).collect(),
            open: VecDeque::new(),
            gone: 0,
            of_handle: Vec::new(),
            free_at: Vec::new(),
            entered: Vec::new(),
            from,
            done: CrossingTrace::default(),
            losses: Vec::new(),
        }
    }

    /// A packet was pushed into a direction, which is number `i` in the network and has this place.
    pub(crate) fn enters(
        &mut self,
        now: Time,
        (i, place): (usize, u32),
        packet: &Packet,
        push: Push,
        direction: &mut Direction,
    ) {
        if self.free_at.len() <= i {
            self.free_at.resize(i + 1, Time(0));
            self.entered.resize(i + 1, 0);
        }
        let mut crossing = OpenCrossing {
            enter: now,
            begin: None,
            sent: None,
            out: None,
            end: None,
            flow: packet.flow,
            place,
            direction: i as u32,
            number: self.entered[i],
            segment: packet.seq,
            kind: kind(packet),
            how: CrossingEnd::Arrived,
            is_over: false,
        };
        self.entered[i] = self.entered[i].wrapping_add(1);
        if let Push::Dropped(why) = push {
            (crossing.end, crossing.is_over) = (Some(now), true);
            crossing.how = why.into();
            crossing.end =
                direction.end_of(packet.handle).filter(|_| why == Refusal::Flushed).or(crossing.end);
            self.loses(&crossing);
            self.open.push_back(crossing);
            return self.note(direction);
        }
        if !direction.decides_at_departure() {
            let begin = self.free_at[i].max(now);
            self.free_at[i] = direction.free_at();
            (crossing.begin, crossing.sent) = (Some(begin), Some(self.free_at[i].max(begin)));
            if push == Push::Lost {
                let at = direction.end_of(packet.handle);
                self.strike(&mut crossing, at);
            }
        }
        let number = self.gone + self.open.len() as u64;
        let slot = packet.handle as usize;
        if self.of_handle.len() <= slot {
            self.of_handle.resize(slot + 1, u64::MAX);
        }
        self.of_handle[slot] = number;
        self.open.push_back(crossing);
        self.note(direction); // it may have been sent at once
    }

    /// A packet comes out of a direction; `None` if the direction has only made a choice.
    pub(crate) fn leaves(&mut self, now: Time, out: Option<&(Packet, Fate)>, direction: &mut Direction) {
        self.note(direction);
        let Some((packet, fate)) = out else { return };
        let Some(crossing) = self.crossing(packet.handle) else { return };
        crossing.is_over = true;
        crossing.kind |= kind(packet);
        if *fate == Fate::Delivered {
            (crossing.out, crossing.end) = (Some(now), Some(now));
        } else if crossing.how != CrossingEnd::Handover {
            crossing.out = Some(now);
        }
    }

    /// Notes what the queue of a direction has decided at departures.
    fn note(&mut self, direction: &mut Direction) {
        for (handle, departure) in direction.take_log() {
            let Some(crossing) = self.crossing(handle) else { continue };
            match departure {
                Departure::Sent { begin, sent, lost } => {
                    crossing.begin = crossing.begin.or(Some(begin));
                    crossing.sent = Some(sent);
                    if lost.is_some() {
                        let mut struck = *crossing;
                        self.strike(&mut struck, lost);
                        if let Some(crossing) = self.crossing(handle) {
                            *crossing = struck;
                        }
                    }
                }
                Departure::Dropped { at, why } => {
                    (crossing.end, crossing.is_over) = (Some(at), true);
                    crossing.how = why.into();
                    let dropped = *crossing;
                    self.loses(&dropped);
                }
            }
        }
    }

    /// A packet is lost behind the queue at `at`.
    fn strike(&mut self, crossing: &mut OpenCrossing, at: Option<Time>) {
        let (at, sent) =
            (at.or(crossing.sent).unwrap_or(crossing.enter), crossing.sent.unwrap_or(crossing.enter));
        let plan = self.plans.get(crossing.direction as usize);
        let cut = plan.is_some_and(|plan| plan.handovers().binary_search(&at).is_ok());
        crossing.end = Some(at);
        crossing.how = if cut { CrossingEnd::Handover } else { CrossingEnd::Error };
        if cut {
            crossing.out = plan.map(|plan| sent + plan.at(sent).1);
        }
        self.loses(crossing);
    }

    fn loses(&mut self, crossing: &OpenCrossing) {
        let OpenCrossing { how, flow, kind, end, .. } = *crossing;
        let is_data = kind & (CrossingKind::Ack as u8 | CrossingKind::Control as u8) == 0;
        if let Some(at) = end.filter(|_| is_data) {
            match self.losses.iter_mut().find(|loss| loss.how == how) {
                Some(known) if known.at <= at => {}
                Some(known) => *known = Loss { how, at, flow },
                None => self.losses.push(Loss { how, at, flow }),
            }
        }
    }

    fn crossing(&mut self, handle: u32) -> Option<&mut OpenCrossing> {
        let number = *self.of_handle.get(handle as usize)?;
        self.open.get_mut(number.checked_sub(self.gone)? as usize)
    }

    /// The run has come to `now`. Returns up to when every packet that entered a direction is known to the
    /// end, and hands on those.
    pub(crate) fn complete(&mut self, now: Time) -> Time {
        while let Some(crossing) = self.open.front().filter(|crossing| crossing.is_over) {
            let row = row(crossing);
            if self.from < Time::MAX && crossing.end.is_none_or(|end| end >= self.from) {
                self.done.push(row);
            }
            self.open.pop_front();
            self.gone += 1;
        }
        self.open.front().map_or(now, |crossing| crossing.enter)
    }

    /// The run is over at `end`: packets that are still inside go no further.
    pub(crate) fn finish(&mut self, end: Time, directions: &mut [Direction]) {
        for direction in directions.iter_mut() {
            direction.catch_up(end);
            self.note(direction);
            for (at, packet) in direction.arrivals() {
                if let Some(crossing) = self.crossing(packet.handle)
                    && crossing.how != CrossingEnd::Handover
                {
                    crossing.out = Some(at);
                }
            }
        }
        for crossing in &mut self.open {
            if crossing.end.is_none_or(|at| at > end) {
                (crossing.end, crossing.how) = (None, CrossingEnd::Inside);
            }
            crossing.is_over = true;
        }
        self.complete(end);
    }

    /// Rows that wait to be taken.
    pub(crate) fn rows(&self) -> usize {
        self.done.enter_s.len()
    }

    /// Crossings that are kept: those under way, and those that entered behind one under way.
    pub(crate) fn kept(&self) -> usize {
        self.open.len()
    }

    /// The rows that are complete, in order of entry.
    pub(crate) fn take(&mut self) -> CrossingTrace {
        std::mem::take(&mut self.done)
    }

    /// The first loss of data of each kind so far.
    pub(crate) fn losses(&self) -> &[Loss] {
        &self.losses
    }
}

/// The bits of [`CrossingKind`] of a packet.
fn kind(packet: &Packet) -> u8 {
    let bit = |holds: bool, kind: CrossingKind| if holds { kind as u8 } else { 0 };
    bit(packet.has(ACK), CrossingKind::Ack)
        | bit(packet.has(RESENT), CrossingKind::Resent)
        | bit(packet.has(ACK) && packet.has(SACK), CrossingKind::Sack)
        | bit(packet.has(CONTROL | PROBE), CrossingKind::Control)
        | bit(packet.is_marked(), CrossingKind::Marked)
}

fn row(crossing: &OpenCrossing) -> CrossingRow {
    let OpenCrossing { enter, begin, sent, out, end, flow, place, number, segment, kind, how, .. } =
        *crossing;
    let seconds = |at: Option<Time>, otherwise: f64| at.map_or(otherwise, |at| at.secs());
    CrossingRow {
        enter_s: enter.secs(),
        begin_s: seconds(begin, f64::NAN),
        sent_s: seconds(sent, f64::NAN),
        out_s: seconds(out, f64::NAN),
        end_s: seconds(end, f64::INFINITY),
        flow,
        place,
        number,
        segment,
        kind,
        end: how as u8,
    }
}
