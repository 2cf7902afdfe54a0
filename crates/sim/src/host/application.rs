//! A connection and its application, if the application does not always have data to send.

use bentpipe_cc::Time;

use crate::host::ends::WriterEnd;
use crate::host::flow::Tcp;
use crate::resolve::plan::ReadBy;
use crate::workload::application::{Application, Server};
use crate::workload::client::Client;
use crate::workload::transfers::Transfer;
use crate::workload::transfers::segments;

impl Tcp {
    /// Is all its data there from the start, and does nobody else need to learn of its progress?
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.ends.as_ref().is_none_or(|ends| ends.alone)
    }

    /// Do both ends write?
    #[inline]
    pub(crate) fn is_duplex(&self) -> bool {
        matches!(self.writer(), WriterEnd::Duplex(_))
    }

    /// Does anybody else learn of what reaches the receiver?
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        self.ends.as_ref().is_some_and(|ends| !matches!(ends.reader, ReadBy::Sink))
    }

    /// The client of a dialogue, if this is its connection.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.application()?.client()
    }

    /// As [`Tcp::client`], but mutable, with the sender that the client writes to. [`Tcp::note_due`] must
    /// follow.
    pub(crate) fn client_mut(&mut self) -> Option<(&mut Client, &mut bentpipe_tcp::Sender)> {
        match self.application_mut()? {
            (Application::Client(client), sender) => Some((client, sender)),
            _ => None,
        }
    }

    /// The transfers of its application, if it has one that sends them.
    pub(crate) fn transfers(&self) -> Option<&[Transfer]> {
        self.application()?.transfers()
    }

    /// For the server's connection of a dialogue: has it begun?
    pub(crate) fn has_begun(&self) -> bool {
        self.application().is_some_and(Application::has_begun)
    }

    /// For the server's connection of a dialogue; the client's connection is `client`. `came` segments of
    /// requests have reached the server. Returns true if there is a response to send.
    pub(crate) fn respond(&mut self, client: &Tcp, came: u64) -> bool {
        let Some(asks) = client.client() else { return false };
        let each = segments(asks.request(), client.sender.options().mss);
        match self.server_mut() {
            Some((server, sender)) => server.on_requests((came, each), asks, sender),
            None => false,
        }
    }

    /// For the server's connection of a dialogue: `delivered` segments of its data have reached the client at
    /// `now`. Returns how many responses that completes.
    pub(crate) fn responses(&mut self, now: Time, delivered: u64) -> usize {
        self.server_mut().map_or(0, |(server, _)| server.on_segments(now, delivered))
    }

    /// All data acknowledged so far was acknowledged at `now`.
    #[cold]
    pub(super) fn tell_application(&mut self, now: Time) {
        let una = self.sender.una();
        if let Some((application, sender)) = self.application_mut() {
            application.on_ack(now, una, sender);
            self.note_due();
        }
    }

    /// All segments of the application before `una` have been acknowledged to a relay that sends them on.
    pub(super) fn tell_passed_on(&mut self, now: Time, una: u64) {
        if let Some((application, _)) = self.application_mut() {
            application.on_passed_on(now, una);
        }
    }

    /// The application does what is due at `now`.
    pub(super) fn run_application(&mut self, now: Time) {
        if let Some((application, sender)) = self.application_mut() {
            application.act(now, sender);
        }
    }

    /// The application sends nothing more. Returns false if the connection has no application of its own.
    pub(super) fn stop_application(&mut self, now: Time) -> bool {
        let Some((application, sender)) = self.application_mut() else { return false };
        application.stop(now, sender);
        self.note_due();
        true
    }

    /// Notes when the sending end next has something to do beside its sender.
    pub(crate) fn note_due(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.note_due();
        }
    }

    /// The connection opens now.
    pub(super) fn open(&mut self, now: Time) {
        self.ends.iter_mut().for_each(|ends| ends.open(now));
    }

    pub(super) fn application(&self) -> Option<&Application> {
        match self.writer() {
            WriterEnd::Application(application) => Some(application),
            _ => None,
        }
    }

    fn application_mut(&mut self) -> Option<(&mut Application, &mut bentpipe_tcp::Sender)> {
        match &mut self.ends.as_mut()?.writer {
            WriterEnd::Application(application) => Some((application, &mut self.sender)),
            _ => None,
        }
    }

    fn server_mut(&mut self) -> Option<(&mut Server, &mut bentpipe_tcp::Sender)> {
        match self.application_mut()? {
            (Application::Server(server), sender) => Some((server, sender)),
            _ => None,
        }
    }
}
