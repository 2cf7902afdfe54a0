//! The configuration of a sender and a receiver.

use bentpipe_cc::Span;

/// How lost segments are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// Tahoe (Jacobson, SIGCOMM 1988): fast retransmit, then slow start from one segment as after a timeout. There is no fast recovery.
    Tahoe,
    /// RFC 5681 section 3.2: fast recovery ends with the first new acknowledgement.
    Reno,
    /// RFC 6582: a partial acknowledgement repairs the next hole.
    NewReno,
    /// RFC 6675: the scoreboard of selective acknowledgements shows the losses.
    Sack,
}

/// How a sender finds out that a retransmission timeout was spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpuriousTimeout {
    /// Not at all.
    Off,
    /// F-RTO (RFC 5682): by the two acknowledgements that follow.
    FRto,
    /// Eifel (RFC 3522): by the timestamp that the first acknowledgement echoes; needs `timestamps`.
    Eifel,
}

/// How the retransmission timeout follows from the measured round-trip times, and whether a timeout in a fast recovery sets ssthresh anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298: the timeout is SRTT + 4 RTTVAR, and at least `min_rto`. RTTVAR takes a quarter of every sample. A timeout in a fast recovery
    /// sets ssthresh anew (RFC 5681 section 3.1).
    Rfc6298,
    /// Linux (`tcp_rtt_estimator`): RTTVAR is the largest deviation of a round trip and decays once per round trip. `min_rto` is its
    /// least value, so the timeout is at least SRTT + `min_rto`. A timeout in a fast recovery leaves ssthresh (`tcp_enter_loss`).
    Linux,
}

/// Which acknowledgements a receiver delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRule {
    /// RFC 5681 section 4.2: those of every other segment in order.
    Rfc5681,
    /// Linux: as the RFC, but none at first, after a duplicate and while the window grows; and those of segments behind a gap wait about
    /// a millisecond for others (`tcp_incr_quickack`, `tcp_grow_window`, `__tcp_ack_snd_check`).
    Linux,
}

/// How a receiver tells of marks, with [`Options::ecn`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnEcho {
    /// RFC 3168 section 6.1.3: every acknowledgement echoes a mark until CWR arrives.
    #[default]
    Rfc3168,
    /// RFC 8257 section 3.2: an acknowledgement echoes a mark if the segments that it covers were marked. Where marks begin or end, it is
    /// sent at once.
    Dctcp,
    /// AccECN (RFC 9768): acknowledgements carry counters of what has arrived with which codepoint.
    AccEcn,
}

/// The window when NewReno's or Reno's recovery ends (RFC 6582 section 3.2 step 3, full acknowledgement).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewRenoExit {
    /// Option 1: min(ssthresh, max(FlightSize, SMSS) + SMSS), so that no burst follows.
    FlightSize,
    /// Option 2: ssthresh, as ns-2.35 (`exit_recovery_fix_` is 0 in its ns-default.tcl).
    Ssthresh,
}

/// How the receiving application reads what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// At once: the receive window is constant.
    #[default]
    AtOnce,
    /// At once, and the buffer grows with what arrives, as Linux's does (`tcp_rcv_space_adjust`): the window is small at first. It needs
    /// [`AckRule::Linux`] and delayed acknowledgements; `receive_window` has no say.
    Growing,
    /// At this rate, in bits per second of payload. The window is the rest of the buffer: RFC 9293 section 3.8.6.
    Paced(u64),
    /// When the owner of the receiver says so: [`Receiver::read`](crate::Receiver::read).
    OnDemand,
}

