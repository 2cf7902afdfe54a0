//! What this machine and this build can do, each with a reason.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::btf;

/// Was the crate built with its BPF programs?
pub const COMPILED_IN: bool = cfg!(feature = "bpf");

/// Why there is nothing on another system.
const ELSEWHERE: &str = "it needs Linux";

/// Where the kernel shows its types.
pub(crate) const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The kernel's release, as `uname -r` gives it.
pub fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

/// The effective capabilities of this process, as bits.
fn capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// May this process load the datapath? `Err` says what is missing.
pub fn privileges() -> Result<(), String> {
    let bits = capabilities();
    let has = |cap: u32| bits & (1 << cap) != 0;
    if has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON)) {
        return Ok(());
    }
    Err("loading it takes CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN: run it as root".into())
}

/// How many parameters the kernel's `cong_control` has, the socket included: 4 since Linux 6.12, 2 before.
/// `Err` says why that is unknown, or that the kernel is too old.
pub fn arity() -> Result<u32, String> {
    let data = fs::read(BTF).map_err(|error| {
        format!("the kernel shows no BTF ({BTF}: {error}); it must be built with CONFIG_DEBUG_INFO_BTF")
    })?;
    let arity = btf::parameters_of_member(&data, "tcp_congestion_ops", "cong_control");
    match arity {
        Some(n @ (2 | 4)) => Ok(n),
        Some(n) => Err(format!("the kernel's cong_control has {n} parameters; 2 and 4 are known here")),
        None => Err("the kernel's BTF has no tcp_congestion_ops.cong_control".into()),
    }
}

/// Can the datapath be attached here? `Err` is the first reason why not.
pub fn check() -> Result<u32, String> {
    if cfg!(not(target_os = "linux")) {
        return Err(ELSEWHERE.to_owned());
    }
    if !COMPILED_IN {
        return Err(
            "this build has no BPF programs: build it with the feature kernel, which needs clang".into()
        );
    }
    let arity = arity()?;
    if !Path::new("/proc/sys/net/ipv4/tcp_available_congestion_control").exists() {
        return Err("the kernel has no TCP".into());
    }
    privileges()?;
    Ok(arity)
}

/// The control group of this process.
fn group() -> Result<String, String> {
    #[cfg(target_os = "linux")]
    return crate::cgroup::own().map(|path| path.display().to_string());
    #[cfg(not(target_os = "linux"))]
    Err(ELSEWHERE.to_owned())
}

/// Where pinned programs live.
fn bpffs() -> Result<String, String> {
    #[cfg(target_os = "linux")]
    return Ok(if crate::bpffs::is_bpffs(Path::new(crate::bpffs::USUAL)) {
        format!("mounted at {}", crate::bpffs::USUAL)
    } else {
        "not mounted; pinning mounts it".into()
    });
    #[cfg(not(target_os = "linux"))]
    Err(ELSEWHERE.to_owned())
}

/// All of it as JSON: `supported`, `reason`, and each fact as `{"ok", "reason", ...}`.
pub fn json() -> Value {
    let fact = |outcome: Result<String, String>| match outcome {
        Ok(text) => json!({ "ok": true, "reason": text }),
        Err(text) => json!({ "ok": false, "reason": text }),
    };
    let arity = arity();
    let compiled = if COMPILED_IN {
        Ok("with BPF programs".to_owned())
    } else {
        Err("built without the feature kernel".to_owned())
    };
    let nice = capabilities() & (1 << CAP_SYS_NICE) != 0;
    let checked = check();
    json!({
        "supported": checked.is_ok(),
        "reason": checked.err(),
        "kernel": release(),
        "compiled": fact(compiled),
        "btf": fact(arity.clone().map(|_| BTF.to_owned())),
        "cong_control": { "ok": arity.is_ok(), "parameters": arity.as_ref().ok(), "reason": match &arity {
            Ok(4) => "Linux 6.12 and later".to_owned(),
            Ok(_) => "before Linux 6.12".to_owned(),
            Err(why) => why.clone(),
        } },
        "privileges": fact(privileges().map(|()| "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN".to_owned())),
        "realtime": fact(if nice { Ok("SCHED_FIFO for the agent".into()) } else { Err("without CAP_SYS_NICE the agent runs at ordinary priority".into()) }),
        "cgroup": fact(group()),
        "bpffs": fact(bpffs()),
        "natives": crate::objects::natives().collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_fact_has_a_reason() {
        let all = super::json();
        for name in ["compiled", "btf", "cong_control", "privileges", "realtime", "cgroup", "bpffs"] {
            assert!(all[name]["ok"].is_boolean() && all[name]["reason"].is_string(), "{name}: {all}");
        }
        assert_eq!(all["supported"], all["reason"].is_null());
    }
}
