//! The thread that drives one way of a link by the wall clock.

use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bentpipe_cc::{Span, Time};
use bentpipe_sim::record::LinkRow;

use crate::capture::{Captor, Spot};
use crate::chain::Chain;
use crate::clock::Clock;
use crate::device::Device;
use crate::ip::{self, Refused};
use crate::route::Hop;
use crate::status::{HopStatus, WayStatus};
use crate::system_call::{checked, owned};

/// Packets that are read before checking what is due, and packets that are written before checking what has
/// come.
const BATCH: usize = 32;
/// Packets that are due within this time are written together. A sleep costs more than a write, and at 1
/// Gbit/s a packet is due every 12 microseconds. At 100 Mbit/s packets are 120 microseconds apart, and each
/// is written on its own.
const TOGETHER: Span = Span(50_000);
/// The time per byte of a network card at the receiving end: 1 Gbit/s. A real host cannot receive packets
/// faster than this, even if they are due at one instant, as behind a repeat of the link layer; see
/// [`Worker::lateness`].
const PORT_NS_PER_BYTE: u64 = 8;
/// The priority in the real-time class SCHED_FIFO: above all ordinary threads, below the kernel's own.
const PRIORITY: i32 = 10;
/// How long a caller waits for the thread's answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The devices of one way, and the largest packet that crosses it, bytes.
#[derive(Debug)]
pub(crate) struct Devices {
    /// The device that is read.
    pub(crate) from: Device,
    /// The device that is written.
    pub(crate) to: Device,
    /// Longer packets are refused.
    pub(crate) mtu: usize,
}

/// What is recorded of one way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// Between samples of the hops.
    pub(crate) interval: Option<Span>,
    /// Who captures packets.
    pub(crate) captor: Option<Captor>,
    /// A fault of ours in the thread, for tests: it panics when it has read this many packets.
    #[cfg(test)]
    pub(crate) panics_after: Option<u64>,
}

/// The caller's side of the thread.
#[derive(Debug)]
pub(crate) struct Forwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    hops: usize,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    /// Wakes the thread.
    bell: OwnedFd,
    /// True if the caller wants to know the status.
    wanted: AtomicBool,
    status: Mutex<Answer>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct Answer {
    number: u64,
    status: WayStatus,
    failed: Option<String>,
}

