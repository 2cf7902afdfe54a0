//! What the datapath and the agent share in memory: the mirror of `bpf/layout.h`.

/// Counts changes of the layout; `LAYOUT` of `bpf/layout.h`.
pub const LAYOUT: u32 = 1;

/// What a report tells of: bits of [`Report::tells`].
pub mod tells {
    /// A flow has begun to use the datapath.
    pub const OPEN: u32 = 1;
    /// A flow has ended, or uses another algorithm now.
    pub const CLOSE: u32 = 2;
    /// Acknowledgements came.
    pub const ACK: u32 = 4;
    /// A loss was found.
    pub const LOSS: u32 = 8;
    /// An ECN echo came.
    pub const ECN: u32 = 16;
    /// The retransmission timer expired.
    pub const TIMEOUT: u32 = 32;
    /// The last congestion proved spurious.
    pub const UNDO: u32 = 64;
    /// Fast recovery ended.
    pub const RECOVERED: u32 = 128;
    /// Sending goes on after a pause.
    pub const IDLE: u32 = 256;
    /// The segment size changed.
    pub const MSS: u32 = 512;
}

/// How an order wants segments spread in time: values of [`Order::pacing`].
pub mod pace {
    /// Not at all.
    pub const OFF: u8 = 0;
    /// At the order's rate.
    pub const RATE: u8 = 1;
    /// At a rate from cwnd / srtt where the socket is paced already.
    pub const WINDOW: u8 = 2;
    /// The same, and the socket is paced.
    pub const WINDOW_ALWAYS: u8 = 3;
}

/// The news of one acknowledgement, or of several. Bytes, microseconds, bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct News {
    /// Newly delivered.
    pub acked: u64,
    /// Of these, what must not make a window grow: no ACK advanced.
    pub uncounted: u64,
    /// Newly declared lost.
    pub lost: u64,
    /// Newly acknowledged as marked.
    pub ce: u64,
    /// Sum of the RTT samples.
    pub rtt_sum_us: u64,
    /// The best delivery-rate sample.
    pub rate: u64,
    /// Delivered when its segment was sent.
    pub rate_prior_delivered: u64,
    /// In flight just before the ACK of the sample came.
    pub rate_prior_in_flight: u64,
    /// Acknowledgements.
    pub acks: u32,
    /// RTT samples.
    pub rtt_count: u32,
    /// The smallest.
    pub rtt_min_us: u32,
    /// The largest.
    pub rtt_max_us: u32,
    /// The latest.
    pub rtt_latest_us: u32,
    /// Is there a delivery-rate sample?
    pub rate_valid: u8,
    /// Was the sender short of data when its segment was sent?
    pub rate_app_limited: u8,
    /// Did a round end?
    pub round_end: u8,
    /// Nothing.
    pub pad: u8,
}

/// An entry of the ring buffer: the state of a flow, and its news. Bytes; windows in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Report {
    /// The flow.
    pub id: u64,
    /// Counts the reports of the flow from 1.
    pub number: u64,
    /// When it was sent (`CLOCK_MONOTONIC`).
    pub t_ns: u64,
    /// Where the flow's slot is.
    pub slot: u32,
    /// Bits of [`tells`].
    pub tells: u32,
    /// In flight.
    pub in_flight: u64,
    /// Delivered since the flow began to use the datapath.
    pub delivered: u64,
    /// Declared lost since then.
    pub lost: u64,
    /// The peer's window.
    pub rwnd: u64,
    /// Rounds completed.
    pub round: u64,
    /// Payload of a full segment.
    pub mss: u32,
    /// 0 open, 1 fast recovery or reduction after an ECN echo, 2 after a timeout.
    pub phase: u32,
    /// The kernel's SRTT; 0 before the first sample.
    pub srtt_us: u32,
    /// The kernel's RTTVAR.
    pub rttvar_us: u32,
    /// The smallest sample so far.
    pub min_rtt_us: u32,
    /// The kernel's `tcp_is_cwnd_limited`.
    pub cwnd_limited: u32,
    /// The effective window.
    pub cwnd: u32,
    /// The effective threshold.
    pub ssthresh: u32,
    /// From an order's report to its being applied; 0 if none was applied since the last report.
    pub applied_after_ns: u64,
    /// The news.
    pub news: News,
}

/// What to do at once if a congestion comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Standing {
    /// Window to go to.
    pub cwnd: u64,
    /// New threshold.
    pub ssthresh: u64,
}

