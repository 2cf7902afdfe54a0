//! Opening and closing a connection: RFC 9293 section 3.5 (figures 6 and 12) and section 3.10.7, with the
//! timers of RFC 6298.
//!
//! Two small state machines work beside the sender and the receiver, which know nothing of them. [`Active`]
//! opens and closes first, [`Passive`] answers. A control segment without an answer is sent again after the
//! retransmission timeout, for as long as the run lasts. The timeout doubles each time (RFC 6298 sections 5.5
//! and 5.6).
//!
//! Decisions where the RFCs leave room. Control segments carry no data. The application closes once all its
//! data is acknowledged, so a FIN never waits for a hole. The receiving application closes at once, so its
//! FIN and the acknowledgement of ours are one segment (figure 12 has two). No state needs a reset. A path
//! keeps the order of its packets, so no old segment of an earlier connection turns up.

use bentpipe_cc::{Span, Time};

use crate::options::Options;
use crate::rto::Estimator;

/// The kinds of control segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The request to open.
    Syn,
    /// The answer to it.
    SynAck,
    /// The acknowledgement of the answer.
    Ack,
    /// The request to close.
    Fin,
    /// The answer to the FIN: acknowledges it and closes the other direction.
    FinAck,
    /// The acknowledgement of that answer.
    LastAck,
}

/// A segment of the handshake or the teardown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Its kind.
    pub signal: Signal,
    /// From the opening end, its clock in microseconds, modulo 2^32; from the other end, the value that it
    /// echoes (RFC 7323).
    pub ts: u32,
}

/// The results of an opening for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The round trip of the SYN; `None` if it is not known which of several SYNs was answered (RFC 6298
    /// section 3).
    pub rtt: Option<Span>,
    /// How many times the SYN was sent again.
    pub repeats: u32,
}

/// A segment that is sent until it is answered.
#[derive(Clone, Debug)]
struct Repeated {
    rto: Estimator,
    timer: Option<Time>,
    /// When it was first sent.
    sent_at: Time,
    repeats: u32,
}

impl Repeated {
    fn new(rto: Estimator) -> Self {
        Self { rto, timer: None, sent_at: Time(0), repeats: 0 }
    }

    /// Notes that the segment is sent now. If it is a repetition, the timer has already expired (RFC 6298
    /// section 5.1).
    fn sent(&mut self, now: Time) {
        if self.repeats == 0 {
            self.sent_at = now;
        }
        self.timer = Some(now + self.rto.rto());
    }

    /// Has the timer expired? Then the segment is to be sent again, and the timeout has
    /// doubled (RFC 6298 section 5.5).
    fn expired(&mut self, now: Time) -> bool {
        let due = self.timer.is_some_and(|t| t <= now);
        if due {
            self.timer = None;
            self.repeats += 1;
            self.rto.back_off();
        }
        due
    }

