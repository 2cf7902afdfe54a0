//! The queue with most bytes among many, found in a time that hardly depends on their number.

/// Bits of a node that identify the queue. The bits above them hold the queue's bytes.
const QUEUE_BITS: u32 = 16;
/// The largest number of a queue.
const LAST: u32 = (1 << QUEUE_BITS) - 1;

/// A tournament of queues by their bytes. Node 1 is the root, the children of node n are 2n and 2n + 1, and a
/// node is the larger of its children. Among equals the first queue wins.
#[derive(Debug, Default)]
pub(super) struct LargestBacklog {
    nodes: Vec<u64>,
}

impl LargestBacklog {
    /// `queues` empty queues, from 1 to 65,536.
    pub(super) fn new(queues: u32) -> Self {
        Self { nodes: vec![0; 2 * queues.next_power_of_two() as usize] }
    }

    /// Does it have no queues?
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The first of the queues with most bytes, and its number of bytes.
    pub(super) fn first(&self) -> (u32, u64) {
        let most = self.nodes[1];
        (LAST - (most as u32 & LAST), most >> QUEUE_BITS)
    }

    /// Queue `i` has `bytes` bytes.
    pub(super) fn set(&mut self, i: u32, bytes: u64) {
        let mut n = self.nodes.len() / 2 + i as usize;
        let mut node = bytes << QUEUE_BITS | u64::from(LAST - i);
        // Above an unchanged node, all nodes are unchanged.
        while self.nodes[n] != node {
            self.nodes[n] = node;
            if n > 1 {
                node = node.max(self.nodes[n ^ 1]);
                n /= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_of_the_largest_is_that_of_a_scan(
            queues in 1_u32..40,
            changes in prop::collection::vec((0_u32..40, 0_u64..6), 1..200),
        ) {
            let mut tree = LargestBacklog::new(queues);
            let mut bytes = vec![0; queues as usize];
            for i in 0..queues {
                tree.set(i, 0);
            }
            for (i, now) in changes {
                bytes[(i % queues) as usize] = now << 38;
                tree.set(i % queues, now << 38);
                let most = bytes.iter().max().copied().unwrap_or_default();
                let first = bytes.iter().position(|b| *b == most).map(|i| (i as u32, most));
                prop_assert_eq!(Some(tree.first()), first);
            }
        }
    }

    #[test]
    fn the_last_of_65536_queues_may_be_the_largest() {
        let mut tree = LargestBacklog::new(1 << 16);
        for i in [3, 65_535] {
            tree.set(i, u64::from(i));
            assert_eq!(tree.first(), (i, u64::from(i)));
        }
        tree.set(65_535, 3);
        assert_eq!(tree.first(), (3, 3));
    }
}
