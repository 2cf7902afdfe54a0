//! The context in which the keys of traffic are resolved.

use crate::keys::error::{Error, Key, Origin};
use crate::keys::units::Size;
use crate::workload::laws::{Length, Lengths, Sizes, TransferSize, WrongKey};

/// The surroundings of traffic in a scenario, and the place where its mistakes are reported.
pub(crate) struct TrafficContext<'a> {
    /// The place at which each key of the scenario was written.
    origin: &'a Origin,
    /// The key of the table.
    key: Key,
}

impl<'a> TrafficContext<'a> {
    /// The context of the traffic of the flow with this key.
    pub(crate) fn new(origin: &'a Origin, flow: &Key) -> Self {
        Self { origin, key: flow.with("traffic") }
    }

    /// An error at key `name`.
    pub(super) fn error(&self, name: &str, message: impl Into<String>) -> Error {
        self.origin.error(&self.key.with(name), message)
    }

    /// An error at item `number` of the list at key `name`.
    pub(super) fn error_at(&self, name: &str, number: usize, message: impl Into<String>) -> Error {
        self.origin.error(&self.key.with(name).with(number), message)
    }

    /// The sizes of key `name`.
    pub(super) fn sizes(&self, size: &TransferSize, name: &str) -> Result<Sizes, Error> {
        match size {
            TransferSize::Fixed(Size(0)) => {
                Err(self.error(name, "there is nothing to send; write e.g. \"10 kB\""))
            }
            TransferSize::Fixed(Size(bytes)) => Ok(Sizes::Fixed(*bytes)),
            TransferSize::Drawn(law) => law.resolve().map_err(|wrong| self.wrong(name, wrong)),
        }
    }

    /// The lengths of time of key `name`.
    pub(super) fn lengths(&self, length: &Length, name: &str) -> Result<Lengths, Error> {
        match length {
            Length::Fixed(duration) => Ok(Lengths::Fixed(duration.0)),
            Length::Drawn(law) => law.resolve().map_err(|wrong| self.wrong(name, wrong)),
        }
    }

    /// The value of key `name`, a size that a packet can have, in bytes.
    pub(super) fn packet_size(&self, size: Size, name: &str) -> Result<u32, Error> {
        size.of_packet(1).map_err(|message| self.error(name, message))
    }

    /// The value of key `request`, in bytes.
    pub(super) fn request(&self, given: Option<Size>, default: u64) -> Result<u64, Error> {
        match given.map_or(default, |size| size.0) {
            0 => Err(self.error("request", "a request is not empty; write e.g. \"100 bytes\"")),
            bytes => Ok(bytes),
        }
    }

    /// The error of a law that key `name` gives.
    pub(super) fn wrong(&self, name: &str, (key, message): WrongKey) -> Error {
        self.origin.error(&self.key.with(name).with(key), message)
    }
}
