//! A QUIC transfer in simulated time: two ends of quinn-proto, which does no input or output, over
//! the simulator's directions.
//!
//! Nothing here reads the clock. The same request gives the same report, except for the bytes of keys and
//! identifiers, which are random but of one length. So what is measured is quinn's transport, with its loss
//! detection and pacing, on the very link that TCP is simulated on.

mod end;
mod world;

use std::sync::Arc;
use std::time::Instant;

use bentpipe_cc::{Span, Time};
use bentpipe_sim::plan::DirectionPlan;
use quinn_proto::congestion::ControllerFactory;

use crate::certificate::TlsError;
use world::World;

/// Bytes of IPv4 and UDP before each datagram.
pub const HEADERS: u16 = 28;

/// What is to be sent, and over what.
#[derive(Clone)]
pub struct Transfer<'a> {
    /// The direction that data crosses, with the name after which its losses draw, "link/sat/forward" as in a
    /// scenario with a link "sat".
    pub forward: (&'a DirectionPlan, &'a str),
    /// The direction that acknowledgements cross.
    pub reverse: (&'a DirectionPlan, &'a str),
    /// The sender's controller.
    pub controller: Arc<dyn ControllerFactory + Send + Sync>,
    /// Bytes to send; `None` for as many as the time allows.
    pub bytes: Option<u64>,
    /// Simulated time at most.
    pub duration: Span,
    /// Interval of the samples.
    pub interval: Span,
    /// Root of every random stream.
    pub seed: u64,
}

impl std::fmt::Debug for Transfer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { forward, reverse, bytes, duration, seed, .. } = self;
        f.debug_struct("Transfer")
            .field("forward", forward)
            .field("reverse", reverse)
            .field("bytes", bytes)
            .field("duration", duration)
            .field("seed", seed)
            .finish_non_exhaustive()
    }
}

/// The sender at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// quinn's window, in bytes.
    pub cwnd: u64,
    /// quinn's smoothed RTT.
    pub rtt: Span,
    /// Bytes that the receiver's application has read.
    pub received: u64,
    /// Packets that the sender believes lost, so far.
    pub lost_packets: u64,
}

/// What came of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Bytes that the receiver's application has read, all of them checked.
    pub received: u64,
    /// When the last of them was read, after the beginning of the handshake.
    pub took: Span,
    /// All were sent and read.
    pub complete: bool,
    /// Datagrams that the sender has sent.
    pub sent_packets: u64,
    /// Packets that the sender believes lost.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// quinn's smallest RTT.
    pub rtt_min: Span,
    /// Bytes of a full datagram at the end.
    pub mtu: u16,
    /// Loss and ECN events of the sender.
    pub congestion_events: u64,
    /// Datagrams of the sender that the queue refused, and that were in error.
    pub dropped: (u64, u64),
    /// The sender over time.
    pub samples: Vec<Sample>,
}

impl Report {
    /// Bits per second that reached the receiver's application, handshake included.
    pub fn goodput_bps(&self) -> f64 {
        8.0 * self.received as f64 / self.took.secs().max(1e-9)
    }

    /// Mean of the sampled RTT, in seconds; the samples before the first acknowledgement are left out.
    pub fn rtt_mean_s(&self) -> f64 {
        let known: Vec<f64> = self.samples.iter().filter(|s| s.received > 0).map(|s| s.rtt.secs()).collect();
        known.iter().sum::<f64>() / known.len().max(1) as f64
    }
}

/// Why a transfer could not be simulated.
#[derive(Debug)]
pub enum SimulationError {
    /// TLS failed to start.
    Tls(TlsError),
    /// An end gave up the connection.
    Lost(String),
    /// Other bytes were received than had been sent.
    Corrupt(u64),
}

impl std::error::Error for SimulationError {}

impl std::fmt::Display for SimulationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tls(why) => why.fmt(f),
            Self::Lost(why) => write!(f, "the connection was lost: {why}"),
            Self::Corrupt(at) => write!(f, "byte {at} was received other than it had been sent"),
        }
    }
}

/// Sends over a simulated link.
///
/// # Errors
/// The connection was lost, as after an outage of the link of more than its idle timeout, or a
/// law was broken by a bug.
pub fn run(transfer: &Transfer<'_>) -> Result<Report, SimulationError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "quinn counts from an instant; which one it is changes nothing"
    )]
    let origin = Instant::now();
    World::new(transfer, origin)?.run()
}

#[cfg(test)]
mod tests;
