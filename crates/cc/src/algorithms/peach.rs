//! TCP-Peach: I. F. Akyildiz, G. Morabito, S. Palazzo: TCP-Peach: A New Congestion Control Scheme for
//! Satellite IP Networks, IEEE/ACM Transactions on Networking 9(3), 2001.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, on paths whose routers put low priority behind all other
//! traffic. Its dummy segments are extra segments ([`ExtraOrder`]): copies of the segment sent last, with low
//! priority. Where the routers know no priority they are ordinary traffic, and in such numbers they cause the
//! very losses that they are to find.
//!
//! Grade C: the paper could not be obtained. Its abstract, the descriptions in the papers on A-LIAD and
//! TCP-STAR, and what is commonly known of it were used. What would decide is its pseudo code: the order in
//! which wdsn and adsn are updated, what follows a timeout.
//!
//! Rules, and where they are:
//!  * Sudden Start: one segment, then a dummy segment every RTT / rwnd, rwnd - 1 of them; each
//!    acknowledgement of one raises W by one. So W is rwnd two round trips after the
//!    start -> `extra_order`, `on_extra_ack`.
//!  * Congestion Avoidance and Fast Retransmit: as Reno, the defaults of [`Policy`].
//!  * Rapid Recovery, after a loss at a window of W0: W = W0 / 2. Up to adsn = W0 dummy segments, two for
//!    each acknowledgement of data, until the loss is repaired -> `observe`. The first wdsn = W0 / 2
//!    acknowledgements of dummy segments change nothing: as many also come back from a path that carries
//!    no more than W0 a round trip, where W0 / 2 are data. Each other one raises W by
//!    one -> `on_extra_ack`. So W returns to W0 if the path has room for W0 dummy segments beside the
//!    data, and stays at W0 / 2 if it has not.
//!
//! Decisions where nothing of the source could be read:
//!  * Sudden Start begins when an RTT has been measured: after the handshake, without one after
//!    the first acknowledgement.
//!  * rwnd is a parameter, filled in by the receive window or else by the bandwidth-delay product, and
//!    never above the window that the receiver advertises. Below a receive window without bound, Sudden
//!    Start would have no end.
//!  * In Sudden Start data grows the window as in congestion avoidance, since Sudden Start takes
//!    the place of slow start.
//!  * After a timeout: T = W0 / 2, W = 1, Sudden Start again with the first acknowledgement of data (not
//!    before: a path from which nothing comes back is not to be filled), and slow start to T by data. So
//!    without acknowledgements of dummy segments it is Reno.
//!  * Dummy segments bear no number, so those of two recoveries are indistinct: wdsn adds up. What is left of
//!    it two round trips after the last one was sent counts as lost and is forgotten; so is the part for
//!    those that a short recovery did not send.
//!  * After an undo the dummy segments of that recovery count no more.
//!  * A mark (ECN) halves the window as in Reno, without Rapid Recovery: it is congestion for sure.
//!  * A sender that never asks for dummy segments (the Linux kernel's, QUIC's) makes it
//!    Reno, slow start included.
//!  * After an idle time the window stays and no Sudden Start follows; the source is said to begin one at
//!    the start of a connection.

use crate::algorithms::prelude::*;
use crate::extra::{ExtraOrder, ExtraPayload};

pub(crate) const ENTRY: Entry = Entry {
    id: "peach",
    label: "TCP-Peach",
    about: "Reno that probes with dummy segments of low priority: at the start, and after a loss to tell errors from congestion.",
    source: "I. F. Akyildiz, G. Morabito, S. Palazzo: TCP-Peach: A New Congestion Control Scheme for Satellite IP Networks, IEEE/ACM Trans. Networking 9(3), 2001",
    reference: "doi:10.1109/90.929853",
    grade: Grade::C,
    params: Peach::PARAMS,
    sender: SenderOptions::NONE,
    colour: "#4477aa",
    marker: "p",
    build: |args, start| Windowed::hosted(Peach::new(args, ExtraPayload::Repeated, 0.0), start),
};

/// The window at which Sudden Start aims.
pub(super) const RWND: Param = Param::number("rwnd", 64.0, 1.0..=1_000_000.0)
    .unit("segments")
    .about("window at which the start aims; unless given, the receive window or else the bandwidth-delay product")
    .filled_from(PathFact::ReceiveWindow);

