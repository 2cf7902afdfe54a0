//! A ring of bits addressed by segment number: 64 segments per word, so that a window of 50,000 packets is
//! 800 words.

/// Bits for the segments of a sliding window. The owner keeps the window within [`Bits::capacity`] and clears
/// bits that leave it, so a position is always clear when the window reaches it again. Nothing is allocated
/// before the first bit is set: a connection that loses nothing allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    /// None, or `capacity` bits.
    words: Box<[u64]>,
    capacity: u64,
}

impl Default for Bits {
    fn default() -> Self {
        Self::new(64)
    }
}

impl Bits {
    /// A ring for `capacity` segments; `capacity` is a power of two of at least 64.
    pub(crate) fn new(capacity: u64) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= 64);
        Self { words: Box::default(), capacity }
    }

    /// How many consecutive segments fit.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Moves the window [`from`, `to`) into a ring of twice the size.
    pub(crate) fn grow(&mut self, from: u64, to: u64) {
        let mut bigger = Bits::new(2 * self.capacity);
        let mut at = from;
        while let Some(start) = self.next_set(at, to) {
            let end = self.next_clear(start, to).unwrap_or(to);
            bigger.set_range(start, end);
            at = end;
        }
        *self = bigger;
    }

    #[cold]
    fn allocate(&mut self) {
        self.words = vec![0; self.capacity as usize / 64].into();
    }

    fn word(&self, i: u64) -> usize {
        (i >> 6) as usize & self.words.len().wrapping_sub(1)
    }

    pub(crate) fn get(&self, i: u64) -> bool {
        !self.words.is_empty() && self.words[self.word(i)] >> (i & 63) & 1 == 1
    }

    pub(crate) fn set(&mut self, i: u64) {
        if self.words.is_empty() {
            self.allocate();
        }
        let word = self.word(i);
        self.words[word] |= 1 << (i & 63);
    }

    /// Clears position `i`; returns whether it was set.
    pub(crate) fn take(&mut self, i: u64) -> bool {
        let set = self.get(i);
        if set {
            let word = self.word(i);
            self.words[word] &= !(1 << (i & 63));
        }
        set
    }

    /// Sets [`from`, `to`); returns how many were clear.
    pub(crate) fn set_range(&mut self, from: u64, to: u64) -> u64 {
        if self.words.is_empty() {
            self.allocate();
        }
        let mut set = 0;
        for_words(from, to, |i, mask| {
            let word = self.word(i);
            set += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
        });
        set
    }

    /// Clears [`from`, `to`); returns how many were set.
    pub(crate) fn clear_range(&mut self, from: u64, to: u64) -> u64 {
        if self.words.is_empty() {
            return 0;
        }
        let mut cleared = 0;
        for_words(from, to, |i, mask| {
            let word = self.word(i);
            cleared += u64::from((mask & self.words[word]).count_ones());
            self.words[word] &= !mask;
        });
        cleared
    }

    /// The first set position in [`from`, `to`).
    pub(crate) fn next_set(&self, from: u64, to: u64) -> Option<u64> {
        self.find(from, to, 0)
    }

    /// The first clear position in [`from`, `to`).
    pub(crate) fn next_clear(&self, from: u64, to: u64) -> Option<u64> {
        self.find(from, to, u64::MAX)
    }

    /// The last clear position in [`from`, `to`).
    pub(crate) fn last_clear(&self, from: u64, to: u64) -> Option<u64> {
        if self.words.is_empty() {
            return (from < to).then(|| to - 1);
        }
        let mut at = to;
        while at > from {
            looked_at();
            let low = from.max((at - 1) & !63);
            let bits = (!self.words[self.word(low)] & mask(low, at)) >> (low & 63);
            if bits != 0 {
                return Some(low + 63 - u64::from(bits.leading_zeros()));
            }
            at = low;
        }
        None
    }

    fn find(&self, from: u64, to: u64, invert: u64) -> Option<u64> {
        if self.words.is_empty() {
            return (from < to && invert != 0).then_some(from);
        }
        let mut at = from;
        while at < to {
            looked_at();
            let bits = (self.words[self.word(at)] ^ invert) >> (at & 63);
            if bits != 0 {
                let found = at + u64::from(bits.trailing_zeros());
                return (found < to).then_some(found);
            }
            at = (at | 63) + 1;
        }
        None
    }
}

/// Bits of [`from`, `to`) within the word of `from`; `to` lies in the same word or at its end.
fn mask(from: u64, to: u64) -> u64 {
    let count = to - from;
    (if count >= 64 { u64::MAX } else { (1 << count) - 1 }) << (from & 63)
}

fn for_words(from: u64, to: u64, mut visit: impl FnMut(u64, u64)) {
    let mut at = from;
    while at < to {
        looked_at();
        let end = to.min((at | 63) + 1);
        visit(at, mask(at, end));
        at = end;
    }
}

/// Tests count the words read: a measure of work that does not depend on the machine.
#[inline]
fn looked_at() {
    #[cfg(test)]
    LOOKED_AT.with(|n| n.set(n.get() + 1));
}

#[cfg(test)]
std::thread_local! {
    pub(crate) static LOOKED_AT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_numbers(base in 0_u64..1 << 40, ops in prop::collection::vec((0_u8..5, 0_u64..200, 0_u64..200), 1..60)) {
            let mut bits = Bits::new(64);
            let mut set = std::collections::BTreeSet::new();
            while bits.capacity() < 256 {
                bits.grow(base, base);
            }
            let window = base..base + 200;
            for (op, a, b) in ops {
                let (from, to) = (base + a.min(b), base + a.max(b));
                match op {
                    0 => prop_assert_eq!(bits.set_range(from, to), (from..to).filter(|&i| set.insert(i)).count() as u64),
                    1 => prop_assert_eq!(bits.clear_range(from, to), (from..to).filter(|i| set.remove(i)).count() as u64),
                    2 => { bits.set(from); set.insert(from); }
                    3 => prop_assert_eq!(bits.take(from), set.remove(&from)),
                    _ => bits.grow(window.start, window.end),
                }
                prop_assert_eq!(bits.next_set(from, to), (from..to).find(|i| set.contains(i)));
                prop_assert_eq!(bits.next_clear(from, to), (from..to).find(|i| !set.contains(i)));
                prop_assert_eq!(bits.last_clear(from, to), (from..to).rev().find(|i| !set.contains(i)));
                prop_assert!(window.clone().all(|i| bits.get(i) == set.contains(&i)));
            }
        }
    }
}
