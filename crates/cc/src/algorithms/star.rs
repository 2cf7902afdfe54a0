//! TCP-STAR: H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for Satellite
//! Internet, IEICE Transactions on Communications, 2006.
//!
//! Unit: segments. Valid for 1 <= cwnd < 2^40, any RTT above 1 us.
//! Equations: (2) bandwidth sample and (3) its smoothing (the available-bandwidth estimate ABE, from TCP-J) -> [`Abe::add`];
//! (4), (5) and figure 3, LWC: the window is Reno's plus ABE's -> `grow`; figure 1, CWS: the setting at a loss -> `backoff`.
//! AEN (section 3.3, the probe after a timeout) is the sender option `aen`; a timeout reported here is case (I).
//! Decisions where the paper is silent:
//!  * CWS governs during recovery; when it ends W_reno is halved as Reno's would be, then LWC goes on.
//!  * the window compared with ssthresh in CWS is W, not W_reno.
//!  * CWS is taken literally: an estimate above the window raises it. LWC and CWS differ from Reno only by the estimate.
//!  * ABE counts a duplicate ACK as one segment and the cumulative ACK that follows as that much less (Westwood's
//!    correction); ACKs at the same instant are added up; the first ACK, and the first after an idle time, only start the
//!    clock; BW and its first sample begin at 0. The filter is per ACK, so merged reports slow it down.
//!  * ECN is answered as a loss, but W_reno is halved at once: no recovery follows.
//!  * while the window does not limit the sender, LWC does not raise it.

use alloc::boxed::Box;

use crate::controller::{Congestion, Life};
use crate::registry::{Entry, Grade, SenderOptions};
use crate::report::{Ack, Flow};
use crate::time::Time;
use crate::windowed::{Cut, Policy, Start, Window, Windowed, exponential};

pub(crate) const ENTRY: Entry = Entry {
    id: "star",
    label: "TCP-STAR",
    about: "Reno's window plus an estimate of the available bandwidth; probes after a timeout to spare lost ACKs.",
    source: "H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for Satellite Internet, IEICE Trans. Commun., 2006",
    reference: "doi:10.1093/ietcom/e89-b.6.1766",
    grade: Grade::A,
    params: &[],
    sender: SenderOptions { aen: true, bulk_repeat: false, fixed_rto: false },
    colour: "#d55e00",
    marker: "*",
    build: |_, start| Box::new(Windowed::new(Star::new(start), start)),
};

/// The available-bandwidth estimate of TCP-J, per ACK and not per time (eq. 2 and 3, alpha = 0.9).
#[derive(Debug, Default)]
pub(crate) struct Abe {
    /// BW, segments per second.
    bw: f64,
    /// s_(k-1), segments per second.
    last: f64,
    at: Option<Time>,
    pending: f64,
}

impl Abe {
    /// Takes `segments` acknowledged at `now`.
    pub(crate) fn add(&mut self, segments: f64, now: Time) {
        let Some(at) = self.at.replace(now) else { return };
        self.pending += segments;
        if now == at {
            return;
        }
        let s = self.pending / now.since(at).secs(); // eq. 2
        self.bw = 0.9 * self.bw + 0.1 * (s + self.last) / 2.0; // eq. 3
        self.last = s;
        self.pending = 0.0;
    }

    /// The next ACK only starts the clock.
    pub(crate) fn pause(&mut self) {
        self.at = None;
        self.pending = 0.0;
    }

    /// BW * Rmin: the window that the estimate allows, in segments (eq. 5); 0 before the first RTT sample.
    pub(crate) fn window(&self, flow: &Flow) -> f64 {
        flow.rtt.map_or(0.0, |r| self.bw * r.min.secs())
    }
}

#[derive(Debug)]
struct Star {
    w_reno: f64,
    abe: Abe,
    /// A loss was answered by CWS, and W_reno is halved when its recovery ends.
    halve: bool,
    /// W_reno when the last episode began.
    before: Option<f64>,
}

impl Star {
    fn new(start: Start) -> Self {
        Self { w_reno: start.initial_window.max(1.0), abe: Abe::default(), halve: false, before: None }
    }

    /// LWC.
    fn grow(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let mut reno = Window { cwnd: self.w_reno, ssthresh: w.ssthresh };
        let left = exponential(&mut reno, ack.segments(flow)); // figure 3, first branch
        self.w_reno = reno.cwnd + left / reno.cwnd; // second branch
        w.cwnd = self.w_reno + self.abe.window(flow); // eq. 4
    }
}

impl Policy for Star {
    fn observe(&mut self, flow: &Flow, ack: &Ack) {
        if ack.acked > 0 {
            self.abe.add(ack.segments(flow), flow.now);
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        self.grow(w, flow, ack);
        0.0
    }

    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        self.grow(w, flow, ack);
    }

    fn backoff(&self, w: &Window, flow: &Flow, why: Congestion) -> Cut {
        let estimate = self.abe.window(flow).max(2.0); // eq. 5
        if why != Congestion::Timeout && w.cwnd < w.ssthresh {
            Cut { cwnd: w.cwnd, ssthresh: estimate, repeat: false } // figure 1, first branch
        } else {
            Cut::standard(estimate, why) // figure 1, second branch; AEN case (I)
        }
    }

    fn on_congestion(&mut self, _w: &Window, _flow: &Flow, why: Congestion) {
        self.before = Some(self.w_reno);
        self.halve = why == Congestion::Loss;
        match why {
            Congestion::Timeout => self.w_reno = 1.0,
            Congestion::Ecn => self.w_reno = (self.w_reno / 2.0).max(1.0),
            Congestion::Loss => {}
        }
    }

    fn on_undo(&mut self, _w: &mut Window, _flow: &Flow) {
        self.halve = false;
        self.w_reno = self.before.take().unwrap_or(0.0).max(self.w_reno);
    }

    fn on_life(&mut self, w: &mut Window, flow: &Flow, what: Life) {
        match what {
            Life::Recovered if self.halve => {
                self.halve = false;
                self.w_reno = (self.w_reno / 2.0).max(1.0);
                let lifted = self.w_reno + self.abe.window(flow);
                w.cwnd = if flow.cwnd_limited { lifted } else { lifted.min(w.cwnd) };
            }
            Life::IdleRestart => self.abe.pause(),
            _ => {}
        }
    }

    fn probe(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("w_reno_segments", self.w_reno);
        emit("bw_segments_per_s", self.abe.bw);
    }
}
