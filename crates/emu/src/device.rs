//! TUN devices: the packets that the kernel sends into one are read from its file, and a packet written to
//! the file has come in by the device.
//!
//! There are no offloads: the kernel then cuts segments and fills in checksums before they are read, and
//! every packet is one packet (Documentation/networking/tuntap.rst).

use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::routing;
use crate::system_call::{checked, owned};

/// Packets that wait in the kernel until they are read. The queue of the link is the emulator's; this one
/// must never be the bottleneck.
const TRANSMIT_QUEUE: i32 = 10_000;

/// An open device.
#[derive(Debug)]
pub(crate) struct Device {
    file: File,
}

impl Device {
    /// Makes a device in the namespace of the calling thread and sets it up with its addresses, in networks
    /// of 24 and of 64 bits. Its largest packet has `mtu` bytes.
    pub(crate) fn open(name: &str, own: Ipv4Addr, own_6: Option<Ipv6Addr>, mtu: u16) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        let mut request = request(name);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        control(file.as_raw_fd(), libc::TUNSETIFF, &mut request)?;
        let socket = socket()?;
        let socket = socket.as_raw_fd();
        request.ifr_ifru.ifru_mtu = i32::from(mtu);
        control(socket, libc::SIOCSIFMTU, &mut request)?;
        request.ifr_ifru.ifru_metric = TRANSMIT_QUEUE; // ifr_qlen is the same member of the union
        control(socket, libc::SIOCSIFTXQLEN, &mut request)?;
        raise(name, own, Ipv4Addr::new(255, 255, 255, 0))?;
        if let Some(own_6) = own_6 {
            routing::add_ipv6(name, own_6)?;
        }
        Ok(Self { file })
    }

    /// Another file that keeps the bounds of packets, for tests: one end of a pair of sockets.
    #[cfg(test)]
    pub(crate) fn of(end: OwnedFd) -> Self {
        Self { file: end.into() }
    }

    /// Another handle of the same device.
    pub(crate) fn share(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// The next packet that the kernel has sent; `None` if there is none.
    #[inline]
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the buffer is ours and as long as is said.
        let n = unsafe { libc::read(self.file.as_raw_fd(), into.as_mut_ptr().cast(), into.len()) };
        match checked(n) {
            Ok(n) => Ok(Some(n as usize)),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a packet to the kernel.
    #[inline]
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is ours and as long as is said.
        checked(unsafe { libc::write(self.file.as_raw_fd(), packet.as_ptr().cast(), packet.len()) }).map(drop)
    }
}

impl AsRawFd for Device {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Sets the loopback device of the calling thread's namespace up.
pub(crate) fn raise_loopback() -> io::Result<()> {
    up(socket()?.as_raw_fd(), request("lo"))
}

/// Gives a device of the calling thread's namespace an address and sets it up.
pub(crate) fn raise(name: &str, own: Ipv4Addr, mask: Ipv4Addr) -> io::Result<()> {
    let (socket, mut request) = (socket()?, request(name));
    request.ifr_ifru.ifru_addr = address(own);
    control(socket.as_raw_fd(), libc::SIOCSIFADDR, &mut request)?;
    request.ifr_ifru.ifru_netmask = address(mask);
    control(socket.as_raw_fd(), libc::SIOCSIFNETMASK, &mut request)?;
    up(socket.as_raw_fd(), request)
}

fn up(socket: RawFd, mut request: libc::ifreq) -> io::Result<()> {
    control(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled this member in.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    control(socket, libc::SIOCSIFFLAGS, &mut request)
}

/// A socket by which devices of this thread's namespace are controlled.
fn socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory of ours is an argument.
    owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
}

/// An empty request about a device; its name has at most 15 bytes.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: all members are integers or arrays of them, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(15).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn address(address: Ipv4Addr) -> libc::sockaddr {
    let [a, b, c, d] = address.octets().map(|byte| byte as libc::c_char);
    let mut data = [0; 14];
    data[2..6].copy_from_slice(&[a, b, c, d]); // behind the port
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}

fn control(fd: RawFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: all requests made here take an ifreq, which is ours.
    checked(unsafe { libc::ioctl(fd, what, request) }).map(drop)
}
