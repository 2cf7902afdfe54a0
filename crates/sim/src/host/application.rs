//! A connection and its application, if that does not always have data to send.

use bentpipe_cc::Time;

use crate::host::ends::Purpose;
use crate::host::flow::Tcp;
use crate::workload::application::{Application, Server};
use crate::workload::client::Client;
use crate::workload::transfers::Transfer;
use crate::workload::transfers::segments;

impl Tcp {
    /// Has it nothing at its ends beside a sender and a receiver?
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.ends.is_none()
    }

    /// Does another connection learn of what reaches the receiver?
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends.linked)
    }

    /// Is this the connection of a dialogue's client?
    pub(crate) fn is_client(&self) -> bool {
        self.client().is_some()
    }

    /// The client of a dialogue, if this is its connection.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.application()?.client()
    }

    /// The same, to be changed, with the segments that it has to send. [`Tcp::note_due`] must follow.
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

    /// This is the server's connection of a dialogue. Has it begun?
    pub(crate) fn has_begun(&self) -> bool {
        self.application().is_some_and(Application::has_begun)
    }

    /// This is the server's connection of a dialogue; the client's is `client`. Requests have reached it. True if there is a response to
    /// send.
    pub(crate) fn respond(&mut self, client: &Tcp) -> bool {
        let Some(asks) = client.client() else { return false };
        let each = segments(asks.request(), client.sender.options().mss);
        let came = client.receiver.delivered();
        match self.server_mut() {
            Some((server, sender)) => server.on_requests((came, each), asks, sender),
            None => false,
        }
    }

    /// This is the server's connection of a dialogue, from which data has come to the client at `now`. Gives how many responses are
    /// complete with it.
    pub(crate) fn responses(&mut self, now: Time) -> usize {
        let delivered = self.receiver.delivered();
        self.server_mut().map_or(0, |(server, _)| server.on_segments(now, delivered))
    }

    /// Everything acknowledged so far was at `now`.
    #[cold]
    pub(super) fn tell_application(&mut self, now: Time) {
        let una = self.sender.una();
        if let Some((application, sender)) = self.application_mut() {
            application.on_ack(now, una, sender);
            self.note_due();
        }
    }

    /// The application does what is due at `now`.
    pub(super) fn run_application(&mut self, now: Time) {
        if let Some((application, sender)) = self.application_mut() {
            application.act(now, sender);
        }
    }

    /// The application sends nothing more. False if the connection has none of its own.
    pub(super) fn stop_application(&mut self, now: Time) -> bool {
        let Some((application, sender)) = self.application_mut() else { return false };
        application.stop(now, sender);
        self.note_due();
        true
    }

    /// Notes when the sending end has something to do beside its sender.
    pub(crate) fn note_due(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.note_due();
        }
    }

    pub(super) fn application(&self) -> Option<&Application> {
        self.ends.as_ref()?.application()
    }

    fn application_mut(&mut self) -> Option<(&mut Application, &mut bentpipe_tcp::Sender)> {
        match self.ends.as_mut()?.purpose.as_mut()? {
            Purpose::Application(application) => Some((application, &mut self.sender)),
            Purpose::First | Purpose::Second(_) | Purpose::Subflow(_) => None,
        }
    }

    fn server_mut(&mut self) -> Option<(&mut Server, &mut bentpipe_tcp::Sender)> {
        match self.application_mut()? {
            (Application::Server(server), sender) => Some((server, sender)),
            _ => None,
        }
    }
}
