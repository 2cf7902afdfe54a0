//! Probes: the internal quantities that controllers name ([`Controller::probe`]), and their units.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::controller::Controller;

/// The endings of probe names, and the unit that each means; if two fit, the first applies.
pub const UNITS: [(&str, &str); 6] = [
    ("_segments_per_s", "segments/s"),
    ("_bytes_per_s", "bytes/s"),
    ("_segments", "segments"),
    ("_bytes", "bytes"),
    ("_rounds", "rounds"),
    ("_s", "s"),
];

/// The unit of the probe `name`; empty for a pure number.
pub fn unit(name: &str) -> &'static str {
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit)
}

/// The names of the probes that `cc` has, in its order.
pub fn names(cc: &dyn Controller) -> Vec<String> {
    let mut names = Vec::new();
    cc.probe(&mut |name, _| names.push(name.to_string()));
    names
}

#[cfg(test)]
mod tests {
    use super::{names, unit};
    use crate::registry;
    use crate::window::Start;

    #[test]
    fn a_name_says_its_unit() {
        for (name, of) in [
            ("base_rtt_s", "s"),
            ("rate_segments_per_s", "segments/s"),
            ("max_bw_bytes_per_s", "bytes/s"),
            ("s_segments", "segments"),
            ("pacing_gain", ""),
        ] {
            assert_eq!(unit(name), of, "{name}");
        }
    }

    #[test]
    fn no_controller_has_two_probes_of_one_name_and_each_reads_as_a_column() {
        let start = Start { mss: 1, initial_window: 10.0, initial_ssthresh: f64::INFINITY };
        for entry in registry::all() {
            let names = names(&*registry::build(entry.id, &[], start).expect("defaults"));
            for (i, name) in names.iter().enumerate() {
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                assert!(name.chars().all(plain) && !names[..i].contains(name), "{}: {name}", entry.id);
            }
        }
    }
}
