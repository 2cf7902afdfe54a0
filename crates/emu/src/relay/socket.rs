//! The relay's sockets. Addresses that are not those of the machine are theirs by IP_TRANSPARENT (man 7 ip),
//! which needs CAP_NET_ADMIN.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::system_call::{checked, owned};

use super::RelaySettings;

/// Connections that wait to be taken.
const BACKLOG: libc::c_int = 1_024;

/// A socket that listens for connections to any address, and the congestion controller
/// of those that come of it.
pub(super) fn listen(settings: &RelaySettings) -> io::Result<(TcpListener, String)> {
    let socket = transparent(settings)?;
    let mut controller = controller(&socket)?;
    for name in &settings.controllers {
        if name_controller(&socket, name).is_ok() {
            controller.clone_from(name);
            break;
        }
    }
    bind(&socket, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: no memory of ours is an argument.
    checked(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok((TcpListener::from(socket), controller))
}

/// The connection to the one whom the client of `taken` meant, from the client's address. `None` if `stop`
/// came first. Neither socket blocks afterwards.
pub(super) fn onward(
    taken: &TcpStream,
    stop: BorrowedFd<'_>,
    settings: &RelaySettings,
) -> io::Result<Option<TcpStream>> {
    let (SocketAddr::V4(client), SocketAddr::V4(server)) = (taken.peer_addr()?, taken.local_addr()?) else {
        return Err(io::ErrorKind::AddrNotAvailable.into());
    };
    taken.set_nonblocking(true)?;
    taken.set_nodelay(true)?;
    let socket = transparent(settings)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    if let [name] = &settings.controllers[..] {
        name_controller(&socket, name)?;
    }
    bind(&socket, client)?;
    let socket = TcpStream::from(socket);
    socket.set_nonblocking(true)?;
    socket.set_nodelay(true)?;
    let address = address(server);
    // SAFETY: the address is ours and as long as is said.
    let begun = checked(unsafe {
        libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as u32)
    });
    if let Err(error) = begun {
        if error.raw_os_error() != Some(libc::EINPROGRESS) {
            return Err(error);
        }
        // A client that has given up meanwhile shows itself by an error or a hang-up,
        // which need not be asked for.
        let [_, gone, stopped] =
            wait([(socket.as_fd(), libc::POLLOUT), (taken.as_fd(), 0), (stop, libc::POLLIN)])?;
        if stopped {
            return Ok(None);
        }
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if gone {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
    }
    Ok(Some(socket))
}

/// Closing this socket breaks the connection off: its peer receives a reset.
pub(super) fn reset_at_close(socket: BorrowedFd<'_>) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // It cannot fail on an open socket, and if it did the peer would see an orderly end instead.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_LINGER, linger);
}

/// A descriptor that can be read after [`raise`].
pub(super) fn event() -> io::Result<OwnedFd> {
    // SAFETY: no memory of ours is an argument.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

/// Lets an [`event`] be read from now on, by all.
pub(super) fn raise(event: &OwnedFd) {
    let one = 1_u64;
    // SAFETY: eight bytes of ours, as an eventfd takes them. It can only fail by being readable already.
    unsafe { libc::write(event.as_raw_fd(), (&raw const one).cast(), 8) };
}

/// Waits until something happens at one of these descriptors: what is asked for, an error, or
/// a hang-up. Says at which.
pub(super) fn wait<const N: usize>(at: [(BorrowedFd<'_>, i16); N]) -> io::Result<[bool; N]> {
    let mut waiting = at.map(|(fd, events)| libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 });
    loop {
        // SAFETY: the array is ours and as long as is said.
        match checked(unsafe { libc::poll(waiting.as_mut_ptr(), N as libc::nfds_t, -1) }) {
            Ok(_) => return Ok(waiting.map(|one| one.revents != 0)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A new socket that may have any address, with the relay's buffers.
///
/// Half of the relay's buffer is for the socket that receives, and half for the one that sends. The
/// kernel doubles what it is given and counts its own bookkeeping (man 7 socket). It offers half of the
/// receive buffer as window, Linux 6.18 five eighths, clamp or no clamp. `pump` fills two thirds of the
/// send buffer; three quarters of these are payload once it has been sent. A sender with less room than
/// its window is short of data, and BBR then does not leave its start-up. FORCE: not bounded by the
/// machine's rmem_max and wmem_max.
fn transparent(settings: &RelaySettings) -> io::Result<OwnedFd> {
    // SAFETY: no memory of ours is an argument.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    set(&socket, libc::SOL_IP, libc::IP_TRANSPARENT, 1)?;
    if settings.buffer > 0 {
        let half = libc::c_int::try_from(settings.buffer / 2).unwrap_or(libc::c_int::MAX / 4);
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, half)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, half)?;
        set(&socket, libc::SOL_TCP, libc::TCP_WINDOW_CLAMP, half)?;
    }
    Ok(socket)
}

fn bind(socket: &OwnedFd, to: SocketAddrV4) -> io::Result<()> {
    let address = address(to);
    // SAFETY: the address is ours and as long as is said.
    checked(unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as u32)
    })?;
    Ok(())
}

fn address(of: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: of.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(of.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn name_controller(socket: &OwnedFd, name: &str) -> io::Result<()> {
    // SAFETY: the name is ours and as long as is said.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// The kernel's name of a socket's congestion controller.
fn controller(socket: &OwnedFd) -> io::Result<String> {
    let mut name = [0_u8; 16];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: both are ours, and the kernel writes no more than the length says.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_TCP,
            libc::TCP_CONGESTION,
            name.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

fn set<T>(socket: &impl AsRawFd, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: the value is ours and as long as is said; each call here gives the type that its option takes.
    checked(unsafe {
        let length = size_of::<T>() as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length)
    })?;
    Ok(())
}
