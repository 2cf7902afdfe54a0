//! Both forms of an algorithm as the controller of a simulated flow: the Rust form drives, the native one follows.

use bentpipe_cc::{Controller, Start};
use bentpipe_kernel_host::NATIVE;
use bentpipe_sim::{Scenario, run};

use crate::twin::{Found, Report, Twin};

/// A link and a flow on it. `flow` and `link` are lines of their tables.
pub(crate) fn scenario(duration: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\nseed = 3\n[link.sat]\n{link}\n[[flow]]\ncc = \"python:twin\"\npath = [\"sat\"]\n{flow}\n"
    )
}

/// Runs `text` with the controllers that `make` makes.
pub(crate) fn simulate(text: &str, make: &mut dyn FnMut(Start) -> Box<dyn Controller>) {
    let plan = Scenario::from_toml(text, "twin.toml", &[]).and_then(|s| s.resolve()).expect("a scenario");
    run(&plan, &mut |_, _, start| Ok(make(start)), &mut |_| true).expect("it runs");
}

fn compared(id: &str, text: &str) -> Found {
    let report = Report::default();
    simulate(text, &mut |start| Box::new(Twin::new(id, start, report.clone())));
    std::mem::take(&mut *report.lock().expect("no panic in the run"))
}

/// Every algorithm on a link: never a segment apart.
#[track_caller]
fn equal(name: &str, text: &str, at_least: u64) {
    for id in NATIVE {
        let found = compared(id, text);
        println!(
            "{name} {id}: {} steps, {} cuts, W up to {:.0}, apart by at most {:.2e} (W) and {:.2e} (T)",
            found.steps, found.cuts, found.largest, found.cwnd, found.ssthresh
        );
        assert!(found.apart.is_none(), "{name}, {id}: {}", found.apart.unwrap_or_default());
        assert!(found.steps >= at_least, "{name}, {id}: only {} steps", found.steps);
    }
}

#[test]
fn a_geostationary_link_with_losses() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"250 ms\"\nloss = { kind = \"packet-error\", rate = 1e-3 }";
    equal("geo", &scenario("120 s", link, ""), 3000);
}

#[test]
fn a_short_round_trip() {
    let link = "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nloss = { kind = \"packet-error\", rate = 1e-3 }";
    equal("short", &scenario("20 s", link, "delayed_ack = true"), 3000);
}

#[test]
fn timeouts() {
    let link = "rate = \"5 Mbit/s\"\ndelay = \"50 ms\"\nqueue = { kind = \"drop-tail\", limit = \"30 packets\" }\n\
                handover = { every = \"4 s\", outage = \"900 ms\", in_flight = \"lost\", queue = \"flushed\" }";
    equal("timeouts", &scenario("60 s", link, "spurious = \"f-rto\""), 1000);
}
