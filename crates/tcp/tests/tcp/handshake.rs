//! RFC 9293 section 3.5 (figures 6 and 12) and RFC 6298 section 5: opening and closing.

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::{Active, Control, LossRecovery, Opened, Options, Passive, Signal};

use crate::script::{Fixed, Script, ms, plain};

fn options() -> Options {
    plain(LossRecovery::Sack)
}

/// Both ends; time in milliseconds. A step names the segment that must come of it, or "-".
#[derive(Debug)]
struct Pair {
    active: Active,
    passive: Passive,
    opened: Option<Opened>,
}

fn name(sent: Option<Control>) -> String {
    sent.map_or("-".to_string(), |c| format!("{:?}@{}", c.signal, c.ts / 1000))
}

impl Pair {
    fn new(options: &Options) -> Self {
        Self { active: Active::new(options), passive: Passive::new(options), opened: None }
    }

    fn open(&mut self, n: u64) -> String {
        self.active.open();
        name(self.active.poll(at(n)))
    }

    fn passive_gets(&mut self, n: u64, signal: Signal, sent: u64) -> String {
        self.passive.on_segment(at(n), Control { signal, ts: (sent * 1000) as u32 });
        name(self.passive.poll(at(n)))
    }

    fn active_gets(&mut self, n: u64, signal: Signal, echo: u64) -> String {
        let told = self.active.on_segment(at(n), Control { signal, ts: (echo * 1000) as u32 });
        self.opened = told.or(self.opened);
        name(self.active.poll(at(n)))
    }

    fn active_due(&mut self, n: u64) -> String {
        assert_eq!(self.active.deadline(), Some(at(n)));
        self.active.on_deadline(at(n));
        name(self.active.poll(at(n)))
    }

    fn passive_due(&mut self, n: u64) -> String {
        assert_eq!(self.passive.deadline(), Some(at(n)));
        self.passive.on_deadline(at(n));
        name(self.passive.poll(at(n)))
    }

    /// Figure 6 over 250 ms each way, from 0 to 750 ms.
    fn opened(options: &Options) -> Self {
        let mut p = Self::new(options);
        assert_eq!(p.open(0), "Syn@0");
        assert_eq!(p.passive_gets(250, Signal::Syn, 0), "SynAck@0");
        assert_eq!(p.active_gets(500, Signal::SynAck, 0), "Ack@500");
        assert_eq!(p.passive_gets(750, Signal::Ack, 500), "-");
        p
    }
}

fn at(n: u64) -> Time {
    Time(0) + ms(n)
}

/// RFC 9293 figure 6: three segments, one round trip until data may go, and no timer is left.
#[test]
fn three_segments_open_the_connection() {
    let p = Pair::opened(&options());
    assert!(p.active.is_open());
    assert_eq!(p.opened, Some(Opened { rtt: Some(ms(500)), repeats: 0 }));
    assert_eq!((p.active.deadline(), p.passive.deadline()), (None, None));
}

/// RFC 6298 sections 2.1, 5.5 and 5.6: the SYN is repeated after 1, 2 and 4 seconds.
#[test]
fn an_unanswered_syn_is_repeated_with_doubling_timeouts() {
    let mut p = Pair::new(&options());
    assert_eq!(p.open(0), "Syn@0");
    assert_eq!(p.active_due(1000), "Syn@1000");
    assert_eq!(p.active_due(3000), "Syn@3000");
    assert_eq!(p.active_due(7000), "Syn@7000");
    assert!(!p.active.is_open());
}

/// RFC 6298 section 3 (Karn): which SYN was answered is not known without timestamps; RFC 7323
/// section 4.1: with them it is.
#[test]
fn a_repeated_syn_gives_a_sample_only_by_its_timestamp() {
    for (timestamps, rtt) in [(false, None), (true, Some(ms(500)))] {
        let mut p = Pair::new(&Options { timestamps, ..options() });
        p.open(0);
        p.active_due(1000);
        assert_eq!(p.active_gets(1500, Signal::SynAck, 1000), "Ack@1500");
        assert_eq!(p.opened, Some(Opened { rtt, repeats: 1 }));
    }
}

/// A SYN that comes again because the SYN-ACK was lost is answered again; its timer starts anew, so
/// the answer goes out once.
#[test]
fn a_repeated_syn_is_answered_again() {
    let mut p = Pair::new(&options());
    p.open(0);
    assert_eq!(p.passive_gets(250, Signal::Syn, 0), "SynAck@0");
    p.active_due(1000);
    assert_eq!(p.passive_gets(1249, Signal::Syn, 1000), "SynAck@1000");
    assert_eq!(p.passive_due(2249), "SynAck@1000");
}

/// RFC 9293 section 3.10.7.4: while the last acknowledgement is lost the SYN-ACK comes again and is
/// acknowledged again; data acknowledges it, too.
#[test]
fn a_lost_last_acknowledgement_is_made_good() {
    let mut p = Pair::new(&options());
    p.open(0);
    p.passive_gets(250, Signal::Syn, 0);
    p.active_gets(500, Signal::SynAck, 0);
    assert_eq!(p.passive_due(1250), "SynAck@0");
    assert_eq!(p.active_gets(1500, Signal::SynAck, 0), "Ack@1500");
    p.passive.on_data(at(1600));
    assert_eq!(p.passive.deadline(), None);
}

