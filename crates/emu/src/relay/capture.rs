//! Gives all TCP connections that reach a namespace to one listening socket, whatever port they are for.
//!
//! A program of the kind BPF_PROG_TYPE_SK_LOOKUP (Documentation/bpf/prog_sk_lookup.rst, since Linux 5.9),
//! which the kernel asks for a listening socket. It takes the only socket of a map. Program, map and link go
//! when their descriptors are closed.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::system_call::{checked, owned};

// include/uapi/linux/bpf.h
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_SOCKMAP: u32 = 15;
const PROG_TYPE_SK_LOOKUP: u32 = 30;
const ATTACH_SK_LOOKUP: u32 = 36;
const MAP_LOOKUP_ELEM: i32 = 1;
const SK_RELEASE: i32 = 86;
const SK_ASSIGN: i32 = 124;
const SK_PASS: i32 = 1;

/// As long as it lives, all connections go to the socket.
#[derive(Debug)]
pub(super) struct Capture {
    _link: OwnedFd,
}

impl Capture {
    /// All connections that reach `namespace` go to `listener`, which is in it.
    pub(super) fn all(listener: &TcpListener, namespace: BorrowedFd<'_>) -> io::Result<Self> {
        let map =
            bpf(MAP_CREATE, &MapCreate { kind: MAP_TYPE_SOCKMAP, key: 4, value: 8, entries: 1, flags: 0 })?;
        let (key, socket) = (0_u32, listener.as_raw_fd() as u64);
        let (key, value) = ((&raw const key) as u64, (&raw const socket) as u64);
        bpf_done(
            MAP_UPDATE_ELEM,
            &MapUpdate { map: map.as_raw_fd() as u32, _room: 0, key, value, flags: 0 },
        )?;
        let program = program(map.as_raw_fd());
        let license = c"MIT";
        let program = bpf(
            PROG_LOAD,
            &ProgLoad {
                kind: PROG_TYPE_SK_LOOKUP,
                instructions: program.len() as u32,
                program: program.as_ptr() as u64,
                license: license.as_ptr() as u64,
                log: [0; 6],
                name_and_device: [0; 5],
                attach: ATTACH_SK_LOOKUP,
            },
        )?;
        let (program, namespace) = (program.as_raw_fd() as u32, namespace.as_raw_fd() as u32);
        let link = bpf(LINK_CREATE, &LinkCreate { program, namespace, attach: ATTACH_SK_LOOKUP, flags: 0 })?;
        Ok(Self { _link: link })
    }
}

/// One instruction of BPF (RFC 9669, section 3.1).
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination in the lower half, source in the upper.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// `if (sk = map[0]) { assign(ctx, sk); release(sk); } return SK_PASS;`
fn program(map: i32) -> Vec<Instruction> {
    let of = |code, to: u8, from: u8, offset, immediate| Instruction {
        code,
        registers: to | from << 4,
        offset,
        immediate,
    };
    let copy = |to, from| of(0xbf, to, from, 0, 0);
    let call = |helper| of(0x85, 0, 0, 0, helper);
    let load = |to, value| of(0xb7, to, 0, 0, value);
    vec![
        copy(6, 1),
        of(0x62, 10, 0, -4, 0), // the key 0, on the stack
        copy(2, 10),
        of(0x07, 2, 0, 0, -4),
        of(0x18, 1, 1, 0, map), // two instructions: a map by its descriptor
        of(0, 0, 0, 0, 0),
        call(MAP_LOOKUP_ELEM),
        of(0x15, 0, 0, 7, 0), // none: to the end
        copy(7, 0),
        copy(1, 6),
        copy(2, 7),
        load(3, 0),
        call(SK_ASSIGN),
        copy(1, 7),
        call(SK_RELEASE),
        load(0, SK_PASS),
        of(0x95, 0, 0, 0, 0),
    ]
}

// Beginnings of `union bpf_attr`, one for each command; the kernel takes what is missing for zero.

#[repr(C)]
struct MapCreate {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    _room: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    instructions: u32,
    program: u64,
    license: u64,
    /// Level, size and place of the verifier's log, kernel version, flags: 24 bytes.
    log: [u32; 6],
    /// 16 bytes of a name, and a network device.
    name_and_device: [u32; 5],
    attach: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    namespace: u32,
    attach: u32,
    flags: u32,
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    owned(bpf_done(command, attributes)?) // the commands that come here answer with a descriptor
}

fn bpf_done<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are ours and as long as is said, and so is what they point to while this runs.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    checked(answer).map(|answer| answer as libc::c_int)
}
