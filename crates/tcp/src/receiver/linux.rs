//! Which acknowledgements Linux delays ([`AckRule::Linux`](crate::options::AckRule)), after
//! net/ipv4/tcp_input.c of 6.18.
//!
//! * Quick acknowledgements: 16 at the start and after a duplicate are not delayed (`TCP_MAX_QUICKACKS`).
//! * No acknowledgement is delayed while the window grows (`tcp_grow_window` sets a quick one). In slow start
//!   nearly every segment is therefore acknowledged, which HyStart sees as trains of ACKs. The window follows
//!   `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow`. [`Reading::Growing`] lets it bind.
//! * Compressed SACKs (`__tcp_ack_snd_check`): after three duplicate ACKs for the same gap the next ones wait
//!   a millisecond for others. The ACK that fills the gap does not wait. A SACK may therefore leave right
//!   before it.
//!
//! The receiver's round trip is the time from the first segment to the first one that its acknowledgement
//! allowed, plus the increase of the forward delay since. (Linux reads it from the echoed timestamps of
//! data.)

use bentpipe_cc::{Span, Time};

use crate::options::{AckRule, Options, Reading};
use crate::segment::Data;

/// `TCP_MAX_QUICKACKS`.
pub(super) const QUICK: u32 = 16;
/// `tcp_comp_sack_delay_ns`. Linux takes at most a twentieth of the round trip, which binds below 20 ms.
const COMPRESSION: Span = Span(1_000_000);
/// `tcp_comp_sack_slack_ns` of 0.1 ms, at the end of which the timer expires, and the time that the timer
/// itself takes. The acknowledgement leaves 1.14 ms after the segment arrived, as captured on Linux 6.18
/// (1.13 to 1.15 ms for nine of ten).
const SLACK: Span = Span(140_000);
/// `tcp_comp_sack_nr`.
const MOST_COMPRESSED: u32 = 44;
/// `TCP_FASTRETRANS_THRESH`: this many duplicate ACKs are not compressed.
const DUPLICATES: u32 = 3;
/// `tcp_rmem[1]` of 128 KiB: with 1448 bytes of payload in a buffer of 2304, it leaves 80 KiB for the window.
const FIRST_CLAMP: u64 = 81_920;
/// `tcp_rmem[2]` of 32 MiB: it leaves 20 MiB in the same way.
const LARGEST_CLAMP: u64 = 20_971_520;
/// The window of a SYN without scaling, in whole segments of 1448 bytes.
const FIRST_WINDOW: u64 = 65_160;

/// The window of one receiver in bytes, the state from which it grows, and the state of SACK compression.
#[derive(Debug, Default)]
pub(super) struct LinuxAcks {
    mss: u64,
    initial_window: u64,
    /// `rcv_ssthresh`.
    window: u64,
    /// `window_clamp`.
    clamp: u64,
    /// `rcvq_space.space`: the most that the application has read in a round trip.
    space: u64,
    /// `rcvq_space.seq` and `.time`: where the current round trip began.
    round: (u64, Time),
    /// The first arrival, and how long that segment was in flight.
    first: Option<(Time, Span)>,
    /// The round trip of the first arrival.
    first_rtt: Option<Span>,
    /// `rcv_rtt_est`.
    rtt: Span,
    /// `compressed_ack_rcv_nxt` and `dup_ack_counter`: the gap, and the ACKs that were not compressed.
    duplicates: (u64, u32),
    /// `compressed_ack`: the ACKs that wait.
    compressed: u32,
    /// True if acknowledgements advertise the window.
    tells: bool,
    /// True if the window has grown with the last segment.
    grown: bool,
}

/// The window of a sender before any acknowledgement has advertised one, in segments of `mss` bytes.
pub(crate) fn first_window(mss: u64) -> u64 {
    (FIRST_WINDOW / mss).max(1)
}

impl LinuxAcks {
    /// `None` unless the options ask for it.
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        let wanted = options.acks == AckRule::Linux && options.delayed_ack.is_some();
        let (mss, initial_window) = (u64::from(options.mss), options.initial_window as u64);
        let new = || Self {
            mss,
            initial_window,
            window: FIRST_WINDOW,
            clamp: FIRST_CLAMP,
            space: FIRST_WINDOW.min(10 * mss),
            round: (0, Time(0)),
            tells: options.reading == Reading::Growing,
            ..Self::default()
        };
        wanted.then(|| Box::new(new()))
    }

    /// A new segment lies behind the gap at `next`. Returns how long its acknowledgement may wait; `None`:
    /// not at all.
    pub(super) fn compresses(&mut self, next: u64) -> Option<Span> {
        if self.duplicates.0 != next {
            self.duplicates = (next, 0);
        }
        if self.duplicates.1 < DUPLICATES {
            self.duplicates.1 += 1;
            return None;
        }
        let wait = if self.rtt > Span::ZERO { COMPRESSION.min(Span(self.rtt.0 / 20)) } else { COMPRESSION };
        self.compressed += 1;
        (self.compressed <= MOST_COMPRESSED).then_some(Span(wait.0 + SLACK.0))
    }

    /// An acknowledgement goes out.
    pub(super) fn on_sent(&mut self) {
        self.compressed = 0;
    }

    /// `tcp_grow_window`: a segment arrived, and `held` segments are in the buffer with it. Returns true if
    /// the window has grown, so that the segment is acknowledged at once.
    pub(super) fn grow(&mut self, held: u64) -> bool {
        let room = self.clamp.saturating_sub(self.window + held * self.mss);
        self.window += room.min(2 * self.mss);
        self.grown = room > 0;
        self.grown
    }

    /// The window in segments if it has grown, else 0; `None` if acknowledgements do not advertise it.
    pub(super) fn advertised(&self) -> Option<u64> {
        self.tells.then(|| if self.grown { (self.window / self.mss).max(1) } else { 0 })
    }

    /// `tcp_data_queue_ofo`: a segment has arrived behind the gap at `next`. The buffer makes room for the
    /// data that the gap holds up.
    pub(super) fn make_room(&mut self, next: u64, high: u64) {
        self.raise(2 * self.space + (high - next) * self.mss);
    }

    /// `tcp_rcv_space_adjust`: the application has read all before `next`, since `data` has arrived. Unread
    /// segments before `high` lie behind a gap.
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
        // `tcp_rcv_rtt_update`: a shorter one counts at once.
        self.rtt = rtt.min(Span(self.rtt.0 - self.rtt.0 / 8 + rtt.0 / 8));
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
            self.raise(twice + 2 * growth + behind);
        }
    }

    /// Raises the clamp to `wanted`, unless it is larger already.
    fn raise(&mut self, wanted: u64) {
        self.clamp = self.clamp.max(wanted.min(LARGEST_CLAMP));
    }
}
