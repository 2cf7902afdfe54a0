//! The slots of all flows in mapped memory: the kernel writes one half of each, the agent the other.

use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::layout::{Control, Order, Slot};

/// A mapped array of a BPF map with `BPF_F_MMAPABLE`.
struct Mapping<T> {
    start: NonNull<T>,
    bytes: usize,
}

impl<T> Mapping<T> {
    fn new(fd: BorrowedFd<'_>, entries: u32) -> io::Result<Self> {
        let bytes = (size_of::<T>() * entries as usize).max(1).next_multiple_of(4096);
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a fresh shared mapping, at a place that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, shared, fd.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { start, bytes })
    }
}

impl<T> Drop for Mapping<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody has a reference into it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The slots of a datapath.
pub struct Slots {
    slots: Mapping<Slot>,
    control: Mapping<Control>,
    count: u32,
}

// SAFETY: the memory is shared with the kernel anyway; every access is volatile or atomic, and orders and
// words are written by one caller each, the agent.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Slots {
    /// Maps the array of `count` slots behind `slots` and the one entry behind `control`.
    ///
    /// # Errors
    /// Those of mmap.
    pub fn map(slots: BorrowedFd<'_>, control: BorrowedFd<'_>, count: u32) -> io::Result<Self> {
        Ok(Self { slots: Mapping::new(slots, count)?, control: Mapping::new(control, 1)?, count })
    }

    /// How many slots there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    fn place(&self, index: u32) -> *mut Slot {
        assert!(index < self.count, "slot {index} of {}", self.count);
        // SAFETY: within the mapping, as asserted.
        unsafe { self.slots.start.as_ptr().add(index as usize) }
    }

    /// The number of the flow in a slot; 0 if it is free.
    pub fn id(&self, index: u32) -> u64 {
        let place = self.place(index);
        // SAFETY: within the mapping; the kernel may write meanwhile, so volatile.
        unsafe { ptr::read_volatile(&raw const (*place).id) }
    }

    /// A copy of a slot. Its fields may be of different instants.
    pub fn read(&self, index: u32) -> Slot {
        // SAFETY: within the mapping; every bit pattern is a valid `Slot`.
        unsafe { ptr::read_volatile(self.place(index)) }
    }

    /// Indices and copies of the slots in use.
    pub fn live(&self) -> impl Iterator<Item = (u32, Slot)> + '_ {
        (0..self.count)
            .filter(|i| self.id(*i) != 0)
            .map(|i| (i, self.read(i)))
            .filter(|(_, slot)| slot.id != 0)
    }

    /// Writes an order; `order.seq` does not matter. Only the agent calls this.
    pub fn write_order(&self, index: u32, order: &Order) {
        // SAFETY: within the mapping.
        let place = unsafe { &raw mut (*self.place(index)).order };
        // SAFETY: aligned, as `Slot` is; this word is only touched by atomic operations once flows run.
        let seq = unsafe { AtomicU32::from_ptr(&raw mut (*place).seq) };
        // An agent that was killed may have left it odd.
        let odd = seq.load(Ordering::Relaxed) | 1;
        seq.store(odd, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let body = Order { seq: odd, ..*order };
        // SAFETY: within the mapping; the kernel reads it again if it sees the count odd or changed. The
        // first word keeps its value.
        unsafe { ptr::write_volatile(place, body) };
        fence(Ordering::SeqCst);
        seq.store(odd.wrapping_add(1), Ordering::Release);
    }

    /// What all flows share.
    pub fn control(&self) -> Control {
        // SAFETY: the mapping holds one `Control`; every bit pattern is valid.
        unsafe { ptr::read_volatile(self.control.start.as_ptr()) }
    }

    /// Changes what all flows share. The kernel counts in some words meanwhile;
    /// `change` must leave those alone.
    pub fn change_control(&self, change: impl FnOnce(&mut ControlWords<'_>)) {
        change(&mut ControlWords(self));
    }
}

/// The words of [`Control`] that are not the kernel's.
#[derive(Debug)]
pub struct ControlWords<'a>(&'a Slots);

macro_rules! word {
    ($(#[$about:meta])* $name:ident: $kind:ty) => {
        $(#[$about])*
        pub fn $name(&mut self, value: $kind) {
            // SAFETY: within the mapping; no kernel code writes this word.
            unsafe { ptr::write_volatile(&raw mut (*self.0.control.start.as_ptr()).$name, value) }
        }
    };
}

impl ControlWords<'_> {
    word!(/** See [`Control::layout`]. */ layout: u32);
    word!(/** See [`Control::slots`]; flows are taken on as soon as it is not 0. */ slots: u32);
    word!(/** See [`Control::agent_pid`]. */ agent_pid: u64);
    word!(/** See [`Control::reports`]. */ reports: u64);
    word!(/** See [`Control::orders`]. */ orders: u64);
    word!(/** See [`Control::to_agent`]. */ to_agent: [u64; 5]);
    word!(/** See [`Control::to_applied`]. */ to_applied: [u64; 5]);
    word!(/** See [`Control::slots_map`]. */ slots_map: u64);
    word!(/** See [`Control::name`]. */ name: [u8; 16]);
    word!(/** See [`Control::cc`]. */ cc: [u8; 64]);
}
