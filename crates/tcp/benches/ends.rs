//! What a segment costs the receiver and an acknowledgement the sender with its scoreboard:
//! `cargo bench -p bentpipe-tcp`.

use bentpipe_cc::{Controller, Start, Time, registry};
use bentpipe_tcp::{AckSegment, Data, Options, Receiver, Sender};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A small window, and one of a satellite link of 1 Gbit/s.
const WINDOWS: [u64; 2] = [50, 50_000];
const NS_BETWEEN_ACKS: u64 = 12_000;

fn options(window: u64) -> Options {
    Options { initial_window: window as f64, initial_ssthresh: window as f64, ..Options::paper() }
}

fn reno(options: &Options) -> Box<dyn Controller> {
    let start = Start {
        mss: options.mss,
        initial_window: options.initial_window,
        initial_ssthresh: options.initial_ssthresh,
    };
    registry::build("reno", &[], start).expect("reno is registered")
}

fn segment(seq: u64) -> Data {
    Data::new(seq, 1460, 0)
}

/// A sender that has sent a whole window, and when.
fn sent(window: u64) -> (Sender, Time) {
    let options = options(window);
    let cc = reno(&options);
    let mut sender = Sender::new(options, cc, None);
    sender.start(Time(0));
    while sender.poll(Time(0)).is_some() {}
    (sender, Time(500_000_000))
}

/// Takes acknowledgements and sends what they allow.
fn take(sender: &mut Sender, mut now: Time, acks: &[AckSegment]) {
    for ack in acks {
        now = Time(now.0 + NS_BETWEEN_ACKS);
        sender.on_ack(now, ack);
        while sender.poll(now).is_some() {}
    }
}

/// What a receiver says to these segments.
fn answers(window: u64, segments: impl Iterator<Item = u64>) -> Vec<AckSegment> {
    let mut receiver = Receiver::new(&options(window));
    segments.filter_map(|seq| receiver.on_data(Time(0), &segment(seq))).collect()
}

fn sender(c: &mut Criterion) {
    let mut group = c.benchmark_group("sender");
    for window in WINDOWS {
        let mut run = |name: &str, acks: Vec<AckSegment>| {
            group.throughput(Throughput::Elements(acks.len() as u64));
            group.bench_function(BenchmarkId::new(name, window), |b| {
                b.iter_batched(
                    || sent(window),
                    |(mut sender, now)| {
                        take(&mut sender, now, &acks);
                        sender
                    },
                    BatchSize::LargeInput,
                );
            });
        };
        run("in order", answers(window, 0..window));
        run("one segment lost", answers(window, 1..window));
        run("every second lost", answers(window, (1..window).step_by(2)));
    }
    group.finish();
}

fn receiver(c: &mut Criterion) {
    let mut group = c.benchmark_group("receiver");
    for window in WINDOWS {
        let mut run = |name: &str, segments: Vec<u64>| {
            group.throughput(Throughput::Elements(segments.len() as u64));
            group.bench_function(BenchmarkId::new(name, window), |b| {
                b.iter_batched(
                    || Receiver::new(&options(window)),
                    |mut receiver| {
                        for &seq in &segments {
                            std::hint::black_box(receiver.on_data(Time(0), &segment(seq)));
                        }
                        receiver
                    },
                    BatchSize::LargeInput,
                );
            });
        };
        run("in order", (0..window).collect());
        run("first segment last", (1..window).chain([0]).collect());
        run("every second late", (1..window).step_by(2).chain((0..window).step_by(2)).collect());
    }
    group.finish();
}

criterion_group!(benches, sender, receiver);
criterion_main!(benches);
