//! An application that reads slowly, and the receive window that follows from it.
//!
//! RFC 9293 section 3.8.6. The window's right edge is the room of the buffer beyond the data that was read,
//! so it never moves back. It moves by whole segments, which is the receiver's part in silly window avoidance
//! (section 3.8.6.2.2). An acknowledgement of its own advertises a window that has grown to twice the one
//! that the sender knows (Linux, `tcp_cleanup_rbuf`). By Linux's rules the edge also rests while less than a
//! sixteenth of the buffer is free (`__tcp_select_window`), so that a full buffer opens the window by that
//! much at once.

use bentpipe_cc::{Span, Time};

use super::Receiver;
use crate::options::{AckRule, Options, Reading};
use crate::segment::{AckSegment, Data};

/// One part in this many of the buffer must be free before Linux advertises it (`__tcp_select_window`).
const LEAST_SHARE: u64 = 16;

/// The receive buffer, and the application behind it.
#[derive(Debug)]
pub(super) struct Reader {
    /// Segments for which the buffer has room.
    buffer: u64,
    /// Less room than this, in segments, does not move the edge.
    least_room: u64,
    /// Segments that the application has read.
    read: u64,
    /// The right edge that the last acknowledgement advertised.
    advertised: u64,
    pace: Option<Pace>,
}

/// The pace of an application that reads at a constant rate.
#[derive(Debug)]
struct Pace {
    /// Bits per second.
    rate: u64,
    /// Bits of a segment.
    bits: u64,
    /// When the next segment is read, and the remainder of that time in units of 1/rate nanoseconds.
    due: Option<Time>,
    carry: u64,
}

impl Reader {
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        let pace = match options.reading {
            Reading::AtOnce | Reading::Growing => return None,
            Reading::OnDemand => None,
            Reading::Paced(rate) => {
                Some(Pace { rate: rate.max(1), bits: u64::from(options.mss) * 8, due: None, carry: 0 })
            }
        };
        let buffer = options.receive_window.unwrap_or(u64::MAX / 2);
        let least_room = if options.acks == AckRule::Linux { buffer / LEAST_SHARE } else { 0 };
        Some(Box::new(Self { buffer, least_room, read: 0, advertised: buffer, pace }))
    }

    /// The right edge of the window while `next` is expected: the first segment that the sender may not send.
    fn edge(&self, next: u64) -> u64 {
        let edge = self.read + self.buffer;
        if edge - next < self.least_room { self.advertised.max(next) } else { edge }
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.pace.as_ref()?.due
    }

    /// An acknowledgement goes out while segment `next` is expected.
    pub(super) fn tell(&mut self, next: u64) {
        self.advertised = self.edge(next);
    }
}

impl Pace {
    /// The application begins to read a segment at `from`.
    fn begin(&mut self, from: Time) {
        let work = self.bits * 1_000_000_000 + self.carry;
        self.due = Some(from + Span(work / self.rate));
        self.carry = work % self.rate;
    }
}

impl Receiver {
    /// The receive window in segments that an acknowledgement sent now advertises. `None` if the application
    /// reads at once, so that the window is constant, or if the window only grows
    /// ([`Receiver::grown_window`]).
    pub fn window(&self) -> Option<u64> {
        self.reader.as_ref().map(|reader| reader.edge(self.next) - self.next)
    }

    /// The receive window in segments that an acknowledgement sent now advertises, where the window grows
    /// with what arrives ([`Reading::Growing`]); 0 if it has not grown since the previous acknowledgement.
    /// `None` if it does not grow at all.
    #[inline]
    pub fn grown_window(&self) -> Option<u64> {
        self.linux.as_ref()?.advertised()
    }

    /// Segments that wait to be read; 0 if the application reads at once.
    pub fn unread(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| self.next - reader.read)
    }

    /// The application has read all before segment `upto` ([`Reading::OnDemand`]). Returns the
    /// acknowledgement that advertises the opened window, if one is due.
    pub fn read(&mut self, upto: u64) -> Option<AckSegment> {
        let reader = self.reader.as_mut()?;
        reader.read = upto.min(self.next).max(reader.read);
        let edge = reader.edge(self.next);
        let (known, window) = (reader.advertised.saturating_sub(self.next), edge - self.next);
        (window > 0 && window >= 2 * known && edge > reader.advertised).then(|| self.acknowledge(None))
    }

    /// A data segment arrives at a bounded buffer.
    pub(super) fn on_bounded_data(&mut self, now: Time, data: &Data) -> Option<AckSegment> {
        if self.window().is_some_and(|window| !data.probe && data.seq >= self.next + window) {
            let answer = self.acknowledge(None); // no room: RFC 9293 section 3.10.7.4, first step
            return Some(AckSegment { extra: data.extra, ..answer });
        }
        let answer = self.take(now, data);
        if let Some(reader) = &mut self.reader
            && let Some(pace) = &mut reader.pace
            && pace.due.is_none()
            && self.next > reader.read
        {
            pace.begin(now);
        }
        answer
    }

    /// The application may have read a segment by `now`.
    pub(super) fn read_on(&mut self, now: Time) -> Option<AckSegment> {
        let reader = self.reader.as_mut()?;
        let pace = reader.pace.as_mut()?;
        let mut read = reader.read;
        while let Some(due) = pace.due.filter(|&due| due <= now) {
            read += 1;
            if read < self.next {
                pace.begin(due);
            } else {
                (pace.due, pace.carry) = (None, 0);
            }
        }
        self.read(read)
    }
}
