//! The receive window of a peer whose application reads slowly: it shrinks while data waits to be read, may
//! close, and opens again.
//!
//! RFC 9293 section 3.8.6 (which acknowledgements set the window) and 3.8.6.1 (probes of a closed window). A
//! probe carries nothing new and asks for an acknowledgement, as Linux's does (`tcp_xmit_probe_skb`). The
//! retransmission timer serves as the persist timer: it has nothing else to do while nothing is outstanding.

use bentpipe_cc::{Span, Time};

use super::{Path, Probe, Sender};
use crate::options::{Options, Reading};
use crate::receiver::linux;
use crate::segment::{AckSegment, Data};
use crate::snack::Snack;

/// The most doublings of the interval between probes; `max_rto` is reached far earlier.
const MOST_DOUBLINGS: u32 = 20;

/// The window as last advertised.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWindow {
    /// The first segment for which the peer has no room.
    edge: u64,
    /// SND.WL2 of RFC 9293: the acknowledgement that advertised the window.
    advertised_with: u64,
    /// Probes since the window closed; each doubles the interval.
    unanswered: u32,
    /// Probes sent.
    probes: u64,
}

impl PeerWindow {
    /// The window that the handshake advertised, if it may change.
    pub(super) fn new(options: &Options) -> Option<Box<Self>> {
        let edge = options.receive_window.unwrap_or(u64::MAX);
        matches!(options.reading, Reading::Paced(_) | Reading::OnDemand)
            .then(|| Box::new(Self { edge, advertised_with: 0, unanswered: 0, probes: 0 }))
    }
}

/// The window in segments that applies until an acknowledgement advertises one; `u64::MAX` never binds.
pub(super) fn first_window(options: &Options) -> u64 {
    match options.reading {
        Reading::Growing => linux::first_window(u64::from(options.mss.max(1))),
        _ => options.receive_window.unwrap_or(u64::MAX),
    }
}

impl Sender {
    /// As [`Sender::on_ack`], for an acknowledgement that advertises a receive window of `window` segments.
    /// It is for connections whose options say that the window changes ([`Reading`]).
    ///
    /// An acknowledgement that brings nothing but another window is no duplicate (RFC 5681 section 2,
    /// condition e).
    pub fn on_windowed_ack(
        &mut self,
        now: Time,
        seg: &AckSegment,
        window: u64,
        snack: Option<&Snack>,
    ) -> Option<Span> {
        let una = self.board.una();
        if seg.ack > self.next() {
            return None;
        }
        let changed = self.take_window(seg.ack, window);
        if self.probe == Probe::OfWindow {
            self.probe = Probe::No; // answered before it went out
        }
        let news =
            seg.ack > una || !seg.sack.is_empty() || snack.is_some() || seg.ece || self.probe != Probe::No;
        let duplicate = !changed && self.board.outstanding() > 0;
        let rtt = if news || duplicate { self.on_ack_slow(now, seg, snack) } else { None };
        self.persist(now);
        rtt
    }

    /// May acknowledgements advertise a grown window ([`Reading::Growing`])?
    #[inline]
    pub fn learns_window(&self) -> bool {
        self.options.reading == Reading::Growing
    }

    /// The next acknowledgement to be reported advertises a window that has grown to `segments` segments. An
    /// older one changes nothing.
    pub fn on_grown_window(&mut self, segments: u64) {
        self.flow.rwnd = self.flow.rwnd.max(segments.saturating_mul(u64::from(self.flow.mss)));
    }

    /// Does the peer's window change, so that acknowledgements go to [`Sender::on_windowed_ack`]?
    pub fn minds_windows(&self) -> bool {
        self.peer.is_some()
    }

    /// Zero-window probes sent.
    pub fn window_probes(&self) -> u64 {
        self.peer.as_ref().map_or(0, |peer| peer.probes)
    }

    /// Does the peer have room for one more segment?
    #[inline]
    pub(super) fn peer_has_room(&self) -> bool {
        match &self.peer {
            Some(peer) => self.board.next() < peer.edge,
            None if self.flow.rwnd == u64::MAX => true,
            None => self.board.outstanding() * u64::from(self.flow.mss) < self.flow.rwnd,
        }
    }

    /// The first segment for which the peer has no room.
    pub(super) fn peer_edge(&self) -> u64 {
        match &self.peer {
            Some(peer) => peer.edge,
            None if self.flow.rwnd == u64::MAX => u64::MAX,
            None => self.board.una() + self.flow.rwnd / u64::from(self.flow.mss),
        }
    }

    /// Takes the window of an acknowledgement of all before `ack`, unless a later one has already set it (RFC
    /// 9293 section 3.10.7.4, fifth step). Returns true if the window has changed.
    fn take_window(&mut self, ack: u64, window: u64) -> bool {
        let una = self.board.una().max(ack);
        let Some(peer) = self.peer.as_mut().filter(|peer| ack >= peer.advertised_with) else { return false };
        let edge = ack.saturating_add(window);
        let changed = edge - ack != peer.edge.saturating_sub(peer.advertised_with);
        (peer.edge, peer.advertised_with) = (edge, ack);
        self.flow.rwnd = edge.saturating_sub(una).saturating_mul(u64::from(self.flow.mss));
        changed
    }

    /// An acknowledgement came while nothing is outstanding. An open window stops the persist timer, a closed
    /// one restarts it (Linux, `tcp_ack_probe`).
    fn persist(&mut self, now: Time) {
        if self.board.outstanding() > 0 || self.timer == Time::MAX {
            return;
        }
        self.timer = Time::MAX;
        if self.peer_has_room() {
            self.peer.iter_mut().for_each(|peer| peer.unanswered = 0);
        } else {
            self.await_window(now);
        }
    }

    /// The closed window holds data back. With nothing outstanding no acknowledgement will come, and the one
    /// that opens the window may be lost. This starts the persist timer.
    #[cold]
    pub(super) fn await_window(&mut self, now: Time) {
        if let Some(peer) = &self.peer
            && self.board.outstanding() == 0
            && self.timer == Time::MAX
        {
            let wait = self.rto.rto().0.saturating_mul(1 << peer.unanswered.min(MOST_DOUBLINGS));
            self.timer = now + Span(wait.min(self.options.max_rto.0));
        }
    }

    /// The persist timer has expired: a probe is due. RFC 9293 section 3.8.6.1: the interval grows
    /// exponentially, and the connection stays open for ever.
    #[cold]
    pub(super) fn on_persist_timer(&mut self, now: Time) {
        self.timer = Time::MAX;
        if self.board.next() >= self.limit {
            return; // the application has nothing to send any more
        }
        if let Some(peer) = &mut self.peer {
            peer.unanswered += 1;
            self.path = Path::Slow;
            self.probe = Probe::OfWindow;
            self.await_window(now);
        }
    }

    /// The probe of a closed window.
    #[cold]
    pub(super) fn window_probe(&mut self) -> Data {
        self.probe = Probe::No;
        self.peer.iter_mut().for_each(|peer| peer.probes += 1);
        Data { len: 0, probe: true, ..self.segment(self.board.una()) }
    }
}
