//! What an emulation has done so far.

use bentpipe_sim::record::{LinkReport, LinkRow};
use hdrhistogram::Histogram;

use crate::chain::HopCounts;

/// One hop of one way.
#[derive(Clone, Debug, Default)]
pub struct HopStatus {
    /// Its counts.
    pub counts: HopCounts,
    /// Packets that wait in its queue.
    pub queue_packets: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// What it has done as a run's report says it: at the end, and not for access delays.
    pub report: Option<LinkReport>,
    /// Samples over time, each with the index of the hop in its way, if they were asked for: at the end.
    pub samples: Vec<LinkRow>,
}

/// One way of a link.
#[derive(Clone, Debug, Default)]
pub struct WayStatus {
    /// Its hops, in the order in which they are crossed.
    pub hops: Vec<HopStatus>,
    /// Packets read from the device.
    pub read_packets: u64,
    /// Packets written to the device at the other end, and their bytes.
    pub written_packets: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Packets that are neither of IPv4 nor of IPv6.
    pub refused_protocol: u64,
    /// Packets that are longer than the largest.
    pub refused_size: u64,
    /// Packets that the kernel did not take at the other end.
    pub refused_kernel: u64,
    /// Packets that the kernel dropped before they could be read: the queue of the device was full.
    pub dropped_before: u64,
    /// Packets that the kernel dropped as they came out of the device at the other end.
    pub dropped_behind: u64,
    /// Datagrams of UDP that were dropped at the other end because the buffer of their socket was full: its
    /// program did not read in time.
    pub dropped_sockets: u64,
    /// Packets inside.
    pub inside: u64,
    /// How late packets were written. Of those that are due at one instant each has the time that those
    /// before it take through a port of 1 Gbit/s.
    pub lateness: Lateness,
    /// Most packets that were due at one instant; 0 if there were no two.
    pub burst_packets: u64,
    /// The longest time that such packets took to be written, from the first to the last, seconds.
    pub burst_s: f64,
    /// Does the thread run with the scheduler's real-time class?
    pub realtime: bool,
}

/// How late packets were: time of writing minus due time in nanoseconds, up to 18 minutes, to two digits.
#[derive(Clone, Debug)]
pub struct Lateness(pub Histogram<u64>);

impl Default for Lateness {
    fn default() -> Self {
        Self(Histogram::new_with_max(1 << 40, 2).expect("the bounds are allowed"))
    }
}

/// Both ways of a link, at one instant each.
#[derive(Clone, Debug, Default)]
pub struct LinkStatus {
    /// Seconds since the start.
    pub t_s: f64,
    /// From the near end to the far end.
    pub forward: WayStatus,
    /// And back.
    pub reverse: WayStatus,
}
