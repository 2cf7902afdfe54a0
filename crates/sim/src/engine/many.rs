//! Many runs on the cores of one machine.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::time::Duration;

/// A run to be made. It is given a flag, and ends early once the flag is true.
pub type Job<T> = Box<dyn FnOnce(&AtomicBool) -> T + Send>;

/// The result of a run, or the message of a panic.
pub type Finished<T> = Result<T, String>;

/// Threads that take runs, one at a time each, and hand out each result as it comes. Memory therefore holds
/// no more than the current runs.
#[derive(Debug)]
pub struct RunPool<T> {
    given: Option<Sender<(u64, Job<T>)>>,
    done: Receiver<(u64, Finished<T>)>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> RunPool<T> {
    /// A pool of `threads` threads; 0: one per core. There may be fewer if the system has no more to spare.
    ///
    /// # Errors
    /// The system has not even one thread to spare.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let wanted = if threads == 0 { available_parallelism().map_or(1, usize::from) } else { threads };
        let (given, waiting) = channel::<(u64, Job<T>)>();
        let (finish, done) = channel();
        let (waiting, stop) = (Arc::new(Mutex::new(waiting)), Arc::new(AtomicBool::new(false)));
        let mut started = Vec::new();
        while started.len() < wanted {
            let (waiting, stop, finish) = (waiting.clone(), stop.clone(), finish.clone());
            match Builder::new().name("run".to_owned()).spawn(move || serve(&waiting, &stop, &finish)) {
                Ok(thread) => started.push(thread),
                Err(error) if started.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(Self { given: Some(given), done, stop, threads: started })
    }

    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Gives a run to the next free thread; `number` identifies its result. Nothing happens after
    /// [`RunPool::stop`].
    pub fn start(&self, number: u64, work: Job<T>) {
        if let Some(given) = &self.given {
            drop(given.send((number, work)));
        }
    }

    /// The next result of any run; `None` if none comes within `timeout`.
    pub fn finished(&self, timeout: Duration) -> Option<(u64, Finished<T>)> {
        self.done.recv_timeout(timeout).ok()
    }

    /// Ends the current runs early, discards those that wait, and waits for the threads.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.given = None;
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

impl<T> Drop for RunPool<T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The loop of a thread: it ends when nobody can give it a run any more.
fn serve<T>(
    waiting: &Mutex<Receiver<(u64, Job<T>)>>,
    stop: &AtomicBool,
    finish: &Sender<(u64, Finished<T>)>,
) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, work)) = next else { return };
        if stop.load(Ordering::Relaxed) {
            continue;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(stop))).map_err(|panic| words(panic.as_ref()));
        if finish.send((number, result)).is_err() {
            return;
        }
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
