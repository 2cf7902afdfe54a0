//! What the file of each kind of loss model defines.

use std::fmt;

use bentpipe_cc::Time;

use crate::link::random::Stream;

/// A wrong key of a loss model: its name and the message.
pub(crate) type Wrong = (&'static str, String);

/// What independent errors strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Per {
    Packet,
    Bit,
}

/// The keys of one kind of loss model.
pub(super) trait LossKeys {
    /// The plan into which they resolve.
    type Plan: PlannedLoss;

    /// The plan.
    fn resolve(&self) -> Result<Self::Plan, Wrong>;

    /// The name of the file that it reads, if it reads one.
    fn file_mut(&mut self) -> Option<&mut String> {
        None
    }
}

/// Keys without units are their own plan.
impl<Keys: PlannedLoss + Clone> LossKeys for Keys {
    type Plan = Self;

    fn resolve(&self) -> Result<Self, Wrong> {
        Ok(self.clone())
    }
}

/// What a run needs to know of one kind of loss model.
pub(super) trait PlannedLoss {
    /// The rate of its errors, and what they strike, if they are independent.
    fn independent(&self) -> Option<(Per, f64)> {
        None
    }

    /// The rate of independent errors. A time line may set it.
    fn rate_mut(&mut self) -> Option<&mut f64> {
        None
    }

    /// The rule before the first packet; it draws from `random`.
    fn start(&self, random: &mut Stream) -> Box<dyn LossRule>;
}

/// A loss model's rule in use. All its draws come from the same stream.
pub(super) trait LossRule: fmt::Debug + Send {
    /// Is the next packet, of `size` bytes and fully sent at `sent`, lost?
    fn strikes(&mut self, sent: Time, size: u16, random: &mut Stream) -> bool;

    /// Sets the rate, if its errors are independent.
    fn set_rate(&mut self, _rate: f64, _random: &mut Stream) {}
}