/// RFC 9293 figure 12, the receiver's acknowledgement and FIN in one.
#[test]
fn three_segments_close_the_connection() {
    let mut p = Pair::opened(&options());
    let t = Script::new(options(), Fixed::new(1).boxed(), None);
    t.sender.close(&mut p.active);
    assert_eq!(name(p.active.poll(at(5000))), "Fin@5000");
    assert_eq!(p.passive_gets(5250, Signal::Fin, 5000), "FinAck@5000");
    assert_eq!(p.active_gets(5500, Signal::FinAck, 5000), "LastAck@5500");
    assert_eq!(p.passive_gets(5750, Signal::LastAck, 5500), "-");
    assert_eq!((p.active.deadline(), p.passive.deadline()), (None, None));
    assert!(!p.active.is_open());
}

/// The FIN is repeated by the sender's timeout, the answer by that of the other end: its first sample was
/// 500 ms, from the SYN-ACK at 250 ms to the acknowledgement at 750 ms, so 3 x 500 ms (RFC 6298 section 2.2).
/// In TIME-WAIT the acknowledgement goes out again (RFC 9293 section 3.10.7.4, eighth step).
#[test]
fn lost_segments_of_the_teardown_are_repeated() {
    let mut p = Pair::opened(&options());
    let mut t = Script::new(options(), Fixed::new(1).boxed(), None);
    t.sends("0").at(800).ack(1); // R = 800 ms: timeout 2400 ms
    t.sender.close(&mut p.active);
    assert_eq!(name(p.active.poll(at(10_000))), "Fin@10000");
    assert_eq!(p.active_due(12_400), "Fin@12400");
    assert_eq!(p.active_due(17_200), "Fin@17200");
    assert_eq!(p.passive_gets(17_450, Signal::Fin, 17_200), "FinAck@17200");
    assert_eq!(p.passive_due(18_950), "FinAck@17200");
    assert_eq!(p.active_gets(19_200, Signal::FinAck, 17_200), "LastAck@19200");
    assert_eq!(p.passive_due(21_950), "FinAck@17200");
    assert_eq!(p.active_gets(22_200, Signal::FinAck, 17_200), "LastAck@22200");
    assert_eq!(p.active.deadline(), None);
}

/// RFC 9293 section 3.10.4: closing in SYN-SENT deletes the connection.
#[test]
fn closing_before_the_answer_forgets_the_connection() {
    let mut p = Pair::new(&options());
    p.open(0);
    let t = Script::new(options(), Fixed::new(1).boxed(), None);
    t.sender.close(&mut p.active);
    assert_eq!(p.active.deadline(), None);
    assert_eq!(p.active_gets(500, Signal::SynAck, 0), "-");
    assert!(!p.active.is_open());
}

fn sender(window: u64, opened: Opened) -> Script {
    let mut t = Script::new(options(), Fixed::new(window).boxed(), None);
    t.sender.on_opened(Time(0), &opened);
    t
}

/// RFC 6298 section 2.2: the SYN's round trip R = 500 ms makes the first timeout 3 R.
#[test]
fn the_round_trip_of_the_syn_is_the_first_sample() {
    let mut t = sender(1, Opened { rtt: Some(ms(500)), repeats: 0 });
    assert_eq!(t.sender.flow().rtt.map(|r| r.smoothed), Some(ms(500)));
    t.sends("0").due(1500).sends("r0");
}

/// RFC 6298 section 5.7: 3 s when data transmission begins, if the timer expired before; the doubling of the
/// SYN is over. With a sample of 500 ms from the timestamps it is still 3 s. A sample of 1.2 s asks for 3.6
/// s, which then applies.
#[test]
fn after_a_repeated_syn_the_first_timeout_is_three_seconds() {
    for (rtt, due) in [(None, 3000), (Some(ms(500)), 3000), (Some(ms(1200)), 3600)] {
        sender(1, Opened { rtt, repeats: 1 }).sends("0").due(due).sends("r0");
    }
    // The first sample of data ends it: R = 500 ms, timeout 1500 ms.
    let mut t = sender(1, Opened { rtt: None, repeats: 1 });
    t.sends("0").at(500).ack(1).sends("1").due(500 + 1500).sends("r1");
}

/// RFC 5681 section 3.1: one segment at first if the SYN was lost; RFC 6928 section 2: not for one
/// repetition. From there it grows as any window in slow start: 1, 2, 4.
#[test]
fn several_syns_shrink_the_initial_window() {
    sender(10, Opened { rtt: None, repeats: 1 }).sends("0-9");
    let mut t = sender(10, Opened { rtt: None, repeats: 2 });
    t.sends("0").at(500).ack(1).sends("1-2").at(1000).ack(3).sends("3-6");
    t.at(1500).ack(7).sends("7-14").at(2000).ack(15).sends("15-24");
}

/// Spans of the timestamp clock survive its wrap at 2^32 microseconds.
#[test]
fn the_timestamp_clock_may_wrap_during_the_handshake() {
    let mut active = Active::new(&Options { timestamps: true, ..options() });
    let start = Time(0) + Span(((1 << 32) - 1000) * 1000);
    active.open();
    let first = active.poll(start).expect("a SYN");
    active.on_deadline(start + ms(1000));
    let second = active.poll(start + ms(1000)).expect("a second SYN");
    assert!(second.ts < first.ts);
    let told = active.on_segment(start + ms(1500), Control { signal: Signal::SynAck, ts: first.ts });
    assert_eq!(told, Some(Opened { rtt: Some(ms(1500)), repeats: 1 }));
}
