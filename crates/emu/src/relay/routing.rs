//! Routes of the ends around a relay, over netlink (man 7 rtnetlink).

use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const TABLE: u8 = 77;
/// `lo` is the first device of every namespace.
const LOOPBACK: u32 = 1;
// include/uapi/linux/fib_rules.h
const FRA_IIFNAME: u16 = 3;
const FRA_IP_PROTO: u16 = 22;
const FR_ACT_TO_TBL: u8 = 1;
const ACKNOWLEDGED_NEW: u16 =
    (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;

/// Packets for the network of 24 bits around `address` leave by `device`, from the namespace of the calling thread.
pub(crate) fn reach(address: Ipv4Addr, device: &str) -> io::Result<()> {
    let [a, b, c, _] = address.octets();
    let message = Message::route(24, libc::RT_TABLE_MAIN, libc::RT_SCOPE_LINK, libc::RTN_UNICAST)
        .with(libc::RTA_DST, &[a, b, c, 0])
        .with(libc::RTA_OIF, &index(device)?.to_ne_bytes());
    send(message)
}

/// The namespace of the calling thread forwards what comes in by `devices`; but TCP packets are for itself, whatever address they have.
/// Packets of its own go their usual ways.
pub(crate) fn route_to_itself(devices: &[&str]) -> io::Result<()> {
    let everything = Message::route(0, TABLE, libc::RT_SCOPE_HOST, libc::RTN_LOCAL);
    send(everything.with(libc::RTA_OIF, &LOOPBACK.to_ne_bytes()))?;
    for device in devices {
        let name = CString::new(*device)?;
        let rule = Message::rule(TABLE)
            .with(FRA_IIFNAME, name.as_bytes_with_nul())
            .with(FRA_IP_PROTO, &[libc::IPPROTO_TCP as u8]);
        send(rule)?;
        std::fs::write(format!("/proc/sys/net/ipv4/conf/{device}/rp_filter"), "0")?;
    }
    std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0")?;
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")
}

/// A message under way: header, fixed part, attributes.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, fixed: [u8; 8]) -> Self {
        let mut bytes = vec![0; 4]; // the length, known at the end
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(ACKNOWLEDGED_NEW.to_ne_bytes());
        bytes.extend([0; 8]); // sequence number and port
        bytes.extend(fixed);
        bytes.extend([0; 4]); // flags
        Self(bytes)
    }

    /// `struct rtmsg`.
    fn route(bits: u8, table: u8, scope: u8, kind: u8) -> Self {
        Self::new(
            libc::RTM_NEWROUTE,
            [libc::AF_INET as u8, bits, 0, 0, table, libc::RTPROT_STATIC, scope, kind],
        )
    }

    /// `struct fib_rule_hdr`: look at a table.
    fn rule(table: u8) -> Self {
        Self::new(libc::RTM_NEWRULE, [libc::AF_INET as u8, 0, 0, 0, table, 0, 0, FR_ACT_TO_TBL])
    }

    fn with(mut self, attribute: u16, value: &[u8]) -> Self {
        self.0.extend((4 + value.len() as u16).to_ne_bytes());
        self.0.extend(attribute.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }
}

fn send(Message(mut bytes): Message) -> io::Result<()> {
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: no memory of ours is an argument.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, open, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the bytes are ours and as many as is said.
    if unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = [0_u8; 512];
    // SAFETY: the buffer is ours and as long as is said.
    let n = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    // Behind the header of 16 bytes: an error number below zero, or zero.
    match <[u8; 4]>::try_from(&answer[16..20]).map(i32::from_ne_bytes) {
        Ok(0) if n >= 20 => Ok(()),
        Ok(error) if n >= 20 => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn index(device: &str) -> io::Result<u32> {
    let name = CString::new(device)?;
    // SAFETY: the name is ours and ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}
