//! A performance-enhancing proxy at an end between two links (RFC 3135, section 2.4): it ends the TCP
//! connections that cross it and opens others in their place, each with a control loop and losses of its own.
//! Everything else is forwarded.
//!
//! Programs at the ends see nothing of it: they connect to each other's addresses and have each other's
//! addresses as peers. `routing` brings TCP packets that arrive at the relay to the relay itself, whatever
//! address they are for; `capture` gives all connections to one listening socket, whatever port they are for;
//! `socket` lets the relay speak with addresses that are not its own (IP_TRANSPARENT). No netfilter and no
//! kernel module is needed. `pump` moves the bytes.

mod capture;
mod pump;
mod routing;
mod socket;

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use self::capture::Capture;
pub(crate) use self::routing::route_to_itself;

/// Connections that are open at once; more are refused.
const MOST: usize = 2_000;
/// Bytes of a thread's stack: it holds a few variables.
const STACK: usize = 128 * 1024;

/// How a relay treats the connections that it opens.
#[derive(Clone, Debug, Default)]
pub struct RelaySettings {
    /// Bytes that it holds of one connection and one way: half in the socket that receives,
    /// half in the one that sends.
    pub buffer: u64,
    /// The kernel's names of the congestion controller with which it sends, the best first; the first that
    /// the kernel has is taken. None: the kernel's default.
    pub controllers: Vec<String>,
}

/// What a relay has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Connections that it has taken.
    pub connections: u64,
    /// Those of them whose other end did not answer or refused.
    pub unreached: u64,
    /// Connections that either end broke off.
    pub broken: u64,
    /// Bytes that it has passed on, both ways together.
    pub bytes: u64,
}

/// A relay that runs. It ends when it is dropped, with all of its connections.
#[derive(Debug)]
pub(crate) struct Relay {
    /// The listening socket gets all connections as long as this lives.
    _capture: Capture,
    stop: OwnedFd,
    listener: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
    /// The controller with which it sends.
    pub(crate) controller: String,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    unreached: AtomicU64,
    broken: AtomicU64,
    bytes: AtomicU64,
}

impl Relay {
    /// Starts one in the namespace `namespace`, which is that of the calling thread.
    pub(crate) fn start(namespace: BorrowedFd<'_>, settings: &RelaySettings) -> io::Result<Self> {
        let settings = settings.clone();
        let (listener, controller) = socket::listen(&settings)?;
        let capture = Capture::all(&listener, namespace)?;
        let stop = socket::event()?;
        let counts = Arc::new(Counts::default());
        let mine = (stop.try_clone()?, Arc::clone(&counts));
        let sending = RelaySettings { controllers: vec![controller.clone()], ..settings };
        let work = move || accept(&listener, &Arc::new(mine.0), &mine.1, &Arc::new(sending));
        // Threads begin in the namespace of the thread that starts them.
        let thread = thread::Builder::new().name("relay".to_owned()).stack_size(STACK).spawn(work)?;
        Ok(Self { _capture: capture, stop, listener: Some(thread), counts, controller })
    }

    /// What it has done so far.
    pub(crate) fn counts(&self) -> RelayCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { connections, unreached, broken, bytes } = &*self.counts;
        RelayCounts {
            connections: read(connections),
            unreached: read(unreached),
            broken: read(broken),
            bytes: read(bytes),
        }
    }

    /// Ends all connections. The counts stay.
    pub(crate) fn stop(&mut self) {
        socket::raise(&self.stop);
        if let Some(thread) = self.listener.take() {
            // A thread that has failed has nothing left to end.
            let _ = thread.join();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Takes connections until the end, each into a thread of its own, and waits for these.
fn accept(listener: &TcpListener, stop: &Arc<OwnedFd>, counts: &Arc<Counts>, settings: &Arc<RelaySettings>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while let Ok([true, false]) =
        socket::wait([(listener.as_fd(), libc::POLLIN), (stop.as_fd(), libc::POLLIN)])
    {
        threads.retain(|thread| !thread.is_finished());
        // A connection that was given up before it was taken is an error here, and none of ours.
        let Ok((taken, _)) = listener.accept() else { continue };
        counts.connections.fetch_add(1, Ordering::Relaxed);
        let (stop, mine, settings) = (Arc::clone(stop), Arc::clone(counts), Arc::clone(settings));
        let work = move || carry(taken, &stop, &mine, &settings);
        let builder = thread::Builder::new().name("relayed".to_owned()).stack_size(STACK);
        if threads.len() < MOST
            && let Ok(thread) = builder.spawn(work)
        {
            threads.push(thread);
        } else {
            counts.broken.fetch_add(1, Ordering::Relaxed);
        }
    }
    for thread in threads {
        // A thread that has failed has closed its sockets.
        let _ = thread.join();
    }
}

/// One connection, from its first byte to its last.
fn carry(taken: TcpStream, stop: &OwnedFd, counts: &Counts, settings: &RelaySettings) {
    let opened = match socket::onward(&taken, stop.as_fd(), settings) {
        Ok(Some(opened)) => opened,
        Ok(None) => return, // the end of the relay
        Err(_) => {
            counts.unreached.fetch_add(1, Ordering::Relaxed);
            socket::reset_at_close(taken.as_fd());
            return;
        }
    };
    let ends = [taken, opened];
    if pump::between(&ends, stop.as_fd(), &counts.bytes).is_err() {
        counts.broken.fetch_add(1, Ordering::Relaxed);
        // The reset shows the other end that this was no orderly close.
        ends.iter().for_each(|end| socket::reset_at_close(end.as_fd()));
    }
}
