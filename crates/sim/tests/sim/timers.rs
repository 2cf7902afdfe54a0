//! The retransmission timer on a long path.

use crate::outcome::report;

/// Timeouts and goodput of Hybla over a GEO link whose queue holds two bandwidth-delay products.
fn hybla(rto: &str) -> (u64, f64) {
    let r = report(&format!(
        r#"
        duration = "60 s"
        [link.sat]
        rate = "20 Mbit/s"
        delay = "300 ms"
        queue = {{ kind = "drop-tail", limit = "2 bdp" }}
        loss = {{ kind = "packet-error", rate = 1e-4 }}
        [[flow]]
        cc = {{ name = "hybla", per = "segment" }}
        path = ["sat"]
        {rto}
        "#
    ));
    (r.flows[0].timeouts, r.flows[0].goodput_bps)
}

/// The queue fills within a few round trips. A gain per acknowledgement follows so closely that
/// RTTVAR is nothing, and the timer expires while a retransmission waits in the queue. Not so where
/// the variance has a floor.
#[test]
fn a_growing_queue_on_a_long_path_brings_no_timeout() {
    let (timeouts, goodput) = hybla("");
    let (by_rfc, less) = hybla("rto = \"rfc6298\"");
    assert_eq!(timeouts, 0);
    assert!(by_rfc >= 3 && less < 0.97 * goodput, "{by_rfc} timeouts, {less} of {goodput} bit/s");
}
