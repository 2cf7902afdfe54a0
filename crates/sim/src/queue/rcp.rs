//! RCP's queue: N. Dukkipati, N. McKeown: Why Flow-Completion Time is the Right Metric for Congestion
//! Control, ACM SIGCOMM Computer Communication Review, 2006.
//!
//! The queue offers one rate to all flows. Once in an update interval it moves the rate by the spare capacity
//! and by the queue: R <- R (1 + T/d (alpha (C - y) - beta q/d) / C). A packet's header takes the rate on, if
//! it is less than what the header has already. With the right R the flows share the link as in processor
//! sharing, without a count of them.
//!
//! The rules are those of the authors' module for ns-2.35 (queue/rcp.cc, `rate_fact_mode_` 0), which was
//! read; the paper is cited from knowledge. The equation -> `update`, the mean RTT d -> `follow`.
//! Decisions and deviations:
//!  * a packet counts in the interval in which it comes; the module shares it out between two by
//!    its time of transmission.
//!  * the first interval is the update interval and not random.
//!  * alpha and beta are both 0.4, the values in the module; the first rate is 5 % of the
//!    capacity, also from there.
//!  * the capacity is the rate of the link; of one that changes, its mean while the path is there.

use bentpipe_cc::{Header, Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, QueueSize};
use crate::link::random::Stream;
use crate::queue::computing::{Computation, ComputingQueue};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};

/// The mean RTT before any packet has carried one, seconds.
const FIRST_RTT: f64 = 0.2;
/// The least rate is this part of a packet of 1000 bytes in a mean RTT.
const LEAST: f64 = 0.01;
const PACKET: f64 = 1000.0;

keys! {
    /// The rate control protocol. First in, first out; all flows of controller `rcp` learn one rate, at which
    /// they share the link. What finds no room is lost.
    #[derive(Copy)]
    pub struct Rcp {
        /// Room, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Time between two computations of the rate, at least 100 us; less where the mean RTT is less.
        pub update: Duration = Duration(Span::from_millis(10)),
        /// Share of the spare capacity that is given out in a mean RTT.
        #[schemars(range(min = 0.0, max = 2.0))]
        pub alpha: f64 = 0.4,
        /// Share of the queue that is taken back in a mean RTT.
        #[schemars(range(min = 0.0, max = 2.0))]
        pub beta: f64 = 0.4,
        /// Share of the capacity that it gives out.
        #[schemars(range(min = 0.01, max = 1.0))]
        pub utilisation: f64 = 1.0,
        /// Share of the capacity that is the rate at the start.
        #[schemars(range(min = 0.0001, max = 1.0))]
        pub first: f64 = 0.05,
    }
}

impl QueueKeys for Rcp {
    type Plan = Self;
    const LABEL: &'static str = "RCP";
    const SOURCE: &'static str =
        "N. Dukkipati, N. McKeown: Why Flow-Completion Time is the Right Metric for Congestion Control, 2006";
    const REFERENCE: &'static str = "doi:10.1145/1111322.1111336";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, Self), Error> {
        context.update_interval(self.update)?;
        Ok((context.limit(self.limit), *self))
    }
}

impl QueuePlan for Rcp {
    fn start(&self, limit: QueueLimit, rate_bps: u64, _: Stream) -> Rule {
        Rule::AtDeparture(Box::new(ComputingQueue::new(limit, RateOffer::new(*self, rate_bps))))
    }
}

/// The rate that the queue offers. Rates are in bytes per second, times in seconds.
#[derive(Debug, Default)]
struct RateOffer {
    plan: Rcp,
    /// What it gives out.
    capacity: f64,
    link: f64,
    rate: f64,
    update_at: Time,
    interval: Span,
    mean_rtt: f64,
    /// The mean RTT of the last packets that carried one; 0 before.
    sample: f64,
    /// Of the present interval: bytes that came; bytes that came with an RTT, and the sum of their RTTs.
    input: f64,
    with_rtt: f64,
    sum_rtt: f64,
    /// The last update without traffic changed nothing.
    settled: bool,
}

impl RateOffer {
    fn new(plan: Rcp, rate_bps: u64) -> Self {
        let link = rate_bps.max(8) as f64 / 8.0;
        let interval = plan.update.0.min(Span::from_secs(FIRST_RTT));
        Self {
            capacity: plan.utilisation * link,
            rate: plan.first * link,
            plan,
            link,
            update_at: Time(0) + interval,
            interval,
            mean_rtt: FIRST_RTT,
            ..Self::default()
        }
    }

