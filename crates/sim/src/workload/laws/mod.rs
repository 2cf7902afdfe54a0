//! Laws of sizes, of lengths of time and of numbers: a file for each, and the lists of all.
//!
//! The file of a law holds the keys that a user writes, with units, ranges and defaults, and the law at work,
//! where that differs. Draws invert the distribution function. Functions come from `libm`, so that every
//! platform draws the same.

mod exponential;
mod kind;
mod list;
mod log_normal;
mod pareto;

use bentpipe_cc::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::keys::order::in_order;
use crate::keys::units::{Duration, Size};
use crate::link::random::Stream;
pub(crate) use exponential::exponential;
pub(crate) use kind::WrongKey;
use kind::{Law, LawKeys, MeanLaw};

/// Largest value that is drawn.
const LARGEST: f64 = 1e12;

/// Makes all that knows every law of a quantity: the laws in scenarios, those at work, what they draw, and
/// the trait of a law at work. A line: the kind in scenarios, its file, its keys there, and the law at work
/// unless the keys are that.
macro_rules! laws {
    (law $keys:ident) => { $keys };
    (law $keys:ident $law:path) => { $law };
    (
        $(#[$about:meta])*
        $laws:ident, at work $at_work:ident, draws $value:ty, by $rule:path:
        $($kind:literal is $file:ident: $keys:ident $(, $law:ident)?;)*
    ) => {
        $(pub use $file::$keys;)*

        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", deny_unknown_fields)]
        #[schemars(transform = in_order::<$laws>)]
        #[expect(missing_docs, reason = "each kind is documented where its keys are")]
        pub enum $laws {
            $(#[serde(rename = $kind)] $keys($keys),)*
        }

        $(#[$about])*
        ///
        /// At work, or always the same value.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each kind is documented where its keys are")]
        pub enum $at_work {
            Fixed($value),
            $($keys(laws!(law $keys $($file::$law)?)),)*
        }

        impl $laws {
            /// The law at work.
            pub(crate) fn resolve(&self) -> Result<$at_work, WrongKey> {
                match self {
                    $($laws::$keys(keys) => keys.resolve().map($at_work::$keys),)*
                }
            }
        }

        impl $at_work {
            fn rule(&self) -> &dyn $rule {
                match self {
                    $at_work::Fixed(value) => value,
                    $($at_work::$keys(law) => law,)*
                }
            }

            /// The next value.
            pub(crate) fn draw(&self, stream: &mut Stream) -> $value {
                self.rule().draw(stream)
            }
        }
    };
}

laws! {
    /// A law of sizes.
    SizeLaw, at work Sizes, draws u64, by MeanLaw<u64>:
    "exponential" is exponential: ExponentialSizes;
    "pareto" is pareto: ParetoSizes;
    "log-normal" is log_normal: LogNormalSizes;
    "list" is list: SizeList, ListedSizes;
    "file" is list: SizeFile, ListedSizes;
}

laws! {
    /// A law of lengths of time.
    LengthLaw, at work Lengths, draws Span, by MeanLaw<Span>:
    "exponential" is exponential: ExponentialLengths;
}

laws! {
    /// A law of numbers.
    CountLaw, at work ObjectNumbers, draws u64, by Law<u64>:
    "pareto-count" is pareto: ParetoCounts;
}

/// Payload of transfers: one size, or a law by which each is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum TransferSize {
    /// All alike.
    Fixed(Size),
    /// Random.
    Drawn(SizeLaw),
}

/// Lengths of time: one, or a law by which each is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Length {
    /// All alike.
    Fixed(Duration),
    /// Random.
    Drawn(LengthLaw),
}

/// How many objects a page has: one number, or a law by which it is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ObjectCount {
    /// Always this number.
    Fixed(u64),
    /// Random.
    Drawn(CountLaw),
}

impl TransferSize {
    /// The name of the file with the sizes, to be changed.
    pub(crate) fn file_mut(&mut self) -> Option<&mut String> {
        match self {
            TransferSize::Drawn(SizeLaw::SizeFile(SizeFile { file })) => Some(file),
            _ => None,
        }
    }
}

impl Sizes {
    /// The mean in bytes; infinite for a heavy tail without bound.
    pub(crate) fn mean(&self) -> f64 {
        self.rule().mean()
    }
}

impl Lengths {
    /// The mean.
    pub(crate) fn mean(&self) -> Span {
        Span(self.rule().mean() as u64)
    }

    /// Is it always zero?
    pub(crate) fn is_zero(&self) -> bool {
        self.mean() == Span::ZERO
    }
}

/// One value is a law, too.
impl<Value: Copy> Law<Value> for Value {
    fn draw(&self, _: &mut Stream) -> Value {
        *self
    }
}

impl MeanLaw<u64> for u64 {
    fn mean(&self) -> f64 {
        *self as f64
    }
}

impl MeanLaw<Span> for Span {
    fn mean(&self) -> f64 {
        self.0 as f64
    }
}

/// Refuses a key that says a size of nothing.
fn not_empty(name: &'static str, size: Size) -> Result<(), WrongKey> {
    let message = "there is nothing to send; write e.g. \"10 kB\"";
    if size.0 == 0 { Err((name, message.to_owned())) } else { Ok(()) }
}

/// A size as a whole number of bytes, at least one.
fn whole(size: f64) -> u64 {
    libm::round(size.clamp(1.0, LARGEST)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const DRAWS: u32 = 200_000;

    /// Draws of a law, sorted.
    pub(super) fn drawn(law: &impl Law<u64>) -> Vec<f64> {
        let mut stream = Stream::new(7, "sizes");
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| law.draw(&mut stream) as f64).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    /// Sorted draws at a share of all.
    pub(super) fn at(drawn: &[f64], share: f64) -> f64 {
        drawn[(share * f64::from(DRAWS)) as usize]
    }

    pub(super) fn mean(drawn: &[f64]) -> f64 {
        drawn.iter().sum::<f64>() / f64::from(DRAWS)
    }

    #[test]
    fn one_value_takes_no_draw() {
        let (mut stream, mut other) = (Stream::new(7, "counts"), Stream::new(7, "counts"));
        assert_eq!(ObjectNumbers::Fixed(7).draw(&mut stream), 7);
        assert_eq!(Lengths::Fixed(Span(3)).draw(&mut stream), Span(3));
        assert_eq!(stream.uniform(), other.uniform());
    }
}