/// The agent's half of a slot. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// Odd while the agent writes.
    pub seq: u32,
    /// One of [`pace`].
    pub pacing: u8,
    /// 1 if the window holds in recovery too, 0 for proportional rate reduction.
    pub own_recovery: u8,
    /// 1 if an order before took the same report into account: a deadline of the controller has come since.
    pub again: u16,
    /// The flow it is for.
    pub id: u64,
    /// Counts the orders of the flow from 1.
    pub number: u64,
    /// Number of the last report that it takes into account.
    pub answers: u64,
    /// When that report was sent.
    pub report_ns: u64,
    /// Window.
    pub cwnd: u64,
    /// Threshold.
    pub ssthresh: u64,
    /// Pacing rate in bytes per second.
    pub rate: u64,
    /// Answer to a loss.
    pub loss: Standing,
    /// Answer to an ECN echo.
    pub ecn: Standing,
    /// Answer to a timeout.
    pub timeout: Standing,
    /// Nothing.
    pub spare: [u64; 2],
}

/// A flow as the kernel keeps it. Bytes; windows and `in_flight` in segments.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slot {
    /// The flow; 0 if the slot is free.
    pub id: u64,
    /// The socket's cookie, if it has one already.
    pub cookie: u64,
    /// `AF_INET` or `AF_INET6`.
    pub family: u32,
    /// Inode of the network namespace.
    pub netns: u32,
    /// Local port.
    pub local_port: u32,
    /// Remote port.
    pub remote_port: u32,
    /// Local address, in network order.
    pub local: [u32; 4],
    /// Remote address, in network order.
    pub remote: [u32; 4],
    /// When the flow began to use the datapath.
    pub opened_ns: u64,
    /// Reports sent.
    pub reports: u64,
    /// Reports that found the ring full and were merged into the next.
    pub dropped: u64,
    /// How often the flow fell back to reno.
    pub fallbacks: u64,
    /// Orders applied.
    pub orders: u64,
    /// Number of the last one.
    pub applied: u64,
    /// When that was.
    pub applied_ns: u64,
    /// Delivered.
    pub delivered: u64,
    /// Declared lost.
    pub lost: u64,
    /// Rounds completed.
    pub round: u64,
    /// `sk_pacing_rate`.
    pub pacing: u64,
    /// `snd_cwnd`.
    pub cwnd: u32,
    /// `snd_ssthresh`.
    pub ssthresh: u32,
    /// SRTT.
    pub srtt_us: u32,
    /// Smallest RTT.
    pub min_rtt_us: u32,
    /// RTTVAR.
    pub rttvar_us: u32,
    /// In flight.
    pub in_flight: u32,
    /// Payload of a full segment.
    pub mss: u32,
    /// `icsk_ca_state`.
    pub state: u32,
    /// The datapath's own business.
    pub inner: [u64; 14],
    /// More of that.
    pub inner_words: [u32; 7],
    /// How the last order wants segments spread.
    pub pacing_kind: u8,
    /// Does it drive the window in recovery?
    pub own_recovery: u8,
    /// Has an order been applied?
    pub ordered: u8,
    /// Does the flow use the fallback now?
    pub fallback: u8,
    /// Flags of the datapath.
    pub flags: [u8; 4],
    /// Nothing.
    pub pad: u32,
    /// News that no report has carried yet.
    pub news: News,
    /// Nothing.
    pub spare: [u64; 11],
    /// The agent's half.
    pub order: Order,
}

/// What all flows share.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Control {
    /// The last number given to a flow.
    pub last_id: u64,
    /// [`LAYOUT`] of the loader.
    pub layout: u32,
    /// How many slots there are.
    pub slots: u32,
    /// Connections that found no free slot, and run as reno.
    pub refused: u64,
    /// The process that serves the datapath; 0 for none.
    pub agent_pid: u64,
    /// Reports that the agent has taken in.
    pub reports: u64,
    /// Orders that it has given.
    pub orders: u64,
    /// From an ACK to the agent: count, then median, 90 %, 99 % and longest in nanoseconds.
    pub to_agent: [u64; 5],
    /// From an ACK to its answer being applied, likewise.
    pub to_applied: [u64; 5],
    /// Id of the map of slots.
    pub slots_map: u64,
    /// The kernel's name of the algorithm, ended by zeros.
    pub name: [u8; 16],
    /// The controller's name, ended by zeros.
    pub cc: [u8; 64],
    /// Nothing.
    pub spare: [u64; 37],
}

const _: () = assert!(size_of::<News>() == 88);
const _: () = assert!(size_of::<Report>() == 200);
const _: () = assert!(size_of::<Order>() == 128);
const _: () = assert!(size_of::<Slot>() == 640);
const _: () = assert!(std::mem::offset_of!(Slot, order) == 512);
const _: () = assert!(size_of::<Control>() == 512);

impl Report {
    /// Reads an entry of the ring buffer; `None` if it has another size.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != size_of::<Self>() {
            return None;
        }
        // SAFETY: the length was checked; every bit pattern is a valid `Report`, and the
        // read needs no alignment.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}