/// Options of one connection, both ends. Sizes in bytes, windows in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Bytes on the wire added to each data segment: IPv4 20, TCP 20 and options.
    pub header: u32,
    /// Bytes on the wire of an acknowledgement without SACK blocks.
    pub ack_size: u32,
    /// Does an acknowledgement grow by its SACK option (4 + 8 bytes a block, RFC 2018 section 3)?
    pub ack_grows: bool,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: f64,
    /// Initial slow-start threshold in segments; infinite if unknown.
    pub initial_ssthresh: f64,
    /// Receive window in segments; `None` never binds.
    pub receive_window: Option<u64>,
    /// How the receiving application reads. Unless it does so at once, `receive_window` is the size of its buffer.
    pub reading: Reading,
    /// Loss recovery.
    pub recovery: LossRecovery,
    /// RACK (RFC 8985 section 6): the times of sending show the losses, instead of three segments SACKed above; needs SACK.
    pub rack: bool,
    /// Tail loss probe (RFC 8985 section 7); needs SACK.
    pub tlp: bool,
    /// The receiver reports duplicates (RFC 2883), which widens RACK's reordering window and undoes a fast recovery that
    /// was not needed (RFC 3708); needs SACK.
    pub dsack: bool,
    /// The receiver tells which segments it misses, by the option SNACK of SCPS-TP with a bit vector of at most so many octets, and the
    /// sender sends them again at once; needs [`LossRecovery::NewReno`].
    pub snack: Option<u8>,
    /// The window at the end of a recovery without SACK.
    pub newreno_exit: NewRenoExit,
    /// Proportional rate reduction during recovery (RFC 6937, RFC 9937); else RFC 6675's cwnd = ssthresh at once.
    pub prr: bool,
    /// Growth counts bytes, at most `slow_start_limit` an ACK in slow start (RFC 3465). Else it counts ACKs, each for one segment at
    /// most (RFC 5681 section 3.1, as ns-2 does).
    pub byte_counting: bool,
    /// With byte counting, whether an ACK counts for two segments at most in slow start (RFC 3465 section 2.2), and for one after a
    /// timeout (section 2.3). Linux counts all (`tcp_slow_start`).
    pub slow_start_limit: bool,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Delayed acknowledgements (RFC 5681 section 4.2): every second full segment, or after this long; `None` acknowledges
    /// every segment.
    pub delayed_ack: Option<Span>,
    /// Which of them are delayed; without delayed acknowledgements it has no effect.
    pub acks: AckRule,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// How the receiver tells of marks.
    pub echo: EcnEcho,
    /// Data carries ECT(1) instead of ECT(0) (RFC 9331 section 4.1); needs `ecn`. The response to marks stays the same.
    pub ect1: bool,
    /// Open the connection before data is sent and close it when all is acknowledged (RFC 9293 section 3.5).
    pub handshake: bool,
    /// Retransmission timeout before the first RTT sample (RFC 6298 section 2.1: 1 s; ns-2.35 and RFC 2988: 3 s). Too short
    /// a value makes the first timeout spurious on a path of two satellite hops.
    pub initial_rto: Span,
    /// How the timeout follows from the round-trip times.
    pub rto: RtoRule,
    /// A SACK restarts the timer, too, if its first segment was sent before the oldest outstanding one was sent last (Linux,
    /// `tcp_clean_rtx_queue`); RFC 6298 section 5.3 restarts it only when that one is acknowledged. Needs RACK.
    pub sack_restarts_rto: bool,
    /// Smallest retransmission timeout (RFC 6298 section 2.4: 1 s; ns-2: 0.2 s). With [`RtoRule::Linux`] what the timeout adds
    /// to SRTT at least (Linux: 0.2 s).
    pub min_rto: Span,
    /// Largest retransmission timeout (RFC 6298 section 2.5: at least 60 s).
    pub max_rto: Span,
    /// Clock granularity G of RFC 6298: RTT samples of the timer are rounded up to multiples of it.
    pub granularity: Span,
    /// Detection of spurious timeouts.
    pub spurious: SpuriousTimeout,
    /// Begin again with the initial window after a pause of more than a retransmission timeout (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Spread segments at a rate derived from cwnd / srtt when the controller leaves it to the sender.
    pub pacing: bool,
    /// TCP-STAR's AEN: probe after a timeout instead of retransmitting at once.
    pub aen: bool,
    /// Retransmit everything outstanding when the controller's backoff says so (TCPW with Bulk Repeat).
    pub bulk_repeat: bool,
    /// Do not double the RTO on consecutive timeouts (TCPW with Bulk Repeat).
    pub fixed_rto: bool,
}

