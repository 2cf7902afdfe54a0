//! What a datapath is doing, as JSON: read from its maps, so it can be asked from any process.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::{Value, json};

use crate::clock;
use crate::layout::{Control, Slot};
use crate::slots::Slots;

const AF_INET: u32 = 2;
const INFINITE: u32 = 0x7fff_ffff;

/// The address and port of one end of a flow, as `ss` writes them.
pub(crate) fn address(family: u32, words: [u32; 4], port: u32) -> String {
    let ip = if family == AF_INET {
        IpAddr::from(Ipv4Addr::from(words[0].to_ne_bytes()))
    } else {
        let mut bytes = [0; 16];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
    };
    SocketAddr::new(ip, port as u16).to_string()
}

/// Local and remote address of a flow.
pub(crate) fn ends(slot: &Slot) -> (String, String) {
    (address(slot.family, slot.local, slot.local_port), address(slot.family, slot.remote, slot.remote_port))
}

fn flow(slot: &Slot, now: u64) -> Value {
    let (local, remote) = ends(slot);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let known = |us: u32| (us > 0).then_some(f64::from(us) / 1e6);
    json!({
        "id": slot.id,
        "local": local,
        "remote": remote,
        "netns": slot.netns,
        "age_s": seconds(now.saturating_sub(slot.opened_ns)),
        "state": match slot.state { 0 => "open", 1 => "disorder", 2 => "cwr", 3 => "recovery", _ => "loss" },
        "cwnd_segments": slot.cwnd,
        "ssthresh_segments": (slot.ssthresh < INFINITE).then_some(slot.ssthresh),
        "pacing_bps": (slot.pacing < u64::from(u32::MAX) * 1000).then_some(slot.pacing as f64 * 8.0),
        "srtt_s": known(slot.srtt_us),
        "rtt_min_s": known(slot.min_rtt_us),
        "in_flight_segments": slot.in_flight,
        "mss": slot.mss,
        "delivered_bytes": slot.delivered,
        "lost_bytes": slot.lost,
        "reports": slot.reports,
        "dropped_reports": slot.dropped,
        "orders": slot.orders,
        "order_age_s": (slot.applied_ns > 0).then(|| seconds(now.saturating_sub(slot.applied_ns))),
        "fallbacks": slot.fallbacks,
        "in_fallback": slot.fallback != 0,
        "steered": slot.ordered != 0 && slot.fallback == 0,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

fn latency([count, p50, p90, p99, max]: [u64; 5]) -> Value {
    let seconds = |ns: u64| (count > 0).then_some(ns as f64 / 1e9);
    json!({ "count": count, "p50": seconds(p50), "p90": seconds(p90), "p99": seconds(p99), "max": seconds(max) })
}

/// One datapath with its flows.
pub fn of(slots: &Slots) -> Value {
    let now = clock::now_ns();
    let control: Control = slots.control();
    let live: Vec<Slot> = slots.live().map(|(_, slot)| slot).collect();
    let alive =
        control.agent_pid != 0 && std::path::Path::new("/proc").join(control.agent_pid.to_string()).exists();
    let sum = |of: fn(&Slot) -> u64| live.iter().map(of).sum::<u64>();
    json!({
        "name": text(&control.name),
        "cc": text(&control.cc),
        "native": false,
        "pid": alive.then_some(control.agent_pid),
        "flows": live.iter().map(|slot| flow(slot, now)).collect::<Vec<_>>(),
        "flows_at_most": control.slots,
        "flows_refused": control.refused,
        "reports": control.reports,
        "orders": control.orders,
        "dropped_reports": sum(|slot| slot.dropped),
        "fallbacks": sum(|slot| slot.fallbacks),
        "latency": { "ack_to_agent_s": latency(control.to_agent), "ack_to_applied_s": latency(control.to_applied) },
    })
}

/// Every datapath and native program on this machine, as a list; empty without the privilege to see them.
#[cfg(feature = "bpf")]
pub fn all() -> Value {
    let registered = crate::datapath::available();
    let mut list: Vec<Value> = crate::maps::datapaths().iter().map(of).collect();
    for one in &mut list {
        let name = one["name"].as_str().unwrap_or_default().to_owned();
        one["registered"] = json!(registered.contains(&name));
    }
    // A closed datapath stays in memory until its last program has run.
    let unused = |one: &Value| one["pid"].is_null() && one["flows"].as_array().is_none_or(Vec::is_empty);
    list.retain(|one| one["registered"] == json!(true) || !unused(one));
    for name in registered.iter().filter(|name| name.starts_with("bpn_")) {
        list.push(json!({
            "name": name, "cc": name.trim_start_matches("bpn_"), "native": true, "pid": null, "flows": [],
            "registered": true, "reports": 0, "dropped_reports": 0,
        }));
    }
    json!(list)
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_written_as_usual() {
        let four = |a, b, c, d| u32::from_ne_bytes([a, b, c, d]);
        assert_eq!(address(2, [four(10, 77, 0, 1), 0, 0, 0], 80), "10.77.0.1:80");
        assert_eq!(address(10, [0, 0, four(0, 0, 255, 255), four(10, 0, 0, 2)], 5), "10.0.0.2:5");
        assert_eq!(address(10, [0, 0, 0, four(0, 0, 0, 1)], 443), "[::1]:443");
    }
}