impl Forwarder {
    /// Starts the thread: packets read from `from` cross `hops` and are written to `to`.
    pub(crate) fn start(
        name: &str,
        devices: Devices,
        hops: Vec<Hop>,
        seed: u64,
        clock: Clock,
        recording: Recording,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            // SAFETY: no memory of ours is an argument.
            bell: owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?,
            wanted: AtomicBool::new(false),
            status: Mutex::default(),
            answered: Condvar::new(),
        });
        let (count, theirs) = (hops.len(), shared.clone());
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let work = || Worker::begin(devices, hops, seed, clock, recording, theirs.clone()).run();
            // State that a panic leaves behind is dropped with the worker, except for the last answer.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                theirs.fail(format!("a fault of Bentpipe, please report it: {}", words(&*panic)));
            }
        })?;
        Ok(Self { shared, thread: Some(thread), hops: count })
    }

    /// What it has done so far.
    pub(crate) fn status(&self) -> WayStatus {
        let mut answer = self.shared.status.lock().unwrap_or_else(PoisonError::into_inner);
        let before = answer.number;
        if self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            self.shared.wanted.store(true, Ordering::Release);
            self.ring();
            let wait =
                self.shared.answered.wait_timeout_while(answer, PATIENCE, |answer| answer.number == before);
            answer = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut status = answer.status.clone();
        status.hops.resize(self.hops, HopStatus::default());
        status
    }

    /// Ends the thread. Packets inside are lost.
    pub(crate) fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it does not panic; see `failure`
        }
    }

    /// Why the thread ended on its own, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        let answer = self.shared.status.lock().unwrap_or_else(PoisonError::into_inner);
        answer.failed.clone()
    }

    fn ring(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the buffer is ours and eight bytes long. A full counter rings just as well, so
        // the result does not matter.
        unsafe { libc::write(self.shared.bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// The thread ends on its own. The numbers of its last answer remain.
    fn fail(&self, why: String) {
        let mut answer = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        answer.number += 1;
        answer.failed = Some(why);
        drop(answer);
        self.answered.notify_all();
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

/// The state that belongs to the thread.
struct Worker {
    chain: Chain,
    hops: Vec<Hop>,
    recording: Recording,
    /// When the next samples are taken, and the samples of each hop so far.
    next_sample: Option<Time>,
    burst: Burst,
    samples: Vec<Vec<LinkRow>>,
    from: Device,
    to: Device,
    mtu: usize,
    clock: Clock,
    status: WayStatus,
    shared: Arc<Shared>,
}

/// Packets that were due at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    due: Time,
    /// When the first of them was written.
    written: Time,
    /// Those that have been written so far, and their bytes.
    packets: u64,
    bytes: u64,
}

impl Worker {
    /// Called in the thread itself: directions stay in the thread that makes them.
    fn begin(
        Devices { from, to, mtu }: Devices,
        hops: Vec<Hop>,
        seed: u64,
        clock: Clock,
        recording: Recording,
        shared: Arc<Shared>,
    ) -> Self {
        let mut chain = Chain::new(&hops, seed);
        if let Some(Spot::Entry(i)) = recording.captor.as_ref().map(|captor| captor.spot) {
            chain.tap(i);
        }
        Self {
            chain,
            samples: vec![Vec::new(); hops.len()],
            next_sample: recording.interval.map(|_| Time(0)),
            burst: Burst::default(),
            hops,
            recording,
            from,
            to,
            mtu,
            clock,
            status: WayStatus { realtime: become_prompt(), ..WayStatus::default() },
            shared,
        }
    }

    fn run(mut self) {
        let failed = self.forward().err();
        let now = self.clock.now();
        self.tell(|worker| worker.hops_at_the_end(now));
        if let Some(error) = failed {
            self.shared.fail(error.to_string());
        }
    }

    fn forward(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 16];
        let mut readable = true;
        loop {
            self.sample();
            let waiting = self.deliver();
            self.capture();
            let read = if readable { self.read(&mut buffer)? } else { 0 };
            readable = true;
            if self.shared.wanted.swap(false, Ordering::AcqRel) {
                self.tell(Self::hops_now);
            }
            if self.shared.stop.load(Ordering::Acquire) {
                return Ok(());
            }
            if !waiting && read < BATCH {
                let now = self.clock.now();
                match self.chain.next().into_iter().chain(self.next_sample).min() {
                    Some(due) if due <= now => {}
                    // Once some packets have come, more follow. Those of a short while are read together.
                    // Nobody has to wake this thread for each, least of all the thread of the other way in
                    // the middle of a burst.
                    _ if read > 0 => {
                        self.sleep(Some(TOGETHER), false)?;
                    }
                    due => readable = self.sleep(due.map(|due| due.since(now).max(TOGETHER)), true)?,
                }
            }
        }
    }

    /// Writes the packets that are due, but no more than a batch. Returns whether there are more.
    fn deliver(&mut self) -> bool {
        self.chain.advance(self.clock.now());
        for _ in 0..BATCH {
            let Some(delivery) = self.chain.take() else { return false };
            let bytes = self.chain.bytes(&delivery);
            let length = bytes.len() as u64;
            if self.to.write(bytes).is_ok() {
                self.status.written_packets += 1;
                self.status.written_bytes += length;
            } else {
                self.status.refused_kernel += 1;
            }
            let now = self.clock.now();
            if let Some(captor) = self.recording.captor.as_ref().filter(|captor| captor.spot == Spot::Exit) {
                captor.see(now, self.chain.bytes(&delivery).to_vec());
            }
            let late = self.lateness(delivery.due, now, length);
            self.status.lateness.0.saturating_record(late.0);
            self.chain.free(delivery);
        }
        true
    }

    /// The lateness of a packet of `bytes` bytes, due at `due` and written at `now`. Packets due at one
    /// instant leave one after another: each may be later by the time that its predecessors take through the
    /// receiver's port.
    fn lateness(&mut self, due: Time, now: Time, bytes: u64) -> Span {
        if self.burst.due != due {
            self.burst = Burst { due, written: now, packets: 0, bytes: 0 };
        }
        let late = now.since(due + Span(self.burst.bytes * PORT_NS_PER_BYTE));
        self.burst.packets += 1;
        self.burst.bytes += bytes;
        if self.burst.packets > 1 {
            self.status.burst_packets = self.status.burst_packets.max(self.burst.packets);
            self.status.burst_s = self.status.burst_s.max(now.since(self.burst.written).secs());
        }
        late
    }

    /// Reads the packets that have come, but no more than a batch. Returns how many.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for i in 0..BATCH {
            let Some(length) = self.from.read(buffer)? else { return Ok(i) };
            let packet = &buffer[..length];
            self.status.read_packets += 1;
            #[cfg(test)]
            assert_ne!(self.recording.panics_after, Some(self.status.read_packets), "injected");
            match ip::check(packet, self.mtu) {
                Ok(()) => self.chain.push(self.clock.now(), packet),
                Err(Refused::NotIp) => self.status.refused_protocol += 1,
                Err(Refused::TooLong) => self.status.refused_size += 1,
            }
        }
        Ok(BATCH)
    }

    /// Sleeps until the bell rings, or `most` has passed, or, with `packets`, a packet comes. Returns whether
    /// a packet has come.
    fn sleep(&self, most: Option<Span>, packets: bool) -> io::Result<bool> {
        let bell = self.shared.bell.as_raw_fd();
        // No descriptor is below zero: such an entry is skipped (man 2 poll).
        let from = if packets { self.from.as_raw_fd() } else { -1 };
        let mut fds = [from, bell].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let most = most.map(|most| libc::timespec {
            tv_sec: (most.0 / 1_000_000_000) as i64,
            tv_nsec: (most.0 % 1_000_000_000) as i64,
        });
        let timeout = most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the descriptors and the timeout are ours and outlive the call; no signal mask is given.
        let n =
            unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout, std::ptr::null()) };
        if let Err(error) = checked(n) {
            return if error.kind() == io::ErrorKind::Interrupted { Ok(true) } else { Err(error) };
        }
        if fds[1].revents != 0 {
            let mut count = [0_u8; 8];
            // SAFETY: the buffer is ours and eight bytes long.
            unsafe { libc::read(bell, count.as_mut_ptr().cast(), count.len()) };
        }
        Ok(fds[0].revents != 0)
    }

    /// Takes the samples that are due. Everything until then has been processed at its own instant.
    fn sample(&mut self) {
        let (Some(mut at), Some(interval)) = (self.next_sample, self.recording.interval) else { return };
        let now = self.clock.now();
        while at <= now {
            for i in 0..self.hops.len() {
                let (counts, (queue_packets, _)) = self.chain.look(i, at);
                let Hop::Direction { plan, .. } = &self.hops[i] else { continue };
                let dropped = counts.dropped_queue + counts.dropped_error;
                let counted = [queue_packets, counts.delivered_packets, dropped, counts.dropped_queue];
                self.samples[i].push(LinkRow::of(i as u32, plan, at, counted));
            }
            at = at + interval;
        }
        self.next_sample = Some(at);
    }

    /// Answers the caller.
    fn tell(&mut self, hops: impl FnOnce(&mut Self) -> Vec<HopStatus>) {
        self.status.hops = hops(self);
        self.status.inside = self.chain.inside() as u64;
        let mut answer = self.shared.status.lock().unwrap_or_else(PoisonError::into_inner);
        answer.number += 1;
        answer.status = self.status.clone();
        drop(answer);
        self.shared.answered.notify_all();
    }

    fn hops_now(&mut self) -> Vec<HopStatus> {
        let now = self.clock.now();
        (0..self.hops.len()).map(|i| self.look(i, now)).collect()
    }

    /// As `hops_now`, with numbers that cost more time than a look in between may take.
    fn hops_at_the_end(&mut self, now: Time) -> Vec<HopStatus> {
        let hops = (0..self.hops.len()).map(|i| HopStatus {
            report: self.chain.report(i, &self.hops[i], now),
            samples: std::mem::take(&mut self.samples[i]),
            ..self.look(i, now)
        });
        hops.collect()
    }

    fn look(&mut self, i: usize, now: Time) -> HopStatus {
        let (counts, (queue_packets, queue_bytes)) = self.chain.look(i, now);
        HopStatus { counts, queue_packets, queue_bytes, ..HopStatus::default() }
    }

    /// Hands over the packets that were seen.
    fn capture(&mut self) {
        if let Some(captor) = &self.recording.captor {
            for (at, bytes) in self.chain.tapped() {
                captor.see(at, bytes);
            }
        }
    }
}

/// Asks the kernel to wake this thread on time. Returns whether it is allowed the real-time class.
fn become_prompt() -> bool {
    // SAFETY: no memory of ours is an argument. A refusal only makes timers coarser.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    let priority = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the parameter is ours; 0 is this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &priority) == 0 }
}

#[cfg(test)]
mod tests;
