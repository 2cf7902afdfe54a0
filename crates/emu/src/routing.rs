//! Addresses and routes of the namespace of the calling thread (man 7 rtnetlink).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::netlink::{self, Attributes};

/// No duplicate address detection (include/uapi/linux/if_addr.h).
const IFA_F_NODAD: u8 = 0x02;

/// A route of IPv4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4Route {
    /// Its table.
    pub(crate) table: u8,
    /// RTN_UNICAST, RTN_LOCAL, ...
    pub(crate) kind: u8,
    /// To which network; without bits, everything.
    pub(crate) to: (Ipv4Addr, u8),
    /// By which neighbour.
    pub(crate) via: Option<Ipv4Addr>,
}

impl Ipv4Route {
    /// A usual route of the main table to the network of `bits` bits around `address`.
    pub(crate) fn to(address: Ipv4Addr, bits: u8) -> Self {
        let network = u32::from(address) & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
        let to = (network.into(), bits);
        Self { table: libc::RT_TABLE_MAIN, kind: libc::RTN_UNICAST, to, via: None }
    }

    /// A usual route to everything that no other route leads to.
    pub(crate) fn to_everything(via: Option<Ipv4Addr>) -> Self {
        Self { via, ..Self::to(Ipv4Addr::UNSPECIFIED, 0) }
    }

    /// Adds it; it leaves by `device`.
    pub(crate) fn add(&self, device: &str) -> io::Result<()> {
        let scope = match (self.via, self.kind) {
            (Some(_), _) => libc::RT_SCOPE_UNIVERSE,
            (None, libc::RTN_LOCAL) => libc::RT_SCOPE_HOST,
            (None, _) => libc::RT_SCOPE_LINK,
        };
        let (network, bits) = self.to;
        // `struct rtmsg`.
        let family = libc::AF_INET as u8;
        let fixed = [family, bits, 0, 0, self.table, libc::RTPROT_STATIC, scope, self.kind, 0, 0, 0, 0];
        let mut attributes =
            Attributes::default().with(libc::RTA_OIF, &netlink::index(device)?.to_ne_bytes());
        if bits > 0 {
            attributes = attributes.with(libc::RTA_DST, &network.octets());
        }
        if let Some(via) = self.via {
            attributes = attributes.with(libc::RTA_GATEWAY, &via.octets());
        }
        netlink::request(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed, attributes)
    }
}

/// Gives `device` a further address of IPv4 in the network of 24 bits of its first.
pub(crate) fn add_ipv4(device: &str, address: Ipv4Addr) -> io::Result<()> {
    // `struct ifaddrmsg`.
    let mut fixed = vec![libc::AF_INET as u8, 24, 0, libc::RT_SCOPE_UNIVERSE];
    fixed.extend(netlink::index(device)?.to_ne_bytes());
    let attributes = Attributes::default().with(libc::IFA_LOCAL, &address.octets());
    netlink::request(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed, attributes)
}

/// Gives `device` an address of IPv6 in a network of 64 bits, which it has at once.
pub(crate) fn add_ipv6(device: &str, address: Ipv6Addr) -> io::Result<()> {
    // `struct ifaddrmsg`.
    let mut fixed = vec![libc::AF_INET6 as u8, 64, IFA_F_NODAD, libc::RT_SCOPE_UNIVERSE];
    fixed.extend(netlink::index(device)?.to_ne_bytes());
    let attributes = Attributes::default().with(libc::IFA_ADDRESS, &address.octets());
    netlink::request(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &fixed, attributes)
}
