//! The SACK option on the wire: block edges of 32 bits.

use crate::segment::{Block, MAX_BLOCKS, Sack};

/// The SACK blocks of one acknowledgement, both edges modulo 2^32, one word per block. Single words avoid a
/// store-to-load forwarding stall when the option is copied. They also make it cheap to compare an
/// acknowledgement with the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackOption {
    /// The cumulative acknowledgement. The edges lie within 2^31 of it.
    near: u64,
    /// End in the upper half, start in the lower half; 0 for none.
    blocks: [u64; MAX_BLOCKS],
}

impl SackOption {
    /// Replaces its blocks by those of an acknowledgement of all before `ack`, as many as fit. Returns their
    /// number.
    #[inline]
    pub fn fill(&mut self, ack: u64, blocks: impl IntoIterator<Item = Block>) -> u32 {
        let mut words = [0; MAX_BLOCKS];
        let mut taken = 0;
        for (word, block) in words.iter_mut().zip(blocks) {
            *word = block.end << 32 | u64::from(block.start as u32);
            taken += 1;
        }
        *self = Self { near: ack, blocks: words };
        taken
    }

    /// Writes the blocks into `sack`, replacing its contents.
    pub fn unpack(&self, sack: &mut Sack) {
        let blocks = self.blocks.iter().take_while(|&&block| block != 0);
        sack.fill(blocks.map(|&block| Block {
            start: unwrap(block as u32, self.near),
            end: unwrap((block >> 32) as u32, self.near),
        }));
    }

    /// Does it equal `known`, except that the first block is one segment longer?
    #[inline]
    pub(crate) fn adds_one_to(&self, known: &Self) -> bool {
        let ([run, rest @ ..], [before, others @ ..]) = (&self.blocks, &known.blocks);
        *before != 0 && *run == longer(*before) && rest == others
    }

    /// Makes the first block longer by one segment.
    #[inline]
    pub(crate) fn lengthen(&mut self) {
        self.blocks[0] = longer(self.blocks[0]);
    }
}

/// The word of a block one segment longer.
#[inline]
fn longer(block: u64) -> u64 {
    block.wrapping_add(1 << 32)
}

/// The number nearest `near` whose low 32 bits are `low`.
#[inline]
pub fn unwrap(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(ack: u64, blocks: &[(u64, u64)]) -> (SackOption, Sack) {
        let blocks = blocks.iter().map(|&(start, end)| Block { start: ack + start, end: ack + end });
        let (mut option, mut sack) = (SackOption::default(), Sack::default());
        sack.fill(blocks.clone());
        assert_eq!(option.fill(ack, blocks) as usize, sack.blocks().len());
        (option, sack)
    }

    /// Around the points where the 32 bits of the wire wrap.
    const ACKS: [u64; 5] = [10, (1 << 32) - 3, 1 << 32, (5 << 32) + 1, (9 << 32) - 80_000];

    #[test]
    fn blocks_come_out_as_they_were_put_in() {
        for ack in ACKS {
            for blocks in
                [&[][..], &[(2, 3)], &[(70_000, 90_000), (1, 2)], &[(4, 9), (2, 3), (1 << 26, 1 << 27)]]
            {
                let (option, sack) = option(ack, blocks);
                let mut found = Sack::default();
                found.push(Block { start: 1, end: 2 });
                option.unpack(&mut found);
                assert_eq!(found, sack);
            }
        }
    }

    #[test]
    fn a_first_run_that_is_longer_by_a_segment_is_recognised_and_nothing_else_is() {
        for ack in ACKS {
            let of = |blocks: &[(u64, u64)]| option(ack, blocks).0;
            let mut known = of(&[(4, 9), (1, 2)]);
            assert!(of(&[(4, 10), (1, 2)]).adds_one_to(&known));
            for other in [
                &[][..],
                &[(4, 9), (1, 2)],
                &[(4, 11), (1, 2)],
                &[(3, 10), (1, 2)],
                &[(4, 10), (1, 3)],
                &[(4, 10)],
            ] {
                assert!(!of(other).adds_one_to(&known), "{other:?}");
            }
            assert!(!of(&[(4, 10), (1, 2), (6, 7)]).adds_one_to(&known));
            assert!(!of(&[(4, 5)]).adds_one_to(&SackOption::default()));
            known.lengthen();
            assert_eq!(known, of(&[(4, 10), (1, 2)]));
        }
    }

    #[test]
    fn numbers_unwrap_around_four_thousand_million() {
        for near in
            [0_u64, 5, u64::from(u32::MAX) - 2, 1 << 32, (1 << 32) + 2, (7 << 32) + 100, u64::MAX - (1 << 31)]
        {
            // The furthest that a window can reach: half of the numbers, less one, either way.
            for offset in [-(1_i64 << 31), -70_000, -3, 0, 1, 70_000, (1 << 31) - 1] {
                let Some(n) = near.checked_add_signed(offset) else { continue };
                assert_eq!(unwrap(n as u32, near), n);
            }
        }
    }
}
