//! Instants, durations and rates as integers, so that the same run gives the same bits everywhere.

use core::ops::{Add, AddAssign, Sub};

/// An instant: nanoseconds since the start of the run (584 years of range).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A duration in nanoseconds. (`core::time::Duration` keeps seconds and nanoseconds apart and costs a division
/// at every conversion; this is one integer.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A rate in bytes per second, the kernel's unit. Bits per second appear only at the user's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Time {
    /// The last instant that can be represented; used as "never".
    pub const MAX: Time = Time(u64::MAX);

    /// Seconds since the start of the run.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
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
        self.0 as f64 / 1e9
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
