//! VCP's sender: Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman: One More Bit Is
//! Enough, ACM SIGCOMM, 2005.
//!
//! Unit: segments; seconds. Valid for RTTs from 20 ms to 500 ms; outside of them the
//! scaling is bounded, as below.
//! The load that comes back decides the rule: multiplicative increase while it is low, additive increase
//! while it is high, one multiplicative decrease at an overload. The exponents and increments are scaled by
//! the RTT, so that flows of all RTTs grow alike.
//! Equations: MI (2) and its scaling (5) -> `grow`, AI (3) and its scalings (6), (7) -> `grow` and
//! `scale`, MD (4) -> `on_header`.
//!
//! The rules are those of the first author's module for ns-2 (vcp-src.cc), which was read; the paper
//! is cited from knowledge.
//! Decisions and deviations:
//!  * after a decrease the window rests for one t_rho, until the queue has measured what it did. Then it
//!    grows additively for an RTT, also if there still is overload; only then may it decrease again. As in
//!    the module, without rounding to 10 ms.
//!  * the AI step is alpha (RTT / t_d)^2 an RTT with t_d = 100 ms, the module's; it is linear below 20 ms and
//!    above 500 ms. The exponent RTT / t_rho of MI is at most 2.5. All are as in the module.
//!  * growth is for each acknowledged segment, as in the module, whose receiver acknowledges each one. With
//!    delayed acknowledgements the newest load counts.
//!  * the module spreads segments in time while its window is small and its RTT long. Here
//!    that is the flow's `pacing`.
//!  * a loss halves the window, and after a timeout it is one segment: Reno's answers, as in the module.
//!  * where no queue on the path computes, it behaves as Reno until a load comes back. There the
//!    module would grow for ever.
//!  * the two bits are those of ECN, so a segment is no longer. A flow with `ecn` would use them twice,
//!    which nothing forbids here.
//!  * after a pause it does what all do (`idle_restart` of the flow).

use alloc::boxed::Box;

use crate::algorithms::prelude::*;
use crate::header::{Header, Load, Newest, seconds};

pub(crate) const ENTRY: Entry = Entry {
    id: "vcp",
    label: "VCP",
    about: "Queues of kind vcp tell their load in two bits: low, high, overload; behaves as Reno where there is none.",
    source: "Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman: One More Bit Is Enough, ACM SIGCOMM, 2005",
    reference: "doi:10.1145/1080091.1080098",
    grade: Grade::A,
    params: Vcp::PARAMS,
    sender: SenderOptions { queue: Some("vcp"), ..SenderOptions::NONE },
    colour: "#33bbee",
    marker: "P",
    build: |args, start| Windowed::hosted(Vcp::new(args), start),
};

/// Between these RTTs the AI step goes by the square of the RTT.
const SQUARE: (f64, f64) = (0.02, 0.5);
/// The largest exponent of MI.
const LARGEST_EXPONENT: f64 = 2.5;

/// The state of the sender after a decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SinceDecrease {
    /// Long ago.
    No,
    /// It rests until then.
    Rests(Time),
    /// It grows additively until then, whatever the load.
    Grows(Time),
}

algorithm! {
    /// VCP's window rules.
    #[derive(Debug)]
    struct Vcp {
        /// growth of the window in a t_rho while the load is low, eq. 2
        xi: f64 = 0.0625, 0.001..=1.0, "1";
        /// growth of the window in an RTT of t_d while the load is high, eq. 3
        alpha: f64 = 1.0, 0.01..=100.0, "segments";
        /// what stays of it at an overload, eq. 4
        beta: f64 = 0.875, 0.1..=0.999, "1";
        /// time between two measurements of the load, the queue's `update`
        t_rho: f64 = 0.2, 0.001..=10.0, "s";
        /// the RTT at which alpha is not scaled
        t_d: f64 = 0.1, 0.001..=10.0, "s";
    }
    state {
        load: Load = Load::Unknown,
        decrease: SinceDecrease = SinceDecrease::No,
    }
}

impl Vcp {
    /// The growth for what an acknowledgement brings.
    fn grow(&self, w: &mut Window, flow: &Flow, ack: &Ack) {
        let rtt = seconds(flow.rtt.map(|rtt| rtt.smoothed));
        let overload = self.load == Load::Over;
        if overload && matches!(self.decrease, SinceDecrease::Rests(_)) {
            return;
        }
        w.cwnd += ack.segments(flow)
            * if self.load == Load::Low {
                let exponent = (rtt / self.t_rho).min(LARGEST_EXPONENT);
                libm::pow(1.0 + self.xi, exponent) - 1.0 // eq. 2 and 5
            } else {
                self.alpha * self.scale(rtt) / w.cwnd // eq. 3, 6 and 7
            };
    }

    /// By how much the AI step is larger at this RTT than at t_d.
    fn scale(&self, rtt: f64) -> f64 {
        let (least, most) = (SQUARE.0 / self.t_d, SQUARE.1 / self.t_d);
        let ratio = rtt / self.t_d;
        if ratio <= least {
            ratio * least
        } else if ratio <= most {
            ratio * ratio
        } else {
            ratio - most + most * most
        }
    }

