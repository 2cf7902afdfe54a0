//! Shells that have a name.
//!
//! No filing gives the phase between planes in a form that could be used here. So all have half a slot in odd
//! planes, as Hypatia assumes.

use serde::Serialize;

use crate::shell::{Phase, Shell, default_epoch};

/// A named shell.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// What a user writes.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
    /// Its numbers.
    #[serde(flatten)]
    pub shell: Shell,
}

/// The shell of this name.
pub fn find(name: &str) -> Option<&'static Named> {
    SHELLS.iter().find(|s| s.name == name)
}

const STARLINK: &str = "FCC SAT-MOD-20200417-00037 (granted in FCC 21-48): least elevation 25 degrees; planes and heights as in A&A 657, A75, table 1";
const KUIPER: &str = "planes and heights as in A&A 657, A75, table 1; least elevation 30 degrees as in Hypatia, of the 20, 30, 35 and 45 of ITU filing \
     8716 (FCC SAT-LOA-20190704-00057 has 35, which no place north of 59 degrees sees)";
const TELESAT: &str = "FCC SAT-MPL-20200526-00053, phase 1: planes, heights, least elevation 10 degrees";

/// A shell with lasers, planes all around, half a slot of phase.
const fn at(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    (planes, per_plane): (u32, u32),
    inclination_deg: f64,
    altitude_km: f64,
    min_elevation_deg: f64,
) -> Named {
    let shell = Shell {
        planes,
        per_plane,
        inclination_deg,
        altitude_km: Some(altitude_km),
        mean_motion_rev_per_day: None,
        raan_span_deg: 360.0,
        phase: Phase::HalfSlot,
        min_elevation_deg,
        greatest_length_km: None,
        lasers: true,
        epoch: default_epoch(),
    };
    Named { name, about, source, shell }
}

impl Named {
    /// A star: its planes are spread over `raan_span_deg`.
    const fn star(mut self, raan_span_deg: f64) -> Self {
        self.shell.raan_span_deg = raan_span_deg;
        self
    }

    const fn without_lasers(mut self) -> Self {
        self.shell.lasers = false;
        self
    }

    /// One of Hypatia's shells: a mean motion, and the greatest length of its scripts.
    const fn of_hypatia(mut self, mean_motion: f64, greatest_length_km: f64) -> Self {
        self.shell.altitude_km = None;
        self.shell.mean_motion_rev_per_day = Some(mean_motion);
        self.shell.greatest_length_km = Some(greatest_length_km);
        self
    }
}

/// Every named shell.
pub const SHELLS: &[Named] = &[
    at("starlink-s1", "Starlink, first shell", STARLINK, (72, 22), 53.0, 550.0, 25.0),
    at("starlink-s2", "Starlink, second shell", STARLINK, (72, 22), 53.2, 540.0, 25.0),
    at("starlink-s3", "Starlink, third shell", STARLINK, (36, 20), 70.0, 570.0, 25.0),
    at("starlink-s4", "Starlink, fourth shell", STARLINK, (6, 58), 97.6, 560.0, 25.0),
    at("starlink-s5", "Starlink, fifth shell", STARLINK, (4, 43), 97.6, 560.0, 25.0),
    at("kuiper-k1", "Kuiper, first shell", KUIPER, (34, 34), 51.9, 630.0, 30.0),
    at("kuiper-k2", "Kuiper, second shell", KUIPER, (36, 36), 42.0, 610.0, 30.0),
    at("kuiper-k3", "Kuiper, third shell", KUIPER, (28, 28), 33.0, 590.0, 30.0),
    at(
            "oneweb",
            "OneWeb as filed: a star without lasers",
            "FCC SAT-LOI-20160428-00041; del Portillo, Cameron, Crawley: IAC-18-B2.1.7, table 1: 18 planes of 40, 55 degrees",
            (18, 40),
            87.9,
            1_200.0,
            55.0,
    ).star(180.0).without_lasers(),
    at("telesat-polar", "Telesat Lightspeed, polar", TELESAT, (27, 13), 98.98, 1_015.0, 10.0),
    at("telesat-inclined", "Telesat Lightspeed, inclined", TELESAT, (40, 33), 50.88, 1_325.0, 10.0),
    at(
            "o3b-mpower",
            "O3b mPOWER, medium orbit over the equator",
            "FCC SAT-MOD-20160624-00060: equatorial, 8062 km; SpaceNews, 17 December 2024: 11 satellites and 2 more; the least elevation of \
             5 degrees is ours",
            (1, 13),
            0.0,
            8_062.0,
            5.0,
    ).without_lasers(),
    at(
            "iridium",
            "Iridium, a star with links between satellites",
            "Fossa, Raines, Gunsch, Temple: An overview of the Iridium low Earth orbit satellite system, NAECON 1998: 6 planes of \
             11, 31.6 degrees apart, inclined by 86.4, at 780 km, least elevation 8.2 degrees",
            (6, 11),
            86.4,
            780.0,
            8.2,
    ).star(189.6),
    at(
            "hypatia-kuiper-k1",
            "Kuiper's first shell as in Hypatia",
            "Hypatia, paper/satellite_networks_state/main_kuiper_630.py",
            (34, 34),
            51.9,
            630.0,
            30.0,
    )
    .of_hypatia(14.80, 1_260.0), // 630 km / sin 30 degrees
    at(
            "hypatia-starlink-s1",
            "Starlink's first shell as in Hypatia",
            "Hypatia, paper/satellite_networks_state/main_starlink_550.py",
            (72, 22),
            53.0,
            550.0,
            25.0,
    )
    .of_hypatia(15.19, 1_089.686_418_2), // sqrt(940.7^2 + 550^2) km
    at(
            "hypatia-telesat-t1",
            "Telesat's first shell as in Hypatia",
            "Hypatia, paper/satellite_networks_state/main_telesat_1015.py",
            (27, 13),
            98.98,
            1_015.0,
            10.0,
    )
    .of_hypatia(13.66, 5_845.152_040_4), // 1015 km / sin 10 degrees
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_shell_passes_the_checks_of_a_user_s() {
        for named in SHELLS {
            named.shell.check(named.name).expect(named.name);
            assert_eq!(find(named.name).map(|n| n.source), Some(named.source));
        }
    }

    #[test]
    fn greatest_lengths_are_those_of_hypatia_s_scripts() {
        // math.sqrt(cone^2 + altitude^2), worked out with the scripts' constants.
        let length = |name| find(name).and_then(|n| n.shell.greatest_length_km).expect(name);
        let sin = |degrees: f64| libm::sin(degrees.to_radians());
        assert!((length("hypatia-kuiper-k1") - 630.0 / sin(30.0)).abs() < 1e-4);
        assert!((length("hypatia-starlink-s1") - libm::hypot(940.7, 550.0)).abs() < 1e-4);
        assert!((length("hypatia-telesat-t1") - 1_015.0 / sin(10.0)).abs() < 1e-4);
    }

    #[test]
    fn the_filed_numbers_of_satellites_add_up() {
        // FCC 21-48: 4408 with shells of 1584, 1584, 720, 348 and 172; Kuiper 3236; Telesat
        // phase 1 351 and 1320 = 1671.
        let sum =
            |prefix: &str| SHELLS.iter().filter(|s| s.name.starts_with(prefix)).map(|s| s.shell.size()).sum();
        let (starlink, kuiper, telesat): (usize, usize, usize) =
            (sum("starlink"), sum("kuiper"), sum("telesat"));
        assert_eq!((starlink, kuiper, telesat), (4_408, 3_236, 1_671));
    }
}
