//! The configuration of a sender and a receiver: one table of all options.
//!
//! From a row of [`option_table!`](crate::option_table) follow the field of [`Options`] and its value in each
//! profile, the text form ([`Options::set`]), the value of an option that lacks what it needs
//! ([`Options::fit`]), and random values for tests ([`Options::drawn`]). The scenario of `bentpipe-sim` gives
//! the table macros of its own, from which the key, its schema, its messages and its written-out default
//! follow. Nothing here therefore knows of files.

pub mod choices;
mod value;

use bentpipe_cc::Span;

pub(crate) use choices::{
    AckRule, AenProbe, AppLimited, EcnEcho, IdleRestart, LossRecovery, NewRenoExit, Profile, RtoRule,
    SpuriousTimeout,
};
pub use value::OptionValue;

/// Calls the macro `then! { { with } groups }` with all options that are also a key of a scenario.
///
/// A row gives the user's description of the option, its name, its type, and its values in the profiles
/// paper, modern, linux, scps and ns3. The range of a number, each [`Need`] and the source follow. The type is
/// `bool`, [`Span`], `f64` (segments) or one of [`choices`]. An option comes after those that it needs.
#[macro_export]
macro_rules! option_table {
    ($then:ident! { $($with:tt)* }) => {
        $then! {
            { $($with)* }
            window {
                /// Initial window in segments. Paper 1, else 10 (RFC 6928).
                initial_window: f64 = [1.0, 10.0, 10.0, 1.0, 10.0] within 1.0..=1e6 from "RFC 5681 section 3.1, RFC 6928 section 2";
                /// Initial slow-start threshold in segments. Default: none.
                initial_ssthresh: f64 = [f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY] within 2.0..=1e12
                    from "RFC 5681 section 3.1";
            }
            loss {
                /// Loss recovery. Default "sack".
                recovery: LossRecovery = [LossRecovery::Sack, LossRecovery::Sack, LossRecovery::Sack, LossRecovery::NewReno, LossRecovery::Sack]
                    from "RFC 5681 section 3.2, RFC 6582, RFC 6675";
                /// Loss detection by the times of sending (RACK, RFC 8985); needs SACK. Paper no, else yes.
                rack: bool = [false, true, true, false, false] needs(SACK) from "RFC 8985 section 6";
                /// Tail loss probe (RFC 8985); needs SACK. Paper no, else yes.
                tlp: bool = [false, true, true, false, false] needs(SACK) from "RFC 8985 section 7";
                /// Duplicates are reported (RFC 2883), and a fast recovery that they show to be needless is
                /// undone; needs SACK. Paper no, else yes.
                dsack: bool = [false, true, true, false, false] needs(SACK) from "RFC 2883, RFC 3708, RFC 8985 section 6.2";
                /// A SACK restarts the retransmission timer, too, if its data was sent before the oldest
                /// segment was sent last; needs RACK. Linux yes, else no.
                sack_restarts_rto: bool = [false, false, true, false, false] needs(RACK) from "Linux, `tcp_clean_rtx_queue`";
            }
            sending {
                /// Window at the end of a recovery without SACK (RFC 6582). Paper
                /// "ssthresh", else "flight-size".
                newreno_exit: NewRenoExit =
                    [NewRenoExit::Ssthresh, NewRenoExit::FlightSize, NewRenoExit::FlightSize, NewRenoExit::FlightSize, NewRenoExit::FlightSize]
                    needs(NO_SACK, FAST_RECOVERY) from "RFC 6582 section 3.2 step 3";
                /// Proportional rate reduction (RFC 9937). Paper no, else yes.
                prr: bool = [false, true, true, false, true] from "RFC 9937; without it RFC 6675 section 5, cwnd = ssthresh at once";
                /// Growth counts bytes (RFC 3465) rather than ACKs (RFC 5681). Paper no, else yes.
                byte_counting: bool = [false, true, true, false, false] from "RFC 3465, RFC 5681 section 3.1";
                /// With byte counting, in slow start an ACK counts for two segments at most (RFC 3465
                /// section 2.2). Default: linux no, else yes.
                slow_start_limit: bool = [true, true, false, true, true] from "RFC 3465 sections 2.2, 2.3; Linux, `tcp_slow_start`";
                /// Limited transmit (RFC 3042). Default yes.
                limited_transmit: bool = [true, true, true, true, true] from "RFC 3042 section 2";
            }
            acknowledgement {
                /// Which acknowledgements are delayed, with `delayed_ack`. Default: linux
                /// "linux", else "rfc5681".
                acks: AckRule = [AckRule::Rfc5681, AckRule::Rfc5681, AckRule::Linux, AckRule::Rfc5681, AckRule::Rfc5681] from "RFC 5681 section 4.2";
                /// Timestamps (RFC 7323). Paper no, else yes. The header does not follow: set it, too.
                timestamps: bool = [false, true, true, true, true] from "RFC 7323 sections 4.1, 4.3";
            }
            connection {
                /// Data carries ECT(1), by which queues know L4S traffic (RFC 9331), instead of ECT(0); needs
                /// `ecn`. The response to marks stays that of RFC 3168. Default no.
                ect1: bool = [false, false, false, false, false] needs(ECN) from "RFC 9331 section 4.1";
                /// Open the connection with three segments before data is sent, and close it when all is
                /// acknowledged (RFC 9293). Paper no, else yes.
                handshake: bool = [false, true, true, true, true] from "RFC 9293 sections 3.5, 3.6";
                /// Retransmission timeout before the first RTT sample. Paper "3 s", else "1 s".
                initial_rto: Span = [ms(3000), ms(1000), ms(1000), ms(1000), ms(1000)] from "RFC 2988 section 2.1 (and ns-2.35), RFC 6298 section 2.1";
                /// How the retransmission timeout follows from round-trip times, and whether one in a
                /// recovery sets ssthresh anew. Paper "rfc6298", else "linux".
                rto: RtoRule = [RtoRule::Rfc6298, RtoRule::Linux, RtoRule::Linux, RtoRule::Rfc6298, RtoRule::Rfc6298]
                    from "RFC 6298 section 2; Linux, `tcp_rtt_estimator`";
                /// Smallest retransmission timeout; with `rto = "linux"` what it adds to the smoothed
                /// round-trip time at least. Paper and linux "200 ms", modern "1 s".
                min_rto: Span = [ms(200), ms(1000), ms(200), ms(1000), ms(1000)] from "RFC 6298 section 2.4; ns-2 and Linux: 200 ms";
                /// Largest retransmission timeout. Default: linux "120 s", else "60 s".
                max_rto: Span = [ms(60_000), ms(60_000), ms(120_000), ms(60_000), ms(60_000)] from "RFC 6298 section 2.5: at least 60 s";
                /// Granularity of the retransmission timer's clock. Paper "10 ms",
                /// modern "1 ms", linux "1 us".
                granularity: Span = [ms(10), ms(1), Span(1000), ms(1), Span(1)] from "RFC 6298 section 2, G";
                /// Detection of spurious timeouts. Paper "none", else "f-rto".
                spurious: SpuriousTimeout =
                    [SpuriousTimeout::Off, SpuriousTimeout::FRto, SpuriousTimeout::FRto, SpuriousTimeout::Off, SpuriousTimeout::Off]
                    from "RFC 5682 section 2.1, RFC 3522 section 3.2";
                /// What becomes of a window that was not used. It does not hold for controllers that
                /// set their window in every phase, such as BBR. Default: modern "rfc5681", linux
                /// "linux", else "none".
                idle_restart: IdleRestart = [IdleRestart::Off, IdleRestart::Rfc5681, IdleRestart::Linux, IdleRestart::Off, IdleRestart::Off]
                    from "RFC 5681 section 4.1; Linux, `tcp_cwnd_restart`, `tcp_cwnd_application_limited`";
                /// When the rates of what is sent count as limited by the application. Default: linux
                /// "linux", else "draft".
                app_limited: AppLimited = [AppLimited::Draft, AppLimited::Draft, AppLimited::Linux, AppLimited::Draft, AppLimited::Draft]
                    from "draft-ietf-ccwg-bbr, section on application-limited detection; Linux, `tcp_rate_check_app_limited`";
                /// Spread segments over the round trip when the controller leaves it
                /// to the sender. Default no.
                pacing: bool = [false, false, false, false, false] from "Linux, `tcp_update_pacing_rate`";
                /// Probe after a timeout to tell lost data from lost acknowledgements (TCP-STAR). Default:
                /// what the controller asks for.
                aen: bool = [false, false, false, false, false] from "TCP-STAR, section 3.3";
                /// What AEN probes with; needs `aen`. Default "byte".
                aen_probe: AenProbe = [AenProbe::Byte, AenProbe::Byte, AenProbe::Byte, AenProbe::Byte, AenProbe::Byte] needs(AEN)
                    from "TCP-STAR, section 3.3";
                /// Retransmit everything outstanding when the controller says so. Default: what
                /// the controller asks for.
                bulk_repeat: bool = [false, false, false, false, false] from "TCP Westwood with Bulk Repeat";
                /// Do not double the timeout at consecutive timeouts. Default: what the controller asks for.
                fixed_rto: bool = [false, false, false, false, false] from "TCP Westwood with Bulk Repeat";
                /// The first six timeouts in a row do not double the timeout while fewer than four
                /// segments are outstanding and the first slow start is over (Linux,
                /// `tcp_thin_linear_timeouts`). Default no.
                thin_linear_timeouts: bool = [false, false, false, false, false] from "Linux, `tcp_retransmit_timer`";
            }
        }
    };
}

