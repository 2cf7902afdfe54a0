//! What few connections have.

use bentpipe_cc::{Echo, Time};
use bentpipe_tcp::{AckSegment, Active, Passive};

use crate::host::flow::Tcp;
use crate::host::relay::RelayEnd;
use crate::host::subflow::SubflowEnd;
use crate::resolve::plan::{Reader, Twin};
use crate::workload::application::Application;

/// What a connection has at its ends beside a sender and a receiver.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The ends of a connection that is opened and closed.
    pub(super) opening: Option<(Active, Passive)>,
    /// Who writes what it carries.
    pub(super) writer: Writer,
    /// Who learns of what reaches the receiver.
    pub(super) reader: Reader,
    /// The receiving end's part of a controller whose segments carry headers.
    pub(super) echo: Option<Box<dyn Echo>>,
    /// When the sending end has something to do beside its sender; [`Time::MAX`] if nothing.
    pub(super) due: Time,
    /// Is all data there from the start, and nobody else to be told of it? Then the sender may take its fast path.
    pub(super) alone: bool,
    /// It is a subflow of a connection that is done, and its sender repairs nothing any more.
    pub(super) muted: bool,
    /// When the handshake began and when it was done; [`Time::MAX`] before.
    pub(super) handshake: [Time; 2],
}

/// Who writes what a connection carries.
#[derive(Debug, Default)]
pub(crate) enum Writer {
    /// All is there from the start.
    #[default]
    Source,
    /// An application that does not always have data to send.
    Application(Box<Application>),
    /// A relay.
    Relay(RelayEnd),
    /// One end of a connection whose both ends write.
    Twin(Box<TwinEnd>),
    /// A connection with several subflows, of which it is one.
    Subflow(Box<SubflowEnd>),
}

/// One direction of a connection whose both ends write.
#[derive(Debug)]
pub(crate) struct TwinEnd {
    pub(super) plan: Twin,
    /// It may not send before the connection is open.
    pub(super) waits: bool,
    /// An acknowledgement that has to leave now: on data, or alone if none goes out.
    pub(super) owed: Option<AckSegment>,
}

impl TwinEnd {
    pub(super) fn new(plan: Twin) -> Self {
        Self { plan, waits: plan.handshake && !plan.opens, owed: None }
    }
}

impl Ends {
    /// The ends of a connection that has not begun; `None` if it has nothing at its ends.
    pub(super) fn new(
        opening: Option<(Active, Passive)>,
        (writer, reader): (Writer, Reader),
        echo: Option<Box<dyn Echo>>,
    ) -> Option<Box<Self>> {
        let alone = matches!((&writer, &reader), (Writer::Source, Reader::Sink));
        if alone && opening.is_none() && echo.is_none() {
            return None;
        }
        let (due, handshake) = (Time::MAX, [Time::MAX; 2]);
        Some(Box::new(Self { opening, writer, reader, echo, due, alone, muted: false, handshake }))
    }

    /// May the sender not send yet, or not any more?
    pub(super) fn is_closed(&self) -> bool {
        self.muted
            || self.active().is_some_and(|active| !active.is_open())
            || matches!(&self.writer, Writer::Twin(twin) if twin.waits)
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

    /// Notes when the sending end has something to do. Called after each change of its opening end or its application.
    pub(super) fn note_due(&mut self) {
        let control = self.active().and_then(Active::deadline).unwrap_or(Time::MAX);
        self.due = match &self.writer {
            Writer::Application(application) => application.due().min(control),
            _ => control,
        };
    }
}

impl Tcp {
    /// Who writes what it carries.
    #[inline]
    pub(super) fn writer(&self) -> &Writer {
        self.ends.as_ref().map_or(&Writer::Source, |ends| &ends.writer)
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn writer_mut(&mut self) -> Option<&mut Writer> {
        self.ends.as_mut().map(|ends| &mut ends.writer)
    }

    /// Who learns of what reaches the receiver.
    #[inline]
    pub(crate) fn reader(&self) -> &Reader {
        self.ends.as_ref().map_or(&Reader::Sink, |ends| &ends.reader)
    }
}
