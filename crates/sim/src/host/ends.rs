//! What few connections have.

use bentpipe_cc::{Echo, Time};
use bentpipe_tcp::{AckSegment, Active, Passive};

use crate::resolve::plan::{Half, SubflowPlan, Way};
use crate::workload::application::Application;

/// What a connection has at its ends beside a sender and a receiver.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The ends of a connection that is opened and closed.
    pub(super) opening: Option<(Active, Passive)>,
    /// What it is for, beside data that is there from the start.
    pub(super) duty: Duty,
    /// The receiving end's part of a controller whose segments carry headers.
    pub(super) echo: Option<Box<dyn Echo>>,
    /// When the sending end has something to do beside its sender; [`Time::MAX`] if nothing.
    pub(super) due: Time,
    /// Does another connection learn of what reaches the receiver?
    pub(super) linked: bool,
    /// Has the sender data from the start, and nobody else to tell of it? Then it may take the fast path.
    pub(super) alone: bool,
    /// It is a subflow of a connection that is done, and its sender repairs nothing any more.
    pub(super) muted: bool,
    /// When the handshake began and when it was done; [`Time::MAX`] before.
    pub(super) handshake: [Time; 2],
    /// Its part in a connection whose both ends write.
    pub(super) twin: Option<Box<Twin>>,
}

/// One direction of a connection whose both ends write. The other direction is the flow before or behind.
#[derive(Debug)]
pub(super) struct Twin {
    /// Which of the two it is.
    pub(super) half: Half,
    /// It may not send before the connection is open.
    pub(super) waits: bool,
    /// An acknowledgement that has to leave now: on data, or alone if none goes out.
    pub(super) owed: Option<AckSegment>,
}

impl Ends {
    /// The ends of a connection that has not begun.
    pub(super) fn new(opening: Option<(Active, Passive)>, duty: Duty, echo: Option<Box<dyn Echo>>) -> Self {
        let linked = duty.way.is_some() || matches!(duty.purpose, Some(Purpose::First | Purpose::Subflow(_)));
        Self {
            opening,
            echo,
            due: Time::MAX,
            linked,
            alone: !linked && duty.is_plain(),
            duty,
            muted: false,
            handshake: [Time::MAX; 2],
            twin: None,
        }
    }

    /// These ends as one direction of a connection whose both ends write.
    pub(super) fn of_twin(self, half: Half, waits: bool) -> Self {
        Self { linked: true, alone: false, twin: Some(Box::new(Twin { half, waits, owed: None })), ..self }
    }

    /// May the sender not send yet, or not any more?
    pub(super) fn is_closed(&self) -> bool {
        self.muted
            || self.active().is_some_and(|active| !active.is_open())
            || self.twin.as_ref().is_some_and(|twin| twin.waits)
    }

    /// The opening end.
    #[inline]
    pub(super) fn active(&self) -> Option<&Active> {
        self.opening.as_ref().map(|(active, _)| active)
    }

    /// Its application, if it has one of its own.
    pub(super) fn application(&self) -> Option<&Application> {
        self.duty.application.as_deref()
    }

    /// Notes when the sending end has something to do. Called after each change of its opening end or its application.
    pub(super) fn note_due(&mut self) {
        let control = self.active().and_then(Active::deadline).unwrap_or(Time::MAX);
        self.due = self.application().map_or(control, |application| application.due().min(control));
    }
}

/// What a connection is for. By default it sends data that is there from the start, from one end to the other.
#[derive(Debug, Default)]
pub(crate) struct Duty {
    /// The application at its sending end, if that does not always have data to send.
    pub(super) application: Option<Box<Application>>,
    /// What it is a part of.
    pub(super) purpose: Option<Purpose>,
    /// Whether it carries requests or responses, if those of a dialogue.
    pub(super) way: Option<Way>,
}

impl Duty {
    /// Is it the usual one?
    pub(super) fn is_plain(&self) -> bool {
        self.application.is_none() && self.purpose.is_none() && self.way.is_none()
    }
}

/// What a connection is a part of.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// It ends at a relay.
    First,
    /// It begins at a relay.
    Second(Fed),
    /// It is one of the subflows of a connection.
    Subflow(SubflowEnds),
}

/// Where the data of a second half comes from.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    /// Segments taken from the first half.
    pub(super) taken: u64,
    /// The sender has begun.
    pub(super) started: bool,
    /// The handshake has begun.
    pub(super) opened: bool,
    /// The application behind the first half has stopped; what is under way may still come.
    pub(super) stopped: bool,
    /// The first half is closed: nothing more comes.
    pub(super) closed: bool,
}

/// What a subflow has beside a sender and a receiver.
#[derive(Debug)]
pub(crate) struct SubflowEnds {
    /// Its number, from 1.
    pub(super) number: u32,
    /// How many there are.
    pub(super) of: u32,
    /// The number of its connection in the network.
    pub(super) connection: usize,
    /// The payload of the connection's last segment, if that is a short one.
    pub(super) short: Option<u32>,
    /// The sender has begun.
    pub(super) started: bool,
    /// The handshake has begun.
    pub(super) opened: bool,
    /// The application has stopped.
    pub(super) stopped: bool,
    /// All data of the connection is acknowledged.
    pub(super) done: bool,
}

impl SubflowEnds {
    pub(super) fn new(plan: &SubflowPlan, mss: u32) -> Self {
        let rest = plan.connection.bytes.map_or(0, |bytes| bytes % u64::from(mss));
        Self {
            number: plan.number,
            of: plan.connection.subflows,
            connection: 0,
            short: (rest > 0).then_some(rest as u32),
            started: false,
            opened: false,
            stopped: false,
            done: false,
        }
    }
}
