//! Options by their names, and what they need.

use bentpipe_tcp::{LossRecovery, Options, RtoRule};

use crate::script::ms;

#[test]
fn an_option_is_set_by_text_and_the_message_of_a_wrong_one_says_what_is_right() {
    let mut o = Options::paper();
    for (name, text) in [("rack", "on"), ("rto", "linux"), ("min_rto", "1s"), ("initial_window", "4")] {
        assert_eq!(o.set(name, text), Ok(()));
    }
    assert_eq!((o.rack, o.rto, o.min_rto, o.initial_window), (true, RtoRule::Linux, ms(1000), 4.0));
    for (name, text, right) in [
        ("rack", "yes", "on or off"),
        ("spurious", "frto", "none, f-rto or eifel"),
        ("max_rto", "0s", "a time like 200ms or 3s"),
        ("initial_window", "0", "segments, 1 to 10000"),
    ] {
        assert_eq!(o.set(name, text), Err(Some(right.to_owned())));
    }
    assert_eq!(o.set("mss", "1000"), Err(None));
}

/// RACK, tail loss probes and D-SACK are of SACK (RFC 8985 section 4, RFC 2883), and SACKs restart the timer
/// by RACK's times of sending.
#[test]
fn a_switch_is_off_without_what_it_needs() {
    let mut o = Options { recovery: LossRecovery::NewReno, ..Options::linux() };
    o.fit();
    assert!(!o.rack && !o.tlp && !o.dsack && !o.sack_restarts_rto && o.prr);
    let mut o = Options { rack: false, ..Options::linux() };
    o.fit();
    assert!(o.tlp && o.dsack && !o.sack_restarts_rto);
}
