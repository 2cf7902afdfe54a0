//! The keys of a flow. Those of the TCP options follow from the table of `bentpipe-tcp`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use bentpipe_tcp::choices;
pub use bentpipe_tcp::choices::*;

use crate::keys::order::in_order;
use crate::keys::table::keys;
use crate::keys::units::{BitRate, Duration, Size, WindowSize};
use crate::scenario::controller::Cc;
use crate::scenario::network::Pairs;
use crate::workload::Traffic;

/// The key of an option of this type.
#[rustfmt::skip]
macro_rules! key {
    (bool) => { bool };
    (f64) => { f64 };
    (Span) => { Duration };
    ($choice:ident) => { choices::$choice };
}

/// Makes [`Flow`]. In braces stand the keys that are written before those of each group of options, and the
/// last ones. A scenario is printed in this order.
macro_rules! flow {
    (
        { $(before { $($before:tt)* })* finally { $($last:tt)* } }
        $($group:ident { $(
            $(#[$help:meta])*
            $name:ident: $type:ident = $values:tt
            $(within $least:tt..=$most:tt)? $(needs $needs:tt)? from $source:literal;
        )* })*
    ) => {
        keys! {
            /// One TCP connection, or `count` equal ones.
            #[schemars(transform = in_order::<Flow>)]
            pub struct Flow {
                $(
                    $($before)*
                    $(
                        $(#[$help])*
                        $(#[schemars(range(min = $least, max = $most))])?
                        pub $name?: key!($type),
                    )*
                )*
                $($last)*
            }
        }
    };
}

bentpipe_tcp::option_table! {
    flow! {
        before {
            /// Unique name, which has no "/". Copies get -1, -2 and so on. Default: that of the controller.
            #[schemars(extend("pattern" = "^[^/]+$"))]
            pub name?: String,
            /// Congestion controller; every flow has one unless its traffic is "cbr".
            pub cc?: Cc,
            /// What the data crosses, in order: the name of a link for its forward direction, "NAME/reverse"
            /// for the other one. Acknowledgements return over the opposite directions.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("examples" = [["sat"]]))]
            pub path: Vec<String>,
            /// In place of a path, the station of the constellation at which the sender is, by its name.
            pub from?: String,
            /// The station at which the receiver is.
            pub to?: String,
            /// In place of `from` and `to`, many pairs of stations, each with such a flow: "permutation", "all",
            /// a number drawn by inhabitants, or a file.
            #[schemars(extend("examples" = ["permutation", { "gravity": 1_000 }, { "file": "pairs.csv" }]))]
            pub pairs?: Pairs,
            /// What the acknowledgements cross, in order and named as in `path`, where they do
            /// not return over the opposite directions: a satellite's one transmitter sends data
            /// and acknowledgements alike.
            pub ack_path?: Vec<String>,
            /// When it starts. Default "0 s".
            pub start?: Duration,
            /// When its source stops producing data. Default: never.
            pub stop?: Duration,
            /// A uniform random part of this is added to the start. Default "0 s".
            pub start_jitter?: Duration,
            /// How many such flows there are.
            #[serde(default = "one")]
            #[schemars(range(min = 1, max = 100_000))]
            pub count: u64,
            /// What it sends, and when. Default: bulk data without end.
            pub traffic?: Traffic,
            /// Defaults of all the options below.
            pub profile?: Profile,
            /// Private propagation delay in front of the path, one way, both directions. Default "0 s".
            pub extra_delay?: Duration,
            /// Each acknowledgement is held for a random time, uniform from 0 to this, and none
            /// overtakes another. Default "0 s".
            pub ack_jitter?: Duration,
            /// Band of its packets in queues of kind "priority", data and acknowledgements alike;
            /// 0 goes first. Default 0.
            #[schemars(range(min = 0, max = 63))]
            pub priority?: u8,
            /// Payload of a full segment. Paper 1460 bytes, else 1448 bytes.
            pub mss?: Size,
            /// Bytes on the wire added to each data segment; the header of XCP, RCP or TEAR comes on top.
            /// Paper 40 bytes, else 52 bytes.
            pub header?: Size,
            /// Bytes on the wire of an acknowledgement. Paper 40 bytes; else 52 bytes, and the SACK
            /// option where there is one.
            pub ack_size?: Size,
        }
        before {
            /// Receive window. With `acks = "linux"` it grows as the kernel's unless it is given.
            /// Default: it never binds, but a run in which a flow has more than 2^22 segments
            /// outstanding ends in an error.
            pub receive_window?: WindowSize,
            /// The receiving application reads no faster than this, in payload. `receive_window` is
            /// then its buffer, and the window shrinks by what waits in it (RFC 9293 section 3.8.6).
            /// Default: it reads at once.
            pub read_rate?: BitRate,
            /// Ends the connection on its way and opens another (a split connection,
            /// RFC 3135). Default: none.
            #[schemars(extend("examples" = [{ "at": "terrestrial", "cc": "hybla", "buffer": "4 MB" }]))]
            pub relay?: Relay,
            /// Further subflows: the connection begins on `path`, and its data is spread over all of them
            /// (Multipath TCP, RFC 8684). `receive_window` is then shared. Default: none.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("examples" = [[{ "path": ["leo"] }]]))]
            pub subflow: Vec<SubflowKeys>,
            /// With `subflow`, which of them sends the next segment. Default "min-rtt".
            pub scheduler?: Scheduler,
            /// With `subflow`: where the shared receive window holds a subflow back, it sends the oldest
            /// segment that another subflow still has under way. The window of that subflow is halved, at
            /// most once per round trip. Default no.
            pub opportunistic?: bool,
            /// Both ends write over one connection: data in the other direction, too, which carries the
            /// acknowledgements of this one, as this one carries its own (RFC 9293 section 3.8.6.3). Yes for
            /// the same there and back, or a table of what differs. Default no.
            #[schemars(extend("examples" = [true, { "size": "1 MB", "cc": "reno" }]))]
            pub both_ways?: BothWays,
        }
        before {
            /// The receiver tells which segments it misses (SNACK, CCSDS 714.0-B-2), and the sender sends
            /// them again at once, without three duplicates; needs recovery = "newreno", which is then the
            /// default. Default: scps yes, else no.
            pub snack?: bool,
            /// Most octets of the bit vector in a SNACK, which shows further holes, a bit for each segment.
            /// Default 0: one hole per acknowledgement.
            #[schemars(range(min = 0, max = 16))]
            pub snack_vector?: u8,
        }
        before {
            /// Acknowledge every second segment. Paper no, else yes.
            pub delayed_ack?: bool,
            /// Longest delay of an acknowledgement. Default: linux "40 ms", else "200 ms".
            pub delayed_ack_timeout?: Duration,
        }
        before {
            /// Explicit congestion notification, and how the receiver tells of marks: no, yes (which means
            /// "rfc3168"), or a name. Default: what the controller asks for, else no.
            #[schemars(extend("examples" = [true, "dctcp"]))]
            pub ecn?: EcnKey,
        }
        finally {
            /// The host of the sender learns when a link of the path, there or back, changes hands, and
            /// tells the controller. The satellite terminal next to the host can know that. Default: yes,
            /// if the controller uses it.
            pub path_hints?: bool,
            /// The host of the sender learns when the rate of the slowest link on the way of the data
            /// changes by a time line, from which rate to which, and tells the controller. A modem that
            /// follows the weather knows that. `path_change = "reset"` of a controller then lowers the
            /// window with the rate. Default no.
            pub rate_hints?: bool,
            /// The host of the sender learns when the errors on the way of the data change by a time line, and
            /// tells the controller the bit error rate. A modem that decodes them knows it. Default: yes, if the
            /// controller uses it.
            pub quality_hints?: bool,
            /// The host learns so long after each handover, change of rate or of errors: for a host that is not next to
            /// the terminal. Default "0 s".
            pub hint_delay?: Duration,
            /// The host learns so long ahead of each handover, change of rate or of errors: the terminal
            /// foresees it. Default "0 s".
            pub hint_lead?: Duration,
        }
    }
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum EcnKey {
    /// None, or that of RFC 3168.
    Flag(bool),
    /// By this rule.
    By(EcnEcho),
}

/// Does the other end of the connection write, too?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum BothWays {
    /// Yes: the same as this end. Or no.
    Flag(bool),
    /// Yes, with these differences.
    Back(WayBack),
}

keys! {
    /// What the other end of a connection writes.
    #[derive(Default)]
    pub struct WayBack {
        /// Payload to transfer. Default: as much as this end, without end if that has none.
        pub size?: Size,
        /// Its congestion controller. Default: that of the flow.
        pub cc?: Cc,
        /// Its initial window in segments. Default: that of the flow.
        #[schemars(range(min = 1.0, max = 1e6))]
        pub initial_window?: f64,
    }

    /// A relay, which ends a connection and opens another: two control loops with a bounded buffer between (a
    /// performance-enhancing proxy, RFC 3135).
    pub struct Relay {
        /// The link of `path` at whose end the relay is, as the data goes. On a path of two links, "gateway"
        /// means the place between them.
        #[schemars(extend("examples" = ["terrestrial", "gateway"]))]
        pub at: String,
        /// Congestion controller of the second half, with which the relay sends on.
        /// Default: that of the flow.
        pub cc?: Cc,
        /// Room for data that came in and that the second half has not yet had acknowledged. It is the
        /// receive window of the first half. Requests and responses have such room each.
        pub buffer: Size,
        /// Initial window of the second half in segments. Default: that of the flow.
        #[schemars(range(min = 1.0, max = 1e6))]
        pub initial_window?: f64,
    }

    /// A further subflow of a connection (Multipath TCP, RFC 8684).
    pub struct SubflowKeys {
        /// What its data crosses, in order and named as in the path of the flow.
        #[schemars(extend("examples" = [["leo"]]))]
        pub path: Vec<String>,
        /// What its acknowledgements cross, where they do not return over the opposite directions.
        pub ack_path?: Vec<String>,
        /// Its congestion controller. Default: that of the flow.
        pub cc?: Cc,
    }
}

/// Which subflow sends the next segment, of those whose windows have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The one with the smallest smoothed round-trip time (the default of Linux).
    #[default]
    MinRtt,
    /// Each in turn.
    RoundRobin,
}

fn one() -> u64 {
    1
}
