//! State that few connections have.

use bentpipe_cc::{Echo, Time};
use bentpipe_tcp::{AckSegment, Active, Passive};

use crate::resolve::plan::{Duplex, ReadBy, Subflow};
use crate::workload::application::Application;

/// The state at the ends of a connection besides a sender and a receiver.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The ends of a connection that is opened and closed.
    pub(super) opening: Option<(Active, Passive)>,
    /// Who writes what it carries.
    pub(super) writer: WriterEnd,
    /// Who learns of what reaches the receiver.
    pub(super) reader: ReadBy,
    /// The receiving end's part of a controller whose segments carry headers.
    pub(super) echo: Option<Box<dyn Echo>>,
    /// When the sending end next has something to do beside its sender; [`Time::MAX`] if nothing.
    pub(super) due: Time,
    /// Is all data there from the start, and does nobody else need to learn of it? Then the sender may take
    /// its fast path.
    pub(super) alone: bool,
    /// True for a subflow of a connection that is done: its sender repairs nothing any more.
    pub(super) muted: bool,
    /// When the handshake began and when it was done; [`Time::MAX`] before.
    pub(super) handshake: [Time; 2],
}

/// Who writes what a connection carries.
#[derive(Debug, Default)]
pub(crate) enum WriterEnd {
    /// All is there from the start.
    #[default]
    Source,
    /// An application that does not always have data to send.
    Application(Box<Application>),
    /// A relay.
    Relay(RelayEnd),
    /// One end of a connection whose both ends write.
    Duplex(Box<DuplexEnd>),
    /// A connection with several subflows; this flow is one of them.
    Subflow(Box<SubflowEnd>),
}

/// One direction of a connection whose both ends write.
#[derive(Debug)]
pub(crate) struct DuplexEnd {
    pub(super) plan: Duplex,
    /// True if it may not send before the connection is open.
    pub(super) waits: bool,
    /// An acknowledgement that is due now: it rides on data, or leaves alone if no data goes out.
    pub(super) owed: Option<AckSegment>,
}

impl DuplexEnd {
    pub(super) fn new(plan: Duplex) -> Self {
        Self { plan, waits: plan.handshake && !plan.opens, owed: None }
    }
}

/// The end of a relay that writes the onward flow.
#[derive(Debug)]
pub(crate) struct RelayEnd {
    /// The flow that brings the data to be sent on.
    pub(crate) from: usize,
    /// Segments taken from that flow.
    pub(crate) taken: u64,
    /// True once the sender has begun.
    pub(super) started: bool,
    /// True once the handshake has begun.
    pub(super) opened: bool,
    /// True once the application before the relay has stopped; data in flight may still come.
    pub(super) stopped: bool,
    /// True once the connection to the relay is closed: nothing more comes.
    pub(super) closed: bool,
}

impl RelayEnd {
    pub(super) fn new(from: usize) -> Self {
        Self { from, taken: 0, started: false, opened: false, stopped: false, closed: false }
    }
}

/// The state of a subflow besides a sender and a receiver.
#[derive(Debug, Default)]
pub(crate) struct SubflowEnd {
    /// Its number among the subflows of its connection, from 0.
    pub(crate) number: usize,
    /// The number of its connection in the network.
    pub(crate) connection: usize,
    /// The payload of the connection's last segment, if that segment is short.
    pub(super) short: Option<u32>,
    /// That segment's number on this subflow, once this subflow has sent it.
    pub(super) short_sent: Option<u64>,
    /// True once the sender has begun.
    pub(super) started: bool,
    /// True once the handshake has begun.
    pub(super) opened: bool,
    /// True once the application has stopped.
    pub(super) stopped: bool,
    /// True once all data of the connection is acknowledged.
    pub(super) done: bool,
}

impl SubflowEnd {
    pub(super) fn new(plan: &Subflow, mss: u32) -> Self {
        let rest = plan.connection.bytes.map_or(0, |bytes| bytes % u64::from(mss));
        Self {
            number: plan.number,
            connection: plan.connection.number,
            short: (rest > 0).then_some(rest as u32),
            ..Self::default()
        }
    }

    /// Is the connection done?
    pub(super) fn is_done(&self) -> bool {
        self.done
    }
}

impl Ends {
    /// The ends of a connection that has not begun; `None` if it has nothing at its ends.
    pub(super) fn new(
        opening: Option<(Active, Passive)>,
        (writer, reader): (WriterEnd, ReadBy),
        echo: Option<Box<dyn Echo>>,
    ) -> Option<Box<Self>> {
        let alone = matches!((&writer, &reader), (WriterEnd::Source, ReadBy::Sink));
        if alone && opening.is_none() && echo.is_none() {
            return None;
        }
        let (due, handshake) = (Time::MAX, [Time::MAX; 2]);
        Some(Box::new(Self { opening, writer, reader, echo, due, alone, muted: false, handshake }))
    }

    /// True if the sender may not send yet, or may not send any more.
    pub(super) fn is_closed(&self) -> bool {
        self.muted
            || self.active().is_some_and(|active| !active.is_open())
            || matches!(&self.writer, WriterEnd::Duplex(duplex) if duplex.waits)
    }

    /// The opening end.
    #[inline]
    pub(super) fn active(&self) -> Option<&Active> {
        self.opening.as_ref().map(|(active, _)| active)
    }

    /// The opening end asks for the connection.
    pub(super) fn open(&mut self, now: Time) {
        if let Some((active, _)) = &mut self.opening {
            active.open();
            self.handshake[0] = now;
            self.note_due();
        }
    }

    /// Notes when the sending end next has something to do. Called after each change of its opening end or
    /// its application.
    pub(super) fn note_due(&mut self) {
        let control = self.active().and_then(Active::deadline).unwrap_or(Time::MAX);
        self.due = match &self.writer {
            WriterEnd::Application(application) => application.due().min(control),
            _ => control,
        };
    }
}
