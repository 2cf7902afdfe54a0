//! Traces over time, as columns.

use bentpipe_cc::Time;
use serde::Serialize;

use crate::resolve::plan::DirectionPlan;

/// The values of a column of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real numbers; NaN for a value that is not known.
    F64(Vec<f64>),
    /// Counts.
    U64(Vec<u64>),
    /// Indices.
    U32(Vec<u32>),
    /// Numbers of names.
    U8(Vec<u8>),
}

impl Column {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U8(values) => values.len(),
        }
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row.
    pub fn text(&self, row: usize) -> String {
        match self {
            Self::F64(values) => values[row].to_string(),
            Self::U64(values) => values[row].to_string(),
            Self::U32(values) => values[row].to_string(),
            Self::U8(values) => values[row].to_string(),
        }
    }
}

/// Makes a column of its values.
macro_rules! columns {
    ($($kind:ident of $value:ty,)*) => {$(
        impl From<Vec<$value>> for Column {
            fn from(values: Vec<$value>) -> Self {
                Self::$kind(values)
            }
        }
    )*};
}

columns! { F64 of f64, U64 of u64, U32 of u32, U8 of u8, }

/// Makes traces: structs of columns of equal length, each with the struct of its rows.
macro_rules! traces {
    ($($(#[$of_trace:meta])* $trace:ident of $row:ident {
        $($(#[$of_column:meta])* $column:ident: $kind:ty,)*
    })*) => {$(
        $(#[$of_trace])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $trace {
            $($(#[$of_column])* pub $column: Vec<$kind>,)*
        }

        #[doc = concat!("A row of [`", stringify!($trace), "`].")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
        pub struct $row {
            $($(#[$of_column])* pub $column: $kind,)*
        }

        impl $trace {
            /// Empty columns with room for `rows` rows.
            pub fn with_capacity(rows: usize) -> Self {
                Self { $($column: Vec::with_capacity(rows)),* }
            }

            /// The row with this number.
            pub fn row(&self, i: usize) -> $row {
                $row { $($column: self.$column[i]),* }
            }

            /// The columns with their names, in order.
            pub fn into_columns(self) -> Vec<(&'static str, Column)> {
                vec![$((stringify!($column), self.$column.into())),*]
            }

            /// Adds a row.
            pub fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)*
            }
        }
    )*};
}

traces! {
    /// Samples of the flows, as columns of equal length.
    FlowTrace of FlowRow {
        /// Seconds since the start of the run.
        t_s: f64,
        /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
        flow: u32,
        /// Congestion window, segments.
        cwnd: f64,
        /// Slow-start threshold, segments; infinite before the first congestion.
        ssthresh: f64,
        /// Segments in flight.
        in_flight: f64,
        /// Smoothed RTT, seconds; NaN before the first sample.
        srtt_s: f64,
        /// Latest RTT sample, seconds; NaN before the first.
        rtt_s: f64,
        /// In-order payload bytes delivered so far.
        delivered_bytes: u64,
        /// Retransmissions so far.
        retransmitted_packets: u64,
    }

    /// Samples of the links, as columns of equal length.
    LinkTrace of LinkRow {
        /// Seconds since the start of the run.
        t_s: f64,
        /// Index of the link and direction in [`Report::links`](crate::record::Report::links).
        link: u32,
        /// Packets waiting.
        queue_packets: f64,
        /// Packets delivered so far.
        delivered_packets: u64,
        /// Packets dropped so far, by a full queue or by errors.
        dropped_packets: u64,
        /// Of these, dropped at the queue: it was full, or dropped early.
        dropped_queue: u64,
        /// Rate at the instant, bits per second; 0 in an outage.
        rate_bps: f64,
        /// Propagation delay at the instant, one way, seconds.
        delay_s: f64,
        /// Handovers so far.
        handovers: u32,
    }

    /// Samples of the ports of a constellation to which a packet has come, as columns of equal length.
    PortTrace of PortRow {
        /// Seconds since the start of the run.
        t_s: f64,
        /// The node of the port.
        from: u32,
        /// The satellite at the other end of a laser; of a port to the ground the node itself.
        to: u32,
        /// The share of the time since the sample before in which the transmitter was on.
        busy: f64,
        /// Packets waiting.
        queue_packets: f64,
        /// Packets that have come so far.
        offered_packets: u64,
        /// Packets dropped so far, by the queue or by errors.
        dropped_packets: u64,
    }

    /// Samples of the probes of controllers, as columns of equal length, in order of time.
    ProbeTrace of ProbeRow {
        /// Seconds since the start of the run.
        t_s: f64,
        /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
        flow: u32,
        /// Index of the probe in [`ProbeSamples::names`](crate::record::ProbeSamples::names), whose ends say
        /// units.
        probe: u32,
        /// Its value; NaN while it is not known.
        value: f64,
    }

    /// Segments as the sender sees them, as columns of equal length, in the order in which it happened.
    SegmentTrace of SegmentRow {
        /// Seconds since the start of the run.
        t_s: f64,
        /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
        flow: u32,
        /// A [`SegmentEvent`].
        event: u8,
        /// First byte of the segment or block; for an acknowledgement, the next byte expected.
        from_bytes: u64,
        /// The byte behind it; for an acknowledgement the right edge of the receive window (the
        /// same byte if none binds).
        to_bytes: u64,
    }

    /// Packets at directions, as columns of equal length, in the order in which they entered: when each one
    /// entered, left the queue, was sent, and came out or was lost. NaN for what did not happen.
    CrossingTrace of CrossingRow {
        /// Seconds since the start of the run at which it entered the direction, before the queue.
        enter_s: f64,
        /// When its transmission began.
        begin_s: f64,
        /// When its last bit had been sent.
        sent_s: f64,
        /// When it reached the far end, or would have if it was lost.
        out_s: f64,
        /// When it reached the far end or was lost; infinite if the run ended before.
        end_s: f64,
        /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
        flow: u32,
        /// The direction, numbered as in [`Report::links`](crate::record::Report::links). Behind these are
        /// three for each flow: its access delay there, the one back, the jitter of its acknowledgements.
        place: u32,
        /// How many packets had entered the direction before.
        number: u32,
        /// Number of the segment, or of the segment that the acknowledgement expects; modulo 2^32.
        segment: u32,
        /// What the packet is: bits of [`CrossingKind`](crate::record::CrossingKind).
        kind: u8,
        /// How it ended: a [`CrossingEnd`](crate::record::CrossingEnd).
        end: u8,
    }

    /// The state of senders, as columns of equal length: a row whenever it changes.
    SenderTrace of SenderRow {
        /// Seconds since the start of the run.
        t_s: f64,
        /// Index of the connection in [`Outcome::names`](crate::record::Outcome::names).
        flow: u32,
        /// Congestion window, segments.
        cwnd: f64,
        /// Slow-start threshold, segments; infinite before the first congestion.
        ssthresh: f64,
        /// Segments in flight.
        in_flight: u32,
        /// Smoothed RTT, seconds; NaN before the first sample.
        srtt_s: f64,
        /// A [`SenderPhase`](crate::record::SenderPhase).
        phase: u8,
    }

    /// Transfers of applications as columns of equal length, flow by flow.
    TransferTrace of TransferRow {
        /// Index of the flow in [`Report::flows`](crate::record::Report::flows).
        flow: u32,
        /// When it was asked for, in seconds since the start of the run.
        start_s: f64,
        /// Payload bytes; 0 for a request that has not come to its server.
        bytes: u64,
        /// Seconds until it was complete; NaN if it was not.
        completion_s: f64,
    }
}

impl LinkRow {
    /// What a direction shows at an instant, given the packets that wait in it then and those delivered,
    /// dropped and dropped at its queue.
    pub fn of(
        link: u32,
        direction: &DirectionPlan,
        at: Time,
        [waiting, delivered_packets, dropped_packets, dropped_queue]: [u64; 4],
    ) -> Self {
        let (rate, delay) = direction.at(at);
        Self {
            t_s: at.secs(),
            link,
            queue_packets: waiting as f64,
            delivered_packets,
            dropped_packets,
            dropped_queue,
            rate_bps: rate as f64,
            delay_s: delay.secs(),
            handovers: direction.handovers().partition_point(|&handover| handover <= at) as u32,
        }
    }
}

impl SegmentTrace {
    pub(crate) fn note(&mut self, at: Time, flow: u32, event: SegmentEvent, from_bytes: u64, to_bytes: u64) {
        self.push(SegmentRow { t_s: at.secs(), flow, event: event as u8, from_bytes, to_bytes });
    }
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentEvent {
    /// Sent for the first time.
    Sent,
    /// Sent again.
    Resent,
    /// Dropped by a queue, or lost on the direction that it entered at this time.
    Lost,
    /// Acknowledged: an acknowledgement arrived at the sender.
    Ack,
    /// A SACK block of that acknowledgement.
    Sack,
}

impl SegmentEvent {
    /// The names of the events, in the order of their numbers.
    pub const NAMES: [&str; 5] = ["sent", "resent", "lost", "ack", "sack"];
}