    /// Follows the RTTs of the last interval: quickly upwards, and downwards the slower the
    /// more flows there seem to be.
    fn follow(&mut self) {
        if self.with_rtt > 0.0 {
            self.sample = self.sum_rtt / self.with_rtt;
        }
        let part = self.interval.secs() / self.mean_rtt;
        let gain = if self.sample >= self.mean_rtt {
            part
        } else {
            self.rate / self.link * (self.sample / self.mean_rtt) * part
        };
        self.mean_rtt += gain * (self.sample - self.mean_rtt);
    }

    fn update(&mut self, waiting: u64) {
        let before = (self.rate, self.mean_rtt, self.interval);
        let interval = self.interval.secs();
        let traffic = self.input / interval;
        self.follow();
        let spare = self.plan.alpha * (self.capacity - traffic);
        let queue = self.plan.beta * waiting as f64 / self.mean_rtt;
        let ratio = 1.0 + interval / self.mean_rtt * (spare - queue) / self.capacity;
        let least = (LEAST * PACKET / self.mean_rtt).min(self.capacity);
        self.rate = (self.rate * ratio).clamp(least, self.capacity);
        self.interval = self.plan.update.0.min(Span::from_secs(self.mean_rtt)).max(Span(1_000));
        self.settled = self.input == 0.0 && before == (self.rate, self.mean_rtt, self.interval);
        (self.input, self.with_rtt, self.sum_rtt) = (0.0, 0.0, 0.0);
        self.update_at = self.update_at + self.interval;
    }
}

impl Computation for RateOffer {
    fn arrives(&mut self, size: u16, header: Option<&Header>) {
        let size = f64::from(size);
        self.input += size;
        if let Some(&Header::Rate { rtt, .. }) = header
            && rtt > 0.0
        {
            self.with_rtt += size;
            self.sum_rtt += rtt * size;
        }
    }

    fn departs(&mut self, _: u16, header: Option<&mut Header>, _: u64) {
        if let Some(Header::Rate { rate, computed, .. }) = header {
            *rate = rate.min(self.rate);
            *computed = true;
        }
    }

    fn due(&self) -> Time {
        self.update_at
    }

    fn on_timer(&mut self, waiting: u64) {
        self.update(waiting);
    }

    fn period(&self) -> Option<Span> {
        (self.settled && self.input == 0.0).then_some(self.interval)
    }

    fn leave_out(&mut self, span: Span) {
        self.update_at = self.update_at + span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s: 1 MB/s.
    fn offer() -> RateOffer {
        RateOffer::new(Rcp::default(), 8_000_000)
    }

    fn offered(offer: &mut RateOffer, wish: f64) -> f64 {
        let mut header = Header::Rate { rtt: 0.2, rate: wish, computed: false };
        offer.departs(1000, Some(&mut header), 0);
        let Header::Rate { rate, computed: true, .. } = header else { panic!("{header:?}") };
        rate
    }

    /// By hand with d = 200 ms and T = 10 ms. Half load and no queue: 1 + 0.05 x 0.4 x 0.5 = 1.01. Full load
    /// and 50 kB: 1 - 0.05 x 0.4 x 50 kB / 200 ms / 1 MB/s = 0.995.
    #[test]
    fn the_rate_moves_by_the_spare_capacity_and_the_queue() {
        let mut offer = offer();
        assert_eq!(offered(&mut offer, f64::INFINITY), 50_000.0);
        let header = Header::Rate { rtt: 0.2, rate: f64::INFINITY, computed: false };
        (0..5).for_each(|_| offer.arrives(1000, Some(&header)));
        offer.on_timer(0);
        assert!((offered(&mut offer, f64::INFINITY) - 50_500.0).abs() < 1e-6);
        (0..10).for_each(|_| offer.arrives(1000, Some(&header)));
        offer.on_timer(50_000);
        assert!((offered(&mut offer, f64::INFINITY) - 50_500.0 * 0.995).abs() < 1e-6);
        assert_eq!(offered(&mut offer, 10.0), 10.0, "the least of all queues");
    }

    #[test]
    fn what_nothing_comes_to_offers_all_that_it_has() {
        let mut offer = offer();
        (0..2000).for_each(|_| offer.on_timer(0));
        assert_eq!(offered(&mut offer, f64::INFINITY), 1e6);
        assert_eq!(offer.period(), Some(Span::from_millis(10)));
    }
}
