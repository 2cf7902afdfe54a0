//! Segments that the receiver has from an extra segment (`sender/extra.rs`).

use bentpipe_cc::Time;

use super::{Scoreboard, Stamp};

impl Scoreboard {
    /// The receiver has segment `next`, which is not sent: it counts as SACKed. It tells nothing of those before it.
    #[cold]
    pub(crate) fn skip(&mut self, now: Time) {
        let seq = self.next;
        self.send_new(now, self.stamped.then(Stamp::default));
        self.sacked.set(seq);
        self.sacked_count += 1;
    }

    /// The receiver has the outstanding segment `seq`, but not from its turn: it counts as SACKed. It tells nothing of those before it. True
    /// if that is news.
    #[cold]
    pub(crate) fn settle_quietly(&mut self, seq: u64) -> bool {
        let new = self.misses(seq);
        if new {
            self.sacked.set(seq);
            self.sacked_count += 1;
            self.settle(seq, seq + 1);
        }
        new
    }

    /// The lowest outstanding segment from `seq` on that is not SACKed.
    pub(crate) fn next_missing(&self, seq: u64) -> Option<u64> {
        self.sacked.next_clear(seq.max(self.una), self.next)
    }
}
