//! A scenario prepared for a run: names resolved to indices, units to integers, defaults filled in.

use std::sync::Arc;

use bentpipe_cc::registry::Value;
use bentpipe_cc::{Hint, Span, Time};
use bentpipe_tcp::Options;

use crate::constellation::{NetworkPlan, Port};
use crate::link::random::Stream;

pub use crate::access::{AccessPlan, DamaPlan, OPPORTUNITY, OpportunitiesPlan};
pub use crate::link::arq::ArqPlan;
pub use crate::link::time_line::{Handover, Leg, Step, TimeLine};
pub use crate::loss::{BitError, GilbertElliott, LossPlan, LossTracePlan, OutagePlan, PacketError};
pub use crate::queue::{
    CodelPlan, Discipline, DropFrontPlan, DropTailPlan, FqCodelPlan, PiePlan, Priority, QueueLimit, RedPlan,
};
pub use crate::resolve::connection_part::{ConnectionPart, Half, Peer, Way};
pub use crate::resolve::direction_plan::{DirectionPlan, LinkLayerPlan};
pub use crate::resolve::ties::{
    ConnectionPlan, Dialogue, Duplex, EndHosts, ReadBy, Subflow, Ties, WrittenBy,
};
pub use crate::scenario::Scheduler;
pub use crate::workload::application::{ApplicationPlan, Burst};
pub use crate::workload::arrivals::Opener;
pub use crate::workload::browser::WebPlan;
pub use crate::workload::client::{Again, ClientPlan};
pub use crate::workload::laws::{Lengths, ObjectNumbers, Sizes};
pub use crate::workload::player::VideoPlan;
pub use crate::workload::{CbrPlan, Pace};

/// Everything that a run needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Root of every random stream.
    pub seed: u64,
    /// Simulated time.
    pub duration: Span,
    /// What to record, if anything.
    pub record: Option<RecordPlan>,
    /// Links, in order of name.
    pub links: Vec<LinkPlan>,
    /// The constellation, if there is one.
    pub network: Option<Arc<NetworkPlan>>,
    /// Flows, in the order of the scenario, each repeated `count` times, or once for each connection of
    /// a source of short flows.
    pub flows: Vec<FlowPlan>,
    /// What the user should check before trusting the results.
    pub warnings: Vec<String>,
}

/// The traces of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlan {
    /// Sampling interval; `None` records a row at every change of a flow's window or of a probe.
    pub interval: Option<Span>,
    /// Record the flows.
    pub flows: bool,
    /// Record the links; only with an interval.
    pub links: bool,
    /// Record every segment.
    pub segments: bool,
    /// Record every transfer of an application.
    pub transfers: bool,
    /// Record the probes of the controllers.
    pub probes: bool,
}

/// A link with both its directions.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan {
    /// Name in the scenario.
    pub name: String,
    /// The direction that `path = ["NAME"]` crosses.
    pub forward: DirectionPlan,
    /// The direction that `path = ["NAME/reverse"]` crosses.
    pub reverse: DirectionPlan,
}

/// One direction of one link of a plan. Directions are numbered by the names of their
/// links, forward before reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectionId(u32);

impl DirectionId {
    /// The forward direction of link `link`, an index into [`Plan::links`].
    pub fn forward(link: usize) -> Self {
        Self(2 * link as u32)
    }

    /// The other direction of the same link.
    #[must_use]
    pub fn opposite(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Its number among all directions.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Index of its link.
    pub fn link(self) -> usize {
        self.index() / 2
    }

    /// Its plan among those of all links.
    pub fn of(self, links: &[LinkPlan]) -> &DirectionPlan {
        let link = &links[self.link()];
        if self.is_forward() { &link.forward } else { &link.reverse }
    }

    fn is_forward(self) -> bool {
        self == Self::forward(self.link())
    }

    /// "forward" or "reverse".
    pub fn way(self) -> &'static str {
        if self.is_forward() { "forward" } else { "reverse" }
    }
}

impl Plan {
    /// All directions in the order of their numbers.
    pub fn directions(&self) -> impl Iterator<Item = (DirectionId, &DirectionPlan)> {
        self.links.iter().enumerate().flat_map(|(i, link)| {
            let forward = DirectionId::forward(i);
            [(forward, &link.forward), (forward.opposite(), &link.reverse)]
        })
    }

    /// All ports of the constellation, in the order of their numbers.
    pub(crate) fn ports(&self) -> impl Iterator<Item = (&NetworkPlan, Port)> {
        self.network.iter().flat_map(|of| of.ports.iter().map(|port| (&**of, *port)))
    }

    /// The name of a direction: "sat/forward".
    pub fn name_of(&self, id: DirectionId) -> String {
        format!("{}/{}", self.links[id.link()].name, id.way())
    }
}

/// The name of the random streams of a direction, by its own name ([`Plan::name_of`]): "link/sat/forward".
pub fn stream_of(direction: &str) -> String {
    format!("link/{direction}")
}

