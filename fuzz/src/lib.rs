//! Values from the bytes that the fuzzer chooses; after the last byte all are zero.

use bentpipe_cc::Span;
use bentpipe_tcp::Options;

/// The bytes not yet used.
#[derive(Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// Is anything left?
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// One bit of a byte of its own.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// A number that is mostly near `near`, now and then anything.
    pub fn number(&mut self, near: u64) -> u64 {
        match self.byte() {
            kind @ 0..=239 => near.wrapping_add_signed(i64::from(self.byte()) - i64::from(kind)),
            240..=247 => u64::from(self.word()),
            248..=253 => u64::from(self.word()) << 32 | u64::from(self.word()),
            _ => u64::MAX,
        }
    }

    /// Options within the ranges that a scenario allows.
    pub fn options(&mut self) -> Options {
        let profile = if self.flag() { Options::modern() } else { Options::paper() };
        let mut o = profile.drawn(&mut |n| u64::from(self.byte()) % n);
        o.mss = 1 + u32::from(self.byte()) * 8;
        o.initial_window = f64::from(self.byte().max(1));
        o.receive_window = self.flag().then(|| u64::from(self.byte().max(1)));
        o.delayed_ack = self.flag().then(|| Span::from_millis(200));
        o.ecn = self.flag();
        o
    }
}
