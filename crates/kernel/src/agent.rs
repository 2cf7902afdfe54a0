//! The agent takes reports from the ring buffer, lets each flow's controller decide, and writes its orders.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use bentpipe_cc::{Controller, Start, Time};
use hdrhistogram::Histogram;
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use crate::datapath::{Datapath, available};
use crate::layout::{News, Report, Slot, tells};
use crate::slots::Slots;
use crate::status::ends;
use crate::steering::{Steering, start_of};
use crate::{Error, clock};

/// Reports taken from the ring at a time, so that orders go out between.
const AT_ONCE: usize = 64;
/// How often the agent looks for what no report shows.
const SWEEP_NS: u64 = 1_000_000_000;
/// How often the data for `status` is updated.
const SHOW_NS: u64 = 100_000_000;
/// Priority among real-time processes: enough to run before all ordinary ones.
const PRIORITY: i32 = 10;

/// An empty histogram of durations, in nanoseconds up to 18 minutes, to two digits.
fn durations() -> Histogram<u64> {
    Histogram::new_with_max(1 << 40, 2).expect("the bounds are allowed")
}

/// Makes the controllers of an agent.
pub trait Maker {
    /// A controller for the flow called `flow`.
    ///
    /// # Errors
    /// One line; it ends the agent.
    fn make(&mut self, flow: &str, start: Start) -> Result<Box<dyn Controller>, String>;

    /// Has a controller failed? The agent then gives no further order; `Err` says how.
    ///
    /// # Errors
    /// One line; it ends the agent.
    fn health(&self) -> Result<(), String> {
        Ok(())
    }
}

/// How an agent steers.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// The name of the controller in `status`.
    pub cc: String,
    /// Pace sockets by cwnd / srtt where the controller leaves pacing open, as a sender with
    /// the option `pacing` does.
    pub paced: bool,
}

/// The result of one step of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It did its work, or waited.
    Done,
    /// The datapath was unregistered by someone else, and no flow uses it any more.
    Detached,
}

/// Serves one datapath.
pub struct Agent {
    datapath: Datapath,
    slots: Arc<Slots>,
    ring: RingBuffer<'static>,
    inbox: Rc<RefCell<VecDeque<Report>>>,
    maker: Box<dyn Maker + Send>,
    manner: Manner,
    flows: BTreeMap<u64, (u32, Steering)>,
    deadlines: BTreeSet<(Time, u64)>,
    to_agent: Histogram<u64>,
    to_applied: Histogram<u64>,
    reports: u64,
    orders: u64,
    swept_ns: u64,
    shown_ns: u64,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("datapath", &self.datapath)
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// Begins to serve `datapath`, and takes over its existing flows.
    ///
    /// # Errors
    /// The ring buffer cannot be opened, or a controller cannot be made.
    pub fn new(datapath: Datapath, manner: Manner, maker: Box<dyn Maker + Send>) -> Result<Self, Error> {
        let inbox = Rc::new(RefCell::new(VecDeque::new()));
        let filled = Rc::clone(&inbox);
        let mut builder = RingBufferBuilder::new();
        let take = move |bytes: &[u8]| {
            filled.borrow_mut().extend(Report::read(bytes));
            0
        };
        builder.add(datapath.reports(), take).map_err(|e| Error::from_libbpf("the ring buffer", &e))?;
        let ring = builder.build().map_err(|e| Error::from_libbpf("the ring buffer", &e))?;
        let slots = Arc::clone(datapath.slots());
        let mut cc = [0; 64];
        let shown = manner.cc.as_bytes();
        let length = shown.len().min(cc.len() - 1);
        cc[..length].copy_from_slice(&shown[..length]);
        slots.change_control(|words| {
            words.agent_pid(u64::from(std::process::id()));
            words.cc(cc);
        });
        let now = clock::now_ns();
        let mut agent = Self {
            datapath,
            slots,
            ring,
            inbox,
            maker,
            manner,
            flows: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            to_agent: durations(),
            to_applied: durations(),
            reports: 0,
            orders: 0,
            swept_ns: now,
            shown_ns: now,
        };
        agent.take_up()?;
        Ok(agent)
    }

