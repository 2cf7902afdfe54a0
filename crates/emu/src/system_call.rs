//! The answers of system calls.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The answer; the system's error if it is below zero.
pub(crate) fn checked<T: PartialOrd + Default>(answer: T) -> io::Result<T> {
    if answer < T::default() { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The descriptor with which a call has answered: it is new, and nobody else has it.
pub(crate) fn owned(answer: RawFd) -> io::Result<OwnedFd> {
    let fd = checked(answer)?;
    // SAFETY: the descriptor is new, open, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
