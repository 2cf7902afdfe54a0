//! Time lines that are drawn for each seed: a model of an access link, and the table that asks for a draw.

mod profiles;
mod quantiles;
mod starlink;
mod streams;

use bentpipe_cc::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use profiles::{Constant, PROFILES, Profile};
pub use starlink::{PERIOD, PHASE};

use crate::keys::table::keys;
use crate::keys::units::{BitRate, Duration};

/// The longest time line that is drawn.
pub(crate) const LONGEST: Span = Span(86_400_000_000_000);

/// The model that draws a time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// A Starlink access link (docs/starlink.md).
    Starlink,
}

/// The constants of the model, by the drive that measured them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProfileName {
    /// A car's dish in Maine, May 2024.
    #[default]
    #[serde(rename = "car-2024")]
    Car2024,
}

/// A direction of an access link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Towards {
    /// Towards the user.
    #[default]
    Down,
    /// Away from the user.
    Up,
}

keys! {
    /// A time line that is drawn anew for each seed.
    pub struct DrawnTimeline {
        /// The model that draws it.
        pub generator: Generator,
        /// The constants of the model. Default "car-2024".
        #[serde(default)]
        pub profile: ProfileName,
        /// The direction of the access link, towards the user or away. Default "down".
        #[serde(default)]
        pub direction: Towards,
        /// Median of the rate over the periods of 15 s. Default that of the profile.
        pub rate_median?: BitRate,
        /// Share of the rate that is drawn, above 0. Default 1.0.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub share?: f64,
        /// Time without transmission in each period. Default that of the profile.
        pub blackout?: Duration,
        /// Seed of the draw. Default that of the run, so that each seed has its own.
        pub seed?: u64,
    }
}

/// A drawn time line. All columns are equally long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnLine {
    /// Instants, ns, the first 0 and the last the duration.
    pub at: Vec<u64>,
    /// Bits per second.
    pub rate: Vec<u64>,
    /// One-way delay, ns: whole microseconds.
    pub delay: Vec<u64>,
    /// Is the path there?
    pub up: Vec<bool>,
    /// Does the path change hands?
    pub handover: Vec<bool>,
}

impl DrawnTimeline {
    /// The constants of the model.
    pub fn profile(&self) -> &'static Profile {
        match self.profile {
            ProfileName::Car2024 => &PROFILES[0].1,
        }
    }

    /// Says why the share of the rate is none.
    pub(crate) fn check_share(&self) -> Result<(), String> {
        match self.share {
            Some(share) if !(share > 0.0 && share <= 1.0) => {
                Err(format!("{share} is not a number above 0, and at most 1"))
            }
            _ => Ok(()),
        }
    }

    /// The median of the rate's level times the share, bits per second.
    pub fn rate_bps(&self) -> f64 {
        let of_profile = match self.direction {
            Towards::Down => self.profile().rate_down_bps,
            Towards::Up => self.profile().rate_up_bps,
        };
        self.share.unwrap_or(1.0) * self.rate_median.map_or(of_profile.value, |rate| rate.0 as f64)
    }

    /// Median rate and short delay: the bandwidth-delay product of a queue's limit is theirs.
    pub fn nominal(&self) -> (BitRate, Span) {
        let short_us = libm::rint(self.profile().rtt_short_s() / 2.0 * 1e6);
        (BitRate(libm::rint(self.rate_bps()) as u64), Span(short_us as u64 * 1000))
    }

    /// Rate, delay and reconfigurations over time, without outages. A shorter time line is the beginning of a
    /// longer one with the same seed.
    pub fn line(&self, seed: u64, duration: Span) -> DrawnLine {
        let blackout =
            self.blackout.map_or_else(|| Span::from_secs(self.profile().blackout_s.value), |given| given.0);
        starlink::line(self, self.seed.unwrap_or(seed), duration, blackout)
    }

    /// Begin and end of each outage, in which all packets of both directions are lost. They do not overlap.
    pub fn outages(&self, seed: u64, duration: Span) -> Vec<[Span; 2]> {
        starlink::outages(self.profile(), self.seed.unwrap_or(seed), duration)
    }
}
