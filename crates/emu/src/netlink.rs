//! Requests over netlink (man 7 netlink): devices, addresses, routes, firewall rules. The kernel acknowledges
//! each.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::system_call::{checked, owned};

/// The length of a message's header, `struct nlmsghdr`.
const HEADER: usize = 16;
/// Says that an attribute holds attributes (include/uapi/linux/netlink.h).
const NESTED: u16 = 1 << 15;

/// Attributes, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    /// Appends another attribute.
    pub(crate) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend((4 + value.len() as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Appends a text, which ends with a zero.
    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        self.with(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Appends a number whose most significant byte comes first, as in the packet filter.
    pub(crate) fn be32(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_be_bytes())
    }

    /// Appends one attribute that holds all of several others.
    pub(crate) fn list(self, kind: u16, parts: &[&Self]) -> Self {
        let inner: Vec<u8> = parts.iter().flat_map(|part| part.0.iter().copied()).collect();
        self.with(kind | NESTED, &inner)
    }

    /// Appends one attribute that holds others.
    pub(crate) fn nest(self, kind: u16, inner: Self) -> Self {
        self.with(kind | NESTED, &inner.0)
    }

    /// Puts the attributes after a fixed part, as the value of another attribute.
    pub(crate) fn behind(self, fixed: &[u8]) -> Vec<u8> {
        [fixed, &self.0].concat()
    }
}

/// A message: its kind, its flags (NLM_F_...), its fixed part, whose length is a multiple of four, and
/// attributes.
pub(crate) fn message(kind: u16, flags: libc::c_int, fixed: &[u8], attributes: Attributes) -> Vec<u8> {
    let body = attributes.behind(fixed);
    let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
    bytes.extend([0; 8]); // sequence number and port
    bytes.extend(body);
    bytes
}

/// A netlink socket in the namespace of the calling thread.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// A socket of a family: NETLINK_ROUTE, NETLINK_NETFILTER.
    pub(crate) fn open(family: libc::c_int) -> io::Result<Self> {
        // SAFETY: no memory of ours is an argument.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, family) };
        owned(fd).map(Self)
    }

    /// Sends messages as one datagram; waits for `answers` acknowledgements.
    pub(crate) fn ask(&self, messages: &[u8], answers: usize) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: the bytes are ours and as many as is said.
        checked(unsafe { libc::send(fd, messages.as_ptr().cast(), messages.len(), 0) })?;
        let mut seen = 0;
        let mut buffer = [0_u8; 8192];
        while seen < answers {
            // SAFETY: the buffer is ours and as long as is said.
            let n = checked(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) })?;
            let mut rest = &buffer[..n as usize];
            while let Some(error) = rest.get(HEADER..HEADER + 4) {
                // An error number below zero, or zero.
                match i32::from_ne_bytes([error[0], error[1], error[2], error[3]]) {
                    0 => seen += 1,
                    error => return Err(io::Error::from_raw_os_error(-error)),
                }
                let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// Makes a request about devices, addresses or routes in the namespace of the calling thread.
pub(crate) fn request(kind: u16, flags: libc::c_int, fixed: &[u8], attributes: Attributes) -> io::Result<()> {
    let message = message(kind, libc::NLM_F_ACK | flags, fixed, attributes);
    Socket::open(libc::NETLINK_ROUTE)?.ask(&message, 1)
}

/// The number of a device in the namespace of the calling thread.
pub(crate) fn index(device: &str) -> io::Result<u32> {
    let name = CString::new(device)?;
    // SAFETY: the name is ours and ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}
