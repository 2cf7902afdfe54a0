//! Both forms of an algorithm as the controller of a simulated flow: the Rust form
//! drives, the native one follows.

use bentpipe_cc::{Controller, Start, registry};
use bentpipe_kernel_host::{NATIVE, Native};
use bentpipe_sim::{Scenario, run};

use crate::kernel_view::KernelView;
use crate::twin::{Found, Report, Twin};

/// A link and a flow on it. `flow` and `link` are lines of their tables.
pub(crate) fn scenario(duration: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\nseed = 3\n[link.sat]\n{link}\n[[flow]]\ncc = \"python:twin\"\npath = [\"sat\"]\n{flow}\n"
    )
}

/// Runs `text` with the controllers that `make` makes; the bytes that the first flow delivers.
pub(crate) fn simulate(text: &str, make: &mut dyn FnMut(Start) -> Box<dyn Controller>) -> u64 {
    let plan = Scenario::from_toml(text, "twin.toml", &[]).and_then(|s| s.resolve()).expect("a scenario");
    let outcome = run(&plan, &mut |_, _, start| Ok(make(start)), &mut |_| true).expect("it runs");
    outcome.report.flows[0].delivered_bytes
}

fn compared(id: &str, text: &str) -> Found {
    let report = Report::default();
    simulate(text, &mut |start| Box::new(KernelView::new(Twin::new(id, start, report.clone()))));
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

#[test]
fn a_window_of_fifty_thousand_segments() {
    let link =
        "rate = \"400 Mbit/s\"\ndelay = \"750 ms\"\nqueue = { kind = \"drop-tail\", limit = \"0.2 bdp\" }";
    equal("large", &scenario("20 s", link, ""), 500);
    let found = compared("star", &scenario("20 s", link, ""));
    assert!(found.largest > 50_000.0, "{}", found.largest);
}

/// The native form drives; the flow is the same to the byte of goodput that a window's fraction may decide.
#[test]
fn a_flow_under_the_native_form_delivers_what_one_under_the_rust_form_does() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"250 ms\"\nloss = { kind = \"packet-error\", rate = 1e-4 }";
    let text = scenario("60 s", link, "");
    for id in NATIVE {
        let given = registry::with(&[], registry::in_linux(id));
        let rust = simulate(&text, &mut |start| registry::build(id, &given, start).expect("registered"));
        let native = simulate(&text, &mut |start| Box::new(Native::new(id, start).expect("native")));
        println!("{id}: {rust} bytes by the Rust form, {native} by the native form");
        assert!(rust.abs_diff(native) <= rust / 50, "{id}: {rust} and {native}");
    }
}
