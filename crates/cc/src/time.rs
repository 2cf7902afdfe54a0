//! Instants, durations and rates as integers, so that the same run gives the same bits everywhere.

use core::ops::{Add, AddAssign, Sub};

/// An instant: nanoseconds since the start of the run (584 years of range).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration in nanoseconds. (`core::time::Duration` keeps seconds and nanoseconds apart and costs a
/// division at every conversion; this is one integer.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A rate in bytes per second, the kernel's unit. Bits per second appear only at the user's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// `n` as a float. The processor's own instruction takes signed numbers only; for others there are six. (The
/// sign is looked at afterwards, since a compiler that knows it beforehand takes the six.)
#[inline]
pub(crate) fn real(n: u64) -> f64 {
    let x = n as i64 as f64;
    if x >= 0.0 { x } else { real_of_large(n) }
}

/// Out of the way, or the six would be worked out whether they are needed or not.
#[cold]
#[inline(never)]
fn real_of_large(n: u64) -> f64 {
    n as f64
}

/// `x` without its fraction; negative and NaN become zero, too large becomes the greatest number. As
/// [`real`], the other way.
#[inline]
pub(crate) fn whole(x: f64) -> u64 {
    match x as i64 {
        n if (0..i64::MAX).contains(&n) => n as u64,
        _ => whole_of_any(x),
    }
}

#[cold]
#[inline(never)]
fn whole_of_any(x: f64) -> u64 {
    x as u64
}

impl Time {
    /// The last instant that can be represented; used as "never".
    pub const MAX: Time = Time(u64::MAX);

    /// Seconds since the start of the run.
    pub fn secs(self) -> f64 {
        real(self.0) / 1e9
    }

    /// The time from `earlier` to `self`, or zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// The longest duration; used as "not measured yet".
    pub const MAX: Span = Span(u64::MAX);
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms.saturating_mul(1_000_000))
    }

    /// `s` seconds, rounded to the nearest nanosecond; negative and NaN become zero, too long becomes `MAX`.
    pub fn from_secs(s: f64) -> Span {
        Span(libm::round(s * 1e9) as u64)
    }

    /// This duration in seconds.
    pub fn secs(self) -> f64 {
        real(self.0) / 1e9
    }
}

impl Rate {
    /// The rate in bytes per second as a float.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, d: Span) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, d: Span) -> Span {
        Span(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, d: Span) {
        *self = *self + d;
    }
}

#[cfg(test)]
mod tests {
    use super::{real, whole};

    /// The language's own conversions are right, and slow.
    #[test]
    fn numbers_are_converted_as_by_the_language() {
        for shift in 0..64 {
            for near in [-1, 0, 1] {
                let n = (1_u64 << shift).wrapping_add_signed(near);
                assert_eq!(real(n).to_bits(), (n as f64).to_bits(), "{n}");
                for x in [n as f64, n as f64 + 0.75, -(n as f64), 1.0 / n as f64] {
                    assert_eq!(whole(x), x as u64, "{x}");
                }
            }
        }
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300, -0.0, 2.0 * u64::MAX as f64] {
            assert_eq!(whole(x), x as u64, "{x}");
        }
    }
}
