//! A way out of an emulation: an end is joined to the namespace of the calling process (the *host*) by a pair
//! of virtual Ethernet devices, and its packets leave the host by one named device, with the address of that
//! (network address translation, RFC 3022).
//!
//! In the host there are for that time: the device `bpnat0` (or the next number) with 10.77.255.1/30, and a
//! table of the kernel's packet filter, `bentpipe-nat0`, whose rules are about that device and the named one
//! alone. Both are gone with the process, however it ends: the table belongs to a socket of ours
//! (NFT_TABLE_F_OWNER, Linux 5.12), the device to the namespace of the end. That the named device forwards
//! packets is up to the caller.

mod filter;

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use self::filter::{Rule, Table};
use crate::device;
use crate::namespace::Namespace;
use crate::netlink::{self, Attributes};
use crate::routing::Ipv4Route;

/// How many ways out there may be at once.
const MOST: u8 = 64;
/// What the device is called in the namespace of the end.
const INSIDE: &str = "bpout";
/// The beginning of its name in the host.
const PREFIX: &str = "bpnat";
// include/uapi/linux/if_link.h and veth.h
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// A way out that is open. It is closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Outside {
    /// Its device in the host.
    device: String,
    /// The rules in the host and in the namespace of the end.
    _tables: [Table; 2],
}

impl Outside {
    /// Joins `end` to the namespace of the calling thread; its packets leave that by `interface`. If nothing
    /// else may be forwarded that comes in by `interface`, say `closed`.
    pub(crate) fn open(end: &Namespace, interface: &str, closed: bool) -> io::Result<Self> {
        netlink::index(interface)?;
        let (number, name) = new_pair(end.as_fd())?;
        let made = Self::join(end, number, &name, interface, closed);
        if made.is_err() {
            let _ = remove(&name); // why it could not be made is the better message
        }
        Ok(Self { _tables: made?, device: name })
    }

    fn join(
        end: &Namespace,
        number: u8,
        name: &str,
        interface: &str,
        closed: bool,
    ) -> io::Result<[Table; 2]> {
        let [host, own] = [1, 2].map(|i| Ipv4Addr::new(10, 77, 255, 4 * number + i));
        let mask = Ipv4Addr::new(255, 255, 255, 252);
        // The rules are there before a packet is.
        let mut rules = vec![
            Rule::masquerade().with_source(own).leaving_by(interface),
            Rule::drop_forwarded().coming_by(name).not_leaving_by(interface),
            Rule::drop_forwarded().coming_by(interface).leaving_by(name).of_no_connection(),
        ];
        if closed {
            rules.push(Rule::drop_forwarded().coming_by(interface).not_leaving_by_any(PREFIX));
        }
        let host_table = Table::own(&format!("bentpipe-nat{number}"), &rules)?;
        quiet(name)?;
        device::raise(name, host, mask)?;
        fs::write(format!("/proc/sys/net/ipv4/conf/{name}/forwarding"), "1")?;
        let own_table = end.with(|| {
            let table = Table::own("bentpipe", &[Rule::masquerade().leaving_by(INSIDE)])?;
            quiet(INSIDE)?;
            device::raise(INSIDE, own, mask)?;
            Ipv4Route::to_everything(Some(host)).add(INSIDE)?;
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            Ok(table)
        })?;
        Ok([host_table, own_table])
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = remove(&self.device); // it goes with its namespace in any case
    }
}

/// Makes the pair of devices: one here, the other in the namespace `end`. Gives the number and
/// the name of the one here.
fn new_pair(end: BorrowedFd<'_>) -> io::Result<(u8, String)> {
    let nothing = [0; 16]; // `struct ifinfomsg`: any kind, no number yet, no flags
    for number in 0..MOST {
        let name = format!("{PREFIX}{number}");
        let peer = Attributes::default()
            .text(libc::IFLA_IFNAME, INSIDE)
            .with(libc::IFLA_NET_NS_FD, &end.as_raw_fd().to_ne_bytes());
        let data = Attributes::default().with(VETH_INFO_PEER, &peer.behind(&nothing));
        let kind = Attributes::default().text(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, data);
        let attributes = Attributes::default().text(libc::IFLA_IFNAME, &name).nest(libc::IFLA_LINKINFO, kind);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        match netlink::request(libc::RTM_NEWLINK, flags, &nothing, attributes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| (number, name)),
        }
    }
    Err(io::Error::other(format!("all {MOST} names {PREFIX}0, {PREFIX}1, ... are taken")))
}

/// Removes a device, and its other half with it.
fn remove(name: &str) -> io::Result<()> {
    netlink::request(libc::RTM_DELLINK, 0, &[0; 16], Attributes::default().text(libc::IFLA_IFNAME, name))
}

/// No IPv6 on this device, which translates IPv4 alone.
fn quiet(name: &str) -> io::Result<()> {
    match fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
