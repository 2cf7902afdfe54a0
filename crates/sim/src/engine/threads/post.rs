//! The exchange of mail between the threads of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bentpipe_cc::Time;

use super::barrier::Barrier;
use crate::engine::mail::Bundle;
use crate::engine::routed::Routed;

/// The mail of all threads, and the instants at which they go on.
#[derive(Debug)]
pub(super) struct Post {
    parts: usize,
    /// For every second turn: the bundles by sender and receiver, and the next event of each thread. A thread may
    /// write those of the next turn while another still reads.
    turns: [(Vec<Mutex<Bundle>>, Vec<AtomicU64>); 2],
    barrier: Barrier,
    overrun: AtomicBool,
}

impl Post {
    pub(super) fn new(parts: usize) -> Self {
        let turn = || {
            let bundles = (0..parts * parts).map(|_| Mutex::default()).collect();
            (bundles, (0..parts).map(|_| AtomicU64::new(0)).collect())
        };
        Self { parts, turns: [turn(), turn()], barrier: Barrier::new(parts), overrun: AtomicBool::new(false) }
    }

    /// Hands over the mail of a part and takes that of the others. Returns the instant of the next event of all;
    /// `None` if the run was stopped.
    pub(super) fn exchange(&self, turn: u64, part: usize, run: &mut Routed) -> Option<Time> {
        let (bundles, next) = &self.turns[(turn % 2) as usize];
        let own_next = run.next();
        if let Some(outbox) = run.outbox() {
            for (to, bundle) in outbox.bundles.iter_mut().enumerate().filter(|(_, of)| !of.mails.is_empty()) {
                std::mem::swap(bundle, &mut lock(&bundles[part * self.parts + to]));
            }
            next[part].store(own_next.min(outbox.earliest).0, Ordering::Relaxed);
            outbox.earliest = Time::MAX;
            if outbox.overrun {
                self.overrun.store(true, Ordering::Relaxed);
                self.stop();
            }
        }
        if !self.barrier.wait() {
            return None;
        }
        for from in (0..self.parts).filter(|from| *from != part) {
            let mut bundle = lock(&bundles[from * self.parts + part]);
            let Bundle { mails, loads } = &mut *bundle;
            for mail in mails.drain(..) {
                run.receive(mail, loads);
            }
            loads.clear();
        }
        Some(Time(next.iter().map(|of| of.load(Ordering::Relaxed)).min().unwrap_or(u64::MAX)))
    }

    /// No part goes on.
    pub(super) fn stop(&self) {
        self.barrier.stop();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.barrier.is_stopped()
    }

    /// Has a packet arrived within the window in which it was sent?
    pub(super) fn has_overrun(&self) -> bool {
        self.overrun.load(Ordering::Acquire)
    }
}

fn lock(bundle: &Mutex<Bundle>) -> std::sync::MutexGuard<'_, Bundle> {
    bundle.lock().unwrap_or_else(PoisonError::into_inner)
}
