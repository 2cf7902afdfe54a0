//! The throughput of TCP by equation, bytes per second, which equation-based senders keep to.
//!
//! All have one acknowledgement per packet. `s`: bytes of a packet; `r`: round trip, seconds; `p`: loss rate, above 0.

/// 1.22 s / (R sqrt(p)): J. Mahdavi, S. Floyd: TCP-Friendly Unicast Rate-Based Flow Control, 1997.
pub(crate) fn square_root(s: f64, r: f64, p: f64) -> f64 {
    1.22 * s / (r * libm::sqrt(p))
}

/// The approximation of J. Padhye, V. Firoiu, D. Towsley, J. Kurose: Modeling TCP Throughput, ACM SIGCOMM, 1998,
/// eq. 30 without its bound by the window. No more than all losses end in a timeout of `t_rto` seconds.
pub(crate) fn padhye(s: f64, r: f64, p: f64, t_rto: f64) -> f64 {
    with_timeouts(s, r, p, t_rto * (3.0 * libm::sqrt(3.0 * p / 8.0)).min(1.0))
}

/// X_Bps of RFC 5348, section 3.1: [`padhye`] without the bound of the timeouts.
pub(crate) fn tfrc(s: f64, r: f64, p: f64, t_rto: f64) -> f64 {
    with_timeouts(s, r, p, t_rto * 3.0 * libm::sqrt(3.0 * p / 8.0))
}

/// `waits`: the timeout in seconds times the share of losses that end in one.
fn with_timeouts(s: f64, r: f64, p: f64, waits: f64) -> f64 {
    let fast = r * libm::sqrt(2.0 * p / 3.0);
    s / (fast + waits * p * (1.0 + 32.0 * p * p))
}