impl Options {
    /// As ns-2.35 ran in the papers. Initial window 1, SACK by RFC 6675, an ACK for every segment, no pacing, 40-byte headers.
    /// RTO 3 s at first, then 0.2 s or more with a 10 ms clock, which are the defaults.
    pub fn paper() -> Self {
        Self {
            mss: 1460,
            header: 40,
            ack_size: 40,
            ack_grows: false,
            initial_window: 1.0,
            initial_ssthresh: f64::INFINITY,
            receive_window: None,
            reading: Reading::AtOnce,
            recovery: LossRecovery::Sack,
            rack: false,
            tlp: false,
            dsack: false,
            snack: None,
            newreno_exit: NewRenoExit::Ssthresh,
            prr: false,
            byte_counting: false,
            slow_start_limit: true,
            limited_transmit: true,
            delayed_ack: None,
            acks: AckRule::Rfc5681,
            timestamps: false,
            ecn: false,
            echo: EcnEcho::Rfc3168,
            ect1: false,
            handshake: false,
            initial_rto: Span::from_millis(3000),
            rto: RtoRule::Rfc6298,
            sack_restarts_rto: false,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_millis(60_000),
            granularity: Span::from_millis(10),
            spurious: SpuriousTimeout::Off,
            idle_restart: false,
            pacing: false,
            aen: false,
            bulk_repeat: false,
            fixed_rto: false,
        }
    }

    /// As the current RFCs advise. Initial window 10 (RFC 6928), SACK with D-SACK (RFC 2883), RACK-TLP (RFC 8985) and
    /// proportional rate reduction (RFC 9937). Byte counting (RFC 3465), delayed ACKs of at most 200 ms, timestamps (RFC 7323),
    /// an RTO of at least 1 s (RFC 6298) beyond SRTT (Linux), F-RTO (RFC 5682). Handshake and teardown (RFC 9293).
    pub fn modern() -> Self {
        Self {
            mss: 1448,
            header: 52,
            ack_size: 52,
            ack_grows: true,
            initial_window: 10.0,
            rack: true,
            tlp: true,
            dsack: true,
            newreno_exit: NewRenoExit::FlightSize,
            prr: true,
            byte_counting: true,
            delayed_ack: Some(Span::from_millis(200)),
            timestamps: true,
            handshake: true,
            initial_rto: Span::from_millis(1000),
            rto: RtoRule::Linux,
            min_rto: Span::from_millis(1000),
            granularity: Span::from_millis(1),
            spurious: SpuriousTimeout::FRto,
            ..Self::paper()
        }
    }

    /// As the TCP of Linux 6.x does by default, where that differs from [`Options::modern`]: `tcp_rtt_estimator` with a least RTTVAR of
    /// `TCP_RTO_MIN` on a clock of microseconds, which SACKs restart. Delayed ACKs of 40 ms (`TCP_ATO_MIN`) by Linux's rules. Slow start
    /// without a limit per ACK (`tcp_slow_start`).
    pub fn linux() -> Self {
        Self {
            slow_start_limit: false,
            delayed_ack: Some(Span::from_millis(40)),
            acks: AckRule::Linux,
            sack_restarts_rto: true,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_millis(120_000),
            granularity: Span(1000),
            ..Self::modern()
        }
    }

    /// As SCPS-TP (CCSDS 714.0-B-2) is run by its reference implementation, where that differs from [`Options::modern`]: SNACK instead of
    /// SACK, one segment at first, RFC 6298's timer, and nothing that came later (RACK-TLP, PRR, byte counting, F-RTO).
    pub fn scps() -> Self {
        Self {
            initial_window: 1.0,
            recovery: LossRecovery::NewReno,
            snack: Some(0),
            rack: false,
            tlp: false,
            dsack: false,
            prr: false,
            byte_counting: false,
            rto: RtoRule::Rfc6298,
            spurious: SpuriousTimeout::Off,
            ..Self::modern()
        }
    }

    /// The most octets of a SNACK's bit vector; `None` if the receiver sends none.
    pub(crate) fn snacks(&self) -> Option<u8> {
        self.snack.filter(|_| self.recovery == LossRecovery::NewReno)
    }
}
