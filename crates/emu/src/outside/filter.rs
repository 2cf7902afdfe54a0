//! Tables of the kernel's packet filter, nf_tables, over netlink (include/uapi/linux/netfilter/nf_tables.h).
//! They are made here and not by the program `nft`, because a table can belong to the socket that made it:
//! when the socket is closed, the kernel removes the table.

use std::io;
use std::net::Ipv4Addr;

use crate::netlink::{Attributes, Socket, message};

// include/uapi/linux/netfilter/nfnetlink.h
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
// include/uapi/linux/netfilter/nf_tables.h
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const OWNED: u32 = 2;
const VERDICT: u32 = 0;
const REGISTER: u32 = 1;
const EQUAL: u32 = 0;
const UNEQUAL: u32 = 1;
const INPUT_NAME: u32 = 6;
const OUTPUT_NAME: u32 = 7;
const NETWORK_HEADER: u32 = 1;
const CONNECTION_STATE: u32 = 0;
/// Established and related (enum ip_conntrack_info, include/uapi/linux/netfilter/nf_conntrack_common.h).
const OF_A_CONNECTION: u32 = 1 << 1 | 1 << 2;
/// The length of a device's name in a register.
const NAME: usize = 16;

/// The chain to which a rule belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    /// Addresses of packets that leave are translated.
    Postrouting,
    /// Packets pass from one device to another.
    Forward,
}

impl Chain {
    const ALL: [Self; 2] = [Self::Postrouting, Self::Forward];

    fn name(self) -> &'static str {
        match self {
            Self::Postrouting => "postrouting",
            Self::Forward => "forward",
        }
    }

    /// Its kind, its hook (include/uapi/linux/netfilter.h) and its priority (netfilter_ipv4.h).
    fn hook(self) -> (&'static str, u32, u32) {
        match self {
            Self::Postrouting => ("nat", 4, 100),
            Self::Forward => ("filter", 2, 0),
        }
    }
}

/// A rule: all that it asks of a packet, and then what it does.
#[derive(Debug)]
pub(crate) struct Rule {
    chain: Chain,
    asked: Attributes,
    done: Attributes,
}

impl Rule {
    /// Packets leave with the address of the device by which they leave.
    pub(crate) fn masquerade() -> Self {
        let done = Attributes::default().nest(1, expression("masq", Attributes::default()));
        Self { chain: Chain::Postrouting, asked: Attributes::default(), done }
    }

    /// Packets do not pass from one device to another.
    pub(crate) fn drop_forwarded() -> Self {
        const DROP: u32 = 0; // NF_DROP
        let verdict = Attributes::default().nest(2, number(1, DROP));
        let immediate = number(1, VERDICT).nest(2, verdict);
        let done = Attributes::default().nest(1, expression("immediate", immediate));
        Self { chain: Chain::Forward, asked: Attributes::default(), done }
    }

    /// Only those that come in by `device`.
    pub(crate) fn coming_by(self, device: &str) -> Self {
        self.of_name(INPUT_NAME, EQUAL, &whole_name(device))
    }

    /// Only those that leave by `device`.
    pub(crate) fn leaving_by(self, device: &str) -> Self {
        self.of_name(OUTPUT_NAME, EQUAL, &whole_name(device))
    }

    /// Only those that do not leave by `device`.
    pub(crate) fn not_leaving_by(self, device: &str) -> Self {
        self.of_name(OUTPUT_NAME, UNEQUAL, &whole_name(device))
    }

    /// Only those that leave by no device whose name begins so.
    pub(crate) fn not_leaving_by_any(self, prefix: &str) -> Self {
        self.of_name(OUTPUT_NAME, UNEQUAL, prefix.as_bytes())
    }

    fn of_name(self, key: u32, how: u32, name: &[u8]) -> Self {
        self.ask("meta", number(1, REGISTER).be32(2, key)).compare(how, name)
    }

    /// Only those from `address`.
    pub(crate) fn with_source(self, address: Ipv4Addr) -> Self {
        const SOURCE: u32 = 12; // its offset in the header (RFC 791 section 3.1)
        let load = number(1, REGISTER).be32(2, NETWORK_HEADER).be32(3, SOURCE).be32(4, 4);
        self.ask("payload", load).compare(EQUAL, &address.octets())
    }

    /// Only those that belong to no connection that has begun.
    pub(crate) fn of_no_connection(self) -> Self {
        let value = |bits: u32| Attributes::default().with(1, &bits.to_ne_bytes());
        let mask = number(1, REGISTER)
            .be32(2, REGISTER)
            .be32(3, 4)
            .nest(4, value(OF_A_CONNECTION))
            .nest(5, value(0));
        let state = Attributes::default().be32(2, CONNECTION_STATE).be32(1, REGISTER);
        self.ask("ct", state).ask("bitwise", mask).compare(EQUAL, &0_u32.to_ne_bytes())
    }

    fn compare(self, how: u32, with: &[u8]) -> Self {
        let value = Attributes::default().with(1, with);
        self.ask("cmp", number(1, REGISTER).be32(2, how).nest(3, value))
    }

    fn ask(mut self, name: &str, what: Attributes) -> Self {
        self.asked = self.asked.nest(1, expression(name, what));
        self
    }
}

/// A table of ours in the namespace in which it was made. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Table {
    _owner: Socket,
}

impl Table {
    /// Makes it in the namespace of the calling thread, with all of its rules at once.
    pub(crate) fn own(name: &str, rules: &[Rule]) -> io::Result<Self> {
        let socket = Socket::open(libc::NETLINK_NETFILTER)?;
        let new = libc::NLM_F_ACK | libc::NLM_F_CREATE;
        let mut batch = message(BATCH_BEGIN, 0, &[0, 0, 0, SUBSYSTEM as u8], Attributes::default());
        let about = [libc::AF_INET as u8, 0, 0, 0]; // `struct nfgenmsg`
        let mut answers = 1;
        batch.extend(message(NEW_TABLE, new, &about, Attributes::default().text(1, name).be32(2, OWNED)));
        for chain in Chain::ALL.into_iter().filter(|chain| rules.iter().any(|rule| rule.chain == *chain)) {
            let (kind, hook, priority) = chain.hook();
            let attributes = Attributes::default()
                .text(1, name)
                .text(3, chain.name())
                .nest(4, number(1, hook).be32(2, priority))
                .text(7, kind);
            batch.extend(message(NEW_CHAIN, new, &about, attributes));
            answers += 1;
        }
        for Rule { chain, asked, done } in rules {
            let attributes =
                Attributes::default().text(1, name).text(2, chain.name()).list(4, &[asked, done]);
            batch.extend(message(NEW_RULE, new | libc::NLM_F_APPEND, &about, attributes));
            answers += 1;
        }
        batch.extend(message(BATCH_END, 0, &[0, 0, 0, SUBSYSTEM as u8], Attributes::default()));
        socket.ask(&batch, answers)?;
        Ok(Self { _owner: socket })
    }
}

fn expression(name: &str, what: Attributes) -> Attributes {
    Attributes::default().text(1, name).nest(2, what)
}

/// An attribute with a number.
fn number(kind: u16, value: u32) -> Attributes {
    Attributes::default().be32(kind, value)
}

/// A name with the zeros behind it: nothing else begins with it.
fn whole_name(device: &str) -> Vec<u8> {
    let mut name = device.as_bytes().to_vec();
    name.resize(NAME, 0);
    name
}
