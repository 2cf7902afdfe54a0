//! The constants of the model of a Starlink access link, by the drive that measured them. Units are those of
//! the names; shares and ratios have none.

use serde::Serialize;

use crate::drawn::quantiles::normal_quantile;

/// A constant of the model: its value, and the ends of its 95 % interval or of its range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Constant {
    /// The value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Constant {
    const fn new(value: f64, low: f64, high: f64) -> Self {
        Self { value, low, high }
    }
}

/// The constants of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Where and when it was measured, in words.
    pub measured: &'static str,
    /// Median of the downlink's level, on the wire.
    pub rate_down_bps: Constant,
    /// The same of the uplink.
    pub rate_up_bps: Constant,
    /// Standard deviation of the levels over their mean.
    pub level_cv: Constant,
    /// Correlation of the levels of two successive periods.
    pub level_slow: Constant,
    /// Median over the periods of the standard deviation of half seconds over the period's level.
    pub course_cv: Constant,
    /// Standard deviation of its logarithm over the periods.
    pub course_spread: Constant,
    /// Correlation of this logarithm with the level; low periods vary more.
    pub course_level: Constant,
    /// Correlation of successive half seconds within a period.
    pub course_half: Constant,
    /// Standard deviation of 50 ms within half a second, over its mean.
    pub noise_cv: Constant,
    /// Time without transmission at the end of each period.
    pub blackout_s: Constant,
    /// Mean time from one outage to the next.
    pub outage_every_s: Constant,
    /// Median length of an outage.
    pub outage_length_s: Constant,
    /// Standard deviation of the logarithm of the length.
    pub outage_spread: Constant,
    /// The least round trip, without queues.
    pub rtt_least_s: Constant,
    /// Median of what a round trip has beyond it.
    pub rtt_more_s: Constant,
    /// Standard deviation of the logarithm of this.
    pub rtt_spread: Constant,
    /// Share of its variance that changes from period to period.
    pub rtt_period: Constant,
    /// Share that changes within about a second, and the rest within 0.2 s.
    pub rtt_slow: Constant,
    /// Loss events per packet, downlink, outside outages. Not identified: a range.
    pub loss_down: Constant,
    /// Packets lost in an event, mean.
    pub loss_down_packets: Constant,
    /// Loss events per packet, uplink.
    pub loss_up: Constant,
    /// Packets lost in an event, mean.
    pub loss_up_packets: Constant,
    /// Buffer of the downlink over rate times `rtt_short_s`. Not identified, and tied to `share`: the low end
    /// belongs to a share of 1, the high end to 0.65.
    pub buffer_bdp: Constant,
    /// Share of the rate that TCP can get.
    pub share: Constant,
}

impl Profile {
    /// A round trip that 1 % of all are below, s: about the least in half a minute.
    pub fn rtt_short_s(&self) -> f64 {
        self.rtt_least_s.value
            + self.rtt_more_s.value * libm::exp(self.rtt_spread.value * normal_quantile(0.01))
    }
}

/// The profiles by name.
pub const PROFILES: [(&str, Profile); 1] = [("car-2024", CAR_2024)];

/// Starlink measurement of 27 May 2024, a car in Maine (docs/starlink.md, "The model"). Those marked "fit"
/// are from `bentpipe study run starlink-model`, with 95 % intervals by a bootstrap over tests.
const CAR_2024: Profile = Profile {
    measured: "a car's dish in Maine, May 2024",
    rate_down_bps: Constant::new(246e6, 209e6, 264e6), // fit: 241 Mbit/s of payload, with heads of IP and UDP
    rate_up_bps: Constant::new(31e6, 24e6, 39e6),      // UDP tests of 120 s: median, p10 and p90
    level_cv: Constant::new(0.37, 0.31, 0.42),         // fit
    level_slow: Constant::new(0.27, 0.08, 0.41),       // fit
    course_cv: Constant::new(0.28, 0.24, 0.33),        // fit
    course_spread: Constant::new(0.52, 0.45, 0.58),    // fit
    course_level: Constant::new(-0.81, -0.86, -0.74),  // fit
    course_half: Constant::new(0.48, 0.44, 0.53), // fit: half seconds that are drawn then have 0.41; measured 0.44
    noise_cv: Constant::new(0.11, 0.0, 0.22),     // LeoCC's sample trace at 50 ms; at 20 ms
    blackout_s: Constant::new(0.15, 0.0, 0.32),   // fit: what UDP lacks in the 3 s around the end of a period
    outage_every_s: Constant::new(65.0, 51.0, 93.0), // fit
    outage_length_s: Constant::new(0.9, 0.78, 1.06), // fit
    outage_spread: Constant::new(0.7, 0.52, 0.83), // fit: 0.63 in tests; 0.82 in the whole day
    rtt_least_s: Constant::new(0.026, 0.026, 0.027), // the least of 3,651 pings
    rtt_more_s: Constant::new(0.0183, 0.0163, 0.0206), // fit
    rtt_spread: Constant::new(0.75, 0.64, 0.85),  // fit
    rtt_period: Constant::new(0.35, 0.2, 0.5), // from the correlation of pings at 5 and 10 s: 0.26 and 0.09
    rtt_slow: Constant::new(0.41, 0.3, 0.5),   // from that at 0.2 and 1 s: 0.65 and 0.40
    loss_down: Constant::new(2e-5, 6e-6, 1e-4), // 6e-6 to 1.4e-5 measured; LeoCC's emulator has 1e-4
    loss_down_packets: Constant::new(8.0, 8.0, 8.0), // retransmissions of BBR in quiet seconds
    loss_up: Constant::new(9e-4, 9e-4, 1.6e-3), // by TCP's goodput; by half seconds with a loss
    loss_up_packets: Constant::new(4.0, 2.6, 4.0),
    buffer_bdp: Constant::new(0.25, 0.25, 2.5),
    share: Constant::new(1.0, 0.65, 1.0),
};
