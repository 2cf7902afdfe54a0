//! The language of the scripts. Times are milliseconds since the start, windows are segments.
//!
//! What a sender sends is written as a list: `3` new segment, `3-5` three new segments, `r3` retransmission,
//! `3w` with CWR set, `p3` AEN's probe, `x3` extra segment. What a receiver answers: `3` acknowledges all
//! below 3, `3+5-7` also reports segments 5 and 6, `3e` echoes congestion, `3x` acknowledges an extra
//! segment, `-` is silence.

use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_cc::registry;
use bentpipe_cc::{
    Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Hint, Life, Needs, Pacing, Rate,
    RecoveryWindow, Span, Start, Time,
};
use bentpipe_tcp::{
    AckSegment, Block, Data, LossRecovery, NewRenoExit, Options, Receiver, Sack, Sender, Snack,
    SpuriousTimeout,
};

pub(crate) const MSS: u32 = 1000;

/// Plain options: nothing on but the loss recovery asked for. RTO at least 1 s, clock of 1 ms (RFC 6298).
pub(crate) fn plain(recovery: LossRecovery) -> Options {
    Options {
        mss: MSS,
        recovery,
        newreno_exit: NewRenoExit::FlightSize,
        initial_rto: ms(1000),
        prr: false,
        limited_transmit: false,
        delayed_ack: None,
        timestamps: false,
        ecn: false,
        min_rto: ms(1000),
        max_rto: ms(60_000),
        granularity: ms(1),
        spurious: SpuriousTimeout::Off,
        ..Options::paper()
    }
}

pub(crate) fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn at(n: u64) -> Time {
    Time(0) + ms(n)
}

/// Reno with an initial window and threshold in segments.
pub(crate) fn reno(initial_window: f64, initial_ssthresh: f64) -> Box<dyn Controller> {
    registry::build("reno", &[], Start { mss: MSS, initial_window, initial_ssthresh })
        .expect("reno is registered")
}

/// What was reported to a controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) acks: Vec<Ack>,
    pub(crate) congestion: Vec<Congestion>,
    pub(crate) life: Vec<Life>,
    /// With the instant.
    pub(crate) hints: Vec<(Time, Hint)>,
    pub(crate) undone: usize,
}

/// A controller that keeps its window: for tests of what the sender does by itself.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) cwnd: u64,
    /// Window and threshold after a loss, segments.
    pub(crate) after_loss: u64,
    pub(crate) after_timeout: u64,
    /// Window after a hint that the path changes hands.
    pub(crate) after_hint: Option<u64>,
    pub(crate) pacing: Pacing,
    /// Pacing from the first congestion on.
    pub(crate) paced_after: Option<Pacing>,
    pub(crate) recovery: RecoveryWindow,
    pub(crate) repeat: bool,
    ssthresh: u64,
    told: Arc<Mutex<Told>>,
}

impl Fixed {
    /// A window of `cwnd` segments that no event changes.
    pub(crate) fn new(cwnd: u64) -> Self {
        Self {
            cwnd,
            after_loss: cwnd,
            after_timeout: cwnd,
            after_hint: None,
            pacing: Pacing::Off,
            paced_after: None,
            recovery: RecoveryWindow::Sender,
            repeat: false,
            ssthresh: u64::MAX,
            told: Arc::default(),
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    pub(crate) fn told(&self) -> Told {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("no test panics while it holds the lock")
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, _flow: &Flow, ack: &Ack) {
        self.lock().acks.push(*ack);
    }
    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => {
                let order = self.backoff(flow, why);
                self.lock().congestion.push(why);
                self.cwnd = order.cwnd / u64::from(MSS);
                self.ssthresh = order.ssthresh;
                self.pacing = self.paced_after.unwrap_or(self.pacing);
            }
            Event::Undo(before) => {
                self.lock().undone += 1;
                self.cwnd = before.cwnd / u64::from(MSS);
                self.ssthresh = before.ssthresh;
            }
            Event::Life(what) => self.lock().life.push(what),
            Event::Hint(hint) => {
                self.lock().hints.push((flow.now, hint));
                self.cwnd = self.after_hint.unwrap_or(self.cwnd);
            }
            Event::Validation { cwnd, ssthresh } => {
                self.cwnd = cwnd / u64::from(MSS);
                self.ssthresh = ssthresh;
            }
            other => panic!("nobody sends {other:?}"),
        }
    }
    fn decision(&self) -> Decision {
        Decision {
            cwnd: self.cwnd * u64::from(MSS),
            ssthresh: self.ssthresh,
            pacing: self.pacing,
            deadline: Time::MAX,
        }
    }
    fn backoff(&self, _flow: &Flow, why: Congestion) -> Backoff {
        let segments = if why == Congestion::Timeout { self.after_timeout } else { self.after_loss };
        let bytes = segments * u64::from(MSS);
        let ssthresh = self.after_loss * u64::from(MSS);
        Backoff { cwnd: bytes, ssthresh, repeat: self.repeat }
    }
    fn needs(&self) -> Needs {
        Needs { rate: true, recovery: self.recovery, ..Needs::default() }
    }
}

