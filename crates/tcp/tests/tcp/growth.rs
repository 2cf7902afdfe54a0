//! How much one acknowledgement may make the window grow: RFC 5681 counts ACKs, RFC 3465 bytes.

use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Script, plain, reno};

fn script(byte_counting: bool, cwnd: f64, ssthresh: f64) -> Script {
    let options = Options { byte_counting, ..plain(LossRecovery::Sack) };
    Script::new(options, reno(cwnd, ssthresh), None)
}

/// RFC 5681 section 3.1 eq. 2: an ACK for four segments is worth one segment in slow start.
#[test]
fn slow_start_counts_acks() {
    let mut t = script(false, 4.0, 100.0);
    t.sends("0-3").at(100).ack(4).window(5.0, 100.0).sends("4-8").at(200).ack(6).window(6.0, 100.0);
}

/// RFC 3465 section 2.2: at most two segments (L = 2) for an ACK in slow start, one for an ACK of one.
#[test]
fn slow_start_counts_bytes_up_to_two_segments() {
    let mut t = script(true, 4.0, 100.0);
    t.sends("0-3").at(100).ack(4).window(6.0, 100.0).sends("4-9").at(200).ack(5).window(7.0, 100.0);
}

/// RFC 5681 section 3.1 eq. 3: 1/cwnd an ACK in congestion avoidance, however much it covers.
#[test]
fn avoidance_counts_acks() {
    let mut t = script(false, 10.0, 5.0);
    t.sends("0-9").at(100).ack(10).window(10.0 + 1.0 / 10.0, 5.0);
}

/// RFC 3465 section 2.1: a window acknowledged makes the window grow by one segment, be it by a single ACK.
#[test]
fn avoidance_counts_bytes() {
    let mut t = script(true, 10.0, 5.0);
    t.sends("0-9").at(100).ack(10).window(11.0, 5.0);
}
