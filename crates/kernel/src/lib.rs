//! Controllers of `bentpipe-cc` inside the TCP of the Linux kernel.
//!
//! `datapath` loads one BPF program without a policy and registers it as an algorithm of the kernel's TCP. It
//! sends reports of acknowledgements to an `agent`, which lets the controllers of `bentpipe-cc` decide, one
//! for each flow, and writes their orders back. The datapath applies them at the next acknowledgement, and
//! answers congestion at once by the standing part of the last order. When the agent is silent, a flow goes
//! on as the kernel's reno.
//!
//! | files | content |
//! |---|---|
//! | `bpf/datapath.bpf.c`, `bpf/layout.h` | the datapath, and the data that it shares with the agent |
//! | `bpf/native` | native programs: a header for each algorithm, for the kernel and for tests |
//! | `datapath`, `objects`, `maps`, `bpffs`, `cgroup`, `chosen_group` | loading, registering, pinning; groups for `kernel run` |
//! | `agent`, `steering`, `slots`, `layout` | from a flow's reports to calls of its controller, and to orders |
//! | `support`, `gaps`, `status` | this machine's abilities, what the kernel cannot carry, the state |
//! | `host` | native programs compiled for this processor, for tests without privilege |
//!
//! Without the feature `bpf` the crate has no programs and builds everywhere; [`support`] says so. Elsewhere
//! than on Linux it has what needs no kernel: layouts, steering, and the answers that there is none.

#[cfg(feature = "bpf")]
pub mod agent;
#[cfg(target_os = "linux")]
pub mod bpffs;
mod btf;
#[cfg(target_os = "linux")]
pub mod cgroup;
#[cfg(feature = "bpf")]
pub mod chosen_group;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(feature = "bpf")]
pub mod datapath;
#[cfg(feature = "bpf")]
mod elf_error;
mod gaps;
pub mod layout;
#[cfg(feature = "bpf")]
mod maps;
pub mod objects;
#[cfg(target_os = "linux")]
pub mod slots;
#[cfg(target_os = "linux")]
pub mod status;
pub mod steering;
pub mod support;

pub use gaps::gaps;

/// Why something could not be done, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

#[cfg(feature = "bpf")]
impl Error {
    /// What libbpf could not do, with its reason and the causes of it.
    fn from_libbpf(what: &str, error: &libbpf_rs::Error) -> Self {
        let mut causes = vec![error.to_string()];
        let mut next = std::error::Error::source(error);
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        Self(format!("{what}: {}", causes.join(": ")))
    }
}
