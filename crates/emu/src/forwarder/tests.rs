use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::*;
use crate::ip::tests::packet;
use crate::route::Packets;

fn devices(from: Device, to: Device) -> Devices {
    Devices { from, to, mtu: 1_500 }
}

/// A delay for all packets.
fn access(ms: u64) -> Hop {
    Hop::Access { delay: Span::from_millis(ms), flow: "first".to_owned(), of: Packets::All }
}

/// A device, and the kernel's side of it.
fn device() -> (Device, UnixDatagram) {
    let (ours, theirs) = UnixDatagram::pair().expect("sockets");
    ours.set_nonblocking(true).expect("an open socket");
    theirs.set_read_timeout(Some(Duration::from_secs(5))).expect("an open socket");
    (Device::of(OwnedFd::from(ours)), theirs)
}

#[test]
fn packets_cross_in_order_and_what_is_none_is_counted() {
    let ((from, sender), (to, receiver)) = (device(), device());
    let hops = vec![access(3), access(4)];
    let mut forwarder =
        Forwarder::start("test", devices(from, to), hops, 1, Clock::begin(), Recording::default())
            .expect("a thread");
    let sent: Vec<Vec<u8>> = (0..100).map(|i| packet(100 + i, 2, 5)).collect();
    for bytes in &sent {
        sender.send(bytes).expect("room in a socket");
    }
    let mut ipx = packet(100, 0, 5);
    ipx[0] = 0x50;
    sender.send(&ipx).expect("room in a socket");
    sender.send(&packet(1_501, 0, 5)).expect("room in a socket");
    let mut buffer = [0; 2_000];
    for bytes in &sent {
        let n = receiver.recv(&mut buffer).expect("a packet in time");
        assert_eq!(&buffer[..n], bytes);
    }
    let status = forwarder.status();
    assert_eq!((status.read_packets, status.written_packets), (102, 100));
    assert_eq!((status.refused_protocol, status.refused_size, status.inside), (1, 1, 0));
    assert_eq!(status.written_bytes, sent.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
    assert_eq!((status.lateness.0.len(), status.hops.len()), (100, 2));
    forwarder.stop();
    assert_eq!((forwarder.status(), forwarder.failure()).0.written_packets, 100);
}

#[test]
fn no_packet_is_early() {
    let ((from, sender), (to, receiver)) = (device(), device());
    let clock = Clock::begin();
    let hops = vec![access(20)];
    let _forwarder =
        Forwarder::start("test", devices(from, to), hops, 1, clock, Recording::default()).expect("a thread");
    let mut buffer = [0; 2_000];
    for _ in 0..5 {
        let sent = clock.now();
        sender.send(&packet(100, 0, 5)).expect("room in a socket");
        receiver.recv(&mut buffer).expect("a packet in time");
        assert!(clock.now().since(sent) >= Span::from_millis(20));
    }
}

#[test]
fn a_device_that_cannot_be_read_ends_the_thread_with_a_reason() {
    let (to, _receiver) = device();
    let deaf = std::fs::File::options().write(true).open("/dev/null").expect("a device");
    let from = Device::of(OwnedFd::from(deaf));
    let mut forwarder =
        Forwarder::start("test", devices(from, to), Vec::new(), 1, Clock::begin(), Recording::default())
            .expect("a thread");
    forwarder.stop();
    let why = forwarder.failure().expect("a reason");
    assert!(why.contains("Bad file descriptor"), "{why}");
}

#[test]
fn a_thread_that_panics_is_a_failure_and_not_old_numbers() {
    let ((from, sender), (to, receiver)) = (device(), device());
    let recording = Recording { panics_after: Some(3), ..Recording::default() };
    let hops = vec![access(1)];
    let mut forwarder =
        Forwarder::start("test", devices(from, to), hops, 1, Clock::begin(), recording).expect("a thread");
    for _ in 0..2 {
        sender.send(&packet(100, 0, 5)).expect("room in a socket");
        receiver.recv(&mut [0; 200]).expect("a packet in time");
    }
    assert_eq!((forwarder.status().read_packets, forwarder.failure()), (2, None));
    receiver.set_read_timeout(Some(Duration::from_millis(300))).expect("an open socket");
    sender.send(&packet(100, 0, 5)).expect("room in a socket");
    assert!(receiver.recv(&mut [0; 200]).is_err(), "nothing is forwarded any more");
    // Whether asked while the thread died or afterwards, the answer comes at once.
    forwarder.status();
    let why = forwarder.failure().expect("a reason");
    assert!(why.contains("a fault of Bentpipe") && why.contains("injected"), "{why}");
    forwarder.stop();
    assert_eq!(forwarder.failure().as_ref(), Some(&why), "it stays");
}

#[test]
fn packets_of_one_instant_have_the_time_of_a_port_of_1_gbit_per_s() {
    let ((from, _sender), (to, _receiver)) = (device(), device());
    let bell = std::fs::File::open("/dev/null").expect("a device").into();
    let shared = Shared {
        stop: AtomicBool::new(false),
        bell,
        wanted: AtomicBool::new(false),
        status: Mutex::default(),
        answered: Condvar::new(),
    };
    let mut worker = Worker::begin(
        devices(from, to),
        Vec::new(),
        1,
        Clock::begin(),
        Recording::default(),
        Arc::new(shared),
    );
    let micros = |us: u64| Time(us * 1_000);
    let mut late = |due, now| worker.lateness(micros(due), micros(now), 1_500).0 / 1_000;
    // 1500 bytes take 12 us at 1 Gbit/s. Three packets are due at 1000 us: at 1000,
    // 1012 and 1024 they are on time.
    assert_eq!([late(1_000, 1_010), late(1_000, 1_020), late(1_000, 1_050)], [10, 8, 26]);
    // Packets due at another instant, even a little later, get no such allowance, however long a burst before
    // them took.
    assert_eq!([late(1_001, 1_060), late(1_001, 1_061), late(1_100, 3_600)], [59, 48, 2_500]);
    assert_eq!((worker.status.burst_packets, worker.status.burst_s), (3, 40e-6));
}
