//! A barrier that threads pass together, some hundred thousand times a second.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::yield_now;

/// How often a thread looks before it leaves its processor to others. A window takes some ten microseconds, and
/// the system needs about as long to wake a thread.
const LOOKS: u32 = 1 << 12;

/// The barrier.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// How often all have passed.
    rounds: AtomicUsize,
    stopped: AtomicBool,
}

impl Barrier {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Waits until all threads are here. Returns false if one of them will not come.
    pub(super) fn wait(&self) -> bool {
        let round = self.rounds.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.rounds.store(round.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut looks = 0;
        while self.rounds.load(Ordering::Acquire) == round {
            if self.is_stopped() {
                return false;
            }
            if looks < LOOKS {
                looks += 1;
                spin_loop();
            } else {
                yield_now();
            }
        }
        true
    }

    /// A thread will not come any more.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}
