//! The stored rows of a trace, until somebody reads them: whole numbers that change little from row to row of
//! one flow or link.
//!
//! A row is stored as its difference from the previous row of the same flow or link. That takes less than
//! half the space of its columns, and touching fresh memory costs more time than computing the differences.

use bentpipe_cc::Time;

/// Takes the place of a flow or link if the row is in `far`.
const FAR: u32 = u32::MAX;

/// The numbers of a row. Some change by up to 32 bits from row to row, others by up to 16, and others hardly
/// ever change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers<const WIDE: usize, const SLIM: usize, const STILL: usize> {
    pub(crate) wide: [u64; WIDE],
    pub(crate) slim: [u64; SLIM],
    pub(crate) still: [u64; STILL],
}

/// Rows in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows<const WIDE: usize, const SLIM: usize, const STILL: usize> {
    /// The last row of each flow or link.
    last: Vec<Numbers<WIDE, SLIM, STILL>>,
    /// Time of the last row.
    at: u64,
    near: Vec<Near<WIDE, SLIM>>,
    /// Rows whose differences do not fit.
    far: Vec<Row<WIDE, SLIM, STILL>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Near<const WIDE: usize, const SLIM: usize> {
    /// Nanoseconds since the previous row.
    after: u32,
    of: u32,
    wide: [i32; WIDE],
    slim: [i16; SLIM],
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<const WIDE: usize, const SLIM: usize, const STILL: usize> {
    pub(crate) at: Time,
    /// Index of the flow or link.
    pub(crate) of: u32,
    pub(crate) numbers: Numbers<WIDE, SLIM, STILL>,
}

impl<const WIDE: usize, const SLIM: usize, const STILL: usize> Numbers<WIDE, SLIM, STILL> {
    const ZERO: Self = Self { wide: [0; WIDE], slim: [0; SLIM], still: [0; STILL] };
}

impl<const WIDE: usize, const SLIM: usize, const STILL: usize> Rows<WIDE, SLIM, STILL> {
    /// An empty store for this many flows or links.
    pub(crate) fn new(entities: usize) -> Self {
        Self { last: vec![Numbers::ZERO; entities], at: 0, near: Vec::new(), far: Vec::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.near.len()
    }

    /// Adds a row of flow or link `of` at `at`, which is not before the last row.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, of: usize, numbers: Numbers<WIDE, SLIM, STILL>) {
        let after = at.0 - self.at;
        let last = &mut self.last[of];
        let (mut wide, mut slim, mut fits) = ([0; WIDE], [0; SLIM], after <= u64::from(u32::MAX));
        for ((more, last), number) in wide.iter_mut().zip(&mut last.wide).zip(numbers.wide) {
            let difference = number.wrapping_sub(*last) as i64;
            *more = difference as i32;
            fits &= i64::from(*more) == difference;
            *last = number;
        }
        for ((more, last), number) in slim.iter_mut().zip(&mut last.slim).zip(numbers.slim) {
            let difference = number.wrapping_sub(*last) as i64;
            *more = difference as i16;
            fits &= i64::from(*more) == difference;
            *last = number;
        }
        fits &= numbers.still == last.still;
        last.still = numbers.still;
        self.at = at.0;
        if fits {
            self.near.push(Near { after: after as u32, of: of as u32, wide, slim });
        } else {
            self.push_far(Row { at, of: of as u32, numbers });
        }
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, row: Row<WIDE, SLIM, STILL>) {
        self.far.push(row);
        self.near.push(Near { after: 0, of: FAR, wide: [0; WIDE], slim: [0; SLIM] });
    }

    /// All rows, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<WIDE, SLIM, STILL>> {
        let (mut last, mut at, mut far) = (vec![Numbers::ZERO; self.last.len()], 0_u64, self.far.iter());
        self.near.iter().filter_map(move |near| {
            let row = if near.of == FAR {
                *far.next()?
            } else {
                let mut numbers = last[near.of as usize];
                for (number, &more) in numbers.wide.iter_mut().zip(&near.wide) {
                    *number = number.wrapping_add_signed(i64::from(more));
                }
                for (number, &more) in numbers.slim.iter_mut().zip(&near.slim) {
                    *number = number.wrapping_add_signed(i64::from(more));
                }
                Row { at: Time(at + u64::from(near.after)), of: near.of, numbers }
            };
            at = row.at.0;
            last[row.of as usize] = row.numbers;
            Some(row)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers on both sides of the largest difference that fits.
    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![
            6 => 0_u64..300,
            1 => 32_700_u64..32_800,
            1 => (1_u64 << 31) - 300..(1 << 31) + 300,
            1 => Just(u64::MAX),
            1 => any::<u64>(),
        ]
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            rows in prop::collection::vec(
                (
                    prop_oneof![8 => 0_u64..1_000_000, 1 => Just(u64::from(u32::MAX)), 1 => Just(1_u64 << 32), 1 => 0..u64::MAX / 64],
                    0_usize..3,
                    (number(), number(), number(), prop_oneof![9 => Just(0), 1 => any::<u64>()]),
                ),
                0..60,
            ),
        ) {
            let (mut stored, mut at, mut written) = (Rows::<1, 2, 1>::new(3), 0_u64, Vec::new());
            for (after, of, (a, b, c, d)) in rows {
                at += after;
                let numbers = Numbers { wide: [a], slim: [b, c], still: [d] };
                stored.push(Time(at), of, numbers);
                written.push(Row { at: Time(at), of: of as u32, numbers });
            }
            prop_assert_eq!(stored.len(), written.len());
            prop_assert_eq!(stored.iter().collect::<Vec<_>>(), written);
        }
    }

    #[test]
    fn small_steps_are_near_and_take_little_room() {
        let mut rows = Rows::<3, 2, 1>::new(1);
        for i in 0..1_000 {
            rows.push(Time(i * 120_000), 0, Numbers { wide: [i; 3], slim: [i; 2], still: [0] });
        }
        assert_eq!((size_of::<Near<3, 2>>(), rows.near.len(), rows.far.len()), (24, 1_000, 0));
        assert_eq!(size_of::<Near<0, 3>>(), 16);
    }
}
