//! The receiving end: cumulative and selective acknowledgements, delayed or immediate,
//! ECN echo, timestamp echo.
//!
//! When to acknowledge: RFC 5681 section 4.2. Which blocks to report: RFC 2018 section 4. Duplicates:
//! RFC 2883 section 4. ECN echo: RFC 3168 section 6.1.3. Which timestamp to echo: RFC 7323 section 4.3.

pub(crate) mod linux;
mod marks;
mod reading;

use bentpipe_cc::{Span, Time};

use crate::bits::Bits;
use crate::options::{EcnEcho, LossRecovery, Options};
use crate::segment::{AckSegment, BareAck, Block, Data, MAX_BLOCKS, Sack};
use crate::snack::Snack;
use linux::{LinuxAcks, QUICK};
use marks::Marks;
use reading::Reader;

/// A delay that means: acknowledge every segment at once.
const AT_ONCE: Span = Span(u64::MAX);

/// Segments further ahead than this lie outside any window and are dropped.
const MAX_WINDOW: u64 = 1 << 27;

/// The receiver of one connection. As a rule its application reads at once, so that the receive window is
/// constant. `receiver/reading.rs` has the applications that read slowly.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next segment expected in order.
    next: u64,
    /// The segment after the highest one received.
    high: u64,
    /// Segments received out of order.
    out_of_order_count: u64,
    deadline: Option<Time>,
    /// TS.Recent and Last.ACK.sent of RFC 7323 section 4.3.
    ts_recent_at: Time,
    last_ack: u64,
    ts_recent: u32,
    /// This many further acknowledgements are not delayed. As a rule it is one while a segment in order waits
    /// for the next one.
    prompt: u32,
    sack: bool,
    dsack: bool,
    /// The most octets of a SNACK's bit vector, if the receiver sends SNACKs.
    snack: Option<u8>,
    ecn: bool,
    echo: bool,
    /// True if the application reads at once, acknowledgements are not delayed by Linux's rules, segments
    /// carry no headers, and marks are echoed as RFC 3168 says.
    plain: bool,
    /// How long an acknowledgement waits for a second segment; [`AT_ONCE`].
    delay: Span,
    /// The segments received out of order, once there have been some.
    out_of_order: Option<Box<OutOfOrder>>,
    /// The application, unless it reads at once.
    reader: Option<Box<Reader>>,
    /// Linux's rules for delaying acknowledgements.
    linux: Option<Box<LinuxAcks>>,
    /// Exact echo of marks.
    marks: Option<Box<Marks>>,
}

/// Segments received out of order.
#[derive(Debug, Default)]
struct OutOfOrder {
    segments: Bits,
    /// The runs of these that changed most recently, newest first (RFC 2018 section 4).
    recent: [Block; MAX_BLOCKS],
    /// The last SNACK sent.
    last_snack: Snack,
}

impl Receiver {
    /// A receiver that has seen nothing.
    pub fn new(options: &Options) -> Self {
        let (reader, linux, marks) = (Reader::new(options), LinuxAcks::new(options), Marks::new(options));
        Self {
            next: 0,
            high: 0,
            out_of_order: None,
            plain: reader.is_none() && linux.is_none() && marks.is_none(),
            prompt: if linux.is_some() { QUICK } else { 0 },
            reader,
            linux,
            marks,
            out_of_order_count: 0,
            sack: options.recovery == LossRecovery::Sack,
            snack: options.snacks(),
            dsack: options.dsack && options.recovery == LossRecovery::Sack,
            ecn: options.ecn && options.echo == EcnEcho::Rfc3168,
            delay: options.delayed_ack.unwrap_or(AT_ONCE),
            deadline: None,
            ts_recent: 0,
            ts_recent_at: Time(0),
            last_ack: 0,
            echo: false,
        }
    }

    /// From now on every segment goes to [`Receiver::on_data`], because its owner reads what each carries.
    /// Nothing has come so far.
    pub fn take_no_short_cut(&mut self) {
        self.plain = false;
    }

