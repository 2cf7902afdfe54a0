//! The options that choose among rules by name.

use crate::options::value::{OptionValue, one_of};

/// Makes an enum for each option with a choice. After `as` comes its name in the schema of scenarios, beside
/// each rule its name in a scenario.
macro_rules! choices {
    ($($(#[$about:meta])* $choice:ident as $schema:tt { $($(#[$help:meta])* $rule:ident = $name:tt,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "keys", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "keys", schemars(rename = $schema))]
        pub enum $choice {
            $($(#[$help])* #[cfg_attr(feature = "keys", serde(rename = $name))] $rule,)*
        }

        impl $choice {
            /// All rules with their names.
            pub const ALL: &[(&str, Self)] = &[$(($name, Self::$rule)),*];
        }

        impl OptionValue for $choice {
            fn read(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|(name, _)| *name == text);
                found.map(|(_, rule)| *rule).ok_or_else(|| one_of(Self::ALL.iter().map(|(name, _)| *name)))
            }

            fn draw(self, below: &mut dyn FnMut(u64) -> u64) -> Self {
                Self::ALL[below(Self::ALL.len() as u64) as usize].1
            }
        }
    )*};
}

choices! {
    /// Which defaults the options of a flow have.
    #[derive(Default)]
    Profile as "Profile" {
        /// What current RFCs recommend.
        #[default]
        Modern = "modern",
        /// As ns-2 ran in the papers.
        Paper = "paper",
        /// What the kernel of Linux does.
        Linux = "linux",
        /// As SCPS-TP in its reference implementation, with SNACK instead of SACK.
        Scps = "scps",
        /// As ns-3.37 in the set-up of Hypatia.
        Ns3 = "ns3",
    }

    /// How losses are repaired.
    LossRecovery as "Recovery" {
        /// Selective acknowledgements (RFC 6675).
        Sack = "sack",
        /// NewReno (RFC 6582).
        NewReno = "newreno",
        /// Reno (RFC 5681).
        Reno = "reno",
        /// Tahoe (Jacobson 1988): fast retransmit, then slow start from one segment.
        Tahoe = "tahoe",
    }

    /// The window when a recovery without SACK has acknowledged everything (RFC 6582 section 3.2 step 3).
    NewRenoExit as "FullAck" {
        // min(ssthresh, max(FlightSize, SMSS) + SMSS), so that no burst follows.
        /// Option 1: ssthresh, or FlightSize and one segment if that is less.
        FlightSize = "flight-size",
        // `exit_recovery_fix_` is 0 in ns-default.tcl of ns-2.35.
        /// Option 2: ssthresh, as ns-2.
        Ssthresh = "ssthresh",
    }

    /// How a sender detects a timeout that was not needed.
    SpuriousTimeout as "Spurious" {
        /// Not at all.
        Off = "none",
        /// F-RTO (RFC 5682).
        FRto = "f-rto",
        /// Eifel (RFC 3522); needs timestamps.
        Eifel = "eifel",
    }

    /// How the retransmission timeout follows from round-trip times, and whether one in a
    /// recovery sets ssthresh anew.
    RtoRule as "Rto" {
        // RTTVAR takes a quarter of every sample. A timeout in a fast recovery sets ssthresh
        // anew (RFC 5681 section 3.1).
        /// SRTT + 4 RTTVAR, at least `min_rto` (RFC 6298).
        Rfc6298 = "rfc6298",
        // `tcp_rtt_estimator`. A timeout in a fast recovery leaves ssthresh (`tcp_enter_loss`).
        /// SRTT + RTTVAR, which is at least `min_rto`, grows at once and decays once per round trip (Linux).
        Linux = "linux",
    }

    /// What becomes of a window that was not used: after a pause, or by an application that sends less.
    IdleRestart as "IdleRestart" {
        /// Nothing.
        Off = "none",
        // Section 4.1.
        /// After a pause of more than a retransmission timeout the sender begins again with the
        /// initial window and returns to the old one by slow start (RFC 5681).
        Rfc5681 = "rfc5681",
        // `tcp_cwnd_restart`, `tcp_cwnd_application_limited`: sender/validation.rs.
        /// The window is halved for each retransmission timeout of the pause, not below the initial one; the
        /// threshold stays at three quarters of it (Linux).
        Linux = "linux",
    }

    /// When a sender marks what it sends as limited by the application, so that the rates of it are not taken
    /// for those of the path.
    AppLimited as "AppLimited" {
        // `CheckIfApplicationLimited`: also at acknowledgements and timers.
        /// From when nothing is left to send while the window has room (draft-ietf-ccwg-bbr).
        Draft = "draft",
        // `tcp_rate_check_app_limited`, which only `tcp_sendmsg` calls: repairs at the end of a transfer are
        // not marked.
        /// If the application writes when nothing was left to send (Linux).
        Linux = "linux",
    }

    /// What TCP-STAR's sender sends after a timeout to learn whether data or acknowledgements were lost.
    AenProbe as "AenProbe" {
        /// One byte that the receiver answers and does not take: a deviation from the paper. Its answer tells lost
        /// data from lost acknowledgements, but the receiver has to know it.
        Byte = "byte",
        /// The oldest outstanding segment, as the paper prints. The receiver is any. The probe repairs the loss
        /// that it asks about, so its answer covers new data whatever was lost.
        Segment = "segment",
    }

    /// Which acknowledgements are delayed.
    AckRule as "Acks" {
        // Section 4.2.
        /// Those of every other segment in order (RFC 5681).
        Rfc5681 = "rfc5681",
        // `tcp_incr_quickack`, `tcp_grow_window`, `__tcp_ack_snd_check`.
        /// Linux's rules: none at first and while the window grows; behind a gap they wait a millisecond.
        Linux = "linux",
    }

    /// How a receiver tells of marks.
    #[derive(Default)]
    EcnEcho as "MarkEcho" {
        // Section 6.1.3.
        /// Each acknowledgement echoes a mark until the sender answers (RFC 3168).
        #[default]
        Rfc3168 = "rfc3168",
        // Section 3.2. Where marks begin or end, an acknowledgement is sent at once.
        /// Each acknowledgement says whether what it covers was marked (RFC 8257).
        Dctcp = "dctcp",
        /// Each acknowledgement carries counters of what was marked (RFC 9768).
        AccEcn = "accecn",
    }
}
