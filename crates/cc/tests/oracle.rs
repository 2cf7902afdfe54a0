//! The kernel's own congestion control beside ours: traces of Linux (`linux/*.csv`, docs/oracle.md) are
//! replayed. Our controllers are fed the same ACKs and events, and where they differ a model in the
//! kernel's whole numbers says why.

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

/// A trace, and how far ours may be from it. All windows are in segments.
struct Stated {
    trace: &'static str,
    /// ACKs outside fast recovery; of them, those after which the windows are within one segment.
    acks: u32,
    within_one: u32,
    /// The largest difference of a window, ours less the kernel's.
    window: f64,
    /// Answers to congestion, and the largest difference of a threshold.
    cuts: u32,
    threshold: f64,
}

const fn stated(
    trace: &'static str,
    acks: u32,
    within_one: u32,
    window: f64,
    cuts: u32,
    threshold: f64,
) -> Stated {
    Stated { trace, acks, within_one, window, cuts, threshold }
}

/// The table of docs/oracle.md, which also says why.
#[rustfmt::skip]
const STATED: &[Stated] = &[
    stated("bic-geo", 270, 139, 3.32, 3, 2.05),
    stated("bic-lossy", 262, 186, 2.54, 4, 2.61),
    stated("bic-outage", 319, 225, -4.53, 4, -3.45),
    stated("bic-short", 476, 57, -14.45, 6, -10.77),
    stated("highspeed-geo", 579, 139, 17.67, 1, 13.45),
    stated("highspeed-lossy", 396, 171, 15.59, 3, 16.33),
    stated("highspeed-outage", 508, 155, 13.29, 3, 13.27),
    stated("highspeed-short", 547, 50, 17.97, 3, 11.66),
    stated("htcp-geo", 438, 311, 13.86, 2, 6.68),
    stated("htcp-lossy", 430, 266, 1.82, 2, 0.77),
    stated("htcp-outage", 545, 238, 12.40, 2, 1.30),
    stated("htcp-short", 539, 91, 6.48, 4, 3.04),
    stated("hybla-geo", 145, 0, 1507.40, 3, 753.70),
    stated("hybla-lossy", 211, 3, 9.35, 2, 5.17),
    stated("hybla-outage", 272, 86, 15.21, 3, 8.11),
    stated("hybla-short", 544, 2, 12.33, 3, 6.54),
    stated("illinois-geo", 454, 139, -4.44, 2, -2.06),
    stated("illinois-lossy", 363, 171, -2.79, 3, -2.04),
    stated("illinois-outage", 489, 356, -3.01, 3, -4.59),
    stated("illinois-short", 617, 617, -0.95, 2, -0.89),
    stated("reno-geo", 580, 383, 1.47, 1, 0.50),
    stated("reno-lossy", 429, 288, 1.69, 2, 0.73),
    stated("reno-outage", 549, 245, 2.13, 2, 1.23),
    stated("reno-short", 530, 530, 0.96, 3, -0.11),
    stated("scalable-geo", 212, 212, -0.94, 4, -0.95),
    stated("scalable-lossy", 291, 291, -0.82, 4, -0.83),
    stated("scalable-outage", 327, 296, -1.31, 4, -1.32),
    stated("scalable-short", 282, 215, -1.91, 8, -1.93),
    stated("vegas-geo", 580, 575, 1.50, 1, 0.50),
    stated("vegas-lossy", 595, 595, 0.00, 3, 0.00),
    stated("vegas-outage", 538, 332, 1.54, 1, 0.50),
    stated("vegas-short", 591, 591, 0.00, 0, 0.00),
    stated("veno-geo", 580, 572, 1.04, 1, 0.50),
    stated("veno-lossy", 430, 406, 1.24, 2, 0.50),
    stated("veno-outage", 551, 495, 1.24, 2, 0.75),
    stated("veno-short", 568, 305, 1.77, 2, 0.75),
    stated("westwood-geo", 536, 151, 4.82, 1, 0.50),
    stated("westwood-lossy", 510, 171, 4.00, 2, 0.94),
    stated("westwood-outage", 585, 174, 4.40, 2, 3.46),
    stated("westwood-short", 577, 547, 1.83, 3, 0.72),
];

/// The kernel's algorithm and the link of a trace.
fn parts(trace: &str) -> (&str, &str) {
    trace.split_once('-').expect("algorithm and link")
}

impl Stated {
    /// The line of docs/oracle.md.
    fn line(&self) -> String {
        let (algorithm, link) = parts(self.trace);
        let share = 100.0 * f64::from(self.within_one) / f64::from(self.acks);
        format!(
            "| {algorithm} | {link} | {} | {share:.1} % | {:+.2} | {} | {:+.2} |",
            self.acks, self.window, self.cuts, self.threshold
        )
    }
}

fn names() -> Vec<String> {
    let folder = format!("{}/tests/linux", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).expect("the folder of the traces");
    let file = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("a file").file_name();
    let mut names: Vec<_> = entries.map(|entry| file(entry).into_string().expect("a name")).collect();
    names.sort();
    names.iter().map(|name| name.trim_end_matches(".csv").to_string()).collect()
}

/// What is between our windows and the kernel's is whole numbers and the lines that say "unlike ours": with
/// them, every window after every ACK, and every answer to congestion, is the kernel's.
#[test]
fn the_kernels_arithmetic_gives_the_kernels_windows() {
    for name in names() {
        let trace = trace::read(&name);
        let (kernel, _) = parts(&name);
        let found = replay::model(&mut *module(kernel, &trace), &trace);
        assert!(found.acks > 100, "{name}: {found:?}");
        assert_eq!((found.largest, found.largest_cut), (0.0, 0.0), "{name}: {found:?}");
    }
}

/// Our controllers, fed the same, are as far from the kernel as docs/oracle.md says,
/// neither farther nor nearer.
#[test]
fn ours_differ_as_stated() {
    let listed: Vec<_> = STATED.iter().map(|row| row.trace.to_string()).collect();
    assert_eq!(names(), listed, "the traces, and the table in the order of their names");
    for row in STATED {
        let trace = trace::read(row.trace);
        let (id, given) = counterpart(parts(row.trace).0);
        let found = replay::ours(id, &given, &trace);
        assert_eq!(
            (found.acks, found.within_one, found.cuts),
            (row.acks, row.within_one, row.cuts),
            "{}",
            row.trace
        );
        for (found, stated) in [(found.largest, row.window), (found.largest_cut, row.threshold)] {
            assert!((found - stated).abs() < 0.006, "{}: {found} instead of {stated}", row.trace);
        }
    }
}

#[test]
fn the_page_has_the_same_table() {
    let path = format!("{}/../../docs/oracle.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for row in STATED {
        let line = row.line();
        assert!(page.lines().any(|there| there == line), "docs/oracle.md lacks the line {line}");
    }
}

/// Prints `STATED` and the table of docs/oracle.md anew, after the traces were recorded again.
#[test]
#[ignore = "it prints what the others check"]
fn print_the_table() {
    let mut page = String::new();
    for name in names() {
        let trace = trace::read(&name);
        let (kernel, _) = parts(&name);
        let (id, given) = counterpart(kernel);
        let found = replay::ours(id, &given, &trace);
        let row = stated("", found.acks, found.within_one, found.largest, found.cuts, found.largest_cut);
        let row = Stated { trace: name.leak(), ..row };
        println!(
            "    stated({:?}, {}, {}, {:.2}, {}, {:.2}),",
            row.trace, row.acks, row.within_one, row.window, row.cuts, row.threshold
        );
        page += &format!("{}\n", row.line());
    }
    println!("{page}");
}