    /// Segments delivered to the application, in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// When [`Receiver::on_deadline`] must be called.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        match &self.reader {
            None => self.deadline,
            Some(reader) => self.deadline.into_iter().chain(reader.due()).min(),
        }
    }

    /// A data segment arrived. Returns the acknowledgement to send now, if any.
    pub fn on_data(&mut self, now: Time, data: &Data) -> Option<AckSegment> {
        if self.reader.is_some() { self.on_bounded_data(now, data) } else { self.take(now, data) }
    }

    /// Takes a data segment for which there is room.
    fn take(&mut self, now: Time, data: &Data) -> Option<AckSegment> {
        if self.marks.is_some() { self.take_with_marks(now, data) } else { self.take_data(now, data) }
    }

    /// Takes a data segment for which there is room. Unless RFC 3168 applies, its mark has already been
    /// noted.
    fn take_data(&mut self, now: Time, data: &Data) -> Option<AckSegment> {
        if self.ecn {
            // RFC 3168 section 6.1.3: echo until CWR is seen; a new mark on the same segment starts a new
            // echo.
            self.echo = (self.echo && !data.cwr) || data.ce;
        }
        if data.probe {
            return Some(self.acknowledge(None));
        }
        if data.extra {
            return Some(self.take_extra(now, data.seq));
        }
        self.keep_timestamp(now, data.seq, data.tsval);
        let grows = match &mut self.linux {
            Some(linux) => linux.grow(self.out_of_order_count + 1),
            None => false,
        };
        if data.seq == self.next {
            let read_out = data.push && self.linux.is_some();
            let answer = self.advance(now, grows, read_out);
            if let Some(linux) = &mut self.linux {
                linux.read(now, data, self.next, self.high);
            }
            answer
        } else {
            let mut repeated = data.seq < self.next;
            if data.seq > self.next && data.seq - self.next < MAX_WINDOW {
                repeated = !self.keep_out_of_order(data.seq);
                if let Some(linux) = &mut self.linux {
                    linux.make_room(self.next, self.high);
                }
            }
            if self.sack
                && !(repeated || grows || self.prompt > 0)
                && let Some(linux) = &mut self.linux
                && let Some(wait) = linux.compresses(self.next)
            {
                self.deadline.get_or_insert(now + wait);
                return None;
            }
            // RFC 5681 section 4.2: a segment that is out of order or was received before is acknowledged at
            // once.
            Some(self.acknowledge((repeated && self.dsack).then_some(data.seq)))
        }
    }

    /// An extra segment: takes its data if that is new, and answers at once. A delayed acknowledgement of
    /// other data stays due, because the answer has low priority and may be lost. A duplicate is not
    /// reported: nothing was sent again for it.
    #[cold]
    fn take_extra(&mut self, now: Time, seq: u64) -> AckSegment {
        let waits = (self.deadline, self.prompt);
        if seq == self.next {
            self.advance(now, false, false);
        } else if seq > self.next && seq - self.next < MAX_WINDOW {
            self.keep_out_of_order(seq);
        }
        let answer = AckSegment { extra: true, ..self.acknowledge(None) };
        if waits.0.is_some() {
            (self.deadline, self.prompt) = waits;
        }
        answer
    }

    /// Is no segment missing, is the room constant, and do segments carry no headers? Only then may the next
    /// segment go to [`Receiver::on_next_in_order`].
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.out_of_order_count == 0 && self.plain
    }

    /// The fast path of [`Receiver::on_data`]: the next segment in order while [`Receiver::is_in_order`]
    /// holds. It is not for a probe or an extra segment. The acknowledgement has no SACK blocks.
    #[inline]
    pub fn on_next_in_order(&mut self, now: Time, tsval: u32, cwr: bool, ce: bool) -> Option<BareAck> {
        debug_assert!(self.is_in_order() && self.high <= self.next);
        if self.ecn {
            self.echo = (self.echo && !cwr) || ce;
        }
        self.keep_timestamp(now, self.next, tsval);
        self.next += 1;
        self.high = self.next;
        if self.delay != AT_ONCE {
            if self.prompt == 0 {
                self.prompt = 1;
                self.deadline = Some(now + self.delay);
                return None;
            }
            self.prompt -= 1;
            self.deadline = None;
        }
        self.last_ack = self.next;
        Some(BareAck { ack: self.next, tsecr: self.ts_recent, ece: self.echo })
    }

    /// [`Receiver::on_next_in_order`] for segments in a row, as long as each is the next in order and is
    /// acknowledged at once. `segments` has the instant, the number modulo 2^32 and the timestamp of each; `answer`
    /// receives its acknowledgement. Returns how many it has taken.
    #[inline(always)]
    pub fn on_row_in_order(
        &mut self,
        segments: impl Iterator<Item = (Time, u32, u32)>,
        mut answer: impl FnMut(BareAck),
    ) -> usize {
        if !self.is_in_order() || self.ecn || self.delay != AT_ONCE {
            return 0;
        }
        let first = self.next;
        for (now, number, tsval) in segments {
            if number != self.next as u32 {
                break;
            }
            self.keep_timestamp(now, self.next, tsval);
            self.next += 1;
            self.last_ack = self.next;
            answer(BareAck { ack: self.next, tsecr: self.ts_recent, ece: self.echo });
        }
        self.high = self.next;
        (self.next - first) as usize
    }

    /// [`Receiver::on_data`] for segment `seq` if it extends the newest run and no higher segment has
    /// arrived. It is not for a probe or an extra segment. This is the most frequent case while a segment is
    /// missing. The acknowledgement carries [`Receiver::sack_blocks`].
    #[inline]
    pub fn on_next_of_newest_run(&mut self, seq: u64, cwr: bool, ce: bool) -> Option<BareAck> {
        let early = self.out_of_order.as_mut().filter(|_| self.sack && self.plain)?;
        let newest = &mut early.recent[0];
        let known = newest.start > self.next && newest.end == seq && self.high == seq;
        if !known || seq - self.next >= early.segments.capacity().min(MAX_WINDOW) {
            return None;
        }
        if self.ecn {
            self.echo = (self.echo && !cwr) || ce;
        }
        newest.end = seq + 1;
        early.segments.set(seq);
        self.out_of_order_count += 1;
        self.high = seq + 1;
        self.prompt = self.prompt.saturating_sub(1);
        self.deadline = None;
        self.last_ack = self.next;
        Some(BareAck { ack: self.next, tsecr: self.ts_recent, ece: self.echo })
    }

    /// The SACK blocks of an acknowledgement sent now, most recently changed first.
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = Block> {
        // Copying one by one avoids a store-to-load forwarding stall.
        let recent: &[Block] = self.out_of_order.as_ref().map_or(&[], |early| &early.recent);
        let is_reported = |block: &&Block| {
            self.out_of_order_count > 0 && block.start > self.next && block.end > block.start
        };
        recent.iter().filter(is_reported).copied()
    }

    /// The SNACK of the acknowledgement just made, if a segment is missing and the connection uses that
    /// option.
    pub fn snack(&self) -> Option<Snack> {
        let last = self.out_of_order.as_ref().map(|early| early.last_snack);
        last.filter(|_| self.snack.is_some() && self.out_of_order_count > 0)
    }

    /// The delayed acknowledgement may be due, or the application may have read.
    pub fn on_deadline(&mut self, now: Time) -> Option<AckSegment> {
        if let Some(update) = self.read_on(now) {
            return Some(update); // it tells what the delayed acknowledgement would
        }
        if let Some(held) = self.held(now) {
            return Some(held);
        }
        (self.deadline? <= now).then(|| self.acknowledge(None))
    }

    /// The acknowledgement that rides on a data segment of the other direction that leaves now (RFC 9293
    /// section 3.8.6.3). A delayed acknowledgement rides with it and no longer leaves alone.
    pub fn ride(&mut self) -> AckSegment {
        match self.marks.as_mut().and_then(|marks| marks.take_held()) {
            Some(held) => {
                self.deadline = None;
                held
            }
            None => self.acknowledge(None),
        }
    }

    /// RFC 7323 section 4.3 step 2: the timestamp to echo is that of the oldest segment not yet acknowledged.
    /// It never goes back, unless it is so old that the clock may have gone half round (section 5.5).
    #[inline]
    fn keep_timestamp(&mut self, now: Time, seq: u64, tsval: u32) {
        const HALF_ROUND: Span = Span((1 << 31) * 1000);
        let forward = (tsval.wrapping_sub(self.ts_recent) as i32) >= 0;
        if seq <= self.last_ack && (forward || now.since(self.ts_recent_at) >= HALF_ROUND) {
            self.ts_recent = tsval;
            self.ts_recent_at = now;
        }
    }

    /// The next segment in order; `grows`: it makes Linux's window grow. `read_out`: it is the last one of a
    /// write, and the application has read all (Linux, `tcp_measure_rcv_mss` and `tcp_cleanup_rbuf`).
    fn advance(&mut self, now: Time, grows: bool, read_out: bool) -> Option<AckSegment> {
        let gap = self.out_of_order_count > 0;
        self.next += 1;
        if gap && let Some(early) = &mut self.out_of_order {
            let to = early.segments.next_clear(self.next, self.high).unwrap_or(self.high);
            self.out_of_order_count -= early.segments.clear_range(self.next, to);
            self.next = to.max(self.next);
        }
        self.high = self.high.max(self.next);
        // RFC 5681 section 4.2: at least every second segment, at once if it fills all or part of a gap.
        if self.delay != AT_ONCE && !gap && !grows && !read_out && self.prompt == 0 {
            self.prompt = 1;
            self.deadline = Some(now + self.delay);
            return None;
        }
        self.prompt |= u32::from(grows); // as `icsk_ack.quick` in `tcp_grow_window`
        Some(self.acknowledge(None))
    }

    /// Keeps segment `seq`. Returns true if it is new.
    fn keep_out_of_order(&mut self, seq: u64) -> bool {
        let early = self.out_of_order.get_or_insert_with(Box::default);
        while seq - self.next >= early.segments.capacity() {
            early.segments.grow(self.next, self.high);
        }
        self.high = self.high.max(seq + 1);
        let new = !early.segments.get(seq);
        if new {
            early.segments.set(seq);
            self.out_of_order_count += 1;
        }
        if self.sack {
            // The first block holds the segment that led to this ACK, new or not (RFC 2018 section 4).
            early.remember(seq, self.next, self.high);
        }
        new
    }

    /// The acknowledgement. Its first block reports `repeated`, which was received before; the run around it
    /// follows (RFC 2883 section 4).
    fn acknowledge(&mut self, repeated: Option<u64>) -> AckSegment {
        self.prompt = self.prompt.saturating_sub(1);
        if let Some(linux) = &mut self.linux {
            linux.on_sent();
            if repeated.is_some() {
                self.prompt = QUICK; // `tcp_send_dupack`
            }
        }
        self.deadline = None;
        self.last_ack = self.next;
        if let Some(reader) = &mut self.reader {
            reader.tell(self.next);
        }
        if let Some(marks) = &mut self.marks {
            marks.tell();
        }
        let mut ack =
            AckSegment { ack: self.next, tsecr: self.ts_recent, ece: self.echo, ..AckSegment::default() };
        if repeated.is_some() || self.out_of_order_count > 0 {
            self.report(repeated, &mut ack.sack);
            self.tell_holes();
        }
        ack
    }

    /// Signals the holes in ascending order, each SNACK one hole or as many as its vector shows, and then
    /// begins again. A lost acknowledgement therefore costs no more than one round of the holes. (The
    /// reference implementation signals each hole once, and the first one several times.)
    fn tell_holes(&mut self) {
        if let (Some(octets), Some(early)) = (self.snack, &mut self.out_of_order)
            && self.out_of_order_count > 0
        {
            early.last_snack =
                Snack::new(&early.segments, [self.next, early.last_snack.end(), self.high], octets);
        }
    }

    #[inline(never)]
    fn report(&self, repeated: Option<u64>, sack: &mut Sack) {
        match repeated {
            None => sack.fill(self.sack_blocks()),
            Some(seq) => {
                sack.fill(core::iter::once(Block { start: seq, end: seq + 1 }).chain(self.sack_blocks()))
            }
        }
    }
}

