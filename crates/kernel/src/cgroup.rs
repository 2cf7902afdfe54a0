//! Control groups (version 2): the group of this process, and groups below it. `chosen_group.rs` makes one whose TCP
//! connections use one algorithm of the kernel.
//!
//! A group is made below the caller's own, so that limits, accounting and the scope of systemd still apply,
//! and so that a delegated subtree is enough. It enables no controller and sets no limit. Its maker keeps the
//! directory locked (flock(2)) for as long as it lives. The kernel releases the lock when the maker ends,
//! however it ends: the maker of an unlocked group is dead. That holds across namespaces, where a process
//! number would name another process.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The prefix of the names of our groups.
const PREFIX: &str = "bentpipe-run-";
/// Levels below a mounted hierarchy that are searched for groups: more than nested containers have.
const DEEPEST: u32 = 32;

/// Processes that are moved at a time: a process that endlessly starts others is not followed endlessly.
const MOST_MOVED: usize = 10_000;

/// A mounted hierarchy of version 2.
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    /// The group at the mount point, as `/proc/self/cgroup` would name it.
    root: PathBuf,
    at: PathBuf,
}

/// The mounted hierarchies in the text of /proc/self/mountinfo (proc_pid_mountinfo(5)).
fn mounted(table: &str) -> Vec<Mounted> {
    let one = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(3);
        let (root, at) = (unescaped(words.next()?), unescaped(words.next()?));
        kind.starts_with("cgroup2 ").then_some(Mounted { root, at })
    };
    table.lines().filter_map(one).collect()
}

/// A path of /proc/self/mountinfo, which writes a blank as `\040`: a backslash and three octal digits.
fn unescaped(word: &str) -> PathBuf {
    let bytes = word.as_bytes();
    let mut path = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = word.get(at + 1..at + 4).filter(|_| bytes[at] == b'\\');
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                at += 4;
            }
            None => {
                path.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&path))
}

/// The directory of the group that /proc/self/cgroup names, in one of the mounted hierarchies.
fn place(named: &Path, hierarchies: &[Mounted]) -> Option<PathBuf> {
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    hierarchies.iter().find_map(|Mounted { root, at }| {
        // "/.." is above the root of this process's cgroup namespace: which names lead down
        // from there is not known.
        if climbs(root) || climbs(named) {
            return None;
        }
        Some(at.join(named.strip_prefix(root).ok()?))
    })
}

fn hierarchies() -> Result<Vec<Mounted>, String> {
    let table =
        fs::read_to_string("/proc/self/mountinfo").map_err(|e| format!("/proc/self/mountinfo: {e}"))?;
    Ok(mounted(&table))
}

/// The directory of the control group in which this process is.
///
/// # Errors
/// One line: version 2 is not mounted, or not where this process would be seen.
pub fn own() -> Result<PathBuf, String> {
    let hierarchies = hierarchies()?;
    if hierarchies.is_empty() {
        return Err("control groups version 2 are not mounted: mount -t cgroup2 none DIR".into());
    }
    let text = fs::read_to_string("/proc/self/cgroup").map_err(|e| format!("/proc/self/cgroup: {e}"))?;
    let named = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    let found = place(Path::new(named), &hierarchies).filter(|place| place.join("cgroup.procs").exists());
    found.ok_or_else(|| {
        format!(
            "the control group {named} of this process is not to be seen where cgroup2 is mounted ({}): mount it \
             again in this namespace, mount -t cgroup2 none DIR",
            hierarchies[0].at.display()
        )
    })
}

/// What the next verb has found of a killed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The directory of its control group.
    pub path: PathBuf,
    /// Processes of its command that still run. They are now in the group above, where they would be without
    /// the run.
    pub moved: Vec<u32>,
    /// Is the group gone? It remains if the group above takes no processes, or if there are groups below it.
    /// It then goes when it is empty.
    pub removed: bool,
}

/// Removes the groups whose makers were killed, wherever they are. A group that cannot be changed is left
/// alone; each change is reported.
pub fn sweep() -> Vec<Leftover> {
    let mut found = Vec::new();
    for Mounted { at, .. } in hierarchies().unwrap_or_default() {
        search(&at, DEEPEST, &mut found);
    }
    found
}

/// Searches below `group`, the deepest first: only an empty group can be removed.
fn search(group: &Path, levels: u32, found: &mut Vec<Leftover>) {
    let Ok(entries) = fs::read_dir(group) else { return };
    let below = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for path in below.map(|entry| entry.path()) {
        if levels > 0 {
            search(&path, levels - 1, found);
        }
        if is_ours(&path)
            && let Ok(lock) = File::open(&path)
            && lock_at_once(&lock)
        {
            let moved = give_back(&path);
            let removed = fs::remove_dir(&path).is_ok();
            if removed || !moved.is_empty() {
                found.push(Leftover { path, moved, removed });
            }
        }
    }
}

fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()))
}

/// Moves the processes of a group to the group above; returns those that have been moved.
pub(crate) fn give_back(group: &Path) -> Vec<u32> {
    let Some(above) = group.parent().map(|parent| parent.join("cgroup.procs")) else { return Vec::new() };
    let (mut tried, mut moved) = (Vec::new(), Vec::new());
    // The list is read again after each move: the process's threads have gone with it, and it may have
    // started another before.
    while let Some(pid) = processes(group).into_iter().find(|pid| !tried.contains(pid))
        && tried.len() < MOST_MOVED
    {
        tried.push(pid);
        if fs::write(&above, pid.to_string()).is_ok() {
            moved.push(pid);
        }
    }
    moved
}

/// The processes of a group, without those of another PID namespace. The kernel lists these as 0, which means
/// this process when it is written.
fn processes(group: &Path) -> Vec<u32> {
    // A threaded group does not list its processes. A thread represents its process when it is written to
    // cgroup.procs.
    let text = fs::read_to_string(group.join("cgroup.procs"))
        .or_else(|_| fs::read_to_string(group.join("cgroup.threads")));
    let text = text.unwrap_or_default();
    text.lines().filter_map(|pid| pid.parse().ok()).filter(|pid| *pid != 0).collect()
}

/// Makes a group below `parent` that processes may enter, and locks it.
#[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "without programs no group is made"))]
pub(crate) fn make(parent: &Path) -> io::Result<(PathBuf, File)> {
    for number in 0..1000 {
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other?,
        }
        // Until it is locked, a sweep may consider it left behind.
        let Ok(folder) = File::open(&path) else { continue };
        if !lock_at_once(&folder) || !path.exists() {
            continue;
        }
        if let Err(error) = open_to_processes(&path) {
            fs::remove_dir(&path).ok();
            return Err(error);
        }
        return Ok((path, folder));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Locks it until it is closed, unless somebody else has locked it.
fn lock_at_once(folder: &File) -> bool {
    // SAFETY: flock has no memory of ours as an argument, and the descriptor is open.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Below a threaded group, or one with threads of its own and threaded controllers, a new group takes no
/// process until it is threaded as well (Documentation/admin-guide/cgroup-v2.rst, "Threads").
fn open_to_processes(group: &Path) -> io::Result<()> {
    let kind = group.join("cgroup.type");
    match fs::read_to_string(&kind) {
        Ok(text) if text.trim() == "domain invalid" => fs::write(kind, "threaded"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Mounted, is_ours, mounted, place};

    fn hierarchy(root: &str, at: &str) -> Mounted {
        Mounted { root: root.into(), at: at.into() }
    }

    #[test]
    fn hierarchies_are_read_as_the_kernel_writes_them() {
        let table = "\
25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw
34 25 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
35 25 0:30 /user\\040one /mnt/a\\134b\\040c ro,relatime - cgroup2 none rw
36 25 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        let expected = [hierarchy("/", "/sys/fs/cgroup"), hierarchy("/user one", "/mnt/a\\b c")];
        assert_eq!(mounted(table), expected);
    }

    #[test]
    fn a_group_is_found_where_it_is_mounted() {
        let whole = || hierarchy("/", "/sys/fs/cgroup");
        let of = |named: &str, there: &[Mounted]| place(Path::new(named), there);
        let found = |path: &str| Some(PathBuf::from(path));
        assert_eq!(of("/", &[whole()]), found("/sys/fs/cgroup/"));
        assert_eq!(of("/user.slice/a.scope", &[whole()]), found("/sys/fs/cgroup/user.slice/a.scope"));
        // A part of the hierarchy that was bound into a container.
        assert_eq!(of("/pod/one", &[hierarchy("/pod", "/cg")]), found("/cg/one"));
        assert_eq!(of("/pods/one", &[hierarchy("/pod", "/cg")]), None);
        // A mount from before the cgroup namespace, and one within it.
        assert_eq!(of("/a", &[hierarchy("/../..", "/old"), hierarchy("/", "/new")]), found("/new/a"));
        assert_eq!(of("/a", &[hierarchy("/../..", "/old")]), None);
        // Moved out of its namespace.
        assert_eq!(of("/../b", &[whole()]), None);
    }

    #[test]
    fn other_groups_are_left_alone() {
        assert!(is_ours(Path::new("/sys/fs/cgroup/bentpipe-run-7-0")));
        for name in ["bentpipe.service", "bentpipe-7-0", "xbentpipe-run-7-0", ""] {
            assert!(!is_ours(&Path::new("/sys/fs/cgroup").join(name)), "{name}");
        }
    }
}
