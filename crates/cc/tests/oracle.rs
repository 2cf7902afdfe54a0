//! The kernel's own congestion control beside ours: traces of Linux (`linux/*.csv`, docs/oracle.md) are replayed. Our
//! controllers are fed the same ACKs and events, and where they differ a model in the kernel's whole numbers says why.

mod arithmetic;
mod replay;
mod timed;
mod trace;

use bentpipe_cc::registry::Value;

use arithmetic::{HighSpeed, Hybla, Illinois, Module, Reno, Scalable, Vegas, Veno};
use timed::{Bic, Htcp, Westwood};
use trace::Trace;

/// Our algorithm for a kernel's, with the parameters that make it the kernel's.
fn counterpart(kernel: &str) -> (&'static str, Vec<(&'static str, Value)>) {
    let text = |s: &str| Value::Text(s.to_string());
    match kernel {
        "reno" => ("reno", vec![]),
        "vegas" => ("vegas", vec![("rules", text("linux"))]),
        "veno" => ("veno", vec![("rtt", text("latest"))]),
        "westwood" => ("westwood-plus", vec![]),
        "hybla" => ("hybla", vec![("ssthresh_est", Value::Flag(false))]),
        "illinois" => ("illinois", vec![]),
        "htcp" => ("htcp", vec![]),
        "bic" => ("bic", vec![("ack_ratio", Value::Number(31.0 / 16.0))]),
        "highspeed" => ("highspeed", vec![("form", text("linux"))]),
        "scalable" => ("scalable", vec![("at_least_reno", Value::Flag(true))]),
        _ => panic!("no algorithm of ours is for {kernel}"),
    }
}

fn module(kernel: &str, trace: &Trace) -> Box<dyn Module> {
    match kernel {
        "reno" => Box::new(Reno),
        "vegas" => Box::new(Vegas::new()),
        "veno" => Box::new(Veno::new()),
        "westwood" => Box::new(Westwood::new(0)),
        "hybla" => Box::new(Hybla::new(trace.handshake)),
        "illinois" => Box::new(Illinois::new()),
        "htcp" => Box::new(Htcp::new(0)),
        "bic" => Box::new(Bic::new()),
        "highspeed" => Box::new(HighSpeed::new()),
        "scalable" => Box::new(Scalable),
        _ => panic!("no model is for {kernel}"),
    }
}

#[test]
#[ignore = "a survey for people"]
fn survey() {
    let folder = format!("{}/tests/linux", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("a file").file_name().into_string().expect("a name")).collect();
    names.sort();
    for name in names {
        let name = name.trim_end_matches(".csv");
        if std::env::var("ORACLE").is_ok_and(|wanted| wanted != name) {
            continue;
        }
        let (kernel, _) = name.split_once('-').expect("two parts");
        let trace = trace::read(name);
        let (id, given) = counterpart(kernel);
        println!("{name} ours  {:?}", replay::ours(id, &given, &trace));
        println!("{name} model {:?}", replay::model(&mut *module(kernel, &trace), &trace));
    }
}
