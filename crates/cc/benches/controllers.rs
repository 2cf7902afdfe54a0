//! What an acknowledgement costs each registered controller: `cargo bench -p bentpipe-cc`.
//!
//! One segment an ACK on a path of 100 Mbit/s and 500 ms, in congestion avoidance; a loss whenever the window
//! exceeds twice the bandwidth-delay product.

use std::hint::black_box;

use bentpipe_cc::registry::{self, Entry};
use bentpipe_cc::{
    Ack, Congestion, Controller, Event, Flow, Phase, Rate, RateSample, Rtt, RttSample, Span, Start,
};
use criterion::{Criterion, criterion_group, criterion_main};

const MSS: u32 = 1460;
const BDP: u64 = 4166 * MSS as u64;
const RTT: Span = Span::from_millis(500);
const BETWEEN_ACKS: Span = Span(120_000);
const BYTES_PER_S: u64 = 12_166_666;
const ACKS_PER_ROUND: u32 = 4166;

/// A controller and what its sender would tell it.
struct SteadyPath {
    cc: Box<dyn Controller>,
    flow: Flow,
    ack: Ack,
    until_round_ends: u32,
}

impl SteadyPath {
    fn new(entry: &Entry) -> Self {
        let start = Start { mss: MSS, initial_window: 4000.0, initial_ssthresh: 4000.0 };
        let cc = registry::build(entry.id, &[], start).expect("defaults are within their ranges");
        let mut flow = Flow::default();
        flow.mss = MSS;
        flow.rwnd = u64::MAX;
        flow.in_flight = BDP;
        flow.cwnd_limited = true;
        flow.phase = Phase::Open;
        flow.rtt = Some(Rtt { latest: RTT, min: RTT, smoothed: RTT, var: Span::from_millis(1) });
        let mut ack = Ack::default();
        ack.acks = 1;
        ack.acked = u64::from(MSS);
        ack.rtt = Some(RttSample::one(RTT));
        Self { cc, flow, ack, until_round_ends: ACKS_PER_ROUND }
    }

    fn acknowledge(&mut self) {
        let flow = &mut self.flow;
        flow.now = flow.now + BETWEEN_ACKS;
        flow.delivered += self.ack.acked;
        self.until_round_ends -= 1;
        self.ack.round_end = self.until_round_ends == 0;
        if self.ack.round_end {
            self.until_round_ends = ACKS_PER_ROUND;
            flow.round += 1;
        }
        if self.cc.needs().rate {
            self.ack.rate = Some(RateSample {
                rate: Rate(BYTES_PER_S),
                app_limited: false,
                prior_delivered: flow.delivered.saturating_sub(BDP),
                prior_in_flight: BDP,
            });
        }
        if self.cc.decision().deadline <= flow.now {
            self.cc.on(flow, Event::Deadline);
        }
        if self.cc.decision().cwnd > 2 * BDP {
            self.cc.on(flow, Event::Congestion(Congestion::Loss));
        }
        self.cc.on_ack(flow, &self.ack);
    }
}

fn on_ack(c: &mut Criterion) {
    let mut group = c.benchmark_group("on_ack");
    for entry in registry::all() {
        let mut path = SteadyPath::new(entry);
        (0..4 * ACKS_PER_ROUND).for_each(|_| path.acknowledge());
        group.bench_function(entry.id, |b| {
            b.iter(|| {
                path.acknowledge();
                black_box(path.cc.decision())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, on_ack);
criterion_main!(benches);