    /// Makes the calling thread run before all ordinary ones, if that is allowed. Returns true if it was.
    pub fn hurry() -> bool {
        let how = libc::sched_param { sched_priority: PRIORITY };
        // SAFETY: the calling thread, and parameters that outlive the call.
        unsafe {
            libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const how) == 0
        }
    }

    /// Processes what has come, or waits for it, at most until `until_ns` of the kernel's clock.
    ///
    /// # Errors
    /// A controller failed or could not be made, or the ring buffer cannot be read.
    pub fn step(&mut self, until_ns: u64) -> Result<Step, Error> {
        let taken = self.ring.consume_raw_n(AT_ONCE);
        if taken < 0 {
            return Err(Error(format!(
                "the ring buffer cannot be read: {}",
                io::Error::from_raw_os_error(-taken)
            )));
        }
        loop {
            let Some(report) = self.inbox.borrow_mut().pop_front() else { break };
            self.on_report(&report)?;
        }
        let now = clock::now_ns();
        self.meet_deadlines(now)?;
        if now.saturating_sub(self.shown_ns) >= SHOW_NS {
            self.show(now);
        }
        if now.saturating_sub(self.swept_ns) >= SWEEP_NS && !self.sweep(now) {
            return Ok(Step::Detached);
        }
        if taken == 0 {
            self.wait(now, until_ns);
        }
        Ok(Step::Done)
    }

    /// The datapath.
    pub fn datapath(&self) -> &Datapath {
        &self.datapath
    }

    /// Where the flows of the datapath are, for [`crate::status::of`].
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    fn wait(&mut self, now: u64, until_ns: u64) {
        let first = self.deadlines.first().map_or(u64::MAX, |(at, _)| at.0);
        let until = first.min(until_ns).min(self.swept_ns + SWEEP_NS).min(self.shown_ns + SHOW_NS.max(1));
        let ns = until.saturating_sub(now);
        let timeout =
            libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let mut fd = libc::pollfd { fd: self.ring.epoll_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which the ring owns, and a timeout that outlives the call. An
        // interruption ends the wait.
        unsafe { libc::ppoll(&raw mut fd, 1, &raw const timeout, std::ptr::null()) };
    }

    fn on_report(&mut self, report: &Report) -> Result<(), Error> {
        if report.tells & tells::CLOSE != 0 {
            self.forget(report.id);
            return Ok(());
        }
        match self.flows.get_mut(&report.id) {
            Some((_, steering)) if report.number <= steering.answers() => return Ok(()), // from before this agent
            Some((_, steering)) => steering.on_report(report),
            // A flow that has already closed may have left reports.
            None if report.slot >= self.slots.count() || self.slots.id(report.slot) != report.id => {
                return Ok(());
            }
            None => {
                let slot = self.slots.read(report.slot);
                self.adopt(report.slot, &slot, report)?;
            }
        }
        self.reports += 1;
        self.to_agent.saturating_record(clock::now_ns().saturating_sub(report.t_ns));
        if report.applied_after_ns > 0 {
            self.to_applied.saturating_record(report.applied_after_ns);
        }
        self.answer(report.id)
    }

    /// Makes the controller of a flow.
    fn adopt(&mut self, index: u32, slot: &Slot, report: &Report) -> Result<(), Error> {
        let (local, remote) = ends(slot);
        let made = self.maker.make(&format!("{local}-{remote}"), start_of(report));
        let mut steering = Steering::new(made.map_err(Error)?, report, self.manner.paced);
        steering.count_from(slot.order.number.max(slot.applied));
        self.flows.insert(slot.id, (index, steering));
        Ok(())
    }

    /// Writes the next order of a flow.
    fn answer(&mut self, id: u64) -> Result<(), Error> {
        let Some((index, steering)) = self.flows.get_mut(&id) else { return Ok(()) };
        let order = steering.order();
        let deadline = steering.deadline();
        self.maker.health().map_err(Error)?;
        self.slots.write_order(*index, &order);
        self.orders += 1;
        if deadline < Time::MAX {
            self.deadlines.insert((deadline, id));
        }
        Ok(())
    }

    fn meet_deadlines(&mut self, now: u64) -> Result<(), Error> {
        while let Some((at, id)) = self.deadlines.first().copied().filter(|(at, _)| at.0 <= now) {
            self.deadlines.remove(&(at, id));
            let Some((_, steering)) = self.flows.get_mut(&id) else { continue };
            // The controller may have changed its deadline since.
            if steering.deadline() > Time(now) {
                continue;
            }
            steering.on_deadline(Time(now));
            self.answer(id)?;
            if self.deadlines.first().is_some_and(|first| *first <= (at, id)) {
                break; // it wants the same instant again: not in this step
            }
        }
        Ok(())
    }

    fn forget(&mut self, id: u64) {
        if self.flows.remove(&id).is_some() {
            self.deadlines.retain(|(_, of)| *of != id);
        }
    }

    /// Takes over the flows that began before this agent, each from its current window.
    fn take_up(&mut self) -> Result<(), Error> {
        let live: Vec<(u32, Slot)> = self.slots.live().collect();
        for (index, slot) in live {
            let report = present(index, &slot);
            self.adopt(index, &slot, &report)?;
            self.answer(slot.id)?;
        }
        Ok(())
    }

    /// Drops flows whose end was not reported. False if the datapath serves nobody any more.
    fn sweep(&mut self, now: u64) -> bool {
        self.swept_ns = now;
        let gone: Vec<u64> = self
            .flows
            .iter()
            .filter(|(id, (slot, _))| self.slots.id(*slot) != **id)
            .map(|(id, _)| *id)
            .collect();
        gone.into_iter().for_each(|id| self.forget(id));
        !self.flows.is_empty() || available().iter().any(|name| name == self.datapath.name())
    }

    fn show(&mut self, now: u64) {
        self.shown_ns = now;
        let five = |all: &Histogram<u64>| {
            let at = |q| all.value_at_quantile(q);
            [all.len(), at(0.5), at(0.9), at(0.99), all.max()]
        };
        self.slots.change_control(|words| {
            words.reports(self.reports);
            words.orders(self.orders);
            words.to_agent(five(&self.to_agent));
            words.to_applied(five(&self.to_applied));
        });
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.show(clock::now_ns());
        self.slots.change_control(|words| words.agent_pid(0));
    }
}

/// The report that a flow would send now, without any news.
fn present(index: u32, slot: &Slot) -> Report {
    let bytes = |segments: u32| u64::from(segments) * u64::from(slot.mss);
    Report {
        id: slot.id,
        number: slot.reports,
        t_ns: clock::now_ns(),
        slot: index,
        tells: tells::OPEN,
        in_flight: bytes(slot.in_flight),
        delivered: slot.delivered,
        lost: slot.lost,
        rwnd: u64::MAX,
        round: slot.round,
        mss: slot.mss,
        phase: match slot.state {
            2 | 3 => 1,
            4 => 2,
            _ => 0,
        },
        srtt_us: slot.srtt_us,
        rttvar_us: slot.rttvar_us,
        min_rtt_us: slot.min_rtt_us,
        cwnd_limited: 0,
        cwnd: slot.cwnd,
        ssthresh: slot.ssthresh,
        applied_after_ns: 0,
        news: News::default(),
    }
}
