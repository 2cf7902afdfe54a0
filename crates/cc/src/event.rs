//! The events that are reported to a controller besides acknowledgements.

use core::fmt::Debug;

use crate::decision::Decision;
use crate::extra::ExtraOrder;
use crate::header::Header;
use crate::hint::Hint;
use crate::report::Subflow;

/// Why the sender reports congestion. Each kind is reported once per episode; the sender removes duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// An ECN echo (RFC 3168 section 6.1.2), at most once per window.
    Ecn,
    /// Loss detected by duplicate or selective acknowledgements. It is not reported to a window algorithm
    /// where a mark has already cut the window of data, unless the algorithm [answers marks
    /// apart](crate::Needs::losses_after_marks).
    Loss,
    /// The retransmission timer expired (RFC 6298 section 5).
    Timeout,
}

/// Rare events of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The application has data again after a pause in which nothing was in flight, and its first segment is
    /// about to go out (Linux's `CA_EVENT_TX_START`). The length of the pause does not matter.
    IdleRestart,
    /// Loss recovery ended: all data outstanding at its start has been acknowledged.
    Recovered,
    /// `Flow::mss` changed.
    MssChanged,
}

/// What happens to a connection besides acknowledgements. All events are rare except [`Event::Header`] and
/// [`Event::Departure`], which are reported only to algorithms with an echo.
#[derive(Debug)]
pub enum Event<'a> {
    /// A congestion episode began. The controller answers as
    /// [`Controller::backoff`](crate::Controller::backoff) says.
    Congestion(Congestion),
    /// The last episode proved spurious. This decision was in force when it began.
    Undo(&'a Decision),
    /// A rare event.
    Life(Life),
    /// The window was not used, and the sender validates it (RFC 2861; Linux, `tcp_cwnd_restart` and
    /// `tcp_cwnd_application_limited`): window and slow-start threshold become these, in bytes. Never
    /// reported to a controller that sets the window [in recovery, too](crate::RecoveryWindow::Controller).
    Validation {
        /// The window.
        cwnd: u64,
        /// The slow-start threshold; `u64::MAX` before the first congestion.
        ssthresh: u64,
    },
    /// The host of the sender has learned this about the path.
    Hint(Hint),
    /// The flow is one subflow of a connection that has several (Multipath TCP, RFC 8684). Gives all of them,
    /// itself at `own`, in their state after the last event on any of them. A coupled algorithm keeps what it
    /// needs until the next acknowledgement. Never reported for a flow of one path, nor to a controller that
    /// does not [need](crate::Needs::subflows) it.
    Subflows {
        /// The index of the own subflow.
        own: usize,
        /// All subflows of the connection.
        all: &'a [Subflow],
    },
    /// A data segment leaves. An algorithm with an [echo](crate::Needs::echo) writes
    /// the segment's header here.
    Departure(&'a mut Option<Header>),
    /// An acknowledgement has brought this header. The report of the acknowledgement follows, if it
    /// acknowledges anything.
    Header(&'a Header),
    /// The window is used up, and extra segments may go. The controller writes here which to send from now
    /// on. A sender that can send them asks once after every event. A sender that cannot never asks, so a
    /// controller that has not been asked must do without.
    Room(&'a mut Option<ExtraOrder>),
    /// An extra segment was acknowledged. Data that it delivered was in an `on_ack` before.
    ExtraAcked,
    /// The instant of [`Decision::deadline`] has come.
    Deadline,
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::sync::Arc;
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::algorithms::rate_based::{RateBased, RatePolicy};
    use crate::controller::{Controller, Needs};
    use crate::decision::{Backoff, Pacing};
    use crate::header::{Load, Newest};
    use crate::hint::{LinkQuality, PathChange, RateChange};
    use crate::path_change::Anew;
    use crate::registry;
    use crate::report::{Ack, Flow};
    use crate::rig;
    use crate::rule::Rule;
    use crate::slow_start::SlowStart;
    use crate::time::{Rate, Span, Time};
    use crate::window::{Cut, Start, Window};
    use crate::windowed::{Policy, Windowed};

    /// A number for each kind of event. A new kind must be added here and to [`each`].
    fn kind(event: &Event<'_>) -> usize {
        match event {
            Event::Congestion(_) => 1,
            Event::Undo(_) => 2,
            Event::Life(_) => 3,
            Event::Hint(Hint::PathChange(_)) => 4,
            Event::Subflows { .. } => 5,
            Event::Departure(_) => 6,
            Event::Header(_) => 7,
            Event::Room(_) => 8,
            Event::ExtraAcked => 9,
            Event::Deadline => 10,
            Event::Hint(Hint::RateChange(_)) => 11,
            Event::Validation { .. } => 12,
            Event::Hint(Hint::LinkQuality(_)) => 13,
        }
    }

    const HEADER: Header = Header::Load(Load::Low);

    /// Sends `cc` one event of each kind. Returns the kinds that `heard` has noted after them, and
    /// whether a header came back.
    fn each(cc: &mut dyn Controller, heard: &AtomicUsize) -> (BTreeSet<usize>, bool) {
        let (flow, before) = (Flow { mss: 1000, ..Flow::default() }, cc.decision());
        let (mut header, mut order) = (None, None);
        let events = [
            Event::Congestion(Congestion::Loss),
            Event::Undo(&before),
            Event::Life(Life::IdleRestart),
            Event::Hint(Hint::PathChange(PathChange::default())),
            Event::Subflows { own: 0, all: &[] },
            Event::Departure(&mut header),
            Event::Header(&HEADER),
            Event::Room(&mut order),
            Event::ExtraAcked,
            Event::Validation { cwnd: 2000, ssthresh: 4000 },
            Event::Deadline,
            Event::Hint(Hint::RateChange(RateChange { ahead: Span::ZERO, from: Rate(8), to: Rate(9) })),
            Event::Hint(Hint::LinkQuality(LinkQuality::default())),
        ];
        let mut kinds = BTreeSet::new();
        for event in events {
            let sent = kind(&event);
            heard.store(0, Ordering::Relaxed);
            cc.on(&flow, event);
            if heard.load(Ordering::Relaxed) == sent {
                kinds.insert(sent);
            }
        }
        (kinds, header == Some(HEADER))
    }

    /// Notes the last event reported to it, and needs everything.
    #[derive(Clone, Debug, Default)]
    struct Spy(Arc<AtomicUsize>);

    impl Spy {
        fn hear(&self, event: Event<'_>) {
            self.0.store(kind(&event), Ordering::Relaxed);
            if let Event::Departure(header) = event {
                *header = Some(HEADER);
            }
        }

        fn everything() -> Needs {
            let recovery = crate::RecoveryWindow::Controller;
            let echo: Option<Box<dyn crate::Echo>> = Some(Box::new(Newest::default()));
            Needs {
                rate: true,
                path_change: true,
                link_quality: true,
                subflows: true,
                extra_segments: true,
                losses_after_marks: true,
                recovery,
                echo,
            }
        }
    }

    impl Controller for Spy {
        fn on_ack(&mut self, _flow: &Flow, _ack: &Ack) {}

        fn on(&mut self, _flow: &Flow, event: Event<'_>) {
            self.hear(event);
        }

        fn decision(&self) -> Decision {
            Decision { cwnd: 2000, ssthresh: u64::MAX, pacing: Pacing::Off, deadline: Time::MAX }
        }

        fn backoff(&self, _flow: &Flow, _why: Congestion) -> Backoff {
            Backoff { cwnd: 1000, ssthresh: 1000, repeat: false }
        }

        fn needs(&self) -> Needs {
            Spy::everything()
        }

        fn add(&mut self, _rule: Rule) -> Result<(), &'static str> {
            self.0.store(usize::MAX, Ordering::Relaxed);
            Ok(())
        }
    }

    impl Policy for Spy {
        fn avoid(&mut self, _w: &mut Window, _flow: &Flow, _ack: &Ack) {}

        fn backoff(&self, w: &Window, _flow: &Flow, why: Congestion) -> Cut {
            Cut::standard(w.cwnd / 2.0, why)
        }

        fn on(&mut self, _w: &mut Window, _flow: &Flow, event: Event<'_>) {
            self.hear(event);
        }

        fn needs(&self) -> Needs {
            Spy::everything()
        }
    }

    impl RatePolicy for Spy {
        fn rate(&self, _mss: u32) -> Option<f64> {
            None
        }

        fn on_ack(&mut self, _flow: &Flow, _ack: &Ack) -> Option<f64> {
            None
        }

        fn on(&mut self, _flow: &Flow, event: Event<'_>) -> Option<f64> {
            self.hear(event);
            None
        }

        fn probe(&self, _emit: &mut dyn FnMut(&str, f64)) {}
    }

    const START: Start = Start { mss: 1000, initial_window: 10.0, initial_ssthresh: 20.0 };

    fn anew(spy: &Spy) -> Anew {
        let entry = registry::find("reno").expect("registered");
        Anew::new(entry.build, rig::args("reno", &[]), Box::new(spy.clone()))
    }

    /// Wrappers between a sender and an algorithm pass on every event. A host of policies has its own
    /// deadlines.
    #[test]
    fn every_event_reaches_the_algorithm_through_all_that_stand_around_it() {
        let all: BTreeSet<usize> = (1..=13).collect();
        let spy = Spy::default();
        let mut around = anew(&spy);
        let mut rates = RateBased::new(spy.clone(), START);
        for cc in [&mut around as &mut dyn Controller, &mut rates] {
            assert_eq!(each(cc, &spy.0), (all.clone(), true), "{cc:?}");
        }
        let mut windows = Windowed::new(spy.clone(), START);
        let (heard, header) = each(&mut windows, &spy.0);
        assert_eq!(all.difference(&heard).collect::<alloc::vec::Vec<_>>(), [&kind(&Event::Deadline)]);
        assert!(header);
    }

    #[test]
    fn what_an_algorithm_needs_and_the_rules_of_a_scenario_pass_a_wrapper() {
        let spy = Spy::default();
        let mut around = anew(&spy);
        assert_eq!(format!("{:?}", around.needs()), format!("{:?}", Spy::everything()));
        assert_eq!(around.add(Rule::SlowStart(SlowStart::Hystart)), Ok(()));
        assert_eq!(spy.0.load(Ordering::Relaxed), usize::MAX);
        let windows = Windowed::new(spy.clone(), START);
        let sender = Needs { recovery: crate::RecoveryWindow::Sender, ..Spy::everything() };
        assert_eq!(format!("{:?}", windows.needs()), format!("{sender:?}"));
    }
}
