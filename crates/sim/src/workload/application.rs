//! An application at an end of a connection: when it writes, and how much.
//!
//! What it writes at once is a transfer. Sequence numbers count full segments, so a transfer is a whole number of them.

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::Sender;

use crate::link::random::Stream;
use crate::workload::laws::{Lengths, Sizes};
use crate::workload::transfers::Transfer;

/// An application that does not always have data to send.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationPlan {
    /// It sends, is silent, and so on.
    OnOff {
        /// How it sends.
        on: Burst,
        /// How long it is silent.
        off: Lengths,
    },
    /// The client of a dialogue. The server is the flow behind this one.
    Requests {
        /// Payload bytes of a request.
        request: u64,
        /// When it asks again.
        again: Again,
    },
    /// The server of a dialogue.
    Responses {
        /// Payload bytes of a response.
        sizes: Sizes,
    },
}

/// What an on-off application sends before it is silent.
#[derive(Clone, Debug, PartialEq)]
pub enum Burst {
    /// As much as the connection takes for so long. The silence begins when the time is over.
    For(Lengths),
    /// So many bytes. The silence begins when the last one is acknowledged.
    Of(Sizes),
}

/// When a client asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// So long after the response is complete.
    After(Lengths),
    /// So long after it has asked before, or when the response is complete if that is later.
    Every(Span),
}

/// The application of a connection that has begun.
#[derive(Debug)]
pub(crate) struct Application {
    plan: ApplicationPlan,
    /// Draws sizes or lengths of what is sent, and lengths of silence.
    draws: Stream,
    pauses: Stream,
    /// When it acts next of its own accord; [`Time::MAX`] if something else has to happen first.
    due: Time,
    /// A burst is being sent, or a request is not answered.
    busy: bool,
    /// Nothing more will be sent.
    stopped: bool,
    /// When the client has asked last.
    asked_at: Time,
    transfers: Vec<Transfer>,
    /// Behind the last segment of each transfer; [`u64::MAX`] while that is not known.
    ends: Vec<u64>,
    /// How many are complete.
    completed: usize,
}

impl Application {
    /// The application of the flow with this name, before it begins.
    pub(crate) fn new(plan: &ApplicationPlan, seed: u64, flow: &str) -> Self {
        Self {
            plan: plan.clone(),
            draws: Stream::new(seed, &format!("flow/{flow}/size")),
            pauses: Stream::new(seed, &format!("flow/{flow}/pause")),
            due: Time::MAX,
            busy: false,
            stopped: false,
            asked_at: Time(0),
            transfers: Vec::new(),
            ends: Vec::new(),
            completed: 0,
        }
    }

    /// When [`Application::act`] must be called; [`Time::MAX`] if not at all.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Will it send nothing more?
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Does what reaches the receiver of its connection concern another one?
    pub(crate) fn is_of_dialogue(&self) -> bool {
        !matches!(self.plan, ApplicationPlan::OnOff { .. })
    }

    /// Is it the client of a dialogue?
    pub(crate) fn is_client(&self) -> bool {
        matches!(self.plan, ApplicationPlan::Requests { .. })
    }

    /// Its transfers so far. Of a dialogue they are the server's, each from the request on, but for a request that has not come there.
    pub(crate) fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// The request that waits for its response; `None` if none does, or if this is no client.
    pub(crate) fn open_request(&self) -> Option<Transfer> {
        (self.busy && self.is_client()).then_some(Transfer { start: self.asked_at, bytes: 0, end: None })
    }

    /// Segments of `mss` bytes in each request of a client.
    pub(crate) fn request_segments(&self, mss: u32) -> Option<u64> {
        match self.plan {
            ApplicationPlan::Requests { request, .. } => Some(segments(request, mss)),
            _ => None,
        }
    }

