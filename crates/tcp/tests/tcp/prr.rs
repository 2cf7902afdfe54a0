//! RFC 9937 (RFC 6937): proportional rate reduction.

use bentpipe_tcp::{LossRecovery, Options};

use crate::script::{Fixed, Script, plain};

fn script(limited_transmit: bool, cwnd: u64, after_loss: u64) -> Script {
    let options = Options { prr: true, limited_transmit, ..plain(LossRecovery::Sack) };
    let cc = Fixed::new(cwnd).with(|c| c.after_loss = after_loss);
    Script::new(options, cc.boxed(), None)
}

/// RFC 9937 section 6.2 with one loss, RecoverFS = 12 - 2 = 10 and ssthresh = 7. ACK by ACK, with
/// d = prr_delivered, o = prr_out before and f = inflight: while f > 7, SndCnt = ceil(0.7 d) - o; then
/// min(7 - f, max(d - o, 1)).
#[test]
fn single_loss() {
    let mut t = script(true, 10, 7);
    t.sends("0-9").at(100).sack(0, &[(1, 2)]).sends("10").sack(0, &[(1, 3)]).sends("11");
    t.sack(0, &[(1, 4)]).flight(8).sends("r0"); // d 1: ceil(0.7) - 0
    t.sack(0, &[(1, 5)]).flight(8).sends("12"); // d 2: ceil(1.4) - 1
    t.sack(0, &[(1, 6)]).flight(8).sends("13"); // d 3: ceil(2.1) - 2
    t.sack(0, &[(1, 7)]).flight(8).sends(""); // d 4: ceil(2.8) - 3
    t.sack(0, &[(1, 8)]).flight(7).sends(""); // d 5: f = ssthresh
    t.sack(0, &[(1, 9)]).flight(6).sends("14"); // d 6
    t.sack(0, &[(1, 10)]).flight(6).sends("15");
    t.sack(0, &[(1, 11)]).flight(6).sends("16");
    t.sack(0, &[(1, 12)]).flight(6).sends("17");
    // Seven segments for ten delivered; at the end cwnd = ssthresh.
    t.at(200).ack(12).flight(6).sends("18").flight(7);
}

/// RFC 9937 section 6.2: the first retransmission is sent even if the proportion allows none: 40 in flight,
/// ssthresh 1, RecoverFS 38.
#[test]
fn the_first_retransmission_is_forced() {
    let mut t = script(false, 40, 1);
    t.sends("0-39").at(100).sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sends("").sack(0, &[(1, 4)]).sends("r0");
    t.sack(0, &[(1, 5)]).sends("").sack(0, &[(1, 6)]).sends("");
}

/// RFC 9937 section 6.2: pipe falls to ssthresh = 10 in proportion when nothing but the first segment of
/// 20 is lost: one segment for two delivered.
#[test]
fn halving_sends_one_segment_for_two_delivered() {
    let mut t = script(false, 20, 9);
    t.sends("0-19").at(100).sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sends("").sack(0, &[(1, 4)]).sends("r0");
    // RecoverFS = 20 - 2 = 18, ssthresh 9: ceil(d / 2) - o.
    for (d, sent) in
        [(2, ""), (3, "20"), (4, ""), (5, "21"), (6, ""), (7, "22"), (8, ""), (9, "23"), (10, ""), (11, "24")]
    {
        t.sack(0, &[(1, 3 + d)]).sends(sent);
    }
}

/// RFC 9937 section 6.2: losses beyond the reduction, inflight below ssthresh: one segment for
/// each delivered, and one more for each ACK that advances without revealing a loss, until
/// inflight is back at ssthresh.
#[test]
fn heavy_loss_slow_starts_towards_ssthresh() {
    let mut t = script(false, 20, 10);
    t.sends("0-19")
        .at(100)
        .sack(0, &[(10, 11)])
        .sack(0, &[(10, 12)])
        .sends("")
        .sack(0, &[(10, 13)])
        .flight(7);
    t.sends("r0").flight(8);
    for n in 1..=7 {
        t.sack(0, &[(10, 13 + n)]).flight(7).sends(&format!("r{n}"));
    }
    t.at(200).sack(1, &[(10, 20)]).flight(7).sends("r8 r9").sack(2, &[(10, 20)]).flight(8).sends("20-21");
    t.sack(3, &[(10, 20)]).flight(9).sends("22").sack(4, &[(10, 20)]).flight(9).sends("23");
}

/// RFC 9937 section 6.2: four losses at the head of ten with limited transmit; the flight sinks below
/// ssthresh = 7 at once, then every ACK sends what it delivered, later one more.
#[test]
fn four_losses() {
    let mut t = script(true, 10, 7);
    t.sends("0-9").at(100).sack(0, &[(4, 5)]).sends("10").sack(0, &[(4, 6)]).sends("11");
    t.sack(0, &[(4, 7)]).flight(5).sends("r0").sack(0, &[(4, 8)]).sends("r1").sack(0, &[(4, 9)]).sends("r2");
    t.sack(0, &[(4, 10)]).sends("r3").sack(0, &[(4, 11)]).sends("12").sack(0, &[(4, 12)]).sends("13");
    t.at(200).sack(1, &[(4, 12)]).flight(5).sends("14-15").sack(2, &[(4, 12)]).sends("16");
    t.sack(3, &[(4, 12)]).sends("17").ack(12).window(7.0, 7.0).sends("18");
}

/// RFC 9937 section 6.2: an ACK that delivers nothing releases nothing.
#[test]
fn nothing_delivered_nothing_sent() {
    let mut t = script(true, 10, 7);
    t.sends("0-9").at(100).sack(0, &[(1, 4)]).sends("r0").sack(0, &[(1, 4)]).sends("").ack(0).sends("");
}

/// RFC 9937 section 6.1 note: without SACK each duplicate ACK counts as one delivered segment. ssthresh 5 of
/// 10: RecoverFS 10, ceil(d / 2) - o; the flight of RFC 6582 is the same.
#[test]
fn without_sack() {
    let options = Options { prr: true, ..plain(LossRecovery::NewReno) };
    let mut t = Script::new(options, Fixed::new(10).with(|c| c.after_loss = 5).boxed(), None);
    t.sends("0-9").at(100).ack(0).ack(0).sends("").ack(0).sends("r0").ack(0).sends("");
    t.at(200).ack(10).sends("10-11");
}
