//! The cost of a packet for links and the event queue, without TCP: `cargo bench -p bentpipe-sim`.
//!
//! Packets at a constant rate cross chains of links, by the fast path and by the reference loop, and
//! many flows cross one link.

use std::fmt::Write;

use bentpipe_sim::plan::Plan;
use bentpipe_sim::{Scenario, no_supply, run, run_by_reference};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const PACKETS: u64 = 100_000;

fn plan(text: &str) -> Plan {
    Scenario::from_toml(text, "bench", &[]).and_then(|s| s.resolve()).expect("the scenario is correct")
}

/// One flow over a chain of `links` links.
fn chain(links: u64) -> Plan {
    let mut text = String::from("duration = \"10 s\"\n");
    let mut path = Vec::new();
    for i in 0..links {
        writeln!(text, "[link.l{i}]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"").expect("a string");
        path.push(format!("\"l{i}\""));
    }
    // 1000 bytes at 80 Mbit/s are 10,000 packets a second.
    write!(
        text,
        "[[flow]]\npath = [{}]\ntraffic = {{ kind = \"cbr\", rate = \"80 Mbit/s\", packet = \"1000 bytes\" }}\n",
        path.join(", ")
    )
    .expect("a string");
    plan(&text)
}

/// `flows` flows over one link, each with an access delay: as many events are pending as flows, and the
/// timers.
fn crowd(flows: u64) -> Plan {
    let each = 80_000_000 / flows;
    plan(&format!(
        "duration = \"10 s\"\n[link.l]\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\n\
         [[flow]]\npath = [\"l\"]\ncount = {flows}\nstart_jitter = \"1 s\"\nextra_delay = \"1 s\"\n\
         traffic = {{ kind = \"cbr\", rate = \"{each} bit/s\", packet = \"1000 bytes\" }}\n"
    ))
}

fn links(c: &mut Criterion) {
    let mut group = c.benchmark_group("packet over links");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
    for links in [1, 2, 4, 8] {
        let plan = chain(links);
        group.bench_function(BenchmarkId::new("fast path", links), |b| {
            b.iter(|| run(&plan, &mut no_supply, &mut |_| true).expect("it runs"));
        });
        group.bench_function(BenchmarkId::new("reference loop", links), |b| {
            b.iter(|| run_by_reference(&plan, &mut no_supply, &mut |_| true).expect("it runs"));
        });
    }
    group.finish();
}

fn events(c: &mut Criterion) {
    let mut group = c.benchmark_group("packet among pending events");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
    for flows in [10, 1000, 10_000] {
        let plan = crowd(flows);
        group.bench_function(BenchmarkId::from_parameter(flows), |b| {
            b.iter(|| run(&plan, &mut no_supply, &mut |_| true).expect("it runs"));
        });
    }
    group.finish();
}

criterion_group!(benches, links, events);
criterion_main!(benches);
