//! The mail of a thread to the others: packets on their way to a node of another thread.

use std::sync::Arc;

use bentpipe_cc::Time;

use crate::constellation::node_of;
use crate::engine::calendar::Landing;
use crate::host::carried::{CarriedStore, Load};

/// Mail from one thread to another.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    pub(super) mails: Vec<Landing>,
    /// What these packets carry behind their headers; their handles are places in this list, from 1.
    pub(super) loads: Vec<Load>,
}

/// The mail that a thread has written in the current window.
#[derive(Debug)]
pub(super) struct Outbox {
    part: u16,
    /// The part of each node.
    owner: Arc<[u16]>,
    /// For each part.
    pub(super) bundles: Vec<Bundle>,
    /// The earliest arrival in them.
    pub(super) earliest: Time,
    /// The last instant of the current window.
    pub(super) last: Time,
    /// True once a packet has arrived within the window in which it was sent.
    pub(super) overrun: bool,
}

impl Outbox {
    /// That of this part, one of `parts`. `owner`: the part of each node.
    pub(super) fn new(owner: &Arc<[u16]>, parts: usize, part: usize) -> Self {
        Self {
            part: part as u16,
            owner: owner.clone(),
            bundles: (0..parts).map(|_| Bundle::default()).collect(),
            earliest: Time::MAX,
            last: Time(0),
            overrun: false,
        }
    }

    /// Is this node the thread's own?
    #[inline(always)]
    pub(super) fn owns(&self, node: u32) -> bool {
        self.owner[node as usize] == self.part
    }

    /// A packet flies to a node of another thread. Its load leaves `carried`.
    pub(super) fn post(&mut self, mut mail: Landing, carried: &mut CarriedStore) {
        self.overrun |= mail.at <= self.last;
        self.earliest = self.earliest.min(mail.at);
        let bundle = &mut self.bundles[usize::from(self.owner[node_of(mail.packet.hop) as usize])];
        if mail.packet.handle > 0 {
            bundle.loads.push(carried.unload(mail.packet.handle));
            mail.packet.handle = bundle.loads.len() as u32;
        }
        bundle.mails.push(mail);
    }
}
