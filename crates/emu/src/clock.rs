//! The wall clock.

use bentpipe_cc::Time;

/// `CLOCK_MONOTONIC`, counted from an instant of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: u64,
}

impl Clock {
    /// Begins now.
    pub(crate) fn begin() -> Self {
        Self { began: monotonic() }
    }

    /// The time since it began.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        Time(monotonic() - self.began)
    }
}

#[inline]
fn monotonic() -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and `at` is a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut at) };
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}
