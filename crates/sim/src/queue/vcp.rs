//! VCP's queue: Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman: One More Bit Is
//! Enough, ACM SIGCOMM, 2005.
//!
//! Once in t_rho the load factor is what came in that time and a part of the queue that persists, over what
//! the link should carry in that time (eq. 1). Two bits of a packet's header hold the load of the most loaded
//! queue: low, high, or overload.
//!
//! The rules are those of the first author's module for ns-2 (vcp-queue.cc), which was read; the paper is
//! cited from knowledge. Eq. 1 -> `measure`, the code of section 3.1 -> `code`.
//! Decisions and deviations:
//!  * the utilisation is 0.98 of the capacity as in the paper; the module has a table by capacity, whose
//!    value for 10 Mbit/s is 0.96.
//!  * the load factor is not rounded up to a whole percent.
//!  * until the first measurement the load is low.
//!  * the capacity is the rate of the link; of one that changes, its mean while the path is there.

use bentpipe_cc::{Header, Load, Span, Time};

use crate::keys::error::Error;
use crate::keys::table::keys;
use crate::keys::units::{Duration, QueueSize};
use crate::link::random::Stream;
use crate::queue::computing::{Computation, ComputingQueue};
use crate::queue::context::{Context, QueueLimit};
use crate::queue::kind::{QueueKeys, QueuePlan, Rule};

/// From these load factors on the load is high, and there is overload (section 3.1).
const HIGH: f64 = 0.8;
const OVER: f64 = 1.0;
/// The weight of the last interval in the persistent queue.
const WEIGHT: f64 = 0.25;
/// How many times the queue is sampled in an update interval: 10 ms of 200 ms.
const SAMPLES: u64 = 20;

keys! {
    /// The variable-structure congestion control protocol. First in, first out; two bits tell flows of
    /// controller `vcp` whether the load is low, high or too high. What finds no room is lost.
    #[derive(Copy)]
    pub struct Vcp {
        /// Room, the packet in transmission not counted.
        pub limit: QueueSize = QueueSize::Bdp(1.0),
        /// Time between two computations of the load, at least 100 us; the controller's `t_rho` is the same.
        pub update: Duration = Duration(Span::from_millis(200)),
        /// Share of the capacity that counts as full load.
        #[schemars(range(min = 0.01, max = 1.0))]
        pub utilisation: f64 = 0.98,
        /// Share of the persistent queue that counts as traffic.
        #[schemars(range(min = 0.0, max = 10.0))]
        pub kappa: f64 = 0.5,
    }
}

impl QueueKeys for Vcp {
    type Plan = Self;
    const LABEL: &'static str = "VCP";
    const SOURCE: &'static str =
        "Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman: One More Bit Is Enough, 2005";
    const REFERENCE: &'static str = "doi:10.1145/1080091.1080098";

    fn resolve(&self, context: &mut Context<'_>) -> Result<(QueueLimit, Self), Error> {
        context.update_interval(self.update)?;
        Ok((context.limit(self.limit), *self))
    }
}

impl QueuePlan for Vcp {
    fn start(&self, limit: QueueLimit, rate_bps: u64, _: Stream) -> Rule {
        Rule::AtDeparture(Box::new(ComputingQueue::new(limit, LoadMeter::new(*self, rate_bps))))
    }
}

/// Measures the load.
#[derive(Debug, Default)]
struct LoadMeter {
    plan: Vcp,
    /// Bytes that full load brings in an update interval.
    full: f64,
    sample: Span,
    sample_at: Time,
    measure_at: Time,
    /// Of the present update interval: bytes that came, the sum of the samples of the queue, and how many.
    came: u64,
    sum: u64,
    samples: u64,
    /// The queue that persists, bytes.
    queue: f64,
    load: Load,
}

impl LoadMeter {
    fn new(plan: Vcp, rate_bps: u64) -> Self {
        let Duration(update) = plan.update;
        let sample = Span(update.0 / SAMPLES);
        Self {
            full: plan.utilisation * (rate_bps.max(8) as f64 / 8.0) * update.secs(),
            plan,
            sample,
            sample_at: Time(0) + sample,
            measure_at: Time(0) + update,
            load: Load::Low,
            ..Self::default()
        }
    }

