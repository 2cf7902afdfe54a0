//! What the file of each law defines.

use crate::link::random::Stream;

/// A wrong key of a law: its name and the message.
pub(crate) type WrongKey = (&'static str, String);

/// The keys of a law for such values.
pub(super) trait LawKeys<Value> {
    /// The law in use.
    type AtWork: Law<Value>;

    /// The law in use, if the keys fit together.
    fn resolve(&self) -> Result<Self::AtWork, WrongKey>;
}

/// A law in use.
pub(super) trait Law<Value> {
    /// Refuses keys that do not fit together.
    fn check(&self) -> Result<(), WrongKey> {
        Ok(())
    }

    /// The next value.
    fn draw(&self, stream: &mut Stream) -> Value;
}

/// A law that has a mean: in bytes, or in nanoseconds.
pub(super) trait MeanLaw<Value>: Law<Value> {
    /// The mean; infinite for a heavy tail without bound.
    fn mean(&self) -> f64;
}

/// Most keys are themselves the law in use.
impl<Value, Keys: Law<Value> + Clone> LawKeys<Value> for Keys {
    type AtWork = Self;

    fn resolve(&self) -> Result<Self, WrongKey> {
        self.check().map(|()| self.clone())
    }
}