/// A condition on the other options of a connection. Without it a switch is off, and to give
/// the option is a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    holds: fn(&Options) -> bool,
    /// What to say of an option that is given all the same.
    pub refusal: &'static str,
}

impl Need {
    /// Selective acknowledgements.
    pub const SACK: Self = Self {
        holds: |o| o.recovery == LossRecovery::Sack,
        refusal: "needs selective acknowledgements; write recovery = \"sack\", or leave this out",
    };
    /// RACK (RFC 8985).
    pub const RACK: Self = Self {
        holds: |o| o.rack && Self::SACK.holds(o),
        refusal: "needs RACK; add rack = true, or leave this out",
    };
    /// A recovery by cumulative acknowledgements.
    pub const NO_SACK: Self = Self {
        holds: |o| o.recovery != LossRecovery::Sack,
        refusal: "concerns recovery without SACK; add recovery = \"newreno\" or \"reno\", or leave this out",
    };
    /// A fast recovery, which Tahoe has not.
    pub const FAST_RECOVERY: Self = Self {
        holds: |o| o.recovery != LossRecovery::Tahoe,
        refusal: "Tahoe has no fast recovery that could end; leave this out",
    };
    /// TCP-STAR's notification of lost acknowledgements.
    pub const AEN: Self =
        Self { holds: |o| o.aen, refusal: "is the probe of AEN; add aen = true, or leave this out" };
    /// Explicit congestion notification (RFC 3168).
    pub const ECN: Self = Self {
        holds: |o| o.ecn,
        refusal: "ECT(1) says that marks are understood; add ecn = true, or leave this out",
    };