/// What has to happen before Sudden Start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// A round-trip time is measured.
    Measured,
    /// After a timeout: data is acknowledged.
    Acknowledged,
    /// Nothing: it has begun.
    Begun,
}

algorithm! {
    /// The machine that TCP-Peach and its successors share; they differ by what their extra segments carry.
    #[derive(Debug)]
    pub(super) struct Peach {
        use RWND;
    }
    state(args, payload: ExtraPayload, spare: f64) {
        rwnd: f64 = args.number("rwnd"),
        payload: ExtraPayload = payload,
        /// The share of the window of a loss that extra segments may miss, and that
        /// window until it is regained.
        spare: f64 = spare,
        goal: f64,
        /// The sender has asked for extra segments, so it can send them.
        served: bool,
        start: Opening = Opening::Measured,
        /// Extra segments that the present recovery may still send, and those that it has sent.
        adsn: u64,
        sent: u64,
        /// Acknowledgements of extra segments that change nothing, and by how much the present
        /// recovery has raised that.
        wdsn: u64,
        ignored: u64,
        /// Extra segments that acknowledgements have released since the sender asked.
        released: u64,
        /// The round trip in which the last of them was ordered.
        ordered: u64,
    }
}

impl Peach {
    /// rwnd, at most what the receiver tells.
    fn aim(&self, flow: &Flow) -> f64 {
        self.rwnd.min(flow.rwnd as f64 / f64::from(flow.mss.max(1))).max(1.0)
    }

    /// No recovery is under way, and none was.
    fn forget(&mut self) {
        self.goal = 0.0;
        (self.adsn, self.sent, self.ignored, self.released) = (0, 0, 0, 0);
    }

    fn on_congestion(&mut self, w: &Window, flow: &Flow, why: Congestion) {
        self.forget();
        if flow.round > self.ordered.saturating_add(1) {
            self.wdsn = 0;
        }
        match why {
            Congestion::Loss => {
                self.start = Opening::Begun;
                self.goal = w.cwnd; // W0
                self.adsn = w.cwnd as u64;
                self.ignored = (w.cwnd / 2.0) as u64;
                self.wdsn += self.ignored;
            }
            Congestion::Timeout => (self.start, self.wdsn) = (Opening::Acknowledged, 0),
            Congestion::Ecn => self.start = Opening::Begun,
        }
    }

    fn extra_order(&mut self, flow: &Flow) -> Option<ExtraOrder> {
        self.served = true;
        let carries = |window: f64| match self.payload {
            ExtraPayload::Unsent { .. } => ExtraPayload::Unsent { ahead: window as u64 },
            same => same,
        };
        if self.start == Opening::Measured
            && let Some(rtt) = flow.rtt
        {
            let aim = self.aim(flow);
            let gap = Span::from_secs(rtt.smoothed.secs() / aim); // tau = RTT / rwnd
            let order = ExtraOrder { count: aim as u64 - 1, gap, payload: carries(aim) };
            self.start = Opening::Begun;
            return Some(order);
        }
        let payload = carries(self.goal);
        let count = core::mem::take(&mut self.released);
        self.ordered = if count > 0 { flow.round } else { self.ordered };
        (count > 0).then_some(ExtraOrder { count, gap: Span::ZERO, payload })
    }

    fn on_extra_ack(&mut self, w: &mut Window) {
        if self.wdsn > 0 {
            self.wdsn -= 1;
        } else {
            w.cwnd += 1.0;
            if self.spare > 0.0 && w.cwnd >= (1.0 - self.spare) * self.goal {
                w.cwnd = w.cwnd.max(self.goal);
                self.goal = 0.0;
            }
        }
    }
}

