//! Says now and then that it is time to look for signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::Duration;

/// A thread that sets a flag at an interval, so that a run only needs to read it. A look for signals needs
/// the lock of the interpreter, and to read a clock costs more than the events between two looks.
#[derive(Debug)]
pub(crate) struct Reminder {
    due: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    /// `None` if the system has no thread to spare.
    thread: Option<JoinHandle<()>>,
}

impl Reminder {
    /// A reminder that is due at this interval until it is dropped.
    pub(crate) fn every(interval: Duration) -> Self {
        let due = Arc::new(AtomicBool::new(false));
        let over = Arc::new(AtomicBool::new(false));
        let thread = {
            let (due, over) = (due.clone(), over.clone());
            Builder::new().name("reminder".to_owned()).spawn(move || {
                while !over.load(Ordering::Acquire) {
                    park_timeout(interval);
                    due.store(true, Ordering::Relaxed);
                }
            })
        };
        Self { due, over, thread: thread.ok() }
    }

    /// Has the time come since the last call that returned true? Always, if there is no thread.
    pub(crate) fn is_due(&self) -> bool {
        let due = self.due.load(Ordering::Relaxed) || self.thread.is_none();
        if due {
            self.due.store(false, Ordering::Relaxed);
        }
        due
    }
}

impl Drop for Reminder {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            drop(thread.join());
        }
    }
}
