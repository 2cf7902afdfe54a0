//! XCP's queue: D. Katabi, M. Handley, C. Rohrs: Congestion Control for High Bandwidth-Delay Product
//! Networks, ACM SIGCOMM, 2002, and A. Falk, Y. Pryadkin, D. Katabi: Specification for the Explicit Control
//! Protocol (XCP), draft-falk-xcp-spec-03.
//!
//! Once in a control interval the efficiency controller works out by how much the throughput of all flows
//! together shall change, phi, from the spare capacity and the queue that persists. The fairness controller
//! shares phi out among the packets of the next interval: a positive one equally among flows, a negative one
//! by throughput. Traffic is shuffled besides, so that flows come to equal shares also where phi is zero. A
//! packet's header takes the change on, if that is less than what the header allows already.
//!
//! The rules are those of the authors' module for ns-2.35 (xcp/xcpq.cc), which was read; papers and draft are
//! cited from knowledge. On arrival -> `arrives`, the control timer -> `control`, before
//! departure -> `departs`, the queue timer -> `measure`.
//! Decisions and deviations:
//!  * the timers start with the run, without the random delay that keeps the routers of
//!    ns-2 from acting at once.
//!  * the capacity is the rate of the link; of one that changes, its mean while the path is there.
//!  * packets without a header count in the input traffic and get no share, as in ns-2.

use bentpipe_cc::{Header, Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::QueueSize;
use crate::link::random::Stream;
use crate::queue::computing::{Computation, ComputingQueue};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};

/// The mean RTT while no flow has one, and the first intervals, seconds.
const FIRST: f64 = 0.05;
/// Bounds of what one flow's RTT counts for, and of the control interval, seconds.
const LONGEST: f64 = 1.0;
const SHORTEST: f64 = 0.001;
/// The shortest interval of the queue timer, seconds.
const SHORTEST_QUEUE: f64 = 0.002;

keys! {
    /// The explicit control protocol. First in, first out; the headers of packets tell each flow of
    /// controller `xcp` by how much it may change its throughput. What finds no room is lost.
    #[derive(Copy)]
    pub struct Xcp {
        /// Room, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Share of the spare capacity that is given out in a control interval.
        #[schemars(range(min = 0.0, max = 2.0))]
        pub alpha: f64 = 0.4,
        /// Share of the persistent queue that is taken back in a control interval.
        #[schemars(range(min = 0.0, max = 2.0))]
        pub beta: f64 = 0.226,
        /// Share of the traffic that changes hands in a control interval.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub gamma: f64 = 0.1,
    }
}

impl QueueKeys for Xcp {
    type Plan = Self;
    const LABEL: &'static str = "XCP";
    const SOURCE: &'static str =
        "D. Katabi, M. Handley, C. Rohrs: Congestion Control for High Bandwidth-Delay Product Networks, 2002";
    const REFERENCE: &'static str = "doi:10.1145/633025.633035";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, Self), Error> {
        Ok((context.limit(self.limit), *self))
    }
}

impl QueuePlan for Xcp {
    fn start(&self, limit: QueueLimit, rate_bps: u64, _: Stream) -> Rule {
        Rule::AtDeparture(Box::new(ComputingQueue::new(limit, Controllers::new(*self, rate_bps))))
    }
}

/// The two controllers. Rates are in bytes per second, times in seconds.
#[derive(Debug, Default)]
struct Controllers {
    plan: Xcp,
    capacity: f64,
    /// When the control timer and the queue timer expire.
    control_at: Time,
    measure_at: Time,
    /// The control interval.
    interval: f64,
    mean_rtt: f64,
    /// Of the present control interval: bytes that came, the sum of X, the sum of RTT times X.
    input: f64,
    sum_spacing: f64,
    sum_rtt: f64,
    /// What is still to be given out and to be taken back.
    positive: f64,
    negative: f64,
    /// C_p and C_n: the shares of a packet, per second of X and per byte.
    per_spacing: f64,
    per_byte: f64,
    /// The queue that persists, and the least of the present queue interval, bytes.
    queue: f64,
    least: u64,
}

impl Controllers {
    fn new(plan: Xcp, rate_bps: u64) -> Self {
        let first = Time(0) + Span::from_secs(FIRST);
        Self {
            plan,
            capacity: (rate_bps.max(8) / 8) as f64,
            control_at: first,
            measure_at: first,
            interval: FIRST,
            mean_rtt: FIRST,
            ..Self::default()
        }
    }

    /// The control timer expires.
    fn control(&mut self) {
        let Xcp { alpha, beta, gamma, .. } = self.plan;
        let traffic = self.input / self.interval;
        self.mean_rtt = if self.sum_spacing > 0.0 { self.sum_rtt / self.sum_spacing } else { FIRST };
        let (mut phi, mut shuffled) = (0.0, 0.0);
        if self.input > 0.0 {
            phi = alpha * (self.capacity - traffic) - beta * self.queue / self.mean_rtt; // eq. 1, per second
            shuffled = (gamma * traffic - phi.abs()).max(0.0); // section 3.5.2
        }
        self.positive = shuffled + phi.max(0.0);
        self.negative = shuffled + (-phi).max(0.0);
        // eq. 4 and 6 with throughput in place of the window. Without a sum nobody takes any.
        self.per_spacing = if self.sum_spacing > 0.0 { self.positive / self.sum_spacing } else { 0.0 };
        self.per_byte = if self.input > 0.0 { self.negative / self.input } else { 0.0 };
        (self.input, self.sum_spacing, self.sum_rtt) = (0.0, 0.0, 0.0);
        self.interval = self.mean_rtt.max(SHORTEST);
        self.control_at = self.control_at + Span::from_secs(self.interval);
    }