impl Policy for Peach {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if ack.acked == 0 {
            return;
        }
        if self.start == Opening::Acknowledged {
            self.start = Opening::Measured;
        }
        if flow.phase == Phase::Recovery {
            let more = self.adsn.min(2 * u64::from(ack.acks)); // Rapid Recovery: two an acknowledgement
            self.adsn -= more;
            self.sent += more;
            self.released += more;
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if self.served && w.ssthresh.is_infinite() {
            additive(w, flow, ack, 1.0);
            return 0.0;
        }
        exponential(w, ack.segments(flow))
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Congestion(why) => self.on_congestion(w, flow, why),
            Event::Undo(_) => {
                self.wdsn += self.sent.saturating_sub(self.ignored);
                self.start = Opening::Begun;
                self.forget();
            }
            Event::Room(order) => *order = self.extra_order(flow),
            Event::ExtraAcked => self.on_extra_ack(w),
            Event::Life(Life::Recovered) => {
                self.wdsn = self.wdsn.saturating_sub(self.ignored.saturating_sub(self.sent));
                (self.adsn, self.released) = (0, 0); // Rapid Recovery ends
            }
            _ => {}
        }
    }

    fn needs(&self) -> Needs {
        Needs { extra_segments: true, ..Needs::default() }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("its Sudden Start takes the place of slow start")
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("adsn_segments", self.adsn as f64);
        emit("wdsn_segments", self.wdsn as f64);
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Congestion, Event, Life};
    use crate::extra::{ExtraOrder, ExtraPayload};
    use crate::registry::Value;
    use crate::report::{Phase, Rtt};
    use crate::rig::{Rig, near};
    use crate::time::Span;

    /// A flow whose sender sends extra segments, with an RTT of half a second measured by its handshake.
    fn served(id: &str, rwnd: f64, w: f64, t: f64) -> Rig {
        let mut rig = Rig::new(id, &[("rwnd", Value::Number(rwnd))], w, t);
        let rtt = Span::from_secs(0.5);
        rig.flow.rtt = Some(Rtt { latest: rtt, min: rtt, smoothed: rtt, var: Span::ZERO });
        rig
    }

    fn order(rig: &mut Rig) -> Option<ExtraOrder> {
        rig.extra_order()
    }

    fn extra_acks(rig: &mut Rig, count: u64) {
        (0..count).for_each(|_| rig.cc.on(&rig.flow, Event::ExtraAcked));
    }

    /// Sudden Start: RTT / rwnd = 0.5 s / 50 = 10 ms; all 49 dummy segments come back: W = 1 + 49.
    #[test]
    fn sudden_start_sends_a_dummy_segment_every_rtt_over_rwnd_and_reaches_rwnd() {
        let mut rig = served("peach", 50.0, 1.0, f64::INFINITY);
        let expected = ExtraOrder { count: 49, gap: Span::from_millis(10), payload: ExtraPayload::Repeated };
        assert_eq!(order(&mut rig), Some(expected));
        assert_eq!(order(&mut rig), None, "once");
        extra_acks(&mut rig, 49);
        assert_eq!(rig.w(), 50.0);
        rig.round(0.5);
        near(rig.w(), 51.0, 0.001);
    }

    /// The receiver's window is the bound of rwnd: 20 segments of it leave 19 dummy
    /// segments, one every 25 ms.
    #[test]
    fn the_window_that_the_receiver_tells_bounds_rwnd() {
        let mut rig = served("peach", 50.0, 1.0, f64::INFINITY);
        rig.flow.rwnd = 20 * u64::from(rig.flow.mss);
        let got = order(&mut rig).expect("Sudden Start");
        assert_eq!((got.count, got.gap), (19, Span::from_millis(25)));
    }

    /// A loss at W0 = 40. W is 20; 20 acknowledgements release 40 dummy segments and no more.
    /// `back` of them come back.
    fn after_a_loss(back: u64) -> f64 {
        let mut rig = served("peach", 50.0, 40.0, 2.0);
        order(&mut rig);
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (20.0, 20.0));
        rig.flow.phase = Phase::Recovery;
        let mut sent = 0;
        for _ in 0..39 {
            rig.sack(1.0, 0.01, 0.5, false);
            sent += order(&mut rig).map_or(0, |order| order.count);
        }
        assert_eq!(sent, 40);
        rig.flow.phase = Phase::Open;
        rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
        extra_acks(&mut rig, back);
        rig.w()
    }

    /// Rapid Recovery. An error on a path with room: all W0 dummy segments come back, and W is W0 again.
    /// Congestion: the path carries W0 in all, half of it data, so W0 / 2 come back and W stays. Between the
    /// two each further one is a segment.
    #[test]
    fn rapid_recovery_restores_the_window_by_the_dummy_segments_that_come_back_beyond_half() {
        for (back, window) in [(40, 40.0), (20, 20.0), (0, 20.0), (27, 27.0)] {
            assert_eq!(after_a_loss(back), window, "{back} came back");
        }
    }

    /// A second error before the dummy segments of the first are back: 40 and then 20 dummy segments, of
    /// whose acknowledgements 20 and 10 are ignored, lead from 10 back to 40.
    #[test]
    fn two_errors_in_two_round_trips_lead_back_to_the_first_window() {
        let mut rig = served("peach", 50.0, 40.0, 2.0);
        order(&mut rig);
        rig.congestion(Congestion::Loss);
        rig.congestion(Congestion::Loss);
        assert_eq!(rig.w(), 10.0);
        extra_acks(&mut rig, 40 + 20);
        assert_eq!(rig.w(), 40.0);
    }

    /// 15 of the 20 ignored acknowledgements of a recovery never come. The next loss is much later, and all
    /// its 40 dummy segments come back. And a loss that was repaired without a recovery (by a tail loss
    /// probe) sends none, so nothing is to be ignored.
    #[test]
    fn dummy_segments_that_were_lost_or_never_sent_do_not_count_later() {
        let mut rig = served("peach", 50.0, 40.0, 2.0);
        let recovery = |rig: &mut Rig, acks: u32, back: u64| {
            rig.congestion(Congestion::Loss);
            rig.flow.phase = Phase::Recovery;
            for _ in 0..acks {
                rig.sack(1.0, 0.01, 0.5, false);
                rig.extra_order();
            }
            rig.flow.phase = Phase::Open;
            rig.cc.on(&rig.flow, Event::Life(Life::Recovered));
            extra_acks(rig, back);
        };
        order(&mut rig);
        recovery(&mut rig, 39, 5);
        assert_eq!(rig.w(), 20.0);
        (0..3).for_each(|_| rig.ack(0.001, 0.5, 0.5, true));
        let before = rig.w();
        recovery(&mut rig, 39, before as u64);
        near(rig.w(), before, 0.01);

        let mut rig = served("peach", 50.0, 40.0, 2.0);
        order(&mut rig);
        recovery(&mut rig, 0, 0);
        recovery(&mut rig, 20, 20);
        assert_eq!(rig.w(), 20.0);
    }

    /// A timeout: one segment, and Sudden Start with the next acknowledgement of data. Dummy segments that do
    /// not come back leave Reno's slow start to half the window.
    #[test]
    fn after_a_timeout_it_is_reno_unless_dummy_segments_come_back() {
        let mut rig = served("peach", 50.0, 40.0, 2.0);
        order(&mut rig);
        rig.congestion(Congestion::Timeout);
        assert_eq!((rig.w(), rig.t()), (1.0, 20.0));
        assert_eq!(order(&mut rig), None, "nothing has come back yet");
        rig.ack(1.0, 0.5, 0.5, true);
        assert_eq!(order(&mut rig).map(|order| order.count), Some(49));
        assert_eq!(rig.w(), 2.0);
        rig.round(0.5);
        assert_eq!(rig.w(), 4.0);
    }

    /// RFC 5681: a sender without extra segments has slow start, 1, 2, 4, ...
    #[test]
    fn a_sender_without_extra_segments_makes_it_reno() {
        let mut rig = served("peach", 50.0, 1.0, f64::INFINITY);
        for expected in [2.0, 4.0, 8.0] {
            rig.round(0.5);
            assert_eq!(rig.w(), expected);
        }
        rig.congestion(Congestion::Loss);
        assert_eq!((rig.w(), rig.t()), (4.0, 4.0));
    }

    /// A needless recovery is undone, and the dummy segments that it has sent change nothing:
    /// 12 are out, 20 acknowledgements would have been ignored anyway; after 30 more
    /// acknowledgements of data all 40 are out.
    #[test]
    fn dummy_segments_of_a_needless_recovery_change_nothing() {
        for (acks, out) in [(6, 12), (36, 40)] {
            let mut rig = served("peach", 50.0, 40.0, 2.0);
            order(&mut rig);
            let before = rig.congestion(Congestion::Loss);
            rig.flow.phase = Phase::Recovery;
            (0..acks).for_each(|_| rig.sack(1.0, 0.01, 0.5, false));
            rig.cc.on(&rig.flow, Event::Undo(&before));
            extra_acks(&mut rig, out);
            assert_eq!(rig.w(), 40.0, "{out} are out");
        }
    }
}