    /// Moves on from a decrease if it is time.
    fn pass(&mut self, flow: &Flow) {
        if let SinceDecrease::Rests(until) = self.decrease
            && until <= flow.now
        {
            let rtt = flow.rtt.map_or(Span::ZERO, |rtt| rtt.smoothed);
            self.decrease = SinceDecrease::Grows(until + rtt);
        }
        if let SinceDecrease::Grows(until) = self.decrease
            && until <= flow.now
        {
            self.decrease = SinceDecrease::No;
        }
    }

    fn on_header(&mut self, w: &mut Window, flow: &Flow, header: &Header) {
        let &Header::Load(load) = header else { return };
        if load == Load::Unknown {
            return;
        }
        self.load = load;
        self.pass(flow);
        if load == Load::Over && self.decrease == SinceDecrease::No && flow.phase != Phase::Recovery {
            w.cwnd *= self.beta; // eq. 4
            self.decrease = SinceDecrease::Rests(flow.now + Span::from_secs(self.t_rho));
        }
    }
}

impl Policy for Vcp {
    fn avoid(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) {
        if self.load == Load::Unknown {
            additive(w, flow, ack, 1.0);
        } else {
            self.grow(w, flow, ack);
        }
    }

    fn slow_start(&mut self, w: &mut Window, flow: &Flow, ack: &Ack) -> f64 {
        if self.load == Load::Unknown {
            return exponential(w, ack.segments(flow));
        }
        self.grow(w, flow, ack);
        0.0
    }

    fn needs(&self) -> Needs {
        Needs { echo: Some(Box::new(Newest::default())), ..Needs::default() }
    }

    fn on(&mut self, w: &mut Window, flow: &Flow, event: Event<'_>) {
        match event {
            Event::Departure(slot) => *slot = Some(Header::Load(Load::Unknown)),
            Event::Header(header) => self.on_header(w, flow, header),
            _ => {}
        }
    }

    fn refuses_slow_start(&self) -> Option<&'static str> {
        Some("queues tell it their load from the first round trip on")
    }

    fn probe(&self, emit: &mut dyn FnMut(&str, f64)) {
        emit("load", f64::from(self.load as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::rig::{Rig, near};

    fn tell(rig: &mut Rig, load: Load) {
        rig.cc.on(&rig.flow, Event::Header(&Header::Load(load)));
    }

    /// At an RTT of t_rho the window grows by xi in a round trip, eq. 2; at 100 ms by 1.0625^0.5 = 1.0308.
    #[test]
    fn at_low_load_the_window_grows_by_xi_in_t_rho_whatever_the_rtt() {
        for (rtt, growth) in [(0.2, 1.0625), (0.1, 1.0307764), (0.4, 1.12890625), (2.0, 1.16365)] {
            let mut rig = Rig::new("vcp", &[], 100.0, 1000.0);
            rig.ack(0.0, rtt, rtt, false);
            tell(&mut rig, Load::Low);
            rig.round(rtt);
            near(rig.w(), 100.0 * growth, 1e-5);
        }
    }

    /// alpha (RTT / t_d)^2 in an RTT, eq. 3, 6 and 7: at 100 ms one segment, at 200 ms four, at 600 ms
    /// 1 + 25, at 10 ms 0.1 x 0.2.
    #[test]
    fn at_high_load_the_step_goes_by_the_square_of_the_rtt() {
        for (rtt, step) in [(0.1, 1.0), (0.2, 4.0), (0.6, 26.0), (0.01, 0.02)] {
            let mut rig = Rig::new("vcp", &[], 1000.0, 2.0);
            rig.ack(0.0, rtt, rtt, false);
            tell(&mut rig, Load::High);
            rig.round(rtt);
            near(rig.w() - 1000.0, step, 0.03);
        }
    }

    #[test]
    fn an_overload_cuts_once_then_it_rests_then_it_grows_for_a_round_trip() {
        let mut rig = Rig::new("vcp", &[], 800.0, 2.0);
        rig.ack(0.0, 0.1, 0.1, false);
        tell(&mut rig, Load::Over);
        assert_eq!(rig.w(), 700.0, "0.875");
        rig.round(0.1);
        tell(&mut rig, Load::Over);
        assert_eq!(rig.w(), 700.0, "rests for 200 ms");
        rig.ack(0.0, 0.15, 0.1, false);
        tell(&mut rig, Load::Over);
        rig.ack(70.0, 0.0, 0.1, false);
        near(rig.w(), 700.1, 1e-5);
        rig.ack(0.0, 0.1, 0.1, false);
        tell(&mut rig, Load::Over);
        near(rig.w(), 700.1 * 0.875, 1e-5);
    }

    #[test]
    fn without_a_queue_that_computes_it_is_reno() {
        let mut rig = Rig::new("vcp", &[], 10.0, 20.0);
        tell(&mut rig, Load::Unknown);
        rig.round(0.1);
        assert_eq!(rig.w(), 20.0);
        rig.round(0.1);
        near(rig.w(), 21.0, 0.01);
    }
}
