//! A connection and its application, if that does not always have data to send.

use bentpipe_cc::Time;

use crate::host::ends::Purpose;
use crate::host::flow::Tcp;
use crate::workload::application::Application;
use crate::workload::transfers::Transfer;

impl Tcp {
    /// Does another connection learn of what reaches the receiver?
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        self.ends.as_ref().is_some_and(|ends| ends.linked)
    }

    /// Is this the connection of a dialogue's client?
    pub(crate) fn is_client(&self) -> bool {
        self.application().is_some_and(Application::is_client)
    }

    /// The transfers of its application, if it has one of its own.
    pub(crate) fn transfers(&self) -> Option<&[Transfer]> {
        self.application().map(Application::transfers)
    }

    /// The request that waits for its response.
    pub(crate) fn open_request(&self) -> Option<Transfer> {
        self.application().and_then(Application::open_request)
    }

    /// This is the server's connection of a dialogue; the client's is `client`. Requests have reached it. True if there is a response to
    /// send.
    pub(crate) fn respond(&mut self, client: &Tcp) -> bool {
        let (Some(asked), Some(each)) = (client.open_request(), client.request_segments()) else {
            return false;
        };
        let segments = client.receiver.delivered();
        match self.ends.as_mut().and_then(|ends| ends.purpose.as_mut()) {
            Some(Purpose::Application(server)) => {
                server.on_requests((segments, each), asked.start, &mut self.sender)
            }
            _ => false,
        }
    }

    /// This is the client's connection of a dialogue; the server's is `server`, from which data has come at `now`. True if that makes a
    /// whole response.
    pub(crate) fn hear(&mut self, now: Time, server: &mut Tcp) -> bool {
        let delivered = server.receiver.delivered();
        let heard = match server.ends.as_mut().and_then(|ends| ends.purpose.as_mut()) {
            Some(Purpose::Application(server)) => server.on_segments(now, delivered),
            _ => false,
        };
        if heard && let Some((application, sender)) = self.application_mut() {
            application.on_response(now, sender);
            self.note_due();
        }
        heard
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
    pub(super) fn note_due(&mut self) {
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

    fn request_segments(&self) -> Option<u64> {
        self.application()?.request_segments(self.sender.options().mss)
    }
}
