//! Packets as a file in the format pcapng, written by a separate thread: a slow disk delays no packet.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use bentpipe_cc::Time;
use bentpipe_sim::pcap::{CaptureError, Place, Writer};

use crate::error::EmulationError;
use crate::ip;
use crate::route::{Hop, Route};

/// Packets that may wait to be written. Further packets are counted, but not captured.
const MOST_WAITING: usize = 1 << 16;

/// The place at which one way of a link is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// At the entry of the hop with this number.
    Entry(usize),
    /// As its packets are written to the device at the other end.
    Exit,
}

/// A packet as it was seen: interface, time, bytes.
type Seen = (u32, Time, Vec<u8>);

/// The file of a running emulation.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    sender: Option<SyncSender<Seen>>,
    missed: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<(), CaptureError>>>,
}

/// What a forwarding thread needs to have its packets captured.
#[derive(Clone, Debug)]
pub(crate) struct Captor {
    pub(crate) spot: Spot,
    interface: u32,
    sender: SyncSender<Seen>,
    missed: Arc<AtomicU64>,
}

impl Captor {
    /// A packet is seen at `at`.
    pub(crate) fn see(&self, at: Time, bytes: Vec<u8>) {
        if self.sender.try_send((self.interface, at, bytes)).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl CaptureFile {
    /// Begins the file; its interfaces are named as in a simulation's capture.
    pub(crate) fn begin(path: &Path, at: &Place, whole: bool) -> Result<Self, EmulationError> {
        let names = match at {
            Place::Sender => ["sender/forward", "sender/reverse"].map(str::to_owned),
            Place::Receiver => ["receiver/forward", "receiver/reverse"].map(str::to_owned),
            Place::Link(link) => ["forward", "reverse"].map(|way| format!("{link}/{way}")),
        };
        let writer = Writer::create(path, whole, names.into_iter()).map_err(EmulationError::Capture)?;
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let thread = std::thread::spawn(move || write(writer, &receiver, whole));
        Ok(Self { sender: Some(sender), missed: Arc::default(), thread: Some(thread) })
    }

    /// For one way of a link: the interface is 0 for forward and 1 for reverse.
    pub(crate) fn captor(&self, spot: Spot, interface: u32) -> Option<Captor> {
        let sender = self.sender.clone()?;
        Some(Captor { spot, interface, sender, missed: self.missed.clone() })
    }

    /// Completes the file, when no captor is left. Returns how many packets are not in it.
    pub(crate) fn finish(&mut self) -> Result<u64, EmulationError> {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let done = thread.join().unwrap_or(Ok(())); // a panic has been reported
            done.map_err(EmulationError::Capture)?;
        }
        Ok(self.missed.load(Ordering::Relaxed))
    }
}

fn write(mut writer: Writer, seen: &Receiver<Seen>, whole: bool) -> Result<(), CaptureError> {
    while let Ok((interface, at, bytes)) = seen.recv() {
        let kept = if whole { &bytes } else { ip::headers(&bytes) };
        writer.packet(interface, at, kept, bytes.len() as u32);
    }
    writer.finish()
}

/// Where a capture at `at` sees the two ways of link `i` of `links`, if anywhere.
pub(crate) fn spots(at: &Place, i: usize, links: usize, route: &Route) -> Option<[Spot; 2]> {
    match at {
        Place::Sender => (i == 0).then_some([Spot::Entry(0), Spot::Exit]),
        Place::Receiver => (i + 1 == links).then_some([Spot::Exit, Spot::Entry(0)]),
        Place::Link(link) => {
            let of = |hops: &[Hop]| hops.iter().position(|hop| hop.link() == Some(link)).map(Spot::Entry);
            let (forward, reverse) = (of(&route.forward), of(&route.reverse));
            // A link that only one way crosses is captured on that way alone.
            let nowhere = Spot::Entry(usize::MAX);
            (forward.is_some() || reverse.is_some())
                .then(|| [forward.unwrap_or(nowhere), reverse.unwrap_or(nowhere)])
        }
    }
}
