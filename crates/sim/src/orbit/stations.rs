//! Ground stations that a scenario may name without defining them.
//!
//! Beijing, New York, Shanghai and New Delhi are where the papers put them. The others are the cities'
//! coordinates to a tenth of a degree (11 km), which changes a delay by less than 40 us.

use crate::orbit::geostationary::Station;

/// Name and position of every built-in station, in order of name.
pub const STATIONS: &[(&str, Station)] = &[
    ("bangalore", at(13.0, 77.6)),
    ("beijing", at(39.4, 116.4)),
    ("buenos-aires", at(-34.6, -58.4)),
    ("cairo", at(30.0, 31.2)),
    ("cape-town", at(-33.9, 18.4)),
    ("denver", at(39.7, -105.0)),
    ("fucino", at(42.0, 13.6)),
    ("honolulu", at(21.3, -157.9)),
    ("johannesburg", at(-26.2, 28.0)),
    ("lagos", at(6.5, 3.4)),
    ("london", at(51.5, -0.1)),
    ("los-angeles", at(34.1, -118.2)),
    ("moscow", at(55.8, 37.6)),
    ("nairobi", at(-1.3, 36.8)),
    ("new-delhi", at(28.9, 77.0)),
    ("new-york", at(40.7, -74.0)),
    ("paris", at(48.9, 2.4)),
    ("sao-paulo", at(-23.6, -46.6)),
    ("shanghai", at(31.2, 121.5)),
    ("singapore", at(1.4, 103.8)),
    ("svalbard", at(78.2, 15.4)),
    ("sydney", at(-33.9, 151.2)),
    ("tokyo", at(35.7, 139.7)),
    ("toulouse", at(43.6, 1.4)),
    ("washington", at(38.9, -77.0)),
];

const fn at(lat: f64, lon: f64) -> Station {
    Station { lat, lon }
}

/// The built-in station of this name, in any case: "new-york", "New York".
pub fn find(name: &str) -> Option<&'static Station> {
    let name = name.to_ascii_lowercase().replace([' ', '_'], "-");
    STATIONS.iter().find(|(known, _)| *known == name).map(|(_, station)| station)
}