    /// The load factor of the interval that ends now.
    fn measure(&mut self) {
        let mean = if self.samples > 0 { self.sum as f64 / self.samples as f64 } else { 0.0 };
        self.queue += WEIGHT * (mean - self.queue);
        let factor = (self.came as f64 + self.plan.kappa * self.queue) / self.full; // eq. 1
        self.load = code(factor);
        (self.came, self.sum, self.samples) = (0, 0, 0);
        self.measure_at = self.measure_at + self.plan.update.0;
    }
}

/// The code of a load factor.
fn code(factor: f64) -> Load {
    if factor < HIGH {
        Load::Low
    } else if factor < OVER {
        Load::High
    } else {
        Load::Over
    }
}

impl Computation for LoadMeter {
    fn arrives(&mut self, size: u16, _: Option<&Header>) {
        self.came += u64::from(size);
    }

    fn departs(&mut self, _: u16, header: Option<&mut Header>, _: u64) {
        if let Some(Header::Load(load)) = header {
            *load = self.load.max(*load);
        }
    }

    fn due(&self) -> Time {
        self.sample_at.min(self.measure_at)
    }

    fn on_timer(&mut self, waiting: u64) {
        // Of one instant the sample comes first.
        if self.sample_at <= self.measure_at {
            self.sum += waiting;
            self.samples += 1;
            self.sample_at = self.sample_at + self.sample;
        } else {
            self.measure();
        }
    }

    fn period(&self) -> Option<Span> {
        let idle = self.came == 0 && self.sum == 0 && self.samples == 0;
        // Less than a byte counts for nothing, and dies away.
        (idle && self.queue < 1.0 && self.load == Load::Low).then_some(self.plan.update.0)
    }

    fn leave_out(&mut self, span: Span) {
        self.sample_at = self.sample_at + span;
        self.measure_at = self.measure_at + span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s and 200 ms: full load is 0.98 x 200 kB.
    fn meter() -> LoadMeter {
        LoadMeter::new(Vcp::default(), 8_000_000)
    }

    /// Lets so much come in an interval in which so much waits all the time.
    fn interval(meter: &mut LoadMeter, bytes: u64, waiting: u64) -> Load {
        (0..bytes / 1000).for_each(|_| meter.arrives(1000, None));
        let end = meter.measure_at;
        while meter.due() <= end {
            meter.on_timer(waiting);
        }
        meter.load
    }

    #[test]
    fn the_load_is_what_came_and_half_of_a_quarter_of_the_queue() {
        let mut meter = meter();
        assert_eq!(interval(&mut meter, 156_000, 0), Load::Low, "156 of 156.8 kB");
        assert_eq!(interval(&mut meter, 157_000, 0), Load::High);
        assert_eq!(interval(&mut meter, 195_000, 0), Load::High);
        assert_eq!(interval(&mut meter, 197_000, 0), Load::Over);
        // 8 kB that wait count 1 kB after one interval, 0.5 x 0.25, and 1.75 kB after two.
        assert_eq!(interval(&mut meter, 194_000, 8_000), Load::High, "195 of 196 kB");
        assert_eq!(interval(&mut meter, 195_000, 8_000), Load::Over, "196.75 kB");
    }

    #[test]
    fn a_header_takes_the_highest_load_of_all_queues() {
        let mut meter = meter();
        let marked = |meter: &mut LoadMeter, load| {
            let mut header = Header::Load(load);
            meter.departs(1000, Some(&mut header), 0);
            header
        };
        assert_eq!(marked(&mut meter, Load::Unknown), Header::Load(Load::Low));
        assert_eq!(marked(&mut meter, Load::Over), Header::Load(Load::Over));
        interval(&mut meter, 170_000, 0);
        assert_eq!(marked(&mut meter, Load::Low), Header::Load(Load::High));
    }
}