/// A pacing rate in payload bytes per second.
pub(crate) fn bytes_per_second(rate: u64) -> Pacing {
    Pacing::Rate(Rate(rate))
}

pub(crate) fn sack_of(blocks: &[(u64, u64)]) -> Sack {
    let mut sack = Sack::default();
    blocks.iter().for_each(|&(start, end)| sack.push(Block { start, end }));
    sack
}

/// A sender and its scripted peer.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) sender: Sender,
    pub(crate) now: Time,
    /// The RTT sample that the last acknowledgement gave.
    pub(crate) rtt: Option<Span>,
}

impl Script {
    /// A sender with `segments` full segments to send (`None`: without end).
    pub(crate) fn new(options: Options, cc: Box<dyn Controller>, segments: Option<u64>) -> Self {
        let mut sender = Sender::new(options, cc, segments.map(|n| n * u64::from(MSS)));
        sender.start(Time(0));
        Self { sender, now: Time(0), rtt: None }
    }

    /// The time is `n` ms. Nothing may have been due before.
    #[track_caller]
    pub(crate) fn at(&mut self, n: u64) -> &mut Self {
        assert!(
            self.sender.deadline().is_none_or(|t| t > at(n)),
            "due at {:?}, before {n} ms",
            self.sender.deadline()
        );
        self.now = at(n);
        self
    }

    /// Exactly this is sent now.
    #[track_caller]
    pub(crate) fn sends(&mut self, expected: &str) -> &mut Self {
        let mut sent = Vec::new();
        while let Some(data) = self.sender.poll(self.now) {
            sent.push(data);
            assert!(sent.len() < 10_000, "sends without end");
        }
        assert_eq!(describe(&sent), expected, "sent at {:?}", self.now);
        self
    }

    /// The application gives `bytes` more.
    #[track_caller]
    pub(crate) fn write(&mut self, bytes: u32) -> &mut Self {
        assert_eq!(self.sender.write(u64::from(bytes)), Ok(()));
        self
    }

    /// The peer acknowledges everything below `ack`, or once more.
    pub(crate) fn ack(&mut self, ack: u64) -> &mut Self {
        self.segment(AckSegment { ack, ..AckSegment::default() })
    }

    /// As `ack`, telling a receive window of `window` segments.
    pub(crate) fn told(&mut self, ack: u64, window: u64) -> &mut Self {
        let seg = AckSegment { ack, ..AckSegment::default() };
        self.rtt = self.sender.on_windowed_ack(self.now, &seg, window, None);
        self
    }

    /// As `ack`, with SACK blocks.
    pub(crate) fn sack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> &mut Self {
        self.segment(AckSegment { ack, sack: sack_of(blocks), ..AckSegment::default() })
    }

    /// As `ack`, with a SNACK.
    pub(crate) fn snack(&mut self, ack: u64, snack: Snack) -> &mut Self {
        self.rtt = self.sender.on_snack(self.now, &AckSegment { ack, ..AckSegment::default() }, &snack);
        self
    }

    /// As `ack`, with the ECN echo.
    pub(crate) fn ece(&mut self, ack: u64) -> &mut Self {
        self.segment(AckSegment { ack, ece: true, ..AckSegment::default() })
    }

    /// As `ack`, echoing the timestamp of what was sent at `n` ms.
    pub(crate) fn echo(&mut self, ack: u64, n: u64) -> &mut Self {
        self.segment(AckSegment { ack, tsecr: (n * 1000) as u32, ..AckSegment::default() })
    }

    /// An extra segment is acknowledged, with everything below `ack` and these blocks.
    pub(crate) fn extra_ack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> &mut Self {
        let seg = AckSegment { ack, sack: sack_of(blocks), extra: true, ..AckSegment::default() };
        self.sender.on_extra_ack(self.now, &seg);
        self
    }

    pub(crate) fn segment(&mut self, seg: AckSegment) -> &mut Self {
        self.rtt = self.sender.on_ack(self.now, &seg);
        self
    }

    /// The next deadline is at `n` ms, and it passes.
    #[track_caller]
    pub(crate) fn due(&mut self, n: u64) -> &mut Self {
        assert_eq!(self.sender.deadline(), Some(at(n)), "deadline");
        self.now = at(n);
        self.sender.on_deadline(self.now);
        self
    }

    /// No deadline is set.
    #[track_caller]
    pub(crate) fn idle(&mut self) -> &mut Self {
        assert_eq!(self.sender.deadline(), None);
        self
    }

