//! TFRC beside TCP with SACK on one RED queue, as in S. Floyd, M. Handley, J. Padhye, J.
//! Widmer: Equation-Based Congestion Control for Unicast Applications, ACM SIGCOMM, 2000:
//! 15 Mbit/s, 16 flows of each.

use crate::outcome::outcome;

/// When measuring begins, seconds; one sample in 200 ms.
const WARM: usize = 50;
const STEP: f64 = 0.2;

/// Mean goodput of the 16 flows of each kind, bit/s, and the mean over them of the coefficient of
/// variation of their rate.
fn shares() -> [(f64, f64); 2] {
    let flow = |cc: &str| {
        format!(
            "[[flow]]\nname = \"{cc}\"\ncc = \"{cc}\"\npath = [\"l\"]\ncount = 16\nstart_jitter = \"10 s\"\n\
             profile = \"paper\"\nmss = \"1000 bytes\"\nextra_delay = \"10 ms\"\n"
        )
    };
    let text = format!(
        r#"
        duration = "150 s"
        record = {{ interval = "200 ms" }}
        [link.l]
        rate = "15 Mbit/s"
        delay = "30 ms"
        queue = {{ kind = "red", limit = "250 packets", min = "25 packets", max = "125 packets", max_p = 0.1, weight = 0.002 }}
        {}{}
        "#,
        flow("reno"),
        flow("tfrc"),
    );
    let outcome = outcome(&text);
    let trace = outcome.flows.trace();
    [0, 16].map(|first| {
        let (mut rate, mut cov) = (0.0, 0.0);
        for flow in first..first + 16 {
            let delivered: Vec<f64> = (0..trace.t_s.len())
                .filter(|i| trace.flow[*i] as usize == flow && trace.t_s[*i] >= WARM as f64)
                .map(|i| trace.delivered_bytes[i] as f64)
                .collect();
            let rates: Vec<f64> = delivered.windows(2).map(|pair| (pair[1] - pair[0]) * 8.0 / STEP).collect();
            let n = rates.len() as f64;
            let mean = rates.iter().sum::<f64>() / n;
            let variance = rates.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            rate += mean / 16.0;
            cov += variance.sqrt() / mean / 16.0;
        }
        (rate, cov)
    })
}

#[test]
fn tfrc_shares_a_red_queue_with_tcp_and_is_the_smoother() {
    let [(tcp, tcp_cov), (tfrc, tfrc_cov)] = shares();
    assert!(tfrc / tcp > 0.5 && tfrc / tcp < 2.0, "{tfrc:.0} against {tcp:.0} bit/s");
    assert!(tfrc_cov < 0.9 * tcp_cov, "CoV {tfrc_cov:.3} against {tcp_cov:.3}");
    assert!(16.0 * (tcp + tfrc) > 0.9 * 15e6 * 1000.0 / 1040.0, "{tcp:.0} and {tfrc:.0} bit/s");
}
