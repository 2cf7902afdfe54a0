//! An application at an end of a connection: when it writes, and how much.
//!
//! The data that it writes at once is a transfer. Sequence numbers count full segments, so a transfer is a
//! whole number of them.

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::Sender;

use crate::link::random::Stream;
use crate::workload::client::{Client, ClientPlan};
use crate::workload::laws::{Lengths, Sizes};
use crate::workload::transfers::{Transfer, write};

/// An application that does not always have data to send.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationPlan {
    /// It alternates between sending and silence.
    OnOff {
        /// How it sends.
        on: Burst,
        /// How long it is silent.
        off: Lengths,
    },
    /// The client of a dialogue. The server is the flow behind this one.
    Client {
        /// Payload bytes of a request.
        request: u64,
        /// What it asks for.
        kind: ClientPlan,
    },
    /// The server of a dialogue.
    Server {
        /// Payload bytes of a response; `None` if each request says how many.
        sizes: Option<Sizes>,
        /// The name of its transfers: "response", "page", "segment".
        what: &'static str,
    },
}

/// What an on-off application sends before it is silent.
#[derive(Clone, Debug, PartialEq)]
pub enum Burst {
    /// As much as the connection takes for so long. The silence begins when the time is over.
    For(Lengths),
    /// This many bytes. The silence begins when the last one is acknowledged, even by a relay.
    Of(Sizes),
}

/// The application of a connection that has begun.
#[derive(Debug)]
pub(crate) enum Application {
    OnOff(Alternation),
    Client(Client),
    Server(Server),
}

