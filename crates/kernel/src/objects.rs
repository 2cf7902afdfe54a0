//! The compiled BPF programs, embedded.

/// Name (`datapath`, `sockops`, `native/NAME`) and object file; empty without the feature `bpf`.
static OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.in"));

/// The object called `name`.
pub fn find(name: &str) -> Option<&'static [u8]> {
    OBJECTS.iter().find(|(of, _)| *of == name).map(|(_, object)| *object)
}

/// The names of the native programs.
pub fn natives() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().filter_map(|(name, _)| name.strip_prefix("native/"))
}
