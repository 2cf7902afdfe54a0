//! What the subflows of a connection share (Multipath TCP, RFC 8684): the numbers of its data, what is sent,
//! delivered and acknowledged, and which subflow carries what. `engine/multipath.rs` says when this changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bentpipe_cc::{Subflow, Time};

use crate::host::flow::{FlowState, NEVER, Tcp};
use crate::resolve::plan::ConnectionPlan;

/// A connection with several subflows.
#[derive(Debug)]
pub(crate) struct MultipathConnection {
    pub(crate) plan: Arc<ConnectionPlan>,
    /// Payload of a full segment.
    pub(crate) mss: u32,
    /// Segments to send in all; [`u64::MAX`] for no limit.
    pub(crate) limit: u64,
    /// Segments for which the receive buffer has room.
    pub(crate) window: u64,
    /// Does some controller want the state of the other subflows?
    pub(crate) coupled: bool,
    pub(crate) paths: Vec<Path>,
    /// The next segment never sent, and the oldest segment not yet acknowledged.
    pub(crate) next: u64,
    pub(crate) una: u64,
    /// For each segment from `una` on, the subflow that has sent it last.
    pub(crate) carriers: VecDeque<u8>,
    /// Segments to be sent once more, each by another subflow than the one noted here.
    pub(crate) again: BTreeMap<u64, u8>,
    /// Segments below this one have been sent by a second subflow because the shared window was full.
    pub(crate) hurried: u64,
    /// The subflow that is next in turn.
    pub(crate) turn: usize,
    /// Segments sent by a second subflow.
    pub(crate) reinjected: u64,
    pub(crate) done_at: Time,
    /// The state of the subflows as the controllers see it.
    pub(crate) shown: Vec<Subflow>,
    /// The next segment expected in order at the receiving end, and the runs received beyond it.
    pub(crate) delivered: u64,
    pub(crate) early: BTreeMap<u64, u64>,
}

/// What a connection knows of one of its paths.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// The connection's numbers of the subflow's segments from `first` on; not all of them are acknowledged.
    pub(crate) sent: VecDeque<u64>,
    pub(crate) first: u64,
    /// Segments of the subflow that its receiver has handed on.
    pub(crate) taken: u64,
    /// Timeouts that the connection has answered.
    pub(crate) timeouts: u64,
    /// Losses so far, bytes delivered at the last one, and between the last two.
    pub(crate) losses: u64,
    pub(crate) delivered_then: u64,
    pub(crate) between: u64,
    /// Its window is not reduced in favour of the others before this instant.
    pub(crate) spared_until: Time,
}

impl MultipathConnection {
    /// The connection made of these subflows, before anything has happened.
    pub(crate) fn new(plan: Arc<ConnectionPlan>, flows: &[FlowState]) -> Self {
        let tcps = || flows.iter().filter_map(FlowState::tcp);
        let mss = tcps().next().map_or(1, |tcp| tcp.sender.options().mss);
        Self {
            limit: plan.bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(u64::from(mss))),
            window: plan.window.unwrap_or(u64::MAX),
            coupled: tcps().any(|tcp| tcp.sender.needs().subflows),
            paths: flows.iter().map(|_| Path::default()).collect(),
            plan,
            mss,
            next: 0,
            una: 0,
            carriers: VecDeque::new(),
            again: BTreeMap::new(),
            hurried: 0,
            turn: 0,
            reinjected: 0,
            done_at: NEVER,
            shown: Vec::new(),
            delivered: 0,
            early: BTreeMap::new(),
        }
    }

    /// The numbers of its flows.
    pub(crate) fn flows(&self) -> Range<usize> {
        self.plan.flows.clone()
    }

    /// Segments acknowledged, delivered to the application in order, and sent.
    pub(crate) fn books(&self) -> [u64; 3] {
        [self.una, self.delivered, self.next]
    }

    /// Payload bytes handed to the application.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        let full = self.delivered * u64::from(self.mss);
        self.plan.bytes.map_or(full, |bytes| bytes.min(full))
    }

    /// Does the transfer end with this segment? A stop of the application makes no segment the last one.
    pub(crate) fn ends_with(&self, number: u64) -> bool {
        self.plan.bytes.is_some_and(|bytes| (number + 1) * u64::from(self.mss) >= bytes)
    }

    /// Does the shared receive buffer have room for one more segment?
    pub(crate) fn has_room(&self) -> bool {
        self.next < self.una.saturating_add(self.window)
    }

    /// A segment has reached the receiving end of the connection.
    pub(crate) fn receive(&mut self, number: u64) {
        if number > self.delivered {
            let from = match self.early.range_mut(..=number).next_back() {
                Some((_, end)) if *end > number => return,
                Some((&start, end)) if *end == number => {
                    *end += 1;
                    start
                }
                _ => {
                    self.early.insert(number, number + 1);
                    number
                }
            };
            if let Some(end) = self.early.remove(&(number + 1)) {
                self.early.insert(from, end);
            }
        } else if number == self.delivered {
            self.delivered = self.early.remove(&(number + 1)).unwrap_or(number + 1);
        }
    }

    /// All before `upto` is acknowledged.
    pub(crate) fn acknowledge(&mut self, upto: u64) {
        let news = upto.min(self.next).saturating_sub(self.una);
        self.una += news;
        self.carriers.drain(..news as usize);
        if !self.again.is_empty() {
            self.again = self.again.split_off(&self.una);
        }
    }

    /// The subflow that has sent a segment last; `None` if the segment is acknowledged or was never sent.
    pub(crate) fn carrier(&self, number: u64) -> Option<u8> {
        self.carriers.get(number.checked_sub(self.una)? as usize).copied()
    }

    /// Subflow `i` has sent the segment.
    pub(crate) fn note_sent(&mut self, i: usize, number: u64) {
        self.paths[i].sent.push_back(number);
        if number == self.next {
            self.next += 1;
            self.carriers.push_back(i as u8);
        } else {
            self.reinjected += 1;
            self.again.remove(&number);
            self.carriers[(number - self.una) as usize] = i as u8;
        }
    }

    /// The subflow has timed out: the others send again what it has in flight, too. (RFC 8684 section 3.3.6)
    pub(crate) fn on_timeout(&mut self, i: usize) {
        for &number in self.paths[i].sent.iter().filter(|&&number| number >= self.una) {
            if self.carriers[(number - self.una) as usize] == i as u8 {
                self.again.insert(number, i as u8);
            }
        }
    }
}

impl Path {
    /// The state of the subflow that coupled controllers are given. Bytes count from loss to loss.
    pub(crate) fn as_subflow(&mut self, tcp: &Tcp) -> Subflow {
        let (counters, delivered) = (tcp.sender.counters(), tcp.sender.flow().delivered);
        let losses = counters.recoveries + counters.timeouts;
        let since = delivered.saturating_sub(self.delivered_then);
        if core::mem::replace(&mut self.losses, losses) < losses && since > 0 {
            (self.between, self.delivered_then) = (since, delivered);
        }
        let since = delivered.saturating_sub(self.delivered_then);
        tcp.sender.as_subflow(self.between.max(since))
    }
}