    /// Window and threshold that the controller wants, segments.
    #[track_caller]
    pub(crate) fn window(&mut self, cwnd: f64, ssthresh: f64) -> &mut Self {
        let got = self.sender.decision();
        let segments =
            |bytes: u64| if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 / f64::from(MSS) };
        let near = |a: f64, b: f64| a == b || (a - b).abs() < 0.01;
        let (w, t) = (segments(got.cwnd), segments(got.ssthresh));
        assert!(near(w, cwnd) && near(t, ssthresh), "window {w}, threshold {t}");
        self
    }

    /// Segments believed to be in flight.
    #[track_caller]
    pub(crate) fn flight(&mut self, segments: u64) -> &mut Self {
        assert_eq!(self.sender.in_flight(), segments, "in flight");
        self
    }
}

fn describe(sent: &[Data]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut i = 0;
    while i < sent.len() {
        let d = sent[i];
        let plain = |d: &Data| !d.retransmission && !d.cwr && !d.probe;
        let mut end = i;
        while plain(&d)
            && end + 1 < sent.len()
            && plain(&sent[end + 1])
            && sent[end + 1].seq == sent[end].seq + 1
        {
            end += 1;
        }
        let mark = if d.probe {
            "p"
        } else if d.extra {
            "x"
        } else if d.retransmission {
            "r"
        } else {
            ""
        };
        let tail = if d.cwr { "w" } else { "" };
        if end > i {
            words.push(format!("{}-{}", d.seq, sent[end].seq));
        } else {
            words.push(format!("{mark}{}{tail}", d.seq));
        }
        i = end + 1;
    }
    words.join(" ")
}

/// A receiver and its scripted peer.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) receiver: Receiver,
    now: Time,
    /// The last answer.
    pub(crate) answer: Option<AckSegment>,
}

impl Listener {
    pub(crate) fn new(options: &Options) -> Self {
        Self { receiver: Receiver::new(options), now: Time(0), answer: None }
    }

    /// The time is `n` ms. Nothing may have been due before.
    #[track_caller]
    pub(crate) fn at(&mut self, n: u64) -> &mut Self {
        assert!(self.receiver.deadline().is_none_or(|t| t > at(n)), "due at {:?}", self.receiver.deadline());
        self.now = at(n);
        self
    }

    /// Segment `seq` arrives, sent at this very instant.
    pub(crate) fn data(&mut self, seq: u64) -> &mut Self {
        let tsval = (self.now.0 / 1000) as u32;
        self.arrives(Data::new(seq, MSS, tsval))
    }

    /// Segment `seq` arrives, sent at `n` ms.
    pub(crate) fn sent_at(&mut self, seq: u64, n: u64) -> &mut Self {
        let tsval = (n * 1000) as u32;
        self.arrives(Data::new(seq, MSS, tsval))
    }

    /// Segment `seq` arrives, marked or with CWR.
    pub(crate) fn marked(&mut self, seq: u64, ce: bool, cwr: bool) -> &mut Self {
        self.arrives(Data { cwr, ce, ..Data::new(seq, MSS, 0) })
    }

    pub(crate) fn arrives(&mut self, data: Data) -> &mut Self {
        self.answer = self.receiver.on_data(self.now, &data);
        self
    }

    /// The next deadline is at `n` ms, and it passes.
    #[track_caller]
    pub(crate) fn due(&mut self, n: u64) -> &mut Self {
        assert_eq!(self.receiver.deadline(), Some(at(n)));
        self.now = at(n);
        self.answer = self.receiver.on_deadline(self.now);
        self
    }

    /// A probe for segment `seq` arrives.
    pub(crate) fn probe(&mut self, seq: u64) -> &mut Self {
        self.arrives(Data { probe: true, ..Data::new(seq, 0, 0) })
    }

    /// An extra segment with the data of segment `seq` arrives.
    pub(crate) fn extra(&mut self, seq: u64) -> &mut Self {
        self.arrives(Data { retransmission: true, extra: true, ..Data::new(seq, MSS, 0) })
    }

    /// The application has read all before `upto`.
    pub(crate) fn read(&mut self, upto: u64) -> &mut Self {
        self.answer = self.receiver.read(upto);
        self
    }

    /// An acknowledgement sent now tells this window.
    #[track_caller]
    pub(crate) fn window(&mut self, segments: u64) -> &mut Self {
        assert_eq!(self.receiver.window(), Some(segments), "window");
        self
    }

    /// This is the answer to what came last.
    #[track_caller]
    pub(crate) fn answers(&mut self, expected: &str) -> &mut Self {
        let text = self.answer.map_or("-".to_string(), |a| {
            let blocks: String = a.sack.blocks().iter().map(|b| format!("+{}-{}", b.start, b.end)).collect();
            let (echo, extra) = (if a.ece { "e" } else { "" }, if a.extra { "x" } else { "" });
            format!("{}{blocks}{echo}{extra}", a.ack)
        });
        assert_eq!(text, expected, "answer at {:?}", self.now);
        self
    }
}
