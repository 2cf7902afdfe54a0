//! A network namespace without a name. It lives as long as a file descriptor, a process or a device in it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use crate::counters::Counters;
use crate::error::{EmulationError, unable};
use crate::system_call::checked;

const NEEDS: &str = "run it as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN";

/// Settings of each namespace before a program runs there: a path below /proc/sys/net, and the value. Windows
/// are large enough for a link of 100 Mbit/s and 500 ms with a full queue. Nothing is remembered from one
/// connection to the next. The kernel sends no packets of its own: devices have no IPv6 addresses except
/// those that they are given (mode 1 of include/uapi/linux/if_link.h), so that nobody looks for routers or
/// reports groups.
const SETTINGS: [(&str, &str); 6] = [
    ("ipv4/tcp_rmem", "4096 131072 67108864"),
    ("ipv4/tcp_wmem", "4096 65536 67108864"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
    /// The kernel's counters there.
    pub(crate) counters: Counters,
    /// Does the kernel have IPv6?
    pub(crate) has_ipv6: bool,
}

impl Namespace {
    /// A new namespace, in which only the loopback device is up.
    pub(crate) fn new() -> Result<Self, EmulationError> {
        // This takes a separate thread, because a thread that has left its namespace should not be used for
        // anything else.
        let made = std::thread::spawn(|| {
            // SAFETY: unshare has no memory of ours as an argument; it changes this thread alone.
            checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })
                .map_err(unable("make a network namespace", NEEDS))?;
            let open = unable("open a network namespace", "mount /proc");
            let file = File::open("/proc/thread-self/ns/net").map_err(open)?;
            configure().map_err(unable("set a network namespace up", "/proc/sys must be writable"))?;
            crate::device::raise_loopback().map_err(unable("set a loopback device up", NEEDS))?;
            let counters = Counters::open().map_err(unable("read the kernel's counters", "mount /proc"))?;
            Ok(Self { file, counters, has_ipv6: Path::new("/proc/sys/net/ipv6").exists() })
        });
        made.join().unwrap_or_else(|_| Err(EmulationError::Wrong("a thread has failed".to_owned())))
    }

    /// Moves the calling thread there. Threads and processes that it starts from now on are there, too.
    pub(crate) fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open and that of a namespace; setns changes this thread alone.
        checked(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }

    /// Does `work` in a thread inside.
    pub(crate) fn with<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                work()
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has failed")))
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Turns IPv6 off in the namespace of this thread.
pub(crate) fn without_ipv6() -> io::Result<()> {
    match fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Writes the settings of the namespace of this thread.
fn configure() -> io::Result<()> {
    for (path, value) in SETTINGS {
        match fs::write(format!("/proc/sys/net/{path}"), value) {
            // A kernel without IPv6 has nothing to configure.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.starts_with("ipv6") => {}
            other => other?,
        }
    }
    Ok(())
}