/// A flow. Copies of one flow of the scenario share their common parts.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Unique name.
    pub name: String,
    /// The index of its table in the scenario.
    pub table: u32,
    /// The source that opens it, if a source of several connections does.
    pub opened_by: Option<Arc<Opener>>,
    /// The stations of the constellation between which it runs, by number: its sender's, its receiver's. `path`
    /// and `ack_path` are then empty. `None` for a flow over links.
    pub stations: Option<[u32; 2]>,
    /// The directions that data crosses, in order.
    pub path: Arc<[DirectionId]>,
    /// The directions that acknowledgements cross, in order.
    pub ack_path: Arc<[DirectionId]>,
    /// Earliest start.
    pub start: Time,
    /// The start is delayed by a uniform random part of this.
    pub start_jitter: Span,
    /// When the source stops producing data; [`Time::MAX`] if it does not.
    pub stop: Time,
    /// Access delay: one way, in front of the path, and again behind `ack_path`.
    pub extra_delay: Span,
    /// Each acknowledgement is held for a uniform random part of this, in order.
    pub ack_jitter: Span,
    /// Band in links with priority queueing, 0 first.
    pub priority: u8,
    /// What its sender's host may learn of its path, in order of time.
    pub hints: Arc<[TimedHint]>,
    /// Does its controller get the hints of handovers? `None`: only if it uses them.
    pub path_hints: Option<bool>,
    /// Does it get those of errors? `None`: only if it uses them.
    pub quality_hints: Option<bool>,
    /// Its traffic.
    pub source: Arc<Source>,
    /// Which part of its connection it is, by name.
    pub part: ConnectionPart,
    /// How it is tied to other flows. `None`: not at all. Its hosts are then its own, its source writes, and
    /// nobody else reads what it brings.
    pub ties: Option<Box<Ties>>,
}

impl FlowPlan {
    /// The name of the flow of the scenario to which it belongs, without the number of the connection and the
    /// name of the half.
    pub(crate) fn source_name(&self) -> &str {
        self.opened_by.as_ref().map_or_else(|| self.part.whole_name(&self.name), |opener| &opener.name)
    }

    /// When it starts in a run with this seed: a random part of its jitter after its earliest start.
    pub(crate) fn drawn_start(&self, seed: u64) -> Time {
        let mut jitter = Stream::new(seed, &format!("flow/{}/start", self.name));
        let part = (jitter.uniform() * self.start_jitter.0 as f64) as u64;
        Time(self.start.0.saturating_add(part))
    }

    /// The same as a source that opens several connections.
    pub(crate) fn opener(&self, seed: u64) -> Arc<Opener> {
        Arc::new(Opener { name: self.name.clone(), start: self.drawn_start(seed), stop: self.stop })
    }

    /// Who writes what it carries.
    pub fn writer(&self) -> &WrittenBy {
        self.ties.as_ref().map_or(&WrittenBy::Source, |ties| &ties.writer)
    }

    /// Who learns of what it brings.
    pub fn reader(&self) -> &ReadBy {
        self.ties.as_ref().map_or(&ReadBy::Sink, |ties| &ties.reader)
    }

    /// Which of two directions it is, if both ends of its connection write.
    pub fn duplex(&self) -> Option<&Duplex> {
        match self.writer() {
            WrittenBy::Duplex(duplex) => Some(duplex),
            _ => None,
        }
    }

    /// Which subflow it is, if its connection has several.
    pub fn subflow(&self) -> Option<&Subflow> {
        match self.writer() {
            WrittenBy::Subflow(subflow) => Some(subflow),
            _ => None,
        }
    }

    /// Its name without the name of the relay's half. Its application draws from streams of this name, so
    /// that it behaves the same with a relay as without.
    pub(crate) fn application_name(&self) -> &str {
        ConnectionPart { way: None, ..self.part }.whole_name(&self.name)
    }

    /// Does the sender get hints of this kind? `None`: only if its controller uses them.
    pub fn gives(&self, hint: &Hint) -> Option<bool> {
        match hint {
            Hint::PathChange(_) => self.path_hints,
            Hint::RateChange(_) => Some(true), // there are none unless the scenario wants them
            Hint::LinkQuality(_) => self.quality_hints,
        }
    }
}

/// A hint about the path of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedHint {
    /// When the host of the sender learns of it.
    pub at: Time,
    /// What it learns.
    pub hint: Hint,
}

#[cfg(test)]
impl FlowPlan {
    /// A flow that crosses link 0 from the beginning, for tests.
    pub(crate) fn plain(name: &str, source: Source) -> Self {
        Self {
            name: name.to_owned(),
            table: 0,
            opened_by: None,
            stations: None,
            path: Arc::new([DirectionId(0)]),
            ack_path: Arc::new([DirectionId(1)]),
            start: Time(0),
            start_jitter: Span::ZERO,
            stop: Time::MAX,
            extra_delay: Span::ZERO,
            ack_jitter: Span::ZERO,
            priority: 0,
            hints: Arc::default(),
            path_hints: None,
            quality_hints: None,
            source: Arc::new(source),
            part: ConnectionPart::default(),
            ties: None,
        }
    }
}

/// The traffic of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A TCP connection.
    Tcp {
        /// Its congestion controller.
        cc: CcPlan,
        /// Payload bytes to transfer; `None` for as many as the run allows.
        bytes: Option<u64>,
        /// Options of both ends.
        options: Arc<Options>,
        /// Its application, if that does not always have data to send; `bytes` is then `None`.
        application: Option<Arc<ApplicationPlan>>,
    },
    /// Packets at a constant rate that does not react to the network.
    Cbr(CbrPlan),
}

/// Which congestion controller a flow uses.
#[derive(Clone, Debug, PartialEq)]
pub enum CcPlan {
    /// One of the registry.
    Registered {
        /// Its id.
        id: &'static str,
        /// Parameters given.
        args: Vec<(String, Value)>,
    },
    /// One that the caller of the run supplies under this key.
    Supplied {
        /// The key.
        key: String,
    },
}
