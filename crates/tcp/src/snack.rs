//! The option SNACK of SCPS-TP: the segments that a receiver misses.
//!
//! Consultative Committee for Space Data Systems: Space Communications Protocol Specification (SCPS),
//! Transport Protocol (SCPS-TP), CCSDS 714.0-B-2, 2006. The option gives one hole by its offset from the
//! cumulative acknowledgement and its size, both in segments. A vector follows with a bit for each segment
//! after the hole, set if the segment has arrived. The vector may be left out. The text of the standard was
//! not available. The layout is that of the reference implementation (MITRE, tp_options and tp_output.c),
//! which leaves the vector out, and of Wireshark's dissector.

use crate::bits::Bits;
use crate::segment::Block;

/// The most octets of the bit vector. With timestamps, 28 octets of options are left; the option takes 6
/// without the vector.
pub const MAX_VECTOR: u8 = 16;

/// The largest offset and the largest size that the option can carry.
const MOST: u64 = 0xFFFF;

/// The contents of the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snack {
    /// The hole that it signals.
    pub hole: Block,
    /// Bit i is set if segment `hole.end` + i has arrived.
    pub arrived: u128,
    /// How many of the bits are sent; the last of them is set.
    pub bits: u8,
}

impl Snack {
    /// The option of a receiver that expects `next`, has received nothing from `high` on, and keeps the
    /// segments received beyond `next` in `segments`. It signals the first hole from `from` on, or else the
    /// first hole of all, and has a vector of at most `octets`.
    pub(crate) fn new(segments: &Bits, [next, from, high]: [u64; 3], octets: u8) -> Self {
        let reach = high.min(next + MOST + 1);
        let start = segments.next_clear(from.max(next), reach).unwrap_or(next);
        let end = segments.next_set(start, high).unwrap_or(high);
        if end - start > MOST {
            return Self { hole: Block { start, end: start + MOST }, ..Self::default() };
        }
        let until = high.min(end + 8 * u64::from(octets.min(MAX_VECTOR)));
        let (mut arrived, mut bits) = (u128::MAX, 0);
        let mut at = end;
        while let Some(first) = segments.next_clear(at, until) {
            let Some(behind) = segments.next_set(first, until) else { break };
            for missing in first..behind {
                arrived &= !(1 << (missing - end));
            }
            bits = (behind - end + 1) as u8;
            at = behind;
        }
        let shown = if bits == 0 { 0 } else { u128::MAX >> (128 - u32::from(bits)) };
        Self { hole: Block { start, end }, arrived: arrived & shown, bits }
    }

    /// The segment after the last one that the option covers.
    pub(crate) fn end(&self) -> u64 {
        self.hole.end + u64::from(self.bits)
    }

    /// Octets of the bit vector.
    pub fn octets(&self) -> u32 {
        u32::from(self.bits).div_ceil(8)
    }

    /// Bytes of the option: kind, length, offset and size, the vector, padded to whole words.
    pub fn size(&self) -> u32 {
        size(self.octets())
    }

    /// The missing segments, in order.
    pub fn holes(&self) -> impl Iterator<Item = Block> {
        let (missing, bits, end) = (!self.arrived, u32::from(self.bits), self.hole.end);
        let mut at = 0;
        let behind = core::iter::from_fn(move || {
            let from = |at: u32, of: u128| if at < bits { at + (of >> at).trailing_zeros() } else { bits };
            let start = from(at, missing).min(bits);
            at = from(start, !missing).min(bits);
            (start < at).then(|| Block { start: end + u64::from(start), end: end + u64::from(at) })
        });
        core::iter::once(self.hole).chain(behind)
    }
}

/// Bytes of an option with a bit vector of `octets` octets.
pub fn size(octets: u32) -> u32 {
    (6 + octets).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The option of a receiver that expects segment 10 and has received these segments beyond it.
    fn option(arrived: &[u64], from: u64, octets: u8) -> Snack {
        let mut segments = Bits::new(1 << 18);
        arrived.iter().for_each(|&seq| segments.set(seq));
        let high = arrived.iter().max().map_or(10, |seq| seq + 1);
        Snack::new(&segments, [10, from, high], octets)
    }

    fn holes(snack: &Snack) -> Vec<(u64, u64)> {
        snack.holes().map(|hole| (hole.start, hole.end)).collect()
    }

    /// 10 and 11 are missing, 12 and 13 are there, 14 is missing, 15 is there, 16 to 18 are missing, 19 is
    /// there. The vector begins with 12: 1 1 0 1 0 0 0 1.
    #[test]
    fn a_hole_and_a_vector() {
        let arrived = [12, 13, 15, 19];
        let snack = option(&arrived, 0, 16);
        assert_eq!((snack.arrived, snack.bits), (0b1000_1011, 8));
        assert_eq!(holes(&snack), [(10, 12), (14, 15), (16, 19)]);
        // Seven bytes are padded to eight.
        assert_eq!((snack.octets(), snack.size(), snack.end()), (1, 8, 20));
        assert_eq!(holes(&option(&arrived, 0, 0)), [(10, 12)]);
    }

    /// Segments after the last hole need no bits.
    #[test]
    fn one_hole_needs_no_vector() {
        let snack = option(&[11, 12, 13], 0, 16);
        assert_eq!((holes(&snack), snack.bits, snack.size()), (vec![(10, 11)], 0, 8));
    }

    /// Signals from the given segment on, or from the first hole if there is none after that segment.
    #[test]
    fn the_holes_are_signalled_in_order_and_then_again() {
        let arrived = [12, 15, 19];
        assert_eq!(holes(&option(&arrived, 12, 0)), [(13, 15)]);
        assert_eq!(holes(&option(&arrived, 15, 0)), [(16, 19)]);
        assert_eq!(holes(&option(&arrived, 19, 0)), [(10, 12)]);
    }

    /// 16 octets are 128 segments; 22 bytes are padded to 24. 16 bits are the offset and the size.
    #[test]
    fn the_option_has_its_limits() {
        let arrived: Vec<u64> = (0..100).map(|i| 11 + 2 * i).collect();
        let snack = option(&arrived, 0, 16);
        assert_eq!((snack.bits, snack.size(), snack.holes().count()), (127, 24, 64));
        assert_eq!(holes(&option(&[100_000], 0, 16)), [(10, 65_545)]);
        assert_eq!(holes(&option(&[11, 80_000, 90_000], 80_001, 16)), [(10, 11)]);
        assert_eq!([0, 1, 2, 3, 6, 7, 15].map(size), [8, 8, 8, 12, 12, 16, 24]);
    }
}