impl Application {
    /// The application of the flow with the first name, before it begins. The second name is that of the flow
    /// of the scenario to which it belongs. `relayed`: its connection ends at a relay. A transfer is then
    /// complete when [`Application::on_passed_on`] says that the relay has passed it on.
    pub(crate) fn new(
        plan: &ApplicationPlan,
        seed: u64,
        (flow, source): (&str, &str),
        relayed: bool,
    ) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("flow/{flow}/{what}"));
        match plan {
            ApplicationPlan::OnOff { on, off } => Self::OnOff(Alternation {
                on: on.clone(),
                off: off.clone(),
                draws: stream("size"),
                pauses: stream("pause"),
                due: Time::MAX,
                busy: false,
                stopped: false,
                written: Written::default(),
                passed_on: relayed.then_some(0),
            }),
            ApplicationPlan::Client { request, kind } => {
                Self::Client(Client::new(kind, *request, seed, (flow, source)))
            }
            ApplicationPlan::Server { sizes, .. } => Self::Server(Server {
                sizes: sizes.clone(),
                draws: stream("size"),
                begun: false,
                written: Written::default(),
            }),
        }
    }

    /// When [`Application::act`] must be called; [`Time::MAX`] if not at all.
    pub(crate) fn due(&self) -> Time {
        match self {
            Self::OnOff(on_off) => on_off.due,
            Self::Client(client) => client.due(),
            Self::Server(_) => Time::MAX,
        }
    }

    /// Will it send nothing more? Never true of a server, which answers as long as it is asked.
    pub(crate) fn is_stopped(&self) -> bool {
        match self {
            Self::OnOff(on_off) => on_off.stopped,
            Self::Client(client) => client.is_stopped(),
            Self::Server(_) => false,
        }
    }

    /// Is it a server that has begun?
    pub(crate) fn has_begun(&self) -> bool {
        matches!(self, Self::Server(server) if server.begun)
    }

    /// The client, if it is one.
    pub(crate) fn client(&self) -> Option<&Client> {
        match self {
            Self::Client(client) => Some(client),
            Self::OnOff(_) | Self::Server(_) => None,
        }
    }

    /// The transfers that it has written; `None` if it is a client, whose server has them.
    pub(crate) fn transfers(&self) -> Option<&[Transfer]> {
        match self {
            Self::OnOff(on_off) => Some(&on_off.written.transfers),
            Self::Server(server) => Some(&server.written.transfers),
            Self::Client(_) => None,
        }
    }

    /// All segments before `una` have been acknowledged to the relay at `now`.
    pub(crate) fn on_passed_on(&mut self, now: Time, una: u64) {
        if let Self::OnOff(on_off) = self {
            on_off.passed_on = Some(una);
            on_off.written.complete(now, una);
        }
    }

    /// Its connection starts.
    pub(crate) fn start(&mut self, now: Time) {
        match self {
            Self::OnOff(on_off) if !on_off.stopped => on_off.due = now,
            Self::Client(client) => client.start(now),
            Self::Server(server) => server.begun = true,
            Self::OnOff(_) => {}
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn act(&mut self, now: Time, sender: &mut Sender) {
        match self {
            Self::OnOff(on_off) => on_off.act(now, sender),
            Self::Client(client) => client.act(now, sender),
            Self::Server(_) => {}
        }
    }

    /// All segments before `una` are acknowledged at `now`.
    pub(crate) fn on_ack(&mut self, now: Time, una: u64, sender: &mut Sender) {
        if let Self::OnOff(on_off) = self {
            on_off.on_ack(now, una, sender);
        }
    }

    /// It sends nothing beyond what a request or a response has begun.
    pub(crate) fn stop(&mut self, now: Time, sender: &mut Sender) {
        match self {
            Self::OnOff(on_off) => on_off.stop(now, sender),
            Self::Client(client) => client.stop(now),
            Self::Server(_) => {}
        }
    }
}

/// An application that alternates between sending and silence.
#[derive(Debug)]
pub(crate) struct Alternation {
    on: Burst,
    off: Lengths,
    /// Draws sizes or lengths of what is sent, and lengths of silence.
    draws: Stream,
    pauses: Stream,
    /// When it next acts of its own accord; [`Time::MAX`] if something else has to happen first.
    due: Time,
    /// True while a burst is being sent.
    busy: bool,
    /// True if nothing more will be sent.
    stopped: bool,
    written: Written,
    /// The segments that have been acknowledged to a relay, if there is one.
    passed_on: Option<u64>,
}

impl Alternation {
    fn act(&mut self, now: Time, sender: &mut Sender) {
        while self.due <= now && !self.stopped {
            self.due = Time::MAX;
            match &self.on {
                Burst::For(_) if self.busy => {
                    sender.stop();
                    self.cut(now, sender);
                    self.pause(now);
                }
                Burst::For(length) => {
                    // A length of zero would end before it begins.
                    self.due = now + length.draw(&mut self.draws).max(Span(1));
                    self.busy = true;
                    let begun = sender.write_on();
                    debug_assert!(begun.is_ok(), "every segment is full");
                    self.written.begin(now, 0, u64::MAX);
                }
                Burst::Of(sizes) => {
                    self.busy = true;
                    let bytes = sizes.draw(&mut self.draws);
                    self.written.write(now, bytes, sender);
                }
            }
        }
    }

    fn on_ack(&mut self, now: Time, una: u64, sender: &mut Sender) {
        self.written.complete(now, self.passed_on.unwrap_or(una));
        let by_size = matches!(self.on, Burst::Of(_));
        if by_size && self.busy && !self.stopped && self.written.ends.last().is_none_or(|end| *end <= una) {
            self.pause(now);
            self.act(now, sender);
        }
    }

    fn stop(&mut self, now: Time, sender: &mut Sender) {
        (self.stopped, self.due) = (true, Time::MAX);
        sender.stop();
        self.cut(now, sender);
    }

    /// The rest of what it has written last is not sent.
    fn cut(&mut self, now: Time, sender: &Sender) {
        self.written.cut(sender);
        self.written.complete(now, self.passed_on.unwrap_or(sender.una()));
    }

    fn pause(&mut self, now: Time) {
        self.busy = false;
        self.due = now + self.off.draw(&mut self.pauses);
    }
}

/// The server of a dialogue.
#[derive(Debug)]
pub(crate) struct Server {
    /// Draws the sizes of responses, if requests do not give them.
    sizes: Option<Sizes>,
    draws: Stream,
    /// True once its connection has begun.
    begun: bool,
    /// The transfers, each starting with its request.
    written: Written,
}

impl Server {
    /// `segments` segments of requests have come; each request of `client` has `each` segments. Writes the
    /// responses. Returns true if there is one.
    pub(crate) fn on_requests(
        &mut self,
        (segments, each): (u64, u64),
        client: &Client,
        sender: &mut Sender,
    ) -> bool {
        let before = self.written.transfers.len();
        while (self.written.transfers.len() as u64) < segments / each {
            let Some(order) = client.order(self.written.transfers.len()) else { break };
            let drawn = || self.sizes.as_ref().map_or(1, |sizes| sizes.draw(&mut self.draws));
            let bytes = order.bytes.unwrap_or_else(drawn);
            self.written.write(order.at, bytes, sender);
        }
        self.written.transfers.len() > before
    }

    /// `delivered` segments of responses have reached the client at `now`. Returns how many responses that
    /// completes.
    pub(crate) fn on_segments(&mut self, now: Time, delivered: u64) -> usize {
        let before = self.written.completed;
        self.written.complete(now, delivered);
        self.written.completed - before
    }
}

/// What an application has written on its connection.
#[derive(Debug, Default)]
struct Written {
    transfers: Vec<Transfer>,
    /// The segment after the last one of each transfer; [`u64::MAX`] while it is not known.
    ends: Vec<u64>,
    /// How many are complete.
    completed: usize,
}

impl Written {
    /// A transfer of `bytes` or a little more begins at `start`.
    fn write(&mut self, start: Time, bytes: u64, sender: &mut Sender) {
        let written = write(bytes, sender);
        let end = self.ends.last().copied().unwrap_or(0) + written;
        self.begin(start, written * u64::from(sender.options().mss), end);
    }

    fn begin(&mut self, start: Time, bytes: u64, end: u64) {
        self.transfers.push(Transfer { start, bytes, end: None });
        self.ends.push(end);
    }

    /// Cuts the last transfer to the segments that have been sent. If that is none, the transfer never was.
    fn cut(&mut self, sender: &Sender) {
        let before = self.ends.iter().rev().nth(1).copied().unwrap_or(0);
        let (Some(last), Some(end)) = (self.transfers.last_mut(), self.ends.last_mut()) else { return };
        *end = (*end).min(sender.next());
        last.bytes = end.saturating_sub(before) * u64::from(sender.options().mss);
        if last.bytes == 0 {
            self.transfers.pop();
            self.ends.pop();
        }
    }

    fn complete(&mut self, now: Time, upto: u64) {
        while self.ends.get(self.completed).is_some_and(|end| *end <= upto) {
            self.transfers[self.completed].end = Some(now);
            self.completed += 1;
        }
    }
}
