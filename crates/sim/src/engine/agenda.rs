//! The queue of events: a binary heap whose top is mostly replaced, as the next arrival of a link follows the one before.

use bentpipe_cc::Time;

/// Events in the order of (time, number), each packed into one integer so that one comparison tells.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: Vec<u128>,
}

impl Agenda {
    /// The next event.
    #[inline]
    pub(super) fn top(&self) -> Option<(Time, u64)> {
        self.heap.first().map(|&key| (Time((key >> 64) as u64), key as u64))
    }

    /// Adds an event.
    pub(super) fn push(&mut self, at: Time, number: u64) {
        let key = pack(at, number);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = key;
    }

    /// Puts an event in the place of the next one.
    #[inline]
    pub(super) fn replace_top(&mut self, at: Time, number: u64) {
        self.sink(pack(at, number));
    }

    /// Removes the next event.
    pub(super) fn pop(&mut self) {
        if let Some(key) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(key);
        }
    }

    /// Puts `key` where it belongs, the top being free.
    #[inline]
    fn sink(&mut self, key: u128) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        while let Some(&left) = heap.get(2 * hole + 1) {
            let (mut child, mut least) = (2 * hole + 1, left);
            if let Some(&right) = heap.get(child + 1)
                && right < left
            {
                (child, least) = (child + 1, right);
            }
            if key <= least {
                break;
            }
            heap[hole] = least;
            hole = child;
        }
        heap[hole] = key;
    }
}

fn pack(at: Time, number: u64) -> u128 {
    u128::from(at.0) << 64 | u128::from(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_number(
            calls in prop::collection::vec((0_u8..4, 0_u64..20, 0_u64..6), 0..300),
        ) {
            let (mut agenda, mut sorted) = (Agenda::default(), Vec::new());
            for (call, at, number) in calls {
                match call {
                    0 if !sorted.is_empty() => {
                        sorted.remove(0);
                        agenda.pop();
                    }
                    1 if !sorted.is_empty() => {
                        sorted[0] = (Time(at), number);
                        agenda.replace_top(Time(at), number);
                    }
                    _ => {
                        sorted.push((Time(at), number));
                        agenda.push(Time(at), number);
                    }
                }
                sorted.sort_unstable();
                prop_assert_eq!(agenda.top(), sorted.first().copied());
            }
        }
    }
}