impl OutOfOrder {
    /// Moves the run that holds `seq`, between `next` and `high`, to the front of the recent runs, and joins
    /// it with the runs that it now touches.
    #[inline]
    fn remember(&mut self, seq: u64, next: u64, high: u64) {
        // Most segments extend the newest run by one and do not reach the next run.
        let apart = seq + 1 == high || !self.segments.get(seq + 1);
        let newest = &mut self.recent[0];
        if newest.end == seq && newest.start > next && apart {
            newest.end = seq + 1;
        } else {
            self.remember_any(seq, next, high);
        }
    }

    #[inline(never)]
    fn remember_any(&mut self, seq: u64, next: u64, high: u64) {
        let mut run = Block { start: seq, end: seq + 1 };
        for known in self.recent {
            if known.end == seq {
                run.start = known.start;
            } else if known.start == seq + 1 {
                run.end = known.end;
            }
        }
        if run.start == seq && seq > next && self.segments.get(seq - 1) {
            run.start = self.segments.last_clear(next, seq).map_or(next, |hole| hole + 1);
        }
        if run.end == seq + 1 && run.end < high && self.segments.get(run.end) {
            run.end = self.segments.next_clear(run.end, high).unwrap_or(high);
        }
        let mut recent = [run, Block::default(), Block::default()];
        let mut kept = 1;
        for known in self.recent {
            let apart = known.start > next && (known.end < run.start || known.start > run.end);
            if apart && kept < MAX_BLOCKS {
                recent[kept] = known;
                kept += 1;
            }
        }
        self.recent = recent;
    }
}
