//! Records the ACK streams of crates/kernel/tests/streams anew: `cargo run --release -p bentpipe-kernel
//! --example record_streams`.
//!
//! Each stream is a simulated flow with a fixed seed: the reports to its controller, in the units of the
//! kernel.

#[path = "../../tests/native/kernel_view.rs"]
mod kernel_view;
mod recorder;

use std::fs;
use std::path::Path;

use bentpipe_cc::registry;
use bentpipe_sim::{Scenario, run};

use kernel_view::KernelView;
use recorder::{Recorder, Tape};

/// Lines of a stream.
const MOST: usize = 4000;

/// Name, controller, ACKs merged into one, duration, lines of the link, lines of the flow.
const STREAMS: &[(&str, &str, u32, &str, &str, &str)] = &[
    (
        "geo",
        "star",
        1,
        "60 s",
        "rate = \"10 Mbit/s\"\ndelay = \"250 ms\"\nloss = { kind = \"packet-error\", rate = 3e-3 }",
        "",
    ),
    (
        "short",
        "reno",
        1,
        "20 s",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nloss = { kind = \"packet-error\", rate = 1e-3 }",
        "delayed_ack = true",
    ),
    (
        "timeouts",
        "star",
        1,
        "60 s",
        "rate = \"5 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"drop-tail\", limit = \"30 packets\" }\n\
         handover = { every = \"5 s\", outage = \"1500 ms\", queue = \"kept\" }",
        "spurious = \"f-rto\"",
    ),
    (
        "ecn",
        "reno",
        1,
        "60 s",
        "rate = \"8 Mbit/s\"\ndelay = \"40 ms\"\nqueue = { kind = \"codel\", ecn = true, limit = \"200 packets\" }",
        "ecn = true",
    ),
    (
        "idle",
        "cubic",
        1,
        "120 s",
        "rate = \"10 Mbit/s\"\ndelay = \"150 ms\"",
        "traffic = { kind = \"on-off\", size = { kind = \"list\", sizes = [\"300 kB\", \"900 kB\"] }, \
         off = { kind = \"exponential\", mean = \"2 s\" } }",
    ),
    (
        "large",
        "reno",
        64,
        "40 s",
        "rate = \"1 Gbit/s\"\ndelay = \"300 ms\"\nloss = { kind = \"packet-error\", rate = 1e-7 }",
        "",
    ),
    (
        "queue",
        "reno",
        4,
        "120 s",
        "rate = \"20 Mbit/s\"\ndelay = \"30 ms\"\nqueue = { kind = \"drop-tail\", limit = \"4 bdp\" }",
        "delayed_ack = true",
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    fs::create_dir_all(&folder)?;
    for (name, cc, merge, duration, link, flow) in STREAMS {
        let text = format!(
            "duration = \"{duration}\"\nseed = 5\n[link.sat]\n{link}\n\
             [[flow]]\ncc = \"python:recorder\"\npath = [\"sat\"]\n{flow}\n"
        );
        let plan = Scenario::from_toml(&text, name, &[])?.resolve()?;
        let tape = Tape::default();
        let mut supply = |_: &str, _: &str, start| {
            let inner = registry::build(cc, &[], start).map_err(|e| e.to_string())?;
            let recorder = Recorder::new(inner, tape.clone(), *merge, MOST);
            Ok(Box::new(KernelView::new(recorder)) as Box<_>)
        };
        run(&plan, &mut supply, &mut |_| true)?;
        let tape = tape.lock().map_err(|_| "the run failed")?;
        let about: String = text.lines().map(|line| format!("# {line}\n")).collect();
        let path = folder.join(format!("{name}.txt"));
        fs::write(&path, format!("# recorded under {cc}, {merge} ACKs in one\n{about}{}", tape.text))?;
        println!("{}: {} lines", path.display(), tape.lines);
    }
    Ok(())
}
