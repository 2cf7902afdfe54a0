//! Acknowledgements of a receiver that makes its window grow, as Linux does.
//!
//! Linux acknowledges each segment at once while its window grows (`tcp_grow_window` sets a quick acknowledgement), and for 16 segments at
//! the start and after a duplicate. So in slow start nearly every segment is acknowledged, which HyStart sees as trains of ACKs. The
//! window here follows `tcp_grow_window`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` in net/ipv4/tcp_input.c of 6.18, but it never
//! binds: what it decides is when acknowledgements are delayed.
//!
//! The receiver's round trip is that between the first segment and the first one that its acknowledgement let out, and what the way
//! forward has taken longer since. (Linux reads it from the echoed timestamps of data.)

use bentpipe_cc::{Span, Time};

use crate::options::Options;
use crate::segment::Data;

/// `tcp_rmem[1]` of 128 KiB, of which 1448 bytes of payload in a buffer of 2304 leave 80 KiB for the window.
const FIRST_CLAMP: u64 = 81_920;
/// The window of a SYN without scaling, in whole segments of 1448 bytes.
const FIRST_WINDOW: u64 = 65_160;

/// The window of one receiver, bytes, and what its growth follows from.
#[derive(Debug)]
pub(super) struct GrowingWindow {
    /// Acknowledgements that are not delayed after a duplicate.
    pub(super) quick: u32,
    mss: u64,
    initial_window: u64,
    /// `rcv_ssthresh`.
    window: u64,
    /// `window_clamp`.
    clamp: u64,
    /// `rcvq_space.space`: the most that the application has read in a round trip.
    space: u64,
    /// `rcvq_space.seq` and `.time`: where the present round trip began.
    round: (u64, Time),
    /// The first arrival, and how long it was under way.
    first: Option<(Time, Span)>,
    /// The round trip of the first arrival.
    first_rtt: Option<Span>,
    /// `rcv_rtt_est`.
    rtt: Span,
}

impl GrowingWindow {
    /// `None` unless the options say that acknowledgements are quick at times.
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        let quick = options.quick_acks;
        (quick > 0 && options.delayed_ack.is_some()).then(|| {
            let (mss, initial_window) = (u64::from(options.mss), options.initial_window as u64);
            Box::new(Self {
                quick,
                mss,
                initial_window,
                window: FIRST_WINDOW,
                clamp: FIRST_CLAMP,
                space: FIRST_WINDOW.min(10 * mss),
                round: (0, Time(0)),
                first: None,
                first_rtt: None,
                rtt: Span::ZERO,
            })
        })
    }

    /// `tcp_grow_window`: a segment arrived. True if the window has grown, so that it is acknowledged at once.
    pub(super) fn grow(&mut self) -> bool {
        let room = self.clamp.saturating_sub(self.window);
        self.window += room.min(2 * self.mss);
        room > 0
    }

    /// `tcp_rcv_space_adjust`: the application has read all before `next`, since `data` has arrived. Segments before `high` that are not
    /// read lie behind a gap.
    pub(super) fn read(&mut self, now: Time, data: &Data, next: u64, high: u64) {
        let under_way = Span(u64::from(((now.0 / 1000) as u32).wrapping_sub(data.tsval)) * 1000);
        let &mut (first_at, first_under_way) = self.first.get_or_insert_with(|| {
            self.round.1 = now;
            (now, under_way)
        });
        let Some(first_rtt) = self.first_rtt else {
            if data.seq >= self.initial_window {
                let rtt = now.since(first_at);
                (self.first_rtt, self.rtt) = (Some(rtt), rtt);
                self.adjust(now, next, high);
            }
            return;
        };
        let rtt = Span((first_rtt.0 + under_way.0).saturating_sub(first_under_way.0));
        self.rtt = Span(self.rtt.0 - self.rtt.0 / 8 + rtt.0 / 8);
        if now.since(self.round.1) >= self.rtt {
            self.adjust(now, next, high);
        }
    }

    /// A round trip is over.
    fn adjust(&mut self, now: Time, next: u64, high: u64) {
        let copied = (next - self.round.0) * self.mss;
        self.round = (next, now);
        if copied > self.space {
            // `tcp_rcvbuf_grow`: twice what was read, and room for a sender that doubles its rate.
            let twice = 2 * copied;
            let growth = twice * (copied - self.space) / self.space;
            self.space = copied;
            let behind = high.saturating_sub(next) * self.mss;
            self.clamp = self.clamp.max(twice + 2 * growth + behind);
        }
    }
}
