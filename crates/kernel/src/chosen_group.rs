//! A control group whose connections use one algorithm of the kernel.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use libbpf_rs::{Link, ObjectBuilder};

use crate::{Error, cgroup, datapath, objects, support};

/// A control group with the sockops program: every TCP connection of its processes, made or accepted,
/// gets the algorithm. Dropping it detaches the program and removes the group; processes that still run
/// in it go to the group above.
#[derive(Debug)]
pub struct ChosenGroup {
    path: PathBuf,
    /// Open and locked for as long as this lives.
    _folder: File,
    link: Option<Link>,
}

impl ChosenGroup {
    /// Makes a group, below that of this process, whose connections use the kernel's algorithm `name`.
    ///
    /// # Errors
    /// One line: the algorithm is unknown, the group cannot be made, or the program cannot be attached.
    pub fn new(name: &str) -> Result<Self, Error> {
        support::check().map_err(Error)?;
        if !datapath::available().iter().any(|known| known == name) {
            return Err(Error(format!("the kernel has no algorithm called {name}: attach it first")));
        }
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
        let program = loaded.progs_mut().next().ok_or_else(|| Error("sockops has no program".into()))?;
        let parent = cgroup::own().map_err(Error)?;
        let (path, folder) = cgroup::make(&parent).map_err(|error| unable(&parent, &error))?;
        let attached = program.attach_cgroup(folder.as_raw_fd());
        // If the program was refused, this is dropped, and the group with it.
        let mut group = Self { path, _folder: folder, link: None };
        group.link = Some(attached.map_err(|e| Error::from_libbpf("attaching sockops", &e))?);
        Ok(group)
    }

    /// The group's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a process into the group; the processes that it starts stay there, too.
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
        // A process that is just ending takes a moment.
        for _ in 0..50 {
            cgroup::give_back(&self.path);
            if fs::remove_dir(&self.path).is_ok() || !self.path.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn unable(parent: &Path, error: &io::Error) -> Error {
    Error(format!(
        "a control group below {}, which is this process's own, cannot be made: {error}. It must be writable: \
         Delegate=yes in a service of systemd, a writable cgroup2 in a container",
        parent.display()
    ))
}