    /// Notes the answer. Returns the round trip, if the segment was sent only once (RFC 6298 section 3).
    fn answered(&mut self, now: Time) -> Option<Span> {
        self.timer = None;
        (self.repeats == 0).then(|| now.since(self.sent_at))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActiveState {
    Closed,
    SynSent,
    Established,
    FinWait,
    TimeWait,
}

/// The end that opens the connection, sends the data, and closes first.
#[derive(Clone, Debug)]
pub struct Active {
    state: ActiveState,
    pending: Option<Signal>,
    repeated: Repeated,
    timestamps: bool,
}

impl Active {
    /// An end that has not begun.
    pub fn new(options: &Options) -> Self {
        Self {
            state: ActiveState::Closed,
            pending: None,
            repeated: Repeated::new(Estimator::new(options)),
            timestamps: options.timestamps,
        }
    }

    /// Opens the connection.
    pub fn open(&mut self) {
        self.state = ActiveState::SynSent;
        self.pending = Some(Signal::Syn);
    }

    /// Closes the connection; the sender's timeout is `rto`. A connection that is not open yet is simply
    /// forgotten (RFC 9293 section 3.10.4, SYN-SENT).
    pub(crate) fn close(&mut self, rto: &Estimator) {
        match self.state {
            ActiveState::SynSent => {
                self.state = ActiveState::Closed;
                self.pending = None;
                self.repeated.timer = None;
            }
            ActiveState::Established => {
                self.state = ActiveState::FinWait;
                self.pending = Some(Signal::Fin);
                self.repeated = Repeated::new(rto.clone());
            }
            ActiveState::Closed | ActiveState::FinWait | ActiveState::TimeWait => {}
        }
    }

    /// May data be sent?
    pub fn is_open(&self) -> bool {
        self.state == ActiveState::Established
    }

    /// May data be sent, and is there no control segment to send?
    pub fn is_quiet(&self) -> bool {
        self.is_open() && self.pending.is_none()
    }

    /// A control segment of the other end arrived. Returns the results of the opening when it is done.
    pub fn on_segment(&mut self, now: Time, segment: Control) -> Option<Opened> {
        match (segment.signal, self.state) {
            (Signal::SynAck, ActiveState::SynSent) => {
                let repeats = self.repeated.repeats;
                let once = self.repeated.answered(now);
                // RFC 7323 section 4.1: the echo shows which SYN was answered.
                let echoed = Span(u64::from(((now.0 / 1000) as u32).wrapping_sub(segment.ts)) * 1000);
                self.state = ActiveState::Established;
                self.pending = Some(Signal::Ack);
                Some(Opened { rtt: once.or_else(|| self.timestamps.then_some(echoed)), repeats })
            }
            // The other end has not seen the acknowledgement (RFC 9293 section 3.10.7.4, first step).
            (Signal::SynAck, ActiveState::Established | ActiveState::FinWait) => {
                self.pending = self.pending.or(Some(Signal::Ack));
                None
            }
            (Signal::FinAck, ActiveState::FinWait | ActiveState::TimeWait) => {
                self.repeated.answered(now);
                self.state = ActiveState::TimeWait;
                self.pending = Some(Signal::LastAck);
                None
            }
            _ => None,
        }
    }

    /// When [`Active::on_deadline`] must be called.
    pub fn deadline(&self) -> Option<Time> {
        self.repeated.timer
    }

    /// The instant of [`Active::deadline`] has come; [`Active::poll`] then yields what must be sent again.
    pub fn on_deadline(&mut self, now: Time) {
        if self.repeated.expired(now) {
            self.pending = Some(if self.state == ActiveState::SynSent { Signal::Syn } else { Signal::Fin });
        }
    }

    /// The control segment to send at `now`, if any.
    pub fn poll(&mut self, now: Time) -> Option<Control> {
        let signal = self.pending.take()?;
        if matches!(signal, Signal::Syn | Signal::Fin) {
            self.repeated.sent(now);
        }
        Some(Control { signal, ts: (now.0 / 1000) as u32 })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassiveState {
    Listen,
    SynReceived,
    Established,
    LastAck,
    Closed,
}

/// The end that waits for the connection, receives the data, and closes after the other.
#[derive(Clone, Debug)]
pub struct Passive {
    state: PassiveState,
    pending: Option<Signal>,
    /// The timestamp to echo.
    ts: u32,
    repeated: Repeated,
    /// The results of the opening, when it is done.
    opened: Option<Opened>,
}

impl Passive {
    /// An end that listens.
    pub fn new(options: &Options) -> Self {
        Self {
            state: PassiveState::Listen,
            pending: None,
            ts: 0,
            repeated: Repeated::new(Estimator::new(options)),
            opened: None,
        }
    }

    /// The results of the opening for a sender at this end; `None` before it is done.
    pub fn opened(&self) -> Option<Opened> {
        self.opened
    }

    /// A data segment arrived. It acknowledges the SYN-ACK if the segment that should do so was lost.
    pub fn on_data(&mut self, now: Time) {
        if self.state == PassiveState::SynReceived {
            self.established(now);
        }
    }

    fn established(&mut self, now: Time) {
        self.state = PassiveState::Established;
        self.pending = None;
        let (repeats, rtt) = (self.repeated.repeats, self.repeated.answered(now));
        if let Some(rtt) = rtt {
            self.repeated.rto.sample(rtt, 0, 0);
        }
        self.opened = Some(Opened { rtt, repeats });
        self.repeated.repeats = 0;
    }

    /// A control segment of the other end arrived; [`Passive::poll`] then yields the answer.
    pub fn on_segment(&mut self, now: Time, segment: Control) {
        match (segment.signal, self.state) {
            (Signal::Syn, PassiveState::Listen | PassiveState::SynReceived) => {
                // An answer sent twice gives no sample, whichever end caused the repetition (RFC 6298 section
                // 3).
                self.repeated.repeats += u32::from(self.state == PassiveState::SynReceived);
                self.state = PassiveState::SynReceived;
                self.pending = Some(Signal::SynAck);
            }
            (Signal::Ack, PassiveState::SynReceived) => self.established(now),
            (Signal::Fin, PassiveState::SynReceived | PassiveState::Established | PassiveState::LastAck) => {
                self.on_data(now);
                self.state = PassiveState::LastAck;
                self.pending = Some(Signal::FinAck);
            }
            (Signal::LastAck, PassiveState::LastAck) => {
                self.state = PassiveState::Closed;
                self.repeated.timer = None;
            }
            _ => return,
        }
        self.ts = segment.ts;
    }

    /// When [`Passive::on_deadline`] must be called.
    pub fn deadline(&self) -> Option<Time> {
        self.repeated.timer
    }

    /// The instant of [`Passive::deadline`] has come; [`Passive::poll`] then yields what must be sent again.
    pub fn on_deadline(&mut self, now: Time) {
        if self.repeated.expired(now) {
            self.pending =
                Some(if self.state == PassiveState::SynReceived { Signal::SynAck } else { Signal::FinAck });
        }
    }

    /// The control segment to send at `now`, if any.
    pub fn poll(&mut self, now: Time) -> Option<Control> {
        let signal = self.pending.take()?;
        self.repeated.sent(now);
        Some(Control { signal, ts: self.ts })
    }
}
