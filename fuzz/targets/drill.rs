//! Any text as a script of packetdrill: it plays to its end, or is refused with a line that it has.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = bentpipe_drill::run(text) {
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&error.line), "{error} of {lines} lines");
    }
});
