//! The mail between the threads of a run: packets on their way to a node of another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::Time;

use super::barrier::Barrier;
use super::cut::Cut;
use crate::constellation::node_of;
use crate::engine::calendar::Landing;
use crate::engine::routed::Routed;
use crate::host::carried::{CarriedStore, Load};

/// Mail from one thread to another.
#[derive(Debug, Default)]
struct Batch {
    mails: Vec<Landing>,
    /// What these packets carry behind their headers; their handles are places in this list, from 1.
    loads: Vec<Load>,
}

/// The mail that a thread has written in the current window.
#[derive(Debug)]
pub(in crate::engine) struct Outbox {
    part: u16,
    /// The part of each node.
    owner: Arc<[u16]>,
    /// For each part.
    batches: Vec<Batch>,
    /// The earliest arrival in them.
    earliest: Time,
    /// The last instant of the current window.
    pub(in crate::engine) last: Time,
    /// True once a packet has arrived within the window in which it was sent.
    overrun: bool,
}

/// The mail of all threads, and the instants at which they go on.
#[derive(Debug)]
pub(super) struct Post {
    parts: usize,
    /// For every second turn: the batches by sender and receiver, and the next event of each thread. A thread may
    /// write those of the next turn while another still reads.
    turns: [(Vec<Mutex<Batch>>, Vec<AtomicU64>); 2],
    barrier: Barrier,
    overrun: AtomicBool,
}

impl Outbox {
    /// That of this part.
    pub(super) fn new(cut: &Cut, part: usize) -> Self {
        Self {
            part: part as u16,
            owner: cut.owner.clone(),
            batches: (0..cut.parts).map(|_| Batch::default()).collect(),
            earliest: Time::MAX,
            last: Time(0),
            overrun: false,
        }
    }

    /// Is this node the thread's own?
    #[inline(always)]
    pub(in crate::engine) fn owns(&self, node: u32) -> bool {
        self.owner[node as usize] == self.part
    }

    /// A packet flies to a node of another thread. Its load leaves `carried`.
    pub(in crate::engine) fn post(&mut self, mut mail: Landing, carried: &mut CarriedStore) {
        self.overrun |= mail.at <= self.last;
        self.earliest = self.earliest.min(mail.at);
        let batch = &mut self.batches[usize::from(self.owner[node_of(mail.packet.hop) as usize])];
        if mail.packet.handle > 0 {
            batch.loads.push(carried.unload(mail.packet.handle));
            mail.packet.handle = batch.loads.len() as u32;
        }
        batch.mails.push(mail);
    }
}

impl Post {
    pub(super) fn new(parts: usize) -> Self {
        let turn = || {
            let batches = (0..parts * parts).map(|_| Mutex::default()).collect();
            (batches, (0..parts).map(|_| AtomicU64::new(0)).collect())
        };
        Self { parts, turns: [turn(), turn()], barrier: Barrier::new(parts), overrun: AtomicBool::new(false) }
    }

    /// Hands over the mail of a part and takes that of the others. Returns the instant of the next event of all;
    /// `None` if the run was stopped.
    pub(super) fn exchange(&self, turn: u64, part: usize, run: &mut Routed) -> Option<Time> {
        let (batches, next) = &self.turns[(turn % 2) as usize];
        let own_next = run.next();
        if let Some(outbox) = run.outbox() {
            for (to, batch) in outbox.batches.iter_mut().enumerate().filter(|(_, of)| !of.mails.is_empty()) {
                std::mem::swap(batch, &mut lock(&batches[part * self.parts + to]));
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
            let mut batch = lock(&batches[from * self.parts + part]);
            let Batch { mails, loads } = &mut *batch;
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

fn lock(batch: &Mutex<Batch>) -> std::sync::MutexGuard<'_, Batch> {
    batch.lock().unwrap_or_else(PoisonError::into_inner)
}