    /// The queue timer expires.
    fn measure(&mut self, waiting: u64) {
        self.queue = self.least as f64;
        self.least = waiting;
        let rest = (self.mean_rtt - waiting as f64 / self.capacity) / 2.0;
        self.measure_at = self.measure_at + Span::from_secs(rest.max(SHORTEST_QUEUE));
    }
}

impl Computation for Controllers {
    fn arrives(&mut self, size: u16, header: Option<&Header>) {
        self.input += f64::from(size);
        if let Some(&Header::Change { rtt, spacing, .. }) = header
            && rtt > 0.0
        {
            self.sum_spacing += spacing;
            self.sum_rtt += rtt.min(LONGEST) * spacing;
        }
    }

    fn departs(&mut self, size: u16, header: Option<&mut Header>, waiting: u64) {
        self.least = self.least.min(waiting);
        let Some(Header::Change { rtt, spacing, change, computed }) = header else { return };
        *computed = true;
        if *rtt <= 0.0 {
            *change = 0.0; // a sender without an RTT gets no share
            return;
        }
        let mut positive = self.positive.min(self.per_spacing * *spacing);
        let mut negative = self.negative.min(self.per_byte * f64::from(size));
        let feedback = positive - negative; // eq. 7
        if *change >= feedback {
            *change = feedback;
        } else {
            // Another queue, or the sender, allows less: what this one would have given stays to be given.
            negative = self.negative.min(negative + (feedback - *change));
            positive = *change + negative;
        }
        self.positive = (self.positive - positive).max(0.0);
        self.negative = (self.negative - negative).max(0.0);
        if self.positive == 0.0 {
            self.per_spacing = 0.0;
        }
        if self.negative == 0.0 {
            self.per_byte = 0.0;
        }
    }

    fn due(&self) -> Time {
        self.control_at.min(self.measure_at)
    }

    fn on_timer(&mut self, waiting: u64) {
        // Of one instant the queue is measured first.
        if self.measure_at <= self.control_at { self.measure(waiting) } else { self.control() }
    }

    fn period(&self) -> Option<Span> {
        // Both timers have expired without traffic and do so every 50 ms, the queue timer twice.
        let nothing = self.input == 0.0 && self.positive == 0.0 && self.negative == 0.0;
        let empty = self.queue == 0.0 && self.least == 0;
        (nothing && empty && self.mean_rtt == FIRST && self.interval == FIRST).then(|| Span::from_secs(FIRST))
    }

    fn leave_out(&mut self, span: Span) {
        self.control_at = self.control_at + span;
        self.measure_at = self.measure_at + span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback(controllers: &mut Controllers, wish: f64) -> f64 {
        let mut header = Header::Change { rtt: 0.5, spacing: 0.02, change: wish, computed: false };
        controllers.departs(1000, Some(&mut header), 10_000);
        let Header::Change { change, computed: true, .. } = header else { panic!("{header:?}") };
        change
    }

    /// Packets of 1000 bytes of a flow of 50 packets a second and 500 ms come, and 10 kB wait.
    fn interval(controllers: &mut Controllers, packets: u32) {
        let header = Header::Change { rtt: 0.5, spacing: 0.02, change: 0.0, computed: false };
        (0..packets).for_each(|_| controllers.arrives(1000, Some(&header)));
        let end = controllers.control_at;
        while controllers.due() <= end {
            controllers.on_timer(10_000);
        }
    }

    /// 8 Mbit/s, that is 1 MB/s, by hand. Of 0.5 MB/s in the first 50 ms: phi = 0.4 x 0.5 MB/s = 200 kB/s,
    /// and X of 25 packets is 0.5 s, so each is given 200 kB/s x 0.02 / 0.5 = 8 kB/s. Of 600 packets in the
    /// next 500 ms: phi = -0.4 x 0.2 MB/s - 0.226 x 10 kB / 0.5 s = -84.52 kB/s;
    /// 0.1 x 1.2 MB/s - 84.52 kB/s = 35.48 kB/s are shuffled, so each is given 35.48 kB/s / 600 and loses
    /// 120 kB/s / 600.
    #[test]
    fn spare_capacity_is_given_out_and_overload_is_taken_back() {
        let mut controllers = Controllers::new(Xcp::default(), 8_000_000);
        interval(&mut controllers, 25);
        assert!((feedback(&mut controllers, f64::INFINITY) - 8_000.0).abs() < 1e-6);
        assert!((feedback(&mut controllers, 3_000.0) - 3_000.0).abs() < 1e-9, "another queue allows less");
        assert!((controllers.positive - 189_000.0).abs() < 1e-6, "and what is left is still to be given");
        interval(&mut controllers, 600);
        assert!((feedback(&mut controllers, f64::INFINITY) - (35_480.0 - 120_000.0) / 600.0).abs() < 1e-6);
    }

    #[test]
    fn a_sender_without_an_rtt_is_given_nothing() {
        let mut controllers = Controllers::new(Xcp::default(), 8_000_000);
        interval(&mut controllers, 25);
        let mut header = Header::Change { rtt: 0.0, spacing: 0.0, change: 1e9, computed: false };
        controllers.departs(1000, Some(&mut header), 1000);
        assert_eq!(header, Header::Change { rtt: 0.0, spacing: 0.0, change: 0.0, computed: true });
    }
}
