//! The quantities by which the keys of a queue are resolved.

use bentpipe_cc::Span;

use crate::keys::error::{Error, Key, Origin};
use crate::keys::units::{BitRate, Duration, MAX_PACKET, QueueRoom, QueueSize, Size};
use crate::link::time_line::TimeLine;

/// Smallest queue that a limit in bdp may give, in packets: with less, the ends of a path see bursts as loss.
const MIN_BDP_PACKETS: u64 = 5;
/// Shortest time between two updates of a probability: each update is computed, even while nothing arrives.
const MIN_UPDATE: Span = Span(100_000);
/// Most updates in a run; they take some two minutes.
const MAX_UPDATES: u64 = 30_000_000_000;

/// Room in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// In packets of any size.
    Packets(u64),
    /// In bytes on the wire.
    Bytes(u64),
}

impl QueueLimit {
    /// Is there room for `size` more bytes where this much waits?
    pub(crate) fn has_room(self, packets: u64, bytes: u64, size: u16) -> bool {
        match self {
            QueueLimit::Packets(most) => packets < most,
            QueueLimit::Bytes(most) => bytes + u64::from(size) <= most,
        }
    }
}

/// The whole bytes that a transmitter of `rate_bps` sends in `time`.
pub(super) fn bytes_in(time: Span, rate_bps: u64) -> u64 {
    let bytes = u128::from(rate_bps) * u128::from(time.0) / 8_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The surroundings of a queue in a scenario, and the place where its mistakes are reported.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The direction of a link, as warnings name it.
    pub(crate) link: &'a str,
    /// The rate of its transmitter, in the mean if it changes.
    pub(crate) rate: BitRate,
    /// The rate of a bandwidth-delay product.
    pub(crate) nominal: BitRate,
    /// The rate over time, if anything of the direction changes.
    pub(crate) line: Option<&'a TimeLine>,
    /// Longest base round-trip time of the flows that cross it.
    pub(crate) rtt: Span,
    /// Their largest packet, bytes.
    pub(crate) wire: u32,
    /// Rate or delays change, and nothing says which are nominal: these are those at 0 s.
    pub(crate) guessed: bool,
    /// Length of the run.
    pub(crate) duration: Span,
    /// The queue's table in the scenario.
    pub(crate) key: &'a Key,
    /// Where each key of the scenario was written.
    pub(crate) origin: &'a Origin,
    /// What the user ought to check.
    pub(crate) warnings: &'a mut Vec<String>,
}

impl Context<'_> {
    /// A mistake in the key called `name`.
    pub(crate) fn error(&self, name: &str, message: impl Into<String>) -> Error {
        self.origin.error(&self.key.with(name), message)
    }

    /// Bits of `times` bandwidth-delay products.
    pub(crate) fn bdp_bits(&self, times: f64) -> f64 {
        times * self.nominal.0 as f64 * self.rtt.secs()
    }

    /// The room of a queue. A bandwidth-delay product is rate x base round-trip time in packets of the flows'
    /// largest size, rounded, at least [`MIN_BDP_PACKETS`].
    pub(crate) fn limit(&mut self, size: QueueSize) -> QueueLimit {
        let Self { link, wire, .. } = *self;
        match size {
            QueueSize::Packets(n) => {
                if n == 0 {
                    self.warnings.push(format!(
                        "link {link}: its queue has no room; what comes while a packet is sent is dropped"
                    ));
                }
                QueueLimit::Packets(n)
            }
            QueueSize::Bytes(n) => {
                if n < u64::from(wire) {
                    self.warnings
                        .push(format!("link {link}: no packet of {wire} bytes fits a queue of {n} bytes"));
                }
                QueueLimit::Bytes(n)
            }
            QueueSize::Bdp(times) => {
                if self.guessed {
                    self.warnings.push(format!(
                        "link {link}: {times} bdp is of rate and delay at 0 s, but they change; say which are meant, e.g. \
                            nominal = {{ rate = \"{}\", delay = \"20 ms\" }}",
                        self.nominal
                    ));
                }
                let packets = libm::round(self.bdp_bits(times) / (8.0 * f64::from(wire))) as u64;
                if packets < MIN_BDP_PACKETS {
                    self.warnings.push(format!(
                        "link {link}: {times} bdp is {packets} packets; the queue has room for \
                            {MIN_BDP_PACKETS}"
                    ));
                }
                QueueLimit::Packets(packets.max(MIN_BDP_PACKETS))
            }
        }
    }

    /// The room of a queue whose limit may be a time, and that time. Where the rate changes, the
    /// room is that of the highest.
    pub(crate) fn room(&mut self, room: QueueRoom) -> (QueueLimit, Option<Span>) {
        let time = match room {
            QueueRoom::Size(size) => return (self.limit(size), None),
            QueueRoom::Time(Duration(time)) => time,
        };
        let rates = || {
            self.line.into_iter().flat_map(TimeLine::steps).map(|step| step.rate_bps).filter(|rate| *rate > 0)
        };
        let least = bytes_in(time, rates().min().unwrap_or(self.rate.0));
        let most = bytes_in(time, rates().max().unwrap_or(self.rate.0));
        if least < u64::from(self.wire) {
            self.warnings.push(format!(
                "link {}: no packet of {} bytes fits a queue of {}, which is {least} bytes at the lowest rate",
                self.link,
                self.wire,
                Duration(time)
            ));
        }
        (QueueLimit::Bytes(most), Some(time))
    }

    /// Refuses a queue without room where it needs some; `how` says which queue that is, and why.
    pub(crate) fn check_room(&self, limit: QueueLimit, how: &str) -> Result<(), Error> {
        match limit {
            QueueLimit::Packets(0) | QueueLimit::Bytes(0) => {
                Err(self
                    .error("limit", format!("a {how} and cannot be without room; write e.g. \"2.5 bdp\"")))
            }
            _ => Ok(()),
        }
    }

    /// The value of key `name`, which may not be zero.
    pub(crate) fn longer_than_zero(&self, given: Duration, name: &str) -> Result<Span, Error> {
        match given.0 {
            Span::ZERO => Err(self.error(name, "must be longer than zero; write e.g. \"15 ms\"")),
            fine => Ok(fine),
        }
    }

    /// The value of key `update`, the time between two updates of a probability.
    pub(crate) fn update_interval(&self, update: Duration) -> Result<Span, Error> {
        if update.0 < MIN_UPDATE {
            return Err(
                self.error("update", format!("{update} is out of range; it must be 100 us or longer"))
            );
        }
        let shortest = Duration(Span(self.duration.0.div_ceil(MAX_UPDATES)));
        if update.0 < shortest.0 {
            let message = format!("{update} is too short for so long a run; it must be {shortest} or longer");
            return Err(self.error("update", message));
        }
        Ok(update.0)
    }

    /// The value of key `name`, a size that a packet can have, in bytes.
    pub(crate) fn packet_size(&self, size: Size, name: &str) -> Result<u32, Error> {
        match u32::try_from(size.0) {
            Ok(bytes) if (1..=MAX_PACKET).contains(&size.0) => Ok(bytes),
            _ => {
                let message = format!("{size} is out of range; it must be from 1 to {MAX_PACKET} bytes");
                Err(self.error(name, message))
            }
        }
    }
}
