//! A control group of its own for a command, whose TCP connections use one algorithm of the kernel.

use std::fs;
use std::path::PathBuf;

/// Where version 2 of control groups is mounted. `Err` says that it is not.
///
/// # Errors
/// One line.
pub fn root() -> Result<PathBuf, String> {
    let mounts =
        fs::read_to_string("/proc/self/mountinfo").map_err(|e| format!("/proc/self/mountinfo: {e}"))?;
    let found = mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let path = mount.split(' ').nth(4)?;
        kind.starts_with("cgroup2 ").then(|| PathBuf::from(path))
    });
    found.ok_or_else(|| "control groups version 2 are not mounted: mount -t cgroup2 none DIR".into())
}

#[cfg(feature = "bpf")]
pub use chosen::ChosenGroup;

#[cfg(feature = "bpf")]
mod chosen {
    use std::fs::{self, File};
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use libbpf_rs::{Link, ObjectBuilder};

    use crate::{Error, datapath, objects, support};

    /// A control group with the sockops program: every TCP connection of its processes, made or accepted, is given the algorithm.
    /// Dropping it takes the program away and removes the group.
    #[derive(Debug)]
    pub struct ChosenGroup {
        path: PathBuf,
        link: Option<Link>,
    }

    impl ChosenGroup {
        /// Makes a group whose connections use the kernel's algorithm `name`.
        ///
        /// # Errors
        /// One line: the algorithm is unknown, the group cannot be made, or the program cannot be attached.
        pub fn new(name: &str) -> Result<Self, Error> {
            static MADE: AtomicU32 = AtomicU32::new(0);
            support::check().map_err(Error)?;
            if !datapath::available().iter().any(|known| known == name) {
                return Err(Error(format!("the kernel has no algorithm called {name}: attach it first")));
            }
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let root = super::root().map_err(Error)?;
            let path = root.join(format!("bentpipe-{}-{number}", std::process::id()));
            let object = objects::find("sockops")
                .ok_or_else(|| Error("the program sockops was not compiled in".into()))?;
            let loaded = ObjectBuilder::default().open_memory(object).and_then(|mut open| {
                for mut map in open.maps_mut() {
                    if map.name().to_string_lossy().ends_with(".rodata")
                        && let Some(value) = map.initial_value_mut()
                    {
                        value.fill(0);
                        value[..name.len()].copy_from_slice(name.as_bytes());
                    }
                }
                open.load()
            });
            let loaded = loaded.map_err(|e| Error::from_libbpf("loading sockops", &e))?;
            fs::create_dir(&path)
                .map_err(|e| Error(format!("the control group {} cannot be made: {e}", path.display())))?;
            let mut group = Self { path, link: None };
            let folder = File::open(&group.path).map_err(|e| {
                Error(format!("the control group {} cannot be opened: {e}", group.path.display()))
            })?;
            let program = loaded.progs_mut().next().ok_or_else(|| Error("sockops has no program".into()))?;
            let link = program.attach_cgroup(folder.as_raw_fd());
            group.link = Some(link.map_err(|e| Error::from_libbpf("attaching sockops", &e))?);
            Ok(group)
        }

        /// The group's directory.
        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Puts a process into the group; what it starts stays there too.
        ///
        /// # Errors
        /// The process does not exist, or is not ours to move.
        pub fn take(&self, pid: u32) -> Result<(), Error> {
            fs::write(self.path.join("cgroup.procs"), pid.to_string())
                .map_err(|e| Error(format!("process {pid} cannot be put into {}: {e}", self.path.display())))
        }
    }

    impl Drop for ChosenGroup {
        fn drop(&mut self) {
            self.link = None;
            // Processes of the group that are left go to the group above; one that is just ending takes a moment.
            for _ in 0..50 {
                let left = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
                let above = self.path.parent().map(|parent| parent.join("cgroup.procs"));
                for pid in left.lines() {
                    above.as_ref().map(|above| fs::write(above, pid).ok());
                }
                if fs::remove_dir(&self.path).is_ok() || !self.path.exists() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}