    /// Its connection starts.
    pub(crate) fn start(&mut self, now: Time) {
        if !matches!(self.plan, ApplicationPlan::Responses { .. }) && !self.stopped {
            self.due = now;
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn act(&mut self, now: Time, sender: &mut Sender) {
        while self.due <= now && !self.stopped {
            self.due = Time::MAX;
            match self.plan.clone() {
                ApplicationPlan::OnOff { off, on: Burst::For(_) } if self.busy => {
                    sender.stop();
                    self.cut(sender);
                    self.complete(now, sender.una());
                    self.pause(now, off);
                }
                ApplicationPlan::OnOff { on: Burst::For(length), .. } => {
                    // A length of zero would end before it begins.
                    self.due = now + length.draw(&mut self.draws).max(Span(1));
                    self.busy = true;
                    let begun = sender.write_on();
                    debug_assert!(begun.is_ok(), "every segment is full");
                    self.begin(now, 0, u64::MAX);
                }
                ApplicationPlan::OnOff { on: Burst::Of(sizes), .. } => {
                    self.busy = true;
                    let bytes = sizes.draw(&mut self.draws);
                    self.write(now, bytes, sender);
                }
                ApplicationPlan::Requests { request, .. } => {
                    (self.busy, self.asked_at) = (true, now);
                    write(request, sender);
                }
                ApplicationPlan::Responses { .. } => {}
            }
        }
    }

    /// All segments before `una` are acknowledged at `now`.
    pub(crate) fn on_ack(&mut self, now: Time, una: u64, sender: &mut Sender) {
        let ApplicationPlan::OnOff { on, off } = &self.plan else { return };
        let (by_size, off) = (matches!(on, Burst::Of(_)), *off);
        self.complete(now, una);
        if by_size && self.busy && !self.stopped && self.completed == self.transfers.len() {
            self.pause(now, off);
            self.act(now, sender);
        }
    }

    /// Requests have reached the server: `segments` of them in all, of which each request has so many. The last one was made at `asked_at`.
    /// True if there is a response to send.
    pub(crate) fn on_requests(
        &mut self,
        (segments, each): (u64, u64),
        asked_at: Time,
        sender: &mut Sender,
    ) -> bool {
        let ApplicationPlan::Responses { sizes } = &self.plan else { return false };
        if segments / each <= self.transfers.len() as u64 {
            return false;
        }
        let bytes = sizes.clone().draw(&mut self.draws);
        self.write(asked_at, bytes, sender);
        true
    }

    /// So many segments of responses have reached the client at `now`. True if the response is complete.
    pub(crate) fn on_segments(&mut self, now: Time, delivered: u64) -> bool {
        let before = self.completed;
        self.complete(now, delivered);
        self.completed > before
    }

    /// The client has the whole response at `now`.
    pub(crate) fn on_response(&mut self, now: Time, sender: &mut Sender) {
        let ApplicationPlan::Requests { again, .. } = self.plan else { return };
        self.busy = false;
        if self.stopped {
            return;
        }
        self.due = match again {
            Again::After(pause) => now + pause.draw(&mut self.pauses),
            Again::Every(period) => now.max(self.asked_at + period),
        };
        self.act(now, sender);
    }

    /// It sends nothing more than what a request or a response has begun.
    pub(crate) fn stop(&mut self, now: Time, sender: &mut Sender) {
        (self.stopped, self.due) = (true, Time::MAX);
        if matches!(self.plan, ApplicationPlan::OnOff { .. }) {
            sender.stop();
            self.cut(sender);
            self.complete(now, sender.una());
        }
    }

    fn pause(&mut self, now: Time, length: Lengths) {
        self.busy = false;
        self.due = now + length.draw(&mut self.pauses);
    }

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

    /// The last transfer has no more segments than have been sent. One of none never was.
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

/// Writes so many bytes, or a little more. Returns the segments that they make.
fn write(bytes: u64, sender: &mut Sender) -> u64 {
    let mss = sender.options().mss;
    let segments = segments(bytes, mss);
    let written = sender.write(segments * u64::from(mss));
    debug_assert!(written.is_ok(), "every segment is full");
    segments
}

/// The segments of a message of so many bytes.
fn segments(bytes: u64, mss: u32) -> u64 {
    bytes.div_ceil(u64::from(mss.max(1))).max(1)
}
