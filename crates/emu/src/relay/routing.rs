//! Routes of the ends around a relay (man 7 rtnetlink).

use std::io;
use std::net::Ipv4Addr;

use crate::netlink::{self, Attributes};
use crate::routing::Ipv4Route;

const TABLE: u8 = 77;
// include/uapi/linux/fib_rules.h
const FRA_IIFNAME: u16 = 3;
const FRA_IP_PROTO: u16 = 22;
const FR_ACT_TO_TBL: u8 = 1;

/// The namespace of the calling thread forwards what comes in by `devices`; but TCP packets are for itself,
/// whatever address they have. Packets of its own go their usual ways.
pub(crate) fn route_to_itself(devices: &[&str]) -> io::Result<()> {
    let everything = Ipv4Route::to(Ipv4Addr::UNSPECIFIED, 0);
    Ipv4Route { table: TABLE, kind: libc::RTN_LOCAL, ..everything }.add("lo")?;
    for device in devices {
        let attributes =
            Attributes::default().text(FRA_IIFNAME, device).with(FRA_IP_PROTO, &[libc::IPPROTO_TCP as u8]);
        // `struct fib_rule_hdr`.
        let rule = [libc::AF_INET as u8, 0, 0, 0, TABLE, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
        netlink::request(libc::RTM_NEWRULE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &rule, attributes)?;
        std::fs::write(format!("/proc/sys/net/ipv4/conf/{device}/rp_filter"), "0")?;
    }
    std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0")?;
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")
}
