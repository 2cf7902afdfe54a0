use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::*;
use crate::ip::tests::packet;

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
    let hops = vec![Hop::Access(Span::from_millis(3)), Hop::Access(Span::from_millis(4))];
    let mut forwarder = Forwarder::start("test", (from, to), hops, 1, Clock::begin(), Recording::default())
        .expect("a thread");
    let sent: Vec<Vec<u8>> = (0..100).map(|i| packet(100 + i, 2, 5)).collect();
    for bytes in &sent {
        sender.send(bytes).expect("room in a socket");
    }
    let mut ipv6 = packet(100, 0, 5);
    ipv6[0] = 0x60;
    sender.send(&ipv6).expect("room in a socket");
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
    let hops = vec![Hop::Access(Span::from_millis(20))];
    let _forwarder =
        Forwarder::start("test", (from, to), hops, 1, clock, Recording::default()).expect("a thread");
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
        Forwarder::start("test", (from, to), Vec::new(), 1, Clock::begin(), Recording::default())
            .expect("a thread");
    forwarder.stop();
    let why = forwarder.failure().expect("a reason");
    assert!(why.contains("Bad file descriptor"), "{why}");
}