    /// Do these options have it?
    pub fn holds(&self, options: &Options) -> bool {
        (self.holds)(options)
    }
}

/// How the receiving application reads what has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// At once: the receive window is constant.
    #[default]
    AtOnce,
    /// At once, and the buffer grows with what arrives, as Linux's does (`tcp_rcv_space_adjust`): the
    /// window is small at first. It needs [`AckRule::Linux`] and delayed acknowledgements;
    /// `receive_window` has no say.
    Growing,
    /// At this rate, in bits per second of payload. The window is the rest of the
    /// buffer: RFC 9293 section 3.8.6.
    Paced(u64),
    /// When the owner of the receiver says so: [`Receiver::read`](crate::Receiver::read).
    OnDemand,
}

/// Makes [`Options`] of rows. Those in braces first are no keys of a scenario as they are:
/// theirs are written by hand.
macro_rules! options {
    (
        { $($(#[$about:meta])* $own:ident: $own_type:ty = [$own_paper:expr, $own_modern:expr, $own_linux:expr, $own_scps:expr, $own_ns3:expr];)* }
        $($group:ident { $(
            $(#[$help:meta])*
            $name:ident: $type:ident = [$paper:expr, $modern:expr, $linux:expr, $scps:expr, $ns3:expr]
            $(within $least:tt..=$most:tt)? $(needs($($need:ident),+))? from $source:literal;
        )* })*
    ) => {
        /// Options of one connection, both ends. Sizes in bytes, windows in segments.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Options {
            $($(#[$about])* pub $own: $own_type,)*
            $($(
                $(#[$help])*
                #[doc = concat!("\n\nSource: ", $source, ".")]
                pub $name: $type,
            )*)*
        }

        impl Options {
            /// The options that have a text form, in the order of the table.
            pub const NAMES: &[&str] = &[$($(stringify!($name)),*),*];
            /// The options that need something, and what.
            pub const NEEDS: &[(&str, Need)] = &[$($($($((stringify!($name), Need::$need),)+)?)*)*];

            /// As ns-2.35 ran in the papers. Initial window 1, SACK by RFC 6675, an ACK for every
            /// segment, no pacing, 40-byte headers. RTO 3 s at first, then 0.2 s or more with a 10 ms
            /// clock, which are the defaults.
            pub fn paper() -> Self {
                Self { $($own: $own_paper,)* $($($name: $paper,)*)* }
            }

            /// As the current RFCs advise. Initial window 10 (RFC 6928), SACK with D-SACK (RFC 2883),
            /// RACK-TLP (RFC 8985) and proportional rate reduction (RFC 9937). Byte counting (RFC 3465),
            /// delayed ACKs of at most 200 ms, timestamps (RFC 7323), an RTO of at least 1 s (RFC 6298)
            /// beyond SRTT (Linux), F-RTO (RFC 5682). Handshake and teardown (RFC 9293).
            pub fn modern() -> Self {
                Self { $($own: $own_modern,)* $($($name: $modern,)*)* }
            }

            /// As the TCP of Linux 6.x does by default, where that differs from [`Options::modern`]:
            /// `tcp_rtt_estimator` with a least RTTVAR of `TCP_RTO_MIN` on a clock of microseconds, which
            /// SACKs restart. Delayed ACKs of 40 ms (`TCP_ATO_MIN`) by Linux's rules. Slow start without a
            /// limit per ACK (`tcp_slow_start`).
            pub fn linux() -> Self {
                Self { $($own: $own_linux,)* $($($name: $linux,)*)* }
            }

            /// As SCPS-TP (CCSDS 714.0-B-2) is run by its reference implementation, where that differs from
            /// [`Options::modern`]: SNACK instead of SACK, one segment at first, RFC 6298's timer, and
            /// nothing that came later (RACK-TLP, PRR, byte counting, F-RTO).
            pub fn scps() -> Self {
                Self { $($own: $own_scps,)* $($($name: $scps,)*)* }
            }

            /// As the TCP of ns-3.37 does by default, in the set-up of Hypatia (Kassing et al., IMC 2020): NewReno
            /// whose window grows per ACK, SACK with PRR, no RACK, RFC 6298's timer with a least timeout of 1 s.
            /// Segments of 1380 bytes behind the headers of PPP (2 bytes), IPv4, TCP and timestamps.
            pub fn ns3() -> Self {
                Self { $($own: $own_ns3,)* $($($name: $ns3,)*)* }
            }

            /// Sets the option called `name` to what `text` says: `on`, `off`, `200ms`, `3s`, a number of
            /// segments, the name of a rule.
            ///
            /// # Errors
            /// `None` if no option is called so. Else the text is wrong, and the message says which is right.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), Option<String>> {
                match name {
                    $($(stringify!($name) => self.$name = OptionValue::read(text)?,)*)*
                    _ => return Err(None),
                }
                Ok(())
            }

            /// Turns off what lacks something that it needs.
            pub fn fit(&mut self) {
                $($($($(
                    if !Need::$need.holds(self) {
                        self.$name = self.$name.off();
                    }
                )+)?)*)*
            }

            /// The same with other switches and rules, for tests; `below` gives a random number below
            /// another. Quantities stay.
            #[must_use]
            pub fn drawn(mut self, below: &mut dyn FnMut(u64) -> u64) -> Self {
                $($(self.$name = self.$name.draw(below);)*)*
                self.fit();
                self
            }
        }
    };
}

option_table! {
    options! {
        /// Payload bytes of a full segment.
        mss: u32 = [1460, 1448, 1448, 1448, 1380];
        /// Bytes on the wire added to each data segment: IPv4 20, TCP 20 and options (RFC 9293
        /// section 3.1, RFC 7323 section 3.2).
        header: u32 = [40, 52, 52, 52, 54];
        /// Bytes on the wire of an acknowledgement without SACK blocks.
        ack_size: u32 = [40, 52, 52, 52, 54];
        /// Does an acknowledgement grow by its SACK option (4 + 8 bytes a block, RFC 2018 section 3)?
        ack_grows: bool = [false, true, true, true, true];
        /// Receive window in segments; `None` never binds.
        receive_window: Option<u64> = [None, None, None, None, None];
        /// How the receiving application reads. Unless it does so at once, `receive_window`
        /// is the size of its buffer.
        reading: Reading = [Reading::AtOnce, Reading::AtOnce, Reading::AtOnce, Reading::AtOnce, Reading::AtOnce];
        /// The receiver reports the segments that it misses by the option SNACK of SCPS-TP, and the sender
        /// repeats them at once. The option's bit vector has at most this many octets. It needs
        /// [`LossRecovery::NewReno`].
        snack: Option<u8> = [None, None, None, Some(0), None];
        /// Delayed acknowledgements (RFC 5681 section 4.2): every second full segment, or after this long;
        /// `None` acknowledges every segment.
        delayed_ack: Option<Span> = [None, Some(ms(200)), Some(ms(40)), Some(ms(200)), Some(ms(200))];
        /// Explicit congestion notification (RFC 3168).
        ecn: bool = [false, false, false, false, false];
        /// How the receiver tells of marks, with `ecn`.
        echo: EcnEcho = [EcnEcho::Rfc3168, EcnEcho::Rfc3168, EcnEcho::Rfc3168, EcnEcho::Rfc3168, EcnEcho::Rfc3168];
    }
}

impl Options {
    /// The most octets of a SNACK's bit vector; `None` if the receiver sends none.
    pub(crate) fn snacks(&self) -> Option<u8> {
        self.snack.filter(|_| self.recovery == LossRecovery::NewReno)
    }
}

impl Profile {
    /// The options of a connection with these defaults.
    pub fn options(self) -> Options {
        match self {
            Self::Modern => Options::modern(),
            Self::Paper => Options::paper(),
            Self::Linux => Options::linux(),
            Self::Scps => Options::scps(),
            Self::Ns3 => Options::ns3(),
        }
    }
}

fn ms(milliseconds: u64) -> Span {
    Span::from_millis(milliseconds)
}
