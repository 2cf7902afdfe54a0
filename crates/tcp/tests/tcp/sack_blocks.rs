//! RFC 2018: what the receiver reports. Segment 0 represents the byte 5000 of the examples, one segment
//! represents 500 bytes.

use bentpipe_tcp::LossRecovery;

use crate::script::{Listener, plain};

fn listener() -> Listener {
    Listener::new(&plain(LossRecovery::Sack))
}

/// RFC 2018 section 7 case 1: the last four of eight are lost: nothing to report.
#[test]
fn case_1() {
    listener().data(0).answers("1").data(1).answers("2").data(2).answers("3").data(3).answers("4");
}

/// RFC 2018 section 7 case 2: the first of eight is lost: one block, growing.
#[test]
fn case_2() {
    let mut l = listener();
    for n in 1..8 {
        l.data(n).answers(&format!("0+1-{}", n + 1));
    }
}

/// RFC 2018 section 7 case 3: the 2nd, 4th, 6th and 8th are lost; then the 4th arrives, then the 2nd.
#[test]
fn case_3() {
    let mut l = listener();
    l.data(0)
        .answers("1")
        .data(2)
        .answers("1+2-3")
        .data(4)
        .answers("1+4-5+2-3")
        .data(6)
        .answers("1+6-7+4-5+2-3");
    l.data(3).answers("1+2-5+6-7").data(1).answers("5+6-7").data(5).answers("7");
}

/// RFC 2018 section 3: three blocks fit beside timestamps; section 4: the most recent ones.
#[test]
fn three_most_recent_blocks() {
    let mut l = listener();
    l.data(2).data(4).data(6).data(8).answers("0+8-9+6-7+4-5").data(10).answers("0+10-11+8-9+6-7");
}

/// RFC 2018 section 4: the first block is the whole run around the segment that led to this ACK, also when
/// part of it has not been reported lately.
#[test]
fn first_block_is_the_whole_run() {
    let mut l = listener();
    l.data(2).data(4).data(6).data(8).data(10).data(3).answers("0+2-5+10-11+8-9");
    l.data(5).answers("0+2-7+10-11+8-9").data(9).answers("0+8-11+2-7");
}

/// RFC 2018 section 4: that holds for a segment received before as well.
#[test]
fn first_block_holds_a_repeated_segment() {
    let mut l = listener();
    l.data(2).data(4).data(6).answers("0+6-7+4-5+2-3").data(4).answers("0+4-5+6-7+2-3");
    l.data(3).answers("0+2-5+6-7").data(3).answers("0+2-5+6-7");
}

/// RFC 2018 section 4: a block is repeated until two newer ones have displaced it; one that has been
/// acknowledged takes no place.
#[test]
fn acknowledged_blocks_take_no_place() {
    let mut l = listener();
    l.data(4).data(6).data(2).answers("0+2-3+6-7+4-5").data(0).answers("1+2-3+6-7+4-5");
    l.data(1).answers("3+6-7+4-5").data(8).answers("3+8-9+6-7+4-5");
}

/// RFC 2018 section 2: no blocks unless both ends agreed.
#[test]
fn none_without_sack() {
    Listener::new(&plain(LossRecovery::NewReno))
        .data(1)
        .answers("0")
        .data(2)
        .answers("0")
        .data(0)
        .answers("3");
}

/// A long gap, and the ring that remembers it grows on the way.
#[test]
fn long_runs() {
    let mut l = listener();
    for n in 1..1000 {
        l.data(n);
    }
    l.answers("0+1-1000").data(2000).answers("0+2000-2001+1-1000").data(0).answers("1000+2000-2001");
    for n in 1000..2000 {
        l.data(n);
    }
    l.answers("2001");
}
