//! What the kernel has dropped of an end's packets outside the emulated links: in the queue of a device
//! before the emulator could read it, or in a socket whose program did not read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Packets that the kernel has dropped in a namespace, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceDrops {
    /// On their way from the namespace into the device.
    pub(crate) sent: u64,
    /// On their way from the device into the namespace.
    pub(crate) received: u64,
}

/// The kernel's counters of one namespace. The files remain those of the namespace in which they were opened,
/// whichever thread reads them.
#[derive(Debug)]
pub(crate) struct Counters {
    devices: File,
    sockets: File,
    /// Absent without IPv6.
    sockets_6: Option<File>,
}

impl Counters {
    /// The counters of the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let open = |name| File::open(format!("/proc/thread-self/net/{name}"));
        Ok(Self { devices: open("dev")?, sockets: open("snmp")?, sockets_6: open("snmp6").ok() })
    }

    /// What was dropped at a device.
    pub(crate) fn device(&self, name: &str) -> io::Result<DeviceDrops> {
        Ok(device_drops(&text(&self.devices)?, name).unwrap_or_default())
    }

    /// UDP datagrams that were dropped because the socket's buffer was full, over IPv4 and IPv6.
    pub(crate) fn sockets(&self) -> io::Result<u64> {
        let more = self.sockets_6.as_ref().map(text).transpose()?;
        Ok(socket_drops(&text(&self.sockets)?) + more.as_deref().map_or(0, socket_drops_6))
    }
}

/// A file of /proc from its beginning.
fn text(file: &File) -> io::Result<String> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 8192]);
    loop {
        match file.read_at(&mut buffer, bytes.len() as u64)? {
            0 => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            n => bytes.extend(&buffer[..n]),
        }
    }
}

/// /proc/net/dev has a row for each device. The name is followed by eight numbers for reception and eight for
/// transmission; the fourth of each counts drops (net/core/net-procfs.c).
fn device_drops(table: &str, name: &str) -> Option<DeviceDrops> {
    let row = table.lines().find_map(|row| row.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let numbers: Vec<u64> = row.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    Some(DeviceDrops { received: *numbers.get(3)?, sent: *numbers.get(11)? })
}

/// /proc/net/snmp: a row of names, and one of numbers (RFC 4113 has InErrors; RcvbufErrors is Linux's).
fn socket_drops(table: &str) -> u64 {
    let mut rows = table.lines().filter_map(|row| row.strip_prefix("Udp: "));
    let (Some(names), Some(numbers)) = (rows.next(), rows.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(numbers.split_whitespace());
    pairs.find(|(name, _)| *name == "RcvbufErrors").map_or(0, |(_, number)| number.parse().unwrap_or(0))
}

/// /proc/net/snmp6: one row per counter.
fn socket_drops_6(table: &str) -> u64 {
    let row = table.lines().find_map(|row| row.strip_prefix("Udp6RcvbufErrors"));
    row.map_or(0, |number| number.trim().parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 writes it; bp0 has received 7 packets and dropped 2, and sent 9 and dropped 4.
    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  bp01:       1       1    1    1    1     1          1         1        1       1    1    1    1     1       1          1
   bp0:     588       7    0    2    0     0          0         0      756       9    0    4    0     0       0          0
";

    #[test]
    fn the_drops_of_a_device_are_those_of_its_row() {
        assert_eq!(device_drops(DEV, "bp0"), Some(DeviceDrops { sent: 4, received: 2 }));
        assert_eq!(device_drops(DEV, "bp"), None);
    }

    #[test]
    fn full_sockets_of_udp_are_found_by_name() {
        let snmp = "Tcp: RtoAlgorithm InErrs\nTcp: 1 99\n\
                    Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
                    Udp: 201640 0 363 0 361 0\nUdpLite: InDatagrams RcvbufErrors\nUdpLite: 5 6\n";
        assert_eq!((socket_drops(snmp), socket_drops("Tcp: a\nTcp: 1\n")), (361, 0));
        let snmp6 = "Udp6InErrors                    \t8\nUdp6RcvbufErrors                \t7\nUdp6SndbufErrors \t0\n";
        assert_eq!((socket_drops_6(snmp6), socket_drops_6("")), (7, 0));
    }
}
